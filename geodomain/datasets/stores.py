"""Access the folders of a dataset, on disk or in an object store, through one interface."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from geodomain.errors import GeodomainError, TableError
from geodomain.files.streams import URL, replaced


class FileMark(NamedTuple):
    """The size of a file, and its time or tag; they differ after the file has changed.

    Attributes
    ----------
    size : int
        Size in bytes.
    time : int
        Time of the last change, in nanoseconds; 0 in an object store.
    tag : str
        ETag of an object, or the equivalent of its store; empty on disk.
    """

    size: int
    time: int
    tag: str = ""

    @classmethod
    def of(cls, path: Path) -> FileMark:
        """Return the size and the time of a file on disk."""
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns)


class Store(Protocol):
    """A folder on disk or in an object store.

    A file is named by its path below the folder, with slashes.
    """

    @property
    def place(self) -> str:
        """The full name of the folder, which does not depend on the working folder."""

    def absolute(self) -> Store:
        """Return the folder with an absolute path."""

    def matching(self, pattern: str) -> dict[str, FileMark]:
        """Return the files whose path matches a pattern, each with its `FileMark`.

        An empty pattern matches all files.
        """

    def below(self, folder: str) -> list[str]:
        """Return the paths of all files below a subfolder, relative to this subfolder."""

    def is_bare(self, but: str) -> bool:
        """Return whether the folder is empty, apart from the subfolder `but`."""

    def mark(self, name: str) -> FileMark:
        """Return the size, and the time or tag, of a file; raise OSError if it does not exist."""

    def read(self, name: str) -> bytes:
        """Return the contents of a file; raise OSError if it does not exist."""

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a complete file in one step; replace a file that exists."""

    def create(self, name: str, data: bytes) -> bool:
        """Create a complete file in one step; return False if the file exists."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def head(self, name: str) -> AbstractContextManager[Path]:
        """Yield the path of a local file that holds the first bytes of the file `name`.

        The bytes suffice to recognise the layout of a text table.
        """

    def opened(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for random access."""

    def fetched(self, name: str) -> AbstractContextManager[Path]:
        """Yield the path of a local file that holds the contents of the file `name`."""

    def placed(self, name: str) -> AbstractContextManager[Path]:
        """Yield a local path to write to; if the ``with`` block succeeds, the file is stored."""

    def prune(self) -> None:
        """Remove empty subfolders; an object store has no empty subfolders."""


@dataclass(frozen=True)
class LocalStore:
    """A folder on disk."""

    path: Path

    def __str__(self) -> str:
        """Return the path as the user wrote it."""
        return str(self.path)

    @property
    def place(self) -> str:
        """The path with all links resolved."""
        return self.path.resolve().as_posix()

    def absolute(self) -> LocalStore:
        """Return the folder with an absolute path."""
        return LocalStore(self.path.absolute())

    def matching(self, pattern: str) -> dict[str, FileMark]:
        """Return the files whose path matches a pattern, each with its `FileMark`.

        An empty pattern matches all files.
        """
        paths = self._matching(pattern) if pattern else self._below()
        return {path.relative_to(self.path).as_posix(): FileMark.of(path) for path in paths}

    def below(self, folder: str) -> list[str]:
        """Return the paths of all files below a subfolder, relative to this subfolder."""
        top = self.path / folder
        return [path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_file()]

    def is_bare(self, but: str) -> bool:
        """Return whether the folder is empty, apart from the subfolder `but`."""
        return not self.path.is_dir() or all(path.name == but for path in self.path.iterdir())

    def mark(self, name: str) -> FileMark:
        """Return the size and the time of a file."""
        return FileMark.of(self.path / name)

    def read(self, name: str) -> bytes:
        """Return the contents of a file."""
        return (self.path / name).read_bytes()

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a complete file in one step; replace a file that exists."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with replaced(place) as file:
            file.write(data)

    def create(self, name: str, data: bytes) -> bool:
        """Create a complete file in one step; return False if the file exists."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with replaced(place, overwrite=False) as file:
                file.write(data)
        except FileExistsError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove a file, if it exists, and the subfolders that become empty."""
        place = self.path / name
        place.unlink(missing_ok=True)
        self._prune(place)

    def _prune(self, place: Path) -> None:
        """Remove the empty folders that contain a path, starting with the innermost."""
        with suppress(OSError):
            while (place := place.parent) != self.path:
                place.rmdir()

    @contextmanager
    def head(self, name: str) -> Iterator[Path]:
        """Yield the path of the file itself."""
        yield self.path / name

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for random access."""
        with (self.path / name).open("rb") as file:
            yield file

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Yield the path of the file itself."""
        yield self.path / name

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """Yield the final path; the caller writes it atomically with `open_target`."""
        place = self.path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        yield place

    def prune(self) -> None:
        """Remove empty subfolders.

        It must not be called while another process is writing parts to them.
        """
        folders = [Path(folder) for folder, _, _ in os.walk(self.path, topdown=False)]
        for folder in folders:
            if folder != self.path:
                with suppress(OSError):
                    folder.rmdir()

    def _matching(self, pattern: str) -> Iterator[Path]:
        """Yield the files that match a pattern, except hidden files."""
        # Path.glob raises for `a**` and does not follow links to folders.
        for name in glob.glob(pattern, root_dir=self.path, recursive=True):  # noqa: PTH207
            if (self.path / name).is_file() and not is_hidden(name):
                yield self.path / name

    def _below(self) -> Iterator[Path]:
        """Yield all files in the folder and its subfolders, except hidden files."""
        for folder, folders, files in os.walk(self.path, onerror=_raise, followlinks=True):
            folders[:] = [name for name in folders if not is_hidden(name)]
            yield from (_regular(Path(folder, name)) for name in files if not is_hidden(name))


