"""The numbers of a chunk of text as exact decimals, with a sentence for those that cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.blocks.rewriting.task import Bools
from geodomain.io.csv.decimals import (
    MOST_DECIMALS,
    NOT_PLAIN,
    Decimals,
    not_plain,
    put_decimal,
    read_decimals,
)
from geodomain.io.header.encoding import count_line_ends
from geodomain.io.header.layout import TableLayout
from geodomain.io.numbers import Rows


class TextNumbers:
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
        found = self._read(cells, missing)
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
        found = self._read(cells, missing)
        self._refuse_first(
            (found.decimals == NOT_PLAIN) & ~missing,
            field,
            cells,
            "which is no number that parts of a block can share: leave its column out of "
            "extensive=",
        )
        found.decimals[missing] = NOT_PLAIN
        return found

    def _read(self, cells: Rows, missing: Bools) -> Decimals:
        found = read_decimals(self._text, cells, self._layout.decimal)
        for row in self._others(found, missing):
            said = self._said(cells, row).lower().replace("d", "e")
            try:
                put_decimal(found, row, Decimal(said.replace(self._layout.decimal.decode(), ".")))
            except InvalidOperation:
                continue
        found.whole[missing] = found.parts[missing] = 0
        return found

    def _others(self, found: Decimals, missing: Bools) -> Iterator[int]:
        """Give the rows that are written in another way, such as 1e3."""
        return (row for row in not_plain(found) if not missing[row])

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
