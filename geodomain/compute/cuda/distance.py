"""Compute distances on a GPU through PyCUDA, with one thread for each point.

Points are sorted so that neighbours are computed together. One kernel lists, for each point, the
few triangles that may be nearest. Other kernels choose the nearest of these triangles.
"""

from __future__ import annotations

import ctypes
import functools
import itertools

import numpy as np

from geodomain.compute import layout
from geodomain.compute.cuda import device
from geodomain.compute.cuda import points as bins
from geodomain.compute.cuda.buffers import Slot, allocate
from geodomain.compute.cuda.driver import CudaStream
from geodomain.compute.cuda.kernels import Argument
from geodomain.compute.cuda.pipeline import answer_all
from geodomain.compute.cuda.segments import Hierarchy, Rooms
from geodomain.compute.data import Columns, Floats, Indices, MeshArrays

FILE = "distance.cu"


class Scratch:
    """Buffers of one stream, reused for each batch: every batch gets them in the same order."""

    def __init__(self, room: Rooms) -> None:
        self._room = room
        self._buffers: list[tuple[int, int]] = []
        self._next = itertools.count()

    def begin(self) -> None:
        """Begin a batch: the next call returns the first buffer."""
        self._next = itertools.count()

    def __call__(self, size: int) -> int:
        """Return the address of the next buffer, of `size` bytes or more."""
        number = next(self._next)
        if number == len(self._buffers):
            self._buffers.append((0, 0))
        if self._buffers[number][1] < size:
            self._buffers[number] = (self._room(size), size)
        return self._buffers[number][0]


class CudaNearestIndex:
    """A bounding-volume hierarchy over one mesh's triangles on the device, for distances."""

    def __init__(self, mesh: MeshArrays) -> None:
        self._hierarchy = held = Hierarchy(mesh, brute=False)
        with device.current():
            self._memory = [allocate(size) for size in _sizes(held)]
            self._frame = held.frame.tobytes()
            self._surround(*map(int, self._memory))

    def _surround(self, nodes: int, of_nodes: int, of_packets: int, rows: int) -> None:
        """Fill the arrays of a NearestView: flattened triangles, nodes, and bounding cylinders.

        Nodes and cylinders are computed from the packets of triangles up to the root.
        """
        held, count = self._hierarchy, self._hierarchy.packet_count
        _launch("packets", count, held.packets, count, self._frame, held.mesh, of_packets, rows)
        for begin, end in reversed(list(itertools.pairwise(held.firsts))):
            _launch(
                "nodes", end - begin,
                held.nodes, begin, end, self._frame, nodes, of_nodes, of_packets,
            )  # fmt: skip
        self._view = layout.structure("NearestView").pack(
            frame=self._frame, nodes=nodes, of_nodes=of_nodes, of_packets=of_packets, rows=rows,
            mesh=held.mesh,
        )  # fmt: skip

    def __del__(self) -> None:
        """Free the memory in the context in which it was allocated."""
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
        """Write each point's distance from the mesh to ``distance``.

        ``triangle``, if given, receives the nearest triangle of each point; ``place``, (n, 3), if
        given, receives the nearest point on the mesh. Returns the first row with a coordinate out
        of range, or -1.
        """
        whole = triangle is not None or place is not None
        out = np.empty((len(distance), 5)) if whole else distance
        with device.current(), Rooms() as room:
            scratch: dict[int, Scratch] = {}

            def kernels(slot: Slot) -> int:
                mine = scratch.setdefault(id(slot), Scratch(room))
                mine.begin()
                return self._ask(slot, mine, whole=whole)

            refused = answer_all(points, out, threads, kernels, together=True)
        if whole:
            distance[:] = out[:, 0]
        if place is not None:
            place[:] = out[:, 1:4]
        if triangle is not None:
            triangle[:] = out[:, 4]
        return refused

    def _ask(self, slot: Slot, room: Scratch, *, whole: bool) -> int:
        """Compute a batch, sorted so that near points are together; return the results' address."""
        rows, order, stream = slot.rows, int(slot.open_rows), slot.stream
        cells, count = bins.curve(self._frame, rows)
        bins.order_by("draw_points", cells, count, slot.view, rows, order, room, stream)
        slot.clear_lists()
        noted, counts = room(4 * layout.constant("kMostNoted") * rows), int(slot.counts)
        on_edges = layout.row_list(int(slot.unsure_rows), counts)
        others = layout.row_list(room(4 * rows), counts + 4)
        answers, some = int(slot.answers), device.list_threads(rows)
        query = self._hierarchy.mesh, slot.view, order, rows, noted, ctypes.c_int32(whole), answers
        launch = functools.partial(_launch, stream=stream)
        launch("note", rows, self._view, slot.view, order, rows, noted)
        launch("inside", rows, *query, slot.refused, on_edges, others)
        launch("edges", some, *query, on_edges)
        launch("others", some, *query, others)
        launch("rest", rows, self._view, *query[1:])
        return answers


def _launch(step: str, threads: int, *fields: Argument, stream: CudaStream | None = None) -> None:
    device.launch(FILE, f"geodomain_distance_{step}", threads, *fields, stream=stream)


def _sizes(held: Hierarchy) -> list[int]:
    """Return the sizes of four arrays, in bytes.

    The arrays hold the nodes, the bounding cylinders of nodes, the bounding cylinders of packets
    of triangles, and the flattened triangles.
    """
    nodes, packets = held.firsts[-1], held.packet_count
    counts = {"NearestNode": nodes, "Cylinder": nodes}
    sizes = [layout.structure(name).size * count for name, count in counts.items()]
    sizes.append(layout.structure("Cylinder").size * packets)
    return [*sizes, layout.structure("FlatRow").size * layout.constant("kDevicePacket") * packets]
