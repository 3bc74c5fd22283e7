"""List the parts of a dataset, and check that they form one table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from geodomain.datasets.stores import FileMark, Store, store_of
from geodomain.errors import GeodomainError, TableError
from geodomain.files.streams import has_wildcard, is_url
from geodomain.formats import parquet
from geodomain.formats.blocks import BlockFile, kind_of, open_model
from geodomain.tables.frames import Frame
from geodomain.tables.options import TableOptions

# Extensions of parts; tables in other formats are labelled one by one.
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
        Path within the dataset, with slashes. The part has the same path in the output and in
        messages.
    mark : FileMark
        Size, and time or tag, of the file when the dataset was listed.
    """

    store: Store
    name: str
    mark: FileMark

    def absolute(self) -> PartFile:
        """Return the part with an absolute path."""
        return self._replace(store=self.store.absolute())

    @property
    def keys(self) -> list[str]:
        """The columns that are encoded in names of folders, such as zone in zone=A/part.csv."""
        return [folder.partition("=")[0] for folder in self.name.split("/")[:-1] if "=" in folder]


class Dataset(NamedTuple):
    """A folder and the parts in it, sorted by name.

    Attributes
    ----------
    base : Store
        The folder; for a pattern, the last folder before the first wildcard.
    pattern : str
        The pattern after this folder; empty for a whole folder.
    parts : tuple of PartFile
        The files of the dataset.
    """

    base: Store
    pattern: str
    parts: tuple[PartFile, ...]


def find_parts(dataset: str | os.PathLike[str]) -> Dataset:
    """List the parts of a dataset.

    Files and folders whose name begins with a dot or an underscore are skipped, as by Spark, Arrow
    and DuckDB.

    Parameters
    ----------
    dataset : path
        A folder, which includes all files below it, or a pattern with ``*``, ``?``, ``[..]`` or
        ``**``, or the URL of a folder or pattern, such as ``s3://bucket/blocks``.

    Returns
    -------
    Dataset

    Raises
    ------
    TableError
        If there is no part, or the folder holds a file that is not a part.
    FileNotFoundError
        If the folder does not exist.
    """
    text = os.fspath(dataset)
    base, pattern = _split_url(text) if is_url(text) else _split_path(text)
    store = store_of(base)
    if not is_url(text) and not Path(base).is_dir():
        raise FileNotFoundError(2, "the folder does not exist", base)
    marks = store.matching(pattern)
    files = [PartFile(store, name, mark) for name, mark in sorted(marks.items())]
    for part in files:
        _require_ending(text, part)
    if not files:
        message = f"{text} has no Parquet or CSV files: name a folder or a pattern with such files"
        raise TableError(message)
    return Dataset(store, pattern, tuple(files))


def _split_path(text: str) -> tuple[str, str]:
    """Return the folder before the first wildcard of a path, and the pattern after this folder."""
    if Path(text).is_dir():
        return text, ""
    names = Path(text).parts
    first = _first_wildcard(names)
    return str(Path(*names[:first])), "/".join(names[first:])


def _split_url(url: str) -> tuple[str, str]:
    """Return the URL before the first wildcard, and the pattern after this URL."""
    names = url.split("/")
    first = _first_wildcard(names)
    return "/".join(names[:first]), "/".join(names[first:])


def _first_wildcard(names: Sequence[str]) -> int:
    """Return the index of the first name with a wildcard, or the number of names."""
    return next((at for at, name in enumerate(names) if has_wildcard(name)), len(names))


def is_part(name: str) -> bool:
    """Return whether the extension of a file is that of a Parquet or text file."""
    return name.lower().endswith(_ENDINGS)


def _require_ending(dataset: str, part: PartFile) -> None:
    """Refuse a file that is not a part, because skipping it could silently lose rows."""
    if not is_part(part.name):
        message = (
            f"{part.name} in {dataset} does not have the extension of a Parquet or CSV file: "
            "select the parts by a pattern, such as 'blocks/**/*.parquet'"
        )
        raise TableError(message)


@contextmanager
def blaming(part: PartFile) -> Iterator[None]:
    """Add the path of the part to error messages, because parts may have the same file name."""
    try:
        yield
    except GeodomainError as error:
        if part.name in str(error):
            raise
        message = f"{part.name}: {error}"
        raise type(error)(message) from None


# Check that the parts form one table: the same columns with the same meaning.

_KINDS = {"parquet": "Parquet", "text": "text"}


@dataclass(frozen=True)
class PartSchema:
    """The format and columns of a part, and the meaning of its coordinates."""

    kind: str
    columns: tuple[str, ...]
    centroid: tuple[str, ...]
    sizes: tuple[str, ...]
    frame: Frame


def require_one_schema(
    parts: Sequence[PartFile], options: TableOptions, added: Sequence[str]
) -> None:
    """Refuse parts that differ from the first part, before any work starts.

    Parameters
    ----------
    parts : sequence of PartFile
        All parts.
    options : TableOptions
        The user's options for the parts.
    added : sequence of str
        Names of new columns. Folders such as zone=A define a column too, here zone: a new column
        must have another name.

    Raises
    ------
    TableError
        If a part has another format or other columns than the first part, or cannot be read; or if
        a new column has the name of a folder's column.
    """
    first = schema_of(parts[0], options)
    for part in parts:
        for key in part.keys:
            if key in added:
                message = (
                    f"{key!r} is the name of a folder's column in {part.name}: choose another "
                    "name with column="
                )
                raise TableError(message)
        difference = _difference(schema_of(part, options), first)
        if difference:
            message = (
                f"{part.name} {difference}, unlike {parts[0].name}: the parts of a dataset must "
                "form one table; label them one by one, or select parts that belong together with "
                "a pattern"
            )
            raise TableError(message)


def schema_of(part: PartFile, options: TableOptions) -> PartSchema:
    """Read the schema of a part from its first bytes; for Parquet, also from its footer."""
    with blaming(part), part.store.head(part.name) as head:
        kind = kind_of(str(head))
        if kind not in _KINDS:
            message = f"{part.name} holds {kind}: the parts of a dataset must be text or Parquet"
            raise TableError(message)
        if kind == "parquet":
            return _of_parquet(part, options)
        with open_model(str(head), options) as model:
            return _schema(kind, model.columns, model)


def _of_parquet(part: PartFile, options: TableOptions) -> PartSchema:
    """Read the schema of a Parquet part from its footer and its first rows."""
    with (
        part.store.opened(part.name) as file,
        parquet.open_stream(file, part.name, options) as model,
    ):
        return _schema("parquet", model.typed_columns, model)


def _schema(kind: str, columns: tuple[str, ...], model: BlockFile) -> PartSchema:
    return PartSchema(_KINDS[kind], columns, model.centroid, model.sizes, model.frame)


def _difference(part: PartSchema, first: PartSchema) -> str:
    """Describe how a part differs from the first; "" if it does not."""
    if part.kind != first.kind:
        return f"is {part.kind}"
    for number, (ours, theirs) in enumerate(zip_longest(part.columns, first.columns), 1):
        if ours is None:
            return f"has no column {theirs!r}"
        if ours != theirs:
            return f"has {ours!r} as column {number}" + (f", not {theirs!r}" if theirs else "")
    if (part.centroid, part.sizes) != (first.centroid, first.sizes):
        ours, theirs = (", ".join([*each.centroid, *each.sizes]) for each in (part, first))
        return f"has its coordinates in {ours}, not in {theirs}"
    return "" if part.frame == first.frame else "has another position or rotation of its blocks"
