"""Read a mesh and segments from raw files; segments a chunk at a time, whatever their number."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geodomain.backends.data import Coordinates
from geodomain.errors import TableError
from geodomain.io.files.ahead import Ahead
from geodomain.io.files.pipeline import fill
from geodomain.io.files.unchanged import Unchanged
from geodomain.mesh.mesh import Mesh
from geodomain.segments.raw.number_type import FLOATS, byte_count, float_type

CHUNK = 1 << 20

_TRIANGLE = 12  # bytes: three int32


def read_raw_mesh(vertices: Path, triangles: Path, *, vertex_type: str | None = None) -> Mesh:
    """Read a mesh from a file of coordinates and a file of indices.

    Parameters
    ----------
    vertices : Path
        x, y, z of each vertex, float32 or float64, little-endian. float32 is widened exactly.
    triangles : Path
        Three int32 for each triangle, from 0, little-endian.
    vertex_type : {"float32", "float64"}, optional
        Without it, the ending of the name says (`_f32`, `_f64`), or the size, where the
        highest index leaves one possibility.

    Returns
    -------
    Mesh

    Raises
    ------
    TableError
        Where a size is no whole number of rows, or the type cannot be told.
    MeshError
        For an index that names no vertex, and for what `Mesh` refuses.
    OSError
        If a file cannot be read.
    """
    with Unchanged(vertices, triangles):
        return _mesh(vertices, triangles, vertex_type)


def _mesh(vertices: Path, triangles: Path, vertex_type: str | None) -> Mesh:
    """Read both files, and check one against the other."""
    size = byte_count(triangles)
    if size % _TRIANGLE:
        message = (
            f"{triangles} has {size:,} bytes, which is no whole number of triangles of three int32 "
            f"({_TRIANGLE} bytes each). Export it again."
        )
        raise TableError(message)
    corners = np.fromfile(triangles, dtype="<i4").reshape(-1, 3)
    needed = int(corners.max()) + 1 if len(corners) else 0
    kind = float_type(vertices, vertex_type, "vertex_type=", at_least=needed)
    name = f"{vertices.name} and {triangles.name}"
    points = np.fromfile(vertices, dtype=FLOATS[kind]).reshape(-1, 3)
    return Mesh(points.astype(np.float64), corners.astype(np.int32), name=name)


@dataclass(frozen=True)
class RawSegments:
    """Name two files that hold the starts and the ends of segments.

    Attributes
    ----------
    starts, ends : Path
        x, y, z of each, little-endian.
    kind : {"float32", "float64"}
        Of both.
    """

    starts: Path
    ends: Path
    kind: str

    def __len__(self) -> int:
        """Return how many segments there are."""
        return self.starts.stat().st_size // (3 * np.dtype(FLOATS[self.kind]).itemsize)

    def chunks(self, size: int = CHUNK) -> Generator[tuple[Coordinates, Coordinates], None, None]:
        """Return starts and ends, shape (at most `size`, 3), of the files' type, in order.

        They are used until the next ones are asked for: a thread reads into two rooms by turns.

        Raises
        ------
        OSError
            If a file has changed since it was opened.
        """
        count = len(self)
        rooms = np.empty((2, 2, min(size, count), 3), dtype=FLOATS[self.kind])
        with (
            Unchanged(self.starts, self.ends),
            self.starts.open("rb", buffering=0) as starts,
            self.ends.open("rb", buffering=0) as ends,
        ):

            def read(begin: int) -> tuple[Coordinates, Coordinates]:
                first, last = rooms[begin // size % 2, :, : min(size, count - begin)]
                for file, rows in ((starts, first), (ends, last)):
                    room = rows.reshape(-1).view(np.uint8).data
                    if fill(file, room) < len(room):
                        message = f"{self.starts} or {self.ends} became shorter while it was read."
                        raise TableError(message)
                return first, last

            ahead = Ahead(range(0, count, size), read)
            try:
                yield from ahead.results()
            finally:
                ahead.stop()


def open_segments(starts: Path, ends: Path, *, ray_type: str | None = None) -> RawSegments:
    """Check two files of segments against each other.

    Parameters
    ----------
    starts, ends : Path
        x, y, z of each segment's start and end, float32 or float64, little-endian.
    ray_type : {"float32", "float64"}, optional
        Without it, the endings of the names say, or the sizes.

    Raises
    ------
    TableError
        Where the files do not hold as many rows of the same type, or the type cannot be told.
    OSError
        If a file cannot be read.
    """
    sides = [
        RawSegments(path, path, float_type(path, ray_type, "ray_type=")) for path in (starts, ends)
    ]
    if len(sides[0]) != len(sides[1]) or sides[0].kind != sides[1].kind:
        said = (f"{side.starts} has {len(side):,} rows of {side.kind}" for side in sides)
        message = (
            f"{' and '.join(said)}: each segment needs a start and an end, of one type. Export "
            "both again."
        )
        raise TableError(message)
    return RawSegments(starts, ends, sides[0].kind)
