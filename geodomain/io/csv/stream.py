"""Copy a table with new cells, in one pass and bounded memory."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.io.csv.chunks import CHUNK_BYTES, Progress, TextChunks
from geodomain.io.csv.number_cells import NewCells, number_cells
from geodomain.io.csv.scanner import ColumnCells, Scanner, ScanReport
from geodomain.io.csv.text_column import TextColumn
from geodomain.io.files.pipeline import ByteSource, ByteTarget, Writer
from geodomain.io.header.layout import TableLayout

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
