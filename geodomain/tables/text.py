"""Write columns as lines of text, and copy text tables with new cells."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.native import addresses, core, thread_count
from geodomain.errors import TableError, counted
from geodomain.files.pipeline import ByteSource, Target, Writer
from geodomain.progress import Progress
from geodomain.tables.dialect import cell_text, count_line_ends
from geodomain.tables.layout import TableLayout
from geodomain.tables.scanner import (
    CHUNK_BYTES,
    ColumnCells,
    Scanner,
    ScanReport,
    TextChunks,
    TextColumn,
)

Column = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.int32]

_ROWS = 1 << 16


def lines_of(
    columns: Sequence[Column],
    delimiter: bytes = b",",
    decimal: bytes = b".",
    threads: int | None = None,
) -> Iterator[memoryview]:
    r"""Yield the rows of columns as lines of text, many at a time.

    Parameters
    ----------
    columns : sequence of (n,) float64 or integers
        At least one column; all have the same length.
    delimiter, decimal : bytes
        One byte each.
    threads : int, optional
        Number of threads. [default: all cores]

    Yields
    ------
    memoryview
        Lines that end in "\n", valid until the next lines are requested. A float has the fewest
        digits that read back as the same number, as in Python's `repr`; NaN is an empty field.

    Examples
    --------
    >>> import numpy as np
    >>> [bytes(piece) for piece in lines_of([np.array([7]), np.array([0.1])])]
    [b'7,0.1\n']
    """
    rows, size = len(columns[0]), ctypes.c_int64()
    whole = np.array([column.dtype.kind != "f" for column in columns], np.int32)
    room = core().text_row_room(len(columns))
    text = np.empty(min(rows, _ROWS) * room, np.uint8)
    for begin in range(0, rows, _ROWS):
        some = [
            column[begin : begin + _ROWS].astype(np.int64 if integers else np.float64, copy=False)
            for column, integers in zip(columns, whole.tolist(), strict=True)
        ]
        steps = np.array([column.strides[0] for column in some], np.int64)
        core().text_rows(
            len(some),
            addresses(some),
            whole,
            steps,
            len(some[0]),
            delimiter,
            decimal,
            thread_count(threads),
            text,
            size,
        )
        yield text.data[: size.value]


# Numbers as cells: the fewest digits that read back as the same number, with the table's mark.

# Values of a new column, (n,): codes of cells, or numbers, where NaN is an empty cell.
NewCells = NDArray[np.uint8] | NDArray[np.int32] | NDArray[np.float64]


def number_cells(
    values: NDArray[np.float64], layout: TableLayout
) -> tuple[list[bytes], NDArray[np.int32]]:
    """Return the distinct numbers as cells, empty for NaN, and the index of each row's cell."""
    numbers, codes = np.unique(values, return_inverse=True)
    mark = layout.decimal
    text = b"".join(map(bytes, lines_of([numbers], decimal=mark)))
    cells = text.replace(mark + b"0\n", b"\n").split(b"\n")[:-1]
    if mark == layout.delimiter:
        cells = [b'"' + cell + b'"' if mark in cell else cell for cell in cells]
    return cells, codes.reshape(-1).astype(np.int32)


# A table copied with new cells, in one pass and bounded memory.

LabelChunk = Callable[
    [NDArray[np.float64], NDArray[np.float64] | None, Callable[[int], TextColumn]],
    Sequence[NewCells],
]


