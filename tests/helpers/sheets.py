"""Open surfaces for the tests, and an oracle of above and below in rational arithmetic."""

from __future__ import annotations

import numpy as np
from shapes import oracle_crossings

from geodomain import Mesh


def sheet(heights, spacing=1.0, at=(0.0, 0.0, 0.0), name="sheet") -> Mesh:
    """Return the surface over a square lattice, (nx, ny) heights, triangles facing up."""
    heights = np.asarray(heights, dtype=float)
    columns, rows = heights.shape
    x, y = np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij")
    points = np.stack([x * spacing, y * spacing, heights], axis=-1).reshape(-1, 3)
    index = np.arange(columns * rows).reshape(columns, rows)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return Mesh(points + np.asarray(at), triangles, name=name)


def level(height, size=4, at=(0.0, 0.0, 0.0), name="level") -> Mesh:
    """Return a horizontal square."""
    return sheet(np.full((2, 2), float(height)), size, at, name)


def overhang(name="overhang") -> Mesh:
    """Return a ramp from (0, 0, 0) up to (4, 0, 4) that turns back to (1, 0, 6)."""
    corners = [[0, 0, 0], [0, 2, 0], [4, 0, 4], [4, 2, 4], [1, 0, 6], [1, 2, 6]]
    return Mesh(corners, [[0, 2, 3], [0, 3, 1], [2, 4, 5], [2, 5, 3]], name=name)


def oracle_side(mesh: Mesh, point) -> int:
    """Return 1 above, -1 below, 0 outside the footprint; nothing here knows a tie rule."""
    above = oracle_crossings(mesh, point)[0]
    foot = (point[0], point[1], float(mesh.bounds[0, 2]) - 1.0)
    if oracle_crossings(mesh, foot)[0] == 0:
        return 0
    return -1 if above % 2 else 1
