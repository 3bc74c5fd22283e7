"""Read a whole file; refuse one without an end, or one that is no place to go back to."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from geodomain.backends.file_bytes import read_bytes
from geodomain.io.files.unchanged import Unchanged

_LARGE = 1 << 25  # bytes; fewer are read by one thread as fast


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
