"""Distances against fractions: every shape of triangle, every kind of place, ties, and refusals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from distances import error_in_ulps, square_distance
from fake_gpu import fake
from shapes import cube, joined, star, tetrahedron

import geodomain
from geodomain import Mesh, MeshError, PointError

KINDS = ["local", "mine", "grid", "needle", "needle at the mine", "far", "flat", "tiny", "huge"]

__all__ = ["fake"]


def triangles_and_points(kind: str, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(5)
    offset = 7_480_000.7 if "mine" in kind else 0.0
    for _ in range(count):
        triangle = rng.normal(size=(3, 3)) * 5
        if kind == "grid":
            triangle = rng.integers(-3, 4, (3, 3)).astype(float)
        if "needle" in kind:
            along = (triangle[1] - triangle[0]) * rng.random()
            triangle[2] = triangle[0] + along + rng.normal(size=3) * 10.0 ** rng.uniform(-17, -2)
        if kind == "flat":  # a segment, at times a point
            triangle[2] = triangle[0] + (triangle[1] - triangle[0]) * rng.integers(0, 3) / 2
            triangle[1] = triangle[rng.integers(0, 2)]
        triangle += offset
        weights = rng.dirichlet([1, 1, 1], 12)
        weights[:4, 0] = 0  # on an edge
        points = weights @ triangle + rng.normal(size=(12, 3)) * 10.0 ** rng.uniform(
            -16, 2, (12, 1)
        )
        points[:3] = triangle
        if kind == "grid":
            points = rng.integers(-6, 7, (12, 3)).astype(float)
        if kind == "far":
            points *= 10.0 ** rng.uniform(0, 90)
        scale = {"tiny": 2.0**-290, "huge": 2.0**330}.get(kind, 1.0)
        yield triangle * scale, points * scale


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_is_below_the_bound(kind: str) -> None:
    vertices_met = 0
    for corners, points in triangles_and_points(kind, 60):
        found = geodomain.nearest(Mesh(corners, [[0, 1, 2]]), points)
        for point, place, distance in zip(points, found.point, found.distance, strict=True):
            square = square_distance(corners, point)
            assert error_in_ulps(float(distance), square, corners, point) <= 4
            off = float(square_distance(corners, place)) ** 0.5
            assert off <= 4 * np.spacing(abs(np.r_[corners.ravel(), point]).max())
            if (point == corners).all(axis=1).any():
                vertices_met += 1
                assert distance == 0.0
    assert vertices_met > 100 or kind in ("grid", "far")


def brute(mesh: Mesh, points) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest triangle and its distance from every triangle taken by itself."""
    all_of_them = np.array(
        [
            geodomain.distances(Mesh(mesh.vertices[triangle], [[0, 1, 2]]), points)
            for triangle in mesh.triangles
        ]
    )
    return all_of_them.argmin(axis=0), all_of_them.min(axis=0)


@pytest.mark.parametrize("offset", [0.0, 7_480_000.7])
def test_the_hierarchy_misses_nothing_and_ties_go_to_the_lowest(offset: float) -> None:
    rng = np.random.default_rng(2)
    flat = tetrahedron([[0, 0, 0], [1e3, 1, 0], [1, 1e3, 0], [2, 1, 1e-6]])
    mesh = joined(star(5, centre=(offset,) * 3), flat)
    mesh = Mesh(mesh.vertices, rng.permuted(mesh.triangles, axis=0))
    low, high = mesh.bounds
    points = np.concatenate(
        [
            rng.uniform(low - 100, high + 100, (150, 3)),
            mesh.vertices[::7],
            mesh.vertices[::9] * 1e3,
            mesh.vertices[mesh.triangles[::9]].mean(axis=1),
            [low, (low + high) / 2, [1e30, 0, -1e20]],
        ]
    )
    found = geodomain.nearest(mesh, points)
    triangle, distance = brute(mesh, points)
    assert np.array_equal(found.distance, distance)
    assert np.array_equal(found.triangle, triangle)


