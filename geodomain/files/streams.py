"""Files, gzip files and standard streams: what tables are read from and written to."""

from __future__ import annotations

import contextlib
import errno
import io
import os
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
from geodomain.files.outputs import AtomicFile, refuse_to_replace, write_all
from geodomain.files.pipeline import ByteSource, fill
from geodomain.files.unchanged import Counted, Digest, Digested, Unchanged

if TYPE_CHECKING:
    from concurrent.futures import Future

    from _typeshed import ReadableBuffer as Buffer

STANDARD = "-"


class HasDescriptor(Protocol):
    """What may have a file descriptor."""

    def fileno(self) -> int:
        """Give it, or raise."""


class Writable(Protocol):
    """What bytes are written to, perhaps fewer than are given."""

    def write(self, data: memoryview, /) -> int:
        """Write, and say how many."""


class Stream:
    """What is written to as it is: a pipe, a device, standard output."""

    def __init__(self, raw: Writable, name: str) -> None:
        self._raw, self._name = raw, name

    def write(self, data: memoryview) -> int:
        """Write all of the data."""
        try:
            return write_all(self._raw.write, data, self._name)
        except OSError as error:
            if os.name == "nt" and error.errno == errno.EINVAL:  # its word for a closed pipe
                raise BrokenPipeError from error
            raise


def standard_output() -> Stream:
    """Return standard output without the lock that its buffer holds while its reader is slow."""
    _require_open(sys.stdout, "standard output")
    buffer = sys.stdout.buffer
    buffer.flush()
    raw: Writable = buffer
    if status_of(buffer) is not None:
        raw = io.FileIO(buffer.fileno(), "wb", closefd=False)
    return Stream(raw, "standard output")


def standard_input() -> BinaryIO:
    """Return standard input without the lock that its buffer holds while it waits."""
    _require_open(sys.stdin, "standard input")
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, io.FileIO(descriptor, closefd=False))


def _require_open(stream: TextIO | None, name: str) -> None:
    """Refuse a standard stream that is closed before the program starts: Python has None then."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed", name)


def status_of(file: HasDescriptor) -> os.stat_result | None:
    """Return what the system says of an open file, None where it is none."""
    try:
        return os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None


# Gzip.

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


# Whole files.

_LARGE = 1 << 25  # bytes; fewer are read by one thread as fast
_PIECE, _LARGEST_PIECE = 1 << 16, 1 << 22


class FileBytes:
    """The bytes of a file, read where they are asked for: as a mapped file, but safe.

    Where another program shortens a file, a mapping of it ends the process by a signal (SIGBUS).
    Reading raises an OSError instead.
    """

    def __init__(self, path: Path) -> None:
        self._file, self._path = path.open("rb"), path
        self.status = os.fstat(self._file.fileno())
        self._lock = threading.Lock()
        self._at, self._piece = 0, b""

    def __enter__(self) -> FileBytes:
        """Keep the file open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of the file."""
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __len__(self) -> int:
        """Return the size that the file had when it was opened."""
        return self.status.st_size

    def __getitem__(self, part: slice[int | None, int | None, None]) -> bytes:
        """Return the bytes of a slice without a step.

        Raises
        ------
        OSError
            If the file is shorter than it was.
        """
        begin, end, _ = part.indices(len(self))
        with self._lock:
            return self._read(begin, max(begin, end))

    def find(self, wanted: bytes, begin: int = 0, end: int | None = None) -> int:
        """Return where some bytes are first, -1 if they are not between begin and end."""
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
    """Return what a file or a pipe holds.

    Raises
    ------
    OSError
        If it cannot be read, changes meanwhile, or is a device such as /dev/zero.
    """
    with Unchanged(path):
        return _read(path, require_no_device(path))


def _read(path: Path, status: os.stat_result) -> bytes:
    """Read a file, a large one by several threads."""
    if stat.S_ISREG(status.st_mode) and status.st_size >= _LARGE:
        with path.open("rb") as file:
            data = read_bytes(file.fileno(), status.st_size)
        if data is not None:
            return data
    return path.read_bytes()


def require_no_device(path: Path) -> os.stat_result:
    """Refuse a device; return what the system says of anything else.

    Raises
    ------
    OSError
        For a device, and where nothing is at the path.
    """
    status = path.stat()
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
    return status


def require_seekable(path: Path) -> os.stat_result:
    """Refuse what cannot be read here and there; return what the system says of anything else.

    Raises
    ------
    OSError
        For a pipe, whose opening another library would wait for without end, and for a device.
    """
    status = require_no_device(path)
    if stat.S_ISFIFO(status.st_mode):
        raise OSError(
            errno.ESPIPE, "it is a pipe, and is to be read here and there: save it first", str(path)
        )
    return status


# Targets: files, which appear whole, gzip files and standard output.

_BUFFER = 1 << 20


class Target(Protocol):
    """What a table is written to."""

    def write(self, data: memoryview, /) -> object:
        """Write all of the data."""


class Input(Protocol):
    """What is read, as far as who writes must know it."""

    compressed: bool

    @property
    def status(self) -> os.stat_result | None:
        """What the system says of the file, or None where it is none."""

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
    """Open what a table is written to; it is there, whole, only after the block.

    Parameters
    ----------
    path : path or '-'
        A file, compressed when its name ends in .gz, or standard output. Links are
        followed. A device or a pipe is written to as it is.
    source : Input, optional
        Where the table comes from, which must not be the same file.
    overwrite : bool, optional
        Whether a file that is there may be replaced; its mode is kept.
    in_place : bool, optional
        Whether the source itself is to be replaced, compressed if it was.
    threads : int, optional
        How many threads compress, where that is asked for.
    digest : Digest, optional
        Takes the bytes as they are stored.

    Yields
    ------
    Target
        Has `write`. An exception in the block, an interrupt included, leaves
        what was there before and nothing else.

    Raises
    ------
    TableError
        If the output is the input.
    FileExistsError
        If there is such a file, at the beginning or in the end, and it may not be replaced.
    OSError
        If a file that is watched by `Unchanged` has changed when this one takes its place.
    BrokenPipeError
        If nobody reads standard output any more: a reason to end, quietly.
    """
    if path == STANDARD:
        _refuse_same(status_of(sys.stdout), source, "standard output")
        yield _digested(standard_output(), digest)
        return
    # Before links are resolved: those of /dev/stdout to a pipe lead to no path.
    status = Path(path).stat() if Path(path).exists() else None
    if not in_place:
        _refuse_same(status, source, str(path))
    if status is not None and not stat.S_ISREG(status.st_mode):
        with Path(path).open("wb", buffering=0) as device:
            yield _digested(Stream(device, str(path)), digest)
        return
    refuse_to_replace([Path(path)], overwrite=overwrite or in_place)
    place = Path(os.path.realpath(path))
    compressed = source.compressed if in_place and source else place.suffix.lower() == ".gz"
    file = AtomicFile(place, new=not (overwrite or in_place))
    yield from _replace(file, source, compressed, threads, digest)


@contextlib.contextmanager
def replaced(path: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[BinaryIO]:
    """Open a file of Python's that takes the place of what is at a path only after the block.

    Links are followed, a mode is kept, and a device or a pipe is written to as it is, as by
    `open_target`. A file that is there is refused where it may not be overwritten.
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
    """A target as Python's buffers write to it; without one, what is left goes nowhere."""

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
            source.close()  # Windows replaces no file that is open
        file.commit()
    finally:
        file.abandon()


