"""The choice of a machine: the CPU for little work, the GPU where there is one and it pays.

The model is a table of costs, measured with geodomain itself (H200, and a server with AVX2):

- The CPU labels a scattered point in 10 to 18 ns of one thread (1M points x 80,000 to 1M
  triangles, index included); the GPU takes a nanosecond, transfers included: 25 bytes over a bus
  that moves 55 GB/s from page-locked memory, less from ordinary memory.
- The CPU takes 0.17 to 0.9 microseconds of one thread for a segment, by the mode and by the surface
  (29,260 and a million triangles), and 0.2 to 0.5 to build the hierarchy for a triangle. The GPU's
  time goes to copying 48 bytes a segment from ordinary memory, at 9.4 GB/s; it builds the hierarchy
  over a million triangles in 2.8 ms, copies apart.
- The CPU takes 2 to 20 microseconds of one thread for a distance, by the surface; the GPU 11 to
  26 nanoseconds (10M scattered points, 80,000 and a million triangles), copies included.
- The CPU takes 6 microseconds of one thread for the share of a block anywhere (one in 35 mixed),
  and for a lattice's shares 30 ns a block and 2 microseconds a triangle. The GPU's time goes to
  copying 57 bytes a block, or 8 of a lattice's.
- The first call of a process waits `_COLD` seconds for PyCUDA, a context and the kernels (kernels
  compiled before: 0.10, 0.11 and 0.02), each later one `_WARM` seconds for its launches.

The amount of work still to come is unknown: a file arrives in chunks. So the start is paid
when the work so far would have repaid it, which costs at most twice what the best choice does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from geodomain.backends.api import Backend, Taken
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.data import Points, Room
from geodomain.backends.device_memory import DevicePoints, DeviceRoom
from geodomain.errors import DeviceError, warn

_COLD, _WARM = 0.3, 0.5e-3  # seconds that a GPU takes to start, and for a call


class Cost(NamedTuple):
    """Seconds for one of something: the CPU's of one thread."""

    cpu: float
    cuda: float


COSTS = {
    "point": Cost(15e-9, 1e-9),
    "block": Cost(3e-10, 3e-12),  # of a lattice, as bits
    "segment": Cost(3e-7, 6e-9),
    "distance": Cost(4e-6, 3e-8),
    "share": Cost(5e-6, 1e-8),  # of a block anywhere
    "lattice share": Cost(3e-8, 1e-9),
    "clipped triangle": Cost(2e-6, 1e-8),  # for a lattice's shares
    "triangle": Cost(3e-7, 1e-8),  # of a hierarchy that is built
}

Answer = TypeVar("Answer")


class GpuBackend(Backend, Protocol):
    """A backend that has to be started, which may fail."""

    def start(self) -> None:
        """Make the device ready; DeviceError says why there is none."""
        ...


class Record:
    """What has been chosen so far, and why.

    A process learns from call to call: whether work so far would have repaid the GPU's start,
    whether it has started, and that it has failed. All of it is here, in the one `AutoBackend`
    that `backends.choose` returns; another one would begin anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.saved = 0.0  # seconds that the GPU would have saved, of what the CPU was asked
        self.started = False
        self.failed = ""
        self.taken: Taken = ("cpu", "nothing asked yet")

    def choose(self, saving: float, count: int) -> bool:
        """Return whether work that the GPU does faster by ``saving`` seconds goes there."""
        with self._lock:
            if self.failed:
                self.taken = "cpu", self.failed
                return False
            self.saved += max(saving, 0.0)
            pays = saving > _WARM if self.started else self.saved > _COLD
            reason = "enough work for the GPU" if pays else "too little work for the GPU to pay"
            self.taken = "cuda" if pays else "cpu", f"{reason}: {count:,} at once"
            return pays

    def give_up(self, error: DeviceError, *, quiet: bool) -> None:
        """Keep to the CPU from here on, or, for want of memory, this once; say so unless quiet."""
        with self._lock:
            first = not self.failed
            if not isinstance(error, OutOfDeviceMemory):
                self.failed = str(error)
            self.taken = "cpu", str(error)
        if first and not quiet:
            message = f"{error}; the CPU takes over, and the answers are the same"
            warn(message)


class MachineChoice:
    """Send each call to the CPU or to the GPU; the CPU takes over where the GPU fails."""

    def __init__(self, cpu: Backend, cuda: GpuBackend) -> None:
        self.cpu, self.cuda = cpu, cuda
        self.record = Record()

    def either(self, saving: float, count: int, call: Callable[[Backend], Answer]) -> Answer:
        """Call with the GPU if it pays and works, and otherwise with the CPU."""
        if self.record.choose(saving, count) and self._starts():
            try:
                return call(self.cuda)
            except DeviceError as error:
                self.record.give_up(error, quiet=False)
        return call(self.cpu)

    def _starts(self) -> bool:
        """Start the GPU, if it will, and remember why not."""
        try:
            self.cuda.start()
        except DeviceError as error:
            self.record.give_up(error, quiet=True)
            return False
        self.record.started = True
        return True

    def ask(
        self, points: Points, out: Room, threads: int, call: Callable[[Backend], Answer]
    ) -> Answer:
        """Call with the GPU where the points or the answers are there, or where it pays."""
        if isinstance(points, DevicePoints) or isinstance(out, DeviceRoom):
            self.record.taken = "cuda", "the points are on the GPU"
            return call(self.cuda)
        cost = COSTS["point"]
        return self.either(len(out) * (cost.cpu / threads - cost.cuda), len(out), call)
