"""Declustering: samples in crowded cells, or with few blocks near them, weigh less.

Journel, A. G. (1983), Nonparametric estimation of spatial distributions, Mathematical Geology 15,
445-468. Deutsch, C. V. and Journel, A. G. (1998), GSLIB, 2nd edition, section VI.2.1: weights
are averaged over several origins of the grid.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.volumes.exact_sums import exact_sums, nearest_float
from geodomain.volumes.tonnage import numbered_keys

Cell = tuple[float, float, float]
Steps = NDArray[np.int32] | NDArray[np.int64]

# A sample this close below the wall of a cell, in sizes of a cell, counts as on the wall.
_ON_WALL = 1e-9
# Number of sizes to try, and the ratio of the largest to the smallest.
_SIZES, _RANGE = 20, 100.0
# A table of this many cells for each sample is faster than sorting.
_DENSE, _SMALL = 4, 1 << 20
# Rows at a time, and the largest step that 32 bits hold with every shift of the origin.
_BATCH, _NARROW = 1 << 16, 1 << 30


class Trial(NamedTuple):
    """The declustered mean with cells of one size.

    Attributes
    ----------
    cell : tuple of float
        Size of the cells along x, y and z.
    mean : float
        Declustered mean.
    cells : float
        Number of cells with samples, averaged over the origins.
    """

    cell: Cell
    mean: float
    cells: float


class CellGrid:
    """Cells of a grid, of any size, over the box around samples, with several origins.

    Parameters
    ----------
    sides : sequence of float
        Sides of the box.
    origins : int
        Number of origins of the grid, along the diagonal of a cell. The first is the least x, y and
        z of the samples; each next origin is shifted by the size of a cell / `origins`.
    """

    def __init__(self, sides: Sequence[float], origins: int) -> None:
        self.sides = tuple(sides)
        self._origins = origins

    def sizes(self, ratio: Sequence[float]) -> list[Cell]:
        """Return the sizes of cells to try, smallest first, with a given ratio of their sides.

        The largest is half of the longest side of the box around the samples, and the smallest is a
        hundredth of the largest. Each size is about a quarter larger than the one before. The list
        is empty if all samples are at one place.
        """
        longest = max(side / part for side, part in zip(self.sides, ratio, strict=True))
        if longest == 0:
            return []
        steps = np.geomspace(longest / 2 / _RANGE, longest / 2, _SIZES)
        numbers = [float(f"{step:.2g}") for step in steps.tolist()]
        return [
            (size * ratio[0], size * ratio[1], size * ratio[2]) for size in dict.fromkeys(numbers)
        ]

    def shape(self, cell: Cell) -> list[int]:
        """Return the number of cells along each axis, for all origins."""
        return [
            int(self._step(np.array([self.sides[axis]]), axis, cell)[0]) // self._origins + 2
            for axis in range(3)
        ]

    def steps(self, offsets: Floats, axis: int, cell: Cell) -> Steps:
        """Return the distance of each sample from the first wall, as a whole number of shifts.

        A shift is the size of a cell divided by the number of origins. With it, the cells for one
        origin take one addition and one division of integers. `offsets` are the distances from the
        least coordinate.
        """
        narrow = self.sides[axis] * self._origins / cell[axis] < _NARROW
        count = len(offsets)
        steps: Steps = np.empty(count, np.int32) if narrow else np.empty(count, np.int64)
        for part in _batches(count):
            steps[part] = self._step(offsets[part], axis, cell)
        return steps

    def _step(self, offsets: Floats, axis: int, cell: Cell) -> Floats:
        return offsets * (self._origins / cell[axis]) + _ON_WALL * self._origins


class Declustering(CellGrid):
    """Weights of samples by the number of samples in their cell.

    Parameters
    ----------
    points : (n, 3) float64
        Places of the samples, without NaN.
    origins : int
        Number of origins of the grid; the weights are averaged over the origins.
    threads : int, optional
        Number of threads; by default all cores.
    values : (n,) float64, optional
        Grades, for `trial`.
    lengths : (n,) float64, optional
        Weights of the samples, by which the declustering weights are multiplied.

    Examples
    --------
    Three samples share a cell, and one has a cell of its own.

    >>> points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 9, 0]], float)
    >>> Declustering(points, origins=1).weights((5, 5, 5)).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """

    def __init__(
        self,
        points: Floats,
        origins: int,
        threads: int | None = None,
        *,
        values: Floats | None = None,
        lengths: Floats | None = None,
    ) -> None:
        low = points.min(axis=0)
        self._offsets = [points[:, axis] - low[axis] for axis in range(3)]
        super().__init__([float(each.max()) for each in self._offsets], origins)
        self._threads = threads or os.cpu_count() or 1
        self._values, self._lengths = values, lengths

    def weights(self, cell: Cell) -> Floats:
        """Return the weight of each sample, (n,), times its length if there are lengths.

        The weight for one origin is n / (samples in the cell x cells with samples), so the mean of
        all weights is 1 without lengths.
        """
        return self._weights_and_cells(cell)[0]

    def trial(self, cell: Cell) -> Trial:
        """Return the declustered mean of the values."""
        weights, cells = self._weights_and_cells(cell)
        values = np.zeros(len(weights)) if self._values is None else self._values
        groups = np.zeros(len(values), np.intp)
        (total,), (metal,) = exact_sums(weights, groups, 1), exact_sums(weights * values, groups, 1)
        return Trial(cell, nearest_float(metal, total), cells)

    def _weights_and_cells(self, cell: Cell) -> tuple[Floats, float]:
        steps = [self.steps(self._offsets[axis], axis, cell) for axis in range(3)]
        shape = self.shape(cell)
        weights = np.zeros(len(steps[0]))
        cells = 0
        # The sum is taken in the order of the origins, whichever is ready first.
        for own, count in self._over_origins(lambda shift: self._of_origin(steps, shape, shift)):
            weights += own
            cells += count
        weights *= len(weights) / self._origins
        if self._lengths is not None:
            weights *= self._lengths
        return weights, cells / self._origins

    def _over_origins(
        self, weigh: Callable[[int], tuple[Floats, int]]
    ) -> Iterator[tuple[Floats, int]]:
        if self._threads == 1 or len(self._offsets[0]) < _SMALL:
            yield from map(weigh, range(self._origins))
            return
        for start in range(0, self._origins, self._threads):
            with ThreadPoolExecutor(self._threads) as pool:
                shifts = range(start, min(start + self._threads, self._origins))
                yield from pool.map(weigh, shifts)

    def _of_origin(
        self, steps: Sequence[Steps], shape: Sequence[int], shift: int
    ) -> tuple[Floats, int]:
        """Return the weights for one origin, whose sum is 1, and the number of occupied cells.

        Cells are numbered axis by axis. Drillholes leave most cells empty: if there are many more
        cells than samples, only cells with samples, or columns of cells with samples, are numbered.
        """
        count, size = len(steps[0]), 1
        most = max(_DENSE * count, _SMALL)
        places = np.zeros(count, np.int64)
        for each, along in zip(steps, shape, strict=True):
            if size * along > most and size > 1:
                size, places = _occupied(places, size)
            size *= along
            for part in _batches(count):
                places[part] *= along
                places[part] += (each[part] + shift) // self._origins
        if size > most:
            size, places = _occupied(places, size)
        samples = np.bincount(places, minlength=size)
        cells = int(np.count_nonzero(samples))
        # No sample is in an empty cell; the maximum only avoids a division by 0.
        share = 1.0 / (np.maximum(samples, 1).astype(np.float64) * cells)
        return share[places], cells


def _occupied(places: NDArray[np.int64], size: int) -> tuple[int, NDArray[np.int64]]:
    """Return the number of distinct cells in `places`, and `places` numbered among these."""
    distinct, numbers = numbered_keys(places, size)
    return len(distinct), numbers


def _batches(count: int) -> Iterator[slice[int, int, None]]:
    """Yield slices of rows that fit into a processor's cache."""
    return (slice(start, start + _BATCH) for start in range(0, count, _BATCH))


