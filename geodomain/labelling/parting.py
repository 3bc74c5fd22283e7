"""Proportions of blocks that wireframes enter: exact by volume, or sampled along vertical lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from geodomain.compute.api import BlockAnswer
from geodomain.compute.data import Bools, Floats
from geodomain.errors import DomainError, MeshError
from geodomain.labelling.counts import ROUNDING
from geodomain.labelling.evaluate import (
    Evaluation,
    Shell,
    SkinEvaluation,
    SolidEvaluation,
    StackEvaluation,
    SurfaceEvaluation,
    TiledSurface,
)
from geodomain.labelling.labeller import Labeller, Verdict
from geodomain.labelling.share_pieces import (
    MOST_FITTED,
    WITHIN,
    WITHOUT,
    BlockPieces,
    Body,
    ModelFrame,
    Places,
    States,
    fit,
    may_be_entered,
    pieces_along_lines,
    rake,
    sample_count,
)
from geodomain.mesh.mesh import Mesh
from geodomain.query.surfaces import ABOVE, BELOW, OFF, sides_of
from geodomain.volumes.shares import Shares


class BodyShelf:
    """The bodies (solids and surfaces) of all domains, each made once.

    Raises
    ------
    DomainError
        If a domain has a distance limit, because proportions cannot be computed for it.
    MeshError
        If a solid is open, if its rule is "winding" but the mesh has no winding number, or if a
        surface is closed.
    """

    def __init__(self, labeller: Labeller, frame: ModelFrame, lines: int) -> None:
        self._labeller, self._frame, self._lines = labeller, frame, lines
        self._made: dict[tuple[int, str], Body] = {}
        self._extended = {id(surface) for surface in _extended(labeller.evaluations)}
        self.units = [self._bodies_of(evaluation) for evaluation in labeller.evaluations]
        self.bodies = list(self._made.values())

    def _bodies_of(self, evaluation: Evaluation | SkinEvaluation) -> list[Body]:
        """Return the bodies of one domain or stack."""
        if isinstance(evaluation, SkinEvaluation):
            message = (
                f"{evaluation.domain.name} uses 'within' or 'beyond', but block proportions cannot "
                "be computed for a distance: label by centroids, without proportions= or "
                "by='majority'"
            )
            raise DomainError(message)
        if isinstance(evaluation, SolidEvaluation):
            return [self._solid(shell) for shell in evaluation.shells]
        if isinstance(evaluation, StackEvaluation):
            return [self._surface(surface) for surface in evaluation.surfaces]
        return [self._surface(evaluation.surface)]

    def _solid(self, shell: Shell) -> Body:
        key = (id(shell.locator), shell.rule)
        if not shell.mesh.is_closed:
            message = (
                f"{shell.mesh.name} is not closed, and block proportions need closed solids: "
                "close it, or label by centroids, without proportions= or by='majority'"
            )
            raise MeshError(message)
        if key not in self._made:
            self._made[key] = self._body(shell, shell.mesh, shell.mesh.name)
        return self._made[key]

    def _surface(self, surface: TiledSurface) -> Body:
        key = (id(surface), "")
        if key not in self._made:
            for tile in surface.tiles:
                if tile.is_closed:
                    message = (
                        f"{tile.name} is closed, but the proportion of a block above or below a "
                        "surface needs an open surface: define its domain as a solid"
                    )
                    raise MeshError(message)
            self._made[key] = self._body(surface, merged(surface.tiles), surface.name)
        return self._made[key]

    def _body(self, source: Shell | TiledSurface, mesh: Mesh, name: str) -> Body:
        solid = isinstance(source, Shell)
        local = self._frame.mesh(mesh)
        shares = Shares(
            local,
            "solid" if solid else "below",
            source.rule if isinstance(source, Shell) else "parity",
            self._labeller.settings.backend,
            self._labeller.settings.threads,
            lines=self._lines,
        )
        box = local.bounds.copy()
        if not solid:
            box[:, 2] = -np.inf, np.inf
        return Body(source, shares, box, name, id(source) in self._extended)


def _extended(
    evaluations: Sequence[Evaluation | SkinEvaluation],
) -> Iterator[TiledSurface]:
    """Yield the surfaces that a domain or stack extends beyond their footprint."""
    for evaluation in evaluations:
        if isinstance(evaluation, StackEvaluation) and evaluation.stack.extend == "nearest":
            yield from evaluation.surfaces
        if isinstance(evaluation, SurfaceEvaluation) and evaluation.domain.extend == "nearest":
            yield evaluation.surface


def merged(tiles: Sequence[Mesh]) -> Mesh:
    """Join several meshes into one."""
    if len(tiles) == 1:
        return tiles[0]
    starts = np.cumsum([0, *(len(tile.vertices) for tile in tiles)])
    triangles = [
        tile.triangles + np.int32(start) for tile, start in zip(tiles, starts, strict=False)
    ]
    vertices = np.concatenate([tile.vertices for tile in tiles])
    return Mesh(vertices, np.concatenate(triangles), name=tiles[0].name)


# --- Blocks that wireframes enter: their parts by volume if few bodies enter, else along lines.

_TOGETHER = 1 << 18  # lines cut at a time
MOST_BY_VOLUME = 3  # most bodies for which the parts of a block are computed exactly


class SizedBlocks(NamedTuple):
    """Blocks with their sizes and corners.

    Attributes
    ----------
    points, sizes : (n, 3) float64
        Centroids in world coordinates, and sizes.
    lows, highs : (n, 3) float64
        Lowest and highest corners in the local frame of the blocks.
    usable : (n,) bool
        Whether each block is a box with finite corners and sizes above 0.
    """

    points: Floats
    sizes: Floats
    lows: Floats
    highs: Floats
    usable: Bools

    def around(self, rows: Places) -> Floats:
        """Return a box, (2, 3), in world coordinates around the blocks numbered `rows`."""
        reach = np.sqrt((self.sizes[rows] ** 2).sum(axis=1))[:, None] / 2
        points = self.points[rows]
        return np.stack([(points - reach).min(axis=0), (points + reach).max(axis=0)])

    def near(self, box: Floats) -> Bools:
        """Return which usable blocks meet the inside of a box, (2, 3), in local coordinates."""
        near = self.usable.copy()
        with np.errstate(invalid="ignore"):
            for axis in range(3):  # much faster than one comparison and all(axis=1)
                near &= self.lows[:, axis] < box[1, axis]
                near &= self.highs[:, axis] > box[0, axis]
        return near


def sized_blocks(points: Floats, sizes: Floats, frame: ModelFrame) -> SizedBlocks:
    """Return blocks from world centroids, (n, 3), and sizes along the axes of the frame, (n, 3)."""
    middles = frame.local(points)
    with np.errstate(invalid="ignore", over="ignore"):
        lows, highs = middles - sizes / 2, middles + sizes / 2
        usable = (lows < middles) & (middles < highs) & np.isfinite(lows) & np.isfinite(highs)
    return SizedBlocks(points, sizes, lows, highs, np.asarray(usable.all(axis=1)))


class Entered(NamedTuple):
    """Blocks entered by a body, by its extension, or by the vertical walls through its rim.

    Attributes
    ----------
    rows : (m,) intp
        Numbers of the blocks.
    share : (m,) float64
        Fraction of each block inside or below the body; unknown if the block is partly `off`.
    crossed : (m,) bool
        Whether triangles of the body cross or fold in the block.
    off : (m,) bool
        Whether the block is at or beyond the edge of the body's footprint.
    """

    rows: Places
    share: Floats
    crossed: Bools
    off: Bools


def entry_of(body: Body, blocks: SizedBlocks, frame: ModelFrame) -> Entered:
    """Return the blocks that a body or its extension enters, and their proportions."""
    entered = _entered(body, blocks)
    if not body.extended or not isinstance(body.source, TiledSurface):
        return entered
    rest = blocks.usable.copy()
    rest[entered.rows] = False
    rows = np.flatnonzero(rest)
    rows = rows[may_be_entered(body.source, frame, blocks.lows[rows], blocks.highs[rows])]
    rows = rows[sides_of(body.states_at(blocks.points[rows])) == OFF]
    none = np.zeros(len(rows), np.bool_)
    return Entered(
        np.concatenate([entered.rows, rows]),
        np.concatenate([entered.share, np.zeros(len(rows))]),
        np.concatenate([entered.crossed, none]),
        np.concatenate([entered.off, ~none]),
    )


def _entered(body: Body, blocks: SizedBlocks) -> Entered:
    """Return the blocks that the triangles of a body or the walls through its rim enter."""
    rows = np.flatnonzero(blocks.near(body.box))
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
    """Blocks whose proportions are sampled along vertical lines.

    Attributes
    ----------
    rows : (m,) intp
        Numbers of the blocks.
    pieces : BlockPieces
        Pieces of the blocks. Their shares add up to 1 in each block, and match the exact share of
        each body where it is known.
    in_sample : (p,) float64
        Share of each piece in its block, computed only from the lines of the piece's own sample.
        For each block and each sample, these shares add up to 1.
    patterns : BlockPieces
        For every block and every set of bodies, the part of the block inside these bodies and
        outside the others. The shares of these parts are all 0.
    sure : (m, s) bool
        Whether the share of a body in a block is known exactly.
    copied : (m,) float64
        Fraction of each block in copied pieces. A copied piece stands for a part that no line
        meets.
    """

    rows: Places
    pieces: BlockPieces
    in_sample: Floats
    patterns: BlockPieces
    sure: Bools
    copied: Floats


class Parting:
    """Blocks that bodies enter: some are divided exactly, others are sampled along lines.

    Parameters
    ----------
    blocks : SizedBlocks
    entries : sequence of (Body, Entered)
        Each body, with the blocks that it enters. In a block sampled along lines, the first body
        always gets its exact share. The other bodies get their exact shares only if one division of
        the block can satisfy all bodies.
    frame : ModelFrame

    Attributes
    ----------
    several : (m,) intp
        Numbers of the blocks that are sampled along lines.
    untouched : (n,) bool
        Blocks that no body enters; they belong entirely to the label of their centroid.
    """

    def __init__(
        self, blocks: SizedBlocks, entries: Sequence[tuple[Body, Entered]], frame: ModelFrame
    ) -> None:
        self._blocks, self._entries, self._frame = blocks, entries, frame
        count = len(blocks.points)
        self._number = np.zeros(count, np.intp)
        self._owner = np.full((count, MOST_FITTED), -1, np.intp)
        self._share = np.full((count, MOST_FITTED), np.nan)
        # Shares along lines have an estimated error, and where a surface's footprint ends, part of
        # a block may not be covered.
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
        """Yield, batch by batch, the numbers of blocks and the parts into which bodies cut them.

        The volumes of the parts are exact. Blocks with contradictory volumes are added to
        `several`, so they are sampled along lines.
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
        """Return parts of blocks, one for each combination of inside and outside of bodies."""
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
        """Return the share of each part of each block, and whether each block's parts are valid.

        The number of a part has a bit for each body, which is 1 if the part is inside the body. The
        shares of a block's parts add up to 1. A slightly negative share is a rounding error: the
        shares are corrected, and the first body still has its exact share. A clearly negative share
        shows another fault, and the block is not valid.
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
        for slot in range(bodies):  # parts in a set of bodies, minus those in one more body
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
        """Yield, batch by batch, the blocks that are sampled along lines, with their pieces."""
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
        # If no line meets a body, pieces are copied as if they were on its other side.
        copies = [np.flatnonzero(fitted.flipped) for fitted in (whole, parts)]
        extra = [fitted.piece[some] for fitted, some in zip((whole, parts), copies, strict=True)]
        flipped = [
            fitted.flipped[some] for fitted, some in zip((whole, parts), copies, strict=True)
        ]
        more = pieces.take(np.concatenate([np.arange(count), *extra]))
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
        """Yield each body, and for each piece a bit: that of the body in the piece's block.

        The bit is 0 if the body does not enter the block.
        """
        bits = 1 << np.arange(owner.shape[1])
        for place in np.unique(owner[owner >= 0]).tolist():
            yield self._entries[place][0], ((owner == place) * bits).sum(axis=1)[pieces.block]


def _near(body: Body, box: Floats) -> bool:
    """Return whether a body may decide the label of blocks in a box in world coordinates."""
    return isinstance(body.source, TiledSurface) or not body.source.is_apart(box)


# --- Blocks partly beyond the footprint of a surface that decides them, however narrow the part.


def beyond_footprint(
    evaluation: Evaluation | SkinEvaluation,
    bodies: Sequence[Body],
    entries: Mapping[int, Entered],
    blocks: SizedBlocks,
    rows: Places,
) -> Bools:
    """Return the mask of blocks that have no proportion in a domain or stack on its own.

    Lines would miss a gap that lies between two lines. Therefore footprints are tested in plan. The
    surfaces of a stack are tested in the order of its rule. Each surface is tested for the blocks
    that earlier surfaces leave undecided, even if only a part of the block is undecided.

    Parameters
    ----------
    evaluation : Evaluation
        The domain or stack.
    bodies : sequence of Body
        The surfaces of the domain or stack, from the top.
    entries : mapping of int to Entered
        By id of a body: the blocks that it enters.
    blocks : SizedBlocks
        All n blocks.
    rows : (m,) intp
        Numbers of the blocks sampled along lines; only these are tested.

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


