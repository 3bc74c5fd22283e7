"""Lattices of cells of one size along their axes, whose blocks need no look of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.io.blocks.cells import LatticeCells
from geodomain.labelling.tally import MOST_SAMPLES

Floats = NDArray[np.float64]

# Of so many cells along each axis none is far from the others, whatever coordinate may stand for a
# missing one: at most three planes do, and there are more steps beside them than up to them.
_FEWEST = 8
# Faces are rounded, so that sizes differ a little: of 0.1 m at 8,000 km by so much.
_EVEN = 1e-8
# Multiples of the golden ratio are spread evenly, whatever the length of a row.
_GOLDEN = 0.6180339887498949


class Span(NamedTuple):
    """Cells along an axis, from the first to before the end; none where that is no more."""

    first: int
    end: int


@dataclass(frozen=True)
class EvenLattice:
    """Cells of one size, x fastest and z last, all finite and each at a place of its own.

    Attributes
    ----------
    centres : tuple of (n,) float64
        Along x, y and z, ascending strictly.
    bounds : (2, 3) float64
        The box of the cells.
    volume : float
        That of a cell.
    """

    centres: tuple[Floats, Floats, Floats]
    bounds: Floats
    volume: float

    @property
    def shape(self) -> tuple[int, int, int]:
        """Count the cells along z, y and x."""
        x, y, z = map(len, self.centres)
        return z, y, x

    @property
    def count(self) -> int:
        """Count the cells."""
        z, y, x = self.shape
        return z * y * x

    @property
    def sample(self) -> Floats:
        """Give the centres of some cells, (n, 3), spread over all of them."""
        rows = np.arange(min(self.count, MOST_SAMPLES))
        if len(rows) < self.count:
            rows = (rows * _GOLDEN % 1.0 * self.count).astype(np.int64)
        places = np.unravel_index(rows, self.shape)[::-1]
        columns = [axis[place] for axis, place in zip(self.centres, places, strict=True)]
        return np.stack(columns, axis=1)

    def within(self, box: Floats) -> tuple[Span, Span, Span]:
        """Give the cells along x, y and z with centres in a box, (2, 3), its faces included."""
        x, y, z = (
            Span(int(np.searchsorted(axis, low)), int(np.searchsorted(axis, high, side="right")))
            for axis, low, high in zip(self.centres, *box.tolist(), strict=True)
        )
        return x, y, z


def even_lattice(cells: LatticeCells, fewest: int = _FEWEST) -> EvenLattice | None:
    """Return the lattice of even cells; None for turned, uneven, unsorted and small ones."""
    if cells.matrix is not None:
        return None
    sizes, ends = [], []
    for centres, size in zip(cells.centres, cells.sizes, strict=True):
        mean = float(size.mean())
        even = bool((np.abs(size - mean) <= _EVEN * mean).all())
        if len(centres) < fewest or not even or not (np.diff(centres) > 0).all():
            return None
        sizes.append(float(size[0]) if (size == size[0]).all() else mean)
        ends.append(((centres - size / 2).min(), (centres + size / 2).max()))
    volume = sizes[0] * sizes[1] * sizes[2]
    bounds = np.array(ends).T
    if not (0 < volume < np.inf and np.isfinite(bounds).all()):
        return None
    return EvenLattice(cells.centres, bounds, volume)
