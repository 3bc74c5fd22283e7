"""Folders that hold a dataset or its output, on disk or on an object store, by one face."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from geodomain.errors import TableError
from geodomain.io.files.streams import replaced


class FileMark(NamedTuple):
    """What tells whether a file is the same as before.

    Attributes
    ----------
    size : int
        In bytes.
    time : int
        When it was last changed, in nanoseconds; 0 on an object store.
    tag : str
        The ETag of an object, or what its store has instead; empty on disk.
    """

    size: int
    time: int
    tag: str = ""

    @classmethod
    def of(cls, path: Path) -> FileMark:
        """Look at a file on disk."""
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns)


class Store(Protocol):
    """A folder; its files are named by their path below it, with slashes."""

    @property
    def place(self) -> str:
        """Name the folder so that it is the same name wherever it is asked from."""

    def absolute(self) -> Store:
        """Return the folder by a path that holds in any working folder."""

    def matching(self, pattern: str) -> dict[str, FileMark]:
        """Return the files that a pattern names; all that are below for an empty one."""

    def below(self, folder: str) -> list[str]:
        """Return all files below one of its folders, by their paths below that."""

    def is_bare(self, but: str) -> bool:
        """Return whether nothing is there, but perhaps for one of its folders."""

    def mark(self, name: str) -> FileMark:
        """Look at a file; OSError where there is none."""

    def read(self, name: str) -> bytes:
        """Return what is in a file; OSError where there is none."""

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Put a file in its place, whole."""

    def create(self, name: str, data: bytes) -> bool:
        """Put a file where none is, in one step for all that do so; False where there is one."""

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""

    def head(self, name: str) -> AbstractContextManager[Path]:
        """Give a file on disk with the first bytes of a file, enough to understand text by."""

    def opened(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file to be read here and there."""

    def fetched(self, name: str) -> AbstractContextManager[Path]:
        """Give a file on disk with all that is in a file."""

    def placed(self, name: str) -> AbstractContextManager[Path]:
        """Give where on disk to write what shall be in a file once the block ends well."""


@dataclass(frozen=True)
class LocalStore:
    """A folder on disk."""

    path: Path

    def __str__(self) -> str:
        """Give the path as it was given."""
        return str(self.path)

    @property
    def place(self) -> str:
        """Give the path with all links resolved."""
        return self.path.resolve().as_posix()

    def absolute(self) -> LocalStore:
        """Return the folder by a path that holds in any working folder."""
        return LocalStore(self.path.absolute())

    def matching(self, pattern: str) -> dict[str, FileMark]:
        """Return the files that a pattern names; all that are below for an empty one."""
        found = self._matching(pattern) if pattern else self._below()
        return {path.relative_to(self.path).as_posix(): FileMark.of(path) for path in found}

    def below(self, folder: str) -> list[str]:
        """Return all files below one of its folders, by their paths below that."""
        top = self.path / folder
        return [path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()]

    def is_bare(self, but: str) -> bool:
        """Return whether nothing is there, but perhaps for one of its folders."""
        return not self.path.is_dir() or all(path.name == but for path in self.path.iterdir())

    def mark(self, name: str) -> FileMark:
        """Look at a file."""
        return FileMark.of(self.path / name)

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        return (self.path / name).read_bytes()

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Put a file in its place, whole."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with replaced(place) as file:
            file.write(data)

    def create(self, name: str, data: bytes) -> bool:
        """Put a file where none is; False where there is one."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with replaced(place, overwrite=False) as file:
                file.write(data)
        except FileExistsError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove a file, if it is there, and the folders in this one that it leaves empty."""
        place = self.path / name
        place.unlink(missing_ok=True)
        self._prune(place)

    def _prune(self, place: Path) -> None:
        """Remove the folders of a file, the innermost first, up to one that holds something."""
        with suppress(OSError):
            while (place := place.parent) != self.path:
                place.rmdir()

    @contextmanager
    def head(self, name: str) -> Iterator[Path]:
        """Give the file itself."""
        yield self.path / name

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """Open a file to be read here and there."""
        with (self.path / name).open("rb") as file:
            yield file

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Give the file itself."""
        yield self.path / name

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """Give the place itself; who writes there does so by `open_target`, whole or not at all."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield place
        except BaseException:
            self._prune(place)
            raise

    def _matching(self, pattern: str) -> Iterator[Path]:
        """Yield the files that a pattern names, but for hidden ones."""
        # Path.glob raises for `a**` and does not follow links to folders.
        for name in glob.glob(pattern, root_dir=self.path, recursive=True):  # noqa: PTH207
            if (self.path / name).is_file() and not is_hidden(name):
                yield self.path / name

    def _below(self) -> Iterator[Path]:
        """Yield all files in a folder and its folders, but for hidden ones."""
        for folder, folders, files in os.walk(self.path, onerror=_raise, followlinks=True):
            folders[:] = [name for name in folders if not is_hidden(name)]
            yield from (_regular(Path(folder, name)) for name in files if not is_hidden(name))


def _regular(path: Path) -> Path:
    """Refuse a pipe or a device, which may never end."""
    if path.exists() and not path.is_file():
        message = f"{path} is no regular file: take it out of the dataset"
        raise TableError(message)
    return path


def _raise(error: OSError) -> None:
    """Raise what `os.walk` would pass over, and its rows with it."""
    raise error


def is_hidden(name: str) -> bool:
    """Return whether a path has a name that readers of datasets pass over."""
    return any(part.startswith((".", "_")) for part in Path(name).parts)
