"""Pool device and page-locked memory between calls, and copy to and from it."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.cuda import device, driver
from geodomain.compute.cuda.driver import CudaMemory, CudaStream, MemoryPool
from geodomain.compute.data import Columns
from geodomain.compute.native import CoreFunction, addresses, column_pointers, core, thread_count
from geodomain.errors import DeviceError

_MOST_IDLE = 2


class PooledMemory(Protocol):
    """The contents of a pool: memory for work of some size, allocated all at once."""

    room: int


Pooled = TypeVar("Pooled", bound=PooledMemory)


class Pool(Generic[Pooled]):
    """Buffers for reuse between calls. If all are lent, more are made; only a few stay idle.

    Each device has its own buffers; a thread borrows those of the device that it works on.

    Parameters
    ----------
    make : callable
        Returns buffers of a room, or raises PyCUDA's MemoryError.
    least : int
        The smallest room that is worth using.
    """

    def __init__(self, make: Callable[[int], Pooled], least: int) -> None:
        self._make = make
        self._least = least
        self._idle_of: dict[int, list[Pooled]] = {}
        self._lock = threading.Lock()
        _pools.add(self)

    @property
    def idle_count(self) -> int:
        """Return how many buffers are idle, on all devices."""
        return sum(map(len, list(self._idle_of.values())))

    @property
    def _idle(self) -> list[Pooled]:
        """Return the idle buffers of this thread's device."""
        return self._idle_of.setdefault(device.number(), [])

    @contextlib.contextmanager
    def borrowed(self, room: int) -> Iterator[Pooled]:
        """Lend buffers of this room, or of less if memory is short.

        After an error the buffers are freed at once: copies may still be running, and memory that
        the error's frames hold would be freed without a current context.
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

    def drain(self) -> list[Pooled]:
        """Return the idle buffers and forget them; drop the list while a context is current."""
        with self._lock:
            drained = self._idle
            self._idle_of[device.number()] = []
        return drained

    def _take(self, room: int) -> Pooled:
        with self._lock:
            idle = self._idle
            for number, buffers in enumerate(idle):
                if buffers.room >= room:
                    return idle.pop(number)
        self.drain()  # free the buffers that are too small
        while True:
            try:
                return self._make(room)
            except device.driver().MemoryError:
                if not drain_all() and room <= self._least:
                    raise
                room = max(self._least, room // 2)


def _let_go(buffers: PooledMemory) -> None:
    """Drop the memory of buffers and their parts."""
    for parts in [value for value in buffers.__dict__.values() if isinstance(value, list)]:
        for part in parts:
            part.__dict__.clear()
    buffers.__dict__.clear()


class Drainable(Protocol):
    """A pool of any kind of buffers."""

    @property
    def idle_count(self) -> int:
        """Return how many buffers are idle."""
        ...

    def drain(self) -> Sequence[PooledMemory]:
        """Return the idle buffers and forget them."""
        ...


_pools: weakref.WeakSet[Drainable] = weakref.WeakSet()


@device.of_each_device
def memory_pool() -> MemoryPool:
    """Return the pool of plain device memory for indexes and queries."""
    from pycuda.tools import DeviceMemoryPool

    pool: MemoryPool = DeviceMemoryPool()
    return pool


def allocate(size: int) -> CudaMemory:
    """Allocate device memory, at least a byte; idle buffers are freed if it is short."""
    return _allocate_from(device.driver().mem_alloc, size)


def allocate_pooled(size: int) -> CudaMemory:
    """Allocate from the pool, like `allocate`; freed memory returns to the pool."""
    return _allocate_from(memory_pool().allocate, size)


def _allocate_from(source: Callable[[int], CudaMemory], size: int) -> CudaMemory:
    try:
        return source(max(size, 1))
    except device.driver().MemoryError:
        if not drain_all():
            raise
    return source(max(size, 1))


def drain_all() -> bool:
    """Free the idle memory of all pools on the current device; return whether there was any."""
    held = memory_pool().held_blocks > 0
    memory_pool().free_held()
    return any([held, *[pool.drain() for pool in list(_pools)]])


def release() -> None:
    """Free idle memory, on the device and page-locked."""
    if memory_pool.results or any(pool.idle_count for pool in list(_pools)):
        for number in device.in_use():
            with device.using(number), device.current():
                drain_all()


def _release_for_good() -> None:
    """Free idle memory at exit; later frees take effect at once, while a context is current.

    Memory that callers hold to the very end is freed by the driver: PyCUDA can free it only in
    the thread that first used the device, and warns in others.
    """
    warnings.filterwarnings("ignore", ".* in out-of-thread context could not be cleaned up")
    with contextlib.suppress(DeviceError):  # the driver frees the memory of a failed device
        release()
        for number in device.in_use():
            with device.using(number), device.current():
                if memory_pool.results:
                    memory_pool().stop_holding()
                device.unload()


atexit.register(_release_for_good)


# Memory for points in transit: chunks on the device, page-locked pieces on the host.

IN_FLIGHT = 4_194_304  # points on the device at a time, in all the slots
SLOTS = 4  # chunks in flight: one copied in, one computed, one copied out, one waiting
ROOM = IN_FLIGHT // SLOTS  # points of a chunk at most
LEAST_ROOM = 16_384  # below this the CPU is the better place
_SMALL_ROOM = 131_072  # of a small job, so that the next one need not grow it
PIECE_ROWS = 262_144  # points in a page-locked piece; divides ROOM
_PIECES = 4
# Bytes of results in a chunk whose points are sorted: more points make nearer neighbours.
TOGETHER = 1 << 25
RESIDENT = 1 << 23  # points of a chunk if points and output are on the device already
# Bytes of a result: a count, a pair of counts, a pair of doubles, five doubles.
WIDTHS = (4, 8, 16, 40)

NONE_REFUSED = 2**64 - 1

# How points arrive: sent as they are, sent and sorted, or on the device already.
Kind = Literal["sent", "together", "resident"]


class Slot:
    """Memory for one chunk on the device: its points, their results, and a stream.

    A result has ``width`` bytes, one of WIDTHS. A point takes 33 bytes more: 24 of coordinates,
    1 of label, 8 in two lists. If points and results are ``resident``, nothing is copied.
    """

    def __init__(self, room: int, width: int, *, resident: bool = False) -> None:
        cuda = device.driver()
        self.room = room
        self.rows = 0
        self.view = b""
        self.into = 0
        self.stream = cuda.Stream()
        self.answers = cuda.mem_alloc(width * room)
        self.labels = cuda.mem_alloc(room)
        self.open_rows = cuda.mem_alloc(4 * room)
        self.unsure_rows = cuda.mem_alloc(4 * room)
        self.counts = cuda.mem_alloc(8)  # open rows, unsure rows
        self._refused = cuda.pagelocked_empty(1, np.uint64)  # kernels write to it over the bus
        self.refused = int(self._refused.ctypes.data)  # the address of the first refused row
        if not resident:
            self.coordinates = cuda.mem_alloc(24 * room)
            self.host_answers = cuda.pagelocked_empty(width * room, np.uint8)

    @property
    def first_refused(self) -> int | None:
        """Return the first refused row of a finished chunk, or None."""
        row = int(self._refused[0])
        return None if row == NONE_REFUSED else row

    def place_of(self, own: CudaMemory) -> int:
        """Return where the last kernel writes results: the caller's output, or `own` memory."""
        return self.into or int(own)

    def begin(self, into: int) -> None:
        """Reset an idle slot: set where results go, and that no row is refused."""
        self.into = into
        self._refused[0] = NONE_REFUSED

    def clear_lists(self) -> None:
        """Empty the lists, in the stream's order."""
        device.driver().memset_d32_async(int(self.counts), 0, 2, self.stream)


