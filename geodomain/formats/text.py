"""Text tables of blocks: read as a stream, and written with new columns or new rows."""

from __future__ import annotations

import csv
import ctypes
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Bytes, Floats, Ints
from geodomain.compute.native import addresses, core
from geodomain.errors import TableError
from geodomain.files.pipeline import Writer
from geodomain.files.streams import Source, Target, open_source
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import Blocks, Relabelling, Values, as_text
from geodomain.formats.block_file import Rows as ChunkOfRows
from geodomain.formats.registry import is_workbook_name, loaded, other_formats_named
from geodomain.formats.rewriting import (
    SIZE_COLUMNS,
    BlockRows,
    Rewriting,
    TableSpace,
    lacking,
    last_group,
    open_rewritten,
)
from geodomain.tables.conditions import Column
from geodomain.tables.decimals import (
    MOST_DECIMALS,
    NOT_PLAIN,
    Decimals,
    not_plain,
    put_decimal,
    read_decimals,
    repeated_decimal,
)
from geodomain.tables.dialect import count_line_ends
from geodomain.tables.frames import Frame, shortest
from geodomain.tables.layout import TableLayout, read_layout
from geodomain.tables.new_columns import NewColumn, plan_splice
from geodomain.tables.numbers import as_float64
from geodomain.tables.options import TableOptions
from geodomain.tables.scanner import CHUNK_BYTES, ColumnCells, Scanner, TextChunks
from geodomain.tables.text import NewCells, edit, relabel

if TYPE_CHECKING:
    from geodomain.formats.rewriting import NewRows
    from geodomain.tables.decimals import Decimals

_LINE_END = re.compile(rb"\r\n|\r|\n")


class RowPlaces(NamedTuple):
    """Byte positions of rows in a text.

    Attributes
    ----------
    begin, end, next : (n,) int64
        Start of each row, its end (before the line end), and start of the next row. Blank lines
        count as part of the row before them.
    """

    begin: Ints
    end: Ints
    next: Ints

    @classmethod
    def of(cls, first: Ints, ends: Ints, text: Bytes) -> RowPlaces:
        """Return the positions of rows, given the positions `first` (n, 2) of their first fields.

        If a first field is quoted, its position does not include the quotes. `ends` are the ends of
        the rows.
        """
        begin = first[:, 0].copy()
        before = np.maximum(begin - 1, 0)
        begin -= (begin > 0) & (text[before] == ord('"'))
        return cls(begin, ends, np.append(begin[1:], text.size))

    def upto(self, count: int) -> RowPlaces:
        """Return the positions of the first `count` rows."""
        return RowPlaces(*(np.ascontiguousarray(each[:count]) for each in self._all))

    def alike(self, text: Bytes, left_out: Sequence[Ints]) -> Ints:
        """Return a code for each row.

        Two rows have equal codes if their texts are equal, apart from the fields left out. For each
        field left out, from left to right, `left_out` has the byte positions (n, 2).
        """
        codes = np.empty(len(self.begin), np.int64)
        cells = [np.ascontiguousarray(each) for each in left_out]
        core().text_alike(
            text,
            addresses(self._all),
            len(codes),
            len(cells),
            addresses(cells),
            codes,
        )
        return codes

    @property
    def _all(self) -> tuple[Ints, Ints, Ints]:
        return self.begin, self.end, self.next


