"""Copy data to and from the GPU, and keep GPU memory and page-locked memory for later calls."""

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
    """A set of buffers in a pool, allocated together for work of size `room`."""

    room: int


Pooled = TypeVar("Pooled", bound=PooledMemory)


class Pool(Generic[Pooled]):
    """Sets of buffers that calls borrow and give back.

    If no idle set is large enough, a new one is made. Only a few idle sets are kept. Each device
    has its own sets. A thread borrows sets of the device that it works on.

    Parameters
    ----------
    make : callable
        Takes a size, and returns buffers for work of that size. Raises PyCUDA's MemoryError if
        memory is short.
    least : int
        The smallest size that is worth using.
    """

    def __init__(self, make: Callable[[int], Pooled], least: int) -> None:
        self._make = make
        self._least = least
        self._idle_of: dict[int, list[Pooled]] = {}
        self._lock = threading.Lock()
        _pools.add(self)

    @property
    def idle_count(self) -> int:
        """Return how many sets of buffers are idle, on all devices."""
        return sum(map(len, list(self._idle_of.values())))

    @property
    def _idle(self) -> list[Pooled]:
        """Return the idle sets of buffers on this thread's device."""
        return self._idle_of.setdefault(device.number(), [])

    @contextlib.contextmanager
    def borrowed(self, room: int) -> Iterator[Pooled]:
        """Lend buffers for work of size `room`; if memory is short, lend smaller buffers.

        After an error, the memory is freed as soon as the device has finished all work, while its
        context is still current. The buffers are emptied for this, because the error's traceback
        keeps the buffers themselves alive.
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
        """Remove the idle buffers of this device from the pool, and return them.

        The caller frees the buffers by dropping them, and must do so while a context is current.
        """
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
    """Free the memory of buffers by dropping all attributes of buffers and of listed parts."""
    for parts in [value for value in buffers.__dict__.values() if isinstance(value, list)]:
        for part in parts:
            part.__dict__.clear()
    buffers.__dict__.clear()


class Drainable(Protocol):
    """A pool of buffers of any kind."""

    @property
    def idle_count(self) -> int:
        """Return how many sets of buffers are idle."""
        ...

    def drain(self) -> Sequence[PooledMemory]:
        """Remove the idle buffers from the pool, and return them."""
        ...


_pools: weakref.WeakSet[Drainable] = weakref.WeakSet()


@device.of_each_device
def memory_pool() -> MemoryPool:
    """Return PyCUDA's pool of device memory, which indexes and queries share."""
    from pycuda.tools import DeviceMemoryPool

    pool: MemoryPool = DeviceMemoryPool()
    return pool


def allocate(size: int) -> CudaMemory:
    """Allocate at least one byte of device memory; if memory is short, free idle buffers first."""
    return _allocate_from(device.driver().mem_alloc, size)


def allocate_pooled(size: int) -> CudaMemory:
    """Allocate device memory from PyCUDA's pool; when freed, the memory returns to that pool.

    If memory is short, idle buffers are freed first.
    """
    return _allocate_from(memory_pool().allocate, size)


def _allocate_from(source: Callable[[int], CudaMemory], size: int) -> CudaMemory:
    try:
        return source(max(size, 1))
    except device.driver().MemoryError:
        if not drain_all():
            raise
    return source(max(size, 1))


def drain_all() -> bool:
    """Free the idle memory of all pools on this device; return whether there was any."""
    held = memory_pool().held_blocks > 0
    memory_pool().free_held()
    return any([held, *[pool.drain() for pool in list(_pools)]])


def release() -> None:
    """Free the idle memory of all pools: GPU memory and page-locked memory."""
    if memory_pool.results or any(pool.idle_count for pool in list(_pools)):
        for number in device.in_use():
            with device.using(number), device.current():
                drain_all()


def _release_for_good() -> None:
    """Free idle memory at exit, and keep no freed memory from then on.

    Memory that callers still hold when the process ends is freed by the driver. PyCUDA can
    free it only in the thread that first used the device, and warns in other threads.
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


# Memory for points in transit: batches on the device, page-locked pieces on the host.

IN_FLIGHT = 4_194_304  # points on the device at a time, in all the slots
SLOTS = 4  # batches in flight: one copied in, one computed, one copied out, one waiting
ROOM = IN_FLIGHT // SLOTS  # largest number of points in a batch
LEAST_ROOM = 16_384  # below this the CPU is the better place
_SMALL_ROOM = 131_072  # points in a batch of a small job, so that the next job can use its memory
PIECE_ROWS = 262_144  # points in a page-locked piece; divides ROOM
_PIECES = 4
# Bytes of results in a batch whose points are sorted: in a larger batch neighbours are nearer.
TOGETHER = 1 << 25
RESIDENT = 1 << 23  # points in a batch if points and output are on the device already
# Bytes of a result: a count, a pair of counts, a pair of doubles, five doubles.
WIDTHS = (4, 8, 16, 40)

NONE_REFUSED = 2**64 - 1

# How points arrive: sent as they are, sent and sorted, or on the device already.
Kind = Literal["sent", "together", "resident"]


class Slot:
    """A stream, and device memory for one batch of points and their results.

    A result takes ``width`` bytes, one of WIDTHS. A point takes 33 bytes: 24 for coordinates,
    1 for a label, 8 in two lists. If ``resident``, points and results are already on the
    device, and nothing is copied.
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
        self.refused = int(self._refused.ctypes.data)  # the address of the first undecided row
        if not resident:
            self.coordinates = cuda.mem_alloc(24 * room)
            self.host_answers = cuda.pagelocked_empty(width * room, np.uint8)

    @property
    def first_refused(self) -> int | None:
        """Return the first undecided row of a computed batch, or None."""
        row = int(self._refused[0])
        return None if row == NONE_REFUSED else row

    def place_of(self, own: CudaMemory) -> int:
        """Return the address for results: in the caller's output if `begin` set it, else `own`."""
        return self.into or int(own)

    def begin(self, into: int) -> None:
        """Prepare an idle slot: set the address for results, and forget the undecided row.

        An address of 0 means that results go to the slot's own memory.
        """
        self.into = into
        self._refused[0] = NONE_REFUSED

    def clear_lists(self) -> None:
        """Empty the two lists of rows, after the work that the stream already has."""
        device.driver().memset_d32_async(int(self.counts), 0, 2, self.stream)


