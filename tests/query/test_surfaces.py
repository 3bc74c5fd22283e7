"""Above and below open surfaces: rational arithmetic, folds, rims, and beyond the rim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import UNDECIDABLE, cube, minute, odd_on_purpose, oracle_crossings, splinters, star
from sheets import level, oracle_side, overhang, sheet

import geodomain
from geodomain import Mesh, MeshError, PointError, PointLocator, sides

MINE = (414_000.3, 7_480_000.7, 150.1)


def rough(seed: int, at=(0.0, 0.0, 0.0), steps=4) -> Mesh:
    """Return a surface whose vertices stand on a lattice, with flats and vertical-free slopes."""
    rng = np.random.default_rng(seed)
    return sheet(rng.integers(0, steps, (6, 5)), 2.0, at)


def on_the_lattice(mesh: Mesh) -> np.ndarray:
    """Return points with the coordinates of vertices and midpoints: on surfaces and rims."""
    low, high = mesh.bounds
    axes = [np.arange(low[k] - 1, high[k] + 2) for k in range(3)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


@pytest.mark.full
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), MINE])
def test_sides_are_those_of_rational_arithmetic(at, backend: str) -> None:
    mesh = rough(3, at)
    rng = np.random.default_rng(1)
    points = on_the_lattice(mesh)
    points = points[rng.choice(len(points), 700, replace=False)]
    corners = mesh.vertices[mesh.triangles]
    weights = rng.dirichlet((1, 1, 1), len(corners))[:, :, None]
    on_facets = (corners * weights).sum(axis=1)  # or a rounding away from them
    points = np.concatenate([points, mesh.vertices, corners[:, :2].mean(axis=1), on_facets])
    found = sides(mesh, points, backend=backend)
    assert found.dtype == np.int8
    truth = [oracle_side(mesh, point) for point in points]
    assert found.tolist() == truth
    assert {-1, 0, 1} == set(truth)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=9, max_size=9),
    st.lists(st.tuples(*[st.integers(-2, 10)] * 3), min_size=1, max_size=20),
    st.sampled_from([1.0, 0.1, 1e-3]),
)
def test_sides_of_small_surfaces(heights, places, scale) -> None:
    mesh = sheet(np.reshape(heights, (3, 3)), 2.0)
    mesh = Mesh(mesh.vertices * scale, mesh.triangles)
    points = np.array(places) * scale / 2
    assert sides(mesh, points).tolist() == [oracle_side(mesh, point) for point in points]


def test_a_point_on_the_surface_is_above_it(backend: str) -> None:
    mesh = level(5.0)
    points = [[1, 1, 5], [1, 1, np.nextafter(5, 0)], [0, 0, 5], [4, 1, 5], [1, 4, 5], [0, 0, 4]]
    assert sides(mesh, points, backend=backend).tolist() == [1, -1, 1, 0, 0, -1]


def test_tiles_of_a_surface_meet_without_a_seam() -> None:
    west, east = level(5.0), level(5.0, at=(4.0, 0.0, 0.0))
    points = [[4, 1, 4], [4, 1, 5], [3, 1, 4], [5, 1, 4]]
    assert sides([west, east], points).tolist() == [-1, 1, -1, -1]


def test_a_folded_surface_is_crossed_more_than_once(backend: str) -> None:
    mesh = overhang()
    locator = PointLocator(mesh, backend=backend, allow_open=True)
    points = [[0.5, 1, -1], [0.5, 1, 2], [3, 1, -1], [3, 1, 4], [3, 1, 9], [9, 9, 9]]
    counts = locator.count_sides(points)
    assert counts.tolist() == [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2], [0, 0]]
    assert counts.dtype == np.int32
    assert sides(mesh, points, backend=backend).tolist() == [-1, 1, 1, -1, 1, 0]


def test_crossings_above_and_below_are_all_there_are(backend: str) -> None:
    mesh = star(3)
    points = np.random.default_rng(2).uniform(-110, 110, (300, 3))
    counts = PointLocator(mesh, backend=backend).count_sides(points)
    assert counts[:, 0].tolist() == [oracle_crossings(mesh, point)[0] for point in points]
    foot = points * [1, 1, 0] - [0, 0, 1000]
    assert counts.sum(axis=1).tolist() == [oracle_crossings(mesh, point)[0] for point in foot]


@odd_on_purpose
def test_triangles_too_long_for_the_grid_are_on_the_line(backend: str) -> None:
    mesh = splinters(2500, turn=360.0)
    locator = PointLocator(mesh, backend=backend, allow_open=True)
    assert locator.index.size()[3] > 0  # some are in bundles
    low, high = mesh.bounds
    rng = np.random.default_rng(3)
    points = rng.uniform(low - 1, high + 1, (10, 3))
    points[:, :2] = mesh.vertices[mesh.triangles[rng.integers(0, 9000, 10)]][:, :, :2].mean(axis=1)
    counts = locator.count_sides(points)
    assert counts.all(axis=1).any()
    assert counts[:, 0].tolist() == [oracle_crossings(mesh, point)[0] for point in points]
    foot = np.column_stack([points[:, :2], np.full(len(points), low[2] - 1)])
    assert counts.sum(axis=1).tolist() == [oracle_crossings(mesh, point)[0] for point in foot]


def test_points_that_are_not_finite_or_far_are_on_no_side(backend: str) -> None:
    bad = [[np.nan, 1, 1], [1, np.inf, 1], [1, 1, np.nan], [1, 1, np.inf], [1, 1, -np.inf]]
    far = [[1, 1, 1e300], [1, 1, -1e300], [1e300, 1, 1]]
    assert sides(level(5.0), bad, backend=backend).tolist() == [0] * 5
    assert sides(level(5.0), far, backend=backend).tolist() == [1, -1, 0]
    assert sides(level(5.0), bad, extend="nearest").tolist() == [0] * 5
    assert sides(level(5.0), np.empty((0, 3)), backend=backend).shape == (0,)


def test_a_point_below_the_range_is_refused(backend: str) -> None:
    with pytest.raises(PointError, match="point 1 "):
        sides(minute(), [[0, 0, 0], UNDECIDABLE], backend=backend)


def test_beyond_the_rim_the_nearest_place_decides() -> None:
    slope = sheet([[0, 0], [4, 4]], 4.0)  # z = x
    points = [
        [1, 9, 1], [1, 9, 0.99], [3, -5, 2.9], [3, -5, 3.1],  # across from the middle of an edge
        [9, 9, 4], [9, 9, 3.9], [-3, 2, 0], [-3, 2, -0.1],  # corners and ends
        [2, 2, 1.5], [2, 2, 2],  # in the footprint nothing changes
    ]  # fmt: skip
    found = sides(slope, points, extend="nearest")
    assert found.tolist() == [1, -1, -1, 1, 1, -1, 1, -1, -1, 1]


def test_a_hole_is_filled_from_its_own_rim() -> None:
    heights = np.zeros((4, 4))
    heights[1:3, 1:3] = 7.0
    whole = sheet(heights, 2.0)
    centre = whole.vertices[whole.triangles][:, :, :2].mean(axis=1)
    holed = Mesh(whole.vertices, whole.triangles[(abs(centre - 3) > 1).any(axis=1)])
    points = [[3, 3, 6.9], [3, 3, 7.0]]
    assert sides(holed, points).tolist() == [0, 0]
    assert sides(holed, points, extend="nearest").tolist() == [-1, 1]


def test_a_closed_mesh_has_no_rim() -> None:
    assert sides(cube(), [[0.5, 0.5, 0.5]]).tolist() == [-1]
    with pytest.raises(MeshError, match="closed"):
        sides(cube(), [[9, 9, 9]], extend="nearest")


def test_what_is_no_option_is_refused() -> None:
    with pytest.raises(ValueError, match="extend"):
        sides(level(1.0), [[0, 0, 0]], extend="background")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Mesh"):
        sides([3], [[0, 0, 0]])  # type: ignore[list-item]
    with pytest.raises(FileNotFoundError, match=r"topo\.stl"):
        sides(["topo.stl"], [[0, 0, 0]])


def test_order_of_triangles_and_threads_do_not_matter() -> None:
    mesh = rough(5)
    points = on_the_lattice(mesh)
    turned = Mesh(mesh.vertices, np.roll(mesh.triangles[::-1], 1, axis=1))
    expected = geodomain.sides(mesh, points, extend="nearest", threads=1)
    assert np.array_equal(geodomain.sides(turned, points, extend="nearest", threads=3), expected)