@dataclass(frozen=True)
class Splice:
    """Changes to the text of a table.

    Parameters
    ----------
    head : tuple of (start, end, replacement)
        Edits of the bytes before the first data row. If start equals end, the replacement is
        inserted.
    vocabulary : tuple of tuples of bytes
        The cells that codes stand for in each new column, encoded and quoted.
    replace : int, optional
        Index of the column whose cells the only new column replaces; by default cells are appended
        to each row.
    numbered : tuple of int
        Indices of the new columns that hold numbers instead of codes.
    """

    head: tuple[tuple[int, int, bytes], ...]
    vocabulary: tuple[tuple[bytes, ...], ...]
    replace: int | None = None
    numbered: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse to replace one column by several."""
        if self.replace is not None and len(self.vocabulary) != 1:
            message = "only one new column can replace a column"
            raise ValueError(message)


class StreamSummary(NamedTuple):
    """Counts: rows, rows without a centroid, bytes read and bytes written."""

    rows: int
    missing: int
    bytes_read: int
    bytes_written: int


def relabel(
    source: ByteSource,
    target: Target | None,
    layout: TableLayout,
    splice: Splice,
    label: LabelChunk,
    *,
    also: Sequence[int] = (),
    threads: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    progress: Progress | None = None,
    before_commit: Callable[[], None] | None = None,
) -> StreamSummary:
    """Copy a table with new cells in each row; all other bytes stay the same.

    Parameters
    ----------
    source : binary file
        The table from its first byte, such as from `open_source`. The file must have `readinto`.
        Its `name`, `position` and `size` are used if they exist.
    target : binary file or None
        The output, such as from `open_target`; None writes nothing.
    layout : TableLayout
        Format of the table, and where its data start.
    splice : Splice
        Changes to the header lines, and the cells of new columns.
    label : callable
        Called with world centroids (n, 3), NaN where missing; block sizes (n, 3) or None; and a
        function that returns one of the fields `also` as a `TextColumn`. Returns, for each new
        column, n int32 codes into the vocabulary, or n float64 for a column of numbers.
    also : sequence of int, optional
        Indices of the fields, besides coordinates and sizes, that `label` uses.
    threads : int, optional
        Number of threads that read the text; it does not change the output.
    chunk_bytes : int, optional
        Bytes that are read at a time; it does not change the output.
    progress : callable, optional
        Called with the bytes done and the total bytes, or None if the total is unknown.
    before_commit : callable, optional
        Called when everything is written; an exception in it abandons the output.

    Returns
    -------
    StreamSummary
        Numbers of rows, of rows without a centroid, of bytes read and written.

    Raises
    ------
    TableError
        For the first row that cannot be read, with its line and a remedy.
    ValueError
        If the number of codes differs from the number of rows, or a code has no cell.
    """
    if chunk_bytes < 1:
        message = f"chunk_bytes must be positive, not {chunk_bytes!r}"
        raise ValueError(message)
    stream = _Relabelling(source, target, layout, splice, label, also, threads)
    stream.run(chunk_bytes, progress)
    if before_commit is not None:
        before_commit()
    return stream.summary()


class _Relabelling:
    """State of one call of `relabel`: its scanners, its new columns and its counts."""

    def __init__(
        self,
        source: ByteSource,
        target: Target | None,
        layout: TableLayout,
        splice: Splice,
        label: LabelChunk,
        also: Sequence[int],
        threads: int | None,
    ) -> None:
        before = layout.delimiter if splice.replace is None else b""
        self._target, self._label = target, label
        self._layout, self._head = layout, splice.head
        self._name = name = str(getattr(source, "name", "the table"))
        self._before = before
        self._columns = [ColumnCells(cells, before) for cells in splice.vocabulary]
        self._numbered = splice.numbered
        self._scanners = [
            Scanner(layout, name, replaced=splice.replace, also=also, threads=threads)
            for _ in range(2)
        ]
        self._chunks = TextChunks(source, self._scanners[0], name)
        self._rows = self._missing = self._written = 0

    def summary(self) -> StreamSummary:
        return StreamSummary(self._rows, self._missing, self._chunks.bytes_read, self._written)

    def run(self, chunk_bytes: int, progress: Progress | None) -> None:
        head = edit(self._chunks.head(self._layout.data_start), self._head)
        writer = None if self._target is None else Writer(self._target)
        try:
            if writer is not None:
                writer.put(head)
            chunks = self._chunks.ahead(self._scanners[1], chunk_bytes, progress)
            with contextlib.closing(chunks):
                for scanner, report in chunks:
                    self._label_chunk(scanner, report, writer)
            if writer is not None:
                writer.finish()
                self._written = writer.bytes_written
        finally:
            for scanner in self._scanners:
                scanner.close()
            if writer is not None:
                writer.stop()

    def _label_chunk(self, scanner: Scanner, report: ScanReport, writer: Writer | None) -> None:
        points, sizes, missing = scanner.values()
        self._rows += report.rows
        self._missing += missing
        sizes = self._layout.frame.sized(points, sizes)
        before = self._rows - report.rows

        def where(row: int, place: int) -> str:
            layout = self._layout
            column = layout.names[[*layout.xyz, *(layout.sizes or ())][place]]
            return f"{self._name}, row {before + row + 1:,}: {column}"

        centroids = self._layout.frame.centroids(points, sizes, where)
        labels = self._label(centroids, sizes, scanner.column)
        if len(labels) != len(self._columns):
            message = (
                f"{counted(len(labels), 'label column')} for "
                f"{counted(len(self._columns), 'new column')}; give one label column for each"
            )
            raise ValueError(message)
        if writer is not None:
            columns, codes = self._coded(labels)
            writer.send(scanner.splice(columns, codes, writer.room))

    def _coded(
        self, labels: Sequence[NewCells]
    ) -> tuple[list[ColumnCells], list[NDArray[np.int32]]]:
        """Return, for each new column, its distinct cells, and the code of each row's cell.

        For a column of numbers, the cells are made from the numbers of each chunk.
        """
        columns = list(self._columns)
        codes: list[NDArray[np.int32]] = []
        for place, each in enumerate(labels):
            if place in self._numbered:
                texts, which = number_cells(each.astype(np.float64, copy=False), self._layout)
                columns[place] = ColumnCells(texts, self._before)
                codes.append(which)
            else:
                codes.append(each.astype(np.int32, copy=False))
        return columns, codes


def edit(head: bytes, edits: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Return a table's header lines with edits; insertions at the same byte stay in order."""
    parts, at = [], 0
    for start, end, replacement in sorted(edits, key=lambda each: each[:2]):
        if not at <= start <= end <= len(head):
            message = (
                f"the edit of bytes {start} to {end} overlaps another edit or reaches beyond the "
                "header lines"
            )
            raise ValueError(message)
        parts += [head[at:start], replacement]
        at = end
    return b"".join([*parts, head[at:]])


