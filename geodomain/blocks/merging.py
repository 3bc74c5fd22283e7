"""Join sub-blocks of one parent into larger blocks, if they have equal values in all columns."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.blocks.settings import (
    IN_MEMORY,
    MergeSummary,
    NegativeAmounts,
    amount_columns,
    parent_column,
    require_output,
    rewritable,
    unshared_warnings,
)
from geodomain.compute.data import Bools, Floats, Ints
from geodomain.compute.native import thread_count
from geodomain.compute.rows import join_boxes
from geodomain.errors import TableError, collect_warnings, warn
from geodomain.formats.blocks import Destination, open_model
from geodomain.formats.rewriting import BlockRows, NewRows, Rewriting, Space, Triple, combined
from geodomain.inputs import PathGiven, model_path
from geodomain.progress import Progress, show_progress
from geodomain.tables.numbers import Numbers, numbered
from geodomain.tables.options import table_options
from geodomain.tables.rotation import refuse_misfit, require_known_turn
from geodomain.tables.settings import TableKeywords

# Conversion to world coordinates rounds faces. Faces of rotated boxes count as equal within _NEAR
# of the smaller size, and a joined block must have the volume of its parts within _SAME.
_NEAR, _SAME = 5e-3, 1e-9


class Joining:
    """Joins the blocks of each parent, and counts blocks.

    Parameters
    ----------
    name : str
        Name of the model in messages.
    parent : int
        Index of the parent column.
    column : str
        Name of the parent column.
    space : Space
        The frame of the blocks.
    threads : int, optional
        Number of threads.

    Attributes
    ----------
    before, after : int
        Number of blocks read and written.
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
        """The number of parents read."""
        return sum(map(len, self._runs))

    def require_runs(self) -> None:
        """Raise TableError if the blocks of a parent are not in consecutive rows.

        Only blocks in consecutive rows are joined, so some blocks would stay separate.
        """
        parents, counts = np.unique(np.concatenate([*self._runs, []]), return_counts=True)
        again = np.flatnonzero(counts > 1)
        if again.size:
            message = (
                f"{self._name}: the blocks of {self._column} {parents[again[0]]:.10g} are not in "
                f"consecutive rows: sort the rows by {self._column}, or name another column with "
                "parent="
            )
            raise TableError(message)

    def rewrite(self, rows: BlockRows) -> Iterator[NewRows]:
        """Yield the joined blocks of a chunk. All blocks of a parent must be in one chunk."""
        column = rows.column(self._parent)
        parent = column.loose_numbers()[: len(rows)]
        self._refuse_text(np.isnan(parent) & column.present(number=True)[: len(rows)], rows.first)
        lost = rows.missing | np.isnan(parent)
        changes = np.flatnonzero((np.diff(parent) != 0) | lost[1:] | lost[:-1]) + 1
        starts = np.concatenate([[0], changes, [len(rows)]]) if len(rows) else np.zeros(1, np.int64)
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self._runs.append(parent[starts[:-1]][~lost[starts[:-1]]])
        keys = combined([rows.alike(), *(a.astype(np.int64) for a in rows.absent)], len(rows))
        if not rows.first:
            self._require_frame(rows)
        local = self._space.local(rows.coordinates)
        faces = [self._faces(local[axis], rows.sizes[axis], group) for axis in range(3)]
        low, high = (np.column_stack(side) for side in zip(*faces, strict=True))
        joined_low, _, owner = join_boxes(
            starts.astype(np.int64), low, high, keys.astype(np.int32), self._threads
        )
        at_low = low == joined_low[owner]
        if self._space.is_rounded:
            owner, at_low = _undo_gaps(rows.sizes, owner, at_low)
        yield self._joined(rows, local, at_low, owner)

    def _require_frame(self, rows: BlockRows) -> None:
        """Raise an error if blocks contradict the stated rotation, or look rotated without one."""
        usable = ~rows.missing
        points = rows.points[usable]
        sizes = np.column_stack([size.doubles() for size in rows.sizes])[usable]
        refuse_misfit(points, sizes, self._space.frame, self._name)
        if not self._space.is_turned:
            require_known_turn(points, sizes, self._space.frame, self._name, "joined")

    def _refuse_text(self, is_text: NDArray[np.bool_], first: int) -> None:
        """Raise TableError if the parent of a block is a text, not a number."""
        if is_text.any():
            block = first + int(is_text.argmax()) + 1
            message = (
                f"{self._name}: {self._column} is not a number in block {block}: name a column of "
                "numbers with parent="
            )
            raise TableError(message)

    def _faces(self, at: Numbers, size: Numbers, group: Ints) -> tuple[Ints, Ints]:
        """Return numbers for the lower and upper faces of blocks along an axis.

        Within a group, equal faces have equal numbers, and numbers ascend with coordinates.
        """
        half = size.half()
        low, high = (at, at + size) if self._at_corner else (at - half, at + half)
        both, groups = low.followed(high), np.concatenate([group, group])
        if self._space.is_rounded:
            places = _ranked_nearly(both.doubles(), np.tile(size.doubles(), 2), groups)
        else:
            places = both.ranked(groups)
        return places[: len(at)], places[len(at) :]

    def _joined(self, rows: BlockRows, local: Triple, at_low: Bools, owner: Ints) -> NewRows:
        """Return the joined blocks, each in the row of the first of its sub-blocks."""
        first = np.flatnonzero(owner == np.arange(len(rows)))
        place = np.empty(len(rows), np.int64)
        place[first] = np.arange(len(first))
        group = place[owner]
        alone = np.bincount(group, minlength=len(first)) == 1
        sizes, coordinates = [], []
        for axis in range(3):
            # The sizes of the parts along one edge of a joined block add up to its size.
            edge = np.flatnonzero(at_low[:, axis - 1] & at_low[:, axis - 2])
            size = rows.sizes[axis].take(edge).summed(group[edge], len(first))
            corner = np.flatnonzero(at_low.all(axis=1))
            start = np.empty(len(first), np.int64)
            start[group[corner]] = corner
            sizes.append(size)
            first_size = rows.sizes[axis].take(start)
            at = local[axis].take(start)
            coordinates.append(at if self._at_corner else at + (size - first_size).half())
        self.before += len(rows)
        self.after += len(first)
        return NewRows(
            row=first,
            unchanged=alone,
            coordinates=self._space.written((coordinates[0], coordinates[1], coordinates[2])),
            sizes=(sizes[0], sizes[1], sizes[2]),
            amounts=[amount.summed(group, len(first)) for amount in rows.amounts],
        )