def _regular(path: Path) -> Path:
    """Return a path, but refuse a pipe or a device, which may never end."""
    if path.exists() and not path.is_file():
        message = f"{path} is not a regular file: remove it from the dataset"
        raise TableError(message)
    return path


def _raise(error: OSError) -> None:
    """Raise an error that `os.walk` would otherwise ignore, so that no rows are lost silently."""
    raise error


def is_hidden(name: str) -> bool:
    """Return whether a file, or a folder in its path, has a name that begins with "." or "_"."""
    return any(part.startswith((".", "_")) for part in Path(name).parts)


# Object stores, through fsspec: files are copied to disk, and uploaded whole.

# The library for each scheme, and the package to install.
_LIBRARIES = {
    **dict.fromkeys(("s3", "s3a"), ("s3fs", "'geodomain[remote]'")),
    **dict.fromkeys(("gs", "gcs"), ("gcsfs", "gcsfs")),
    **dict.fromkeys(("az", "abfs", "abfss"), ("adlfs", "adlfs")),
}
# Second names of schemes.
_SAME = {"s3a": "s3", "gcs": "gs"}
# Keys under which stores list a tag or time of an object, the most reliable first.
_TAGS = ("ETag", "etag", "generation", "md5Hash", "LastModified", "last_modified", "mtime")
# The head of a text needs its first MiB; twice that, in case it is compressed.
_HEAD_BYTES = 2 << 20
_BLOCK_BYTES = 1 << 20


class _FileSystem(Protocol):
    """The methods of an fsspec file system that `ObjectStore` uses."""

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


def store_of(place: str | os.PathLike[str]) -> Store:
    """Return the store for a path or a URL of a folder.

    Raises
    ------
    TableError
        If the scheme is not supported, or its library is not installed.
    """
    text = os.fspath(place)
    url = URL.fullmatch(text)
    if url is None:
        return LocalStore(Path(text))
    scheme = url[1].lower()
    if scheme not in _LIBRARIES:
        message = f"{text}: {scheme}:// is not supported; use s3://, gs:// or az://, or a folder"
        raise TableError(message)
    store = ObjectStore(f"{_SAME.get(scheme, scheme)}://{url[2].strip('/')}")
    store.require_library()
    return store


