"""Weighted quantiles, means, variances and top cuts: against rational arithmetic and formulas."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.statistics import populations
from geodomain.statistics.populations import Population, RunningSums
from geodomain.volumes.exact_sums import ONE

SHARES = [Fraction(part, 100) for part in (1, 25, 50, 75, 90, 95, 99, 100)] + [Fraction(1, 3)]
# Many ties, and decimals that float64 rounds: ten lengths of 0.1 are more than 1.
values = st.one_of(st.integers(0, 5).map(float), st.floats(-1e6, 1e6, width=32))
weights = st.one_of(st.sampled_from([0.1, 0.2, 0.3, 1.0, 1.5]), st.floats(1e-3, 1e3))
pairs = st.lists(st.tuples(values, weights), min_size=1, max_size=40)


def weighted_quantile(rows: list[tuple[float, float]], share: Fraction) -> float:
    """Return the first value whose cumulative weight reaches a share of the total."""
    total = sum(Fraction(weight) for _, weight in rows)
    reached = Fraction(0)
    for value, weight in sorted(rows):
        reached += Fraction(weight)
        if reached >= share * total:
            return value
    raise AssertionError


def moments(rows: list[tuple[float, float]]) -> tuple[Fraction, Fraction]:
    total = sum(Fraction(weight) for _, weight in rows)
    mean = sum(Fraction(value) * Fraction(weight) for value, weight in rows) / total
    squares = sum((Fraction(value) - mean) ** 2 * Fraction(weight) for value, weight in rows)
    return mean, squares / total


def population(rows: list[tuple[float, float]]) -> Population:
    return Population(np.array([row[0] for row in rows]), np.array([row[1] for row in rows]))


@pytest.fixture(params=[3, 4096], ids=["many parts", "one part"])
def together(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the sums after every third term, so that few values have many parts."""
    monkeypatch.setattr(populations, "_TOGETHER", request.param)


