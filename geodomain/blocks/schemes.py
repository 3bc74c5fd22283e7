"""Schemes that split blocks at wireframes: octree, grid and seam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.compute.native import thread_count
from geodomain.compute.rows import BoundaryIndex, join_boxes
from geodomain.errors import TableError
from geodomain.formats.rewriting import Space
from geodomain.mesh.mesh import Mesh
from geodomain.tables.numbers import Numbers, Resolution


class Boundaries:
    """Meshes in the frame of a model's blocks.

    Parameters
    ----------
    meshes : sequence of Mesh
        In the world.
    space : Space
        The frame of the blocks.
    threads : int, optional
    """

    def __init__(self, meshes: Sequence[Mesh], space: Space, threads: int | None) -> None:
        self._threads = thread_count(threads)
        self._indexes = [
            BoundaryIndex(np.ascontiguousarray(space.turned(mesh.vertices)), mesh.triangles)
            for mesh in meshes
        ]

    def entered(self, lows: Floats, highs: Floats) -> NDArray[np.bool_]:
        """Tell the blocks, (n, 3) corners, strictly inside of which any triangle has a point."""
        found = np.zeros(len(lows), np.bool_)
        low, high = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        for index in self._indexes:
            index.mark_entered(low, high, found, self._threads)
        return found

    def seams(self, lows: Floats, highs: Floats) -> tuple[Ints, Floats]:
        """Give where sheets cut blocks: the block of each cut, (k,), and its height, (k,).

        In the order of blocks, and ascending in each.
        """
        low, high = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        blocks, heights = [np.empty(0, np.int64)], [np.empty(0)]
        for index in self._indexes:
            counts, some = index.seams(low, high, self._threads)
            blocks.append(np.repeat(np.arange(len(low)), counts))
            heights.append(some)
        block, height = np.concatenate(blocks), np.concatenate(heights)
        order = np.lexsort([height, block])
        return block[order], height[order]


# Sub-blocks by the cuts on either side.

Places = NDArray[np.int64]


class Boxes(NamedTuple):
    """Blocks as a file has them, and their corners, (m, 3), in float64."""

    coordinates: tuple[Numbers, Numbers, Numbers]
    sizes: tuple[Numbers, Numbers, Numbers]


@dataclass(frozen=True)
class Pieces:
    """Sub-blocks of parents, which they fill.

    Attributes
    ----------
    parent : (m,) int64
        The row of the parent; ascending.
    low, high : (m, 3) int64
        The places of the cuts below and above along each axis.
    cuts : three Cuts
    dropped : int
        Cuts that were too near to others.
    """

    parent: Ints
    low: Places
    high: Places
    cuts: tuple[Cuts, Cuts, Cuts]
    dropped: int = 0

    def __len__(self) -> int:
        """Count them."""
        return len(self.parent)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Tell those that are all of their parent."""
        return np.asarray(np.bincount(self.parent)[self.parent] == 1)

    def take(self, rows: NDArray[np.intp] | Ints | NDArray[np.bool_]) -> Pieces:
        """Give some of them."""
        return replace(self, parent=self.parent[rows], low=self.low[rows], high=self.high[rows])

    def boxes(self, parents: Parents) -> Boxes:
        """Give their coordinates and sizes."""
        own = parents.take(self.parent)
        x, y, z = (own.coordinate(axis, *self._offsets(axis)) for axis in range(3))
        dx, dy, dz = (high - low for low, high in map(self._offsets, range(3)))
        return Boxes((x, y, z), (dx, dy, dz))

    def corners(self) -> tuple[Floats, Floats]:
        """Give their lowest and highest corners, (m, 3)."""
        lows, highs = np.empty((2, len(self), 3))
        for axis, cuts in enumerate(self.cuts):
            lows[:, axis] = cuts.faces[self.low[:, axis]]
            highs[:, axis] = cuts.faces[self.high[:, axis]]
        return lows, highs

    def joined(self, keys: NDArray[np.int32], threads: int | None) -> tuple[Pieces, Ints]:
        """Join those of one parent with the same key; give the first row of each as well."""
        starts = np.flatnonzero(np.diff(self.parent, prepend=-1, append=-1))
        low, high, owner = join_boxes(starts, self.low, self.high, keys, thread_count(threads))
        first = np.flatnonzero(owner == np.arange(len(owner)))
        whole = replace(self, low=low.astype(np.int64), high=high.astype(np.int64))
        return whole.take(first), first

    def _offsets(self, axis: int) -> tuple[Numbers, Numbers]:
        offsets = self.cuts[axis].offsets
        return offsets.take(self.low[:, axis]), offsets.take(self.high[:, axis])


