"""Cells of a plan cut along z where sheets cross them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodomain.io.numbers import Numbers, Rows
from geodomain.subblocks.boundaries import Boundaries
from geodomain.subblocks.cuts import Cuts, Parents
from geodomain.subblocks.pieces import Pieces


def seam_pieces(
    cells: Pieces,
    parents: Parents,
    entered: NDArray[np.bool_],
    boundaries: Boundaries,
    smallest: Fraction,
) -> Pieces:
    """Cut cells of a plan where sheets cross their centre lines.

    Cuts are rounded to the resolution. Equal ones are one; one that is nearer than the smallest
    size to a face or to the cut below it is dropped.
    """
    asked = np.flatnonzero(entered[cells.parent])
    found, heights = boundaries.seams(*cells.take(asked).corners())
    cell = asked[found]
    own = parents.take(cells.parent[cell])
    low = own.low(2)
    offset = low.rounded(heights, parents.resolution) - low
    kept, dropped = _apart(cell, offset, own.sizes[2], float(smallest))
    return _cut(cells, parents, cell[kept], offset.take(kept), dropped)


def _apart(
    cell: Rows, offset: Numbers, size: Numbers, smallest: float
) -> tuple[NDArray[np.intp], int]:
    """Give the cuts that are far enough from faces and from each other, and count the others.

    Cuts are in the order of cells, ascending in each.
    """
    above, below = offset.doubles(), (size - offset).doubles()
    fits = (above >= smallest) & (below >= smallest)
    again = np.zeros(len(cell), np.bool_)
    again[1:] = (cell[1:] == cell[:-1]) & (above[1:] == above[:-1])
    kept = np.zeros(len(cell), np.bool_)
    waiting = np.flatnonzero(fits & ~again)
    while waiting.size:
        # The lowest that waits in each cell is taken; what is too near above it waits no more.
        first = np.diff(cell[waiting], prepend=-1) != 0
        kept[waiting[first]] = True
        base = waiting[first][np.cumsum(first) - 1]
        gap = (offset.take(waiting) - offset.take(base)).doubles()
        waiting = waiting[~first & (gap >= smallest)]
    return np.flatnonzero(kept), int((~kept & ~again).sum())


def _cut(cells: Pieces, parents: Parents, cell: Rows, offset: Numbers, dropped: int) -> Pieces:
    """Cut cells at offsets above their floors."""
    whole = parents.sizes[2]
    floor = whole - whole
    # Every cut of every parent: its floor, its roof, and the cuts of its cells, each once.
    count = len(parents)
    owner = np.concatenate([np.arange(count), np.arange(count), cells.parent[cell]])
    listed = floor.followed(whole).followed(offset)
    place = listed.ranked(owner)
    pieces_in = np.bincount(cell, minlength=len(cells)) + 1
    row = np.repeat(np.arange(len(cells)), pieces_in)
    first = np.diff(row, prepend=-1) != 0
    last = np.diff(row, append=-1) != 0
    low, high = np.empty((2, len(row)), np.int64)
    low[first], high[last] = place[cells.parent], place[count + cells.parent]
    low[~first] = high[~last] = place[2 * count :]
    pieces = cells.take(row)
    pieces.low[:, 2], pieces.high[:, 2] = low, high
    x, y, _ = cells.cuts
    once = np.unique(place, return_index=True)[1]
    offsets = listed.take(once)
    z = Cuts(offsets, parents.take(owner[once]).face(2, offsets))
    return Pieces(pieces.parent, pieces.low, pieces.high, (x, y, z), dropped)