class Piece:
    """Page-locked memory that the bus copies from, and the event that it is free again."""

    def __init__(self, rows: int) -> None:
        cuda = device.driver()
        self.memory = cuda.pagelocked_empty((rows, 3), np.float64)
        self.free = cuda.Event(cuda.event_flags.DISABLE_TIMING)


class Ring:
    """Page-locked pieces of ``room`` points, filled in turn."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.pieces = [Piece(room) for _ in range(_PIECES)]


class Buffers:
    """The device memory of one call."""

    def __init__(self, kind: Kind, width: int, room: int) -> None:
        self.room = room
        resident = kind == "resident"
        slots = 2 if resident else SLOTS
        self.slots = [Slot(room, width, resident=resident) for _ in range(slots)]


def room_for(kind: Kind, rows: int, width: int) -> int:
    """Return the points of a slot for a total number of rows, as a power of two."""
    most = {"sent": ROOM, "together": TOGETHER >> (width - 1).bit_length(), "resident": RESIDENT}
    share = -(-rows // SLOTS) if kind == "sent" else rows
    return min(most[kind], max(_SMALL_ROOM, 1 << (share - 1).bit_length()))


@functools.cache
def pool_of(kind: Kind, width: int) -> Pool[Buffers]:
    """Return the pool of buffers for results of at least `width` bytes."""
    return _buffer_pools[kind, next(each for each in WIDTHS if each >= width)]


_kinds: tuple[Kind, ...] = ("sent", "together", "resident")
_buffer_pools = {
    (kind, width): Pool(functools.partial(Buffers, kind, width), LEAST_ROOM)
    for kind in _kinds
    for width in WIDTHS
}
rings = Pool(Ring, LEAST_ROOM)


# Copies between the caller's arrays and page-locked memory, by several native threads.

# One thread copies 9 to 12 GB/s, the bus moves 55: eight keep it busy, and more interfere.
_MOST_THREADS = 8
POINT_BYTES = 24
_LARGE = 4 << 20  # bytes for which starting threads is worth it
FEW_ROWS = 16_384  # points that are copied sooner than threads start


class _Threads:
    """Native threads that live from their first work to the end of one call; a context manager."""

    _FREE: ClassVar[str]  # the core's function that ends them

    def __init__(self, threads: int) -> None:
        self._threads = min(threads, _MOST_THREADS)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> Self:
        """Return the threads."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads."""
        self._end()

    def _end(self) -> None:
        if self._handle:
            free: CoreFunction = getattr(core(), self._FREE)
            free(self._handle)
        self._handle = ctypes.c_void_p()


