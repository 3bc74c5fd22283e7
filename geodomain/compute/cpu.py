"""The nodes of a hierarchy as arrays, for inspection; see kernels/bvh/nodes.h."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import layout, native
from geodomain.compute.api import PointIndex, SegmentIndex, Taken
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
from geodomain.compute.native import addresses, column_pointers, core, counts


def boxes_of_levels(nodes: NDArray[np.void], firsts: Sequence[int], frame: np.void) -> list[Floats]:
    """Return the boxes in the nodes of each level, (k, 2, 3); `firsts` ends with their number."""
    return [_boxes(nodes[begin:end], frame) for begin, end in pairwise(firsts)]


def _boxes(nodes: NDArray[np.void], frame: np.void) -> Floats:
    """Return the boxes in nodes' slots in the mesh's coordinates, (k, 2, 3)."""
    steps = np.ldexp(1.0, nodes["exponent"].astype(np.int32))[:, :, None]
    origin = nodes["origin"].astype(np.float64)[:, :, None]
    corners = [
        (origin + _bytes(nodes[side]) * steps).transpose(0, 2, 1) for side in ("low", "high")
    ]
    there = np.unpackbits((nodes["inner"] | nodes["leaf"])[:, None], axis=1, bitorder="little")
    boxes = np.stack(corners, axis=2)[there.astype(bool)]
    scaled: Floats = boxes / frame["scale"] + frame["centre"]
    return scaled


def _bytes(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return the bytes of words, the lowest first, along a new last axis."""
    rows = np.ascontiguousarray(words, dtype="<u8")[..., None]
    return rows.view(np.uint8)


# --- Point queries on the CPU, through ctypes.

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


# --- Segment queries on the CPU, through ctypes.

STEPS = ("boxes", "codes", "sort", "tree")  # of building the hierarchy
CLOSED = "the surface was closed while it was asked"


