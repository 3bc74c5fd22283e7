"""Several solids in one pass: the first one wins."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import UNDECIDABLE, cube, minute, odd_on_purpose, random_body, staircase, star

import geodomain
from geodomain import DomainError, Mesh, MeshError, PointLocator


def test_codes_are_the_first_that_contains(backend: str) -> None:
    solids = [star(10, centre=(40.0 * k, 0, 0)) for k in range(5)] + [
        cube(1e3, at=(-500, -500, -500))
    ]
    points = np.random.default_rng(0).normal(size=(30_000, 3)) * 120
    points[::97] = np.nan
    points[::89, 2] = np.inf
    held = np.array([geodomain.contains(solid, points, backend=backend) for solid in solids])
    expected = np.where(held.any(axis=0), held.argmax(axis=0), -1)
    expected[~np.isfinite(points).all(axis=1)] = -2
    codes = geodomain.label_codes(points, solids, backend=backend)
    assert codes.dtype == np.int32
    assert np.array_equal(codes, expected)
    assert set(codes.tolist()) == {-2, -1, 0, 1, 2, 3, 4, 5}
    ready = [PointLocator(solid, backend=backend) for solid in solids]
    assert np.array_equal(geodomain.label_codes(points, ready), expected)


@pytest.mark.parametrize("none", [list, tuple, lambda: iter(())])
@pytest.mark.parametrize("also", [{}, {"B": cube()}])
def test_a_name_without_a_mesh_is_refused(none, also) -> None:
    points = [[0.5, 0.5, 0.5], [9, 9, 9]]
    with pytest.raises(DomainError, match=r"^A has no mesh: give at least one$"):
        geodomain.label_points(points, {"A": none(), **also})
    with pytest.raises(DomainError, match=r"^A has no mesh: give at least one$"):
        geodomain.label_points(points, {**also, "A": none()}, rule="winding")
    with pytest.raises(DomainError, match=r"^A has no mesh: give at least one$"):
        geodomain.label_lattice([1], [1], [1], {"A": none(), **also})
    with pytest.raises(MeshError, match="label_codes has no mesh"):
        geodomain.label_codes(points, none())


def test_a_grid_and_a_name_without_a_mesh() -> None:
    grid = pytest.importorskip("pyvista").ImageData(dimensions=(3, 2, 2))
    with pytest.raises(DomainError, match=r"^A has no mesh: give at least one$"):
        geodomain.label_grid(grid, {"A": []})


def test_no_domains_and_no_points() -> None:
    points = [[0, 0, 0], [np.nan, 0, 0]]
    found = geodomain.label_points(points, {}, background="AIR", unassigned="?")
    assert found.tolist() == ["AIR", "?"]
    assert geodomain.label_codes(np.empty((0, 3)), [cube()]).shape == (0,)


def test_names_unions_background_and_unassigned() -> None:
    domains = {"ORE": [cube(), cube(at=(5, 0, 0))], "WASTE": cube(10.0)}
    points = [[0.5, 0.5, 0.5], [5.5, 0.5, 0.5], [3, 3, 3], [99, 0, 0], [np.nan, 0, 0]]
    labels = geodomain.label_points(points, domains, background="AIR", unassigned="?")
    assert labels.tolist() == ["ORE", "ORE", "WASTE", "AIR", "?"]
    assert geodomain.label_points(points, domains).tolist() == ["ORE", "ORE", "WASTE", "", ""]


@odd_on_purpose
def test_adjacent_domains_label_every_block_once() -> None:
    part = random_body((6, 6, 6), seed=2)
    domains = {"A": staircase(part), "B": staircase(~part)}
    axis = np.arange(6.0)
    points = np.stack([g.ravel() for g in np.meshgrid(axis, axis, axis, indexing="ij")], axis=1)
    labels = geodomain.label_points(points, domains, background="none")
    assert np.array_equal(labels, np.where(part.ravel(), "A", "B"))
    backwards = geodomain.label_points(points, dict(reversed(domains.items())), background="none")
    assert np.array_equal(backwards, labels)


def test_an_open_domain_is_refused() -> None:
    lid_off = geodomain.Mesh(cube().vertices, cube().triangles[2:])
    with pytest.raises(geodomain.MeshError, match="not closed"):
        geodomain.label_points([[0, 0, 0]], {"ORE": lid_off})


def test_what_cannot_be_decided_names_its_row() -> None:
    with pytest.raises(geodomain.PointError, match="point 1"):
        geodomain.label_codes([(1.0, 1.0, 1.0), UNDECIDABLE], [minute()])


def test_points_below_an_open_mesh_are_labelled_as_contains_does() -> None:
    """Whatever other points they come with: each block of rows is first tried by its box."""
    roof = geodomain.Mesh(cube().vertices, cube().triangles[2:4])
    below = np.full((3000, 3), [0.6, 0.3, -5.0])
    assert geodomain.contains(roof, below, allow_open=True).all()
    assert (geodomain.label_codes(below, [roof], allow_open=True) == 0).all()
    mixed = np.concatenate([below, [[0.6, 0.3, 0.5]]])
    assert (geodomain.label_codes(mixed, [roof], allow_open=True) == 0).all()


@pytest.mark.parametrize("open_one", [False, True])
def test_many_solids_are_each_found(open_one: bool) -> None:
    rng = np.random.default_rng(11)
    solids = [
        cube(float(size), at)
        for size, at in zip(rng.integers(1, 6, 60), rng.integers(-20, 20, (60, 3)), strict=True)
    ]
    if open_one:  # and far above: what is below it is not outside its reach
        roofless = np.delete(solids[7].triangles, 2, axis=0)
        solids.insert(7, Mesh(solids[7].vertices + np.array([0, 0, 400]), roofless))
    points = np.concatenate([rng.integers(-22, 28, (2000, 3)), rng.uniform(-25, 30, (2000, 3))])
    points = np.concatenate([points, [[1e300, 0, 0], [0, -1e300, 0], [np.nan, 0, 0]]])
    held = [geodomain.contains(solid, points, allow_open=True) for solid in solids]
    first = np.where(np.any(held, axis=0), np.argmax(held, axis=0), -1)
    first[-1] = -2
    found = geodomain.label_codes(points, solids, allow_open=True, threads=2)
    assert np.array_equal(found, first)
