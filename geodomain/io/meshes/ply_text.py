"""Reads the rows of text PLY, which are words whatever lines they stand on; no header."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.io.meshes.ply_header import Element, PlyHeader, Property
from geodomain.io.meshes.ply_rows import FACE_LISTS, Columns, Lists, no_rows, short_of
from geodomain.io.meshes.text import floats, integers, not_a_number
from geodomain.io.meshes.text_core import WordReader, reading_words, word_at

_WORD = re.compile(rb"\S+")
_REAL, _WHOLE, _SAME = range(3)  # kinds of words in kernels/text/word_table.h


def read_rows(data: bytes, header: PlyHeader, wanted: set[str], name: str) -> dict[str, Columns]:
    """Return the columns of the wanted elements of a text file."""
    result: dict[str, Columns] = {}
    start = 0
    with reading_words(data, header.data_start) as words:
        for element in header.elements:
            if element.count * len(element.properties) > words.count - start:
                raise short_of(element, name)
            columns, start = _read_element(words, start, element, name)
            if element.name in wanted:
                result[element.name] = columns
    return result


def _read_element(
    words: WordReader, start: int, element: Element, name: str
) -> tuple[Columns, int]:
    """Return the columns of an element of a text file and the word after it."""
    if element.count == 0 or not element.properties:
        return no_rows(element), start
    lengths = _first_lengths(words, start, element, name)
    columns = [
        _Column(p, lengths.get(p.name, 1), _WHOLE if p.name in FACE_LISTS else _REAL)
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
    return _walk_words(words.split(start), element, name, start)


def _first_lengths(words: WordReader, start: int, element: Element, name: str) -> dict[str, int]:
    """Return how long each list of the first row is."""
    lengths: dict[str, int] = {}
    for p in element.properties:
        if not p.length_kind:
            start += 1
            continue
        if start >= words.count:
            raise short_of(element, name)
        found = _WORD.match(words.data, words.place(start))
        text = [found[0]] if found else []
        lengths[p.name] = int(integers(text, name, lambda _: f"a list of '{element.name}'")[0])
        start += 1 + lengths[p.name]
        if lengths[p.name] < 0 or start > words.count:
            raise short_of(element, name)
    return lengths


class _Column(NamedTuple):
    """A property whose lists are all as long as the first; the words of a row it takes."""

    of: Property
    length: int
    kind: int

    @property
    def kinds(self) -> NDArray[np.uint8]:
        head = [_SAME] if self.of.length_kind else []
        return np.array(head + [self.kind] * self.length, dtype=np.uint8)


def _columns_of(cells: NDArray[np.float64], columns: list[_Column]) -> Columns:
    result: Columns = {}
    at = 0
    for column in columns:
        at += 1 if column.of.length_kind else 0
        block = cells[:, at : at + column.length]
        values = np.ascontiguousarray(block).reshape(-1)
        if column.kind == _WHOLE:
            values = values.view(np.int64)
        sizes = np.full(len(cells), column.length, dtype=np.int64)
        result[column.of.name] = Lists(values, sizes) if column.of.length_kind else values
        at += column.length
    return result


def _numbers(
    words: list[bytes], p: Property, name: str, place: Callable[[int], str]
) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return integers where vertices are numbered, the float64 as printed elsewhere."""
    return (integers if p.name in FACE_LISTS else floats)(words, name, place)


def _place(title: str, rows: NDArray[np.int64], number: int) -> str:
    """Say where a word stands."""
    return f"{title} {rows[number] + 1}"


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
            raise short_of(element, name)
    return lengths, places, start


def _walk_words(words: list[bytes], element: Element, name: str, first: int) -> tuple[Columns, int]:
    """Return the columns of a text element whose lists vary in length, and the word after it."""
    start = 0
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
        values = _numbers(found[p.name], p, name, partial(_place, element.name, row))
        counts = np.array(sizes[p.name], dtype=np.int64)
        columns[p.name] = Lists(values, counts) if p.length_kind else values
    return columns, first + start
