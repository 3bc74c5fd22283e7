"""The values of a new column that codes stand for, in memory; how a file holds them is not here."""

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
from geodomain.tables.new_columns import NewColumn, refuse_kept
from geodomain.tables.numbers import read_positions
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

Codes = NDArray[np.int32]
# What a file has of a column: numbers, or texts, (n,).
Values = NDArray[np.generic]
# Integers below are numbers of 32 bits; of float64, which holds all of them.
_NARROW, _EXACT = 2.0**31, 2.0**53


def as_numbers(
    column: NewColumn, codes: NewCells, old: Values | None = None
) -> NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float64]:
    """Give integers, or floats where some are missing or were no integers before.

    The code after the last is the value of the `old` column, which is replaced. Integers are of
    64 bits where one of them is beyond 32. Numbers that are measured stay as they are.

    Raises
    ------
    TableError
        Where a value that is kept is no number, or an integer that no type of the column holds.
    """
    if column.measured:
        return codes.astype(np.float64, copy=False)
    kept = np.flatnonzero(codes == len(column.cells))
    known = np.array([float(cell) if cell else np.nan for cell in (*column.cells, "")])
    numbers = known[codes.astype(np.int32, copy=False)]
    if kept.size and old is not None:
        values = old[kept]
        try:
            numbers[kept] = values.astype(np.float64)
        except ValueError as error:
            refuse_kept(column.name, error)
        if values.dtype.kind in "iu" and not _all_below(numbers[kept], _EXACT):
            return _with_integers(column, numbers, kept, values)
    if not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any():
        return numbers
    if _all_below(numbers, _NARROW):
        return numbers.astype(np.int32)
    return numbers.astype(np.int64) if _all_below(numbers, _EXACT) else numbers


def _all_below(numbers: NDArray[np.float64], most: float) -> bool:
    """Return whether all numbers are smaller than one, whatever their signs."""
    return bool((np.abs(numbers) < most).all())


def _with_integers(
    column: NewColumn, numbers: NDArray[np.float64], kept: NDArray[np.intp], values: Values
) -> NDArray[np.int64]:
    """Give codes and integers that are kept, some of which float64 would round."""
    if not np.isfinite(numbers).all():
        message = (
            f"{column.name!r} keeps integers beyond 2^53, which have no room beside blocks without "
            "a code: give the background and unassigned blocks codes, or let no domain keep them"
        )
        raise TableError(message)
    if values.dtype.kind == "u" and int(values.max()) > np.iinfo(np.int64).max:
        refuse_kept(column.name, OverflowError(f"{values.max()} is beyond 64 bits"))
    found = np.zeros(len(numbers), np.int64)
    coded = np.ones(len(numbers), np.bool_)
    coded[kept] = False
    found[coded] = numbers[coded].astype(np.int64)
    found[kept] = values.astype(np.int64)
    return found


def as_category(
    column: NewColumn, codes: NewCells, old: Values | None = None
) -> tuple[list[str], Codes]:
    """Give the distinct texts, as their codes come, and the place of each cell's, -1 for none.

    The code after the last is the text of the `old` column, which is replaced.
    """
    places: dict[str, int] = {}
    cells = (*column.cells, "")
    lookup = [places.setdefault(cell, len(places)) if cell else -1 for cell in cells]
    index: Codes = np.array(lookup, np.int32)[codes.astype(np.int32, copy=False)]
    if old is not None:
        for row in np.flatnonzero(codes == len(column.cells)).tolist():
            text = said(old[row])
            index[row] = places.setdefault(text, len(places)) if text else -1
    return list(places), index


def said(value: object) -> str:
    """Give a value as text; nothing for None and NaN, and a whole number without a point."""
    if value is None or value != value:
        return ""
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


class NewArrays:
    """New columns with their codes.

    Attributes
    ----------
    columns : sequence of NewColumn
    codes : sequence of (n,) int32, or float64 where measured
    at : int or None
        The place of the one column that is replaced.
    """

    def __init__(
        self, columns: Sequence[NewColumn], codes: Sequence[NewCells], at: int | None
    ) -> None:
        self.columns, self.codes, self.at = columns, codes, at

    def each(
        self, values: Callable[[int], Values]
    ) -> Iterator[tuple[NewColumn, NewCells, Values | None]]:
        """Give each column, its codes, and the values that it replaces."""
        for column, codes in zip(self.columns, self.codes, strict=True):
            yield column, codes, None if self.at is None else values(self.at)


# --- What every kind of block-model file gives, `BlockFile`, and where a labelled one goes.

