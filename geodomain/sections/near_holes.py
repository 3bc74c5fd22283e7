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
    along = list(section.along)
    pieces: list[Floats] = []
    line: list[Floats] = []
    for one in range(len(points) - 1):
        start, stop = _span(float(offset[one]), float(offset[one + 1]), within)
        if start >= stop:
            continue
        ends = points[one] + np.array([[start], [stop]]) * (points[one + 1] - points[one])
        if start > 0 or not line:
            line = [ends[0, along]]
        line.append(ends[1, along])
        if stop < 1 or one == len(points) - 2:
            pieces.append(np.array(line))
            line = []
    return pieces


def _span(first: float, last: float, within: float) -> tuple[float, float]:
    """Return from where to where, 0 to 1, a step from one offset to another is near enough."""
    if first == last:
        return (0.0, 1.0) if abs(first) <= within else (1.0, 0.0)
    sides = sorted(((-within - first) / (last - first), (within - first) / (last - first)))
    return max(0.0, sides[0]), min(1.0, sides[1])
