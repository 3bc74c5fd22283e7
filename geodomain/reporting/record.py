"""Read and check the record that `label` writes; see `geodomain.labelling.files`."""

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
from geodomain.labelling.summary import SharedBlocks

RecordGiven = str | os.PathLike[str] | Mapping[str, object]
_WORDS: dict[object, str] = {str: "a text", int: "a whole number", float: "a number"}


class FileFacts(TypedDict):
    """The path, hash and size of a file, as a record holds them."""

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


class SummaryFacts(TypedDict):
    """The keys of a record's summary that a report uses."""

    domains: list[PartFacts]
    background: PartFacts
    unassigned: PartFacts
    leaking: PartFacts
    beyond: PartFacts
    overlaps: list[SharedBlocks]
    warnings: list[str]
    notes: list[str]


class Record(TypedDict):
    """The keys of a record that a report uses."""

    command: str
    options: dict[str, object]
    started: str
    versions: dict[str, str]
    inputs: list[FileFacts]
    output: FileFacts | None
    summary: SummaryFacts


def read_record(source: RecordGiven) -> Record:
    """Read the record of a labelling.

    Raises
    ------
    TableError
        If the source is not a record; the message names the first missing or wrong key.
    """
    name = "this mapping" if isinstance(source, Mapping) else os.fspath(source)
    record: object = source
    if not isinstance(source, Mapping):
        try:
            record = json.loads(Path(source).read_bytes())
        except (ValueError, RecursionError):
            _refuse(name, "it is not JSON")
    wrong = _wrong(record, Record, "")
    if wrong:
        _refuse(name, wrong)
    return cast(Record, record)


def _refuse(name: str, reason: str) -> NoReturn:
    """Raise TableError for an invalid record."""
    message = (
        f"{name} is not the record of a labelling ({reason}): give the file that "
        "'geodomain label' wrote as its record"
    )
    raise TableError(message)


def _wrong(value: object, kind: object, place: str) -> str:
    """Describe the first entry of a value that has a wrong type; "" if all types are right."""
    if is_typeddict(kind):
        if not isinstance(value, Mapping):
            return _is_no(place, "an object")
        parts = get_type_hints(kind)
        return _first(
            _wrong(value[key], part, f"{place}.{key}".lstrip("."))
            if key in value
            else f"{f'{place}.{key}'.lstrip('.')} is missing"
            for key, part in parts.items()
        )
    origin, inner = get_origin(kind), get_args(kind)
    if origin is list:
        if not isinstance(value, list | tuple):
            return _is_no(place, "a list")
        return _first(_wrong(item, inner[0], f"{place}[{n}]") for n, item in enumerate(value))
    if origin is dict:
        return "" if isinstance(value, Mapping) else _is_no(place, "an object")
    if origin is UnionType:
        problems = [_wrong(value, item, place) for item in inner]
        return "" if "" in problems else problems[0]
    types = (int, float) if kind is float else cast(type, kind)
    right = isinstance(value, types) and not isinstance(value, bool)
    return "" if right else _is_no(place, f"{_WORDS.get(kind, 'empty')}")


def _first(problems: Iterable[str]) -> str:
    return next(filter(None, problems), "")


def _is_no(place: str, what: str) -> str:
    return f"{place or 'it'} is not {what}"


def require_same_file(record: Record, name: str, digest: Digest) -> None:
    """Require that the hash of the model equals the hash of the output in the record.

    Raises
    ------
    TableError
        If the record belongs to another file.
    """
    output = record["output"]
    if output is None:
        message = (
            f"the record names no output file, so it cannot be the record of {name}: label the "
            "model again with an output file and a record, or give no record here"
        )
        raise TableError(message)
    if output["sha256"] != digest.hexadecimal:
        message = (
            f"the record belongs to another file: it gives the SHA-256 {output['sha256'][:12]}.. "
            f"for {output['path']}, but {name} has {digest.hexadecimal[:12]}..; give the "
            "record that was written with this file, or no record"
        )
        raise TableError(message)
