"""Reads and writes PLY, text and binary; knows no other format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.mesh import Mesh
from geodomain.meshfiles.faces import Faces
from geodomain.meshfiles.ply_header import Element, Header, Property, read_header
from geodomain.meshfiles.text import floats, integers, truncated

FACE_LISTS = ("vertex_indices", "vertex_index")


@dataclass(frozen=True)
class Lists:
    """A list property: all values one after the other, and the length of each row."""

    values: NDArray[Any]
    sizes: NDArray[np.int64]


Columns = dict[str, Any]


def read(data: bytes, name: str) -> Faces:
    """Return the vertices and faces of a PLY file; other elements are passed over."""
    header = read_header(data, name)
    vertex, face = (_element(header, title, name) for title in ("vertex", "face"))
    read_rows = _read_binary if header.order else _read_text
    columns = read_rows(data, header, {"vertex", "face"}, name)
    vertices = np.empty((vertex.count, 3))
    for axis, title in enumerate("xyz"):
        vertices[:, axis] = columns["vertex"][title]
    lists = next(columns["face"][title] for title in FACE_LISTS if title in columns["face"])
    kinds = {p.kind for p in vertex.properties if p.name in {"x", "y", "z"}}
    single = "f4" in kinds and bool(header.order)
    del face
    return Faces(vertices, lists.values.astype(np.int64), lists.sizes, single)


def _element(header: Header, title: str, name: str) -> Element:
    """Return an element that has what a mesh needs of it."""
    for element in header.elements:
        if element.name == title:
            _require_properties(element, name)
            return element
    message = f"{name} has no element '{title}', so it is no wireframe: export it with its faces"
    raise MeshError(message)


def _require_properties(element: Element, name: str) -> None:
    lists = {p.name for p in element.properties if p.length_kind}
    scalars = {p.name for p in element.properties if not p.length_kind}
    if element.name == "vertex" and not {"x", "y", "z"} <= scalars:
        message = f"the vertices of {name} have no properties x, y and z: export the file again"
        raise MeshError(message)
    if element.name == "face" and not lists & {*FACE_LISTS}:
        message = f"the faces of {name} have no list vertex_indices: export it with its faces"
        raise MeshError(message)


def _read_binary(data: bytes, header: Header, wanted: set[str], name: str) -> dict[str, Columns]:
    """Return the columns of the wanted elements of a binary file."""
    result: dict[str, Columns] = {}
    offset = header.data_start
    for element in header.elements:
        if element.count * element.smallest_row > len(data) - offset:
            raise _short(element, name)
        columns, offset = _read_element(data, offset, element, header.order, name)
        if element.name in wanted:
            result[element.name] = columns
    return result


def _short(element: Element, name: str) -> MeshError:
    return truncated(name, f"{element.count:,} rows of '{element.name}'", "it ends before them")


def _read_element(
    data: bytes, offset: int, element: Element, order: str, name: str
) -> tuple[Columns, int]:
    """Return the columns of an element and the offset after it.

    Rows whose lists are as long as the first row's are one array; only where
    lengths differ is the element walked row by row.
    """
    if element.count == 0 or element.smallest_row == 0:
        return _no_rows(element), offset
    lengths = _walk_row(data, offset, element, order, name)[0]
    row = _row_type(element, order, lengths)
    end = offset + element.count * row.itemsize
    if end <= len(data):
        rows = np.frombuffer(data, dtype=row, count=element.count, offset=offset)
        if all((rows[f"n {title}"] == length).all() for title, length in lengths.items()):
            return _regular_columns(rows, element), end
    return _walk(data, offset, element, order, name)


def _no_rows(element: Element) -> Columns:
    nothing = np.zeros(0, dtype=np.int64)
    return {
        p.name: Lists(nothing, nothing) if p.length_kind else nothing for p in element.properties
    }


def _row_type(element: Element, order: str, lengths: dict[str, int]) -> np.dtype[Any]:
    """Return the type of a row whose lists have these lengths."""
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


def _walk_row(
    data: bytes, offset: int, element: Element, order: str, name: str
) -> tuple[dict[str, int], dict[str, int], int]:
    """Return the list lengths of one row, where each property's values start, and its end."""
    lengths: dict[str, int] = {}
    starts: dict[str, int] = {}
    byte_order = "big" if order == ">" else "little"
    for p in element.properties:
        width = int(p.kind[1])
        count = 1
        if p.length_kind:
            wide = int(p.length_kind[1])
            signed = p.length_kind[0] == "i"
            count = int.from_bytes(data[offset : offset + wide], byte_order, signed=signed)  # type: ignore[arg-type]
            offset += wide
            lengths[p.name] = count
        starts[p.name] = offset
        offset += count * width
        if count < 0 or offset > len(data):
            raise _short(element, name)
    return lengths, starts, offset


