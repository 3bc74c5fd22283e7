"""Where the blocks of a model are, as codes into what few numbers their places and sizes have."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.report.blocks import Blocks

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

# Coordinates are told apart in so many parts of the smallest block: exports round.
_PARTS = 10_000


@dataclass(frozen=True)
class Geometry:
    """The blocks that have a place and a size.

    Attributes
    ----------
    rows : (n,) int64
        Their rows in the file, from 0.
    origin : (3,) float64
        A point of the world near the middle.
    matrix : (3, 3) float64
        From directions of the blocks to those of the world.
    centres : tuple of (k,) float64
        The different coordinates of centroids along each axis of the blocks, from the origin,
        ascending.
    places : tuple of (n,) int32
        The place of each block's coordinate among them.
    sizes : (m, 3) float64
        The different sizes.
    kinds : (n,) int32
        The place of each block's size among them.
    codes : (n,) int32
        The place of each block's label.
    """

    rows: NDArray[np.int64]
    origin: Floats
    matrix: Floats
    centres: tuple[Floats, Floats, Floats]
    places: tuple[Codes, Codes, Codes]
    sizes: Floats
    kinds: Codes
    codes: Codes

    @property
    def is_turned(self) -> bool:
        """Whether the blocks are not along the axes of the world."""
        return not np.array_equal(self.matrix, np.eye(3))

    @cached_property
    def extent(self) -> Floats:
        """Return the box, (2, 3), of the blocks in the world."""
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        if not self.is_turned:
            for axis in range(3):
                centres = self.centres[axis][self.places[axis]]
                half = (self.sizes[:, axis] / 2)[self.kinds]
                low[axis], high[axis] = (centres - half).min(), (centres + half).max()
        else:
            points = self.world(slice(None))
            half = (self.sizes / 2 @ np.abs(self.matrix).T)[self.kinds]
            low, high = (points - half).min(axis=0) - self.origin, (points + half).max(axis=0)
            high = high - self.origin
        return np.stack([low, high]) + self.origin

    def local(self, which: NDArray[np.int64] | slice) -> Floats:
        """Return centroids of some blocks along the blocks' axes, from the origin."""
        columns = zip(self.centres, self.places, strict=True)
        return np.stack([centres[places[which]] for centres, places in columns], axis=1)

    def world(self, which: NDArray[np.int64] | slice) -> Floats:
        """Return world centroids of some blocks."""
        local = self.local(which)
        return (local @ self.matrix.T if self.is_turned else local) + self.origin


def geometry_of(blocks: Blocks) -> Geometry:
    """Find the few numbers that places and sizes of blocks are made of."""
    there = np.isfinite(blocks.points[:, 0]) & (blocks.sizes[:, 0] > 0)
    whole = bool(there.all())
    rows = np.flatnonzero(there)
    points = blocks.points if whole else blocks.points[there]
    sizes = blocks.sizes if whole else blocks.sizes[there]
    origin = np.floor((points.min(axis=0) + points.max(axis=0)) / 2)
    offsets = points - origin
    if not np.array_equal(blocks.matrix, np.eye(3)):
        offsets = np.asfortranarray(offsets @ blocks.matrix)
    kinds, known = _kinds(sizes)
    quantum = known.min(axis=0) / _PARTS
    found = [_different(offsets[:, axis], quantum[axis]) for axis in range(3)]
    return Geometry(
        rows=rows,
        origin=origin,
        matrix=blocks.matrix,
        centres=(found[0][0], found[1][0], found[2][0]),
        places=(found[0][1], found[1][1], found[2][1]),
        sizes=known,
        kinds=kinds,
        codes=blocks.codes if whole else blocks.codes[there],
    )


def _different(values: Floats, quantum: float) -> tuple[Floats, Codes]:
    """Return the different values, ascending, and the place of each among them."""
    import pandas

    codes, steps = pandas.factorize(np.round(values / quantum).astype(np.int64), sort=True)
    first = np.empty(len(steps))
    first[codes[::-1]] = values[::-1]  # each as its first row has it
    return first, codes.astype(np.int32)


def _kinds(sizes: Floats) -> tuple[Codes, Floats]:
    """Return the place of each block's size among the different ones, and these."""
    import pandas

    if (sizes[0] == sizes).all():
        return np.zeros(len(sizes), np.int32), np.array(sizes[:1])
    key = np.zeros(len(sizes), np.int64)
    for axis in range(3):
        codes, values = pandas.factorize(sizes[:, axis])
        key = pandas.factorize(key * len(values) + codes)[0]
    first = np.empty(int(key.max()) + 1, np.int64)
    first[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    return key.astype(np.int32), sizes[first]
