"""Near pairs and the closest pair, against all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from surfaces import MINE

from geodomain.mesh import repair
from geodomain.mesh.repair import closest_pair, near_pairs, separations

coordinate = st.integers(-30, 30).map(lambda i: i * 0.1)
clouds = st.lists(st.tuples(*[coordinate] * 3), min_size=2, max_size=40, unique=True)


def all_pairs(points) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second = np.triu_indices(len(points), 1)
    return first, second, separations(points, first, second)


@given(clouds, st.sampled_from([0.1, 0.25, 1.0, 9.0, 1e-12]), st.booleans())
def test_near_pairs_are_all_pairs_within_the_distance(cloud, distance, mine):
    points = np.unique(np.array(cloud) + (MINE if mine else 0), axis=0)
    first, second, gaps = all_pairs(points)
    near = np.flatnonzero(gaps <= distance)
    expected = {frozenset((first[i], second[i])) for i in near}
    found = near_pairs(points, distance, 10**9)
    assert {frozenset(p) for p in zip(found[0], found[1], strict=True)} == expected
    assert (found[2] <= distance).all()


@given(clouds)
def test_the_closest_pair_is_that_of_all_pairs(cloud):
    points = np.array(cloud)
    assert closest_pair(points) == all_pairs(points)[2].min()


def test_large_clouds_go_in_pieces(monkeypatch):
    points = np.random.default_rng(5).random((400, 3))
    whole = near_pairs(points, 0.2, 10**9)
    monkeypatch.setattr(repair, "_PAIRS_AT_ONCE", 50)
    pieces = near_pairs(points, 0.2, 10**9)
    for found, expected in zip(pieces, whole, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_limit_is_kept():
    points = np.random.default_rng(5).random((400, 3))
    assert near_pairs(points, 10.0, 1000) is None


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_points_have_no_pair(count):
    assert closest_pair(np.zeros((count, 3))) is None


def test_a_ring_with_one_hair_among_many_points():
    angle = np.linspace(0, 2 * np.pi, 50_000, endpoint=False)
    ring = np.stack([1000 * np.cos(angle), 1000 * np.sin(angle), 0 * angle], axis=1) + MINE
    hair = ring[777] + np.array([0, 0, 0.001])
    assert closest_pair(np.append(ring, hair[None], axis=0)) == pytest.approx(0.001, rel=1e-5)
