"""Exact statistics of weighted values: quantiles, mean, variance, and the effect of a top cut."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.volumes.exact_sums import ONE, exact_sums, nearest_float

# Terms of a block. The sum before each block is kept; other sums add part of a block again.
_TOGETHER, _IN_ROW = 4096, 64
# Terms that are computed at once.
_AT_ONCE = 256 * _TOGETHER
# Up to here, the square of a value, times a weight, fits into float64.
LARGEST = 1e100

# Percentiles whose values are candidates for a top cut.
_CANDIDATES = tuple(
    Fraction(part, 10_000)
    for part in (*range(9000, 9900, 100), *range(9900, 10_000, 10), 9995, 9999, 10_000)
)


class Numbers(Protocol):
    """An array of numbers in memory or on disk, which is read in slices."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __getitem__(self, place: slice, /) -> Floats:
        """Return the rows of a slice."""


class Holes(Protocol):
    """An array of the numbers of holes in memory or on disk, which is read in slices."""

    def __getitem__(self, place: slice, /) -> NDArray[np.int32]:
        """Return the rows of a slice."""


class SortedRows(NamedTuple):
    """Values in ascending order, with their weights and the numbers of their holes.

    Attributes
    ----------
    values : (n,) float64
        Finite values, in memory or on disk.
    weights : (n,) float64, optional
        Positive weights; None if each value has the weight 1.
    holes : (n,) int32, optional
        Number of the hole of each value; None if holes are not known.
    """

    values: Numbers
    weights: Numbers | None = None
    holes: Holes | None = None


