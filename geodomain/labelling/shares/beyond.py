"""Blocks with a part beyond the footprint of a surface that decides them, however thin it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from geodomain.labelling.evaluate import Evaluation, StackEvaluation, SurfaceEvaluation
from geodomain.labelling.shares.parting import Entered, SizedBlocks
from geodomain.labelling.shares.pieces import Body, Bools, Places
from geodomain.labelling.skins import SkinEvaluation
from geodomain.query.surfaces import ABOVE, BELOW, OFF, sides_of


def beyond_footprint(
    evaluation: Evaluation | SkinEvaluation,
    bodies: Sequence[Body],
    entries: Mapping[int, Entered],
    blocks: SizedBlocks,
    rows: Places,
) -> Bools:
    """Return which blocks have no share in a domain, or in a stack, by itself.

    Lines do not see what is between them, so this is asked of the plan. The surfaces of a stack
    are asked in the order of its rule, each about the blocks that those before it leave open: that
    do not lie whole on the side where the search ends. A block that is open in part counts whole,
    wherever the footprint ends in it.

    Parameters
    ----------
    evaluation : Evaluation
    bodies : sequence of Body
        Its surfaces, from the top.
    entries : mapping of int to Entered
        By the id of a body.
    blocks : SizedBlocks
        n of them.
    rows : (m,) intp
        Those that go along lines; no other counts.

    Returns
    -------
    (n,) bool
    """
    beyond = np.zeros(len(blocks.points), np.bool_)
    if isinstance(evaluation, SurfaceEvaluation):
        extend, erode = evaluation.domain.extend, True
    elif isinstance(evaluation, StackEvaluation):
        extend, erode = evaluation.stack.extend, evaluation.stack.rule == "erode"
    else:
        return beyond
    if extend != "unassigned":
        return beyond
    for body in bodies if erode else reversed(bodies):
        entry = entries[id(body)]
        entered, off = np.zeros((2, len(beyond)), np.bool_)
        entered[entry.rows] = True
        off[entry.rows] = entry.off
        side = sides_of(body.states_at(blocks.points[rows]))
        whole = ~entered[rows]
        beyond[rows[off[rows] | (whole & (side == OFF))]] = True
        rows = rows[~(whole & (side == (ABOVE if erode else BELOW)))]
    return beyond