def _walk(data: bytes, offset: int, element: Element, order: str, name: str) -> tuple[Columns, int]:
    """Return the columns of an element whose lists vary in length, and the offset after it."""
    sizes: dict[str, list[int]] = {p.name: [] for p in element.properties}
    starts: dict[str, list[int]] = {p.name: [] for p in element.properties}
    for _ in range(element.count):
        lengths, places, offset = _walk_row(data, offset, element, order, name)
        for title, place in places.items():
            starts[title].append(place)
            sizes[title].append(lengths.get(title, 1))
    columns: Columns = {}
    for p in element.properties:
        counts = np.array(sizes[p.name], dtype=np.int64)
        values = _gather(data, np.array(starts[p.name], dtype=np.int64), counts, order + p.kind)
        columns[p.name] = Lists(values, counts) if p.length_kind else values
    return columns, offset


def _gather(
    data: bytes, starts: NDArray[np.int64], counts: NDArray[np.int64], kind: str
) -> NDArray[Any]:
    """Return the values of runs of numbers that start anywhere in the data."""
    width = np.dtype(kind).itemsize
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(starts, counts) + within * width
    raw = np.frombuffer(data, dtype=np.uint8)
    return np.ascontiguousarray(raw[places[:, None] + np.arange(width)]).view(kind).reshape(-1)


def _read_text(data: bytes, header: Header, wanted: set[str], name: str) -> dict[str, Columns]:
    """Return the columns of the wanted elements of a text file."""
    words = data[header.data_start :].split()
    result: dict[str, Columns] = {}
    start = 0
    for element in header.elements:
        width = len(element.properties)
        if element.count * width > len(words) - start:
            raise _short(element, name)
        columns, start = _read_words(words, start, element, name)
        if element.name in wanted:
            result[element.name] = columns
    return result


def _read_words(words: list[bytes], start: int, element: Element, name: str) -> tuple[Columns, int]:
    """Return the columns of an element of a text file and the word after it."""
    if element.count == 0 or not element.properties:
        return _no_rows(element), start
    lengths, _, end = _place_words(words, start, element, name)
    width = end - start
    stop = start + element.count * width
    if stop <= len(words):
        block = _Block(words[start:stop], width, element, name)
        if all(block.all_equal(p, lengths) for p in element.properties if p.length_kind):
            return block.columns(lengths), stop
    return _walk_words(words, start, element, name)


def _place_words(
    words: list[bytes], start: int, element: Element, name: str
) -> tuple[dict[str, int], dict[str, int], int]:
    """Return one row's list lengths, the word where each property starts, and the row's end."""
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
            raise _short(element, name)
    return lengths, places, start


@dataclass(frozen=True)
class _Block:
    """The words of an element whose rows are equally long."""

    words: list[bytes]
    width: int
    element: Element
    name: str

    def _column_starts(self, lengths: dict[str, int]) -> dict[str, int]:
        starts, at = {}, 0
        for p in self.element.properties:
            at += 1 if p.length_kind else 0
            starts[p.name] = at
            at += lengths.get(p.name, 1)
        return starts

    def all_equal(self, p: Property, lengths: dict[str, int]) -> bool:
        """Return whether every row's list is as long as the first row's."""
        place = self._column_starts(lengths)[p.name] - 1
        return self.words[place :: self.width].count(self.words[place]) == self.element.count

    def columns(self, lengths: dict[str, int]) -> Columns:
        result: Columns = {}
        for p in self.element.properties:
            first = self._column_starts(lengths)[p.name]
            count = lengths.get(p.name, 1)
            stacked = [self._numbers(p, first + i) for i in range(count)]
            if not p.length_kind:
                result[p.name] = stacked[0]
                continue
            values = np.stack(stacked, axis=1).reshape(-1) if count else np.zeros(0, np.int64)
            result[p.name] = Lists(values, np.full(self.element.count, count, dtype=np.int64))
        return result

    def _numbers(self, p: Property, first: int) -> NDArray[Any]:
        words = self.words[first :: self.width]
        return _numbers(words, p, self.name, lambda i: f"{self.element.name} {i + 1}")


def _numbers(words: list[bytes], p: Property, name: str, place: Any) -> NDArray[Any]:
    """Return integers where vertices are numbered, the float64 as printed elsewhere."""
    return (integers if p.name in FACE_LISTS else floats)(words, name, place)


def _walk_words(words: list[bytes], start: int, element: Element, name: str) -> tuple[Columns, int]:
    """Return the columns of a text element whose lists vary in length, and the word after it."""
    found: dict[str, list[bytes]] = {p.name: [] for p in element.properties}
    sizes: dict[str, list[int]] = {p.name: [] for p in element.properties}
    for _ in range(element.count):
        lengths, places, start = _place_words(words, start, element, name)
        for title, place in places.items():
            size = lengths.get(title, 1)
            found[title] += words[place : place + size]
            sizes[title].append(size)
    columns: Columns = {}
    for p in element.properties:
        row = np.repeat(np.arange(element.count), sizes[p.name])
        values = _numbers(found[p.name], p, name, lambda i, row=row: f"{element.name} {row[i] + 1}")
        counts = np.array(sizes[p.name], dtype=np.int64)
        columns[p.name] = Lists(values, counts) if p.length_kind else values
    return columns, start


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
