"""How blocks are split: octree, grid and seam. What is inside of what is not asked here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodomain.io.numbers import Rows
from geodomain.subblocks.boundaries import Boundaries
from geodomain.subblocks.cuts import Parents, even_cuts, part_counts, refuse_too_many
from geodomain.subblocks.pieces import Pieces
from geodomain.subblocks.seams import seam_pieces

Scheme = Literal["octree", "grid", "seam"]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Splitter:
    """One scheme, with the smallest sizes that it makes.

    Attributes
    ----------
    scheme : {"octree", "grid", "seam"}
    smallest : three Fractions
        Along x, y and z.
    boundaries : Boundaries
    name : str
        What messages call the model.
    """

    scheme: Scheme
    smallest: tuple[Fraction, Fraction, Fraction]
    boundaries: Boundaries
    name: str

    def parts(self, parents: Parents, entered: Bools, first: int) -> Rows:
        """Give into how many parts each block can be cut, (n, 3); at most, for `seam`, along z.

        Raises
        ------
        TableError
            Where blocks that are entered would have too many; `first` is the row of the first.
        """
        counts = np.column_stack(
            [
                part_counts(size, least, self.name)
                for size, least in zip(parents.sizes, self.smallest, strict=True)
            ]
        )
        if self.scheme == "octree":  # the power of two that is not above
            counts = 1 << np.floor(np.log2(counts)).astype(np.int64)
        pieces = np.where(entered, counts.astype(np.float64).prod(axis=1), 1.0)
        refuse_too_many(pieces, self.name, first)
        return counts

    def expected(self, parts: Rows, entered: Bools) -> NDArray[np.float64]:
        """Give about how many pieces, or more, blocks have."""
        cells = parts.astype(np.float64).prod(axis=1)
        if self.scheme == "octree":  # a surface meets some of the cells that fill a block
            cells = np.minimum(cells, 6.0 * cells ** (2 / 3))
        elif self.scheme == "seam":
            cells = 4.0 * parts[:, 0] * parts[:, 1]
        return np.where(entered, cells, 1.0)

    def split(self, parents: Parents, parts: Rows, entered: Bools) -> Pieces:
        """Split the blocks that are entered; the others have one part."""
        made = _SCHEMES[self.scheme](parents, parts, entered, self)
        order = np.lexsort([made.low[:, 0], made.low[:, 1], made.low[:, 2], made.parent])
        return made.take(order)


def evenly_cut(parents: Parents, parts: Rows, *, apart: bool) -> Pieces:
    """Cut blocks into equal parts, (n, 3) of them; not `apart`, each block is one piece still."""
    cut = [even_cuts(parents, axis, parts[:, axis]) for axis in range(3)]
    x, y, z = (cuts for cuts, _ in cut)
    first = np.column_stack([places for _, places in cut])
    if not apart:
        return Pieces(np.arange(len(parents)), first, first + parts, (x, y, z))
    parent, cell = _cells_of(parts)
    low = first[parent] + cell
    return Pieces(parent, low, low + 1, (x, y, z))


def _cells_of(parts: Rows) -> tuple[Rows, Rows]:
    """Give the parent and the place, (m, 3), of each of the cells that blocks are cut into."""
    counts = parts.prod(axis=1)
    parent = np.repeat(np.arange(len(parts)), counts)
    rank = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
    nx, ny = parts[parent, 0], parts[parent, 1]
    return parent, np.column_stack([rank % nx, rank // nx % ny, rank // nx // ny])


def _octree(parents: Parents, parts: Rows, entered: Bools, splitter: Splitter) -> Pieces:
    """Halve what is entered, along each axis that still may be, and its halves, and so on."""
    level, marked = evenly_cut(parents, parts, apart=False), entered
    leaves: list[Pieces] = []
    while len(level):
        may = (level.high - level.low > 1).any(axis=1) & marked
        leaves.append(level.take(~may))
        level = _halved(level.take(may))
        marked = splitter.boundaries.entered(*level.corners())
    return Pieces(
        np.concatenate([leaf.parent for leaf in leaves]),
        np.concatenate([leaf.low for leaf in leaves]),
        np.concatenate([leaf.high for leaf in leaves]),
        level.cuts,
    )


def _halved(pieces: Pieces) -> Pieces:
    """Halve pieces along each axis along which they have more than one part."""
    for axis in range(3):
        middle = (pieces.low[:, axis] + pieces.high[:, axis]) // 2
        twice = np.flatnonzero(middle > pieces.low[:, axis])
        upper, lower = pieces.take(twice), pieces.take(np.arange(len(pieces)))
        upper.low[:, axis] = middle[twice]
        lower.high[twice, axis] = middle[twice]
        pieces = Pieces(
            np.concatenate([lower.parent, upper.parent]),
            np.concatenate([lower.low, upper.low]),
            np.concatenate([lower.high, upper.high]),
            pieces.cuts,
        )
    return pieces


def _grid(parents: Parents, parts: Rows, entered: Bools, splitter: Splitter) -> Pieces:
    """Cut what is entered into equal cells at once."""
    return evenly_cut(parents, parts, apart=True)


def _seam(parents: Parents, parts: Rows, entered: Bools, splitter: Splitter) -> Pieces:
    """Cut what is entered into equal cells in plan, and each of them where sheets cross it."""
    plan = parts.copy()
    plan[:, 2] = 1
    cells = evenly_cut(parents, plan, apart=True)
    return seam_pieces(cells, parents, entered, splitter.boundaries, splitter.smallest[2])


_SCHEMES: dict[Scheme, Callable[[Parents, Rows, Bools, Splitter], Pieces]] = {
    "octree": _octree,
    "grid": _grid,
    "seam": _seam,
}
