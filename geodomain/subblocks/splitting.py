"""One pass over a model's blocks: each is split, its parts are labelled, joined and given out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.order import allowed_rows
from geodomain.errors import PointError
from geodomain.io.blocks.rewriting.space import Space
from geodomain.io.blocks.rewriting.task import BlockRows, NewRows
from geodomain.io.header.azimuth import refuse_misfit, require_known_turn
from geodomain.io.header.rotation import require_constants
from geodomain.io.number_columns import NegativeGrades
from geodomain.io.numbers import Floats, Numbers, Resolution, Rows
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.tally import Tally
from geodomain.subblocks.amounts import shared
from geodomain.subblocks.cuts import Parents
from geodomain.subblocks.pieces import Boxes, Pieces
from geodomain.subblocks.schemes import Splitter

Bools = NDArray[np.bool_]
# About so many sub-blocks are made at a time.
_TOGETHER = 1 << 19


class Splitting:
    """What is done to the blocks, and what is counted.

    Parameters
    ----------
    splitter : Splitter
    labeller : Labeller
    space : Space
        The frame of the blocks.
    resolution : Resolution
    asked : mapping of str to int
        The columns of conditions.
    constants : mapping of int to float
        Columns that say what the coordinates stand for.
    names : sequence of str
        Of all columns.
    join : bool
        Whether parts of a block with the same label are joined.
    threads : int, optional

    Attributes
    ----------
    tally : Tally
        Of the parts before they are joined.
    parents, split, written, dropped, missing : int
        Blocks; those that were split; blocks that are written; cuts that were dropped; blocks
        without coordinates or sizes, which are as they were.
    """

    def __init__(
        self,
        splitter: Splitter,
        labeller: Labeller,
        space: Space,
        resolution: Resolution,
        asked: Mapping[str, int],
        constants: Mapping[int, float],
        names: Sequence[str],
        *,
        join: bool,
        threads: int | None,
    ) -> None:
        self._splitter, self._labeller, self._space = splitter, labeller, space
        self._resolution, self._asked, self._constants = resolution, asked, constants
        self._names, self._join, self._threads = names, join, threads
        self.tally = Tally(labeller.targets)
        self.parents = self.split = self.written = self.dropped = self.missing = 0
        self.unsized = 0
        self.first_unsized: int | None = None

    def rewrite(self, rows: BlockRows) -> Iterator[NewRows]:
        """Give the parts of some blocks, some blocks at a time."""
        require_constants(
            self._constants, rows.column, self._names, self._splitter.name, rows.first
        )
        if not rows.first:
            self._require_known_frame(rows)
        coordinates = self._space.local(rows.coordinates)
        parents = Parents(coordinates, rows.sizes, self._space.at_corner, self._resolution)
        entered = self._entered(parents)
        parts = self._splitter.parts(parents, entered, rows.first)
        parts[~entered] = 1
        negative: dict[str, NegativeGrades] = {}
        allowed = allowed_rows(
            self._labeller.domains, lambda named: rows.column(self._asked[named]), negative
        )
        self.tally.add_negative(negative, rows.first)
        self.parents += len(rows)
        unsized = rows.missing & np.isfinite(rows.points).all(axis=1)
        if self.first_unsized is None and unsized.any():
            self.first_unsized = rows.first + int(unsized.argmax()) + 1
        self.unsized += int(unsized.sum())
        self.missing += int(rows.missing.sum())
        expected = np.cumsum(self._splitter.expected(parts, entered)) // _TOGETHER
        for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(expected)) + 1):
            yield self._made(rows, parents, some, parts[some], entered[some], allowed)

    def _require_known_frame(self, rows: BlockRows) -> None:
        """Refuse blocks that are turned where nothing says so, or otherwise than is said."""
        frame, name = self._space.frame, self._splitter.name
        usable = ~rows.missing
        points, sizes = rows.points[usable], _stacked(rows.sizes)[usable]
        refuse_misfit(points, sizes, frame, name)
        if not self._space.is_turned:
            require_known_turn(points, sizes, frame, name, "split")

    def _entered(self, parents: Parents) -> Bools:
        """Tell the blocks that any triangle enters."""
        lows, highs = np.empty((2, len(parents), 3))
        for axis, size in enumerate(parents.sizes):
            lows[:, axis] = parents.face(axis, size - size)
            highs[:, axis] = parents.face(axis, size)
        return self._splitter.boundaries.entered(lows, highs)

    def _made(
        self,
        rows: BlockRows,
        parents: Parents,
        some: Rows,
        parts: Rows,
        entered: Bools,
        allowed: Sequence[Bools | None] | None,
    ) -> NewRows:
        """Split some blocks."""
        own = parents.take(some)
        pieces = self._splitter.split(own, parts, entered)
        boxes = pieces.boxes(own)
        written = self._space.written(boxes.coordinates)
        placed = Boxes(written, boxes.sizes)
        codes = self._labelled(rows, some[pieces.parent], pieces.alone, placed, allowed)
        self.split += int((~pieces.alone & (np.diff(pieces.parent, prepend=-1) != 0)).sum())
        self.dropped += pieces.dropped
        if self._join:
            pieces, first = pieces.joined(codes, self._threads)
            boxes, codes = pieces.boxes(own), codes[first]
            written = self._space.written(boxes.coordinates)
        self.written += len(pieces)
        row = some[pieces.parent]
        return NewRows(
            row=row,
            unchanged=pieces.alone,
            coordinates=written,
            sizes=boxes.sizes,
            amounts=self._shared(rows, row, pieces, boxes),
            added=[rows.first + row, codes.astype(np.int64)],
        )

    def _labelled(
        self,
        rows: BlockRows,
        row: Rows,
        alone: Bools,
        boxes: Boxes,
        allowed: Sequence[Bools | None] | None,
    ) -> NDArray[np.int32]:
        """Label parts by their centroids, as they will be read."""
        sizes = _stacked(boxes.sizes)
        points = self._space.world(_stacked(boxes.coordinates), sizes)
        points[alone] = rows.points[row[alone]]
        met = None if allowed is None else [None if a is None else a[row] for a in allowed]
        try:
            verdict = self._labeller.judge(np.asfortranarray(points), met)
        except PointError as error:
            message = f"{self._splitter.name}, in block {rows.first + int(row[0]) + 1} on: {error}"
            raise PointError(message) from None
        axes = self._space.axes if self._space.is_turned else None
        self.tally.add(points, sizes, verdict, met, axes)
        return verdict.codes

    def _shared(self, rows: BlockRows, row: Rows, pieces: Pieces, boxes: Boxes) -> list[Numbers]:
        """Share the amounts of blocks among their parts."""
        if not rows.amounts:
            return []
        volumes = _stacked(boxes.sizes).prod(axis=1)
        volumes[rows.missing[row]] = 1.0
        starts = np.diff(row, prepend=-1) != 0
        place, own = np.cumsum(starts) - 1, row[starts]
        return [shared(amount.take(own), place, volumes) for amount in rows.amounts]


def _stacked(numbers: tuple[Numbers, Numbers, Numbers]) -> Floats:
    """Give three columns as rows of float64."""
    return np.column_stack([each.doubles() for each in numbers])
