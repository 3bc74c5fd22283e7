"""Read a whole file; refuse one without an end, or one that is no place to go back to."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

from geodomain.backends.file_bytes import read_bytes
from geodomain.io.files.unchanged import Unchanged

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