# Cells in plan, cut along z where sheets cross them.


def seam_pieces(
    cells: Pieces,
    parents: Parents,
    entered: NDArray[np.bool_],
    boundaries: Boundaries,
    smallest: Fraction,
) -> Pieces:
    """Cut cells of a plan where sheets cross their centre lines.

    Cuts are rounded to the resolution. Equal ones are one; one that is nearer than the smallest
    size to a face or to the cut below it is dropped.
    """
    asked = np.flatnonzero(entered[cells.parent])
    found, heights = boundaries.seams(*cells.take(asked).corners())
    cell = asked[found]
    own = parents.take(cells.parent[cell])
    low = own.low(2)
    offset = low.rounded(heights, parents.resolution) - low
    kept, dropped = _apart(cell, offset, own.sizes[2], float(smallest))
    return _cut(cells, parents, cell[kept], offset.take(kept), dropped)


def _apart(
    cell: Ints, offset: Numbers, size: Numbers, smallest: float
) -> tuple[NDArray[np.intp], int]:
    """Give the cuts that are far enough from faces and from each other, and count the others.

    Cuts are in the order of cells, ascending in each.
    """
    above, below = offset.doubles(), (size - offset).doubles()
    fits = (above >= smallest) & (below >= smallest)
    again = np.zeros(len(cell), np.bool_)
    again[1:] = (cell[1:] == cell[:-1]) & (above[1:] == above[:-1])
    kept = np.zeros(len(cell), np.bool_)
    waiting = np.flatnonzero(fits & ~again)
    while waiting.size:
        # The lowest that waits in each cell is taken; what is too near above it waits no more.
        first = np.diff(cell[waiting], prepend=-1) != 0
        kept[waiting[first]] = True
        base = waiting[first][np.cumsum(first) - 1]
        gap = (offset.take(waiting) - offset.take(base)).doubles()
        waiting = waiting[~first & (gap >= smallest)]
    return np.flatnonzero(kept), int((~kept & ~again).sum())


def _cut(cells: Pieces, parents: Parents, cell: Ints, offset: Numbers, dropped: int) -> Pieces:
    """Cut cells at offsets above their floors."""
    whole = parents.sizes[2]
    floor = whole - whole
    # Every cut of every parent: its floor, its roof, and the cuts of its cells, each once.
    count = len(parents)
    owner = np.concatenate([np.arange(count), np.arange(count), cells.parent[cell]])
    listed = floor.followed(whole).followed(offset)
    place = listed.ranked(owner)
    pieces_in = np.bincount(cell, minlength=len(cells)) + 1
    row = np.repeat(np.arange(len(cells)), pieces_in)
    first = np.diff(row, prepend=-1) != 0
    last = np.diff(row, append=-1) != 0
    low, high = np.empty((2, len(row)), np.int64)
    low[first], high[last] = place[cells.parent], place[count + cells.parent]
    low[~first] = high[~last] = place[2 * count :]
    pieces = cells.take(row)
    pieces.low[:, 2], pieces.high[:, 2] = low, high
    x, y, _ = cells.cuts
    once = np.unique(place, return_index=True)[1]
    offsets = listed.take(once)
    z = Cuts(offsets, parents.take(owner[once]).face(2, offsets))
    return Pieces(pieces.parent, pieces.low, pieces.high, (x, y, z), dropped)


# Cuts of a parent along an axis.

# A block that is cut into more along an axis, or into more sub-blocks, is a slip.
MOST_PARTS, MOST_PIECES = 1 << 16, 1 << 24
# Binary files round: a third of 10 is three times in 10.
_SLACK = Fraction(1, 10**12)