def test_neighbours_agree_about_edges_and_corners() -> None:
    mesh = cube(8.0, at=(414_000.3, 7_480_000.7, 310.1))
    rng = np.random.default_rng(3)
    corner = mesh.vertices[mesh.triangles[:, 0]]
    outward = np.sign(corner - mesh.bounds.mean(axis=0))
    points = np.concatenate([corner + outward * rng.random((12, 3)) for _ in range(30)])
    found = geodomain.nearest(mesh, points)
    users = [
        np.flatnonzero((mesh.vertices[mesh.triangles] == p).all(-1).any(-1)) for p in found.point
    ]
    assert [used.min() for used in users] == found.triangle.tolist()


def test_bits_do_not_depend_on_threads_order_or_layout() -> None:
    mesh = star(12)
    points = np.random.default_rng(4).normal(size=(5000, 3)) * 150
    found = geodomain.nearest(mesh, points, threads=1)
    again = geodomain.nearest(mesh, np.asfortranarray(points), threads=3)
    assert all(np.array_equal(one, two) for one, two in zip(found, again, strict=True))
    back = geodomain.distances(mesh, points[::-1], threads=2)
    assert np.array_equal(back[::-1], found.distance)


def test_signs_are_those_of_parity() -> None:
    mesh = star(8)
    points = np.random.default_rng(6).normal(size=(400, 3)) * 60
    points[:5] = mesh.vertices[:5]
    plain, signed = (geodomain.distances(mesh, points, signed=s) for s in (False, True))
    assert np.array_equal(abs(signed), plain)
    assert np.array_equal(signed < 0, geodomain.contains(mesh, points) & (plain > 0))
    assert 50 < (signed < 0).sum() < 350
    assert not np.signbit(signed[:5]).any()


def test_rows_that_are_not_finite_have_no_nearest_place() -> None:
    points = [[0.5, 0.5, 3.0], [np.nan, 0, 0], [0, np.inf, 0]]
    found = geodomain.nearest(cube(), points)
    assert found.triangle[1:].tolist() == [-1, -1]
    assert np.isnan(found.distance[1:]).all()
    assert np.isnan(found.point[1:]).all()
    assert found.distance[0] == 2.0
    assert len(geodomain.distances(cube(), np.empty((0, 3)))) == 0


def test_what_cannot_be_answered_is_refused() -> None:
    with pytest.raises(MeshError, match="has no triangle"):
        geodomain.distances(Mesh([[0, 0, 0]], np.empty((0, 3), int)), [[0, 0, 0]])
    with pytest.raises(PointError, match=r"point 1 is .*beyond 2\^339"):
        geodomain.distances(cube(), [[0, 0, 0], [1e300, 0, 0]])
    with pytest.raises(MeshError, match=r"not closed: .*, or use distances without a sign\.$"):
        geodomain.distances(Mesh(np.eye(3), [[0, 1, 2]]), [[0, 0, 0]], signed=True)
    with pytest.raises(TypeError, match=r"a mesh must be .*, not int"):
        geodomain.distances(3, [[0, 0, 0]])
    with pytest.raises(ValueError, match="backend is 'gpu'"):
        geodomain.distances(cube(), [[0, 0, 0]], backend="gpu")


def test_out_is_written_and_returned() -> None:
    out = np.empty(1)
    assert geodomain.distances(cube(), [[0.5, 0.5, 0.75]], out=out, signed=True) is out
    assert out.tolist() == [-0.25]


def test_answers_are_not_written_over_what_is_asked() -> None:
    """Rows that are read after the first answers would be others by then."""
    points = np.zeros((6, 3))
    for place in (0, 6, 12):
        out = points.reshape(-1)[place : place + 6]
        with pytest.raises(ValueError, match="out shares memory"):
            geodomain.distances(cube(), points, out=out)
        with pytest.raises(ValueError, match="out shares memory"):
            geodomain.proportions(cube(), points, [1, 1, 1], out=out)
