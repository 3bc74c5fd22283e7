"""Exactly collinear or not, against rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.mesh.edges import collinear

numbers = st.one_of(
    st.integers(-3, 3).map(float),
    st.integers(-9, 9).map(lambda i: 0.1 * i),
    st.integers(-9, 9).map(lambda i: 7_480_000.7 + 0.1 * i),
    st.sampled_from([1e90, -1e90, 1e-90, 2.0**53 + 2]),
)
points = st.tuples(numbers, numbers, numbers)


def by_fractions(a, b, c) -> bool:
    p = [Fraction(x) - Fraction(y) for x, y in zip(b, a, strict=True)]
    q = [Fraction(x) - Fraction(y) for x, y in zip(c, a, strict=True)]
    return all(p[i] * q[j] == p[j] * q[i] for i, j in ((0, 1), (1, 2), (2, 0)))


@pytest.mark.full
@given(st.lists(st.tuples(points, points, points), min_size=1, max_size=20))
def test_it_agrees_with_fractions(triples):
    found = collinear(*(np.array([t[i] for t in triples]) for i in range(3)))
    assert found.tolist() == [by_fractions(*triple) for triple in triples]


@given(points, points, st.integers(-5, 5), st.integers(0, 2), st.booleans())
def test_points_along_a_line_and_one_ulp_beside_it(a, b, steps, axis, nudge):
    a, b = np.array(a), np.array(b)
    c = a + steps * (b - a)
    if nudge:  # one step beside 0 is below the range of a mesh
        c[axis] = np.nextafter(c[axis], np.inf) if c[axis] else 2.0**-306
    assert collinear(a[None], b[None], c[None])[0] == by_fractions(a, b, c)


@pytest.mark.parametrize("scale", [2.0**-300, 1.0, 2.0**330])
def test_the_whole_range_of_a_mesh_is_decided(scale):
    a, b, c = (np.array([p]) * scale for p in ([0.0, 0, 0], [1.0, 3, 5], [3.0, 9, 15]))
    assert collinear(a, b, c)[0]
    c[0, 0] = np.nextafter(c[0, 0], np.inf)
    assert not collinear(a, b, c)[0]
