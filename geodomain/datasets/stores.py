"""Folders of a dataset on disk or on an object store, with one interface."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from geodomain.errors import GeodomainError, TableError
from geodomain.files.streams import replaced


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


# Object stores, by fsspec: files are copied to disk, and uploaded whole.

# What reads each scheme, and how that is installed.
_LIBRARIES = {
    **dict.fromkeys(("s3", "s3a"), ("s3fs", "'geodomain[remote]'")),
    **dict.fromkeys(("gs", "gcs"), ("gcsfs", "gcsfs")),
    **dict.fromkeys(("az", "abfs", "abfss"), ("adlfs", "adlfs")),
}
# Two names of one scheme.
_SAME = {"s3a": "s3", "gcs": "gs"}
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.+)", re.DOTALL)
# What stores call that which changes with an object, the surest first.
_TAGS = ("ETag", "etag", "generation", "md5Hash", "LastModified", "last_modified", "mtime")
# A head of text is understood by its first MiB; twice that, since it may be compressed.
_HEAD_BYTES = 2 << 20
_BLOCK_BYTES = 1 << 20


class _FileSystem(Protocol):
    """A file system of fsspec, as far as it is used."""

    def find(self, path: str, *, detail: bool) -> Mapping[str, Mapping[str, object]]: ...
    def glob(self, path: str, *, detail: bool) -> Mapping[str, Mapping[str, object]]: ...
    def ls(self, path: str, *, detail: bool) -> list[str]: ...
    def info(self, path: str) -> Mapping[str, object]: ...
    def cat_file(self, path: str, *, start: int | None = None, end: int | None = None) -> bytes: ...
    def pipe_file(self, path: str, value: bytes, *, mode: str = "overwrite") -> object: ...
    def put_file(self, lpath: str, rpath: str) -> object: ...
    def get_file(self, rpath: str, lpath: str) -> object: ...
    def rm_file(self, path: str) -> object: ...
    def invalidate_cache(self) -> None: ...
    def open(self, path: str, mode: str, *, block_size: int, cache_type: str) -> BinaryIO: ...


def is_url(text: str) -> bool:
    """Return whether a text names something by a scheme, such as s3://bucket/blocks."""
    return _URL.fullmatch(text) is not None


def store_of(place: str | os.PathLike[str]) -> Store:
    """Return the folder that a path or a URL names.

    Raises
    ------
    TableError
        For another scheme, or where the library for it is not installed.
    """
    text = os.fspath(place)
    found = _URL.fullmatch(text)
    if found is None:
        return LocalStore(Path(text))
    scheme = found[1].lower()
    if scheme not in _LIBRARIES:
        message = f"{text}: {scheme}:// is not read; s3://, gs:// and az:// are, and folders"
        raise TableError(message)
    store = ObjectStore(f"{_SAME.get(scheme, scheme)}://{found[2].strip('/')}")
    store.require_library()
    return store


