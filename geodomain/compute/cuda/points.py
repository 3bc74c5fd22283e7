"""Run point queries on a GPU: build the grid, sort rows, launch kernels."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import cpu, layout
from geodomain.compute.api import PointIndex
from geodomain.compute.cpu import PARTS, CpuPointIndex
from geodomain.compute.cuda import device
from geodomain.compute.cuda.buffers import Slot, allocate_pooled, upload
from geodomain.compute.cuda.device import cpu_instead
from geodomain.compute.cuda.driver import CudaMemory, CudaStream, OutOfDeviceMemory
from geodomain.compute.cuda.kernels import Argument
from geodomain.compute.cuda.pipeline import Kernels, answer_all
from geodomain.compute.data import (
    Columns,
    DevicePoints,
    DeviceRoom,
    Floats,
    MeshArrays,
    Points,
    Rim,
    Room,
)
from geodomain.compute.native import core

_SUM_BLOCKS = 1024
_LARGE = (256, 8)  # blocks for large triangles: by triangle, by row


@dataclass(frozen=True)
class BuiltGrid:
    """A grid in device memory, which this object owns.

    The fields hold the Grid structure, the memory of each of the grid's arrays, and the size of the
    grid, as `PointIndex.size` returns it.
    """

    whole: bytes
    parts: dict[str, CudaMemory]
    size: tuple[int, int, int, int]


def build(mesh: bytes, box: bytes, triangle_count: int, density: float) -> BuiltGrid | None:
    """Build the grid over a mesh on the device; a context must be current.

    ``mesh`` and ``box`` are the kernels' views. Returns None if there are too many triangles in all
    or in a single cell. The host must then build the index, because only the host can nest grids.
    All kernels use the null stream, for which other streams wait.
    """
    if not 0 < triangle_count <= layout.constant("kMostTrianglesBuilt"):
        return None
    cuda = device.driver()
    cells = core().most_cells(triangle_count, density)
    block = layout.constant("kBuildThreads")
    blocks = -(-cells // (block * layout.constant("kScannedCells")))
    plan, slabs, lists = _room("Plan", 1), _room("Slabs", cells), _room("List", cells + 1)
    counts, large = allocate_pooled(8 * cells), allocate_pooled(4 * triangle_count)
    stamps, unsure = _room("Stamp", triangle_count), _room("Marking", triangle_count)
    extents, sums = _room("Extent", _SUM_BLOCKS), allocate_pooled(4 * blocks)
    cuda.memset_d32_async(int(slabs), 0, layout.structure("Slabs").size * cells // 4)
    cuda.memset_d32_async(int(counts), 0, 2 * cells)
    view = layout.structure("Building").pack(
        mesh=mesh, bounds=box, plan=int(plan), slabs=int(slabs), counts=int(counts),
        lists=int(lists), stamps=int(stamps), unsure=int(unsure), large=int(large),
    )  # fmt: skip
    rows = -(-triangle_count // block)
    _launch("extents", _SUM_BLOCKS, view, int(extents))
    _launch("plan", 1, view, int(extents), ctypes.c_int32(_SUM_BLOCKS), float(density))
    _launch("count", rows, view)
    _launch("count_large", _LARGE, view)
    _launch("mark_full", _SUM_BLOCKS, view)
    _launch("sums", blocks, view, int(sums))
    _launch("offsets", 1, view, int(sums), ctypes.c_uint32(blocks))
    _launch("lists", blocks, view, int(sums))
    record = layout.structure("Plan").empty()
    cuda.memcpy_dtoh(record, plan)
    if core().is_for_the_host(record, triangle_count):
        return None
    built = record[0]
    entries = _room("Entry", int(built["entry_count"]))
    _launch("scatter", rows, view, int(entries))
    if built["large_count"]:
        _launch("scatter_large", _LARGE, view, int(entries))
    whole = layout.structure("Grid").pack(
        frame=built["frame"].tobytes(), first_cell=0, bundle_begin=0, bundle_end=0
    )
    parts = {"slabs": slabs, "lists": lists, "entries": entries}
    return BuiltGrid(whole, parts, (int(built["cell_count"]), int(built["entry_count"]), 1, 0))


def _room(name: str, count: int) -> CudaMemory:
    """Allocate device memory for `count` structures."""
    return allocate_pooled(layout.structure(name).size * count)


def _launch(name: str, blocks: int | tuple[int, int], *fields: Argument) -> None:
    grid = (blocks, 1) if isinstance(blocks, int) else blocks
    threads = layout.constant("kBuildThreads")
    device.start("grid_build.cu", f"geodomain_build_{name}", grid, threads, *fields)


# The grid in device memory, and its view.

# Shorter lists than on the CPU: on a GPU the index is cheap, and queries have many points.
_DENSITY = 1.0


class GridOnDevice:
    """A grid over a mesh's triangles in device memory.

    It is built on the device or, if too many triangles would be in one cell, on the host. Its
    methods need no current context.

    Attributes
    ----------
    view : bytes
        The kernels' GridView.
    mesh : bytes
        The kernels' MeshView.
    single : bytes or None
        The kernels' SingleView, if the device is slow in double precision.
    """

    def __init__(self, mesh: MeshArrays, *, threads: int) -> None:
        with device.current():
            self._memory: list[CudaMemory] = upload(mesh.vertices, mesh.triangles)
            vertices_at, triangles_at = map(int, self._memory)
            self.mesh = layout.mesh_view(vertices_at, triangles_at, len(mesh.triangles))
            box = layout.bounds_of(mesh.bounds)
            built = build(self.mesh, box, len(mesh.triangles), _DENSITY)
            if built is None:
                host = cpu.CpuPointIndex(mesh, threads=threads, density=_DENSITY)
                whole, index = self._upload(host.arrays())
                self._size = host.size()
            else:
                self._memory += built.parts.values()
                whole, index = built.whole, {name: int(part) for name, part in built.parts.items()}
                self._size = built.size
            self.single = (
                self._halves(mesh.vertices, mesh.bounds) if device.has_slow_doubles() else None
            )
        nothing = dict.fromkeys(PARTS, 0)
        self.view = layout.structure("GridView").pack(
            mesh=self.mesh, bounds=box, whole=whole, closed=mesh.is_closed, **{**nothing, **index}
        )

    def __del__(self) -> None:
        """Free the device's memory."""
        device.free(*getattr(self, "_memory", ()))

    def size(self) -> tuple[int, int, int, int]:
        """Return a tuple: how many cells, cell entries, grids and long triangles the index has."""
        return self._size

    def _halves(self, vertices: Floats, bounds: Floats) -> bytes:
        """Store each coordinate as two floats; return the kernels' SingleView of the floats."""
        self._memory.append(allocate_pooled(layout.structure("HalvedVertex").size * len(vertices)))
        places = int(self._memory[0]), len(vertices), int(self._memory[-1])
        device.launch("grid.cu", "geodomain_halve_vertices", len(vertices), *places)
        reach = np.nextafter(np.float32(np.abs(bounds).max()), np.float32(np.inf))
        return layout.structure("SingleView").pack(vertices=places[-1], reach=float(reach))

    def _upload(self, parts: Mapping[str, NDArray[np.uint8]]) -> tuple[bytes, dict[str, int]]:
        """Copy an index from the host to the device.

        Return a tuple: the outermost grid of the index, and the address of each array by name. An
        empty array has the address 0.
        """
        memory = {name: upload(part)[0] for name, part in parts.items()}
        self._memory += memory.values()
        places = {name: int(copy) if parts[name].size else 0 for name, copy in memory.items()}
        return parts["grids"][: layout.structure("Grid").size].tobytes(), places


