"""Areas and volumes of triangles, rounded to float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def normals(vertices: Floats, triangles: NDArray[np.integer]) -> Floats:
    """Return the cross products of two sides of each triangle, (t, 3) float64."""
    a, b, c = vertices[triangles.T]
    p, q = b - a, c - a
    out: Floats = np.empty_like(p)
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        out[:, k] = p[:, i] * q[:, j] - p[:, j] * q[:, i]
    return out


def area(crosses: Floats) -> float:
    """Return the area of the triangles that have these normals."""
    x, y, z = crosses.T
    return float(np.hypot(np.hypot(x, y), z).sum() / 2)


def sixfold_volumes(arms: Floats, crosses: Floats) -> Floats:
    """Return six times the signed volume between an origin and each triangle, (t,).

    The arms lead from the origin to a corner of each triangle.
    """
    volumes: Floats = np.einsum("ij,ij->i", arms, crosses)
    return volumes


def enclosed_volume(vertices: Floats, triangles: NDArray[np.integer], bounds: Floats) -> float:
    """Return the magnitude of the signed volume of a closed mesh.

    Measured about the middle of its box: about 0 the terms would cancel at mine coordinates.
    """
    if not len(triangles):
        return 0.0
    middle = bounds[0] + (bounds[1] - bounds[0]) / 2
    moved = vertices - middle
    terms = sixfold_volumes(moved[triangles[:, 0]], normals(moved, triangles))
    return abs(float(terms.sum())) / 6


def volume_beyond(
    vertices: Floats, triangles: NDArray[np.integer], axis: int, height: float
) -> float:
    """Give the volume of a closed mesh on the side of a plane where a coordinate is higher.

    By the divergence theorem: the sum, over triangles, of the mean of max(coordinate - height, 0)
    times the area that the triangle has along the axis, with its sign.
    """
    crosses = normals(vertices - vertices.mean(axis=0), triangles)
    low, middle, high = np.sort(vertices[:, axis][triangles] - height, axis=1).T
    return abs(float((_mean_above(low, middle, high) * crosses[:, axis]).sum()) / 2)


def _mean_above(low: Floats, middle: Floats, high: Floats) -> Floats:
    """Give the mean, over a triangle, of the positive part of a linear function.

    The arguments are its values at the corners, ascending. Where one corner has a sign of its own,
    the part with that sign is a triangle whose sides are cut in known ratios.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        top = high**3 / (3 * (high - middle) * (high - low))
        bottom = low**3 / (3 * (middle - low) * (high - low))
    mean = (low + middle + high) / 3
    found = np.where(middle > 0, mean - bottom, top)
    found = np.where(low >= 0, mean, found)
    return np.asarray(np.where(high <= 0, 0.0, found))
