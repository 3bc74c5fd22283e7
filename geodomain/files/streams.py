"""Open files, gzip files and standard streams, to read tables and to write them."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import struct
import sys
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Protocol, TextIO, cast

from geodomain.compute.native import thread_count
from geodomain.compute.rows import read_bytes
from geodomain.errors import TableError
from geodomain.files.outputs import AtomicFile, refuse_to_replace, target_of, write_all
from geodomain.files.pipeline import ByteSource, fill
from geodomain.files.pipeline import Target as Target
from geodomain.files.unchanged import Counted, Digest, Digested, Unchanged

if TYPE_CHECKING:
    from concurrent.futures import Future

    from _typeshed import ReadableBuffer as Buffer

STANDARD = "-"
URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.+)", re.DOTALL)


def is_dataset(model: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder, a URL, or a pattern such as ``blocks/*.parquet``."""
    text = os.fspath(model)
    if is_url(text):
        return True
    place = Path(text)
    if text == STANDARD or place.is_file():
        return False
    return place.is_dir() or has_wildcard(text)


def is_url(text: str) -> bool:
    """Return whether a text is a URL, such as s3://bucket/blocks."""
    return URL.fullmatch(text) is not None


def has_wildcard(text: str) -> bool:
    """Return whether a text contains a wildcard, which makes it a pattern of file names."""
    return any(mark in text for mark in "*?[")


class HasDescriptor(Protocol):
    """An object that may have a file descriptor."""

    def fileno(self) -> int:
        """Return the file descriptor, or raise an error if there is none."""


class Writable(Protocol):
    """Unbuffered output, which may write fewer bytes than requested."""

    def write(self, data: memoryview, /) -> int:
        """Write bytes and return how many were written."""


class Stream:
    """Output that is written directly, without a temporary file: a pipe, a device, stdout."""

    def __init__(self, raw: Writable, name: str) -> None:
        self._raw, self._name = raw, name

    def write(self, data: memoryview) -> int:
        """Write all of the data, and return the number of bytes."""
        try:
            return write_all(self._raw.write, data, self._name)
        except OSError as error:
            if os.name == "nt" and error.errno == errno.EINVAL:  # a closed pipe on Windows
                raise BrokenPipeError from error
            raise


def standard_output() -> Stream:
    """Return standard output without Python's buffer.

    A write to the buffer would hold its lock for as long as the reader of a pipe is slow.
    """
    _require_open(sys.stdout, "standard output")
    buffer = sys.stdout.buffer
    buffer.flush()
    raw: Writable = buffer
    if status_of(buffer) is not None:
        raw = io.FileIO(buffer.fileno(), "wb", closefd=False)
    return Stream(raw, "standard output")


def standard_input() -> BinaryIO:
    """Return standard input without Python's buffer, if it has a file descriptor.

    A read through the buffer would hold its lock for as long as it waits for data.
    """
    _require_open(sys.stdin, "standard input")
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, io.FileIO(descriptor, closefd=False))


