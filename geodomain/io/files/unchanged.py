"""Inputs that must stay the same while they are read: by file, size and time.

A file that grows, shrinks or is replaced in the middle of a pass gives rows of two files. Readers
open a watch, and every output looks at all watches before it takes its place.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType

from geodomain.errors import GeodomainError

_WATCHES: ContextVar[tuple[Unchanged, ...]] = ContextVar("watches", default=())


class Unchanged:
    """Refuse files that change within a `with` block.

    They are compared when the block ends well, and by `require_unchanged` before an output takes
    its place. Pipes, devices and paths where nothing is are left alone.

    Parameters
    ----------
    *paths : path
        Files that are read in the block.
    """

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        self._seen: dict[Path, os.stat_result] = {}
        self.add(*paths)

    def add(self, *paths: str | os.PathLike[str]) -> None:
        """Watch more files, from now on."""
        for path in map(Path, paths):
            status = _regular(path)
            if status is not None:
                self._seen.setdefault(path, status)

    def __enter__(self) -> Unchanged:
        """Begin."""
        _WATCHES.set((*_WATCHES.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Compare the files; bad data of a file that has changed is told as that change."""
        _WATCHES.set(tuple(watch for watch in _WATCHES.get() if watch is not self))
        if kind is None or issubclass(kind, GeodomainError):
            self.require()

    def require(self) -> None:
        """Raise for the first file that is not what it was.

        Raises
        ------
        OSError
        """
        for path, before in self._seen.items():
            change = _change(before, _regular(path))
            if change:
                message = (
                    f"it {change} while it was read, and a result would mix the old file with the "
                    "new: run the command again when nothing else writes to it"
                )
                raise OSError(errno.EBUSY, message, str(path))

    def watches(self, path: Path) -> bool:
        """Tell whether a file, by whatever link, is one of those that are read."""
        status = _regular(path)
        return status is not None and any(
            os.path.samestat(status, before) for before in self._seen.values()
        )

    def settle(self) -> None:
        """Stop watching: an output is in its place, so all that it needs has been read."""
        self._seen.clear()


def require_unchanged() -> None:
    """Raise OSError where a file that is being read has changed."""
    for watch in _WATCHES.get():
        watch.require()


@contextmanager
def own_change(path: Path) -> Iterator[None]:
    """Change a file in the block, as far as nobody else has changed what is being read.

    Where the file is an input, two runs that replace it come one after the other: the second one
    sees that it has changed.

    Raises
    ------
    OSError
        If an input has changed, or another run is replacing the file at this moment.
    """
    watches = _WATCHES.get()
    with _held(path) if any(watch.watches(path) for watch in watches) else _free():
        require_unchanged()
        yield
    for watch in watches:
        watch.settle()


@contextmanager
def _free() -> Iterator[None]:
    yield


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a file against other runs, where the system has such locks; it leaves no trace."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another run is replacing it: run the command again when that has ended"
            raise OSError(errno.EBUSY, message, str(path)) from None
        except OSError:  # a file system without locks
            pass
        yield


def _regular(path: Path) -> os.stat_result | None:
    """Return what the system says of a regular file, None of anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _change(before: os.stat_result, now: os.stat_result | None) -> str:
    """Say how a file has changed; nothing where it has not."""
    if now is None:
        return "was removed"
    if not os.path.samestat(before, now):
        return "was replaced by another file"
    if now.st_size != before.st_size:
        how = "grew" if now.st_size > before.st_size else "was cut"
        return f"{how} from {before.st_size:,} to {now.st_size:,} bytes"
    return "was written to" if now.st_mtime_ns != before.st_mtime_ns else ""
