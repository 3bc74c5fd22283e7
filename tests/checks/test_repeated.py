"""Blocks whose centroid another has, against a plain count of the rows."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from geodomain import lattice as lattices
from geodomain.checks import overlaps
from geodomain.checks.overlaps import RepeatedCentroids
from geodomain.lattice import LatticeBits

Floats = NDArray[np.float64]


def lattice(*axes: Floats) -> Floats:
    """Return the centroids of a lattice, the first axis slowest."""
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def counted(points: Floats) -> int:
    """Count the rows that are the same as one before."""
    return len(points) - len({tuple(row) for row in points.tolist()})


def marked(points: Floats, pieces: int, steps: float = 1.0) -> int | None:
    """Return how many were there before, by bits; None where that is not known."""
    chunks = np.array_split(points, pieces)
    bits = LatticeBits(chunks[0], np.full(3, steps))
    return bits.again if all(map(bits.add, chunks)) else None


def added(points: Floats, chunk: int, size: float = 1.0) -> int:
    """Return how many blocks were there before, chunk by chunk."""
    checks = RepeatedCentroids()
    for begin in range(0, len(points), chunk):
        some = np.asfortranarray(points[begin : begin + chunk])
        checks.add(some, np.full_like(some, size))
    return checks.again


steps = st.sampled_from([0.1, 1 / 3, 1.0, 2.5, 12.5, 1000.0])
starts = st.sampled_from([0.0, -7.5, 410_005.0, 7_480_000.7])


@st.composite
def models(draw: st.DrawFn) -> Floats:
    """Draw the blocks of a lattice in any order, some of them again, some parted."""
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    counts = [draw(st.integers(1, 9)) for _ in range(3)]
    sizes = [draw(steps) for _ in range(3)]
    axes = [draw(starts) + s * np.arange(n) for s, n in zip(sizes, counts, strict=True)]
    points = lattice(*axes)
    if draw(st.booleans()):
        by = dice.choice([0.0, 0.25], (5, 3)) * sizes
        points = np.concatenate([points, points[dice.integers(0, len(points), 5)] + by])
    points = points[:, draw(st.permutations(range(3)))]
    again = points[dice.integers(0, len(points), draw(st.integers(0, 6)))]
    points = np.concatenate([points, again])
    return dice.permutation(points) if draw(st.booleans()) else points


@given(models(), st.integers(1, 7), steps)
def test_bits_count_what_a_set_counts(points: Floats, pieces: int, step: float) -> None:
    count = counted(points)
    assert marked(points, 1, step) == count
    # A first piece of one place does not tell the step: later ones may lie on no lattice of it.
    assert marked(points, min(pieces, len(points)), step) in (None, count)


@given(st.integers(0, 2**32), st.integers(1, 5))
def test_bits_are_right_or_say_that_they_do_not_know(seed: int, pieces: int) -> None:
    dice = np.random.default_rng(seed)
    points = dice.choice([dice.normal(size=(40, 3)), dice.integers(0, 9, (40, 3)) * 0.1])
    points = np.concatenate([points, points[:3]])
    assert marked(points, pieces) in (None, counted(points))


def test_zeros_of_both_signs_are_one_place() -> None:
    points = np.array([[0.0, 1.0, 1.0], [-0.0, 1.0, 1.0], [2.0, 1.0, 1.0]])
    assert marked(points, 1) == 1
    assert added(points, 3) == 1


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_many_blocks_all_are_compared(order: tuple[int, ...]) -> None:
    axis = np.arange(0.5, 80)
    points = lattice(axis, axis + 7_480_000.7, axis / 7)[:, order]
    assert len(points) > overlaps._ALL and added(points, 100_000) == 0
    twice = np.concatenate([points, points[77_777:77_780], points[:1], points[:1]])
    assert added(twice, 100_000) == 5


def test_sub_blocks_after_many_parents_make_the_lattice_finer() -> None:
    parents = lattice(*(np.arange(5.0, 700, 10) for _ in range(3)))
    # Those of the last parents, halved along each axis: one of them comes again.
    halves = lattice(*[np.array([-2.5, 2.5])] * 3)
    parts = (parents[-9:, None] + halves).reshape(-1, 3)
    points = np.concatenate([parents[:-9], parts])
    assert len(points) > overlaps._ALL
    assert added(points, 50_000, 10.0) == 0
    assert added(np.concatenate([points, parts[7:8]]), 50_000, 10.0) == 1


def test_off_a_lattice_many_blocks_are_left_to_inspect() -> None:
    points = np.random.default_rng(1).uniform(0, 1000, (overlaps._ALL // 2, 3))
    some = np.concatenate([points, points[:10]])
    assert added(some, 60_000) == 10
    assert added(np.concatenate([some, points, points]), 60_000) == 0


def test_a_lattice_of_too_many_cells_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    corners = np.array([[0.0, 0, 0], [1, 1, 1], [1e5, 1e5, 1e5]])
    assert marked(corners, 1) is None
    assert marked(np.array([[0.0, 0, 0], [1, 1, 1], [1e300, 0, 0]]), 1) is None
    monkeypatch.setattr(lattices, "_MOST_BITS", 1000)
    points = lattice(*[np.arange(10.0)] * 3)
    assert marked(points, 4) is None  # x by eights: 1,600
    assert marked(points[:500], 4) == 0


def chunks_of(points: Floats) -> Iterator[Floats]:
    yield from np.array_split(points, 40)


def test_memory_is_a_bit_a_cell() -> None:
    bits = LatticeBits(np.zeros((1, 3)), np.ones(3))
    for chunk in chunks_of(lattice(*[np.arange(100.0)] * 3)):
        assert bits.add(chunk)
    assert bits._bits.nbytes < 8 * 1_000_000 / 8 and bits.again == 0


@pytest.mark.parametrize("spacing", [10.0, 12.5, 0.1])
def test_different_places_with_one_hash_are_told_apart(
    spacing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    axis = 500_000 + spacing * np.arange(20)
    points = lattice(axis, axis + 6_500_000, axis / 1000)
    assert added(points, 1000) == 0
    monkeypatch.setattr(overlaps, "point_hashes", lambda points: np.zeros(len(points), np.uint64))
    assert added(np.concatenate([points, points[:4]]), 1000) == 4


def test_a_line_with_minute_steps_takes_no_room_for_all_of_them() -> None:
    """The coordinates of so fine an axis once took 16 GB, and a minute."""
    values = np.arange(5000) * 1e-9
    values[-1] = 2.0
    points = np.asfortranarray(np.stack([values, *np.ones((2, 5000))], axis=1))
    bits = LatticeBits(points, np.ones(3))
    tracemalloc.start()
    try:
        assert not bits.add(points)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()


def test_few_places_that_lie_far_apart_take_little_memory() -> None:
    points = np.random.default_rng(3).integers(0, 1000, (1000, 3)) * 1.0
    tracemalloc.start()
    try:
        counted = RepeatedCentroids()
        counted.add(points, None)
        assert counted.again == 0
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
