"""What a mesh answers about the cells of a lattice, given to rows that have their coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.backends import layout
from geodomain.backends.data import Columns
from geodomain.backends.lattice_rows import look_up
from geodomain.query.lattice import Axes, label_bits
from geodomain.query.locator import PointLocator, Rule, contains_read

Bools = NDArray[np.bool_]
_Bytes = NDArray[np.uint8]
# A closed mesh winds about a row as the parity above it tells if the line crosses so often at most.
_MOST_WOUND = 2
_NONE = layout.constant("kNotOnLattice")


class CellAnswers:
    """One mesh and the cells of a lattice in its box.

    A row has the answer of a cell if its three coordinates are the cell's, the very same numbers;
    other rows are asked one by one. So are, for winding numbers, those on vertical lines that cross
    the mesh more than twice: of two crossings the numbers are 0, 1 or -1, and 0.

    Parameters
    ----------
    locator : PointLocator
    axes : three of (n,) float64
        Those of the lattice's coordinates that are in the mesh's box, ascending strictly, n > 0.
    threads : int
        How many to use.

    Raises
    ------
    PointError
        Where a cell cannot be decided; so do all methods, which name no row then.
    """

    def __init__(self, locator: PointLocator, axes: Columns, threads: int) -> None:
        self._locator, self._axes, self._threads = locator, axes, threads
        self._box = np.ascontiguousarray(locator.mesh.bounds, np.float64)
        self._bits = label_bits(locator.mesh, Axes(*axes), locator.backend, threads, locator.index)
        self._crossings: _Bytes | None = None

    def contains(self, rule: Rule, points: Floats) -> Bools:
        """Return which of (n, 3) points are inside: by winding number of a closed mesh only."""
        closed = self._locator.mesh.is_closed
        found = self._look_up(points, lines=rule == "winding" or not closed)
        inside = (found & 1).astype(np.bool_)
        rows = np.flatnonzero(found > 2 * _MOST_WOUND + 1 if rule == "winding" else found == _NONE)
        if len(rows):
            x, y, z = points[rows].T
            inside[rows] = contains_read(self._locator, rule, (x, y, z))
        return inside

    def sides(self, points: Floats) -> NDArray[np.int32]:
        """Return numbers above and below (n, 3) points, (n, 2), that tell what crossings would.

        That is the parity above, and whether the line crosses once, more often or never; beyond
        that the numbers are not those of the crossings.
        """
        found = self._look_up(points, lines=True)
        counts = np.empty((len(points), 2), np.int32)
        np.bitwise_and(found, 1, out=counts[:, 0])
        np.subtract(found >> 1, counts[:, 0], out=counts[:, 1])
        rows = np.flatnonzero(found == _NONE)
        if len(rows):
            counts[rows] = self._locator.count_sides(points[rows])
        return counts

    def _look_up(self, points: Floats, *, lines: bool) -> _Bytes:
        """Return what `look_up` finds of each row, its vertical line included if asked for."""
        if lines and self._crossings is None:
            self._crossings = self._count_crossings()
        crossings = self._crossings if lines else None
        x, y, z = points.T
        return look_up((x, y, z), self._axes, self._bits, crossings, self._box, self._threads)

    def _count_crossings(self) -> _Bytes:
        """Count the crossings of vertical lines through cells as `look_up` takes them."""
        x, y, z = self._axes
        places = np.empty((len(x), len(y), 3))
        places[:, :, 0], places[:, :, 1], places[:, :, 2] = x[:, None], y, z[0]
        counts = self._locator.count_sides(places.reshape(-1, 3)).sum(axis=1)
        told: _Bytes = np.where(counts > 2, 4 - (counts & 1), counts).astype(np.uint8)
        return told