# A counting sort of rows that puts neighbours together.

LEAST_CURVE_BITS, MOST_CURVE_BITS = 12, 24


def curve(frame: bytes, rows: int) -> tuple[bytes, int]:
    """Return a tuple: the bins along a space-filling curve for `rows` points, and their number.

    There are several bins for each point, because points often crowd near a surface.
    """
    bits = min(max(LEAST_CURVE_BITS, 2 + rows.bit_length()), MOST_CURVE_BITS)
    return layout.structure("CurveBins").pack(frame=frame, bits=bits), 1 << bits


def order_by(
    draw: str,
    bins: bytes,
    count: int,
    source: Argument,
    rows: int,
    order: int,
    room: Callable[[int], int],
    stream: CudaStream | None = None,
) -> None:
    """Write the row numbers of ``source``, sorted by bin, to ``order``.

    The kernel ``draw`` computes the bin of a row.
    """
    blocks, size = -(-count // layout.constant("kBinsOfBlock")), ctypes.c_uint32(rows)
    tickets = room(layout.structure("BinTicket").size * rows)
    counts, sums, bin_count = room(4 * count), room(4 * blocks), ctypes.c_uint32(count)
    device.driver().memset_d32_async(counts, 0, count, stream)

    def launch(step: str, threads: int, *fields: Argument) -> None:
        device.launch("bins.cu", f"geodomain_bins_{step}", threads, *fields, stream=stream)

    launch(draw, rows, bins, source, size, counts, tickets)
    launch("add_up", blocks * device.block_threads(), bin_count, counts, sums)
    launch("begin", blocks * device.block_threads(), bin_count, sums, counts)
    launch("order", rows, tickets, size, counts, order)


# The first of several solids that contains each point.


def first_solids(solids: Sequence[bytes], points: Points, out: Room, threads: int) -> int:
    """Write, for each point, the number of the first solid that contains it; see `Backend.codes`.

    A single kernel launch tests all solids.
    """
    count = "geodomain_codes_single" if device.has_slow_doubles() else "geodomain_codes_quick"
    with device.current():
        [table] = upload(np.frombuffer(b"".join(solids) or b"-", "u1"))
    view = layout.structure("Solids").pack(solid=int(table), count=len(solids))

    def kernels(slot: Slot) -> int:
        slot.clear_lists()
        rows, counts = ctypes.c_uint32(slot.rows), int(slot.counts)
        codes = slot.place_of(slot.answers)
        open_rows, unsure_rows = int(slot.open_rows), int(slot.unsure_rows)
        some = device.list_threads(slot.rows)
        device.launch(
            "grid.cu", "geodomain_codes_look_up", slot.rows,
            view, slot.view, rows, codes, layout.row_list(open_rows, counts),
            stream=slot.stream,
        )  # fmt: skip
        device.launch(
            "grid.cu", count, some,
            view, slot.view, open_rows, counts, codes, layout.row_list(unsure_rows, counts + 4),
            stream=slot.stream,
        )  # fmt: skip
        device.launch(
            "grid.cu", "geodomain_codes_full", some,
            view, slot.view, unsure_rows, counts + 4, codes, slot.refused, stream=slot.stream,
        )  # fmt: skip
        return codes

    try:
        return answer_all(points, out, threads, kernels)
    finally:
        device.free(table)


# Point queries.

# A query of the CPU's index: points, output, threads.
OnCpu = Callable[[CpuPointIndex, Points, Room, int], int]

FEW_ROWS = 131_072  # points for which one launch is faster than three
NOT_HERE = "the GPU's backend received an index of another backend"


class CudaPointIndex:
    """A grid over one mesh's triangles on the device; any thread may query it."""

    def __init__(self, mesh: MeshArrays, *, threads: int) -> None:
        self._on_cpu = partial(CpuPointIndex, mesh, threads=threads)
        self._substitute: CpuPointIndex | None = None
        self._lock = threading.Lock()
        self.grid: GridOnDevice | None = None
        self.answers = self.on_the_cpu = 0  # points computed; by the CPU, because memory was short
        self.want = ""
        try:
            self.grid = GridOnDevice(mesh, threads=threads)
        except OutOfDeviceMemory:
            self.want = cpu_instead("the wireframe's index")

    def size(self) -> tuple[int, int, int, int]:
        """Return a tuple: how many cells, cell entries, grids and long triangles the index has."""
        return self.grid.size() if self.grid else self.substitute().size()

    def substitute(self) -> CpuPointIndex:
        """Return the mesh's index on the CPU, which is built when GPU memory is short."""
        with self._lock:
            if self._substitute is None:
                self._substitute = self._on_cpu()
            return self._substitute

    @property
    def solid(self) -> bytes:
        """Return the kernels' Solid structure for this mesh."""
        grid = self._grid()
        single = grid.single or layout.structure("SingleView").pack(vertices=0, reach=0.0)
        return layout.structure("Solid").pack(grid=grid.view, single=single)

    def record(self, answers: int, want: str) -> None:
        """Add to the number of computed points.

        ``want`` is "" or, if the CPU computed these points, the reason.
        """
        with self._lock:
            self.answers += answers
            self.on_the_cpu += answers if want else 0
            self.want = self.want or want

    def label(self, slot: Slot) -> int:
        """Label the slot's batch, and return the labels' address.

        The grid decides most points. For the other points, crossings are counted in quick
        arithmetic. Where rounding may matter, they are counted in exact arithmetic.
        """
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
        """Write whether each point is inside; return the first undecided row, or -1."""
        return self._answer(points, out, threads, self.label, CpuPointIndex.contains)

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write how many crossings are above each point; return the first undecided row, or -1."""
        on_cpu = partial(CpuPointIndex.crossings, signed=signed)

        def kernels(slot: Slot) -> int:
            return self._count(slot, slot.place_of(slot.answers), signed=signed)

        return self._answer(points, out, threads, kernels, on_cpu)

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each winding number is not 0; return the first undecided row, or -1."""

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
        """Write whether each point is on a triangle; return the first undecided row, or -1."""

        def kernels(slot: Slot) -> int:
            labels = slot.place_of(slot.labels)
            device.launch(
                "grid.cu", "geodomain_on_surface", slot.rows, self._grid().view, slot.view,
                slot.rows, labels, slot.refused, stream=slot.stream,
            )  # fmt: skip
            return labels

        return self._answer(points, out, threads, kernels, CpuPointIndex.on_surface)

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write how many crossings are above and how many are below each point, (n, 2).

        Returns the first undecided row, or -1.
        """

        def kernels(slot: Slot) -> int:
            device.launch(
                "sides.cu", "geodomain_sides", slot.rows, self._grid().view, slot.view,
                slot.rows, int(slot.answers), slot.refused, stream=slot.stream,
            )  # fmt: skip
            return int(slot.answers)

        return self._answer(points, out, threads, kernels, CpuPointIndex.sides)

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write each point's generalised winding number and a bound on its error, (n, 2).

        Returns the first undecided row, or -1.
        """
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
        """Run a query with kernels; if GPU memory is short, use the mesh's index on the CPU."""
        return _or_on_cpu(
            [self], points, out,
            lambda: answer_all(points, out, threads, kernels),
            lambda columns: on_cpu(self.substitute(), columns, out, threads),
        )  # fmt: skip

    def _count(self, slot: Slot, into: int, *, signed: bool) -> int:
        """Launch the kernels that count crossings; return the address of the counts."""
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
    """Write the number of the first mesh that contains each point, as in `Backend.codes`."""
    own = [index for index in indexes if isinstance(index, CudaPointIndex)]
    if len(own) != len(indexes):
        raise TypeError(NOT_HERE)
    return _or_on_cpu(
        own, points, out,
        lambda: first_solids([index.solid for index in own], points, out, threads),
        lambda columns: cpu.codes([index.substitute() for index in own], columns, out, threads),
    )  # fmt: skip


def _or_on_cpu(
    indexes: Sequence[CudaPointIndex],
    points: Points,
    out: Room,
    on_device: Callable[[], int],
    on_cpu: Callable[[Columns], int],
) -> int:
    """Compute on the device; if GPU memory is too short for the smallest batch, use the CPU.

    If points or output are on the device, the CPU cannot be used, and OutOfDeviceMemory is raised.
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


def machine_used(indexes: Sequence[CudaPointIndex], why: str) -> tuple[str, str]:
    """Return a tuple: "cpu" if the CPU computed all points, otherwise "cuda"; and the reason."""
    answers = sum(index.answers for index in indexes)
    on_the_cpu = sum(index.on_the_cpu for index in indexes)
    want = next((index.want for index in indexes if index.want), "")
    if not on_the_cpu:
        return "cuda", why
    if on_the_cpu == answers:
        return "cpu", want
    return "cuda", f"{why}; the CPU computed {on_the_cpu:,} of {answers:,} points: {want}"