def _refuse_same(status: os.stat_result | None, source: Input | None, name: str) -> None:
    """Refuse to write to the file that is being read, by whatever link."""
    other = None if source is None else source.status
    if status is None or other is None or not stat.S_ISREG(other.st_mode):
        return
    if os.path.samestat(status, other):
        message = f"{name} is the input itself; name another output"
        raise TableError(message)


# Sources: files, gzip files and standard input.


class Source:
    """Read a table's bytes, decompressed, from a file or standard input.

    Parameters
    ----------
    raw : binary file
        The bytes as they are stored, unbuffered where possible.
    name : str
        What messages call the table.
    path : Path or None
        Where the table is, if it has a path.
    digest : Digest, optional
        Takes the stored bytes as they are read.

    Attributes
    ----------
    compressed : bool
        Whether the bytes are stored as gzip; their content says so, not their name.
    size : int or None
        The stored bytes in all, or None where that is not known.
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
        """How many stored bytes have been read."""
        return self._raw.count

    @property
    def status(self) -> os.stat_result | None:
        """What the system says of the open file, or None where it is none."""
        return status_of(self._raw.file)

    def peek(self, size: int) -> bytes:
        """Return up to `size` first bytes that have not been read, and leave them unread."""
        if len(self._head) < size:
            more = bytearray(size - len(self._head))
            self._head += more[: fill(self._bytes, memoryview(more))]
        return self._head[:size]

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer, perhaps less than it holds; 0 at the end."""
        if not self._head:
            return int(self._bytes.readinto(buffer) or 0)
        part, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._raw.file.close()

    def __enter__(self) -> Source:
        """Return the source, to be closed at the end of the block, and watch it until then."""
        self._watch.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file, and refuse one that has changed within the block."""
        self.close()
        self._watch.__exit__(kind, error, trace)


def open_source(path: str | os.PathLike[str], *, digest: Digest | None = None) -> Source:
    """Open a table to be read.

    Parameters
    ----------
    path : path or '-'
        A file, compressed or not, or standard input.
    digest : Digest, optional
        Takes the stored bytes as they are read.

    Returns
    -------
    Source
        To be used in a `with` block, or closed.

    Raises
    ------
    OSError
        If the file cannot be opened.
    TableError
        If it is a damaged gzip file.
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
