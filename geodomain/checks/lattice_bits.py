"""Blocks on a lattice that come again: a bit for each cell, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import distinct
from geodomain.backends.lattice_rows import mark_blocks

Floats = NDArray[np.float64]
_Cells = NDArray[np.int64]
# What is stored, and read back from.
StoredArray = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8] | NDArray[np.str_]

# A bit each for more cells would take too much memory: these take 256 MB.
_MOST_CELLS = 1 << 31
# A layer is spread to a byte for each cell, and each coordinate along an axis takes eight.
_MOST_IN_A_LAYER, _MOST_COORDINATES = 1 << 28, 1 << 24
# Numbers of cells are whole, and far from where doubles end to be so.
_FARTHEST = 2.0**40
# So many coordinates tell the lattice at first; those that do not fit make it finer.
_FIRST = 4096


class LatticeBits:
    """Which cells of a lattice have had a block.

    The lattice is found as blocks come: it grows, and becomes finer, so that along each axis no
    two coordinates are in one cell. Two blocks in one cell have the same centroid, therefore, and
    nothing is rounded.

    Parameters
    ----------
    points : (n, 3) float64
        The first centroids, finite, n > 0; they are still to be added.
    steps : (3,) float64
        How far cells are apart along an axis on which the first have one coordinate.

    Attributes
    ----------
    again : int
        Blocks whose centroid another one had before.
    """

    def __init__(self, points: Floats, steps: Floats) -> None:
        self.again = self._rows = 0
        self._starts, self._scales = points[0].copy(), np.ones(3)
        self._firsts, self._values = np.zeros(3, np.int64), _no_values([8, 1, 1])
        self._bits = _no_bits([8, 1, 1])
        for axis in range(3):
            gaps = np.diff(distinct(points[:_FIRST, axis]))
            step = float(gaps.min() if len(gaps) else steps[axis])
            if 0 < step < np.inf and np.isfinite(1 / step):
                self._scales[axis] = 1 / step

    def add(self, points: Floats) -> bool:
        """Mark the cells of (n, 3) finite centroids; False where no lattice has them all."""
        for widen in (self._grow, self._refine):
            points = points[self._mark(points) :]
            if not len(points):
                return True
            if not widen(points):
                return False
        return self._mark(points) == len(points)

    def points(self) -> Iterator[Floats]:
        """Yield the centroids that are known, each once, a plane at a time."""
        x, y, z = self._values
        for height, plane in zip(z, self._bits, strict=True):
            rows, places = np.nonzero(np.unpackbits(plane, axis=1, bitorder="little"))
            if len(rows):
                columns = (x[places], y[rows], np.full(len(rows), height))
                yield np.asfortranarray(np.stack(columns, axis=1))

    def arrays(self) -> dict[str, StoredArray]:
        """Return what `restored` makes the same bits of."""
        x, y, z = self._values
        frame = np.array([self._starts, self._scales, self._firsts.astype(np.float64)])
        stored: dict[str, StoredArray] = {"frame": frame, "x": x, "y": y, "z": z}
        return stored | {"bits": self._bits, "counts": np.array([self.again, self._rows], np.int64)}

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> LatticeBits:
        """Return what `arrays` stored."""
        starts, scales, firsts = np.asarray(arrays["frame"], np.float64)
        bits = cls(starts[None], np.ones(3))
        bits._starts, bits._scales, bits._firsts = starts, scales, firsts.astype(np.int64)
        bits._values = [np.asarray(arrays[axis], np.float64) for axis in "xyz"]
        bits._bits = np.asarray(arrays["bits"], np.uint8)
        bits.again, bits._rows = np.asarray(arrays["counts"], np.int64).tolist()
        return bits

    def _mark(self, points: Floats) -> int:
        """Mark the cells of centroids up to the first that has none, and return how many."""
        x, y, z = points.T
        taken, again = mark_blocks(
            (x, y, z), self._starts, self._scales, self._firsts, self._values, self._bits
        )
        self.again += again
        self._rows += taken
        return taken

    @property
    def filled(self) -> float:
        """Return which part of the cells has had a block, from the first to the last known."""
        spans = [np.ptp(np.flatnonzero(~np.isnan(each))) + 1.0 for each in self._values]
        return float((self._rows - self.again) / np.prod(spans))

    def _grow(self, points: Floats) -> bool:
        """Make room for cells beyond the ends, as much again along an axis as there was."""
        low = np.rint((points.min(axis=0) - self._starts) * self._scales)
        high = np.rint((points.max(axis=0) - self._starts) * self._scales)
        counts = np.array([len(each) for each in self._values])
        first, last = self._firsts, self._firsts + counts - 1
        for spare in (counts, 0):
            room = _room(
                np.where(low < first, low - spare, first),
                np.where(high > last, high + spare, last),
            )
            if room is not None:
                self._move(*room)
                return True
        return False

    def _move(self, firsts: _Cells, counts: _Cells) -> None:
        """Take what is known to a larger room; along x by whole bytes."""
        values, bits = _no_values(counts), _no_bits(counts)
        by = self._firsts - firsts
        for new, old, begin in zip(values, self._values, by, strict=True):
            new[begin : begin + len(old)] = old
        z, y, x = self._bits.shape
        bits[by[2] : by[2] + z, by[1] : by[1] + y, by[0] // 8 : by[0] // 8 + x] = self._bits
        self._firsts, self._values, self._bits = firsts, values, bits

    def _refine(self, points: Floats) -> bool:
        """Make cells so small that each has one coordinate of those known and of these."""
        known = [np.flatnonzero(~np.isnan(each)) for each in self._values]
        scales, ends = self._scales.copy(), []
        for axis, (places, values) in enumerate(zip(known, self._values, strict=True)):
            every = np.union1d(values[places], points[:, axis])
            found = _scale_of(every - self._starts[axis], float(scales[axis]))
            if found is None:
                return False
            scales[axis] = found
            ends.append(np.rint((every[[0, -1]] - self._starts[axis]) * found))
        room = _room(*np.array(ends).T)
        if room is None:
            return False
        self._divide(known, scales, *room)
        return True

    def _divide(
        self, known: list[NDArray[np.intp]], scales: Floats, firsts: _Cells, counts: _Cells
    ) -> None:
        """Take what is known to smaller cells, a plane at a time."""
        values, bits, cells = _no_values(counts), _no_bits(counts), []
        for axis, places in enumerate(known):
            found = self._values[axis][places]
            numbers = np.rint((found - self._starts[axis]) * scales[axis]).astype(np.int64)
            cells.append(numbers - firsts[axis])
            values[axis][cells[axis]] = found
        for old, new in zip(known[2], cells[2], strict=True):
            plane = np.unpackbits(self._bits[old], axis=1, bitorder="little")
            divided = np.zeros((counts[1], counts[0]), np.uint8)
            divided[np.ix_(cells[1], cells[0])] = plane[np.ix_(known[1], known[0])]
            bits[new] = np.packbits(divided, axis=1, bitorder="little")
        self._scales, self._firsts, self._values, self._bits = scales, firsts, values, bits


def _no_values(counts: Sequence[int] | _Cells) -> list[Floats]:
    """Return room for the coordinates of cells, of which none is known."""
    return [np.full(count, np.nan) for count in counts]


def _no_bits(counts: Sequence[int] | _Cells) -> NDArray[np.uint8]:
    """Return bits that are not set, (z, y, x / 8)."""
    return np.zeros((counts[2], counts[1], counts[0] // 8), np.uint8)


def _room(first: Floats | _Cells, last: Floats | _Cells) -> tuple[_Cells, _Cells] | None:
    """Return the first cells and their counts, whole bytes along x; None if these are too many."""
    eights = np.array([8, 1, 1])
    first = np.floor(first / eights) * eights
    count = np.ceil((last - first + 1) / eights) * eights
    # The first comparison also fails for what is not finite.
    if not (np.abs([first, last]) < _FARTHEST).all():
        return None
    if count.prod() > _MOST_CELLS or count[0] * count[1] > _MOST_IN_A_LAYER:
        return None
    if count.sum() > _MOST_COORDINATES:
        return None
    return first.astype(np.int64), count.astype(np.int64)


def _scale_of(values: Floats, scale: float) -> float | None:
    """Return how many cells to a unit tell ascending coordinates apart; None where none does."""
    with np.errstate(over="ignore", divide="ignore"):
        least = 1 / np.diff(values).min(initial=np.inf)
        # On a lattice the first does or the second; what lies otherwise may need smaller cells.
        for tried in (scale, least, 2 * least):
            if tried < np.inf and (np.diff(np.rint(values * tried)) > 0).all():
                return float(tried)
    return None