# --- Proportions of blocks from their pieces, for any rule.

# Function from blocks and their pieces to the column of each piece, (m,).
Score = Callable[[Places, BlockPieces], Places]


class LabelledBlocks(NamedTuple):
    """Blocks with the labels of their centroids; masks are as in `Labeller.label`.

    Attributes
    ----------
    blocks : SizedBlocks
    verdict : Verdict
        Labels of the centroids.
    allowed : sequence of (n,) bool or None, optional
        Blocks that meet the conditions of each domain and stack.
    labelled : (n,) bool, optional
        Blocks that already have a label.
    """

    blocks: SizedBlocks
    verdict: Verdict
    allowed: Sequence[Bools | None] | None
    labelled: Bools | None

    def allowed_in(self, unit: int, rows: Places, pieces: BlockPieces) -> Bools | None:
        """Return the mask of pieces that meet the conditions of a domain or stack; None for all."""
        met = None if self.allowed is None else self.allowed[unit]
        return None if met is None else met[rows][pieces.block]


class Measured(NamedTuple):
    """Proportions of some blocks.

    Attributes
    ----------
    rows : (m,) intp
        Numbers of the blocks.
    shares : (m, c) float64
        Share of each block in each of c columns, which are domains or labels.
    off : (s, m, c) float64, optional
        For blocks sampled along lines: the shares by each sample of lines, minus `shares`.
    unseen : (m, c) float64, optional
        For the same blocks: the share that lines may miss.
    """

    rows: Places
    shares: Floats
    off: Floats | None = None
    unseen: Floats | None = None