class Stager(_Threads):
    """Threads that copy memory."""

    _FREE = "stager_free"

    def copy(self, source: NDArray[np.generic], target: NDArray[np.generic]) -> None:
        """Copy between contiguous arrays of equal size; small ones in this thread."""
        if source.nbytes <= POINT_BYTES * FEW_ROWS:
            ctypes.memmove(target.ctypes.data, source.ctypes.data, source.nbytes)
            return
        core().stager_copy(self._started(), source, target, source.nbytes)

    def _started(self) -> ctypes.c_void_p:
        if not self._handle:
            core().stager_create(self._threads, self._handle)
        return self._handle


class Filler(_Threads):
    """Threads that fill the pieces of a ring with rows of points, ahead of the sender.

    ``points`` are three columns of doubles with any strides; a piece holds ``rows`` rows. If there
    are few points, this thread copies them itself.
    """

    _FREE = "filler_free"

    def __init__(self, points: Columns, ring: list[Piece], rows: int, threads: int) -> None:
        super().__init__(threads)
        self._points, self._ring, self._rows = points, ring, rows
        self._first = self._sent = self._emptied = 0  # first row; pieces

    def send(self, begin: int, end: int, address: int, stream: CudaStream) -> None:
        """Copy rows [begin, end) to the device, as x y z, x y z, ..., in the stream's order.

        Fastest if rows are sent in turn, because the rows after ``end`` are filled meanwhile.
        """
        cuda, rows, few = device.driver(), self._rows, len(self._points[0]) <= FEW_ROWS
        if not few and (not self._handle or begin != self._first + self._sent * rows):
            self.start(begin)
        for row in range(begin, end, rows):
            piece = self._ring[self._sent % len(self._ring)]
            full = piece.memory[: min(rows, end - row)]
            if few:
                piece.free.synchronize()
                for axis, column in enumerate(self._points):
                    full[:, axis] = column[row : row + len(full)]
            else:
                core().filler_wait(self._handle, self._sent)
            cuda.memcpy_htod_async(address + POINT_BYTES * (row - begin), full, stream)
            piece.free.record(stream)
            self._sent += 1
            if not few:
                self._release()

    def start(self, begin: int) -> None:
        """Start filling, from this row to the last."""
        self._end()
        for piece in self._ring:
            piece.free.synchronize()  # returns at once if it was never used
        self._first, self._sent, self._emptied = begin, 0, 0
        core().filler_create(
            *column_pointers(self._points, begin),
            len(self._points[0]) - begin,
            addresses([piece.memory for piece in self._ring]),
            len(self._ring),
            self._rows,
            self._threads,
            self._handle,
        )

    def _release(self) -> None:
        """Release sent pieces for refilling; half of the ring may be in transit."""
        while self._emptied < self._sent:
            free = self._ring[self._emptied % len(self._ring)].free
            if self._sent - self._emptied > len(self._ring) // 2:
                free.synchronize()
            elif not free.query():
                return
            core().filler_release(self._handle, self._emptied)
            self._emptied += 1


