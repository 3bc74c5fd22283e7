"""Triangles of one body that cross: each pair against fractions, shared corners above all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from crossings import cross_beyond_edges, crossed, exact

from geodomain import synthetic


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


@pytest.mark.full
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


@pytest.mark.full
def test_many_triangles_of_one_place():
    """Codes that are equal are no reason to miss a pair, nor to find one."""
    corners = np.concatenate([np.zeros((1, 3)), np.random.default_rng(4).normal(size=(400, 3))])
    corners[1:] *= 1e-9
    corners = np.concatenate([corners, [[1e9, 1e9, 1e9], [1e9, 1e9, 0], [1e9, 0, 1e9]]])
    faces = np.concatenate([np.arange(1, 121).reshape(40, 3), [[401, 402, 403]]]).astype(np.int32)
    expected = sorted({i for pair in pairs_that_cross(corners, faces) for i in pair})
    assert np.flatnonzero(crossed(corners, faces, np.zeros(41, np.int32))).tolist() == expected
