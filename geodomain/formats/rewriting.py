"""Replacing the blocks of a model by new ones: the local frame, and a pass's input and settings."""

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
# Coordinates changed by a rotation: positions in the local frame, and as written in a text table.
_NEAREST, _WRITTEN = Resolution(1, 9), Resolution(1, 6)


class Space(Protocol):
    """The local frame of a block model, in which the blocks are axis-aligned boxes."""

    @property
    def frame(self) -> Frame:
        """The conversion from file to world coordinates, as the file and the user state it."""

    @property
    def axes(self) -> Floats:
        """The directions of the block edges in world coordinates, one row per axis."""

    @property
    def at_corner(self) -> bool:
        """Whether the file has the lowest corners of blocks instead of centroids."""

    @property
    def is_turned(self) -> bool:
        """Whether the local frame is rotated relative to world coordinates."""

    @property
    def is_rounded(self) -> bool:
        """Whether the file's coordinates are rounded.

        World coordinates of rotated blocks count as rounded, all other coordinates as exact.
        """

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Return world centroids, given coordinates and sizes as in the file."""

    def turned(self, vertices: Floats) -> Floats:
        """Convert points (n, 3) from world coordinates to the local frame."""

    def local(self, coordinates: Triple) -> Triple:
        """Convert coordinates from the file's coordinates to the local frame."""

    def written(self, coordinates: Triple) -> Triple:
        """Convert coordinates from the local frame to the file's coordinates."""


@dataclass(frozen=True)
class TableSpace:
    """The local frame of a table."""

    frame: Frame

    @property
    def at_corner(self) -> bool:
        """Whether the table has the lowest corners of blocks instead of centroids."""
        return self.frame.position == "corner"

    @property
    def is_turned(self) -> bool:
        """Whether the model is rotated."""
        return bool((self.axes != np.eye(3)).any())

    @property
    def is_rounded(self) -> bool:
        """Whether the table's coordinates are rounded.

        World coordinates of rotated blocks count as rounded, all other coordinates as exact.
        """
        return self.frame.boxes is not None and self.is_turned

    @property
    def axes(self) -> Floats:
        """The directions of the block edges in world coordinates, one row per axis."""
        return self.frame.axes

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Return world centroids, given the table's coordinates and sizes, as `label_file` does."""
        return self.frame.centroids(points, sizes)

    def turned(self, vertices: Floats) -> Floats:
        """Rotate world points (n, 3) back into the local frame, by the transposed matrix."""
        lattice = self.frame.lattice
        return vertices if lattice is None else np.ascontiguousarray(lattice.to_local(vertices))

    def local(self, coordinates: Triple) -> Triple:
        """Convert the table's coordinates to the local frame.

        World coordinates of rotated blocks are rotated back. All other coordinates are local
        already.
        """
        boxes = self.frame.boxes
        if boxes is None or not self.is_rounded:
            return coordinates
        return _changed(coordinates, boxes.to_local(_stacked(coordinates)), boxes, _NEAREST)

    def written(self, coordinates: Triple) -> Triple:
        """Convert local coordinates to the table's coordinates.

        In a text table, coordinates that the rotation changes are rounded.
        """
        boxes = self.frame.boxes
        if boxes is None or not self.is_rounded:
            return coordinates
        return _changed(coordinates, boxes.to_world(_stacked(coordinates)), boxes, _WRITTEN)


def _stacked(numbers: Triple) -> Floats:
    return np.column_stack([each.doubles() for each in numbers])


def _changed(before: Triple, points: Floats, boxes: LocalFrame, step: Resolution) -> Triple:
    """Return rotated points as numbers of the same type as `before`.

    For an axis that the rotation keeps, such as z in a rotation about z, the coordinates of
    `before` are returned.
    """
    x, y, z = (
        numbers
        if boxes.matrix[axis][axis] == 1.0
        else Doubles(points[:, axis])
        if isinstance(numbers, Doubles)
        else numbers.rounded(points[:, axis], step)
        for axis, numbers in enumerate(before)
    )
    return x, y, z


@dataclass(frozen=True, eq=False)
class CellSpace:
    """The local frame of cells whose edges point along the rows of `axes`, (3, 3)."""

    axes: Floats
    at_corner = False
    frame = Frame()

    @property
    def is_turned(self) -> bool:
        """Whether the cells are rotated."""
        return bool((self.axes != np.eye(3)).any())

    @property
    def is_rounded(self) -> bool:
        """Whether the corners of the cells are rounded, as those of rotated cells are."""
        return self.is_turned

    def world(self, points: Floats, sizes: Floats) -> Floats:
        """Return world centroids, rounded as if they were computed from corners in a file."""
        return measured(corners_of(self.to_world(points), sizes, self.axes))[0]

    def to_world(self, points: Floats) -> Floats:
        """Convert local points to world coordinates."""
        return turned(points, self.axes.T, (0.0, 0.0, 0.0)) if self.is_turned else points

    def turned(self, vertices: Floats) -> Floats:
        """Convert world points to the local frame."""
        if not self.is_turned:
            return vertices
        return np.ascontiguousarray(turned(vertices, self.axes, (0.0, 0.0, 0.0)))

    def local(self, coordinates: Triple) -> Triple:
        """Return coordinates unchanged: cells are stored in their local frame."""
        return coordinates

    def written(self, coordinates: Triple) -> Triple:
        """Return coordinates unchanged: cells are stored in their local frame."""
        return coordinates


