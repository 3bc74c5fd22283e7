"""The solid that a block is labelled with, and all solids that contain it."""

from __future__ import annotations

import numpy as np
import pytest
from shapes import UNDECIDABLE, joined, minute, odd_on_purpose, star
from wireframes import box, cube, roofless

from geodomain import Mesh, PointError, PointLocator, contains
from geodomain.domains.domain import Domain
from geodomain.errors import MeshError
from geodomain.labelling import evaluate
from geodomain.labelling.evaluate import meet, members_of
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings

POINTS = np.array(
    [[2, 2, 2], [7, 7, 7], [12, 12, 12], [50, 50, 50], [np.nan, 1, 1], [1, np.inf, 1]], float
)
ORE = Domain("ORE", (cube(),))
HALO = Domain("HALO", (box((5, 5, 5), (15, 15, 15)),))
NONE, LOST, LEAK = 2, 3, 4


def test_the_first_solid_wins() -> None:
    verdict = Labeller((ORE, HALO)).label(POINTS)
    assert verdict.codes.tolist() == [0, 0, 1, NONE, LOST, LOST]
    assert verdict.codes.dtype == np.int32
    assert Labeller((HALO, ORE)).label(POINTS).codes.tolist() == [1, 0, 0, NONE, LOST, LOST]
    assert verdict.table("inside").tolist() == [[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]]
    assert not verdict.table("leaking").any() and not verdict.table("doubled").any()
    assert verdict.on_wall is None


def test_a_repeated_name_is_a_union() -> None:
    both = Domain("BOTH", (cube(), box((5, 5, 5), (15, 15, 15))))
    verdict = Labeller((both,)).label(POINTS)
    assert verdict.codes.tolist() == [0, 0, 0, 1, 2, 2]
    assert verdict.table("doubled").tolist() == [[0, 1, 0, 0, 0, 0]]
    assert both.bounds.tolist() == [[0, 0, 0], [15, 15, 15]]


@odd_on_purpose
def test_overlapping_shells_are_doubled() -> None:
    mesh = joined(cube(), box((5, 5, 5), (15, 15, 15)))
    verdict = Labeller((Domain("A", (mesh,)),)).label(POINTS)
    assert verdict.table("inside").tolist() == [[1, 0, 1, 0, 0, 0]]
    assert verdict.table("doubled").tolist() == [[0, 1, 0, 0, 0, 0]]
    verdict = Labeller((Domain("A", (mesh,)),), LabelSettings(rule="winding")).label(POINTS)
    assert verdict.table("inside").tolist() == [[1, 1, 1, 0, 0, 0]]
    assert verdict.table("doubled").tolist() == [[0, 1, 0, 0, 0, 0]]


def test_an_open_mesh_is_refused() -> None:
    with pytest.raises(MeshError, match="roofless"):
        Labeller((Domain("A", (roofless(),)),))


# Under the triangle of the roof that is there, under the hole, above the hole, outside.
BY_HOLE = np.array([[2, 8, 5], [8, 2, 5], [8, 2, 50], [20, 20, 5], [8, 2, np.nan]], float)


def test_blocks_in_line_with_a_hole_leak() -> None:
    verdict = Labeller((Domain("A", (roofless(),)),), LabelSettings(allow_open=True)).label(BY_HOLE)
    assert verdict.codes.tolist() == [0, 3, 3, 1, 2]
    assert verdict.table("leaking").tolist() == [[0, 1, 1, 0, 0]]
    assert verdict.table("inside").tolist() == [[1, 0, 0, 0, 0]]


def test_a_leak_yields_to_solids_before_it_and_not_to_those_after() -> None:
    sure, leaky = Domain("S", (box((7, 1, 4), (9, 3, 6)),)), Domain("L", (roofless(),))
    first = Labeller((sure, leaky), LabelSettings(allow_open=True)).label(BY_HOLE)
    assert first.codes.tolist() == [1, 0, LEAK, NONE, LOST]
    last = Labeller((leaky, sure), LabelSettings(allow_open=True)).label(BY_HOLE)
    assert last.codes.tolist() == [0, LEAK, LEAK, NONE, LOST]


def test_a_closed_part_of_a_union_is_sure() -> None:
    union = Domain("U", (roofless(), box((7, 1, 4), (9, 3, 6))))
    verdict = Labeller((union,), LabelSettings(allow_open=True)).label(BY_HOLE)
    assert verdict.codes.tolist() == [0, 0, 3, 1, 2]
    assert verdict.table("leaking").tolist() == [[0, 0, 1, 0, 0]]


def test_blocks_on_a_wall() -> None:
    points = np.array([[0, 5, 5], [5, 5, 10], [5, 5, 5], [np.nan, 5, 5]], float)
    verdict = Labeller((ORE, HALO), LabelSettings(count_on_wall=True)).label(points)
    assert verdict.on_wall is not None
    # (5, 5, 5) is a corner of the halo.
    assert verdict.on_wall.tolist() == [True, True, True, False]


def test_no_blocks() -> None:
    verdict = Labeller((ORE, HALO)).label(np.empty((0, 3)))
    assert verdict.codes.shape == (0,) and verdict.table("inside").shape == (2, 0)


@odd_on_purpose
@pytest.mark.parametrize("allow_open", [False, True])
def test_a_rule_without_an_answer_is_refused_before_any_block(allow_open: bool) -> None:
    turned = cube().triangles.copy()
    turned[3] = turned[3, ::-1]
    with pytest.raises(MeshError, match="no winding number"):
        Labeller(
            (Domain("A", (Mesh(cube().vertices, turned),)),),
            LabelSettings(rule="winding", allow_open=allow_open),
        )


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
