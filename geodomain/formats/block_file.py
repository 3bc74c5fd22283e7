"""Open block models of any file format, for reading and labelling."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, warn
from geodomain.files.streams import Input, Target, open_target
from geodomain.files.unchanged import Digest
from geodomain.progress import Progress
from geodomain.tables.conditions import ArrayColumn, Column
from geodomain.tables.frames import Frame, shortest
from geodomain.tables.layout import Choice, choose_columns
from geodomain.tables.new_columns import NewColumn, refuse_old_value
from geodomain.tables.numbers import read_positions
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

Codes = NDArray[np.int32]
# Old values of a column: numbers or texts, (n,).
Values = NDArray[np.generic]
# Integers below this fit 32 bits and are exact in float64.
_NARROW, _EXACT = 2.0**31, 2.0**53


def as_numbers(
    column: NewColumn, codes: NewCells, old: Values | None = None
) -> NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float64]:
    """Return the values of a new numeric column: integers if possible, otherwise floats.

    They are floats if a value is missing or not whole. Integers have 32 bits, or 64 if one of them
    needs more. The code of a block is the index of its value in ``column.cells``; a block with the
    code ``len(column.cells)`` keeps its value in `old`, the values of the column to be replaced. If
    the column is `measured`, `codes` holds a number for each block, and is returned as float64.

    Raises
    ------
    TableError
        If an old value to keep is not a number, or is an integer too large for the column.
    """
    if column.measured:
        return codes.astype(np.float64, copy=False)
    unchanged = np.flatnonzero(codes == len(column.cells))
    by_code = np.array([float(cell) if cell else np.nan for cell in (*column.cells, "")])
    numbers = by_code[codes.astype(np.int32, copy=False)]
    if unchanged.size and old is not None:
        values = old[unchanged]
        try:
            numbers[unchanged] = values.astype(np.float64)
        except ValueError as error:
            refuse_old_value(column.name, error)
        if values.dtype.kind in "iu" and not _all_below(numbers[unchanged], _EXACT):
            return _with_integers(column, numbers, unchanged, values)
    if not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any():
        return numbers
    if _all_below(numbers, _NARROW):
        return numbers.astype(np.int32)
    return numbers.astype(np.int64) if _all_below(numbers, _EXACT) else numbers


def _all_below(numbers: NDArray[np.float64], most: float) -> bool:
    """Return whether the magnitude of every number is below a limit."""
    return bool((np.abs(numbers) < most).all())


def _with_integers(
    column: NewColumn, numbers: NDArray[np.float64], unchanged: NDArray[np.intp], values: Values
) -> NDArray[np.int64]:
    """Return a new column as int64, because float64 would round large old integers.

    `numbers` holds the new value of each block, `unchanged` the rows that keep an old value, and
    `values` these old values.

    Raises
    ------
    TableError
        If a new value is missing, or an old integer needs more than 64 bits.
    """
    if not np.isfinite(numbers).all():
        message = (
            f"some blocks have no code, so the column {column.name!r} becomes float64, which "
            "cannot hold its old integers beyond 2^53. Give background and unassigned blocks a "
            "code, or leave out the domains that keep old values"
        )
        raise TableError(message)
    if values.dtype.kind == "u" and int(values.max()) > np.iinfo(np.int64).max:
        refuse_old_value(column.name, OverflowError(f"{values.max()} is beyond 64 bits"))
    integers = np.zeros(len(numbers), np.int64)
    coded = np.ones(len(numbers), np.bool_)
    coded[unchanged] = False
    integers[coded] = numbers[coded].astype(np.int64)
    integers[unchanged] = values.astype(np.int64)
    return integers


def as_category(
    column: NewColumn, codes: NewCells, old: Values | None = None
) -> tuple[list[str], Codes]:
    """Return a tuple: the distinct texts, and for each block the index of its text (-1 if missing).

    The code of a block is the index of its text in ``column.cells``, whose texts come first. A
    block with the code ``len(column.cells)`` keeps its text in `old`, the values of the column to
    be replaced.
    """
    places: dict[str, int] = {}
    cells = (*column.cells, "")
    lookup = [places.setdefault(cell, len(places)) if cell else -1 for cell in cells]
    index: Codes = np.array(lookup, np.int32)[codes.astype(np.int32, copy=False)]
    if old is not None:
        for row in np.flatnonzero(codes == len(column.cells)).tolist():
            text = as_text(old[row])
            index[row] = places.setdefault(text, len(places)) if text else -1
    return list(places), index


def as_text(value: object) -> str:
    """Return a value as text: empty for None and NaN; whole numbers have no decimal point."""
    if value is None or value != value:
        return ""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


class NewArrays:
    """New columns, with the code of each block.

    Attributes
    ----------
    columns : sequence of NewColumn
    codes : sequence of (n,) int32 or float64
        For each column, the code of each block. For a `measured` column, the number of each block.
    at : int or None
        Index of the existing column that the new column replaces; None if it replaces none.
    """

    def __init__(
        self, columns: Sequence[NewColumn], codes: Sequence[NewCells], at: int | None
    ) -> None:
        self.columns, self.codes, self.at = columns, codes, at

    def items(
        self, values: Callable[[int], Values]
    ) -> Iterator[tuple[NewColumn, NewCells, Values | None]]:
        """Yield a tuple for each new column: the column, its codes, and the old values or None.

        Old values are those of the column that is replaced; None if no column is replaced.
        """
        for column, codes in zip(self.columns, self.codes, strict=True):
            yield column, codes, None if self.at is None else values(self.at)


# --- `BlockFile`, the interface of every block-model format, and the destination of a labelled one.

# Labelling function: from world centroids (n, 3), NaN where missing, block sizes (n, 3) or None,
# and a function that reads other columns, to an array (n,) for each new column: codes, or measured
# numbers. If a column is replaced, a code equal to the number of labels keeps the old value.
LabelChunk = Callable[[Floats, Floats | None, Callable[[int], Column]], Sequence[NewCells]]
# World centroids, block sizes or None, and the text of a column (n,).
Rows = tuple[Floats, Floats | None, NDArray[np.str_]]


class Destination(NamedTuple):
    """The output of a labelled model.

    Attributes
    ----------
    path : str
        File, or `-` for standard output.
    overwrite : bool
        Whether an existing file may be replaced.
    in_place : bool
        Whether the output replaces the input file.
    digest : Digest, optional
        Updated with the bytes as they are written.
    """

    path: str
    overwrite: bool = False
    in_place: bool = False
    digest: Digest | None = None


class Relabelling(NamedTuple):
    """Settings of one labelling pass over the blocks.

    Attributes
    ----------
    label : callable
        Takes a batch of blocks. Returns, for each new column, the codes of the blocks; if there are
        no new columns, it returns an empty sequence.
    columns : sequence of NewColumn
        New columns, in order.
    destination : Destination, optional
        Where the model is written; if None, nothing is written.
    also : sequence of int
        Indices of the columns that `label` may read besides the coordinates and sizes.
    replace : bool
        Whether the new column overwrites an existing column.
    threads : int, optional
        Number of threads for reading and writing.
    progress : callable, optional
        Called with two numbers: the amount done, and the total (None if unknown).
    before_commit : callable
        Called when all blocks are labelled, before the output is put in place. If it raises an
        exception, there is no output.
    codes : sequence of (n,) arrays, optional
        Results of `label` for all blocks, if they are already computed.
    """

    label: LabelChunk
    columns: Sequence[NewColumn] = ()
    destination: Destination | None = None
    also: Sequence[int] = ()
    replace: bool = False
    threads: int | None = None
    progress: Progress | None = None
    before_commit: Callable[[], None] = lambda: None
    codes: Sequence[NewCells] | None = None

    def report(self, done: int, total: int | None) -> None:
        """Report the amount done and the total to `progress`, if it is given."""
        if self.progress is not None:
            self.progress(done, total)

    def open_target(self, source: Input) -> AbstractContextManager[Target | None]:
        """Open the output as a context manager; it yields None if nothing is written."""
        if self.destination is None:
            return nullcontext()
        return open_target(
            self.destination.path,
            source=source,
            overwrite=self.destination.overwrite,
            in_place=self.destination.in_place,
            threads=self.threads,
            digest=self.destination.digest,
        )


class BlockFile(Protocol):
    """An open block model: the interface that every format implements."""

    @property
    def name(self) -> str:
        """The file name used in messages."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, or of the cell arrays."""

    @property
    def centroid(self) -> tuple[str, ...]:
        """The names of the coordinate columns; empty if cells have a geometry of their own."""

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the columns of the block sizes; empty if there are none."""

    @property
    def frame(self) -> Frame:
        """The conversion from file to world coordinates: offset, rotation, corner or centroid."""

    @property
    def axes(self) -> Floats:
        """The directions of the block edges in world coordinates, one row per axis."""

    @property
    def constants(self) -> dict[int, float]:
        """The values of constant columns that describe the coordinates, by column index."""

    @property
    def memory(self) -> int:
        """Approximate memory in bytes for labelling, including the libraries that read the file."""

    @property
    def writing(self) -> float:
        """The approximate extra time for writing, in seconds per block."""

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""

    def rows(self, column: str) -> Iterator[Rows]:
        """Yield the blocks batch by batch: centroids, sizes, and the text of the given column."""

    def relabel(self, task: Relabelling) -> None:
        """Label all blocks batch by batch, and write them with the new columns."""


# --- The common part of all table formats that hold columns in memory.

Chunk = TypeVar("Chunk")


class TableModel(ABC, Generic[Chunk]):
    """A table of blocks whose coordinate columns are known.

    In the methods, a *chunk* is a batch of rows.

    Attributes
    ----------
    name : str
        Name used in messages.
    columns : tuple of str
    """

    compressed = False

    def __init__(
        self,
        name: str,
        status: os.stat_result | None,
        columns: tuple[str, ...],
        options: TableOptions,
    ) -> None:
        self.name, self.status, self.columns = name, status, columns
        self._rule = options.number_rule(columns, name)
        self._choice = self._choose(options)

    def _choose(self, options: TableOptions) -> Choice:
        """Choose the columns of the centroids and sizes."""
        return choose_columns(self.columns, self._sample(), options, table=self.name)

    @abstractmethod
    def _sample(self) -> Sequence[Sequence[str]]:
        """Return the first rows as text; the coordinate columns are recognised from them."""

    @abstractmethod
    def _doubles(self, chunk: Chunk, column: int) -> Floats:
        """Return a column of a batch as float64, with NaN where a value is missing."""

    @abstractmethod
    def _values(self, chunk: Chunk, column: int) -> ArrayLike:
        """Return a column of a batch as it is, numbers or texts; a missing value is NaN or None."""

    @property
    def centroid(self) -> tuple[str, ...]:
        """The names of the coordinate columns."""
        return tuple(self.columns[column] for column in self._choice.xyz)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the size columns; for a fixed block size, its three numbers as texts."""
        fixed = tuple(shortest(size) for size in self.frame.fixed or ())
        return fixed or tuple(self.columns[column] for column in self._choice.sizes or ())

    @property
    def frame(self) -> Frame:
        """The conversion from file to world coordinates: offset, rotation, corner or centroid."""
        return self._choice.frame

    @property
    def axes(self) -> Floats:
        """The directions of the block edges."""
        return self.frame.axes

    @property
    def constants(self) -> dict[int, float]:
        """The values of the constant columns of a Datamine prototype, by column index."""
        return self._choice.constants

    @property
    def _geometry(self) -> tuple[int, ...]:
        """The indices of the coordinate and size columns, which a new column must not replace."""
        return (*self._choice.xyz, *(self._choice.sizes or ()))

    def _measured(self, chunk: Chunk, first: int = 0) -> tuple[Floats, Floats | None]:
        """Return a tuple for a batch of rows: world centroids (n, 3), and sizes (n, 3) or None.

        For messages, `first` is the number of the batch's first row in the file, counted from 0.
        """
        points = self._numbers(chunk, self._choice.xyz, first)
        columns = self._numbers(chunk, self._choice.sizes, first) if self._choice.sizes else None
        sizes = self.frame.sized(points, columns)

        def where(row: int, place: int) -> str:
            return f"{self.name}, row {first + row + 1:,}: {self.columns[self._geometry[place]]}"

        return self.frame.centroids(points, sizes, where), sizes

    def _numbers(self, chunk: Chunk, columns: Sequence[int], first: int = 0) -> Floats:
        """Return k columns of a batch as an array (n, k).

        Missing values, and numbers that mark missing values, become NaN. For messages, `first` is
        the number of the batch's first row in the file, counted from 0.
        """

        def where(row: int) -> str:
            return f"row {first + row + 1:,}"

        out = np.array([self._doubles(chunk, column) for column in columns]).T
        for place, column in enumerate(columns):
            rule = self._rule.of(self.columns[column])
            out[:, place] = read_positions(out[:, place], rule, where)
        return out

    def _column(self, chunk: Chunk, column: int, first: int = 0) -> Column:
        """Return a column of a batch as a `Column`, on which conditions can be tested.

        For messages, `first` is the number of the batch's first row in the file, counted from 0.
        """
        name = self.columns[column]
        return ArrayColumn(self._values(chunk, column), name, self._rule.of(name), first)

    def _label(self, chunk: Chunk, label: LabelChunk, first: int) -> Sequence[NewCells]:
        """Label the blocks of a batch.

        For messages, `first` is the number of the batch's first row in the file, counted from 0.
        """
        return label(*self._measured(chunk, first), partial(self._column, chunk, first=first))