@dataclass(frozen=True)
class ObjectStore:
    """A prefix of a bucket.

    Credentials, regions and endpoints come from the environment, as the store's library has them.
    """

    url: str

    def __str__(self) -> str:
        """Give the URL."""
        return self.url

    @property
    def place(self) -> str:
        """Give the URL."""
        return self.url

    def absolute(self) -> ObjectStore:
        """Return the same: a URL holds in any working folder."""
        return self

    def require_library(self) -> None:
        """Refuse a scheme whose library is not installed."""
        library, wanted = _LIBRARIES[self.url.partition(":")[0]]
        try:
            _ = self._system
        except ImportError as error:
            message = f"{self.url} needs {library}, which is not installed: pip install {wanted}"
            raise TableError(message) from error

    def matching(self, pattern: str) -> dict[str, FileMark]:
        """Return the files that a pattern names; all that are below for an empty one."""
        with self._told():
            if pattern:
                found = self._system.glob(f"{self._root}/{pattern}", detail=True)
            else:
                found = self._system.find(self._root, detail=True)
        names = {self._name(path): facts for path, facts in found.items() if _is_object(facts)}
        for name in names:
            if not name:
                message = f"{self.url} is one object: name its folder, or a pattern of several"
                raise TableError(message)
            if "" in name.split("/"):
                message = f"{self.url}/{name} has a folder without a name: call it something"
                raise TableError(message)
        return {
            name: self._marked(name, facts) for name, facts in names.items() if not is_hidden(name)
        }

    def below(self, folder: str) -> list[str]:
        """Return all files below one of its folders, by their paths below that."""
        top = f"{self._root}/{folder}"
        with self._told():
            found = self._system.find(top, detail=True)
        return [path[len(top) + 1 :] for path, facts in found.items() if _is_object(facts)]

    def is_bare(self, but: str) -> bool:
        """Return whether nothing is there, but perhaps for one of its folders."""
        with self._told():
            try:
                found = self._system.ls(self._root, detail=False)
            except FileNotFoundError:
                return True
        names = {self._name(path).strip("/").partition("/")[0] for path in found}
        return names <= {but, ""}

    def mark(self, name: str) -> FileMark:
        """Look at a file."""
        with self._told(name):
            return self._marked(name, self._system.info(self._path(name)))

    def read(self, name: str) -> bytes:
        """Return what is in a file."""
        with self._told(name):
            return self._system.cat_file(self._path(name))

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Put a file in its place, whole."""
        with self._told(name):
            self._system.pipe_file(self._path(name), bytes(data))

    def create(self, name: str, data: bytes) -> bool:
        """Put a file where none is, by a condition that the store keeps; False where there is one.

        S3 answers two at the same moment by a conflict, where the other is first.
        """
        try:
            with self._told(name):
                self._system.pipe_file(self._path(name), data, mode="create")
        except OSError as error:
            reason = str(error)
            if isinstance(error.__cause__, FileExistsError) or "ConditionalRequest" in reason:
                return False
            raise
        return True

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with self._told(name), suppress(FileNotFoundError):
            self._system.rm_file(self._path(name))

    @contextmanager
    def head(self, name: str) -> Iterator[Path]:
        """Give a file on disk with the first bytes of a file."""
        with _scratch(name) as place:
            # An empty object has no range of bytes.
            size = self.mark(name).size
            with self._told(name):
                path, end = self._path(name), min(size, _HEAD_BYTES)
                place.write_bytes(self._system.cat_file(path, start=0, end=end) if size else b"")
            yield place

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """Open a file to be read here and there; each step reads a MiB."""
        with self._told(name):
            file = self._system.open(
                self._path(name), "rb", block_size=_BLOCK_BYTES, cache_type="readahead"
            )
        with file:
            yield file

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Copy a file to disk for as long as it is needed."""
        with _scratch(name) as place:
            with self._told(name):
                self._system.get_file(self._path(name), str(place))
            yield place

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """Give a place on disk, and upload what is there if the block ends well."""
        with _scratch(name) as place:
            yield place
            with self._told(name):
                self._system.put_file(str(place), self._path(name))

    @property
    def _system(self) -> _FileSystem:
        """Connect, or give the connection that this process has; forget what was listed before."""
        from fsspec.core import url_to_fs

        with self._told():
            system = cast(_FileSystem, url_to_fs(self.url)[0])
            system.invalidate_cache()
        return system

    @property
    def _root(self) -> str:
        from fsspec.core import url_to_fs

        with self._told():
            return str(url_to_fs(self.url)[1]).rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _name(self, path: str) -> str:
        return path[len(self._root) + 1 :]

    def _marked(self, name: str, facts: Mapping[str, object]) -> FileMark:
        """Return what tells whether an object is the same; refuse a store that tells nothing."""
        tag = next((str(facts[key]) for key in _TAGS if facts.get(key)), "")
        if not tag:
            message = f"{self.url}/{name} has neither an ETag nor a time: copy the dataset to disk"
            raise TableError(message)
        return FileMark(int(str(facts["size"])), 0, tag)

    @contextmanager
    def _told(self, name: str = "") -> Iterator[None]:
        """Say in one sentence what a store answers; its library has errors of many kinds."""
        place = f"{self.url}/{name}".rstrip("/")
        try:
            yield
        except (GeodomainError, ImportError):
            raise
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "the store does not have it", place) from error
        except PermissionError as error:
            reason = f"the store refuses access ({_reason(error)})"
            raise PermissionError(errno.EACCES, reason, place) from error
        except Exception as error:
            raise OSError(errno.EIO, f"the store fails ({_reason(error)})", place) from error


@contextmanager
def _scratch(name: str) -> Iterator[Path]:
    """Give a place on disk for a file of this name."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="geodomain-") as folder:
        yield Path(folder, name.rpartition("/")[2])


def _is_object(facts: Mapping[str, object]) -> bool:
    """Return whether something listed is a file, not a folder or what marks one."""
    return facts.get("type") == "file" and not str(facts.get("name", "")).endswith("/")


def _reason(error: BaseException) -> str:
    """Return what an error says, short."""
    return " ".join(str(error).split())[:200] or type(error).__name__
