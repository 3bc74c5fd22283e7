"""The backend that chooses: the CPU for little work, the GPU where there is one and it pays.

The model has four numbers, measured with geodomain itself:

- The CPU labels a scattered point in about `_CPU_POINT` seconds of one thread (two cores of a
  server with AVX2: 10 to 18 ns for 1M points x 80,000 to 1M triangles, index included).
- The GPU takes `_GPU_POINT` seconds a point, transfers included: 25 bytes over a bus that moves
  55 GB/s from page-locked memory (H200), less from ordinary memory.
- The first call of a process waits `_COLD` seconds for PyCUDA, a context and the kernels (H200,
  kernels compiled before: 0.10, 0.11 and 0.02), each later one `_WARM` seconds for its launches.

The number of points still to come is unknown: a file arrives in chunks. So the start is paid
when the points so far would have repaid it, which costs at most twice what the best choice does.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import cpu
from geodomain.backends.cpu import Columns, Floats, Rim, expand_lattice, recognise
from geodomain.backends.mishaps import OutOfDeviceMemory
from geodomain.errors import DeviceError, GeodomainWarning

__all__ = [
    "Index",
    "codes",
    "expand_lattice",
    "lattice_bits",
    "lattice_packed",
    "lattice_there",
    "recognise",
    "taken",
]

_CPU_POINT, _GPU_POINT = 15e-9, 1e-9
_COLD, _WARM = 0.3, 0.5e-3
_CPU_BLOCK, _GPU_BLOCK = 3e-10, 3e-12  # of a lattice, as bits


Answer = TypeVar("Answer")


class _Record:
    """What has been chosen so far in this process, and why."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.points = 0.0  # asked of the CPU, in seconds that the GPU would have saved
        self.started = False
        self.failed = ""
        self.machine, self.why = "cpu", "nothing asked yet"

    def choose(self, saving: float, count: int) -> bool:
        """Tell whether work that the GPU does faster by ``saving`` seconds goes there."""
        with self.lock:
            if self.failed:
                self.machine, self.why = "cpu", self.failed
                return False
            self.points += max(saving, 0.0)
            pays = saving > _WARM if self.started else self.points > _COLD
            self.machine = "cuda" if pays else "cpu"
            reason = "enough work for the GPU" if pays else "too little work for the GPU to pay"
            self.why = f"{reason}: {count:,} at once"
            return pays


_record = _Record()


def taken() -> tuple[str, str]:
    """Return the backend that the last call took, "cpu" or "cuda", and why."""
    return _record.machine, _record.why


def _gpu() -> ModuleType | None:
    """Return the CUDA backend, started, or None, and remember why not."""
    from geodomain.backends import cuda, device

    try:
        with device.current():
            pass
    except DeviceError as error:
        _give_up(error, quiet=True)
        return None
    _record.started = True
    return cuda


def _give_up(error: DeviceError, *, quiet: bool) -> None:
    """Keep to the CPU from here on, or, for want of memory, this once; say so unless quiet."""
    with _record.lock:
        first = not _record.failed
        if not isinstance(error, OutOfDeviceMemory):
            _record.failed = str(error)
        _record.machine, _record.why = "cpu", str(error)
    if first and not quiet:
        message = f"{error}; the CPU takes over, and the answers are the same"
        warnings.warn(message, GeodomainWarning, stacklevel=2)


def machine_of(module: ModuleType) -> str:
    """Return "cpu" or "cuda" for a backend's module."""
    return module.__name__.rpartition(".")[2]


