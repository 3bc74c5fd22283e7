"""Azimuths and dips in degrees as unit vectors, and the sign of dips."""

from __future__ import annotations

from typing import Literal

import numpy as np

from geodomain.arrays import Floats

DipDown = Literal["auto", "positive", "negative"]
# Rows that are computed at a time, so that what is in between stays in a core's cache.
_BLOCK = 1 << 14
DIP_DOWN: tuple[DipDown, ...] = ("auto", "positive", "negative")


def directions(azimuth: Floats, dip: Floats) -> Floats:
    """Return unit vectors (east, north, up) of azimuths and dips.

    Parameters
    ----------
    azimuth : (n,) float64
        Degrees clockwise from north.
    dip : (n,) float64
        Degrees down from the horizontal; up-holes have negative ones.

    Returns
    -------
    (n, 3) float64
        Multiples of 90 degrees are exact. Elsewhere each number is within 2 units in the last
        place of the sine and cosine of the angle as the file says it, rounded to float64.

    Examples
    --------
    >>> directions(np.array([90.0, 0.0]), np.array([0.0, 90.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
    """
    found = np.empty((len(dip), 3))
    for begin in range(0, len(dip), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        sin_azimuth, cos_azimuth = sine_cosine(azimuth[rows])
        sin_dip, cos_dip = sine_cosine(dip[rows])
        np.multiply(sin_azimuth, cos_dip, out=found[rows, 0])
        np.multiply(cos_azimuth, cos_dip, out=found[rows, 1])
        np.subtract(0.0, sin_dip, out=found[rows, 2])
    return found


def sine_cosine(degrees: Floats) -> tuple[Floats, Floats]:
    """Return sines and cosines of degrees; the quadrant is taken off exactly, in degrees."""
    # Beyond this a count of quadrants is no integer of 64 bits; the remainder is exact.
    degrees = np.where(np.abs(degrees) > 1e9, np.fmod(degrees, 360.0), degrees)
    quadrant = np.rint(degrees / 90.0)
    rest = np.deg2rad(degrees - 90.0 * quadrant)
    sine, cosine = np.sin(rest), np.cos(rest)
    turns = np.nan_to_num(quadrant).astype(np.int64) & 3
    swap = (turns & 1).astype(np.bool_)
    one, other = np.where(swap, cosine, sine), np.where(swap, sine, cosine)
    # Adding 0.0 makes 0.0 of -0.0.
    return (
        np.where(turns >= 2, -one, one) + 0.0,
        np.where((turns == 1) | (turns == 2), -other, other) + 0.0,
    )


def sign_of_down(dips: Floats, wanted: DipDown) -> int:
    """Return 1 where a file's positive dips point down, -1 where its negative ones do.

    Decided once for a file, by the sign of the sum; level holes alone say positive.
    """
    if wanted != "auto":
        return 1 if wanted == "positive" else -1
    return -1 if float(np.nansum(dips)) < 0 else 1