class NewText:
    """Writes the new rows of a table.

    Parameters
    ----------
    layout : TableLayout
    head : bytes
        Text of the header lines; new rows get its line ends.
    cells : sequence of (sequence of bytes or None)
        For each new column, the text of each code; None for a column of numbers.
    """

    def __init__(
        self, layout: TableLayout, head: bytes, cells: Sequence[Sequence[bytes] | None]
    ) -> None:
        ends = _LINE_END.findall(head)
        self._line_end = ends[-1] if ends else b"\n"
        self._dialect = layout.delimiter + layout.decimal + self._line_end
        self._cells = [None if texts is None else ColumnCells(texts) for texts in cells]

    def write(
        self,
        text: Bytes,
        places: RowPlaces,
        made: NewRows,
        numbers: Sequence[tuple[Ints, Decimals, NDArray[np.uint8]]],
        sizes: Sequence[Decimals],
        room: Callable[[int], Bytes],
    ) -> Bytes:
        """Return the text of new rows.

        `room` takes a number of bytes and returns an array; the text is written to its start.
        `numbers` has a tuple for each changed field, from left to right: byte positions (n, 2), new
        values, and the number of decimals of each old value. `sizes` are new size columns, written
        at the end of each row, before all other new columns.
        """
        buffers: list[Ints | NDArray[np.uint8]] = []
        for cells, spelled, decimals in numbers:
            for each in (cells, spelled.whole, spelled.parts):
                buffers.append(np.ascontiguousarray(each))
            buffers.append(np.ascontiguousarray(decimals))
        added: list[int | None] = []
        mark, delimiter = self._dialect[1:2], self._dialect[:1]
        spelled_sizes = [each.spelled(mark, quoted=mark == delimiter) for each in sizes]
        cells_of = [*(ColumnCells(texts) for texts, _ in spelled_sizes), *self._cells]
        codes = [np.ascontiguousarray(each, np.int64) for _, each in spelled_sizes]
        codes += [np.ascontiguousarray(each, np.int64) for each in made.added]
        for column, code in zip(cells_of, codes, strict=True):
            added.append(code.ctypes.data)
            if column is None:
                added += [None, None]
            else:
                added += [column.bytes.ctypes.data, column.starts.ctypes.data]
        row = np.ascontiguousarray(made.row, np.int64)
        unchanged = np.ascontiguousarray(made.unchanged, np.uint8)
        rows = [np.ascontiguousarray(each) for each in (places.begin, places.end, places.next)]
        size = ctypes.c_int64()

        def call(out: Bytes | None) -> int:
            core().text_repeat(
                    text, addresses(rows), len(row), row,
                    unchanged, len(numbers), addresses(buffers), len(codes),
                    (ctypes.c_void_p * len(added))(*added), self._dialect, len(self._line_end),
                    out, size,
                )  # fmt: skip
            return size.value

        out = room(call(None))
        return out[: call(out)]


# --- Outputs that are the text of a table.


# An output, or None where nothing is written.
OptionalTarget = TypeVar("OptionalTarget", Target, Target | None)


@contextmanager
def text_output(
    opened: AbstractContextManager[OptionalTarget],
    path: str | os.PathLike[str] | None,
    layout: TableLayout | None = None,
) -> Iterator[OptionalTarget]:
    """Open an output for the text of a table; for a path that ends in .xlsx, a sheet is written.

    Parameters
    ----------
    opened : context manager
        Yields the output, or None.
    path : path or None
        Name of the output.
    layout : TableLayout, optional
        Layout of the text; default: commas, decimal points, UTF-8, one header line.
    """
    with opened as target:
        if target is None or path is None or not is_workbook_name(path):
            yield target
        else:
            opener: Callable[
                [Target, str | os.PathLike[str], TableLayout | None], AbstractContextManager[Target]
            ] = loaded(".excel:workbook")
            with opener(target, path, layout) as sheet:
                yield sheet


# --- Text tables whose rows are replaced: a stream with exact decimals.

# Bytes that the rows of one parent may take.
_MOST_HELD = 256 << 20


def rewrite_text(source: Source, layout: TableLayout, encoding: str, task: Rewriting) -> None:
    """Write a table with its rows replaced; raise TableError for invalid values."""
    opened = open_rewritten(task, source)
    with text_output(opened, task.destination.path, layout) as target:
        _TextRewriting(source, layout, encoding, task).run(target)
        task.before_commit()


