"""Find the lattice, extent, block sizes and duplicates of a block model in bounded memory."""

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

# A corner counts as on the lattice within this share of a step.
_SLACK = 0.02


@dataclass(frozen=True)
class LatticeGuess:
    """A lattice of equal cells that holds every block.

    Attributes
    ----------
    cells : tuple of int
        Number of cells along x, y and z, empty cells included.
    spacing, origin : tuple of float
        Cell size, and lowest corner of the first cell, along the axes of the model.
    filled : float
        Share of the lattice that blocks fill: by volume if blocks have sizes, otherwise by number
        of cells.
    """

    cells: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    filled: float


def find_lattice(survey: Survey) -> LatticeGuess | None:
    """Return the lattice of all blocks, or None if they form no lattice.

    The cells of a sub-blocked model have the size of the model's largest blocks. If blocks have no
    sizes, the cell size along each axis is the smallest distance between centroid coordinates.
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
        if survey.is_turned:  # drop digits that rotation has rounded
            starts[axis] = round(starts[axis], 6 - math.floor(math.log10(spacing[axis]))) + 0.0
    length = high - low + (spacing if sizes is None else 0.0)
    cells = np.maximum(1, np.ceil(length / spacing - _SLACK)).astype(int)
    whole = float(np.prod(cells, dtype=np.float64))
    blocks = survey.rows - survey.missing
    filled = blocks / whole if sizes is None else survey.volume / (whole * float(np.prod(spacing)))
    return LatticeGuess(
        tuple(cells.tolist()), tuple(spacing.tolist()), tuple(starts.tolist()), filled
    )


def _step(values: NDArray[np.float64]) -> float:
    """Return the smallest distance between ascending coordinates; 1 for a single coordinate."""
    gaps = np.diff(values)
    return float(gaps.min()) if len(gaps) else 1.0


def _on_steps(values: NDArray[np.float64], step: float) -> bool:
    """Return whether the distance of each coordinate from the first is a whole number of steps."""
    steps = (values - values[0]) / step
    return bool((np.abs(steps - np.round(steps)) < _SLACK).all())


def sub_blocking(survey: Survey) -> str:
    """Return the kind of a model: regular, octree, sub-blocked, sizes unknown or many sizes."""
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

# Odd multipliers: every step of the hashes is a bijection, so that no information is lost.
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Repeats:
    """Search for duplicate blocks by 128-bit hashes, which in practice never collide.

    A block takes 24 bytes. Up to two million blocks are held in memory; more blocks are written to
    a temporary file.
    """

    def __init__(self) -> None:
        self._rows = 0
        self._spill = Spill(3)
        self._failed = ""

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a batch of centroids (n, 3), NaN where missing, and of sizes (n, 3) or None."""
        numbers = np.arange(self._rows, self._rows + len(points), dtype=np.uint64)
        self._rows += len(points)
        if self._failed:
            return
        finite = np.isfinite(points).all(axis=1)
        if not finite.all():  # blocks without a centroid are not duplicates
            points, numbers = points[finite], numbers[finite]
            sizes = None if sizes is None else sizes[finite]
        rows = np.column_stack([*_hashed(points, sizes), numbers])
        try:
            self._spill.add(rows)
        except OSError as error:
            self._failed = str(error.strerror)
            self._spill.close()

    def warnings(self) -> Iterator[str]:
        """Yield a warning that names the first pair of duplicate blocks, if there is a pair.

        If the disk is full and duplicates could not be checked, yield a warning about this.
        """
        if self._failed:
            yield (
                f"duplicate blocks were not checked: {tempfile.gettempdir()} has no space for 24 "
                f"bytes per block ({self._failed}); set TMPDIR to use another folder"
            )
        with self._spill:
            repeats = [pairs for pairs in map(_repeated, self._spill.parts()) if len(pairs)]
        if repeats:
            pairs = np.concatenate(repeats)
            before, again = pairs[pairs[:, 1].argmin()].tolist()
            blocks = "1 block is" if len(pairs) == 1 else f"{len(pairs):,} blocks are"
            yield (
                f"{blocks} duplicated, with the same centroid and size; the first is block "
                f"{again + 1:,} of the table, the same as block {before + 1:,}: the volume "
                "of duplicates counts twice"
            )


def _repeated(rows: Rows) -> NDArray[np.uint64]:
    """Return pairs (n, 2) of numbers of duplicate blocks: the earlier and the later block."""
    first = np.sort(rows[:, 0])
    twice = first[1:][first[1:] == first[:-1]]
    if not len(twice):
        return np.empty((0, 2), np.uint64)
    some = rows[np.isin(rows[:, 0], twice)]
    some = some[np.lexsort(some.T[::-1])]
    same = (some[1:, :2] == some[:-1, :2]).all(axis=1)
    pairs: NDArray[np.uint64] = np.column_stack([some[:-1, 2], some[1:, 2]])
    repeats: NDArray[np.uint64] = pairs[same]
    return repeats


def _hashed(points: Floats, sizes: Floats | None) -> tuple[_Bits, _Bits]:
    """Return two independent 64-bit hashes of each block's centroid and size."""
    first, second = np.zeros((2, len(points)), np.uint64)
    for column in (*points.T, *(() if sizes is None else sizes.T)):
        bits = _mixed((column + 0.0).view(np.uint64))
        first = _mixed(first ^ bits)
        second = (second + bits) * _SECOND
        second ^= second >> np.uint64(32)
    return first, second


