"""Blocks along vertical lines, cut wherever a wireframe is: exact in z, sampled in plan alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.overlay import line_places
from geodomain.labelling.chunk import TiledSurface
from geodomain.labelling.shares.extending import heights_along, sides_along
from geodomain.labelling.shares.model_frame import ModelFrame
from geodomain.labelling.shares.pieces import BlockPieces, Body, Places, States

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Every sixth line is well spread too: six times the golden section is far from all short ratios.
SAMPLES = 6


class _Cuts(NamedTuple):
    """What the lines cross of one body: counts (lines, 4), and crossings in their order."""

    counts: States
    line: Places
    height: Floats
    sign: NDArray[np.int8]

    @property
    def is_off(self) -> Bools:
        """Which lines cross nothing, in the blocks, over or under them."""
        above, _, within, below = self.counts.T
        return np.asarray((above | within | below) == 0)


def pieces_along_lines(
    bodies: Sequence[Body], frame: ModelFrame, lows: Floats, highs: Floats, lines: int, box: Floats
) -> BlockPieces:
    """Cut blocks along lines times lines vertical lines each, where `line_places` has them.

    Parameters
    ----------
    bodies : sequence of Body
        Everything that may cut them.
    frame : ModelFrame
        Of the blocks.
    lows, highs : (n, 3) float64
        Corners of the blocks in their frame.
    lines : int
        The root of their number.
    box : (2, 3) float64
        Around the blocks, in the world.

    Returns
    -------
    BlockPieces
        Intervals of lines, each from one cut to the next.
    """
    found = [_cuts(body, lows, highs, lines) for body in bodies]
    count = len(lows) * lines * lines
    levels = {
        place: heights_along(body.source, frame, lows, highs, lines, found[place].is_off)
        for place, body in enumerate(bodies)
        if body.extended and isinstance(body.source, TiledSurface)
    }
    found += [_level_cuts(heights, highs[:, 2] - lows[:, 2]) for heights in levels.values()]
    each = [cuts.line for cuts in found]
    owner = np.repeat(np.arange(len(found)), [len(one) for one in each])
    empty: Places = np.empty(0, np.intp)
    line = np.concatenate([empty, *each])
    height = np.concatenate([np.empty(0), *(cuts.height for cuts in found)])
    sign = np.concatenate([np.empty(0, np.int8), *(cuts.sign for cuts in found)])
    order = np.lexsort((-height, line))
    owner, line, height, sign = owner[order], line[order], height[order], sign[order]
    # The piece under a cut: there is one more on each line than cuts.
    under = np.arange(len(line)) + line + 1
    of_line = np.repeat(np.arange(count), 1 + np.bincount(line, minlength=count))
    block = of_line // (lines * lines)
    roof = (highs[:, 2] - lows[:, 2])[block]
    upper, lower = roof.copy(), np.zeros(len(block))
    upper[under], lower[under - 1] = height, height
    states = [
        (body, _states(body, cuts, of_line, under[owner == place], sign[owner == place]))
        for place, (body, cuts) in enumerate(zip(bodies, found, strict=False))
    ]
    middle = (upper + lower) / 2
    extended = {
        id(bodies[place].source): sides_along(heights[of_line], middle)
        for place, heights in levels.items()
    }
    share = (upper - lower) / roof / (lines * lines)
    points = _middles(lows, highs, lines, of_line, middle)
    sample = of_line % (lines * lines) % sample_count(lines)
    return BlockPieces(block, share, frame.world(points), states, box, extended, sample)


def sample_count(lines: int) -> int:
    """Return into how many samples lines are parted, to see how far these differ."""
    return min(SAMPLES, lines * lines // 2)


def _cuts(body: Body, lows: Floats, highs: Floats, lines: int) -> _Cuts:
    counts, height, sign = body.shares.cuts(lows, highs, lines)
    return _Cuts(counts, np.repeat(np.arange(len(counts)), counts[:, 2]), height, sign)


def _level_cuts(heights: Floats, roofs: Floats) -> _Cuts:
    """Return where lines meet an extended surface inside of their blocks."""
    roof = np.repeat(roofs, len(heights) // len(roofs)) if len(roofs) else roofs
    line = np.flatnonzero((heights > 0) & (heights < roof))
    return _Cuts(np.empty((0, 4), np.int32), line, heights[line], np.zeros(len(line), np.int8))


def _states(
    body: Body, cuts: _Cuts, of_line: Places, under: Places, sign: NDArray[np.int8]
) -> States:
    """Return the states of all pieces, by the cuts above each of them."""
    steps, signs = np.zeros((2, len(of_line)), np.int32)
    steps[under], signs[under] = 1, sign
    first = np.flatnonzero(np.diff(of_line, prepend=-1))
    passed, signed = (_since(values, first, of_line) for values in (steps, signs))
    above, up, within, below = cuts.counts[of_line].T
    return body.states_along(above + passed, up + signed, below + within - passed)


def _since(values: NDArray[np.int32], first: Places, of_line: Places) -> NDArray[np.int32]:
    """Sum along each line, from its first piece on, which has none."""
    total = np.cumsum(values, dtype=np.int64)
    found: NDArray[np.int32] = (total - total[first][of_line]).astype(np.int32)
    return found


def _middles(lows: Floats, highs: Floats, lines: int, of_line: Places, height: Floats) -> Floats:
    """Return the middles of the pieces, in the frame of the blocks."""
    block, place = of_line // (lines * lines), of_line % (lines * lines)
    points = np.empty((len(block), 3), order="F")
    for axis, part in enumerate(line_places(lines)[place].T):
        low, high = lows[:, axis], highs[:, axis]
        points[:, axis] = low[block] + (high - low)[block] * part
    points[:, 2] = lows[:, 2][block] + height
    return points