# From world centroids (n, 3), NaN where missing, block sizes (n, 3) or None, and what gives the
# other columns that were asked for, to codes (n,) for each new column, or to numbers where it is
# measured. Where a column is replaced, the code after its last leaves a cell as it is.
LabelChunk = Callable[[Floats, Floats | None, Callable[[int], Column]], Sequence[NewCells]]
# World centroids, block sizes or None, and text (n,).
Rows = tuple[Floats, Floats | None, NDArray[np.str_]]


class Destination(NamedTuple):
    """Where a labelled model goes.

    Attributes
    ----------
    path : str
        A file, or `-` for standard output.
    overwrite : bool
        Whether a file that is there may be replaced.
    in_place : bool
        Whether the path is the model itself.
    digest : Digest, optional
        Takes the bytes as they are stored.
    """

    path: str
    overwrite: bool = False
    in_place: bool = False
    digest: Digest | None = None


class Relabelling(NamedTuple):
    """What one pass over the blocks is to do.

    Attributes
    ----------
    label : callable
        Gives the codes of each chunk; without columns it gives none, and only looks.
    columns : sequence of NewColumn
        What is added, in order.
    destination : Destination, optional
        Where the model is written; without one nothing is.
    also : sequence of int
        The columns that `label` may ask for.
    replace : bool
        Rewrite the one column where it stands.
    threads : int, optional
        For reading and writing.
    progress : callable, optional
        Called with what is done and its total, or None where that is unknown.
    before_commit : callable
        Called when all blocks are known: what it raises leaves no output.
    known : sequence of (n,) arrays, optional
        What `label` would give of all blocks, where that was found at once.
    """

    label: LabelChunk
    columns: Sequence[NewColumn] = ()
    destination: Destination | None = None
    also: Sequence[int] = ()
    replace: bool = False
    threads: int | None = None
    progress: Progress | None = None
    before_commit: Callable[[], None] = lambda: None
    known: Sequence[NewCells] | None = None

    def told(self, done: int, total: int | None) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(done, total)

    def open_target(self, source: Input) -> AbstractContextManager[Target | None]:
        """Open what is written, None where nothing is."""
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
    """A block model that is open, and understood."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, or of the arrays of its cells."""

    @property
    def centroid(self) -> tuple[str, ...]:
        """The columns that coordinates are taken from; none where cells have a geometry."""

    @property
    def sizes(self) -> tuple[str, ...]:
        """The columns of the block sizes, if there are any."""

    @property
    def frame(self) -> Frame:
        """What the coordinates stand for."""

    @property
    def axes(self) -> Floats:
        """The directions of the blocks' edges in the world, a row each."""

    @property
    def constants(self) -> dict[int, float]:
        """Columns that say in every row what the coordinates stand for, and what they say."""

    @property
    def memory(self) -> int:
        """How many bytes labelling it takes, roughly, with the libraries that read it."""

    @property
    def writing(self) -> float:
        """How many seconds more, roughly, a block takes that is written and not only read."""

    def facts(self) -> dict[str, str]:
        """Say what else was understood, in words."""

    def rows(self, column: str) -> Iterator[Rows]:
        """Give the blocks with the text of one of the columns, chunk by chunk, once."""

    def relabel(self, task: Relabelling) -> None:
        """Pass over the blocks once, chunk by chunk, and write them with new columns."""


# --- What every kind of table with columns in memory gives; which library reads it is not here.

Chunk = TypeVar("Chunk")