# --- Codes for rows that agree in several columns.


def combined(columns: Iterable[Ints], count: int) -> Ints:
    """Return a code for each row; two rows have equal codes if they are equal in every column."""
    codes = np.zeros(count, np.int64)
    for each in columns:
        lowest = int(each.min(initial=0))
        span = int(each.max(initial=0)) - lowest + 1
        # Codes and their span are below the number of rows, so the product is below 2^63.
        codes = np.unique(codes * span + (each - lowest), return_inverse=True)[1]
    return codes.astype(np.int64)


# --- The last group of rows, which may continue in the next batch.


def last_group(values: NDArray[np.float64]) -> int:
    """Return the index at which the last run of equal numbers begins; NaN equals no number."""
    changes = np.flatnonzero(values[1:] != values[:-1])
    return int(changes[-1]) + 1 if changes.size else 0


# --- Input and settings of a rewriting pass.

# Names of the size columns that are added to a model of equal blocks without sizes.
SIZE_COLUMNS = ("DX", "DY", "DZ")


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Consecutive blocks of a file.

    Attributes
    ----------
    first : int
        Row of the first block in the file, counted from 0.
    points : (n, 3) float64
        World centroids, NaN where missing.
    coordinates, sizes : three Numbers each, (n,)
        Values in the file, along x, y and z; 0 for blocks that are `missing`.
    missing : (n,) bool
        Blocks that lack a coordinate or size, or whose size is not above 0.
    amounts, absent : sequence of Numbers and of bool, (n,)
        Columns whose amounts are divided among the parts of a block, and masks of their missing
        values.
    column : callable
        Takes an index in `Rewriting.also`, and returns this column. The column may have more rows
        than there are blocks; the first rows are those of the blocks.
    alike : callable
        Returns a code for each block, (n,). Two blocks have equal codes if they are equal in all
        columns, apart from coordinates, sizes and amounts.
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
        """Return the number of blocks."""
        return len(self.missing)


def lacking(geometry: NDArray[np.float64]) -> Bools:
    """Return the mask of blocks that lack a coordinate or size, or have a size of 0 or less.

    `geometry` holds coordinates (n, 3), or coordinates and sizes (n, 6).
    """
    usable = np.asarray(np.isfinite(geometry).all(axis=1))
    usable &= (geometry[:, 3:] > 0).all(axis=1)
    return ~usable


class NewRows(NamedTuple):
    """New blocks that replace old ones.

    Attributes
    ----------
    row : (m,) int64
        For each new block, the index of the old block from which its other columns are copied;
        ascending.
    unchanged : (m,) bool
        True for each new block that equals its old block.
    coordinates, sizes : three Numbers each, (m,)
    amounts : sequence of Numbers, (m,)
    added : sequence of (m,) int64
        New columns: numbers, or codes of their texts.
    """

    row: Ints
    unchanged: Bools
    coordinates: Triple
    sizes: Triple
    amounts: Sequence[Numbers] = ()
    added: Sequence[Ints] = ()


@dataclass(frozen=True)
class Added:
    """A new column; `cells` are the texts of its codes, or None if its values are whole numbers."""

    name: str
    cells: tuple[str, ...] | None = None
    default: str = ""

    def __post_init__(self) -> None:
        """Refuse names and texts that would damage a file."""
        require_writable(self.name, *(self.cells or ()))


class Rewriting(NamedTuple):
    """Settings of a pass that replaces blocks.

    Attributes
    ----------
    rewrite : callable
        Takes old blocks as `BlockRows`, and yields the new blocks as `NewRows`.
    destination : Destination
    added : sequence of Added
        New columns, in order.
    amounts : sequence of int
        Indices of the columns whose amounts are divided and added up; see `BlockRows`.
    also : sequence of int
        Indices of further columns that `rewrite` reads.
    together : int, optional
        Index of a column of numbers. Consecutive rows with the same number are passed to `rewrite`
        together.
    threads, progress, before_commit
        As in `Relabelling`: number of threads, function that is told the progress, and function
        that is called before the output is put in place.
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

    def report(self, done: int, total: int | None) -> None:
        """Report the amount done and the total to `progress`, if it is given."""
        if self.progress is not None:
            self.progress(done, total)


def open_rewritten(task: Rewriting, source: Input) -> AbstractContextManager[Target]:
    """Open the output of a pass that replaces blocks, as a context manager."""
    return open_target(
        task.destination.path,
        source=source,
        overwrite=task.destination.overwrite,
        threads=task.threads,
        digest=task.destination.digest,
    )
