"""Where tables come from and go to: files, gzip files, standard input and output."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from geodomain.errors import TableError
from geodomain.tables.atomic import AtomicFile, refuse_to_replace, write_all
from geodomain.tables.digest import Counted, Digest, Digested
from geodomain.tables.gz import MAGIC, Compressor, Decompressor
from geodomain.tables.pipeline import fill

STANDARD = "-"


class Target(Protocol):
    """What a table is written to."""

    def write(self, data: memoryview, /) -> Any:
        """Write all of the data."""


class Input(Protocol):
    """What is read, as far as who writes must know it."""

    compressed: bool

    @property
    def status(self) -> os.stat_result | None:
        """What the system says of the file, or None where it is none."""

    def close(self) -> None:
        """Close the file."""


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
        self._raw = Counted(raw, digest)
        self._bytes: Any = self._raw
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
        return _status(self._raw.file)

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
        """Return the source, to be closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()


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
        return Source(_standard_input(), "standard input", None, digest)
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


@contextlib.contextmanager
def open_target(
    path: str | os.PathLike[str],
    *,
    source: Input | None = None,
    overwrite: bool = False,
    in_place: bool = False,
    threads: int | None = None,
    digest: Digest | None = None,
    named: bool = False,
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
    named : bool, optional
        Give an `AtomicFile` that has a name from the start, for a library that writes by name.

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
        If there is such a file and it may not be replaced.
    BrokenPipeError
        If nobody reads standard output any more: a reason to end, quietly.
    """
    if path == STANDARD:
        _refuse_same(_status(sys.stdout), source, "standard output")
        yield _digested(_standard_output(), digest)
        return
    # Before links are resolved: those of /dev/stdout to a pipe lead to no path.
    status = Path(path).stat() if Path(path).exists() else None
    if not in_place:
        _refuse_same(status, source, str(path))
    if status is not None and not stat.S_ISREG(status.st_mode):
        with Path(path).open("wb", buffering=0) as device:
            yield _digested(_Stream(device, str(path)), digest)
        return
    refuse_to_replace([Path(path)], overwrite=overwrite or in_place)
    place = Path(os.path.realpath(path))
    compressed = source.compressed if in_place and source else place.suffix.lower() == ".gz"
    yield from _replace(AtomicFile(place, named=named), source, compressed, threads, digest)


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


class _Stream:
    """What is written to as it is: a pipe, a device, standard output."""

    def __init__(self, raw: Any, name: str) -> None:
        self._raw, self._name = raw, name

    def write(self, data: memoryview) -> int:
        try:
            return write_all(self._raw.write, data, self._name)
        except OSError as error:
            if os.name == "nt" and error.errno == errno.EINVAL:  # its word for a closed pipe
                raise BrokenPipeError from error
            raise


def _standard_output() -> _Stream:
    """Return standard output without the lock that its buffer holds while its reader is slow."""
    _require_open(sys.stdout, "standard output")
    raw: Any = sys.stdout.buffer
    raw.flush()
    if _status(raw) is not None:
        raw = io.FileIO(raw.fileno(), "wb", closefd=False)
    return _Stream(raw, "standard output")


def _standard_input() -> BinaryIO:
    """Return standard input without the lock that its buffer holds while it waits."""
    _require_open(sys.stdin, "standard input")
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return cast(BinaryIO, sys.stdin.buffer)
    return cast(BinaryIO, io.FileIO(descriptor, closefd=False))


def _require_open(stream: Any, name: str) -> None:
    """Refuse a standard stream that is closed before the program starts: Python has None then."""
    if stream is None:
        raise OSError(errno.EBADF, "it is closed", name)


def _status(file: Any) -> os.stat_result | None:
    try:
        return os.fstat(file.fileno())
    except (OSError, ValueError, AttributeError):
        return None


def _refuse_same(status: os.stat_result | None, source: Input | None, name: str) -> None:
    """Refuse to write to the file that is being read, by whatever link."""
    other = None if source is None else source.status
    if status is None or other is None or not stat.S_ISREG(other.st_mode):
        return
    if os.path.samestat(status, other):
        message = f"{name} is the input itself; name another output, or rewrite it with --in-place"
        raise TableError(message)
