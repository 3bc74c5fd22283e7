"""Detection of blocks with equal centroids, and of overlapping blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import distinct, ranked
from geodomain.compute.data import Floats
from geodomain.compute.rows import fill_cells
from geodomain.lattice import LatticeBits, StoredArray

# Up to this number, all blocks are compared, whatever their positions.
_ALL = 250_000
# Centroids without sizes count as blocks, not samples, from this number and share of a lattice.
_BLOCKS, _FILLED = 100, 0.02
# Random odd factors of the hashes, one for each axis.
_FACTORS = tuple(
    np.uint64(factor) for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class RepeatedCentroids:
    """Count of blocks that have the same centroid as another block.

    Up to 250,000 blocks are stored and compared. For more blocks, one bit per cell of their lattice
    is stored. If they form no lattice, or one that is too large for memory, the count is unknown.
    Centroids without sizes may be those of samples, which may coincide. They are therefore compared
    only if they fill a lattice as blocks do.
    """

    def __init__(self) -> None:
        self._chunks: list[Floats] = []
        self._count, self._steps = 0, np.full(3, np.inf)
        self._bits: LatticeBits | None = None
        self._countable = self._sized = True
        self._before = 0  # blocks of merged parts

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a chunk of finite centroids, (n, 3), and the sizes of the blocks, or None."""
        if not self._countable or not len(points):
            return
        self._count += len(points)
        self._sized &= sizes is not None
        if sizes is not None and self._bits is None:
            self._steps = np.minimum(self._steps, sizes.min(axis=0))
        if self._count <= _ALL:
            self._chunks.append(points.copy(order="F"))
        else:
            self._mark([*self._chunks, points])

    def _mark(self, chunks: list[Floats]) -> None:
        """Mark the lattice cells of the centroids in chunks, and stop storing centroids."""
        self._chunks = []
        if self._bits is None:
            self._bits = LatticeBits(chunks[0], self._steps)
        if not all(map(self._bits.add, chunks)):
            self._countable, self._bits = False, None

    def merge(self, later: RepeatedCentroids) -> None:
        """Add the blocks of another object, as if all blocks had been added to this object."""
        self._countable &= later._countable
        self._sized &= later._sized
        if not self._countable:
            self._chunks, self._bits = [], None
            return
        self._before += later._before
        if later._bits is None:
            chunks: Iterator[Floats] = iter(later._chunks)
        else:
            self._before += later._bits.again
            chunks = later._bits.points()
        for points in chunks:
            self.add(points, later._steps[None] if later._sized else None)

    def arrays(self) -> dict[str, StoredArray]:
        """Return the state as arrays for `restored`."""
        numbers = [self._countable, self._sized, self._before, self._count]
        stored: dict[str, StoredArray] = {
            "numbers": np.array(numbers, np.int64),
            "steps": self._steps,
            "kept": np.concatenate([np.empty((0, 3)), *self._chunks]),
        }
        return stored | ({} if self._bits is None else self._bits.arrays())

    @classmethod
    def restored(cls, arrays: Mapping[str, StoredArray]) -> RepeatedCentroids:
        """Return the state stored by `arrays`."""
        again = cls()
        countable, sized, again._before, again._count = np.asarray(
            arrays["numbers"], np.int64
        ).tolist()
        again._countable, again._sized = bool(countable), bool(sized)
        again._steps = np.asarray(arrays["steps"], np.float64)
        chunk = np.asfortranarray(arrays["kept"], np.float64)
        again._chunks = [chunk] if len(chunk) else []
        if "bits" in arrays:
            again._bits = LatticeBits.restored(arrays)
        return again

    def points(self) -> Iterator[Floats]:
        """Yield the stored centroids in chunks, (n, 3).

        Each centroid occurs once if they are stored as a lattice, otherwise once for each block.
        """
        yield from self._chunks if self._bits is None else self._bits.points()

    def coordinates(self) -> list[Floats]:
        """Return the distinct coordinates along each axis, ascending."""
        if self._bits is not None:
            return self._bits.coordinates()
        points = np.concatenate([np.empty((0, 3)), *self._chunks])
        return [distinct(points[:, axis]) for axis in range(3)]

    def _are_blocks(self) -> bool:
        """Return whether centroids without sizes are arranged like blocks."""
        if self._chunks and self._count >= _BLOCKS:
            self._mark(self._chunks)
        return self._bits is not None and self._bits.filled >= _FILLED

    @property
    def again(self) -> int:
        """The number of blocks with the same centroid as an earlier block; 0 if it is unknown."""
        if not self._countable or (not self._sized and not self._are_blocks()):
            return 0
        again = self._bits.again if self._bits is not None else _count_again(self._chunks)
        return again + self._before


