"""Reads the rows of text PLY, which are words whatever lines they stand on; no header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from geodomain.io.meshes.ply_header import Element, PlyHeader, Property
from geodomain.io.meshes.ply_rows import FACE_LISTS, Columns, Lists, no_rows, short_of
from geodomain.io.meshes.text import floats, integers


def read_rows(data: bytes, header: PlyHeader, wanted: set[str], name: str) -> dict[str, Columns]:
    """Return the columns of the wanted elements of a text file."""
    words = data[header.data_start :].split()
    result: dict[str, Columns] = {}
    start = 0
    for element in header.elements:
        width = len(element.properties)
        if element.count * width > len(words) - start:
            raise short_of(element, name)
        columns, start = _read_words(words, start, element, name)
        if element.name in wanted:
            result[element.name] = columns
    return result


def _read_words(words: list[bytes], start: int, element: Element, name: str) -> tuple[Columns, int]:
    """Return the columns of an element of a text file and the word after it."""
    if element.count == 0 or not element.properties:
        return no_rows(element), start
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
            raise short_of(element, name)
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

    def _numbers(self, p: Property, first: int) -> NDArray[np.int64] | NDArray[np.float64]:
        words = self.words[first :: self.width]
        return _numbers(words, p, self.name, lambda i: f"{self.element.name} {i + 1}")


def _numbers(
    words: list[bytes], p: Property, name: str, place: Callable[[int], str]
) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return integers where vertices are numbered, the float64 as printed elsewhere."""
    return (integers if p.name in FACE_LISTS else floats)(words, name, place)


def _place(title: str, rows: NDArray[np.int64], number: int) -> str:
    """Say where a word stands."""
    return f"{title} {rows[number] + 1}"


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
        values = _numbers(found[p.name], p, name, partial(_place, element.name, row))
        counts = np.array(sizes[p.name], dtype=np.int64)
        columns[p.name] = Lists(values, counts) if p.length_kind else values
    return columns, start