def measure(parting: Parting, lines: int, columns: int, score: Score) -> Iterator[Measured]:
    """Yield, batch by batch, the proportions of blocks that bodies enter.

    `score` gives the column of each piece, from 0 to `columns` - 1.
    """
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
    """Return, for each block and column, whether the column's share is estimated.

    Parameters
    ----------
    patterns : (2**s, blocks) intp
        For each set of bodies, the column of the part inside these bodies and outside the others.
    sure : (blocks, s) bool
        Whether the share of a body is known exactly.
    columns : int
        Number of columns.

    Returns
    -------
    (blocks, columns) bool
        False if the share of the column follows from the known share of a single body.
    """
    count = patterns.shape[1]
    several, single, unsure = np.zeros((3, count, columns), np.bool_)
    for slot in range(sure.shape[1]):
        parted = patterns.reshape(-1, 2, 1 << slot, count)
        here = np.zeros((count, columns), np.bool_)
        for side, other in ((0, 1), (1, 0)):
            differ = np.nonzero(parted[:, side] != parted[:, other])
            here[differ[2], parted[:, side][differ]] = True
        unsure |= here & ~sure[:, slot, None]
        several |= single & here
        single |= here
    return several | unsure


def _sums(place: Places, share: Floats, count: int, columns: int) -> Floats:
    total = np.bincount(place, share, count * columns)
    return np.clip(total.reshape(count, columns), 0.0, 1.0)


