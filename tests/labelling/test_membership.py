"""What several solids contain, found together: the same as asking each of them."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import UNDECIDABLE, minute, star
from wireframes import box

from geodomain import Mesh, PointError, PointLocator, contains
from geodomain.labelling import evaluate
from geodomain.labelling.evaluate import meet, members_of


@pytest.mark.parametrize("seed", range(8))
def test_every_solid_has_its_own_points(seed: int, backend: str) -> None:
    rng = np.random.default_rng(seed)
    lows = rng.integers(0, 9, (7, 3))
    meshes = [box(tuple(low), tuple(low + rng.integers(1, 7, 3))) for low in lows]
    body = star(seed + 1)
    meshes += [Mesh(body.vertices / 20 + 6, body.triangles), meshes[0]]
    points = rng.integers(-2, 16, (500, 3)) + rng.choice([0.0, 0.5], (500, 3))
    points[::50] = np.nan
    locators = [PointLocator(mesh, backend=backend) for mesh in meshes]
    found = members_of(locators, points, None)
    for mesh, inside in zip(meshes, found, strict=True):
        assert np.array_equal(inside, contains(mesh, points))
    assert (np.sum(found, axis=0) > 1).any()


def test_a_point_that_cannot_be_decided_is_named_by_its_own_number() -> None:
    around = box((-9, -9, -9), (9, 9, 9))
    points = np.array([[50.0, 0, 0], [1, 1, 1], UNDECIDABLE])
    with pytest.raises(PointError, match="point 2 "):
        members_of([PointLocator(around), PointLocator(minute())], points, None)


def test_boxes_are_compared_with_those_of_solids_that_have_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten thousand solids were once compared with each other, for the sake of a few points."""
    asked = []

    def counted(one: np.ndarray, other: np.ndarray) -> bool:
        asked.append(one)
        return meet(one, other)

    monkeypatch.setattr(evaluate, "meet", counted)
    locators = [PointLocator(box((9 * i, 0, 0), (9 * i + 5, 5, 5))) for i in range(60)]
    found = members_of(locators, np.array([[1.0, 1, 1], [10.0, 1, 1]]), None)
    assert [inside.tolist() for inside in found[:2]] == [[True, False], [False, True]]
    assert not np.any(found[2:]) and len(asked) <= 2 * 60
