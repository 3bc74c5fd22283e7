"""Divide blocks among the cells of a regular lattice exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.blocks.new_model import DecimalAxis, fitted_axis
from geodomain.compute.data import Floats, Ints
from geodomain.errors import TableError

Places = NDArray[np.intp]

# Volumes in units stay below 2^62, so that int64 holds them.
_MOST_UNITS = 1 << 62
# Number of pieces of blocks in a batch.
_TOGETHER = 1 << 18


class AxisIntervals:
    """The distinct intervals that blocks take along one axis, collected chunk by chunk.

    Faces are exact: a centre and a size count as the shortest decimals that read back as the
    stored float64, so faces of neighbours meet.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[float, float], int] = {}

    def __len__(self) -> int:
        """Return the number of distinct intervals."""
        return len(self._numbers)

    def codes(self, centres: Floats, sizes: Floats) -> Ints:
        """Return the index of the interval of each block; give new intervals the next indices."""
        import pandas

        where, starts = pandas.factorize(centres)
        if len(sizes) and (sizes == sizes[0]).all():  # as in regular models
            pairs, used, lengths = where, np.arange(len(starts)), sizes[:1]
        else:
            kinds, lengths = pandas.factorize(sizes)
            pairs, used = pandas.factorize(where * np.int64(len(lengths)) + kinds)
        at, long = starts.tolist(), lengths.tolist()
        table = [
            self._numbers.setdefault((at[a], long[b]), len(self._numbers))
            for a, b in (divmod(pair, len(lengths)) for pair in used.tolist())
        ]
        codes: Ints = np.array(table, np.int64)[pairs]
        return codes

    def faces(self) -> list[tuple[Fraction, Fraction]]:
        """Return the lower and the upper face of each interval."""
        exact = [(Fraction(repr(a)), Fraction(repr(b)) / 2) for a, b in self._numbers]
        return [(centre - half, centre + half) for centre, half in exact]


