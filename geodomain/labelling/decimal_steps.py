"""Coordinates of blocks along an axis, learnt from some: decimal numbers, whole steps apart."""

from __future__ import annotations

import math
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import distinct

Floats = NDArray[np.float64]

# Integers below are exact in float64; so are the powers of ten, and a quotient is rounded once.
_EXACT = 2.0**53
_MOST_DECIMALS = 9
# Of the first rows of a chunk so many coordinates are looked at; steps are sought so often.
_ROWS, _LOOKED, _TRIES = 1 << 16, 4096, 6
# Which part of the coordinates steps must have: the rest may be sub-blocks, or slips.
_SHARE = 0.75


class DecimalSteps(NamedTuple):
    """The numbers (first + n step) / 10^decimals for whole n, as float64, or float32 before that.

    Each is the float nearest to a decimal number, which is what reading one as text gives.
    """

    first: int
    step: int
    decimals: int
    single: bool

    def within(self, low: float, high: float) -> Floats:
        """Return those from one number to another."""
        power = 10.0**self.decimals
        begin = math.floor((low * power - self.first) / self.step) - 1
        end = math.ceil((high * power - self.first) / self.step) + 1
        values = distinct(self.values(np.arange(begin, end + 1)))
        return values[(low <= values) & (values <= high)]

    def values(self, places: NDArray[np.int64]) -> Floats:
        """Return those with some numbers."""
        return _floats(self.first + self.step * places, self.decimals, single=self.single)


class LearntAxis:
    """Coordinates along one axis, as far as those that came tell."""

    def __init__(self) -> None:
        self._known: Floats = np.empty(0)
        self._steps: DecimalSteps | None = None
        self._tries = 0

    def count(self, low: float, high: float) -> float:
        """Return how many lie from one number to another, at most; none where nothing is known."""
        if self._steps is None:
            return float(len(self.within(low, high)))
        return max(0.0, high - low) * 10.0**self._steps.decimals / self._steps.step + 1

    def within(self, low: float, high: float) -> Floats:
        """Return them, ascending strictly."""
        if self._steps is not None:
            return self._steps.within(low, high)
        alone = self._known if len(self._known) == 1 else self._known[:0]
        return alone[(low <= alone) & (alone <= high)]

    def learn(self, values: Floats) -> bool:
        """Look at the first of some coordinates; return whether others are expected than before."""
        if self._tries >= _TRIES or not len(values):
            return False
        values = values[:_ROWS]
        changes = np.flatnonzero(values[1:] != values[:-1])[: _LOOKED - 1] + 1
        some = values[np.append(0, changes)]
        some = some[np.isfinite(some)]
        if np.count_nonzero(self._expects(some)) >= _SHARE * len(some):
            return False
        self._known = distinct(np.concatenate([self._known[-_LOOKED:], some]))
        self._tries += 1
        self._steps = steps_of(self._known) if len(self._known) > 1 else None
        return True

    def _expects(self, values: Floats) -> NDArray[np.bool_]:
        """Return which coordinates are among those expected."""
        steps = self._steps
        if steps is None:
            return np.isin(values, self._known) & (len(self._known) == 1)
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.rint((values * 10.0**steps.decimals - steps.first) / steps.step)
        near: NDArray[np.bool_] = np.abs(places) < _EXACT
        near &= steps.values(np.where(near, places, 0).astype(np.int64)) == values
        return near


def steps_of(values: Floats) -> DecimalSteps | None:
    """Return steps that have most of some ascending coordinates, two at least; None for others."""
    for single, decimals in product((False, True), range(_MOST_DECIMALS + 1)):
        with np.errstate(over="ignore"):
            units = np.rint(values * 10.0**decimals)
        near = np.abs(units) < _EXACT
        numbers = np.where(near, units, 0).astype(np.int64)
        numbers = numbers[near & (_floats(numbers, decimals, single=single) == values)]
        if len(numbers) < 2 or len(numbers) < _SHARE * len(values):
            continue
        step = _commonest(np.diff(numbers))
        rest = _commonest(numbers % step)
        if np.count_nonzero(numbers % step == rest) >= _SHARE * len(values):
            return DecimalSteps(rest, step, decimals, single)
    return None


def _commonest(numbers: NDArray[np.int64]) -> int:
    """Return the number that is there most often, the smallest of several."""
    values, counts = np.unique(numbers, return_counts=True)
    return int(values[counts.argmax()])


def _floats(numbers: NDArray[np.int64], decimals: int, *, single: bool) -> Floats:
    """Return integers by a power of ten, each rounded once; in single precision once more."""
    values = numbers / 10.0**decimals
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64) if single else values
