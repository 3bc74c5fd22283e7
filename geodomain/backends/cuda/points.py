"""Point queries on a GPU, through PyCUDA."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import partial

from geodomain.backends import layout
from geodomain.backends.api import PointIndex
from geodomain.backends.cpu import points as cpu
from geodomain.backends.cpu.points import CpuPointIndex
from geodomain.backends.cuda import device
from geodomain.backends.cuda.buffers import Slot
from geodomain.backends.cuda.codes import first_solids
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.cuda.grid import GridOnDevice
from geodomain.backends.cuda.pipeline import Kernels, answer_all
from geodomain.backends.cuda.shortage import cpu_instead
from geodomain.backends.cuda.staging import upload
from geodomain.backends.data import Columns, MeshArrays, Points, Rim, Room
from geodomain.backends.device_memory import DevicePoints, DeviceRoom

# A question to the CPU's index: points, room for the answers, threads.
OnCpu = Callable[[CpuPointIndex, Points, Room, int], int]

FEW_ROWS = 131_072  # points that one launch answers sooner than three
NOT_HERE = "the GPU's backend was given an index of another backend"


class CudaPointIndex:
    """The grid over one mesh's triangles, kept on the device; asked from any thread."""

    def __init__(self, mesh: MeshArrays, *, threads: int) -> None:
        self._on_cpu = partial(CpuPointIndex, mesh, threads=threads)
        self._substitute: CpuPointIndex | None = None
        self._lock = threading.Lock()
        self.grid: GridOnDevice | None = None
        self.answers = self.on_the_cpu = 0  # of those, for want of memory
        self.want = ""
        try:
            self.grid = GridOnDevice(mesh, threads=threads)
        except OutOfDeviceMemory:
            self.want = cpu_instead("the wireframe's index")

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        return self.grid.size() if self.grid else self.substitute().size()

    def substitute(self) -> CpuPointIndex:
        """Return the CPU's index of the mesh, made when the device first has no memory."""
        with self._lock:
            if self._substitute is None:
                self._substitute = self._on_cpu()
            return self._substitute

    @property
    def solid(self) -> bytes:
        """Return the kernels' Solid."""
        grid = self._grid()
        single = grid.single or layout.structure("SingleView").pack(vertices=0, reach=0.0)
        return layout.structure("Solid").pack(grid=grid.view, single=single)

    def record(self, answers: int, want: str) -> None:
        """Count answers, the CPU's where the device wants memory."""
        with self._lock:
            self.answers += answers
            self.on_the_cpu += answers if want else 0
            self.want = self.want or want

    def label(self, slot: Slot) -> int:
        """Label the slot's chunk: two bits, quick counts, full counts; return where they are."""
        grid, labels = self._grid(), slot.place_of(slot.labels)
        rows = ctypes.c_uint32(slot.rows)
        if slot.rows <= FEW_ROWS:
            device.launch(
                "grid.cu", "geodomain_contains_few", slot.rows,
                grid.view, slot.view, rows, labels, slot.refused, stream=slot.stream,
            )  # fmt: skip
            return labels
        slot.clear_lists()
        counts = int(slot.counts)
        open_list = layout.row_list(int(slot.open_rows), counts)
        unsure_list = layout.row_list(int(slot.unsure_rows), counts + 4)
        some = device.list_threads(slot.rows)
        device.launch(
            "grid.cu", "geodomain_look_up", -(-slot.rows // layout.constant("kRowsOfThread")),
            grid.view, slot.view, rows, labels, open_list, stream=slot.stream,
        )  # fmt: skip
        count, views = "geodomain_count_quick", [grid.view]
        if grid.single is not None:
            count, views = "geodomain_count_single", [grid.view, grid.single]
        device.launch(
            "grid.cu", count, some,
            *views, slot.view, int(slot.open_rows), counts, labels, unsure_list,
            stream=slot.stream,
        )  # fmt: skip
        device.launch(
            "grid.cu", "geodomain_count_full", some,
            grid.view, slot.view, int(slot.unsure_rows), counts + 4, labels, slot.refused,
            stream=slot.stream,
        )  # fmt: skip
        return labels

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside; return the first refused row or -1."""
        return self._answer(points, out, threads, self.label, CpuPointIndex.contains)

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write the crossings above each point; return the first refused row or -1."""
        on_cpu = partial(CpuPointIndex.crossings, signed=signed)

        def kernels(slot: Slot) -> int:
            return self._count(slot, slot.place_of(slot.answers), signed=signed)

        return self._answer(points, out, threads, kernels, on_cpu)

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether a winding number is not 0; return the first refused row or -1."""

        def kernels(slot: Slot) -> int:
            labels = slot.place_of(slot.labels)
            numbers = self._count(slot, int(slot.answers), signed=True)
            device.launch(
                "answers.cu", "geodomain_nonzero", slot.rows,
                numbers, ctypes.c_uint32(slot.rows), labels, stream=slot.stream,
            )  # fmt: skip
            return labels

        return self._answer(points, out, threads, kernels, CpuPointIndex.winds)

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is on a triangle; return the first refused row or -1."""

        def kernels(slot: Slot) -> int:
            labels = slot.place_of(slot.labels)
            device.launch(
                "grid.cu", "geodomain_on_surface", slot.rows, self._grid().view, slot.view,
                slot.rows, labels, slot.refused, stream=slot.stream,
            )  # fmt: skip
            return labels

        return self._answer(points, out, threads, kernels, CpuPointIndex.on_surface)

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write the crossings above and below each point, (n, 2); the first refused row or -1."""

        def kernels(slot: Slot) -> int:
            device.launch(
                "sides.cu", "geodomain_sides", slot.rows, self._grid().view, slot.view,
                slot.rows, int(slot.answers), slot.refused, stream=slot.stream,
            )  # fmt: skip
            return int(slot.answers)

        return self._answer(points, out, threads, kernels, CpuPointIndex.sides)

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and bounds, (n, 2); the first refused row or -1."""
        with device.current():
            edges = upload(*rim)
        ends, weights = map(int, edges)
        view = layout.structure("Rim").pack(ends=ends, weights=weights, edge_count=len(rim[1]))

        def kernels(slot: Slot) -> int:
            device.launch(
                "winding.cu", "geodomain_winding", slot.rows, self._grid().view, slot.view,
                slot.rows, view, int(slot.answers), slot.refused, stream=slot.stream,
            )  # fmt: skip
            return int(slot.answers)

        try:
            on_cpu = partial(CpuPointIndex.winding, rim=rim)
            return self._answer(points, out, threads, kernels, on_cpu)
        finally:
            device.free(*edges)

    def _answer(
        self, points: Points, out: Room, threads: int, kernels: Kernels, on_cpu: OnCpu
    ) -> int:
        """Answer by kernels, or by the CPU's index, which is made when that is first asked."""
        return _or_on_cpu(
            [self], points, out,
            lambda: answer_all(points, out, threads, kernels),
            lambda columns: on_cpu(self.substitute(), columns, out, threads),
        )  # fmt: skip

    def _count(self, slot: Slot, into: int, *, signed: bool) -> int:
        """Launch the count of crossings; return where the answers are."""
        device.launch(
            "grid.cu", "geodomain_crossings", slot.rows, self._grid().view, slot.view,
            slot.rows, ctypes.c_int32(signed), into, slot.refused, stream=slot.stream,
        )  # fmt: skip
        return into

    def _grid(self) -> GridOnDevice:
        if self.grid is None:
            message = "not enough GPU memory for the wireframe's index"
            raise OutOfDeviceMemory(message)
        return self.grid


def codes(indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
    """Write which index first holds each point, -1 none, -2 not finite; as ``contains``."""
    own = [index for index in indexes if isinstance(index, CudaPointIndex)]
    if len(own) != len(indexes):
        raise TypeError(NOT_HERE)
    return _or_on_cpu(
        own, points, out,
        lambda: first_solids([one.solid for one in own], points, out, threads),
        lambda columns: cpu.codes([one.substitute() for one in own], columns, out, threads),
    )  # fmt: skip


def _or_on_cpu(
    indexes: Sequence[CudaPointIndex],
    points: Points,
    out: Room,
    on_device: Callable[[], int],
    on_cpu: Callable[[Columns], int],
) -> int:
    """Answer on the device, or, where it has no memory for the least chunk, on the CPU.

    What is on the device already stays there: its owner has the memory to free.
    """
    if isinstance(points, DevicePoints) or isinstance(out, DeviceRoom):
        return on_device()
    want, refused = next((index.want for index in indexes if index.grid is None), ""), -1
    if not want:
        try:
            refused = on_device()
        except OutOfDeviceMemory:
            want = cpu_instead(f"{len(out):,} points")
    for index in indexes:
        index.record(len(out), want)
    return on_cpu(points) if want else refused


def taken(indexes: Sequence[CudaPointIndex], why: str) -> tuple[str, str]:
    """Return where these were answered, "cuda" or, for want of memory, "cpu", and why there."""
    answers = sum(index.answers for index in indexes)
    on_the_cpu = sum(index.on_the_cpu for index in indexes)
    want = next((index.want for index in indexes if index.want), "")
    if not on_the_cpu:
        return "cuda", why
    if on_the_cpu == answers:
        return "cpu", want
    return "cuda", f"{why}; {on_the_cpu:,} of {answers:,} answers are the CPU's: {want}"
