"""Two formats of another package: wireframes as lists of triangles, and block models as bricks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np

from geodomain import Mesh, MeshError, TableError
from geodomain.files.streams import Target
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import Blocks, Destination, NewArrays
from geodomain.formats.cell_file import CellModel, blocks_of, refuse_columns, write_blocks
from geodomain.formats.cells import LatticeCells
from geodomain.formats.registry import Format, begins
from geodomain.mesh.polygons import Faces
from geodomain.tables.options import TableOptions

# --- Wireframes: for each solid a line with its name, then nine numbers for each triangle.

_TRIANGLES = b"TRIANGLES 1\n"


def read(data: bytes, path: Path) -> Iterator[tuple[str, Faces]]:
    """Yield each solid of a file."""
    for part in data.removeprefix(_TRIANGLES).split(b"solid ")[1:]:
        name, _, numbers = part.partition(b"\n")
        try:
            corners = np.array(numbers.split(), np.float64).reshape(-1, 3)
        except ValueError:
            message = f"{path.name}: {name.decode()} has a triangle without nine numbers"
            raise MeshError(message) from None
        count = len(corners) // 3
        yield name.decode(), Faces(corners, np.arange(3 * count), np.full(count, 3))


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write each solid, with numbers that read back the same."""
    file.write(_TRIANGLES)
    for name, mesh in solids.items():
        file.write(f"solid {name}\n".encode())
        for corners in mesh.vertices[mesh.triangles].reshape(-1, 9).tolist():
            file.write(f"{' '.join(map(repr, corners))}\n".encode())


TRIANGLES = Format(
    "triangle list",
    (".tris",),
    begins(_TRIANGLES),
    wireframe=True,
    read_meshes=read,
    write_solids=write,
)

# --- Block models: a lattice of cubes, with a value of each.

_BRICKS = b"BRICKS 1\n"


class BrickStore:
    """A lattice of cubes; see `geodomain.formats.cell_file.CellStore`."""

    columns = ("value",)
    memory = 0

    def __init__(self, path: Path) -> None:
        self.name, self.status = path.name, path.stat()
        words = path.read_bytes().removeprefix(_BRICKS).split()
        size, counts = float(words[0]), [int(word) for word in words[1:4]]
        x, y, z = (size * np.arange(count + 1.0) for count in counts)
        self.cells = LatticeCells("bricks", (x, y, z))
        self._numbers = np.array(words[4:], np.float64)
        if len(self._numbers) != self.cells.count:
            message = f"{self.name} has not a value for each brick: export it again"
            raise TableError(message)

    def facts(self) -> dict[str, str]:
        """Say what the file is."""
        return {"format": self.cells.say()}

    def values(self, column: int) -> np.ndarray:
        """Give the values."""
        return self._numbers

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write blocks and labels in the format that the output's extension names."""
        blocks = blocks_of(self.cells, {"value": self._numbers}, new)
        write_blocks(blocks, target, destination.path)

    def close(self) -> None:
        """Have nothing to close: the file has been read."""


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open a file of bricks."""
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(Path(path))
    yield CellModel(BrickStore(Path(path)), options)


def encoded_blocks(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Give cubes that fill a lattice from the origin on, x fastest, as a file."""
    size = float(blocks.box_sizes(path)[0, 0])
    counts = np.round(blocks.centroids.max(axis=0) / size + 0.5).astype(int)
    yield _BRICKS + f"{size} {' '.join(map(str, counts))}\n".encode()
    numbers = next(each for each in blocks.others().values() if each.dtype.kind == "f")
    yield " ".join(map(repr, numbers.tolist())).encode() + os.linesep.encode()


BRICKS = Format(
    "bricks",
    (".bricks",),
    begins(_BRICKS),
    open_blocks=open_model,
    write_blocks=encoded_blocks,
    keeps_blocks=False,
)
