"""Where parents are cut along an axis, and into how many parts they can be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.numbers import Floats, Numbers, Resolution, Rows

# A block that is cut into more along an axis, or into more sub-blocks, is a slip.
MOST_PARTS, MOST_PIECES = 1 << 16, 1 << 24
# Binary files round: a third of 10 is three times in 10.
_SLACK = Fraction(1, 10**12)


@dataclass(frozen=True)
class Parents:
    """The blocks that are split.

    Attributes
    ----------
    coordinates, sizes : three Numbers each, (n,)
        As their file has them.
    at_corner : bool
        Whether coordinates are those of the lowest corners.
    resolution : Resolution
        What cuts are rounded to that do not end.
    """

    coordinates: tuple[Numbers, Numbers, Numbers]
    sizes: tuple[Numbers, Numbers, Numbers]
    at_corner: bool
    resolution: Resolution

    def __len__(self) -> int:
        """Count them."""
        return len(self.sizes[0])

    def take(self, rows: Rows) -> Parents:
        """Give some of them."""
        x, y, z = (each.take(rows) for each in self.coordinates)
        dx, dy, dz = (each.take(rows) for each in self.sizes)
        return Parents((x, y, z), (dx, dy, dz), self.at_corner, self.resolution)

    def low(self, axis: int) -> Numbers:
        """Give the lower faces."""
        at, size = self.coordinates[axis], self.sizes[axis]
        return at if self.at_corner else at - size.half()

    def face(self, axis: int, offset: Numbers) -> Floats:
        """Give what is so far above the lower face of each."""
        at = self.coordinates[axis]
        away = offset if self.at_corner else offset - self.sizes[axis].half()
        return (at + away).doubles()

    def coordinate(self, axis: int, low: Numbers, high: Numbers) -> Numbers:
        """Give the coordinate of a part, between two offsets, of each."""
        at = self.coordinates[axis]
        return at + (low if self.at_corner else (low + high - self.sizes[axis]).half())


@dataclass(frozen=True)
class Cuts:
    """All cuts of some parents along an axis, faces included, one parent's after the other's.

    Attributes
    ----------
    offsets : Numbers, (k,)
        How far each is above the lower face of its parent.
    faces : (k,) float64
        Where each is.
    """

    offsets: Numbers
    faces: Floats


def even_cuts(parents: Parents, axis: int, parts: Rows) -> tuple[Cuts, Rows]:
    """Give cuts into equal parts, (n,) numbers of them, and the place of each parent's first."""
    counts = parts + 1
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(parts)), counts)
    own = parents.take(owner)
    place = np.arange(len(owner)) - first[owner]
    offsets = own.sizes[axis].share(place, parts[owner], own.low(axis), parents.resolution)
    return Cuts(offsets, own.face(axis, offsets)), first


def part_counts(sizes: Numbers, smallest: Fraction, name: str) -> Rows:
    """Give into how many parts, none smaller than the smallest size, each block can be cut.

    Raises
    ------
    TableError
        Where that is too many.
    """
    values, back = np.unique(sizes.doubles(), return_inverse=True)
    counts = [max(int(Fraction(value) / smallest * (1 + _SLACK)), 1) for value in values.tolist()]
    found = np.array([min(count, MOST_PARTS + 1) for count in counts], np.int64)[back]
    if (found > MOST_PARTS).any():
        message = (
            f"{name}: a block of size {values[-1]:.10g} would have more than {MOST_PARTS:,} "
            f"sub-blocks along an axis: minimum= is too small"
        )
        raise TableError(message)
    return found


def refuse_too_many(counts: NDArray[np.float64], name: str, first: int) -> None:
    """Raise TableError for a block, counted from `first`, of too many sub-blocks."""
    wrong = np.flatnonzero(counts > MOST_PIECES)
    if wrong.size:
        message = (
            f"{name}: block {first + int(wrong[0]) + 1} would have more than {MOST_PIECES:,} "
            "sub-blocks: minimum= is too small"
        )
        raise TableError(message)
