"""Block models of GOCAD (Voxet): a header as text and a file of numbers for each property.

Values sit on the nodes of a lattice, u fastest; each is taken for a block about its node. A Voxet
is read alone: labels go to CSV, Parquet or VTK.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.files.signatures import split_name, unify_lines
from geodomain.files.streams import Target
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import Destination, NewArrays, Values
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import LatticeCells
from geodomain.formats.export import Blocks, blocks_of, write_blocks
from geodomain.formats.mesh_text import logical_lines
from geodomain.formats.omf import pick_model
from geodomain.tables.numbers import as_float64
from geodomain.tables.options import TableOptions

Lines = dict[str, list[str]]
_WHOLE = {("IEEE", 4): ">f4", ("IEEE", 8): ">f8"}
_LARGEST = 2.0**339  # as of a wireframe's coordinates: lengths of axes stay finite
_SKEW = 1e-9
_NODE_BYTES = 64  # centroid and size of a block, while they are made


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open a header; FILE:NAME is one of several Voxets."""
    place, wanted = split_name(path)
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(place)
    status = place.stat()
    found = list(_objects(unify_lines(place.read_bytes()), place))
    lines = pick_model(found, wanted, place.name, ["GOCAD"])
    yield CellModel(VoxetStore(lines, place, status), options)


def _objects(text: bytes, place: Path) -> Iterator[tuple[str, Lines]]:
    """Give the words of each line of every Voxet, by its first word and number of a property."""
    now: Lines | None = None
    name, braces = "", False
    for _, row in logical_lines(text):
        line = row.decode("latin-1")
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if braces or "{" in line:
            braces = "}" not in line
            key, _, value = line.replace("HEADER", "").strip(" {}").partition(":")
            name = value.strip() if key.strip() == "name" and not name else name
        elif words[0].upper() == "GOCAD":
            now = {} if len(words) > 1 and words[1].lower() == "voxet" else None
            name = ""
        elif words[0] == "END" and now is not None:
            yield name or place.stem, now
            now = None
        elif now is not None:
            key, rest = words[0].upper(), words[1:]
            if key.startswith("PROP") and rest:
                key = f"{key} {rest.pop(0)}"
            now.setdefault(key, [word.strip('"') for word in rest])
    if now is not None:
        message = f"{place.name} is cut short: its Voxet has no line END; copy or export it again"
        raise TableError(message)


