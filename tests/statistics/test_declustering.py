"""Cell declustering: against a plain program, examples by hand, and a deposit of known mean."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from geodomain.statistics import declustering
from geodomain.statistics.declustering import Cell, Declustering, Trial, best


def plain_weights(points: np.ndarray, cell: Cell, origins: int) -> list[Fraction]:
    """Return declustering weights as a textbook computes them, sample by sample."""
    rows = [[Fraction(value) for value in row] for row in points.tolist()]
    low = [min(row[axis] for row in rows) for axis in range(3)]
    sums = [Fraction(0)] * len(rows)
    for shift in range(origins):
        cells = [
            tuple(
                (row[axis] - low[axis]) / Fraction(cell[axis]) // 1
                if shift == 0
                else ((row[axis] - low[axis]) / Fraction(cell[axis]) + Fraction(shift, origins))
                // 1
                for axis in range(3)
            )
            for row in rows
        ]
        samples = Counter(cells)
        for place, own in enumerate(cells):
            sums[place] += Fraction(1, samples[own] * len(samples))
    return [each * len(rows) / origins for each in sums]


def points_of(count: int, seed: int = 3) -> np.ndarray:
    """Return samples along vertical holes, some of them close together, at whole numbers."""
    random = np.random.default_rng(seed)
    holes = random.integers(0, 400, (count // 10, 2))
    holes[: count // 30] //= 8
    depth = np.tile(np.arange(10), count // 10)[:, None] * 7
    points = np.hstack([np.repeat(holes, 10, axis=0), depth]).astype(float)
    return points + np.array([7e6, 4e5, -100])


@pytest.mark.parametrize("origins", [1, 3, 8])
@pytest.mark.parametrize("cell", [(50.0, 50.0, 50.0), (33.0, 80.0, 10.0), (9e3, 9e3, 9e3)])
def test_weights_are_those_of_a_plain_program(cell: Cell, origins: int) -> None:
    points = points_of(300)
    found = Declustering(points, origins).weights(cell)
    assert found.tolist() == pytest.approx(
        [float(each) for each in plain_weights(points, cell, origins)], rel=1e-12
    )
    assert found.mean() == pytest.approx(1.0)


def test_an_example_by_hand() -> None:
    """Four holes: three in one cell of 10, one in another; values 8, 10, 12 and 2.

    With the first origin the cells hold {0, 4, 9} and {10}: weights 2/3 and 2. With the second,
    half a cell to the left, they hold {0, 4} and {9, 10}: all weights are 1. The means of both are
    5/6, 5/6, 5/6 and 3/2, and the declustered mean is (5/6 x 30 + 3/2 x 2) / 4 = 7.
    """
    points = np.array([[0.0, 0, 0], [4, 0, 0], [9, 0, 0], [10, 0, 0]])
    values = np.array([8.0, 10, 12, 2])
    grid = Declustering(points, 1, values=values)
    assert grid.weights((10, 10, 10)).tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])
    assert grid.trial((10, 10, 10)).mean == pytest.approx(6.0)
    grid = Declustering(points, 2, values=values)
    assert grid.weights((10, 10, 10)).tolist() == pytest.approx([5 / 6, 5 / 6, 5 / 6, 3 / 2])
    trial = grid.trial((10, 10, 10))
    assert (trial.mean, trial.cells) == (pytest.approx(7.0), 2.0)
    # The last sample is twice as long as the others: (25 + 3 x 2) / (5/2 + 3).
    grid = Declustering(points, 2, values=values, lengths=np.array([1.0, 1, 1, 2]))
    assert grid.trial((10, 10, 10)).mean == pytest.approx((25 + 6) / 5.5)


def test_crowded_samples_of_a_cell_count_as_its_one_sample() -> None:
    """A hundred more samples at one node of a regular grid do not change its mean."""
    x, y = (each.ravel() for each in np.meshgrid(np.arange(10.0), np.arange(10.0)))
    values = x + 100 * y
    points = np.column_stack([x, y, np.zeros(100)]) * 50
    crowd = np.repeat(points[99:], 100, axis=0)
    both, grades = np.vstack([points, crowd]), np.append(values, np.full(100, values[99]))
    found = Declustering(both, 1, values=grades).trial((50, 50, 50))
    assert found.mean == pytest.approx(values.mean(), rel=1e-14) and found.cells == 100
    assert grades.mean() > 1.4 * values.mean()


def test_many_empty_cells_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_of(300) * [1e4, 1e4, 1e3]
    cell = (50.0, 50.0, 50.0)
    wanted = [float(each) for each in plain_weights(points, cell, 2)]
    monkeypatch.setattr(declustering, "_SMALL", 1)
    for dense in (0, 1, 4):
        monkeypatch.setattr(declustering, "_DENSE", dense)
        assert Declustering(points, 2).weights(cell).tolist() == pytest.approx(wanted, rel=1e-12)


def test_threads_and_order_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    points = points_of(600)
    values = np.random.default_rng(1).lognormal(size=600)
    cell = (40.0, 40.0, 20.0)
    one = Declustering(points, 8, threads=1, values=values)
    monkeypatch.setattr(declustering, "_SMALL", 1)
    assert (Declustering(points, 8, threads=3).weights(cell) == one.weights(cell)).all()
    order = np.random.default_rng(2).permutation(600)
    other = Declustering(points[order], 8, values=values[order])
    assert (other.weights(cell) == one.weights(cell)[order]).all()
    assert other.trial(cell) == one.trial(cell)


def test_a_sample_on_a_wall_by_rounding_is_on_it() -> None:
    """In float64, 0.3 / 0.1 is less than 3."""
    points = np.array([[0.0, 0, 0], [0.1, 0, 0], [0.2, 0, 0], [0.3, 0, 0]])
    assert Declustering(points, 1).weights((0.1, 1, 1)).tolist() == [1.0] * 4


def test_the_curve_turns_at_the_spacing_of_the_sparse_holes() -> None:
    """Poor ground is drilled at 100, and a rich spot at 10: the least mean is with cells of 100."""
    x, y = (each.ravel() * 100.0 for each in np.meshgrid(np.arange(20), np.arange(20)))
    wide = np.column_stack([x, y, np.zeros_like(x)])
    x, y = (each.ravel() * 10.0 for each in np.meshgrid(np.arange(20), np.arange(20)))
    dense = np.column_stack([x + 905, y + 905, np.zeros_like(x)])
    points = np.vstack([wide, dense])
    rich = (np.abs(points[:, :2] - 1000) < 110).all(axis=1)
    values = np.where(rich, 10.0, 1.0)
    grid = Declustering(points, 8, values=values)
    trials = [grid.trial(cell) for cell in grid.sizes((1, 1, 1))]
    chosen = best(trials, maximise=False)
    assert chosen is not None and 80 <= chosen.cell[0] <= 130
    # 9 of the 400 wide nodes are rich, so the true mean is 1.2025.
    assert values.mean() > 5 and chosen.mean == pytest.approx(1.2025, abs=0.02)
    assert best(trials, maximise=True) is None
    turned = [trial._replace(mean=-trial.mean) for trial in trials]
    assert best(turned, maximise=True) == chosen._replace(mean=-chosen.mean)


def test_a_curve_that_does_not_turn_has_no_best_size() -> None:
    def curve(*means: float) -> list[Trial]:
        return [Trial((size, size, size), mean, 1.0) for size, mean in enumerate(means, 1)]

    assert best(curve(3, 2, 2.5), maximise=False) == Trial((2, 2, 2), 2, 1.0)
    for means in ((1, 2, 3), (3, 2, 1), (1, 1, 1), (1, 2, 1), (2, 1, 1), (5,)):
        assert best(curve(*means), maximise=False) is None


def test_sizes_that_are_tried() -> None:
    grid = Declustering(np.array([[0.0, 0, 0], [1000, 200, 90]]), 1)
    sizes = grid.sizes((1, 1, 0.1))
    assert sizes[0] == (5.0, 5.0, 0.5) and sizes[-1] == (500.0, 500.0, 50.0)
    assert len(sizes) == 20 and sizes == sorted(sizes)
    flat = grid.sizes((1, 1, 0.01))  # 90 / 0.01 is the longest side then
    assert flat[-1] == (4500.0, 4500.0, 45.0)