class TableModel(ABC, Generic[Chunk]):
    """A table whose columns have been chosen; a chunk is some of its rows.

    Attributes
    ----------
    name : str
        What messages call it.
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
        self._choice: Choice = choose_columns(columns, self._sample(), options, table=name)

    @abstractmethod
    def _sample(self) -> Sequence[Sequence[str]]:
        """Give the first rows as text, which is what heads of tables are understood by."""

    @abstractmethod
    def _doubles(self, chunk: Chunk, column: int) -> Floats:
        """Give a column as float64, NaN where it is missing."""

    @abstractmethod
    def _values(self, chunk: Chunk, column: int) -> ArrayLike:
        """Give a column as it is: numbers with NaN, or texts with None where missing."""

    @property
    def centroid(self) -> tuple[str, ...]:
        """The columns of the coordinates."""
        return tuple(self.columns[column] for column in self._choice.xyz)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The columns of the block sizes."""
        fixed = tuple(shortest(size) for size in self.frame.fixed or ())
        return fixed or tuple(self.columns[column] for column in self._choice.sizes or ())

    @property
    def frame(self) -> Frame:
        """What the coordinates stand for."""
        return self._choice.frame

    @property
    def axes(self) -> Floats:
        """The directions of the blocks' edges."""
        return self.frame.axes

    @property
    def constants(self) -> dict[int, float]:
        """The columns of a Datamine prototype."""
        return self._choice.constants

    @property
    def _taken(self) -> tuple[int, ...]:
        """The columns that labels come from."""
        return (*self._choice.xyz, *(self._choice.sizes or ()))

    def _measured(self, chunk: Chunk, first: int = 0) -> tuple[Floats, Floats | None]:
        """Give world centroids, (n, 3), and sizes, (n, 3), or None; `first` is the first row."""
        points = self._numbers(chunk, self._choice.xyz, first)
        columns = self._numbers(chunk, self._choice.sizes, first) if self._choice.sizes else None
        sizes = self.frame.sized(points, columns)

        def where(row: int, place: int) -> str:
            return f"{self.name}, row {first + row + 1:,}: {self.columns[self._taken[place]]}"

        return self.frame.centroids(points, sizes, where), sizes

    def _numbers(self, chunk: Chunk, columns: Sequence[int], first: int = 0) -> Floats:
        """Give some columns, (n, k), NaN where a value is missing or stands for that."""

        def where(row: int) -> str:
            return f"row {first + row + 1:,}"

        out = np.array([self._doubles(chunk, column) for column in columns]).T
        for place, column in enumerate(columns):
            rule = self._rule.of(self.columns[column])
            out[:, place] = read_positions(out[:, place], rule, where)
        return out

    def _column(self, chunk: Chunk, column: int, first: int = 0) -> Column:
        """Give a column as conditions take it; `first` is the number of the chunk's first row."""
        name = self.columns[column]
        return ArrayColumn(self._values(chunk, column), name, self._rule.of(name), first)

    def _label(self, chunk: Chunk, label: LabelChunk, first: int) -> Sequence[NewCells]:
        """Label some rows, the first of which has a number, from 0."""
        return label(*self._measured(chunk, first), partial(self._column, chunk, first=first))


# --- Blocks in memory, on their way to a new file.

_CENTROID, _SIZES = ("x", "y", "z"), ("dx", "dy", "dz")


class Blocks(NamedTuple):
    """Blocks in the world, with their columns.

    Attributes
    ----------
    centroids, sizes : (n, 3) float64
        Sizes are None where the file has none.
    axes : (3, 3) float64
        The directions of the blocks' edges, a row each.
    columns : dict of str to (n,) array
        Numbers, or texts with None or "" where missing; labels last.
    coordinates : set of str
        The columns that are centroids and sizes already.
    """

    centroids: Floats
    sizes: Floats | None
    axes: Floats
    columns: dict[str, Values]
    coordinates: frozenset[str] = frozenset()

    def table(self, path: str) -> dict[str, Values]:
        """Give all columns of a table: centroids, sizes, and the others under names of their own.

        Warns
        -----
        GeodomainWarning
            For cells that are no boxes along the axes, which have no sizes.
        """
        if self.coordinates:
            return self.columns
        if count := self._unboxed():
            warn(
                f"{path}: {counted(count, 'cell')} of the model turned or skewed, no boxes along "
                f"the axes: {'its' if count == 1 else 'their'} {', '.join(_SIZES)} are empty"
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
        """Give the columns that are neither centroids nor sizes."""
        return {name: one for name, one in self.columns.items() if name not in self.coordinates}

    def box_sizes(self, path: str) -> Floats:
        """Give the sizes for a format of boxes.

        Raises
        ------
        TableError
            Where there are none, or cells are no boxes along the axes.
        """
        if self.sizes is None:
            message = (
                f"{path} holds boxes, and the blocks have no sizes: name them with dx=, dy= and dz="
            )
            raise TableError(message)
        if count := self._unboxed():
            message = (
                f"{path}: {counted(count, 'cell')} of the model turned or skewed, no boxes along "
                "the axes, and boxes are written: save the model as a lattice or an image, which "
                "says how it is turned, or as .csv"
            )
            raise TableError(message)
        return self.sizes

    def _unboxed(self) -> int:
        """Count the cells that have a centre and no size; those of a table are told elsewhere."""
        if self.coordinates or self.sizes is None:
            return 0
        known = np.isfinite(self.centroids).all(axis=1)
        return int((known & ~np.isfinite(self.sizes).all(axis=1)).sum())
