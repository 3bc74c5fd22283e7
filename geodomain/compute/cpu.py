"""Run queries on the CPU, by calling the compiled core."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import layout, native
from geodomain.compute.api import MachineUsed, PointIndex, SegmentIndex
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

NOT_HERE = "the CPU's backend received an array on a GPU, or an index of another backend"
# Names of the arrays of `geodomain_grid_arrays`, in its order.
PARTS = ("grids", "slabs", "lists", "entries", "bundles", "bundled")


class _PointCall(NamedTuple):
    """The arguments that all core functions over points share: inputs first, outputs last."""

    inputs: tuple[object, ...]
    outputs: tuple[object, ...]
    refused: ctypes.c_int64  # the first undecided row, or -1


class CpuPointIndex:
    """A grid over one mesh's triangles; any thread may query it.

    ``density`` is the number of triangles per cell. With 8 triangles per cell, building the index
    of n triangles takes about as long as querying n points.
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
        """Return a tuple: how many cells, cell entries, grids and long triangles the index has."""
        size = (ctypes.c_int64 * 4)()
        core().grid_size(self.handle, size)
        return size[0], size[1], size[2], size[3]

    def arrays(self) -> dict[str, NDArray[np.uint8]]:
        """Return the bytes of the index's arrays by name, as views of the index's memory."""
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

    def _call(self, points: Points, out: Room) -> _PointCall:
        """Return the arguments that all core functions over points take."""
        columns, room = _in_memory(points, out)
        addresses, strides = column_pointers(columns)
        refused = ctypes.c_int64(-1)
        return _PointCall((self.handle, addresses, strides, len(room)), (room, refused), refused)

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside; return the first undecided row, or -1."""
        call = self._call(points, out)
        core().grid_contains(*call.inputs, threads, *call.outputs)
        return call.refused.value

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write how many crossings are above each point; return the first undecided row, or -1."""
        call = self._call(points, out)
        core().grid_crossings(*call.inputs, int(signed), threads, *call.outputs)
        return call.refused.value

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each winding number is not 0; return the first undecided row, or -1."""
        columns, room = _in_memory(points, out)
        numbers = np.empty(len(room), np.int32)
        refused = self.crossings(columns, numbers, threads, signed=True)
        np.not_equal(numbers, 0, out=room)
        return refused

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is on a triangle; return the first undecided row, or -1."""
        call = self._call(points, out)
        core().grid_on_surface(*call.inputs, threads, *call.outputs)
        return call.refused.value

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write how many crossings are above and how many are below each point, (n, 2).

        Returns the first undecided row, or -1.
        """
        call = self._call(points, out)
        core().grid_sides(*call.inputs, threads, *call.outputs)
        return call.refused.value

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write each point's generalised winding number and a bound on its error, (n, 2).

        ``rim`` has the ends (m, 2, 3) and weights (m,) of the open edges, in the order in which
        they are summed. Returns the first undecided row, or -1.
        """
        ends, weights = rim
        call = self._call(points, out)
        core().grid_winding(*call.inputs, ends, weights, len(weights), threads, *call.outputs)
        return call.refused.value


def _in_memory(points: Points, out: Room) -> tuple[Columns, NDArray[np.generic]]:
    """Return points and output unchanged; raise TypeError if either of them is on a GPU."""
    if isinstance(points, tuple) and isinstance(out, np.ndarray):
        return points, out
    raise TypeError(NOT_HERE)


