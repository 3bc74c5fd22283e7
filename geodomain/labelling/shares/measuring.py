"""Shares of blocks from their pieces, whatever the rule that the pieces are asked by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.labelling.evaluate import Evaluation
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.shares.parting import Parting, SizedBlocks
from geodomain.labelling.shares.pieces import BlockPieces, Bools, Floats, Places
from geodomain.labelling.skins import SkinEvaluation
from geodomain.labelling.verdict import Verdict

# From blocks and their pieces to shares, (blocks, columns).
Score = Callable[[Places, BlockPieces], Floats]


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
    """Shares of blocks, and what they may be wrong by.

    Attributes
    ----------
    shares : (n, c) float64
        Of blocks that are touched; 0 for the others.
    halved : (n, c) float64
        What they change where there are half as many lines each way; 0 without lines.
    """

    shares: Floats
    halved: Floats


def measure(parting: Parting, lines: int, columns: int, score: Score) -> Measured:
    """Score the blocks that bodies enter."""
    shares, halved = np.zeros((2, len(parting.untouched), columns))
    for rows, pieces in parting.halves():
        shares[rows] = score(rows, pieces)
    fine, coarse = parting.lines(lines), parting.lines(lines // 2, most=lines)
    for (rows, pieces), (_, fewer) in zip(fine, coarse, strict=True):
        shares[rows] = score(rows, pieces)
        halved[rows] = shares[rows] - score(rows, fewer)
        parting.check(rows, pieces)
    return Measured(shares, halved)


def score_itself(
    asked: LabelledBlocks, evaluation: Evaluation | SkinEvaluation, unit: int
) -> Score:
    """Return what scores each of the domains of a unit by itself; what none can say is last."""

    def score(rows: Places, pieces: BlockPieces) -> Floats:
        found = np.zeros((len(rows), evaluation.width + 1))
        met = asked.allowed_in(unit, rows, pieces)
        for part, answer in enumerate(evaluation.ask(pieces.chunk())):
            one = answer if met is None else answer.within(met)
            found[:, part] = pieces.add_up(one.inside, len(rows))
            if one.beyond is not None:
                found[:, -1] += pieces.add_up(one.beyond, len(rows))
        return found

    return score


def score_by_order(asked: LabelledBlocks, labeller: Labeller, codes: int) -> Score:
    """Return what scores every label, by its code."""

    def score(rows: Places, pieces: BlockPieces) -> Floats:
        units = range(len(labeller.evaluations))
        met = asked.allowed and [asked.allowed_in(unit, rows, pieces) for unit in units]
        labelled = None if asked.labelled is None else asked.labelled[rows][pieces.block]
        found = labeller.answers(pieces.chunk(), met)
        given: NDArray[np.int32] = labeller.codes(found, np.ones(len(pieces.block), bool), labelled)
        place = pieces.block * codes + given
        total = np.bincount(place, pieces.share, len(rows) * codes)
        return np.asarray(total, np.float64).reshape(len(rows), codes)

    return score
