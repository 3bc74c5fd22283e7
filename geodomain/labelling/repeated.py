"""Centroids that occur more than once: exact on lattices, and among the first blocks elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.labelling.lattice_bits import LatticeBits

Floats = NDArray[np.float64]

# Up to so many blocks all are compared, wherever they lie.
_ALL = 250_000
# Odd numbers without a pattern, one for each axis.
_FACTORS = tuple(
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class RepeatedCentroids:
    """Blocks that have the centroid of another, as numbers.

    Up to 250,000 blocks are kept and compared. Of more there is a bit for each cell of the lattice
    that they lie on; where they lie on none that fits into memory, nothing is known.
    """

    def __init__(self) -> None:
        self._kept: list[Floats] = []
        self._count, self._steps = 0, np.full(3, np.inf)
        self._bits: LatticeBits | None = None
        self._known = True

    def add(self, points: Floats, sizes: Floats) -> None:
        """Add a chunk of (n, 3) finite centroids and the sizes of the blocks."""
        if not self._known or not len(points):
            return
        self._count += len(points)
        if self._count <= _ALL:
            self._kept.append(points.copy(order="F"))
            self._steps = np.minimum(self._steps, sizes.min(axis=0))
            return
        kept, self._kept = [*self._kept, points], []
        if self._bits is None:
            self._bits = LatticeBits(kept[0], np.minimum(self._steps, sizes.min(axis=0)))
        if not all(map(self._bits.add, kept)):
            self._known, self._bits = False, None

    def warnings(self) -> Iterator[str]:
        """Yield a warning if there are some, with their number."""
        again = self._bits.again if self._bits is not None else _count_again(self._kept)
        if again:
            yield (
                f"{again:,} {'block has' if again == 1 else 'blocks have'} the same "
                "centroid as another: their volume counts twice; inspect says which is the first"
            )


def _count_again(chunks: list[Floats]) -> int:
    """Count the points that are the same as one before."""
    if not chunks:
        return 0
    points = np.concatenate(chunks)
    hashes = _hashed(points)
    ordered = np.sort(hashes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return 0
    # Different points may share a hash, though hardly ever do.
    same = points[np.isin(hashes, twice)]
    return len(same) - len(np.unique(same + 0.0, axis=0))


def _hashed(points: Floats) -> NDArray[np.uint64]:
    """Return a hash of each point; coordinates of a lattice end in zeros, so high bits go down."""
    found = np.zeros(len(points), np.uint64)
    for axis, factor in enumerate(_FACTORS):
        bits = (points[:, axis] + 0.0).view(np.uint64)
        mixed = bits >> np.uint64(29)
        mixed ^= bits
        mixed *= factor
        found += mixed
    return found