def codes(indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
    """Write the number of the first mesh that contains each point, as in `Backend.codes`."""
    columns, room = _in_memory(points, out)
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


STEPS = ("boxes", "codes", "sort", "tree")  # of building the hierarchy
CLOSED = "the surface was closed during a query"


class _CoreSurface:
    """The compiled core's memory for a surface; it is freed when the last running query ends."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()

    def __del__(self) -> None:
        """Free the memory."""
        if self.handle:
            native.core().surface_free(self.handle)


class CpuSegmentIndex:
    """A hierarchy of boxes over one surface's triangles; any thread may query it."""

    def __init__(self, mesh: MeshArrays, *, strategy: str, threads: int) -> None:
        self._arrays = (mesh.vertices, mesh.triangles)  # the core reads them where they are
        core = _CoreSurface()
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
        self._core: _CoreSurface | None = core
        self.build_times: Mapping[str, float] = dict(zip(STEPS, times, strict=True))
        self._strategy = strategy

    @property
    def nbytes(self) -> int:
        """Size of the hierarchy in bytes, without the mesh's own arrays."""
        return native.core().surface_bytes(self._open().handle)

    def close(self) -> None:
        """Free the core's memory once no thread uses it."""
        self._core = None

    def _open(self) -> _CoreSurface:
        """Return the core's memory for the surface; raise ValueError after `close`."""
        core = self._core
        if core is None:
            raise ValueError(CLOSED)
        return core

    def _ask(
        self, function: str, segments: SegmentRows, threads: int, *out: NDArray[np.generic]
    ) -> None:
        core = self._open()
        query: native.CoreFunction = getattr(native.core(), f"segments_{function}")
        query(core.handle, segments.packed, len(segments.packed), threads, *out)

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
        """Return the triangle that each segment crosses first; -1 if it crosses none."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        self._ask("nearest", segments, threads, out)
        return out

    def all(
        self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.int32]:
        """Return all crossed triangles; segment i has the slice offsets[i]:offsets[i + 1]."""
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
        """Return t, u, v, distance, x, y and z of each hit, (k, 7); see `query.segments.Hits`."""
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
        """Return an array of boxes, (k, 2, 3), for each level of the hierarchy, the root first."""
        if self._strategy == "brute" or not len(self._arrays[1]):
            return []
        core = self._open()
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


def boxes_of_levels(nodes: NDArray[np.void], firsts: Sequence[int], frame: np.void) -> list[Floats]:
    """Return, for each level of a hierarchy, an array of the boxes in its nodes, (k, 2, 3).

    `firsts` holds the number of the first node of each level. Its last element is the number of
    all nodes.
    """
    return [_boxes(nodes[begin:end], frame) for begin, end in pairwise(firsts)]


def _boxes(nodes: NDArray[np.void], frame: np.void) -> Floats:
    """Return the boxes in these nodes as an array (k, 2, 3), in the mesh's coordinates."""
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
    """Return the bytes of 64-bit words along a new last axis, the least significant byte first."""
    rows = np.ascontiguousarray(words, dtype="<u8")[..., None]
    return rows.view(np.uint8)


class CpuNearestIndex:
    """A hierarchy of boxes over one mesh's triangles for distances; any thread may query it."""

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
        """Write distances, nearest triangles and nearest points; see `NearestIndex.nearest`."""
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


class CpuBlockIndex:
    """Index of one mesh and its open edges, (m, 2, 3); see `BlockIndex`."""

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
        """Return the `BoxTreeView`s of the triangles and of the open edges, and their leaf counts.

        The result is a tuple: an array of the two views, and a list of the two leaf counts.
        """
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
        """Write the shares of blocks that a triangle enters; see `BlockIndex.shares`."""
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
        """Write the shares of blocks whose plan the surface covers; see `BlockIndex`."""
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
        """Return the crossings of vertical lines through each block; see `BlockIndex.cuts`."""
        counts = np.empty((len(lows) * lines * lines, 4), np.int32)
        total, crossings = ctypes.c_int64(), ctypes.c_void_p()
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
            crossings,
        )
        heights, signs = np.empty(total.value), np.empty(total.value, np.int8)
        core().lines_take(crossings, heights, signs)
        return counts, heights, signs


def lattice_bits(
    mesh: MeshArrays,
    axes: Columns,
    threads: int,
    index: PointIndex | None = None,
) -> NDArray[np.uint64] | None:
    """Return which blocks of a lattice are inside, as bits; see `Backend.lattice_bits`."""
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
    """Write to ``out`` which blocks of a lattice are inside, as bits along z, (nx, ny, bytes).

    ``bytes`` is either the smallest number that holds a column of bits, or that number rounded
    up to a multiple of 8, for 64-bit words. Returns False if a block cannot be decided.
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
    """Write the shares of a lattice's blocks; see `Backend.lattice_shares`."""
    mixed = ctypes.c_int64()
    core().shares_lattice(
        mesh.vertices,
        mesh.triangles,
        len(mesh.triangles),
        weights,
        addresses(edges),
        counts([len(axis) for axis in edges]),
        labels,
        out.view(np.uint64),  # fixed point during the sum, bits of doubles at the end
        threads,
        mixed,
    )
    return mixed.value


class CpuBackend:
    """The backend that runs the kernels on the CPU, with several threads."""

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
        """Index a mesh for segments; ``grid`` applies to GPUs only."""
        return CpuSegmentIndex(mesh, strategy=strategy, threads=threads)

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> CpuNearestIndex:
        """Index a mesh for distances."""
        return CpuNearestIndex(mesh, threads=threads)

    def block_index(self, mesh: MeshArrays, rim: Floats) -> CpuBlockIndex:
        """Index a mesh, to compute which share of a block is inside the mesh."""
        return CpuBlockIndex(mesh, rim)

    def lattice_there(
        self, mesh: MeshArrays, axes: Columns, room: DeviceRoom, index: PointIndex | None = None
    ) -> bool:
        """Raise TypeError, because the CPU cannot write to an array on a GPU.

        Users never see this error: `arrays.require_gpu` refuses such arrays earlier.
        """
        raise TypeError(NOT_HERE)

    def machine_used(
        self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str
    ) -> MachineUsed:
        """Return a tuple: "cpu", and the reason `why`."""
        return "cpu", why
