"""Vertices are merged where they are equal as numbers, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodomain.formats.mesh_text import merge_equal


def merged_plainly(rows):
    seen = {}
    index = [seen.setdefault(tuple(row), len(seen)) for row in (rows + 0.0).tolist()]
    return np.array(list(seen)).reshape(-1, 3), np.array(index, dtype=int)


@given(st.lists(st.tuples(*[st.sampled_from([-1.5, -0.0, 0.0, 1e-300, 7480000.7])] * 3)))
def test_rows_are_numbered_by_first_appearance(rows):
    rows = np.array(rows, dtype=float).reshape(-1, 3)
    unique, index = merge_equal(rows)
    expected, where = merged_plainly(rows)
    assert np.array_equal(unique, expected)
    assert np.array_equal(index, where)


def test_many_rows_of_few_values():
    rows = np.random.default_rng(3).integers(0, 9, (20_000, 3)) * 0.1
    unique, index = merge_equal(rows)
    expected, where = merged_plainly(rows)
    assert np.array_equal(unique, expected)
    assert np.array_equal(index, where)


@pytest.mark.full
@pytest.mark.parametrize("again", [0, 30_000, 500_000])
def test_many_rows_of_many_values(again):
    """All different, or some of them again and far away: however many rows there are room for."""
    random = np.random.default_rng(4)
    rows = random.normal(size=(100_000, 3))
    rows = np.concatenate([rows, rows[random.integers(0, len(rows), again)]])
    unique, index = merge_equal(rows)
    expected, where = merged_plainly(rows)
    assert np.array_equal(unique, expected)
    assert np.array_equal(index, where)


def test_a_single_ulp_keeps_vertices_apart():
    rows = np.array([[7480000.7, 0, 0], [np.nextafter(7480000.7, 0), 0, 0]])
    assert len(merge_equal(rows)[0]) == 2


def test_minus_zero_is_zero():
    unique, index = merge_equal(np.array([[0.0, -0.0, 1], [-0.0, 0.0, 1]]))
    assert index.tolist() == [0, 0]
    assert not np.signbit(unique).any()
