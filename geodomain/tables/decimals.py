"""Exact decimal numbers of a text table.

Each number is stored as two integers: the number rounded down, and the remainder in units of
10^-18.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints
from geodomain.compute.native import core, thread_count
from geodomain.tables.numbers import Resolution, numbered, steps

PLACES = 18
# Numbers with at most this many decimals can be halved twice without rounding.
MOST_DECIMALS = PLACES - 2
_PARTS = 10**PLACES
_LIMB = 10**9
# Decimals added when an amount is divided, up to this many digits in total.
_MORE, _DIGITS = 6, 15
NOT_PLAIN = 255


@dataclass(frozen=True)
class Decimals:
    """Exact decimal numbers; see `geodomain.tables.numbers.Numbers`.

    Attributes
    ----------
    whole, parts : (n,) int64
        The number rounded down to a whole number, and the remainder in units of 10^-18, from 0 to
        10^18 - 1.
    decimals : (n,) uint8
        Number of decimals in the text that was read. The number is written with at least as many
        decimals. `NOT_PLAIN` marks a cell that is not a plain decimal.
    """

    whole: Ints
    parts: Ints
    decimals: NDArray[np.uint8]

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.whole)

    def __add__(self, other: Decimals) -> Decimals:
        """Return the exact sum of each number and the number of `other` in the same row."""
        parts = self.parts + other.parts
        over = parts >= _PARTS
        whole = self.whole + other.whole + over
        return Decimals(whole, np.where(over, parts - _PARTS, parts), self.decimals)

    def __sub__(self, other: Decimals) -> Decimals:
        """Return, exactly, each number minus the number of `other` in the same row."""
        parts = self.parts - other.parts
        under = parts < 0
        whole = self.whole - other.whole - under
        return Decimals(whole, np.where(under, parts + _PARTS, parts), self.decimals)

    def half(self) -> Decimals:
        """Return half of each number; exact unless the 18th decimal of the number is odd."""
        odd = self.whole & 1
        return Decimals(self.whole >> 1, (self.parts + odd * _PARTS) // 2, self.decimals)

    def take(self, rows: NDArray[np.intp] | Ints) -> Decimals:
        """Return the numbers of some rows; a row may be repeated."""
        return Decimals(self.whole[rows], self.parts[rows], self.decimals[rows])

    def share(self, part: Ints, parts: Ints, start: Decimals, resolution: Resolution) -> Decimals:
        """Return ``self * part / parts``.

        A result with at most 17 decimals is exact. Any other result is changed so that `start` plus
        the result is a multiple of the resolution. The numbers must not be negative, and `parts`
        must be below 2^20.
        """
        whole, rest = np.divmod(self.whole * part, parts)
        high, low = np.divmod(self.parts, _LIMB)
        high, rest = np.divmod(rest * _LIMB + high * part, parts)
        low, rest = np.divmod(rest * _LIMB + low * part, parts)
        high += low // _LIMB
        low %= _LIMB
        product = Decimals(whole + high // _LIMB, high % _LIMB * _LIMB + low, self.decimals)
        long = np.flatnonzero((rest != 0) | (product.parts % 10 != 0))
        if long.size:
            begin = start.take(long)
            near = (begin + product.take(long)).to_multiples(resolution) - begin
            product.whole[long], product.parts[long] = near.whole, near.parts
        return product

    def to_multiples(self, resolution: Resolution) -> Decimals:
        """Round the numbers to multiples of a resolution, halves upwards."""
        scale = 10**resolution.places
        # Doubling the units distinguishes a half from anything below it.
        doubled = self.whole * (2 * scale) + self.parts // (_PARTS // scale // 2)
        return self._units((doubled + resolution.units) // (2 * resolution.units), resolution)

    def rounded(self, values: Floats, resolution: Resolution) -> Decimals:
        """Return float64 `values`, rounded to multiples of a resolution, as exact decimals."""
        return self._units(np.rint(values / resolution.size).astype(np.int64), resolution)

    def _units(self, multiples: Ints, resolution: Resolution) -> Decimals:
        units, scale = steps(multiples, resolution)
        whole, rest = np.divmod(units, scale)
        return Decimals(whole, rest * (_PARTS // scale), np.zeros(len(units), np.uint8))

    def portion(self, share: Floats) -> Decimals:
        """Return each number times a share from 0 to 1; a share of 1 leaves the number unchanged.

        Any other product is rounded to six more decimals than the number has. If the product would
        then have more than 15 digits, it is rounded to fewer decimals, but not fewer than the
        number has.
        """
        doubles = self.doubles()
        digits = np.ceil(np.log10(np.maximum(np.abs(doubles), 1.0))).astype(np.int64)
        own = self.decimals.astype(np.int64)
        places = np.maximum(np.minimum(own + _MORE, _DIGITS - digits), own)
        scale = 10 ** np.clip(places, 0, PLACES - digits)
        units = np.rint(doubles * share * scale).astype(np.int64)
        whole, rest = np.divmod(units, scale)
        all_of_it = share == 1.0
        return Decimals(
            np.where(all_of_it, self.whole, whole),
            np.where(all_of_it, self.parts, rest * (_PARTS // scale)),
            self.decimals,
        )

    def summed(self, group: Ints, count: int) -> Decimals:
        """Return the exact sum of each of `count` groups, for at most 2^33 numbers.

        `group` holds the group of each number, counted from 0.
        """
        whole, high, low = np.zeros((3, count), np.int64)
        decimals = np.zeros(count, np.uint8)
        np.add.at(whole, group, self.whole)
        np.add.at(high, group, self.parts // _LIMB)
        np.add.at(low, group, self.parts % _LIMB)
        np.maximum.at(decimals, group, self.decimals)
        high += low // _LIMB
        whole += high // _LIMB
        return Decimals(whole, high % _LIMB * _LIMB + low % _LIMB, decimals)

    def followed(self, other: Decimals) -> Decimals:
        """Return these numbers, followed by the numbers of `other`."""
        both = ((self.whole, other.whole), (self.parts, other.parts))
        whole, parts = (np.concatenate(pair) for pair in both)
        return Decimals(whole, parts, np.concatenate([self.decimals, other.decimals]))

    def ranked(self, group: Ints) -> Ints:
        """Return an id for each number: equal numbers of the same group have the same id.

        Ids count from 0, and increase with the group and then with the number.
        """
        order = np.lexsort([self.parts, self.whole, group])
        columns = (self.parts[order], self.whole[order], group[order])
        return numbered(order, np.logical_or.reduce([np.diff(each) != 0 for each in columns]))

    def doubles(self) -> Floats:
        """Return the float64 nearest to each number, as Python's `float` reads it from text."""
        whole, parts = np.ascontiguousarray(self.whole), np.ascontiguousarray(self.parts)
        out = np.empty(len(whole))
        core().fixed_doubles(
            whole,
            parts,
            len(whole),
            thread_count(None),
            out,
        )
        for row in np.flatnonzero(np.isnan(out)).tolist():
            out[row] = float(self.exact(row))
        return out

    def spelled(self, mark: bytes, *, quoted: bool) -> tuple[list[bytes], Ints]:
        """Return the distinct numbers as texts, and for each row the index of its text."""
        quote = b'"' if quoted else b""
        group = np.zeros(len(self), np.int64)
        place = self.ranked(group)
        first = np.unique(place, return_index=True)[1]
        out = ctypes.create_string_buffer(64)
        texts = []
        for row in first.tolist():
            length = core().fixed_write(
                int(self.whole[row]), int(self.parts[row]),
                0, mark, out,
            )  # fmt: skip
            texts.append(quote + out.raw[:length] + quote)
        return texts, place

    def exact(self, row: int) -> Decimal:
        """Return the value in one row as a Python Decimal."""
        with localcontext() as context:
            context.prec = 4 * PLACES
            return int(self.whole[row]) + Decimal(int(self.parts[row])).scaleb(-PLACES)


