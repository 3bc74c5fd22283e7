"""Coordinates along an axis of a regular model, as decimal numbers and as text; nothing rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Number = float | str | Decimal
Numbers = str | Number | Sequence[Number]
Decimals = tuple[Decimal, Decimal, Decimal]

_MOST_DECIMALS = 30
_LARGEST = Decimal(2) ** 339  # of a wireframe
# Integers and powers of ten that float64 holds exactly: their quotient is rounded once.
_EXACT_INTEGER, _EXACT_POWER = 2**53, 22
_CHUNK = 1 << 16


@dataclass(frozen=True)
class DecimalAxis:
    """The blocks along one axis: from `low`, `count` of them, of one `size`.

    Attributes
    ----------
    low, size : Decimal
        The lower face of the first block, and the length of each.
    count : int
    """

    low: Decimal
    size: Decimal
    count: int

    @property
    def high(self) -> Decimal:
        """Return the upper face of the last block."""
        return as_decimal(Fraction(self.low) + self.count * Fraction(self.size))

    @cached_property
    def _units(self) -> tuple[int, int, int]:
        """Return the first centre and the size in units of a power of ten, and its decimals."""
        size = Fraction(self.size)
        first, decimals = Fraction(self.low) + size / 2, 0
        step = size if self.count > 1 else Fraction(0)
        while (first * 10**decimals).denominator > 1 or (step * 10**decimals).denominator > 1:
            decimals += 1
        return int(first * 10**decimals), int(step * 10**decimals), decimals

    def texts(self) -> Iterator[list[str]]:
        """Yield the centres as text, some at a time: all with as many decimals as one needs."""
        first, step, decimals = self._units
        for begin in range(0, self.count, _CHUNK):
            end = min(begin + _CHUNK, self.count)
            yield [_text(first + step * n, decimals) for n in range(begin, end)]

    def numbers(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the float64 that is nearest to each of some centres."""
        first, step, decimals = self._units
        most = max(abs(first), abs(first + step * self.count))
        if most < _EXACT_INTEGER and decimals <= _EXACT_POWER:
            return (first + step * places) / 10.0**decimals
        # Python divides integers correctly rounded, however long.
        exact = [(first + step * place) / 10**decimals for place in places.tolist()]
        return np.array(exact, np.float64)

    @property
    def is_resolved(self) -> bool:
        """Whether float64 tells neighbours apart, with a digit to spare."""
        largest = max(abs(float(self.low)), abs(float(self.high)))
        return float(self.size) > 16 * float(np.spacing(largest))


def _text(number: int, decimals: int) -> str:
    """Write a number of units of a power of ten."""
    if not decimals:
        return str(number)
    digits = str(abs(number)).rjust(decimals + 1, "0")
    return f"{'-' if number < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def as_decimal(value: Fraction) -> Decimal:
    """Return a fraction whose decimals end, exactly and without zeros at its end."""
    decimals = 0
    while (value * 10**decimals).denominator > 1:
        decimals += 1
    return Decimal(_text(int(value * 10**decimals), decimals))


def plain(value: Decimal) -> str:
    """Write a decimal number without an exponent, or zeros at its end."""
    return str(as_decimal(Fraction(value)))


def read_decimals(value: Numbers, what: str, *, alone: bool = False) -> Decimals:
    """Return three decimal numbers, or those of X,Y,Z; floats by their shortest digits.

    Parameters
    ----------
    value : str, number or sequence of them
        Of three, or `alone`: one, which stands for all three.
    what : str
        What messages call it.

    Raises
    ------
    ValueError
        For anything else, and for numbers that are not finite, too large or too fine.
    """
    given = value.split(",") if isinstance(value, str) else value
    parts: list[Number] = [given] if isinstance(given, float | int | Decimal) else [*given]
    try:
        found = [_decimal(part) for part in (parts * 3 if alone and len(parts) == 1 else parts)]
    except (InvalidOperation, ValueError, TypeError):
        found = []
    if len(found) != 3:
        message = f"{what} is {value!r}; it must be {'one number, or ' if alone else ''}X,Y,Z"
        raise ValueError(message)
    for one in found:
        exponent = one.as_tuple().exponent
        if not isinstance(exponent, int) or not abs(one) < _LARGEST:
            message = f"{what} is {value!r}: numbers must be finite, and smaller than 2^339"
            raise ValueError(message)
        if -exponent > _MOST_DECIMALS:
            message = f"{what} is {value!r}: a number has more than {_MOST_DECIMALS} decimals"
            raise ValueError(message)
    return found[0], found[1], found[2]


def read_sizes(value: Numbers) -> Decimals:
    """Return three sizes above zero; one number is the size along every axis."""
    found = read_decimals(value, "size", alone=True)
    if min(found) <= 0:
        message = f"size is {value!r}; a block's size must be above zero"
        raise ValueError(message)
    return found


def read_margins(value: Numbers) -> Decimals:
    """Return three margins of at least zero; one number is the margin on every side."""
    found = read_decimals(value, "margin", alone=True)
    if min(found) < 0:
        message = f"margin is {value!r}; it must be at least zero"
        raise ValueError(message)
    return found


def read_counts(value: str | Sequence[int]) -> tuple[int, int, int]:
    """Return three whole numbers above zero, or those of NX,NY,NZ."""
    try:
        found = [int(one) for one in (value.split(",") if isinstance(value, str) else value)]
    except (TypeError, ValueError):
        found = []
    if len(found) != 3 or min(found) < 1:
        message = f"count is {value!r}; it must be NX,NY,NZ, three whole numbers above zero"
        raise ValueError(message)
    return found[0], found[1], found[2]


def _decimal(value: Number) -> Decimal:
    """Return a number as it is written; a float by the fewest digits that mean it."""
    if isinstance(value, str | Decimal | int):
        return Decimal(value.strip() if isinstance(value, str) else value)
    return Decimal(repr(float(value))) if math.isfinite(value) else Decimal("nan")
