"""Numbers in the columns of a table: exact values, missing values, detection limits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import IntEnum
from typing import Literal, NamedTuple, Protocol, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.compute.data import Floats, Ints
from geodomain.errors import TableError, counted

_MOST_PLACES = 6
# A block face is a coordinate plus half a size, each rounded: allowed error in last-place units.
_ROUNDING = 8


class Resolution(NamedTuple):
    """Rounding step of coordinates: ``units * 10**-places``."""

    units: int
    places: int

    @property
    def size(self) -> float:
        """The step as a float."""
        return float(self.units / 10**self.places)


def read_resolution(value: float | str) -> Resolution:
    """Read a resolution: a number above zero with at most six decimals.

    Raises
    ------
    ValueError
        If the value is not such a number.
    """
    try:
        size = Decimal(str(value)).normalize()
        places = max(-int(size.as_tuple().exponent), 0)
        if size > 0 and places <= _MOST_PLACES and size < 10**_MOST_PLACES:
            return Resolution(int(size.scaleb(places)), places)
    except (InvalidOperation, ValueError, TypeError):
        pass
    message = f"resolution= is {value!r}; it must be above zero, with at most six decimals"
    raise ValueError(message)


class Numbers(Protocol):
    """Numbers of a column, (n,), with arithmetic that is as exact as the file format allows."""

    def __len__(self) -> int:
        """Return the number of values."""

    def __add__(self, other: Self, /) -> Self:
        """Return the sums of these numbers and those of `other`."""

    def __sub__(self, other: Self, /) -> Self:
        """Return these numbers minus those of `other`."""

    def half(self) -> Self:
        """Return half of each number."""

    def take(self, rows: NDArray[np.intp] | Ints) -> Self:
        """Return the numbers of some rows; a row may be repeated."""

    def share(self, part: Ints, parts: Ints, start: Self, resolution: Resolution) -> Self:
        """Return ``self * part / parts``.

        If the file cannot hold a result, the result is changed so that `start` plus the result is a
        multiple of the resolution.
        """

    def rounded(self, values: Floats, resolution: Resolution) -> Self:
        """Return `values`, rounded to multiples of a resolution, as numbers of this type."""

    def portion(self, share: Floats) -> Self:
        """Return each number times a share from 0 to 1, with a few more decimals than the number.

        `Doubles` returns the nearest float64 instead.
        """

    def summed(self, group: Ints, count: int) -> Self:
        """Return the sum of each of `count` groups, added in row order."""

    def followed(self, other: Self) -> Self:
        """Return these numbers, followed by the numbers of `other`."""

    def ranked(self, group: Ints) -> Ints:
        """Return an id for each number: equal numbers of the same group have the same id.

        Ids count from 0, and increase with the group and then with the number.
        """

    def doubles(self) -> Floats:
        """Return the nearest float64 of each number."""


def steps(of: Ints, resolution: Resolution) -> tuple[Ints, int]:
    """Return multiples of a resolution as whole numbers of units, and the number of units in 1.

    A unit is the last decimal of the resolution, such as 0.01.
    """
    return of * resolution.units, 10**resolution.places


def numbered(order: NDArray[np.intp], differs: NDArray[np.bool_]) -> Ints:
    """Return a number for each row, counted from 0 in the sequence `order`.

    Equal rows that follow each other in the sequence have the same number. `differs` (n - 1,) says
    whether each row of the sequence differs from the row before.
    """
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.cumsum(np.concatenate([[False], differs]))[: len(order)]
    return numbers


@dataclass(frozen=True, eq=False)
class Doubles:
    """Numbers of a binary file as float64; each operation rounds its result once."""

    values: Floats

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    def __add__(self, other: Doubles) -> Doubles:
        """Return the sums of these numbers and those of `other`."""
        return Doubles(self.values + other.values)

    def __sub__(self, other: Doubles) -> Doubles:
        """Return these numbers minus those of `other`."""
        return Doubles(self.values - other.values)

    def half(self) -> Doubles:
        """Return half of each number."""
        return Doubles(self.values / 2)

    def take(self, rows: NDArray[np.intp] | Ints) -> Doubles:
        """Return the numbers of some rows."""
        return Doubles(self.values[rows])

    def share(self, part: Ints, parts: Ints, start: Doubles, resolution: Resolution) -> Doubles:
        """Return ``self * part / parts``, or exactly the number where `part` equals `parts`."""
        return Doubles(np.where(part == parts, self.values, self.values * part / parts))

    def rounded(self, values: Floats, resolution: Resolution) -> Doubles:
        """Return `values`, rounded to multiples of a resolution, as numbers of this type."""
        units, scale = steps(np.rint(values / resolution.size).astype(np.int64), resolution)
        return Doubles(units / scale)

    def portion(self, share: Floats) -> Doubles:
        """Return each number times a share from 0 to 1."""
        return Doubles(self.values * share)

    def summed(self, group: Ints, count: int) -> Doubles:
        """Return the sum of each of `count` groups, added in row order."""
        return Doubles(np.bincount(group, self.values, count).astype(np.float64))

    def followed(self, other: Doubles) -> Doubles:
        """Return these numbers, followed by the numbers of `other`."""
        return Doubles(np.concatenate([self.values, other.values]))

    def ranked(self, group: Ints) -> Ints:
        """Return an id for each number: equal numbers of the same group have the same id.

        Ids count from 0, and increase with the group and then with the number. Neighbouring numbers
        that differ only by rounding count as equal.
        """
        near = _ROUNDING * np.spacing(np.abs(self.values).max(initial=1.0))
        order = np.lexsort([self.values, group])
        values, groups = self.values[order], group[order]
        return numbered(order, (np.diff(values) > near) | (np.diff(groups) != 0))

    def doubles(self) -> Floats:
        """Return the numbers, which are float64 already."""
        return self.values


# Numbers of single precision, which were written as decimals of a few digits.

# Decimals of six digits survive single precision, and nine digits identify every float32.
_FEWEST_DIGITS, _MOST_DIGITS = 6, 10
_EXACT_POWER = 22  # the largest exact power of ten in float64
WHOLE = 2.0**53  # every whole number up to here is exact in float64


def loses_digits(text: str) -> bool:
    """Return whether a text is a whole number that float64 would change."""
    digits = text.strip(BLANKS).lstrip("+-")
    if not 15 < len(digits) < 300 or not (digits.isascii() and digits.isdecimal()):
        return False
    return int(float(digits)) != int(digits)


def as_float64(values: ArrayLike) -> Floats:
    """Return amounts as float64; a float32 becomes the shortest decimal that rounds to it.

    A float32 of 0.7 becomes 0.7, as in a text table. Do not use this function for coordinates and
    sizes, whose exact binary values matter.

    Examples
    --------
    >>> as_float64(np.array([0.7, 2.39, 5.0, np.nan], np.float32)).tolist()
    [0.7, 2.39, 5.0, nan]
    """
    array = np.asarray(values)
    if array.dtype.kind != "f" or array.dtype.itemsize != 4:
        return array.astype(np.float64)
    single = array.astype(np.float32, copy=False).ravel()
    doubles = single.astype(np.float64)
    exact = (doubles == np.rint(doubles)) & (np.abs(doubles) < WHOLE)
    rows = np.flatnonzero(np.isfinite(single) & ~exact)
    power = np.floor(np.log10(np.abs(doubles[rows]))).astype(np.int64)
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS + 1):
        places = digits - 1 - power
        easy = (places >= 0) & (places <= _EXACT_POWER)
        scale = 10.0 ** np.where(easy, places, 0)
        near = np.rint(doubles[rows] * scale) / scale
        meant = easy & (near.astype(np.float32) == single[rows])
        doubles[rows[meant]] = near[meant]
        rows, power = rows[~meant], power[~meant]
    rare, place = np.unique(single[rows], return_inverse=True)
    doubles[rows] = np.array([float(str(value)) for value in rare], np.float64)[place]
    return doubles.reshape(array.shape)


# Columns of text as numbers.

BelowDetection = Literal["half", "limit", "zero", "missing"]
BELOW_DETECTION: tuple[BelowDetection, ...] = get_args(BelowDetection)

Codes = NDArray[np.intp]
Mark = float | str

_SHARES = {"half": 0.5, "limit": 1.0, "zero": 0.0, "missing": math.nan}
_COUNTED = {
    "half": "they count as half of the detection limit, which is the magnitude of the value",
    "limit": "they count as the detection limit, which is the magnitude of the value",
    "zero": "they count as 0",
    "missing": "they count as missing",
}
# Words that laboratories write for a value below detection, without a limit in the cell.
_WORDS = {"bdl", "bld", "bd", "dl", "lod", "lld", "nd", "n.d.", "<dl", "<lod", "<lld", "<ld"}
_INFINITE = {"inf", "infinity", "1.#inf"}
# Texts that look like a number or a truth value: 1,410 or 1'410 or 12 % or <x or true.
_PARTS = r"[0-9.,'\u2019\u00a0\u202f ]*"
_LIKE_NUMBERS = (
    rf"[<>\u2264\u2265~]?\s*[+-]?\s*{_PARTS}[0-9]{_PARTS}(?:[eEdD][+-]?[0-9]+)?\s*%?"
    r"|true|false|[+-]?inf(?:inity)?|<.*"
)
_THOUSANDS = r"[+-]?[0-9]{1,3}(?:[,.'\u2019\u00a0\u202f ][0-9]{3})+(?:[.,][0-9]+)?"
# Blanks around a cell, as in is_blank of kernels/text/number.h: a no-break space is a letter.
BLANKS = " \t"
_SHOWN, _LOOKED, _SNIPPET, _MOST_VALUES = 3, 1000, 40, 100_000
# Missing-value marks of grids and images reach this size; no grade does.
NO_GRADE = 1e20
# Numbers that mean a missing value in many tables.
MARKS = frozenset(
    float(sign + text)
    for sign, texts in (
        ("-", ("99", "999", "9999", "99999", "999999", "99.9", "99.99", "999.9", "999.99",
               "999.25", "9999.99", "9999.25", "1e30", "1e32", "1e38")),
        ("", ("99999", "999999", "9999999", "1e30", "1e32", "1e38")),
    )
    for text in texts
)  # fmt: skip


class Kind(IntEnum):
    """Meaning of a cell. The first four members equal those of `Kind` in kernels/text/cells.h."""

    MISSING = 0
    NUMBER = 1
    WORD = 2
    UNSURE = 3
    BELOW = 4
    INFINITE = 5
    UNSTATED = 6  # below detection, and the user has set no policy for such values
    UNLIMITED = 7  # a word such as BDL, and the user has set no detection limit
    GARBLED = 8  # a text that looks like a number or a truth value


_READ = (Kind.MISSING, Kind.NUMBER, Kind.BELOW)
_TEXTS = (Kind.WORD, Kind.UNLIMITED)


class ColumnRule(NamedTuple):
    """How the cells of one column are read.

    Attributes
    ----------
    name, table : str
        Names of the column and its table in messages.
    codes, words : tuple of float, tuple of str
        Numbers and texts that mean that a value is missing.
    below : {"half", "limit", "zero", "missing"}, optional
        Policy for values below detection.
    limit : float, optional
        The detection limit of words such as BDL.
    decimal : str
        The decimal mark of texts.
    has_limits : bool
        Whether values can be below detection: a coordinate, a depth or an angle cannot.
    in_text : bool
        Whether the table is a text table, whose decimal mark a caller can set.
    """

    name: str = ""
    table: str = ""
    codes: tuple[float, ...] = ()
    words: tuple[str, ...] = ()
    below: BelowDetection | None = None
    limit: float | None = None
    decimal: str = "."
    has_limits: bool = True
    in_text: bool = True

    def read(self, text: str) -> tuple[Kind, float]:
        """Return the kind and number of a text without outer blanks; NaN if it is no number."""
        if not text or text in self.words or text.lower().lstrip("+-") == "nan":
            return Kind.MISSING, math.nan
        value = self.number(text)
        if value is not None:
            if value in self.codes:
                return Kind.MISSING, math.nan
            return (Kind.INFINITE, math.nan) if math.isinf(value) else (Kind.NUMBER, value)
        limit = self.number(text[1:].strip(BLANKS)) if text[0] == "<" else None
        if limit is not None and 0 < limit < math.inf:
            return self._below(limit, Kind.UNSTATED)
        if text.lower() in _WORDS:
            return self._below(self.limit, Kind.UNLIMITED)
        return Kind.GARBLED if _is_like_number(text) else Kind.WORD, math.nan

    def is_missing(self, text: str) -> bool:
        """Return whether a label is empty or a missing-value mark; the text nan is a label."""
        if not text or text in self.words:
            return True
        return self.read(text)[0] == Kind.MISSING and text.lower().lstrip("+-") != "nan"

    def number(self, text: str) -> float | None:
        """Return a text as the nearest float64, or None if it is not a number."""
        if _is_number(text, self.decimal):
            return float(text.replace(self.decimal, ".").lower().replace("d", "e"))
        if text.lstrip("+-").lower() in _INFINITE:
            return -math.inf if text[0] == "-" else math.inf
        return None

    def _below(self, limit: float | None, otherwise: Kind) -> tuple[Kind, float]:
        """Return the kind and number of a value below detection.

        If there is no policy or no `limit`, the kind is `otherwise` and the number is NaN.
        """
        if self.below is None or limit is None:
            return otherwise, math.nan
        if self.below == "missing":
            return Kind.MISSING, math.nan
        return Kind.BELOW, _SHARES[self.below] * limit

    def require(
        self,
        kinds: NDArray[np.uint8],
        text: Callable[[int], str],
        where: Callable[[int], str],
        *,
        words: bool = False,
    ) -> None:
        """Raise NumberError if any cells are neither numbers nor missing.

        Parameters
        ----------
        kinds : (n,) uint8
            A `Kind` for each row.
        text, where : callable
            Return the text of a row's cell, and the position of the row, such as "line 12".
        words : bool
            Whether to accept texts that do not look like numbers, as a condition on codes does.
        """
        refused = Refused(self, words=words)
        refused.add(kinds, text, where)
        if refused.count:
            raise NumberError(refused, refused.message(where(len(kinds) - 1)))

    def mend(self, text: str, kind: Kind, *, whole: bool) -> str:
        """Return the remedy for a refused cell; `whole` is true if the column has no numbers."""
        named = f"missing={{{self.name!r}: {text[:_SNIPPET]!r}}}"
        if kind in (Kind.UNSTATED, Kind.UNLIMITED) and self.has_limits:
            limit = f" and its limit with detection_limit={{{self.name!r}: 0.01}}"
            return (
                "Choose how to read values below detection with below_detection='half' (or limit, "
                f"zero, missing){limit if kind == Kind.UNLIMITED else ''}; if the cell means a "
                f"missing value, use {named}."
            )
        if kind == Kind.INFINITE:
            return (
                "Numbers must be finite: correct the cell, or, if it means a missing value, use "
                f"{named}."
            )
        other = "," if self.decimal == "." else "."
        if _is_number(text, other):
            thousands = " without thousands separators" if re.fullmatch(_THOUSANDS, text) else ""
            what = f"use decimal={other!r}" if self.in_text else "read the column as numbers first"
            return (
                f"The decimal mark of the table is {self.decimal!r}: export the table again"
                f"{thousands}, or, if {other!r} is its decimal mark, {what}."
            )
        if re.fullmatch(_THOUSANDS, text):
            return "Export the table without thousands separators."
        if text.lower() in ("true", "false"):
            return f"A truth value is not 1 or 0: compare it as text, such as {text!r}."
        if whole:
            return "The column holds texts: name a column of numbers."
        return f"Correct the cell, or, if it means a missing value, use {named}."


class Refused:
    """Counts of a column's cells that are neither numbers nor missing, added chunk by chunk.

    Parameters
    ----------
    rule : ColumnRule
        How the column is read.
    words : bool
        Whether to accept texts that do not look like numbers.

    Attributes
    ----------
    count : int
        Number of refused cells.
    """

    def __init__(self, rule: ColumnRule, *, words: bool = False) -> None:
        self.rule, self.words, self.count = rule, words, 0
        self._texts_alone = True
        self._shown: dict[str, tuple[str, Kind]] = {}

    def add(
        self, kinds: NDArray[np.uint8], text: Callable[[int], str], where: Callable[[int], str]
    ) -> None:
        """Add the refused cells of a chunk of rows; see `ColumnRule.require`."""
        numbers = (kinds == Kind.NUMBER) | (kinds == Kind.BELOW)
        self._texts_alone = self._texts_alone and not numbers.any()
        wrong = np.flatnonzero(~np.isin(kinds, (*_READ, *_TEXTS) if self.words else _READ))
        self.count += wrong.size
        for row in wrong[:_LOOKED].tolist() if len(self._shown) < _SHOWN else ():
            cell = text(row)
            if cell not in self._shown and len(self._shown) < _SHOWN:
                self._shown[cell] = where(row), Kind(int(kinds[row]))

    def message(self, last: str = "") -> str:
        """Return an error message for the whole column, or for the rows up to `last`.

        `last` is the position of a row, such as "line 12".
        """
        rule = self.rule
        such = ", ".join(f"{_quoted(cell)} in {where}" for cell, (where, _) in self._shown.items())
        first, (_, kind) = next(iter(self._shown.items()))
        rows = f"the rows up to {last}" if last else "the rows"
        return (
            f"{rule.table}{': ' if rule.table else ''}{rule.name} is not a number in "
            f"{self.count:,} of {rows}, such as {such}. "
            f"{rule.mend(first, kind, whole=self._texts_alone)}"
        )


class NumberError(TableError):
    """Some cells of a column are neither numbers nor missing.

    Attributes
    ----------
    refused : Refused
        The refused cells.
    blamed : str
        Start of the message, which names the user of the column, such as a domain.
    """

    def __init__(self, refused: Refused, message: str, blamed: str = "") -> None:
        super().__init__(blamed + message)
        self.refused, self.blamed = refused, blamed

    def __reduce__(self) -> tuple[type[TableError], tuple[str]]:
        """Pickle as a TableError with the same message."""
        return TableError, (str(self),)

    def blaming(self, whose: str) -> NumberError:
        """Return the error with a longer prefix, which names the setting that uses the column."""
        return NumberError(self.refused, str(self)[len(self.blamed) :], whose + self.blamed)

    def of(self, whole: Refused) -> NumberError:
        """Return the error with a message about the whole column instead of its first rows."""
        return NumberError(whole, whole.message(), self.blamed)


class NumberRule(NamedTuple):
    """How a table's columns are read as numbers.

    Attributes
    ----------
    missing : tuple of (str, float or str)
        Marks of missing values, each with its column; an empty name stands for all columns.
    below_detection : {"half", "limit", "zero", "missing"}, optional
        Policy for values below detection.
    limits : tuple of (str, float)
        Detection limits by column.
    decimal : str
        The decimal mark of texts.
    table : str
        Name of the table in messages.
    """

    missing: tuple[tuple[str, Mark], ...] = ()
    below_detection: BelowDetection | None = None
    limits: tuple[tuple[str, float], ...] = ()
    decimal: str = "."
    table: str = ""

    def of(self, name: str) -> ColumnRule:
        """Return the rule of a column."""
        marks = [mark for column, mark in self.missing if column in ("", name)]
        limits = [limit for column, limit in self.limits if column == name]
        codes = [mark for mark in marks if not isinstance(mark, str)]
        words = [mark for mark in marks if isinstance(mark, str)]
        rule = ColumnRule(
            name,
            self.table,
            tuple(codes),
            tuple(words),
            self.below_detection,
            limits[-1] if limits else None,
            self.decimal,
        )
        # A mark such as inf or 1e400 stands for the infinity that typed columns hold.
        read = [rule.number(word) for word in words]
        infinite = [value for value in read if value is not None and math.isinf(value)]
        return rule._replace(codes=(*codes, *infinite))


class NegativeGrades:
    """Counts of impossible grades by value: negative grades, and grades of 1e20 or more.

    A negative grade may be minus the detection limit. The user's policy for values below detection
    decides how it counts; without a policy, it is used as a number. Large grades, such as 1e30, are
    used as numbers. The warnings name the most frequent values, and the option that makes them
    missing.

    Parameters
    ----------
    name : str
        Name of the column.
    below : {"half", "limit", "zero", "missing"}, optional
        Policy for values below detection.

    Attributes
    ----------
    cells : int
        Number of cells such as <0.01 and BDL that the policy gave a value.
    """

    def __init__(self, name: str, below: BelowDetection | None = None) -> None:
        self.name, self.below, self.cells = name, below, 0
        self._negative, self._large = _Values(), _Values()

    @property
    def count(self) -> int:
        """Number of negative values."""
        return self._negative.count

    @property
    def large(self) -> int:
        """Number of values of 1e20 and more."""
        return self._large.count

    def take(self, grade: Floats, done: int = 0, cells: int = 0) -> Floats:
        """Count the impossible grades of a chunk; return its grades after applying the policy.

        `done` is the number of rows before the chunk, and `cells` the number of its cells below
        detection, whose values `grade` has already.
        """
        self.cells += cells
        self._large.add(grade, grade >= NO_GRADE, done)
        negative = grade < 0
        if not self._negative.add(grade, negative, done) or self.below is None:
            return grade
        grades: Floats = np.where(negative, -grade * _SHARES[self.below], grade)
        return grades

    def merge(self, later: NegativeGrades, done: int = 0) -> None:
        """Add the counts of a later part of the column, which begins after `done` rows."""
        self.cells += later.cells
        self._negative.merge(later._negative, done)
        self._large.merge(later._large, done)

    def stored(self) -> Floats:
        """Return policy, counts, first rows and values as an array, (n, 2), for `restored`."""
        policy = BELOW_DETECTION.index(self.below) if self.below else -1
        heads = [(each.count, each.first) for each in (self._negative, self._large)]
        values = [*self._negative.values.items(), *self._large.values.items()]
        return np.array([(policy, self.cells), *heads, *values], np.float64)

    @classmethod
    def restored(cls, name: str, rows: Floats) -> NegativeGrades:
        """Return the counts from an array that `stored` made."""
        policy = int(rows[0, 0])
        made = cls(name, BELOW_DETECTION[policy] if policy >= 0 else None)
        made.cells = int(rows[0, 1])
        for each, (count, first) in zip(
            (made._negative, made._large), rows[1:3].tolist(), strict=True
        ):
            each.count, each.first = int(count), int(first)
        for value, many in rows[3:].tolist():
            (made._negative if value < 0 else made._large).values[value] = int(many)
        return made

    def notes(self) -> Iterator[str]:
        """Yield a note on the cells below detection."""
        yield from below_notes({self.name: self.cells}, self.below)

    def warnings(self, row: str, *, detection: bool = True) -> Iterator[str]:
        """Yield warnings about negative and large grades, with their most frequent values.

        `row` is the word for a row, such as "block". `detection` is false for amounts, which have
        no detection limit.
        """
        if self.count:
            start = f"{self.name} is negative in {self._negative.places(row)}"
            mark = f"missing={{{self.name!r}: {self._negative.commonest!r}}}"
            below = (
                "if they are below detection, use below_detection='half' (or limit, zero, "
                "missing); "
            )
            if self.below is not None:
                usual = self._negative.usual_mark
                declared = f"missing={{{self.name!r}: {usual!r}}}"
                often = f"; {usual!r} often stands for a missing value: then use {declared}"
                yield f"{start}: {_COUNTED[self.below]}{often if usual is not None else ''}"
            else:
                yield (
                    f"{start}; these values are used as they are: {below if detection else ''}if "
                    f"one of them stands for a missing value, use {mark}"
                )
        if self._large.count:
            mark = f"missing={{{self.name!r}: {self._large.commonest!r}}}"
            yield (
                f"{self.name} is {NO_GRADE:g} or more in {self._large.places(row)}; these values "
                f"are used as they are: if one of them stands for a missing value, use {mark}"
            )


def below_notes(cells: Mapping[str, int], policy: BelowDetection | None) -> Iterator[str]:
    """Yield a note for each column on its cells below detection, which the policy gave a value."""
    for name, count in cells.items():
        if count:
            yield (
                f"{name}: {counted(count, 'value')} below detection, read with below_detection="
                f"{policy!r}"
            )


class _Values:
    """Counts of certain values in a column, and the first row that has such a value.

    Rows are counted from 1.
    """

    def __init__(self) -> None:
        self.count = self.first = 0
        self.values: dict[float, int] = {}

    def add(self, grade: Floats, mask: NDArray[np.bool_], done: int) -> bool:
        """Count the values at which `mask` is true; return whether there are any.

        `grade` is a chunk of the column, and `done` the number of rows before this chunk.
        """
        if not mask.any():
            return False
        values, counts = np.unique(grade[mask], return_counts=True)
        self._count(
            done + int(mask.argmax()) + 1, zip(values.tolist(), counts.tolist(), strict=True)
        )
        return True

    def merge(self, later: _Values, done: int) -> None:
        """Add the counts of a later part of the column, which begins after `done` rows."""
        if later.count:
            self._count(done + later.first, later.values.items())
            self.count += later.count - sum(later.values.values())

    def _count(self, first: int, values: Iterable[tuple[float, int]]) -> None:
        self.first = self.first or first
        for value, count in values:
            self.count += count
            if value in self.values or len(self.values) < _MOST_VALUES:
                self.values[value] = self.values.get(value, 0) + count

    def _common(self) -> list[tuple[float, int]]:
        return sorted(self.values.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]

    @property
    def commonest(self) -> float:
        """The most frequent value."""
        return self._common()[0][0]

    @property
    def usual_mark(self) -> float | None:
        """The most frequent value that means a missing value in many tables."""
        counted = [value for value in self.values if value in MARKS]
        return min(counted, key=lambda value: (-self.values[value], value), default=None)

    def places(self, row: str) -> str:
        """Return text for a message: number of rows, the first row, and the frequent values."""
        such = ", ".join(f"{value!r} in {count:,}" for value, count in self._common())
        more = ", .." if len(self.values) > _SHOWN else ""
        return f"{self.count:,} of the {row}s, the first in {row} {self.first:,} ({such}{more})"


def read_texts(
    texts: Sequence[str], codes: Codes, rule: ColumnRule
) -> tuple[Floats, NDArray[np.uint8]]:
    """Return the number and the `Kind` of each row, (n,) each.

    `codes` holds, for each row, the index of its text in `texts`.
    """
    read = [rule.read(text) for text in texts]
    kinds = np.array([kind for kind, _ in read], np.uint8)
    numbers = np.array([number for _, number in read], np.float64)
    return numbers[codes], kinds[codes]


def read_numbers(values: Floats, rule: ColumnRule) -> tuple[Floats, NDArray[np.uint8]]:
    """Return the numbers of a typed column, NaN where missing, and the `Kind` of each row."""
    missing = np.isnan(values)
    if rule.codes:
        missing |= np.isin(values, rule.codes)
    kinds = np.where(missing, Kind.MISSING, Kind.NUMBER).astype(np.uint8)
    kinds[np.isinf(values) & ~missing] = Kind.INFINITE
    return np.where(kinds == Kind.NUMBER, values, np.nan), kinds


def read_positions(
    values: Floats, rule: ColumnRule, where: Callable[[int], str] | None = None
) -> Floats:
    """Return coordinates, sizes or depths from a typed column, NaN where missing.

    Raises
    ------
    NumberError
        For an infinite value that is not a missing-value mark.
    """
    if not rule.codes and not np.isinf(values).any():
        return values
    numbers, kinds = read_numbers(values, rule)
    rule.require(kinds, lambda row: repr(float(values[row])), where or _row)
    return numbers


def _row(row: int) -> str:
    """Return the position of a row of a table in memory, for a message."""
    return f"row {row + 1:,}"


def _is_like_number(text: str) -> bool:
    """Return whether a text looks like a number or a truth value."""
    return re.fullmatch(_LIKE_NUMBERS, text, re.IGNORECASE) is not None


def _is_number(text: str, mark: str) -> bool:
    """Return whether a text is a number with this decimal mark, by the grammar of number.h."""
    mark = re.escape(mark)
    return bool(
        re.fullmatch(rf"[+-]?(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eEdD][+-]?[0-9]+)?", text)
    )


def _quoted(text: str) -> str:
    """Return a text in quotes, shortened to one line."""
    return repr(text if len(text) <= _SNIPPET else text[: _SNIPPET - 3] + "...")
