"""Generalised winding numbers of open meshes, against the solid angles of all triangles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from shapes import UNDECIDABLE, cube, joined, odd_on_purpose, star
from sheets import level, sheet
from surfaces import lidless, reversed_mesh, shuffled, soup

import geodomain
from geodomain import Mesh, MeshError, PointError, generalised_winding
from geodomain.compute.native import core


def by_solid_angles(mesh: Mesh, points: np.ndarray) -> np.ndarray:
    """Sum what every triangle covers of the sphere: van Oosterom and Strackee (1983)."""
    a, b, c = np.moveaxis(mesh.vertices[mesh.triangles], 1, 0)[:, None] - points[:, None]
    la, lb, lc = (np.sqrt((v * v).sum(axis=-1)) for v in (a, b, c))
    across = (a * np.cross(b, c)).sum(axis=-1)
    ab, bc, ca = ((u * v).sum(axis=-1) for u, v in ((a, b), (b, c), (c, a)))
    angles = 2 * np.arctan2(across, la * lb * lc + ab * lc + bc * la + ca * lb)
    return angles.sum(axis=1) / (4 * np.pi)


def cup() -> Mesh:
    body = star(5)
    return Mesh(body.vertices, body.triangles[: len(body.triangles) * 2 // 3])


def around(mesh: Mesh, count: int = 300) -> np.ndarray:
    """Return points at random, above and below vertices, and above and below edges."""
    rng = np.random.default_rng(4)
    low, high = mesh.bounds
    points = rng.uniform(low - 0.4 * (high - low) - 1, high + 0.4 * (high - low) + 1, (count, 3))
    ends = mesh.vertices[mesh.triangles[:, :2]]
    places = np.concatenate([mesh.vertices[:, :2], ends.mean(axis=1)[:, :2]])
    points[: count // 2, :2] = places[rng.integers(len(places), size=count // 2)]
    return points[~geodomain.on_surface(mesh, points)]


OPEN = {
    "cup": cup(),
    "lidless": lidless(),
    "level": level(0.0),
    "hill": sheet(np.random.default_rng(7).integers(0, 4, (5, 6)), 2.0),
    "two": joined(lidless(), lidless(at=(0.5, 0.5, 0.3))),
    "soup": soup(lidless()),
}


@pytest.mark.parametrize("name", OPEN)
def test_they_are_the_solid_angles(name: str, backend: str) -> None:
    mesh = OPEN[name]
    points = around(mesh)
    winding = generalised_winding(mesh, points, backend=backend)
    truth = by_solid_angles(mesh, points)
    assert np.abs(winding.number - truth).max() < 1e-12
    assert (np.abs(winding.number - truth) <= winding.bound + 1e-13).all()
    assert winding.bound.max() < 1e-9


@odd_on_purpose
def test_of_a_closed_mesh_they_are_whole(backend: str) -> None:
    mesh = joined(cube(), cube(2.0, at=(0.5, 0.5, 0.5)))
    points = np.concatenate([around(mesh), [[0.75, 0.7, 0.8]]])
    winding = generalised_winding(mesh, points, backend=backend)
    assert winding.number.tolist() == geodomain.winding_numbers(mesh, points).tolist()
    assert set(winding.number.tolist()) == {0.0, 1.0, 2.0}
    assert not winding.uncertain.any()


def test_a_small_hole_changes_little_and_an_open_half_much(backend: str) -> None:
    body = star(5)
    holed = Mesh(body.vertices, body.triangles[1:])
    points = np.random.default_rng(6).uniform(-120, 120, (500, 3))
    inside = geodomain.contains(body, points)
    found = geodomain.contains(holed, points, rule="winding", allow_open=True, backend=backend)
    assert np.array_equal(found, inside)
    assert generalised_winding(level(0.0, 400, (-200, -200, 0)), [[0, 0, -1.0]]).number[
        0
    ] == pytest.approx(0.5, abs=0.01)


def test_turned_inside_out_the_number_is_the_opposite() -> None:
    points = around(OPEN["cup"])
    one = generalised_winding(OPEN["cup"], points)
    other = generalised_winding(reversed_mesh(OPEN["cup"]), points)
    assert np.array_equal(other.number, -one.number)
    assert np.array_equal(other.inside, one.inside)


@pytest.mark.parametrize("seed", range(3))
def test_the_bits_do_not_depend_on_order_or_threads(seed: int) -> None:
    points = around(OPEN["cup"])
    expected = generalised_winding(OPEN["cup"], points, threads=1)
    found = generalised_winding(shuffled(OPEN["cup"], seed), points, threads=3)
    assert np.array_equal(found.number, expected.number)
    assert np.array_equal(found.bound, expected.bound)


def test_a_point_at_one_half_is_uncertain() -> None:
    # Halfway up the axis between a square and itself turned over, as seen from the centre.
    mesh = Mesh(cube().vertices, cube().triangles[4:8])  # two opposite walls
    winding = generalised_winding(mesh, [[0.5, 0.5, 0.5], [0.5, 0.1, 0.5]])
    assert winding.number[0] == pytest.approx(1 / 3)
    three = Mesh(cube().vertices, cube().triangles[[0, 1, 4, 5, 8, 9]])
    winding = generalised_winding(three, [[0.5, 0.5, 0.5], [0.5, 0.5, 0.4], [0.5, 0.5, 0.6]])
    assert winding.number[0] == pytest.approx(0.5)
    assert winding.uncertain.tolist() == [True, False, False]
    assert winding.inside.tolist()[1:] == [True, False]


def test_on_the_rim_there_is_no_number() -> None:
    mesh = lidless()
    rim = [[0.5, 0, 1], [0, 0, 1], [1, 0.25, 1]]
    assert generalised_winding(mesh, rim).uncertain.all()
    beside_vertical_rim = Mesh(cube().vertices, cube().triangles[4:6])
    assert generalised_winding(beside_vertical_rim, [[0, 0, 0.5]]).uncertain.all()


def test_points_that_are_not_finite_or_far_are_outside(backend: str) -> None:
    points = [[np.nan, 0, 0], [0, np.inf, 0], [0.5, 0.5, -1e300], [0.5, 0.5, 1e300], [1e200, 1, 1]]
    winding = generalised_winding(lidless(), points, backend=backend)
    assert winding.number.tolist() == [0.0] * 5
    assert not winding.inside.any() and not winding.uncertain.any()


def test_a_point_below_the_range_is_refused(backend: str) -> None:
    with pytest.raises(PointError, match="point 1 "):
        generalised_winding(lidless(), [[0.5, 0.5, 0.5], UNDECIDABLE], backend=backend)


@odd_on_purpose
def test_an_open_mesh_is_never_labelled_by_fractions_unasked() -> None:
    with pytest.raises(MeshError, match="not closed"):
        geodomain.contains(lidless(), [[0.5, 0.5, 0.5]], rule="winding")
    with pytest.raises(MeshError, match="no winding number"):
        geodomain.winding_numbers(lidless(), [[0.5, 0.5, 0.5]], allow_open=True)
    closed_but_turned = Mesh(
        cube().vertices, np.r_[cube().triangles[:2, ::-1], cube().triangles[2:]]
    )
    with pytest.raises(MeshError, match="no winding number"):
        geodomain.contains(closed_but_turned, [[0.5, 0.5, 0.5]], rule="winding", allow_open=True)


def test_lattices_and_points_agree() -> None:
    axis = np.linspace(-0.2, 1.2, 8)
    found = geodomain.contains_lattice(lidless(), axis, axis, axis, rule="winding", allow_open=True)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    by_points = geodomain.contains(lidless(), points, rule="winding", allow_open=True)
    assert np.array_equal(found.ravel(), by_points)
    assert found.any()


def test_the_angle_is_that_of_the_c_library() -> None:
    angle = core().upper_angle
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20_000), np.abs(rng.normal(size=20_000))
    y[::3] *= 10.0 ** rng.integers(-20, 20, len(y[::3]))
    x[:9], y[:9] = np.arange(9), 8.0
    errors = [abs(angle(a, b) - math.atan2(b, a)) for a, b in zip(x, y, strict=True)]
    assert max(errors) <= 2.0**-51
    assert angle(0.0, 0.0) == 0.0 and angle(-1.0, 0.0) == math.pi
