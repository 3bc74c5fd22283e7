"""The interface of a backend, and of the indexes that it builds.

There are backends for the CPU (`cpu`), for one GPU or several (`gpus`, with `cuda`), and one that
chooses between CPU and GPUs for each call (`auto`). A backend indexes a mesh for points, segments,
distances or blocks; any thread may query an index. A backend also labels lattices, which needs no
index. All backends give the same results, bit for bit.

The types of the arguments are in `data`.
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

MachineUsed = tuple[str, str]  # "cpu" or "cuda", and the reason


class PointIndex(Protocol):
    """Index of one mesh for points: a grid over its triangles.

    Queries write a result for each point to ``out``. They return the first undecided row, whose
    point has a coordinate too close to 0 for exact arithmetic, or -1 if there is none.
    """

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        ...

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside, by parity."""
        ...

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write the number of crossings above each point, int32.

        If ``signed``, crossings in opposite directions count +1 and -1.
        """
        ...

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point's winding number is not 0."""
        ...

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is exactly on a triangle."""
        ...

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write the numbers of crossings above and below each point, (n, 2) int32."""
        ...

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and bounds on their errors, (n, 2) float64."""
        ...


class SegmentIndex(Protocol):
    """Index of one mesh for segments: a hierarchy of boxes over its triangles."""

    @property
    def build_times(self) -> Mapping[str, float]:
        """Seconds that each step of building the index took."""
        ...

    @property
    def nbytes(self) -> int:
        """Size of the index in bytes, without the mesh's own arrays."""
        ...

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), from the root down."""
        ...

    def close(self) -> None:
        """Free the memory of the index once no thread uses it."""
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
        """Return every crossed triangle; those of segment i are at offsets[i] to offsets[i + 1]."""
        ...

    def describe(
        self, segments: SegmentRows, rows: NDArray[np.int64], triangle: Indices, threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        ...


class NearestIndex(Protocol):
    """Index of one mesh for distances: a hierarchy of boxes over its triangles."""

    def nearest(
        self,
        points: Columns,
        distance: Floats,
        threads: int,
        *,
        triangle: Indices | None = None,
        place: Floats | None = None,
    ) -> int:
        """Write each point's distance and, if asked for, the nearest triangle and nearest point.

        ``place`` receives the nearest point on the mesh, (n, 3). Returns the first row with a
        coordinate out of range, or -1.
        """
        ...


class BlockAnswer(IntEnum):
    """How the share of a block was computed; the values are those in kernels/launch/volume.cpp."""

    BY_LABEL = 0
    BY_TRIANGLES = 1
    BY_LINES = 2
    OFF_RIM = 3


class BlockIndex(Protocol):
    """Index of one mesh and its rim, for the shares of blocks at any position."""

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
        """Write the share of each block that is inside the mesh; return the `BlockAnswer` of each.

        This writes only the shares of blocks that a triangle enters. Without weights, they are all
        taken from ``lines`` times ``lines`` vertical lines. With weights, lines are used only for
        blocks whose plan the triangles do not cover exactly once, within ``single``.
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
        """Write the shares of blocks whose plan the surface covers, even if the rim crosses it.

        Like `shares`, but always on the CPU.
        """
        ...

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return the crossings of ``lines`` times ``lines`` vertical lines through each block.

        The first array, (n * lines * lines, 4), has a row for each line, in the order of
        `line_places`: the number of crossings above the block, the sum of their signs, the number
        within the block, and the number below (0 unless ``below``). The other two arrays have,
        for each crossing within a block, from the top down, its height above the block's floor,
        and its sign.
        """
        ...

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the mesh's index on the CPU; build that index if necessary."""
        ...


class Backend(Protocol):
    """A CPU, a GPU or several GPUs that run the kernels, or a choice between these."""

    @property
    def name(self) -> str:
        """Return the name: "cpu", "cuda" or "auto"."""
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
        """Index a mesh, and the edges of its rim, (m, 2, 3), for the shares of blocks."""
        ...

    def codes(self, indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
        """Write the number of the first index whose mesh contains each point, int32.

        The number is -1 if no mesh contains the point, -2 if the point is not finite. Returns the
        first undecided row, as queries of `PointIndex` do.
        """
        ...

    def lattice_bits(
        self,
        mesh: MeshArrays,
        axes: Columns,
        threads: int,
        index: PointIndex | None = None,
    ) -> NDArray[np.uint64] | None:
        """Return labels of a lattice as bits along z, (nx, ny, words).

        Axes must be strictly increasing. Returns None if a block cannot be decided, because a
        coordinate is too close to 0. If an ``index`` of the same mesh is given, the mesh need not
        be copied to a GPU again.
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
        """Write labels of a lattice as bits along z, (nx, ny, bytes).

        Returns False if a block cannot be decided.
        """
        ...

    def lattice_there(
        self,
        mesh: MeshArrays,
        axes: Columns,
        room: DeviceRoom,
        index: PointIndex | None = None,
    ) -> bool:
        """Write labels of a lattice to an array on a GPU; return False if a block is undecided."""
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
        """Write the shares of a lattice's blocks, (nx, ny, nz); return how many are partly inside.

        ``edges`` are the coordinates of the blocks' faces along each axis. ``labels``, bits along
        z, (nx, ny, words), give the shares of blocks that no triangle enters.
        """
        ...

    def machine_used(
        self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str
    ) -> MachineUsed:
        """Return where most queries of these indexes were computed, and the reason.

        ``why`` is the reason for using this backend.
        """
        ...
