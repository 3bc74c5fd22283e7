"""Pairs of points that lie close to each other, and the closest pair."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from geodomain.backends.mesh_checks import group_equal
from geodomain.mesh.faults.edge_table import Floats, Ints

_PAIRS_AT_ONCE = 1 << 20
_SWEEPS = 8
# Three directions that no wireframe runs along, so that projections do not tie.
_DIRECTIONS = np.array(
    [[0.5257, 0.6180, 0.5846], [-0.4142, 0.7321, 0.5409], [0.6457, -0.2361, 0.7262]]
).T


def near_pairs(points: Floats, distance: float, limit: int) -> tuple[Ints, Ints, Floats] | None:
    """Find the pairs of points that are at most so far apart.

    Parameters
    ----------
    points : (n, 3) float64
        Distinct.
    distance : float
        In the unit of the coordinates, as float64 arithmetic computes it.
    limit : int
        How many pairs may be looked at.

    Returns
    -------
    first, second : (k,) int64
        Each pair once or more, in no order.
    separation : (k,) float64
        Their distance.
    None
        If the limit would be passed.

    Notes
    -----
    Along an axis, two points within a quarter of a cell's width part in at most one of two
    grids that are shifted by half a cell, and then by a margin that covers the rounding
    of their cells' numbers. So some one of the eight grids has both in one cell.
    """
    low = points.min(axis=0)
    extent = float((points.max(axis=0) - low).max())
    width = 4 * max(distance, 16 * float(np.spacing(extent)))
    found: list[tuple[Ints, Ints, Floats]] = []
    seen = 0
    for shift in product((0.0, 0.5), repeat=3):
        cells = np.floor((points - low) / width + np.array(shift))
        for first, second in _pairs_of_a_cell(cells):
            seen += len(first)
            if seen > limit:
                return None
            separation = separations(points, first, second)
            near = separation <= distance
            found.append((first[near], second[near], separation[near]))
    firsts, seconds, gaps = ([part[i] for part in found] for i in range(3))
    nothing = np.empty(0, np.int64)
    return (
        np.concatenate([nothing, *firsts]),
        np.concatenate([nothing, *seconds]),
        np.concatenate([np.empty(0), *gaps]),
    )


def separations(points: Floats, first: Ints, second: Ints) -> Floats:
    """Return the distances of pairs of points; tiny ones do not underflow."""
    x, y, z = (points[first] - points[second]).T
    return np.asarray(np.hypot(np.hypot(x, y), z))


def _pairs_of_a_cell(cells: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Return all pairs of points in one cell, some at a time."""
    _, group = group_equal(cells)
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    # The i-th point of a cell is paired with the i before it.
    later = np.flatnonzero(place)
    part = np.cumsum(place[later]) // _PAIRS_AT_ONCE
    for rows in np.split(later, np.flatnonzero(np.diff(part)) + 1):
        repeats = place[rows]
        second = np.repeat(rows, repeats)
        back = np.arange(len(second)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + 1
        yield order[second - back], order[second]


def closest_pair(points: Floats) -> float | None:
    """Return the smallest distance of two of the points.

    Parameters
    ----------
    points : (n, 3) float64
        Distinct.

    Returns
    -------
    float or None
        None for fewer than two points. Where points crowd so much that all the pairs as
        close as that are too many to look at, the closest of those looked at.
    """
    if len(points) < 2:
        return None
    bound = _closest_in_sweeps(points)
    pairs = near_pairs(points, bound, 50 * len(points) + 100_000)
    return bound if pairs is None else float(np.append(pairs[2], bound).min())


def _closest_in_sweeps(points: Floats) -> float:
    """Return the smallest distance among neighbours in order along a few directions."""
    best = np.inf
    for along in (points @ _DIRECTIONS).T:
        order = np.argsort(along)
        for step in range(1, min(_SWEEPS, len(points) - 1) + 1):
            best = min(best, float(separations(points, order[step:], order[:-step]).min()))
    return best
