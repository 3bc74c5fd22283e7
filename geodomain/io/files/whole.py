"""Read a whole file; refuse one without an end."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read_whole(path: Path) -> bytes:
    """Return what a file or a pipe holds.

    Raises
    ------
    OSError
        If it cannot be read, or is a device such as /dev/zero.
    """
    require_no_device(path)
    return path.read_bytes()


def require_no_device(path: Path) -> None:
    """Refuse a device.

    Raises
    ------
    OSError
        For one, and where nothing is at the path.
    """
    mode = path.stat().st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
