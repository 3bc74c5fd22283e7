"""The hierarchy of boxes over a mesh, built and held on a GPU; asked in `cuda_segments`."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import device
from geodomain.backends.bvh_nodes import FRAME, NODE, boxes_of_levels
from geodomain.backends.cpu_segments import STEPS
from geodomain.backends.native import library, pointer
from geodomain.backends.pools import allocate_pooled
from geodomain.backends.staging import upload_pooled

Floats = NDArray[np.float64]
PACKET_BYTES, PACKET_PLACES = 160, 2
LEVELS = 97  # that sizes are kept for, as in kernels/bvh_build.h
DIGITS = 256
MOST_ROUNDS = 16  # keys that a thread sorts
SORT_BLOCKS = 132 * 8  # that keys are shared among, where there are not many


class Rooms:
    """Give out device memory for the length of a `with`."""

    def __enter__(self) -> Rooms:
        """Begin with none."""
        self._memory: list[Any] = []
        return self

    def __call__(self, size: int) -> int:
        """Return the address of so many bytes."""
        self._memory.append(allocate_pooled(size))
        return int(self._memory[-1])

    def __exit__(self, *_: object) -> None:
        """Free all of it."""
        device.free(*self._memory)
        self._memory = []


def _launch(name: str, threads: int, *fields: Any) -> None:
    device.launch("bvh_build.cu", f"geodomain_bvh_{name}", threads, *fields)


def sort(keys: int, values: int, n: int, room: Rooms) -> None:
    """Sort 64-bit keys with 32-bit values where they are: an even number of passes."""
    rounds = min(1 + n // (SORT_BLOCKS * device.BLOCK), MOST_ROUNDS)
    tiles = -(-n // (rounds * device.BLOCK))
    pairs = [(keys, values), (room(8 * n), room(4 * n))]
    counts, totals = room(4 * DIGITS * tiles), room(4 * DIGITS)
    tile_count, size = ctypes.c_uint32(tiles), (ctypes.c_uint32(n), ctypes.c_uint32(rounds))
    for step in range(8):
        (keys, values), (to_keys, to_values) = pairs[step % 2], pairs[1 - step % 2]
        shift, threads = ctypes.c_uint32(8 * step), tiles * device.BLOCK
        _radix("count", threads, keys, *size, shift, counts)
        _radix("add_up", DIGITS * device.BLOCK, counts, tile_count, totals)
        _radix("scatter", threads, keys, values, *size, shift, counts, totals, to_keys, to_values)


def _radix(step: str, threads: int, *fields: Any) -> None:
    device.launch("radix_sort.cu", f"geodomain_radix_{step}", threads, *fields)


class Hierarchy:
    """Build the hierarchy of a mesh on the device, and hold it there."""

    def __init__(
        self, vertices: Floats, triangles: NDArray[np.int32], bounds: Floats, *, brute: bool
    ) -> None:
        self.build_times: dict[str, float] = dict.fromkeys(STEPS, 0.0)
        self._marks: list[Any] = []
        self._kept: list[Any] = []
        self._firsts: list[int] = []
        self.nbytes = 0  # of nodes and packets, or boxes: what is kept beside the mesh
        self.count = len(triangles)
        self.frame = np.zeros(1, dtype=FRAME)
        library().geodomain_surface_frame(
            pointer(np.ascontiguousarray(bounds)), pointer(self.frame)
        )
        with device.current(), Rooms() as room:
            places = (self._keep(upload_pooled(array)) for array in (vertices, triangles))
            self.mesh = device.structure(*places, self.count)
            frame = self.frame.tobytes()
            if brute:
                boxes = self._room(24 * self.count)
                self._mark()
                _launch("boxes", self.count, self.mesh, frame, boxes)
                self._mark()
                self.view = device.structure(self.mesh, boxes, frame)
            else:
                self._nodes, packets = self._build(frame, room) if self.count else (0, 0)
                self.view = device.structure(self._nodes, packets, frame, self.count)
            self._tell_times()

    def _keep(self, memory: Any) -> int:
        self._kept.append(memory)
        return int(memory)

    def _room(self, size: int) -> int:
        """Return the address of so many bytes that are kept."""
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
        boxes, codes, order = room(24 * n), room(8 * n), room(4 * n)
        count = ctypes.c_int32(n)
        self._mark()
        _launch("boxes", n, self.mesh, frame, boxes)
        self._mark()
        _launch("codes", n, frame, boxes, count, codes, order)
        self._mark()
        sort(codes, order, n, room)
        self._mark()
        found = self._tree(boxes, codes, order, room)
        self._mark()
        return found

    def _tree(self, boxes: int, codes: int, order: int, room: Rooms) -> tuple[int, int]:
        cuda, n = device.driver(), self.count
        ends, root = room(4 * n), room(4)
        cuda.memset_d32_async(ends, 0xFFFFFFFF, n)
        tree = device.structure(
            ctypes.c_int32(n), codes, order, boxes,
            room(8 * n), room(8 * n), room(24 * n), ends, root,
        )  # fmt: skip
        _launch("climb", n, tree)
        most = n // (PACKET_PLACES + 1) + n // 7 + 1
        nodes, ranges, counts = room(NODE.itemsize * most), room(8 * n), room(4 + 4 * LEVELS)
        wide = device.structure(nodes, room(4 * most), ranges, counts, counts + 4)
        _launch("begin", 1, tree, wide)
        node_count, packet_count = self._gather(tree, wide, counts)
        kept = self._room(NODE.itemsize * node_count)
        cuda.memcpy_dtod_async(kept, nodes, NODE.itemsize * node_count)
        packets = self._room(PACKET_BYTES * packet_count)
        packet_rows = ctypes.c_uint32(packet_count)
        places = PACKET_PLACES * packet_count
        _launch("fill", places, self.mesh, order, ranges, packet_rows, packets)
        return kept, packets

    def _gather(self, tree: bytes, wide: bytes, counts: int) -> tuple[int, int]:
        """Gather nodes, level by level; return the numbers of nodes and of packets.

        Sizes of levels stay on the device: as many levels as a tree usually has go off at once,
        and only then is there a look at whether that was enough.
        """
        made, level = np.zeros(1 + LEVELS, dtype=np.uint32), 0
        usual = 3 + self.count.bit_length() // 2
        while level == 0 or made[1 + level] > 0:
            for number in range(level, min(level + usual, LEVELS - 1)):
                threads = min(8 ** min(number, 6), device.BLOCK * device.LIST_BLOCKS)
                _launch("gather", threads, tree, wide, ctypes.c_int32(number))
            level = min(level + usual, LEVELS - 1)
            device.driver().memcpy_dtoh(made, counts)
        self._firsts = [0, *np.cumsum(made[1 : 1 + np.count_nonzero(made[1:])]).tolist()]
        return self._firsts[-1], int(made[0])

    def levels(self) -> list[Floats]:
        """Return the boxes of each level, (k, 2, 3), the largest first."""
        if not self._firsts:
            return []
        nodes = np.empty(self._firsts[-1], dtype=NODE)
        with device.current() as cuda:
            cuda.memcpy_dtoh(nodes, self._nodes)
        return boxes_of_levels(nodes, self._firsts, self.frame[0])

    def __del__(self) -> None:
        """Give the memory back, in the context that it came from."""
        device.free(*getattr(self, "_kept", ()))
