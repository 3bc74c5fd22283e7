"""Copies between the caller's arrays and page-locked memory, by several native threads."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.cuda import buffers, device, libcuda
from geodomain.backends.cuda.buffers import Piece
from geodomain.backends.cuda.pools import allocate, allocate_pooled
from geodomain.backends.cuda.pycuda_types import CudaMemory, CudaStream
from geodomain.backends.data import Columns
from geodomain.backends.native import CoreFunction, addresses, column_pointers, core
from geodomain.backends.threads import thread_count

# One thread copies 9 to 12 GB/s, the bus moves 55: eight keep it busy, and more are in their way.
_MOST_THREADS = 8
POINT_BYTES = 24
_LARGE = 4 << 20  # bytes that are worth starting threads for
FEW_ROWS = 16_384  # points that are copied before threads have started


class _Threads:
    """Native threads, from their first work to the end of one call; a context manager."""

    _FREE: ClassVar[str]  # what ends them

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
    """Threads that copy."""

    _FREE = "stager_free"

    def copy(self, source: NDArray[np.generic], target: NDArray[np.generic]) -> None:
        """Copy contiguous memory to contiguous memory of that size; little of it in this thread."""
        if source.nbytes <= POINT_BYTES * FEW_ROWS:
            ctypes.memmove(target.ctypes.data, source.ctypes.data, source.nbytes)
            return
        core().stager_copy(self._started(), source, target, source.nbytes)

    def _started(self) -> ctypes.c_void_p:
        if not self._handle:
            core().stager_create(self._threads, self._handle)
        return self._handle


class Filler(_Threads):
    """Threads that fill the pieces of a ring with rows of points, ahead of who sends them.

    ``points`` are three columns of doubles with any strides; a piece gets ``rows`` of them. Few
    points this thread copies itself.
    """

    _FREE = "filler_free"

    def __init__(self, points: Columns, ring: list[Piece], rows: int, threads: int) -> None:
        super().__init__(threads)
        self._points, self._ring, self._rows = points, ring, rows
        self._first = self._sent = self._emptied = 0  # first row; pieces

    def send(self, begin: int, end: int, address: int, stream: CudaStream) -> None:
        """Copy rows [begin, end) to the device, as x y z, x y z, ..., in the stream's order.

        Best asked for all rows in turn, since those after ``end`` are filled meanwhile.
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
        """Begin to fill, from this row to the last."""
        self._end()
        for piece in self._ring:
            piece.free.synchronize()  # at once, where it was never used
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
        """Have pieces filled again that have been sent; half of the ring may be on its way."""
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
    """Lend a ring, and threads that fill it with pieces that ``room`` is a multiple of."""
    rows = min(buffers.PIECE_ROWS, room)
    with (
        buffers.rings.borrowed(rows) as ring,  # of less, where memory is short
        Filler(points, ring.pieces, min(rows, ring.room), threads) as filler,
    ):
        yield filler


def upload(*arrays: NDArray[np.generic], pooled: bool = False) -> list[CudaMemory]:
    """Return device copies of contiguous arrays, all made at once.

    With ``pooled`` in memory of the pool, to which it goes back.
    """
    room = allocate_pooled if pooled else allocate
    memory = [room(array.nbytes) for array in arrays]
    _fill(list(zip(memory, arrays, strict=True)))
    return memory


def download(out: NDArray[np.generic], address: int) -> None:
    """Bring a contiguous array from the device, from behind all that was sent to it before.

    Ordinary memory is filled by several threads from page-locked pieces, which the bus fills
    meanwhile; the driver alone would copy with one thread, and wait for new memory as it does.
    """
    cuda = device.driver()
    if out.nbytes < _LARGE or libcuda.is_pinned(out.ctypes.data, out.nbytes):
        cuda.memcpy_dtoh(out, address)
        return
    flat = out.reshape(-1).view(np.uint8)
    cuda.Context.synchronize()  # the answers are there
    stream = cuda.Stream()
    with buffers.rings.borrowed(buffers.PIECE_ROWS) as ring, Stager(thread_count(None)) as stager:
        under_way: deque[tuple[Piece, NDArray[np.uint8], NDArray[np.uint8]]] = deque()

        def take_out() -> None:
            piece, kept, part = under_way.popleft()
            piece.free.synchronize()
            stager.copy(kept, part)

        size = POINT_BYTES * ring.room
        for number, begin in enumerate(range(0, out.nbytes, size)):
            if len(under_way) == len(ring.pieces):
                take_out()
            piece, part = ring.pieces[number % len(ring.pieces)], flat[begin : begin + size]
            kept = piece.memory.reshape(-1).view(np.uint8)[: part.nbytes]
            cuda.memcpy_dtoh_async(kept, address + begin, stream)
            piece.free.record(stream)
            under_way.append((piece, kept, part))
        while under_way:
            take_out()


def _fill(places: list[tuple[CudaMemory, NDArray[np.generic]]]) -> None:
    """Copy arrays to the device; when this returns they are there."""
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
