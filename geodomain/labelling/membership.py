"""Which points each of several closed solids contains: one pass, then a second one for overlaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.errors import PointError
from geodomain.labelling.overlap import meet
from geodomain.query.first_solid import first_codes
from geodomain.query.locator import PointLocator

Bools = NDArray[np.bool_]


def members_of(
    locators: Sequence[PointLocator],
    points: NDArray[np.float64],
    threads: int | None,
    *,
    asked: ArrayLike | None = None,
) -> list[Bools]:
    """Return for each solid which points, (n, 3), are inside by parity.

    The first solid that contains a point is found for all of them at once, which asks a point only
    of the solids near it. Those after it are then asked of its points, where their boxes meet.
    ``asked`` is the points as they are asked about as a whole.
    """
    first = first_codes(points if asked is None else asked, locators, threads=threads)
    inside: list[Bools] = []
    owned: list[tuple[NDArray[np.intp], NDArray[np.float64]]] = []  # by those that have some
    for index, locator in enumerate(locators):
        found: Bools = first == index
        box = locator.mesh.bounds
        shared = [rows for rows, other in owned if meet(box, other)]
        if found.any():
            owned.append((np.flatnonzero(found), box))
        if shared:
            rows = np.concatenate(shared)
            found[rows] = _contains(locator, points, rows)
        inside.append(found)
    return inside


def _contains(locator: PointLocator, points: NDArray[np.float64], rows: NDArray[np.intp]) -> Bools:
    """Return which of some points a solid contains."""
    try:
        return locator.contains(points[rows])
    except PointError:  # which is to name the point by its own number
        return locator.contains(points)[rows]
