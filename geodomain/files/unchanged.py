"""Hash and count bytes as they are read or written, and refuse inputs that change meanwhile."""

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
from typing import TYPE_CHECKING, BinaryIO, cast

from geodomain.errors import GeodomainError

if TYPE_CHECKING:
    from geodomain.files.pipeline import ByteSource, Target

_STEP = 1 << 20


class Digest:
    """The SHA-256 hash of the bytes added so far, and their number.

    Attributes
    ----------
    size : int
        Number of bytes added so far.

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
        """Return the hash as `sha256sum` writes it."""
        return self._hash.hexdigest()

    def add(self, data: bytes | memoryview) -> None:
        """Add the next bytes."""
        self.size += len(data)
        self._hash.update(data)

    def add_file(self, path: Path) -> None:
        """Add the bytes of a file."""
        with path.open("rb") as file:
            while data := file.read(_STEP):
                self.add(data)

    @classmethod
    def of_file(cls, path: Path) -> Digest:
        """Return the digest of the bytes of a file."""
        digest = cls()
        digest.add_file(path)
        return digest


class Digested:
    """An output that hashes the bytes that are written to it."""

    def __init__(self, target: Target, digest: Digest) -> None:
        self._target, self._digest = target, digest

    def write(self, data: memoryview) -> int:
        """Hash and write all of the data, and return the number of bytes."""
        self._digest.add(data)
        self._target.write(data)
        return len(data)


class Counted:
    """Unbuffered input that counts the bytes read from it, and hashes them if `digest` is set."""

    def __init__(self, file: BinaryIO, digest: Digest | None) -> None:
        self.file, self.count, self._pushed = file, 0, b""
        self._digest = digest

    def put_back(self, data: bytes) -> None:
        """Put bytes back, so that the next `read` returns them before all others."""
        self._pushed = data

    def read(self, size: int) -> bytes:
        """Return the bytes that were put back, followed by up to `size` further bytes."""
        pushed, self._pushed = self._pushed, b""
        data = self.file.read(size)
        self._note(data)
        return pushed + data

    def readinto(self, buffer: memoryview) -> int:
        """Read into a buffer and return the number of bytes, 0 at the end of the input."""
        count = int(cast("ByteSource", self.file).readinto(buffer) or 0)
        self._note(buffer[:count])
        return count

    def _note(self, data: bytes | memoryview) -> None:
        self.count += len(data)
        if self._digest is not None:
            self._digest.add(data)


# Inputs that must not change while they are read: their identity, size and time are compared.

_WATCHES: ContextVar[tuple[Unchanged, ...]] = ContextVar("watches", default=())


class Unchanged:
    """Refuse files that change during a `with` statement.

    The files are compared at the end of the `with` statement, unless an unexpected exception ends
    it. `require_unchanged` also compares them before an output is moved to its path. Pipes, devices
    and paths without a file are not watched.

    Parameters
    ----------
    *paths : path
        Files that are read in the `with` statement.
    """

    def __init__(self, *paths: str | os.PathLike[str]) -> None:
        self._seen: dict[Path, os.stat_result] = {}
        self.add(*paths)

    def add(self, *paths: str | os.PathLike[str]) -> None:
        """Watch more files from now on."""
        for path in map(Path, paths):
            status = _regular(path)
            if status is not None:
                self._seen.setdefault(path, status)

    def __enter__(self) -> Unchanged:
        """Let `require_unchanged` compare these files until the `with` statement ends."""
        _WATCHES.set((*_WATCHES.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise OSError if a file has changed, even in place of a GeodomainError.

        The change of the file may have caused the GeodomainError. Other exceptions are kept.
        """
        _WATCHES.set(tuple(watch for watch in _WATCHES.get() if watch is not self))
        if kind is None or issubclass(kind, GeodomainError):
            self.require()

    def require(self) -> None:
        """Raise an error if a file has changed; the error names the first such file.

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
        """Return whether a path leads, directly or through links, to a watched file."""
        status = _regular(path)
        return status is not None and any(
            os.path.samestat(status, before) for before in self._seen.values()
        )

    def settle(self) -> None:
        """Stop watching all files, after they have been read and the output is at its path."""
        self._seen.clear()


def require_unchanged() -> None:
    """Raise OSError if a file that any open `Unchanged` watches has changed."""
    for watch in _WATCHES.get():
        watch.require()


@contextmanager
def own_change(path: Path) -> Iterator[None]:
    """Replace a file in a `with` statement, after checking that no input has changed.

    If the file is itself an input, a lock lets only one run replace it at a time. A later run then
    sees that the file has changed.

    Raises
    ------
    OSError
        If an input has changed, or another run is replacing the file at this moment.
    """
    watches = _WATCHES.get()
    with _locked(path) if any(watch.watches(path) for watch in watches) else _free():
        require_unchanged()
        yield
    for watch in watches:
        watch.settle()


@contextmanager
def _free() -> Iterator[None]:
    yield


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock a file in a `with` statement, so that no other run replaces it.

    Without locks in the system, do nothing.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = "another run is replacing it: run the command again when that run has ended"
            raise OSError(errno.EBUSY, message, str(path)) from None
        except OSError:  # a file system without locks
            pass
        yield


def _regular(path: Path) -> os.stat_result | None:
    """Return the status of a regular file, or None for anything else."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _change(before: os.stat_result, now: os.stat_result | None) -> str:
    """Return a description of how a file has changed, such as "grew"; "" if it has not changed."""
    if now is None:
        return "was removed"
    if not os.path.samestat(before, now):
        return "was replaced by another file"
    if now.st_size != before.st_size:
        how = "grew" if now.st_size > before.st_size else "was cut"
        return f"{how} from {before.st_size:,} to {now.st_size:,} bytes"
    return "was written to" if now.st_mtime_ns != before.st_mtime_ns else ""
