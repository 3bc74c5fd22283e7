"""Coordinates that are expected along an axis: those of decimal numbers, as text is read."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from geodomain.lattice import LearntAxis, steps_of


def decimals(first: str, step: str, count: int) -> np.ndarray:
    """Return float64 as text of decimal numbers is read."""
    return np.array([float(Decimal(first) + n * Decimal(step)) for n in range(count)])


@pytest.mark.parametrize(
    ("first", "step"),
    [("2296021.15", "0.1"), ("-7.5", "2.5"), ("0.000001", "0.3"), ("5", "10"), ("1e6", "0.0125")],
)
def test_what_comes_is_what_was_expected(first: str, step: str) -> None:
    values = decimals(first, step, 3000)
    steps = steps_of(values[40:60])
    assert steps is not None
    assert np.isin(values, steps.within(values[0], values[-1])).all()
    assert len(steps.within(values[0], values[-1])) == len(values)
    assert (np.diff(steps.within(values[3], values[90])) > 0).all()


def test_single_precision() -> None:
    values = decimals("1000.05", "0.1", 500).astype(np.float32).astype(np.float64)
    steps = steps_of(values[:50])
    assert steps is not None
    assert steps.single
    assert np.isin(values, steps.within(values[0], values[-1])).all()


def test_a_few_that_are_off_do_not_make_the_steps_narrow() -> None:
    values = decimals("0.5", "10", 100)
    steps = steps_of(np.union1d(values, [33.337, 512.01, 7.123456]))
    assert steps is not None
    assert steps.within(0, 999).tolist() == values.tolist()


@pytest.mark.parametrize(
    "values", [np.random.default_rng(1).uniform(size=50), [1e300, 2e300], [0.1, 1 / 3, np.pi]]
)
def test_what_has_no_steps(values: list[float]) -> None:
    assert steps_of(np.sort(values)) is None


def test_an_axis_is_learnt_again_where_it_was_wrong() -> None:
    axis = LearntAxis()
    assert axis.count(0, 100) == 0
    assert axis.learn(np.array([5.0, 5.0, np.nan]))
    assert axis.within(0, 100).tolist() == [5.0]
    assert not axis.learn(np.array([5.0, np.inf]))
    assert axis.learn(np.array([15.0, 15.0]))
    assert axis.within(0, 40).tolist() == [5.0, 15.0, 25.0, 35.0]
    assert axis.count(0, 40) >= 4
    assert not axis.learn(np.array([95.0, -15.0, 1005.0, 25.0]))
    assert axis.learn(np.array([10.0, 20.0]))
    assert axis.within(0, 16).tolist() == [0.0, 5.0, 10.0, 15.0]
    assert not axis.learn(np.empty(0))


def test_learning_ends() -> None:
    axis, random = LearntAxis(), np.random.default_rng(3)
    assert sum(axis.learn(random.uniform(size=99)) for _ in range(40)) < 10
    assert not axis.learn(np.array([np.nan, 1e308, -1e308]))
