"""Sums of float64 in groups, exactly, as whole numbers: the order and the chunks do not matter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# Every float64 is a whole multiple of 2^-1126 once its fraction is written with 53 bits.
_PLACES = 1126
ONE = 1 << _PLACES
# A fraction of 53 bits is added as two halves. With at most 2^20 rows in a part each half's sum is
# below 2^(27 + 20), so that float64 holds it exactly.
_HALF, _PART = 26, 1 << 20


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


def nearest_float(total: int, weight: int = ONE) -> float:
    """Return the float64 nearest to an exact sum, or to its ratio to another; infinity beyond."""
    try:
        return total / weight
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def numbered_keys(keys: NDArray[np.intp], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the different keys, ascending, and the place of each among them.

    Parameters
    ----------
    keys : (n,) intp
        From 0 to `size` - 1.
    size : int
        Sorting is spared where it is not much larger than n.

    Examples
    --------
    >>> found, places = numbered_keys(np.array([7, 2, 7]), 9)
    >>> found.tolist(), places.tolist()
    ([2, 7], [1, 0, 1])
    """
    if size > 4 * len(keys):
        found, places = np.unique(keys, return_inverse=True)
        return found, places
    there = np.bincount(keys, minlength=size) > 0
    ranks = np.cumsum(there) - 1
    return np.flatnonzero(there), ranks[keys]


def _add(totals: list[int], values: NDArray[np.float64], groups: NDArray[np.intp]) -> None:
    """Add a part, the fractions of one exponent and one group together."""
    fractions, exponents = np.frexp(values)
    lowest, highest = int(exponents.min()), int(exponents.max())
    keys = (exponents - lowest) * np.intp(len(totals)) + groups
    found, places = numbered_keys(keys, (highest - lowest + 1) * len(totals))
    whole = np.ldexp(fractions, 53).astype(np.int64)
    high = np.bincount(places, weights=whole >> _HALF, minlength=len(found))
    low = np.bincount(places, weights=whole & ((1 << _HALF) - 1), minlength=len(found))
    for key, upper, lower in zip(found.tolist(), high.tolist(), low.tolist(), strict=True):
        steps, group = divmod(key, len(totals))
        shift = steps + lowest - 53 + _PLACES
        totals[group] += ((int(upper) << _HALF) + int(lower)) << shift
