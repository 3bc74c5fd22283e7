"""Corners and rotated frames, against world coordinates that were worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.tables.frames import Frame, LocalFrame, sine_and_cosine

ORIGIN = (500.0, 1000.0, 100.0)
H = math.sqrt(0.75)  # the cosine of 30 degrees

# Where the ends of the local x, y and z axes are in the world, seen from the origin: clockwise
# from the positive end of each axis.
AXES_BY_HAND = {
    "north to east": ([("z", 90)], [[0, -1, 0], [1, 0, 0], [0, 0, 1]]),
    "north to azimuth 30": ([("z", 30)], [[H, -0.5, 0], [0.5, H, 0], [0, 0, 1]]),
    "north to azimuth 330": ([("z", -30)], [[H, 0.5, 0], [-0.5, H, 0], [0, 0, 1]]),
    "north down": ([("x", 90)], [[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
    "east up": ([("y", 90)], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]),
    # Azimuth 90, then 30 degrees down dip: the second turn is about the axis that now runs south.
    "dip 30 to the east": (
        [("z", 90), ("x", 30)],
        [[0, -1, 0], [H, 0, -0.5], [0.5, 0, H]],
    ),
    "three turns": (
        [("z", 90), ("x", 90), ("z", 90)],
        [[0, 0, 1], [0, -1, 0], [1, 0, 0]],
    ),
    "none": ([], np.eye(3)),
}


@pytest.mark.parametrize("case", AXES_BY_HAND.values(), ids=AXES_BY_HAND.keys())
def test_axes_point_where_they_were_drawn(case: tuple) -> None:
    turns, ends = case
    frame = LocalFrame(turns, ORIGIN, local_origin=(1, 2, 3))
    found = frame.to_world(np.eye(3) * 10 + [1, 2, 3])
    np.testing.assert_allclose(found, np.array(ends) * 10 + ORIGIN, rtol=1e-15, atol=1e-12)


def test_quarter_turns_are_exact() -> None:
    frame = LocalFrame([("z", 90)], origin=(7_480_000.7, 414_000.3, 0.1))
    point = np.array([[0.1, 0.2, 0.3]])
    assert frame.to_world(point).tolist() == [[7_480_000.7 + 0.2, 414_000.3 - 0.1, 0.1 + 0.3]]
    assert not any(
        math.copysign(1, entry) < 0 for row in frame.matrix for entry in row if not entry
    )


def test_a_datamine_block_by_hand() -> None:
    # 3-4-5: the sine of the angle is 0.6. Local (505, 1010) is (5, 10) from the model's origin,
    # whose world place is X0 = 7000: x axis (0.8, -0.6), y axis (0.6, 0.8).
    frame = LocalFrame([("z", math.degrees(math.asin(0.6)))], (7000, 9000, 50), (500, 1000, 100))
    found = frame.to_world(np.array([[505.0, 1010.0, 102.5]]))
    np.testing.assert_allclose(found, [[7010.0, 9005.0, 52.5]], rtol=0, atol=1e-11)


@given(st.floats(-1e6, 1e6))
def test_sines_are_those_of_the_platform_but_for_their_last_bits(angle: float) -> None:
    sine, cosine = sine_and_cosine(angle)
    turn = math.radians(math.fmod(angle, 360))
    assert abs(float(sine) - math.sin(turn)) < 2e-15
    assert abs(float(cosine) - math.cos(turn)) < 2e-15
    assert abs(Fraction(sine) ** 2 + Fraction(cosine) ** 2 - 1) < Fraction(1, 10**60)


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.floats(-720, 720)), max_size=3))
def test_a_rotation_keeps_lengths_and_hands(turns: list) -> None:
    matrix = np.array(LocalFrame(turns, ORIGIN).matrix)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(matrix) == pytest.approx(1)


def test_a_point_that_lacks_a_coordinate_lacks_all() -> None:
    points = np.array([[np.nan, 0, 0], [0, 0, np.inf], [1, 1, 1]])
    found = LocalFrame([("z", 90)], ORIGIN).to_world(points)
    assert np.isnan(found[0]).all()
    assert not np.isfinite(found[1]).any(axis=0).all() and np.isfinite(found[2]).all()
    assert np.isnan(points[0, 0]) and points[2, 0] == 1


def test_corners_are_half_a_block_from_the_centroid() -> None:
    corners = np.asfortranarray([[0.1, 10.0, -5.0], [0.0, 0.0, 0.0]])
    sizes = np.asfortranarray([[0.3, 5.0, 2.5], [1.0, np.nan, 1.0]])
    found = Frame("corner").centroids(corners, sizes)
    assert found[0].tolist() == [0.1 + 0.15, 12.5, -3.75]
    assert np.isnan(found[1, 1])
    assert found.flags.f_contiguous
    with pytest.raises(ValueError, match="sizes"):
        Frame("corner").centroids(corners, None)


def test_a_corner_is_half_a_block_away_before_the_frame_is_turned() -> None:
    frame = Frame("corner", LocalFrame([("z", 90)], ORIGIN))
    found = frame.centroids(np.zeros((1, 3)), np.array([[10.0, 20.0, 5.0]]))
    assert found.tolist() == [[510.0, 995.0, 102.5]]


def test_world_centroids_are_not_copied() -> None:
    points = np.zeros((2, 3))
    assert Frame().centroids(points, None) is points


@pytest.mark.parametrize("turn", [("w", 3), ("z", math.nan)])
def test_what_is_no_turn(turn: tuple) -> None:
    with pytest.raises(ValueError, match="axis x, y or z"):
        LocalFrame([turn], ORIGIN)
