"""The frame that a model's blocks are boxes in, and the way from there to the world and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.files.streams import Input, Target, open_target
from geodomain.formats.block_file import Destination
from geodomain.formats.cells import corners_of, measured
from geodomain.tables.conditions import Column
from geodomain.tables.frames import Frame, LocalFrame, turned
from geodomain.tables.new_columns import require_writable
from geodomain.tables.numbers import Doubles, Numbers, Resolution

Triple = tuple[Numbers, Numbers, Numbers]
# Coordinates that a turn has changed: places in the frame of boxes, and places that text is given.
_NEAREST, _WRITTEN = Resolution(1, 9), Resolution(1, 6)


class Space(Protocol):
    """A frame of blocks."""

    @property
    def frame(self) -> Frame:
        """What the file and the caller say of it."""

    @property
    def axes(self) -> Floats:
        """The directions of the blocks' edges in the world, a row each."""

    @property
    def at_corner(self) -> bool:
        """Whether coordinates are the lowest corners of blocks, not their centroids."""

    @property
    def is_turned(self) -> bool:
        """Whether it is not the world's."""

    @property
    def is_rounded(self) -> bool:
        """Whether the file has coordinates of turned boxes in the world, which are rounded."""

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give the world centroids that are read from a file with these coordinates and sizes."""

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world, (n, 3), in the frame."""

    def local(self, coordinates: Triple) -> Triple:
        """Return coordinates of a file in the frame."""

    def written(self, coordinates: Triple) -> Triple:
        """Return coordinates in the frame as a file has them."""


@dataclass(frozen=True)
class TableSpace:
    """The frame of a table."""

    frame: Frame

    @property
    def at_corner(self) -> bool:
        """Whether coordinates are corners."""
        return self.frame.position == "corner"

    @property
    def is_turned(self) -> bool:
        """Whether the model is rotated."""
        return bool((self.axes != np.eye(3)).any())

    @property
    def is_rounded(self) -> bool:
        """Whether boxes are turned, and their coordinates those of the world."""
        return self.frame.boxes is not None and self.is_turned

    @property
    def axes(self) -> Floats:
        """The directions of the blocks' edges."""
        return self.frame.axes

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give centroids as `label_file` has them."""
        return self.frame.centroids(points, sizes)

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world in the frame: turned back by the transposed matrix."""
        lattice = self.frame.lattice
        return vertices if lattice is None else np.ascontiguousarray(lattice.to_local(vertices))

    def local(self, coordinates: Triple) -> Triple:
        """Return coordinates in the frame: those of turned boxes in the world are turned back."""
        boxes = self.frame.boxes
        if boxes is None or not self.is_rounded:
            return coordinates
        return _changed(coordinates, boxes.to_local(_stacked(coordinates)), boxes, _NEAREST)

    def written(self, coordinates: Triple) -> Triple:
        """Return coordinates as the file has them; those that are turned are rounded in text."""
        boxes = self.frame.boxes
        if boxes is None or not self.is_rounded:
            return coordinates
        return _changed(coordinates, boxes.to_world(_stacked(coordinates)), boxes, _WRITTEN)


def _stacked(numbers: Triple) -> Floats:
    return np.column_stack([each.doubles() for each in numbers])


def _changed(before: Triple, points: Floats, boxes: LocalFrame, step: Resolution) -> Triple:
    """Return points as numbers of a kind; a coordinate that is not turned stays exact."""
    x, y, z = (
        numbers
        if boxes.matrix[axis][axis] == 1.0
        else Doubles(points[:, axis])
        if isinstance(numbers, Doubles)
        else numbers.rounded(points[:, axis], step)
        for axis, numbers in enumerate(before)
    )
    return x, y, z


