"""The azimuth of a block model whose centroids are turned, where its file does not say so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def azimuth_of(points: Floats, sizes: Floats) -> float:
    """Return the azimuth of the blocks' rows, from blocks that follow each other.

    Returns
    -------
    float
        Degrees, clockwise, within 45 of zero; 0 where they are not turned, or do not say.
    """
    found = _of_neighbours(points, sizes)
    if found == 0.0:  # where z runs first, blocks that follow each other are those of one level
        level = np.argsort(points[:, 2], kind="stable")
        found = _of_neighbours(points[level], sizes[level])
    return found


def _of_neighbours(points: Floats, sizes: Floats) -> float:
    """Return the azimuth from each block to the next."""
    east, north, up = np.diff(points, axis=0).T
    length = np.hypot(east, north)
    same = (sizes[1:] == sizes[:-1]).all(axis=1) & (up == 0)
    for axis in (0, 1):
        beside = same & (np.abs(length - sizes[1:, axis]) < 1e-3 * sizes[1:, axis])
        if beside.sum() * 4 > len(points):
            angles = np.degrees(np.arctan2(north[beside], east[beside]))
            turns = -((angles + 45) % 90 - 45)
            found = float(np.median(turns))
            agree = np.abs(turns - found) < 0.01
            return found if abs(found) > 0.01 and agree.mean() > 0.9 else 0.0
    return 0.0
