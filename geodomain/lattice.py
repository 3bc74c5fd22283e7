"""Recognise lattices of blocks from coordinates, and count their cells before allocating.

`LearntAxis` infers the axes of a table from the first blocks. `even_lattice` recognises a lattice
of equal cells, and `LatticeBits` finds repeated blocks. No label depends on an inferred lattice:
a block outside the lattice is labelled by its own coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import distinct
from geodomain.compute.data import Floats
from geodomain.compute.rows import mark_blocks
from geodomain.formats.cells import LatticeCells

_Cells = NDArray[np.int64]
# Types of the arrays in which `LatticeBits` is stored.
StoredArray = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8] | NDArray[np.str_]

# Largest number of cells, of all meshes together, for which a bit is stored: 128 MB.
MOST_CELLS = 1 << 30
# The axes of a lattice have at most this many coordinates; computing them takes 50 bytes each.
MOST_COORDINATES = 1 << 22

# Integers below this, and the powers of ten used, are exact in float64, so a quotient rounds once.
_EXACT = 2.0**53
_MOST_DECIMALS = 9
# Rows used of a chunk, coordinates compared among these rows, and attempts to infer the steps.
_ROWS, _LOOKED, _TRIES = 1 << 16, 4096, 6
# The share of the coordinates that must fit the steps; the rest may be sub-blocks or errors.
_SHARE = 0.75
# With this many cells along each axis, a coordinate that is a missing-value code does little harm:
# it adds at most three planes.
_FEWEST = 8
# Faces are rounded, so equal sizes may differ by this share, as for 0.1 m at 8,000 km.
_EVEN = 1e-8
# Multiples of the golden ratio modulo 1 are spread evenly, for any number of cells.
_GOLDEN = 0.6180339887498949
# Largest number of cells, with one bit each: 256 MB.
_MOST_BITS = 1 << 31
# Largest numbers of bits (512 bytes) and of coordinates per block, so that a few distant blocks
# take little memory.
_BITS_OF_A_BLOCK, _PLACES_OF_A_BLOCK, _FEWEST_PLACES = 1 << 12, 1 << 6, 1 << 14
_FEWEST_BITS = 1 << 23  # 1 MB
# A layer is unpacked to a byte per cell, and each coordinate along an axis takes eight bytes.
_MOST_IN_A_LAYER, _MOST_PLACES = 1 << 28, 1 << 24
# Cell numbers stay where every integer is exact in float64.
_FARTHEST = 2.0**40
# The first coordinates choose the lattice; later ones that do not fit make it finer.
_FIRST = 4096


class LatticeAxis(Protocol):
    """The coordinates along one axis of a lattice."""

    def count(self, low: float, high: float) -> float:
        """Return an upper bound of the number of coordinates from low to high."""
        ...

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between `low` and `high`, ascending; both ends count."""
        ...


def cells_in_words(x: float, y: float, z: float) -> float:
    """Return the number of bits of a lattice if each column along z fills whole 64-bit words."""
    return x * y * 64.0 * math.ceil(z / 64)


class ExplicitAxis:
    """An axis given by its coordinates, which may be in any order."""

    def __init__(self, values: Floats) -> None:
        self._values = distinct(values[np.isfinite(values)])

    def count(self, low: float, high: float) -> float:
        """Return the number of coordinates between `low` and `high`; both ends count."""
        return float(len(self.within(low, high)))

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between `low` and `high`, ascending; both ends count."""
        values = self._values
        return values[np.searchsorted(values, low) : np.searchsorted(values, high, side="right")]


class DecimalSteps(NamedTuple):
    """Evenly spaced decimal coordinates, (first + n step) / 10^decimals for integers n.

    They are rounded to float64, as numbers read from text are. If `single`, they are then rounded
    again, to float32.
    """

    first: int
    step: int
    decimals: int
    single: bool

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between `low` and `high`, ascending; both ends count."""
        power = 10.0**self.decimals
        begin = math.floor((low * power - self.first) / self.step) - 1
        end = math.ceil((high * power - self.first) / self.step) + 1
        values = distinct(self.values(np.arange(begin, end + 1)))
        return values[(low <= values) & (values <= high)]

    def values(self, places: NDArray[np.int64]) -> Floats:
        """Return the coordinates for the integers n in `places`."""
        return _floats(self.first + self.step * places, self.decimals, single=self.single)


