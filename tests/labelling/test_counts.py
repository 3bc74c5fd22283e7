"""Counts of several passes, stored and merged, are those of one pass."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from geodomain.checks import overlaps
from geodomain.checks.overlaps import RepeatedCentroids

Floats = NDArray[np.float64]


def blocks(seed: int) -> list[Floats]:
    """Return parts of a lattice at random, with centroids that repeat in a part and elsewhere."""
    random = np.random.default_rng(seed)
    every = random.integers(0, 12, (900, 3)) * [2.5, 5.0, 0.1] + [7e6, 4e5, -20.0]
    return [np.asfortranarray(part) for part in np.split(every, [1, 300, 300, 550])]


def passed(parts: list[Floats], *, sized: bool = True) -> RepeatedCentroids:
    """Look at parts, one after another."""
    found = RepeatedCentroids()
    for part in parts:
        found.add(part, np.broadcast_to([2.5, 5.0, 0.1], part.shape) if sized else None)
    return found


@pytest.mark.parametrize("limit", [10_000, 400, 100, 1])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("sized", [False, True])
def test_repeats_of_merged_parts(
    monkeypatch: pytest.MonkeyPatch, limit: int, stored: bool, sized: bool
) -> None:
    """Kept one by one, as bits of a lattice, and as both."""
    monkeypatch.setattr(overlaps, "_ALL", limit)
    for seed in range(5):
        parts = blocks(seed)
        every = np.concatenate(parts)
        again = len(every) - len(np.unique(every, axis=0))
        merged = RepeatedCentroids()
        for part in parts:
            one = passed([part], sized=sized)
            merged.merge(RepeatedCentroids.restored(one.arrays()) if stored else one)
        assert merged.again == again == passed(parts, sized=sized).again


def test_what_is_not_known_of_a_part_is_not_known_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlaps, "_ALL", 5)
    wild = np.asfortranarray(np.random.default_rng(1).normal(size=(3000, 3)) * 1e6)
    unknown, known = passed([wild]), passed(blocks(1))
    assert known.again and not unknown.again
    known.merge(RepeatedCentroids.restored(unknown.arrays()))
    assert known.again == 0
