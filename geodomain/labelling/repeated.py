"""Centroids that occur more than once, found by hashes of a part of them in passing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_Hashes = NDArray[np.uint64]
# What counts are stored as, and read back from.
StoredArray = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.str_]

# Up to so many blocks all are compared; of more, an eighth, and so on: equal centroids have equal
# hashes, and are kept or dropped together. The second bounds the memory, at 8 bytes each.
_ALL, _MOST = 250_000, 4_000_000
_EIGHTH = np.uint64(3)
# Odd numbers without a pattern, one for each axis.
_FACTORS = tuple(
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class RepeatedCentroids:
    """Hashes of 64 bits of centroids; two different ones share one by chance in 1e-19."""

    def __init__(self) -> None:
        self._kept: list[_Hashes] = []
        self._limit = np.uint64(2**64 - 1)
        self._count, self._bound = 0, _ALL

    def add(self, points: Floats) -> None:
        """Add a chunk of (n, 3) finite centroids."""
        hashes = _hashed(points)
        if self._bound != _ALL:
            hashes = hashes[hashes <= self._limit]
        self._keep(hashes)

    def _keep(self, hashes: _Hashes) -> None:
        """Keep some more hashes, and drop all above a lower limit where that is too many."""
        self._kept.append(hashes)
        self._count += len(hashes)
        while self._count > self._bound:
            self._limit, self._bound = self._limit >> _EIGHTH, _MOST
            self._kept = [some[some <= self._limit] for some in self._kept]
            self._count = sum(map(len, self._kept))

    def merge(self, later: RepeatedCentroids) -> None:
        """Add other blocks; the outcome is that of one pass over all of them."""
        self._limit = min(self._limit, later._limit)
        self._bound = max(self._bound, later._bound)
        self._kept = [some[some <= self._limit] for some in self._kept]
        self._count = sum(map(len, self._kept))
        for hashes in later._kept:
            self._keep(hashes[hashes <= self._limit])

    def arrays(self) -> dict[str, StoredArray]:
        """Return all of it, to be stored."""
        hashes = np.concatenate([np.empty(0, np.uint64), *self._kept])
        return {"hashes": hashes, "limit": np.array([self._limit, self._bound], np.uint64)}

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> RepeatedCentroids:
        """Return what `arrays` stored."""
        restored = cls()
        limit, bound = np.asarray(arrays["limit"], np.uint64)
        restored._limit, restored._bound = np.uint64(limit), int(bound)
        restored._keep(np.asarray(arrays["hashes"], np.uint64))
        return restored

    def warnings(self) -> Iterator[str]:
        """Yield a warning if there are some, with their number where all were compared."""
        if not self._kept:
            return
        every = np.concatenate(self._kept)
        every.sort()
        again = int(np.count_nonzero(every[1:] == every[:-1]))
        if again:
            least = "" if self._bound == _ALL else "at least "
            yield (
                f"{least}{again:,} {'block has' if again == 1 else 'blocks have'} the same "
                "centroid as another: their volume counts twice; inspect says which is the first"
            )


def _hashed(points: Floats) -> _Hashes:
    """Return a hash of each point; coordinates of a lattice end in zeros, so high bits go down."""
    found = np.zeros(len(points), np.uint64)
    for axis, factor in enumerate(_FACTORS):
        bits = np.ascontiguousarray(points[:, axis]).view(np.uint64)
        mixed = bits >> np.uint64(29)
        mixed ^= bits
        mixed *= factor
        found += mixed
    return found