@dataclass(frozen=True)
class Parents:
    """The blocks that are split.

    Attributes
    ----------
    coordinates, sizes : three Numbers each, (n,)
        As their file has them.
    at_corner : bool
        Whether coordinates are those of the lowest corners.
    resolution : Resolution
        What cuts are rounded to that do not end.
    """

    coordinates: tuple[Numbers, Numbers, Numbers]
    sizes: tuple[Numbers, Numbers, Numbers]
    at_corner: bool
    resolution: Resolution

    def __len__(self) -> int:
        """Count them."""
        return len(self.sizes[0])

    def take(self, rows: Ints) -> Parents:
        """Give some of them."""
        x, y, z = (each.take(rows) for each in self.coordinates)
        dx, dy, dz = (each.take(rows) for each in self.sizes)
        return Parents((x, y, z), (dx, dy, dz), self.at_corner, self.resolution)

    def low(self, axis: int) -> Numbers:
        """Give the lower faces."""
        at, size = self.coordinates[axis], self.sizes[axis]
        return at if self.at_corner else at - size.half()

    def face(self, axis: int, offset: Numbers) -> Floats:
        """Give what is so far above the lower face of each."""
        at = self.coordinates[axis]
        away = offset if self.at_corner else offset - self.sizes[axis].half()
        return (at + away).doubles()

    def coordinate(self, axis: int, low: Numbers, high: Numbers) -> Numbers:
        """Give the coordinate of a part, between two offsets, of each."""
        at = self.coordinates[axis]
        return at + (low if self.at_corner else (low + high - self.sizes[axis]).half())


@dataclass(frozen=True)
class Cuts:
    """All cuts of some parents along an axis, faces included, one parent's after the other's.

    Attributes
    ----------
    offsets : Numbers, (k,)
        How far each is above the lower face of its parent.
    faces : (k,) float64
        Where each is.
    """

    offsets: Numbers
    faces: Floats


def even_cuts(parents: Parents, axis: int, parts: Ints) -> tuple[Cuts, Ints]:
    """Give cuts into equal parts, (n,) numbers of them, and the place of each parent's first."""
    counts = parts + 1
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(parts)), counts)
    own = parents.take(owner)
    place = np.arange(len(owner)) - first[owner]
    offsets = own.sizes[axis].share(place, parts[owner], own.low(axis), parents.resolution)
    return Cuts(offsets, own.face(axis, offsets)), first


def part_counts(sizes: Numbers, smallest: Fraction, name: str) -> Ints:
    """Give into how many parts, none smaller than the smallest size, each block can be cut.

    Raises
    ------
    TableError
        Where that is too many.
    """
    values, back = np.unique(sizes.doubles(), return_inverse=True)
    counts = [max(int(Fraction(value) / smallest * (1 + _SLACK)), 1) for value in values.tolist()]
    found = np.array([min(count, MOST_PARTS + 1) for count in counts], np.int64)[back]
    if (found > MOST_PARTS).any():
        message = (
            f"{name}: a block of size {values[-1]:.10g} would have more than {MOST_PARTS:,} "
            f"sub-blocks along an axis: minimum= is too small"
        )
        raise TableError(message)
    return found


def refuse_too_many(counts: NDArray[np.float64], name: str, first: int) -> None:
    """Raise TableError for a block, counted from `first`, of too many sub-blocks."""
    wrong = np.flatnonzero(counts > MOST_PIECES)
    if wrong.size:
        message = (
            f"{name}: block {first + int(wrong[0]) + 1} would have more than {MOST_PIECES:,} "
            "sub-blocks: minimum= is too small"
        )
        raise TableError(message)


# The schemes: octree, grid and seam.

Scheme = Literal["octree", "grid", "seam"]


