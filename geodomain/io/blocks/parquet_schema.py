"""What the schema of a Parquet file says of new columns, and how a file like another is written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from geodomain.errors import warn
from geodomain.io.blocks.parquet_arrays import vocabulary
from geodomain.io.csv.new_columns import NewColumn

_DICTIONARY = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_ORDINARY = {"PLAIN", "RLE", "BIT_PACKED", *_DICTIONARY}
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}


def new_schema(schema: Any, columns: Sequence[NewColumn], at: int | None) -> Any:
    """Give a schema new columns at its end, or one in the place of another."""
    import pyarrow

    for column in columns:
        name = column.name if at is None else schema.names[at]
        field = pyarrow.field(name, vocabulary(column).type)
        schema = with_column(schema, field, at)
    return schema


def with_column(schema: Any, field: Any, at: int | None = None) -> Any:
    """Give a schema one more column, or one in the place of another."""
    schema = schema.append(field) if at is None else schema.set(at, field)
    return schema.with_metadata(_with_pandas(schema.metadata, field))


def _with_pandas(metadata: dict[bytes, bytes] | None, field: Any) -> Any:
    """Tell pandas of a column, where it is pandas that wrote the file."""
    if not metadata or b"pandas" not in metadata:
        return metadata
    pandas = json.loads(metadata[b"pandas"])
    kind = {"double": "float64"}.get(str(field.type), str(field.type))
    entry = {
        "name": field.name,
        "field_name": field.name,
        "pandas_type": "unicode" if kind == "string" else kind,
        "numpy_type": "object" if kind == "string" else kind,
        "metadata": None,
    }
    known = pandas.get("columns", [])
    places = [place for place, old in enumerate(known) if old.get("field_name") == field.name]
    if places:
        known[places[0]] = entry
    else:
        # Its list ends in the columns of the index, as a file does.
        known.insert(len(known) - _index_columns(pandas), entry)
    return metadata | {b"pandas": json.dumps(pandas).encode()}


def keys_beside(file: Any, schema: Any) -> dict[bytes, bytes]:
    """Give the keys and values of a file that is open which its schema does not tell."""
    known = {b"ARROW:schema", *(schema.metadata or ())}
    return {key: value for key, value in (file.metadata.metadata or {}).items() if key not in known}


def without_range(metadata: dict[bytes, bytes] | None, name: str) -> Any:
    """Leave out an index of pandas that is a range and no column: other rows have another one."""
    if not metadata or b"pandas" not in metadata:
        return metadata
    pandas = json.loads(metadata[b"pandas"])
    ranges = [one for one in pandas.get("index_columns", []) if isinstance(one, dict)]
    if not ranges:
        return metadata
    for one in ranges:
        if one.get("name") or one.get("start") or one.get("step", 1) != 1:
            warn(
                f"{name}: the index of pandas is a range, and no column of the file: it is left "
                "out; keep it as a column with reset_index()"
            )
    pandas["index_columns"] = [one for one in pandas["index_columns"] if one not in ranges]
    return metadata | {b"pandas": json.dumps(pandas).encode()}


def _index_columns(pandas: dict[str, Any]) -> int:
    """Count the columns that pandas takes for the index; a range is none."""
    return sum(isinstance(index, str) for index in pandas.get("index_columns", []))


def writing_options(file: Any, added: Sequence[str]) -> dict[str, Any]:
    """Say how to write a file like one that is open: compression, encodings, statistics.

    They are those of its first row group, column by column; the new columns are compressed as
    most of the others are.
    """
    metadata = file.metadata
    shared = {
        "version": metadata.format_version if metadata.format_version != "2.0" else "2.6",
        "store_schema": b"ARROW:schema" in (metadata.metadata or {}),
    }
    if not metadata.num_row_groups:
        return shared
    group = metadata.row_group(0)
    # A chunk says its path too, which nothing checks.
    places = range(metadata.num_columns)
    chunks = {metadata.schema.column(place).path: group.column(place) for place in places}
    codecs = {path: _CODECS.get(c.compression, c.compression) for path, c in chunks.items()}
    usual = Counter(codecs.values()).most_common(1)[0][0]
    dictionary = [path for path, chunk in chunks.items() if _DICTIONARY & set(chunk.encodings)]
    return shared | {
        "compression": codecs | dict.fromkeys(added, usual),
        "use_dictionary": [*dictionary, *added],
        "column_encoding": _encodings(chunks, dictionary) or None,
        "write_statistics": [path for path, c in chunks.items() if c.is_stats_set] + [*added],
        "use_deprecated_int96_timestamps": any(c.physical_type == "INT96" for c in chunks.values()),
        "sorting_columns": list(group.sorting_columns) or None,
        "write_page_index": any(chunk.has_offset_index for chunk in chunks.values()),
    }


def _encodings(chunks: dict[str, Any], dictionary: Sequence[str]) -> dict[str, str]:
    """Give the encodings that a writer would not choose by itself."""
    found = {}
    for path, chunk in chunks.items():
        special = [encoding for encoding in chunk.encodings if encoding not in _ORDINARY]
        if special and path not in dictionary:
            found[path] = special[0]
    return found
