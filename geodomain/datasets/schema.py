"""Checks that the parts of a dataset are one table: the same columns, with the same meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from geodomain.datasets.parts import PartFile, blaming
from geodomain.errors import TableError
from geodomain.io.blocks import parquet
from geodomain.io.blocks.model import BlockFile, kind_of, open_model
from geodomain.io.header.frames import Frame
from geodomain.io.header.options import TableOptions

_KINDS = {"parquet": "Parquet", "text": "text"}


@dataclass(frozen=True)
class PartSchema:
    """What the columns of a part are, and which of them matter."""

    kind: str
    columns: tuple[str, ...]
    centroid: tuple[str, ...]
    sizes: tuple[str, ...]
    frame: Frame


def require_one_schema(
    parts: Sequence[PartFile], options: TableOptions, added: Sequence[str]
) -> None:
    """Refuse parts that differ from the first one, by name, before any work starts.

    Parameters
    ----------
    parts : sequence of PartFile
        All the parts.
    options : TableOptions
        What the user says of them.
    added : sequence of str
        The names of new columns, which must not be those of folders such as zone=A.

    Raises
    ------
    TableError
        For a part of another kind or with other columns, and for one that cannot be understood.
    """
    first = schema_of(parts[0], options)
    for part in parts:
        for key in part.keys:
            if key in added:
                message = f"{key!r} is a folder's column, in {part.name}: choose another column="
                raise TableError(message)
        difference = _difference(schema_of(part, options), first)
        if difference:
            message = (
                f"{part.name} {difference}, unlike {parts[0].name}: the parts of a dataset are one "
                "table; label them one by one, or name those that belong together by a pattern"
            )
            raise TableError(message)


def schema_of(part: PartFile, options: TableOptions) -> PartSchema:
    """Read the head of a part."""
    with blaming(part), part.store.head(part.name) as head:
        kind = kind_of(str(head))
        if kind not in _KINDS:
            message = f"{part.name} holds {kind}: the parts of a dataset are text or Parquet"
            raise TableError(message)
        if kind == "parquet":
            return _of_parquet(part, options)
        with open_model(str(head), options) as model:
            return _schema(kind, model.columns, model)


def _of_parquet(part: PartFile, options: TableOptions) -> PartSchema:
    """Read the schema and the first rows, which are at the end and the beginning of the file."""
    with part.store.opened(part.name) as file, parquet.open_stream(file, part.name, options) as one:
        return _schema("parquet", one.typed_columns, one)


def _schema(kind: str, columns: tuple[str, ...], model: BlockFile) -> PartSchema:
    return PartSchema(_KINDS[kind], columns, model.centroid, model.sizes, model.frame)


def _difference(one: PartSchema, first: PartSchema) -> str:
    """Say how a part differs from the first; nothing where it does not."""
    if one.kind != first.kind:
        return f"is {one.kind}"
    for number, (ours, theirs) in enumerate(zip_longest(one.columns, first.columns), 1):
        if ours is None:
            return f"has no column {theirs!r}"
        if ours != theirs:
            return f"has {ours!r} as column {number}" + (f", not {theirs!r}" if theirs else "")
    if (one.centroid, one.sizes) != (first.centroid, first.sizes):
        ours, theirs = (", ".join([*each.centroid, *each.sizes]) for each in (one, first))
        return f"has its coordinates in {ours}, not in {theirs}"
    return "" if one.frame == first.frame else "has another position or rotation of its blocks"