class RunningSums:
    """Exact sums of the first terms of a sequence, without rounding.

    Parameters
    ----------
    terms : callable
        Returns the finite terms of a slice.
    count : int
        Number of terms.

    Examples
    --------
    >>> sums = RunningSums(np.array([0.5, 0.25, 4.0]).__getitem__, 3)
    >>> nearest_float(sums.up_to(2)), nearest_float(sums.total)
    (0.75, 4.75)
    """

    def __init__(self, terms: Callable[[slice], Floats], count: int) -> None:
        self._terms = terms
        sums: list[int] = []
        for start in range(0, count, _AT_ONCE):
            some = terms(slice(start, start + _AT_ONCE))
            sums += exact_sums(some, np.arange(len(some)) // _TOGETHER, -(-len(some) // _TOGETHER))
        self._before = [0, *accumulate(sums)]

    @property
    def total(self) -> int:
        """The sum of all terms, in units of 2^-1126."""
        return self._before[-1]

    def up_to(self, count: int) -> int:
        """Return the sum of the first `count` terms, in units of 2^-1126."""
        block = count // _TOGETHER
        rest = self._terms(slice(block * _TOGETHER, count))
        return self._before[block] + exact_sums(rest, np.zeros(len(rest), np.intp), 1)[0]

    def reaching(self, share: Fraction) -> int:
        """Return the least number of first terms whose sum is at least a share of the total.

        All terms must be positive, and the share above 0 and at most 1.
        """
        wanted, parts = share.numerator * self.total, share.denominator
        block = bisect_left(self._before, wanted, key=lambda total: total * parts) - 1
        start, before = block * _TOGETHER, self._before[block]
        # The place is narrowed down to a row of terms, and then to a term.
        for size in (_IN_ROW, 1):
            terms = self._terms(slice(start, start + (_TOGETHER if size > 1 else _IN_ROW)))
            sums = exact_sums(terms, np.arange(len(terms)) // size, -(-len(terms) // size))
            totals = [*accumulate(sums, initial=before)]
            place = bisect_left(totals, wanted, key=lambda total: total * parts) - 1
            start, before = start + place * size, totals[place]
        return start + 1


class Cut(NamedTuple):
    """The effect of a top cut: values above the cap count as the cap.

    Attributes
    ----------
    cap : float
        The cap.
    percentile : float
        Share of the weight at or below the cap, in percent.
    samples : int
        Number of values above the cap.
    holes : int, optional
        Number of holes with a value above the cap; None if holes are not known.
    mean, variance : float
        Mean and variance of the cut values.
    cv : float, optional
        Coefficient of variation of the cut values; None if their mean is not above 0.
    lost : float, optional
        Share of the metal that the cut removes, 0 to 1; None if the mean of the uncut values is
        not above 0.
    """

    cap: float
    percentile: float
    samples: int
    holes: int | None
    mean: float
    variance: float
    cv: float | None
    lost: float | None


class Population:
    """Values with weights, sorted.

    The order in which the values are given does not matter: sums are exact and rounded once. Only
    the terms of a sum, such as the product of a value and its weight, are rounded before.

    Parameters
    ----------
    values : (n,) float64
        Finite values, at least one.
    weights : (n,) float64, optional
        Positive weights, such as lengths; by default, each value has the weight 1.
    holes : (n,) int32, optional
        Number of the hole of each value, to count the holes that a top cut affects.

    Attributes
    ----------
    values : (n,) float64
        The values in ascending order, in memory or on disk.

    Examples
    --------
    >>> grades = Population(np.array([4.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    >>> grades.mean, grades.variance, grades.quantile(Fraction(1, 2))
    (2.0, 1.5, 1.0)
    """

    def __init__(
        self,
        values: Floats,
        weights: Floats | None = None,
        holes: NDArray[np.int32] | None = None,
    ) -> None:
        order = np.argsort(values)
        self._take(
            SortedRows(
                values[order],
                None if weights is None else weights[order],
                None if holes is None else holes[order],
            )
        )

    @classmethod
    def of_sorted(cls, rows: SortedRows) -> Population:
        """Return the population of values that are sorted already, in memory or on disk."""
        population = cls.__new__(cls)
        population._take(rows)
        return population

    def _take(self, rows: SortedRows) -> None:
        self.values, self._weights, self._holes = rows

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    def _value(self, place: int) -> float:
        """Return the value at a place, counted from 0."""
        return float(self.values[place : place + 1][0])

    @property
    def weight(self) -> float:
        """The total weight."""
        return nearest_float(self._total)

    @property
    def minimum(self) -> float:
        """The least value."""
        return self._value(0)

    @property
    def maximum(self) -> float:
        """The largest value."""
        return self._value(len(self) - 1)

    def quantile(self, share: Fraction) -> float:
        """Return the first value whose cumulative weight reaches a share of the total weight.

        Values are in ascending order; the comparison is exact. The share is above 0, at most 1.
        """
        if self._weights is None:
            return self._value(math.ceil(share * len(self)) - 1)
        return self._value(self._weight_sums.reaching(share) - 1)

    @property
    def mean(self) -> float:
        """The weighted mean."""
        return self._within(nearest_float(*self._exact_mean.as_integer_ratio()))

    @property
    def variance(self) -> float:
        """The mean squared deviation from the mean; its divisor is the total weight."""
        return self._variance(self._deviations.total, self._exact_mean)

    @property
    def cv(self) -> float | None:
        """The coefficient of variation; None if the mean is not above 0."""
        return _cv(self.mean, self.variance)

    def cut(self, cap: float) -> Cut:
        """Return the effect of a top cut.

        The statistics follow from the sums up to the cap, so no array of cut values is needed.
        """
        count_below = bisect_right(range(len(self)), cap, key=self._value)
        below = count_below * ONE if self._weights is None else self._weight_sums.up_to(count_below)
        above, total = self._total - below, self._total
        limit = Fraction(cap)
        mean = (Fraction(self._products.up_to(count_below)) + limit * above) / total
        far = (limit - Fraction(self._centre)) ** 2 * above
        squares = Fraction(self._deviations.up_to(count_below)) + far
        cut_mean = min(nearest_float(*mean.as_integer_ratio()), cap, self.maximum)
        variance = self._variance(squares, mean) if cap > self.minimum else 0.0
        removed = 1 - mean / self._exact_mean if self._exact_mean > 0 else None
        return Cut(
            cap=cap,
            percentile=nearest_float(100 * below, total),
            samples=len(self) - count_below,
            holes=self._holes_after(count_below),
            mean=cut_mean,
            variance=variance,
            cv=_cv(cut_mean, variance),
            lost=None if removed is None else max(float(removed), 0.0),
        )

    def cut_curve(self) -> Iterator[Cut]:
        """Yield the effects of top cuts at distinct percentiles, from the 90th to the maximum."""
        for cap in dict.fromkeys(self.quantile(share) for share in _CANDIDATES):
            yield self.cut(cap)

    @cached_property
    def _total(self) -> int:
        return len(self) * ONE if self._weights is None else self._weight_sums.total

    @cached_property
    def _weight_sums(self) -> RunningSums:
        return self._sums(np.ones_like)

    @cached_property
    def _products(self) -> RunningSums:
        return self._sums(lambda values: values)

    @cached_property
    def _exact_mean(self) -> Fraction:
        return Fraction(self._products.total, self._total)

    @cached_property
    def _centre(self) -> float:
        """A float64 near the mean. Squares of deviations from it are small, so they keep digits."""
        return self.mean

    @cached_property
    def _deviations(self) -> RunningSums:
        return self._sums(lambda values: (values - self._centre) ** 2)

    def _sums(self, term: Callable[[Floats], Floats]) -> RunningSums:
        """Return the sums of a term of each value, times its weight."""
        weights = self._weights

        def terms(some: slice) -> Floats:
            own = term(self.values[some])
            return own if weights is None else own * weights[some]

        return RunningSums(terms, len(self))

    def _variance(self, squares: int | Fraction, mean: Fraction) -> float:
        """Return the variance from the sum of squared deviations from the centre."""
        if self.minimum == self.maximum:
            return 0.0
        shift = mean - Fraction(self._centre)
        exact = Fraction(squares) / self._total - shift * shift
        return max(nearest_float(*exact.as_integer_ratio()), 0.0)

    def _within(self, mean: float) -> float:
        """Limit a mean to the range of the values, because rounded products may move it beyond."""
        return min(max(mean, self.minimum), self.maximum)

    def _holes_after(self, count_below: int) -> int | None:
        if self._holes is None:
            return None
        return int(np.searchsorted(self._first_places, len(self) - count_below))

    @cached_property
    def _first_places(self) -> NDArray[np.int64]:
        """The place of each hole's largest value among the values in descending order, sorted."""
        first: NDArray[np.int64] = np.empty(0, np.int64)
        for stop in range(len(self) if self._holes is not None else 0, 0, -_AT_ONCE):
            assert self._holes is not None
            holes, places = np.unique(
                self._holes[max(stop - _AT_ONCE, 0) : stop][::-1], return_index=True
            )
            more = int(holes[-1]) + 1 - len(first)
            first = np.concatenate([first, np.full(max(more, 0), len(self))])
            first[holes] = np.minimum(first[holes], places + (len(self) - stop))
        return np.sort(first[first < len(self)])


def _cv(mean: float, variance: float) -> float | None:
    return math.sqrt(variance) / mean if mean > 0 else None
