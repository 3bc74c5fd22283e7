"""Split blocks at wireframes by the schemes octree, grid and seam."""

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
    """The meshes at which blocks are split, in the frame of the blocks, with their indexes.

    Parameters
    ----------
    meshes : sequence of Mesh
        Meshes in world coordinates.
    space : Space
        The frame of the blocks.
    threads : int, optional
        Number of threads.
    """

    def __init__(self, meshes: Sequence[Mesh], space: Space, threads: int | None) -> None:
        self._threads = thread_count(threads)
        self._indexes = [
            BoundaryIndex(np.ascontiguousarray(space.turned(mesh.vertices)), mesh.triangles)
            for mesh in meshes
        ]

    def entered(self, lows: Floats, highs: Floats) -> NDArray[np.bool_]:
        """Return the mask of blocks that have a point of a triangle strictly inside them.

        `lows` and `highs` are the lowest and highest corners of the blocks, (n, 3).
        """
        entered = np.zeros(len(lows), np.bool_)
        low, high = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        for index in self._indexes:
            index.mark_entered(low, high, entered, self._threads)
        return entered

    def seams(self, lows: Floats, highs: Floats) -> tuple[Ints, Floats]:
        """Return cuts at which sheets cross blocks: the block of each cut, and its height, (k,).

        A sheet is a part of a mesh. Cuts are sorted by block, and within each block by height.

        Parameters
        ----------
        lows, highs : (n, 3) float64
            Lowest and highest corners of the blocks.
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


# Sub-blocks, each described by the cuts on either side.

Places = NDArray[np.int64]


class Boxes(NamedTuple):
    """Coordinates and sizes of blocks, as the type of `Numbers` that the file needs."""

    coordinates: tuple[Numbers, Numbers, Numbers]
    sizes: tuple[Numbers, Numbers, Numbers]


@dataclass(frozen=True)
class Pieces:
    """Sub-blocks that together fill their parents.

    Attributes
    ----------
    parent : (m,) int64
        Row of the parent, ascending.
    low, high : (m, 3) int64
        Along each axis, the indices of the cuts that are the lower and upper face.
    cuts : three Cuts
        Cuts along x, y and z.
    dropped : int
        Number of cuts that were dropped because they were too near to other cuts or to faces.
    """

    parent: Ints
    low: Places
    high: Places
    cuts: tuple[Cuts, Cuts, Cuts]
    dropped: int = 0

    def __len__(self) -> int:
        """Return the number of sub-blocks."""
        return len(self.parent)

    @property
    def alone(self) -> NDArray[np.bool_]:
        """The mask of pieces that are whole, unsplit parents."""
        return np.asarray(np.bincount(self.parent)[self.parent] == 1)

    def take(self, rows: NDArray[np.intp] | Ints | NDArray[np.bool_]) -> Pieces:
        """Return the pieces with these numbers, or in this mask."""
        return replace(self, parent=self.parent[rows], low=self.low[rows], high=self.high[rows])

    def boxes(self, parents: Parents) -> Boxes:
        """Return the coordinates and sizes of the pieces."""
        own = parents.take(self.parent)
        x, y, z = (own.coordinate(axis, *self._offsets(axis)) for axis in range(3))
        dx, dy, dz = (high - low for low, high in map(self._offsets, range(3)))
        return Boxes((x, y, z), (dx, dy, dz))

    def corners(self) -> tuple[Floats, Floats]:
        """Return the lowest and highest corners of the pieces, (m, 3)."""
        lows, highs = np.empty((2, len(self), 3))
        for axis, cuts in enumerate(self.cuts):
            lows[:, axis] = cuts.faces[self.low[:, axis]]
            highs[:, axis] = cuts.faces[self.high[:, axis]]
        return lows, highs

    def joined(self, keys: NDArray[np.int32], threads: int | None) -> tuple[Pieces, Ints]:
        """Join pieces of a parent that have the same key.

        Return the joined pieces, and for each of them the number of the first piece in it.
        """
        starts = np.flatnonzero(np.diff(self.parent, prepend=-1, append=-1))
        low, high, owner = join_boxes(starts, self.low, self.high, keys, thread_count(threads))
        first = np.flatnonzero(owner == np.arange(len(owner)))
        whole = replace(self, low=low.astype(np.int64), high=high.astype(np.int64))
        return whole.take(first), first

    def _offsets(self, axis: int) -> tuple[Numbers, Numbers]:
        offsets = self.cuts[axis].offsets
        return offsets.take(self.low[:, axis]), offsets.take(self.high[:, axis])


# The seam scheme: cells in plan, cut along z at the sheets that cross them.


def seam_pieces(
    cells: Pieces,
    parents: Parents,
    entered: NDArray[np.bool_],
    boundaries: Boundaries,
    smallest: Fraction,
) -> Pieces:
    """Cut cells horizontally where sheets cross the vertical centre lines of the cells.

    Cuts are rounded to the resolution, and equal cuts merge. A cut that is nearer than the smallest
    size to a face, or to the cut below it, is dropped.
    """
    candidates = np.flatnonzero(entered[cells.parent])
    cut_cells, heights = boundaries.seams(*cells.take(candidates).corners())
    cell = candidates[cut_cells]
    own = parents.take(cells.parent[cell])
    low = own.low(2)
    offset = low.rounded(heights, parents.resolution) - low
    spaced, dropped = _spaced_cuts(cell, offset, own.sizes[2], float(smallest))
    return _cut(cells, parents, cell[spaced], offset.take(spaced), dropped)


def _spaced_cuts(
    cell: Ints, offset: Numbers, size: Numbers, smallest: float
) -> tuple[NDArray[np.intp], int]:
    """Return the indices of cuts that are far enough from faces and from each other.

    Also return the number of cuts that are too near. The cuts must be in the order of cells, and
    ascending within each cell.
    """
    above, below = offset.doubles(), (size - offset).doubles()
    fits = (above >= smallest) & (below >= smallest)
    again = np.zeros(len(cell), np.bool_)
    again[1:] = (cell[1:] == cell[:-1]) & (above[1:] == above[:-1])
    selected = np.zeros(len(cell), np.bool_)
    waiting = np.flatnonzero(fits & ~again)
    while waiting.size:
        # Select the lowest waiting cut of each cell, and drop cuts too near above it.
        first = np.diff(cell[waiting], prepend=-1) != 0
        selected[waiting[first]] = True
        base = waiting[first][np.cumsum(first) - 1]
        gap = (offset.take(waiting) - offset.take(base)).doubles()
        waiting = waiting[~first & (gap >= smallest)]
    return np.flatnonzero(selected), int((~selected & ~again).sum())


def _cut(cells: Pieces, parents: Parents, cell: Ints, offset: Numbers, dropped: int) -> Pieces:
    """Cut cells along z at offsets above the lower faces of their parents."""
    whole = parents.sizes[2]
    floor = whole - whole
    # All cuts of all parents: floors, roofs, and the distinct cuts of their cells.
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
    distinct = np.unique(place, return_index=True)[1]
    offsets = listed.take(distinct)
    z = Cuts(offsets, parents.take(owner[distinct]).face(2, offsets))
    return Pieces(pieces.parent, pieces.low, pieces.high, (x, y, z), dropped)


# Cuts of a parent along an axis.

# Limits of parts along an axis and of sub-blocks in a block; more means a wrong minimum size.
MOST_PARTS, MOST_PIECES = 1 << 16, 1 << 24
# Binary files round sizes: a block of 10 must still hold three parts of the rounded third of 10.
_SLACK = Fraction(1, 10**12)


@dataclass(frozen=True)
class Parents:
    """The blocks to split.

    Attributes
    ----------
    coordinates, sizes : three Numbers each, (n,)
        Values as the file stores them.
    at_corner : bool
        Whether coordinates are lowest corners, not centroids.
    resolution : Resolution
        Step to which cuts with endless decimals are rounded.
    """

    coordinates: tuple[Numbers, Numbers, Numbers]
    sizes: tuple[Numbers, Numbers, Numbers]
    at_corner: bool
    resolution: Resolution

    def __len__(self) -> int:
        """Return the number of blocks."""
        return len(self.sizes[0])

    def take(self, rows: Ints) -> Parents:
        """Return the blocks with these numbers."""
        x, y, z = (each.take(rows) for each in self.coordinates)
        dx, dy, dz = (each.take(rows) for each in self.sizes)
        return Parents((x, y, z), (dx, dy, dz), self.at_corner, self.resolution)

    def low(self, axis: int) -> Numbers:
        """Return the coordinates of the lower faces along an axis."""
        at, size = self.coordinates[axis], self.sizes[axis]
        return at if self.at_corner else at - size.half()

    def face(self, axis: int, offset: Numbers) -> Floats:
        """Return the coordinates, along an axis, of points at `offset` above the lower faces."""
        at = self.coordinates[axis]
        away = offset if self.at_corner else offset - self.sizes[axis].half()
        return (at + away).doubles()

    def coordinate(self, axis: int, low: Numbers, high: Numbers) -> Numbers:
        """Return the coordinate, along an axis, of a part of each block.

        The part lies between two offsets from the lower face of the block. Its coordinate is that
        of its centre or lowest corner, as in the file.
        """
        at = self.coordinates[axis]
        return at + (low if self.at_corner else (low + high - self.sizes[axis]).half())


@dataclass(frozen=True)
class Cuts:
    """All cuts of parents along one axis, faces included, in the order of parents.

    Attributes
    ----------
    offsets : Numbers, (k,)
        Distance of each cut above the lower face of the parent.
    faces : (k,) float64
        Coordinate of each cut.
    """

    offsets: Numbers
    faces: Floats


def even_cuts(parents: Parents, axis: int, parts: Ints) -> tuple[Cuts, Ints]:
    """Cut each parent into `parts` equal parts along an axis.

    Return all cuts, and for each parent the index of its first cut among them.
    """
    counts = parts + 1
    first = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(parts)), counts)
    own = parents.take(owner)
    place = np.arange(len(owner)) - first[owner]
    offsets = own.sizes[axis].share(place, parts[owner], own.low(axis), parents.resolution)
    return Cuts(offsets, own.face(axis, offsets)), first


def part_counts(sizes: Numbers, smallest: Fraction, name: str) -> Ints:
    """Return, for each block, the largest number of equal parts of at least the smallest size.

    Raises
    ------
    TableError
        If a block has too many parts.
    """
    values, back = np.unique(sizes.doubles(), return_inverse=True)
    counts = [max(int(Fraction(value) / smallest * (1 + _SLACK)), 1) for value in values.tolist()]
    parts = np.array([min(count, MOST_PARTS + 1) for count in counts], np.int64)[back]
    if (parts > MOST_PARTS).any():
        message = (
            f"{name}: a block of size {values[-1]:.10g} would have more than {MOST_PARTS:,} "
            f"sub-blocks along an axis: give a larger minimum="
        )
        raise TableError(message)
    return parts


def refuse_too_many(counts: NDArray[np.float64], name: str, first: int) -> None:
    """Raise TableError if a block has too many sub-blocks.

    `counts` are the numbers of sub-blocks, and `first` is the row of the first block, from 0.
    """
    wrong = np.flatnonzero(counts > MOST_PIECES)
    if wrong.size:
        message = (
            f"{name}: block {first + int(wrong[0]) + 1} would have more than {MOST_PIECES:,} "
            "sub-blocks: give a larger minimum="
        )
        raise TableError(message)


# The schemes: octree, grid and seam.

Scheme = Literal["octree", "grid", "seam"]


@dataclass(frozen=True)
class Splitter:
    """Splits blocks by one of the schemes.

    Attributes
    ----------
    scheme : {"octree", "grid", "seam"}
        The scheme.
    smallest : three Fractions
        Smallest sub-block size along x, y and z.
    boundaries : Boundaries
        Meshes at which blocks are split.
    name : str
        Name of the model in messages.
    """

    scheme: Scheme
    smallest: tuple[Fraction, Fraction, Fraction]
    boundaries: Boundaries
    name: str

    def parts(self, parents: Parents, entered: Bools, first: int) -> Ints:
        """Return the number of parts of each block along x, y and z, (n, 3).

        For "seam", the number along z is the largest possible number.

        Raises
        ------
        TableError
            If a block that a triangle enters has too many parts. `first` is the row of the first
            block, from 0, for the message.
        """
        counts = np.column_stack(
            [
                part_counts(size, least, self.name)
                for size, least in zip(parents.sizes, self.smallest, strict=True)
            ]
        )
        if self.scheme == "octree":  # round down to a power of two
            counts = 1 << np.floor(np.log2(counts)).astype(np.int64)
        pieces = np.where(entered, counts.astype(np.float64).prod(axis=1), 1.0)
        refuse_too_many(pieces, self.name, first)
        return counts

    def expected(self, parts: Ints, entered: Bools) -> NDArray[np.float64]:
        """Estimate the number of pieces of each block; the estimate is usually too high."""
        cells = parts.astype(np.float64).prod(axis=1)
        if self.scheme == "octree":  # a surface meets only some of the cells in a block
            cells = np.minimum(cells, 6.0 * cells ** (2 / 3))
        elif self.scheme == "seam":
            cells = 4.0 * parts[:, 0] * parts[:, 1]
        return np.where(entered, cells, 1.0)

    def split(self, parents: Parents, parts: Ints, entered: Bools) -> Pieces:
        """Split the blocks that a triangle enters; all other blocks become one piece each."""
        pieces = _SCHEMES[self.scheme](parents, parts, entered, self)
        order = np.lexsort([pieces.low[:, 0], pieces.low[:, 1], pieces.low[:, 2], pieces.parent])
        return pieces.take(order)


def evenly_cut(parents: Parents, parts: Ints, *, apart: bool) -> Pieces:
    """Cut blocks into equal parts; `parts`, (n, 3), are the numbers along x, y and z.

    If `apart` is false, the cuts are made, but each block stays one piece.
    """
    cut = [even_cuts(parents, axis, parts[:, axis]) for axis in range(3)]
    x, y, z = (cuts for cuts, _ in cut)
    first = np.column_stack([places for _, places in cut])
    if not apart:
        return Pieces(np.arange(len(parents)), first, first + parts, (x, y, z))
    parent, cell = _cells_of(parts)
    low = first[parent] + cell
    return Pieces(parent, low, low + 1, (x, y, z))


def _cells_of(parts: Ints) -> tuple[Ints, Ints]:
    """Return the cells of blocks: the block of each cell, (m,), and its position in it, (m, 3).

    The position is the index of the cell along x, y and z.
    """
    counts = parts.prod(axis=1)
    parent = np.repeat(np.arange(len(parts)), counts)
    rank = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
    nx, ny = parts[parent, 0], parts[parent, 1]
    return parent, np.column_stack([rank % nx, rank // nx % ny, rank // nx // ny])


def _octree(parents: Parents, parts: Ints, entered: Bools, splitter: Splitter) -> Pieces:
    """Halve the blocks that a triangle enters, then the parts that a triangle enters, and so on.

    A block is halved along each axis on which it has several parts.
    """
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
    """Halve pieces along each axis on which they have more than one part."""
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
    """Cut each block into equal cells."""
    return evenly_cut(parents, parts, apart=True)


def _seam(parents: Parents, parts: Ints, entered: Bools, splitter: Splitter) -> Pieces:
    """Cut blocks into equal cells in plan, and each cell along z at the sheets that cross it."""
    plan = parts.copy()
    plan[:, 2] = 1
    cells = evenly_cut(parents, plan, apart=True)
    return seam_pieces(cells, parents, entered, splitter.boundaries, splitter.smallest[2])


_SCHEMES: dict[Scheme, Callable[[Parents, Ints, Bools, Splitter], Pieces]] = {
    "octree": _octree,
    "grid": _grid,
    "seam": _seam,
}