def best(trials: Sequence[Trial], *, maximise: bool) -> Trial | None:
    """Return the trial with the least mean, or with the largest if `maximise` is true.

    Return None if the extreme is at an end of the curve, because a size beyond the end may then
    be better.
    """
    means = [-trial.mean if maximise else trial.mean for trial in trials]
    least = min(means)
    place = means.index(least)
    inside = 0 < place < len(means) - 1 and least < means[0] and least < means[-1]
    return trials[place] if inside else None


# --- Polygonal declustering: the volume of the blocks that are nearest to each sample.

# Pairs of a block and a sample that are compared at once.
_PAIRS = 1 << 15
# Squared distances are rounded by less than this, relatively.
_ROUNDING = 1e-12


def nearest_volumes(points: Floats, blocks: Floats, volumes: Floats) -> Floats:
    """Return the total volume of the blocks that are nearest to each sample, (n,).

    The blocks are halved along their longest side until few samples can be nearest to any block of
    a part. A block that is equally near to several samples is shared equally by them, so the order
    of the rows does not matter. Distances are those between centres, in float64.

    Parameters
    ----------
    points : (n, 3) float64
        Places of the samples, without NaN.
    blocks : (m, 3) float64
        Centres of the blocks, without NaN.
    volumes : (m,) float64
        Volumes of the blocks.

    Examples
    --------
    >>> line = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [9, 0, 0]], float)
    >>> nearest_volumes(line[[0, 2]], line, np.ones(4)).tolist()
    [1.5, 2.5]
    """
    places: list[NDArray[np.intp]] = [np.empty(0, np.intp)]
    shares: list[Floats] = [np.empty(0)]
    parts = [(np.arange(len(blocks)), np.arange(len(points)))] if len(points) else []
    while parts:
        some, near = parts.pop()
        if not len(some):
            continue
        near = near[_may_be_nearest(points[near], blocks[some])]
        sides = np.ptp(blocks[some], axis=0)
        if len(some) * len(near) > _PAIRS and sides.max() > 0:
            half = len(some) // 2
            order = np.argpartition(blocks[some, sides.argmax()], half)
            parts += [(some[order[:half]], near), (some[order[half:]], near)]
            continue
        distances = sum((blocks[some, axis, None] - points[near, axis]) ** 2 for axis in range(3))
        nearest = distances == distances.min(axis=1, keepdims=True)
        rows, columns = np.nonzero(nearest)
        places.append(near[columns])
        shares.append(volumes[some[rows]] / nearest.sum(axis=1)[rows])
    place, share = np.concatenate(places), np.concatenate(shares)
    # Sums are formed in an order that does not depend on the order of the blocks.
    order = np.lexsort((share, place))
    first = np.flatnonzero(np.diff(place[order], prepend=-1))
    totals = np.zeros(len(points))
    if len(first):
        totals[place[order[first]]] = np.add.reduceat(share[order], first)
    return totals


def _may_be_nearest(points: Floats, blocks: Floats) -> NDArray[np.bool_]:
    """Return whether each sample may be the nearest to some point of the box around the blocks."""
    low, high = blocks.min(axis=0), blocks.max(axis=0)
    least, most = np.zeros((2, len(points)))
    for axis in range(3):
        below, above = low[axis] - points[:, axis], points[:, axis] - high[axis]
        least += np.maximum(np.maximum(below, above), 0.0) ** 2
        most += np.maximum(np.abs(below), np.abs(above)) ** 2
    return np.asarray(least <= float(most.min()) * (1 + _ROUNDING), np.bool_)