def _count_again(chunks: list[Floats]) -> int:
    """Count the points that equal an earlier point."""
    if not chunks:
        return 0
    points = np.concatenate(chunks)
    hashes = point_hashes(points)
    ordered = np.sort(hashes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(twice):
        return 0
    # Different points may share a hash, but this is very rare.
    same = points[np.isin(hashes, twice)]
    return len(same) - len(np.unique(same + 0.0, axis=0))


def point_hashes(points: Floats) -> NDArray[np.uint64]:
    """Return a hash of each point.

    The low bits of coordinates are often 0, so their high bits are mixed into the low bits.
    """
    hashes = np.zeros(len(points), np.uint64)
    for axis, factor in enumerate(_FACTORS):
        bits = (points[:, axis] + 0.0).view(np.uint64)
        mixed = bits >> np.uint64(29)
        mixed ^= bits
        mixed *= factor
        hashes += mixed
    return hashes


# Overlapping blocks, of any sizes.

_Places = NDArray[np.int64]

# Most blocks that are compared; of more blocks, only those in a part of the model are compared.
# Most pieces into which blocks are cut at the ends of other blocks. Fewest blocks in such a part.
_MOST, _MOST_PIECES, _FEWEST = 1_000_000, 1 << 23, 1000
# For the fast test that no blocks overlap, on a lattice of cells whose planes are faces of blocks:
# most cells; number of blocks from which the planes are taken; and how often planes of as many
# further blocks are added, if a block has a face on no plane.
_MOST_CELLS, _SAMPLE, _TRIES = 1 << 27, 1 << 14, 8
# Overlap, as a fraction of the usual size, that rounding in exports cannot explain.
_SLACK = 0.01
# Overlap volume, as a fraction of the total, that rounding can explain.
_ROUNDING = 1e-6
# Number of steps needed to determine the spacing of a lattice.
_STEPS = 4
# Difference up to which sizes count as equal but rounded.
_EVEN = 1e-6
# To recognise a rotated lattice: fewest columns of blocks, the share of them that have an x or a y
# of their own, and the number of first blocks to look at.
_COLUMNS, _SHARE, _FIRST = 10, 0.9, 65_536


class Overlap(NamedTuple):
    """Number, volume and an example of overlapping blocks.

    Attributes
    ----------
    blocks : int
        Number of blocks that overlap an earlier block.
    volume, whole : float
        Volume counted more than once, and volume of all compared blocks.
    pair : tuple of two (2, 3) float64
        Centroids and sizes of two overlapping blocks.
    every : bool
        Whether all blocks were compared.
    """

    blocks: int
    volume: float
    whole: float
    pair: tuple[Floats, Floats]
    every: bool


class OverlappingBlocks:
    """Detection of overlapping blocks of any size, in bounded memory.

    Equal blocks on a lattice whose spacing is the block size cannot overlap; for such blocks only
    the data of `RepeatedCentroids` is stored. Up to a million other blocks are stored and compared.
    If there are more, only the blocks in a part of the model are compared. This part shrinks while
    blocks are added.

    Parameters
    ----------
    places : RepeatedCentroids, optional
        The centroids of blocks that were added before.
    """

    def __init__(self, places: RepeatedCentroids | None = None) -> None:
        # Centroids that a region has are added only when they are needed.
        self._places = RepeatedCentroids() if places is None else places
        self._sized, self._size = True, np.full(3, np.nan)
        self._region: _Region | None = None

    def add(self, points: Floats, sizes: Floats | None) -> None:
        """Add a chunk: finite centroids (n, 3) along the block edges, and sizes."""
        if not len(points):
            return
        if self._sized and (sizes is None or not (np.isfinite(sizes).all() and sizes.min() > 0)):
            self._forget()
        if self._sized and sizes is not None:
            if np.isnan(self._size[0]):
                self._size = sizes[0].copy()
            if self._region is None and not _alike(sizes, self._size):
                self._region = self._of_places()
            if self._region is not None:
                if self._region.has_room(len(points)):
                    self._region.add(points, sizes)
                    return
                self._place()
                self._region.add(points, sizes)
        self._places.add(points, sizes)

    def _of_places(self) -> _Region:
        """Return a region with blocks of the common size at all stored centroids."""
        region = _Region()
        for points in self._places.points():
            region.add(points, np.broadcast_to(self._size, points.shape))
        list(region.unplaced())
        return region

    def _place(self) -> RepeatedCentroids:
        """Copy centroids of the region to the `RepeatedCentroids` object, and return this object.

        Only centroids that were not copied before are copied.
        """
        if self._region is not None:
            for chunk in self._region.unplaced():
                self._places.add(chunk[:, :3], chunk[:, 3:])
        return self._places

    def _forget(self) -> None:
        """Drop the sizes of blocks; from now on, their overlap is unknown."""
        self._place()
        self._sized, self._region = False, None

    def arrays(self) -> dict[str, StoredArray]:
        """Return the centroids as arrays for `RepeatedCentroids.restored`."""
        return self._place().arrays()

    @property
    def again(self) -> int:
        """The number of blocks with the same centroid as an earlier block; 0 if it is unknown."""
        # Blocks that fill cells once have different centroids, so those not placed are no repeats.
        region = self._region
        if region is None or not region.every or not region.fills_cells_once():
            self._place()
        return self._places.again

    def merge(self, later: OverlappingBlocks) -> None:
        """Add the blocks of another object.

        The overlap becomes unknown unless the blocks of both objects have the same size, so call
        `overlap` on both objects first.
        """
        others = later._place()
        same = later._sized and later._region is None and self._region is None
        if np.isnan(self._size[0]):
            self._size = later._size
        elif same and not np.isnan(later._size[0]):
            same = _alike(later._size[None], self._size)
        if not (self._sized and same):
            self._forget()
        self._places.merge(others)

    @property
    def size(self) -> Floats:
        """The size of all blocks, (3,); NaN if it is unknown or blocks have several sizes."""
        alike = self._sized and self._region is None
        return self._size.copy() if alike else np.full(3, np.nan)

    @classmethod
    def of_size(cls, places: RepeatedCentroids, size: Floats) -> OverlappingBlocks:
        """Return blocks of one size at the stored centroids."""
        blocks = cls(places)
        blocks._size, blocks._sized = size, not bool(np.isnan(size).any())
        return blocks

    def _gaps(self) -> list[Floats]:
        """Return the steps between distinct coordinates along each axis."""
        return [np.diff(values) for values in self._places.coordinates()]

    def spacing(self) -> Floats:
        """Return the step between centroids along each axis, (3,).

        The step is NaN along an axis with fewer than four steps, or if at most half of the steps
        equal the smallest step. All steps are NaN if blocks have several sizes.
        """
        steps = np.full(3, np.nan)
        if not np.isnan(self.size).any():
            for axis, gaps in enumerate(self._gaps()):
                least = gaps.min(initial=np.inf)
                if len(gaps) >= _STEPS and 2 * int((gaps < (1 + _SLACK) * least).sum()) > len(gaps):
                    steps[axis] = least
        return steps

    def overlap(self, *, turn_is_known: bool) -> Overlap | None:
        """Return the overlap of blocks; None if no blocks overlap, or if this is unknown.

        Blocks that look rotated are skipped unless their rotation is known.
        """
        if not self._sized or np.isnan(self._size[0]):
            return None
        region = self._region
        if region is None:
            nearest = [gaps.min(initial=np.inf) for gaps in self._gaps()]
            if (np.array(nearest) >= (1 - _SLACK) * self._size).all():
                return None
            region = self._of_places()
        if region.fills_cells_once():
            return None
        blocks = region.blocks()
        points, sizes = blocks[:, :3], blocks[:, 3:]
        if not turn_is_known and _are_lonely(points[:_FIRST]):
            return None
        return _compare(points, sizes, every=region.every)


def say_spacing(spacing: Floats, size: Floats, axes: Sequence[str]) -> Iterator[str]:
    """Yield a warning if blocks of one size are smaller than their spacing.

    `axes` are the words for the three block axes, such as "the model's x".
    """
    small = np.flatnonzero(spacing > (1 + _SLACK) * size).tolist()
    if small:
        each = " and ".join(
            f"{spacing[axis]:.6g} apart along {axes[axis]}, but blocks measure {size[axis]:.6g}"
            for axis in small
        )
        options = ", ".join(f"d{'xyz'[axis]}=" for axis in small)
        yield (
            f"there are gaps between the blocks: centroids are {each}. The blocks fill "
            f"only {float(np.prod(size[small] / spacing[small])):.1%} of the space. Check {options}"
        )


class _Region:
    """The blocks in a part of the model; the part shrinks until its blocks can be stored."""

    def __init__(self) -> None:
        self.every = True
        self._chunks: list[Floats] = []
        self._count = self._yielded = 0
        self._low, self._high = np.full(3, -np.inf), np.full(3, np.inf)
        self._once: bool | None = None

    def has_room(self, count: int) -> bool:
        """Return whether the region holds all blocks so far, and has room for `count` more."""
        return self.every and self._count + count <= _MOST

    def unplaced(self) -> Iterator[Floats]:
        """Yield the blocks that this method has not yielded before.

        Yield nothing if the region has shrunk, because then it lacks blocks.

        Yields
        ------
        (n, 6) float64
            Centroids and sizes.
        """
        if self.every:
            yielded, self._yielded = self._yielded, len(self._chunks)
            yield from self._chunks[yielded:]

    def fills_cells_once(self) -> bool:
        """Return whether a fast test shows that no blocks of the region overlap."""
        if self._once is None:
            self._once = self._count < 2 or _fill_cells_once(self.blocks())
        return self._once

    def add(self, points: Floats, sizes: Floats) -> None:
        """Store the blocks that lie within the region; shrink the region if there are too many."""
        self._once = None
        if not self.every:
            within = ((points >= self._low) & (points < self._high)).all(axis=1)
            points, sizes = points[within], sizes[within]
        self._chunks.append(np.concatenate([points, sizes], axis=1))
        self._count += len(points)
        if self._count > _MOST:
            rows, axis, end = _halved(np.concatenate(self._chunks))
            self.every = False
            self._high[axis] = min(self._high[axis], end)
            self._chunks, self._count = [rows], len(rows)

    def blocks(self) -> Floats:
        """Return the centroids and sizes of all blocks in the region, (n, 6)."""
        return np.concatenate([*self._chunks, np.empty((0, 6))])


def _without_repeats(points: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Return the blocks without repeats: only the first block at each centroid."""
    hashes = point_hashes(points)
    order = hashes.argsort(kind="stable")
    first = np.append(True, hashes[order[1:]] != hashes[order[:-1]])
    if not first.all():
        rows = np.sort(order[first])
        points, sizes = points[rows], sizes[rows]
    return points, sizes


def _halved(rows: Floats) -> tuple[Floats, int, float]:
    """Cut a set of blocks in two across its longest axis, and return the lower half.

    The longest axis is the axis with the most blocks along it. Also return the index of this axis,
    and the coordinate of the cut.
    """
    spread = np.ptp(rows[:, :3], axis=0) / np.median(rows[:, 3:], axis=0)
    axis = int(spread.argmax())
    end = float(np.median(rows[:, axis]))
    return rows[rows[:, axis] < end], axis, end


def _alike(sizes: Floats, size: Floats) -> bool:
    """Return whether all sizes are equal, apart from rounding."""
    return bool((sizes == size).all() or (np.abs(sizes - size) <= _EVEN * size).all())


def _are_lonely(points: Floats) -> bool:
    """Return whether almost no two columns of blocks share an x or y, as in a rotated model."""
    columns = len(np.unique(point_hashes(points * (1.0, 1.0, 0.0))))
    alone = min(len(distinct(points[:, axis])) for axis in range(2)) if len(points) else 0
    return columns >= _COLUMNS and alone > _SHARE * columns


class _Ends(NamedTuple):
    """Ends of blocks along an axis.

    `places` are the coordinates of all ends. `low` and `high` are indices into `places` for each
    block. If `even`, ends that are equal up to rounding share a coordinate.
    """

    low: _Places
    high: _Places
    places: Floats
    even: bool


def _all_ends(points: Floats, sizes: Floats) -> list[_Ends]:
    """Return the ends of blocks along all axes."""
    volumes = np.prod(sizes, axis=1)
    return [_ends(points[:, axis], sizes[:, axis], volumes) for axis in range(3)]


def _ends(centres: Floats, sizes: Floats, volumes: Floats) -> _Ends:
    """Return the ends of blocks along an axis; ends that are equal up to rounding are made equal.

    If that would remove more than 1 percent of the volume, each block is shrunk by the rounding
    instead.
    """
    slack = _SLACK * float(np.median(sizes))
    ends = np.concatenate([centres - sizes / 2, centres + sizes / 2])
    every, ranks = ranked(ends)
    begins = np.append(True, np.diff(every) > slack)
    first, last = (begins.cumsum() - 1)[ranks].reshape(2, -1)
    if float(volumes[first >= last].sum()) <= _SLACK * float(volumes.sum()):
        return _Ends(first, last, every[begins], even=True)
    # Ends may lie anywhere: blocks are shrunk by the possible rounding.
    less = np.minimum(slack, 0.45 * sizes)
    every, ranks = ranked(ends + np.concatenate([less, -less]))
    first, last = ranks.reshape(2, -1)
    return _Ends(first, last, every, even=False)


def _compare(points: Floats, sizes: Floats, *, every: bool) -> Overlap | None:
    """Return the overlap of blocks, or None; if there are too many pieces, compare a part only."""
    points, sizes = _without_repeats(points, sizes)
    while len(points) > 1:
        volumes = np.prod(sizes, axis=1)
        ends = _all_ends(points, sizes)
        last = max(range(3), key=lambda axis: (not ends[axis].even, len(ends[axis].places)))
        across = [ends[axis] for axis in range(3) if axis != last]
        pieces = np.prod([np.maximum(each.high - each.low, 0.0) for each in across], axis=0)
        if pieces.sum() <= _MOST_PIECES:
            result = _in_columns(across[0], across[1], ends[last])
            # A few sizes with a wrong exponent would hide other overlaps.
            usual = np.sort(volumes)[: len(volumes) - len(volumes) // 100 - 1]
            if result is None or result[1] <= _ROUNDING * usual.sum():
                return None
            blocks, volume, pair = result
            first, second = (np.array([points[row], sizes[row]]) for row in pair)
            return Overlap(blocks, volume, float(volumes.sum()), (first, second), every)
        if len(points) < _FEWEST:
            return None
        rows, _, _ = _halved(np.concatenate([points, sizes], axis=1))
        points, sizes, every = rows[:, :3], rows[:, 3:], False
    return None


def _fill_cells_once(blocks: Floats) -> bool:
    """Return whether every cell between the faces of blocks lies in at most one block.

    Return False also if the lattice of cells is too large, or if faces lie too close together.
    """
    sample = blocks[:: len(blocks) // _SAMPLE + 1]
    for _ in range(_TRIES):
        slack = _SLACK * np.median(sample[:, 3:], axis=0)
        planes = [_planes(sample[:, axis], sample[:, 3 + axis], slack[axis]) for axis in range(3)]
        if not 0 < math.prod(len(values) - 1 for values in planes) <= _MOST_CELLS:
            return False
        state, row = fill_cells(blocks, planes, slack)
        if state != "off planes":
            return state == "once"
        sample = np.concatenate([sample, blocks[row : row + _SAMPLE]])
    return False


def _planes(centres: Floats, sizes: Floats, slack: float) -> Floats:
    """Return the positions of faces along an axis; positions equal up to rounding are merged."""
    ends = distinct(np.concatenate([centres - sizes / 2, centres + sizes / 2]))
    first: Floats = ends[np.append(True, np.diff(ends) > slack)]
    return first


def _in_columns(u: _Ends, v: _Ends, along: _Ends) -> tuple[int, float, tuple[int, int]] | None:
    """Return the number of overlapping blocks, their volume counted twice, and one example.

    Return None if no blocks overlap.

    Each block is cut into columns at the ends of the other blocks. Within a column, the pieces of
    blocks are sorted intervals.
    """
    wide, deep = np.maximum(u.high - u.low, 0), np.maximum(v.high - v.low, 0)
    pieces = np.where(along.high > along.low, wide * deep, 0)
    block = np.repeat(np.arange(len(pieces)), pieces)
    number = np.arange(len(block)) - np.repeat(pieces.cumsum() - pieces, pieces)
    depth = deep[block]
    first, second = u.low[block] + number // depth, v.low[block] + number % depth
    count = len(along.places)
    column = (first * len(v.places) + second) * count
    begin, end = column + along.low[block], column + along.high[block]
    order = begin.argsort(kind="stable")
    begin, end = begin[order], end[order]
    reach = np.maximum.accumulate(end)
    again = np.flatnonzero(begin[1:] < reach[:-1]) + 1
    if not len(again):
        return None
    until = np.minimum(end[again], reach[again - 1]) % count
    length = along.places[until] - along.places[begin[again] % count]
    rows = order[again]
    area = np.prod(
        [
            ends.places[cell[rows] + 1] - ends.places[cell[rows]]
            for ends, cell in ((u, first), (v, second))
        ],
        axis=0,
    )
    # The later block of the first overlapping pair in the table, and the one that it overlaps.
    place = int(again[block[rows].argmin()])
    before = place - 1
    while end[before] <= begin[place]:
        before -= 1
    low, high = sorted((int(block[order[before]]), int(block[order[place]])))
    return len(distinct(block[rows].astype(np.float64))), float((area * length).sum()), (low, high)


def say_overlap(overlap: Overlap, directions: Floats) -> str:
    """Return the warning for overlapping blocks; the rows of `directions` are the block axes."""
    pair = " overlaps the block at ".join(
        f"({', '.join(f'{value:.10g}' for value in centre @ directions)}) with the size "
        f"{' x '.join(f'{value:.6g}' for value in size)}"
        for centre, size in overlap.pair
    )
    whole = "" if overlap.every else " in the part of the model that was compared"
    return (
        f"{overlap.blocks:,} {'block overlaps' if overlap.blocks == 1 else 'blocks overlap'} "
        f"other blocks: {overlap.volume:,.10g} of the volume of {overlap.whole:,.10g}{whole} "
        f"counts twice. For example, the block at {pair}. Does the model hold both parent blocks "
        "and their sub-blocks, or are sizes or the rotation wrong?"
    )
