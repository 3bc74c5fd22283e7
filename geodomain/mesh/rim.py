"""The rim of an open mesh, its boundary edges in a fixed order, and its folds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.mesh_checks import group_equal
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


def folds(mesh: Mesh, signs: NDArray[np.int8]) -> Floats:
    """Return edges seen from above, apart from the rim's, across which the mesh's cover changes.

    There is one where a surface runs back over or under itself: more of the triangles at that
    place of the plan lie on one side of the edge than on the other.

    Parameters
    ----------
    mesh : Mesh
    signs : (t,) int8
        Of the projections of its triangles.

    Returns
    -------
    ndarray of float64, shape (m, 2, 3)
        At no height.
    """
    table = edge_table(mesh)
    if abs(signs.sum(dtype=np.int64)) == len(signs) and np.array_equal(table.unbalanced, table.odd):
        return np.empty((0, 2, 3))
    plan = table.vertices * (1.0, 1.0, 0.0)
    first, place = group_equal(plan)
    level = place[table.triangles[signs != 0]]
    level = np.where((signs[signs != 0] > 0)[:, None], level, level[:, ::-1])  # all turn alike
    ends = np.stack([level, np.roll(level, -1, axis=1)], axis=-1).reshape(-1, 2)
    key, inverse = np.unique(_key(ends, len(first)), return_inverse=True)
    change = np.bincount(inverse.reshape(-1), np.sign(ends[:, 1] - ends[:, 0]), len(key))
    rims = _key(place[table.ends[table.odd]], len(first))
    found = key[(change != 0) & ~np.isin(key, rims)]
    return np.ascontiguousarray(plan[first[np.stack(np.divmod(found, len(first)), axis=1)]])


def _key(ends: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    low, high = np.minimum(*ends.T), np.maximum(*ends.T)
    key: NDArray[np.int64] = low * count + high
    return key


def _ordered(ends: Floats, weights: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int32]]:
    """Turn the edges so that the lower end comes first, and sort them."""
    keys = np.lexsort(ends.reshape(-1, 2, 3).transpose(2, 0, 1)[::-1], axis=-1)
    swap = keys[:, 0] == 1
    ends = np.where(swap[:, None, None], ends[:, ::-1], ends)
    weights = np.where(swap, -weights, weights)
    order = np.lexsort(ends.reshape(-1, 6).T[::-1])
    return np.ascontiguousarray(ends[order]), weights[order].astype(np.int32)
