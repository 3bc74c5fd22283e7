"""The native text scanner as Python sees it: one table, chunk after chunk; no files."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import CoreFunction, addresses, core
from geodomain.backends.threads import thread_count
from geodomain.errors import TableError
from geodomain.io.csv.core import exactly
from geodomain.io.csv.errors import Fault, Place, sentence
from geodomain.io.csv.reused import ReusedColumns
from geodomain.io.csv.text_column import TextColumn
from geodomain.io.header.encoding import count_line_ends
from geodomain.io.header.layout import TableLayout

PIECE_BYTES = 256 << 10
Bytes = NDArray[np.uint8]


class ScanReport(NamedTuple):
    """Say what a chunk of text holds; the order is that of `report` in text.cpp."""

    rows: int
    consumed: int  # bytes: all whole rows and blank lines
    lines: int  # physical line ends in them
    missing: int  # rows without a centroid
    unsure: int  # numbers that Python must round
    fault: int
    begin: int
    end: int
    line: int  # line ends before `begin`
    last_line: int
    detail: int


class ColumnCells:
    """Hold the cells of one new column as one run of bytes.

    Parameters
    ----------
    vocabulary : sequence of bytes
        What each code says, ready to be written.
    before : bytes
        What goes before each cell, such as the delimiter.
    """

    def __init__(self, vocabulary: Sequence[bytes], before: bytes = b"") -> None:
        cells = [before + cell for cell in vocabulary]
        lengths = np.array([0, *map(len, cells)], dtype=np.int64)
        self.starts = np.cumsum(lengths)
        self.bytes = np.frombuffer(b"".join(cells) or b"\0", dtype=np.uint8)
        self.count = len(cells)


class Scanner:
    """Find the rows and numbers of a table's text, and put new cells into it.

    Parameters
    ----------
    layout : TableLayout
        How the table is written.
    table : str
        What messages call it.
    replaced : int or None
        The field whose cell is rewritten, or None to append cells.
    also : sequence of int
        Other fields that `column` is asked for.
    threads : int or None
        How many threads to use; the result is the same for any number.
    piece_bytes : int or None
        What one thread takes at a time.
    """

    def __init__(
        self,
        layout: TableLayout,
        table: str,
        *,
        replaced: int | None = None,
        also: Sequence[int] = (),
        threads: int | None = None,
        piece_bytes: int | None = None,
    ) -> None:
        self._layout = layout
        self._table = table
        self._wanted = [*layout.xyz, *(layout.sizes or ())]
        names = [layout.names[field] for field in self._wanted]
        marked = {column for column, _ in layout.numbers.missing}
        self._own_missing = [
            (wanted, layout.numbers.of(name).codes)
            for wanted, name in enumerate(names)
            if name in marked
        ]
        self._words = layout.scanned_words
        # Marks of one coordinate, which are words in others: these must be looked at again.
        borrowed = {*self._words} - {*layout.missing_words}
        self._borrowed = [
            (wanted, lent)
            for wanted, name in enumerate(names)
            if (
                lent := borrowed
                - {w.encode(layout.encoding) for w in layout.numbers.of(name).words}
            )
        ]
        looked = [self._wanted[wanted] for wanted, _ in self._borrowed]
        self._also = list(dict.fromkeys([*also, *looked]))
        self._threads = thread_count(threads)
        self._piece_bytes = piece_bytes or PIECE_BYTES
        self._handle = self._open(-1 if replaced is None else replaced)
        self._text: Bytes = np.empty(0, dtype=np.uint8)
        self._found = ScanReport(*[0] * 11)
        self._line = layout.data_line
        self._points, self._sizes = ReusedColumns(), ReusedColumns()
        self.close = weakref.finalize(self, core().text_close, self._handle)

    def scan(self, text: Bytes, *, final: bool) -> ScanReport:
        """Find the whole rows at the start of a text.

        Parameters
        ----------
        text : ndarray of uint8, shape (b,)
            Bytes that follow on what earlier calls consumed. They must stay
            untouched until the rows have been spliced.
        final : bool
            Whether the file ends where the text ends.

        Returns
        -------
        ScanReport
            Rows and bytes that are whole; the rest must come again.

        Raises
        ------
        TableError
            For the first fault in the order of the file: a ragged row, a centroid
            or size that is text or out of range, a quote that is never closed or
            closed amid a field, a NUL byte.
        """
        self._line += self._found.lines
        self._text = text
        out = np.zeros(11, dtype=np.int64)
        self._call(
            "scan", text, text.size, int(final), self._piece_bytes, self._threads, out,
        )  # fmt: skip
        self._found = ScanReport(*out.tolist())
        self._decided = self._decide()
        if self._found.fault:
            raise TableError(self._sentence())
        return self._found

    def follow(self, other: Scanner) -> None:
        """Go on after what another scanner of the table consumed last."""
        self._line = other._line + other._found.lines
        self._found = self._found._replace(lines=0)

    def give_back(self, rest: Bytes) -> None:
        """Leave out the rows at the end of what was consumed, which come again."""
        ends = count_line_ends(rest.tobytes(), 0, rest.size)
        self._found = self._found._replace(lines=self._found.lines - ends)

    def values(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, int]:
        """Return the numbers of the rows that were found.

        Returns
        -------
        points : ndarray of float64, shape (n, 3)
            Centroids, NaN where missing; each column is contiguous.
        sizes : ndarray of float64, shape (n, 3), or None
            Block sizes, NaN where missing.
        missing : int
            How many rows lack a coordinate.
        """
        points = self._points.take(self._found.rows)
        sizes = None if self._layout.sizes is None else self._sizes.take(self._found.rows)
        self._call("values", points.T, None if sizes is None else sizes.T, self._threads)
        missing = self._found.missing
        for row, wanted, value in self._decided:
            before = np.isnan(points[row]).any()  # undecided counts as missing
            (points if wanted < 3 or sizes is None else sizes)[row, wanted % 3] = value
            missing += int(np.isnan(points[row]).any()) - int(before)
        for wanted, codes in self._own_missing:
            numbers = (points if wanted < 3 or sizes is None else sizes)[:, wanted % 3]
            lost = np.isin(numbers, codes)
            if wanted < 3:
                missing += int((lost & ~np.isnan(points).any(axis=1)).sum())
            numbers[lost] = math.nan
        for wanted, lent in self._borrowed:
            numbers = (points if wanted < 3 or sizes is None else sizes)[:, wanted % 3]
            self._refuse(wanted, lent, np.flatnonzero(np.isnan(numbers)))
        return points, sizes, missing

    def _refuse(self, wanted: int, lent: set[bytes], rows: NDArray[np.intp]) -> None:
        """Raise TableError for a text that stands for a missing value in other columns alone."""
        for begin, end in self.places(self._wanted[wanted])[rows].tolist():
            if self._text[begin:end].tobytes().strip() in lent:
                raise TableError(self._sentence_of(Fault.WORD, wanted, begin, end))

    def column(self, field: int) -> TextColumn:
        """Return one of the fields `also` in the rows that were found, before the next scan."""
        which = self._also.index(field)
        return TextColumn(
            self, self._handle, self._text, self._found.rows, which, self._layout, field, self._line
        )

    def places(self, field: int) -> NDArray[np.int64]:
        """Return where one of the fields `also` is in each row, (n, 2), quotes left out."""
        places = np.empty((self._found.rows, 2), dtype=np.int64)
        self._call("places", self._also.index(field), places)
        return places

    def ends(self) -> NDArray[np.int64]:
        """Return where each row ends, before its line end, where cells are appended."""
        ends = np.empty(self._found.rows, dtype=np.int64)
        self._call("ends", ends)
        return ends

    def splice(
        self,
        columns: Sequence[ColumnCells],
        codes: Sequence[NDArray[np.int32]],
        room: Callable[[int], Bytes],
    ) -> Bytes:
        """Return the text that was consumed with new cells in its rows.

        Parameters
        ----------
        columns : sequence of ColumnCells
            The new columns, from left to right.
        codes : sequence of ndarray of int32, shape (n,)
            For each column, the cell of each row.
        room : callable
            Gives an array of at least as many bytes as it is asked for.

        Returns
        -------
        ndarray of uint8
            The start of the array that `room` gave.

        Raises
        ------
        ValueError
            If a code has no cell.
        """
        numbers = [_checked(each, self._found.rows) for each in codes]
        counts = np.array([column.count for column in columns], dtype=np.int32)
        size = ctypes.c_int64()
        self._call(
            "measure", len(columns), addresses(numbers), addresses([c.bytes for c in columns]),
            addresses([c.starts for c in columns]), counts, self._threads, size,
        )  # fmt: skip
        if size.value < 0:
            message = "a label code has no cell in the vocabulary"
            raise ValueError(message)
        out = room(size.value)
        self._call("write", self._text, out)
        return out[: size.value]

    @property
    def line(self) -> int:
        """The physical line where the text that was scanned last starts, from 1."""
        return self._line

    def _open(self, replaced: int) -> ctypes.c_void_p:
        layout = self._layout
        if len(layout.names) < 2:
            message = "a table needs at least two columns"
            raise ValueError(message)
        wanted = np.array(self._wanted, dtype=np.int32)
        missing = np.array(layout.missing, dtype=np.float64)
        also = np.array(self._also, dtype=np.int32)
        words = (ctypes.c_char_p * len(self._words))(*self._words)
        handle = ctypes.c_void_p()
        core().text_open(
            layout.delimiter, layout.decimal, len(layout.names), wanted.size, wanted,
            replaced, missing.size, missing, len(words), words, also.size, also, handle,
        )  # fmt: skip
        return handle

    def _call(self, name: str, *arguments: object) -> None:
        call: CoreFunction = getattr(core(), f"text_{name}")
        call(self._handle, *arguments)

    def _decide(self) -> list[tuple[int, int, float]]:
        """Round what the scanner could not, by exact arithmetic: Python's float."""
        table = np.empty((self._found.unsure, 4), dtype=np.int64)
        self._call("unsure", table)
        decided = []
        for row, wanted, begin, end in table.tolist():
            value = exactly(self._text[begin:end].tobytes(), self._layout.decimal)
            if math.isinf(value):
                raise TableError(self._sentence_of(Fault.RANGE, wanted, begin, end))
            decided.append((row, wanted, math.nan if value in self._layout.missing else value))
        return decided

    def _sentence_of(self, fault: Fault, wanted: int, begin: int, end: int) -> str:
        before = self._text[:begin].tobytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        line = self._line + before.count(b"\n")
        column = self._layout.names[self._wanted[wanted]]
        place = Place(self._table, line, line, self._text[begin:end].tobytes(), column)
        return sentence(fault, place, 0, 0, self._layout.decimal)

    def _sentence(self) -> str:
        found, layout = self._found, self._layout
        fault = Fault(found.fault)
        numeric = fault in (Fault.WORD, Fault.RANGE)
        place = Place(
            self._table,
            self._line + found.line,
            self._line + found.last_line,
            self._text[found.begin : min(found.end, found.begin + 1000)].tobytes(),
            layout.names[self._wanted[found.detail]] if numeric else "",
        )
        return sentence(fault, place, found.detail, len(layout.names), layout.decimal)


def _checked(codes: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    array = np.ascontiguousarray(codes, dtype=np.int32)
    if array.shape != (rows,):
        message = f"labels of shape {array.shape} for {rows} rows"
        raise ValueError(message)
    return array
