"""Lattices of blocks: recognised from coordinates, and counted before anything is made of them.

`LearntAxis` guesses from the first blocks of a table where the others will be, `even_lattice` tells
whether all cells of a file have one size, and `LatticeBits` finds blocks that are there twice. No
label depends on a guess: a block that is on no cell is asked about by itself.
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
# What `LatticeBits` is stored as, and restored from.
StoredArray = NDArray[np.float64] | NDArray[np.int64] | NDArray[np.uint8] | NDArray[np.str_]

# The answers of all meshes about a lattice have at most this many cells, a bit each: 128 MB.
MOST_CELLS = 1 << 30
# The axes of one lattice have at most this many coordinates, which take 50 bytes each to make.
MOST_COORDINATES = 1 << 22

# Integers below are exact in float64; so are the powers of ten, and a quotient is rounded once.
_EXACT = 2.0**53
_MOST_DECIMALS = 9
# Rows of a chunk that are read, coordinates of them that are compared, and attempts to find steps.
_ROWS, _LOOKED, _TRIES = 1 << 16, 4096, 6
# The share of the coordinates that must be on the steps: the rest may be sub-blocks or slips.
_SHARE = 0.75
# With this many cells along each axis no cell is far from the others, even if a coordinate is a
# code for a missing one: that is at most three planes, with more steps beside them than up to them.
_FEWEST = 8
# Faces are rounded, so that sizes differ by up to this part: those of 0.1 m at 8,000 km do.
_EVEN = 1e-8
# Multiples of the golden ratio are spread evenly, whatever the length of a row.
_GOLDEN = 0.6180339887498949
# Cells of which a bit is kept: 256 MB at most.
_MOST_BITS = 1 << 31
# No more than so many for each block, 512 bytes: few blocks that lie far apart take little.
_BITS_OF_A_BLOCK, _PLACES_OF_A_BLOCK, _FEWEST_PLACES = 1 << 12, 1 << 6, 1 << 14
_FEWEST_BITS = 1 << 23  # 1 MB
# A layer is spread to a byte for each cell, and each coordinate along an axis takes eight.
_MOST_IN_A_LAYER, _MOST_PLACES = 1 << 28, 1 << 24
# Numbers of cells stay where all whole numbers are doubles.
_FARTHEST = 2.0**40
# The first coordinates choose the lattice; later ones that do not fit make it finer.
_FIRST = 4096


class LatticeAxis(Protocol):
    """The coordinates along one axis of a lattice."""

    def count(self, low: float, high: float) -> float:
        """Return an upper bound of the number of coordinates between low and high."""
        ...

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between low and high, in increasing order."""
        ...


def cells_in_words(x: float, y: float, z: float) -> float:
    """Count the bits that a lattice of finite counts takes: along z they fill words of 64."""
    return x * y * 64.0 * math.ceil(z / 64)


class GivenAxis:
    """The coordinates of an axis that is known, in any order."""

    def __init__(self, values: Floats) -> None:
        self._values = distinct(values[np.isfinite(values)])

    def count(self, low: float, high: float) -> float:
        """Count the coordinates between low and high."""
        return float(len(self.within(low, high)))

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between low and high, in increasing order."""
        values = self._values
        return values[np.searchsorted(values, low) : np.searchsorted(values, high, side="right")]


class DecimalSteps(NamedTuple):
    """The numbers (first + n step) / 10^decimals for whole n, as float64, or float32 before that.

    Each is the float nearest to a decimal number, which is what reading one as text gives.
    """

    first: int
    step: int
    decimals: int
    single: bool

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between low and high, in increasing order."""
        power = 10.0**self.decimals
        begin = math.floor((low * power - self.first) / self.step) - 1
        end = math.ceil((high * power - self.first) / self.step) + 1
        values = distinct(self.values(np.arange(begin, end + 1)))
        return values[(low <= values) & (values <= high)]

    def values(self, places: NDArray[np.int64]) -> Floats:
        """Return the coordinates with these numbers n."""
        return _floats(self.first + self.step * places, self.decimals, single=self.single)