# --- Blocks in memory, to be written to a new file.

_CENTROID, _SIZES = ("x", "y", "z"), ("dx", "dy", "dz")


class Blocks(NamedTuple):
    """Blocks in world coordinates, with their columns.

    Attributes
    ----------
    centroids, sizes : (n, 3) float64
        `sizes` is None if the file has no sizes.
    axes : (3, 3) float64
        Directions of the block edges, one row per axis.
    columns : dict of str to (n,) array
        Arrays of numbers, or of texts in which a missing value is None or "". New label columns
        come last.
    coordinates : set of str
        Names of the columns that hold centroids and sizes; empty if the model is not a table.
    """

    centroids: Floats
    sizes: Floats | None
    axes: Floats
    columns: dict[str, Values]
    coordinates: frozenset[str] = frozenset()

    def table(self, path: str) -> dict[str, Values]:
        """Return the blocks as the columns of a table: an array for each column name.

        A model that was a table keeps its columns. For any other model, the columns are x, y and z,
        then dx, dy and dz if there are sizes, then all others. If a name is already taken, an
        underscore is added to it.

        Warns
        -----
        GeodomainWarning
            If cells are not axis-aligned boxes, because such cells have no sizes.
        """
        if self.coordinates:
            return self.columns
        if count := self._unboxed():
            warn(
                f"{path}: {counted(count, 'cell')} of the model {'is' if count == 1 else 'are'} "
                "rotated or skewed, not axis-aligned boxes: "
                f"{'its' if count == 1 else 'their'} {', '.join(_SIZES)} are empty"
            )
        held: dict[str, Values] = {}
        for names, numbers in ((_CENTROID, self.centroids), (_SIZES, self.sizes)):
            if numbers is not None:
                held |= {name: numbers[:, axis] for axis, name in enumerate(names)}
        for name, values in self.columns.items():
            while name in held:
                name += "_"
            held[name] = values
        return held

    def others(self) -> dict[str, Values]:
        """Return all columns except those that hold centroids and sizes."""
        return {
            name: values for name, values in self.columns.items() if name not in self.coordinates
        }

    def box_sizes(self, path: str) -> Floats:
        """Return the block sizes for `path`, whose format stores axis-aligned boxes.

        Raises
        ------
        TableError
            If there are no sizes, or if cells are not axis-aligned boxes.
        """
        if self.sizes is None:
            message = (
                f"{path} stores boxes, but the blocks have no sizes: name the size columns with "
                "dx=, dy= and dz="
            )
            raise TableError(message)
        if count := self._unboxed():
            message = (
                f"{path}: {counted(count, 'cell')} of the model {'is' if count == 1 else 'are'} "
                "rotated or skewed, and this format stores axis-aligned boxes only: save the model "
                "as a lattice or image, which stores its rotation, or as .csv"
            )
            raise TableError(message)
        return self.sizes

    def _unboxed(self) -> int:
        """Count the cells that have a centre but no size.

        For a model that was a table, return 0: its missing sizes are reported elsewhere.
        """
        if self.coordinates or self.sizes is None:
            return 0
        placed = np.isfinite(self.centroids).all(axis=1)
        return int((placed & ~np.isfinite(self.sizes).all(axis=1)).sum())
