"""Reads and writes PLY, text and binary: a header that declares elements, then their rows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError, counted
from geodomain.formats.mesh_text import (
    WordReader,
    WordType,
    floats,
    integers,
    not_a_number,
    reading_words,
    truncated,
    word_at,
)
from geodomain.formats.registry import BYTE_ORDER_MARK
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces

_ORDERS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
_TYPES = {
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


# No file holds more rows than 18 digits can count, and Python limits the digits it parses.
_COUNT = re.compile("[0-9]{1,18}")
_FACE_LISTS = ("vertex_indices", "vertex_index")
_WORD = re.compile(rb"\S+")


def read(data: bytes, path: Path) -> Faces:
    """Return the vertices and faces of a PLY file; skip its other elements."""
    name = path.name
    header = _read_header(data, name)
    vertex, _ = (_element(header, title, name) for title in ("vertex", "face"))
    if any(element.name == "tristrips" and element.count for element in header.elements):
        message = f"{name} has triangle strips (tristrips), which are not read: export it as faces"
        raise MeshError(message)
    read_rows = _binary_rows if header.order else _text_rows
    columns = read_rows(data, header, {"vertex", "face"}, name)
    vertices = np.empty((vertex.count, 3))
    for axis, title in enumerate("xyz"):
        vertices[:, axis] = columns["vertex"][title]
    lists = next(columns["face"][title] for title in _FACE_LISTS if title in columns["face"])
    kinds = {p.kind for p in vertex.properties if p.name in {"x", "y", "z"}}
    single = "f4" in kinds and bool(header.order)
    return Faces(vertices, lists.values.astype(np.int64), lists.sizes, single)


def _element(header: PlyHeader, title: str, name: str) -> Element:
    """Return the element `title`, after checking that it has the properties of a mesh."""
    for element in header.elements:
        if element.name == title:
            _require_properties(element, name)
            return element
    message = (
        f"{name} has no element '{title}', so it is not a wireframe: export the wireframe's faces "
        "too"
    )
    raise MeshError(message)


def _require_properties(element: Element, name: str) -> None:
    lists = {p.name for p in element.properties if p.length_kind}
    scalars = {p.name for p in element.properties if not p.length_kind}
    if element.name == "vertex" and not {"x", "y", "z"} <= scalars:
        message = f"the vertices of {name} have no properties x, y and z: export the file again"
        raise MeshError(message)
    if element.name == "face" and not lists & {*_FACE_LISTS}:
        message = (
            f"the faces of {name} have no list vertex_indices: export the wireframe with its faces"
        )
        raise MeshError(message)
    if any(p.kind[0] == "f" for p in element.properties if p.name in _FACE_LISTS):
        message = (
            f"the faces of {name} refer to vertices by floating-point numbers: export it again"
        )
        raise MeshError(message)


# --- Header ---


class Property(NamedTuple):
    """A property of an element: the type of its values and, if it is a list, of the list's length.

    The types are NumPy's.
    """

    name: str
    kind: str
    length_kind: str = ""


@dataclass(frozen=True)
class Element:
    """An element, such as vertex: its number of rows and the properties of each row."""

    name: str
    count: int
    properties: tuple[Property, ...]

    @property
    def smallest_row(self) -> int:
        """The number of bytes of a binary row whose lists are all empty."""
        return sum(np.dtype(p.length_kind or p.kind).itemsize for p in self.properties)


class PlyHeader(NamedTuple):
    """A header: byte order ("" for text), elements, and byte offset of the data."""

    order: str
    elements: tuple[Element, ...]
    data_start: int


def _read_header(data: bytes, name: str) -> PlyHeader:
    """Parse the header of a PLY file.

    Raises
    ------
    MeshError
        If a line is invalid, or the header does not end.
    """
    order: str | None = None
    elements: list[tuple[str, int, list[Property]]] = []
    start = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    for number in range(1, 10_000):
        line, start = _next_line(data, start, name)
        words = line.decode("utf-8", "replace").split()
        match [word.lower() for word in words[:2]]:
            case ["end_header", *_]:
                return _checked_header(order, elements, start, name)
            case ["format", form] if form in _ORDERS:
                order = _ORDERS[form]
            case ["element", _] if len(words) == 3 and _COUNT.fullmatch(words[2]):
                elements.append((words[1].lower(), int(words[2]), []))
            case ["property", _] if elements and (parsed := _property(words)):
                elements[-1][2].append(parsed)
            case [] | ["ply", *_] | ["comment", *_] | ["obj_info", *_]:
                pass
            case _:
                message = (
                    f"{name}, line {number}: {' '.join(words)[:60]!r} is not a PLY declaration; "
                    "export the file again"
                )
                raise MeshError(message)
    message = f"{name} has no end_header in 10,000 lines: export the file again"
    raise MeshError(message)


def _next_line(data: bytes, start: int, name: str) -> tuple[bytes, int]:
    """Return a tuple: the line at an offset, without its line end, and the next line's offset."""
    feed, carriage = data.find(b"\n", start), data.find(b"\r", start, start + 4096)
    if carriage >= 0 and (feed < 0 or carriage < feed):
        return data[start:carriage], carriage + 1 + (feed == carriage + 1)
    if feed < 0:
        message = f"{name} is cut short: its header does not end; copy or export the file again"
        raise MeshError(message)
    return data[start:feed], feed + 1


