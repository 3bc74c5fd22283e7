"""Arrow arrays and Parquet tables: conversion to and from NumPy, row groups, and writing.

Conversion works on the bytes of arrays. Pyarrow's own conversion is avoided: if pandas is
installed, it imports pandas, which takes 0.3 s.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, warn
from geodomain.tables.new_columns import NewColumn, place_columns, refuse_old_value
from geodomain.tables.text import NewCells

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet


def new_array(column: NewColumn, codes: NewCells, old: Any = None) -> Any:
    """Return a new column as an Arrow array, from its codes or measured numbers.

    A row with the code ``len(column.cells)`` keeps its value in `old`, the column to be replaced.
    """
    import pyarrow
    from pyarrow import compute

    if column.measured:
        return _numbers(codes.astype(np.float64, copy=False), np.isnan(codes))
    unchanged = codes == len(column.cells)
    cells = vocabulary(column).take(_numbers(codes, unchanged))
    if not unchanged.any():
        return cells
    try:
        left = _as_texts(old.take(_numbers(np.arange(len(unchanged)), ~unchanged)), cells.type)
    except pyarrow.ArrowInvalid as error:
        refuse_old_value(column.name, error)
    return compute.if_else(unchanged, left, cells)


def _as_texts(values: Any, kind: Any) -> Any:
    """Convert an Arrow array to the type `kind`. In texts, whole numbers have no decimal point."""
    from pyarrow import types

    if not types.is_floating(values.type) or not types.is_string(kind):
        return values.cast(kind)
    array = values.to_numpy(zero_copy_only=False)
    texts = ["" if value != value else str(value).removesuffix(".0") for value in array]
    return _texts([text.encode() for text in texts])


def vocabulary(column: NewColumn) -> Any:
    """Return the value of each code of a column: texts, or 32-bit integers (null for no value)."""
    if column.measured:
        return _numbers(np.empty(0), np.empty(0, np.bool_))
    if column.numeric:
        numbers = np.array([int(cell) if cell else 0 for cell in column.cells], np.int32)
        return _numbers(numbers, np.array([not cell for cell in column.cells], np.bool_))
    return _texts([cell.encode() for cell in column.cells])


def _numbers(values: NDArray[np.generic], missing: NDArray[np.bool_]) -> Any:
    """Convert a NumPy array to an Arrow array with the same bytes; null where `missing` is True."""
    import pyarrow

    valid = pyarrow.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    data = pyarrow.py_buffer(np.ascontiguousarray(values))
    kind = pyarrow.from_numpy_dtype(values.dtype)
    return pyarrow.Array.from_buffers(kind, len(values), [valid, data])


def _texts(texts: Sequence[bytes]) -> Any:
    """Convert UTF-8 texts to an Arrow array of strings."""
    import pyarrow

    ends = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    buffers = [None, pyarrow.py_buffer(ends), pyarrow.py_buffer(b"".join(texts))]
    return pyarrow.Array.from_buffers(pyarrow.string(), len(texts), buffers)


def as_doubles(column: Any, name: str, table: str) -> Floats:
    """Return an Arrow column as exact float64, with NaN for null.

    Raises
    ------
    TableError
        If the column holds no numbers, or a number that float64 cannot represent exactly.
    """
    import pyarrow
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if types.is_decimal(kind):
        column, kind = column.cast(pyarrow.string()), pyarrow.float64()
    if not (types.is_floating(kind) or types.is_integer(kind)):
        message = f"{table}: the column {name!r} holds {kind}, not numbers"
        raise TableError(message)
    try:
        doubles = column.cast(pyarrow.float64())
    except pyarrow.ArrowInvalid as error:
        message = (
            f"{table}: the column {name!r} holds a number that float64 cannot represent "
            f"exactly ({error})"
        )
        raise TableError(message) from None
    return _joined(doubles.chunks)


def encoded_texts(column: Any) -> tuple[list[str | None], NDArray[np.intp]]:
    """Return the distinct texts of an Arrow column, None for null, and each row's index."""
    import pyarrow
    from pyarrow import types

    kind = column.type
    places: dict[str | None, int] = {}
    parts: list[NDArray[np.intp]] = []
    for chunk in column.chunks:
        part = chunk if types.is_dictionary(kind) else chunk.dictionary_encode()
        own = [places.setdefault(word, len(places)) for word in part.dictionary.to_pylist()]
        lost = places.setdefault(None, len(places))
        numbers = np.array([*own, lost], np.intp)
        index = part.indices.cast(pyarrow.int64()).fill_null(len(own))
        if len(index):
            rows = np.frombuffer(index.buffers()[1], np.int64, len(index), 8 * index.offset)
            parts.append(numbers[rows])
    codes = np.concatenate([np.empty(0, np.intp), *parts])
    used = np.bincount(codes, minlength=len(places)) > 0  # a dictionary may hold other texts
    words = [word for word, place in places.items() if used[place]]
    return words, (np.cumsum(used) - 1)[codes]


