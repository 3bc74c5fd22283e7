"""One pass over a sub-blocked model: blocks of one parent that agree are joined."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.sub_blocks import join_boxes
from geodomain.backends.threads import thread_count
from geodomain.errors import TableError
from geodomain.io.blocks.rewriting.codes import combined
from geodomain.io.blocks.rewriting.space import Space
from geodomain.io.blocks.rewriting.task import BlockRows, NewRows
from geodomain.io.header.azimuth import refuse_misfit, require_known_turn
from geodomain.io.numbers import Floats, Numbers, Rows, numbered

Bools = NDArray[np.bool_]
Triple = tuple[Numbers, Numbers, Numbers]
# Coordinates that were turned into the world are rounded there: faces of turned boxes agree within
# this part of the smaller size, and what is joined has the volume of its parts within the other.
_NEAR, _SAME = 5e-3, 1e-9


class Joining:
    """What is done to the blocks, and what is counted.

    Parameters
    ----------
    name : str
        What messages call the model.
    parent : int
        The column of the parents, and its name.
    column : str
    space : Space
        The frame of the blocks.
    threads : int, optional

    Attributes
    ----------
    before, after : int
        Blocks that were read and given out.
    """

    def __init__(
        self, name: str, parent: int, column: str, *, space: Space, threads: int | None
    ) -> None:
        self._name, self._parent, self._column = name, parent, column
        self._space, self._threads = space, thread_count(threads)
        self._at_corner = space.at_corner
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
        if not rows.first:
            self._require_known_frame(rows)
        local = self._space.local(rows.coordinates)
        faces = [self._faces(local[axis], rows.sizes[axis], group) for axis in range(3)]
        low, high = (np.column_stack(side) for side in zip(*faces, strict=True))
        joined_low, _, owner = join_boxes(
            starts.astype(np.int64), low, high, keys.astype(np.int32), self._threads
        )
        at_low = low == joined_low[owner]
        if self._space.is_rounded:
            owner, at_low = _apart_unless_full(rows.sizes, owner, at_low)
        yield self._made(rows, local, at_low, owner)

    def _require_known_frame(self, rows: BlockRows) -> None:
        """Refuse blocks that are turned where nothing says so, or otherwise than is said."""
        usable = ~rows.missing
        points = rows.points[usable]
        sizes = np.column_stack([size.doubles() for size in rows.sizes])[usable]
        refuse_misfit(points, sizes, self._space.frame, self._name)
        if not self._space.is_turned:
            require_known_turn(points, sizes, self._space.frame, self._name, "joined")

    def _refuse_words(self, words: NDArray[np.bool_], first: int) -> None:
        """Refuse parents that are no numbers."""
        if words.any():
            block = first + int(words.argmax()) + 1
            message = (
                f"{self._name}: {self._column} is no number in block {block}: name a column of "
                "numbers with parent="
            )
            raise TableError(message)

    def _faces(self, at: Numbers, size: Numbers, group: Rows) -> tuple[Rows, Rows]:
        """Give numbers to the lower and upper faces along an axis."""
        half = size.half()
        low, high = (at, at + size) if self._at_corner else (at - half, at + half)
        both, groups = low.followed(high), np.concatenate([group, group])
        if self._space.is_rounded:
            places = _ranked_nearly(both.doubles(), np.tile(size.doubles(), 2), groups)
        else:
            places = both.ranked(groups)
        return places[: len(at)], places[len(at) :]

    def _made(self, rows: BlockRows, local: Triple, at_low: Bools, owner: Rows) -> NewRows:
        """Give the joined blocks, each in the place of its first part."""
        first = np.flatnonzero(owner == np.arange(len(rows)))
        place = np.empty(len(rows), np.int64)
        place[first] = np.arange(len(first))
        group = place[owner]
        alone = np.bincount(group, minlength=len(first)) == 1
        sizes, coordinates = [], []
        for axis in range(3):
            # The parts along one edge of a joined block: their sizes add up to its own.
            edge = np.flatnonzero(at_low[:, axis - 1] & at_low[:, axis - 2])
            size = rows.sizes[axis].take(edge).summed(group[edge], len(first))
            corner = np.flatnonzero(at_low.all(axis=1))
            start = np.empty(len(first), np.int64)
            start[group[corner]] = corner
            sizes.append(size)
            own = rows.sizes[axis].take(start)
            at = local[axis].take(start)
            coordinates.append(at if self._at_corner else at + (size - own).half())
        self.before += len(rows)
        self.after += len(first)
        return NewRows(
            row=first,
            unchanged=alone,
            coordinates=self._space.written((coordinates[0], coordinates[1], coordinates[2])),
            sizes=(sizes[0], sizes[1], sizes[2]),
            amounts=[amount.summed(group, len(first)) for amount in rows.amounts],
        )


def _ranked_nearly(values: Floats, sizes: Floats, group: Rows) -> Rows:
    """Give a number to each different face of a group; equal are those that nearly agree."""
    order = np.lexsort([values, group])
    values, sizes, groups = values[order], sizes[order], group[order]
    near = _NEAR * np.minimum(sizes[1:], sizes[:-1])
    return numbered(order, (np.diff(values) > near) | (np.diff(groups) != 0))


def _apart_unless_full(sizes: Triple, owner: Rows, at_low: Bools) -> tuple[Rows, Bools]:
    """Leave parts as they are that would not have the volume of what they are joined to."""
    dx, dy, dz = (size.doubles() for size in sizes)
    count = len(owner)
    filled = np.bincount(owner, dx * dy * dz, count)
    whole = np.ones(count)
    for axis, size in enumerate((dx, dy, dz)):
        edge = at_low[:, axis - 1] & at_low[:, axis - 2]
        whole *= np.bincount(owner[edge], size[edge], count)
    apart = ~(np.abs(whole - filled) <= _SAME * filled)[owner]
    return np.where(apart, np.arange(count), owner), at_low | apart[:, None]
