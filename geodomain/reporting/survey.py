"""Gather the facts about a block model in bounded memory: lattice, extent and duplicates."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.files.pipeline import Rows, Spill
from geodomain.formats.block_file import BlockFile
from geodomain.mesh.mesh import Mesh
from geodomain.tables.frames import LocalFrame, turned
from geodomain.tables.rotation import azimuth_of, frame_of_azimuth

# Blocks whose corners are so near to a whole number of steps are on the lattice.
_SLACK = 0.02


@dataclass(frozen=True)
class LatticeGuess:
    """Cells of one size, in which every block lies.

    Attributes
    ----------
    cells : tuple of int
        How many along x, y and z, empty ones included.
    spacing, origin : tuple of float
        Size of a cell, and the lowest corner of the first: in the model's own frame.
    filled : float
        Which part of all cells has blocks, by volume where sizes are known, otherwise by number.
    """

    cells: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    filled: float


def find_lattice(survey: Survey) -> LatticeGuess | None:
    """Describe the lattice of all the blocks, or None where they lie on none.

    Parents of sub-blocks are the largest blocks; without sizes the cells are as large as the
    centroids are apart.
    """
    if survey.rows == survey.missing or len(survey.sizes) > MOST_SIZES:
        return None
    sizes = np.array(list(survey.sizes)) if survey.sized else None
    low, high = survey.local
    spacing, starts = np.empty(3), np.empty(3)
    for axis in range(3):
        values = survey.lows(axis)
        if values is None:
            return None
        least = _step(values) if sizes is None else float(sizes[:, axis].min())
        if not _on_steps(values, least):
            return None
        spacing[axis] = least if sizes is None else float(sizes[:, axis].max())
        starts[axis] = low[axis] - (least / 2 if sizes is None else 0.0)
        if survey.is_turned:  # what turning has rounded is not worth saying
            starts[axis] = round(starts[axis], 6 - math.floor(math.log10(spacing[axis]))) + 0.0
    length = high - low + (spacing if sizes is None else 0.0)
    cells = np.maximum(1, np.ceil(length / spacing - _SLACK)).astype(int)
    whole = float(np.prod(cells, dtype=np.float64))
    there = survey.rows - survey.missing
    filled = there / whole if sizes is None else survey.volume / (whole * float(np.prod(spacing)))
    return LatticeGuess(
        tuple(cells.tolist()), tuple(spacing.tolist()), tuple(starts.tolist()), filled
    )


def _step(values: NDArray[np.float64]) -> float:
    """Return the smallest distance between coordinates, 1 where there is only one."""
    gaps = np.diff(values)
    return float(gaps.min()) if len(gaps) else 1.0


def _on_steps(values: NDArray[np.float64], step: float) -> bool:
    """Return whether coordinates are whole numbers of steps apart."""
    steps = (values - values[0]) / step
    return bool((np.abs(steps - np.round(steps)) < _SLACK).all())


def sub_blocking(survey: Survey) -> str:
    """Return how blocks are divided: regular, octree, sub-blocked, sizes unknown, many sizes."""
    if not survey.sized or not survey.sizes:
        return "sizes unknown"
    if len(survey.sizes) == 1:
        return "regular"
    if len(survey.sizes) > MOST_SIZES:
        return "many sizes"
    sizes = np.array(list(survey.sizes))
    halvings = np.log2(sizes.max(axis=0) / sizes)
    # An octree halves all three sizes at once.
    whole = (np.abs(halvings - np.round(halvings)) < 1e-9).all()
    alike = (np.abs(halvings - halvings[:, :1]) < 1e-9).all()
    return "octree" if whole and alike else "sub-blocked"


# Duplicate blocks: the same centroid and size.

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


# Gather the facts chunk by chunk.

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
