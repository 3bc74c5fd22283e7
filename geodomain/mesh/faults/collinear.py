"""Exact test whether three points lie on one line."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# A difference is off by u of itself, a product of two by (2 + u) u + u, their difference by u
# more: 4 u of the permanent bounds the error of a minor, second-order terms inside the slack.
_ERROR = 5 * 2.0**-53
_SPLIT = 2.0**27 + 1


def collinear(a: Floats, b: Floats, c: Floats) -> Bools:
    """Return which triples of points lie on a line, in exact arithmetic.

    Parameters
    ----------
    a, b, c : (n, 3) float64
        Magnitudes in the range of a Mesh; equal points are on a line with any other.

    Returns
    -------
    (n,) bool
        True where the triangle a, b, c has no area at all.
    """
    p, q = b - a, c - a
    result = np.ones(len(a), np.bool_)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        left, right = p[:, i] * q[:, j], p[:, j] * q[:, i]
        result &= np.abs(left - right) <= _ERROR * (np.abs(left) + np.abs(right))
    rows = np.flatnonzero(result)
    if len(rows):
        result[rows] = _collinear_unfiltered(a[rows], b[rows], c[rows])
    return result


def _collinear_unfiltered(a: Floats, b: Floats, c: Floats) -> Bools:
    """Decide where the filter could not: without rounding if the differences are exact."""
    exact = ((_tail(b, a) == 0) & (_tail(c, a) == 0)).all(axis=1)
    result: Bools = exact & _no_minor(b - a, c - a)
    for row in np.flatnonzero(~exact):
        result[row] = _collinear_fractions(a[row], b[row], c[row])
    return result


def _tail(x: Floats, y: Floats) -> Floats:
    """Return what rounding took from x - y (Knuth's two-difference)."""
    difference = x - y
    virtual = x - difference
    return (x - (difference + virtual)) + (virtual - y)


def _no_minor(p: Floats, q: Floats) -> Bools:
    """Return where all three minors of two vectors vanish exactly."""
    result = np.ones(len(p), np.bool_)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        left, right = _product(p[:, i], q[:, j]), _product(p[:, j], q[:, i])
        result &= (left[0] == right[0]) & (left[1] == right[1])
    return result


def _product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return x * y and what rounding took from it (Dekker's product)."""
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    product = x * y
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def _halves(x: Floats) -> tuple[Floats, Floats]:
    """Split numbers into two of 26 bits (Veltkamp)."""
    wide = _SPLIT * x
    high = wide - (wide - x)
    return high, x - high


def _collinear_fractions(a: Floats, b: Floats, c: Floats) -> bool:
    """Decide one triple in rational arithmetic."""
    p = [Fraction(float(x)) - Fraction(float(y)) for x, y in zip(b, a, strict=True)]
    q = [Fraction(float(x)) - Fraction(float(y)) for x, y in zip(c, a, strict=True)]
    return all(p[i] * q[j] == p[j] * q[i] for i, j in ((0, 1), (1, 2), (2, 0)))
