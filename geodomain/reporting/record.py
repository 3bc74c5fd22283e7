"""Read and check the record of a labelling; see `geodomain.labelling.files`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import (
    NoReturn,
    TypedDict,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from geodomain.errors import TableError
from geodomain.files.unchanged import Digest

RecordGiven = str | os.PathLike[str] | Mapping[str, object]
_WORDS: dict[object, str] = {str: "a text", int: "a whole number", float: "a number"}


class FileFacts(TypedDict):
    """A file by its content."""

    path: str
    bytes: int
    sha256: str


class PartFacts(TypedDict):
    """A row of a summary; see `geodomain.labelling.summary.Part`."""

    name: str
    label: str
    blocks: int
    own_volume: float | None
    wireframe_volume: float | None
    code: int | None


class OverlapFacts(TypedDict):
    """What two solids share."""

    solids: list[str]
    blocks: int
    volume: float | None


class SummaryFacts(TypedDict):
    """What a report takes from a summary."""

    domains: list[PartFacts]
    background: PartFacts
    unassigned: PartFacts
    leaking: PartFacts
    beyond: PartFacts
    overlaps: list[OverlapFacts]
    warnings: list[str]
    notes: list[str]


class Record(TypedDict):
    """What a report takes from a record."""

    command: str
    options: dict[str, object]
    started: str
    versions: dict[str, str]
    inputs: list[FileFacts]
    output: FileFacts | None
    summary: SummaryFacts


def read_record(given: RecordGiven) -> Record:
    """Return the record of a labelling.

    Raises
    ------
    TableError
        For what is no such record, with the first part that it lacks.
    """
    name = "this mapping" if isinstance(given, Mapping) else os.fspath(given)
    found: object = given
    if not isinstance(given, Mapping):
        try:
            found = json.loads(Path(given).read_bytes())
        except (ValueError, RecursionError):
            _refuse(name, "it is no JSON")
    wrong = _wrong(found, Record, "")
    if wrong:
        _refuse(name, wrong)
    return cast(Record, found)


def _refuse(name: str, reason: str) -> NoReturn:
    """Raise TableError for what is no record."""
    message = (
        f"{name} is not the record of a labelling ({reason}): give the file that "
        "'geodomain label' wrote as its record"
    )
    raise TableError(message)


def _wrong(found: object, kind: object, place: str) -> str:
    """Say which part of a value is not of a kind, at its place; nothing where all are."""
    if is_typeddict(kind):
        if not isinstance(found, Mapping):
            return _is_no(place, "an object")
        parts = get_type_hints(kind)
        return _first(
            _wrong(found[key], part, f"{place}.{key}".lstrip("."))
            if key in found
            else f"{f'{place}.{key}'.lstrip('.')} is missing"
            for key, part in parts.items()
        )
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        if not isinstance(found, list | tuple):
            return _is_no(place, "a list")
        return _first(_wrong(one, inner[0], f"{place}[{n}]") for n, one in enumerate(found))
    if origin is dict:
        return "" if isinstance(found, Mapping) else _is_no(place, "an object")
    if origin is UnionType:
        told = [_wrong(found, one, place) for one in inner]
        return "" if "" in told else told[0]
    known = (int, float) if kind is float else cast(type, kind)
    right = isinstance(found, known) and not isinstance(found, bool)
    return "" if right else _is_no(place, f"{_WORDS.get(kind, 'empty')}")


def _first(told: Iterable[str]) -> str:
    return next(filter(None, told), "")


def _is_no(place: str, what: str) -> str:
    return f"{place or 'it'} is not {what}"


def require_same_file(record: Record, name: str, digest: Digest) -> None:
    """Refuse the record of another file: its output must be the same bytes.

    Raises
    ------
    TableError
    """
    output = record["output"]
    if output is None:
        message = (
            f"the record has no output, so that it is not that of {name}: label to a file, "
            "with a record, or give no record here"
        )
        raise TableError(message)
    if output["sha256"] != digest.hexadecimal:
        message = (
            f"the record is of another file: it has the SHA-256 {output['sha256'][:12]}.. "
            f"for {output['path']}, and {name} has {digest.hexadecimal[:12]}..; give the "
            "record that was written with this file, or no record"
        )
        raise TableError(message)