class LearntAxis:
    """Infer the coordinates along one axis from a sample of them."""

    def __init__(self) -> None:
        self._known: Floats = np.empty(0)
        self._steps: DecimalSteps | None = None
        self._tries = 0

    def count(self, low: float, high: float) -> float:
        """Return an upper bound of the number of coordinates; 0 before anything is learnt."""
        if self._steps is None:
            return float(len(self.within(low, high)))
        return max(0.0, high - low) * 10.0**self._steps.decimals / self._steps.step + 1

    def within(self, low: float, high: float) -> Floats:
        """Return the coordinates between low and high, in increasing order."""
        if self._steps is not None:
            return self._steps.within(low, high)
        alone = self._known if len(self._known) == 1 else self._known[:0]
        return alone[(low <= alone) & (alone <= high)]

    def learn(self, values: Floats) -> bool:
        """Learn from some coordinates; return whether the inferred axis changed."""
        if self._tries >= _TRIES or not len(values):
            return False
        values = values[:_ROWS]
        changes = np.flatnonzero(values[1:] != values[:-1])[: _LOOKED - 1] + 1
        some = values[np.append(0, changes)]
        some = some[np.isfinite(some)]
        if np.count_nonzero(self._expects(some)) >= _SHARE * len(some):
            return False
        self._known = distinct(np.concatenate([self._known[-_LOOKED:], some]))
        self._tries += 1
        self._steps = steps_of(self._known) if len(self._known) > 1 else None
        return True

    def _expects(self, values: Floats) -> NDArray[np.bool_]:
        """Return which coordinates are on the inferred axis."""
        steps = self._steps
        if steps is None:
            return np.isin(values, self._known) & (len(self._known) == 1)
        with np.errstate(over="ignore", invalid="ignore"):
            places = np.rint((values * 10.0**steps.decimals - steps.first) / steps.step)
        near: NDArray[np.bool_] = np.abs(places) < _EXACT
        near &= steps.values(np.where(near, places, 0).astype(np.int64)) == values
        return near


def steps_of(values: Floats) -> DecimalSteps | None:
    """Return the decimal steps of most of two or more ascending coordinates, None without any."""
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
    """Return the most frequent number, the smallest where several are."""
    values, counts = np.unique(numbers, return_counts=True)
    return int(values[counts.argmax()])


def _floats(numbers: NDArray[np.int64], decimals: int, *, single: bool) -> Floats:
    """Divide integers by a power of ten, rounded once; in single precision once more."""
    values = numbers / 10.0**decimals
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64) if single else values


class Span(NamedTuple):
    """Cells along an axis, from the first up to before the end."""

    first: int
    end: int


@dataclass(frozen=True)
class EvenLattice:
    """Finite cells of one size, x fastest and z last.

    Attributes
    ----------
    centres : tuple of (n,) float64
        Along x, y and z, ascending strictly.
    bounds : (2, 3) float64
        The box of the cells.
    volume : float
        Of one cell.
    """

    centres: tuple[Floats, Floats, Floats]
    bounds: Floats
    volume: float

    @property
    def shape(self) -> tuple[int, int, int]:
        """Count the cells along z, y and x."""
        x, y, z = map(len, self.centres)
        return z, y, x

    @property
    def count(self) -> int:
        """Count the cells."""
        z, y, x = self.shape
        return z * y * x

    def sample(self, most: int) -> Floats:
        """Return the centres of at most some cells, (n, 3), spread over all of them."""
        rows = np.arange(min(self.count, most))
        if len(rows) < self.count:
            rows = (rows * _GOLDEN % 1.0 * self.count).astype(np.int64)
        places = np.unravel_index(rows, self.shape)[::-1]
        columns = [axis[place] for axis, place in zip(self.centres, places, strict=True)]
        return np.stack(columns, axis=1)

    def within(self, box: Floats) -> tuple[Span, Span, Span]:
        """Return the cells along x, y and z with centres in a closed box, (2, 3)."""
        x, y, z = (
            Span(int(np.searchsorted(axis, low)), int(np.searchsorted(axis, high, side="right")))
            for axis, low, high in zip(self.centres, *box.tolist(), strict=True)
        )
        return x, y, z


