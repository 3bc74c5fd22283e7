"""Text tables with other rows in the place of theirs: a stream, and exact decimals."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.blocks.rewriting.held_back import last_group
from geodomain.io.blocks.rewriting.new_text import NewText, RowPlaces
from geodomain.io.blocks.rewriting.task import (
    SIZE_COLUMNS,
    BlockRows,
    Bools,
    Rewriting,
    lacking,
    open_rewritten,
)
from geodomain.io.csv.chunks import CHUNK_BYTES, TextChunks
from geodomain.io.csv.decimals import (
    MOST_DECIMALS,
    NOT_PLAIN,
    Decimals,
    not_plain,
    put_decimal,
    read_decimals,
    repeated_decimal,
)
from geodomain.io.csv.new_columns import NewColumn, plan_splice
from geodomain.io.csv.scanner import Scanner
from geodomain.io.csv.stream import edit
from geodomain.io.files.pipeline import Writer
from geodomain.io.files.sources import Source
from geodomain.io.files.streams import Target
from geodomain.io.header.encoding import count_line_ends
from geodomain.io.header.frames import shortest
from geodomain.io.header.layout import TableLayout
from geodomain.io.numbers import Rows

Bytes = NDArray[np.uint8]
# Rows of one parent may take so many bytes.
_MOST_HELD = 256 << 20


def rewrite_text(source: Source, layout: TableLayout, encoding: str, task: Rewriting) -> None:
    """Write a table with other rows; raise TableError for what cannot be read."""
    with open_rewritten(task, source) as target:
        _TextRewriting(source, layout, encoding, task).run(target)
        task.before_commit()


class _TextRewriting:
    """One pass over a table."""

    def __init__(self, source: Source, layout: TableLayout, encoding: str, task: Rewriting) -> None:
        self._layout, self._task, self._name = layout, task, source.name
        self._geometry = [*layout.xyz, *(layout.sizes or ())]
        self._numeric = [*self._geometry, *task.amounts]
        asked = [0, *self._numeric, *task.also]
        asked += [] if task.together is None else [task.together]
        also = list(dict.fromkeys(asked))
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
        """Write the table to a target."""
        head = self._chunks.head(self._layout.data_start)
        numeric = [added.cells is None for added in self._task.added]
        cells = [None if n else c for n, c in zip(numeric, self._cells, strict=True)]
        new = NewText(self._layout, head, cells)
        writer = Writer(target)
        try:
            writer.put(edit(head, self._edits))
            for text, found, final in self._chunks.each(CHUNK_BYTES, self._task.progress):
                self._pass(text[: found.consumed], final, new, writer)
            writer.finish()
        finally:
            self._scanner.close()
            writer.stop()

    def _pass(self, text: Bytes, final: bool, new: NewText, writer: Writer) -> None:
        """Write what takes the place of some text."""
        places = RowPlaces.of(self._scanner.places(0), self._scanner.ends(), text)
        kept = self._kept(places, text, final)
        blank = places.begin[0] if len(places.begin) else text.size
        writer.put(text[:blank].tobytes())
        if not kept:
            return
        cells = {field: self._scanner.places(field)[:kept] for field in self._numeric}
        rows, numbers = self._block_rows(text, places.upto(kept), cells, kept)
        for made in self._task.rewrite(rows):
            sizes = cast(list[Decimals], [*made.sizes])
            given = [*made.coordinates, *([] if self._fixed else sizes), *made.amounts]
            said = dict(zip(self._numeric, cast(list[Decimals], given), strict=True))
            written = [(cells[f], said[f], numbers[f].decimals) for f in sorted(cells)]
            added = sizes if self._fixed else []
            writer.send(new.write(text, places, made, written, added, writer.room))
        self._rows += kept

    def _kept(self, places: RowPlaces, text: Bytes, final: bool) -> int:
        """Count the rows that are taken now; those that belong to the next are given back."""
        together, count = self._task.together, len(places.begin)
        if together is None or final or not count:
            return count
        kept = last_group(self._scanner.column(together).loose_numbers())
        begin = int(places.begin[kept])
        if text.size - begin > _MOST_HELD:
            message = (
                f"{self._name}: {self._layout.names[together]} is the same in more rows, one after "
                "another, than fit into memory: is it the column of the parents?"
            )
            raise TableError(message)
        self._chunks.give_back(text[begin:].copy())
        return kept

    def _block_rows(
        self, text: Bytes, places: RowPlaces, cells: dict[int, Rows], kept: int
    ) -> tuple[BlockRows, dict[int, Decimals]]:
        """Understand some rows."""
        frame = self._layout.frame
        points, sizes, _ = self._scanner.values()
        known = points[:kept] if sizes is None else np.hstack([points[:kept], sizes[:kept]])
        missing = lacking(known)
        reader = _TextNumbers(text, self._scanner.line, self._layout, self._name)
        numbers = {f: reader.geometry(f, cells[f], missing) for f in self._geometry}
        absent = [
            ~self._scanner.column(field).present(number=True)[:kept] for field in self._task.amounts
        ]
        for field, lost in zip(self._task.amounts, absent, strict=True):
            numbers[field] = reader.amounts(field, cells[field], lost)
        x, y, z, *own = (numbers[field] for field in self._geometry)
        dx, dy, dz = own or [repeated_decimal(size, kept) for size in self._fixed]
        rows = BlockRows(
            first=self._rows,
            points=frame.centroids(points, frame.sized(points, sizes))[:kept],
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
    """A chunk of text whose cells are read as decimals.

    Parameters
    ----------
    text : (b,) uint8
    line : int
        The line in which it begins.
    layout : TableLayout
    name : str
        What messages call the table.
    """

    def __init__(self, text: NDArray[np.uint8], line: int, layout: TableLayout, name: str) -> None:
        self._text, self._line, self._layout, self._name = text, line, layout, name

    def geometry(self, field: int, cells: Rows, missing: Bools) -> Decimals:
        """Read coordinates or sizes, at (n, 2) bytes; 0 where a block is missing."""
        found = self._read(field, cells, missing)
        self._refuse_first(
            (found.decimals > MOST_DECIMALS) & ~missing,
            field,
            cells,
            f"with more digits than sub-blocks are computed with ({MOST_DECIMALS} decimals): "
            "round it",
        )
        return found

    def amounts(self, field: int, cells: Rows, missing: Bools) -> Decimals:
        """Read a column that is shared; cells where it is missing stay as they are."""
        found = self._read(field, cells, missing)
        self._refuse_first(
            (found.decimals == NOT_PLAIN) & ~missing,
            field,
            cells,
            "which is no number that parts of a block can share: leave its column out of "
            "extensive=",
        )
        found.decimals[missing] = NOT_PLAIN
        return found

    def _read(self, field: int, cells: Rows, missing: Bools) -> Decimals:
        found = read_decimals(self._text, cells, self._layout.decimal)
        rule = self._layout.numbers.of(self._layout.names[field])
        # Rows that are written in another way, such as 1e3.
        for row in not_plain(found):
            said = self._said(cells, row)
            value = None if missing[row] else rule.number(said)
            if value is not None and math.isfinite(value):
                plain = said.lower().replace("d", "e").replace(rule.decimal, ".")
                put_decimal(found, row, Decimal(plain))
        found.whole[missing] = found.parts[missing] = 0
        return found

    def _said(self, cells: Rows, row: int) -> str:
        return self._text[cells[row, 0] : cells[row, 1]].tobytes().decode("latin-1").strip()

    def _refuse_first(self, wrong: Bools, field: int, cells: Rows, why: str) -> None:
        if wrong.any():
            row = int(wrong.argmax())
            before = self._text[: cells[row, 0]].tobytes()
            line = self._line + count_line_ends(before, 0, len(before))
            message = (
                f"{self._name}, line {line}: {self._layout.names[field]} is "
                f"{self._said(cells, row)!r}, {why}"
            )
            raise TableError(message)
