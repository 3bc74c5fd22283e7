"""Drillholes near a section, as lines in its plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.drillholes import Drillholes
from geodomain.sections.cutting import Section

Floats = NDArray[np.float64]

# Points along a hole: a line between two of them differs from the arc by nothing that is seen.
_MOST = 200
# So many holes at a time.
_TOGETHER = 2000


def lines_near(section: Section, holes: Drillholes, within: float) -> list[tuple[str, Floats]]:
    """Return what of each hole is within a distance of a section, projected square onto it.

    Parameters
    ----------
    section : Section
        The plane.
    holes : Drillholes
        What may be near it.
    within : float
        The distance, on either side.

    Returns
    -------
    list of (str, (k, 2) float64)
        The hole and the points of a line, from its collar down; a hole that leaves and comes back
        has several.
    """
    found = []
    for start in range(0, len(holes), _TOGETHER):
        rows = np.arange(start, min(start + _TOGETHER, len(holes)))
        depths = holes.ends[rows, None] * np.linspace(0.0, 1.0, _MOST)
        points = holes.points_at(np.repeat(rows, _MOST), depths.ravel()).reshape(-1, _MOST, 3)
        offsets = points[..., section.across] - section.at
        near = (offsets.min(axis=1) <= within) & (offsets.max(axis=1) >= -within)
        for one in np.flatnonzero(near).tolist():
            lines = pieces_near(points[one], offsets[one], section, within)
            found += [(holes.names[start + one], line) for line in lines]
    return found


def pieces_near(points: Floats, offset: Floats, section: Section, within: float) -> list[Floats]:
    """Cut a line where it comes nearer than a distance, and where it leaves."""
    flat = points[:, list(section.along)]
    if (np.abs(offset) <= within).all():
        return [flat]
    start, stop = _spans(offset, within)
    near = start < stop
    # A piece goes on from a step that is near to its end into one that is from its beginning.
    goes_on = near[:-1] & near[1:] & (stop[:-1] == 1) & (start[1:] == 0)
    first = np.flatnonzero(near & ~np.append(False, goes_on))
    last = np.flatnonzero(near & ~np.append(goes_on, False))
    steps = np.diff(flat, axis=0)
    heads, tails = flat[:-1] + start[:, None] * steps, flat[:-1] + stop[:, None] * steps
    return [
        np.concatenate([heads[one : one + 1], flat[one + 1 : two + 1], tails[two : two + 1]])
        for one, two in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _spans(offset: Floats, within: float) -> tuple[Floats, Floats]:
    """Return from where to where, 0 to 1, each step of a line is near enough; 1 to 0 if nowhere."""
    begin, change = offset[:-1], np.diff(offset)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (-within - begin) / change, (within - begin) / change
    start, stop = np.maximum(np.minimum(one, two), 0.0), np.minimum(np.maximum(one, two), 1.0)
    still, here = change == 0, np.abs(begin) <= within
    return np.where(still, np.where(here, 0.0, 1.0), start), np.where(still, here * 1.0, stop)