def _require_open(stream: TextIO | None, name: str) -> None:
    """Raise OSError if a standard stream is None: the stream was closed before Python started."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed", name)


def status_of(file: HasDescriptor) -> os.stat_result | None:
    """Return the status of an open file, or None for an object without a descriptor."""
    try:
        return os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None


# Gzip.

MAGIC = b"\x1f\x8b"
GZIP = 31  # zlib's number for a gzip header and a window of 32 KB
LEVEL = 4  # on a block model three times as fast as the usual 6, and a sixth larger
READ_BYTES = 256 << 10
BLOCK_BYTES = 512 << 10
WINDOW_BYTES = 32 << 10
HEADER = MAGIC + b"\x08" + bytes(6) + b"\xff"  # deflate, no flags, no time, no system


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Decompressor:
    """Read the decompressed contents of all members of a gzip file, one after the other.

    Parameters
    ----------
    source : binary file
        The compressed bytes.
    name : str
        Name of the file in messages.
    """

    def __init__(self, source: _Readable, name: str) -> None:
        self._source, self._name = source, name
        self._member = zlib.decompressobj(GZIP)
        self._input = b""

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer; return the number of bytes, 0 at the end of the file.

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
        """Go to the next member, skipping zeros between members; return False if there is none."""
        while True:
            self._input = self._input.lstrip(b"\0") or self._source.read(READ_BYTES)
            if not self._input:
                return False
            if self._input.strip(b"\0"):
                self._member = zlib.decompressobj(GZIP)
                return True


class Compressor:
    """Write gzip data to a binary file; `finish` completes the data, `close` abandons the data.

    Several threads compress pieces of 512 KiB, each with the end of the previous piece as its
    dictionary. The pieces form a single member, which any reader can read. The compressed file
    depends only on the bytes that are written, not on the number of threads or the sizes of the
    writes. It holds no name and no time.

    Parameters
    ----------
    target : binary file
        Receives the compressed bytes.
    threads : int or None
        Number of threads; None for as many as the process has processor cores.
    """

    def __init__(self, target: Target, threads: int | None = None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._target = target
        self._threads = thread_count(threads)
        self._pool = ThreadPoolExecutor(self._threads, "geodomain-gzip")
        self._pending: deque[Future[bytes]] = deque()
        self._block, self._history = bytearray(), b""
        self._crc = self._size = 0
        target.write(memoryview(HEADER))

    def write(self, data: memoryview) -> int:
        """Accept all of the data for compression, and return the number of its bytes."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        for start in range(0, len(data), BLOCK_BYTES):
            self._block += data[start : start + BLOCK_BYTES]
            if len(self._block) >= BLOCK_BYTES:
                self._compress(bytes(self._block[:BLOCK_BYTES]), zlib.Z_SYNC_FLUSH)
                del self._block[:BLOCK_BYTES]
        return len(data)

    def finish(self) -> None:
        """Write the last piece and the end of the gzip data."""
        self._compress(bytes(self._block), zlib.Z_FINISH)
        self._drain(0)
        self._target.write(memoryview(struct.pack("<II", self._crc, self._size & 0xFFFFFFFF)))

    def close(self) -> None:
        """End the threads; data that is not yet written is lost."""
        self._pool.shutdown(cancel_futures=True)

    def _compress(self, block: bytes, flush: int) -> None:
        self._pending.append(self._pool.submit(_deflate, block, self._history, flush))
        self._history = block[-WINDOW_BYTES:]
        self._drain(2 * self._threads)

    def _drain(self, most: int) -> None:
        while len(self._pending) > most:
            self._target.write(memoryview(self._pending.popleft().result()))


def _deflate(block: bytes, history: bytes, flush: int) -> bytes:
    """Compress a piece with the end of the previous piece, `history`, as dictionary.

    The result ends at a whole byte.
    """
    stream = zlib.compressobj(LEVEL, zlib.DEFLATED, -15, zdict=history)
    return stream.compress(block) + stream.flush(flush)


# Whole files.

_LARGE = 1 << 25  # bytes; one thread reads fewer as fast
_PIECE, _LARGEST_PIECE = 1 << 16, 1 << 22


class FileBytes:
    """The bytes of a file, read by slices like a memory map.

    If another program shortens the file, a memory map would end this process by a signal (SIGBUS).
    This class raises OSError instead.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._path = path.open("rb"), path
        self.status = os.fstat(self._file.fileno())
        self._lock = threading.Lock()
        self._at, self._piece = 0, b""

    def __enter__(self) -> FileBytes:
        """Return the object itself; the file is open already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __len__(self) -> int:
        """Return the size that the file had when it was opened."""
        return self.status.st_size

    def __getitem__(self, part: slice[int | None, int | None, None]) -> bytes:
        """Return the bytes of a slice; the step of the slice is ignored.

        Raises
        ------
        OSError
            If the file has become shorter.
        """
        begin, end, _ = part.indices(len(self))
        with self._lock:
            return self._read(begin, max(begin, end))

    def find(self, wanted: bytes, begin: int = 0, end: int | None = None) -> int:
        """Return the first position of `wanted` between `begin` and `end`; -1 if there is none."""
        last = len(self) if end is None else min(end, len(self))
        size, held = _PIECE, len(wanted) - 1
        with self._lock:
            while begin + held < last:
                stop = min(begin + size, last)
                if not self._at <= begin < stop <= self._at + len(self._piece):
                    self._piece = self._read(begin, min(begin + size, len(self)))
                    self._at = begin
                place = self._piece.find(wanted, begin - self._at, stop - self._at)
                if place >= 0:
                    return self._at + place
                begin, size = max(stop - held, begin + 1), min(4 * size, _LARGEST_PIECE)
        return -1

    def _read(self, begin: int, end: int) -> bytes:
        self._file.seek(begin)
        data = self._file.read(end - begin)
        if len(data) < end - begin:
            raise OSError(errno.EIO, "it became shorter while it was read", str(self._path))
        return data


