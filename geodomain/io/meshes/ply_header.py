"""Read the header of a PLY file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geodomain.errors import MeshError
from geodomain.io.meshes.text import BYTE_ORDER_MARK

ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
TYPES = {
    "char": "i1",
    "int8": "i1",
    "uchar": "u1",
    "uint8": "u1",
    "short": "i2",
    "int16": "i2",
    "ushort": "u2",
    "uint16": "u2",
    "int": "i4",
    "int32": "i4",
    "uint": "u4",
    "uint32": "u4",
    "int64": "i8",
    "uint64": "u8",
    "float": "f4",
    "float32": "f4",
    "double": "f8",
    "float64": "f8",
}


# More rows than 18 digits count fit into no file, and 5,000 digits into no number of Python's.
_COUNT = re.compile("[0-9]{1,18}")


class Property(NamedTuple):
    """One property: numpy's code of its type, and of its length where it is a list."""

    name: str
    kind: str
    length_kind: str = ""


@dataclass(frozen=True)
class Element:
    """One element: how many rows, and the properties of each."""

    name: str
    count: int
    properties: tuple[Property, ...]

    @property
    def smallest_row(self) -> int:
        """Return the bytes of a binary row whose lists are all empty."""
        return sum(np.dtype(p.length_kind or p.kind).itemsize for p in self.properties)


class PlyHeader(NamedTuple):
    """The byte order ("" for text), the elements, and the offset of the data."""

    order: str
    elements: tuple[Element, ...]
    data_start: int


def read_header(data: bytes, name: str) -> PlyHeader:
    """Return what a PLY file declares.

    Raises
    ------
    MeshError
        If a line cannot be understood, or the header does not end.
    """
    order: str | None = None
    elements: list[tuple[str, int, list[Property]]] = []
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    for number in range(1, 10_000):
        line, start = _next_line(data, start, name)
        words = line.decode("utf-8", "replace").split()
        match [word.lower() for word in words[:2]]:
            case ["end_header", *_]:
                return _header(order, elements, start, name)
            case ["format", form] if form in ORDERS:
                order = ORDERS[form]
            case ["element", _] if len(words) == 3 and _COUNT.fullmatch(words[2]):
                elements.append((words[1].lower(), int(words[2]), []))
            case ["property", _] if elements and (found := _property(words)):
                elements[-1][2].append(found)
            case [] | ["ply", *_] | ["comment", *_] | ["obj_info", *_]:
                pass
            case _:
                message = (
                    f"{name}, line {number}: {' '.join(words)[:60]!r} is no PLY declaration;"
                    " export the file again"
                )
                raise MeshError(message)
    message = f"{name} has no end_header in 10,000 lines: export the file again"
    raise MeshError(message)


def _next_line(data: bytes, start: int, name: str) -> tuple[bytes, int]:
    """Return a line that ends in LF, CR LF or CR, and where the next one starts."""
    feed, carriage = data.find(b"\n", start), data.find(b"\r", start, start + 4096)
    if carriage >= 0 and (feed < 0 or carriage < feed):
        return data[start:carriage], carriage + 1 + (feed == carriage + 1)
    if feed < 0:
        message = f"{name} is cut short: its header does not end; copy or export the file again"
        raise MeshError(message)
    return data[start:feed], feed + 1


def _property(words: list[str]) -> Property | None:
    """Return the property of a line, None where it is not one."""
    lowered = [word.lower() for word in words]
    if len(words) == 3 and lowered[1] in TYPES:
        return Property(lowered[2], TYPES[lowered[1]])
    if len(words) == 5 and lowered[1] == "list" and {*lowered[2:4]} <= TYPES.keys():
        length_kind = TYPES[lowered[2]]
        return (
            Property(lowered[4], TYPES[lowered[3]], length_kind) if length_kind[0] != "f" else None
        )
    return None


def _header(
    order: str | None, elements: list[tuple[str, int, list[Property]]], start: int, name: str
) -> PlyHeader:
    if order is None:
        message = f"{name} does not declare a format that is known: {', '.join(ORDERS)}"
        raise MeshError(message)
    titles = [title for title, *_ in elements]
    if len({*titles}) < len(titles):
        twice = next(title for i, title in enumerate(titles) if title in titles[:i])
        message = f"{name} declares the element {twice!r} twice: export the file again"
        raise MeshError(message)
    for title, _, properties in elements:
        names = [p.name for p in properties]
        if len({*names}) < len(names):
            message = f"{name} declares a property of '{title}' twice: export the file again"
            raise MeshError(message)
    made = tuple(Element(title, count, tuple(properties)) for title, count, properties in elements)
    return PlyHeader(order, made, start)
