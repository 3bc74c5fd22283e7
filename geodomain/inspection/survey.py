"""Gather the facts about a block model, chunk by chunk and in bounded memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geodomain.io.blocks.block_file import BlockFile
from geodomain.io.header.azimuth import azimuth_of, frame_of_azimuth
from geodomain.io.header.frames import LocalFrame, turned
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]

# More different coordinates along one axis, or kinds of sizes, are not remembered.
MOST_VALUES, MOST_SIZES = 1 << 20, 1000
# Coordinates are compared in so many parts of the first chunk's smallest block: exports round, and
# smaller blocks may come.
_PARTS = 10_000


class Survey:
    """Statistics of the blocks of a model.

    Parameters
    ----------
    local : LocalFrame, optional
        The frame in which they are a lattice, if it is not the world; otherwise the first blocks
        tell whether the lattice is turned about z.
    boxes : sequence of (2, 3) float64
        Of meshes: blocks in each are counted.
    axes : (3, 3) float64, optional
        Directions of the blocks' edges, a row each, where the file or the caller says them.

    Attributes
    ----------
    rows, missing : int
        Blocks, and those without a centroid.
    sizes : Counter
        Block sizes and how many blocks have them; empty without sizes.
    sized : bool
        Whether every block with a centroid has sizes above zero.
    centroids, extent : (2, 3) float64
        Boxes of the centroids, and of the blocks with their sizes, in the world.
    local : (2, 3) float64
        Box of the blocks along the axes of the lattice.
    azimuth : float
        How far the lattice is turned about z while coordinates are those of the world, in degrees,
        clockwise, as the axes or else the first blocks say.
    inside : (k,) int64
        How many centroids are in each mesh's box.
    volume : float
        Of all the blocks with sizes.
    """

    def __init__(
        self,
        local: LocalFrame | None = None,
        boxes: Sequence[Floats] = (),
        axes: Floats | None = None,
    ) -> None:
        self.rows = self.missing = 0
        self.sizes: Counter[tuple[float, ...]] = Counter()
        self.sized = True
        self.centroids, self.extent, self.local = np.full((3, 2, 3), np.nan)
        self.inside = np.zeros(len(boxes), np.int64)
        self.azimuth, self.volume = 0.0, 0.0
        self._boxes = boxes
        # From the world to the lattice: its axes in rows, and one point in both.
        self._axes = axes
        self._turn: Floats | None = None
        self._origin = self._local_origin = (0.0, 0.0, 0.0)
        if local is not None:
            self._turn = np.array(local.matrix).T
            self._origin, self._local_origin = local.origin, local.local_origin
        elif axes is not None and (axes != np.eye(3)).any():
            self._turn = axes
        self._begun = False
        self._start, self._quantum = np.zeros(3), np.ones(3)
        self._places: list[NDArray[np.int64] | None] = [np.empty(0, np.int64)] * 3

    @classmethod
    def of_model(cls, model: BlockFile, boxes: Sequence[Floats] = ()) -> Survey:
        """Return an empty survey of a model, with what its file and the caller say of its frame."""
        frame = model.frame
        known = frame.boxes is not None or (model.axes != np.eye(3)).any()
        return cls(frame.local, boxes, model.axes if known and frame.local is None else None)

    @property
    def is_turned(self) -> bool:
        """Whether the lattice is not along the axes of the world."""
        return self._turn is not None

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a chunk: (n, 3) world centroids and their (n, 3) sizes, or None."""
        self.rows += len(points)
        finite = np.isfinite(points).all(axis=1)
        self.missing += int(len(points) - finite.sum())
        if not finite.all():
            points, sizes = points[finite], None if sizes is None else sizes[finite]
        if not len(points):
            return
        if not self._begun:
            self._begin(points, sizes)
        for number, box in enumerate(self._boxes):
            within = np.logical_and(points >= box[0], points <= box[1])
            self.inside[number] += within.all(axis=1).sum()
        self._measure(points, self._usable(sizes))

    def add_lattice(
        self, centres: tuple[Floats, Floats, Floats], sizes: tuple[Floats, Floats, Floats]
    ) -> None:
        """Add every combination of coordinates, with sizes above zero along each axis.

        What is kept is what `add` keeps of all these blocks, without making them.
        """
        count = math.prod(map(len, centres))
        self.rows += count
        for number, box in enumerate(self._boxes):
            within = [
                np.count_nonzero((low <= axis) & (axis <= high))
                for axis, low, high in zip(centres, *box, strict=True)
            ]
            self.inside[number] += math.prod(within)
        kinds = [np.unique(axis, return_counts=True) for axis in sizes]
        for (dx, nx), (dy, ny), (dz, nz) in product(*(zip(*kind, strict=True) for kind in kinds)):
            if len(self.sizes) <= MOST_SIZES:
                self.sizes[float(dx), float(dy), float(dz)] += int(nx) * int(ny) * int(nz)
        self.volume += math.prod(float((size * n).sum()) for size, n in kinds)
        lows = [axis - size / 2 for axis, size in zip(centres, sizes, strict=True)]
        highs = [axis + size / 2 for axis, size in zip(centres, sizes, strict=True)]
        ends = np.array([[axis.min() for axis in lows], [axis.max() for axis in highs]])
        middle = np.array([[axis.min() for axis in centres], [axis.max() for axis in centres]])
        _grow(self.centroids, middle, middle)
        _grow(self.local, ends, ends)
        _grow(self.extent, ends, ends)
        if not self._begun:
            self._begun, self._start = True, np.array([axis[0] for axis in centres])
            self._quantum = np.array([axis.min() for axis in sizes]) / _PARTS
        self._remember(lows)

    def _usable(self, sizes: Floats | None) -> Floats | None:
        """Count the sizes, and return them with zero for unusable ones."""
        if sizes is None:
            self.sized = False
            return None
        good = np.all(np.isfinite(sizes) & (sizes > 0), axis=1, keepdims=True)
        self.sized &= bool(good.all())
        if not good.all():
            sizes = np.where(good, sizes, 0.0)
        kinds, counts = _kinds(sizes)
        if len(self.sizes) <= MOST_SIZES:
            self.sizes.update(dict(zip(map(tuple, kinds.tolist()), counts.tolist(), strict=True)))
        self.volume += float((np.prod(kinds, axis=1) * counts).sum())
        return sizes

    def _measure(self, points: Floats, sizes: Floats | None) -> None:
        """Grow the boxes, and remember the coordinates of the blocks' lowest corners."""
        half = np.zeros((1, 3)) if sizes is None else sizes / 2
        local = self.to_local(points)
        _grow(self.centroids, points, points)
        _grow(self.local, local - half, local + half)
        reach = half if self._turn is None else half @ np.abs(self._turn)
        _grow(self.extent, points - reach, points + reach)
        self._remember([*(local - half).T])

    def _remember(self, lows: Sequence[Floats]) -> None:
        """Remember the coordinates of lowest corners along each axis."""
        for axis, known in enumerate(self._places):
            if known is not None:
                steps = np.round((lows[axis] - self._start[axis]) / self._quantum[axis])
                merged = np.union1d(known, steps.astype(np.int64))
                self._places[axis] = merged if len(merged) <= MOST_VALUES else None

    def to_local(self, points: Floats) -> Floats:
        """Return coordinates along the axes of the lattice."""
        if self._turn is None:
            return points
        return turned(points, self._turn, self._local_origin, self._origin)

    def box_of(self, mesh: Mesh) -> Floats:
        """Return the box of a mesh along the axes of the lattice, (2, 3)."""
        if self._turn is None:
            return mesh.bounds
        vertices = np.ascontiguousarray(self.to_local(mesh.vertices))
        return Mesh(vertices, mesh.triangles).bounds

    def _begin(self, points: Floats, sizes: Floats | None) -> None:
        """Derive the lattice's rotation and the tolerance from the first blocks."""
        if self._axes is not None:
            self.azimuth = _azimuth(self._axes)
        elif self._turn is None and sizes is not None:
            self.azimuth = azimuth_of(points, sizes)
            if self.azimuth:
                self._turn = np.array(frame_of_azimuth(self.azimuth).matrix).T
                self._origin = self._local_origin = _point(points[0])
        self._begun = True
        self._start = self.to_local(points)[0]
        smallest = _steps(self.to_local(points)) if sizes is None else _least(sizes)
        self._quantum = smallest / _PARTS

    def lows(self, axis: int) -> Floats | None:
        """Return the distinct coordinates of lowest corners along an axis, ascending.

        Centroids stand for them where there are no sizes. None where there are too many.
        """
        known = self._places[axis]
        if known is None:
            return None
        return np.asarray(self._start[axis] + known * self._quantum[axis], np.float64)