class DividedAxis:
    """The intervals along one axis, divided among equal cells.

    Parameters
    ----------
    faces : sequence of (Fraction, Fraction)
        Lower and upper face of each interval.
    axis : DecimalAxis
        The cells.

    Attributes
    ----------
    unit : Fraction
        The unit of lengths: every face of an interval and of a cell is a whole number of units
        away from every other.
    cell : int
        Length of a cell, in units.
    starts, counts : (n,) int64
        For each interval, its first entry in `cells`, and the number of cells that it enters.
    cells, lengths : (m,) int64
        The index of each cell that an interval enters, and the length of the overlap, in units.
    whole, inside : (n,) int64
        Length of each interval, and the part of it that lies in cells, in units.
    """

    def __init__(self, faces: Sequence[tuple[Fraction, Fraction]], axis: DecimalAxis) -> None:
        low, size = Fraction(axis.low), Fraction(axis.size)
        offsets = [(start - low, end - low) for start, end in faces]
        scale = math.lcm(size.denominator, *(each.denominator for pair in offsets for each in pair))
        step = int(size * scale)
        numbers = [(int(start * scale), int(end * scale)) for start, end in offsets]
        common = math.gcd(step, *(each for pair in numbers for each in pair))
        self.unit, self.cell = Fraction(common, scale), step // common
        numbers = [(start // common, end // common) for start, end in numbers]
        whole = [end - start for start, end in numbers]
        if max(self.cell, *whole, 0) >= _MOST_UNITS:
            message = (
                "coordinates and sizes have so many digits that blocks cannot be divided among the "
                "new blocks exactly: round them"
            )
            raise TableError(message)
        spans = [
            (max(start // self.cell, 0), min(-(-end // self.cell), axis.count))
            for start, end in numbers
        ]
        counts = [max(last - first, 0) for first, last in spans]
        memory.require(16 * sum(counts), f"{sum(counts):,} new blocks along an axis", TableError)
        self.counts = np.array(counts, np.int64)
        self.starts = np.cumsum(self.counts) - self.counts
        self.cells = np.empty(sum(counts), np.int64)
        self.lengths = np.full(sum(counts), self.cell, np.int64)
        self.whole = np.array(whole, np.int64)
        for at, count, (first, last), (start, end) in zip(
            self.starts.tolist(), counts, spans, numbers, strict=True
        ):
            if count:
                self.cells[at : at + count] = np.arange(first, last)
                self.lengths[at] -= max(start - first * self.cell, 0)
                self.lengths[at + count - 1] -= max(last * self.cell - end, 0)
        sums = np.concatenate([[0], np.cumsum(self.lengths)])
        self.inside = sums[self.starts + self.counts] - sums[self.starts]


class Pieces(NamedTuple):
    """The parts of blocks in cells.

    Attributes
    ----------
    rows : (m,) intp
        The block of each piece.
    cells : (m,) int64
        The cell of each piece: x varies first, then y, then z.
    volumes : (m,) int64
        The volume of each piece, in units.
    """

    rows: Places
    cells: Ints
    volumes: Ints


class Division:
    """Blocks divided among the cells of a lattice along the same axes.

    Parameters
    ----------
    intervals : three AxisIntervals
        All intervals of the blocks along x, y and z.
    axes : three DecimalAxis
        The cells.

    Attributes
    ----------
    cells : int
        Number of cells.
    volume_unit : Fraction
        The unit of volumes.
    cell_volume : int
        Volume of a cell, in units.
    """

    def __init__(self, intervals: Sequence[AxisIntervals], axes: Sequence[DecimalAxis]) -> None:
        self._axes = [
            DividedAxis(each.faces(), axis) for each, axis in zip(intervals, axes, strict=True)
        ]
        self._shape = [axis.count for axis in axes]
        self.cells = math.prod(self._shape)
        self.volume_unit = math.prod((axis.unit for axis in self._axes), start=Fraction(1))
        self.cell_volume = math.prod(axis.cell for axis in self._axes)
        longest = math.prod(int(axis.whole.max(initial=0)) for axis in self._axes)
        if max(self.cell_volume, longest) >= _MOST_UNITS:
            message = (
                "coordinates and sizes have so many digits that blocks cannot be divided among "
                "the new blocks exactly: round them, or choose a size= or origin= with fewer digits"
            )
            raise TableError(message)

    def whole(self, codes: Sequence[Ints]) -> Ints:
        """Return the volume of each block, in units; `codes` are its intervals along x, y, z."""
        x, y, z = (axis.whole[code] for axis, code in zip(self._axes, codes, strict=True))
        volumes: Ints = x * y * z
        return volumes

    def inside(self, codes: Sequence[Ints]) -> Ints:
        """Return the part of the volume of each block that lies in cells, in units."""
        x, y, z = (axis.inside[code] for axis, code in zip(self._axes, codes, strict=True))
        volumes: Ints = x * y * z
        return volumes

    def pieces(self, codes: Sequence[Ints]) -> Pieces:
        """Return the parts of blocks in cells."""
        counts = [axis.counts[code] for axis, code in zip(self._axes, codes, strict=True)]
        number = counts[0] * counts[1] * counts[2]
        is_split = not (number == 1).all()
        rows = np.arange(len(number))
        if is_split:
            rows = np.repeat(rows, number)
            step = np.arange(len(rows)) - np.repeat(np.cumsum(number) - number, number)
        cells, volumes = np.zeros(len(rows), np.int64), np.ones(len(rows), np.int64)
        stride = 1
        for axis, code, count, length in zip(self._axes, codes, counts, self._shape, strict=True):
            entry = axis.starts[code]
            if is_split:
                entry = entry[rows] + step % count[rows]
                step //= count[rows]
            cells += axis.cells[entry] * stride
            volumes *= axis.lengths[entry]
            stride *= length
        return Pieces(rows, cells, volumes)

    def batches(self, codes: Sequence[Ints]) -> Iterator[slice]:
        """Yield slices of blocks with about 2^18 pieces each, or of one block with more."""
        x, y, z = (axis.counts[code] for axis, code in zip(self._axes, codes, strict=True))
        batch = (np.cumsum(x * y * z + 1) - 1) // _TOGETHER
        starts = np.flatnonzero(np.diff(batch, prepend=-1)).tolist()
        yield from map(slice, starts, [*starts[1:], len(batch)])


def lattice_over(
    intervals: Sequence[AxisIntervals], size: Sequence[Decimal], corner: Sequence[Decimal] | None
) -> tuple[DecimalAxis, DecimalAxis, DecimalAxis]:
    """Return the fewest cells that contain all intervals.

    Faces of cells lie a whole number of cells away from `corner`, by default the lower corner of
    the blocks.
    """
    axes = []
    for place, each in enumerate(intervals):
        faces = each.faces()
        low, high = min(face[0] for face in faces), max(face[1] for face in faces)
        anchor = low if corner is None else Fraction(corner[place])
        axes.append(fitted_axis(low, high, Fraction(size[place]), Fraction(0), anchor))
    return axes[0], axes[1], axes[2]
