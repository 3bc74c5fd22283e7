"""Parts of blocks that wireframes enter: by volume where few do, else along lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from geodomain.backends.api import BlockAnswer
from geodomain.labelling.chunk import TiledSurface
from geodomain.labelling.shares.extending import may_be_entered
from geodomain.labelling.shares.fitting import MOST_FITTED, fit, rake
from geodomain.labelling.shares.lines import pieces_along_lines, sample_count
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
from geodomain.labelling.shares.tally import ROUNDING
from geodomain.query.surfaces import OFF, sides_of

_TOGETHER = 1 << 18  # lines that are cut at a time
MOST_BY_VOLUME = 3  # bodies whose parts of a block are computed from their triangles


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


class SampledBlocks(NamedTuple):
    """Blocks that were cut along lines.

    Attributes
    ----------
    rows : (m,) intp
        The blocks.
    pieces : BlockPieces
        Their shares add up to 1 in each block, and each body whose share is known has it.
    in_sample : (p,) float64
        The shares of pieces by the lines of their sample alone, with the same sums.
    patterns : BlockPieces
        What is inside and outside of each of the bodies of a block, without shares: one part for
        each set of bodies, by its bits, of all blocks.
    sure : (m, s) bool
        Whether the share of a block's body is known, and all there is to know of it.
    copied : (m,) float64
        The share of pieces that stand for what no line meets.
    """

    rows: Places
    pieces: BlockPieces
    in_sample: Floats
    patterns: BlockPieces
    sure: Bools
    copied: Floats


class Parting:
    """Blocks that some bodies enter: those parted by volume, and those cut along lines.

    Parameters
    ----------
    blocks : SizedBlocks
    entries : sequence of (Body, Entered)
        The first of them has its share in blocks along lines even where others cannot have theirs.
    frame : ModelFrame

    Attributes
    ----------
    several : (m,) intp
        The blocks that go along lines.
    untouched : (n,) bool
        The blocks that nothing enters, which the label of their centroids has whole.
    """

    def __init__(
        self, blocks: SizedBlocks, entries: Sequence[tuple[Body, Entered]], frame: ModelFrame
    ) -> None:
        self._blocks, self._entries, self._frame = blocks, entries, frame
        count = len(blocks.points)
        self._number = np.zeros(count, np.intp)
        self._owner = np.full((count, MOST_FITTED), -1, np.intp)
        self._share = np.full((count, MOST_FITTED), np.nan)
        # A share along lines has an error to be estimated, and a sheet whose footprint ends may
        # leave a part of the block uncovered.
        unsure, self._vague = np.zeros((2, count), np.bool_)
        for place, (_, entry) in enumerate(entries):
            sure = ~(entry.off | entry.crossed)
            unsure[entry.rows[~sure]] = True
            self._vague[entry.rows[entry.off]] = True
            slot = self._number[entry.rows]
            fits = slot < MOST_FITTED
            rows, slot = entry.rows[fits], slot[fits]
            self._owner[rows, slot] = place
            self._share[rows, slot] = np.where(sure, entry.share, np.nan)[fits]
            self._number[entry.rows] += 1
        self._vague |= self._number > MOST_FITTED
        self.untouched: Bools = self._number == 0
        self._whole = (self._number <= MOST_BY_VOLUME) & ~unsure & ~self.untouched
        self.several = np.flatnonzero(~self._whole & ~self.untouched)

    def by_volume(self) -> Iterator[tuple[Places, BlockPieces]]:
        """Yield blocks, some at a time, parted into what is inside and outside of each body.

        Blocks whose volumes contradict each other join those that go along lines.
        """
        for bodies in range(1, MOST_BY_VOLUME + 1):
            all_rows = np.flatnonzero(self._whole & (self._number == bodies))
            for begin in range(0, len(all_rows), _TOGETHER >> bodies):
                rows = all_rows[begin : begin + (_TOGETHER >> bodies)]
                volumes, sound = self._volumes(rows, bodies)
                self.several = np.union1d(self.several, rows[~sound])
                rows, volumes = rows[sound], volumes[sound]
                if len(rows):
                    yield rows, self._parts(rows, bodies, volumes)

    def _parts(self, rows: Places, bodies: int, volumes: Floats) -> BlockPieces:
        """Return what is inside and outside of the first bodies of blocks, with shares."""
        owner, parts = self._owner[rows, :bodies], 1 << bodies
        box, points = self._blocks.around(rows), self._blocks.points[rows]
        states: list[tuple[Body, States]] = []
        for place, (body, _) in enumerate(self._entries):
            if not _near(body, box):
                continue
            mine = owner == place
            other = ~mine.any(axis=1)
            here = np.empty((parts, len(rows), 2), np.int32)
            here[:, other] = body.states_at(points[other])
            for slot in range(bodies):
                for part in range(parts):
                    here[part, mine[:, slot]] = WITHIN if part >> slot & 1 else WITHOUT
            states.append((body, here.reshape(-1, 2)))
        block = np.tile(np.arange(len(rows)), parts)
        return BlockPieces(block, volumes.T.reshape(-1), points[block], states, box)

    def _volumes(self, rows: Places, bodies: int) -> tuple[Floats, Bools]:
        """Return the share of each part of each block, and whether the block has such parts.

        Parts are in the order of the bits of the bodies that they are inside. They add up to 1, and
        the first body has its share, also where rounding has left a part below 0. A part further
        below 0 shows that something else is wrong.
        """
        common = np.zeros((len(rows), 1 << bodies))
        if bodies > 1:
            owners, which = np.unique(self._owner[rows, :bodies], axis=0, return_inverse=True)
            for number, places in enumerate(owners.tolist()):
                some = np.flatnonzero(which.reshape(-1) == number)
                first, *others = (self._entries[place][0].shares for place in places)
                lows, highs = self._blocks.lows[rows[some]], self._blocks.highs[rows[some]]
                common[some] = first.common(others, lows, highs)
        common[:, 0] = 1.0
        for slot in range(bodies):
            common[:, 1 << slot] = self._share[rows, slot]
        for slot in range(bodies):  # what is in a set of bodies, less what is in one more
            parted = common.reshape(len(rows), -1, 2, 1 << slot)
            parted[:, :, 0] -= parted[:, :, 1]
        least = common.min(axis=1)
        rounded = np.flatnonzero(least < 0.0)
        if len(rounded):
            parts = np.maximum(common[rounded], 0.0)
            parts /= parts.sum(axis=1, keepdims=True)
            rake(parts, self._share[rows[rounded], :bodies])
            common[rounded] = parts
        return common, least >= -ROUNDING

    def by_lines(self, lines: int) -> Iterator[SampledBlocks]:
        """Yield the other blocks, some at a time, cut along lines."""
        step = max(1, _TOGETHER // lines**2)
        for begin in range(0, len(self.several), step):
            rows = self.several[begin : begin + step]
            box = self._blocks.around(rows)
            bodies = [body for body, _ in self._entries if _near(body, box)]
            lows, highs = self._blocks.lows[rows], self._blocks.highs[rows]
            pieces = pieces_along_lines(bodies, self._frame, lows, highs, lines, box)
            yield self._fitted(rows, pieces, sample_count(lines))

    def _fitted(self, rows: Places, pieces: BlockPieces, samples: int) -> SampledBlocks:
        assert pieces.sample is not None
        slots = min(int(self._number[rows].max(initial=0)), MOST_FITTED)
        owner, shares = self._owner[rows, :slots], self._share[rows, :slots]
        count = len(pieces.block)
        pattern = np.zeros(count, np.intp)
        for body, mask in self._masks(owner, pieces):
            pattern |= np.where(body.within(pieces.of(body)), mask, 0)
        sampled = pieces.block * samples + pieces.sample
        weight = pieces.share / np.bincount(sampled, pieces.share)[sampled]
        whole = fit(pieces.block, pieces.share, pattern, shares)
        parts = fit(sampled, weight, pattern, np.repeat(shares, samples, axis=0))
        # Where no line meets a body there are copies of pieces as if on its other side.
        copies = [np.flatnonzero(one.flipped) for one in (whole, parts)]
        extra = [one.piece[some] for one, some in zip((whole, parts), copies, strict=True)]
        flipped = [one.flipped[some] for one, some in zip((whole, parts), copies, strict=True)]
        more = pieces.taken(np.concatenate([np.arange(count), *extra]))
        flips = np.concatenate([np.zeros(count, np.intp), *flipped])
        for body, mask in self._masks(owner, more):
            states = more.of(body)
            turned = (flips & mask) > 0
            states[turned] = np.where(body.within(states[turned])[:, None], WITHOUT, WITHIN)
        none = [np.zeros(len(some)) for some in copies]
        share = np.concatenate([whole.weight[:count], whole.weight[copies[0]], none[1]])
        in_sample = np.concatenate([parts.weight[:count], none[0], parts.weight[copies[1]]])
        copied: Floats = np.bincount(
            pieces.block[extra[0]], whole.weight[copies[0]], len(rows)
        ).astype(np.float64)
        return SampledBlocks(
            rows,
            replace(more, share=share),
            in_sample,
            self._parts(rows, slots, np.zeros((len(rows), 1 << slots))),
            np.isfinite(shares) & ~self._vague[rows, None],
            copied,
        )

    def _masks(self, owner: Places, pieces: BlockPieces) -> Iterator[tuple[Body, Places]]:
        """Yield bodies, and their bit in the block of each piece, 0 where they have none."""
        bits = 1 << np.arange(owner.shape[1])
        for place in np.unique(owner[owner >= 0]).tolist():
            yield self._entries[place][0], ((owner == place) * bits).sum(axis=1)[pieces.block]


def _near(body: Body, box: Floats) -> bool:
    """Return whether the rules of domains may ask a body about blocks in a box of the world."""
    return isinstance(body.source, TiledSurface) or not body.source.is_apart(box)
