"""New fields of a Datamine table: what its first page says of them, and pages that have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.csv.new_columns import NewColumn
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.datamine.definition import (
    ENTRIES,
    ENTRY,
    FIELDS,
    LAST_PAGE,
    LAST_RECORDS,
    MOST,
    USED,
    WORDS,
    Definition,
    Words,
)

_MISSING = -1e30


class NewFields:
    """Fields that records get, or one that is rewritten.

    Parameters
    ----------
    found : Definition
        The table as it is.
    columns : sequence of NewColumn
        With names of up to 8 characters.
    rewritten : str, optional
        The field that the one column is to be rewritten in.
    file : str
        What messages call the table.
    """

    def __init__(
        self, found: Definition, columns: Sequence[NewColumn], rewritten: str | None, file: str
    ) -> None:
        self._found, self._columns, self._file = found, columns, file
        self._old = [] if rewritten is None else found.parts(rewritten)
        text = bool(self._old) and self._old[0].kind == "A"
        if self._old and not text and not columns[0].numeric:
            message = f"{file}: the field {rewritten} holds numbers, not text: name another column"
            raise TableError(message)
        self._cells = [
            self._texts(column, 4 * len(self._old))
            if text or not column.numeric
            else self._numbers(column)
            for column in columns
        ]
        self._is_text = [text or not column.numeric for column in columns]
        self._words = self._placed()
        self.length = max([found.length, *(word for words in self._words for word in words)])
        if self.length > USED or self._count() > MOST:
            message = (
                f"{file} has no room for another field: a table has {MOST} entries and a record "
                f"{USED} words; export fewer fields"
            )
            raise TableError(message)

    @property
    def each(self) -> int:
        """Give the records of a page."""
        return USED // self.length

    def _placed(self) -> list[list[int]]:
        """Give the words of each field in a record, from 1; those that are there stay."""
        last, placed = self._found.length, []
        for cells in self._cells:
            words = [entry.word for entry in self._old]
            for part in range(cells.shape[1]):
                if part >= len(words):
                    words.append(0)
                if not words[part]:
                    last += 1
                    words[part] = last
            placed.append(words)
        return placed

    def _count(self) -> int:
        """Count the entries of the table as it will be."""
        new = sum(map(len, self._words)) - len(self._old)
        return len(self._found.entries) + new

    def _texts(self, column: NewColumn, least: int) -> Words:
        """Give the words that each code stands for, (codes, words, width)."""
        try:
            texts = [cell.encode("latin-1") for cell in column.cells]
            column.name.encode("latin-1")
        except UnicodeEncodeError as error:
            message = f"{self._file}: Datamine's Latin-1 text cannot hold {error.object!r}"
            raise TableError(message) from None
        length = -(-max(4, least, *map(len, texts)) // 4) * 4
        letters = b"".join(text.ljust(length) for text in texts)
        words = np.full((len(texts), length // 4, self._found.width), ord(" "), np.uint8)
        words[:, :, :4] = np.frombuffer(letters, np.uint8).reshape(len(texts), -1, 4)
        return words

    def _numbers(self, column: NewColumn) -> Words:
        values = [float(cell) if cell else _MISSING for cell in column.cells]
        return self._raw(values).reshape(-1, 1, self._found.width)

    def _raw(self, values: Sequence[float]) -> NDArray[np.uint8]:
        return np.array(values, self._found.number).view(np.uint8)

    def head(self, page: bytes) -> bytes:
        """Give the first page with the new entries and counts."""
        width = self._found.width
        words = np.frombuffer(page, np.uint8).reshape(WORDS, width).copy()
        places = [n for n, entry in enumerate(self._found.entries) if entry in self._old]
        number = len(self._found.entries)
        for column, text, stands in zip(self._columns, self._is_text, self._words, strict=True):
            for part, word in enumerate(stands, 1):
                known = [n for n in places if self._found.entries[n].part == part]
                if known:  # the entry is there: it may become one that is stored
                    words[FIELDS + ENTRY * known[0] + 3] = self._raw([float(word)])
                    continue
                name = self._old[0].name if self._old else column.name
                at = FIELDS + ENTRY * number
                words[at : at + ENTRY] = self._entry(name, text, word, part, column.default)
                number += 1
        count = self._found.count
        pages = -(-count // self.each)
        words[ENTRIES] = self._raw([float(number)])
        words[LAST_PAGE] = self._raw([float(1 + pages)])
        words[LAST_RECORDS] = self._raw([float(count - (pages - 1) * self.each if pages else 0)])
        return words.tobytes()

    def _entry(self, name: str, text: bool, word: int, part: int, default: str) -> Words:
        """Give the words of an entry."""
        padded, fallback = name.encode("latin-1").ljust(8), default.encode("latin-1", "replace")
        letters = [padded[:4], padded[4:8], b"A   " if text else b"N   ", b"", b"", b"    "]
        entry = np.full((ENTRY, self._found.width), ord(" "), np.uint8)
        for row, four in enumerate(letters):
            entry[row, :4] = np.frombuffer(four.ljust(4), np.uint8)
        entry[3], entry[4] = self._raw([float(word)]), self._raw([float(part)])
        if text:
            four = fallback[4 * part - 4 : 4 * part].ljust(4)
            entry[6, :4] = np.frombuffer(four, np.uint8)
        else:
            entry[6] = self._raw([float(default) if default else _MISSING])
        return entry

    def pages(self, records: Words, codes: Sequence[NewCells]) -> bytes:
        """Give pages of the records (n, length, width) with their new words.

        Numbers of the records' own have the precision of the table.

        The code after the last leaves a record's words as they are.
        """
        width, count = self._found.width, len(records)
        pages = -(-count // self.each)
        out = np.zeros((pages, WORDS, width), np.uint8)
        wide = np.zeros((pages * self.each, self.length, width), np.uint8)
        wide[:count, : self._found.length] = records
        for column, cells, words, given, text in zip(
            self._columns, self._cells, self._words, codes, self._is_text, strict=True
        ):
            if column.measured:
                numbers = np.where(np.isnan(given), _MISSING, given)
                raw = numbers.astype(self._found.number).view(np.uint8)
                wide[:count, words[0] - 1] = raw.reshape(count, width)
                continue
            each = given.astype(np.int32, copy=False)
            kept = np.flatnonzero(each == len(cells))
            before = wide[kept]
            for part, word in enumerate(words):
                wide[:count, word - 1] = cells[np.minimum(each, len(cells) - 1), part]
                wide[kept, word - 1] = self._kept(before, part, word, text)
        out[:, : self.each * self.length] = wide.reshape(pages, -1, width)
        return out.tobytes()

    def _kept(self, before: Words, part: int, word: int, text: bool) -> Words | int:
        """Give the words that a kept field has: its own, its default, or blanks beyond its end."""
        if part >= len(self._old):
            return ord(" ")
        if self._old[part].word:
            return before[:, word - 1]
        return np.frombuffer(self._old[part].default, np.uint8)
