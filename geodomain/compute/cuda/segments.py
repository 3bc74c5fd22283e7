"""Run segment queries on a GPU: build the bounding-volume hierarchy, and launch the kernels."""

from __future__ import annotations

import copy
import ctypes
import itertools
from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import layout
from geodomain.compute.cpu import CLOSED, STEPS, boxes_of_levels
from geodomain.compute.cuda import device, points
from geodomain.compute.cuda.buffers import allocate, allocate_pooled, download, upload
from geodomain.compute.cuda.driver import CudaEvent, CudaMemory
from geodomain.compute.cuda.kernels import Argument
from geodomain.compute.data import Floats, MeshArrays, SegmentRows
from geodomain.compute.native import core

MOST_ROUNDS = 16  # keys that a thread sorts
SORT_BLOCKS = 132 * 8  # blocks that share the keys, if there are few keys


class Rooms:
    """Allocates device memory that is freed at the end of a `with`."""

    def __enter__(self) -> Rooms:
        """Return this object, without any memory yet."""
        self._memory: list[CudaMemory] = []
        return self

    def __call__(self, size: int) -> int:
        """Allocate `size` bytes, and return their address."""
        self._memory.append(allocate_pooled(size))
        return int(self._memory[-1])

    def of(self, name: str, count: int) -> int:
        """Allocate `count` structures and return their address."""
        return self(layout.structure(name).size * count)

    def __exit__(self, *_: object) -> None:
        """Free all memory that was allocated."""
        device.free(*self._memory)
        self._memory = []


def _launch(name: str, threads: int, *fields: Argument) -> None:
    device.launch("bvh_build.cu", f"geodomain_bvh_{name}", threads, *fields)


