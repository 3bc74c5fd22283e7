"""Shares of blocks from their pieces, whatever the rule that the pieces are asked by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from geodomain.labelling.evaluate import Evaluation
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.shares.lines import sample_count
from geodomain.labelling.shares.parting import Parting, SizedBlocks
from geodomain.labelling.shares.pieces import BlockPieces, Bools, Floats, Places
from geodomain.labelling.skins import SkinEvaluation
from geodomain.labelling.verdict import Verdict

# From blocks and their pieces to the column of each piece, (m,).
Score = Callable[[Places, BlockPieces], Places]


class LabelledBlocks(NamedTuple):
    """Blocks with what is known of them beside their places; arrays as `Labeller.judge` has them.

    Attributes
    ----------
    blocks : SizedBlocks
    verdict : Verdict
        Of their centroids.
    allowed : sequence of (n,) bool or None, optional
        The blocks that meet the conditions of each domain and stack.
    labelled : (n,) bool, optional
        Those that have a label already.
    """

    blocks: SizedBlocks
    verdict: Verdict
    allowed: Sequence[Bools | None] | None
    labelled: Bools | None

    def allowed_in(self, unit: int, rows: Places, pieces: BlockPieces) -> Bools | None:
        """Return which pieces of some blocks meet the conditions of a domain or stack."""
        met = None if self.allowed is None else self.allowed[unit]
        return None if met is None else met[rows][pieces.block]


class Measured(NamedTuple):
    """Shares of some blocks.

    Attributes
    ----------
    rows : (m,) intp
        The blocks.
    shares : (m, c) float64
    off : (s, m, c) float64, optional
        Of blocks along lines, how far the shares in each sample of the lines are from these.
    unseen : (m, c) float64, optional
        Of these, what lines may miss altogether.
    """

    rows: Places
    shares: Floats
    off: Floats | None = None
    unseen: Floats | None = None


def measure(parting: Parting, lines: int, columns: int, score: Score) -> Iterator[Measured]:
    """Yield the shares of blocks that bodies enter, some at a time."""
    for rows, pieces in parting.by_volume():
        place = pieces.block * columns + score(rows, pieces)
        yield Measured(rows, _sums(place, pieces.share, len(rows), columns))
    samples = sample_count(lines)
    for some in parting.by_lines(lines):
        rows, pieces = some.rows, some.pieces
        assert pieces.sample is not None
        column = score(rows, pieces)
        shares = _sums(pieces.block * columns + column, pieces.share, len(rows), columns)
        group = pieces.sample * len(rows) + pieces.block
        parts = _sums(group * columns + column, some.in_sample, samples * len(rows), columns)
        off = parts.reshape(samples, len(rows), columns) - shares
        patterns = score(rows, some.patterns).reshape(-1, len(rows))
        is_open = _depends_on_several(patterns, some.sure, columns)
        unseen = np.maximum(some.copied, 0.5 / lines**2)[:, None] * is_open
        yield Measured(rows, shares, off, unseen)


def _depends_on_several(patterns: Places, sure: Bools, columns: int) -> Bools:
    """Return which columns do not follow from the known share of one body, (blocks, columns).

    Parameters
    ----------
    patterns : (2**s, blocks) intp
        The column of what is inside the bodies of each set, and outside of the others.
    sure : (blocks, s) bool
        Whether the share of a body is known.
    """
    count = patterns.shape[1]
    several, one, unsure = np.zeros((3, count, columns), np.bool_)
    for slot in range(sure.shape[1]):
        parted = patterns.reshape(-1, 2, 1 << slot, count)
        here = np.zeros((count, columns), np.bool_)
        for side, other in ((0, 1), (1, 0)):
            differ = np.nonzero(parted[:, side] != parted[:, other])
            here[differ[2], parted[:, side][differ]] = True
        unsure |= here & ~sure[:, slot, None]
        several |= one & here
        one |= here
    return several | unsure


def _sums(place: Places, share: Floats, count: int, columns: int) -> Floats:
    total = np.bincount(place, share, count * columns)
    return np.clip(total.reshape(count, columns), 0.0, 1.0)


def score_itself(
    asked: LabelledBlocks, evaluation: Evaluation | SkinEvaluation, unit: int
) -> Score:
    """Return what scores each of the domains of a unit by itself.

    After their columns come that of pieces that none can say, and that of all others.
    """
    width = evaluation.width

    def score(rows: Places, pieces: BlockPieces) -> Places:
        column = np.full(len(pieces.block), width + 1, np.intp)
        met = asked.allowed_in(unit, rows, pieces)
        for part, answer in enumerate(evaluation.ask(pieces.chunk())):
            one = answer if met is None else answer.within(met)
            column[one.inside] = part
            if one.beyond is not None:
                column[one.beyond] = width
        return column

    return score


def score_by_order(asked: LabelledBlocks, labeller: Labeller) -> Score:
    """Return what scores every label, by its code."""

    def score(rows: Places, pieces: BlockPieces) -> Places:
        units = range(len(labeller.evaluations))
        met = asked.allowed and [asked.allowed_in(unit, rows, pieces) for unit in units]
        labelled = None if asked.labelled is None else asked.labelled[rows][pieces.block]
        found = labeller.answers(pieces.chunk(), met)
        codes = labeller.codes(found, np.ones(len(pieces.block), bool), labelled)
        return codes.astype(np.intp)

    return score
