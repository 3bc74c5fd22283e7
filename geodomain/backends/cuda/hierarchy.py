"""The hierarchy of boxes over a mesh, built and held on a GPU; asked in `cuda_segments`."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np

from geodomain.backends import layout
from geodomain.backends.bvh_nodes import boxes_of_levels
from geodomain.backends.cpu.segments import STEPS
from geodomain.backends.cuda import device
from geodomain.backends.cuda.arguments import Argument
from geodomain.backends.cuda.pools import allocate_pooled
from geodomain.backends.cuda.pycuda_types import CudaEvent, CudaMemory
from geodomain.backends.cuda.staging import upload
from geodomain.backends.data import Floats, MeshArrays
from geodomain.backends.native import core

MOST_ROUNDS = 16  # keys that a thread sorts
SORT_BLOCKS = 132 * 8  # that keys are shared among, where there are not many


class Rooms:
    """Give out device memory for the length of a `with`."""

    def __enter__(self) -> Rooms:
        """Begin with none."""
        self._memory: list[CudaMemory] = []
        return self

    def __call__(self, size: int) -> int:
        """Return the address of so many bytes."""
        self._memory.append(allocate_pooled(size))
        return int(self._memory[-1])

    def of(self, name: str, count: int) -> int:
        """Return the address of so many of a structure."""
        return self(layout.structure(name).size * count)

    def __exit__(self, *_: object) -> None:
        """Free all of it."""
        device.free(*self._memory)
        self._memory = []


def _launch(name: str, threads: int, *fields: Argument) -> None:
    device.launch("bvh_build.cu", f"geodomain_bvh_{name}", threads, *fields)


def _sort(keys: int, values: int, n: int, room: Rooms) -> None:
    """Sort 64-bit keys with 32-bit values where they are: an even number of passes."""
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


def _most_nodes(triangle_count: int) -> int:
    """Return the nodes that a hierarchy can have at most."""
    return core().most_nodes(triangle_count)


def _radix(step: str, threads: int, *fields: Argument) -> None:
    device.launch("radix_sort.cu", f"geodomain_radix_{step}", threads, *fields)


class Hierarchy:
    """Build the hierarchy of a mesh on the device, and hold it there."""

    def __init__(self, mesh: MeshArrays, *, brute: bool) -> None:
        self.build_times: dict[str, float] = dict.fromkeys(STEPS, 0.0)
        self._marks: list[CudaEvent] = []
        self._kept: list[CudaMemory] = []
        self.firsts: list[int] = []  # the first node of each level, and the end
        self.nbytes = 0  # of nodes and packets, or boxes: what is kept beside the mesh
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
        self._kept.append(memory)
        return int(memory)

    def _room(self, name: str, count: int) -> int:
        """Return the address of so many of a structure that are kept."""
        size = layout.structure(name).size * count
        self.nbytes += size
        return self._keep(allocate_pooled(size))

    def _mark(self) -> None:
        """Note on the device when what has been launched is done."""
        self._marks.append(device.driver().Event().record())

    def _tell_times(self) -> None:
        """Wait for the last step, and for no other."""
        marks, self._marks = self._marks, []
        if marks:
            marks[-1].synchronize()
        for step, (begin, end) in zip(STEPS, itertools.pairwise(marks), strict=False):
            self.build_times[step] = begin.time_till(end) / 1000

    def _build(self, frame: bytes, room: Rooms) -> tuple[int, int]:
        """Return the addresses of nodes and packets."""
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
        found = self._tree(boxes, codes, order, room)
        self._mark()
        return found

    def _tree(self, boxes: int, codes: int, order: int, room: Rooms) -> tuple[int, int]:
        cuda, n = device.driver(), self.count
        ends, root = room(4 * n), room(4)
        cuda.memset_d32_async(ends, 0xFFFFFFFF, n)
        tree = layout.structure("BinaryTree").pack(
            leaf_count=n, codes=codes, triangles=order, boxes=boxes, child=room(8 * n),
            range=room(8 * n), around_node=room.of("Box", n), other_end=ends, root=root,
        )  # fmt: skip
        _launch("climb", n, tree)
        most = _most_nodes(n)
        nodes, ranges = room.of("WideNode", most), room.of("PacketRange", n)
        counts = room(4 + 4 * layout.constant("kLevels"))
        wide = layout.structure("WideTree").pack(
            nodes=nodes, source=room(4 * most), packets=ranges,
            packet_count=counts, level_sizes=counts + 4,
        )  # fmt: skip
        _launch("begin", 1, tree, wide)
        node_count, self.packet_count = self._gather(tree, wide, counts)
        kept = self._room("WideNode", node_count)
        cuda.memcpy_dtod_async(kept, nodes, layout.structure("WideNode").size * node_count)
        packets = self._room("Packet", self.packet_count)
        packet_rows = ctypes.c_uint32(self.packet_count)
        places = layout.constant("kDevicePacket") * self.packet_count
        _launch("fill", places, self.mesh, order, ranges, packet_rows, packets)
        return kept, packets

    def _gather(self, tree: bytes, wide: bytes, counts: int) -> tuple[int, int]:
        """Gather nodes, level by level; return the numbers of nodes and of packets.

        Sizes of levels stay on the device: as many levels as a tree usually has go off at once,
        and only then is there a look at whether that was enough.
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
        """Return the boxes of each level, (k, 2, 3), the largest first."""
        if not self.firsts:
            return []
        nodes = layout.structure("WideNode").empty(self.firsts[-1])
        with device.current() as cuda:
            cuda.memcpy_dtoh(nodes, self.nodes)
        return boxes_of_levels(nodes, self.firsts, self.frame[0])

    def __del__(self) -> None:
        """Free the memory in the context that it came from."""
        device.free(*getattr(self, "_kept", ()))
