"""What every kind of table with columns in memory gives; which library reads it is not here."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from geodomain.io.blocks.block_file import Floats, LabelChunk
from geodomain.io.conditions import ArrayColumn, Column
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.header.choice import Choice, choose_columns
from geodomain.io.header.frames import Frame, shortest
from geodomain.io.header.options import TableOptions
from geodomain.io.number_columns import read_positions

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
        return self.frame.centroids(points, sizes), sizes

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
