"""Block models whose cells have a geometry of their own, whatever format holds them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

import numpy as np

from geodomain.errors import TableError
from geodomain.io.blocks.block_file import Destination, Floats, Relabelling, Rows
from geodomain.io.blocks.cells import Cells, LatticeCells, Where, label_cells
from geodomain.io.blocks.export import Blocks, blocks_of
from geodomain.io.blocks.new_values import NewArrays, Values, said
from geodomain.io.blocks.rewriting.cells import rewrite_cells
from geodomain.io.blocks.rewriting.space import CellSpace
from geodomain.io.blocks.rewriting.task import Rewriting
from geodomain.io.conditions import ArrayColumn, Column
from geodomain.io.csv.new_columns import place_columns
from geodomain.io.files.streams import Target
from geodomain.io.header.frames import Frame
from geodomain.io.header.options import TableOptions

# What is said of a table's columns has no meaning where cells have a geometry.
_NOT_OF_CELLS = ("x", "y", "z", "dx", "dy", "dz", "position", "rotation", "frame")


class CellStore(Protocol):
    """A file of cells that has been understood, and can be written with more columns."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def status(self) -> os.stat_result:
        """What the system says of the file."""

    @property
    def cells(self) -> Cells:
        """The blocks."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the arrays of the cells."""

    @property
    def memory(self) -> int:
        """How many bytes the file takes while it is labelled, roughly."""

    def facts(self) -> dict[str, str]:
        """Say what the file is, in words."""

    def values(self, column: int) -> Values:
        """Give an array: numbers with NaN, or texts with None or "" where missing."""

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write the file with new arrays."""

    def close(self) -> None:
        """Close the file."""


class CellModel:
    """A block model of cells; see `geodomain.io.blocks.BlockFile`."""

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
        """The file, the labels and a chunk, beside the libraries."""
        return 200_000_000 + self._store.memory + 40 * self._store.cells.count

    @property
    def axes(self) -> Floats:
        """The directions of the cells' edges."""
        return self._store.cells.axes

    @property
    def lattice(self) -> LatticeCells | None:
        """The cells of a lattice; None for others, and turned ones."""
        cells = self._store.cells
        return cells if isinstance(cells, LatticeCells) and cells.matrix is None else None

    def facts(self) -> dict[str, str]:
        """Say what kind of cells there are."""
        return self._store.facts()

    def rows(self, column: str) -> Iterator[Rows]:
        """Give cells and the texts of an array."""
        values = self._store.values(self.columns.index(column))
        for where, centres, sizes in self._store.cells.chunks():
            part = values[where]
            texts = part.astype(np.str_) if part.dtype.kind != "O" else [said(one) for one in part]
            yield centres, sizes, np.asarray(texts, np.str_)

    def gathered(self) -> Blocks:
        """Hold all cells and arrays in memory."""
        held = {name: self._store.values(n) for n, name in enumerate(self.columns)}
        return blocks_of(self._store.cells, held)

    def relabel(self, task: Relabelling) -> None:
        """Label the cells, and write the file with the new arrays."""
        at = place_columns(self.columns, (), task.columns, replace=task.replace, name=self.name)
        codes = task.known
        if codes is None:
            codes = label_cells(self._store.cells, task, self._column)
        with task.open_target(self) as target:
            task.before_commit()
            if target is not None and task.destination is not None:
                self._store.write(target, task.destination, NewArrays(task.columns, codes, at))

    @property
    def space(self) -> CellSpace:
        """The frame of its cells."""
        return CellSpace(self._store.cells.axes)

    def rewrite(self, task: Rewriting) -> None:
        """Write other cells in the place of these."""
        rewrite_cells(self.gathered(), self.name, self, task)

    def _column(self, where: Where, column: int) -> Column:
        """Give another array of some cells as conditions take it."""
        name = self.columns[column]
        first = (where.start or 0) if isinstance(where, slice) else where
        return ArrayColumn(self._store.values(column)[where], name, self._rule.of(name), first)


def refuse_columns(path: str, options: TableOptions) -> None:
    """Refuse what is said of coordinates and sizes where cells have a geometry."""
    said_of = [name for name, value in options._asdict().items() if value is not None]
    wrong = [name for name in _NOT_OF_CELLS if name in said_of]
    if wrong:
        message = f"{path} has cells with a geometry of their own; leave out --{wrong[0]}"
        raise TableError(message)
