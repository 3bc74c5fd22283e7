"""Scan text tables with the compiled scanner: chunks of rows, their numbers and errors."""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
import weakref
from collections.abc import Callable, Generator, Iterator, Sequence
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bytes
from geodomain.compute.native import CoreFunction, addresses, core, thread_count
from geodomain.errors import TableError, counted
from geodomain.files.pipeline import HEADROOM, Ahead, Block, ByteSource, Reader, fill
from geodomain.progress import Progress
from geodomain.tables.dialect import count_line_ends, decoded
from geodomain.tables.layout import TableLayout
from geodomain.tables.numbers import BLANKS, WHOLE, Kind, Refused, loses_digits, read_texts


def read_number(text: bytes, decimal: bytes = b".") -> float | None:
    """Return the number in a field, rounded to the nearest double.

    Parameters
    ----------
    text : bytes
        The field, without its quotes; blanks around it are ignored.
    decimal : bytes
        The decimal mark.

    Returns
    -------
    float or None
        NaN if the field is empty or reads NaN; None if it is another text; infinity if the number
        is out of range.

    Examples
    --------
    >>> read_number(b" 2296021.10 ")
    2296021.1
    >>> read_number(b"1,5e3", b",")
    1500.0
    """
    value = ctypes.c_double()
    reading = core().text_number(text, len(text), decimal, value)
    if reading == 4:
        return exactly(text, decimal)
    return (value.value, math.nan, None, math.inf)[reading]


def exactly(text: bytes, decimal: bytes) -> float:
    """Return the number in a field as Python reads it, rounded to the nearest double."""
    return float(text.replace(decimal, b".").lower().replace(b"d", b"e"))


# Memory for the columns of each chunk.


