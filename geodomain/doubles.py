"""Triangles and whole shells that are in a mesh more than once, told by their vertices."""

from __future__ import annotations

import numpy as np

from geodomain.edge_table import Ints, count_edges, group_equal_rows
from geodomain.shells import shells


def repeated_faces(triangles: Ints) -> Ints:
    """Find the triangles whose three corners an earlier one has, in any order.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices that are distinct by value; degenerate ones count too.

    Returns
    -------
    (n,) int64
        Ascending.
    """
    first, _ = _faces(triangles)
    return np.setdiff1d(np.arange(len(triangles)), first, assume_unique=True)


def repeated_shells(triangles: Ints, vertex_count: int) -> int:
    """Count the closed shells whose every face is there an even number of times.

    Such faces cancel: by parity, nothing is inside. What else touches the shell does not
    hide it, since only the faces of even number are looked at.

    Parameters
    ----------
    triangles : (t, 3) int64
        None with two equal corners.
    vertex_count : int
        Above every index.
    """
    first, group = _faces(triangles)
    faces = triangles[first[np.bincount(group) % 2 == 0]] if len(first) else triangles
    label, count = shells(faces, vertex_count)
    ends, uses, _ = count_edges(faces, vertex_count)
    shell_of = np.zeros(vertex_count, np.int64)
    shell_of[faces] = label[:, None]
    return count - len(np.unique(shell_of[ends[uses & 1 == 1, 0]]))


def _faces(triangles: Ints) -> tuple[Ints, Ints]:
    """Group triangles by the set of their corners."""
    # Indices are far below 2^53, so that they are the same as float64.
    return group_equal_rows(np.sort(triangles, axis=1).astype(np.float64))
