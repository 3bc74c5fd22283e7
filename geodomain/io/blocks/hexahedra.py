"""The corners of blocks in VTK's order, from centroids and sizes, and the way back.

Corners of a box along the axes have two values along each of them. Those of a turned box are
rounded: they make a box if they are within that rounding of one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from geodomain.io.header.azimuth import frame_of_azimuth

Floats = NDArray[np.float64]

# In halves of a block's size.
_CORNERS = np.array(
    [[x, y, z] for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))], np.float64
)


def corners_of(centroids: Floats, sizes: Floats, axes: Floats) -> Floats:
    """Give the corners of blocks, (n, 8, 3)."""
    offsets = (_CORNERS * 0.5) * sizes[:, None, :]
    return centroids[:, None, :] + (offsets if (axes == np.eye(3)).all() else offsets @ axes)


def measured(corners: Floats) -> tuple[Floats, Floats]:
    """Give the centres and sizes of (n, 8, 3) corners; the size of what is no box is NaN."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    at_low, at_high = corners == low[:, None], corners == high[:, None]
    # A box has half of its corners at either end of each axis.
    box = ((at_low | at_high).all(axis=1) & (at_low.sum(axis=1) == 4)).all(axis=1)[:, None]
    mean = corners[:, 0].copy()
    for corner in range(1, 8):  # one after another: what a reduction rounds is its own affair
        mean += corners[:, corner]
    return np.where(box, (low + high) / 2, mean / 8), np.where(box, high - low, np.nan)


def rounding_of(points: Floats | NDArray[np.float32]) -> float:
    """Return what coordinates may be off by: 8 units in the last place of the largest."""
    largest = np.abs(points).max(initial=0)
    return 8.0 * float(np.spacing(largest)) if np.isfinite(largest) else 0.0


def axes_of(corners: Floats, rounding: float) -> Floats:
    """Return the directions of a turned box's edges, a row each; those of the world of no box.

    Parameters
    ----------
    corners : (8, 3) float64
        In any order.
    rounding : float
        As by `rounding_of`.
    """
    ways = corners[1:] - corners[0]
    lengths = np.linalg.norm(ways, axis=1)
    # The shortest way from a corner is an edge, and so is the shortest at right angles to edges.
    edges: list[Floats] = []
    for place in np.argsort(lengths, kind="stable"):
        near = 4 * rounding * lengths[place]
        if len(edges) < 3 and all(abs(ways[place] @ edge) <= near for edge in edges):
            edges.append(ways[place] / max(lengths[place], rounding))
    if len(edges) < 3:
        return np.eye(3)
    rows = np.empty((3, 3))
    for axis in range(3):  # each edge is for the axis of the world that it is nearest to
        best = max(range(len(edges)), key=lambda k: abs(edges[k][axis]))
        edge = edges.pop(best)
        rows[axis] = edge * math.copysign(1.0, edge[axis])
    return _plain(rows, rounding / float(lengths.min()))


def _plain(rows: Floats, off: float) -> Floats:
    """Return the rotation nearest to three directions, by an azimuth of few digits if it can be."""
    left, _, right = np.linalg.svd(rows)
    axes: Floats = left @ right
    if abs(axes[2, 2]) >= 1 - off:
        azimuth = math.degrees(math.atan2(axes[1, 0], axes[1, 1]))
        for digits in range(13):
            if abs(round(azimuth, digits) - azimuth) <= math.degrees(off):
                return np.array(frame_of_azimuth(round(azimuth, digits)).matrix).T
    return axes


def measured_along(corners: Floats, axes: Floats, rounding: float) -> Floats:
    """Return the sizes, (n, 3), of (n, 8, 3) corners of boxes along axes; NaN of what is no box.

    Sizes are rounded to the decimals that the corners leave.
    """
    local = corners @ axes.T
    low, high = local.min(axis=1), local.max(axis=1)
    at_low = np.abs(local - low[:, None]) <= 2 * rounding
    at_high = np.abs(local - high[:, None]) <= 2 * rounding
    box = ((at_low ^ at_high).all(axis=1) & (at_low.sum(axis=1) == 4)).all(axis=1)[:, None]
    sizes = high - low
    if rounding > 0:
        sizes = np.round(sizes, min(math.floor(-math.log10(rounding)), 15))
    return np.where(box, sizes, np.nan)
