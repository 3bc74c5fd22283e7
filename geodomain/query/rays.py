"""Containment by rays in any direction, through segments: a check of the vertical path."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_columns, host_room, refuse_row
from geodomain.backends import layout
from geodomain.mesh.mesh import Mesh
from geodomain.segments.intersector import SegmentIntersector


def contains_along(
    mesh: Mesh,
    points: ArrayLike,
    direction: ArrayLike,
    backend: str,
    threads: int | None,
    out: object,
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
    inside = host_room((len(positions),), np.bool_, out)
    inside[:] = False
    if len(near):
        starts = positions[near]
        # A mesh's coordinates are 0 or in this range, and so must be the ends of segments.
        least, most = layout.real("kLeastMagnitude"), layout.real("kMostMagnitude")
        tiny = ((starts != 0) & (np.abs(starts) < least)).any(axis=1)
        refuse_row(columns, int(near[tiny.argmax()]) if tiny.any() else -1)
        if (low == -most).any():
            way = np.abs(way)  # nothing is beyond the box there
        # An end on the box's upper sides is outside: it is displaced upwards too.
        ends = np.clip(starts + way * 2 * np.linalg.norm(high - low), -most, most)
        ends[np.abs(ends) < least] = 0.0
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
