"""Cut blocks into pieces along vertical lines, in the frame in which blocks are axis-aligned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, CachedPoints, Floats
from geodomain.compute.meshes import line_places
from geodomain.errors import TableError
from geodomain.labelling.evaluate import BlockChunk, Shell, TiledSurface
from geodomain.mesh.mesh import Mesh
from geodomain.query.surfaces import ABOVE, BELOW, sides_of
from geodomain.tables.frames import turned
from geodomain.volumes.shares import Shares

_SQUARE, _UPRIGHT = 1e-9, 1e-12


class ModelFrame(NamedTuple):
    """Local frame of a model, in which blocks are aligned with the axes.

    Attributes
    ----------
    axes : (3, 3) float64
        Directions of the block edges, one in each row.
    origin : (3,) float64
        Origin of the frame in world coordinates. It is near the meshes, to keep rounding small.
    """

    axes: Floats
    origin: Floats

    @property
    def is_world(self) -> bool:
        """Whether blocks are aligned with the world axes."""
        return bool((self.axes == np.eye(3)).all())

    def local(self, points: Floats) -> Floats:
        """Convert world coordinates, (n, 3), to this frame."""
        if self.is_world:
            return points
        return turned(points, self.axes, (0.0, 0.0, 0.0), self.origin.tolist())

    def world(self, points: Floats) -> Floats:
        """Convert coordinates of this frame, (n, 3), to world coordinates."""
        return points if self.is_world else turned(points, self.axes.T, self.origin.tolist())

    def mesh(self, mesh: Mesh) -> Mesh:
        """Convert a mesh from world coordinates to this frame."""
        if self.is_world:
            return mesh
        vertices = np.ascontiguousarray(self.local(mesh.vertices))
        return Mesh(vertices, mesh.triangles, name=mesh.name)


def model_frame(axes: Floats, origin: Floats, *, has_surfaces: bool, name: str) -> ModelFrame:
    """Return the frame of a model whose block edges have these directions.

    Raises
    ------
    TableError
        If blocks are not boxes; or if there are surfaces and the blocks are tilted, because
        "above" is then not along a block edge.
    """
    if not np.abs(axes @ axes.T - np.eye(3)).max() <= _SQUARE:
        message = (
            f"{name}: the block edges are not at right angles, so block proportions "
            "cannot be computed: label by centroids, without proportions= or by='majority'"
        )
        raise TableError(message)
    if has_surfaces and not np.abs(axes[2] - (0.0, 0.0, 1.0)).max() <= _UPRIGHT:
        message = (
            f"{name} is tilted about x or y, so its block proportions can only be computed "
            "inside solids, not above or below surfaces: use only solids, or label by centroids"
        )
        raise TableError(message)
    return ModelFrame(axes, origin)


# --- Pieces of blocks, each on one side of every wireframe; domain rules treat them like blocks.

Places = NDArray[np.intp]
# States of positions (n, 2): for a solid 1 inside, and 0; for a surface its crossings above and
# below.
States = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Body:
    """A solid or surface that divides blocks.

    Attributes
    ----------
    source : Shell or TiledSurface
        Mesh or surface used by the domain rules.
    shares : Shares
        Computes the volumes of blocks inside or below the body.
    box : (2, 3) float64
        Box in the frame of the blocks; unbounded along z for a surface.
    name : str
        Name of the mesh, or of the first tile of a surface.
    extended : bool
        Whether a domain extends the surface beyond its footprint, at the height of the rim.
    """

    source: Shell | TiledSurface
    shares: Shares
    box: Floats
    name: str
    extended: bool = False

    def states_at(self, points: Floats) -> States:
        """Return the state of each point in world coordinates: a pair of numbers, (n, 2).

        For a solid, the state is (1, 0) for a point inside and (0, 1) for a point outside. For a
        surface, the state is the number of crossings above the point, and the number below it.
        """
        if isinstance(self.source, TiledSurface):
            return sum(
                (locator.count_sides(points) for locator in self.source.locators),
                np.zeros((len(points), 2), np.int32),
            )
        inside = self.source.locator.contains(points, rule=self.source.rule)
        return _solid(inside)

    def states_along(self, above: NDArray[np.int32], signs: States, below: States) -> States:
        """Return the states of points, as `states_at`, from the crossings above and below them.

        `above` and `below` are the numbers of crossings, and `signs` are the sums of the signs of
        the crossings above.
        """
        if isinstance(self.source, TiledSurface):
            return np.stack([above, below], axis=1).astype(np.int32)
        return _solid(signs != 0 if self.source.rule == "winding" else (above & 1) == 1)

    def within(self, states: States) -> Bools:
        """Return the mask of points inside a solid, or below a surface, from their states."""
        if isinstance(self.source, TiledSurface):
            return np.asarray(sides_of(states) == BELOW)
        return np.asarray(states[:, 0] != 0)


# A state inside or below, and one on the other side: for solids and surfaces.
WITHIN, WITHOUT = (1, 0), (0, 1)


def _solid(inside: Bools) -> States:
    return np.stack([inside, ~inside], axis=1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class BlockPieces:
    """Pieces of blocks, and their positions relative to wireframes.

    Attributes
    ----------
    block : (m,) intp
        Number of the block of each piece.
    share : (m,) float64
        Fraction of the block, 0 to 1.
    points : (m, 3) float64
        A point in each piece, in world coordinates.
    states : sequence of (Body, States)
        For each nearby wireframe, the states of the pieces; see `Body.states_at`.
    box : (2, 3) float64
        Box around all the blocks, in world coordinates.
    extended : dict of int to (m,) int8
        By id of a surface: for each piece beyond the footprint, 1 above the extended surface and -1
        below it, if known.
    sample : (m,) intp, optional
        For pieces of lines: number of the sample to which the line belongs, from 0.
    """

    block: Places
    share: Floats
    points: Floats
    states: Sequence[tuple[Body, States]]
    box: Floats
    extended: Mapping[int, NDArray[np.int8]] = field(default_factory=dict)
    sample: Places | None = None

    def chunk(self) -> AnsweredChunk:
        """Return the pieces as a chunk of blocks for the domain rules."""
        return AnsweredChunk(self)

    def of(self, body: Body) -> States:
        """Return the states of the pieces for a nearby wireframe; see `Body.states_at`."""
        return next(states for other, states in self.states if other is body)

    def take(self, rows: Places) -> BlockPieces:
        """Return copies of the pieces with these numbers."""
        return BlockPieces(
            self.block[rows],
            self.share[rows],
            self.points[rows],
            [(body, states[rows]) for body, states in self.states],
            self.box,
            {surface: sides[rows] for surface, sides in self.extended.items()},
            None if self.sample is None else self.sample[rows],
        )


class AnsweredChunk(BlockChunk):
    """A chunk of points whose positions relative to nearby wireframes are known."""

    doubles = False

    def __init__(self, pieces: BlockPieces) -> None:
        super().__init__(pieces.points, CachedPoints(pieces.points))
        self.box = pieces.box
        self.extended.update(pieces.extended)
        for body, states in pieces.states:
            if isinstance(body.source, TiledSurface):
                self._counts[id(body.source)] = states
            else:
                self.members[id(body.source.locator), body.source.rule] = states[:, 0] != 0


# --- Surfaces extended beyond their footprint, at the height of the nearest rim point.


def may_be_entered(surface: TiledSurface, frame: ModelFrame, lows: Floats, highs: Floats) -> Bools:
    """Return a mask, (n,), of the blocks that a surface extended beyond its rim might enter.

    A block is compared with the heights of all rim points that may be nearest to some point of
    its plan.

    Parameters
    ----------
    surface : TiledSurface
        Surface with a rim.
    frame : ModelFrame
        Frame of the blocks; not tilted.
    lows, highs : (n, 3) float64
        Lowest and highest corners of the blocks in their frame.
    """
    extension = surface.extension
    plans, which = _plans(lows, highs)
    middles, reach = _around(plans)
    lowest, highest = extension.heights_near(_in_world(frame, middles), reach)
    base = _base(frame)
    mask: Bools = (lows[:, 2] < (highest - base)[which]) & (highs[:, 2] > (lowest - base)[which])
    return mask


def heights_along(
    surface: TiledSurface, frame: ModelFrame, lows: Floats, highs: Floats, lines: int, wanted: Bools
) -> Floats:
    """Return the height above the block's floor at which each line meets an extended surface.

    Parameters
    ----------
    surface, frame, lows, highs
        As in `may_be_entered`.
    lines : int
        Square root of the number of lines in a block.
    wanted : (n * lines * lines,) bool
        Lines that miss the surface itself.

    Returns
    -------
    (n * lines * lines,) float64
        NaN for lines that are not `wanted`.
    """
    above_floor = np.full((len(lows), lines * lines), np.nan)
    rows = np.flatnonzero(wanted.reshape(above_floor.shape).any(axis=1))
    plans, which = _plans(lows[rows], highs[rows])
    middles, reach = _around(plans)
    low, high = plans[:, None, :2], plans[:, None, 2:]
    places = low + (high - low) * line_places(lines)  # (plans, lines * lines, 2)
    world = _in_world(frame, places.reshape(-1, 2)).reshape(places.shape)
    heights = surface.extension.heights_in(_in_world(frame, middles), reach, world)
    above_floor[rows] = heights[which] - _base(frame) - lows[rows, 2][:, None]
    return np.where(wanted, above_floor.reshape(-1), np.nan)


def sides_along(heights: Floats, places: Floats) -> NDArray[np.int8]:
    """Return the side of points on lines: above or below a surface.

    If the surface's height is NaN, the point counts as below. The heights of the surface and of the
    points are measured from the same floors.
    """
    return np.where(places >= heights, ABOVE, BELOW).astype(np.int8)


def _plans(lows: Floats, highs: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return the distinct plans of blocks, and the index of each block's plan among them.

    A plan is the low x and y, and the high x and y, of a block.
    """
    corners = np.concatenate([lows[:, :2], highs[:, :2]], axis=1)
    plans, which = np.unique(corners, axis=0, return_inverse=True)
    return plans, which.reshape(-1)


