"""Distances through the GPU host side: a stand-in driver, a GPU, and its walk run on the CPU."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from distances import square_distance
from fake_gpu import eager, fake, small_buffers
from shapes import star

import geodomain
from geodomain import PointError, synthetic
from geodomain.compute.native import column_pointers, core

__all__ = ["eager", "fake", "small_buffers"]


def points(mesh: geodomain.Mesh, count: int) -> np.ndarray:
    """Points inside, outside, on vertices, without a number, and far away."""
    rng = np.random.default_rng(3)
    low, high = mesh.bounds
    some = low + (rng.random((count, 3)) * 1.4 - 0.2) * (high - low)
    some[::7] = mesh.vertices[rng.integers(len(mesh.vertices), size=len(some[::7]))]
    some[5], some[6, 1], some[-1] = np.nan, np.inf, 1e30
    return some


def require_equal(found: geodomain.Nearest, expected: geodomain.Nearest) -> None:
    np.testing.assert_array_equal(found.triangle, expected.triangle)
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.point, expected.point)


@pytest.mark.usefixtures("fake", "small_buffers")
def test_chunks_come_back_in_their_places() -> None:
    mesh = star(6)
    some = points(mesh, 5000)
    expected = geodomain.nearest(mesh, some, backend="cpu")
    require_equal(geodomain.nearest(mesh, some, backend="cuda"), expected)
    alone = geodomain.distances(mesh, some, backend="cuda")
    np.testing.assert_array_equal(alone, expected.distance)


@pytest.mark.usefixtures("fake", "small_buffers")
def test_a_point_that_is_too_far_is_named() -> None:
    mesh = star(6)
    some = points(mesh, 4000)
    some[3100, 2] = 1e200
    with pytest.raises(PointError, match="point 3100 is"):
        geodomain.nearest(mesh, some, backend="cuda")


@pytest.mark.parametrize("frequency", [3, 24, 90])
def test_every_machine_gives_the_same_bits(frequency: int, backend: str) -> None:
    mesh = synthetic.star_shaped_orebody(frequency=frequency)
    some = points(mesh, 300_000 if backend == "cuda" else 3000)
    require_equal(
        geodomain.nearest(mesh, some, backend=backend),
        geodomain.nearest(mesh, some, backend="cpu", threads=1),
    )


def test_every_machine_gives_the_same_bits_for_needles_and_points(backend: str) -> None:
    rng = np.random.default_rng(0)
    corners = rng.normal(size=(3000, 3, 3)) * 10.0 ** rng.uniform(-6, 2, size=(3000, 1, 1))
    corners[::7, 2] = corners[::7, 1]
    corners[::11] = corners[::11, :1]
    corners[1::5, 2] = (corners[1::5, 0] + corners[1::5, 1]) / 2
    mesh = geodomain.Mesh(corners.reshape(-1, 3), np.arange(9000).reshape(-1, 3))
    some = np.concatenate([rng.normal(size=(2000, 3)) * 30, corners.reshape(-1, 3)])
    require_equal(
        geodomain.nearest(mesh, some, backend=backend),
        geodomain.nearest(mesh, some, backend="cpu", threads=1),
    )


@pytest.mark.usefixtures("eager")
def test_auto_asks_the_gpu_where_it_pays(fake) -> None:
    mesh = star(6)
    some = points(mesh, 2000)
    found = geodomain.distances(mesh, some)
    np.testing.assert_array_equal(found, geodomain.distances(mesh, some, backend="cpu"))
    assert "geodomain_distance_inside" in fake.calls


def walked(mesh: geodomain.Mesh, points: np.ndarray) -> geodomain.Nearest:
    columns = tuple(np.ascontiguousarray(column) for column in points.T)
    addresses, strides = column_pointers(columns)
    rows = len(points)
    found = geodomain.Nearest(np.empty((rows, 3)), np.empty(rows, np.int32), np.empty(rows))
    core().distance_walk(
        mesh.vertices, mesh.triangles, len(mesh.triangles), np.ascontiguousarray(mesh.bounds),
        addresses, strides, rows, found.distance, found.triangle, found.point,
    )  # fmt: skip
    return found


def soup(rng: np.random.Generator, count: int) -> geodomain.Mesh:
    """Triangles of all sizes: equal ones, needles, segments and points among them."""
    corners = rng.normal(size=(count, 3, 3)) * 10.0 ** rng.uniform(-6, 2, size=(count, 1, 1))
    corners[::7, 2] = corners[::7, 1]
    corners[::11] = corners[::11, :1]
    corners[1::5, 2] = (corners[1::5, 0] + corners[1::5, 1]) / 2
    corners[2::9] = corners[0]
    return geodomain.Mesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3))


@pytest.mark.parametrize(
    "mesh",
    [
        pytest.param(synthetic.star_shaped_orebody(frequency=12), id="solid"),
        pytest.param(geodomain.Mesh(np.eye(3), [[0, 1, 2]]), id="one triangle"),
        pytest.param(soup(np.random.default_rng(0), 900), id="soup"),
        pytest.param(geodomain.Mesh(np.eye(3)[:, [0, 1, 1]] * 0.0 + 7, [[0, 1, 2]]), id="a point"),
    ],
)
def test_the_walk_finds_what_the_search_finds(mesh: geodomain.Mesh) -> None:
    rng = np.random.default_rng(1)
    low, high = mesh.bounds
    size = max(float((high - low).max()), 1.0)
    near = mesh.vertices[rng.integers(len(mesh.vertices), size=300)]
    points = np.concatenate(
        [
            low + rng.random((600, 3)) * (high - low),
            near,
            near + rng.normal(size=near.shape) * size * 1e-9,
            (low + high) / 2 + rng.normal(size=(200, 3)) * size * 1000.0,
            rng.normal(size=(4, 3)) * 1e40,
        ]
    )
    expected, found = geodomain.nearest(mesh, points, backend="cpu"), walked(mesh, points)
    np.testing.assert_array_equal(found.triangle, expected.triangle)
    np.testing.assert_array_equal(found.distance, expected.distance)
    np.testing.assert_array_equal(found.point, expected.point)


def ranges(
    corners: np.ndarray, points: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Between what single precision says that distances are, of each point from its triangle."""
    least, most = np.empty(len(points)), np.empty(len(points))
    core().distance_ranges(
        np.ascontiguousarray(corners), np.ascontiguousarray(points), len(points),
        np.ascontiguousarray(bounds), least, most,
    )  # fmt: skip
    return least, most


@pytest.mark.parametrize("reach", [1e-7, 1e-3, 1.0, 1e3])
def test_single_precision_brackets_every_distance(reach: float) -> None:
    rng = np.random.default_rng(5)
    corners = soup(rng, 1200).vertices.reshape(-1, 3, 3).copy()
    corners[3::8, 2] = corners[3::8, 0] + rng.normal(size=(150, 3)) * 1e-9
    bounds = np.array([corners.min(axis=(0, 1)), corners.max(axis=(0, 1))])
    weights = rng.dirichlet([0.5, 0.5, 0.5], size=len(corners))
    points = np.einsum("ij,ijk->ik", weights, corners) + rng.normal(size=(1200, 3)) * reach
    points[::3] = corners[::3, 0]
    least, most = ranges(corners, points, bounds)
    for i in range(len(points)):
        square = square_distance(corners[i], points[i])
        assert least[i] <= 0 or Fraction(least[i]) ** 2 <= square
        assert square <= Fraction(most[i]) ** 2
    size = float(np.abs(bounds).max() + np.abs(points).max() + np.ptp(bounds))
    assert (most - least).max() < size * 2.0**-16