def _property(words: list[str]) -> Property | None:
    """Parse the words of a property line; None if they are invalid."""
    lowered = [word.lower() for word in words]
    if len(words) == 3 and lowered[1] in _TYPES:
        return Property(lowered[2], _TYPES[lowered[1]])
    if len(words) == 5 and lowered[1] == "list" and {*lowered[2:4]} <= _TYPES.keys():
        length_kind = _TYPES[lowered[2]]
        return (
            Property(lowered[4], _TYPES[lowered[3]], length_kind) if length_kind[0] != "f" else None
        )
    return None


def _checked_header(
    order: str | None, elements: list[tuple[str, int, list[Property]]], start: int, name: str
) -> PlyHeader:
    if order is None:
        formats = ", ".join(_ORDERS)
        message = f"{name} declares none of the formats {formats}: export the file again"
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


# --- Rows ---


class Lists(NamedTuple):
    """The values of a list property, row after row, and the length of each row's list."""

    values: NDArray[Any]
    sizes: NDArray[np.int64]


Columns = dict[str, Any]


def _no_rows(element: Element) -> Columns:
    """Return empty columns for an element without rows."""
    nothing = np.zeros(0, dtype=np.int64)
    return {
        p.name: Lists(nothing, nothing) if p.length_kind else nothing for p in element.properties
    }


def _short_of(element: Element, name: str) -> MeshError:
    """Return the error for a file that ends within the rows of an element."""
    promised = f"{counted(element.count, 'row')} of '{element.name}'"
    return truncated(name, promised, "the file ends before the last of them")


# --- Binary rows ---


def _binary_rows(data: bytes, header: PlyHeader, wanted: set[str], name: str) -> dict[str, Columns]:
    """Return the columns of the wanted elements of a binary file."""
    result: dict[str, Columns] = {}
    offset = header.data_start
    for element in header.elements:
        if element.count * element.smallest_row > len(data) - offset:
            raise _short_of(element, name)
        columns, offset = _binary_element(data, offset, element, header.order, name)
        if element.name in wanted:
            result[element.name] = columns
    return result


def _binary_element(
    data: bytes, offset: int, element: Element, order: str, name: str
) -> tuple[Columns, int]:
    """Return the columns of an element, and the byte offset after the element.

    If all lists are as long as in the first row, the rows are read as one array. Otherwise the
    element is read row by row.
    """
    if element.count == 0 or element.smallest_row == 0:
        return _no_rows(element), offset
    lengths = _binary_row(data, offset, element, order, name)[0]
    row = _row_type(element, order, lengths)
    end = offset + element.count * row.itemsize
    if end <= len(data):
        rows = np.frombuffer(data, dtype=row, count=element.count, offset=offset)
        if all((rows[f"n {title}"] == length).all() for title, length in lengths.items()):
            return _regular_columns(rows, element), end
    return _walk_binary(data, offset, element, order, name)


def _row_type(element: Element, order: str, lengths: dict[str, int]) -> np.dtype[Any]:
    """Return the NumPy type of a binary row, given the length of each list by property."""
    fields: list[tuple[Any, ...]] = []
    for p in element.properties:
        if p.length_kind:
            fields.append((f"n {p.name}", order + p.length_kind))
            fields.append((p.name, order + p.kind, (lengths[p.name],)))
        else:
            fields.append((p.name, order + p.kind))
    return np.dtype(fields)


