"""Thrift's compact protocol, in which Parquet keeps its footer: bytes to a tree and back.

https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md. Fields keep their
numbers and order, known or not, so that what was read is written again as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

TRUE, FALSE, BYTE, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 5, 6, 7, 8, 9, 10, 12
_INTEGERS = range(4, 7)

Value = Union[int, bytes, "Items", "Fields"]


@dataclass
class Field:
    """A value and its kind."""

    kind: int
    value: Value


Fields = dict[int, Field]


@dataclass
class Items:
    """A list of values of one kind."""

    kind: int
    values: list[Value]


class Reader:
    """What is read from bytes; ValueError or IndexError where they are no such tree."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self) -> Fields:
        """Read fields up to their end."""
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
        if kind in (TRUE, FALSE, BYTE):  # the former in lists alone
            return self._byte()
        if kind == DOUBLE:
            return self._bytes(8)
        message = f"kind {kind} is none of Parquet's"
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
            message = "the bytes end before the tree"
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
    """Give the bytes of a tree."""
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
