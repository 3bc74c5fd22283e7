"""A column of a table's text as conditions ask for it; which conditions there are is elsewhere."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import CoreFunction, core
from geodomain.io.csv.core import exactly
from geodomain.io.header.dialect import cell_text
from geodomain.io.header.encoding import count_line_ends
from geodomain.io.header.layout import TableLayout
from geodomain.io.number_columns import Kind, Refused, read_texts

_BLANKS = np.frombuffer(b" \t", np.uint8)


class TextColumn:
    """One field of the rows that were scanned last; see `geodomain.io.conditions.Column`.

    Parameters
    ----------
    owner : object
        What frees the native table: it stays while the column does.
    handle : ctypes.c_void_p
        The native table.
    text : ndarray of uint8
        What was scanned.
    rows : int
        How many rows were found in it.
    which : int
        The field's place among those that the table keeps.
    layout : TableLayout
        How the table is written.
    field : int
        The field's place among all those of the table.
    line : int
        The physical line where the text starts, from 1.
    """

    def __init__(
        self,
        owner: object,
        handle: ctypes.c_void_p,
        text: NDArray[np.uint8],
        rows: int,
        which: int,
        layout: TableLayout,
        field: int,
        line: int,
    ) -> None:
        self._owner, self._handle, self._text, self._rows = owner, handle, text, rows
        self._which, self._layout, self._line = which, layout, line
        self.rule = layout.numbers.of(layout.names[field])

    def present(self, *, number: bool = False) -> NDArray[np.bool_]:
        """Tell the rows with a value: not empty, nothing that stands for missing.

        The text nan is a value, as of a label; with `number`, for who asks for one, it is none.
        """
        found: NDArray[np.bool_] = self._cells[1] != Kind.MISSING
        if number or found.all():
            return found
        texts, codes = self.spellings()
        there: NDArray[np.bool_] = np.array(
            [not self.rule.is_missing(text.strip()) for text in texts], np.bool_
        )[codes]
        return found | there

    def among(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Tell the rows whose value is one of the texts, quotes and outer blanks left out."""
        words = [text.encode(self._layout.encoding) for text in texts]
        found = np.empty(self._rows, dtype=np.bool_)
        wanted = (ctypes.c_char_p * len(words))(*words)
        self._call("among", self._text, self._which, len(words), wanted, found)
        return found & self.present()

    def numbers(self, *, words: bool = False) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where missing; TableError where a cell is none."""
        numbers, kinds = self._cells
        self.rule.require(kinds, self._said, self._where, words=words)
        return numbers

    def loose_numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where missing or no number."""
        return self._cells[0]

    def tell(self, refused: Refused) -> None:
        """Count the cells that `numbers` refuses."""
        refused.add(self._cells[1], self._said, self._where)

    def below_detection(self) -> int:
        """Count the texts below detection that `numbers` gives a value."""
        return int((self._cells[1] == Kind.BELOW).sum())

    def distinct(self, known: Sequence[str] = ()) -> tuple[list[str], NDArray[np.intp]]:
        """Return the different values as texts, and the place of each row's among them.

        A missing value is an empty text. The texts begin with those that are `known`; each is
        looked for in all the rows at once, so there should be few.
        """
        places = {text: place for place, text in enumerate(known)}
        codes, present = np.full(self._rows, -1, np.intp), self.present()
        if not present.all():
            codes[~present] = places.setdefault("", len(places))
        for text, place in places.items():
            codes[self._spelled(text)] = place
        while (left := np.flatnonzero(codes < 0)).size:
            row = int(left[0])
            text = cell_text(self._field(row), self._layout.encoding).replace('""', '"')
            same = self._spelled(text) & (codes < 0)
            same[row] = True
            codes[same] = places.setdefault(text, len(places))
        return list(places), codes

    def spellings(self) -> tuple[list[str], NDArray[np.intp]]:
        """Return the different texts as the file has them, and the place of each row's among them.

        Quotes around a text and outer blanks are left out; what stands for missing is a text too.
        """
        codes, places = np.empty(self._rows, np.int32), np.empty((self._rows, 2), np.int64)
        count = ctypes.c_int32()
        self._call(
            "spellings", self._text, self._which, codes, places, count,
        )  # fmt: skip
        encoding = self._layout.encoding
        texts = [
            self._text[begin:end].tobytes().decode(encoding, "replace")
            for begin, end in places[: count.value].tolist()
        ]
        return texts, codes.astype(np.intp)

    def padded(self) -> NDArray[np.bool_]:
        """Tell the rows whose text has blanks around it, within quotes or without."""
        places = np.empty((self._rows, 2), np.int64)
        self._call("places", self._which, places)
        begin, end = places.T
        found = np.zeros(self._rows, np.bool_)
        there = np.flatnonzero(end > begin)
        for at in (begin[there], end[there] - 1):
            found[there] |= np.isin(self._text[at], _BLANKS)
        return found

    def _spelled(self, text: str) -> NDArray[np.bool_]:
        """Tell the rows that say a text, in quotes or not: in quotes a quote is there twice."""
        return self.among(list({text, text.replace('"', '""')}))

    @cached_property
    def _cells(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        numbers, kinds = np.empty(self._rows), np.empty(self._rows, np.uint8)
        self._call("column", self._text, self._which, numbers, kinds)
        for row in np.flatnonzero(kinds == Kind.UNSURE).tolist():
            numbers[row], kinds[row] = exactly(self._field(row), self._layout.decimal), Kind.NUMBER
        if self.rule.codes:
            lost = (kinds == Kind.NUMBER) & np.isin(numbers, self.rule.codes)
            numbers[lost], kinds[lost] = math.nan, Kind.MISSING
        infinite = np.isinf(numbers)
        numbers[infinite], kinds[infinite] = math.nan, Kind.INFINITE
        words = kinds == Kind.WORD
        if not {*self._layout.scanned_words} <= self._own_words:
            words |= kinds == Kind.MISSING
        if words.any():
            texts, codes = self.spellings()
            read_numbers, read_kinds = read_texts(texts, codes, self.rule)
            numbers[words], kinds[words] = read_numbers[words], read_kinds[words]
        return numbers, kinds

    @property
    def _own_words(self) -> set[bytes]:
        """The texts that mean a missing value in this column."""
        return {word.encode(self._layout.encoding) for word in self.rule.words}

    def _said(self, row: int) -> str:
        """Return what a row's cell says."""
        text = self._field(row).decode(self._layout.encoding, "replace")
        return text.strip().replace('""', '"')

    def _where(self, row: int) -> str:
        """Say in which physical line a row ends."""
        end = np.empty(2, dtype=np.int64)
        self._call("place", self._which, row, end)
        text = self._text[: int(end[1])].tobytes()
        return f"line {self._line + count_line_ends(text, 0, len(text))}"

    def _field(self, row: int) -> bytes:
        """Return the text of one row's field."""
        place = np.empty(2, dtype=np.int64)
        self._call("place", self._which, row, place)
        begin, end = place.tolist()
        return self._text[begin:end].tobytes()

    def _call(self, name: str, *arguments: object) -> None:
        call: CoreFunction = getattr(core(), f"text_{name}")
        call(self._handle, *arguments)
