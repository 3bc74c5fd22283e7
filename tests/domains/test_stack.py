"""Stacks of surfaces: what is cut, what stays, and what is not there."""

from __future__ import annotations

import numpy as np
import pytest
from sheets import level, oracle_side, sheet
from wireframes import cube

from geodomain import Domain, DomainError, Domains, Stack, label_points

GROUND = level(5.0, 10, name="ground.ply")
ORE = Domain("ORE", cube())


def labels(stack: Stack, points) -> list[str]:
    return label_points(points, [stack], background="-", unassigned="?").tolist()


def crossing_pair():
    """Return two slopes that cross along x = 4: the upper one falls, the lower one rises."""
    upper = sheet([[8, 8], [0, 0]], 8.0, name="upper")
    lower = sheet([[0, 0], [8, 8]], 8.0, name="lower")
    return upper, lower


def test_the_upper_surface_erodes_or_the_lower_one_stays() -> None:
    upper, lower = crossing_pair()
    # At x = 1 upper is at 7 and lower at 1; at x = 7 the other way round.
    points = [[x, 4, z] for x in (1, 7) for z in (8, 4, 0.5)]
    names = ["TOP", "MID", "BASE"]
    erode = label_points(points, [Stack([upper, lower], names)])
    assert erode.tolist() == ["TOP", "MID", "BASE", "TOP", "TOP", "BASE"]
    onlap = label_points(points, [Stack([upper, lower], names, rule="onlap")])
    assert onlap.tolist() == ["TOP", "MID", "BASE", "TOP", "BASE", "BASE"]


@pytest.mark.full
@pytest.mark.parametrize("rule", ["erode", "onlap"])
def test_stacks_agree_with_rational_arithmetic(rule: str, backend: str) -> None:
    rng = np.random.default_rng(8)
    at = (414_000.3, 7_480_000.7, 150.1)
    sheets = [sheet(rng.integers(0, 6, (4, 4)), 2.0, at) for _ in range(3)]
    points = np.array(at) + rng.integers(-2, 14, (600, 3)) / 2
    points = np.concatenate([points, *(mesh.vertices for mesh in sheets)])
    names = ["L0", "L1", "L2", "L3"]
    stack = Stack(sheets, names, rule=rule)
    found = label_points(points, [stack], unassigned="?", backend=backend)
    expected = []
    for point in points:
        sides = [oracle_side(mesh, point) for mesh in sheets]
        order = range(3) if rule == "erode" else reversed(range(3))
        stop = 1 if rule == "erode" else -1
        label = names[3] if rule == "erode" else names[0]
        for index in order:
            if sides[index] in (0, stop):
                inner = names[index] if rule == "erode" else names[index + 1]
                label = "?" if sides[index] == 0 else inner
                break
        expected.append(label)
    assert found.tolist() == expected
    assert set(expected) == {*names, "?"}


def test_beyond_a_surface_of_a_stack() -> None:
    short = level(3.0, 4, name="short")
    names = ["UP", "MID", "DOWN"]
    points = [[1, 1, 6], [1, 1, 4], [1, 1, 1], [8, 8, 6], [8, 8, 4], [8, 8, 1]]
    for extend, expected in (
        ("unassigned", ["UP", "MID", "DOWN", "UP", "?", "?"]),
        ("background", ["UP", "MID", "DOWN", "UP", "-", "-"]),
        ("nearest", ["UP", "MID", "DOWN", "UP", "MID", "DOWN"]),
    ):
        assert labels(Stack([GROUND, short], names, extend=extend), points) == expected


def test_domains_outrank_stacks_and_layers_may_be_left_to_others() -> None:
    stack = Stack([GROUND], ["AIR", ""])
    for order in ("first", "last"):
        given = Domains((ORE,), (stack,), order=order, background="WASTE")
        points = [[2, 2, 2], [2, 2, 12], [2, 2, -2], [12, 12, 2]]
        assert label_points(points, given).tolist() == ["ORE", "AIR", "WASTE", ""]


def test_what_makes_no_stack_is_refused() -> None:
    for surfaces, names, options in (
        ([], ["A"], {}), ([GROUND], ["A"], {}), ([GROUND], ["A", "B"], {"rule": "cut"}),
        ([GROUND], ["A", "B"], {"codes": [1]}), ([GROUND], ["A", "B"], {"codes": [1, "x"]}),
        ([GROUND], ["A", "B"], {"extend": "away"}), ([GROUND], ["A", 3], {}),
    ):  # fmt: skip
        with pytest.raises(DomainError):
            Stack(surfaces, names, **options)