def score_itself(
    batch: LabelledBlocks, evaluation: Evaluation | SkinEvaluation, unit: int
) -> Score:
    """Return a function that assigns pieces to columns, for one domain or the layers of a stack.

    The columns are the domain or the layers, then undecided pieces, then all other pieces.
    """
    width = evaluation.width

    def score(rows: Places, pieces: BlockPieces) -> Places:
        column = np.full(len(pieces.block), width + 1, np.intp)
        met = batch.allowed_in(unit, rows, pieces)
        for part, answer in enumerate(evaluation.ask(pieces.chunk())):
            limited = answer if met is None else answer.within(met)
            column[limited.inside] = part
            if limited.beyond is not None:
                column[limited.beyond] = width
        return column

    return score


def score_by_order(batch: LabelledBlocks, labeller: Labeller) -> Score:
    """Return a function that gives the code of the label of each piece, by domain order."""

    def score(rows: Places, pieces: BlockPieces) -> Places:
        units = range(len(labeller.evaluations))
        met = batch.allowed and [batch.allowed_in(unit, rows, pieces) for unit in units]
        labelled = None if batch.labelled is None else batch.labelled[rows][pieces.block]
        answers = labeller.answers(pieces.chunk(), met)
        codes = labeller.codes(answers, np.ones(len(pieces.block), bool), labelled)
        return codes.astype(np.intp)

    return score
