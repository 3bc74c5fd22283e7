"""Blocks that divide the cells of a lattice: centres and sizes, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import counted
from geodomain.io.blocks.cells import Chunk, Floats, LatticeCells
from geodomain.io.header.frames import turned

_CHUNK = 1 << 20


@dataclass(frozen=True)
class SubBlocks:
    """Blocks within parents.

    Attributes
    ----------
    parents : LatticeCells
        The lattice that is divided.
    index : (n, 3) integers
        The parent's number along each axis.
    low, high : (n, 3) array
        The corners, in parts of the parent's size.
    parts : (3,) float64
        How many parts a parent has along each axis; 1 where corners are fractions.
    """

    parents: LatticeCells
    index: NDArray[np.int64]
    low: Floats
    high: Floats
    parts: Floats

    @property
    def count(self) -> int:
        """Count the blocks."""
        return len(self.index)

    @property
    def axes(self) -> Floats:
        """Give the directions of the edges, a row each."""
        return self.parents.axes

    @property
    def rows(self) -> NDArray[np.int64]:
        """Give the number of each block's parent, u fastest."""
        _, ny, nx = self.parents.shape
        along = self.index
        rows: NDArray[np.int64] = along[:, 0] + nx * (along[:, 1] + ny * along[:, 2])
        return rows

    def say(self) -> str:
        """Say how many there are."""
        return f"{counted(self.count, 'sub-block')} of {self.parents.say()}"

    def wrong(self) -> int | None:
        """Give the first block that lies outside its parent or the lattice, None if all do not."""
        counts = np.array(self.parents.shape[::-1])
        fine = (self.index >= 0) & (self.index < counts)
        fine &= (self.low >= 0) & (self.low < self.high) & (self.high <= self.parts)
        bad = ~fine.all(axis=1)
        return int(bad.argmax()) if bad.any() else None

    def chunks(self) -> Iterator[Chunk]:
        """Give the blocks in their order."""
        for begin in range(0, self.count, _CHUNK):
            where = slice(begin, begin + _CHUNK)
            centres, sizes = self._measured(where)
            if self.parents.matrix is not None and self.parents.origin is not None:
                centres = turned(centres, self.parents.matrix, self.parents.origin)
            yield where, centres, sizes

    def _measured(self, where: slice) -> tuple[Floats, Floats]:
        """Give centres in the lattice's frame, and sizes."""
        centres, sizes = np.empty((2, len(self.index[where]), 3))
        for axis, faces in enumerate(self.parents.faces):
            parent = self.index[where, axis]
            step = np.diff(faces)[parent] / self.parts[axis]
            low, high = self.low[where, axis], self.high[where, axis]
            centres[:, axis] = faces[parent] + (low + high) / 2 * step
            sizes[:, axis] = (high - low) * step
        return centres, sizes
