"""The CUDA backend: the same kernels launched on a GPU through PyCUDA; no geometry."""

from __future__ import annotations

import ctypes
import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import cpu, device, lattice_on_device
from geodomain.backends.buffers import Slot
from geodomain.backends.codes_on_device import first_solids
from geodomain.backends.cpu import Columns, Floats, Rim, expand_lattice, recognise
from geodomain.backends.device_arrays import DevicePoints, DeviceRoom
from geodomain.backends.grid_on_device import GridOnDevice
from geodomain.backends.lattice_in_place import lattice_there
from geodomain.backends.mishaps import OutOfDeviceMemory
from geodomain.backends.pipeline import Points, answer_all
from geodomain.backends.pools import release
from geodomain.backends.staging import upload
from geodomain.errors import GeodomainWarning

__all__ = [
    "Index",
    "codes",
    "expand_lattice",
    "lattice_bits",
    "lattice_packed",
    "lattice_there",
    "recognise",
    "release",
    "taken",
]


class Index:
    """The grid over one mesh's triangles, kept on the device; asked from any thread."""

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        bounds: Floats,
        *,
        closed: bool,
        threads: int,
    ) -> None:
        self._on_cpu = functools.partial(
            cpu.Index, vertices, triangles, bounds, closed=closed, threads=threads
        )
        self._substitute: cpu.Index | None = None
        self._lock = threading.Lock()
        self.grid: GridOnDevice | None = None
        self.answers = self.on_the_cpu = 0  # of those, for want of memory
        self.want = ""
        try:
            self.grid = GridOnDevice(vertices, triangles, bounds, closed=closed, threads=threads)
        except OutOfDeviceMemory:
            self.want = _say_cpu("the wireframe's index")

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        return self.grid.size() if self.grid else self.substitute().size()

    def substitute(self) -> cpu.Index:
        """Return the CPU's index of the mesh, made when the device first has no memory."""
        with self._lock:
            if self._substitute is None:
                self._substitute = self._on_cpu()
            return self._substitute

    @property
    def solid(self) -> bytes:
        """Return the kernels' Solid."""
        grid = self._grid()
        single = grid.single or device.structure(0, ctypes.c_float(0.0))
        return device.structure(grid.view, single)

    def record(self, answers: int, want: str) -> None:
        """Count answers, the CPU's where the device wants memory."""
        with self._lock:
            self.answers += answers
            self.on_the_cpu += answers if want else 0
            self.want = self.want or want

    def label(self, slot: Slot) -> int:
        """Label the slot's chunk: two bits, quick counts, full counts; return where they are."""
        grid = self._grid()
        rows, counts = ctypes.c_uint32(slot.rows), int(slot.counts)
        open_list = device.structure(int(slot.open_rows), counts)
        unsure_list = device.structure(int(slot.unsure_rows), counts + 4)
        labels, some = int(slot.labels), min(slot.rows, device.BLOCK * device.LIST_BLOCKS)
        device.launch(
            "grid.cu", "geodomain_look_up", slot.rows,
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

    def contains(self, points: Points, out: Any, threads: int) -> int:
        """Write whether each point is inside; return the first refused row or -1."""
        return _or_on_cpu(
            [self], points, out,
            lambda: answer_all(points, out, threads, self.label),
            lambda columns: self.substitute().contains(columns, out, threads),
        )  # fmt: skip

    def crossings(self, points: Points, out: Any, threads: int, *, signed: bool) -> int:
        """Write the crossings above each point; return the first refused row or -1."""
        return _or_on_cpu(
            [self], points, out,
            lambda: answer_all(points, out, threads, lambda slot: self._count(slot, signed=signed)),
            lambda columns: self.substitute().crossings(columns, out, threads, signed=signed),
        )  # fmt: skip

    def winds(self, points: Points, out: Any, threads: int) -> int:
        """Write whether a winding number is not 0; return the first refused row or -1."""

        def kernels(slot: Slot) -> int:
            numbers = self._count(slot, signed=True)
            device.launch(
                "answers.cu", "geodomain_nonzero", slot.rows,
                numbers, ctypes.c_uint32(slot.rows), int(slot.labels), stream=slot.stream,
            )  # fmt: skip
            return int(slot.labels)

        return _or_on_cpu(
            [self], points, out,
            lambda: answer_all(points, out, threads, kernels),
            lambda columns: self.substitute().winds(columns, out, threads),
        )  # fmt: skip

    def on_surface(self, points: Points, out: Any, threads: int) -> int:
        """Write whether each point is on a triangle; return the first refused row or -1."""

        def kernels(slot: Slot) -> int:
            device.launch(
                "grid.cu", "geodomain_on_surface", slot.rows, self._grid().view, slot.view,
                slot.rows, int(slot.labels), slot.refused, stream=slot.stream,
            )  # fmt: skip
            return int(slot.labels)

        return _or_on_cpu(
            [self], points, out,
            lambda: answer_all(points, out, threads, kernels),
            lambda columns: self.substitute().on_surface(columns, out, threads),
        )  # fmt: skip

    def sides(self, points: Points, out: Any, threads: int) -> int:
        """Write the crossings above and below each point, (n, 2); the first refused row or -1."""

        def kernels(slot: Slot, below: int) -> int:
            device.launch(
                "sides.cu", "geodomain_sides", slot.rows, self._grid().view, slot.view,
                slot.rows, ctypes.c_int32(below), int(slot.answers), slot.refused,
                stream=slot.stream,
            )  # fmt: skip
            return int(slot.answers)

        return _or_on_cpu(
            [self], points, out,
            lambda: _in_words(points, out, threads, kernels),
            lambda columns: self.substitute().sides(columns, out, threads),
        )  # fmt: skip

    def winding(self, points: Points, out: Any, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and bounds, (n, 2); the first refused row or -1."""
        with device.current():
            edges = [upload(part) for part in rim]
        view = device.structure(*map(int, edges), len(rim[1]))

        def kernels(slot: Slot, word: int) -> int:
            device.launch(
                "winding.cu", "geodomain_winding", slot.rows, self._grid().view, slot.view,
                slot.rows, view, ctypes.c_int32(word), int(slot.answers), slot.refused,
                stream=slot.stream,
            )  # fmt: skip
            return int(slot.answers)

        try:
            return _or_on_cpu(
                [self], points, out,
                lambda: _in_words(points, out, threads, kernels),
                lambda columns: self.substitute().winding(columns, out, threads, rim=rim),
            )  # fmt: skip
        finally:
            device.free(*edges)

    def _count(self, slot: Slot, *, signed: bool) -> int:
        """Launch the count of crossings; return where the answers are."""
        device.launch(
            "grid.cu", "geodomain_crossings", slot.rows, self._grid().view, slot.view,
            slot.rows, ctypes.c_int32(signed), int(slot.answers), slot.refused,
            stream=slot.stream,
        )  # fmt: skip
        return int(slot.answers)

    def _grid(self) -> GridOnDevice:
        if self.grid is None:
            message = "the GPU has not the memory for the wireframe's index"
            raise OutOfDeviceMemory(message)
        return self.grid


def codes(indexes: Sequence[Index], points: Points, out: Any, threads: int) -> int:
    """Write which index first holds each point, -1 none, -2 not finite; as ``contains``."""
    return _or_on_cpu(
        indexes, points, out,
        lambda: first_solids([one.solid for one in indexes], points, out, threads),
        lambda columns: cpu.codes([one.substitute() for one in indexes], columns, out, threads),
    )  # fmt: skip


def _in_words(
    points: Points, out: NDArray[Any], threads: int, kernels: Callable[[Slot, int], int]
) -> int:
    """Answer rows of several words of four bytes, which is a slot's room for one: a pass to each.

    ``kernels`` launches for a word, by its place in the row.
    """
    rows = out.view(np.int32).reshape(len(out), out.shape[1] * out.itemsize // 4)
    word, refused = np.empty(len(out), np.int32), -1
    for place in range(rows.shape[1]):
        refused = answer_all(points, word, threads, lambda slot, p=place: kernels(slot, p))  # type: ignore[misc]
        rows[:, place] = word
    return refused


def _or_on_cpu(
    indexes: Sequence[Index],
    points: Points,
    out: Any,
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
            want = _say_cpu(f"{len(out):,} points")
    for index in indexes:
        index.record(len(out), want)
    return on_cpu(points) if want else refused


def taken(indexes: Sequence[Index], why: str) -> tuple[str, str]:
    """Return where these were answered, "cuda" or, for want of memory, "cpu", and why there."""
    answers = sum(index.answers for index in indexes)
    on_the_cpu = sum(index.on_the_cpu for index in indexes)
    want = next((index.want for index in indexes if index.want), "")
    if not on_the_cpu:
        return "cuda", why
    if on_the_cpu == answers:
        return "cpu", want
    return "cuda", f"{why}; {on_the_cpu:,} of {answers:,} answers are the CPU's: {want}"


def lattice_bits(
    vertices: Floats, triangles: NDArray[np.int32], axes: Columns, threads: int
) -> NDArray[np.uint64] | None:
    """Return labels of a lattice as bits along z; as the CPU's, None included."""
    words = (len(axes[2]) + 63) // 64
    out = np.empty((len(axes[0]), len(axes[1]), words), dtype=np.uint64)
    return out if lattice_packed(vertices, triangles, axes, out.view(np.uint8), threads) else None


def lattice_packed(
    vertices: Floats,
    triangles: NDArray[np.int32],
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
) -> bool:
    """Write labels of a lattice as bits along z; as the CPU's."""
    try:
        return lattice_on_device.label(vertices, triangles, axes, out, threads)
    except OutOfDeviceMemory:
        _say_cpu(f"a lattice of {' x '.join(str(len(axis)) for axis in axes)} blocks")
    except lattice_on_device.TooManyUnsure:
        pass  # more than the list holds: the CPU takes it all
    return cpu.lattice_packed(vertices, triangles, axes, out, threads)


def _say_cpu(what: str) -> str:
    """Warn that the CPU does what the device has no memory for; return that it has not."""
    want = f"the GPU has not the memory for {what}"
    message = f"{want}: done on the CPU, where the labels are the same"
    warnings.warn(message, GeodomainWarning, stacklevel=2)
    return want
