"""Rows of a text repeated with other numbers and new cells, through ctypes."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import addresses, core
from geodomain.io.csv.scanner import ColumnCells
from geodomain.io.header.layout import TableLayout
from geodomain.io.numbers import Rows

if TYPE_CHECKING:
    from geodomain.io.blocks.rewriting.task import NewRows
    from geodomain.io.csv.decimals import Decimals

Bytes = NDArray[np.uint8]
_LINE_END = re.compile(rb"\r\n|\r|\n")


class RowPlaces(NamedTuple):
    """Where rows of a text are, in bytes.

    Attributes
    ----------
    begin, end, next : (n,) int64
        Where each begins, where it ends before its line end, and where the next one begins:
        blank lines belong to the row before.
    """

    begin: Rows
    end: Rows
    next: Rows

    @classmethod
    def of(cls, first: Rows, ends: Rows, text: Bytes) -> RowPlaces:
        """Make them of the first fields, (n, 2) without their quotes, and the ends of rows."""
        begin = first[:, 0].copy()
        before = np.maximum(begin - 1, 0)
        begin -= (begin > 0) & (text[before] == ord('"'))
        return cls(begin, ends, np.append(begin[1:], text.size))

    def upto(self, count: int) -> RowPlaces:
        """Give the first of them."""
        return RowPlaces(*(np.ascontiguousarray(each[:count]) for each in self._all))

    def alike(self, text: Bytes, left_out: Sequence[Rows]) -> Rows:
        """Give a code to each row, the same to those that say the same but for some cells.

        Those are (n, 2) bytes each, from left to right.
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
    def _all(self) -> tuple[Rows, Rows, Rows]:
        return self.begin, self.end, self.next


class NewText:
    """What a table's new rows are written with.

    Parameters
    ----------
    layout : TableLayout
    head : bytes
        What comes before the rows, whose line ends are those of new ones.
    cells : sequence of (sequence of bytes or None)
        For each new column what its codes stand for; None where they are numbers.
    """

    def __init__(
        self, layout: TableLayout, head: bytes, cells: Sequence[Sequence[bytes] | None]
    ) -> None:
        ends = _LINE_END.findall(head)
        self._line_end = ends[-1] if ends else b"\n"
        self._dialect = layout.delimiter + layout.decimal + self._line_end
        self._cells = [None if one is None else ColumnCells(one) for one in cells]

    def write(
        self,
        text: Bytes,
        places: RowPlaces,
        made: NewRows,
        numbers: Sequence[tuple[Rows, Decimals, NDArray[np.uint8]]],
        sizes: Sequence[Decimals],
        room: Callable[[int], Bytes],
    ) -> Bytes:
        """Return the text of new rows, at the start of an array that `room` gave.

        `numbers` are the cells that change, from left to right: where they are, (n, 2), what they
        say in the new rows, and the decimals that they had. `sizes` are new cells at the ends of
        rows, before all others.
        """
        kept: list[Rows | NDArray[np.uint8]] = []
        for cells, said, decimals in numbers:
            for each in (cells, said.whole, said.parts):
                kept.append(np.ascontiguousarray(each))
            kept.append(np.ascontiguousarray(decimals))
        added: list[int | None] = []
        mark, delimiter = self._dialect[1:2], self._dialect[:1]
        told = [each.spelled(mark, quoted=mark == delimiter) for each in sizes]
        cells_of = [*(ColumnCells(texts) for texts, _ in told), *self._cells]
        codes = [np.ascontiguousarray(each, np.int64) for _, each in told]
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
                    unchanged, len(numbers), addresses(kept), len(codes),
                    (ctypes.c_void_p * len(added))(*added), self._dialect, len(self._line_end),
                    out, size,
                )  # fmt: skip
            return size.value

        out = room(call(None))
        return out[: call(out)]
