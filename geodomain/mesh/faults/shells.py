"""Shells of a mesh: triangles connected by shared vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def components(first: Ints, second: Ints, count: int) -> Ints:
    """Label the connected components of a graph.

    Parameters
    ----------
    first, second : (e,) int64
        The ends of each link.
    count : int
        How many nodes there are.

    Returns
    -------
    (count,) int64
        The smallest node of the component of each node.

    Notes
    -----
    Every root hooks to the smallest root that a link leads it to, then all paths are
    halved to nothing; a few rounds do, since links within one tree are dropped.
    """
    root = np.arange(count)
    while len(first):
        low, high = np.minimum(first, second), np.maximum(first, second)
        np.minimum.at(root, high, low)
        root = _flattened(root)
        first, second = root[first], root[second]
        apart = first != second
        first, second = first[apart], second[apart]
    return root


def _flattened(root: Ints) -> Ints:
    """Point every node at the end of its path."""
    while True:
        further = root[root]
        if np.array_equal(further, root):
            return root
        root = further


def shells(triangles: Ints, vertex_count: int) -> tuple[Ints, int]:
    """Label triangles by the shell they belong to.

    Triangles that share a vertex are of one shell, so that two bodies that touch in a
    point, or a body that is there twice, are one.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices that are distinct by value.
    vertex_count : int
        Above every index.

    Returns
    -------
    (t,) int64
        0, 1, ... in the order of the first triangle of each shell.
    int
        How many shells there are.
    """
    a, b, c = triangles.T
    root = components(np.r_[a, b], np.r_[b, c], vertex_count)[a]
    _, first, label = np.unique(root, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[label.reshape(-1)], len(first)
