"""The interface of a backend, and of the indexes that it builds.

There are three backends: one for the CPU (`cpu`), one for GPUs (`gpus`, with `cuda`), and one that
chooses between CPU and GPUs for each call (`auto`). A backend indexes a mesh for points, segments,
distances or blocks. Any thread may query an index. A backend labels lattices without an index.
All backends give the same results, bit for bit.

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
    """Index of one mesh for points: a grid over the triangles of the mesh.

    Each query writes one result for each point to ``out``. It returns the first undecided row, or
    -1 if there is none. A row is undecided if its point has a coordinate too close to 0 for exact
    arithmetic.
    """

    def size(self) -> tuple[int, int, int, int]:
        """Return a tuple: how many cells, cell entries, grids and long triangles the index has."""
        ...

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside, by parity."""
        ...

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write how many crossings with the mesh are above each point, as int32.

        If ``signed``, a crossing counts +1 or -1, depending on its direction.
        """
        ...

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point's winding number is not 0."""
        ...

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is exactly on a triangle."""
        ...

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write how many crossings are above and how many are below each point, (n, 2) int32."""
        ...

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write each point's generalised winding number and a bound on its error.

        ``out`` is (n, 2) float64.
        """
        ...


class SegmentIndex(Protocol):
    """Index of one mesh for segments: a bounding-volume hierarchy over its triangles."""

    @property
    def build_times(self) -> Mapping[str, float]:
        """Seconds that each step of building the index took."""
        ...

    @property
    def nbytes(self) -> int:
        """Size of the index in bytes, without the mesh's own arrays."""
        ...

    def levels(self) -> list[Floats]:
        """Return an array of boxes, (k, 2, 3), for each level of the hierarchy, the root first."""
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
        """Return the triangle that each segment crosses first; -1 if it crosses none."""
        ...

    def all(self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int) -> Indices:
        """Return all crossed triangles; segment i has the slice offsets[i]:offsets[i + 1]."""
        ...

    def describe(
        self, segments: SegmentRows, rows: NDArray[np.int64], triangle: Indices, threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y and z of each hit, (k, 7); see `query.segments.Hits`."""
        ...


class NearestIndex(Protocol):
    """Index of one mesh for distances: a bounding-volume hierarchy over its triangles."""

    def nearest(
        self,
        points: Columns,
        distance: Floats,
        threads: int,
        *,
        triangle: Indices | None = None,
        place: Floats | None = None,
    ) -> int:
        """Write each point's distance from the mesh to ``distance``.

        ``triangle``, if given, receives the nearest triangle of each point; ``place``, (n, 3), if
        given, receives the nearest point on the mesh. Returns the first row with a coordinate out
        of range, or -1.
        """
        ...


class BlockAnswer(IntEnum):
    """How the share of a block was computed; the values are those in kernels/launch/volume.cpp."""

    BY_LABEL = 0
    BY_TRIANGLES = 1
    BY_LINES = 2
    OFF_RIM = 3


class BlockIndex(Protocol):
    """Index of one mesh and its open edges, to compute which share of a block is inside.

    The blocks may be at any position, on a lattice or not.
    """

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
        """Write which share of each block is inside the mesh; return each block's `BlockAnswer`.

        Only the shares of blocks that a triangle enters are written. If ``weights`` is None, every
        share is sampled along ``lines`` times ``lines`` vertical lines. Otherwise a share is exact
        up to rounding, but blocks whose plan the triangles do not cover exactly once are sampled
        along lines. ``single`` is the tolerance of the test whether a plan is covered once; if
        ``single`` is 0, there is no test.
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
        """Write the shares of blocks whose plan the surface covers, even if open edges cross it.

        The CPU always computes these shares. Arguments and result are as in `shares`.
        """
        ...

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return the crossings of ``lines`` times ``lines`` vertical lines through each block.

        The result is a tuple of three arrays. The first array, (n * lines * lines, 4), has a row
        for each line, in the order of `line_places`. A row holds the number of crossings above the
        block, the sum of the signs of these crossings, the number of crossings within the block,
        and the number below the block (0 unless ``below``). The second and the third array have an
        element for each crossing within a block, from the top down: its height above the block's
        floor, and its sign.
        """
        ...

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the mesh's index on the CPU; build that index if necessary."""
        ...


class Backend(Protocol):
    """A backend runs the kernels on the CPU, on GPUs, or on the faster of both for each call."""

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
        """Index a mesh, to compute which share of a block is inside the mesh.

        ``rim`` (m, 2, 3) are the open edges of the mesh.
        """
        ...

    def codes(self, indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
        """Write, for each point, the number of the first index whose mesh contains it, as int32.

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
        """Return which blocks of a lattice are inside, as bits along z, (nx, ny, words).

        The axes must be strictly increasing. Returns None if a block cannot be decided, because a
        coordinate is too close to 0. If an ``index`` of the same mesh is given, its copy of the
        mesh on a GPU is used.
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
        """Write which blocks of a lattice are inside, as bits along z, (nx, ny, bytes).

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
        """Write to ``room``, an array on a GPU, which blocks of a lattice are inside the mesh.

        Returns False if a block cannot be decided.
        """
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
        """Write which share of each block of a lattice is inside the mesh, (nx, ny, nz).

        Returns how many blocks are partly inside. ``edges`` are the coordinates of the blocks'
        faces along each axis. ``labels`` (nx, ny, words) has a bit for each block, along z, which
        is the share (0 or 1) of a block that no triangle enters.
        """
        ...

    def machine_used(
        self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str
    ) -> MachineUsed:
        """Return a tuple: the machine that computed most queries of these indexes, and the reason.

        ``why`` is the reason for using this backend.
        """
        ...
