"""Volumes by pairs of doubles against fractions: never another double than the expansion's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from geodomain.compute import native

LEVELS = native.levels()
KINDS = ("random", "mine", "integer", "grazing", "edge", "tiny", "huge", "needle", "range")
UNIT = 2.0**-53
PLAIN_BOUND, PLAIN_SHARE = (7.0 + 56.0 * UNIT) * UNIT, 2.0**-48


def hits_of(kind: str, count: int) -> np.ndarray:
    """Return (count, 15) of a triangle's corners, a start and an end on either side, or nearly."""
    rng = np.random.default_rng(19)
    corners = rng.normal(size=(count, 3, 3))
    weights = rng.dirichlet([1, 1, 1], count)
    if kind == "edge":
        weights[:, 2] = 0.0
    size, place = 5.0, np.array([414_000.1, 7_480_000.7, 152.3])
    if kind == "tiny":
        size = 1e-8
    if kind in ("huge", "random"):
        place = np.zeros(3)
    if kind == "huge":
        size = 2.0**330
    if kind == "needle":
        corners[:, 2] = corners[:, 1] + 1e-7 * corners[:, 2]
    corners = corners * size + place
    at = np.einsum("nk,nki->ni", weights, corners)
    along = rng.normal(size=(count, 3)) * size * (2e-9 if kind == "grazing" else 1e2)
    if kind == "huge":
        along *= 1e-2
    part = rng.random((count, 1))
    rows = np.hstack([corners.reshape(count, 9), at - part * along, at + (1 - part) * along])
    if kind == "integer":
        return rng.integers(-3, 4, (count, 15)).astype(float)
    if kind == "range":
        powers = 2.0 ** rng.integers(-300, 330, (count, 15)).astype(float)
        return rng.choice([-1.5, 1.0, 0.0, 1.25, 1.0 + 2.0**-52], (count, 15)) * powers
    return rows


def volumes_of(hits: np.ndarray) -> np.ndarray:
    """Return (5, count, 12): the rows of corners and a point that a hit takes its volumes of."""
    a, b, c, start, end = (hits[:, i : i + 3] for i in range(0, 15, 3))
    orders = [(a, b, c, start), (a, b, c, end)]
    orders += [(start, end, *side) for side in ((b, c), (c, a), (a, b))]
    return np.array([np.hstack(order) for order in orders])


def ask(rows: np.ndarray, level: int) -> tuple[np.ndarray, ...]:
    """Return the values as hits have them, the expansion's, and head, tail and bound of pairs."""
    rows = np.ascontiguousarray(rows)
    out = np.empty((len(rows), 5))
    native.core(level).volumes(rows, len(rows), out)
    return tuple(out.T)


def certain(head: np.ndarray, tail: np.ndarray, bound: np.ndarray) -> np.ndarray:
    least, most = head + (tail - bound), head + (tail + bound)
    return (least == head) & (most == head)


def minors(row: list) -> list:
    """Return the terms (left - right) * height of the determinant, for any kind of number."""
    q = row[9:]
    a, b, c = ([v - w for v, w in zip(row[i : i + 3], q, strict=True)] for i in (0, 3, 6))
    return [(p[0] * r[1], p[1] * r[0], s[2]) for p, r, s in ((b, c, a), (c, a, b), (a, b, c))]


def total(row: list) -> tuple:
    """Return the determinant and its permanent, in the kernels' order of operations."""
    terms = minors(row)
    parts = [height * (left - right) for left, right, height in terms]
    sizes = [(abs(left) + abs(right)) * abs(height) for left, right, height in terms]
    return parts[0] + parts[1] + parts[2], sizes[0] + sizes[1] + sizes[2]


def fractions(row: np.ndarray) -> tuple[Fraction, Fraction]:
    det, permanent = total([Fraction(value) for value in row.tolist()])
    return det, permanent


def expected_values(rows: np.ndarray, expansion: np.ndarray) -> np.ndarray:
    """Return the doubles' determinant where it is as good as the contract asks."""
    det, permanent = total(list(rows.T))
    plain = (permanent > 2.0**-900) & (PLAIN_BOUND * permanent <= PLAIN_SHARE * np.abs(det))
    return np.where(plain, det, expansion)