class _Core:
    """What the core holds of a surface; freed when the last question that is under way is done."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()

    def __del__(self) -> None:
        """Free the memory."""
        if self.handle:
            native.core().surface_free(self.handle)


class CpuSegmentIndex:
    """One surface's triangles, ready to be asked about segments from any thread."""

    def __init__(self, mesh: MeshArrays, *, strategy: str, threads: int) -> None:
        self._arrays = (mesh.vertices, mesh.triangles)  # the core reads them where they are
        core = _Core()
        limits = np.ascontiguousarray(mesh.bounds, dtype=np.float64)
        times = (ctypes.c_double * len(STEPS))()
        native.core().surface_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            limits,
            int(strategy == "brute"),
            threads,
            times,
            core.handle,
        )
        self._core: _Core | None = core
        self.build_times: Mapping[str, float] = dict(zip(STEPS, times, strict=True))
        self._strategy = strategy

    @property
    def nbytes(self) -> int:
        """Return the bytes that the core holds, beside the mesh's own arrays."""
        return native.core().surface_bytes(self._held().handle)

    def close(self) -> None:
        """Free what the core holds, once no thread asks it."""
        self._core = None

    def _held(self) -> _Core:
        """Return what the core holds; ValueError once it is freed."""
        core = self._core
        if core is None:
            raise ValueError(CLOSED)
        return core

    def _ask(
        self, function: str, segments: SegmentRows, threads: int, *out: NDArray[np.generic]
    ) -> None:
        core = self._held()
        ask: native.CoreFunction = getattr(native.core(), f"segments_{function}")
        ask(core.handle, segments.packed, len(segments.packed), threads, *out)

    def boolean(self, segments: SegmentRows, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        out = np.empty(len(segments.packed), dtype=np.bool_)
        self._ask("boolean", segments, threads, out)
        return out

    def count(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return how many triangles each segment crosses."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        self._ask("count", segments, threads, out)
        return out

    def nearest(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return the first triangle that each segment crosses, or -1."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        self._ask("nearest", segments, threads, out)
        return out

    def all(
        self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.int32]:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        out = layout.structure("Found").empty(int(offsets[-1]))
        self._ask("all", segments, threads, offsets, out)
        return out["triangle"].astype(np.int32)

    def describe(
        self,
        segments: SegmentRows,
        rows: NDArray[np.int64],
        triangle: NDArray[np.int32],
        threads: int,
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        vertices, triangles = self._arrays
        out = np.empty((len(rows), 7))
        native.core().segments_describe(
            vertices,
            triangles,
            len(triangles),
            segments.packed,
            rows,
            triangle,
            len(rows),
            threads,
            out,
        )
        return out

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        if self._strategy == "brute" or not len(self._arrays[1]):
            return []
        core = self._held()
        nodes, firsts = ctypes.c_void_p(), ctypes.POINTER(ctypes.c_int64)()
        node, frame = layout.structure("WideNode"), layout.structure("BoxFrame").empty()
        count = ctypes.c_int64()
        native.core().surface_nodes(
            core.handle,
            nodes,
            firsts,
            count,
            frame,
        )
        ends = firsts[: count.value + 1]
        raw = (ctypes.c_uint8 * (ends[-1] * node.size)).from_address(nodes.value or 0)
        return boxes_of_levels(np.frombuffer(raw, dtype=node.dtype), ends, frame[0])


# --- Distances on the CPU: the kernels' launch loops through ctypes; no geometry.


class CpuNearestIndex:
    """The hierarchy over one mesh's triangles, asked for the nearest from any thread."""

    def __init__(self, mesh: MeshArrays, *, threads: int) -> None:
        self._arrays = (mesh.vertices, mesh.triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        limits = np.ascontiguousarray(mesh.bounds, dtype=np.float64)
        core().distance_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            limits,
            threads,
            self.handle,
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            core().distance_free(self.handle)

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
        addresses, strides = column_pointers(points)
        refused = ctypes.c_int64(-1)
        core().distance_nearest(
            self.handle,
            addresses,
            strides,
            len(distance),
            threads,
            distance,
            triangle,
            place,
            refused,
        )
        return refused.value


# --- Volumes of blocks on the CPU: the kernels' launch loops through ctypes; no geometry.


class CpuBlockIndex:
    """One mesh's triangles, and its rim (m, 2, 3), ready to be asked about blocks anywhere."""

    def __init__(self, mesh: MeshArrays, rim: Floats) -> None:
        self._arrays = (mesh.vertices, mesh.triangles, rim)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        core().blocks_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            rim,
            len(rim),
            self.handle,
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            core().blocks_free(self.handle)

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of this index."""
        return self.handle

    def trees(self) -> tuple[NDArray[np.void], list[int]]:
        """Return the `BoxTreeView` of triangles and that of the rim, and their leaves' numbers."""
        views, counts = layout.structure("BoxTreeView").empty(2), np.zeros(2, np.int64)
        core().blocks_trees(self.handle, views, counts)
        return views, counts.tolist()

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
        """Write shares where a triangle enters a block; return how each was answered.

        Without weights, all such blocks go along ``lines`` times ``lines`` lines; with ``single``
        those that the triangles do not cover once, within it.
        """
        answers = np.empty(len(out), np.uint8)
        core().blocks_shares(
            self.handle,
            weights,
            lows,
            highs,
            len(out),
            wound,
            lines,
            single,
            threads,
            out,
            answers,
        )
        return answers

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
        """Write shares of blocks whose plans are covered; see `BlockIndex`."""
        answers = np.empty(len(out), np.uint8)
        core().blocks_covered(
            self.handle,
            weights,
            lows,
            highs,
            len(out),
            lines,
            single,
            threads,
            out,
            answers,
        )
        return answers

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[NDArray[np.int32], Floats, NDArray[np.int8]]:
        """Return what vertical lines through each block cross; see `BlockIndex`."""
        counts = np.empty((len(lows) * lines * lines, 4), np.int32)
        total, found = ctypes.c_int64(), ctypes.c_void_p()
        core().blocks_lines(
            self.handle,
            lows,
            highs,
            len(lows),
            lines,
            below,
            threads,
            counts,
            total,
            found,
        )
        heights, signs = np.empty(total.value), np.empty(total.value, np.int8)
        core().lines_take(found, heights, signs)
        return counts, heights, signs


# --- Labels and volumes of a lattice's blocks on the CPU, through ctypes; no geometry.


def lattice_bits(
    mesh: MeshArrays,
    axes: Columns,
    threads: int,
    index: PointIndex | None = None,
) -> NDArray[np.uint64] | None:
    """Return labels of a lattice as bits along z, shape (nx, ny, words); axes ascend strictly.

    None where a block cannot be decided, for coordinates below the arithmetic's range.
    """
    lengths = [len(axis) for axis in axes]
    bits = np.zeros((lengths[0], lengths[1], (lengths[2] + 63) // 64), dtype=np.uint64)
    status = core().lattice_contains(
        mesh.vertices,
        len(mesh.vertices),
        mesh.triangles,
        len(mesh.triangles),
        addresses(axes),
        counts(lengths),
        bits,
        threads,
    )
    return None if status == layout.constant("kUndecided") else bits


def lattice_packed(
    mesh: MeshArrays,
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
    index: PointIndex | None = None,
) -> bool:
    """Write labels of a lattice as bits along z to ``out``, (nx, ny, bytes); False if undecided.

    ``bytes`` is that of whole words of 64 bits, or of as few bytes as hold the column.
    """
    bits = lattice_bits(mesh, axes, threads)
    if bits is not None:
        out[...] = bits.view(np.uint8)[:, :, : out.shape[2]]
    return bits is not None


def lattice_shares(
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
    mixed = ctypes.c_int64()
    core().shares_lattice(
        mesh.vertices,
        mesh.triangles,
        len(mesh.triangles),
        weights,
        addresses(edges),
        counts([len(axis) for axis in edges]),
        labels,
        out.view(np.uint64),  # bits of doubles, in fixed point until the end
        threads,
        mixed,
    )
    return mixed.value


# --- The CPU as a backend.


class CpuBackend:
    """The kernels on the host, by as many threads as are asked for."""

    name = "cpu"
    codes = staticmethod(codes)
    lattice_bits = staticmethod(lattice_bits)
    lattice_packed = staticmethod(lattice_packed)
    lattice_shares = staticmethod(lattice_shares)

    def point_index(self, mesh: MeshArrays, *, threads: int) -> CpuPointIndex:
        """Index a mesh for points."""
        return CpuPointIndex(mesh, threads=threads)

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> CpuSegmentIndex:
        """Index a mesh for segments; ``grid`` is for GPUs."""
        return CpuSegmentIndex(mesh, strategy=strategy, threads=threads)

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> CpuNearestIndex:
        """Index a mesh for distances."""
        return CpuNearestIndex(mesh, threads=threads)

    def block_index(self, mesh: MeshArrays, rim: Floats) -> CpuBlockIndex:
        """Index a mesh for the shares of blocks."""
        return CpuBlockIndex(mesh, rim)

    def lattice_there(
        self, mesh: MeshArrays, axes: Columns, room: DeviceRoom, index: PointIndex | None = None
    ) -> bool:
        """Refuse: what is on a GPU never comes here (`arrays.require_gpu`)."""
        raise TypeError(NOT_HERE)

    def taken(self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str) -> Taken:
        """Return "cpu" and why."""
        return "cpu", why