@dataclass(frozen=True)
class ObjectStore:
    """A folder in an object store: a prefix of a bucket.

    Credentials, regions and endpoints come from the environment, through the store's library.
    """

    url: str

    def __str__(self) -> str:
        """Return the URL."""
        return self.url

    @property
    def place(self) -> str:
        """The URL."""
        return self.url

    def absolute(self) -> ObjectStore:
        """Return the same store: a URL is absolute."""
        return self

    def require_library(self) -> None:
        """Refuse a scheme whose library is not installed."""
        library, package = _LIBRARIES[self.url.partition(":")[0]]
        try:
            _ = self._system
        except ImportError as error:
            message = f"{self.url} needs {library}, which is not installed: pip install {package}"
            raise TableError(message) from error

    def matching(self, pattern: str) -> dict[str, FileMark]:
        """Return the files whose path matches a pattern, each with its `FileMark`.

        An empty pattern matches all files.
        """
        with self._explained():
            if pattern:
                listing = self._system.glob(f"{self._root}/{pattern}", detail=True)
            else:
                listing = self._system.find(self._root, detail=True)
        names = {self._name(path): facts for path, facts in listing.items() if _is_object(facts)}
        for name in names:
            if not name:
                message = f"{self.url} is a single object: name its folder, or a pattern of objects"
                raise TableError(message)
            if "" in name.split("/"):
                message = f"{self.url}/{name} has a folder without a name: rename the object"
                raise TableError(message)
        return {
            name: self._marked(name, facts) for name, facts in names.items() if not is_hidden(name)
        }

    def below(self, folder: str) -> list[str]:
        """Return the paths of all files below a subfolder, relative to this subfolder."""
        top = f"{self._root}/{folder}"
        with self._explained():
            listing = self._system.find(top, detail=True)
        return [path[len(top) + 1 :] for path, facts in listing.items() if _is_object(facts)]

    def is_bare(self, but: str) -> bool:
        """Return whether the folder is empty, apart from the subfolder `but`."""
        with self._explained():
            try:
                paths = self._system.ls(self._root, detail=False)
            except FileNotFoundError:
                return True
        names = {self._name(path).strip("/").partition("/")[0] for path in paths}
        return names <= {but, ""}

    def mark(self, name: str) -> FileMark:
        """Return the size, and the tag or time, of a file."""
        with self._explained(name):
            return self._marked(name, self._system.info(self._path(name)))

    def read(self, name: str) -> bytes:
        """Return the contents of a file."""
        with self._explained(name):
            return self._system.cat_file(self._path(name))

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a complete file in one step; replace a file that exists."""
        with self._explained(name):
            self._system.pipe_file(self._path(name), bytes(data))

    def create(self, name: str, data: bytes) -> bool:
        """Create a file by a conditional write; return False if the file exists.

        If another process writes the file at the same moment, S3 reports a conflict. Then this
        function returns False too.
        """
        try:
            with self._explained(name):
                self._system.pipe_file(self._path(name), data, mode="create")
        except OSError as error:
            reason = str(error)
            if isinstance(error.__cause__, FileExistsError) or "ConditionalRequest" in reason:
                return False
            raise
        return True

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        with self._explained(name), suppress(FileNotFoundError):
            self._system.rm_file(self._path(name))

    @contextmanager
    def head(self, name: str) -> Iterator[Path]:
        """Yield the path of a local file that holds the first bytes of the file `name`."""
        with _scratch(name) as place:
            # Stores refuse a range of bytes of an empty object.
            size = self.mark(name).size
            with self._explained(name):
                path, end = self._path(name), min(size, _HEAD_BYTES)
                place.write_bytes(self._system.cat_file(path, start=0, end=end) if size else b"")
            yield place

    @contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for random access; at least 1 MiB is read at a time."""
        with self._explained(name):
            file = self._system.open(
                self._path(name), "rb", block_size=_BLOCK_BYTES, cache_type="readahead"
            )
        with file:
            yield file

    @contextmanager
    def fetched(self, name: str) -> Iterator[Path]:
        """Yield the path of a copy on disk, which exists during the ``with`` block."""
        with _scratch(name) as place:
            with self._explained(name):
                self._system.get_file(self._path(name), str(place))
            yield place

    @contextmanager
    def placed(self, name: str) -> Iterator[Path]:
        """Yield a local path to write to; if the ``with`` block succeeds, its file is uploaded."""
        with _scratch(name) as place:
            yield place
            with self._explained(name):
                self._system.put_file(str(place), self._path(name))

    def prune(self) -> None:
        """Do nothing: an object store has no empty folders."""

    @property
    def _system(self) -> _FileSystem:
        """The connection of this process to the store, with its cache of listings cleared."""
        from fsspec.core import url_to_fs

        with self._explained():
            system = cast(_FileSystem, url_to_fs(self.url)[0])
            system.invalidate_cache()
        return system

    @property
    def _root(self) -> str:
        from fsspec.core import url_to_fs

        with self._explained():
            return str(url_to_fs(self.url)[1]).rstrip("/")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _name(self, path: str) -> str:
        return path[len(self._root) + 1 :]

    def _marked(self, name: str, facts: Mapping[str, object]) -> FileMark:
        """Return the size and tag of an object; raise TableError if the store lists no tag."""
        tag = next((str(facts[key]) for key in _TAGS if facts.get(key)), "")
        if not tag:
            message = (
                f"{self.url}/{name} has neither an ETag nor a modification time, so changes to it "
                "cannot be noticed: copy the dataset to disk"
            )
            raise TableError(message)
        return FileMark(int(str(facts["size"])), 0, tag)

    @contextmanager
    def _explained(self, name: str = "") -> Iterator[None]:
        """Convert errors of a store's library into OSError with a short message."""
        place = f"{self.url}/{name}".rstrip("/")
        try:
            yield
        except (GeodomainError, ImportError):
            raise
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "not in the store", place) from error
        except PermissionError as error:
            reason = f"the store refuses access ({_reason(error)})"
            raise PermissionError(errno.EACCES, reason, place) from error
        except Exception as error:
            raise OSError(
                errno.EIO, f"the store reports an error ({_reason(error)})", place
            ) from error


@contextmanager
def _scratch(name: str) -> Iterator[Path]:
    """Yield a temporary local path whose file name is the last part of `name`."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="geodomain-") as folder:
        yield Path(folder, name.rpartition("/")[2])


def _is_object(facts: Mapping[str, object]) -> bool:
    """Return whether an entry of a listing is a file, not a folder or the marker of a folder."""
    return facts.get("type") == "file" and not str(facts.get("name", "")).endswith("/")


def _reason(error: BaseException) -> str:
    """Return the message of an error on one line, of at most 200 characters."""
    return " ".join(str(error).split())[:200] or type(error).__name__
