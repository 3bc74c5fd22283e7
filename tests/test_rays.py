"""Containment along rays in any direction: the vertical path's independent check."""

from __future__ import annotations

import numpy as np
import pytest
from crossings import adversarial
from shapes import cube, odd_on_purpose, random_body, staircase, star
from surfaces import lidless

from geodomain import Mesh, MeshError, contains

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