class _TextRewriting:
    """One pass that replaces the rows of a text table."""

    def __init__(self, source: Source, layout: TableLayout, encoding: str, task: Rewriting) -> None:
        self._layout, self._task, self._name = layout, task, source.name
        self._geometry = [*layout.xyz, *(layout.sizes or ())]
        self._numeric = [*self._geometry, *task.amounts]
        fields = [0, *self._numeric, *task.also]
        fields += [] if task.together is None else [task.together]
        also = list(dict.fromkeys(fields))
        self._scanner = Scanner(layout, source.name, also=also, threads=task.threads)
        self._chunks = TextChunks(source, self._scanner, source.name)
        self._fixed = [] if layout.sizes else [shortest(size) for size in layout.frame.fixed or ()]
        columns = [NewColumn(name, (), "0", True) for name in SIZE_COLUMNS[: len(self._fixed)]]
        columns += [
            NewColumn(a.name, a.cells or (), a.default, a.cells is None) for a in task.added
        ]
        splice = plan_splice(layout, columns, encoding=encoding, name=source.name)
        self._edits, self._cells = splice.head, splice.vocabulary[len(self._fixed) :]
        self._rows = 0

    def run(self, target: Target) -> None:
        """Write the table with its rows replaced."""
        head = self._chunks.head(self._layout.data_start)
        numeric = [added.cells is None for added in self._task.added]
        cells = [None if n else c for n, c in zip(numeric, self._cells, strict=True)]
        new = NewText(self._layout, head, cells)
        writer = Writer(target)
        try:
            writer.put(edit(head, self._edits))
            for text, scan, final in self._chunks.chunks(CHUNK_BYTES, self._task.progress):
                self._pass(text[: scan.consumed], final, new, writer)
            writer.finish()
        finally:
            self._scanner.close()
            writer.stop()

    def _pass(self, text: Bytes, final: bool, new: NewText, writer: Writer) -> None:
        """Write the new rows for a part of the text; `final` marks the last part."""
        places = RowPlaces.of(self._scanner.places(0), self._scanner.ends(), text)
        count = self._complete_rows(places, text, final)
        blank = places.begin[0] if len(places.begin) else text.size
        writer.put(text[:blank].tobytes())
        if not count:
            return
        cells = {field: self._scanner.places(field)[:count] for field in self._numeric}
        rows, numbers = self._block_rows(text, places.upto(count), cells, count)
        for made in self._task.rewrite(rows):
            sizes = cast(list[Decimals], [*made.sizes])
            values = [*made.coordinates, *([] if self._fixed else sizes), *made.amounts]
            changed = dict(zip(self._numeric, cast(list[Decimals], values), strict=True))
            written = [(cells[f], changed[f], numbers[f].decimals) for f in sorted(cells)]
            added = sizes if self._fixed else []
            writer.send(new.write(text, places, made, written, added, writer.room))
        self._rows += count

    def _complete_rows(self, places: RowPlaces, text: Bytes, final: bool) -> int:
        """Return how many rows can be replaced now; give back the text of later rows.

        If the task names a column `together`, the last rows with equal numbers in this column are
        given back, because such rows may follow in the next part of the text.
        """
        together, count = self._task.together, len(places.begin)
        if together is None or final or not count:
            return count
        complete = last_group(self._scanner.column(together).loose_numbers())
        begin = int(places.begin[complete])
        if text.size - begin > _MOST_HELD:
            message = (
                f"{self._name}: {self._layout.names[together]} has the same value in more "
                "consecutive rows than fit into memory: check that it is the parent column"
            )
            raise TableError(message)
        self._chunks.give_back(text[begin:].copy())
        return complete

    def _block_rows(
        self, text: Bytes, places: RowPlaces, cells: dict[int, Ints], count: int
    ) -> tuple[BlockRows, dict[int, Decimals]]:
        """Return a tuple: the first `count` rows as blocks, and the exact old values by field."""
        frame = self._layout.frame
        points, sizes, _ = self._scanner.values()
        geometry = points[:count] if sizes is None else np.hstack([points[:count], sizes[:count]])
        missing = lacking(geometry)
        reader = _TextNumbers(text, self._scanner.line, self._layout, self._name)
        numbers = {f: reader.geometry(f, cells[f], missing) for f in self._geometry}
        absent = [
            ~self._scanner.column(field).present(number=True)[:count]
            for field in self._task.amounts
        ]
        for field, lost in zip(self._task.amounts, absent, strict=True):
            numbers[field] = reader.amounts(field, cells[field], lost)
        x, y, z, *own = (numbers[field] for field in self._geometry)
        dx, dy, dz = own or [repeated_decimal(size, count) for size in self._fixed]
        rows = BlockRows(
            first=self._rows,
            points=frame.centroids(points, frame.sized(points, sizes))[:count],
            coordinates=(x, y, z),
            sizes=(dx, dy, dz),
            missing=missing,
            amounts=[numbers[field] for field in self._task.amounts],
            absent=absent,
            column=self._scanner.column,
            alike=partial(places.alike, text, [cells[field] for field in sorted(cells)]),
        )
        return rows, numbers


