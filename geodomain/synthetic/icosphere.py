"""The geodesic sphere over an icosahedron, with exactly shared vertices; nothing else."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from geodomain.synthetic.sheets import Floats, Triangles

GOLDEN = (1 + np.sqrt(5)) / 2
LARGEST_FREQUENCY = 511


def geodesic_sphere(frequency: int) -> tuple[Floats, Triangles]:
    """Divide the faces of an icosahedron and put the vertices on the unit sphere.

    A corner of the icosahedron has coordinates p + q * golden ratio with integers
    p and q, so a vertex of the division, summed in integers, has the same six
    numbers from whichever face it is reached: vertices are merged exactly.

    Parameters
    ----------
    frequency : int
        Parts into which each edge is divided, 1 to 511.

    Returns
    -------
    points : ndarray of shape (10 frequency^2 + 2, 3), float64
    triangles : ndarray of shape (20 frequency^2, 3), int32
        Counter-clockwise seen from outside.

    Raises
    ------
    ValueError
        For a frequency out of range.
    """
    if not 1 <= frequency <= LARGEST_FREQUENCY:
        message = f"a frequency is 1 to {LARGEST_FREQUENCY}, not {frequency}"
        raise ValueError(message)
    corners, faces = icosahedron()
    weights, cells = divided_triangle(frequency)
    lattice = np.einsum("wc,fcx->fwx", weights, corners[faces]).reshape(-1, 6)
    # Six integers of ten bits each: |p|, |q| <= frequency <= 511.
    key = (lattice + 512) @ (1 << np.arange(0, 60, 10))
    _, first, vertex = np.unique(key, return_index=True, return_inverse=True)
    exact = lattice[first]
    points = exact[:, 0::2] + GOLDEN * exact[:, 1::2]
    points /= np.sqrt((points**2).sum(axis=1))[:, None]
    offsets = np.arange(len(faces))[:, None, None] * len(weights)
    return points, vertex[(cells + offsets).reshape(-1, 3)].astype(np.int32)


def icosahedron() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the corners as (12, 6) integers px qx py qy pz qz, and the faces (20, 3)."""
    corners = []
    for turn, one, golden in product(range(3), (-1, 1), (-1, 1)):
        corner = np.zeros((3, 2), dtype=np.int64)
        corner[turn, 0], corner[(turn + 1) % 3, 1] = one, golden
        corners.append(corner.ravel())
    lattice = np.array(corners)
    place = lattice[:, 0::2] + GOLDEN * lattice[:, 1::2]
    distance = ((place[:, None] - place) ** 2).sum(axis=2)
    near = (distance > 0) & (distance < 4.5)  # an edge has length 2, the next diagonal 3.2
    faces = [
        (a, b, c)
        for a, b, c in product(range(12), repeat=3)
        if a < min(b, c) and near[a, b] and near[b, c] and near[c, a]
        if np.linalg.det(place[[a, b, c]]) > 0
    ]
    return lattice, np.array(faces)


def divided_triangle(frequency: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the integer barycentric weights (w, 3) of a divided triangle and its cells (c, 3)."""
    side = np.arange(frequency + 1)
    i, j = (index.ravel() for index in np.meshgrid(side, side, indexing="ij"))
    inside = i + j <= frequency
    number = np.cumsum(inside) - 1
    here = np.arange(i.size).reshape(len(side), -1)[:-1, :-1].ravel()
    right, up = here + len(side), here + 1
    cells = np.concatenate([np.stack([here, right, up], 1), np.stack([right, right + 1, up], 1)])
    cells = cells[inside[cells].all(axis=1)]
    weights = np.stack([frequency - i - j, i, j], axis=1)[inside]
    return weights, number[cells]
