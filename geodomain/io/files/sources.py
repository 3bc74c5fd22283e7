"""Where tables come from: files, gzip files and standard input."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

from geodomain.io.files.digest import Counted, Digest
from geodomain.io.files.gz import MAGIC, Decompressor
from geodomain.io.files.pipeline import ByteSource, fill
from geodomain.io.files.standard import STANDARD, standard_input, status_of
from geodomain.io.files.unchanged import Unchanged


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
