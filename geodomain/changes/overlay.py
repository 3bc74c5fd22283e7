"""Overlap two sets of boxes exactly: for each pair of boxes, the overlap in whole units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints

# Lengths in units: int64, or Python integers in an object array if int64 could overflow.
Lengths = NDArray[np.int64] | NDArray[np.object_]

# Pairs of boxes that are compared at a time.
_TOGETHER = 1 << 19
# Largest mean number of cells of the search grid that a box enters.
_MOST_CELLS = 16
_WIDEST = 1 << 62


class BoxFaces(NamedTuple):
    """The faces of n boxes in whole units: their lower and upper coordinates, (3, n) each."""

    lows: Sequence[Lengths]
    highs: Sequence[Lengths]

    @property
    def boxes(self) -> int:
        """Number of boxes."""
        return len(self.lows[0])

    def lengths(self) -> list[Lengths]:
        """Return the lengths of the boxes along x, y and z."""
        return [high - low for low, high in zip(self.lows, self.highs, strict=True)]


class Overlaps(NamedTuple):
    """Pairs of boxes that overlap.

    Attributes
    ----------
    first, second : (m,) intp
        The row of each box in its set.
    lengths : list of (m,) int64 or object
        The lengths of the overlap along x, y and z, in units of `Overlay.units`, above 0.
    """

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    lengths: list[Lengths]


class Overlay:
    """Two sets of boxes along the same axes, with exact faces.

    A face is centre + size / 2 or centre - size / 2, as a rational number. Each centre and size
    counts as the shortest decimal that reads back as the stored float64, so the faces of
    neighbours in a text table meet exactly.

    Parameters
    ----------
    first, second : (points, sizes), each (n, 3) float64
        Centres and sizes of the boxes; all are finite, and sizes are above 0.

    Attributes
    ----------
    units : tuple of Fraction
        The length of a unit along x, y and z.
    first, second : BoxFaces
        The faces of both sets, relative to a common origin.

    Examples
    --------
    >>> import numpy as np
    >>> wide = np.array([[5.0, 5.0, 5.0]]), np.array([[10.0, 10.0, 10.0]])
    >>> shifted = np.array([[8.1, 5.0, 5.0]]), np.array([[10.0, 10.0, 10.0]])
    >>> overlay = Overlay(wide, shifted)
    >>> (pairs,) = overlay.pairs()
    >>> [int(length[0]) * unit for length, unit in zip(pairs.lengths, overlay.units)]
    [Fraction(69, 10), Fraction(10, 1), Fraction(10, 1)]
    """

    def __init__(self, first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> None:
        units: list[Fraction] = []
        lows: tuple[list[Lengths], list[Lengths]] = ([], [])
        highs: tuple[list[Lengths], list[Lengths]] = ([], [])
        for axis in range(3):
            columns = [each[:, axis] for pair in (first, second) for each in pair]
            (own, size), (other, other_size), unit = _whole(columns)
            units.append(unit)
            for place, (centre, length) in enumerate(((own, size), (other, other_size))):
                # `_whole` doubles centres, so half a size is a whole number of units.
                lows[place].append(centre - length)
                highs[place].append(centre + length)
        self.units = (units[0], units[1], units[2])
        self.first, self.second = (BoxFaces(*each) for each in zip(lows, highs, strict=True))

    @property
    def volume_unit(self) -> Fraction:
        """The volume of a box whose sides are one unit long."""
        return math.prod(self.units, start=Fraction(1))

    def pairs(self) -> Iterator[Overlaps]:
        """Yield the pairs of boxes that overlap, in batches; each pair once."""
        if not (self.first.boxes and self.second.boxes):
            return
        grid = _Grid(self.first, self.second)
        own, other = grid.entries(self.first), grid.entries(self.second)
        order = np.argsort(other.cells, kind="stable")
        cells, boxes = other.cells[order], other.boxes[order]
        begins = np.searchsorted(cells, own.cells, side="left")
        counts = np.searchsorted(cells, own.cells, side="right") - begins
        ends = np.cumsum(counts)
        start = 0
        while start < len(counts):
            done = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + _TOGETHER, side="right")))
            some = slice(start, stop)
            number = counts[some]
            entry = np.repeat(np.arange(start, stop), number)
            step = np.arange(len(entry)) - np.repeat(np.cumsum(number) - number, number)
            overlaps = self._overlaps(
                own.boxes[entry], boxes[begins[entry] + step], own.cells[entry], grid
            )
            if len(overlaps.first):
                yield overlaps
            start = stop

    def _overlaps(
        self, first: NDArray[np.intp], second: NDArray[np.intp], cells: Ints, grid: _Grid
    ) -> Overlaps:
        """Return the pairs that overlap, and whose overlap begins in the cell."""
        mask = grid.first_common(first, second) == cells
        lengths: list[Lengths] = []
        for axis in range(3):
            first, second = first[mask], second[mask]
            lengths = [each[mask] for each in lengths]
            high = np.minimum(self.first.highs[axis][first], self.second.highs[axis][second])
            low = np.maximum(self.first.lows[axis][first], self.second.lows[axis][second])
            lengths.append(high - low)
            mask = np.asarray(lengths[-1] > 0, np.bool_)
        return Overlaps(first[mask], second[mask], [each[mask] for each in lengths])


def _whole(
    columns: Sequence[Floats],
) -> tuple[tuple[Lengths, Lengths], tuple[Lengths, Lengths], Fraction]:
    """Return centres and half sizes as whole numbers of a unit, and the unit.

    `columns` are the centres and the sizes of the first set, then those of the second set.
    """
    distinct = [np.unique(column, return_inverse=True) for column in columns]
    exact = [[Decimal(repr(value)) for value in values.tolist()] for values, _ in distinct]
    places = max((-int(each.as_tuple().exponent) for some in exact for each in some), default=0)
    scale = Decimal(10) ** max(places, 0)
    whole = [[int(_scaled(each, scale)) for each in some] for some in exact]
    origin = min((*whole[0], *whole[2]), default=0)
    numbers = [
        [2 * (each - origin) for each in some] if place % 2 == 0 else some
        for place, some in enumerate(whole)
    ]
    widest = max((abs(each) for some in numbers for each in some), default=0)
    small = 4 * widest < _WIDEST
    arrays: list[Lengths] = []
    for some, (_, inverse) in zip(numbers, distinct, strict=True):
        values = np.array(some, np.int64) if small else np.array(some, np.object_)
        arrays.append(values[inverse.reshape(-1)])
    return (arrays[0], arrays[1]), (arrays[2], arrays[3]), Fraction(1, 2 * int(scale))


def _scaled(value: Decimal, scale: Decimal) -> Decimal:
    """Return a decimal times a power of ten, without rounding."""
    return value.scaleb(scale.adjusted())


class _Entries(NamedTuple):
    """Boxes by the cells of the search grid that they enter: a row for each box and cell."""

    boxes: NDArray[np.intp]
    cells: Ints


class _Grid:
    """A grid of cells in which boxes are searched; it does not change the result."""

    def __init__(self, first: BoxFaces, second: BoxFaces) -> None:
        self._faces = (first, second)
        self._ends = [
            (
                min(int(each.lows[axis].min()) for each in self._faces),
                max(int(each.highs[axis].max()) for each in self._faces),
            )
            for axis in range(3)
        ]
        most = _MOST_CELLS * (first.boxes + second.boxes)
        steps = [self._usual_length(axis) for axis in range(3)]
        # A few boxes that are far larger than all others would enter too many cells.
        while self._divide(steps) > most:
            steps = [2 * step for step in steps]

    def _usual_length(self, axis: int) -> int:
        """Return the median length of the boxes of the coarser set."""
        lengths = [each.highs[axis] - each.lows[axis] for each in self._faces]
        return max(1, *(int(np.sort(each)[len(each) // 2]) for each in lengths))

    def _divide(self, steps: Sequence[int]) -> float:
        """Set the cells from their lengths; return how many cells the boxes enter, summed."""
        self._counts = [
            (high - low) // step + 1 for (low, high), step in zip(self._ends, steps, strict=True)
        ]
        if math.prod(self._counts) > _WIDEST:
            return math.inf
        self._lows: list[list[Ints]] = [[], []]
        self._spans: list[list[Ints]] = [[], []]
        for place, each in enumerate(self._faces):
            for axis, ((low, _), step) in enumerate(zip(self._ends, steps, strict=True)):
                start = ((each.lows[axis] - low) // step).astype(np.int64)
                # The upper face is not part of the box.
                stop = ((each.highs[axis] - 1 - low) // step).astype(np.int64)
                self._lows[place].append(start)
                self._spans[place].append(stop - start + 1)
        return float(
            sum(
                np.prod(np.stack(spans, axis=1), axis=1, dtype=np.float64).sum()
                for spans in self._spans
            )
        )

    def entries(self, faces: BoxFaces) -> _Entries:
        """Return the cells that the boxes of a set enter."""
        place = 0 if faces is self._faces[0] else 1
        lows, spans = self._lows[place], self._spans[place]
        number = spans[0] * spans[1] * spans[2]
        boxes = np.repeat(np.arange(faces.boxes), number)
        step = np.arange(len(boxes)) - np.repeat(np.cumsum(number) - number, number)
        cells = np.zeros(len(boxes), np.int64)
        inner = number[boxes]
        for axis in range(3):
            inner = inner // spans[axis][boxes]
            cells = cells * self._counts[axis] + lows[axis][boxes] + step // inner
            step = step % inner
        return _Entries(boxes, cells)

    def first_common(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Ints:
        """Return the cell of the lower corner of the overlap of each pair of boxes."""
        cells: Ints = np.zeros(len(first), np.int64)
        for axis in range(3):
            low = np.maximum(self._lows[0][axis][first], self._lows[1][axis][second])
            cells = cells * self._counts[axis] + low
        return cells