def bits(values: np.ndarray) -> list[int]:
    return np.ascontiguousarray(values + 0.0).view(np.uint64).tolist()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_pairs_that_are_certain_give_the_rounded_volume(kind: str, level: int) -> None:
    rows = np.concatenate(list(volumes_of(hits_of(kind, 200))))
    value, expansion, head, tail, bound = ask(rows, level)
    sure = certain(head, tail, bound)
    assert bits(value) == bits(expected_values(rows, expansion))
    assert bits(head[sure]) == bits(expansion[sure])
    dets = []
    for row, *of_row, known in zip(rows, head, tail, bound, sure, strict=True):
        det, permanent = fractions(row)
        dets.append(det)
        if of_row[2] == np.inf:
            continue
        assert abs(Fraction(of_row[0]) + Fraction(of_row[1]) - det) <= permanent * 41 / 2**106
        assert permanent * 63 / 2**106 <= Fraction(of_row[2])
        assert not known or of_row[0] == det.numerator / det.denominator  # correctly rounded
    zero = np.array([det == 0 for det in dets])
    assert not sure[zero].any()
    if kind in ("integer", "range"):
        assert zero.sum() > 10
    else:
        assert sure[~zero].mean() > 0.95


@pytest.mark.parametrize("level", LEVELS)
def test_volumes_beside_a_tie_are_certain_only_where_they_can_be(level: int) -> None:
    """r (p + w): p r is half-way between two doubles, and w moves it off by ever less."""
    p, r = 2.0**27 + 1, 2.0**26 + 1
    powers = np.repeat(np.arange(40, 200), 2)
    off = 2.0**-powers * np.resize([1.0, -1.0], len(powers))
    rows = np.array([[-1, 0, 1, p, 0, w, 0, r, 0, 0, 0, 0] for w in off])
    _, expansion, head, tail, bound = ask(rows, level)
    sure = certain(head, tail, bound)
    shares = np.abs(off) / p  # of the volume, which is nearly the permanent
    assert sure[shares > 2.0**-98].all()
    assert not sure[shares < 2.0**-101].any()
    exact = [fractions(row)[0] for row in rows]
    rounded = np.array([det.numerator / det.denominator for det in exact])
    assert bits(head[sure]) == bits(expansion[sure]) == bits(rounded[sure])
    assert (expansion != rounded).any()  # what no pair may take the rounded one for


def describe(hits: np.ndarray, level: int) -> np.ndarray:
    """Return t, u, v, ... of hits of triangle i by segment i."""
    count = len(hits)
    vertices = np.ascontiguousarray(hits[:, :9]).reshape(-1, 3)
    triangles = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    ends, rows = np.ascontiguousarray(hits[:, 9:]), np.arange(count)
    crossed, out = rows.astype(np.int32), np.empty((count, 7))
    native.core(level).segments_describe(
        vertices, triangles, count, ends, rows, crossed, count, 1, out
    )
    return out


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_hits_are_made_of_the_same_volumes_in_any_company(kind: str, level: int) -> None:
    """Four at once, and one by one; t, u, v to the bit, and beside fractions."""
    hits = hits_of(kind, 403)
    found = describe(hits, level)
    alone = np.concatenate([describe(hits[i : i + 1], level) for i in range(len(hits))])
    assert np.array_equal(found, alone, equal_nan=True)
    sizes = []
    for rows in volumes_of(hits):
        _, expansion, *_ = ask(rows, level)
        sizes.append(np.abs(expected_values(rows, expansion)))
    n0, n1, w0, w1, w2 = sizes
    with np.errstate(invalid="ignore"):
        expected = [n0 / (n0 + n1), w1 / (w0 + w1 + w2), w2 / (w0 + w1 + w2)]
    assert np.array_equal(found[:, :3], np.stack(expected, axis=1), equal_nan=True)
    for i in range(0, len(hits), 10):
        exact = [abs(fractions(rows[0])[0]) for rows in volumes_of(hits[i : i + 1])]
        if exact[0] + exact[1] == 0:
            continue
        truth = exact[0] / (exact[0] + exact[1])
        assert abs(Fraction(found[i, 0]) - truth) <= truth / 2**46
