"""Wireframes with fewer triangles, for the eye alone: vertices of one cell become one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.mesh import Mesh


def coarser(mesh: Mesh, most: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return vertices and at most so many triangles that look like a mesh, its own if those do.

    Vertices in one cell of a lattice become their mean, and triangles without an area go. The
    cells grow until few enough triangles are left.
    """
    vertices, triangles = mesh.vertices, mesh.triangles
    cells = 1024
    while len(triangles) > most and cells >= 4:
        vertices, triangles = _clustered(mesh, cells)
        cells = cells * 3 // 4
    return vertices, triangles


def _clustered(mesh: Mesh, cells: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Merge the vertices in each cell of a lattice so many cells long."""
    low, high = mesh.bounds
    step = float((high - low).max()) / cells or 1.0
    places = np.floor((mesh.vertices - low) / step).astype(np.int64) + 1
    key = (places[:, 0] << 40) | (places[:, 1] << 20) | places[:, 2]
    _, inverse = np.unique(key, return_inverse=True)
    counts = np.bincount(inverse)
    columns = [np.bincount(inverse, mesh.vertices[:, axis]) / counts for axis in range(3)]
    found = inverse[mesh.triangles].astype(np.int32)
    kept = (found != np.roll(found, 1, axis=1)).all(axis=1)
    return np.stack(columns, axis=1), found[kept]
