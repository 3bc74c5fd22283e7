"""Duplicate triangles and shells of a mesh, compared by their vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geodomain.backends.mesh_checks import group_equal
from geodomain.mesh.faults.edge_table import Ints, count_edges, has_equal_corners
from geodomain.mesh.faults.shells import shells


class Doubles(NamedTuple):
    """The repeated triangles, and how many whole shells are there twice.

    Attributes
    ----------
    faces : (n,) int64
        Triangles whose three corners an earlier one has, in any order; ascending.
    shells : int
        Closed shells whose every face is there an even number of times, other solids'
        walls aside. They cancel: by parity, nothing is inside.
    cancel : bool
        Whether every face is there an even number of times, and there are some.
    """

    faces: Ints
    shells: int
    cancel: bool


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
    first, group = group_equal(np.sort(triangles, axis=1).astype(np.float64))
    is_first = np.zeros(len(triangles), np.bool_)
    is_first[first] = True
    faces = np.flatnonzero(~is_first)
    if not len(faces):
        return Doubles(faces, 0, cancel=False)
    copies = np.bincount(group)
    proper = ~has_equal_corners(triangles[first])
    cancel = bool(proper.any() and not (copies[proper] % 2).any())
    more = (copies > 1) & proper
    found = _cancelled_shells(triangles[first[more]], copies[more], vertex_count)
    return Doubles(faces, found, cancel)


def enclose_nothing(triangles: Ints, *, winding: bool) -> bool:
    """Return whether all triangles cancel, so that nothing can be inside.

    By parity those do that are there an even number of times; by winding number those that are
    there as often one way round as the other.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices that are distinct by value; degenerate ones are left out.
    winding : bool
        Whether what is inside is told by the winding number, not by parity.
    """
    proper = triangles[~has_equal_corners(triangles)]
    if not len(proper):
        return False
    first, group = group_equal(np.sort(proper, axis=1).astype(np.float64))
    if 2 * len(first) > len(proper):
        return False
    if not winding:
        return not (np.bincount(group) % 2).any()
    a, b, c = proper.T
    turns = np.where((a < b) ^ (b < c) ^ (a < c), 1, -1)
    return not np.bincount(group, turns).any()


def _cancelled_shells(faces: Ints, copies: Ints, vertex_count: int) -> int:
    """Count the shells that no odd edge touches and that are not there thrice, or five times.

    Only repeated faces are given, so that what else touches a shell does not hide it. A
    solid that shares a wall with two copies of another makes three of that wall: one face
    of even number tells enough.
    """
    label, count = shells(faces, vertex_count)
    ends, uses, _ = count_edges(faces, vertex_count)
    shell_of = np.zeros(vertex_count, np.int64)
    shell_of[faces] = label[:, None]
    cancelled = np.zeros(count, np.bool_)
    cancelled[label[copies % 2 == 0]] = True
    cancelled[shell_of[ends[uses & 1 == 1, 0]]] = False
    return int(cancelled.sum())
