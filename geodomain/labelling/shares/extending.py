"""Surfaces beyond their footprint, at the height of the nearest place of their rim: what they cut.

Such a surface is level with the rim along each line, and may jump from one line to the next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.overlay import line_places
from geodomain.labelling.chunk import TiledSurface
from geodomain.labelling.shares.model_frame import ModelFrame
from geodomain.query.surfaces import ABOVE, BELOW

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def may_be_entered(surface: TiledSurface, frame: ModelFrame, lows: Floats, highs: Floats) -> Bools:
    """Return which blocks a surface may enter if they are beyond its footprint, (n,).

    By the heights of all that can be nearest to a place of a block's plan: no other is entered.

    Parameters
    ----------
    surface : TiledSurface
        With a rim.
    frame : ModelFrame
        Of the blocks; upright.
    lows, highs : (n, 3) float64
        Corners of the blocks in their frame.
    """
    extension = surface.extension
    plans, which = _plans(lows, highs)
    middles, reach = _around(plans)
    lowest, highest = extension.heights_near(_in_world(frame, middles), reach)
    base = _base(frame)
    found: Bools = (lows[:, 2] < (highest - base)[which]) & (highs[:, 2] > (lowest - base)[which])
    return found


def heights_along(
    surface: TiledSurface, frame: ModelFrame, lows: Floats, highs: Floats, lines: int, wanted: Bools
) -> Floats:
    """Return how high over the floors of blocks their lines meet a surface beyond its footprint.

    Parameters
    ----------
    surface, frame, lows, highs
        As in `may_be_entered`.
    lines : int
        The root of their number in a block.
    wanted : (n * lines * lines,) bool
        The lines that miss the surface.

    Returns
    -------
    (n * lines * lines,) float64
        NaN of the others.
    """
    found = np.full((len(lows), lines * lines), np.nan)
    rows = np.flatnonzero(wanted.reshape(found.shape).any(axis=1))
    plans, which = _plans(lows[rows], highs[rows])
    middles, reach = _around(plans)
    low, high = plans[:, None, :2], plans[:, None, 2:]
    places = low + (high - low) * line_places(lines)  # (plans, lines * lines, 2)
    world = _in_world(frame, places.reshape(-1, 2)).reshape(places.shape)
    heights = surface.extension.heights_in(_in_world(frame, middles), reach, world)
    found[rows] = heights[which] - _base(frame) - lows[rows, 2][:, None]
    return np.where(wanted, found.reshape(-1), np.nan)


def sides_along(heights: Floats, places: Floats) -> NDArray[np.int8]:
    """Return the sides of places, as heights over the same floors; below where none is known."""
    return np.where(places >= heights, ABOVE, BELOW).astype(np.int8)


def _plans(lows: Floats, highs: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the different plans of blocks, low and high x, y, and which one each block has."""
    corners = np.concatenate([lows[:, :2], highs[:, :2]], axis=1)
    plans, which = np.unique(corners, axis=0, return_inverse=True)
    return plans, which.reshape(-1)


def _around(plans: Floats) -> tuple[Floats, Floats]:
    """Return the middles of plans, and how far they reach, or a little more."""
    side = plans[:, 2:] - plans[:, :2]
    return plans[:, :2] + side / 2, np.sqrt((side * side).sum(axis=1)) * (0.5 * (1 + 1e-9))


def _in_world(frame: ModelFrame, places: Floats) -> Floats:
    """Return places of the plan, (n, 2), in the world."""
    level = np.concatenate([places, np.zeros((len(places), 1))], axis=1)
    return np.ascontiguousarray(frame.world(level)[:, :2])


def _base(frame: ModelFrame) -> float:
    """Return what is 0 of an upright frame's heights, in the world."""
    return 0.0 if frame.is_world else float(frame.origin[2])
