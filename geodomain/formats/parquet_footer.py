"""Footers of Parquet files, in Thrift's compact protocol: read, extended and written again.

The protocol is described at
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md. All fields,
including unknown fields, keep their numbers and order. An unchanged footer is therefore written
with the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar, Union

from geodomain.errors import TableError
from geodomain.files.streams import Target

TRUE, FALSE, BYTE, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 5, 6, 7, 8, 9, 10, 12
_INTEGERS = range(4, 7)

Value = Union[int, bytes, "Items", "Fields"]


@dataclass
class Field:
    """A field of a Thrift struct: its type and its value."""

    kind: int
    value: Value


Fields = dict[int, Field]


@dataclass
class Items:
    """A Thrift list: the type of its values, and the values."""

    kind: int
    values: list[Value]


class Reader:
    """Decoder of Thrift structs; raises ValueError or IndexError for invalid bytes."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> Fields:
        """Return the fields of the struct at the current position, by field number."""
        fields: Fields = {}
        number = 0
        while head := self._byte():
            kind, step = head & 15, head >> 4
            number = number + step if step else self._signed()
            fields[number] = Field(kind, 0 if kind in (TRUE, FALSE) else self._value(kind))
        return fields

    def _value(self, kind: int) -> Value:
        if kind in _INTEGERS:
            return self._signed()
        if kind == BINARY:
            return self._bytes(self._unsigned())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            return self._items()
        if kind in (TRUE, FALSE, BYTE):  # TRUE and FALSE only in lists
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        message = f"kind {kind} is not used by Parquet"
        raise ValueError(message)

    def _items(self) -> Items:
        head = self._byte()
        count = head >> 4
        if count == 15:
            count = self._unsigned()
        return Items(head & 15, [self._value(head & 15) for _ in range(count)])

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            message = "the bytes end within the tree"
            raise ValueError(message)
        return self._data[self._at - count : self._at]

    def _unsigned(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
        return number | byte << shift

    def _signed(self) -> int:
        number = self._unsigned()
        return number >> 1 ^ -(number & 1)


def encoded(fields: Fields) -> bytes:
    """Return the bytes of a Thrift struct."""
    out = bytearray()
    _write_struct(out, fields)
    return bytes(out)


def _write_struct(out: bytearray, fields: Fields) -> None:
    before = 0
    for number, field in fields.items():
        if 0 < number - before < 16:
            out.append(number - before << 4 | field.kind)
        else:
            out.append(field.kind)
            _write_signed(out, number)
        if field.kind not in (TRUE, FALSE):
            _write(out, field.kind, field.value)
        before = number
    out.append(0)


def _write(out: bytearray, kind: int, value: Value) -> None:
    if isinstance(value, dict):
        _write_struct(out, value)
    elif isinstance(value, Items):
        count = len(value.values)
        out.append(min(count, 15) << 4 | value.kind)
        if count >= 15:
            _write_unsigned(out, count)
        for each in value.values:
            _write(out, value.kind, each)
    elif isinstance(value, bytes):
        if kind == BINARY:
            _write_unsigned(out, len(value))
        out += value
    elif kind in _INTEGERS:
        _write_signed(out, value)
    else:
        out.append(value)


def _write_unsigned(out: bytearray, number: int) -> None:
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)


def _write_signed(out: bytearray, number: int) -> None:
    _write_unsigned(out, number << 1 ^ number >> 63)


# --- Footers that can be extended, and the columns of one footer appended to another.

MAGIC = b"PAR1"
Held = TypeVar("Held")
# Field numbers of FileMetaData; encryption fields come after these.
_SCHEMA, _ROWS, _GROUPS, _KEYS, _ORDERS = 2, 3, 4, 5, 7
_FILE_FIELDS = range(1, 8)
# Field numbers of KeyValue, and the keys that describe the columns.
_KEY, _OF_COLUMNS = 1, (b"ARROW:schema", b"pandas")
# Field numbers of SchemaElement and RowGroup.
_CHILDREN, _COLUMNS, _BYTES, _GROUP_ROWS, _COMPRESSED = 5, 1, 2, 3, 6
# Field numbers of ColumnChunk: file path, if it is another file, offsets and metadata. Field
# numbers of ColumnMetaData: offsets.
_ELSEWHERE, _METADATA, _CHUNK_PLACES, _ENCRYPTION = 1, 3, (2, 4, 6), (8, 9)
_METADATA_PLACES = (9, 10, 11, 14)
# pyarrow's writer splits row groups larger than this.
_MOST_ROWS = 1 << 26


def decoded_footer(data: bytes) -> Fields | None:
    """Return a decoded footer, or None if the footer cannot be extended.

    A footer cannot be extended if decoding and encoding it would change its bytes, if it is
    encrypted, if columns are in other files, or if row groups are empty or very large.
    """
    with suppress(ValueError, IndexError, RecursionError):
        footer = Reader(data).struct()
        if encoded(footer) == data and _is_usual(footer):
            return footer
    return None