@pytest.mark.parametrize("parts", [3, 4096])
@given(pairs)
def test_a_quantile_is_the_first_value_that_reaches_its_share(
    parts: int, rows: list[tuple[float, float]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(populations, "_TOGETHER", parts)
        found = population(rows)
        for share in SHARES:
            assert found.quantile(share) == weighted_quantile(rows, share)
        alike = [(value, 1.0) for value, _ in rows]
        plain = Population(np.array([value for value, _ in rows]))
        assert [plain.quantile(share) for share in SHARES] == [
            weighted_quantile(alike, share) for share in SHARES
        ]


@given(pairs, st.integers(1, 6).map(float))
def test_moments_and_cuts_are_those_of_rational_arithmetic(
    rows: list[tuple[float, float]], cap: float
) -> None:
    found = population(rows)
    cut = found.cut(cap)
    lower = [(min(value, cap), weight) for value, weight in rows]
    size = max(abs(value) for value, _ in rows)
    for (mean, variance), one in ((moments(rows), found), (moments(lower), cut)):
        assert abs(one.mean - mean) <= 1e-14 * max(size, 1)
        assert abs(one.variance - variance) <= 1e-13 * max(size, 1) ** 2
        assert one.cv is None or one.cv == math.sqrt(one.variance) / one.mean
    total = sum(Fraction(weight) for _, weight in rows)
    below = sum(Fraction(weight) for value, weight in rows if value <= cap)
    assert cut.percentile == float(100 * below / total)
    assert cut.samples == sum(value > cap for value, _ in rows)
    assert found.minimum <= found.mean <= found.maximum


@given(pairs, st.randoms())
def test_the_order_does_not_matter(rows: list[tuple[float, float]], random: object) -> None:
    one = population(rows)
    random.shuffle(rows)  # type: ignore[attr-defined]
    other = population(rows)
    assert (one.mean, one.variance, one.weight) == (other.mean, other.variance, other.weight)
    assert one.cut(2.0) == other.cut(2.0)
    assert [one.quantile(share) for share in SHARES] == [other.quantile(share) for share in SHARES]


def test_ten_tenths_are_one_half_after_five() -> None:
    """The float64 of 0.1, added up with rounding, would reach a half only at the sixth."""
    found = Population(np.arange(1.0, 11.0), np.full(10, 0.1))
    assert found.quantile(Fraction(1, 2)) == 5.0
    assert found.quantile(Fraction(3, 10)) == 3.0 and found.quantile(Fraction(31, 100)) == 4.0


def test_numpy_agrees_where_it_is_exact(together: None) -> None:
    random = np.random.default_rng(7)
    grades = random.lognormal(size=5000).round(2)
    lengths = random.integers(1, 5, 5000).astype(float)
    plain, weighted = Population(grades), Population(grades, lengths)
    for share in SHARES:
        assert plain.quantile(share) == np.quantile(grades, float(share), method="inverted_cdf")
        repeated = np.repeat(grades, lengths.astype(int))
        assert weighted.quantile(share) == np.quantile(
            repeated, float(share), method="inverted_cdf"
        )
    assert plain.mean == pytest.approx(grades.mean(), rel=1e-14)
    assert plain.variance == pytest.approx(grades.var(), rel=1e-13)
    assert weighted.mean == pytest.approx(np.average(grades, weights=lengths), rel=1e-14)
    assert weighted.variance == pytest.approx(np.cov(grades, fweights=lengths.astype(int), ddof=0))
    assert weighted.cv == pytest.approx(math.sqrt(weighted.variance) / weighted.mean)


def test_running_sums_are_exact(together: None) -> None:
    terms = np.array([1e16, 1.0, -1e16, 0.1] * 5)
    sums = RunningSums(terms.__getitem__, len(terms))
    for count in range(len(terms) + 1):
        assert Fraction(sums.up_to(count), ONE) == sum(map(Fraction, terms[:count].tolist()))
    assert sums.total == sums.up_to(len(terms))


def test_equal_values_have_no_variance() -> None:
    found = Population(np.full(7, 0.1), np.array([0.3, 0.7, 1.1, 0.2, 0.9, 0.4, 0.6]))
    assert (found.mean, found.variance, found.cv) == (0.1, 0.0, 0.0)
    cut = found.cut(0.05)
    assert (cut.mean, cut.variance, cut.samples, cut.percentile) == (0.05, 0.0, 7, 0.0)
    assert cut.lost == pytest.approx(0.5)
    nothing = Population(np.array([-1.0, 1.0]))
    assert nothing.cv is None and nothing.cut(0.5).lost is None


def test_a_small_variance_far_from_zero_keeps_its_digits() -> None:
    found = Population(np.array([1e8, 1e8 + 1e-4, 1e8 + 2e-4]))
    assert found.variance == pytest.approx(float(moments([(v, 1) for v in found.values])[1]))


def test_the_holes_that_a_cut_affects() -> None:
    grades = np.array([1.0, 9, 8, 2, 7, 7, 3, 9])
    holes = np.array([0, 0, 0, 1, 1, 2, 2, 3], np.int32)
    found = Population(grades, None, holes)
    for cap in (0.5, 2, 6.9, 7, 8, 9):
        cut = found.cut(cap)
        assert cut.holes == len({*holes[grades > cap].tolist()})
        assert cut.samples == (grades > cap).sum()
    assert Population(grades).cut(2.0).holes is None


# The mean and the mean square of min(X, c) for a lognormal X have closed forms.


def cut_moments(mu: float, sigma: float, cap: float) -> tuple[float, float]:
    normal = NormalDist().cdf
    far = (math.log(cap) - mu) / sigma
    mean, square = (
        math.exp(power * mu + (power * sigma) ** 2 / 2) * normal(far - power * sigma)
        + cap**power * (1 - normal(far))
        for power in (1, 2)
    )
    return mean, square


def test_a_lognormal_population_with_a_known_cap() -> None:
    mu, sigma, cap, count = 0.2, 0.9, 8.0, 200_000
    normal = NormalDist()
    shares = (np.arange(count) + 0.5) / count
    grades = np.exp(mu + sigma * np.array([normal.inv_cdf(share) for share in shares.tolist()]))
    np.random.default_rng(1).shuffle(grades)
    found = Population(grades)
    whole, _ = math.exp(mu + sigma**2 / 2), None
    mean, square = cut_moments(mu, sigma, cap)
    cut = found.cut(cap)
    assert found.mean == pytest.approx(whole, rel=1e-4)
    assert found.quantile(Fraction(1, 2)) == pytest.approx(math.exp(mu), rel=1e-4)
    assert cut.mean == pytest.approx(mean, rel=1e-4)
    assert cut.cv == pytest.approx(math.sqrt(square - mean**2) / mean, rel=1e-4)
    assert cut.lost == pytest.approx(1 - mean / whole, rel=1e-2)
    assert cut.percentile == pytest.approx(100 * normal.cdf((math.log(cap) - mu) / sigma), abs=1e-3)
    curve = list(found.cut_curve())
    assert [each.percentile >= 90 for each in curve] == [True] * len(curve)
    assert [each.cap for each in curve] == sorted({each.cap for each in curve})
    assert curve[-1].cap == found.maximum and curve[-1].lost == 0.0 and curve[-1].samples == 0
    assert all(one.lost > other.lost for one, other in pairwise(curve))