def _around(plans: Floats) -> tuple[Floats, Floats]:
    """Return the centre of each plan, and the radius of a circle around it that covers the plan."""
    side = plans[:, 2:] - plans[:, :2]
    return plans[:, :2] + side / 2, np.sqrt((side * side).sum(axis=1)) * (0.5 * (1 + 1e-9))


def _in_world(frame: ModelFrame, places: Floats) -> Floats:
    """Convert plan positions, (n, 2), from the frame to world coordinates."""
    level = np.concatenate([places, np.zeros((len(places), 1))], axis=1)
    return np.ascontiguousarray(frame.world(level)[:, :2])


def _base(frame: ModelFrame) -> float:
    """Return the height of local z = 0 in world coordinates, for a frame that is not tilted."""
    return 0.0 if frame.is_world else float(frame.origin[2])


# --- Weights of line pieces, fitted so that each wireframe has its exact share of each block.

# Largest number of wireframes fitted in a block; the first in domain order.
MOST_FITTED = 6
_SWEEPS, _ENOUGH = 200, 1e-13


class Fitted(NamedTuple):
    """Pieces with fitted weights: the original pieces, and copies on the other side of wireframes.

    Attributes
    ----------
    piece : (m,) intp
        Number of the original piece.
    flipped : (m,) intp
        For a copy: bits of the wireframes that separate the copy from its original. For an original
        piece: 0.
    weight : (m,) float64
    """

    piece: Places
    flipped: Places
    weight: Floats


