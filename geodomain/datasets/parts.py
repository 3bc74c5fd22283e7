"""The files of a dataset, by a folder or a pattern; reads none of them."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from geodomain.errors import GeodomainError, TableError
from geodomain.io.files.standard import STANDARD

# What parts of a dataset are called; other tables are labelled one by one.
_ENDINGS = (
    *(".parquet", ".pq", ".csv", ".tsv", ".txt", ".dat", ".asc"),
    *(".csv.gz", ".tsv.gz", ".txt.gz", ".dat.gz", ".asc.gz"),
)


@dataclass(frozen=True)
class FileMark:
    """The size of a file, and when it was last changed, in nanoseconds: whether it is the same."""

    size: int
    time: int

    @classmethod
    def of(cls, path: Path) -> FileMark:
        """Look at a file."""
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class PartFile:
    """One file of a dataset.

    Attributes
    ----------
    path : Path
        Where it is.
    name : str
        Its path within the dataset, with slashes: where it goes in the output, and what
        messages call it.
    mark : FileMark
        Its size and time when the dataset was listed.
    """

    path: Path
    name: str
    mark: FileMark

    def absolute(self) -> PartFile:
        """Return the part with a path that holds in any folder."""
        return replace(self, path=self.path.absolute())

    @property
    def keys(self) -> list[str]:
        """Return the names of the columns that its folders stand for, as in zone=A/part.csv."""
        return [folder.partition("=")[0] for folder in self.name.split("/")[:-1] if "=" in folder]


@dataclass(frozen=True)
class Dataset:
    """A folder, and the files in it that are parts, sorted by name.

    Attributes
    ----------
    base : Path
        The folder; with a pattern, the last one before its first wildcard.
    pattern : str
        The rest of the pattern, empty for a whole folder.
    parts : tuple of PartFile
    """

    base: Path
    pattern: str
    parts: tuple[PartFile, ...]


def is_dataset(model: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder, or a pattern of files such as ``blocks/*.parquet``."""
    text = os.fspath(model)
    place = Path(text)
    if text == STANDARD or place.is_file():
        return False
    return place.is_dir() or _has_wildcard(text)


def find_parts(dataset: str | os.PathLike[str]) -> Dataset:
    """List the parts of a dataset.

    Files and folders whose name begins with a dot or an underscore are no parts, as for Spark,
    Arrow and DuckDB.

    Parameters
    ----------
    dataset : path
        A folder, with all in it, or a pattern with ``*``, ``?``, ``[..]`` or ``**``.

    Returns
    -------
    Dataset

    Raises
    ------
    TableError
        If there is no part, or a file in a folder that is none.
    FileNotFoundError
        If there is no such folder.
    """
    text = os.fspath(dataset)
    base, pattern = (Path(text), "") if Path(text).is_dir() else _split(text)
    if not base.is_dir():
        raise FileNotFoundError(2, "the folder is not there", str(base))
    found = _matching(base, pattern) if pattern else _below(base)
    files = sorted(
        (PartFile(path, path.relative_to(base).as_posix(), FileMark.of(path)) for path in found),
        key=lambda part: part.name,
    )
    for part in files:
        _require_ending(text, part)
    if not files:
        message = f"{text} has no Parquet or CSV files: name a folder or a pattern that has some"
        raise TableError(message)
    return Dataset(base, pattern, tuple(files))


def _split(text: str) -> tuple[Path, str]:
    """Return the folder before the first wildcard, and the pattern from there on."""
    names = Path(text).parts
    first = next((at for at, name in enumerate(names) if _has_wildcard(name)), len(names))
    return Path(*names[:first]), "/".join(names[first:])


def _has_wildcard(text: str) -> bool:
    """Return whether a text is a pattern."""
    return any(mark in text for mark in "*?[")


def _matching(base: Path, pattern: str) -> Iterator[Path]:
    """Yield the files that a pattern names, but for hidden ones."""
    # Path.glob raises for `a**` and does not follow links to folders.
    for name in glob.glob(pattern, root_dir=base, recursive=True):  # noqa: PTH207
        if (base / name).is_file() and not _is_hidden(name):
            yield base / name


def _below(base: Path) -> Iterator[Path]:
    """Yield all files in a folder and its folders, but for hidden ones."""
    for folder, folders, files in os.walk(base, onerror=_raise, followlinks=True):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (_regular(Path(folder, name)) for name in files if not _is_hidden(name))


def _regular(path: Path) -> Path:
    """Refuse a pipe or a device, which may never end."""
    if path.exists() and not path.is_file():
        message = f"{path} is no regular file: take it out of the dataset"
        raise TableError(message)
    return path


def _raise(error: OSError) -> None:
    """Raise what `os.walk` would pass over, and its rows with it."""
    raise error


def _is_hidden(name: str) -> bool:
    """Return whether a path has a name that readers of datasets pass over."""
    return any(part.startswith((".", "_")) for part in Path(name).parts)


def _require_ending(dataset: str, part: PartFile) -> None:
    """Refuse a file that may have rows which nobody would miss."""
    if not part.name.lower().endswith(_ENDINGS):
        message = (
            f"{part.name} in {dataset} is no Parquet or CSV file by its name: name the parts by a "
            "pattern, such as 'blocks/**/*.parquet'"
        )
        raise TableError(message)


@contextmanager
def blaming(part: PartFile) -> Iterator[None]:
    """Have errors name the part by its path in the dataset; several may have one file's name."""
    try:
        yield
    except GeodomainError as error:
        if part.name in str(error):
            raise
        message = f"{part.name}: {error}"
        raise type(error)(message) from None
