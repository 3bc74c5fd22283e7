"""Curves of holes: against exact circles, high-precision arithmetic, and their own definition."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.drillholes.curves import (
    bends_between,
    directions,
    make_curves,
    running_sums,
    sign_of_down,
    sine_cosine,
)
from geodomain.drillholes.settings import Method

METHODS = get_args(Method)


def one_hole(depths: list[float], azimuths: list[float], dips: list[float], method: str):
    tangents = directions(np.array(azimuths, float), np.array(dips, float))
    offsets = np.array([0, len(depths)])
    return make_curves(offsets, np.array(depths, float), tangents, np.zeros((1, 3)), method)


def at(curves, depths) -> np.ndarray:
    depths = np.atleast_1d(np.array(depths, float))
    return curves.at(curves.find(np.zeros(len(depths), np.intp), depths), depths)


def test_right_angles_are_exact() -> None:
    azimuths = np.array([0.0, 90, 180, 270, 360, -90, 450, 0, 45, 360])
    dips = np.array([0.0, 0, 0, 0, 0, 0, 0, 90, -90, -90])
    expected = [
        [0, 1, 0], [1, 0, 0], [0, -1, 0], [-1, 0, 0], [0, 1, 0], [-1, 0, 0], [1, 0, 0],
        [0, 0, -1], [0, 0, 1], [0, 0, 1],
    ]  # fmt: skip
    assert directions(azimuths, dips).tolist() == expected


def decimal_sine(degrees: float) -> Decimal:
    """Return the sine of degrees that a float64 holds, to 40 digits, by its series."""
    with localcontext() as context:
        context.prec = 50
        pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494")
        x = (Decimal(degrees) % 360) * pi / 180
        term = total = x
        for k in range(1, 80):
            term *= -x * x / ((2 * k) * (2 * k + 1))
            total += term
        return +total


@given(st.floats(-720, 720))
def test_sines_are_those_of_the_degrees(degrees: float) -> None:
    sine, cosine = sine_cosine(np.array([degrees]))
    assert abs(Decimal(float(sine[0])) - decimal_sine(degrees)) <= Decimal(2) ** -52
    exact = decimal_sine(degrees) ** 2 + Decimal(float(cosine[0])) ** 2
    assert abs(exact - 1) <= Decimal(2) ** -51


@pytest.mark.parametrize("stations", [2, 7, 200])
def test_a_quarter_circle_is_a_quarter_circle(stations: int) -> None:
    """From straight down to level, east: radius 100, whatever the stations."""
    bend = np.linspace(0, 90, stations)
    depths = 100 * np.deg2rad(bend)
    curves = one_hole(depths.tolist(), [90] * stations, (90 - bend).tolist(), METHODS[0])
    some = np.linspace(0, depths[-1], 1001)
    found, angle = at(curves, some), some / 100
    exact = np.stack([100 * (1 - np.cos(angle)), 0 * angle, -100 * np.sin(angle)], axis=1)
    assert np.abs(found - exact).max() < 1e-11


def test_a_helix_is_followed_ever_closer() -> None:
    """Constant dip and turning azimuth: the error falls with the square of the spacing."""
    errors = []
    for stations in (33, 65, 129):
        turn = np.linspace(0, 720, stations)
        depths = np.deg2rad(turn) * 100
        curves = one_hole(depths.tolist(), turn.tolist(), [30] * stations, METHODS[0])
        end, level = np.deg2rad(720), np.cos(np.deg2rad(30)) * 100
        exact = [level * (1 - np.cos(end)), level * np.sin(end), -100 * end / 2]
        errors.append(np.abs(at(curves, depths[-1])[0] - exact).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.1)


angles = st.tuples(st.floats(0, 360), st.floats(-80, 90))


@given(st.lists(angles, min_size=2, max_size=8), st.sampled_from(METHODS))
def test_a_curve_is_continuous_and_as_long_as_its_depths(stations, method: str) -> None:
    azimuths, dips = zip(*stations, strict=True)
    depths = np.arange(len(stations)) * 10.0
    tangents = directions(np.array(azimuths), np.array(dips))
    if (bends_between(tangents[:-1], tangents[1:])[0] > 3.1).any():
        return
    curves = one_hole(depths.tolist(), list(azimuths), list(dips), method)
    ends = curves.depths[1:]
    # The end of each piece is the beginning of the next.
    reached = curves.at(np.arange(len(ends)), ends)
    assert np.abs(reached - curves.points[1:]).max() < 1e-9
    some = np.linspace(0, depths[-1], 4001)
    walked = np.linalg.norm(np.diff(at(curves, some), axis=0), axis=1).sum()
    assert walked == pytest.approx(depths[-1], rel=1e-3)
    along = curves.along(curves.find(np.zeros(len(some), np.intp), some), some)
    assert np.abs(np.linalg.norm(along, axis=1) - 1).max() < 1e-12


def test_methods_differ_as_they_should() -> None:
    down_then_level = ([0, 100], [90, 90], [90, 0])
    ends = {method: at(one_hole(*down_then_level, method), 100)[0].round(9) for method in METHODS}
    arc = round(100 / (np.pi / 2), 9)
    assert ends["minimum curvature"].tolist() == [arc, 0, -arc]
    assert ends["balanced"].tolist() == [50, 0, -50]
    assert ends["tangent"].tolist() == [0, 0, -100]
    halfway = at(one_hole(*down_then_level, "balanced"), [25, 75])
    assert halfway.tolist() == [[0, 0, -25], [25, 0, -50]]


def test_azimuth_across_north_bends_the_short_way() -> None:
    curves = one_hole([0, 10], [359, 1], [0, 0], METHODS[0])
    assert at(curves, 5)[0][1] == pytest.approx(5, abs=1e-3)
    assert np.degrees(curves.curvatures[0] * 10) == pytest.approx(2)


def test_small_bends_keep_their_angle() -> None:
    tangents = directions(np.array([0.0, 0.0]), np.array([60.0, 60.0 + 1e-7]))
    bends, _ = bends_between(tangents[:1], tangents[1:])
    assert np.degrees(bends[0]) == pytest.approx(1e-7, rel=1e-6)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60), st.integers(0, 99))
def test_sums_of_a_hole_do_not_depend_on_the_others(counts: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    steps, starts = random.normal(size=(offsets[-1], 3)), random.normal(size=(len(counts), 3))
    together = running_sums(offsets, steps, starts)
    for hole, count in enumerate(counts):
        part = slice(offsets[hole], offsets[hole + 1])
        point = starts[hole].copy()
        for row in range(count):
            assert (together[part][row] == point).all()
            point = point + steps[part][row]


def test_the_sign_of_dips_is_decided_for_the_file() -> None:
    assert sign_of_down(np.array([-60.0, -70, 5]), "auto") == -1
    assert sign_of_down(np.array([60.0, 70, -85]), "auto") == 1
    assert sign_of_down(np.array([0.0, np.nan]), "auto") == 1
    assert sign_of_down(np.array([60.0]), "negative") == -1


def test_stations_at_nearly_one_depth_have_no_arc() -> None:
    tangents = np.array([[0.0, 0.0, -1.0], [0.6, 0.0, -0.8], [0.6, 0.0, -0.8]])
    with np.errstate(all="raise", under="ignore"):
        curves = make_curves(
            np.array([0, 3]),
            np.array([0.0, 1e-320, 10.0]),
            tangents,
            np.zeros((1, 3)),
            "minimum curvature",
        )
    assert np.isfinite(curves.curvatures).all()
    end = curves.at(curves.find(np.array([0]), np.array([10.0])), np.array([10.0]))
    assert end == pytest.approx(np.array([[6.0, 0.0, -8.0]]))
