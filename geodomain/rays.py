"""Containment by rays in any direction, through segments: a check of the vertical path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.answers import host_room
from geodomain.intersector import SegmentIntersector
from geodomain.mesh import Mesh
from geodomain.points import as_columns, refuse_row

# A mesh's coordinates are 0 or as large as these, and so must be the ends of segments.
_LEAST, _MOST = 2.0**-306, 2.0**339


def contains_along(
    mesh: Mesh,
    points: ArrayLike,
    direction: ArrayLike,
    backend: str,
    threads: int | None,
    out: Any,
) -> NDArray[np.bool_]:
    """Return which points are inside, by the crossings of segments that end outside the mesh's box.

    Any segment that ends outside decides, so that a direction need not be kept exactly.
    """
    way = _way(direction)
    columns = as_columns(points)
    positions = np.stack(columns, axis=1)
    low, high = mesh.bounds
    # False for NaN. Displaced upwards, a point on top of the box is outside, and so it comes out.
    near = np.flatnonzero(((low <= positions) & (positions <= high)).all(axis=1))
    inside: NDArray[np.bool_] = host_room((len(positions),), np.bool_, out)
    inside[:] = False
    if len(near):
        starts = positions[near]
        tiny = ((starts != 0) & (np.abs(starts) < _LEAST)).any(axis=1)
        refuse_row(columns, int(near[tiny.argmax()]) if tiny.any() else -1)
        if (low == -_MOST).any():
            way = np.abs(way)  # nothing is beyond the box there
        # An end on the box's upper sides is outside: it is displaced upwards too.
        ends = np.clip(starts + way * 2 * np.linalg.norm(high - low), -_MOST, _MOST)
        ends[np.abs(ends) < _LEAST] = 0.0
        with SegmentIntersector(mesh, backend=backend, threads=threads) as intersector:
            inside[near] = intersector.intersect((starts, ends), mode="count") % 2 == 1
    return inside


def _way(direction: ArrayLike) -> NDArray[np.float64]:
    """Return the direction with its longest part of length 1."""
    try:
        way = np.asarray(direction, dtype=np.float64)
    except (TypeError, ValueError):
        way = np.empty(0)
    if way.shape != (3,) or not np.isfinite(way).all() or not way.any():
        message = f"direction must be three finite numbers that are not all 0, not {direction!r}"
        raise ValueError(message)
    unit: NDArray[np.float64] = way / np.abs(way).max()
    return unit
