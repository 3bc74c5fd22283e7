"""Overlaps of two sets of boxes, against rational arithmetic."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.changes import overlay
from geodomain.changes.overlay import Overlay

Boxes = tuple[np.ndarray, np.ndarray]


def exact(value: float) -> Fraction:
    """Return the shortest decimal of a double as a fraction."""
    return Fraction(Decimal(repr(float(value))))


def expected(first: Boxes, second: Boxes) -> dict[tuple[int, int], list[Fraction]]:
    """Return the lengths of the overlap of each pair of boxes that overlap."""

    def faces(boxes: Boxes, row: int, axis: int) -> tuple[Fraction, Fraction]:
        centre, half = exact(boxes[0][row, axis]), exact(boxes[1][row, axis]) / 2
        return centre - half, centre + half

    overlaps = {}
    for one in range(len(first[0])):
        for other in range(len(second[0])):
            lengths = []
            for axis in range(3):
                low, high = faces(first, one, axis)
                bottom, top = faces(second, other, axis)
                lengths.append(min(high, top) - max(low, bottom))
            if min(lengths) > 0:
                overlaps[one, other] = lengths
    return overlaps


def overlaps_of(first: Boxes, second: Boxes) -> dict[tuple[int, int], list[Fraction]]:
    """Return the overlaps that `Overlay` computes; each pair must come once."""
    made = Overlay(first, second)
    pairs: dict[tuple[int, int], list[Fraction]] = {}
    for batch in made.pairs():
        lengths = [each.tolist() for each in batch.lengths]
        for row, key in enumerate(zip(batch.first.tolist(), batch.second.tolist(), strict=True)):
            assert key not in pairs
            pairs[key] = [each[row] * made.units[axis] for axis, each in enumerate(lengths)]
    return pairs


def random_boxes(kind: str, rng: np.random.Generator) -> Boxes:
    count = int(rng.integers(1, 20))
    if kind == "doubles":
        return rng.random((count, 3)) * 20, rng.random((count, 3)) * 8 + 1e-3
    if kind == "decimals":
        return np.round(rng.random((count, 3)) * 20, 2), np.round(rng.random((count, 3)) * 8 + 1, 1)
    places = 414_000 + rng.integers(0, 10, (count, 3)) * 2.5
    return places, rng.choice([2.5, 5.0, 40.0, 1 / 3], (count, 3))


@pytest.mark.parametrize("kind", ["doubles", "decimals", "mine"])
@given(seed=st.integers(0, 10_000))
def test_overlaps_equal_rational_arithmetic(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = random_boxes(kind, rng), random_boxes(kind, rng)
    assert overlaps_of(first, second) == expected(first, second)


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    first, second = (random_boxes("decimals", rng) for _ in range(2))
    whole = overlaps_of(first, second)
    monkeypatch.setattr(overlay, "_TOGETHER", 3)
    assert overlaps_of(first, second) == whole == expected(first, second)


def test_neighbours_of_a_text_table_meet_exactly() -> None:
    """In binary, 0.1 + 0.05 and 0.2 - 0.05 differ; as decimals they are one face."""
    centres = np.array([[0.1 * place, 0.0, 0.0] for place in (1, 2)]).round(1)
    row = (centres, np.full((2, 3), 0.1))
    assert set(overlaps_of(row, row)) == {(0, 0), (1, 1)}


def test_lengths_beyond_64_bits() -> None:
    rng = np.random.default_rng(4)
    boxes = [(rng.uniform(0, 1e6, (8, 3)), np.full((8, 3), 1e6 / 3)) for _ in range(2)]
    overlaps = overlaps_of(*boxes)
    assert len(overlaps) > 3 and overlaps == expected(*boxes)


def test_a_box_far_larger_than_the_others() -> None:
    """Its search must not visit a cell of the size of the others for each place in it."""
    places = np.array([[3.0, 5.0, 7.0], [4.0, 5.0, 7.0], [90_000.0, 2.0, 2.0]])
    small = places, np.ones((3, 3))
    mixed = (
        np.vstack([places + 0.25, [50_000.0, 50_000.0, 50_000.0]]),
        np.vstack([np.ones((3, 3)), np.full((1, 3), 100_000.0)]),
    )
    overlaps = overlaps_of(small, mixed)
    assert overlaps == expected(small, mixed) and {(0, 3), (1, 3), (2, 3)} <= overlaps.keys()


def test_no_boxes() -> None:
    none = np.empty((0, 3)), np.empty((0, 3))
    assert overlaps_of(none, (np.ones((1, 3)), np.ones((1, 3)))) == {}
