"""Threads that read ahead and write behind, and a store for more rows than fit in memory."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bytes

Item = TypeVar("Item")
Result = TypeVar("Result")


class Ahead(Generic[Item, Result]):
    """Compute the results of items in order, in a thread that is one result ahead of the caller.

    The caller uses one result while the thread computes the next one, so two buffers are enough.

    Parameters
    ----------
    items : iterable
        Iterated by the thread.
    work : callable
        Computes the result of an item. If it raises an exception, the caller gets the exception
        instead of the result.
    """

    def __init__(self, items: Iterable[Item], work: Callable[[Item], Result]) -> None:
        self._items, self._work = items, work
        self._done: queue.SimpleQueue[tuple[Result] | BaseException | None] = queue.SimpleQueue()
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._wanted.put(True)
        self._working, self._stopped = threading.Lock(), False
        # A daemon, because it may still wait for an item when the program ends.
        self._thread = threading.Thread(target=self._run, name="geodomain-ahead", daemon=True)
        self._thread.start()

    def results(self) -> Iterator[Result]:
        """Yield the results in order; a result is valid until the next one is requested."""
        while (done := wait(self._done)) is not None:
            if isinstance(done, BaseException):
                raise done
            self._wanted.put(True)
            yield done[0]

    def stop(self) -> None:
        """Start no further item, and wait until the current item is done."""
        with self._working:
            self._stopped = True
        empty(self._wanted)
        self._wanted.put(False)
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        try:
            for item in self._items:
                if not self._wanted.get():
                    return
                with self._working:
                    if self._stopped:
                        return
                    result = self._work(item)
                self._done.put((result,))
            self._done.put(None)
        except BaseException as error:
            self._done.put(error)


# Reading ahead and writing behind.

# Bytes before each piece of a file, for the start of a row that ends in the piece.
HEADROOM = 64 << 10
READ_AHEAD = 3
WRITE_BEHIND = 3


class ByteSource(Protocol):
    """Source of bytes; like an unbuffered file, it may return fewer bytes than requested."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Read into a buffer and return the number of bytes, 0 at the end of the source."""


class Target(Protocol):
    """Output to which bytes are written."""

    def write(self, data: memoryview, /) -> object:
        """Write all of the data."""


class Block(NamedTuple):
    """A piece of a file: bytes [HEADROOM, end) of a buffer, and whether it is the last piece."""

    buffer: Bytes
    end: int
    final: bool


class Reader:
    """Read a source in pieces, in a thread that is ahead of the caller."""

    def __init__(self, source: ByteSource, block_bytes: int) -> None:
        self._source = source
        self._filled: queue.SimpleQueue[Block | BaseException | None] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[Bytes | None] = queue.SimpleQueue()
        for _ in range(READ_AHEAD):
            self._free.put(np.empty(HEADROOM + block_bytes, dtype=np.uint8))
        # A daemon, because it may still wait for a pipe when the program ends.
        self._thread = threading.Thread(target=self._run, name="geodomain-reader", daemon=True)
        self._thread.start()

    def blocks(self) -> Iterator[Block]:
        """Yield the pieces in order; the last one, which may be empty, is marked as final."""
        for block in self.held_blocks():
            yield block
            self.give(block)

    def held_blocks(self) -> Iterator[Block]:
        """Yield the pieces in order until `stop` is called.

        The caller hands each piece back with `give`.
        """
        while (block := wait(self._filled)) is not None:
            if isinstance(block, BaseException):
                raise block
            yield block
            if block.final:
                return

    def give(self, block: Block) -> None:
        """Return the buffer of a piece, so that the thread can read into it again."""
        self._free.put(block.buffer)

    def stop(self) -> None:
        """Stop reading."""
        empty(self._free)
        self._free.put(None)
        self._filled.put(None)
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        try:
            while (buffer := self._free.get()) is not None:
                end = HEADROOM + fill(self._source, buffer.data[HEADROOM:])
                final = end < buffer.size
                self._filled.put(Block(buffer, end, final))
                if final:
                    return
        except BaseException as error:
            self._filled.put(error)


