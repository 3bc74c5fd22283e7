"""Cells in memory with others in the place of theirs, written as hexahedra, in float64."""

from __future__ import annotations

import numpy as np

from geodomain.errors import TableError
from geodomain.io.blocks.export import Blocks, write_blocks
from geodomain.io.blocks.new_values import Values
from geodomain.io.blocks.rewriting.codes import combined
from geodomain.io.blocks.rewriting.held_back import last_group
from geodomain.io.blocks.rewriting.space import CellSpace
from geodomain.io.blocks.rewriting.task import BlockRows, NewRows, Rewriting, open_rewritten
from geodomain.io.conditions import ArrayColumn
from geodomain.io.files.streams import Input
from geodomain.io.numbers import Doubles, Floats, Numbers, Rows

# So many cells are taken at a time.
_ROWS = 1 << 18


def rewrite_cells(blocks: Blocks, name: str, source: Input, task: Rewriting) -> None:
    """Write cells; raise TableError for cells that are no boxes."""
    path = task.destination.path
    if blocks.sizes is None or not (blocks.sizes > 0).all():
        message = f"{name} has cells that are no boxes along its axes: they cannot be split"
        raise TableError(message)
    parts = _CellRewriting(blocks, name, task)
    with open_rewritten(task, source) as target:
        new = parts.gathered()
        task.before_commit()
        write_blocks(new, target, path)


class _CellRewriting:
    """One pass over cells."""

    def __init__(self, blocks: Blocks, name: str, task: Rewriting) -> None:
        self._blocks, self._name, self._task = blocks, name, task
        self._names = list(blocks.columns)
        self._space = CellSpace(blocks.axes)
        self._local = (
            blocks.centroids @ blocks.axes.T if self._space.is_turned else blocks.centroids
        )
        self._sizes: Floats = np.empty((0, 3)) if blocks.sizes is None else blocks.sizes

    def gathered(self) -> Blocks:
        """Make all the new cells."""
        made: list[tuple[int, NewRows]] = []
        begin, count = 0, len(self._local)
        while begin < count:
            end = self._end(begin, count)
            made += [(begin, new) for new in self._task.rewrite(self._block_rows(begin, end))]
            self._task.told(end, count)
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
        """Return where the cells that are taken now end."""
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

    def _alike(self, where: slice) -> Rows:
        """Code the cells by all arrays but those of amounts."""
        others = [f for f in range(len(self._names)) if f not in self._task.amounts]
        columns = [_coded(self._column(field)[where]) for field in others]
        return combined(columns, where.stop - where.start)


def _coded(values: Values) -> Rows:
    """Give a code to each different value; NaN equals NaN."""
    if values.dtype.kind == "O":
        values = values.astype(np.str_)
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _values(numbers: Numbers) -> Floats:
    return numbers.doubles()


def _stacked(numbers: tuple[Numbers, Numbers, Numbers]) -> Floats:
    return np.column_stack([each.doubles() for each in numbers])


def _joined(parts: list[Floats] | list[Rows]) -> Floats | Rows:
    return np.concatenate([np.empty(0, parts[0].dtype if parts else np.int64), *parts])
