"""Duplicate triangles and shells, and meshes whose faces cancel so that nothing is inside."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import NamedTuple

import numpy as np

from geodomain.compute.data import Floats, Ints
from geodomain.compute.meshes import group_equal
from geodomain.mesh.components import shells
from geodomain.mesh.edges import count_edges, has_equal_corners

Vector = tuple[int, int, int]

# Number of vertices that are tested before all the others are prepared.
_FEW = 64


class Duplicates(NamedTuple):
    """Repeated triangles, and the number of repeated shells.

    Attributes
    ----------
    faces : (n,) int64
        Triangles with the same three corners as an earlier one, in any order; ascending.
    shells : int
        Number of closed shells whose faces each occur an even number of times, not counting walls
        shared with other solids. Such shells cancel: by parity, nothing is inside.
    """

    faces: Ints
    shells: int


def find_duplicates(triangles: Ints, vertex_count: int) -> Duplicates:
    """Find triangles and shells that occur more than once.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices with distinct coordinates; degenerate triangles count too.
    vertex_count : int
        Number of vertices.
    """
    # Indices are far below 2^53, so float64 holds them exactly.
    first, group = group_equal(np.sort(triangles, axis=1).astype(np.float64))
    is_first = np.zeros(len(triangles), np.bool_)
    is_first[first] = True
    faces = np.flatnonzero(~is_first)
    if not len(faces):
        return Duplicates(faces, 0)
    copies = np.bincount(group)
    proper = ~has_equal_corners(triangles[first])
    more = (copies > 1) & proper
    shells_cancelled = _cancelled_shells(triangles[first[more]], copies[more], vertex_count)
    return Duplicates(faces, shells_cancelled)


def _cancelled_shells(faces: Ints, copies: Ints, vertex_count: int) -> int:
    """Count the shells without odd edges that have a face with an even number of copies.

    Only repeated faces are passed, so that other triangles that touch a shell do not hide it. A
    solid that shares a wall with two copies of another makes three copies of that wall, so one
    face with an even number is enough.
    """
    label, count = shells(faces, vertex_count)
    ends, uses, _ = count_edges(faces, vertex_count)
    shell_of = np.zeros(vertex_count, np.int64)
    shell_of[faces] = label[:, None]
    cancelled = np.zeros(count, np.bool_)
    cancelled[label[copies % 2 == 0]] = True
    cancelled[shell_of[ends[uses & 1 == 1, 0]]] = False
    return int(cancelled.sum())


# Faces that cancel.


def encloses_nothing(vertices: Floats, triangles: Ints, *, winding: bool) -> bool:
    """Return whether the faces of a closed mesh cancel, so that nothing can be inside.

    Faces are compared as sets of points, however they are cut into triangles. A point of a plane
    separates inside from outside if an odd number of faces covers it, or, by winding
    number, if the faces there do not face both ways equally often. The faces in a plane
    cancel if their boundary edges cancel, and edges cancel, line by line, if their ends do.
    So each vertex is tested alone, and the first vertex where something remains decides.

    Parameters
    ----------
    vertices : (v, 3) float64
        Distinct vertices.
    triangles : (t, 3) int64
        Indices of vertices; degenerate triangles are ignored.
    winding : bool
        Whether the inside is defined by the winding number instead of parity.
    """
    proper = triangles[~has_equal_corners(triangles)]
    if not len(proper):
        return False
    left = _uncancelled(proper, winding=winding)
    order = np.argsort(left, axis=None, kind="stable")
    used, starts = np.unique(left.reshape(-1)[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    # In random order, so that a small part that encloses something is met early.
    mixed = np.random.default_rng(0).permutation(len(used))
    for some in (mixed[:_FEW], mixed[_FEW:]):
        stars = [left[order[starts[each] : ends[each]] // 3] for each in some]
        near = np.unique(np.concatenate([*stars, left[:0]]))
        places = dict(zip(near.tolist(), whole_places(vertices[near]), strict=True))
        for centre, star in zip(used[some].tolist(), stars, strict=True):
            if not star_cancels(places, centre, star, winding=winding):
                return False
    return True


def _uncancelled(proper: Ints, *, winding: bool) -> Ints:
    """Return the triangles that remain after triangles with the same corners cancel."""
    first, group = group_equal(np.sort(proper, axis=1).astype(np.float64))
    if winding:
        a, b, c = proper.T
        turns = np.where((a < b) ^ (b < c) ^ (a < c), 1, -1)
        remaining: Ints = proper[(np.bincount(group, turns) != 0)[group]]
    else:
        remaining = proper[first[np.bincount(group) % 2 == 1]]
    return remaining


def whole_places(vertices: Floats) -> list[Vector]:
    """Return coordinates as integers in a unit small enough to be exact."""
    fraction, power = np.frexp(vertices)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    power[digits == 0] = power.max(initial=0)
    shift = power - power.min(initial=0)
    whole: list[Vector] = (digits.astype(object) << shift.astype(object)).tolist()
    return whole


def star_cancels(places: Mapping[int, Vector], centre: int, star: Ints, *, winding: bool) -> bool:
    """Return whether the edges at a vertex cancel on every line of every plane.

    Parameters
    ----------
    places : mapping of int to three int
        The coordinates of the vertices of the star, from `whole_places`.
    centre : int
        The vertex.
    star : (t, 3) int64
        The triangles of which exactly one corner is the vertex.
    winding : bool
        As in `encloses_nothing`.
    """
    ends: dict[tuple[Vector, Vector], int] = {}
    x, y, z = places[centre]
    for corners in star.tolist():
        at = corners.index(centre)
        after, before = places[corners[at - 2]], places[corners[at - 1]]
        leaving = after[0] - x, after[1] - y, after[2] - z
        coming = before[0] - x, before[1] - y, before[2] - z
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
    """Return the shortest integer vector along a line, the same for both directions."""
    part = gcd(*vector)
    if not part:
        return vector
    first = next(value for value in vector if value)
    part = part if first > 0 else -part
    x, y, z = (value // part for value in vector)
    return x, y, z
