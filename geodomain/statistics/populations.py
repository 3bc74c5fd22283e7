"""Exact statistics of weighted values: quantiles, mean, variance, and the effect of a top cut."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.volumes.exact_sums import ONE, exact_sums, nearest_float

# Terms of a block. The sum before each block is kept; other sums add part of a block again.
_TOGETHER, _IN_ROW = 4096, 64
# Up to here, the square of a value, times a weight, fits into float64.
LARGEST = 1e100

# Percentiles whose values are candidates for a top cut.
_CANDIDATES = tuple(
    Fraction(part, 10_000)
    for part in (*range(9000, 9900, 100), *range(9900, 10_000, 10), 9995, 9999, 10_000)
)


class RunningSums:
    """Exact sums of the first terms of a sequence, without rounding.

    Parameters
    ----------
    terms : (n,) float64
        Finite terms.

    Examples
    --------
    >>> sums = RunningSums(np.array([0.5, 0.25, 4.0]))
    >>> nearest_float(sums.up_to(2)), nearest_float(sums.total)
    (0.75, 4.75)
    """

    def __init__(self, terms: Floats) -> None:
        self._terms = terms
        blocks = np.arange(len(terms)) // _TOGETHER
        sums = exact_sums(terms, blocks, -(-len(terms) // _TOGETHER))
        self._before = [0, *accumulate(sums)]

    @property
    def total(self) -> int:
        """The sum of all terms, in units of 2^-1126."""
        return self._before[-1]

    def up_to(self, count: int) -> int:
        """Return the sum of the first `count` terms, in units of 2^-1126."""
        block = count // _TOGETHER
        rest = self._terms[block * _TOGETHER : count]
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
            terms = self._terms[start : start + (_TOGETHER if size > 1 else _IN_ROW)]
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
        The values in ascending order.

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
        self.values = values[order]
        self._weights = None if weights is None else weights[order]
        self._holes = None if holes is None else holes[order]

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)

    @property
    def weight(self) -> float:
        """The total weight."""
        return nearest_float(self._total)

    @property
    def minimum(self) -> float:
        """The least value."""
        return float(self.values[0])

    @property
    def maximum(self) -> float:
        """The largest value."""
        return float(self.values[-1])

    def quantile(self, share: Fraction) -> float:
        """Return the first value whose cumulative weight reaches a share of the total weight.

        Values are in ascending order; the comparison is exact. The share is above 0, at most 1.
        """
        if self._weights is None:
            return float(self.values[math.ceil(share * len(self)) - 1])
        return float(self.values[self._weight_sums.reaching(share) - 1])

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
        count_below = int(np.searchsorted(self.values, cap, side="right"))
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
        return RunningSums(np.ones(len(self)) if self._weights is None else self._weights)

    @cached_property
    def _products(self) -> RunningSums:
        return RunningSums(self._weighted(self.values))

    @cached_property
    def _exact_mean(self) -> Fraction:
        return Fraction(self._products.total, self._total)

    @cached_property
    def _centre(self) -> float:
        """A float64 near the mean. Squares of deviations from it are small, so they keep digits."""
        return self.mean

    @cached_property
    def _deviations(self) -> RunningSums:
        return RunningSums(self._weighted((self.values - self._centre) ** 2))

    def _weighted(self, terms: Floats) -> Floats:
        return terms if self._weights is None else terms * self._weights

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
    def _first_places(self) -> NDArray[np.intp]:
        """The place of each hole's largest value among the values in descending order, sorted."""
        holes = np.empty(0, np.int32) if self._holes is None else self._holes
        return np.sort(np.unique(holes[::-1], return_index=True)[1])


def _cv(mean: float, variance: float) -> float | None:
    return math.sqrt(variance) / mean if mean > 0 else None
