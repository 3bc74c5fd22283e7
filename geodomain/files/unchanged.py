"""Bytes counted and hashed as they pass, and inputs that must not change meanwhile."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, cast

from geodomain.errors import GeodomainError

_STEP = 1 << 20


class Digest:
    """Count and hash bytes.

    Attributes
    ----------
    size : int
        Bytes so far.

    Examples
    --------
    >>> digest = Digest()
    >>> digest.add(b"abc")
    >>> digest.size, digest.hexadecimal[:8]
    (3, 'ba7816bf')
    """

    def __init__(self) -> None:
        self.size, self._hash = 0, hashlib.sha256()

    @property
    def hexadecimal(self) -> str:
        """Give the hash, as `sha256sum` writes it."""
        return self._hash.hexdigest()

    def add(self, data: bytes | memoryview) -> None:
        """Take the next bytes."""
        self.size += len(data)
        self._hash.update(data)

    def add_file(self, path: Path) -> None:
        """Take the bytes of a file."""
        with path.open("rb") as file:
            while data := file.read(_STEP):
                self.add(data)

    @classmethod
    def of_file(cls, path: Path) -> Digest:
        """Hash a file."""
        digest = cls()
        digest.add_file(path)
        return digest


class _Target(Protocol):
    def write(self, data: memoryview, /) -> object: ...


class _Raw(Protocol):
    def readinto(self, buffer: memoryview, /) -> int | None: ...


class Digested:
    """What is written to, hashed on its way."""

    def __init__(self, target: _Target, digest: Digest) -> None:
        self._target, self._digest = target, digest

    def write(self, data: memoryview) -> int:
        """Write all of the data."""
        self._digest.add(data)
        self._target.write(data)
        return len(data)


class Counted:
    """A raw file whose bytes are counted, and hashed if that is asked for, as they are read."""

    def __init__(self, file: BinaryIO, digest: Digest | None) -> None:
        self.file, self.count, self._pushed = file, 0, b""
        self._digest = digest

    def put_back(self, data: bytes) -> None:
        """Have bytes that were read come again."""
        self._pushed = data

    def read(self, size: int) -> bytes:
        """Read up to so many bytes, after those that were put back."""
        pushed, self._pushed = self._pushed, b""
        data = self.file.read(size)
        self._note(data)
        return pushed + data

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer; 0 at the end."""
        count = int(cast(_Raw, self.file).readinto(buffer) or 0)
        self._note(buffer[:count])
        return count

    def _note(self, data: bytes | memoryview) -> None:
        self.count += len(data)
        if self._digest is not None:
            self._digest.add(data)


# Inputs that must not change while they are read, by file, size and time.

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
