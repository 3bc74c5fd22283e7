"""Tables that are made from columns of numbers, as lines of text."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.native import addresses, core, thread_count
from geodomain.errors import TableError
from geodomain.files.pipeline import ByteSource, ByteTarget, Writer
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
    r"""Yield rows as text, some at a time; a piece is good until the next one is asked for.

    Parameters
    ----------
    columns : sequence of (n,) float64 or integers
        One at least, all of one length.
    delimiter, decimal : bytes
        A byte each.
    threads : int, optional
        All cores, if not given.

    Yields
    ------
    memoryview
        Lines that end in "\n". A float has the fewest digits that read back as the same number,
        as Python's `repr` has; nothing stands for NaN.

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


# --- Numbers as the cells of a table: the fewest digits that mean them, in the table's own marks.

# Of a new column, (n,): codes of cells, or the values of one that has numbers, NaN for none.
NewCells = NDArray[np.uint8] | NDArray[np.int32] | NDArray[np.float64]


def number_cells(
    values: NDArray[np.float64], layout: TableLayout
) -> tuple[list[bytes], NDArray[np.int32]]:
    """Return the different numbers as cells, nothing for NaN, and the place of each row's."""
    numbers, codes = np.unique(values, return_inverse=True)
    mark = layout.decimal
    text = b"".join(map(bytes, lines_of([numbers], decimal=mark)))
    cells = text.replace(mark + b"0\n", b"\n").split(b"\n")[:-1]
    if mark == layout.delimiter:
        cells = [b'"' + cell + b'"' if mark in cell else cell for cell in cells]
    return cells, codes.reshape(-1).astype(np.int32)


# --- Copy a table with new cells, in one pass and bounded memory.

LabelChunk = Callable[
    [NDArray[np.float64], NDArray[np.float64] | None, Callable[[int], TextColumn]],
    Sequence[NewCells],
]


@dataclass(frozen=True)
class Splice:
    """Say how the text of a table changes.

    Parameters
    ----------
    head : tuple of (start, end, replacement)
        Edits of the head, the bytes before the first data row; start == end inserts.
    vocabulary : tuple of tuples of bytes
        For each new column, the cells that codes stand for, encoded and quoted.
    replace : int, optional
        The field whose cell is rewritten where it stands, by the one column that
        there is; without it, cells are appended to each row.
    numbered : tuple of int
        The new columns that have numbers in the place of codes.
    """

    head: tuple[tuple[int, int, bytes], ...]
    vocabulary: tuple[tuple[bytes, ...], ...]
    replace: int | None = None
    numbered: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse several columns in the place of one."""
        if self.replace is not None and len(self.vocabulary) != 1:
            message = "only one column can replace another"
            raise ValueError(message)


class StreamSummary(NamedTuple):
    """Count what went through."""

    rows: int
    missing: int
    bytes_read: int
    bytes_written: int


def relabel(
    source: ByteSource,
    target: ByteTarget | None,
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
    """Copy a table and give each of its rows new cells; every other byte stays.

    Parameters
    ----------
    source : binary file
        The table from its first byte, such as `open_source` gives. Only `readinto`
        is needed; `name`, `position` and `size` are used where there are any.
    target : binary file or None
        Where the table goes, such as `open_target` gives; None to write nothing.
    layout : TableLayout
        How the table is written, and where its data start.
    splice : Splice
        What changes in the head, and the cells of the new columns.
    label : callable
        From world centroids (n, 3), NaN where missing, block sizes (n, 3) or None, and a
        callable that gives one of the fields `also` as a `TextColumn`, to one int32 array of n
        codes into the vocabulary for each new column, or to n float64 where it has numbers.
    also : sequence of int, optional
        Other fields that `label` asks for.
    threads : int, optional
        How many threads read the text; the output is the same for any number.
    chunk_bytes : int, optional
        How many bytes are read at a time; the output is the same for any number.
    progress : callable, optional
        Called with bytes done and bytes in all, or None where that is not known.
    before_commit : callable, optional
        Called once all is written; what it raises abandons the output.

    Returns
    -------
    StreamSummary
        Rows, rows without a centroid, bytes in and out.

    Raises
    ------
    TableError
        For the first row that cannot be read, with its line and the way to mend it.
    ValueError
        If there are fewer codes than rows, or codes without a cell.
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
    """One run of `relabel`."""

    def __init__(
        self,
        source: ByteSource,
        target: ByteTarget | None,
        layout: TableLayout,
        splice: Splice,
        label: LabelChunk,
        also: Sequence[int],
        threads: int | None,
    ) -> None:
        before = layout.delimiter if splice.replace is None else b""
        self._target, self._label = target, label
        self._layout, self._head = layout, splice.head
        name = str(getattr(source, "name", "the table"))
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
                for scanner, found in chunks:
                    self._pass(scanner, found, writer)
            if writer is not None:
                writer.finish()
                self._written = writer.bytes_written
        finally:
            for scanner in self._scanners:
                scanner.close()
            if writer is not None:
                writer.stop()

    def _pass(self, scanner: Scanner, found: ScanReport, writer: Writer | None) -> None:
        points, sizes, missing = scanner.values()
        self._rows += found.rows
        self._missing += missing
        sizes = self._layout.frame.sized(points, sizes)
        centroids = self._layout.frame.centroids(points, sizes)
        given = self._label(centroids, sizes, scanner.column)
        if len(given) != len(self._columns):
            message = f"{len(given)} columns of labels for {len(self._columns)} vocabularies"
            raise ValueError(message)
        if writer is not None:
            columns, codes = self._coded(given)
            writer.send(scanner.splice(columns, codes, writer.room))

    def _coded(
        self, given: Sequence[NewCells]
    ) -> tuple[list[ColumnCells], list[NDArray[np.int32]]]:
        """Return cells and codes of each column: those of numbers are of this chunk alone."""
        columns = list(self._columns)
        codes: list[NDArray[np.int32]] = []
        for place, each in enumerate(given):
            if place in self._numbered:
                texts, which = number_cells(each.astype(np.float64, copy=False), self._layout)
                columns[place] = ColumnCells(texts, self._before)
                codes.append(which)
            else:
                codes.append(each.astype(np.int32, copy=False))
        return columns, codes


