"""Triangulated sheets and the closed solids between two of them; no geology here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]
Triangles = NDArray[np.int32]

# Surveyed wireframes come with a finite step. An eighth of a metre is also a divisor of every
# centroid of the demo's models, so that some vertices stand exactly above blocks, and a step of a
# power of two hides the last bit in which the sine of one machine differs from another's.
SURVEY_STEP = 0.125


def surveyed(points: Floats) -> Floats:
    """Round coordinates to the survey step."""
    rounded: Floats = np.round(points / SURVEY_STEP) * SURVEY_STEP
    return rounded


def grid(rows: int, columns: int) -> Triangles:
    """Triangulate a grid of vertices, ``rows`` x ``columns``, numbered column fastest.

    Returns
    -------
    ndarray of shape (2 (rows - 1) (columns - 1), 3), int32
        Counter-clockwise where the first index is x and the second y.
    """
    corner = np.arange(rows * columns, dtype=np.int32).reshape(rows, columns)
    here, right = corner[:-1, :-1].ravel(), corner[1:, :-1].ravel()
    up, across = corner[:-1, 1:].ravel(), corner[1:, 1:].ravel()
    cells = np.stack([here, right, across, here, across, up], axis=1)
    return cells.reshape(-1, 3)


def disc(rings: int) -> tuple[Floats, Triangles]:
    """Triangulate the unit disc with the rings of a hexagonal lattice.

    Returns
    -------
    points : ndarray of shape (3 rings (rings + 1) + 1, 2)
        The outermost ring has radius exactly 1 in the sense of ``hexagonal_radius``.
    triangles : ndarray of shape (6 rings^2, 3), int32
        Counter-clockwise.
    """
    steps = np.arange(-rings, rings + 1)
    i, j = (index.ravel() for index in np.meshgrid(steps, steps, indexing="ij"))
    ring = np.maximum(np.maximum(abs(i), abs(j)), abs(i + j))
    number = np.cumsum(ring <= rings) - 1
    flat = np.stack([i + j / 2, j * np.sqrt(0.75)], axis=1)[ring <= rings]
    length = np.sqrt((flat**2).sum(axis=1))
    unit = flat / np.where(length == 0, 1, length)[:, None]
    width = 2 * rings + 1
    here = np.arange(i.size).reshape(width, width)[:-1, :-1].ravel()
    upper = np.stack([here, here + width, here + 1], axis=1)
    lower = np.stack([here + width, here + width + 1, here + 1], axis=1)
    both = np.concatenate([upper, lower])
    both = both[(ring[both] <= rings).all(axis=1)]
    return unit * (ring[ring <= rings] / rings)[:, None], number[both].astype(np.int32)


def rim(triangles: Triangles) -> NDArray[np.int64]:
    """Return the directed edges of a sheet that no other triangle shares, shape (e, 2)."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    span = int(triangles.max()) + 1
    forward, backward = edges @ [span, 1], edges @ [1, span]
    return edges[~np.isin(forward, backward)]


def between(top: Floats, bottom: Floats, triangles: Triangles, name: str) -> Mesh:
    """Close the room between two sheets that share a triangulation.

    Parameters
    ----------
    top, bottom : ndarray of shape (v, 3)
        Where each vertex of the sheet lies above and below. Vertices of the rim
        where both are equal close the solid by themselves, others get a wall.
    triangles : ndarray of shape (t, 3)
        Counter-clockwise seen from above.
    name : str
        The name of the mesh.

    Returns
    -------
    Mesh
        Closed, oriented outward, every vertex once.
    """
    below = np.arange(len(top), dtype=np.int64) + len(top)
    below[(top == bottom).all(axis=1)] -= len(top)
    a, b = rim(triangles).T
    walls = np.stack([b, a, below[a], b, below[a], below[b]], axis=1).reshape(-1, 3)
    shell = np.concatenate([triangles, below[triangles[:, ::-1]], walls])
    collapsed = (shell == np.roll(shell, 1, axis=1)).any(axis=1)
    used, corners = np.unique(shell[~collapsed], return_inverse=True)
    return Mesh(np.concatenate([top, bottom])[used], corners.reshape(-1, 3), name=name)
