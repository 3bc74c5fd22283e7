"""Centroids that occur more than once: exact on lattices, and among the first blocks elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import distinct
from geodomain.lattice import LatticeBits, StoredArray

Floats = NDArray[np.float64]

# Up to so many blocks all are compared, wherever they lie.
_ALL = 250_000
# Places without a size are blocks, not samples, where so many fill so much of a lattice.
_BLOCKS, _FILLED = 100, 0.02
# Odd numbers without a pattern, one for each axis.
_FACTORS = tuple(
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class RepeatedCentroids:
    """Blocks that have the centroid of another, as numbers.

    Up to 250,000 blocks are kept and compared. Of more there is a bit for each cell of the lattice
    that they lie on; where they lie on none that fits into memory, nothing is known. Places
    without sizes are compared only where they fill a lattice: samples may be at one place.
    """

    def __init__(self) -> None:
        self._kept: list[Floats] = []
        self._count, self._steps = 0, np.full(3, np.inf)
        self._bits: LatticeBits | None = None
        self._known = self._sized = True
        self._before = 0  # those of parts that were merged

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a chunk of (n, 3) finite centroids and the sizes of the blocks, if they have any."""
        if not self._known or not len(points):
            return
        self._count += len(points)
        self._sized &= sizes is not None
        if sizes is not None and self._bits is None:
            self._steps = np.minimum(self._steps, sizes.min(axis=0))
        if self._count <= _ALL:
            self._kept.append(points.copy(order="F"))
        else:
            self._mark([*self._kept, points])

    def _mark(self, chunks: list[Floats]) -> None:
        """Mark the cells of chunks, and keep none of them."""
        self._kept = []
        if self._bits is None:
            self._bits = LatticeBits(chunks[0], self._steps)
        if not all(map(self._bits.add, chunks)):
            self._known, self._bits = False, None

    def merge(self, later: RepeatedCentroids) -> None:
        """Add other blocks; the number is that of one pass over all of them."""
        self._known &= later._known
        self._sized &= later._sized
        if not self._known:
            self._kept, self._bits = [], None
            return
        self._before += later._before
        if later._bits is None:
            chunks: Iterator[Floats] = iter(later._kept)
        else:
            self._before += later._bits.again
            chunks = later._bits.points()
        for points in chunks:
            self.add(points, later._steps[None] if later._sized else None)

    def arrays(self) -> dict[str, StoredArray]:
        """Return what `restored` makes the same of."""
        numbers = [self._known, self._sized, self._before, self._count]
        stored: dict[str, StoredArray] = {
            "numbers": np.array(numbers, np.int64),
            "steps": self._steps,
            "kept": np.concatenate([np.empty((0, 3)), *self._kept]),
        }
        return stored | ({} if self._bits is None else self._bits.arrays())

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> RepeatedCentroids:
        """Return what `arrays` stored."""
        again = cls()
        known, sized, again._before, again._count = np.asarray(arrays["numbers"], np.int64).tolist()
        again._known, again._sized = bool(known), bool(sized)
        again._steps = np.asarray(arrays["steps"], np.float64)
        kept = np.asfortranarray(arrays["kept"], np.float64)
        again._kept = [kept] if len(kept) else []
        if "bits" in arrays:
            again._bits = LatticeBits.restored(arrays)
        return again

    def points(self) -> Iterator[Floats]:
        """Yield centroids, (n, 3) at a time, each at least once; none where they are not known."""
        yield from self._kept if self._bits is None else self._bits.points()

    def coordinates(self) -> list[Floats]:
        """Return the different coordinates along each axis, ascending."""
        if self._bits is not None:
            return self._bits.coordinates()
        kept = np.concatenate([np.empty((0, 3)), *self._kept])
        return [distinct(kept[:, axis]) for axis in range(3)]

    def _are_blocks(self) -> bool:
        """Return whether places without sizes lie as blocks do."""
        if self._kept and self._count >= _BLOCKS:
            self._mark(self._kept)
        return self._bits is not None and self._bits.filled >= _FILLED

    @property
    def again(self) -> int:
        """Count the blocks that have the centroid of another; 0 where that is not known."""
        if not self._known or (not self._sized and not self._are_blocks()):
            return 0
        again = self._bits.again if self._bits is not None else _count_again(self._kept)
        return again + self._before


def _count_again(chunks: list[Floats]) -> int:
    """Count the points that are the same as one before."""
    if not chunks:
        return 0
    points = np.concatenate(chunks)
    hashes = point_hashes(points)
    ordered = np.sort(hashes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return 0
    # Different points may share a hash, though hardly ever do.
    same = points[np.isin(hashes, twice)]
    return len(same) - len(np.unique(same + 0.0, axis=0))


def point_hashes(points: Floats) -> NDArray[np.uint64]:
    """Return a hash of each point; coordinates of a lattice end in zeros, so high bits go down."""
    found = np.zeros(len(points), np.uint64)
    for axis, factor in enumerate(_FACTORS):
        bits = (points[:, axis] + 0.0).view(np.uint64)
        mixed = bits >> np.uint64(29)
        mixed ^= bits
        mixed *= factor
        found += mixed
    return found
