"""Reads the rows of binary PLY, in either byte order; no text, no header."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from geodomain.io.meshes.ply_header import Element, PlyHeader
from geodomain.io.meshes.ply_rows import Columns, Lists, no_rows, short_of


def read_rows(data: bytes, header: PlyHeader, wanted: set[str], name: str) -> dict[str, Columns]:
    """Return the columns of the wanted elements of a binary file."""
    result: dict[str, Columns] = {}
    offset = header.data_start
    for element in header.elements:
        if element.count * element.smallest_row > len(data) - offset:
            raise short_of(element, name)
        columns, offset = _read_element(data, offset, element, header.order, name)
        if element.name in wanted:
            result[element.name] = columns
    return result


def _read_element(
    data: bytes, offset: int, element: Element, order: str, name: str
) -> tuple[Columns, int]:
    """Return the columns of an element and the offset after it.

    Rows whose lists are as long as the first row's are one array; only where
    lengths differ is the element walked row by row.
    """
    if element.count == 0 or element.smallest_row == 0:
        return no_rows(element), offset
    lengths = _walk_row(data, offset, element, order, name)[0]
    row = _row_type(element, order, lengths)
    end = offset + element.count * row.itemsize
    if end <= len(data):
        rows = np.frombuffer(data, dtype=row, count=element.count, offset=offset)
        if all((rows[f"n {title}"] == length).all() for title, length in lengths.items()):
            return _regular_columns(rows, element), end
    return _walk(data, offset, element, order, name)


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
            raise short_of(element, name)
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