class Writer:
    """Write to an output in order, in a thread, while the caller goes on."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._waiting: queue.SimpleQueue[Bytes | None] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[Bytes] = queue.SimpleQueue()
        for _ in range(WRITE_BEHIND):
            self._free.put(np.empty(0, dtype=np.uint8))
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="geodomain-writer", daemon=True)
        self._thread.start()
        self.bytes_written = 0

    def room(self, size: int) -> Bytes:
        """Return a buffer of at least `size` bytes; the caller fills it and passes it to `send`."""
        buffer = wait(self._free)
        self._check()
        return buffer if buffer.size >= size else np.empty(size + size // 8, dtype=np.uint8)

    def send(self, data: Bytes) -> None:
        """Queue bytes for writing; `data` is the start of a buffer that `room` returned."""
        self._waiting.put(data)

    def put(self, data: bytes) -> None:
        """Queue a copy of some bytes for writing."""
        room = self.room(len(data))
        room[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.send(room[: len(data)])

    def finish(self) -> None:
        """Wait until all bytes are written; raise the exception of a failed write."""
        self._waiting.put(None)
        while self._thread.is_alive():
            self._thread.join(timeout=0.5)  # on Windows only a timeout lets an interrupt end it
        self._check()

    def stop(self) -> None:
        """Drop all bytes that are not yet written.

        Wait for the thread, but at most a second, because the reader of a pipe may never read on.
        """
        empty(self._waiting)
        self._waiting.put(None)
        self._thread.join(timeout=1.0)

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        while (data := self._waiting.get()) is not None:
            try:
                if self._failure is None:
                    self._target.write(data.data)
                    self.bytes_written += data.size
            except BaseException as error:
                self._failure = error
            self._free.put(data if data.base is None else data.base)


def fill(source: ByteSource, room: memoryview) -> int:
    """Read until a buffer is full or the source ends, and return the number of bytes."""
    done = 0
    while done < len(room):
        count = source.readinto(room[done:])
        if not count:
            break
        done += count
    return done


def empty(channel: queue.SimpleQueue[Item]) -> None:
    """Remove all items from a queue; other threads may take items at the same time."""
    with contextlib.suppress(queue.Empty):
        while True:
            channel.get_nowait()


def wait(channel: queue.SimpleQueue[Item]) -> Item:
    """Take an item from a queue; wait in steps, so that Ctrl-C ends the wait even on Windows."""
    while True:
        try:
            return channel.get(timeout=0.5)
        except queue.Empty:
            continue


# Rows of numbers in bounded memory, in a temporary file once there are many.

Rows = NDArray[np.uint64]

# Most rows in memory, and the number of first bits of a row that choose its part of the file.
_HELD, _BITS = 1 << 21, 10


class Spill:
    """Stores rows of integers in bounded memory, and returns them grouped by their first integer.

    Once there are many rows, they are written to a temporary file. Rows with equal first integers
    are returned in the same part.

    Parameters
    ----------
    width : int
        Number of integers in a row. The first integers of the rows should be spread over all 64
        bits, as hashes are.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._held: list[Rows] = []
        self._count = 0
        self._file: IO[bytes] | None = None
        self._open = ExitStack()
        self._sizes: list[NDArray[np.int64]] = []  # rows of each part, for each write

    def __enter__(self) -> Spill:
        """Return the object itself, which is closed at the end of the `with` statement."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary file."""
        self.close()

    def close(self) -> None:
        """Drop all rows and remove the temporary file."""
        self._held, self._sizes, self._count = [], [], 0
        self._file = None
        self._open.close()

    def add(self, rows: Rows) -> None:
        """Add rows, (n, width).

        Raises
        ------
        OSError
            If a temporary file cannot be written.
        """
        self._held.append(rows)
        self._count += len(rows)
        if self._count > _HELD:
            self._write()

    def _write(self) -> None:
        """Move the rows from memory to the temporary file, in the order of their parts."""
        if self._file is None:
            import tempfile  # its import takes a hundredth of a command's start

            made = tempfile.TemporaryFile(prefix="geodomain-")  # noqa: SIM115
            self._file = self._open.enter_context(made)
        rows = np.concatenate(self._held)
        part = (rows[:, 0] >> np.uint64(64 - _BITS)).astype(np.uint16)
        self._file.write(rows[part.argsort(kind="stable")].data)
        self._file.flush()
        self._sizes.append(np.bincount(part, minlength=1 << _BITS))
        self._held, self._count = [], 0

    def parts(self) -> Iterator[Rows]:
        """Yield all rows in parts; within a part, rows are in the order of `add`."""
        if self._file is None:
            yield np.concatenate([np.empty((0, self._width), np.uint64), *self._held])
            return
        if self._held:
            self._write()
        sizes = np.array(self._sizes)
        ends = sizes.cumsum().reshape(sizes.shape)
        for part in range(1 << _BITS):
            places = zip(ends[:, part] - sizes[:, part], sizes[:, part], strict=True)
            yield np.concatenate([self._read(int(at), int(count)) for at, count in places])

    def _read(self, at: int, count: int) -> Rows:
        """Read `count` rows of the temporary file, starting with row `at`, counted from 0."""
        assert self._file is not None
        self._file.seek(at * 8 * self._width)
        read = self._file.read(count * 8 * self._width)
        return np.frombuffer(read, np.uint64).reshape(-1, self._width)