def _ranked_nearly(values: Floats, sizes: Floats, group: Ints) -> Ints:
    """Return a number for each face; nearly equal faces of a group have the same number."""
    order = np.lexsort([values, group])
    values, sizes, groups = values[order], sizes[order], group[order]
    near = _NEAR * np.minimum(sizes[1:], sizes[:-1])
    return numbered(order, (np.diff(values) > near) | (np.diff(groups) != 0))


def _undo_gaps(sizes: Triple, owner: Ints, at_low: Bools) -> tuple[Ints, Bools]:
    """Undo each join whose block would not have the total volume of its sub-blocks."""
    dx, dy, dz = (size.doubles() for size in sizes)
    count = len(owner)
    filled = np.bincount(owner, dx * dy * dz, count)
    whole = np.ones(count)
    for axis, size in enumerate((dx, dy, dz)):
        edge = at_low[:, axis - 1] & at_low[:, axis - 2]
        whole *= np.bincount(owner[edge], size[edge], count)
    apart = ~(np.abs(whole - filled) <= _SAME * filled)[owner]
    return np.where(apart, np.arange(count), owner), at_low | apart[:, None]


# Join the sub-blocks of a model file.


def merge_file(
    model: PathGiven,
    output: PathGiven,
    *,
    parent: str = "parent",
    extensive: str | Sequence[str] = (),
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> MergeSummary:
    r"""Join the sub-blocks of a model in a file into fewer blocks, and write them.

    Neighbouring blocks are joined if they have the same parent and equal values in every column.
    Coordinates, sizes and the columns of ``extensive`` may differ. The joined block replaces the
    first of the blocks in its row, and fills exactly the space of all of them. No parent has more
    blocks in the output than if blocks were joined along one axis only. The same input always gives
    the same blocks.

    With ``frame``, world coordinates are rounded. Faces are therefore treated as equal within 1/200
    of the smaller size; volumes still add up. In text, joined coordinates are rounded to 6
    decimals.

    Parameters
    ----------
    model : path
        Text, Parquet or .vtu, with block sizes. The blocks of a parent must be in consecutive rows.
    output : path
        The file to write, in the format of the model.
    parent : str
        Column of numbers that identify the parent of each block.
    extensive : str or sequence of str
        Columns of quantities to add up, such as tonnes.
    overwrite, threads, progress, **table
        As for `label_file`.

    Returns
    -------
    MergeSummary
        ``print`` it.

    Raises
    ------
    TableError, OSError
        As `label_file`; also if the model has no sizes, or the blocks of a parent are not in
        consecutive rows. After an error there is no partial file.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "X,Y,Z,DX,DY,DZ,T,parent\n2.5,5,5,5,10,10,6.5,0\n7.5,5,5,5,10,10,6.5,0\n"
    >>> _ = (folder / "sub.csv").write_text(rows)
    >>> print(geodomain.merge_file(folder / "sub.csv", folder / "a.csv", extensive="T").after)
    1
    >>> (folder / "a.csv").read_text().split()[1]
    '5.0,5,5,10,10,10,13.0,0'
    """
    began = time.perf_counter()
    options, source = table_options(**table), model_path(model, IN_MEMORY)
    target = os.fspath(output)
    require_output(source, target, overwrite=overwrite)
    with (
        collect_warnings() as warned,
        show_progress(progress, "joining") as report,
        open_model(source, options) as opened,
    ):
        file = rewritable(opened)
        parent_field = parent_column(opened, parent)
        joining = Joining(
            opened.name,
            parent_field,
            opened.columns[parent_field],
            space=file.space,
            threads=threads,
        )
        amounts = amount_columns(opened, extensive)
        negative = NegativeAmounts([opened.columns[field] for field in amounts])

        def before_commit() -> None:
            joining.require_runs()
            joined = joining.after < joining.before
            for sentence in (
                *(unshared_warnings(opened.columns, amounts, joined=True) if joined else ()),
                *negative.warnings(),
            ):
                warn(sentence)

        file.rewrite(
            Rewriting(
                negative.counted(joining.rewrite),
                Destination(target, overwrite),
                amounts=amounts,
                together=parent_field,
                threads=threads,
                progress=report,
                before_commit=before_commit,
            )
        )
    return MergeSummary(
        parents=joining.parents,
        before=joining.before,
        after=joining.after,
        seconds=time.perf_counter() - began,
        output=target,
        warnings=tuple(warned),
    )
