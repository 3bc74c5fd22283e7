"""Blocks that wireframes enter, taken apart: by volume where one does it alone, else by lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from geodomain.backends.api import BlockAnswer
from geodomain.labelling.chunk import TiledSurface
from geodomain.labelling.shares.extending import may_be_entered
from geodomain.labelling.shares.lines import pieces_along_lines
from geodomain.labelling.shares.model_frame import ModelFrame
from geodomain.labelling.shares.pieces import (
    WITHIN,
    WITHOUT,
    BlockPieces,
    Body,
    Bools,
    Floats,
    Places,
    States,
)
from geodomain.query.surfaces import OFF, sides_of

_TOGETHER = 1 << 18  # lines that are cut at a time


class SizedBlocks(NamedTuple):
    """Blocks with their places.

    Attributes
    ----------
    points, sizes : (n, 3) float64
        Centroids in the world, and sizes.
    lows, highs : (n, 3) float64
        Corners in the frame of the blocks.
    usable : (n,) bool
        Whether each is a box.
    """

    points: Floats
    sizes: Floats
    lows: Floats
    highs: Floats
    usable: Bools

    def around(self, rows: Places) -> Floats:
        """Return a box in the world around some of the blocks, however they are turned."""
        reach = np.sqrt((self.sizes[rows] ** 2).sum(axis=1))[:, None] / 2
        points = self.points[rows]
        return np.stack([(points - reach).min(axis=0), (points + reach).max(axis=0)])


def sized_blocks(points: Floats, sizes: Floats, frame: ModelFrame) -> SizedBlocks:
    """Return blocks of world centroids, (n, 3), and sizes along the frame's axes."""
    middles = frame.local(points)
    with np.errstate(invalid="ignore", over="ignore"):
        lows, highs = middles - sizes / 2, middles + sizes / 2
        usable = (lows < middles) & (middles < highs) & np.isfinite(lows) & np.isfinite(highs)
    return SizedBlocks(points, sizes, lows, highs, np.asarray(usable.all(axis=1)))


class Entered(NamedTuple):
    """The blocks that one body enters, as far as it is extended, or its rim passes over or under.

    Attributes
    ----------
    rows : (m,) intp
    share : (m,) float64
        Of each block inside the body or below; not known where it is `off` its footprint in part.
    crossed, off : (m,) bool
        Where its own triangles cross or fold; where its footprint ends, or has ended.
    """

    rows: Places
    share: Floats
    crossed: Bools
    off: Bools


def entry_of(body: Body, blocks: SizedBlocks, frame: ModelFrame) -> Entered:
    """Find the blocks that a body enters, with their shares."""
    found = _entered(body, blocks)
    if not body.extended or not isinstance(body.source, TiledSurface):
        return found
    rest = blocks.usable.copy()
    rest[found.rows] = False
    rows = np.flatnonzero(rest)
    rows = rows[may_be_entered(body.source, frame, blocks.lows[rows], blocks.highs[rows])]
    rows = rows[sides_of(body.states_at(blocks.points[rows])) == OFF]
    none = np.zeros(len(rows), np.bool_)
    return Entered(
        np.concatenate([found.rows, rows]),
        np.concatenate([found.share, np.zeros(len(rows))]),
        np.concatenate([found.crossed, none]),
        np.concatenate([found.off, ~none]),
    )


def _entered(body: Body, blocks: SizedBlocks) -> Entered:
    """Find the blocks that a body enters, or its rim, by its triangles."""
    with np.errstate(invalid="ignore"):
        near = (blocks.lows < body.box[1]) & (blocks.highs > body.box[0])
    rows = np.flatnonzero(near.all(axis=1) & blocks.usable)
    share = np.zeros(len(rows))
    answers = body.shares.entered(blocks.lows[rows], blocks.highs[rows], share)
    some = np.flatnonzero(answers != BlockAnswer.BY_LABEL)
    answers = answers[some]
    return Entered(
        rows[some],
        share[some],
        answers == BlockAnswer.BY_LINES,
        answers == BlockAnswer.OFF_RIM,
    )


