"""A file that is there whole or not at all; what is written to it has no say here."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


class AtomicFile:
    """Write beside a path and take its place in one step.

    A run that is killed at any moment leaves what was at the path, or all that was
    written, never a part of it.

    Parameters
    ----------
    path : Path
        The file to make or replace, links resolved. One that is there lends its mode
        and, where that is allowed, its owner.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = path.stat() if path.exists() else None
        self._part = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self._part, flags, 0o666)
        # What the system gives a new file here is the mode it shall have in the end.
        self._mode = os.fstat(self._descriptor).st_mode if self._before is None else 0
        self._part.chmod(0o600)
        self._size = 0

    def write(self, data: memoryview) -> int:
        """Write all of the data."""
        done = 0
        while done < len(data):
            done += os.write(self._descriptor, data[done:])
        self._start_flush(done)
        return done

    def commit(self) -> None:
        """Put the file in its place, safe from a power cut as far as the system goes."""
        self._take_after()
        os.fsync(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = -1
        self._part.replace(self._path)
        _sync_folder(self._path.parent)

    def abandon(self) -> None:
        """Remove what was written; after `commit`, do nothing."""
        if self._descriptor < 0 and not self._part.exists():
            return
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self._part.unlink(missing_ok=True)

    def _start_flush(self, size: int) -> None:
        """Have the disk start on the last bytes, so that little is left to `commit`.

        They are not dropped from memory, as the advice says, while they are on their way.
        """
        if hasattr(os, "posix_fadvise"):
            with contextlib.suppress(OSError):
                os.posix_fadvise(self._descriptor, self._size, size, os.POSIX_FADV_DONTNEED)
        self._size += size

    def _take_after(self) -> None:
        mode = self._mode
        if self._before is not None:
            mode = self._before.st_mode
            if hasattr(os, "fchown"):
                with contextlib.suppress(OSError):
                    os.fchown(self._descriptor, self._before.st_uid, self._before.st_gid)
        self._part.chmod(stat.S_IMODE(mode))


def _sync_folder(folder: Path) -> None:
    """Make a rename last; systems that cannot open a folder do it by themselves."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
