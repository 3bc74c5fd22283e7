"""The rim of an open mesh: its boundary edges, in a fixed order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.faults.edge_table import edge_table
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]


def signed_rim(mesh: Mesh) -> tuple[Floats, NDArray[np.int32]]:
    """Return the edges whose directed uses do not cancel, and how often each is used.

    Returns
    -------
    ends : ndarray of float64, shape (m, 2, 3)
        By coordinates: the lower end first, the edges in ascending order, so that a sum
        over them does not depend on the order of vertices or triangles.
    weights : ndarray of int32, shape (m,)
        Uses in this direction less those against it.

    Examples
    --------
    >>> from geodomain import Mesh
    >>> ends, weights = signed_rim(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    >>> ends[:, :, :2].astype(int).tolist(), weights.tolist()
    ([[[0, 0], [0, 1]], [[0, 0], [1, 0]], [[0, 1], [1, 0]]], [-1, 1, -1])
    """
    table = edge_table(mesh)
    edges = table.unbalanced
    return _ordered(table.vertices[table.ends[edges]], table.balance[edges])


def rim(mesh: Mesh) -> Floats:
    """Return the edges of an odd number of triangles, (m, 2, 3), ordered as `signed_rim`'s."""
    table = edge_table(mesh)
    return table.segments(table.odd)


def _ordered(ends: Floats, weights: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int32]]:
    """Turn the edges so that the lower end comes first, and sort them."""
    keys = np.lexsort(ends.reshape(-1, 2, 3).transpose(2, 0, 1)[::-1], axis=-1)
    swap = keys[:, 0] == 1
    ends = np.where(swap[:, None, None], ends[:, ::-1], ends)
    weights = np.where(swap, -weights, weights)
    order = np.lexsort(ends.reshape(-1, 6).T[::-1])
    return np.ascontiguousarray(ends[order]), weights[order].astype(np.int32)