class LearntAxis:
    """The coordinates along one axis of a table, inferred from the first blocks."""

    def __init__(self) -> None:
        self._sample: Floats = np.empty(0)
        self._steps: DecimalSteps | None = None
        self._tries = 0

    def count(self, low: float, high: float) -> float:
        """Return an upper bound of the number of coordinates from low to high; 0 before `learn`."""
        if self._steps is None:
            return float(len(self.within(low, high)))
        return max(0.0, high - low) * 10.0**self._steps.decimals / self._steps.step + 1

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between `low` and `high`, ascending; both ends count."""
        if self._steps is not None:
            return self._steps.within(low, high)
        alone = self._sample if len(self._sample) == 1 else self._sample[:0]
        return alone[(low <= alone) & (alone <= high)]

    def learn(self, values: Floats) -> bool:
        """Update the axis from the coordinates of some blocks; return whether the axis changed."""
        if self._tries >= _TRIES or not len(values):
            return False
        values = values[:_ROWS]
        changes = np.flatnonzero(values[1:] != values[:-1])[: _LOOKED - 1] + 1
        some = values[np.append(0, changes)]
        some = some[np.isfinite(some)]
        if np.count_nonzero(self._expects(some)) >= _SHARE * len(some):
            return False
        self._sample = distinct(np.concatenate([self._sample[-_LOOKED:], some]))
        self._tries += 1
        self._steps = steps_of(self._sample) if len(self._sample) > 1 else None
        return True

    def _expects(self, values: Floats) -> NDArray[np.bool_]:
        """Return which coordinates are on the inferred axis."""
        steps = self._steps
        if steps is None:
            return np.isin(values, self._sample) & (len(self._sample) == 1)
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.rint((values * 10.0**steps.decimals - steps.first) / steps.step)
        near: NDArray[np.bool_] = np.abs(places) < _EXACT
        near &= steps.values(np.where(near, places, 0).astype(np.int64)) == values
        return near


def steps_of(values: Floats) -> DecimalSteps | None:
    """Return steps that fit most of two or more ascending coordinates; None if no steps do."""
    for single, decimals in product((False, True), range(_MOST_DECIMALS + 1)):
        with np.errstate(over="ignore"):
            units = np.rint(values * 10.0**decimals)
        near = np.abs(units) < _EXACT
        numbers = np.where(near, units, 0).astype(np.int64)
        numbers = numbers[near & (_floats(numbers, decimals, single=single) == values)]
        if len(numbers) < 2 or len(numbers) < _SHARE * len(values):
            continue
        step = _commonest(np.diff(numbers))
        rest = _commonest(numbers % step)
        if np.count_nonzero(numbers % step == rest) >= _SHARE * len(values):
            return DecimalSteps(rest, step, decimals, single)
    return None


def _commonest(numbers: NDArray[np.int64]) -> int:
    """Return the most frequent number; of several equally frequent numbers, the smallest."""
    values, counts = np.unique(numbers, return_counts=True)
    return int(values[counts.argmax()])


def _floats(numbers: NDArray[np.int64], decimals: int, *, single: bool) -> Floats:
    """Divide integers by a power of ten, rounding to float64, and then to float32 if `single`."""
    values = numbers / 10.0**decimals
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64) if single else values


class Span(NamedTuple):
    """Cells along an axis, from `first` up to but excluding `end`."""

    first: int
    end: int


@dataclass(frozen=True, eq=False)
class EvenLattice:
    """A lattice of finite cells of one size, with x changing fastest and z slowest.

    Attributes
    ----------
    centres : tuple of (n,) float64
        The centres along x, y and z, strictly increasing.
    bounds : (2, 3) float64
        The box around all cells.
    volume : float
        The volume of one cell.
    """

    centres: tuple[Floats, Floats, Floats]
    bounds: Floats
    volume: float

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return the number of cells along z, y and x, in this order."""
        x, y, z = map(len, self.centres)
        return z, y, x

    @property
    def count(self) -> int:
        """Return the total number of cells."""
        z, y, x = self.shape
        return z * y * x

    def sample(self, most: int) -> Floats:
        """Return the centres of at most `most` cells, (n, 3), spread over the lattice."""
        rows = np.arange(min(self.count, most))
        if len(rows) < self.count:
            rows = (rows * _GOLDEN % 1.0 * self.count).astype(np.int64)
        places = np.unravel_index(rows, self.shape)[::-1]
        columns = [axis[place] for axis, place in zip(self.centres, places, strict=True)]
        return np.stack(columns, axis=1)

    def within(self, box: Floats) -> tuple[Span, Span, Span]:
        """Return the ranges of cells along x, y and z whose centres are in a closed box, (2, 3)."""
        x, y, z = (
            Span(int(np.searchsorted(axis, low)), int(np.searchsorted(axis, high, side="right")))
            for axis, low, high in zip(self.centres, *box.tolist(), strict=True)
        )
        return x, y, z


