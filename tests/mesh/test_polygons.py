"""Polygons are cut the same whatever corner and direction they are written from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodomain.compute.meshes import clip_ears
from geodomain.mesh.polygons import triangulate

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
DART = np.array([[0.0, 0, 0], [4, 1, 0], [1, 1, 0], [1, 4, 0]])
ELL = np.array([[0.0, 0, 0], [3, 0, 0], [3, 1, 0], [1, 1, 0], [1, 3, 0], [0, 3, 0]])
COMB = np.array(
    [
        [0.0, 0],
        [7, 0],
        [7, 3],
        [6, 3],
        [6, 1],
        [5, 1],
        [5, 3],
        [4, 3],
        [4, 1],
        [1, 1],
        [1, 3],
        [0, 3],
    ]
)


def cut(vertices, *rings):
    corners = np.concatenate([np.asarray(ring) for ring in rings])
    return triangulate(vertices, corners, np.array([len(ring) for ring in rings]))


def area(vertices, triangles):
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return np.cross(b - a, c - a)[:, 2] / 2


def as_set(triangles):
    return {tuple(sorted(row)) for row in triangles.tolist()}


def writings(size):
    ring = np.arange(size)
    return [np.roll(way, k) for way in (ring, ring[::-1]) for k in range(size)]


@pytest.mark.parametrize("ring", writings(4))
def test_a_quad_is_cut_from_its_smallest_corner(ring):
    triangles = cut(SQUARE, ring)
    assert as_set(triangles) == {(0, 1, 2), (0, 2, 3)}
    forward = (ring[1] - ring[0]) % 4 == 1
    assert (np.sign(area(SQUARE, triangles)) == (1 if forward else -1)).all()


@pytest.mark.parametrize("ring", writings(4))
def test_a_dart_is_cut_from_its_reflex_corner(ring):
    assert as_set(cut(DART, ring)) == {(0, 1, 2), (0, 2, 3)}
    moved = DART[[1, 2, 3, 0]] * [-1, 1, 1]  # now the smallest corner is beside the reflex one
    triangles = cut(moved, ring)
    assert as_set(triangles) == {(0, 1, 3), (1, 2, 3)}
    assert len({*np.sign(area(moved, triangles))}) == 1


@pytest.mark.parametrize("shape", [ELL, np.column_stack([COMB, np.zeros(12)])], ids=["ell", "comb"])
def test_a_concave_polygon_is_covered_once(shape):
    n = len(shape)
    reference = as_set(cut(shape, np.arange(n)))
    x, y = shape[:, 0], shape[:, 1]
    whole = (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2
    for ring in writings(n):
        triangles = cut(shape, ring)
        assert as_set(triangles) == reference
        areas = area(shape, triangles)
        assert (areas >= 0).all() or (areas <= 0).all()
        assert abs(areas.sum()) == pytest.approx(whole)


def test_sizes_may_mix_and_keep_their_order():
    vertices = np.concatenate([SQUARE, ELL + np.array([10, 0, 0])])
    triangles = cut(vertices, [0, 1, 2], [0, 1, 2, 3], [0, 2, 3], range(4, 10))
    assert triangles.shape == (1 + 2 + 1 + 4, 3)
    assert triangles.dtype == np.int32
    assert triangles[0].tolist() == [0, 1, 2]
    assert triangles[3].tolist() == [0, 2, 3]
    assert (triangles[4:] >= 4).all()


def test_neighbours_that_number_a_wall_differently_agree():
    ours, theirs = np.array([0, 1, 2, 3]), np.array([4, 7, 6, 5])
    vertices = np.concatenate([SQUARE, SQUARE])
    assert as_set(cut(vertices, ours)) == as_set(cut(vertices, theirs) - 4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(-3, 3)] * 3), min_size=4, max_size=9),
    st.integers(0, 8),
    st.booleans(),
)
def test_any_ring_keeps_its_edges_and_its_cut(corners, shift, reverse):
    vertices = np.array(corners, dtype=float)
    ring = np.roll(np.arange(len(corners)), shift)
    ring = ring[::-1] if reverse else ring
    triangles = cut(vertices, ring)
    net = {}
    for a, b, c in triangles.tolist():
        for edge in ((a, b), (b, c), (c, a)):
            net[edge] = net.get(edge, 0) + 1
            net[edge[::-1]] = net.get(edge[::-1], 0) - 1
    for a, b in zip(ring.tolist(), np.roll(ring, -1).tolist(), strict=True):
        net[(a, b)] -= 1
        net[(b, a)] += 1
    assert not any(net.values())
    by_value = {tuple(sorted(map(corners.__getitem__, row))) for row in triangles.tolist()}
    plain = cut(vertices, np.arange(len(corners))).tolist()
    assert by_value == {tuple(sorted(map(corners.__getitem__, row))) for row in plain}


@pytest.mark.parametrize("exponent", [-1010, 330, 1010])
def test_the_cut_does_not_depend_on_the_scale(exponent):
    # A dart folds, and so it takes products of three coordinates to cut it.
    huge = np.ldexp(DART, exponent)
    with np.errstate(all="raise"):
        assert cut(huge, [0, 1, 2, 3]).tolist() == cut(DART, [0, 1, 2, 3]).tolist()


def test_no_polygons_give_no_triangles():
    assert triangulate(SQUARE, np.zeros(0, int), np.zeros(0, int)).shape == (0, 3)


def test_what_is_not_a_polygon_is_refused():
    with pytest.raises(ValueError, match="polygon 1 has fewer than three"):
        cut(SQUARE, [0, 1, 2], [0, 1])
    with pytest.raises(ValueError, match="sizes sum to 4"):
        triangulate(SQUARE, np.array([0, 1, 2]), np.array([4]))


def ears_by_definition(points):
    """Cut the first corner off whose triangle holds no other one, asking all about all."""
    normal = np.cross(points[1:-1], points[2:]).sum(axis=0)
    left, triangles = list(range(len(points))), []

    def bend(i):
        p, q, r = points[left[i - 1]], points[left[i]], points[left[(i + 1) % len(left)]]
        return np.cross(q - p, r - q) @ normal

    def is_ear(i):
        corners = [left[i - 1], left[i], left[(i + 1) % len(left)]]
        a, b, c = points[corners]
        for other in left:
            r = points[other]
            if any((r == own).all() for own in (a, b, c)):
                continue
            sides = [np.cross(q - p, r - p) @ normal for p, q in ((a, b), (b, c), (c, a))]
            if min(sides) >= 0:
                return False
        return bend(i) > 0

    while len(left) > 3:
        places = range(len(left))
        ear = next(filter(is_ear, places), None)
        ear = int(np.argmax([bend(i) for i in places])) if ear is None else ear
        triangles.append([left[ear - 1], left[ear], left[(ear + 1) % len(left)]])
        del left[ear]
    return [*triangles, left]


@pytest.mark.full
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-9, 9)] * 3), min_size=4, max_size=30), st.booleans())
def test_ears_are_those_of_the_definition(corners, flat):
    points = np.array(corners, dtype=float) * [1, 1, not flat]
    points -= points[0]
    normal = np.cross(points[1:-1], points[2:]).sum(axis=0)
    assert clip_ears(points, normal).tolist() == ears_by_definition(points)


@pytest.mark.parametrize("count", [20_000])
def test_a_polygon_of_many_corners_is_covered_once(count):
    """It once took 8 s and more."""
    angles = np.arange(count) * 2 * np.pi / count
    radii = 1 + 0.3 * np.sin(7 * angles) + 0.05 * np.sin(200 * angles)
    shape = np.column_stack([radii * np.cos(angles), radii * np.sin(angles), np.zeros(count)])
    areas = area(shape, cut(shape, np.arange(count)))
    x, y = shape[:, 0], shape[:, 1]
    whole = (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2
    assert (areas >= 0).all() and areas.sum() == pytest.approx(whole)