def _joined(chunks: Sequence[Any]) -> Floats:
    parts = [np.empty(0), *map(_doubles, chunks)]
    return parts[1] if len(parts) == 2 else np.concatenate(parts)


def _doubles(array: Any) -> Floats:
    valid, data = array.buffers()
    begin, end = array.offset, array.offset + len(array)
    values = np.frombuffer(data, np.float64, len(array), 8 * begin) if end > begin else np.empty(0)
    if not array.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), count=end, bitorder="little")
    return np.where(bits[begin:end], values, np.nan)


# --- Reading of row groups, with a check of their number of rows.


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Raise one TableError in place of pyarrow's errors, which include OSError for damaged data."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        message = f"{name} cannot be read as Parquet ({reason}): export it again"
        raise TableError(message) from error


class RowGroups:
    """The row groups of an open Parquet file.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
    name : str
        Name used in messages.
    """

    def __init__(self, file: parquet.ParquetFile, name: str) -> None:
        self._file, self._name = file, name
        columns = enumerate(map(file.schema.column, range(len(file.schema))))
        # Columns with one value per row, including nulls.
        self._leaves = {each.path: at for at, each in columns if not each.max_repetition_level}

    def read(self, group: int, columns: Sequence[str] | None) -> pyarrow.Table:
        """Return a row group, or some columns of a row group.

        Raises
        ------
        TableError
            If pyarrow cannot read the row group, or if its columns do not have the number of rows
            that the file states. Pyarrow alone would then drop rows, or allocate memory for the
            stated number.
        """
        with readable(self._name):
            metadata = self._file.metadata.row_group(group)
            leaves = self._leaves if columns is None else self._leaves.keys() & columns
            counts = {metadata.column(self._leaves[each]).num_values for each in leaves}
            table = None
            if counts <= {metadata.num_rows}:
                table = self._file.read_row_group(group, columns=columns)
        if table is None or len(table) != metadata.num_rows:
            message = (
                f"{self._name} states {metadata.num_rows:,} rows in row group {group + 1}, but its "
                "columns have a different number of rows: the file is damaged; export it again"
            )
            raise TableError(message)
        return table


# --- Schema with new columns, and options to write a file like an existing one.

_DICTIONARY = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_ORDINARY = {"PLAIN", "RLE", "BIT_PACKED", *_DICTIONARY}
_CODECS = {"UNCOMPRESSED": "NONE", "LZ4_RAW": "LZ4"}


def new_schema(schema: Any, columns: Sequence[NewColumn], at: int | None) -> Any:
    """Return a schema with new columns at the end, or in place of column `at`."""
    import pyarrow

    for column in columns:
        name = column.name if at is None else schema.names[at]
        field = pyarrow.field(name, vocabulary(column).type)
        schema = with_column(schema, field, at)
    return schema


def with_column(schema: Any, field: Any, at: int | None = None) -> Any:
    """Return a schema with a field at the end, or in place of field `at`."""
    schema = schema.append(field) if at is None else schema.set(at, field)
    return schema.with_metadata(_with_pandas(schema.metadata, field))


def _with_pandas(metadata: dict[bytes, bytes] | None, field: Any) -> Any:
    """Return a schema's metadata, with a column added to the part for pandas if there is one."""
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
    entries = pandas.get("columns", [])
    places = [place for place, old in enumerate(entries) if old.get("field_name") == field.name]
    if places:
        entries[places[0]] = entry
    else:
        # The list ends with the index columns, as the file does.
        entries.insert(len(entries) - _index_columns(pandas), entry)
    return metadata | {b"pandas": json.dumps(pandas).encode()}


def keys_beside(file: Any, schema: Any) -> dict[bytes, bytes]:
    """Return the key-value metadata of an open file, except the entries that the schema has."""
    own = {b"ARROW:schema", *(schema.metadata or ())}
    return {key: value for key, value in (file.metadata.metadata or {}).items() if key not in own}


def without_range(metadata: dict[bytes, bytes] | None, name: str) -> Any:
    """Return metadata without a pandas index that is a range, which would not fit the new rows.

    Warns
    -----
    GeodomainWarning
        If the range is not 0, 1, 2 ..., or has a name.
    """
    if not metadata or b"pandas" not in metadata:
        return metadata
    pandas = json.loads(metadata[b"pandas"])
    ranges = [index for index in pandas.get("index_columns", []) if isinstance(index, dict)]
    if not ranges:
        return metadata
    for index in ranges:
        if index.get("name") or index.get("start") or index.get("step", 1) != 1:
            warn(
                f"{name}: the pandas index is a range, not a column of the file, and is left "
                "out; to keep it, store it as a column with reset_index()"
            )
    pandas["index_columns"] = [index for index in pandas["index_columns"] if index not in ranges]
    return metadata | {b"pandas": json.dumps(pandas).encode()}


