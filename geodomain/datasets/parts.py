"""The files of a dataset, by a folder or a pattern, here or on a store; reads none of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from geodomain.datasets.object_stores import is_url, store_of
from geodomain.datasets.stores import FileMark, Store
from geodomain.errors import GeodomainError, TableError
from geodomain.io.files.standard import STANDARD

# What parts of a dataset are called; other tables are labelled one by one.
_ENDINGS = (
    *(".parquet", ".pq", ".csv", ".tsv", ".txt", ".dat", ".asc"),
    *(".csv.gz", ".tsv.gz", ".txt.gz", ".dat.gz", ".asc.gz"),
)


class PartFile(NamedTuple):
    """One file of a dataset.

    Attributes
    ----------
    store : Store
        The folder of the dataset.
    name : str
        Its path within the dataset, with slashes: where it goes in the output, and what
        messages call it.
    mark : FileMark
        Its size, and its time or tag, when the dataset was listed.
    """

    store: Store
    name: str
    mark: FileMark

    def absolute(self) -> PartFile:
        """Return the part with a path that holds in any folder."""
        return self._replace(store=self.store.absolute())

    @property
    def keys(self) -> list[str]:
        """Return the names of the columns that its folders stand for, as in zone=A/part.csv."""
        return [folder.partition("=")[0] for folder in self.name.split("/")[:-1] if "=" in folder]


class Dataset(NamedTuple):
    """A folder, and the files in it that are parts, sorted by name.

    Attributes
    ----------
    base : Store
        The folder; with a pattern, the last one before its first wildcard.
    pattern : str
        The rest of the pattern, empty for a whole folder.
    parts : tuple of PartFile
    """

    base: Store
    pattern: str
    parts: tuple[PartFile, ...]


def is_dataset(model: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder, or a pattern of files such as ``blocks/*.parquet``."""
    text = os.fspath(model)
    if is_url(text):
        return True
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
        A folder, with all in it, or a pattern with ``*``, ``?``, ``[..]`` or ``**``; or a URL of
        one, such as ``s3://bucket/blocks``.

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
    base, pattern = _split_url(text) if is_url(text) else _split_path(text)
    store = store_of(base)
    if not is_url(text) and not Path(base).is_dir():
        raise FileNotFoundError(2, "the folder is not there", base)
    found = store.matching(pattern)
    files = [PartFile(store, name, mark) for name, mark in sorted(found.items())]
    for part in files:
        _require_ending(text, part)
    if not files:
        message = f"{text} has no Parquet or CSV files: name a folder or a pattern that has some"
        raise TableError(message)
    return Dataset(store, pattern, tuple(files))


def _split_path(text: str) -> tuple[str, str]:
    """Return the folder before the first wildcard, and the pattern from there on."""
    if Path(text).is_dir():
        return text, ""
    names = Path(text).parts
    first = _first_wildcard(names)
    return str(Path(*names[:first])), "/".join(names[first:])


def _split_url(url: str) -> tuple[str, str]:
    """Return the URL before the first wildcard, and the pattern from there on."""
    names = url.split("/")
    first = _first_wildcard(names)
    return "/".join(names[:first]), "/".join(names[first:])


def _first_wildcard(names: Sequence[str]) -> int:
    """Return the place of the first name that is a pattern."""
    return next((at for at, name in enumerate(names) if _has_wildcard(name)), len(names))


def _has_wildcard(text: str) -> bool:
    """Return whether a text is a pattern."""
    return any(mark in text for mark in "*?[")


def is_part(name: str) -> bool:
    """Return whether a file is Parquet or text by its name."""
    return name.lower().endswith(_ENDINGS)


def _require_ending(dataset: str, part: PartFile) -> None:
    """Refuse a file that may have rows which nobody would miss."""
    if not is_part(part.name):
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