class VoxetStore:
    """A Voxet; see `CellStore`."""

    def __init__(self, lines: Lines, place: Path, status: os.stat_result) -> None:
        self.name, self.status, self._lines, self._place = place.name, status, lines, place
        self.cells = self._lattice()
        self._numbers = [key.split()[1] for key in lines if key.startswith("PROP_FILE ")]
        names = [" ".join(lines.get(f"PROPERTY {n}", [])) or f"property {n}" for n in self._numbers]
        self.columns = tuple(names)
        self._held = lru_cache(maxsize=4)(self._read)

    def _vector(self, key: str, default: tuple[float, ...] | None = None) -> Floats:
        words = self._lines.get(key)
        try:
            values = np.array([float(word) for word in words or ()] if words else default, float)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != (3,) or not np.isfinite(values).all():
            message = f"{self.name} has no three numbers {key}: export the Voxet again"
            raise TableError(message)
        if (np.abs(values) > _LARGEST).any():
            message = f"{self.name} has a number in {key} beyond 2^339: export the Voxet again"
            raise TableError(message)
        return values

    def _lattice(self) -> LatticeCells:
        """Give a block about each node."""
        counts = self._vector("AXIS_N")
        if (counts < 1).any() or (counts != np.round(counts)).any():
            message = f"{self.name} has AXIS_N that is no count of nodes: export the Voxet again"
            raise TableError(message)
        origin = self._vector("AXIS_O", (0.0, 0.0, 0.0))
        axes = np.array([self._vector(f"AXIS_{axis}") for axis in "UVW"])
        if self._lines.get("ZPOSITIVE", ["Elevation"])[0].lower() == "depth":
            origin[2], axes[:, 2] = -origin[2], -axes[:, 2]
        low = self._vector("AXIS_MIN", (0.0, 0.0, 0.0))
        span = self._vector("AXIS_MAX", (1.0, 1.0, 1.0)) - low
        lengths = np.linalg.norm(axes, axis=1)
        if (lengths == 0).any() or ((span == 0) & (counts > 1)).any():
            message = f"{self.name} has an axis without length: export the Voxet again"
            raise TableError(message)
        self._require_square(axes, lengths)
        what = f"{self.name}, of {' x '.join(f'{n:,.0f}' for n in counts)} nodes,"
        needed = _NODE_BYTES * math.prod(counts.tolist())
        memory.require_unpacked(needed, self._bytes(), what, TableError)
        memory.require(needed, what, TableError)
        step = self._steps(counts, span, lengths)
        nodes = [
            first + (np.arange(int(n) + 1, dtype=np.float64) - 0.5) * one
            for first, n, one in zip(low, counts, step, strict=True)
        ]
        du, dv, dw = (np.full(int(counts[n]), step[n] * lengths[n]) for n in range(3))
        if not (axes[~np.eye(3, dtype=bool)] == 0).all():
            u, v, w = (part * length for part, length in zip(nodes, lengths, strict=True))
            place = (float(origin[0]), float(origin[1]), float(origin[2]))
            matrix = (axes / lengths[:, None]).T
            return LatticeCells("a Voxet, turned,", (u, v, w), place, matrix, lengths=(du, dv, dw))
        x, y, z = (origin[n] + axes[n, n] * nodes[n] for n in range(3))
        return LatticeCells("a Voxet", (x, y, z), lengths=(du, dv, dw))

    def _steps(self, counts: Floats, span: Floats, lengths: Floats) -> Floats:
        """Give the distance of nodes, in lengths of the axes; that of a lone node is AXIS_D."""
        alone = self._vector("AXIS_D", tuple(lengths * np.where(span, span, 1.0))) / lengths
        with np.errstate(divide="ignore", invalid="ignore"):
            steps: Floats = np.where(counts > 1, span / (counts - 1), np.abs(alone))
        if (steps == 0).any():
            message = f"{self.name} has nodes without a distance: export the Voxet again"
            raise TableError(message)
        return steps

    def _require_square(self, axes: Floats, lengths: Floats) -> None:
        """Refuse skew axes: between them are no blocks."""
        unit = axes / lengths[:, None]
        if (np.abs(unit @ unit.T - np.eye(3)) > _SKEW).any():
            message = f"{self.name} has axes that are not at right angles: its cells are no blocks"
            raise TableError(message)

    def _bytes(self) -> int:
        """Count the bytes of the header and of the files of its properties."""
        sizes = [len(words) and self._file_of(words) for words in self._files()]
        files = sum(one.stat().st_size for one in sizes if one and one.is_file())
        return self.status.st_size + files

    def _files(self) -> list[list[str]]:
        return [words for key, words in self._lines.items() if key.startswith("PROP_FILE ")]

    def _file_of(self, words: list[str]) -> Path:
        """Give the file of a property, beside the header."""
        return self._place.parent / Path(" ".join(words).replace("\\", "/")).name

    def close(self) -> None:
        """Have nothing to close: the header has been read."""

    @property
    def memory(self) -> int:
        """What is written: centroids, sizes and all properties."""
        return (64 + 16 * len(self.columns)) * self.cells.count

    def facts(self) -> dict[str, str]:
        """Say what the file is."""
        return {"format": f"GOCAD, {self.cells.say()}, blocks about its nodes"}

    def values(self, column: int) -> Values:
        """Give a property, NaN where it has none."""
        return self._held(column)

    def _read(self, column: int) -> Values:
        number = self._numbers[column]
        file = self._file_of(self._lines[f"PROP_FILE {number}"])
        if not file.is_file():
            message = f"{self.name}: {file.name}, with {self.columns[column]!r}, is not beside it"
            raise TableError(message)
        start, kind = self._whole(number, "PROP_OFFSET", 0), self._type(number)
        if start + self.cells.count * kind.itemsize > file.stat().st_size or start < 0:
            message = (
                f"{file.name} is cut short: {self.name} promises {self.cells.count:,} numbers of "
                f"{kind.itemsize} bytes; copy or export them again"
            )
            raise TableError(message)
        with Unchanged(file), file.open("rb") as raw:
            raw.seek(start)
            values = np.frombuffer(raw.read(self.cells.count * kind.itemsize), kind)
        return self._present(values, number)

    def _present(self, values: NDArray[np.generic], number: str) -> NDArray[np.float64]:
        """Give doubles with NaN for the value that stands for none."""
        with np.errstate(invalid="ignore"):
            doubles = as_float64(values)
        word = " ".join(self._lines.get(f"PROP_NO_DATA_VALUE {number}", []))
        if word:
            try:
                none = np.array(float(word)).astype(values.dtype)
            except ValueError:
                return doubles
            doubles[values == none] = np.nan
        return doubles

    def _whole(self, number: str, key: str, default: int) -> int:
        word = " ".join(self._lines.get(f"{key} {number}", [str(default)]))
        if not (word.isascii() and word.isdigit() and len(word) < 19):
            message = f"{self.name}: {key} is {word!r}, no whole number; export the Voxet again"
            raise TableError(message)
        return int(word)

    def _type(self, number: str) -> np.dtype[np.generic]:
        """Give the type of a property's numbers."""
        size = self._whole(number, "PROP_ESIZE", 4)
        kind = " ".join(self._lines.get(f"PROP_ETYPE {number}", ["IEEE"])).upper()
        if size in (1, 2) and kind in ("IEEE", "INTEGER"):
            signed = self._whole(number, "PROP_SIGNED", 1)
            return np.dtype(f">{'i' if signed else 'u'}{size}")
        if (kind, size) not in _WHOLE:
            message = f"{self.name}: a property of {size} bytes of {kind} is not read: export IEEE"
            raise TableError(message)
        return np.dtype(_WHOLE[kind, size])

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write blocks, properties and labels as the extension of the output says."""
        held = {name: self.values(number) for number, name in enumerate(self.columns)}
        blocks: Blocks = blocks_of(self.cells, held, new)
        write_blocks(blocks, target, destination.path)
