"""Containment along rays in any direction: the vertical path's independent check."""

from __future__ import annotations

import numpy as np
import pytest
from crossings import adversarial
from shapes import cube, odd_on_purpose, random_body, staircase, star
from surfaces import lidless

from geodomain import Mesh, MeshError, PointError, contains

DIRECTIONS = [
    (0, 0, 1),
    (0, 0, -1),
    (1, 0, 0),
    (-3, 2, 0.5),
    (1e-9, 1, 1e9),
    (1e-310, -1, 1e-30),
    (1e308, -1e308, 1),
]


@odd_on_purpose
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("mesh", [star(8), staircase(random_body((4, 3, 3), 2)), cube(0.1)])
def test_every_direction_tells_the_same(mesh: Mesh, direction, backend: str) -> None:
    """On the surface too: both displace the point alike."""
    points = np.concatenate(adversarial(mesh, 1500, np.random.default_rng(4)))
    found = contains(mesh, points, direction=direction, backend=backend)
    assert np.array_equal(found, contains(mesh, points))
    assert found.any()


@odd_on_purpose
@pytest.mark.parametrize("direction", [(1, 1, 1), (-1, 2**-60, 0), (0, -1, -3)])
@pytest.mark.parametrize("size", [2.0**338, -(2.0**338), 2.0**-305])
def test_meshes_as_large_and_as_small_as_may_be(size: float, direction) -> None:
    """No segment may end out of range: what is beyond the box is cut off there."""
    mesh = Mesh(cube().vertices * 2 * size, cube().triangles)
    points = np.stack(np.meshgrid(*[[0.0, 0.5, 1.0, 1.5, 2.0]] * 3), axis=-1).reshape(-1, 3) * size
    assert np.array_equal(contains(mesh, points, direction=direction), contains(mesh, points))


def test_a_point_out_of_range_is_refused_by_its_row() -> None:
    points = [[9, 9, 9], [0.5, 1e-310, 0.5]]
    with pytest.raises(PointError, match=r"point 1 is \(0\.5, 1e-310, 0\.5\)"):
        contains(cube(), points, direction=(1, 2, 3))


def test_what_is_not_a_number_or_beyond_is_outside() -> None:
    points = [[np.nan, 0, 0], [np.inf, 0.5, 0.5], [1e300, 0.5, 0.5], [0.5, 0.5, 0.5]]
    assert contains(cube(), points, direction=(1, 1, 0)).tolist() == [False, False, False, True]


def test_slips_are_said() -> None:
    for direction in ((0, 0, 0), (0, 0, np.nan), (1, 0), "up", ((1, 0, 0),)):
        with pytest.raises(ValueError, match="direction must be three finite numbers"):
            contains(cube(), [[0, 0, 0]], direction=direction)
    with pytest.raises(ValueError, match="rule 'parity' only"):
        contains(cube(), [[0, 0, 0]], direction=(1, 0, 0), rule="winding")
    with pytest.raises(MeshError, match="not closed"):
        contains(lidless(), [[0, 0, 0]], direction=(1, 0, 0))