def read_decimals(text: NDArray[np.uint8], places: Ints, mark: bytes) -> Decimals:
    """Read the cells of a text at the byte ranges `places`, (n, 2).

    A cell that is not a plain decimal, such as 1e3, gets `NOT_PLAIN` as its number of decimals.
    """
    count = len(places)
    whole, parts = np.empty((2, count), np.int64)
    decimals = np.empty(count, np.uint8)
    core().fixed_read(
        text,
        np.ascontiguousarray(places),
        count,
        mark,
        whole,
        parts,
        decimals,
    )
    return Decimals(whole, parts, decimals)


def repeated_decimal(number: str, count: int) -> Decimals:
    """Return `count` copies of a number, which is given as text with at most 16 decimals."""
    text = np.frombuffer(number.encode(), np.uint8)
    numbers = read_decimals(text, np.array([[0, len(number)]], np.int64), b".")
    if numbers.decimals[0] == NOT_PLAIN:
        put_decimal(numbers, 0, Decimal(number))
    return numbers.take(np.zeros(count, np.int64))


def not_plain(numbers: Decimals) -> Iterator[int]:
    """Yield the rows whose cells are not plain decimals."""
    yield from np.flatnonzero(numbers.decimals == NOT_PLAIN).tolist()


def put_decimal(numbers: Decimals, row: int, value: Decimal) -> bool:
    """Store a number in a row whose cell is not a plain decimal, such as 1e3.

    Return whether the number fits. A number with more than 18 digits on either side of the decimal
    mark does not fit.
    """
    with localcontext() as context:
        context.prec = 100
        scaled = value.scaleb(PLACES)
        if not value.is_finite() or abs(value) >= _PARTS or scaled != scaled.to_integral_value():
            return False
        numbers.whole[row], numbers.parts[row] = divmod(int(scaled), _PARTS)
        exponent = value.normalize().as_tuple().exponent
        numbers.decimals[row] = max(0, -int(exponent))
    return True
