"""Distances through the GPU's host side with a stand-in driver, and on a GPU where there is one."""

from __future__ import annotations

import numpy as np
import pytest
from fake_gpu import eager, fake, small_buffers
from shapes import star

import geodomain
from geodomain import PointError, synthetic

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