def _regular_columns(rows: NDArray[Any], element: Element) -> Columns:
    columns: Columns = {}
    for p in element.properties:
        values = rows[p.name]
        if p.length_kind:
            sizes = np.full(len(rows), values.shape[1], dtype=np.int64)
            columns[p.name] = Lists(values.reshape(-1), sizes)
        else:
            columns[p.name] = values
    return columns


def _binary_row(
    data: bytes, offset: int, element: Element, order: str, name: str
) -> tuple[dict[str, int], dict[str, int], int]:
    """Return a tuple for a row: list lengths by property, offsets by property, and its end.

    Offsets and the end are byte positions in the file; an offset is that of the property's values.
    """
    lengths: dict[str, int] = {}
    starts: dict[str, int] = {}
    byte_order: Literal["big", "little"] = "big" if order == ">" else "little"
    for p in element.properties:
        width = int(p.kind[1])
        count = 1
        if p.length_kind:
            wide = int(p.length_kind[1])
            signed = p.length_kind[0] == "i"
            count = int.from_bytes(data[offset : offset + wide], byte_order, signed=signed)
            offset += wide
            lengths[p.name] = count
        starts[p.name] = offset
        offset += count * width
        if count < 0 or offset > len(data):
            raise _short_of(element, name)
    return lengths, starts, offset


def _walk_binary(
    data: bytes, offset: int, element: Element, order: str, name: str
) -> tuple[Columns, int]:
    """Return the columns of an element with varying list lengths, and the byte offset after it."""
    sizes: dict[str, list[int]] = {p.name: [] for p in element.properties}
    starts: dict[str, list[int]] = {p.name: [] for p in element.properties}
    for _ in range(element.count):
        lengths, places, offset = _binary_row(data, offset, element, order, name)
        for title, place in places.items():
            starts[title].append(place)
            sizes[title].append(lengths.get(title, 1))
    columns: Columns = {}
    for p in element.properties:
        counts = np.array(sizes[p.name], dtype=np.int64)
        values = _gathered(data, np.array(starts[p.name], dtype=np.int64), counts, order + p.kind)
        columns[p.name] = Lists(values, counts) if p.length_kind else values
    return columns, offset


def _gathered(
    data: bytes, starts: NDArray[np.int64], counts: NDArray[np.int64], kind: str
) -> NDArray[Any]:
    """Return the numbers of type `kind` at several byte offsets, `counts` numbers at each."""
    width = np.dtype(kind).itemsize
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(starts, counts) + within * width
    raw = np.frombuffer(data, dtype=np.uint8)
    return np.ascontiguousarray(raw[places[:, None] + np.arange(width)]).view(kind).reshape(-1)


# --- Text rows ---


def _text_rows(data: bytes, header: PlyHeader, wanted: set[str], name: str) -> dict[str, Columns]:
    """Return the columns of the wanted elements of a text file."""
    result: dict[str, Columns] = {}
    start = 0
    with reading_words(data, header.data_start) as words:
        for element in header.elements:
            if element.count * len(element.properties) > words.count - start:
                raise _short_of(element, name)
            columns, start = _text_element(words, start, element, name)
            if element.name in wanted:
                result[element.name] = columns
    return result


def _text_element(
    words: WordReader, start: int, element: Element, name: str
) -> tuple[Columns, int]:
    """Return the columns of an element of a text file, and the index of the next word."""
    if element.count == 0 or not element.properties:
        return _no_rows(element), start
    lengths = _first_lengths(words, start, element, name)
    columns = [
        _Column(
            p, lengths.get(p.name, 1), WordType.WHOLE if p.name in _FACE_LISTS else WordType.REAL
        )
        for p in element.properties
    ]
    kinds = np.concatenate([column.kinds for column in columns])
    stop = start + element.count * len(kinds)
    if stop <= words.count:
        cells = np.empty((element.count, len(kinds)))
        fault, row, begin, end = words.read(start, kinds, cells)
        if fault in (1, 2):
            place = f"{name}, {element.name} {row + 1}"
            raise not_a_number(place, word_at(words.data, begin, end), whole=fault == 2)
        if fault == 0:
            return _columns_of(cells, columns), stop
    return _walk_text(words.split(start), element, name, start)