def even_lattice(cells: LatticeCells, *, fewest: int = _FEWEST) -> EvenLattice | None:
    """Return the cells as an EvenLattice, or None if they do not form one.

    The cells must not be rotated, and must have one size. There must be at least `fewest` cells
    along each axis, with increasing centres. The order of the cells in the file does not matter.
    """
    if cells.matrix is not None:
        return None
    sizes, ends = [], []
    for centres, size in zip(cells.centres, cells.sizes, strict=True):
        mean = float(size.mean())
        even = bool((np.abs(size - mean) <= _EVEN * mean).all())
        if len(centres) < fewest or not even or not (np.diff(centres) > 0).all():
            return None
        sizes.append(float(size[0]) if (size == size[0]).all() else mean)
        ends.append(((centres - size / 2).min(), (centres + size / 2).max()))
    volume = sizes[0] * sizes[1] * sizes[2]
    bounds = np.array(ends).T
    if not (0 < volume < np.inf and np.isfinite(bounds).all()):
        return None
    return EvenLattice(cells.centres, bounds, volume)


class LatticeBits:
    """The set of lattice cells that contain a block, stored as one bit for each cell.

    As blocks are added, the lattice is extended, and its cells are made smaller until different
    coordinates are in different cells. So two blocks in one cell have exactly the same centroid.

    Parameters
    ----------
    points : (n, 3) float64
        The first centroids, finite, n > 0. They determine the cell size, and are not added.
    steps : (3,) float64
        The cell size along an axis on which all of the first centroids have the same coordinate.

    Attributes
    ----------
    again : int
        The number of blocks that have the same centroid as an earlier block.
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
        """Mark the cells of finite centroids, (n, 3); False if the lattice would be too large."""
        for widen in (self._grow, self._refine):
            points = points[self._mark(points) :]
            if not len(points):
                return True
            if not widen(points):
                return False
        return self._mark(points) == len(points)

    def points(self) -> Iterator[Floats]:
        """Yield the distinct centroids, (n, 3), one horizontal plane at a time."""
        x, y, z = self._values
        for height, plane in zip(z, self._bits, strict=True):
            rows, places = np.nonzero(np.unpackbits(plane, axis=1, bitorder="little"))
            if len(rows):
                columns = (x[places], y[rows], np.full(len(rows), height))
                yield np.asfortranarray(np.stack(columns, axis=1))

    def coordinates(self) -> list[Floats]:
        """Return the distinct coordinates along each axis, in ascending order."""
        return [values[~np.isnan(values)] for values in self._values]

    def arrays(self) -> dict[str, StoredArray]:
        """Return arrays to store, from which `restored` makes a copy of this object."""
        x, y, z = self._values
        frame = np.array([self._starts, self._scales, self._firsts.astype(np.float64)])
        stored: dict[str, StoredArray] = {"frame": frame, "x": x, "y": y, "z": z}
        return stored | {"bits": self._bits, "counts": np.array([self.again, self._rows], np.int64)}

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> LatticeBits:
        """Return the object whose `arrays` method returned these arrays."""
        starts, scales, firsts = np.asarray(arrays["frame"], np.float64)
        bits = cls(starts[None], np.ones(3))
        bits._starts, bits._scales, bits._firsts = starts, scales, firsts.astype(np.int64)
        bits._values = [np.asarray(arrays[axis], np.float64) for axis in "xyz"]
        bits._bits = np.asarray(arrays["bits"], np.uint8)
        bits.again, bits._rows = np.asarray(arrays["counts"], np.int64).tolist()
        return bits

    def _mark(self, points: Floats) -> int:
        """Mark the cells of centroids, up to the first centroid that fits no cell.

        Return the number of centroids marked.
        """
        x, y, z = points.T
        marked, again = mark_blocks(
            (x, y, z), self._starts, self._scales, self._firsts, self._values, self._bits
        )
        self.again += again
        self._rows += marked
        return marked

    @property
    def filled(self) -> float:
        """Return the share of cells that contain a block, in the box around all blocks."""
        spans = [np.ptp(np.flatnonzero(~np.isnan(each))) + 1.0 for each in self._values]
        return float((self._rows - self.again) / np.prod(spans))

    def _grow(self, points: Floats) -> bool:
        """Extend the lattice to the new centroids, and to twice its length if memory allows."""
        low = np.rint((points.min(axis=0) - self._starts) * self._scales)
        high = np.rint((points.max(axis=0) - self._starts) * self._scales)
        counts = np.array([len(each) for each in self._values])
        first, last = self._firsts, self._firsts + counts - 1
        for spare in (counts, 0):
            room = _room(
                np.where(low < first, low - spare, first),
                np.where(high > last, high + spare, last),
                self._rows + len(points),
            )
            if room is not None:
                self._move(*room)
                return True
        return False

    def _move(self, firsts: _Cells, counts: _Cells) -> None:
        """Copy the bits into a larger array. Along x, they move by whole bytes."""
        values, bits = _no_values(counts), _no_bits(counts)
        by = self._firsts - firsts
        for new, old, begin in zip(values, self._values, by, strict=True):
            new[begin : begin + len(old)] = old
        z, y, x = self._bits.shape
        bits[by[2] : by[2] + z, by[1] : by[1] + y, by[0] // 8 : by[0] // 8 + x] = self._bits
        self._firsts, self._values, self._bits = firsts, values, bits

    def _refine(self, points: Floats) -> bool:
        """Make cells smaller until marked and new coordinates are in different cells."""
        occupied = [np.flatnonzero(~np.isnan(each)) for each in self._values]
        scales, ends = self._scales.copy(), []
        for axis, (places, values) in enumerate(zip(occupied, self._values, strict=True)):
            every = np.union1d(values[places], points[:, axis])
            scale = _scale_of(every - self._starts[axis], float(scales[axis]))
            if scale is None:
                return False
            scales[axis] = scale
            ends.append(np.rint((every[[0, -1]] - self._starts[axis]) * scale))
        first, last = np.array(ends).T
        room = _room(first, last, self._rows + len(points))
        if room is None:
            return False
        self._divide(occupied, scales, *room)
        return True

    def _divide(
        self, occupied: list[NDArray[np.intp]], scales: Floats, firsts: _Cells, counts: _Cells
    ) -> None:
        """Copy the bits into an array of smaller cells, one plane at a time."""
        values, bits, cells = _no_values(counts), _no_bits(counts), []
        for axis, places in enumerate(occupied):
            coordinates = self._values[axis][places]
            numbers = np.rint((coordinates - self._starts[axis]) * scales[axis]).astype(np.int64)
            cells.append(numbers - firsts[axis])
            values[axis][cells[axis]] = coordinates
        for old, new in zip(occupied[2], cells[2], strict=True):
            plane = np.unpackbits(self._bits[old], axis=1, bitorder="little")
            divided = np.zeros((counts[1], counts[0]), np.uint8)
            divided[np.ix_(cells[1], cells[0])] = plane[np.ix_(occupied[1], occupied[0])]
            bits[new] = np.packbits(divided, axis=1, bitorder="little")
        self._scales, self._firsts, self._values, self._bits = scales, firsts, values, bits


def _no_values(counts: Sequence[int] | _Cells) -> list[Floats]:
    """Return arrays for the coordinates of cells along each axis, filled with NaN."""
    return [np.full(count, np.nan) for count in counts]


def _no_bits(counts: Sequence[int] | _Cells) -> NDArray[np.uint8]:
    """Return an array of zero bits, (z, y, x / 8), for these numbers of cells along x, y and z."""
    return np.zeros((counts[2], counts[1], counts[0] // 8), np.uint8)


def _room(
    first: Floats | _Cells, last: Floats | _Cells, blocks: int
) -> tuple[_Cells, _Cells] | None:
    """Return the first cell and the number of cells along each axis; None if there are too many.

    Along x, both numbers are multiples of 8, so that rows of bits are whole bytes.
    """
    eights = np.array([8, 1, 1])
    first = np.floor(first / eights) * eights
    count = np.ceil((last - first + 1) / eights) * eights
    # This comparison also fails for values that are not finite.
    if not (np.abs([first, last]) < _FARTHEST).all():
        return None
    if (
        count.prod() > min(_MOST_BITS, _BITS_OF_A_BLOCK * blocks + _FEWEST_BITS)
        or count[0] * count[1] > _MOST_IN_A_LAYER
    ):
        return None
    if count.sum() > min(_MOST_PLACES, _PLACES_OF_A_BLOCK * blocks + _FEWEST_PLACES):
        return None
    return first.astype(np.int64), count.astype(np.int64)


def _scale_of(values: Floats, scale: float) -> float | None:
    """Return cells per unit, so many that ascending coordinates all fall into different cells.

    Return None if no number is found.
    """
    with np.errstate(over="ignore", divide="ignore"):
        least = 1 / np.diff(values).min(initial=np.inf)
        # On a lattice the first or second value is enough; otherwise cells may have to be smaller.
        for tried in (scale, least, 2 * least):
            if tried < np.inf and (np.diff(np.rint(values * tried)) > 0).all():
                return float(tried)
    return None