def _sort(keys: int, values: int, n: int, room: Rooms) -> None:
    """Sort 64-bit keys and their 32-bit values in place."""
    block, digits = device.block_threads(), layout.constant("kDigits")
    rounds = min(1 + n // (SORT_BLOCKS * block), MOST_ROUNDS)
    tiles = -(-n // (rounds * block))
    pairs = [(keys, values), (room(8 * n), room(4 * n))]
    counts, totals = room(4 * digits * tiles), room(4 * digits)
    tile_count, size = ctypes.c_uint32(tiles), (ctypes.c_uint32(n), ctypes.c_uint32(rounds))
    bits = layout.constant("kDigitBits")
    for step in range(layout.constant("kKeyBits") // bits):
        (keys, values), (to_keys, to_values) = pairs[step % 2], pairs[1 - step % 2]
        shift, threads = ctypes.c_uint32(bits * step), tiles * block
        _radix("count", threads, keys, *size, shift, counts)
        _radix("add_up", digits * block, counts, tile_count, totals)
        _radix("scatter", threads, keys, values, *size, shift, counts, totals, to_keys, to_values)


def _radix(step: str, threads: int, *fields: Argument) -> None:
    device.launch("radix_sort.cu", f"geodomain_radix_{step}", threads, *fields)


class Hierarchy:
    """A bounding-volume hierarchy over a mesh's triangles, built and stored on the device."""

    def __init__(self, mesh: MeshArrays, *, brute: bool) -> None:
        self.build_times: dict[str, float] = dict.fromkeys(STEPS, 0.0)
        self._marks: list[CudaEvent] = []
        self._memories: list[CudaMemory] = []
        self.firsts: list[int] = []  # the first node of each level, and the end
        self.nbytes = 0  # of nodes and packets, or boxes; without the mesh
        self.count = len(mesh.triangles)
        self.packets = self.packet_count = 0
        self.frame = layout.structure("BoxFrame").empty()
        core().surface_frame(np.ascontiguousarray(mesh.bounds), self.frame)
        with device.current(), Rooms() as room:
            places = [*map(self._keep, upload(mesh.vertices, mesh.triangles, pooled=True))]
            self.mesh = layout.mesh_view(places[0], places[1], self.count)
            frame = self.frame.tobytes()
            if brute:
                boxes = self._room("Box", self.count)
                self._mark()
                _launch("boxes", self.count, self.mesh, frame, boxes)
                self._mark()
                brute_view = layout.structure("BruteView")
                self.view = brute_view.pack(mesh=self.mesh, boxes=boxes, frame=frame)
            else:
                self.nodes, self.packets = self._build(frame, room) if self.count else (0, 0)
                self.view = layout.structure("BvhView").pack(
                    nodes=self.nodes, packets=self.packets, frame=frame, triangle_count=self.count
                )
            self._tell_times()

    def _keep(self, memory: CudaMemory) -> int:
        self._memories.append(memory)
        return int(memory)

    def _room(self, name: str, count: int) -> int:
        """Allocate `count` structures for the lifetime of this object; return their address."""
        size = layout.structure(name).size * count
        self.nbytes += size
        return self._keep(allocate_pooled(size))

    def _mark(self) -> None:
        """Record an event after the kernels launched so far, to measure time."""
        self._marks.append(device.driver().Event().record())

    def _tell_times(self) -> None:
        """Wait for the last step of the build, and store the seconds of each step."""
        marks, self._marks = self._marks, []
        if marks:
            marks[-1].synchronize()
        for step, (begin, end) in zip(STEPS, itertools.pairwise(marks), strict=False):
            self.build_times[step] = begin.time_till(end) / 1000

    def _build(self, frame: bytes, room: Rooms) -> tuple[int, int]:
        """Build the hierarchy; return the addresses of its nodes and its packets of triangles."""
        n = self.count
        boxes, codes, order = room.of("Box", n), room(8 * n), room(4 * n)
        count = ctypes.c_int32(n)
        self._mark()
        _launch("boxes", n, self.mesh, frame, boxes)
        self._mark()
        _launch("codes", n, frame, boxes, count, codes, order)
        self._mark()
        _sort(codes, order, n, room)
        self._mark()
        addresses = self._tree(boxes, codes, order, room)
        self._mark()
        return addresses

    def _tree(self, boxes: int, codes: int, order: int, room: Rooms) -> tuple[int, int]:
        cuda, n = device.driver(), self.count
        ends, root = room(4 * n), room(4)
        cuda.memset_d32_async(ends, 0xFFFFFFFF, n)
        tree = layout.structure("BinaryTree").pack(
            leaf_count=n, codes=codes, triangles=order, boxes=boxes, child=room(8 * n),
            range=room(8 * n), around_node=room.of("Box", n), other_end=ends, root=root,
        )  # fmt: skip
        _launch("climb", n, tree)
        most = core().most_nodes(n)
        nodes, ranges = room.of("WideNode", most), room.of("PacketRange", n)
        counts = room(4 + 4 * layout.constant("kLevels"))
        wide = layout.structure("WideTree").pack(
            nodes=nodes, source=room(4 * most), packets=ranges,
            packet_count=counts, level_sizes=counts + 4,
        )  # fmt: skip
        _launch("begin", 1, tree, wide)
        node_count, self.packet_count = self._gather(tree, wide, counts)
        stored = self._room("WideNode", node_count)
        cuda.memcpy_dtod_async(stored, nodes, layout.structure("WideNode").size * node_count)
        packets = self._room("Packet", self.packet_count)
        packet_rows = ctypes.c_uint32(self.packet_count)
        places = layout.constant("kDevicePacket") * self.packet_count
        _launch("fill", places, self.mesh, order, ranges, packet_rows, packets)
        return stored, packets

    def _gather(self, tree: bytes, wide: bytes, counts: int) -> tuple[int, int]:
        """Collapse the binary tree into wide nodes, level by level.

        Return a tuple: the number of nodes, and the number of packets of triangles. The device
        computes the size of each level. As many levels as a tree usually has are launched at once;
        only then are the sizes read, to see whether more levels are needed.
        """
        levels, level = layout.constant("kLevels"), 0
        made = np.zeros(1 + levels, dtype=np.uint32)
        usual = 3 + self.count.bit_length() // 2
        while level == 0 or made[1 + level] > 0:
            for number in range(level, min(level + usual, levels - 1)):
                threads = device.list_threads(layout.constant("kWide") ** min(number, 6))
                _launch("gather", threads, tree, wide, ctypes.c_int32(number))
            level = min(level + usual, levels - 1)
            device.driver().memcpy_dtoh(made, counts)
        self.firsts = [0, *np.cumsum(made[1 : 1 + np.count_nonzero(made[1:])]).tolist()]
        return self.firsts[-1], int(made[0])

    def levels(self) -> list[Floats]:
        """Return an array of boxes, (k, 2, 3), for each level of the hierarchy, the root first."""
        if not self.firsts:
            return []
        nodes = layout.structure("WideNode").empty(self.firsts[-1])
        with device.current() as cuda:
            cuda.memcpy_dtoh(nodes, self.nodes)
        return boxes_of_levels(nodes, self.firsts, self.frame[0])

    def __del__(self) -> None:
        """Free the memory in the context in which it was allocated."""
        device.free(*getattr(self, "_memories", ()))


# Segment queries.

Number = TypeVar("Number", bound=np.generic)

MOST_HITS = 1 << 23  # most hits at a time
BINNED_ROWS = 1 << 20  # with fewer segments, binning costs more than it saves


class Resident:
    """Segments on the device, and memory for a list of rows that quick arithmetic cannot decide."""

    def __init__(self, packed: Floats, *, sorted: bool) -> None:
        self.rows = len(packed)
        self.sorted = sorted
        self.home = device.number()
        self._whole: Resident | None = None
        with device.current():
            self._memory = [*upload(packed), allocate(self.nbytes - packed.nbytes)]
        self.ends, self._unsure = map(int, self._memory)

    def unsure(self) -> bytes:
        """Empty the list of rows that quick arithmetic cannot decide; return its RowList."""
        device.driver().memset_d32_async(self._unsure, 0, 1)
        return layout.row_list(self._unsure + 4, self._unsure)

    def part(self, begin: int, end: int) -> Resident:
        """Return rows [begin, end) without copying them; they keep the memory of all rows alive."""
        part = copy.copy(self)
        part.rows, part._memory = end - begin, []
        part.ends = self.ends + layout.structure("Segment").size * begin
        part._whole = self
        return part

    @property
    def nbytes(self) -> int:
        """Return the size in bytes of the segments and of the list of undecided ones."""
        return (layout.structure("Segment").size + 4) * self.rows + 4

    def __del__(self) -> None:
        """Free the memory in the context in which it was allocated."""
        device.free(*getattr(self, "_memory", ()))


@device.one_at_a_time
def resident(segments: SegmentRows) -> Resident:
    """Return the copy of segments on the device; the first query makes this copy."""
    copied = segments.device.get("cuda")
    if not isinstance(copied, Resident) or copied.home != device.number():
        copied = segments.device["cuda"] = Resident(
            segments.packed, sorted=segments.order is not None
        )
    return copied


def binned(segments: Resident, frame: NDArray[np.void], room: Rooms) -> int:
    """Sort the rows so that near segments are together; return the address of their order."""
    cells = layout.structure("Bins").empty()
    core().bins_of(frame, segments.rows, cells)
    order, count = room(4 * segments.rows), int(cells[0]["count"])
    points.order_by("draw", cells.tobytes(), count, segments.ends, segments.rows, order, room)
    return order


class CudaSegmentIndex:
    """An index of one surface on the device, for segment queries."""

    def __init__(self, mesh: MeshArrays, *, strategy: str, grid: int | None) -> None:
        self._held: Hierarchy | None = Hierarchy(mesh, brute=strategy == "brute")
        self._brute = strategy == "brute"
        self._grid = grid

    @property
    def _hierarchy(self) -> Hierarchy:
        """Return the hierarchy; raise ValueError after `close`.

        The caller's reference keeps the hierarchy alive, even if `close` is called meanwhile.
        """
        hierarchy = self._held
        if hierarchy is None:
            raise ValueError(CLOSED)
        return hierarchy

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of the build took."""
        return self._hierarchy.build_times

    @property
    def nbytes(self) -> int:
        """Return the size in bytes on the device, without the mesh's own arrays."""
        return self._hierarchy.nbytes

    def levels(self) -> list[Floats]:
        """Return an array of boxes, (k, 2, 3), for each level of the hierarchy, the root first."""
        return self._hierarchy.levels()

    def close(self) -> None:
        """Free the device's memory once no thread uses it."""
        self._held = None

    @device.one_at_a_time  # because all calls share the list of unsure rows
    def ask(self, query: str, segments: Resident, *fields: Argument) -> None:
        """Run a query over all rows in quick arithmetic.

        Then run the query in full precision over the rows whose result is uncertain.
        """
        unsure, hierarchy = segments.unsure(), self._hierarchy
        threads = segments.rows if self._grid is None else self._grid * device.block_threads()
        some = device.list_threads(threads)
        name = f"geodomain_segments_{query}"
        with Rooms() as room:
            pays = segments.rows >= BINNED_ROWS and not segments.sorted and self._grid is None
            order = binned(segments, hierarchy.frame, room) if pays else 0
            rows = layout.structure("SegmentRows").pack(
                segments=segments.ends, order=order, count=segments.rows
            )
            call = hierarchy.view, rows, *fields, unsure
            device.launch("segments.cu", name, threads, *call)
            device.launch("segments.cu", f"{name}_full", some, *call)

    def ask_brute(self, step: str, segments: Resident, *fields: Argument) -> None:
        """Run one step of a query by brute force, with a thread block for each triangle."""
        hierarchy = self._hierarchy
        device.launch(
            "brute.cu", f"geodomain_brute_{step}", hierarchy.count * device.block_threads(),
            hierarchy.view, segments.ends, ctypes.c_uint32(segments.rows), *fields,
        )  # fmt: skip

    def answer(
        self, query: str, segments: SegmentRows, out: NDArray[Number], nothing: int
    ) -> NDArray[Number]:
        """Write the results of a query to ``out``, and return ``out``.

        ``nothing`` is the byte that fills the result of a segment without a hit.
        """
        if len(out) == 0:
            return out
        copied = resident(segments)
        with device.current() as cuda, Rooms() as room:
            results = room(out.nbytes)
            if not self._brute:
                self.ask(query, copied, results)
            else:
                cuda.memset_d8(results, nothing, out.nbytes)
                if query == "nearest":
                    least = room(8 * copied.rows)
                    cuda.memset_d8(least, 0xFF, 8 * copied.rows)
                    self.ask_brute("least", copied, least)
                    self.ask_brute("nearest", copied, least, results)
                else:
                    self.ask_brute(query, copied, results)
            download(out, results)
        return out

    def boolean(self, segments: SegmentRows, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        out = np.empty(len(segments.packed), dtype=np.bool_)
        return self.answer("boolean", segments, out, 0)

    def count(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return how many triangles each segment crosses."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        return self.answer("count", segments, out, 0)

    def nearest(self, segments: SegmentRows, threads: int) -> NDArray[np.int32]:
        """Return the triangle that each segment crosses first; -1 if it crosses none."""
        out = np.empty(len(segments.packed), dtype=np.int32)
        return self.answer("nearest", segments, out, 0xFF)

    def all(
        self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.int32]:
        """Return all crossed triangles; segment i has the slice offsets[i]:offsets[i + 1]."""
        out = np.empty(offsets[-1], dtype=np.int32)
        for begin, end in _ranges(offsets):
            part, firsts = resident(segments).part(begin, end), offsets[begin : end + 1]
            out[firsts[0] : firsts[-1]] = self._all(part, firsts - firsts[0])
        return out

    def _all(self, part: Resident, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        out = layout.structure("Found").empty(int(offsets[-1]))
        with device.current() as cuda, Rooms() as room:
            firsts, hits = room(offsets.nbytes), room(out.nbytes)
            cuda.memcpy_htod(firsts, offsets)
            if not self._brute:
                self.ask("all", part, firsts, hits)
            else:
                counters = room(4 * part.rows)
                cuda.memset_d32(counters, 0, part.rows)
                self.ask_brute("all", part, firsts, counters, hits)
                rows = ctypes.c_uint32(part.rows)
                device.launch("brute.cu", "geodomain_brute_sort", part.rows, rows, firsts, hits)
            cuda.memcpy_dtoh(out, hits)
        triangle: NDArray[np.int64] = out["triangle"]
        return triangle

    def describe(
        self,
        segments: SegmentRows,
        rows: NDArray[np.int64],
        triangle: NDArray[np.int32],
        threads: int,
    ) -> Floats:
        """Return t, u, v, distance, x, y and z of each hit, (k, 7); see `query.segments.Hits`."""
        out = np.empty((len(rows), 7))
        for begin in range(0, len(rows), MOST_HITS):
            some = slice(begin, begin + MOST_HITS)
            self._describe(resident(segments), rows[some], triangle[some], out[some])
        return out

    def _describe(
        self, segments: Resident, rows: NDArray[np.int64], triangle: NDArray[np.int32], out: Floats
    ) -> None:
        with device.current() as cuda, Rooms() as room:
            places = room(rows.nbytes), room(triangle.nbytes), room(out.nbytes)
            cuda.memcpy_htod(places[0], rows)
            cuda.memcpy_htod(places[1], triangle)
            device.launch(
                "segments.cu", "geodomain_segments_describe", len(rows), self._hierarchy.mesh,
                segments.ends, *places[:2], len(rows), places[2],
            )  # fmt: skip
            cuda.memcpy_dtoh(out, places[2])


def _ranges(offsets: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges (begin, end) of rows that have at most MOST_HITS hits together.

    A row with more hits forms a range alone.
    """
    begin, rows = 0, len(offsets) - 1
    while begin < rows and offsets[begin] < offsets[-1]:
        most = offsets[begin] + MOST_HITS
        end = max(begin, int(np.searchsorted(offsets, most, side="right")) - 2) + 1
        yield begin, end
        begin = end
