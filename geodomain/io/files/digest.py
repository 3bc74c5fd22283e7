"""Count and hash (SHA-256) bytes while they are read or written."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO, Protocol, cast

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