# A whole table in memory.

Edits = Sequence[tuple[int, int, bytes]]
_MOST = 2**32 - 1  # bytes of a text that the scanner accepts


class TextRows:
    """The rows of a table whose whole text is in memory.

    Parameters
    ----------
    text : bytes
        The file, decompressed, from its first byte.
    layout : TableLayout
        Format of the file; `xyz` may be empty.
    name : str
        Name of the file in messages.
    fields : sequence of int
        Fields that the methods will use.
    threads : int, optional
        Number of scanning threads.
    """

    def __init__(
        self,
        text: bytes,
        layout: TableLayout,
        name: str,
        fields: Sequence[int],
        *,
        threads: int | None = None,
    ) -> None:
        if len(text) > _MOST:
            message = f"{name} is larger than 4 GB: split it into files with fewer holes"
            raise TableError(message)
        self.text, self.layout, self.name = text, layout, name
        self._body = np.frombuffer(text, np.uint8)[layout.data_start :]
        self._scanner = Scanner(layout, name, also=list(dict.fromkeys(fields)), threads=threads)
        self.count = self._scanner.scan(self._body, final=True).rows

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.count

    def column(self, field: int) -> TextColumn:
        """Return a field as a column for conditions."""
        return self._scanner.column(field)

    def cell(self, field: int, row: int) -> bytes:
        """Return the bytes of one cell, without its quotes."""
        begin, end = self._scanner.places(field)[row].tolist()
        return self._body[begin:end].tobytes()

    def texts(self, field: int) -> tuple[NDArray[np.intp], list[str]]:
        """Return a tuple: the index of each row's text, and the distinct texts of a field.

        The rows of a hole mostly follow each other, so each row is first compared, as bytes, with
        the row before.
        """
        places = self._scanner.places(field)
        if not len(places):
            return np.empty(0, np.intp), []
        first = _run_starts(self._body, places)
        numbers: dict[str, int] = {}
        codes = np.empty(len(first), np.intp)
        for run, (begin, end) in enumerate(places[first].tolist()):
            text = cell_text(self._body[begin:end].tobytes(), self.layout.encoding)
            codes[run] = numbers.setdefault(text.replace('""', '"'), len(numbers))
        lengths = np.diff(np.append(first, len(places)))
        return np.repeat(codes, lengths), list(numbers)

    def spelled(self, field: int) -> list[str]:
        """Return the text of a field in each row, without quotes and outer blanks."""
        body, encoding = self._body.tobytes(), self.layout.encoding
        places = self._scanner.places(field).tolist()
        return [cell_text(body[begin:end], encoding) for begin, end in places]

    def line(self, row: int) -> int:
        """Return the number, counted from 1, of the physical line in which a row ends."""
        end = int(self._scanner.ends()[row])
        return self.layout.data_line + count_line_ends(self._body[:end].tobytes(), 0, end)

    def lines(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the numbers, counted from 1, of the physical lines in which rows end."""
        ends = self._scanner.ends()[rows]
        order = np.argsort(ends, kind="stable")
        lines = np.empty(len(rows), np.int64)
        body, line, at = self._body, self.layout.data_line, 0
        for place, end in zip(order.tolist(), ends[order].tolist(), strict=True):
            piece = body[at:end].tobytes()
            line += count_line_ends(piece, 0, len(piece))
            lines[place], at = line, end
        return lines

    def spans(self) -> NDArray[np.int64]:
        """Return the byte range of each row in `body`, (n, 2), without line ends.

        The rows can be located only if field 0 is among `fields`.
        """
        begins = self._scanner.places(0)[:, 0].copy()
        quoted = (begins > 0) & (self._body[np.maximum(begins - 1, 0)] == ord('"'))
        return np.stack([begins - quoted, self._scanner.ends()], axis=1)

    def places(self, field: int) -> NDArray[np.int64]:
        """Return the byte range of a field in each row, (n, 2), without its quotes."""
        return self._scanner.places(field)

    @property
    def body(self) -> bytes:
        """The bytes after the header lines."""
        return self._body.tobytes()

    def with_cells(
        self,
        head: Edits,
        vocabulary: Sequence[Sequence[bytes]],
        codes: Sequence[NDArray[np.int32]],
    ) -> bytes:
        """Return the text with edited header lines, and new cells at the end of each row."""
        start = self.layout.data_start
        columns = [ColumnCells(cells, self.layout.delimiter) for cells in vocabulary]
        added = self._scanner.splice(columns, codes, lambda size: np.empty(size, np.uint8))
        return edit(self.text[:start], head) + added.tobytes()


def _run_starts(body: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the index of the first row, and of each row whose field differs from the row before.

    `places` holds the byte range of the field in each row, (n, 2).
    """
    begins, lengths = places[:, 0], places[:, 1] - places[:, 0]
    same = lengths[1:] == lengths[:-1]
    for offset in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(same & (lengths[1:] > offset))
        if not rows.size:
            break
        differ = body[begins[rows + 1] + offset] != body[begins[rows] + offset]
        same[rows[differ]] = False
    return np.flatnonzero(np.concatenate([[True], ~same]))
