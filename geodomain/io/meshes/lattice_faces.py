"""Makes triangles between the nodes of a grid; reads no file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.faces import Faces


def lattice_faces(place: NDArray[np.float64], missing: NDArray[np.bool_] | None = None) -> Faces:
    """Return two triangles for each four neighbours of nodes (m, n, 3) of which none is missing."""
    m, n = place.shape[:2]
    node = np.arange(m * n).reshape(m, n)
    corners = [node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]]
    kept = np.ones(corners[0].shape, dtype=bool)
    if missing is not None:
        for rows in (slice(None, -1), slice(1, None)):
            for columns in (slice(None, -1), slice(1, None)):
                kept &= ~missing[rows, columns]
    a, b, c, d = (one[kept] for one in corners)
    triangles = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1)
    return Faces(place.reshape(-1, 3), triangles, np.full(len(triangles) // 3, 3, dtype=np.int64))
