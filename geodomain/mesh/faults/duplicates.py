"""Faces that are there twice: duplicate triangles and shells, and faces that all cancel."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

import numpy as np

from geodomain.backends.mesh_checks import group_equal
from geodomain.mesh.faults.edge_table import Floats, Ints, count_edges, has_equal_corners
from geodomain.mesh.faults.shells import shells

Vector = tuple[int, int, int]


class Doubles(NamedTuple):
    """The repeated triangles, and how many whole shells are there twice.

    Attributes
    ----------
    faces : (n,) int64
        Triangles whose three corners an earlier one has, in any order; ascending.
    shells : int
        Closed shells whose every face is there an even number of times, other solids'
        walls aside. They cancel: by parity, nothing is inside.
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
    first, group = group_equal(np.sort(triangles, axis=1).astype(np.float64))
    is_first = np.zeros(len(triangles), np.bool_)
    is_first[first] = True
    faces = np.flatnonzero(~is_first)
    if not len(faces):
        return Doubles(faces, 0)
    copies = np.bincount(group)
    proper = ~has_equal_corners(triangles[first])
    more = (copies > 1) & proper
    found = _cancelled_shells(triangles[first[more]], copies[more], vertex_count)
    return Doubles(faces, found)


def encloses_nothing(vertices: Floats, triangles: Ints, *, winding: bool) -> bool:
    """Return whether the faces of a closed mesh cancel, so that nothing can be inside.

    Faces are compared as sets of places, however they are cut into triangles. What is inside
    changes wherever the faces of a plane lie on each other an odd number of times; by winding
    number, where they do not lie there as often one way round as the other. In one plane the faces
    cancel where the edges cancel that bound them, and these do, line by line, where their ends do.
    So each vertex is asked by itself, and the first where something is left decides.

    Parameters
    ----------
    vertices : (v, 3) float64
        Distinct by value.
    triangles : (t, 3) int64
        Indices of vertices; degenerate triangles are left out.
    winding : bool
        Whether what is inside is told by the winding number, not by parity.
    """
    proper = triangles[~has_equal_corners(triangles)]
    if not len(proper):
        return False
    left = _uncancelled(proper, winding=winding)
    order = np.argsort(left, axis=None, kind="stable")
    used, starts = np.unique(left.reshape(-1)[order], return_index=True)
    stars = np.split(left[order // 3], starts[1:])
    places = whole_places(vertices)
    # In no order, so that a small part in which something is inside is met early.
    for some in np.random.default_rng(0).permutation(len(used)).tolist():
        if not star_cancels(places, int(used[some]), stars[some], winding=winding):
            return False
    return True


def _uncancelled(proper: Ints, *, winding: bool) -> Ints:
    """Return the triangles that are left where those with the same corners cancel."""
    first, group = group_equal(np.sort(proper, axis=1).astype(np.float64))
    if winding:
        a, b, c = proper.T
        turns = np.where((a < b) ^ (b < c) ^ (a < c), 1, -1)
        kept: Ints = proper[(np.bincount(group, turns) != 0)[group]]
    else:
        kept = proper[first[np.bincount(group) % 2 == 1]]
    return kept


def whole_places(vertices: Floats) -> list[Vector]:
    """Return places as whole numbers of a unit so small that nothing is rounded."""
    fraction, power = np.frexp(vertices)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    power[digits == 0] = power.max(initial=0)
    shift = power - power.min(initial=0)
    whole: list[Vector] = (digits.astype(object) << shift.astype(object)).tolist()
    return whole


def star_cancels(places: Sequence[Vector], centre: int, star: Ints, *, winding: bool) -> bool:
    """Return whether the edges that end in a vertex cancel on each line of each plane.

    Parameters
    ----------
    places : sequence of three int
        Of the vertices, as by `whole_places`.
    centre : int
        The vertex.
    star : (t, 3) int64
        The triangles that have it as a corner once.
    winding : bool
        As in `encloses_nothing`.
    """
    ends: dict[tuple[Vector, Vector], int] = {}
    x, y, z = places[centre]
    for corners in star.tolist():
        at = corners.index(centre)
        one, other = places[corners[at - 2]], places[corners[at - 1]]
        leaving = one[0] - x, one[1] - y, one[2] - z
        coming = other[0] - x, other[1] - y, other[2] - z
        plane = _direction(_cross(leaving, coming))
        if not any(plane):
            continue
        for way, step in ((leaving, -1), (coming, 1)):
            key = plane, _direction(way)
            ends[key] = ends.get(key, 0) + step
    return not any(count if winding else count % 2 for count in ends.values())


def _cross(p: Vector, q: Vector) -> Vector:
    return (p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0])


def _direction(vector: Vector) -> Vector:
    """Return the shortest whole vector of a line, the same for both ways along it."""
    part = gcd(*vector)
    if not part:
        return vector
    first = next(value for value in vector if value)
    part = part if first > 0 else -part
    x, y, z = (value // part for value in vector)
    return x, y, z


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