class ReusedColumns:
    """Arrays of three columns that use the same memory for chunk after chunk.

    The system clears new memory page by page, which takes longer than filling it. If the last array
    or a view of it is still referenced, the next array gets new memory.

    Examples
    --------
    >>> columns = ReusedColumns()
    >>> first = columns.take(4)
    >>> first.shape, first.flags.f_contiguous
    ((4, 3), True)
    >>> second = columns.take(4)
    >>> np.shares_memory(first, second)
    False
    """

    def __init__(self) -> None:
        self._room = np.empty(0)
        self._alone = self._holders()

    def take(self, rows: int) -> NDArray[np.float64]:
        """Return an uninitialised array (rows, 3) whose columns are contiguous."""
        size = 3 * rows
        if self._room.size < size or self._holders() != self._alone:
            self._room = np.empty(size + size // 8)
        return self._room[:size].reshape(3, rows).T

    def _holders(self) -> int:
        """Return the number of references to the memory; every array made by `take` holds one."""
        return sys.getrefcount(self._room)


# Error messages about rows.

SNIPPET = 40


class Fault(IntEnum):
    """Kinds of errors that the scanner reports, with the same numbers as in dialect.h."""

    NONE = 0
    RAGGED = 1
    WORD = 2
    RANGE = 3
    UNCLOSED = 4
    NUL = 5
    JUNK = 6


class Place(NamedTuple):
    """Position of an error in a table."""

    table: str
    line: int  # 1-based physical line in which the text starts
    last_line: int  # physical line in which the text ends
    text: bytes
    column: str = ""
    named: str = ""  # the position in words, if it is not a line


def sentence(fault: Fault, place: Place, count: int, due: int, decimal: bytes) -> str:
    """Return an error message: fault, position and remedy.

    Parameters
    ----------
    fault : Fault
        Kind of error.
    place : Place
        Position of the error.
    count, due : int
        For a ragged row, the numbers of fields in the row and in the header.
    decimal : bytes
        The decimal mark of the table.

    Returns
    -------
    str
        One or two sentences.
    """
    where = f"{place.table}, {place.named or f'line {place.line}'}"
    match fault:
        case Fault.RAGGED:
            fields = counted(count, "field")
            return (
                f"{where}: the row has {fields}, but the header has {due}. Correct the row; a "
                "field that contains the delimiter must be in double quotes."
            )
        case Fault.WORD:
            return (
                f"{where}: {place.column} is {_quoted(place.text)}, which is not a number"
                f"{_hint(place.text, decimal)}. Correct the cell, or, if it stands for a missing "
                f"value, use missing={_quoted(place.text.strip())}."
            )
        case Fault.RANGE:
            return (
                f"{where}: {place.column} is {_quoted(place.text)}, which is beyond the range "
                "of a number. Correct the cell, or leave it empty."
            )
        case Fault.UNCLOSED:
            return (
                f"{where}: the quote that opens the field {_quoted(place.text)} is never "
                "closed. Close or remove the quote."
            )
        case Fault.NUL:
            return (
                f"{where}: there is a NUL byte, so the file is damaged or not plain text. "
                "Export the table again as CSV in UTF-8."
            )
        case Fault.JUNK:
            return (
                f"{where}: the quoted field {_quoted(place.text)}{_closed(place)} is followed by "
                "text before the next delimiter. Double the quotes within the field, or put the "
                "closing quote at the end of the field."
            )
        case Fault.NONE:
            return ""


def too_long(table: str, line: int, limit: int) -> str:
    """Return the error message for a row above the length limit."""
    return (
        f"{table}, line {line}: the row that starts there is longer than {limit >> 20} MB. "
        "Check that the file is a table with line endings."
    )


def _quoted(text: bytes) -> str:
    """Return the start of a field in quotes, shortened to one line."""
    shown = text[: 4 * SNIPPET].decode("utf-8", "replace")
    return repr(shown if len(shown) <= SNIPPET else shown[: SNIPPET - 3] + "...")


def _hint(text: bytes, decimal: bytes) -> str:
    other = b"," if decimal == b"." else b"."
    if other not in text or text.strip(b" \t+-.,0123456789eE"):
        return ""
    mark = f" because the decimal mark is {decimal.decode()!r}, without thousands separators"
    return f"{mark} (decimal='{other.decode()}' chooses the other mark)"


def _closed(place: Place) -> str:
    return "" if place.line == place.last_line else f", closed in line {place.last_line},"


# A column of text, for conditions.

_BLANKS = np.frombuffer(b" \t", np.uint8)


class TextColumn:
    """One field of the rows in the last scan; see `geodomain.tables.conditions.Column`.

    Parameters
    ----------
    owner : object
        Object that frees the native table; the column holds a reference to it.
    handle : ctypes.c_void_p
        The native table.
    text : ndarray of uint8
        The scanned text.
    rows : int
        Number of rows in the text.
    which : int
        Index of the field among the fields that the native table keeps.
    layout : TableLayout
        Format of the table.
    field : int
        Index of the field among all fields of the table.
    line : int
        Number, counted from 1, of the physical line in which the text starts.
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
        """Return the mask of rows that have a value: no empty cell and no missing-value mark.

        The text nan counts as a value, because it may be a label. If `number` is true, nan counts
        as missing.
        """
        mask: NDArray[np.bool_] = self._cells[1] != Kind.MISSING
        if number or mask.all():
            return mask
        texts, codes = self.spellings()
        there: NDArray[np.bool_] = np.array(
            [not self.rule.is_missing(text.strip(BLANKS)) for text in texts], np.bool_
        )[codes]
        return mask | there

    def among(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Return the mask of rows whose value is one of the texts.

        Quotes and outer blanks of the value are ignored.
        """
        words = [text.encode(self._layout.encoding) for text in texts]
        mask = np.empty(self._rows, dtype=np.bool_)
        wanted = (ctypes.c_char_p * len(words))(*words)
        self._call("among", self._text, self._which, len(words), wanted, mask)
        return mask & self.present()

    def numbers(self, *, words: bool = False) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where missing; raise TableError for invalid cells."""
        numbers, kinds = self._cells
        self.rule.require(kinds, self.text_of, self._where, words=words)
        return numbers

    def loose_numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, with NaN where a value is missing or not a number."""
        return self._cells[0]

    def loses_digits(self) -> bool:
        """Return whether float64 would change a whole number in the column, such as a long id."""
        if not (np.abs(self._cells[0]) > WHOLE).any():
            return False
        return any(map(loses_digits, self.spellings()[0]))

    def tell(self, refused: Refused) -> None:
        """Add to `refused` the column's cells that are neither numbers nor missing."""
        refused.add(self._cells[1], self.text_of, self._where)

    def below_detection(self) -> int:
        """Count the cells below detection, such as <0.01, for which `numbers` assumes a value."""
        return int((self._cells[1] == Kind.BELOW).sum())

    def cells(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the number in each cell (NaN if the cell is not a number), and the `Kind`."""
        return self._cells

    def distinct(self, earlier: Sequence[str] = ()) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct values as texts, and for each row the index of its value.

        A missing value counts as the empty text. The list of texts begins with `earlier`.
        """
        places = {text: place for place, text in enumerate(earlier)}
        codes, present = np.empty(self._rows, np.intp), self.present()
        if not present.all():
            codes[~present] = places.setdefault("", len(places))
        spelled, spellings = self.spellings()
        there = np.zeros(len(spelled), np.bool_)
        there[spellings[present]] = True
        here = np.zeros(len(spelled), np.intp)
        for spelling in np.flatnonzero(there).tolist():
            text = spelled[spelling].replace('""', '"')
            here[spelling] = places.setdefault(text, len(places))
        codes[present] = here[spellings[present]]
        return list(places), codes

    def spellings(self) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct texts as in the file, and the index of each row's text.

        Quotes around a text and outer blanks are removed. Missing-value marks are texts too.
        """
        codes, places = np.empty(self._rows, np.int32), np.empty((self._rows, 2), np.int64)
        count = ctypes.c_int32()
        self._call(
            "spellings", self._text, self._which, codes, places, count,
        )  # fmt: skip
        encoding = self._layout.encoding
        texts = [
            decoded(self._text[begin:end].tobytes(), encoding)
            for begin, end in places[: count.value].tolist()
        ]
        return texts, codes.astype(np.intp)

    def padded(self) -> NDArray[np.bool_]:
        """Return the mask of rows whose text begins or ends with blanks, even inside quotes."""
        places = np.empty((self._rows, 2), np.int64)
        self._call("places", self._which, places)
        begin, end = places.T
        mask = np.zeros(self._rows, np.bool_)
        there = np.flatnonzero(end > begin)
        for at in (begin[there], end[there] - 1):
            mask[there] |= np.isin(self._text[at], _BLANKS)
        return mask

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

    def text_of(self, row: int) -> str:
        """Return the text of a row's cell, for a message."""
        text = self._field(row).decode(self._layout.encoding, "replace")
        return text.strip(BLANKS).replace('""', '"')

    def _where(self, row: int) -> str:
        """Return the line in which a row ends, such as "line 12", for a message."""
        end = np.empty(2, dtype=np.int64)
        self._call("place", self._which, row, end)
        text = self._text[: int(end[1])].tobytes()
        line = self._line + count_line_ends(text, 0, len(text))
        return self._layout.place(line, self.rule.name)

    def _field(self, row: int) -> bytes:
        """Return the text of one row's field."""
        place = np.empty(2, dtype=np.int64)
        self._call("place", self._which, row, place)
        begin, end = place.tolist()
        return self._text[begin:end].tobytes()

    def _call(self, name: str, *arguments: object) -> None:
        call: CoreFunction = getattr(core(), f"text_{name}")
        call(self._handle, *arguments)


# The scanner.

PIECE_BYTES = 256 << 10


class ScanReport(NamedTuple):
    """Result of scanning a chunk of text; the fields are in the order of `report` in text.cpp."""

    rows: int
    consumed: int  # bytes: all whole rows and blank lines
    lines: int  # physical line ends in these bytes
    missing: int  # rows without a centroid
    unsure: int  # numbers that Python must round
    fault: int
    begin: int
    end: int
    line: int  # line ends before `begin`
    last_line: int
    detail: int


class ColumnCells:
    """The distinct cells of one new column, as one array of bytes.

    Parameters
    ----------
    vocabulary : sequence of bytes
        The cell of each code, encoded and quoted.
    before : bytes
        Bytes to write before each cell, such as the delimiter.
    """

    def __init__(self, vocabulary: Sequence[bytes], before: bytes = b"") -> None:
        cells = [before + cell for cell in vocabulary]
        lengths = np.array([0, *map(len, cells)], dtype=np.int64)
        self.starts = np.cumsum(lengths)
        self.bytes = np.frombuffer(b"".join(cells) or b"\0", dtype=np.uint8)
        self.count = len(cells)


class Scanner:
    """Find the rows and numbers in the text of a table, and insert new cells.

    Parameters
    ----------
    layout : TableLayout
        Format of the table.
    table : str
        Name of the table in messages.
    replaced : int or None
        The field whose cells are rewritten, or None to append cells.
    also : sequence of int
        Indices of the fields, besides coordinates and sizes, that `column` can return.
    threads : int or None
        Number of threads; the result is the same for any number.
    piece_bytes : int or None
        Bytes that one thread scans at a time.
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
        # Missing-value marks of one coordinate are words in the others, which are checked again.
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
        self._report = ScanReport(*[0] * 11)
        self._line = layout.data_line
        self._points, self._sizes = ReusedColumns(), ReusedColumns()
        self.close = weakref.finalize(self, core().text_close, self._handle)

    def scan(self, text: Bytes, *, final: bool) -> ScanReport:
        """Find the complete rows at the start of a text.

        Parameters
        ----------
        text : ndarray of uint8, shape (b,)
            The bytes after those that earlier calls consumed. They must not change before
            `splice` is called.
        final : bool
            Whether the file ends where the text ends.

        Returns
        -------
        ScanReport
            Numbers of complete rows and of their bytes. The text of the next call must begin after
            these bytes.

        Raises
        ------
        TableError
            For the first fault in the order of the file: a ragged row, a centroid or size that is
            text or out of range, a quote that is not closed or is closed within a field, a NUL
            byte.
        """
        self._line += self._report.lines
        self._text = text
        out = np.zeros(11, dtype=np.int64)
        self._call(
            "scan", text, text.size, int(final), self._piece_bytes, self._threads, out,
        )  # fmt: skip
        self._report = ScanReport(*out.tolist())
        self._decided = self._decide()
        if self._report.fault:
            raise TableError(self._sentence())
        return self._report

    def follow(self, other: Scanner) -> None:
        """Continue the line count of `other`, after the text that `other` scanned last."""
        self._line = other._line + other._report.lines
        self._report = self._report._replace(lines=0)

    def give_back(self, rest: Bytes) -> None:
        """Subtract the lines of `rest` from the line count.

        `rest` holds rows at the end of the scanned text. The next text begins with these rows.
        """
        ends = count_line_ends(rest.tobytes(), 0, rest.size)
        self._report = self._report._replace(lines=self._report.lines - ends)

    def values(self) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, int]:
        """Return the numbers in the scanned rows.

        Returns
        -------
        points : ndarray of float64, shape (n, 3)
            Centroids, NaN where missing; each column is contiguous.
        sizes : ndarray of float64, shape (n, 3), or None
            Block sizes, NaN where missing.
        missing : int
            Number of rows that lack a coordinate.
        """
        points = self._points.take(self._report.rows)
        sizes = None if self._layout.sizes is None else self._sizes.take(self._report.rows)
        self._call("values", points.T, None if sizes is None else sizes.T, self._threads)
        missing = self._report.missing
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
        """Raise TableError for a cell whose text means a missing value only in other columns."""
        for begin, end in self.places(self._wanted[wanted])[rows].tolist():
            if self._text[begin:end].tobytes().strip() in lent:
                raise TableError(self._sentence_of(Fault.WORD, wanted, begin, end))

    def column(self, field: int) -> TextColumn:
        """Return a field of the scanned rows as a column; `field` is one of `also`.

        The column is valid until the next scan.
        """
        which = self._also.index(field)
        return TextColumn(
            self,
            self._handle,
            self._text,
            self._report.rows,
            which,
            self._layout,
            field,
            self._line,
        )

    def places(self, field: int) -> NDArray[np.int64]:
        """Return the byte range of a field in each row, (n, 2), without quotes.

        `field` is one of `also`.
        """
        places = np.empty((self._report.rows, 2), dtype=np.int64)
        self._call("places", self._also.index(field), places)
        return places

    def ends(self) -> NDArray[np.int64]:
        """Return the byte offset (n,) at which each row ends, before its line end."""
        ends = np.empty(self._report.rows, dtype=np.int64)
        self._call("ends", ends)
        return ends

    def splice(
        self,
        columns: Sequence[ColumnCells],
        codes: Sequence[NDArray[np.int32]],
        room: Callable[[int], Bytes],
    ) -> Bytes:
        """Return the consumed text with new cells in its rows.

        Parameters
        ----------
        columns : sequence of ColumnCells
            The new columns, from left to right.
        codes : sequence of ndarray of int32, shape (n,)
            For each column, the code of each row's cell.
        room : callable
            Returns an array of at least the requested number of bytes.

        Returns
        -------
        ndarray of uint8
            The start of the array that `room` returned.

        Raises
        ------
        ValueError
            If a code has no cell.
        """
        numbers = [_checked(each, self._report.rows) for each in codes]
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
        """Number, counted from 1, of the physical line in which the last scanned text starts."""
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
        """Return (row, column, value) for each number that the scanner could not round exactly.

        Python's float rounds these numbers. `column` counts centroid and size columns from 0.
        """
        table = np.empty((self._report.unsure, 4), dtype=np.int64)
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
        named = self._layout.place(line, column)
        place = Place(self._table, line, line, self._text[begin:end].tobytes(), column, named)
        return sentence(fault, place, 0, 0, self._layout.decimal)

    def _sentence(self) -> str:
        report, layout = self._report, self._layout
        fault = Fault(report.fault)
        numeric = fault in (Fault.WORD, Fault.RANGE)
        line = self._line + report.line
        column = layout.names[self._wanted[report.detail]] if numeric else ""
        place = Place(
            self._table,
            line,
            self._line + report.last_line,
            self._text[report.begin : min(report.end, report.begin + 1000)].tobytes(),
            column,
            layout.place(line, column),
        )
        return sentence(fault, place, report.detail, len(layout.names), layout.decimal)


def _checked(codes: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    array = np.ascontiguousarray(codes, dtype=np.int32)
    if array.shape != (rows,):
        message = f"labels have shape {array.shape}, but there are {rows} rows"
        raise ValueError(message)
    return array


# A table in chunks of whole rows.

CHUNK_BYTES = 4 << 20
LONGEST_ROW = 64 << 20
LONGEST_BLANK = 64 << 20  # bytes of blank lines; a small compressed file may hold gigabytes


class TextChunks:
    """Read a table from its first byte: its header lines, then chunks of rows.

    Parameters
    ----------
    source : binary file
        The file, which must have `readinto`. Its `position` and `size` are used if they exist.
    scanner : Scanner
        Scanner of the table.
    name : str
        Name of the table in messages.
    """

    def __init__(self, source: ByteSource, scanner: Scanner, name: str) -> None:
        self._source, self._scanner, self._name = source, scanner, name
        self._tail: Bytes = np.empty(0, dtype=np.uint8)
        self.bytes_read = self._blank = 0

    def head(self, size: int) -> bytes:
        """Read the bytes before the first row of data."""
        head = bytearray(size)
        self.bytes_read = fill(self._source, memoryview(head))
        return bytes(head[: self.bytes_read])

    def chunks(
        self, chunk_bytes: int, progress: Progress | None
    ) -> Iterator[tuple[Bytes, ScanReport, bool]]:
        """Yield each chunk's text, its scan report, and whether it is the last chunk."""
        reader = Reader(self._source, min(chunk_bytes, LONGEST_ROW))
        try:
            for block in reader.blocks():
                text, report = self._scan(block, self._scanner)
                if report.consumed:
                    yield text, report, block.final
                if progress is not None:
                    progress(*self._progress())
        finally:
            reader.stop()

    def ahead(
        self, other: Scanner, chunk_bytes: int, progress: Progress | None
    ) -> Generator[tuple[Scanner, ScanReport], None, None]:
        """Yield a scanner and its report for each chunk, while a thread scans the next chunk.

        Two scanners of the table take turns. Each result is valid until the next result is
        requested.
        """
        reader = Reader(self._source, min(chunk_bytes, LONGEST_ROW))
        scanners = itertools.cycle([(self._scanner, other), (other, self._scanner)])

        def scan(block: Block) -> tuple[Block, Scanner, ScanReport]:
            scanner, last = next(scanners)
            scanner.follow(last)
            return block, scanner, self._scan(block, scanner)[1]

        ahead = Ahead(reader.held_blocks(), scan)
        try:
            for block, scanner, report in ahead.results():
                if report.consumed:
                    yield scanner, report
                reader.give(block)
                if progress is not None:
                    progress(*self._progress())
        finally:
            reader.stop()
            ahead.stop()

    def give_back(self, rest: Bytes) -> None:
        """Put back rows at the end of the last text, so that the next text begins with them."""
        self._scanner.give_back(rest)
        self._tail = np.concatenate([rest, self._tail])

    def _scan(self, block: Block, scanner: Scanner) -> tuple[Bytes, ScanReport]:
        """Scan a buffer of the file, preceded by the bytes that remain from the previous buffer.

        Return the scanned text and its scan report.
        """
        text = self._text(block)
        self.bytes_read += block.end - HEADROOM
        report = scanner.scan(text, final=block.final)
        self._blank = 0 if report.rows else self._blank + report.consumed
        if self._blank > LONGEST_BLANK:
            message = (
                f"{self._name}, line {scanner.line}: more than {LONGEST_BLANK >> 20} MB of blank "
                "lines come before this line. Remove the blank lines; if no rows follow, cut the "
                "file after the last row"
            )
            raise TableError(message)
        self._tail = text[report.consumed :].copy()
        if self._tail.size > LONGEST_ROW:
            self._refuse_tail(scanner)
        return text, report

    def _text(self, block: Block) -> Bytes:
        """Return the bytes that remain from the previous buffer, then the bytes of `block`."""
        begin = HEADROOM - self._tail.size
        if begin < 0:
            return np.concatenate([self._tail, block.buffer[HEADROOM : block.end]])
        block.buffer[begin:HEADROOM] = self._tail
        return block.buffer[begin : block.end]

    def _refuse_tail(self, scanner: Scanner) -> None:
        """Raise TableError for a row that is too long.

        The cause is an open quote, or a file without line ends.
        """
        scanner.scan(self._tail, final=True)
        message = too_long(self._name, scanner.line, LONGEST_ROW)
        raise TableError(message)

    def _progress(self) -> tuple[int, int | None]:
        size = getattr(self._source, "size", None)
        done = getattr(self._source, "position", None)
        return (self.bytes_read if done is None else done), size