def read_whole(path: Path) -> bytes:
    """Return all bytes of a file or a pipe.

    Raises
    ------
    OSError
        If the file cannot be read, changes while it is read, or is a device such as /dev/zero.
    """
    with Unchanged(path):
        return _read(path, require_no_device(path))


def _read(path: Path, status: os.stat_result) -> bytes:
    """Return all bytes of a file; several threads read a large file."""
    if stat.S_ISREG(status.st_mode) and status.st_size >= _LARGE:
        with path.open("rb") as file:
            data = read_bytes(file.fileno(), status.st_size)
        if data is not None:
            return data
    return path.read_bytes()


def require_no_device(path: Path) -> os.stat_result:
    """Refuse a device, and return the status of any other file or pipe.

    Raises
    ------
    OSError
        If the path is a device, or there is no file.
    """
    status = path.stat()
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
    return status


def require_seekable(path: Path) -> os.stat_result:
    """Return the status of a file; refuse a pipe or a device, which can be read only in order.

    A library that moves back and forth in a file would wait endlessly for a pipe or a device.

    Raises
    ------
    OSError
        If the path is a device or a pipe, or there is no file.
    """
    status = require_no_device(path)
    if stat.S_ISFIFO(status.st_mode):
        raise OSError(
            errno.ESPIPE, "it is a pipe, and this format needs a file: save it first", str(path)
        )
    return status


# Targets: files that appear when they are complete, gzip files and standard output.

_BUFFER = 1 << 20


class Input(Protocol):
    """The attributes of an open input file that `open_target` and the writers of outputs use."""

    compressed: bool

    @property
    def status(self) -> os.stat_result | None:
        """Status of the file, or None if there is no file."""

    def close(self) -> None:
        """Close the file."""


