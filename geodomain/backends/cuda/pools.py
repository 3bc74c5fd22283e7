"""Memory pools: buffers kept between calls, each lent to one caller at a time, on its device."""

from __future__ import annotations

import atexit
import contextlib
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from geodomain.backends.cuda import device
from geodomain.backends.cuda.pycuda_types import CudaMemory, MemoryPool
from geodomain.errors import DeviceError

_MOST_IDLE = 2


class PooledMemory(Protocol):
    """What a pool keeps: memory for work of some size, got whole when it is made."""

    room: int


Kept = TypeVar("Kept", bound=PooledMemory)


class Pool(Generic[Kept]):
    """Buffers by their room; more are made where all are lent, fewer kept than were made.

    Each device has its own, and a thread is lent those of the one that it works on.

    Parameters
    ----------
    make : callable
        Returns buffers of a room, or raises PyCUDA's MemoryError.
    least : int
        The smallest room that is worth while.
    """

    def __init__(self, make: Callable[[int], Kept], least: int) -> None:
        self._make = make
        self._least = least
        self._idle_of: dict[int, list[Kept]] = {}
        self._lock = threading.Lock()
        _pools.add(self)

    @property
    def kept(self) -> int:
        """Return how many buffers wait for the next call, on all the devices."""
        return sum(map(len, list(self._idle_of.values())))

    @property
    def _idle(self) -> list[Kept]:
        """Return those of this thread's device."""
        return self._idle_of.setdefault(device.number(), [])

    @contextlib.contextmanager
    def borrowed(self, room: int) -> Iterator[Kept]:
        """Lend buffers of this room, or of less where memory is short.

        After an error they are not lent again, and their memory goes: copies may still be on
        their way, and what the error's frames hold would go when no context is current.
        """
        buffers = self._take(room)
        try:
            yield buffers
        except BaseException:
            with contextlib.suppress(device.driver().Error):
                device.driver().Context.synchronize()
            _let_go(buffers)
            raise
        with self._lock:
            idle = self._idle
            if len(idle) < _MOST_IDLE:
                idle.append(buffers)

    def drain(self) -> list[Kept]:
        """Give up what is kept; the memory goes with the list, while a context is current."""
        with self._lock:
            drained = self._idle
            self._idle_of[device.number()] = []
        return drained

    def _take(self, room: int) -> Kept:
        with self._lock:
            idle = self._idle
            for number, buffers in enumerate(idle):
                if buffers.room >= room:
                    return idle.pop(number)
        self.drain()  # what is too small makes way
        while True:
            try:
                return self._make(room)
            except device.driver().MemoryError:
                if not drain_all() and room <= self._least:
                    raise
                room = max(self._least, room // 2)


def _let_go(buffers: PooledMemory) -> None:
    """Empty buffers and their parts."""
    for parts in [held for held in buffers.__dict__.values() if isinstance(held, list)]:
        for part in parts:
            part.__dict__.clear()
    buffers.__dict__.clear()


class Drainable(Protocol):
    """A pool, whatever it keeps."""

    @property
    def kept(self) -> int:
        """Return how many buffers wait for the next call."""
        ...

    def drain(self) -> Sequence[PooledMemory]:
        """Give up what is kept."""
        ...


_pools: weakref.WeakSet[Drainable] = weakref.WeakSet()


@device.of_each_device
def memory_pool() -> MemoryPool:
    """Return the pool that indexes, and the work on them, take plain device memory from."""
    from pycuda.tools import DeviceMemoryPool

    pool: MemoryPool = DeviceMemoryPool()
    return pool


def allocate(size: int) -> CudaMemory:
    """Return so much device memory, at least a byte; what is kept for later calls makes way."""
    return _making_way(device.driver().mem_alloc, size)


def allocate_pooled(size: int) -> CudaMemory:
    """Return memory of the pool as `allocate` does, to which it goes back."""
    return _making_way(memory_pool().allocate, size)


def _making_way(source: Callable[[int], CudaMemory], size: int) -> CudaMemory:
    try:
        return source(max(size, 1))
    except device.driver().MemoryError:
        if not drain_all():
            raise
    return source(max(size, 1))


def drain_all() -> bool:
    """Free what all the pools keep on a device, whose context is current; False for nothing."""
    held = memory_pool().held_blocks > 0
    memory_pool().free_held()
    return any([held, *[pool.drain() for pool in list(_pools)]])


def release() -> None:
    """Free the memory that is kept for the next call, on the device and page-locked."""
    if memory_pool.kept or any(pool.kept for pool in list(_pools)):
        for number in device.in_use():
            with device.using(number), device.current():
                drain_all()


def _release_for_good() -> None:
    """Free what is kept; what is freed later goes at once, since nothing would be current.

    What callers keep to the very end the driver frees: PyCUDA can do so in one thread alone, that
    which first used the device, and otherwise warns.
    """
    warnings.filterwarnings("ignore", ".* in out-of-thread context could not be cleaned up")
    with contextlib.suppress(DeviceError):  # the driver frees what a device that fails had
        release()
        for number in device.in_use():
            with device.using(number), device.current():
                if memory_pool.kept:
                    memory_pool().stop_holding()
                device.unload()


atexit.register(_release_for_good)
