"""Footers of Parquet: which can be extended, and one with the columns of another after its own.

https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift has the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar

from geodomain.io.blocks.thrift import STRUCT, Field, Fields, Items, Reader, encoded

MAGIC = b"PAR1"
Held = TypeVar("Held")
# Of FileMetaData. Those of encryption come after them.
_SCHEMA, _ROWS, _GROUPS, _KEYS, _ORDERS = 2, 3, 4, 5, 7
_FILE_FIELDS = range(1, 8)
# Of KeyValue, and which of them tell what columns there are.
_KEY, _OF_COLUMNS = 1, (b"ARROW:schema", b"pandas")
# Of SchemaElement and of RowGroup.
_CHILDREN, _COLUMNS, _BYTES, _GROUP_ROWS, _COMPRESSED = 5, 1, 2, 3, 6
# Of ColumnChunk: the file it is in, if that is another, its places and its metadata; of
# ColumnMetaData: its places.
_ELSEWHERE, _METADATA, _CHUNK_PLACES, _ENCRYPTION = 1, 3, (2, 4, 6), (8, 9)
_METADATA_PLACES = (9, 10, 11, 14)
# A writer of pyarrow's splits groups of more rows.
_MOST_ROWS = 1 << 26


def known(data: bytes) -> Fields | None:
    """Give a footer that can be extended; None for what is unusual.

    That is one which is not written again as it was read, which is encrypted, keeps columns in
    other files, or has groups that are empty or very large.
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
    """Put the columns of another file after those of a footer.

    Parameters
    ----------
    footer, other : dict
        Of the file and of one that has other columns of the same rows in the same groups.
    shift : int
        By how much the other file's bytes have moved.
    keys : Field, optional
        What a file of all the columns has: what it says of them takes the place of the file's own.
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
    """Give the keys of a footer, those of its columns renewed, and others after them."""
    renewed = dict(_keys({_KEYS: new}))
    kept = _keys(old)
    values = [renewed.get(key, each) if key in _OF_COLUMNS else each for key, each in kept]
    known = dict(kept)
    return Field(
        new.kind, Items(STRUCT, [*values, *(renewed[key] for key in renewed if key not in known)])
    )


def _keys(footer: Fields) -> list[tuple[bytes, Fields]]:
    """Give the keys of a footer, and each with its value."""
    given = _structs(footer, _KEYS) if _KEYS in footer else ()
    return [(_held(each, _KEY, bytes), each) for each in given]


def keys_of(footer: Fields) -> Field | None:
    """Give the keys and values of a footer."""
    return footer.get(_KEYS)


def tail(footer: Fields) -> bytes:
    """Give the last bytes of a file."""
    data = encoded(footer)
    return data + len(data).to_bytes(4, "little") + MAGIC


def _move(fields: Fields, places: tuple[int, ...], shift: int) -> None:
    """Move places in the file; 0 stands for none."""
    for place in places:
        if place in fields and _number(fields, place):
            fields[place].value = _number(fields, place) + shift


def _number(fields: Fields, number: int) -> int:
    return _held(fields, number, int)


def _items(fields: Fields, number: int) -> Items:
    return _held(fields, number, Items)


def _struct(fields: Fields, number: int) -> Fields:
    return _held(fields, number, dict)


def _structs(fields: Fields, number: int) -> Iterator[Fields]:
    for value in _items(fields, number).values:
        if not isinstance(value, dict):
            message = f"field {number} is no list of structs"
            raise ValueError(message)
        yield value


def _held(fields: Fields, number: int, kind: type[Held]) -> Held:
    """Give a field's value, which has to be there and of a kind."""
    value = fields[number].value if number in fields else None
    if not isinstance(value, kind):
        message = f"field {number} is no {kind.__name__}"
        raise ValueError(message)
    return value
