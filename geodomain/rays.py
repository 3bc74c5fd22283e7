"""Containment by rays in any direction, through segments: a check of the vertical path."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.answers import host_room
from geodomain.intersector import SegmentIntersector
from geodomain.mesh import Mesh
from geodomain.points import as_columns

_NO_ACCOUNT = 2.0**-100


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
    positions = np.stack(as_columns(points), axis=1)
    low, high = mesh.bounds
    # False for NaN. Displaced upwards, a point on top of the box is outside, and so it comes out.
    near = np.flatnonzero(((low <= positions) & (positions <= high)).all(axis=1))
    inside: NDArray[np.bool_] = host_room((len(positions),), np.bool_, out)
    inside[:] = False
    if len(near):
        starts = positions[near]
        ends = starts + way * 2 * np.linalg.norm(high - low)
        with SegmentIntersector(mesh, backend=backend, threads=threads) as intersector:
            inside[near] = intersector.intersect((starts, ends), mode="count") % 2 == 1
    return inside


def _way(direction: ArrayLike) -> NDArray[np.float64]:
    """Return the direction with its longest part of length 1, and 0 for parts of no account."""
    try:
        way = np.asarray(direction, dtype=np.float64)
    except (TypeError, ValueError):
        way = np.empty(0)
    if way.shape != (3,) or not np.isfinite(way).all() or not way.any():
        message = f"direction must be three finite numbers that are not all 0, not {direction!r}"
        raise ValueError(message)
    way = way / np.abs(way).max()
    # Ends must not come so near to 0 that they are out of range.
    return np.where(np.abs(way) < _NO_ACCOUNT, 0.0, way)
