"""Triangles and whole shells that are in a mesh more than once, told by their vertices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodomain.edge_table import Ints, count_edges, group_equal_rows, has_equal_corners
from geodomain.shells import shells


@dataclass(frozen=True, eq=False)
class Doubles:
    """The repeated triangles, and how many whole shells are there twice.

    Attributes
    ----------
    faces : (n,) int64
        Triangles whose three corners an earlier one has, in any order; ascending.
    shells : int
        Closed shells whose every face is there an even number of times. Such faces cancel:
        by parity, nothing is inside.
    """

    faces: Ints
    shells: int


def find_doubles(triangles: Ints, vertex_count: int) -> Doubles:
    """Find triangles that are there more than once.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices that are distinct by value; degenerate ones count too.
    vertex_count : int
        Above every index.
    """
    # Indices are far below 2^53, so that they are the same as float64.
    first, group = group_equal_rows(np.sort(triangles, axis=1).astype(np.float64))
    is_first = np.zeros(len(triangles), np.bool_)
    is_first[first] = True
    faces = np.flatnonzero(~is_first)
    if not len(faces):
        return Doubles(faces, 0)
    even = triangles[first[np.bincount(group) % 2 == 0]]
    return Doubles(faces, _closed_shells(even[~has_equal_corners(even)], vertex_count))


def _closed_shells(faces: Ints, vertex_count: int) -> int:
    """Count the shells that no odd edge touches.

    Only repeated faces are given, so that what else touches a shell does not hide it.
    """
    label, count = shells(faces, vertex_count)
    ends, uses, _ = count_edges(faces, vertex_count)
    shell_of = np.zeros(vertex_count, np.int64)
    shell_of[faces] = label[:, None]
    return count - len(np.unique(shell_of[ends[uses & 1 == 1, 0]]))