def _first_lengths(words: WordReader, start: int, element: Element, name: str) -> dict[str, int]:
    """Return the length of each list in the first row, by property."""
    lengths: dict[str, int] = {}
    for p in element.properties:
        if not p.length_kind:
            start += 1
            continue
        if start >= words.count:
            raise _short_of(element, name)
        match = _WORD.match(words.data, words.place(start))
        text = [match[0]] if match else []
        lengths[p.name] = int(integers(text, name, lambda _: f"a list of '{element.name}'")[0])
        start += 1 + lengths[p.name]
        if lengths[p.name] < 0 or start > words.count:
            raise _short_of(element, name)
    return lengths


class _Column(NamedTuple):
    """A property of a text element in which each list has as many values as in the first row."""

    of: Property
    length: int
    kind: int

    @property
    def kinds(self) -> NDArray[np.uint8]:
        head = [WordType.SAME] if self.of.length_kind else []
        return np.array(head + [self.kind] * self.length, dtype=np.uint8)


def _columns_of(cells: NDArray[np.float64], columns: list[_Column]) -> Columns:
    result: Columns = {}
    at = 0
    for column in columns:
        at += 1 if column.of.length_kind else 0
        block = cells[:, at : at + column.length]
        values = np.ascontiguousarray(block).reshape(-1)
        if column.kind == WordType.WHOLE:
            values = values.view(np.int64)
        sizes = np.full(len(cells), column.length, dtype=np.int64)
        result[column.of.name] = Lists(values, sizes) if column.of.length_kind else values
        at += column.length
    return result


def _numbers(
    words: list[bytes], p: Property, name: str, place: Callable[[int], str]
) -> NDArray[np.int64] | NDArray[np.float64]:
    """Parse the words of a property: vertex numbers as integers, everything else as float64."""
    return (integers if p.name in _FACE_LISTS else floats)(words, name, place)


def _place(title: str, rows: NDArray[np.int64], number: int) -> str:
    """Return the element and the row, counted from 1, of value `number`, for a message."""
    return f"{title} {rows[number] + 1}"


def _text_row(
    words: list[bytes], start: int, element: Element, name: str
) -> tuple[dict[str, int], dict[str, int], int]:
    """Return a tuple for a row: list lengths by property, first words by property, and its end.

    First words and the end are indices of words; the end is where the next row begins.
    """
    lengths: dict[str, int] = {}
    places: dict[str, int] = {}
    for p in element.properties:
        count = 1
        if p.length_kind and start < len(words):
            count = int(integers([words[start]], name, lambda _: f"a list of '{element.name}'")[0])
            lengths[p.name] = count
            start += 1
        places[p.name] = start
        start += count
        if count < 0 or start > len(words):
            raise _short_of(element, name)
    return lengths, places, start


def _walk_text(words: list[bytes], element: Element, name: str, first: int) -> tuple[Columns, int]:
    """Return the columns of a text element with varying list lengths, and the next word's index."""
    start = 0
    texts: dict[str, list[bytes]] = {p.name: [] for p in element.properties}
    sizes: dict[str, list[int]] = {p.name: [] for p in element.properties}
    for _ in range(element.count):
        lengths, places, start = _text_row(words, start, element, name)
        for title, place in places.items():
            size = lengths.get(title, 1)
            texts[title] += words[place : place + size]
            sizes[title].append(size)
    columns: Columns = {}
    for p in element.properties:
        row = np.repeat(np.arange(element.count), sizes[p.name])
        values = _numbers(texts[p.name], p, name, partial(_place, element.name, row))
        counts = np.array(sizes[p.name], dtype=np.int64)
        columns[p.name] = Lists(values, counts) if p.length_kind else values
    return columns, first + start


# --- Writing ---


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write little-endian binary PLY in double precision."""
    file.write(
        b"ply\nformat binary_little_endian 1.0\ncomment geodomain\n"
        b"element vertex %d\nproperty double x\nproperty double y\nproperty double z\n"
        b"element face %d\nproperty list uchar int vertex_indices\nend_header\n"
        % (len(mesh.vertices), len(mesh.triangles))
    )
    file.write(np.ascontiguousarray(mesh.vertices, dtype="<f8").data)
    rows = np.empty(len(mesh.triangles), dtype=[("size", "u1"), ("corners", "<i4", 3)])
    rows["size"] = 3
    rows["corners"] = mesh.triangles
    file.write(rows.data)
