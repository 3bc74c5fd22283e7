"""Threads that read ahead and write behind, so that neither waits for the labels.

Only bytes move here: what they mean is for the scanner.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Item = TypeVar("Item")

# Room before each block for the start of a row whose end is in the block.
HEADROOM = 64 << 10
READ_AHEAD = 3
WRITE_BEHIND = 3


class ByteSource(Protocol):
    """What bytes come from: as an unbuffered file, it may give fewer than asked for."""

    def readinto(self, buffer: memoryview, /) -> int | None:
        """Read into a buffer; 0 at the end."""


class ByteTarget(Protocol):
    """What bytes go to."""

    def write(self, data: memoryview, /) -> object:
        """Write all of the data."""


class Block(NamedTuple):
    """Hold bytes of a file at [HEADROOM, end) of a buffer."""

    buffer: Bytes
    end: int
    final: bool


class Reader:
    """Read a source block after block, ahead of whom they are for."""

    def __init__(self, source: ByteSource, block_bytes: int) -> None:
        self._source = source
        self._filled: queue.SimpleQueue[Block | BaseException | None] = queue.SimpleQueue()
        self._free: queue.SimpleQueue[Bytes | None] = queue.SimpleQueue()
        for _ in range(READ_AHEAD):
            self._free.put(np.empty(HEADROOM + block_bytes, dtype=np.uint8))
        # A daemon: it may be waiting for a pipe when the rest has given up.
        self._thread = threading.Thread(target=self._run, name="geodomain-reader", daemon=True)
        self._thread.start()

    def blocks(self) -> Iterator[Block]:
        """Give the blocks in order, the last one, perhaps empty, being final."""
        for block in self.held_blocks():
            yield block
            self.give(block)

    def held_blocks(self) -> Iterator[Block]:
        """Give the blocks in order, none after `stop`; each is to be given back."""
        while (block := wait(self._filled)) is not None:
            if isinstance(block, BaseException):
                raise block
            yield block
            if block.final:
                return

    def give(self, block: Block) -> None:
        """Have the memory of a block read into again."""
        self._free.put(block.buffer)

    def stop(self) -> None:
        """Read no further."""
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
    """Write to a target in order, behind whom the bytes come from."""

    def __init__(self, target: ByteTarget) -> None:
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
        """Return a buffer of at least `size` bytes, to be sent."""
        buffer = wait(self._free)
        self._check()
        return buffer if buffer.size >= size else np.empty(size + size // 8, dtype=np.uint8)

    def send(self, data: Bytes) -> None:
        """Have the start of a buffer that `room` gave written."""
        self._waiting.put(data)

    def put(self, data: bytes) -> None:
        """Have bytes written."""
        room = self.room(len(data))
        room[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.send(room[: len(data)])

    def finish(self) -> None:
        """Wait until all is written."""
        self._waiting.put(None)
        while self._thread.is_alive():
            self._thread.join(timeout=0.5)  # a time, so that an interrupt can end it on Windows
        self._check()

    def stop(self) -> None:
        """Write no further than the block that is being written, which may be stuck in a pipe."""
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
    """Read until a buffer is full or the source ends; return how much was read."""
    done = 0
    while done < len(room):
        count = source.readinto(room[done:])
        if not count:
            break
        done += count
    return done


def empty(channel: queue.SimpleQueue[Item]) -> None:
    """Take all there is out of a queue from which others may take too."""
    with contextlib.suppress(queue.Empty):
        while True:
            channel.get_nowait()


def wait(channel: queue.SimpleQueue[Item]) -> Item:
    """Take from a queue in a way that an interrupt can end, on Windows as well."""
    while True:
        try:
            return channel.get(timeout=0.5)
        except queue.Empty:
            continue
