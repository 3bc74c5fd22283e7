"""Add up float64 numbers and their products by group, without rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints
from geodomain.compute.rows import add_products
from geodomain.mesh.edges import exact_product

# The lowest of the 53 bits of a float64 is at least 2^-1126, so every sum is a multiple of this.
_PLACES = 1126
ONE = 1 << _PLACES
# Bits of a mantissa, and of the number of products that may be added.
_MANTISSA, _PRODUCTS = 53, 48
# Carries are taken out of the lanes after this many products; 2^31 is the limit.
_BEFORE_CARRY = 1 << 30
_DIGIT = 32


class Exponents:
    """The range of the binary exponents of a column, collected chunk by chunk.

    Attributes
    ----------
    low, high : int
        A value that is not 0 is a multiple of 2^low, and below 2^high in size.
    """

    def __init__(self) -> None:
        self.low, self.high = 0, 0
        self._is_empty = True

    def add(self, values: Floats) -> None:
        """Take the finite values of a chunk into account."""
        present = values[np.isfinite(values) & (values != 0)]
        if not len(present):
            return
        _, powers = np.frexp(present)
        low, high = int(powers.min()) - _MANTISSA, int(powers.max())
        if self._is_empty:
            self.low, self.high, self._is_empty = low, high, False
        self.low, self.high = min(self.low, low), max(self.high, high)


class Sums:
    """Exact sums of products by group. A product is a volume in whole units times some factors.

    Parameters
    ----------
    groups : int
        Number of groups.
    factors : sequence of Exponents
        The ranges of the factors, at most two.

    Attributes
    ----------
    unit : int
        The numbers that `wholes` returns are in units of 2^unit.
    """

    def __init__(self, groups: int, factors: Sequence[Exponents] = ()) -> None:
        self.unit = sum(each.low for each in factors)
        bits = 62 + _PRODUCTS + sum(each.high for each in factors) - self.unit
        self._lanes = np.zeros((groups, -(-bits // _DIGIT) + 1), np.int64)
        self._since = 0
        self._wholes: list[int] | None = None

    @staticmethod
    def room(groups: int, factors: Sequence[Exponents] = ()) -> int:
        """Return the memory that such sums take, in bytes."""
        bits = 62 + _PRODUCTS + sum(each.high - each.low for each in factors)
        return groups * 8 * (-(-bits // _DIGIT) + 1)

    def add(self, groups: Ints, volumes: Ints, *factors: Floats) -> None:
        """Add products to the sums; factors are finite."""
        if self._since + len(groups) > _BEFORE_CARRY:
            self._carry()
        self._since += len(groups)
        self._wholes = None
        columns = np.column_stack(factors) if factors else np.empty((len(groups), 0))
        done = add_products(self._lanes, groups, volumes, columns, self.unit)
        if done < len(groups):
            message = f"a product of group {int(groups[done])} does not fit into its sum"
            raise AssertionError(message)

    def _carry(self) -> None:
        """Move carries to the next lanes, so that each lane but the last has a digit of 32 bits."""
        lanes = self._lanes
        for lane in range(lanes.shape[1] - 1):
            carry = lanes[:, lane] >> _DIGIT
            lanes[:, lane] -= carry << _DIGIT
            lanes[:, lane + 1] += carry
        self._since = 0

    @property
    def scale(self) -> Fraction:
        """The unit of the numbers that `wholes` returns."""
        return Fraction(2) ** self.unit

    def wholes(self) -> list[int]:
        """Return the sum of each group as a whole multiple of `scale`."""
        if self._wholes is not None:
            return self._wholes
        self._carry()
        lanes = self._lanes
        words = np.empty((len(lanes), lanes.shape[1] + 1), "<u4")
        words[:, :-2] = lanes[:, :-1]
        words[:, -2:] = np.ascontiguousarray(lanes[:, -1:], "<i8").view("<u4")
        content, width = words.tobytes(), 4 * words.shape[1]
        self._wholes = [
            int.from_bytes(content[at : at + width], "little", signed=True)
            for at in range(0, len(content), width)
        ]
        return self._wholes

    def total(self, groups: slice = slice(None)) -> Fraction:
        """Return the sum over groups."""
        return sum(self.wholes()[groups]) * self.scale


def exact_sums(values: NDArray[np.float64], groups: NDArray[np.intp], count: int) -> list[int]:
    """Return the exact sum of finite values for each group.

    Parameters
    ----------
    values : (n,) float64
        The values.
    groups : (n,) intp
        The group of each value, from 0 to `count` - 1.
    count : int
        Number of groups.

    Returns
    -------
    list of int
        The sums in units of 2^-1126. Sums of several calls can be added; `nearest_float` converts
        the total.

    Examples
    --------
    >>> sums = exact_sums(np.array([1e16, 1.0, -1e16]), np.zeros(3, np.intp), 1)
    >>> nearest_float(sums[0])
    1.0
    """
    exponents = Exponents()
    exponents.add(values)
    sums = Sums(count, [exponents])
    sums.add(groups, np.ones(len(values), np.int64), values)
    return [whole << _PLACES + sums.unit for whole in sums.wholes()]


def nearest_float(total: int, weight: int = ONE) -> float:
    """Return the float64 nearest to total / weight; infinity if the quotient overflows.

    By default, `weight` is the unit of `exact_sums`.
    """
    try:
        return total / weight
    except OverflowError:
        return math.inf if total > 0 else -math.inf


# Factors of exact products are at least 2^-100 and at most 2^100, so that no term of six factors
# underflows or overflows.
_LEAST, _MOST_FACTOR = 2.0**-100, 2.0**100


def exact_products(terms: Sequence[Floats], factor: Floats) -> list[Floats]:
    """Multiply sums of float64 terms by a factor, without rounding.

    Parameters
    ----------
    terms : sequence of (n,) float64
        Arrays whose sum, row by row, is the value to multiply.
    factor : (n,) float64
        The factor of each row. The product is wrong in rows for which `fits_exactly` is False.

    Returns
    -------
    list of (n,) float64
        Arrays whose exact sum, row by row, is the exact product. Arrays of zeros are left out.

    Examples
    --------
    >>> parts = exact_products([np.array([0.1])], np.array([0.1]))
    >>> from fractions import Fraction
    >>> sum(Fraction(part[0]) for part in parts) == Fraction(0.1) ** 2
    True
    """
    products = (part for term in terms for part in exact_product(term, factor))
    return [part for part in products if part.any()]


def fits_exactly(factor: Floats) -> NDArray[np.bool_]:
    """Return whether up to six such factors have an exact product; zero and NaN fit, too."""
    size = np.abs(factor)
    return ~((size > _MOST_FACTOR) | ((size < _LEAST) & (size > 0)))
