"""The values of a new column that codes stand for, in memory; how a file holds them is not here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.csv.new_columns import NewColumn, refuse_kept
from geodomain.io.csv.number_cells import NewCells

Codes = NDArray[np.int32]
# What a file has of a column: numbers, or texts, (n,).
Values = NDArray[np.generic]
# Integers below are numbers of 32 bits; of float64, which holds all of them.
_NARROW, _EXACT = 2.0**31, 2.0**53


def as_numbers(
    column: NewColumn, codes: NewCells, old: Values | None = None
) -> NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float64]:
    """Give integers, or floats where some are missing or were no integers before.

    The code after the last is the value of the `old` column, which is replaced. Integers are of
    64 bits where one of them is beyond 32. Numbers that are measured stay as they are.

    Raises
    ------
    TableError
        Where a value that is kept is no number, or an integer that no type of the column holds.
    """
    if column.measured:
        return codes.astype(np.float64, copy=False)
    kept = np.flatnonzero(codes == len(column.cells))
    known = np.array([float(cell) if cell else np.nan for cell in (*column.cells, "")])
    numbers = known[codes.astype(np.int32, copy=False)]
    if kept.size and old is not None:
        values = old[kept]
        try:
            numbers[kept] = values.astype(np.float64)
        except ValueError as error:
            refuse_kept(column.name, error)
        if values.dtype.kind in "iu" and not _all_below(numbers[kept], _EXACT):
            return _with_integers(column, numbers, kept, values)
    if not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any():
        return numbers
    if _all_below(numbers, _NARROW):
        return numbers.astype(np.int32)
    return numbers.astype(np.int64) if _all_below(numbers, _EXACT) else numbers


def _all_below(numbers: NDArray[np.float64], most: float) -> bool:
    """Return whether all numbers are smaller than one, whatever their signs."""
    return bool((np.abs(numbers) < most).all())


def _with_integers(
    column: NewColumn, numbers: NDArray[np.float64], kept: NDArray[np.intp], values: Values
) -> NDArray[np.int64]:
    """Give codes and integers that are kept, some of which float64 would round."""
    if not np.isfinite(numbers).all():
        message = (
            f"{column.name!r} keeps integers beyond 2^53, which have no room beside blocks without "
            "a code: give the background and unassigned blocks codes, or let no domain keep them"
        )
        raise TableError(message)
    if values.dtype.kind == "u" and int(values.max()) > np.iinfo(np.int64).max:
        refuse_kept(column.name, OverflowError(f"{values.max()} is beyond 64 bits"))
    found = np.zeros(len(numbers), np.int64)
    coded = np.ones(len(numbers), np.bool_)
    coded[kept] = False
    found[coded] = numbers[coded].astype(np.int64)
    found[kept] = values.astype(np.int64)
    return found


def as_category(
    column: NewColumn, codes: NewCells, old: Values | None = None
) -> tuple[list[str], Codes]:
    """Give the distinct texts, as their codes come, and the place of each cell's, -1 for none.

    The code after the last is the text of the `old` column, which is replaced.
    """
    places: dict[str, int] = {}
    cells = (*column.cells, "")
    lookup = [places.setdefault(cell, len(places)) if cell else -1 for cell in cells]
    index: Codes = np.array(lookup, np.int32)[codes.astype(np.int32, copy=False)]
    if old is not None:
        for row in np.flatnonzero(codes == len(column.cells)).tolist():
            text = said(old[row])
            index[row] = places.setdefault(text, len(places)) if text else -1
    return list(places), index


def said(value: object) -> str:
    """Give a value as text; nothing for None and NaN, and a whole number without a point."""
    if value is None or value != value:
        return ""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


class NewArrays:
    """New columns with their codes.

    Attributes
    ----------
    columns : sequence of NewColumn
    codes : sequence of (n,) int32, or float64 where measured
    at : int or None
        The place of the one column that is replaced.
    """

    def __init__(
        self, columns: Sequence[NewColumn], codes: Sequence[NewCells], at: int | None
    ) -> None:
        self.columns, self.codes, self.at = columns, codes, at

    def each(
        self, values: Callable[[int], Values]
    ) -> Iterator[tuple[NewColumn, NewCells, Values | None]]:
        """Give each column, its codes, and the values that it replaces."""
        for column, codes in zip(self.columns, self.codes, strict=True):
            yield column, codes, None if self.at is None else values(self.at)