@dataclass(frozen=True)
class Splitter:
    """One scheme, with the smallest sizes that it makes.

    Attributes
    ----------
    scheme : {"octree", "grid", "seam"}
    smallest : three Fractions
        Along x, y and z.
    boundaries : Boundaries
    name : str
        What messages call the model.
    """

    scheme: Scheme
    smallest: tuple[Fraction, Fraction, Fraction]
    boundaries: Boundaries
    name: str

    def parts(self, parents: Parents, entered: Bools, first: int) -> Ints:
        """Give into how many parts each block can be cut, (n, 3); at most, for `seam`, along z.

        Raises
        ------
        TableError
            Where blocks that are entered would have too many; `first` is the row of the first.
        """
        counts = np.column_stack(
            [
                part_counts(size, least, self.name)
                for size, least in zip(parents.sizes, self.smallest, strict=True)
            ]
        )
        if self.scheme == "octree":  # the power of two that is not above
            counts = 1 << np.floor(np.log2(counts)).astype(np.int64)
        pieces = np.where(entered, counts.astype(np.float64).prod(axis=1), 1.0)
        refuse_too_many(pieces, self.name, first)
        return counts

    def expected(self, parts: Ints, entered: Bools) -> NDArray[np.float64]:
        """Give about how many pieces, or more, blocks have."""
        cells = parts.astype(np.float64).prod(axis=1)
        if self.scheme == "octree":  # a surface meets some of the cells that fill a block
            cells = np.minimum(cells, 6.0 * cells ** (2 / 3))
        elif self.scheme == "seam":
            cells = 4.0 * parts[:, 0] * parts[:, 1]
        return np.where(entered, cells, 1.0)

    def split(self, parents: Parents, parts: Ints, entered: Bools) -> Pieces:
        """Split the blocks that are entered; the others have one part."""
        made = _SCHEMES[self.scheme](parents, parts, entered, self)
        order = np.lexsort([made.low[:, 0], made.low[:, 1], made.low[:, 2], made.parent])
        return made.take(order)


def evenly_cut(parents: Parents, parts: Ints, *, apart: bool) -> Pieces:
    """Cut blocks into equal parts, (n, 3) of them; not `apart`, each block is one piece still."""
    cut = [even_cuts(parents, axis, parts[:, axis]) for axis in range(3)]
    x, y, z = (cuts for cuts, _ in cut)
    first = np.column_stack([places for _, places in cut])
    if not apart:
        return Pieces(np.arange(len(parents)), first, first + parts, (x, y, z))
    parent, cell = _cells_of(parts)
    low = first[parent] + cell
    return Pieces(parent, low, low + 1, (x, y, z))


def _cells_of(parts: Ints) -> tuple[Ints, Ints]:
    """Give the parent and the place, (m, 3), of each of the cells that blocks are cut into."""
    counts = parts.prod(axis=1)
    parent = np.repeat(np.arange(len(parts)), counts)
    rank = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
    nx, ny = parts[parent, 0], parts[parent, 1]
    return parent, np.column_stack([rank % nx, rank // nx % ny, rank // nx // ny])


def _octree(parents: Parents, parts: Ints, entered: Bools, splitter: Splitter) -> Pieces:
    """Halve what is entered, along each axis that still may be, and its halves, and so on."""
    level, marked = evenly_cut(parents, parts, apart=False), entered
    leaves: list[Pieces] = []
    while len(level):
        may = (level.high - level.low > 1).any(axis=1) & marked
        leaves.append(level.take(~may))
        level = _halved(level.take(may))
        marked = splitter.boundaries.entered(*level.corners())
    return Pieces(
        np.concatenate([leaf.parent for leaf in leaves]),
        np.concatenate([leaf.low for leaf in leaves]),
        np.concatenate([leaf.high for leaf in leaves]),
        level.cuts,
    )


def _halved(pieces: Pieces) -> Pieces:
    """Halve pieces along each axis along which they have more than one part."""
    for axis in range(3):
        middle = (pieces.low[:, axis] + pieces.high[:, axis]) // 2
        twice = np.flatnonzero(middle > pieces.low[:, axis])
        upper, lower = pieces.take(twice), pieces.take(np.arange(len(pieces)))
        upper.low[:, axis] = middle[twice]
        lower.high[twice, axis] = middle[twice]
        pieces = Pieces(
            np.concatenate([lower.parent, upper.parent]),
            np.concatenate([lower.low, upper.low]),
            np.concatenate([lower.high, upper.high]),
            pieces.cuts,
        )
    return pieces


def _grid(parents: Parents, parts: Ints, entered: Bools, splitter: Splitter) -> Pieces:
    """Cut what is entered into equal cells at once."""
    return evenly_cut(parents, parts, apart=True)


def _seam(parents: Parents, parts: Ints, entered: Bools, splitter: Splitter) -> Pieces:
    """Cut what is entered into equal cells in plan, and each of them where sheets cross it."""
    plan = parts.copy()
    plan[:, 2] = 1
    cells = evenly_cut(parents, plan, apart=True)
    return seam_pieces(cells, parents, entered, splitter.boundaries, splitter.smallest[2])


_SCHEMES: dict[Scheme, Callable[[Parents, Ints, Bools, Splitter], Pieces]] = {
    "octree": _octree,
    "grid": _grid,
    "seam": _seam,
}
