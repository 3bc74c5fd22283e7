"""Block models whose cells have their own geometry, such as VTK and OMF."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np

from geodomain import memory
from geodomain.compute.data import Floats, Ints
from geodomain.errors import TableError
from geodomain.files.streams import Input, Target
from geodomain.formats.block_file import (
    Blocks,
    Destination,
    NewArrays,
    Relabelling,
    Values,
    as_category,
    as_numbers,
    as_text,
)
from geodomain.formats.block_file import Rows as ChunkOfRows
from geodomain.formats.cells import Cells, LatticeCells, Where, WithGhosts, label_cells
from geodomain.formats.registry import block_outputs, loaded, writer_of_blocks
from geodomain.formats.rewriting import (
    BlockRows,
    CellSpace,
    NewRows,
    Rewriting,
    combined,
    last_group,
    open_rewritten,
)
from geodomain.tables.conditions import ArrayColumn, Column
from geodomain.tables.frames import Frame
from geodomain.tables.new_columns import NewColumn, place_columns
from geodomain.tables.numbers import Doubles, Numbers
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

# Bytes for each number of a cell that becomes a row of a table, for reading and writing.
_ROW_BYTES = 16


def blocks_of(cells: Cells, columns: Mapping[str, Values], new: NewArrays | None = None) -> Blocks:
    """Return cells, except ghosts, as blocks in memory.

    New columns come after the old columns, or replace one of them.
    """
    centroids, sizes = np.empty((2, cells.count, 3))
    for where, centres, lengths in cells.chunks():
        centroids[where], sizes[where] = centres, lengths
    held = dict(columns)
    for column, codes in zip(new.columns, new.codes, strict=True) if new else ():
        name = column.name if new is None or new.at is None else [*columns][new.at]
        held[name] = _new_values(column, codes, held.get(name))
    if isinstance(cells, WithGhosts):
        there = ~cells.ghost
        held = {name: values[there] for name, values in held.items()}
        centroids, sizes = centroids[there], sizes[there]
    return Blocks(centroids, sizes, cells.axes, held)


def _new_values(column: NewColumn, codes: NewCells, old: Values | None) -> Values:
    if column.numeric:
        return as_numbers(column, codes, old)
    names, index = as_category(column, codes, old)
    return np.array([*names, ""], dtype=object)[index]


def write_blocks(blocks: Blocks, target: Target, path: str) -> None:
    """Write blocks in the format named by the extension of a path.

    Raises
    ------
    TableError
        If blocks cannot be written in that format.
    """
    form = writer_of_blocks(Path(path).suffix.lower())
    if form is None:
        endings = ", ".join(block_outputs())
        message = f"{path} has no extension of a block format that can be written: use {endings}"
        raise TableError(message)
    for part in loaded(form.write_blocks)(blocks, path):
        target.write(memoryview(part))


# --- Cells that are replaced by others, such as sub-blocks.

_ROWS = 1 << 18  # cells at a time


def rewrite_cells(blocks: Blocks, name: str, source: Input, task: Rewriting) -> None:
    """Replace cells by new blocks, such as sub-blocks, and write the model.

    Raises
    ------
    TableError
        If a cell is not a box along the axes of the model.
    """
    path = task.destination.path
    parts = _rewriting(blocks, name, task)
    with open_rewritten(task, source) as target:
        new = parts.gathered()
        task.before_commit()
        write_blocks(new, target, path)


def rewritten_blocks(blocks: Blocks, name: str, task: Rewriting) -> Blocks:
    """Return new blocks that replace cells; see `rewrite_cells`. No file is written."""
    new = _rewriting(blocks, name, task).gathered()
    task.before_commit()
    return new


def _rewriting(blocks: Blocks, name: str, task: Rewriting) -> _CellRewriting:
    """Return the pass that replaces cells; raise TableError unless all cells are boxes."""
    if blocks.sizes is None or not (blocks.sizes > 0).all():
        message = (
            f"{name} has cells that are not boxes along the axes of the model, and only boxes can "
            "be split"
        )
        raise TableError(message)
    return _CellRewriting(blocks, name, task)


class _CellRewriting:
    """One pass that replaces the cells of a model by new blocks."""

    def __init__(self, blocks: Blocks, name: str, task: Rewriting) -> None:
        self._blocks, self._name, self._task = blocks, name, task
        self._names = list(blocks.columns)
        self._space = CellSpace(blocks.axes)
        self._local = (
            blocks.centroids @ blocks.axes.T if self._space.is_turned else blocks.centroids
        )
        self._sizes: Floats = np.empty((0, 3)) if blocks.sizes is None else blocks.sizes

    def gathered(self) -> Blocks:
        """Return all new blocks, with the old and the added columns."""
        made: list[tuple[int, NewRows]] = []
        begin, count = 0, len(self._local)
        while begin < count:
            end = self._end(begin, count)
            made += [(begin, new) for new in self._task.rewrite(self._block_rows(begin, end))]
            self._task.report(end, count)
            begin = end
        row = _joined([begin + new.row for begin, new in made]).astype(np.int64)
        columns = {name: values[row] for name, values in self._blocks.columns.items()}
        for place, field in enumerate(self._task.amounts):
            columns[self._names[field]] = _joined([_values(new.amounts[place]) for _, new in made])
        for place, added in enumerate(self._task.added):
            codes = _joined([new.added[place] for _, new in made]).astype(np.int64)
            columns[added.name] = (
                codes if added.cells is None else np.array([*added.cells, ""], object)[codes]
            )
        places = np.concatenate([np.empty((0, 3)), *(_stacked(n.coordinates) for _, n in made)])
        sizes = np.concatenate([np.empty((0, 3)), *(_stacked(n.sizes) for _, n in made)])
        return Blocks(self._space.to_world(places), sizes, self._blocks.axes, columns)

    def _end(self, begin: int, count: int) -> int:
        """Return the index after the last cell of the batch that starts at `begin`.

        If the task names a column `together`, consecutive cells with equal values in it stay in one
        batch.
        """
        end = min(begin + _ROWS, count)
        if self._task.together is None or end == count:
            return end
        run = last_group(self._numbers(self._task.together, slice(begin, end)))
        return begin + run if run else count

    def _block_rows(self, begin: int, end: int) -> BlockRows:
        where = slice(begin, end)
        x, y, z = (Doubles(self._local[where, axis].copy()) for axis in range(3))
        dx, dy, dz = (Doubles(self._sizes[where, axis].copy()) for axis in range(3))
        amounts = [self._numbers(field, where) for field in self._task.amounts]
        return BlockRows(
            first=begin,
            points=self._blocks.centroids[where],
            coordinates=(x, y, z),
            sizes=(dx, dy, dz),
            missing=np.zeros(end - begin, np.bool_),
            amounts=[Doubles(each) for each in amounts],
            absent=[np.isnan(each) for each in amounts],
            column=lambda field: ArrayColumn(self._column(field)[where], self._names[field]),
            alike=lambda: self._alike(where),
        )

    def _column(self, field: int) -> Values:
        return self._blocks.columns[self._names[field]]

    def _numbers(self, field: int, where: slice) -> Floats:
        return ArrayColumn(self._column(field)[where], self._names[field]).loose_numbers().copy()

    def _alike(self, where: slice) -> Ints:
        """Return a code for each cell.

        Two cells have equal codes if they are equal in all arrays. Arrays of amounts that are
        divided among new blocks are not compared.
        """
        others = [f for f in range(len(self._names)) if f not in self._task.amounts]
        columns = [_coded(self._column(field)[where]) for field in others]
        return combined(columns, where.stop - where.start)


def _coded(values: Values) -> Ints:
    """Return a code for each value; equal values have equal codes, and NaN equals NaN."""
    if values.dtype.kind == "O":
        values = values.astype(np.str_)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _values(numbers: Numbers) -> Floats:
    return numbers.doubles()


def _stacked(numbers: tuple[Numbers, Numbers, Numbers]) -> Floats:
    return np.column_stack([each.doubles() for each in numbers])


def _joined(parts: list[Floats] | list[Ints]) -> Floats | Ints:
    return np.concatenate([np.empty(0, parts[0].dtype if parts else np.int64), *parts])


# --- A block model of cells in a file.

# Table options that have no meaning if cells have a geometry.
_NOT_OF_CELLS = ("x", "y", "z", "dx", "dy", "dz", "position", "rotation", "frame")


class CellStore(Protocol):
    """An open file of cells, to which new columns can be added."""

    @property
    def name(self) -> str:
        """Name used in messages."""

    @property
    def status(self) -> os.stat_result | None:
        """The file's status as reported by the operating system; None if there is no file."""

    @property
    def cells(self) -> Cells:
        """The geometry of the cells: centres and sizes."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the cell arrays."""

    @property
    def memory(self) -> int:
        """Approximate memory in bytes for reading the file and writing the new arrays."""

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""

    def values(self, column: int) -> Values:
        """Return a cell array as numbers or texts; a missing value is NaN, None or ""."""

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write the file with the new arrays, or write its blocks with them in another format."""

    def close(self) -> None:
        """Close the file."""


class CellModel:
    """A block model whose cells have their own geometry; see `BlockFile`."""

    compressed, writing = False, 6e-7
    centroid: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    frame = Frame()
    constants: dict[int, float] = {}  # noqa: RUF012

    def __init__(self, store: CellStore, options: TableOptions) -> None:
        self._store = store
        self._rule = options.number_rule(store.columns, store.name)
        self.name, self.status, self.columns = store.name, store.status, store.columns

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    @property
    def memory(self) -> int:
        """Approximate memory in bytes for the file, the labels, a batch of cells and libraries."""
        return 200_000_000 + self._store.memory + 40 * self._store.cells.count

    @property
    def cells(self) -> Cells:
        """The geometry of the cells."""
        return self._store.cells

    def values(self, column: int) -> Values:
        """Return a cell array in the order of the file."""
        return self._store.values(column)

    @property
    def axes(self) -> Floats:
        """The directions of the cell edges."""
        return self._store.cells.axes

    @property
    def lattice(self) -> LatticeCells | None:
        """The cells, if they form an unrotated lattice; otherwise None."""
        cells = self._store.cells
        return cells if isinstance(cells, LatticeCells) and cells.matrix is None else None

    @property
    def has_ghosts(self) -> bool:
        """Whether some cells are ghosts.

        Ghosts are not blocks; their centroids and sizes are NaN.
        """
        return isinstance(self._store.cells, WithGhosts)

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return self._store.facts()

    def rows(self, column: str) -> Iterator[ChunkOfRows]:
        """Yield the cells batch by batch: centroids, sizes, and the text of the given array."""
        values = self._store.values(self.columns.index(column))
        for where, centres, sizes in self._store.cells.chunks():
            part = values[where]
            mixed = part.dtype.kind == "O"
            texts = [as_text(value) for value in part] if mixed else part.astype(np.str_)
            yield centres, sizes, np.asarray(texts, np.str_)

    def gathered(self) -> Blocks:
        """Return all cells and arrays in memory.

        Raises
        ------
        TableError
            If cells and arrays need more memory than there is; no memory is allocated then.
        """
        count = self._store.cells.count
        needed = _ROW_BYTES * count * (6.0 + len(self.columns))  # centroids, sizes and arrays
        memory.require(needed, f"{self.name}, with {count:,} cells as rows,", TableError)
        held = {name: self._store.values(n) for n, name in enumerate(self.columns)}
        return blocks_of(self._store.cells, held)

    def relabel(self, task: Relabelling) -> None:
        """Label the cells, and write the file with the new arrays."""
        at = place_columns(self.columns, (), task.columns, replace=task.replace, name=self.name)
        codes = task.codes
        if codes is None:
            codes = label_cells(self._store.cells, task, self._column)
        with task.open_target(self) as target:
            task.before_commit()
            if target is not None and task.destination is not None:
                self._store.write(target, task.destination, NewArrays(task.columns, codes, at))

    @property
    def space(self) -> CellSpace:
        """The local frame of the cells, in which they are axis-aligned boxes."""
        return CellSpace(self._store.cells.axes)

    def rewrite(self, task: Rewriting) -> None:
        """Write the model with new blocks, for example sub-blocks, in place of its cells."""
        rewrite_cells(self.gathered(), self.name, self, task)

    def _column(self, where: Where, column: int) -> Column:
        """Return an array at the cells `where` as a `Column`, on which conditions can be tested."""
        name = self.columns[column]
        first = (where.start or 0) if isinstance(where, slice) else where
        return ArrayColumn(self._store.values(column)[where], name, self._rule.of(name), first)


def without_geometry(options: TableOptions) -> TableOptions:
    """Return options without those for coordinates, sizes and rotation of a table."""
    rest = {name: own for name, own in options._asdict().items() if name not in _NOT_OF_CELLS}
    return TableOptions(**rest)


def refuse_columns(path: str, options: TableOptions) -> None:
    """Refuse options for coordinates and sizes, because the cells have their own geometry."""
    stated = [name for name, value in options._asdict().items() if value is not None]
    wrong = [name for name in _NOT_OF_CELLS if name in stated]
    if wrong:
        message = (
            f"{path} stores the geometry of its cells, so {wrong[0]}= does not apply: leave it out"
        )
        raise TableError(message)
