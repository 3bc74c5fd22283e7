"""Conditions on columns of a block model, such as rock = "OX".

A missing value meets no condition, not even ``!=``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.compute.data import Bools
from geodomain.errors import DomainError
from geodomain.tables.numbers import (
    BLANKS,
    WHOLE,
    BelowDetection,
    ColumnRule,
    Kind,
    Refused,
    as_float64,
    loses_digits,
    read_numbers,
    read_texts,
)

_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_OPERATORS = ("==", "!=", *_ORDERS)


class Column(Protocol):
    """Interface of a table column, for use by conditions.

    Masks and arrays of numbers have one entry for each row.
    """

    rule: ColumnRule

    def present(self, *, number: bool = False) -> Bools:
        """Return the mask of rows that have a value: no empty cell and no missing-value mark.

        The text nan counts as a value, because it may be a label. If `number` is true, nan counts
        as missing.
        """

    def among(self, texts: Sequence[str]) -> Bools:
        """Return the mask of rows whose value is one of the texts.

        Blanks at the ends of the value are ignored.
        """

    def numbers(self, *, words: bool = False) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where missing; raise TableError for invalid cells.

        If `words` is true, a text that does not look like a number becomes NaN instead of an error.
        """

    def loose_numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, with NaN where a value is missing or not a number."""

    def loses_digits(self) -> bool:
        """Return whether float64 would change a whole number in the column, such as a long id."""

    def tell(self, refused: Refused) -> None:
        """Add to `refused` the column's cells that are neither numbers nor missing."""

    def below_detection(self) -> int:
        """Count the cells below detection, such as <0.01, for which `numbers` assumes a value."""

    def cells(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the number in each cell (NaN if the cell is not a number), and the `Kind`."""

    def text_of(self, row: int) -> str:
        """Return the value of a row as text, for a message."""

    def distinct(self, earlier: Sequence[str] = ()) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct values as texts, and for each row the index of its value.

        A missing value counts as the empty text. The list of texts begins with `earlier`.
        """

    def spellings(self) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct texts exactly as written, and the index of each row's text."""

    def padded(self) -> Bools:
        """Return the mask of rows whose text begins or ends with blanks.

        The other methods remove these blanks.
        """


def with_policy(column: Column, below: BelowDetection | None) -> Column:
    """Return the column; if its rule has no policy for values below detection, set `below`."""
    if column.rule.below is None:
        column.rule = column.rule._replace(below=below)
    return column


class Condition(NamedTuple):
    """A comparison of a column with values.

    Attributes
    ----------
    column : str
        Name of the column; case, quotes and blanks do not matter.
    operator : str
        One of ``== != < <= > >=``. With several values, ``==`` means equal to any of them, and
        ``!=`` different from all of them.
    values : tuple of str, int or float
        Texts are compared with texts, letter by letter; numbers are compared with numbers.
    """

    column: str
    operator: str
    values: tuple[str | float, ...]

    def __str__(self) -> str:
        """Return the condition as text, such as ``grade >= 0.3``."""
        values = [repr(value) for value in self.values]
        right = values[0] if len(values) == 1 else f"[{', '.join(values)}]"
        return f"{self.column} {self.operator} {right}"

    @property
    def orders(self) -> bool:
        """Whether the operator is one of < <= > >=, which need a number."""
        return self.operator in _ORDERS

    @property
    def is_signed(self) -> bool:
        """Whether the condition compares with a negative number, or by < or <= with 0."""
        lowest = min((value for value in self.values if not isinstance(value, str)), default=0.0)
        return lowest < 0 or (self.operator in ("<", "<=") and lowest <= 0)

    def holds(self, column: Column, grade: NDArray[np.float64] | None = None) -> Bools:
        """Return the mask of rows that meet the condition.

        If `grade` (n,) is given, the operators < <= > >= use it in place of the column's numbers.
        """
        if self.operator in _ORDERS:
            (limit,) = self.values
            with np.errstate(invalid="ignore"):
                numbers = column.numbers() if grade is None else grade
                mask: Bools = _ORDERS[self.operator](numbers, limit)
            return mask
        equal = self._equal(column)
        if self.operator == "==":
            return equal
        are_texts = all(isinstance(value, str) for value in self.values)
        return column.present(number=not are_texts) & ~equal

    def near_misses(self, column: Column) -> dict[str, int]:
        """Return the texts that differ from a wanted value only by case or blanks.

        Each text maps to the number of its rows.
        """
        texts = {value for value in self.values if isinstance(value, str)}
        if not texts:
            return {}
        wanted = set(map(folded, texts))
        spellings, codes = column.spellings()
        near = [
            place
            for place, text in enumerate(spellings)
            if text.strip(BLANKS) not in texts and folded(text) in wanted
        ]
        counts = np.bincount(codes, minlength=len(spellings)) if near else ()
        return {spellings[place]: int(counts[place]) for place in near}

    def _equal(self, column: Column) -> Bools:
        """Return the mask of rows that equal any of the values."""
        texts = [value for value in self.values if isinstance(value, str)]
        numbers = [value for value in self.values if not isinstance(value, str)]
        equal = np.zeros(len(column.present()), np.bool_)
        if texts:
            equal |= column.among(texts)
        if numbers:
            equal |= np.isin(column.numbers(words=True), numbers)
        return equal


def folded(text: str) -> str:
    """Return a text for comparison, with case folded and runs of blanks replaced by one blank."""
    return " ".join(text.casefold().split())


def read_conditions(table: Mapping[str, object]) -> tuple[Condition, ...]:
    """Read conditions from a mapping of columns to values or comparisons.

    Parameters
    ----------
    table : mapping
        Each column maps to a text or number that it must equal, to a list of allowed values, or to
        a mapping such as ``{">=": 0.3, "<": 5}``, whose keys are operators.

    Returns
    -------
    tuple of Condition
        Conditions that must all be met.

    Raises
    ------
    DomainError
        If a condition is invalid. The message lists what is allowed.

    Examples
    --------
    >>> for condition in read_conditions({"rock": "OX", "grade": {">=": 0.3, "<": 5}}):
    ...     print(condition.column, condition.operator, *condition.values)
    rock == OX
    grade >= 0.3
    grade < 5
    """
    if not isinstance(table, Mapping):
        message = f'only_if is {table!r}; it must be a table of columns, such as {{ rock = "OX" }}'
        raise DomainError(message)
    return tuple(
        Condition(column, sign, _values(column, sign, value))
        for column, wanted in table.items()
        for sign, value in _comparisons(column, wanted).items()
    )


def _comparisons(column: str, wanted: object) -> Mapping[str, object]:
    """Return a mapping from operator to value; a value without an operator means ``==``."""
    if not isinstance(wanted, Mapping):
        return {"==": wanted}
    unknown = [sign for sign in wanted if sign not in _OPERATORS]
    if unknown or not wanted:
        wrong = repr(unknown[0]) if unknown else "an empty table"
        message = f"only_if {column}: {wrong} is not a comparison; use {' '.join(_OPERATORS)}"
        raise DomainError(message)
    return wanted


def _values(column: str, sign: str, value: object) -> tuple[str | float, ...]:
    """Check the value, or the list of values, of a comparison, and return it as a tuple."""
    values = tuple(value) if isinstance(value, list | tuple) else (value,)
    for each in values:
        number = isinstance(each, int | float) and not isinstance(each, bool) and each == each
        if not number and not (isinstance(each, str) and each.strip()):
            text = repr(each) if isinstance(each, str) else str(each).lower()
            message = f"only_if {column} is {text}; give a number, a text, or a list of these"
            raise DomainError(message)
    if sign in _ORDERS and (len(values) != 1 or isinstance(values[0], str)):
        message = f"only_if {column}: {sign} compares with one number, not {value!r}"
        raise DomainError(message)
    if not values:
        message = f"only_if has an empty list for {column!r}, which no row can match; give a value"
        raise DomainError(message)
    return tuple(each.strip(BLANKS) if isinstance(each, str) else each for each in values)


class ArrayColumn:
    """A column of a table in memory, with the methods that conditions need.

    Parameters
    ----------
    values : array_like of shape (n,)
        Numbers, or texts with None or NaN where missing; masked values are missing. Bools are read
        as the texts True and False, not as 1 and 0. A float32 is read as the shortest decimal that
        rounds to it.
    name : str
        Name of the column in messages.
    rule : ColumnRule, optional
        How the cells are read as numbers, and which values are missing.
    first : int or (n,) int
        Row of the table, counted from 0, in which the first of the values stands. For scattered
        rows: an array with the row number of each value.
    """

    def __init__(
        self,
        values: ArrayLike,
        name: str,
        rule: ColumnRule | None = None,
        first: int | NDArray[np.integer] = 0,
    ) -> None:
        array: np.ma.MaskedArray[tuple[int, ...], np.dtype[np.generic]]
        array = np.ma.asarray(values)
        hidden = np.ma.getmaskarray(array)
        data = np.asarray(array.data)
        self._name, self._first = name, first
        self.rule = (ColumnRule(name) if rule is None else rule)._replace(in_text=False)
        self._values: NDArray[np.float64] = np.empty(0)
        self._texts: list[str] = []
        self._codes: NDArray[np.intp] = np.empty(0, np.intp)
        self._numeric = data.dtype.kind in "fiu"
        self._padded: Sequence[int] | NDArray[np.intp] = ()
        self._is_long = bool(data.dtype.kind in "iu" and (np.abs(as_float64(data)) > WHOLE).any())
        if data.ndim != 1:
            message = f"column {name!r} must be one-dimensional, not of shape {data.shape}"
            raise ValueError(message)
        if self._numeric:
            self._values = np.where(hidden, np.nan, as_float64(data))
        elif data.dtype.kind in "OUSTb":
            missing = {"", *self.rule.words}
            places: dict[str, int] = {}
            codes = np.empty(len(data), np.intp)
            padded: list[int] = []
            for row, (value, lost) in enumerate(zip(data, hidden, strict=True)):
                text = "" if lost else _text(value)
                if isinstance(value, str) and len(value) != len(text) and not lost:
                    padded.append(row)
                codes[row] = places.setdefault("" if text in missing else text, len(places))
            self._codes, self._padded = codes, padded
            self._texts = list(places)
        else:
            message = (
                f"column {name!r} holds {data.dtype}, neither numbers nor texts: convert the column"
            )
            raise DomainError(message)

    @classmethod
    def of_codes(
        cls,
        words: Sequence[str | None],
        codes: NDArray[np.integer],
        name: str,
        rule: ColumnRule | None = None,
        first: int = 0,
    ) -> ArrayColumn:
        """Return a column of texts, of which each row gives the index of its text in `words`.

        This takes no Python object per row, so it is much faster than a column of texts.
        """
        column = cls(np.array(words, object), name, rule, first)
        padded = np.zeros(len(words), np.bool_)
        padded[np.asarray(column._padded, np.intp)] = True
        column._padded = np.flatnonzero(padded[codes])
        column._codes = column._codes[codes]
        return column

    def present(self, *, number: bool = False) -> Bools:
        """Return the mask of rows that have a value.

        If `number` is true, the text nan counts as missing.
        """
        if self._numeric or number:
            filled: Bools = self._cells[1] != Kind.MISSING
            return filled
        there = np.array([not self.rule.is_missing(text) for text in self._texts], np.bool_)
        mask: Bools = there[self._codes]
        return mask

    def among(self, texts: Sequence[str]) -> Bools:
        """Return the mask of rows whose value is one of the texts."""
        if self._numeric:
            message = (
                f"column {self._name!r} holds numbers, not texts; compare it with a number without "
                f"quotes, instead of {texts[0]!r}"
            )
            raise DomainError(message)
        wanted = np.fromiter((text in texts for text in self._texts), np.bool_, len(self._texts))
        equal: Bools = wanted[self._codes] & self.present()
        return equal

    def numbers(self, *, words: bool = False) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where missing; raise TableError for invalid cells."""
        numbers, kinds = self._cells
        self.rule.require(kinds, self.text_of, self._where, words=words)
        return numbers

    def loose_numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers, with NaN where a value is missing or not a number."""
        return self._values if self._numeric else self._cells[0]

    def loses_digits(self) -> bool:
        """Return whether float64 would change a whole number in the column, such as a long id."""
        return self._is_long or any(map(loses_digits, self._texts))

    def tell(self, refused: Refused) -> None:
        """Add to `refused` the column's cells that are neither numbers nor missing."""
        refused.add(self._cells[1], self.text_of, self._where)

    def below_detection(self) -> int:
        """Count the cells below detection, such as <0.01, for which `numbers` assumes a value."""
        return int((self._cells[1] == Kind.BELOW).sum())

    def cells(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """Return the number in each cell (NaN if the cell is not a number), and the `Kind`."""
        return self._cells

    @cached_property
    def _cells(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The number in each cell (NaN if the cell is not a number), and the cell's `Kind`."""
        if self._numeric:
            return read_numbers(self._values, self.rule)
        return read_texts(self._texts, self._codes, self.rule)

    def text_of(self, row: int) -> str:
        """Return the value of a row as text, for a message."""
        if self._numeric:
            return _shortest(float(self._values[row]))
        return self._texts[int(self._codes[row])]

    def _where(self, row: int) -> str:
        """Return the position of a row for a message, such as "row 12", counted from 1."""
        number = self._first + row if isinstance(self._first, int) else int(self._first[row])
        return f"row {number + 1:,}"

    def distinct(self, earlier: Sequence[str] = ()) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct values as texts, and for each row the index of its value."""
        places = {text: place for place, text in enumerate(earlier)}
        texts, codes = self._texts, self._codes
        if self._numeric:
            values, codes = np.unique(
                np.where(self.present(), self._values, np.nan), return_inverse=True
            )
            texts = ["" if value != value else _shortest(value) for value in values.tolist()]
        else:
            texts = ["" if self.rule.is_missing(text) else text for text in texts]
        here = np.array([places.setdefault(text, len(places)) for text in texts], np.intp)
        return list(places), here[codes]

    def spellings(self) -> tuple[list[str], NDArray[np.intp]]:
        """Return the same as `distinct`: a column in memory has one spelling of each value."""
        return self.distinct()

    def padded(self) -> Bools:
        """Return the mask of rows whose text begins or ends with blanks."""
        mask = np.zeros(len(self._values if self._numeric else self._codes), np.bool_)
        mask[np.asarray(self._padded, np.intp)] = True
        return mask


def _shortest(value: float) -> str:
    """Format a number as text; whole numbers have no decimal point."""
    return repr(value).removesuffix(".0")


def _text(value: object) -> str:
    """Format a value as text without outer blanks; None and NaN become the empty text."""
    if value is None or value != value:
        return ""
    return (value.decode() if isinstance(value, bytes) else str(value)).strip(BLANKS)