def _azimuth(axes: Floats) -> float:
    """Return how far axes are turned about z, in degrees; 0 for ones that are tilted."""
    if (axes[2] != (0.0, 0.0, 1.0)).any():
        return 0.0
    return round(-math.degrees(math.atan2(axes[0, 1], axes[0, 0])), 6) + 0.0


def _point(numbers: Floats) -> tuple[float, float, float]:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _kinds(sizes: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the different sizes, (k, 3), and how many blocks have each."""
    if (sizes == sizes[0]).all():
        return sizes[:1], np.array([len(sizes)])
    # Sorting numbers one axis at a time is far quicker than sorting rows.
    code = np.zeros(len(sizes), np.int64)
    for axis in range(3):
        values, ranks = np.unique(sizes[:, axis], return_inverse=True)
        code = np.unique(code * len(values) + ranks, return_inverse=True)[1]
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return sizes[first], counts


def _least(sizes: Floats) -> Floats:
    """Return the smallest size above zero along each axis."""
    least = np.where(sizes > 0, sizes, np.inf).min(axis=0)
    return np.where(np.isfinite(least), least, 1.0)


def _steps(points: Floats) -> Floats:
    """Guess the distance between centroids along each axis: the usual one between neighbours."""
    steps = np.ones(3)
    for axis in range(3):
        values = np.unique(points[:, axis])
        gaps = np.diff(values)
        gaps = gaps[gaps > 1e-9 * np.abs(values).max(initial=1.0)]
        if len(gaps):
            steps[axis] = np.median(gaps)
    return steps


def _grow(box: Floats, low: Floats, high: Floats) -> None:
    """Extend a box by points."""
    box[0] = np.fmin(box[0], low.min(axis=0))
    box[1] = np.fmax(box[1], high.max(axis=0))