@contextmanager
def filling(points: Columns, room: int, threads: int) -> Iterator[Filler]:
    """Lend a ring with threads that fill it, in pieces that divide ``room``."""
    rows = min(PIECE_ROWS, room)
    with (
        rings.borrowed(rows) as ring,  # smaller if memory is short
        Filler(points, ring.pieces, min(rows, ring.room), threads) as filler,
    ):
        yield filler


def upload(*arrays: NDArray[np.generic], pooled: bool = False) -> list[CudaMemory]:
    """Copy contiguous arrays to the device, all at once.

    With ``pooled`` the memory comes from the pool, and returns there.
    """
    room = allocate_pooled if pooled else allocate
    memory = [room(array.nbytes) for array in arrays]
    _fill(list(zip(memory, arrays, strict=True)))
    return memory


def download(out: NDArray[np.generic], address: int) -> None:
    """Copy a contiguous array from the device, after all work sent before.

    Several threads fill ordinary memory from page-locked pieces while the bus fills others.
    The driver alone would copy with one thread, and wait for new memory meanwhile.
    """
    cuda = device.driver()
    if out.nbytes < _LARGE or driver.is_pinned(out.ctypes.data, out.nbytes):
        cuda.memcpy_dtoh(out, address)
        return
    flat = out.reshape(-1).view(np.uint8)
    cuda.Context.synchronize()  # the results are complete
    stream = cuda.Stream()
    with rings.borrowed(PIECE_ROWS) as ring, Stager(thread_count(None)) as stager:
        under_way: deque[tuple[Piece, NDArray[np.uint8], NDArray[np.uint8]]] = deque()

        def take_out() -> None:
            piece, staging, part = under_way.popleft()
            piece.free.synchronize()
            stager.copy(staging, part)

        size = POINT_BYTES * ring.room
        for number, begin in enumerate(range(0, out.nbytes, size)):
            if len(under_way) == len(ring.pieces):
                take_out()
            piece, part = ring.pieces[number % len(ring.pieces)], flat[begin : begin + size]
            staging = piece.memory.reshape(-1).view(np.uint8)[: part.nbytes]
            cuda.memcpy_dtoh_async(staging, address + begin, stream)
            piece.free.record(stream)
            under_way.append((piece, staging, part))
        while under_way:
            take_out()


def _fill(places: list[tuple[CudaMemory, NDArray[np.generic]]]) -> None:
    """Copy arrays to the device, and wait for the copies."""
    stream, under_way = device.driver().Stream(), []
    with ExitStack() as held:
        for memory, array in places:
            flat = array.reshape(-1).view(np.uint8)
            large = 0 if array.nbytes < _LARGE else array.nbytes // POINT_BYTES
            if large:
                rows = flat[: POINT_BYTES * large].view(np.float64).reshape(large, 3)
                columns = rows[:, 0], rows[:, 1], rows[:, 2]
                filler = held.enter_context(filling(columns, large, thread_count(None)))
                filler.start(0)
                under_way.append((filler, large, int(memory)))
            if rest := flat[POINT_BYTES * large :].nbytes:
                device.driver().memcpy_htod(int(memory) + array.nbytes - rest, flat[-rest:])
        for filler, large, address in under_way:
            filler.send(0, large, address, stream)
    stream.synchronize()