def _is_usual(footer: Fields) -> bool:
    if not ({_SCHEMA, _ROWS, _GROUPS} <= footer.keys() <= set(_FILE_FIELDS)):
        return False
    _keys(footer)
    for group in _structs(footer, _GROUPS):
        if not 0 < _number(group, _GROUP_ROWS) <= _MOST_ROWS:
            return False
        for chunk in _structs(group, _COLUMNS):
            if _METADATA not in chunk or not chunk.keys().isdisjoint((_ELSEWHERE, *_ENCRYPTION)):
                return False
    return True


def extend(footer: Fields, other: Fields, shift: int, keys: Field | None) -> None:
    """Append the columns of another file to a footer, in place.

    Parameters
    ----------
    footer : dict
        Footer of the file.
    other : dict
        Footer of a file that has other columns for the same rows, in the same row groups.
    shift : int
        Offset added to the positions in `other`.
    keys : Field, optional
        Key-value metadata of a file with all columns. Its entries about columns replace those of
        `footer`.
    """
    groups, others = list(_structs(footer, _GROUPS)), list(_structs(other, _GROUPS))
    for group, added in zip(groups, others, strict=True):
        if _number(group, _GROUP_ROWS) != _number(added, _GROUP_ROWS):
            message = "row groups of new columns differ from those of the file"
            raise RuntimeError(message)
        for chunk in _structs(added, _COLUMNS):
            _move(chunk, _CHUNK_PLACES, shift)
            _move(_struct(chunk, _METADATA), _METADATA_PLACES, shift)
        _items(group, _COLUMNS).values.extend(_items(added, _COLUMNS).values)
        for total in (_BYTES, _COMPRESSED):
            if total in group:
                group[total].value = _number(group, total) + _number(added, total)
    columns = _items(other, _SCHEMA).values[1:]
    first = next(_structs(footer, _SCHEMA))
    first[_CHILDREN].value = _number(first, _CHILDREN) + len(columns)
    _items(footer, _SCHEMA).values.extend(columns)
    if _ORDERS in footer:
        _items(footer, _ORDERS).values.extend(_items(other, _ORDERS).values)
    if keys is not None:
        footer[_KEYS] = _merged(footer, keys)
    ordered = sorted(footer.items())
    footer.clear()
    footer.update(ordered)


def _merged(old: Fields, new: Field) -> Field:
    """Return the key-value metadata of `old`, with the entries about columns taken from `new`."""
    renewed = dict(_keys({_KEYS: new}))
    entries = _keys(old)
    values = [renewed.get(key, each) if key in _OF_COLUMNS else each for key, each in entries]
    keys = dict(entries)
    return Field(
        new.kind, Items(STRUCT, [*values, *(renewed[key] for key in renewed if key not in keys)])
    )


def _keys(footer: Fields) -> list[tuple[bytes, Fields]]:
    """Return the key-value metadata of a footer as pairs of a key and the whole entry."""
    entries = _structs(footer, _KEYS) if _KEYS in footer else ()
    return [(_value(each, _KEY, bytes), each) for each in entries]


def keys_of(footer: Fields) -> Field | None:
    """Return the field of a footer that holds the key-value metadata, or None."""
    return footer.get(_KEYS)


def tail(footer: Fields) -> bytes:
    """Return the last bytes of a Parquet file: the footer, its length and the magic number."""
    data = encoded(footer)
    return data + len(data).to_bytes(4, "little") + MAGIC


def _move(fields: Fields, places: tuple[int, ...], shift: int) -> None:
    """Add `shift` to the file offsets in the fields `places`; 0 means no offset and stays 0."""
    for place in places:
        if place in fields and _number(fields, place):
            fields[place].value = _number(fields, place) + shift


def _number(fields: Fields, number: int) -> int:
    return _value(fields, number, int)


def _items(fields: Fields, number: int) -> Items:
    return _value(fields, number, Items)


def _struct(fields: Fields, number: int) -> Fields:
    return _value(fields, number, dict)


def _structs(fields: Fields, number: int) -> Iterator[Fields]:
    for value in _items(fields, number).values:
        if not isinstance(value, dict):
            message = f"field {number} is not a list of structs"
            raise ValueError(message)
        yield value


def _value(fields: Fields, number: int, kind: type[Held]) -> Held:
    """Return the value of a field; raise ValueError unless it has the type `kind`."""
    value = fields[number].value if number in fields else None
    if not isinstance(value, kind):
        message = f"field {number} is not a {kind.__name__}"
        raise ValueError(message)
    return value


