"""Blocks that are there twice: with the same centroid and the same size."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Of more blocks the hashes, of 8 bytes each, would take too much memory.
_MOST = 50_000_000
# Odd numbers without a pattern: each step of the hash can be undone, so that it loses nothing.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Repeats:
    """Hashes of 64 bits of all blocks; two different blocks share one by chance in 1e-19."""

    def __init__(self) -> None:
        self._hashes: list[NDArray[np.uint64]] | None = []
        self._rows = 0

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a chunk: (n, 3) centroids, NaN where missing, and (n, 3) sizes, or None."""
        self._rows += len(points)
        if self._hashes is None or self._rows > _MOST:
            self._hashes = None
            return
        found = np.zeros(len(points), np.uint64)
        for column in (*points.T, *(() if sizes is None else sizes.T)):
            found = _mixed(found ^ _mixed((column + 0.0).view(np.uint64)))
        # What is missing is the same as nothing: such rows have numbers of their own.
        lost = ~np.isfinite(points).all(axis=1)
        if lost.any():
            start = np.uint64(self._rows)
            found[lost] = _mixed(start + np.arange(np.count_nonzero(lost), dtype=np.uint64))
        self._hashes.append(found)

    def warnings(self) -> Iterator[str]:
        """Yield a warning if some blocks are there twice, with the first of them."""
        if not self._hashes:
            return
        every = np.concatenate(self._hashes)
        order = every.argsort(kind="stable")
        again = np.flatnonzero(every[order[1:]] == every[order[:-1]])
        if len(again):
            second = order[again + 1]
            place = int(second.argmin())
            said = "1 block is" if len(again) == 1 else f"{len(again):,} blocks are"
            yield (
                f"{said} there again, with the same centroid and size; the first is block "
                f"{int(second[place]) + 1:,} of the table, the same as block "
                f"{int(order[again[place]]) + 1:,}: their volume counts twice"
            )


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of numbers over all 64."""
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)))