class _TextNumbers:
    """Reads fields of a part of the text as exact decimals.

    Parameters
    ----------
    text : (b,) uint8
    line : int
        Line number at which the text begins.
    layout : TableLayout
    name : str
        Name of the table in messages.
    """

    def __init__(self, text: NDArray[np.uint8], line: int, layout: TableLayout, name: str) -> None:
        self._text, self._line, self._layout, self._name = text, line, layout, name

    def geometry(self, field: int, cells: Ints, missing: Bools) -> Decimals:
        """Read coordinates or sizes at byte positions `cells` (n, 2); `missing` blocks get 0."""
        numbers = self._read(field, cells, missing)
        self._refuse_first(
            (numbers.decimals > MOST_DECIMALS) & ~missing,
            field,
            cells,
            f"with more decimals than sub-blocks support ({MOST_DECIMALS}): round it",
        )
        return numbers

    def amounts(self, field: int, cells: Ints, missing: Bools) -> Decimals:
        """Read amounts that are divided among new blocks, at byte positions `cells` (n, 2).

        Values that are `missing` are marked, so that they are written unchanged.
        """
        numbers = self._read(field, cells, missing)
        self._refuse_first(
            (numbers.decimals == NOT_PLAIN) & ~missing,
            field,
            cells,
            "which is not a number that can be divided among parts of a block: leave this column "
            "out of extensive=",
        )
        numbers.decimals[missing] = NOT_PLAIN
        return numbers

    def _read(self, field: int, cells: Ints, missing: Bools) -> Decimals:
        numbers = read_decimals(self._text, cells, self._layout.decimal)
        rule = self._layout.numbers.of(self._layout.names[field])
        # Numbers in other notations, such as 1e3.
        for row in not_plain(numbers):
            text = self._cell(cells, row)
            value = None if missing[row] else rule.number(text)
            if value is not None and math.isfinite(value):
                plain = text.lower().replace("d", "e").replace(rule.decimal, ".")
                put_decimal(numbers, row, Decimal(plain))
        numbers.whole[missing] = numbers.parts[missing] = 0
        return numbers

    def _cell(self, cells: Ints, row: int) -> str:
        return self._text[cells[row, 0] : cells[row, 1]].tobytes().decode("latin-1").strip()

    def _refuse_first(self, wrong: Bools, field: int, cells: Ints, why: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            before = self._text[: cells[row, 0]].tobytes()
            line = self._line + count_line_ends(before, 0, len(before))
            column = self._layout.names[field]
            message = (
                f"{self._name}, {self._layout.place(line, column)}: {column} is "
                f"{self._cell(cells, row)!r}, {why}"
            )
            raise TableError(message)


# --- Block models as text tables: a stream in which only new values differ from the input.

# Bytes searched for the header.
_PEEK = 1 << 20
_MARKS = {b",": "comma", b";": "semicolon", b"\t": "tab", b"|": "bar", b".": "point"}


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[TextModel]:
    """Open a text table, and read its header."""
    with open_source(path, digest=digest) as source:
        head = source.peek(_PEEK)
        with other_formats_named(head, source.name):
            layout = read_layout(head, options, name=source.name, whole=len(head) < _PEEK)
        yield TextModel(source, layout, options.encoding)


class TextModel:
    """A text table whose header has been read; see `BlockFile`."""

    memory, writing = 75_000_000, 0.0

    def __init__(self, source: Source, layout: TableLayout, encoding: str) -> None:
        self._source, self._layout, self._encoding = source, layout, encoding
        self.name = source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names in the header."""
        return self._layout.names

    @property
    def centroid(self) -> tuple[str, ...]:
        """The names of the coordinate columns."""
        return tuple(self._layout.names[column] for column in self._layout.xyz)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the size columns; for a fixed block size, its three numbers as texts."""
        fixed = tuple(shortest(size) for size in self.frame.fixed or ())
        return fixed or tuple(self._layout.names[column] for column in self._layout.sizes or ())

    @property
    def frame(self) -> Frame:
        """The conversion from file to world coordinates: offset, rotation, corner or centroid."""
        return self._layout.frame

    @property
    def axes(self) -> Floats:
        """The directions of the block edges in world coordinates, one row per axis."""
        return self.frame.axes

    @property
    def constants(self) -> dict[int, float]:
        """The values of the constant columns of a Datamine prototype, by column index."""
        return self._layout.constants

    def facts(self) -> dict[str, str]:
        """Return facts about the text, such as its delimiter, each under a title."""
        kinds = [head.kind for head in self._layout.head_rows[1:]]
        return {
            "format": "text, gzip" if self._source.compressed else "text",
            "delimiter": _MARKS[self._layout.delimiter],
            "decimal mark": _MARKS[self._layout.decimal],
            "first row of data": f"line {self._layout.data_line}",
            "vendor rows": ", ".join(kinds) or "none",
        }

    def rows(self, column: str) -> Iterator[ChunkOfRows]:
        """Yield blocks batch by batch: centroids, sizes, and the text of a column.

        Quotes and blanks around each text are removed.
        """
        place = self._layout.names.index(column)
        chunks: list[ChunkOfRows] = []

        def add(
            points: Floats, sizes: Floats | None, cells: Callable[[int], Column]
        ) -> Sequence[NewCells]:
            spelled, codes = cells(place).spellings()
            texts = np.array([text.replace('""', '"') for text in spelled], np.str_)
            chunks.append((points.copy(), None if sizes is None else sizes.copy(), texts[codes]))
            return ()

        self.relabel(Relabelling(add, also=[place]))
        yield from chunks

    @property
    def space(self) -> TableSpace:
        """The local frame of the blocks, in which they are axis-aligned boxes."""
        return TableSpace(self.frame)

    def rewrite(self, task: Rewriting) -> None:
        """Write the table with new blocks, for example sub-blocks, in place of its rows."""
        rewrite_text(self._source, self._layout, self._encoding, task)

    def relabel(self, task: Relabelling) -> None:
        """Copy the table with the new columns."""
        path = task.destination and task.destination.path
        with text_output(task.open_target(self._source), path, self._layout) as target:
            splice = plan_splice(
                self._layout,
                task.columns,
                replace=task.replace,
                encoding=self._encoding,
                name=self.name,
            )
            relabel(
                self._source,
                target,
                self._layout,
                splice,
                task.label,
                also=task.also,
                threads=task.threads,
                progress=task.progress,
                before_commit=task.before_commit,
            )


# --- Blocks in memory as a new table of text.

_LINES = 1 << 16  # rows written at a time


def encoded_blocks(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Yield blocks as the text of a new table.

    Numbers have the fewest digits that read back the same; missing values are empty.
    """
    held = blocks.table(path)
    yield _csv_lines([held])
    for begin in range(0, len(blocks.centroids), _LINES):
        parts = [_csv_cells(values[begin : begin + _LINES]) for values in held.values()]
        yield _csv_lines(zip(*parts, strict=True))


def _csv_lines(rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _csv_cells(values: Values) -> list[str]:
    numbers = values if values.dtype != np.float32 else as_float64(values)
    return [as_text(value) for value in numbers.tolist()]