# --- Parquet with new columns: the original bytes, then new column chunks, then a new footer.

# Bytes copied at a time.
_PIECE = 1 << 22
# Length of the footer, and magic number.
_END = 8
# Extending a larger footer takes longer than copying saves.
_LARGEST_FOOTER = 1 << 22


class Original:
    """An open Parquet file whose bytes can be copied to the output.

    Parameters
    ----------
    raw : pyarrow.NativeFile
        The file.
    footer : dict
        The decoded footer of the file.
    end : int
        Byte position where the footer begins.
    name : str
        Name used in messages.
    columns : int
        Number of columns in the file.
    """

    def __init__(self, raw: Any, footer: Fields, end: int, name: str, columns: int) -> None:
        self._raw, self._footer, self._end = raw, footer, end
        self._name, self._columns = name, columns

    @contextmanager
    def appended(self, schema: Any, target: Target, options: dict[str, Any]) -> Iterator[Any]:
        """Copy the file to the output, and yield a pyarrow writer for the new columns.

        At the end of the context, the extended footer is written.

        Parameters
        ----------
        schema : pyarrow.Schema
            Schema of the output, new columns last.
        target : Target
            The output.
        options : dict
            Options of the writer.
        """
        import pyarrow
        from pyarrow import parquet

        for begin in range(0, self._end, _PIECE):
            size = min(_PIECE, self._end - begin)
            data = self._raw.read_at(size, begin)
            if len(data) < size:
                message = f"{self._name} became shorter while it was read: label it again"
                raise TableError(message)
            target.write(memoryview(data))
        added = pyarrow.schema([schema.field(place) for place in range(self._columns, len(schema))])
        sink = _Sink(target)
        plain = {"store_schema": False, "sorting_columns": None, "column_encoding": None}
        all_options = options | plain
        writer = parquet.ParquetWriter(pyarrow.PythonFile(sink, mode="w"), added, **all_options)
        try:
            yield writer
        finally:
            sink.hold()
            writer.close()
        rest, footer = sink.held_back()
        target.write(memoryview(rest))
        extend(self._footer, footer, self._end - len(MAGIC), _schema_keys(schema, options))
        data = tail(self._footer)
        _require_sound(data, schema)
        target.write(memoryview(data))


def original(raw: Any, name: str, columns: int) -> Original | None:
    """Return the open file as an `Original`, or None if its footer cannot be extended."""
    size = raw.size()
    end = raw.read_at(_END, size - _END)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC or length > min(_LARGEST_FOOTER, size - _END):
        return None
    footer = decoded_footer(raw.read_at(length, size - _END - length))
    return None if footer is None else Original(raw, footer, size - _END - length, name, columns)


class _Sink:
    """An output for pyarrow's writer; it drops the magic number and can hold back the footer."""

    closed = False

    def __init__(self, target: Target) -> None:
        self._target, self._head = target, len(MAGIC)
        self._held: bytearray | None = None

    def write(self, data: Any) -> int:
        """Write all bytes, or hold them back if `hold` was called; return their number."""
        view = memoryview(data).cast("B")
        size, skipped = view.nbytes, min(self._head, view.nbytes)
        self._head -= skipped
        if self._held is not None:
            self._held += view[skipped:]
        elif size > skipped:
            self._target.write(view[skipped:])
        return size

    def hold(self) -> None:
        """Hold back all bytes that are written from now on."""
        self._held = bytearray()

    def held_back(self) -> tuple[bytes, Fields]:
        """Return a tuple: the held-back bytes before the footer, and the decoded footer."""
        held = bytes(self._held or b"")
        length = int.from_bytes(held[-_END:-4], "little")
        return held[: -_END - length], Reader(held[-_END - length : -_END]).struct()

    def flush(self) -> None:
        """Do nothing: the output is flushed at the end."""

    def close(self) -> None:
        """Do nothing: whoever opened the output closes it."""


def _schema_keys(schema: Any, options: dict[str, Any]) -> Any:
    """Return the key-value metadata that pyarrow writes for a schema."""
    from pyarrow import BufferOutputStream, parquet

    stream = BufferOutputStream()
    parquet.ParquetWriter(stream, schema, store_schema=options["store_schema"]).close()
    data = stream.getvalue().to_pybytes()
    length = int.from_bytes(data[-_END:-4], "little")
    return keys_of(Reader(data[-_END - length : -_END]).struct())


def _require_sound(data: bytes, schema: Any) -> None:
    """Check with pyarrow that the new footer `data` has the schema's columns."""
    from pyarrow import BufferReader, parquet

    read_back = parquet.ParquetFile(BufferReader(MAGIC + data)).schema_arrow
    if read_back.names != schema.names:
        message = f"the new footer has the columns {read_back.names}, not {schema.names}"
        raise RuntimeError(message)