class Piece:
    """Page-locked memory from which points are copied, and an event that marks the copy's end."""

    def __init__(self, rows: int) -> None:
        cuda = device.driver()
        self.memory = cuda.pagelocked_empty((rows, 3), np.float64)
        self.free = cuda.Event(cuda.event_flags.DISABLE_TIMING)


class Ring:
    """Pieces of page-locked memory for ``room`` points each, which are filled in turn."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.pieces = [Piece(room) for _ in range(_PIECES)]


class Buffers:
    """The device memory of one call: several slots, each for one batch of points."""

    def __init__(self, kind: Kind, width: int, room: int) -> None:
        self.room = room
        resident = kind == "resident"
        slots = 2 if resident else SLOTS
        self.slots = [Slot(room, width, resident=resident) for _ in range(slots)]


def room_for(kind: Kind, rows: int, width: int) -> int:
    """Return how many points a slot should hold for a query of `rows` points.

    The number is a power of two.
    """
    most = {"sent": ROOM, "together": TOGETHER >> (width - 1).bit_length(), "resident": RESIDENT}
    share = -(-rows // SLOTS) if kind == "sent" else rows
    return min(most[kind], max(_SMALL_ROOM, 1 << (share - 1).bit_length()))


@functools.cache
def pool_of(kind: Kind, width: int) -> Pool[Buffers]:
    """Return the pool of buffers for results of `width` bytes or slightly more."""
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
FEW_ROWS = 16_384  # so few points are copied before threads have started


class _Threads:
    """Native threads that start when they first get work, and end at the end of a `with`."""

    _FREE: ClassVar[str]  # the core's function that ends them

    def __init__(self, threads: int) -> None:
        self._threads = min(threads, _MOST_THREADS)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> Self:
        """Return this object; no thread is started yet."""
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
    """Native threads that copy memory on the host."""

    _FREE = "stager_free"

    def copy(self, source: NDArray[np.generic], target: NDArray[np.generic]) -> None:
        """Copy between contiguous arrays of equal size; small arrays are copied by this thread."""
        if source.nbytes <= POINT_BYTES * FEW_ROWS:
            ctypes.memmove(target.ctypes.data, source.ctypes.data, source.nbytes)
            return
        core().stager_copy(self._started(), source, target, source.nbytes)

    def _started(self) -> ctypes.c_void_p:
        if not self._handle:
            core().stager_create(self._threads, self._handle)
        return self._handle


class Filler(_Threads):
    """Native threads that copy points into the page-locked pieces of a ring, ready to be sent.

    ``points`` are three columns of doubles with any strides. A piece holds ``rows`` points.
    If there are few points, the calling thread copies them itself.
    """

    _FREE = "filler_free"

    def __init__(self, points: Columns, ring: list[Piece], rows: int, threads: int) -> None:
        super().__init__(threads)
        self._points, self._ring, self._rows = points, ring, rows
        self._first = self._sent = self._emptied = 0  # the first row; numbers of pieces

    def send(self, begin: int, end: int, address: int, stream: CudaStream) -> None:
        """Copy rows [begin, end) to the device, as x y z, x y z, ..., in the stream's order.

        This is fastest if the next call starts at ``end``, because the threads already fill pieces
        with the rows that follow.
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
        """Start to fill pieces with the rows from `begin` to the last row."""
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
        """Let the threads refill pieces that have been sent; wait if over half are in transit."""
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
    """Lend a Filler whose pieces hold a number of points that divides ``room``."""
    rows = min(PIECE_ROWS, room)
    with (
        rings.borrowed(rows) as ring,  # smaller if memory is short
        Filler(points, ring.pieces, min(rows, ring.room), threads) as filler,
    ):
        yield filler


def upload(*arrays: NDArray[np.generic], pooled: bool = False) -> list[CudaMemory]:
    """Copy contiguous arrays to new device memory, and return that memory.

    If ``pooled``, the memory comes from PyCUDA's pool, and returns to that pool when freed.
    """
    room = allocate_pooled if pooled else allocate
    memory = [room(array.nbytes) for array in arrays]
    _fill(list(zip(memory, arrays, strict=True)))
    return memory


def download(out: NDArray[np.generic], address: int) -> None:
    """Copy device memory to a contiguous array, after all work that was sent to the GPU before.

    Several threads copy from page-locked pieces to the array, while the GPU writes to other
    pieces. Without these pieces, the driver would copy with a single thread.
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
