"""Small wireframes that the tests of labelling share."""

from __future__ import annotations

import numpy as np

from geodomain.mesh.mesh import Mesh

_FACES = [
    [0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7], [0, 1, 5], [0, 5, 4],
    [1, 2, 6], [1, 6, 5], [2, 3, 7], [2, 7, 6], [3, 0, 4], [3, 4, 7],
]  # fmt: skip


def box(low: tuple[float, ...], high: tuple[float, ...], *, name: str = "box") -> Mesh:
    """Make a closed box that faces outward."""
    (a, b, c), (d, e, f) = low, high
    corners = [
        [a, b, c], [d, b, c], [d, e, c], [a, e, c], [a, b, f], [d, b, f], [d, e, f], [a, e, f]
    ]  # fmt: skip
    return Mesh(corners, _FACES, name=name)


def cube(side: float = 10.0) -> Mesh:
    """Make a cube with a corner at the origin."""
    return box((0, 0, 0), (side, side, side), name="cube")


def roofless(side: float = 10.0) -> Mesh:
    """Make a cube without half of its roof: open."""
    closed = cube(side)
    return Mesh(closed.vertices, np.delete(closed.triangles, 2, axis=0), name="roofless")
