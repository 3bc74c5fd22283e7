"""Sums of float64 in groups, exactly, as whole numbers: the order and the chunks do not matter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Every float64 is a whole multiple of 2^-1126 once its fraction is written with 53 bits.
_PLACES = 1126
# A fraction of 53 bits is added as two halves. With at most 2^20 rows in a part each half's sum is
# below 2^(27 + 20), so that float64 holds it exactly.
_HALF, _PART = 26, 1 << 20
_OFFSET = 1100  # makes every exponent of a float64 positive


def exact_sums(values: NDArray[np.float64], groups: NDArray[np.intp], count: int) -> list[int]:
    """Sum finite values, (n,), by their groups, (n,), from 0 to count - 1.

    Returns
    -------
    list of int
        The exact sums in units of 2^-1126, to be added to others; see `nearest_float`.

    Examples
    --------
    >>> sums = exact_sums(np.array([1e16, 1.0, -1e16]), np.zeros(3, np.intp), 1)
    >>> nearest_float(sums[0])
    1.0
    """
    totals = [0] * count
    for start in range(0, len(values), _PART):
        part = slice(start, start + _PART)
        _add(totals, values[part], groups[part])
    return totals


def nearest_float(total: int, weight: int = 1 << _PLACES) -> float:
    """Return the float64 nearest to an exact sum, or to its ratio to another; infinity beyond."""
    try:
        return total / weight
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _add(totals: list[int], values: NDArray[np.float64], groups: NDArray[np.intp]) -> None:
    """Add a part, one exponent after another."""
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(fractions, 53).astype(np.int64)
    for exponent in np.flatnonzero(np.bincount(exponents + _OFFSET)) - _OFFSET:
        at = exponents == exponent
        high = np.bincount(groups[at], weights=whole[at] >> _HALF, minlength=len(totals))
        low = np.bincount(groups[at], weights=whole[at] & ((1 << _HALF) - 1), minlength=len(totals))
        shift = int(exponent) - 53 + _PLACES
        for group in np.flatnonzero((high != 0) | (low != 0)).tolist():
            totals[group] += ((int(high[group]) << _HALF) + int(low[group])) << shift
