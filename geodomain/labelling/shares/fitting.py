"""Pieces of lines, weighed so that each wireframe has its exact share of each block.

Lines sample the plan. What they give of a wireframe alone is off from its share by volume, which is
known wherever its own triangles do not cross. Pieces are therefore weighed by iterative
proportional fitting: those inside one wireframe, and those outside, are scaled to its share,
wireframe after wireframe, until all are met. Weights stay positive and add up to 1. Where no line
meets a wireframe at all, every piece is taken twice, once as if it were inside: what else is there
is then as likely within the wireframe as in the rest of the block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Places = NDArray[np.intp]

# Wireframes of a block that are fitted; the first in the order of the domains.
MOST_FITTED = 6
_SWEEPS, _ENOUGH = 200, 1e-13


class Fitted(NamedTuple):
    """Pieces after fitting: the ones that were there, and copies as if elsewhere.

    Attributes
    ----------
    piece : (m,) intp
        Which piece each is a copy of.
    flipped : (m,) intp
        Bits of the wireframes of the block that a copy is on the other side of.
    weight : (m,) float64
    """

    piece: Places
    flipped: Places
    weight: Floats


def fit(group: Places, weight: Floats, pattern: Places, shares: Floats) -> Fitted:
    """Weigh pieces so that the wireframes of each group have their shares.

    Parameters
    ----------
    group : (m,) intp
        The block of each piece.
    weight : (m,) float64
        Adds up to 1 in each group.
    pattern : (m,) intp
        Bits of the wireframes that a piece is inside.
    shares : (g, s) float64
        Of each wireframe in each group; NaN where it is not known. The first is met exactly, even
        where others cannot be met too.
    """
    groups, slots = shares.shape
    cells = 1 << slots
    cell = group * cells + pattern
    counts: Floats = np.bincount(cell, weight, groups * cells).astype(np.float64)
    counted = counts.reshape(groups, cells)
    table, missed = _spread(counted, shares)
    rake(table, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(counted > 0, 1.0 / counted, 0.0).reshape(-1)[cell] * weight
    found = [(np.arange(len(group)), np.zeros(len(group), np.intp), unit * table.reshape(-1)[cell])]
    for flip in range(1, cells):
        some = np.flatnonzero((missed[group] & flip) == flip)
        if len(some):
            there = table.reshape(-1)[group[some] * cells + (pattern[some] ^ flip)]
            found.append((some, np.full(len(some), flip, np.intp), unit[some] * there))
    piece, flipped, weights = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Fitted(piece, flipped, weights)


def _halves(table: Floats, slot: int) -> tuple[Floats, Floats]:
    """Return views of the cells outside and inside a wireframe."""
    parted = table.reshape(len(table), -1, 2, 1 << slot)
    return parted[:, :, 0], parted[:, :, 1]


def _spread(counted: Floats, shares: Floats) -> tuple[Floats, Places]:
    """Return the cells with wireframes that are on one side of all lines, and bits of these."""
    table, missed = counted.copy(), np.zeros(len(counted), np.intp)
    for slot in range(shares.shape[1]):
        share = shares[:, slot]
        without, within = _halves(table, slot)
        lacking = (share > 0) & (share < 1)
        lacking &= (within.sum(axis=(1, 2)) == 0) | (without.sum(axis=(1, 2)) == 0)
        missed[lacking] |= 1 << slot
        both, part = (without + within)[lacking], share[lacking, None, None]
        without[lacking], within[lacking] = both * (1.0 - part), both * part
    return table, missed


def rake(table: Floats, shares: Floats) -> None:
    """Scale the cells of each group, (g, 2**s), until each wireframe has its share, the first last.

    A wireframe without a cell inside, or without one outside, is left as it is.
    """
    for _ in range(_SWEEPS):
        worst = 0.0
        for slot in reversed(range(shares.shape[1])):
            share = shares[:, slot]
            without, within = _halves(table, slot)
            out, inside = without.sum(axis=(1, 2)), within.sum(axis=(1, 2))
            can = np.isfinite(share) & (out > 0) & (inside > 0)
            worst = max(worst, float(np.abs(inside - share)[can].max(initial=0.0)))
            with np.errstate(divide="ignore", invalid="ignore"):
                within *= np.where(can, share / inside, 1.0)[:, None, None]
                without *= np.where(can, (1.0 - share) / out, 1.0)[:, None, None]
        if worst <= _ENOUGH:
            return
