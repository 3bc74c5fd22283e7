"""Sub-blocks by the cuts between which they lie, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.sub_blocks import join_boxes
from geodomain.backends.threads import thread_count
from geodomain.io.numbers import Floats, Numbers, Rows
from geodomain.subblocks.cuts import Cuts, Parents

Places = NDArray[np.int64]


class Boxes(NamedTuple):
    """Blocks as a file has them, and their corners, (m, 3), in float64."""

    coordinates: tuple[Numbers, Numbers, Numbers]
    sizes: tuple[Numbers, Numbers, Numbers]


@dataclass(frozen=True)
class Pieces:
    """Sub-blocks of parents, which they fill.

    Attributes
    ----------
    parent : (m,) int64
        The row of the parent; ascending.
    low, high : (m, 3) int64
        The places of the cuts below and above along each axis.
    cuts : three Cuts
    dropped : int
        Cuts that were too near to others.
    """

    parent: Rows
    low: Places
    high: Places
    cuts: tuple[Cuts, Cuts, Cuts]
    dropped: int = 0

    def __len__(self) -> int:
        """Count them."""
        return len(self.parent)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Tell those that are all of their parent."""
        return np.asarray(np.bincount(self.parent)[self.parent] == 1)

    def take(self, rows: NDArray[np.intp] | Rows | NDArray[np.bool_]) -> Pieces:
        """Give some of them."""
        return replace(self, parent=self.parent[rows], low=self.low[rows], high=self.high[rows])

    def boxes(self, parents: Parents) -> Boxes:
        """Give their coordinates and sizes."""
        own = parents.take(self.parent)
        x, y, z = (own.coordinate(axis, *self._offsets(axis)) for axis in range(3))
        dx, dy, dz = (high - low for low, high in map(self._offsets, range(3)))
        return Boxes((x, y, z), (dx, dy, dz))

    def corners(self) -> tuple[Floats, Floats]:
        """Give their lowest and highest corners, (m, 3)."""
        lows, highs = np.empty((2, len(self), 3))
        for axis, cuts in enumerate(self.cuts):
            lows[:, axis] = cuts.faces[self.low[:, axis]]
            highs[:, axis] = cuts.faces[self.high[:, axis]]
        return lows, highs

    def joined(self, keys: NDArray[np.int32], threads: int | None) -> tuple[Pieces, Rows]:
        """Join those of one parent with the same key; give the first row of each as well."""
        starts = np.flatnonzero(np.diff(self.parent, prepend=-1, append=-1))
        low, high, owner = join_boxes(starts, self.low, self.high, keys, thread_count(threads))
        first = np.flatnonzero(owner == np.arange(len(owner)))
        whole = replace(self, low=low.astype(np.int64), high=high.astype(np.int64))
        return whole.take(first), first

    def _offsets(self, axis: int) -> tuple[Numbers, Numbers]:
        offsets = self.cuts[axis].offsets
        return offsets.take(self.low[:, axis]), offsets.take(self.high[:, axis])