class Parting:
    """Blocks that some bodies enter: those that one parts alone, and the others.

    Parameters
    ----------
    blocks : SizedBlocks
    entries : sequence of (Body, Entered)
    frame : ModelFrame

    Attributes
    ----------
    alone, several : (m,) intp
        The blocks that one body parts into two by its volume, and those that go along lines.
    untouched : (n,) bool
        The others, which the label of their centroids has whole.
    missed : dict of int to (n,) float64
        By the id of a body, what lines give more of it than its volume, where they were cut.
    """

    def __init__(
        self, blocks: SizedBlocks, entries: Sequence[tuple[Body, Entered]], frame: ModelFrame
    ) -> None:
        self._blocks, self._entries, self._frame = blocks, entries, frame
        count = len(blocks.points)
        number = np.zeros(count, np.int32)
        self._owner = np.zeros(count, np.int32)
        self._share = np.zeros(count)
        for place, (_, entry) in enumerate(entries):
            number[entry.rows] += 1
            # A share along lines has an error to be estimated; a sheet that folds may leave a part
            # of the block uncovered.
            number[entry.rows[entry.off | entry.crossed]] += 2
            self._owner[entry.rows] = place
            self._share[entry.rows] = entry.share
        self.alone, self.several = np.flatnonzero(number == 1), np.flatnonzero(number > 1)
        self.untouched: Bools = number == 0
        self.missed: dict[int, Floats] = {}

    def halves(self) -> Iterator[tuple[Places, BlockPieces]]:
        """Yield blocks that one body parts, some at a time, with their two parts each."""
        for begin in range(0, len(self.alone), _TOGETHER):
            rows = self.alone[begin : begin + _TOGETHER]
            share, owner = self._share[rows], self._owner[rows]
            twice = np.tile(np.arange(len(rows)), 2)
            box, points = self._blocks.around(rows), self._blocks.points[rows]
            states: list[tuple[Body, States]] = []
            for place, (body, _) in enumerate(self._entries):
                if not _near(body, box):
                    continue
                here = np.empty((len(rows), 2), np.int32)
                other = owner != place
                here[other] = body.states_at(points[other])
                here[~other] = WITHIN
                there = here.copy()
                there[~other] = WITHOUT
                states.append((body, np.concatenate([here, there])))
            shares = np.concatenate([share, 1.0 - share])
            yield rows, BlockPieces(twice, shares, points[twice], states, box)

    def lines(self, number: int, most: int | None = None) -> Iterator[tuple[Places, BlockPieces]]:
        """Yield the other blocks, cut along lines; as many at a time as with `most` lines."""
        step = max(1, _TOGETHER // (most or number) ** 2)
        for begin in range(0, len(self.several), step):
            rows = self.several[begin : begin + step]
            box = self._blocks.around(rows)
            bodies = [body for body, _ in self._entries if _near(body, box)]
            lows, highs = self._blocks.lows[rows], self._blocks.highs[rows]
            yield rows, pieces_along_lines(bodies, self._frame, lows, highs, number, box)

    def check(self, rows: Places, pieces: BlockPieces) -> None:
        """Compare what lines give of each body with its share by volume, where that is known."""
        exact = {id(body): entry for body, entry in self._entries}
        for body, states in pieces.states:
            entry = exact[id(body)]
            known = np.full(len(self.untouched), np.nan)
            known[entry.rows] = np.where(entry.crossed | entry.off, np.nan, entry.share)
            off = pieces.add_up(body.within(states), len(rows)) - known[rows]
            at = rows[np.isfinite(off)]
            self.missed.setdefault(id(body), np.zeros(len(self.untouched)))[at] = off[
                np.isfinite(off)
            ]


def _near(body: Body, box: Floats) -> bool:
    """Return whether the rules of domains may ask a body about blocks in a box of the world."""
    return isinstance(body.source, TiledSurface) or not body.source.is_apart(box)