def even_lattice(cells: LatticeCells, *, fewest: int = _FEWEST) -> EvenLattice | None:
    """Return the lattice of even cells; None for turned, uneven, unsorted and small ones.

    The order of the cells in their file is left aside.
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
    """The cells of a lattice that have had a block, a bit each.

    The lattice grows and becomes finer as blocks are added, so that no two coordinates along an
    axis share a cell. Two blocks in one cell therefore have the same centroid: nothing is rounded.

    Parameters
    ----------
    points : (n, 3) float64
        The first centroids, finite, n > 0; they are not added yet.
    steps : (3,) float64
        The size of cells along an axis on which all the first centroids are equal.

    Attributes
    ----------
    again : int
        Blocks with the centroid of an earlier one.
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
        """Mark the cells of (n, 3) finite centroids; False if no lattice in memory has them all."""
        for widen in (self._grow, self._refine):
            points = points[self._mark(points) :]
            if not len(points):
                return True
            if not widen(points):
                return False
        return self._mark(points) == len(points)

    def points(self) -> Iterator[Floats]:
        """Yield the distinct centroids, a plane at a time."""
        x, y, z = self._values
        for height, plane in zip(z, self._bits, strict=True):
            rows, places = np.nonzero(np.unpackbits(plane, axis=1, bitorder="little"))
            if len(rows):
                columns = (x[places], y[rows], np.full(len(rows), height))
                yield np.asfortranarray(np.stack(columns, axis=1))

    def coordinates(self) -> list[Floats]:
        """Return the different coordinates along each axis, ascending."""
        return [values[~np.isnan(values)] for values in self._values]

    def arrays(self) -> dict[str, StoredArray]:
        """Return arrays from which `restored` makes equal bits."""
        x, y, z = self._values
        frame = np.array([self._starts, self._scales, self._firsts.astype(np.float64)])
        stored: dict[str, StoredArray] = {"frame": frame, "x": x, "y": y, "z": z}
        return stored | {"bits": self._bits, "counts": np.array([self.again, self._rows], np.int64)}

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> LatticeBits:
        """Return the bits that `arrays` stored."""
        starts, scales, firsts = np.asarray(arrays["frame"], np.float64)
        bits = cls(starts[None], np.ones(3))
        bits._starts, bits._scales, bits._firsts = starts, scales, firsts.astype(np.int64)
        bits._values = [np.asarray(arrays[axis], np.float64) for axis in "xyz"]
        bits._bits = np.asarray(arrays["bits"], np.uint8)
        bits.again, bits._rows = np.asarray(arrays["counts"], np.int64).tolist()
        return bits

    def _mark(self, points: Floats) -> int:
        """Mark the cells of centroids up to the first without one; return their number."""
        x, y, z = points.T
        taken, again = mark_blocks(
            (x, y, z), self._starts, self._scales, self._firsts, self._values, self._bits
        )
        self.again += again
        self._rows += taken
        return taken

    @property
    def filled(self) -> float:
        """Return the share of cells with a block, from the first to the last along each axis."""
        spans = [np.ptp(np.flatnonzero(~np.isnan(each))) + 1.0 for each in self._values]
        return float((self._rows - self.again) / np.prod(spans))

    def _grow(self, points: Floats) -> bool:
        """Make room for cells beyond the ends, for twice as many along an axis if memory allows."""
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
        """Copy the bits into a larger array; along x by whole bytes."""
        values, bits = _no_values(counts), _no_bits(counts)
        by = self._firsts - firsts
        for new, old, begin in zip(values, self._values, by, strict=True):
            new[begin : begin + len(old)] = old
        z, y, x = self._bits.shape
        bits[by[2] : by[2] + z, by[1] : by[1] + y, by[0] // 8 : by[0] // 8 + x] = self._bits
        self._firsts, self._values, self._bits = firsts, values, bits

    def _refine(self, points: Floats) -> bool:
        """Make cells so small that each has at most one coordinate, those of points included."""
        known = [np.flatnonzero(~np.isnan(each)) for each in self._values]
        scales, ends = self._scales.copy(), []
        for axis, (places, values) in enumerate(zip(known, self._values, strict=True)):
            every = np.union1d(values[places], points[:, axis])
            found = _scale_of(every - self._starts[axis], float(scales[axis]))
            if found is None:
                return False
            scales[axis] = found
            ends.append(np.rint((every[[0, -1]] - self._starts[axis]) * found))
        first, last = np.array(ends).T
        room = _room(first, last, self._rows + len(points))
        if room is None:
            return False
        self._divide(known, scales, *room)
        return True

    def _divide(
        self, known: list[NDArray[np.intp]], scales: Floats, firsts: _Cells, counts: _Cells
    ) -> None:
        """Copy the bits into smaller cells, a plane at a time."""
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
    """Return the coordinates of cells, all NaN."""
    return [np.full(count, np.nan) for count in counts]


def _no_bits(counts: Sequence[int] | _Cells) -> NDArray[np.uint8]:
    """Return cleared bits, (z, y, x / 8)."""
    return np.zeros((counts[2], counts[1], counts[0] // 8), np.uint8)


def _room(
    first: Floats | _Cells, last: Floats | _Cells, blocks: int
) -> tuple[_Cells, _Cells] | None:
    """Return the first cells and counts, whole bytes along x; None if blocks have no such room."""
    eights = np.array([8, 1, 1])
    first = np.floor(first / eights) * eights
    count = np.ceil((last - first + 1) / eights) * eights
    # The first comparison also fails for what is not finite.
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
    """Return the cells to a unit that tell ascending coordinates apart; None if none do."""
    with np.errstate(over="ignore", divide="ignore"):
        least = 1 / np.diff(values).min(initial=np.inf)
        # On a lattice the first does or the second; what lies otherwise may need smaller cells.
        for tried in (scale, least, 2 * least):
            if tried < np.inf and (np.diff(np.rint(values * tried)) > 0).all():
                return float(tried)
    return None
