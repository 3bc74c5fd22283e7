"""Counts of several passes, stored and merged, are those of one pass."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray
from wireframes import cube

from geodomain.checks import overlaps
from geodomain.checks.overlaps import RepeatedCentroids
from geodomain.labelling import counts
from geodomain.labelling.counts import Tally
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.labelling.summary import summarise

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


@pytest.mark.parametrize("most", [0, 1, 7, 40, 10**6])
@pytest.mark.parametrize("sized", [False, True])
def test_overlaps_of_many_solids(monkeypatch: pytest.MonkeyPatch, most: int, sized: bool) -> None:
    """The first pairs are exact in any order of chunks; by tables, pair by pair and merged."""
    monkeypatch.setattr(counts, "MOST_PAIRS", max(most, 1))
    for seed in range(10):
        random = np.random.default_rng(seed)
        inside = random.random((15, 60)) < 0.1
        inside[random.random(15) < 0.3] = False
        volume = random.integers(1, 9, 60).astype(float)
        shared = np.triu(inside.astype(int) @ inside.T.astype(int), 1)
        volumes = np.triu((inside * volume) @ inside.T, 1).reshape(-1)
        expected = np.flatnonzero(shared)
        kept = expected[: max(most, 1)]
        chunks = np.array_split(random.permutation(60), 4)
        parts = []
        for rows in chunks:
            near = [index for index in range(15) if inside[index, rows].any()]
            one = counts.Overlaps(15)
            one.add_chunk(
                near, [inside[index, rows] for index in near], volume[rows] if sized else None
            )
            parts.append(one)
        for order in (range(4), (2, 0, 3, 1)):
            found = counts.Overlaps(15)
            for index in order:
                found.merge(parts[index])
            assert found.pairs.tolist() == kept.tolist()
            assert found.blocks.tolist() == shared.reshape(-1)[kept].tolist()
            assert found.volumes.tolist() == (volumes[kept] if sized else 0 * kept).tolist()
            assert found.are_all == (len(kept) == len(expected))


def test_counts_of_chunks_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MOST_PAIRS", 10)
    inside = np.random.default_rng(1).random((15, 60)) < 0.3
    whole, found = counts.Overlaps(15), counts.Overlaps(15)
    whole.add_chunk(range(15), list(inside), None)
    for begin in (40, 20, 0):
        found.add_chunk(range(15), list(inside[:, begin : begin + 20]), None)
    assert len(whole.pairs) == 10 and not whole.are_all and not found.are_all
    assert (found.pairs.tolist(), found.blocks.tolist()) == (
        whole.pairs.tolist(),
        whole.blocks.tolist(),
    )


def test_thousands_of_domains_of_one_mesh_do_not_hold_every_pair() -> None:
    """2,000 domains that share every block: 2 million pairs took a gigabyte."""
    body = cube()
    labeller = Labeller({f"D{index}": body for index in range(2000)})
    points = np.array([[5.0, 5, 5], [6, 5, 5], [20, 5, 5]])
    tally = Tally(labeller.targets)
    tracemalloc.start()
    try:
        tally.add(points, None, labeller.label(points))
        summary = summarise(labeller, tally, LabelSettings(), seconds=1.0)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 100e6
    assert len(summary.overlaps) == counts.MOST_PAIRS
    assert summary.overlaps[0] == {"solids": ["D0", "D1"], "blocks": 2, "volume": None}
    assert [note for note in summary.notes if "pairs" in note] == [
        "more than 100,000 pairs of domains share blocks: only the first 100,000 are "
        "counted, in the order of the domains, up to D50 and D1325"
    ]
    assert [note for note in summary.notes if "no block" in note] == [
        "1,999 domains (D1, D2, D3, D4, D5, ...) label no block: other domains label all blocks in "
        "them"
    ]
