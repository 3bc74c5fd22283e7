"""Blocks that are there twice: with the same centroid and the same size."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.io.files.spill import Rows, Spill

Floats = NDArray[np.float64]
_Bits = NDArray[np.uint64]

# Odd numbers without a pattern: each step of the hashes can be undone, so that it loses nothing.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Repeats:
    """Hashes of 128 bits of all blocks, which two different ones never share in practice.

    For each block 24 bytes are kept: in memory up to two million blocks, of more in a temporary
    file.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._spill = Spill(3)
        self._failed = ""

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a chunk: (n, 3) centroids, NaN where missing, and (n, 3) sizes, or None."""
        numbers = np.arange(self._rows, self._rows + len(points), dtype=np.uint64)
        self._rows += len(points)
        if self._failed:
            return
        finite = np.isfinite(points).all(axis=1)
        if not finite.all():  # what is missing is the same as nothing
            points, numbers = points[finite], numbers[finite]
            sizes = None if sizes is None else sizes[finite]
        rows = np.column_stack([*_hashed(points, sizes), numbers])
        try:
            self._spill.add(rows)
        except OSError as error:
            self._failed = str(error.strerror)
            self._spill.close()

    def warnings(self) -> Iterator[str]:
        """Yield a warning if some blocks are there twice, with the first of them."""
        if self._failed:
            yield (
                f"whether blocks are there twice is not known: {tempfile.gettempdir()} has no room "
                f"for 24 bytes of each ({self._failed}); TMPDIR names another folder"
            )
        with self._spill:
            found = [pair for pair in map(_repeated, self._spill.parts()) if len(pair)]
        if found:
            pairs = np.concatenate(found)
            before, again = pairs[pairs[:, 1].argmin()].tolist()
            said = "1 block is" if len(pairs) == 1 else f"{len(pairs):,} blocks are"
            yield (
                f"{said} there again, with the same centroid and size; the first is block "
                f"{again + 1:,} of the table, the same as block {before + 1:,}: their volume "
                "counts twice"
            )


def _repeated(rows: Rows) -> NDArray[np.uint64]:
    """Return the numbers of blocks that come again, (n, 2): the one before, and the block."""
    first = np.sort(rows[:, 0])
    twice = first[1:][first[1:] == first[:-1]]
    if not len(twice):
        return np.empty((0, 2), np.uint64)
    some = rows[np.isin(rows[:, 0], twice)]
    some = some[np.lexsort(some.T[::-1])]
    same = (some[1:, :2] == some[:-1, :2]).all(axis=1)
    pairs: NDArray[np.uint64] = np.column_stack([some[:-1, 2], some[1:, 2]])
    found: NDArray[np.uint64] = pairs[same]
    return found


def _hashed(points: Floats, sizes: Floats | None) -> tuple[_Bits, _Bits]:
    """Return two hashes of each block."""
    one, other = np.zeros((2, len(points)), np.uint64)
    for column in (*points.T, *(() if sizes is None else sizes.T)):
        bits = _mixed((column + 0.0).view(np.uint64))
        one = _mixed(one ^ bits)
        other = (other + bits) * _SECOND
        other ^= other >> np.uint64(32)
    return one, other


def _mixed(bits: _Bits) -> _Bits:
    """Spread the bits of numbers over all 64."""
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)))
