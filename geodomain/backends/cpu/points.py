"""Point queries on the CPU, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import PointIndex
from geodomain.backends.data import Columns, MeshArrays, Points, Rim, Room
from geodomain.backends.native import column_pointers, core

NOT_HERE = "the CPU's backend was given an array on a GPU, or an index of another backend"
# The arrays of an index, as `geodomain_grid_arrays` gives them.
PARTS = ("grids", "slabs", "lists", "entries", "bundles", "bundled")


class _Question(NamedTuple):
    """What a kernel over points is given before its options, and what it writes to."""

    given: tuple[object, ...]
    wanted: tuple[object, ...]
    refused: ctypes.c_int64  # the first refused row, or -1


class CpuPointIndex:
    """The grid over one mesh's triangles; made once, asked from any thread.

    ``density`` is the number of triangles to a cell: 8 balances making the index
    and asking it about as many points as there are triangles.
    """

    def __init__(self, mesh: MeshArrays, *, threads: int, density: float = 8.0) -> None:
        self._arrays = (mesh.vertices, mesh.triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        limits = np.ascontiguousarray(mesh.bounds, dtype=np.float64)
        core().grid_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            limits,
            int(mesh.is_closed),
            density,
            threads,
            self.handle,
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            core().grid_free(self.handle)

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        size = (ctypes.c_int64 * 4)()
        core().grid_size(self.handle, size)
        return size[0], size[1], size[2], size[3]

    def arrays(self) -> dict[str, NDArray[np.uint8]]:
        """Return the bytes of the index's arrays by their names; views that need this object."""
        count = len(PARTS)
        addresses, sizes = (ctypes.c_void_p * count)(), (ctypes.c_int64 * count)()
        core().grid_arrays(self.handle, addresses, sizes)
        return {
            name: np.ctypeslib.as_array(
                ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (size,)
            )
            if size
            else np.empty(0, dtype=np.uint8)
            for name, address, size in zip(PARTS, addresses, sizes, strict=True)
        }

    def _question(self, points: Points, out: Room) -> _Question:
        """Return what the kernels over points take."""
        columns, room = _here(points, out)
        addresses, strides = column_pointers(columns)
        refused = ctypes.c_int64(-1)
        return _Question((self.handle, addresses, strides, len(room)), (room, refused), refused)

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside; return the first refused row or -1."""
        asked = self._question(points, out)
        core().grid_contains(*asked.given, threads, *asked.wanted)
        return asked.refused.value

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write the crossings above each point; return the first refused row or -1."""
        asked = self._question(points, out)
        core().grid_crossings(*asked.given, int(signed), threads, *asked.wanted)
        return asked.refused.value

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether a winding number is not 0; return the first refused row or -1."""
        columns, room = _here(points, out)
        numbers = np.empty(len(room), np.int32)
        refused = self.crossings(columns, numbers, threads, signed=True)
        np.not_equal(numbers, 0, out=room)
        return refused

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is on a triangle; return the first refused row or -1."""
        asked = self._question(points, out)
        core().grid_on_surface(*asked.given, threads, *asked.wanted)
        return asked.refused.value

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write the crossings above and below each point, (n, 2); the first refused row or -1."""
        asked = self._question(points, out)
        core().grid_sides(*asked.given, threads, *asked.wanted)
        return asked.refused.value

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and their bounds, (n, 2); the first refused row or -1.

        ``rim`` has the ends (m, 2, 3) and the weights (m,) of its edges, in the order of the sum.
        """
        ends, weights = rim
        asked = self._question(points, out)
        core().grid_winding(*asked.given, ends, weights, len(weights), threads, *asked.wanted)
        return asked.refused.value


def _here(points: Points, out: Room) -> tuple[Columns, NDArray[np.generic]]:
    """Return what is in memory; TypeError for what is not."""
    if isinstance(points, tuple) and isinstance(out, np.ndarray):
        return points, out
    raise TypeError(NOT_HERE)


def codes(indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
    """Write which index first holds each point, -1 none, -2 not finite; as ``contains``."""
    columns, room = _here(points, out)
    handles = [index.handle for index in indexes if isinstance(index, CpuPointIndex)]
    if len(handles) != len(indexes):
        raise TypeError(NOT_HERE)
    addresses, strides = column_pointers(columns)
    refused = ctypes.c_int64(-1)
    core().grid_codes(
        (ctypes.c_void_p * len(handles))(*handles),
        len(handles),
        addresses,
        strides,
        len(out),
        threads,
        room,
        refused,
    )
    return refused.value
