"""Triangles of one body that cross: each pair against fractions, shared corners above all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from crossings import cross, dot, exact, minus

from geodomain import synthetic
from geodomain.compute.meshes import crossed_triangles, vertex_fans


def crossed(corners, faces, group, threads=1):
    """Return which triangles cross, which is the same whatever is known about vertices."""
    bounds = np.stack([corners.min(axis=0), corners.max(axis=0)])
    nothing = np.zeros(len(corners), np.uint8)
    parted = vertex_fans(corners, faces).parted
    found, again = (
        crossed_triangles(corners, faces, bounds, group, known, threads)
        for known in (parted, nothing)
    )
    np.testing.assert_array_equal(found, again)
    return found


def pairs_that_cross(corners, faces):
    triangles = [[exact(corners[k]) for k in face] for face in faces]
    lows, highs = corners[faces].min(axis=1), corners[faces].max(axis=1)
    return [
        (i, j)
        for i in range(len(faces))
        for j in range(i + 1, len(faces))
        if (lows[i] <= highs[j]).all()
        and (lows[j] <= highs[i]).all()
        and cross_beyond_edges(triangles[i], triangles[j])
    ]


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
        assert crossed(corners, faces, component).tolist() == [expected] * 2
        seen.add(expected)
    assert seen == {False, True}


@pytest.mark.parametrize(("count", "size"), [(40, 1.0), (64, 0.5), (65, 0.5), (600, 0.1)])
def test_every_triangle_that_crosses_another_is_found(count, size):
    """Few are one group of packets; the most are several levels of nodes."""
    rng = np.random.default_rng(1)
    corners = (rng.random((count, 1, 3)) + size * rng.random((count, 3, 3))).reshape(-1, 3)
    faces = np.arange(3 * count, dtype=np.int32).reshape(count, 3)
    pairs = pairs_that_cross(corners, faces)
    found = crossed(corners, faces, np.zeros(count, np.int32), 2)
    assert sorted({i for pair in pairs for i in pair}) == np.flatnonzero(found).tolist()
    assert 0 < found.sum() < count
    assert isinstance(exact(corners[0])[0], Fraction)


@pytest.mark.parametrize("offset", [0.0, 7.48e6])
def test_closed_meshes_that_are_crumpled_or_folded(offset):
    """Most pairs share a corner, and most corners are known to be parted, until the mesh folds."""
    body = synthetic.star_shaped_orebody(2)
    size = np.ptp(body.vertices, axis=0).max()
    rng, counts = np.random.default_rng(3), set()
    for round_number in range(6):
        corners = body.vertices + rng.normal(0, size * (0.0, 0.02, 0.1)[round_number % 3], (42, 3))
        if round_number > 2:  # what is beyond a plane is mirrored by it
            way = rng.normal(size=3)
            height = np.maximum((corners - corners[round_number]) @ way, 0.0)
            corners -= np.outer(height, 2 * way / (way @ way))
        corners += offset
        faces = body.triangles[rng.permutation(80)]
        expected = sorted({i for pair in pairs_that_cross(corners, faces) for i in pair})
        assert (
            np.flatnonzero(crossed(corners, faces, np.zeros(80, np.int32), 2)).tolist() == expected
        )
        counts.add(len(expected))
    assert min(counts) == 0
    assert len(counts) > 2


def test_groups_do_not_meet_and_no_group_meets_nothing():
    corners = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0], [1, 1, -1], [1, 1, 1], [1, 5, 0]])
    faces = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    for group, expected in (((0, 0), True), ((7, 7), True), ((0, 1), False), ((-1, -1), False)):
        assert crossed(corners, faces, np.array(group, np.int32)).all() == expected


def test_many_triangles_of_one_place():
    """Codes that are equal are no reason to miss a pair, nor to find one."""
    corners = np.concatenate([np.zeros((1, 3)), np.random.default_rng(4).normal(size=(400, 3))])
    corners[1:] *= 1e-9
    corners = np.concatenate([corners, [[1e9, 1e9, 1e9], [1e9, 1e9, 0], [1e9, 0, 1e9]]])
    faces = np.concatenate([np.arange(1, 121).reshape(40, 3), [[401, 402, 403]]]).astype(np.int32)
    expected = sorted({i for pair in pairs_that_cross(corners, faces) for i in pair})
    assert np.flatnonzero(crossed(corners, faces, np.zeros(41, np.int32))).tolist() == expected