def fit(group: Places, weight: Floats, pattern: Places, shares: Floats) -> Fitted:
    """Weigh pieces so that each wireframe has its exact share in each group.

    Parameters
    ----------
    group : (m,) intp
        The group of each piece: a block, or the lines of one sample in a block.
    weight : (m,) float64
        Weights, which add up to 1 in each group.
    pattern : (m,) intp
        Bits of the wireframes that a piece is inside.
    shares : (g, s) float64
        Share of each wireframe in each group; NaN if unknown. The fitted weights give the first
        wireframe its exact share, even if the other wireframes cannot have theirs.
    """
    groups, slots = shares.shape
    cells = 1 << slots
    cell = group * cells + pattern
    counts: Floats = np.bincount(cell, weight, groups * cells).astype(np.float64)
    counted = counts.reshape(groups, cells)
    table, missed = _spread(counted, shares)
    rake(table, shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.where(counted > 0, 1.0 / counted, 0.0).reshape(-1)[cell] * weight
    weighted = [
        (np.arange(len(group)), np.zeros(len(group), np.intp), unit * table.reshape(-1)[cell])
    ]
    for flip in range(1, cells):
        some = np.flatnonzero((missed[group] & flip) == flip)
        if len(some):
            there = table.reshape(-1)[group[some] * cells + (pattern[some] ^ flip)]
            weighted.append((some, np.full(len(some), flip, np.intp), unit[some] * there))
    piece, flipped, weights = (np.concatenate(parts) for parts in zip(*weighted, strict=True))
    return Fitted(piece, flipped, weights)


def _halves(table: Floats, slot: int) -> tuple[Floats, Floats]:
    """Return two views of the table: the entries outside a wireframe, and the entries inside."""
    parted = table.reshape(len(table), -1, 2, 1 << slot)
    return parted[:, :, 0], parted[:, :, 1]


def _spread(counted: Floats, shares: Floats) -> tuple[Floats, Places]:
    """Spread weights to both sides of each wireframe that has all weight on one side.

    Return a tuple: the new table, and for each group the bits of these wireframes.
    """
    table, missed = counted.copy(), np.zeros(len(counted), np.intp)
    for slot in range(shares.shape[1]):
        share = shares[:, slot]
        without, within = _halves(table, slot)
        lacking = (share > 0) & (share < 1)
        lacking &= (within.sum(axis=(1, 2)) == 0) | (without.sum(axis=(1, 2)) == 0)
        missed[lacking] |= 1 << slot
        both, part = (without + within)[lacking], share[lacking, None, None]
        without[lacking], within[lacking] = both * (1.0 - part), both * part
    return table, missed


def rake(table: Floats, shares: Floats) -> None:
    """Scale the weights of each group, (g, 2**s), until each wireframe has its share.

    A weight belongs to one combination of inside and outside of the s wireframes. The first
    wireframe is scaled last. A wireframe without weight on one of its sides is skipped.
    """
    for _ in range(_SWEEPS):
        worst = 0.0
        for slot in reversed(range(shares.shape[1])):
            share = shares[:, slot]
            without, within = _halves(table, slot)
            out, inside = without.sum(axis=(1, 2)), within.sum(axis=(1, 2))
            can = np.isfinite(share) & (out > 0) & (inside > 0)
            worst = max(worst, float(np.abs(inside - share)[can].max(initial=0.0)))
            with np.errstate(divide="ignore", invalid="ignore"):
                within *= np.where(can, share / inside, 1.0)[:, None, None]
                without *= np.where(can, (1.0 - share) / out, 1.0)[:, None, None]
        if worst <= _ENOUGH:
            return


# --- Blocks along vertical lines, cut at every wireframe: exact in z, sampled only in plan.

# Every sixth line is also well distributed: six times the golden section is far from all simple
# ratios.
SAMPLES = 6


class _Cuts(NamedTuple):
    """Crossings of lines with one body.

    `counts`, (lines, 4), holds, for each line: the number of crossings above the block, the sum of
    their signs, and the numbers of crossings within and below the block. The other fields describe
    the crossings within blocks, line by line, from the top.
    """

    counts: States
    line: Places
    height: Floats
    sign: NDArray[np.int8]

    @property
    def is_off(self) -> Bools:
        """The mask of lines that cross the body neither in, nor above, nor below their block."""
        above, _, within, below = self.counts.T
        return np.asarray((above | within | below) == 0)


def pieces_along_lines(
    bodies: Sequence[Body], frame: ModelFrame, lows: Floats, highs: Floats, lines: int, box: Floats
) -> BlockPieces:
    """Cut blocks into pieces along ``lines * lines`` vertical lines each; see `line_places`.

    Parameters
    ----------
    bodies : sequence of Body
        All bodies that may cut the blocks.
    frame : ModelFrame
        Frame of the blocks.
    lows, highs : (n, 3) float64
        Lowest and highest corners of the blocks in their frame.
    lines : int
        Square root of the number of lines in a block.
    box : (2, 3) float64
        Box around the blocks, in world coordinates.

    Returns
    -------
    BlockPieces
        Intervals of lines, each from one cut to the next.
    """
    all_cuts = [_cuts(body, lows, highs, lines) for body in bodies]
    count = len(lows) * lines * lines
    levels = {
        place: heights_along(body.source, frame, lows, highs, lines, all_cuts[place].is_off)
        for place, body in enumerate(bodies)
        if body.extended and isinstance(body.source, TiledSurface)
    }
    all_cuts += [_level_cuts(heights, highs[:, 2] - lows[:, 2]) for heights in levels.values()]
    each = [cuts.line for cuts in all_cuts]
    owner = np.repeat(np.arange(len(all_cuts)), [len(part) for part in each])
    empty: Places = np.empty(0, np.intp)
    line = np.concatenate([empty, *each])
    height = np.concatenate([np.empty(0), *(cuts.height for cuts in all_cuts)])
    sign = np.concatenate([np.empty(0, np.int8), *(cuts.sign for cuts in all_cuts)])
    order = np.lexsort((-height, line))
    owner, line, height, sign = owner[order], line[order], height[order], sign[order]
    # The piece under a cut: each line has one more piece than cuts.
    under = np.arange(len(line)) + line + 1
    of_line = np.repeat(np.arange(count), 1 + np.bincount(line, minlength=count))
    block = of_line // (lines * lines)
    roof = (highs[:, 2] - lows[:, 2])[block]
    upper, lower = roof.copy(), np.zeros(len(block))
    upper[under], lower[under - 1] = height, height
    states = [
        (body, _states(body, cuts, of_line, under[owner == place], sign[owner == place]))
        for place, (body, cuts) in enumerate(zip(bodies, all_cuts, strict=False))
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
    """Return the number of samples into which lines are divided for error estimates."""
    return min(SAMPLES, lines * lines // 2)


def _cuts(body: Body, lows: Floats, highs: Floats, lines: int) -> _Cuts:
    counts, height, sign = body.shares.cuts(lows, highs, lines)
    return _Cuts(counts, np.repeat(np.arange(len(counts)), counts[:, 2]), height, sign)


def _level_cuts(heights: Floats, roofs: Floats) -> _Cuts:
    """Return the crossings, within blocks, of lines with the extension of a surface."""
    roof = np.repeat(roofs, len(heights) // len(roofs)) if len(roofs) else roofs
    line = np.flatnonzero((heights > 0) & (heights < roof))
    return _Cuts(np.empty((0, 4), np.int32), line, heights[line], np.zeros(len(line), np.int8))


def _states(
    body: Body, cuts: _Cuts, of_line: Places, under: Places, sign: NDArray[np.int8]
) -> States:
    """Return the states of all pieces (see `Body.states_at`), from the cuts above each piece."""
    steps, signs = np.zeros((2, len(of_line)), np.int32)
    steps[under], signs[under] = 1, sign
    first = np.flatnonzero(np.diff(of_line, prepend=-1))
    passed, signed = (_since(values, first, of_line) for values in (steps, signs))
    above, up, within, below = cuts.counts[of_line].T
    return body.states_along(above + passed, up + signed, below + within - passed)


def _since(values: NDArray[np.int32], first: Places, of_line: Places) -> NDArray[np.int32]:
    """Return cumulative sums along each line, from 0 at the first piece of the line."""
    total = np.cumsum(values, dtype=np.int64)
    since: NDArray[np.int32] = (total - total[first][of_line]).astype(np.int32)
    return since


def _middles(lows: Floats, highs: Floats, lines: int, of_line: Places, height: Floats) -> Floats:
    """Return the midpoints of the pieces in the frame of the blocks."""
    block, place = of_line // (lines * lines), of_line % (lines * lines)
    points = np.empty((len(block), 3), order="F")
    for axis, part in enumerate(line_places(lines)[place].T):
        low, high = lows[:, axis], highs[:, axis]
        points[:, axis] = low[block] + (high - low)[block] * part
    points[:, 2] = lows[:, 2][block] + height
    return points