@contextlib.contextmanager
def open_target(
    path: str | os.PathLike[str],
    *,
    source: Input | None = None,
    overwrite: bool = False,
    in_place: bool = False,
    threads: int | None = None,
    digest: Digest | None = None,
) -> Iterator[Target]:
    """Open an output for a `with` statement; at its end, the complete file appears at the path.

    Parameters
    ----------
    path : path or '-'
        A file, or `-` for standard output. A file whose name ends in .gz is compressed. Links are
        followed. A device or a pipe is written directly.
    source : Input, optional
        The input, which must not be the same file.
    overwrite : bool, optional
        Whether an existing file may be replaced; the new file keeps its mode.
    in_place : bool, optional
        Whether to replace the input itself; the output is compressed if the input was.
    threads : int, optional
        Number of threads that compress.
    digest : Digest, optional
        Hashes the bytes as they are stored.

    Yields
    ------
    Target
        Has `write`. After an exception or an interrupt in the `with` statement, an existing file
        is unchanged, and no new file is left.

    Raises
    ------
    TableError
        If the output is the input.
    FileExistsError
        If a file that may not be replaced exists at the path, at the start or at the end.
    OSError
        If a file that `Unchanged` watches has changed by the end.
    BrokenPipeError
        If the program that reads standard output has closed it; the run can then end quietly.
    """
    if path == STANDARD:
        _refuse_same(status_of(sys.stdout), source, "standard output")
        yield _digested(standard_output(), digest)
        return
    # Links are not resolved yet: those of /dev/stdout to a pipe lead to no path.
    status = Path(path).stat() if Path(path).exists() else None
    if not in_place:
        _refuse_same(status, source, str(path))
    if status is not None and not stat.S_ISREG(status.st_mode):
        with Path(path).open("wb", buffering=0) as device:
            yield _digested(Stream(device, str(path)), digest)
        return
    refuse_to_replace([Path(path)], overwrite=overwrite or in_place)
    place = target_of(Path(path))
    compressed = source.compressed if in_place and source else place.suffix.lower() == ".gz"
    file = AtomicFile(place, new=not (overwrite or in_place))
    yield from _replace(file, source, compressed, threads, digest)


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a binary Python file; at the end of the `with` statement it replaces the file at a path.

    Links, modes, devices and pipes are treated as by `open_target`. Without `overwrite`, an
    existing file is refused.
    """
    with open_target(Path(path), overwrite=overwrite) as target:
        raw = _Raw(target)
        file = io.BufferedWriter(raw, _BUFFER)
        try:
            yield cast(BinaryIO, file)
            file.flush()
        finally:
            raw.target = None
            file.close()


class _Raw(io.RawIOBase):
    """Passes the bytes of a buffered Python file to an output, or drops them if there is none."""

    def __init__(self, target: Target) -> None:
        self.target: Target | None = target

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer) -> int:
        view = memoryview(data)
        if self.target is not None:
            self.target.write(view)
        return view.nbytes


def _digested(target: Target, digest: Digest | None) -> Target:
    return target if digest is None else Digested(target, digest)


def _replace(
    file: AtomicFile, source: Input | None, compressed: bool, threads: int | None,
    digest: Digest | None,
) -> Iterator[Target]:  # fmt: skip
    target = _digested(file, digest)
    try:
        if compressed:
            with contextlib.closing(Compressor(target, threads)) as compressor:
                yield compressor
                compressor.finish()
        else:
            yield target
        if source is not None:
            source.close()  # Windows does not replace an open file
        file.commit()
    finally:
        file.abandon()


def _refuse_same(status: os.stat_result | None, source: Input | None, name: str) -> None:
    """Refuse to write to the file that is being read, whether directly or through a link."""
    other = None if source is None else source.status
    if status is None or other is None or not stat.S_ISREG(other.st_mode):
        return
    if os.path.samestat(status, other):
        message = f"{name} is the input itself; name another output"
        raise TableError(message)


# Sources: files, gzip files and standard input.


class Source:
    """Read the bytes of a table from a file or standard input; gzip data is decompressed.

    Parameters
    ----------
    raw : binary file
        The bytes as they are stored, unbuffered where possible.
    name : str
        Name of the table in messages.
    path : Path or None
        Path of the table, if it has one.
    digest : Digest, optional
        Hashes the stored bytes as they are read.

    Attributes
    ----------
    compressed : bool
        Whether the content is gzip data, whatever the name of the file.
    size : int or None
        Number of stored bytes, or None if that is not known.
    """

    def __init__(
        self, raw: BinaryIO, name: str, path: Path | None, digest: Digest | None = None
    ) -> None:
        self.name, self.path = name, path
        self._watch = Unchanged(*([] if path is None else [path]))
        self._raw = Counted(raw, digest)
        self._bytes: ByteSource = self._raw
        self._head = b""
        self.compressed = self.peek(len(MAGIC)) == MAGIC
        if self.compressed:
            self._raw.put_back(self._head)
            self._head = b""
            self._bytes = Decompressor(self._raw, name)
        status = self.status
        self.size = status.st_size if status and stat.S_ISREG(status.st_mode) else None

    @property
    def position(self) -> int:
        """Number of stored bytes that have been read."""
        return self._raw.count

    @property
    def status(self) -> os.stat_result | None:
        """Status of the open file, or None if there is no file."""
        return status_of(self._raw.file)

    def peek(self, size: int) -> bytes:
        """Return the next bytes, up to `size` of them, without consuming them."""
        if len(self._head) < size:
            more = bytearray(size - len(self._head))
            self._head += more[: fill(self._bytes, memoryview(more))]
        return self._head[:size]

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer and return the number of bytes, 0 at the end of the table.

        The buffer may be filled only in part.
        """
        if not self._head:
            return int(self._bytes.readinto(buffer) or 0)
        part, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._raw.file.close()

    def __enter__(self) -> Source:
        """Return the object itself, and watch the file for changes."""
        self._watch.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; raise OSError if it has changed during the `with` statement."""
        self.close()
        self._watch.__exit__(kind, error, trace)


def open_source(path: str | os.PathLike[str], *, digest: Digest | None = None) -> Source:
    """Open a table for reading.

    Parameters
    ----------
    path : path or '-'
        A file, which may be gzip data, or `-` for standard input.
    digest : Digest, optional
        Hashes the stored bytes as they are read.

    Returns
    -------
    Source
        Use it in a `with` statement, or close it.

    Raises
    ------
    OSError
        If the file cannot be opened.
    TableError
        If the file is damaged gzip data.
    """
    if path == STANDARD:
        return Source(standard_input(), "standard input", None, digest)
    place = Path(path)
    raw = io.FileIO(place)
    if hasattr(os, "posix_fadvise"):
        with contextlib.suppress(OSError):
            os.posix_fadvise(raw.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
    try:
        return Source(cast(BinaryIO, raw), place.name, place, digest)
    except BaseException:
        raw.close()
        raise