@dataclass(frozen=True)
class CellSpace:
    """The frame of cells whose edges point along the rows of `axes`, (3, 3)."""

    axes: Floats
    at_corner = False
    frame = Frame()

    @property
    def is_turned(self) -> bool:
        """Whether the cells are."""
        return bool((self.axes != np.eye(3)).any())

    @property
    def is_rounded(self) -> bool:
        """Whether corners are rounded: those of cells that are turned."""
        return self.is_turned

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Give the centroids of hexahedra with these corners."""
        return measured(corners_of(self.to_world(points), sizes, self.axes))[0]

    def to_world(self, points: Floats) -> Floats:
        """Give points of the frame in the world."""
        return turned(points, self.axes.T, (0.0, 0.0, 0.0)) if self.is_turned else points

    def turned(self, vertices: Floats) -> Floats:
        """Give points of the world in the frame."""
        if not self.is_turned:
            return vertices
        return np.ascontiguousarray(turned(vertices, self.axes, (0.0, 0.0, 0.0)))

    def local(self, coordinates: Triple) -> Triple:
        """Return coordinates as they are: those of cells are in their frame."""
        return coordinates

    def written(self, coordinates: Triple) -> Triple:
        """Return coordinates as they are."""
        return coordinates


# --- Ints that agree in several columns at once.


def combined(columns: Iterable[Ints], count: int) -> Ints:
    """Give a code to each of so many rows, the same to those with the same codes everywhere."""
    codes = np.zeros(count, np.int64)
    for each in columns:
        lowest = int(each.min(initial=0))
        span = int(each.max(initial=0)) - lowest + 1
        # Codes are below the number of rows, and so is the span: the product is below 2^63.
        codes = np.unique(codes * span + (each - lowest), return_inverse=True)[1]
    return codes.astype(np.int64)


# --- Which rows at the end of some belong together with those that follow.


def last_group(values: NDArray[np.float64]) -> int:
    """Return where the last run of equal numbers begins; NaN equals nothing."""
    changes = np.flatnonzero(values[1:] != values[:-1])
    return int(changes[-1]) + 1 if changes.size else 0


# --- What a pass over a block model that writes other blocks is to do, and what it is given.

# The columns of sizes that a model gets which has none, and whose blocks are of one size.
SIZE_COLUMNS = ("DX", "DY", "DZ")


@dataclass(frozen=True)
class BlockRows:
    """Some of the blocks of a file, one after another.

    Attributes
    ----------
    first : int
        The row of the first of them in the file, from 0.
    points : (n, 3) float64
        World centroids, NaN where missing.
    coordinates, sizes : three Numbers each, (n,)
        As the file has them; 0 where a block lacks one of them.
    missing : (n,) bool
        Blocks that lack a coordinate or a size, or whose size is not above zero.
    amounts, absent : sequence of Numbers and of bool, (n,)
        The columns that a block and its parts share, and where they are missing.
    column : callable
        Gives a column that was asked for; it may have more rows, after these.
    alike : callable
        Gives a code to each block, the same to those that agree in all other columns, (n,).
    """

    first: int
    points: NDArray[np.float64]
    coordinates: Triple
    sizes: Triple
    missing: Bools
    amounts: Sequence[Numbers]
    absent: Sequence[Bools]
    column: Callable[[int], Column]
    alike: Callable[[], Ints]

    def __len__(self) -> int:
        """Count the blocks."""
        return len(self.missing)


def lacking(known: NDArray[np.float64]) -> Bools:
    """Tell the blocks, (n, 6) coordinates and sizes, that lack one, or have a size of 0."""
    usable = np.asarray(np.isfinite(known).all(axis=1))
    usable &= (known[:, 3:] > 0).all(axis=1)
    return ~usable


class NewRows(NamedTuple):
    """Blocks in the place of others.

    Attributes
    ----------
    row : (m,) int64
        The block whose other columns each has; ascending.
    unchanged : (m,) bool
        Those that are the block itself, as it is.
    coordinates, sizes : three Numbers each, (m,)
    amounts : sequence of Numbers, (m,)
    added : sequence of (m,) int64
        The new columns: numbers, or codes of their cells.
    """

    row: Ints
    unchanged: Bools
    coordinates: Triple
    sizes: Triple
    amounts: Sequence[Numbers] = ()
    added: Sequence[Ints] = ()


@dataclass(frozen=True)
class Added:
    """A new column: the texts that codes stand for, or None for whole numbers."""

    name: str
    cells: tuple[str, ...] | None = None
    default: str = ""

    def __post_init__(self) -> None:
        """Refuse what a file would be damaged by."""
        require_writable(self.name, *(self.cells or ()))


class Rewriting(NamedTuple):
    """What a pass over the blocks is to do.

    Attributes
    ----------
    rewrite : callable
        From some blocks to those that take their place.
    destination : Destination
    added : sequence of Added
        New columns, in order.
    amounts : sequence of int
        Columns that are shared and added up; see `BlockRows`.
    also : sequence of int
        Columns that `rewrite` asks for.
    together : int, optional
        A column of numbers; rows that follow each other with the same are given together.
    threads, progress, before_commit
        As for `Relabelling`.
    """

    rewrite: Callable[[BlockRows], Iterator[NewRows]]
    destination: Destination
    added: Sequence[Added] = ()
    amounts: Sequence[int] = ()
    also: Sequence[int] = ()
    together: int | None = None
    threads: int | None = None
    progress: Callable[[int, int | None], None] | None = None
    before_commit: Callable[[], None] = lambda: None

    def told(self, done: int, total: int | None) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(done, total)


def open_rewritten(task: Rewriting, source: Input) -> AbstractContextManager[Target]:
    """Open what is written."""
    return open_target(
        task.destination.path,
        source=source,
        overwrite=task.destination.overwrite,
        threads=task.threads,
        digest=task.destination.digest,
    )