def edit(head: bytes, edits: Sequence[tuple[int, int, bytes]]) -> bytes:
    """Return a head with parts of it replaced; insertions at one place keep their order."""
    parts, at = [], 0
    for start, end, replacement in sorted(edits, key=lambda each: each[:2]):
        if not at <= start <= end <= len(head):
            message = f"the edit of bytes {start} to {end} overlaps another or leaves the head"
            raise ValueError(message)
        parts += [head[at:start], replacement]
        at = end
    return b"".join([*parts, head[at:]])


# --- A whole text table in memory: any of its fields, and its text with cells added to the rows.

Edits = Sequence[tuple[int, int, bytes]]
_MOST = 2**32 - 1  # bytes of a text that the scanner takes at once


class TextRows:
    """The rows of a table that is in memory as a whole.

    Parameters
    ----------
    text : bytes
        The file, decompressed, from its first byte.
    layout : TableLayout
        How it is written; its `xyz` may be empty.
    name : str
        What messages call it.
    fields : sequence of int
        Those that are asked for.
    threads : int, optional
        For scanning.
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
            message = f"{name} is larger than 4 GB: split it by holes"
            raise TableError(message)
        self.text, self.layout, self.name = text, layout, name
        self._body = np.frombuffer(text, np.uint8)[layout.data_start :]
        self._scanner = Scanner(layout, name, also=list(dict.fromkeys(fields)), threads=threads)
        self.count = self._scanner.scan(self._body, final=True).rows

    def __len__(self) -> int:
        """Count the rows."""
        return self.count

    def column(self, field: int) -> TextColumn:
        """Return a field as conditions take it."""
        return self._scanner.column(field)

    def cell(self, field: int, row: int) -> bytes:
        """Return the bytes of one cell, without its quotes."""
        begin, end = self._scanner.places(field)[row].tolist()
        return self._body[begin:end].tobytes()

    def texts(self, field: int) -> tuple[NDArray[np.intp], list[str]]:
        """Return the texts of a field: the place of each row's among the different ones.

        Neighbours are compared as bytes first, since rows of one hole follow each other.
        """
        places = self._scanner.places(field)
        if not len(places):
            return np.empty(0, np.intp), []
        first = _run_starts(self._body, places)
        known: dict[str, int] = {}
        codes = np.empty(len(first), np.intp)
        for run, (begin, end) in enumerate(places[first].tolist()):
            text = cell_text(self._body[begin:end].tobytes(), self.layout.encoding)
            codes[run] = known.setdefault(text.replace('""', '"'), len(known))
        lengths = np.diff(np.append(first, len(places)))
        return np.repeat(codes, lengths), list(known)

    def spelled(self, field: int) -> list[str]:
        """Return the text of a field in every row, without quotes and outer blanks."""
        body, encoding = self._body.tobytes(), self.layout.encoding
        places = self._scanner.places(field).tolist()
        return [cell_text(body[begin:end], encoding) for begin, end in places]

    def line(self, row: int) -> int:
        """Return the physical line in which a row ends, from 1."""
        end = int(self._scanner.ends()[row])
        return self.layout.data_line + count_line_ends(self._body[:end].tobytes(), 0, end)

    def spans(self) -> NDArray[np.int64]:
        """Return where the content of each row is, (n, 2) bytes of the body; needs field 0."""
        begins = self._scanner.places(0)[:, 0].copy()
        quoted = (begins > 0) & (self._body[np.maximum(begins - 1, 0)] == ord('"'))
        return np.stack([begins - quoted, self._scanner.ends()], axis=1)

    def places(self, field: int) -> NDArray[np.int64]:
        """Return where a field is in each row, (n, 2) bytes of the body, quotes left out."""
        return self._scanner.places(field)

    @property
    def body(self) -> bytes:
        """The text below the head."""
        return self._body.tobytes()

    def with_cells(
        self,
        head: Edits,
        vocabulary: Sequence[Sequence[bytes]],
        codes: Sequence[NDArray[np.int32]],
    ) -> bytes:
        """Return the text with new cells at the end of its rows, and a head that is edited."""
        start = self.layout.data_start
        columns = [ColumnCells(cells, self.layout.delimiter) for cells in vocabulary]
        added = self._scanner.splice(columns, codes, lambda size: np.empty(size, np.uint8))
        return edit(self.text[:start], head) + added.tobytes()


def _run_starts(body: NDArray[np.uint8], places: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the rows whose bytes differ from those of the row before."""
    begins, lengths = places[:, 0], places[:, 1] - places[:, 0]
    same = lengths[1:] == lengths[:-1]
    for offset in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(same & (lengths[1:] > offset))
        if not rows.size:
            break
        differ = body[begins[rows + 1] + offset] != body[begins[rows] + offset]
        same[rows[differ]] = False
    return np.flatnonzero(np.concatenate([[True], ~same]))
