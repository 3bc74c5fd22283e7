"""Gzip both ways, as streams; which files are compressed is for files.py to say."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from typing import TYPE_CHECKING, Protocol

from geodomain.backends.threads import thread_count
from geodomain.errors import TableError

if TYPE_CHECKING:
    from concurrent.futures import Future

MAGIC = b"\x1f\x8b"
GZIP = 31  # zlib's word for a gzip header and 32 KB of window
LEVEL = 4  # three times the speed of the usual 6 on a block model, a sixth larger
READ_BYTES = 256 << 10
BLOCK_BYTES = 512 << 10
WINDOW_BYTES = 32 << 10
HEADER = MAGIC + b"\x08" + bytes(6) + b"\xff"  # deflate, no flags, no time, no system


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Writable(Protocol):
    def write(self, data: memoryview, /) -> object: ...


class Decompressor:
    """Read what a gzip file holds, all its members.

    Parameters
    ----------
    source : binary file
        The compressed bytes.
    name : str
        What messages call the file.
    """

    def __init__(self, source: _Readable, name: str) -> None:
        self._source, self._name = source, name
        self._member = zlib.decompressobj(GZIP)
        self._input = b""

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer; 0 at the end.

        Raises
        ------
        TableError
            If the file is damaged or cut short.
        """
        while len(buffer):
            if self._member.eof and not self._next_member():
                return 0
            self._input = self._input or self._source.read(READ_BYTES)
            if not self._input:
                message = (
                    f"{self._name} ends in the middle of its compressed data: the file was cut "
                    "short. Copy or export it again."
                )
                raise TableError(message)
            data = self._decompress(len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
        return 0

    def _decompress(self, most: int) -> bytes:
        try:
            data = self._member.decompress(self._input, most)
        except zlib.error as error:
            message = f"{self._name} holds damaged compressed data ({error}). Export it again."
            raise TableError(message) from None
        self._input = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return data

    def _next_member(self) -> bool:
        """Go on to the member after this one; zeros may pad the end of the file."""
        while True:
            self._input = self._input.lstrip(b"\0") or self._source.read(READ_BYTES)
            if not self._input:
                return False
            if self._input.strip(b"\0"):
                self._member = zlib.decompressobj(GZIP)
                return True


class Compressor:
    """Write gzip data to a binary file; `finish` ends it, `close` gives it up.

    Blocks are compressed by several threads, each with the end of the block before
    it as its dictionary, and stand one after another in a single member, as any
    reader expects. The same bytes give the same file, for any number of threads and
    however they were cut for writing; no name and no time is written.

    Parameters
    ----------
    target : binary file
        Where the compressed bytes go.
    threads : int or None
        How many threads compress.
    """

    def __init__(self, target: _Writable, threads: int | None = None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._target = target
        self._threads = thread_count(threads)
        self._pool = ThreadPoolExecutor(self._threads, "geodomain-gzip")
        self._pending: deque[Future[bytes]] = deque()
        self._block, self._history = bytearray(), b""
        self._crc = self._size = 0
        target.write(memoryview(HEADER))

    def write(self, data: memoryview) -> int:
        """Write all of the data."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        for start in range(0, len(data), BLOCK_BYTES):
            self._block += data[start : start + BLOCK_BYTES]
            if len(self._block) >= BLOCK_BYTES:
                self._compress(bytes(self._block[:BLOCK_BYTES]), zlib.Z_SYNC_FLUSH)
                del self._block[:BLOCK_BYTES]
        return len(data)

    def finish(self) -> None:
        """Write what is still held back."""
        self._compress(bytes(self._block), zlib.Z_FINISH)
        self._drain(0)
        self._target.write(memoryview(struct.pack("<II", self._crc, self._size & 0xFFFFFFFF)))

    def close(self) -> None:
        """End the threads; what is held back is lost."""
        self._pool.shutdown(cancel_futures=True)

    def _compress(self, block: bytes, flush: int) -> None:
        self._pending.append(self._pool.submit(_deflate, block, self._history, flush))
        self._history = block[-WINDOW_BYTES:]
        self._drain(2 * self._threads)

    def _drain(self, most: int) -> None:
        while len(self._pending) > most:
            self._target.write(memoryview(self._pending.popleft().result()))


def _deflate(block: bytes, history: bytes, flush: int) -> bytes:
    """Compress a block that goes on after its history, up to a whole byte."""
    stream = zlib.compressobj(LEVEL, zlib.DEFLATED, -15, zdict=history)
    return stream.compress(block) + stream.flush(flush)
