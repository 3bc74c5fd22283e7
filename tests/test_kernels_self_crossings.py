"""Triangles of one body that cross: each pair against fractions, shared corners above all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from crossings import cross, dot, exact, minus

from geodomain.backends.mesh_checks import crossed_triangles


def kept(points, height):
    """Return the corners of the part of a convex polygon where a linear height is not negative."""
    part = []
    for p, q in zip(points, points[1:] + points[:1], strict=True):
        here, there = height(p), height(q)
        if here >= 0:
            part.append(p)
        if here * there < 0:
            part.append(
                tuple(a + (b - a) * here / (here - there) for a, b in zip(p, q, strict=True))
            )
    return part


def inner_sides(triangle, normal):
    """Return heights above the edges, positive inside, seen along the normal."""
    ends = zip(triangle, triangle[1:] + triangle[:1], strict=True)
    ways = [(p, cross(normal, minus(q, p))) for p, q in ends]
    return [lambda at, p=p, way=way: dot(way, minus(at, p)) for p, way in ways]


def cross_beyond_edges(s, t) -> bool:
    """Tell whether the common part is an area, or a segment that is not on an edge of each."""
    normals = [cross(minus(b, a), minus(c, a)) for a, b, c in (s, t)]
    if not any(normals[0]) or not any(normals[1]):
        return False
    common = kept(
        kept(s, lambda at: dot(normals[1], minus(at, t[0]))),
        lambda at: -dot(normals[1], minus(at, t[0])),
    )
    for side in inner_sides(t, normals[1]):
        common = kept(common, side)
    corners = set(common)
    if len(corners) < 2:
        return False
    middle = tuple(sum(values) / len(corners) for values in zip(*corners, strict=True))
    insides = [
        all(side(middle) > 0 for side in inner_sides(own, normal))
        for own, normal in zip((s, t), normals, strict=True)
    ]
    in_one_plane = not any(cross(*normals))
    return all(insides) if in_one_plane else any(insides)


@pytest.mark.parametrize("offset", [0.0, 7.48e6])
@pytest.mark.parametrize("shared", [0, 1, 2])
def test_pairs_agree_with_fractions(shared, offset):
    rng = np.random.default_rng(5 + shared)
    component, seen = np.zeros(2, np.int32), set()
    for round_number in range(400):
        corners = rng.integers(0, 4, (6, 3)) + offset
        if round_number % 2:
            corners += rng.random((6, 3)) / 2
        faces = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
        faces[1, :shared] = faces[0, :shared]
        faces[1] = np.roll(faces[1], rng.integers(3))
        expected = cross_beyond_edges(*([exact(corners[i]) for i in face] for face in faces))
        assert crossed_triangles(corners, faces, component, 1).tolist() == [expected] * 2
        seen.add(expected)
    assert seen == {False, True}


def test_every_triangle_that_crosses_another_is_found():
    rng = np.random.default_rng(1)
    corners = rng.random((120, 3))
    faces = np.arange(120, dtype=np.int32).reshape(40, 3)
    pairs = [
        (i, j)
        for i in range(40)
        for j in range(i + 1, 40)
        if cross_beyond_edges(*([exact(corners[k]) for k in faces[n]] for n in (i, j)))
    ]
    found = crossed_triangles(corners, faces, np.zeros(40, np.int32), 2)
    assert sorted({i for pair in pairs for i in pair}) == np.flatnonzero(found).tolist()
    assert isinstance(exact(corners[0])[0], Fraction)