class Answered:
    """How much each machine has answered, and why there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_machine: dict[str, tuple[int, str]] = {}

    def add(self, on: ModuleType, count: int) -> None:
        """Remember that a backend has answered so many."""
        machine = machine_of(on)
        with self._lock:
            before, _ = self._by_machine.get(machine, (0, ""))
            self._by_machine[machine] = before + count, _record.why

    def mostly(self) -> tuple[str, str]:
        """Return where most was answered, "cpu" or "cuda", and why there."""
        if not self._by_machine:
            return "cpu", "nothing was asked"
        machine = max(self._by_machine, key=lambda name: self._by_machine[name][0])
        return machine, self._by_machine[machine][1]


class Index:
    """A mesh that is indexed on the CPU, on the GPU, or both, when there are points for it."""

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        bounds: Floats,
        *,
        closed: bool,
        threads: int,
    ) -> None:
        self._make = functools.partial(
            _made, vertices, triangles, bounds, closed=closed, threads=threads
        )
        self._made: dict[ModuleType, Any] = {}
        self._lock = threading.Lock()
        self._answered = Answered()

    def on(self, module: ModuleType) -> Any:
        """Return the mesh's index of a backend, made when it is first asked for."""
        with self._lock:
            if module not in self._made:
                self._made[module] = self._make(module)
            return self._made[module]

    def taken(self) -> tuple[str, str]:
        """Return where most points were answered so far, "cpu" or "cuda", and why there."""
        machine, why = self._answered.mostly()
        if machine == "cpu":
            return machine, why
        from geodomain.backends import cuda

        return cuda.taken([self.on(cuda)], why)

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of the CPU's cells, entries, grids and bundled triangles."""
        size: tuple[int, int, int, int] = self.on(cpu).size()
        return size

    def contains(self, points: Any, out: Any, threads: int) -> int:
        """Write whether each point is inside; return the first refused row or -1."""
        return self._ask("contains", points, out, threads)

    def crossings(self, points: Any, out: Any, threads: int, *, signed: bool) -> int:
        """Write the crossings above each point; return the first refused row or -1."""
        return self._ask("crossings", points, out, threads, signed=signed)

    def winds(self, points: Any, out: Any, threads: int) -> int:
        """Write whether a winding number is not 0; return the first refused row or -1."""
        return self._ask("winds", points, out, threads)

    def on_surface(self, points: Any, out: Any, threads: int) -> int:
        """Write whether each point is on a triangle; return the first refused row or -1."""
        return self._ask("on_surface", points, out, threads)

    def sides(self, points: Any, out: Any, threads: int) -> int:
        """Write the crossings above and below each point, (n, 2); the first refused row or -1."""
        return self._ask("sides", points, out, threads)

    def winding(self, points: Any, out: Any, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and bounds, (n, 2); the first refused row or -1."""
        return self._ask("winding", points, out, threads, rim=rim)

    def _ask(self, verb: str, points: Any, out: Any, threads: int, **options: Any) -> int:
        def call(on: Any) -> int:
            refused: int = getattr(self.on(on), verb)(points, out, threads, **options)
            self.note(on, len(out))
            return refused

        return _ask(points, out, threads, call)

    def note(self, module: ModuleType, count: int) -> None:
        """Remember that a backend has answered so many points."""
        self._answered.add(module, count)


def _made(
    vertices: Floats,
    triangles: NDArray[np.int32],
    bounds: Floats,
    module: ModuleType,
    *,
    closed: bool,
    threads: int,
) -> Any:
    return module.Index(vertices, triangles, bounds, closed=closed, threads=threads)


def codes(indexes: Sequence[Index], points: Any, out: Any, threads: int) -> int:
    """Write which index first holds each point, -1 none, -2 not finite; as ``contains``."""

    def call(on: Any) -> int:
        refused: int = on.codes([index.on(on) for index in indexes], points, out, threads)
        for index in indexes:
            index.note(on, len(out))
        return refused

    return _ask(points, out, threads, call)


def lattice_bits(
    vertices: Floats, triangles: NDArray[np.int32], axes: Columns, threads: int
) -> NDArray[np.uint64] | None:
    """Return labels of a lattice as bits along z; as the CPU's, None included."""

    def call(on: Any) -> NDArray[np.uint64] | None:
        bits: NDArray[np.uint64] | None = on.lattice_bits(vertices, triangles, axes, threads)
        return bits

    return _lattice(axes, threads, call)


def lattice_packed(
    vertices: Floats,
    triangles: NDArray[np.int32],
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
) -> bool:
    """Write labels of a lattice as bits along z; as the CPU's."""

    def call(on: Any) -> bool:
        decided: bool = on.lattice_packed(vertices, triangles, axes, out, threads)
        return decided

    return _lattice(axes, threads, call)


def lattice_there(vertices: Floats, triangles: NDArray[np.int32], axes: Columns, room: Any) -> bool:
    """Write labels of a lattice to an array on the GPU, which is where they are made."""
    from geodomain.backends import cuda

    _record.machine, _record.why = "cuda", "the labels are to be on the GPU"
    return cuda.lattice_there(vertices, triangles, axes, room)


def _ask(points: Any, out: Any, threads: int, call: Callable[[Any], Answer]) -> Answer:
    """Ask the GPU where the points or the answers are there, or where it pays."""
    from geodomain.backends.device_arrays import DevicePoints, DeviceRoom

    if isinstance(points, DevicePoints) or isinstance(out, DeviceRoom):
        from geodomain.backends import cuda

        _record.machine, _record.why = "cuda", "the points are on the GPU"
        return call(cuda)
    saving = len(out) * (_CPU_POINT / threads - _GPU_POINT)
    return either(saving, len(out), call)


def _lattice(axes: Columns, threads: int, call: Callable[[Any], Answer]) -> Answer:
    blocks = len(axes[0]) * len(axes[1]) * len(axes[2])
    return either(blocks * (_CPU_BLOCK / threads - _GPU_BLOCK), blocks, call)


def either(saving: float, count: int, call: Callable[[Any], Answer]) -> Answer:
    """Call the GPU's function if it pays and works, and otherwise the CPU's."""
    gpu = _gpu() if _record.choose(saving, count) else None
    if gpu is not None:
        try:
            return call(gpu)
        except DeviceError as error:
            _give_up(error, quiet=False)
    return call(cpu)