def _mixed(bits: _Bits) -> _Bits:
    """Mix the 64 bits of each number, so that similar numbers get different bits."""
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)))


# The survey, batch by batch.

# Limits of distinct coordinates along an axis, and of distinct block sizes.
MOST_VALUES, MOST_SIZES = 1 << 20, 1000
# Coordinates count as equal within this fraction of the smallest block of the first batch: exports
# round, and later batches may have smaller blocks.
_PARTS = 10_000


class Survey:
    """Statistics of the blocks of a model.

    Parameters
    ----------
    local : LocalFrame, optional
        Rotated frame of the lattice. By default, a rotation about z is inferred from the first
        blocks.
    boxes : sequence of (2, 3) float64
        Bounding boxes of meshes, in which to count blocks.
    axes : (3, 3) float64, optional
        Directions of the block edges, one row each, if the file or the user states them.

    Attributes
    ----------
    rows, missing : int
        Number of blocks, and of blocks without a centroid.
    sizes : Counter
        Number of blocks of each size; empty without sizes.
    sized : bool
        Whether every block with a centroid has sizes above zero.
    centroids, extent : (2, 3) float64
        `centroids`: bounding box of the centroids. `extent`: bounding box of the blocks. Both are
        in world coordinates.
    local : (2, 3) float64
        Bounding box of the blocks along the lattice axes.
    azimuth : float
        Rotation of the lattice about z in world coordinates, in degrees clockwise. It comes from
        `axes`, or is inferred from the first blocks.
    inside : (k,) int64
        Number of centroids in each mesh's box.
    volume : float
        Volume of all blocks with sizes.
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
        # From world to lattice coordinates: lattice axes in rows, and one point in both frames.
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
        """Return an empty survey of a model, in the frame that its file or the user states."""
        frame = model.frame
        stated = frame.boxes is not None or (model.axes != np.eye(3)).any()
        return cls(frame.local, boxes, model.axes if stated and frame.local is None else None)

    @property
    def is_turned(self) -> bool:
        """Whether the lattice is rotated against the world axes."""
        return self._turn is not None

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a batch of world centroids (n, 3), and of sizes (n, 3) or None."""
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
        """Add blocks at all combinations of coordinates of three axes; sizes must be above zero.

        The result is the same as from `add`, but the coordinates of single blocks are not computed.
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
        """Count the blocks of each size; return the sizes, with 0 in place of invalid sizes."""
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
        """Extend the bounding boxes, and collect the coordinates of the blocks' lowest corners."""
        half = np.zeros((1, 3)) if sizes is None else sizes / 2
        local = self.to_local(points)
        _grow(self.centroids, points, points)
        _grow(self.local, local - half, local + half)
        reach = half if self._turn is None else half @ np.abs(self._turn)
        _grow(self.extent, points - reach, points + reach)
        self._remember([*(local - half).T])

    def _remember(self, lows: Sequence[Floats]) -> None:
        """Collect the distinct coordinates, along each axis, of the blocks' lowest corners."""
        for axis, values in enumerate(self._places):
            if values is not None:
                steps = np.round((lows[axis] - self._start[axis]) / self._quantum[axis])
                merged = np.union1d(values, steps.astype(np.int64))
                self._places[axis] = merged if len(merged) <= MOST_VALUES else None

    def to_local(self, points: Floats) -> Floats:
        """Return coordinates along the axes of the lattice."""
        if self._turn is None:
            return points
        return turned(points, self._turn, self._local_origin, self._origin)

    def box_of(self, mesh: Mesh) -> Floats:
        """Return the bounding box (2, 3) of a mesh along the lattice axes."""
        if self._turn is None:
            return mesh.bounds
        vertices = np.ascontiguousarray(self.to_local(mesh.vertices))
        return Mesh(vertices, mesh.triangles).bounds

    def _begin(self, points: Floats, sizes: Floats | None) -> None:
        """Infer the rotation of the lattice, and the tolerance for equal coordinates."""
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
        """Return the distinct coordinates of the blocks' lowest corners along an axis, ascending.

        Without sizes, return the coordinates of centroids. If there are too many coordinates,
        return None.
        """
        steps = self._places[axis]
        if steps is None:
            return None
        return np.asarray(self._start[axis] + steps * self._quantum[axis], np.float64)


def _azimuth(axes: Floats) -> float:
    """Return the rotation of axes about z, in degrees clockwise; 0 for tilted axes."""
    if (axes[2] != (0.0, 0.0, 1.0)).any():
        return 0.0
    return round(-math.degrees(math.atan2(axes[0, 1], axes[0, 0])), 6) + 0.0


def _point(numbers: Floats) -> tuple[float, float, float]:
    return float(numbers[0]), float(numbers[1]), float(numbers[2])


def _kinds(sizes: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct sizes (k, 3), and the number of blocks that have each size."""
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
    """Estimate the spacing of centroids along each axis, as the median distance of neighbours."""
    steps = np.ones(3)
    for axis in range(3):
        values = np.unique(points[:, axis])
        gaps = np.diff(values)
        gaps = gaps[gaps > 1e-9 * np.abs(values).max(initial=1.0)]
        if len(gaps):
            steps[axis] = np.median(gaps)
    return steps


def _grow(box: Floats, low: Floats, high: Floats) -> None:
    """Extend a box in place, so that it holds the points in `low` and in `high`, both (n, 3)."""
    box[0] = np.fmin(box[0], low.min(axis=0))
    box[1] = np.fmax(box[1], high.max(axis=0))