def _index_columns(pandas: dict[str, Any]) -> int:
    """Return how many columns of the file form pandas' index; a range index has no column."""
    return sum(isinstance(index, str) for index in pandas.get("index_columns", []))


def writing_options(file: Any, added: Sequence[str]) -> dict[str, Any]:
    """Return options to write a file like the open one: compression, encodings, statistics.

    The options are taken from the first row group, column by column. New columns get the
    compression that most columns have.
    """
    metadata = file.metadata
    shared = {
        "version": metadata.format_version if metadata.format_version != "2.0" else "2.6",
        "store_schema": b"ARROW:schema" in (metadata.metadata or {}),
    }
    if not metadata.num_row_groups:
        return shared
    group = metadata.row_group(0)
    # Each chunk also states its path, which is not checked.
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
    """Return, by column path, the encodings that the writer would not choose by default."""
    encodings = {}
    for path, chunk in chunks.items():
        special = [encoding for encoding in chunk.encodings if encoding not in _ORDINARY]
        if special and path not in dictionary:
            encodings[path] = special[0]
    return encodings


# --- A whole Parquet file in memory, written again with other rows, numbers and columns.


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """The content of a Parquet file, which can be written again with changes.

    Attributes
    ----------
    name : str
        Name used in messages.
    arrow : pyarrow.Table
    file : pyarrow.parquet.ParquetFile
        Closed; its metadata is still available.
    """

    name: str
    arrow: pyarrow.Table
    file: parquet.ParquetFile

    def written(
        self,
        rows: NDArray[np.intp] | None,
        numbers: Mapping[int, Mapping[int, float]],
        labels: Sequence[tuple[NewColumn, NDArray[np.int32]]],
        measures: Mapping[str, Floats],
    ) -> memoryview:
        """Return the content of a new file, with rows repeated and columns added.

        Parameters
        ----------
        rows : (m,) intp, optional
            Rows to write, in order; a row may be repeated. Default: all.
        numbers : mapping of int to mapping of int to float
            The numbers to change: for each column index, a mapping from the row of the output to
            the new number. A changed column becomes float64.
        labels : sequence of (NewColumn, (m,) int32)
            New columns, with the code of each row.
        measures : mapping of str to (m,) float64
            New columns of numbers by name; NaN is written as null.
        """
        import pyarrow
        from pyarrow import parquet

        columns = [column for column, _ in labels]
        news = [*columns, *(NewColumn(name, (), numeric=True) for name in measures)]
        names = tuple(self.arrow.column_names)
        place_columns(names, (), news, replace=False, name=self.name)
        table = self.arrow if rows is None else self.arrow.take(pyarrow.array(rows))
        for place, changed in numbers.items():
            if changed:
                values = _changed(table.column(place), names[place], self.name, changed)
                field = pyarrow.field(names[place], values.type)
                table = table.set_column(place, field, values)
        schema = new_schema(table.schema, columns, None)
        arrays = [*table.columns, *(new_array(column, codes) for column, codes in labels)]
        for name, measured in measures.items():
            schema = schema.append(pyarrow.field(name, pyarrow.float64()))
            arrays.append(pyarrow.array(measured, mask=np.isnan(measured)))
        sink = pyarrow.BufferOutputStream()
        options = writing_options(self.file, [column.name for column in news])
        options["sorting_columns"] = None if numbers else options.get("sorting_columns")
        with parquet.ParquetWriter(sink, schema, **options) as writer:
            whole = pyarrow.Table.from_arrays(arrays, schema=schema)
            writer.write_table(whole, max(self._group_rows(), 1))
            writer.add_key_value_metadata(keys_beside(self.file, schema))
        return memoryview(sink.getvalue())

    def _group_rows(self) -> int:
        """Return the number of rows of the first row group."""
        metadata = self.file.metadata
        return metadata.row_group(0).num_rows if metadata.num_row_groups else 1


def read_parquet(path: Path) -> ParquetTable:
    """Read a Parquet file into memory.

    Raises
    ------
    TableError
        If the file is not Parquet, or pyarrow is not installed.
    OSError
        If the file cannot be opened.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        message = f"{path} can only be read with pyarrow: pip install 'geodomain[parquet]'"
        raise TableError(message) from None
    path.stat()
    with readable(path.name), parquet.ParquetFile(path) as file:
        return ParquetTable(path.name, file.read(), file)


def _changed(
    column: pyarrow.ChunkedArray, name: str, table: str, changed: Mapping[int, float]
) -> pyarrow.Array:
    """Return a column as float64, with the values at some rows replaced."""
    import pyarrow

    values = as_doubles(column, name, table).copy()
    values[list(changed)] = list(changed.values())
    return pyarrow.array(values, mask=np.asarray(column.is_null()))
