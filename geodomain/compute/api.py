"""What the library asks of a backend, and of the indexes that a backend makes.

A `Backend` is an object: the CPU's (`cpu.backend`), a GPU's (`cuda.backend`), or the one that
chooses between them call by call (`auto`). It makes a `PointIndex` or a `SegmentIndex` of a mesh,
which is asked from any thread, and it labels lattices, which need no index. Answers are the same
from all of them, bit for bit.

What they are given is in `data`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import (
    Columns,
    DeviceRoom,
    Floats,
    Indices,
    MeshArrays,
    Points,
    Rim,
    Room,
    SegmentRows,
)

Taken = tuple[str, str]  # "cpu" or "cuda", and why there


class PointIndex(Protocol):
    """The grid over one mesh's triangles. Its answers go to ``out``, a row to a point.

    Each returns the first row that the arithmetic refuses, for coordinates below its range, or -1.
    """

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        ...

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside, by parity."""
        ...

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write the crossings above each point, int32; signed, each counts by its direction."""
        ...

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether a winding number is not 0."""
        ...

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is exactly on a triangle."""
        ...

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write the crossings above and below each point, (n, 2) int32."""
        ...

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and bounds on their errors, (n, 2) float64."""
        ...


class SegmentIndex(Protocol):
    """The hierarchy over one mesh's triangles."""

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of building took."""
        ...

    @property
    def nbytes(self) -> int:
        """Return the bytes that the index holds, beside the mesh's own arrays."""
        ...

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        ...

    def close(self) -> None:
        """Free what the index holds, once no thread asks it."""
        ...

    def boolean(self, segments: SegmentRows, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        ...

    def count(self, segments: SegmentRows, threads: int) -> Indices:
        """Return how many triangles each segment crosses."""
        ...

    def nearest(self, segments: SegmentRows, threads: int) -> Indices:
        """Return the first triangle that each segment crosses, or -1."""
        ...

    def all(self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int) -> Indices:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        ...

    def describe(
        self, segments: SegmentRows, rows: NDArray[np.int64], triangle: Indices, threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        ...


class NearestIndex(Protocol):
    """The hierarchy over one mesh's triangles, asked for the nearest from any thread."""

    def nearest(
        self,
        points: Columns,
        distance: Floats,
        threads: int,
        *,
        triangle: Indices | None = None,
        place: Floats | None = None,
    ) -> int:
        """Write the distance of each point, its nearest triangle, and the place on it, (n, 3).

        Returns the first row beyond a mesh's range, or -1.
        """
        ...


class BlockAnswer(IntEnum):
    """How the share of a block was found; as in kernels/launch/volume.cpp."""

    BY_LABEL = 0
    BY_TRIANGLES = 1
    BY_LINES = 2
    OFF_RIM = 3


class BlockIndex(Protocol):
    """One mesh's triangles, and its rim, ready to be asked about blocks anywhere."""

    def shares(
        self,
        weights: NDArray[np.int8] | None,
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        wound: bool,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Write shares where a triangle enters a block; return the `BlockAnswer` of each.

        Without weights, all such blocks go along ``lines`` times ``lines`` lines; with ``single``
        those that the triangles do not cover once, within it.
        """
        ...

    def covered_shares(
        self,
        weights: NDArray[np.int8],
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Do the same for blocks whose plans the surface is known to cover, whatever its rim.

        Always on the CPU.
        """
        ...

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return what ``lines`` times ``lines`` vertical lines through each block cross.

        Of each line, in the order of `line_places`, how many crossings are above the block, the
        sum of their signs, those within, and those ``below``, 0 if not asked for,
        (n * lines * lines, 4); then of each crossing within, from the top down, its height above
        the block's floor and its sign.
        """
        ...

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the mesh's index on the CPU, which is made if it is not there."""
        ...


class Backend(Protocol):
    """A machine to compute on, or the choice between two."""

    @property
    def name(self) -> str:
        """Return "cpu", "cuda" or "auto"."""
        ...

    def point_index(self, mesh: MeshArrays, *, threads: int) -> PointIndex:
        """Index a mesh for points."""
        ...

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> SegmentIndex:
        """Index a mesh for segments."""
        ...

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> NearestIndex:
        """Index a mesh for distances."""
        ...

    def block_index(self, mesh: MeshArrays, rim: Floats) -> BlockIndex:
        """Index a mesh for the shares of blocks; the rim's edges are (m, 2, 3)."""
        ...

    def codes(self, indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
        """Write which of this backend's indexes first holds each point, int32; refuse as they do.

        -1 where none does, -2 where a point is not finite.
        """
        ...

    def lattice_bits(
        self,
        mesh: MeshArrays,
        axes: Columns,
        threads: int,
        index: PointIndex | None = None,
    ) -> NDArray[np.uint64] | None:
        """Return labels of a lattice as bits along z, (nx, ny, words); axes ascend strictly.

        None where a block cannot be decided, for coordinates below the arithmetic's range. An
        ``index`` of the same mesh saves a GPU to copy it there.
        """
        ...

    def lattice_packed(
        self,
        mesh: MeshArrays,
        axes: Columns,
        out: NDArray[np.uint8],
        threads: int,
        index: PointIndex | None = None,
    ) -> bool:
        """Write labels of a lattice as bits along z to (nx, ny, bytes); False if undecided."""
        ...

    def lattice_there(
        self,
        mesh: MeshArrays,
        axes: Columns,
        room: DeviceRoom,
        index: PointIndex | None = None,
    ) -> bool:
        """Write labels of a lattice to an array on a GPU; False if undecided."""
        ...

    def lattice_shares(
        self,
        mesh: MeshArrays,
        weights: NDArray[np.int8],
        edges: Columns,
        labels: NDArray[np.uint64],
        out: Floats,
        threads: int,
    ) -> int:
        """Write the shares of blocks between edges, (nx, ny, nz); return how many are mixed.

        ``labels`` are bits along z, (nx, ny, words), of the blocks that no triangle enters.
        """
        ...

    def taken(self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str) -> Taken:
        """Return where most of what indexes were asked was computed, and why there.

        ``why`` is the reason for which this backend was taken.
        """
        ...
