"""Distances on a GPU, through PyCUDA: neighbours go together, a thread to a point."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np

from geodomain.backends import layout
from geodomain.backends.cuda import device
from geodomain.backends.cuda.arguments import Argument
from geodomain.backends.cuda.buffers import Slot
from geodomain.backends.cuda.hierarchy import Hierarchy, Rooms, sort
from geodomain.backends.cuda.pipeline import answer_all
from geodomain.backends.cuda.pools import allocate
from geodomain.backends.data import Columns, Floats, Indices, MeshArrays

FILE = "distance.cu"


class Scratch:
    """Rooms that a stream uses again for each chunk, given out in the same order."""

    def __init__(self, room: Rooms) -> None:
        self._room = room
        self._given: list[tuple[int, int]] = []
        self._next = itertools.count()

    def begin(self) -> None:
        """Give out from the first room again."""
        self._next = itertools.count()

    def __call__(self, size: int) -> int:
        """Return the address of so many bytes."""
        number = next(self._next)
        if number == len(self._given):
            self._given.append((0, 0))
        if self._given[number][1] < size:
            self._given[number] = (self._room(size), size)
        return self._given[number][0]


class CudaNearestIndex:
    """The hierarchy over one mesh's triangles on the device, asked for the nearest."""

    def __init__(self, mesh: MeshArrays) -> None:
        self._hierarchy = held = Hierarchy(mesh, brute=False)
        with device.current():
            self._memory = [allocate(size) for size in _sizes(held)]
            self._frame = held.frame.tobytes()
            self._surround(*map(int, self._memory))

    def _surround(self, of_nodes: int, of_packets: int) -> None:
        """Write cylinders, from the packets up to the root."""
        held, count = self._hierarchy, self._hierarchy.packet_count
        _launch("packets", count, held.packets, count, self._frame, of_packets)
        for begin, end in reversed(list(itertools.pairwise(held.firsts))):
            _launch("nodes", end - begin, held.nodes, begin, end, of_nodes, of_packets)
        self._view = layout.structure("NearestView").pack(
            bvh=held.view, of_nodes=of_nodes, of_packets=of_packets, mesh=held.mesh
        )

    def __del__(self) -> None:
        """Give the memory back, in the context that it came from."""
        device.free(*getattr(self, "_memory", ()))

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
        whole = triangle is not None or place is not None
        out = np.empty((len(distance), 5)) if whole else distance
        with device.current(), Rooms() as room:
            scratch: dict[int, Scratch] = {}

            def kernels(slot: Slot) -> int:
                mine = scratch.setdefault(id(slot), Scratch(room))
                mine.begin()
                return self._ask(slot, mine, whole=whole)

            refused = answer_all(points, out, threads, kernels)
        if whole:
            distance[:] = out[:, 0]
        if place is not None:
            place[:] = out[:, 1:4]
        if triangle is not None:
            triangle[:] = out[:, 4]
        return refused

    def _ask(self, slot: Slot, room: Scratch, *, whole: bool) -> int:
        """Answer a chunk, in an order in which neighbours are near; return the answers' address."""
        rows, order = slot.rows, int(slot.open_rows)
        codes = room(8 * rows)
        device.launch(
            FILE, "geodomain_distance_codes", rows,
            slot.view, rows, self._frame, codes, order, stream=slot.stream,
        )  # fmt: skip
        sort(codes, order, rows, room, stream=slot.stream)
        device.launch(
            FILE, "geodomain_distance_nearest", rows,
            self._view, slot.view, order, rows,
            ctypes.c_int32(whole), int(slot.answers), slot.refused, stream=slot.stream,
        )  # fmt: skip
        return int(slot.answers)


def _launch(step: str, threads: int, *fields: Argument) -> None:
    device.launch(FILE, f"geodomain_distance_{step}", threads, *fields)


def _sizes(held: Hierarchy) -> tuple[int, int]:
    """Return the bytes of the cylinders of nodes and of packets."""
    size = layout.structure("Cylinder").size
    return size * held.firsts[-1], size * held.packet_count
