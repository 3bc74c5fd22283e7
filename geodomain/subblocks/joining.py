"""One pass over a sub-blocked model: blocks of one parent that agree are joined."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.sub_blocks import join_boxes
from geodomain.backends.threads import thread_count
from geodomain.errors import TableError
from geodomain.io.blocks.rewriting.codes import combined
from geodomain.io.blocks.rewriting.task import BlockRows, NewRows
from geodomain.io.numbers import Numbers, Rows


class Joining:
    """What is done to the blocks, and what is counted.

    Parameters
    ----------
    name : str
        What messages call the model.
    parent : int
        The column of the parents, and its name.
    column : str
    at_corner : bool
        Whether coordinates are the lowest corners.
    threads : int, optional

    Attributes
    ----------
    before, after : int
        Blocks that were read and given out.
    """

    def __init__(
        self, name: str, parent: int, column: str, *, at_corner: bool, threads: int | None
    ) -> None:
        self._name, self._parent, self._column = name, parent, column
        self._at_corner, self._threads = at_corner, thread_count(threads)
        self._runs: list[NDArray[np.float64]] = []
        self.before = self.after = 0

    @property
    def parents(self) -> int:
        """Count the parents."""
        return sum(map(len, self._runs))

    def require_runs(self) -> None:
        """Refuse parents whose blocks do not follow each other: they would not all be joined.

        Raises
        ------
        TableError
        """
        parents, counts = np.unique(np.concatenate([*self._runs, []]), return_counts=True)
        again = np.flatnonzero(counts > 1)
        if again.size:
            message = (
                f"{self._name}: the blocks of {self._column} {parents[again[0]]:.10g} do not "
                f"follow each other: sort the rows by {self._column}, or name another column with "
                "parent="
            )
            raise TableError(message)

    def rewrite(self, rows: BlockRows) -> Iterator[NewRows]:
        """Join some blocks, with all that belong to their parents."""
        column = rows.column(self._parent)
        parent = column.loose_numbers()[: len(rows)]
        self._refuse_words(np.isnan(parent) & column.present(number=True)[: len(rows)], rows.first)
        lost = rows.missing | np.isnan(parent)
        changes = np.flatnonzero((np.diff(parent) != 0) | lost[1:] | lost[:-1]) + 1
        starts = np.concatenate([[0], changes, [len(rows)]]) if len(rows) else np.zeros(1, np.int64)
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self._runs.append(parent[starts[:-1]][~lost[starts[:-1]]])
        keys = combined([rows.alike(), *(a.astype(np.int64) for a in rows.absent)], len(rows))
        faces = [self._faces(rows, axis, group) for axis in range(3)]
        low, high = (np.column_stack(side) for side in zip(*faces, strict=True))
        joined_low, _, owner = join_boxes(
            starts.astype(np.int64), low, high, keys.astype(np.int32), self._threads
        )
        yield self._made(rows, low, joined_low[owner], owner)

    def _refuse_words(self, words: NDArray[np.bool_], first: int) -> None:
        """Refuse parents that are no numbers."""
        if words.any():
            block = first + int(words.argmax()) + 1
            message = (
                f"{self._name}: {self._column} is no number in block {block}: name a column of "
                "numbers with parent="
            )
            raise TableError(message)

    def _faces(self, rows: BlockRows, axis: int, group: Rows) -> tuple[Rows, Rows]:
        """Give numbers to the lower and upper faces along an axis."""
        at, size = rows.coordinates[axis], rows.sizes[axis]
        half = size.half()
        low, high = (at, at + size) if self._at_corner else (at - half, at + half)
        places = low.followed(high).ranked(np.concatenate([group, group]))
        return places[: len(rows)], places[len(rows) :]

    def _made(
        self, rows: BlockRows, low: Rows, joined_low: NDArray[np.int32], owner: Rows
    ) -> NewRows:
        """Give the joined blocks, each in the place of its first part."""
        first = np.flatnonzero(owner == np.arange(len(rows)))
        place = np.empty(len(rows), np.int64)
        place[first] = np.arange(len(first))
        group = place[owner]
        alone = np.bincount(group, minlength=len(first)) == 1
        at_low = low == joined_low
        sizes, coordinates = [], []
        for axis in range(3):
            # The parts along one edge of a joined block: their sizes add up to its own.
            edge = np.flatnonzero(at_low[:, axis - 1] & at_low[:, axis - 2])
            size = rows.sizes[axis].take(edge).summed(group[edge], len(first))
            corner = np.flatnonzero(at_low.all(axis=1))
            start = np.empty(len(first), np.int64)
            start[group[corner]] = corner
            sizes.append(size)
            coordinates.append(self._coordinate(rows, axis, start, size))
        self.before += len(rows)
        self.after += len(first)
        return NewRows(
            row=first,
            unchanged=alone,
            coordinates=(coordinates[0], coordinates[1], coordinates[2]),
            sizes=(sizes[0], sizes[1], sizes[2]),
            amounts=[amount.summed(group, len(first)) for amount in rows.amounts],
        )

    def _coordinate(self, rows: BlockRows, axis: int, start: Rows, size: Numbers) -> Numbers:
        """Give the coordinate of a joined block, from its part in the lowest corner."""
        at = rows.coordinates[axis].take(start)
        return at if self._at_corner else at + (size - rows.sizes[axis].take(start)).half()
