"""Divide blocks among the cells of a regular lattice exactly, and add up products by cell."""

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
from geodomain.compute.rows import add_products
from geodomain.errors import TableError

Places = NDArray[np.intp]

# Volumes in units stay below 2^62, so that int64 holds them.
_MOST_UNITS = 1 << 62
# Bits of a mantissa, and of the number of products that may be added.
_MANTISSA, _PRODUCTS = 53, 48
# Carries are taken out of the lanes after this many products; 2^31 is the limit.
_BEFORE_CARRY = 1 << 30
_DIGIT = 32
# Pieces of blocks that are added together.
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
        """Return the number of the interval of each block; number new intervals."""
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
                "coordinates and sizes have too many digits to be divided among blocks exactly: "
                "round them"
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


class Exponents:
    """The range of the binary exponents of a column, collected chunk by chunk.

    Attributes
    ----------
    low, high : int
        A value that is not 0 is a multiple of 2^low, and below 2^high in size.
    """

    def __init__(self) -> None:
        self.low, self.high = 0, 0
        self._is_empty = True

    def add(self, values: Floats) -> None:
        """Take the finite values of a chunk into account."""
        present = values[np.isfinite(values) & (values != 0)]
        if not len(present):
            return
        _, powers = np.frexp(present)
        low, high = int(powers.min()) - _MANTISSA, int(powers.max())
        if self._is_empty:
            self.low, self.high, self._is_empty = low, high, False
        self.low, self.high = min(self.low, low), max(self.high, high)


class Sums:
    """Exact sums by group of products: a volume in units times some factors.

    Parameters
    ----------
    groups : int
        Number of groups.
    factors : sequence of Exponents
        The ranges of the factors, at most two.
    """

    def __init__(self, groups: int, factors: Sequence[Exponents] = ()) -> None:
        self._unit = sum(each.low for each in factors)
        bits = 62 + _PRODUCTS + sum(each.high for each in factors) - self._unit
        self._lanes = np.zeros((groups, -(-bits // _DIGIT) + 1), np.int64)
        self._since = 0
        self._wholes: list[int] | None = None

    @staticmethod
    def room(groups: int, factors: Sequence[Exponents] = ()) -> int:
        """Return the memory of such sums in bytes."""
        bits = 62 + _PRODUCTS + sum(each.high - each.low for each in factors)
        return groups * 8 * (-(-bits // _DIGIT) + 1)

    def add(self, groups: Ints, volumes: Ints, *factors: Floats) -> None:
        """Add products to the sums; factors are finite."""
        if self._since + len(groups) > _BEFORE_CARRY:
            self._carry()
        self._since += len(groups)
        self._wholes = None
        columns = np.column_stack(factors) if factors else np.empty((len(groups), 0))
        done = add_products(self._lanes, groups, volumes, columns, self._unit)
        if done < len(groups):
            message = f"a product of group {int(groups[done])} does not fit into its sum"
            raise AssertionError(message)

    def _carry(self) -> None:
        """Move carries to the next lanes, so that each lane but the last has a digit of 32 bits."""
        lanes = self._lanes
        for lane in range(lanes.shape[1] - 1):
            carry = lanes[:, lane] >> _DIGIT
            lanes[:, lane] -= carry << _DIGIT
            lanes[:, lane + 1] += carry
        self._since = 0

    @property
    def scale(self) -> Fraction:
        """The unit of the numbers that `wholes` returns."""
        return Fraction(2) ** self._unit

    def wholes(self) -> list[int]:
        """Return the sum of each group as a whole number of `scale`."""
        if self._wholes is not None:
            return self._wholes
        self._carry()
        lanes = self._lanes
        words = np.empty((len(lanes), lanes.shape[1] + 1), "<u4")
        words[:, :-2] = lanes[:, :-1]
        words[:, -2:] = np.ascontiguousarray(lanes[:, -1:], "<i8").view("<u4")
        content, width = words.tobytes(), 4 * words.shape[1]
        self._wholes = [
            int.from_bytes(content[at : at + width], "little", signed=True)
            for at in range(0, len(content), width)
        ]
        return self._wholes

    def total(self, groups: slice = slice(None)) -> Fraction:
        """Return the sum over groups."""
        return sum(self.wholes()[groups]) * self.scale
