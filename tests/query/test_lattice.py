"""Lattices: any axes in any order, packed or not, and points recognised as one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapes import cube, odd_on_purpose, random_body, staircase, star

import geodomain
from geodomain.arrays import as_columns
from geodomain.compute import choose
from geodomain.compute.rows import recognise
from geodomain.query import lattice

MESH = star(14, centre=(414_000.3, 7_480_000.7, 310.1))
AXES = [
    np.linspace(low - 1, high + 1, n)
    for low, high, n in zip(*MESH.bounds, (31, 29, 70), strict=True)
]


def as_points(axes, order=(0, 1, 2)) -> np.ndarray:
    """Return the lattice row by row, ``order[0]`` running slowest."""
    parts = np.meshgrid(*[axes[axis] for axis in order], indexing="ij")
    columns = {axis: part.ravel() for axis, part in zip(order, parts, strict=True)}
    return np.stack([columns[axis] for axis in range(3)], axis=1)


def one_by_one(axes) -> np.ndarray:
    labels = geodomain.PointLocator(MESH).contains(as_points(axes))
    return labels.reshape([len(axis) for axis in axes])


def test_lattice_equals_points_one_by_one(backend: str) -> None:
    labels = geodomain.contains_lattice(MESH, *AXES, backend=backend)
    assert labels.shape == (31, 29, 70)
    assert labels.flags.c_contiguous
    assert np.array_equal(labels, one_by_one(AXES))


axis_values = st.lists(st.integers(0, 40), min_size=0, max_size=20)


@settings(max_examples=60, deadline=None)
@given(axis_values, axis_values, axis_values, st.booleans())
def test_axes_in_any_order_with_duplicates(x, y, z, packed: bool) -> None:
    low, high = MESH.bounds
    axes = [low[i] + np.array(values) / 40 * (high - low)[i] for i, values in enumerate((x, y, z))]
    expected = one_by_one(axes)
    labels = geodomain.contains_lattice(MESH, *axes, packed=packed)
    if packed:
        assert labels.shape == (len(x), len(y), (len(z) + 7) // 8)
        labels = np.unpackbits(labels, axis=2, count=len(z), bitorder="little").astype(bool)
    assert np.array_equal(labels, expected)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 63, 64, 65, 128, 130])
def test_packed_rows_are_padded_with_zeros(count: int, backend: str) -> None:
    z = np.linspace(-0.5, 0.9, count)
    packed = geodomain.contains_lattice(cube(), [0.5], [0.5, 2.0], z, packed=True, backend=backend)
    assert packed.dtype == np.uint8
    expected = np.packbits((z >= 0)[None, None].repeat(2, 1), axis=2, bitorder="little")
    expected[:, 1] = 0
    assert np.array_equal(packed, expected)


def test_irregular_axes_with_clusters(backend: str) -> None:
    """A sub-blocked model's coordinates: many in one place, few elsewhere, one far away."""
    low, high = MESH.bounds
    rng = np.random.default_rng(3)
    axes = [
        np.unique(np.concatenate([c + rng.random(40) * 1e-3, np.linspace(a, b, 9), [b + 1e9]]))
        for a, b, c in zip(low, high, (low + high) / 2, strict=True)
    ]
    labels = geodomain.contains_lattice(MESH, *axes, backend=backend)
    assert np.array_equal(labels, one_by_one(axes))


def test_coordinates_that_are_not_finite_are_outside(backend: str) -> None:
    labels = geodomain.contains_lattice(
        cube(), [0.5, np.nan], [np.inf, 0.5], [0.5, -np.inf, 0.25], backend=backend
    )
    expected = np.zeros((2, 2, 3), dtype=bool)
    expected[0, 1, [0, 2]] = True
    assert np.array_equal(labels, expected)


def test_axes_are_checked() -> None:
    with pytest.raises(ValueError, match="y must be one-dimensional"):
        geodomain.contains_lattice(cube(), [0.5], [[0.5]], [0.5])


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_points_of_any_nesting_are_recognised(order) -> None:
    points = as_points(AXES, order)
    columns = tuple(points.T)
    found = recognise(columns, 2)
    assert found is not None
    assert found[0] == order[::-1]
    labels = lattice.label_ordered(MESH, as_columns(points), choose("cpu"), 2)
    assert np.array_equal(labels, geodomain.PointLocator(MESH).contains(points))
    assert np.array_equal(geodomain.contains(MESH, points), labels)


@pytest.mark.parametrize("row", [0, 1, 40, 4000, -1])
@pytest.mark.parametrize("axis", range(3))
def test_one_value_off_is_no_lattice(row: int, axis: int) -> None:
    points = as_points(AXES)
    points[row, axis] = np.nextafter(points[row, axis], np.inf)
    assert recognise(tuple(points.T), 2) is None
    assert np.array_equal(
        geodomain.contains(MESH, points), geodomain.PointLocator(MESH).contains(points)
    )


@pytest.mark.parametrize("kind", ["masked", "shuffled", "short", "not a number", "sub-blocked"])
def test_other_models_get_the_same_labels(kind: str) -> None:
    points = as_points(AXES)
    rng = np.random.default_rng(1)
    if kind == "masked":
        points = points[rng.random(len(points)) < 0.7]
    elif kind == "shuffled":
        points = points[rng.permutation(len(points))]
    elif kind == "short":
        points = points[:-1]
    elif kind == "not a number":
        points[5000] = np.nan
    else:
        fine = (points[::7, None] + rng.choice([-0.25, 0.25], (1, 8, 3))).reshape(-1, 3)
        points = np.concatenate([np.delete(points, slice(None, None, 7), axis=0), fine])
    rows = rng.choice(len(points), 3000)
    labels = geodomain.contains(MESH, points)
    crossings = geodomain.count_crossings(MESH, points[rows])
    assert np.array_equal(labels[rows], crossings % 2 == 1)


@odd_on_purpose
def test_tall_columns_of_a_staircase(backend: str) -> None:
    filled = random_body((3, 4, 200), seed=8)
    mesh = staircase(filled, (10.0, 10.0, 2.5), (414_000.0, 7_480_000.0, -250.0))
    axes = [
        o + np.arange(n) * s
        for n, s, o in zip(filled.shape, (10, 10, 2.5), (414_000, 7_480_000, -250), strict=True)
    ]
    assert np.array_equal(geodomain.contains_lattice(mesh, *axes, backend=backend), filled)
