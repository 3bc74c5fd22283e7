"""Blocks that reach a little beyond a surface's footprint have no share of a domain by itself."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from late import pandas
from line_shares import places
from sheets import level

from geodomain import Domain, Domains, GeodomainWarning, Stack, proportions_blocks


def blocks(*centres) -> pandas.DataFrame:
    return pandas.DataFrame(centres, columns=["X", "Y", "Z"], dtype=float)


def shares(frame, domains, **options) -> np.ndarray:
    """Return the shares (n, k) of blocks of 1."""
    found = proportions_blocks(frame, domains, dx=1, dy=1, dz=1, **options)
    return found[[name for name in found if name.startswith("prop_")]].to_numpy()


# One ends on the rim, two beyond it by less than lines are apart, in x and at a corner.


@cache
def near() -> pandas.DataFrame:
    return blocks((3.5, 2, 0), (3.51, 2, 0), (3.51, 3.51, 0), (3.51, 2, -5))


@pytest.mark.filterwarnings("ignore:1 block overlaps other blocks")
@pytest.mark.parametrize("kind", ["above", "below"])
def test_a_strip_that_no_line_meets_leaves_no_share(kind) -> None:
    domain = Domain("D", level(0.0, 4), kind=kind)
    with pytest.warns(GeodomainWarning, match="3 blocks lie partly or wholly outside"):
        found = shares(near(), [domain])
    assert np.array_equal(found[:, 0], [0.5, np.nan, np.nan, np.nan], equal_nan=True)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("extend", ["background", "nearest"])
def test_what_is_extended_has_a_share(extend) -> None:
    """Along lines, of which one or two are beyond."""
    domain = Domain("D", level(0.0, 4), kind="below", extend=extend)
    x, y = np.array(places(16)).T
    within = [1.0, *(part.mean() for part in (x < 0.99, (x < 0.99) & (y < 0.99), x < 0.99))]
    wanted = np.ones(4) if extend == "nearest" else np.array(within)
    np.testing.assert_allclose(shares(near(), [domain])[:, 0], wanted * [0.5, 0.5, 0.5, 1])


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_a_block_that_a_condition_leaves_out_is_not_asked() -> None:
    domain = Domain("D", level(0.0, 4), kind="below", only_if={"rock": "OX"})
    frame = near().assign(rock=["OX", "OX", "FR", "FR"])
    assert np.array_equal(shares(frame, [domain])[:, 0], [0.5, np.nan, 0, 0], equal_nan=True)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
@pytest.mark.parametrize("rule", ["erode", "onlap"])
def test_a_surface_of_a_stack_counts_where_those_before_it_leave_a_block_open(rule) -> None:
    """The surface that is asked last is the smaller one."""
    sizes = (9, 4) if rule == "erode" else (4, 9)
    tops = [level(2.0, sizes[0], name="upper"), level(0.0, sizes[1], name="lower")]
    stack = Stack(tops, ["A", "B", "C"], rule=rule)
    up = 1 if rule == "erode" else -1
    middle = 1 - up  # of what the first to be asked is not
    first = 1 + up
    frame = blocks(
        (3.51, 2, first + 3 * up),  # on the side where the search ends: the last is not asked
        (3.51, 2, first),  # in part on the other side
        (3.51, 2, middle),
        (3.5, 2, middle),
        (3.51, 2, middle - 3 * up),
        (6, 2, first),  # wholly beyond, in part
    )
    found = shares(frame, Domains((), (stack,)))
    layers = found if rule == "erode" else found[:, ::-1]
    no = [np.nan] * 3
    wanted = [[1, 0, 0], no, no, [0, 0.5, 0.5], no, no]
    np.testing.assert_allclose(layers, wanted, atol=1e-15)


@pytest.mark.filterwarnings("ignore::geodomain.GeodomainWarning")
def test_tiles_that_overlap_leave_shares() -> None:
    tiles = [level(0.0, 4), level(0.0, 4, (3.99, 0, 0))]
    frame = blocks((4, 2, 0), (7.5, 2, 0), (4, 3.51, 0))
    found = shares(frame, [Domain("D", tiles, kind="below")])
    once = np.mean([not 0.49 < x < 0.5 for x, _ in places(16)])  # not in both tiles
    np.testing.assert_allclose(found[:, 0], [0.5 * once, np.nan, np.nan], atol=1e-15)
