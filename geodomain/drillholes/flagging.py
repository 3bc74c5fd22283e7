"""Label intervals of holes by their middle or by majority, or cut them at every wall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import (
    ConditionCounts,
    allowed_rows,
    condition_columns,
    unmet_in,
)
from geodomain.drillholes.crossings import cross_walls
from geodomain.drillholes.curves import HolePaths
from geodomain.drillholes.findings import Finding, note
from geodomain.drillholes.intervals import Intervals
from geodomain.errors import DomainError, warn
from geodomain.labelling.labeller import LOST, Labeller
from geodomain.mesh.edges import rim
from geodomain.mesh.mesh import Mesh
from geodomain.tables.text import TextRows

By = Literal["middle", "majority", "split"]
BY: tuple[By, ...] = ("middle", "majority", "split")
_PART = 1 << 18


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of intervals between walls; each interval has at least one part.

    Attributes
    ----------
    rows : (p,) intp
        Index of the interval of each part, ascending.
    begins, ends : (p,) float64
        Depths; the first part of an interval begins at its FROM, and the last part ends at its TO.
    codes : (p,) intp
        Domain code of each part, as in `Verdict`: 0 to k - 1 for k domains, larger for background
        and other cases.
    """

    rows: NDArray[np.intp]
    begins: Floats
    ends: Floats
    codes: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Flags:
    """Domains and middle points of intervals.

    Attributes
    ----------
    codes : (n,) intp
        Domain code of each interval, as in `Verdict`: 0 to k - 1 for k domains, larger for
        background and other cases.
    middles : (n, 3) float64
        Middle point of each interval; NaN if the interval cannot be used.
    """

    codes: NDArray[np.intp]
    middles: Floats


def flag_middles(
    holes: HolePaths, rows: Intervals, labeller: Labeller, counts: ConditionCounts | None = None
) -> Flags:
    """Label each interval by the point of its hole halfway between FROM and TO.

    `counts` receives the counts of `allowed_in`.
    """
    usable = np.flatnonzero(rows.usable)
    middles = np.full((len(rows.holes), 3), np.nan)
    depths = 0.5 * (rows.starts[usable] + rows.ends[usable])
    middles[usable] = holes.points_at(rows.holes[usable], depths)
    codes = _codes_of(labeller, middles, allowed_in(labeller, rows, counts))
    return Flags(codes, middles)


def flag_parts(
    holes: HolePaths, rows: Intervals, labeller: Labeller, counts: ConditionCounts | None = None
) -> Parts:
    """Cut each usable interval at every wall, and label each part by its middle point.

    `counts` receives the counts of `allowed_in`.
    """
    used = np.unique(rows.holes[rows.usable])
    walls = wall_depths(holes, labeller, used)
    usable = np.flatnonzero(rows.usable)
    owners, begins, ends = cut_at(
        rows.holes[usable], rows.starts[usable], rows.ends[usable], *walls
    )
    parts = usable[owners]
    allowed = allowed_in(labeller, rows, counts)
    codes = np.empty(len(parts), np.intp)
    for begin in range(0, len(parts), _PART):
        some = slice(begin, begin + _PART)
        middles = holes.points_at(rows.holes[parts[some]], 0.5 * (begins[some] + ends[some]))
        part_allowed = allowed and [None if mask is None else mask[parts[some]] for mask in allowed]
        codes[some] = labeller.label(middles, part_allowed).codes
    return Parts(parts, begins, ends, codes)


def label_gaps(
    holes: HolePaths, rows: Intervals, labeller: Labeller
) -> tuple[NDArray[np.intp], Parts]:
    """Cut and label the gaps above, between and below the intervals of each hole.

    Returns
    -------
    holes : (g,) intp
        Hole of each gap; only holes with an interval have gaps.
    parts : Parts
        Parts of gaps; their `rows` are indices of gaps. A gap is never in a domain that has
        conditions on columns.
    """
    order = rows.order
    owners, starts, ends = rows.holes[order], rows.starts[order], rows.ends[order]
    first = np.diff(owners, prepend=-1) != 0
    last = np.append(first[1:], True)[: len(first)]
    above = np.where(first, 0.0, np.append(0.0, ends[:-1])[: len(ends)])
    gap_holes = np.concatenate([owners, owners[last]])
    begins = np.concatenate([above, ends[last]])
    stops = np.concatenate([starts, holes.ends[owners[last]]])
    real = stops > begins
    gap_holes, begins, stops = gap_holes[real], begins[real], stops[real]
    walls = wall_depths(holes, labeller, np.unique(owners))
    pieces, begins, stops = cut_at(gap_holes, begins, stops, *walls)
    middles = holes.points_at(gap_holes[pieces], 0.5 * (begins + stops))
    never = np.zeros(len(pieces), np.bool_)
    allowed = [never if some else None for _, some in labeller.domains.conditions]
    codes = _codes_of(
        labeller, middles, allowed if any(mask is never for mask in allowed) else None
    )
    return gap_holes, Parts(pieces, begins, stops, codes)


def without_domain(
    rows: Intervals, pieces: NDArray[np.intp], codes: NDArray[np.intp], labeller: Labeller
) -> list[Finding]:
    """Return a finding about samples with a position on a hole but without a domain.

    Parameters
    ----------
    rows : Intervals
        The samples.
    pieces, codes : (m,) intp
        Interval and domain code of each piece.
    labeller : Labeller
        The domains.
    """
    findings: list[Finding] = []
    lost = (codes >= len(labeller.targets) + LOST) & rows.usable[pieces]
    samples = np.unique(pieces[lost]).tolist()
    order, ids = rows.table.ids
    note(findings, "sample-unassigned", [ids[order[row]] for row in samples],
         lambda number: f"at {rows.starts[samples[number]]:g}")  # fmt: skip
    return findings


def majority(rows: Intervals, parts: Parts, labeller: Labeller) -> NDArray[np.intp]:
    """Return the domain code with the greatest length in each interval.

    If several domains have this length, the domain that comes first in their order is taken.
    """
    width = len(labeller.targets) + 8
    keys, where = np.unique(parts.rows * width + parts.codes, return_inverse=True)
    lengths = np.bincount(where, weights=parts.ends - parts.begins)
    owners, codes = keys // width, keys % width
    order = np.lexsort((codes, -lengths, owners))
    first = order[np.flatnonzero(np.diff(owners[order], prepend=-1))]
    winners = np.full(len(rows.holes), len(labeller.targets) + LOST, np.intp)
    winners[owners[first]] = codes[first]
    return winners


def wall_depths(
    holes: HolePaths, labeller: Labeller, used: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Floats]:
    """Return the hole and depth of each crossing with a domain's wall, sorted by hole and depth.

    A hole may also change its domain above or below the rim of a surface, without crossing a mesh.
    Therefore a vertical curtain through the rim counts as a wall. For holes that are not in `used`,
    no crossings are returned.

    Raises
    ------
    DomainError
        If a domain uses 'within' or 'beyond', because a limit of distance is not a wall.
    """
    for domain in labeller.domains:
        if domain.is_skin:
            message = (
                f"{domain.name} uses 'within' or 'beyond', but intervals cannot be cut at a "
                "distance from a wireframe: use by='middle', or leave the domain out"
            )
            raise DomainError(message)
    ends = np.zeros(len(holes))
    ends[used] = np.inf
    ends = np.minimum(ends, _reach(holes))
    settings = labeller.settings
    crossings = [
        cross_walls(holes.curves, ends, mesh, backend=settings.backend, threads=settings.threads)
        for mesh in [*labeller.domains.placed, *_curtains_of(labeller, holes, ends)]
    ]
    owners = np.concatenate([np.empty(0, np.intp), *(each.holes for each in crossings)])
    depths = np.concatenate([np.empty(0), *(each.depths for each in crossings)])
    order = np.lexsort((depths, owners))
    return owners[order], depths[order]


def _reach(holes: HolePaths) -> Floats:
    """Return a bound on the depths of intervals, which may extend past the end of their hole."""
    return 2.0 * holes.ends + 1.0


def _curtains_of(labeller: Labeller, holes: HolePaths, ends: Floats) -> list[Mesh]:
    """Return vertical walls through the rims of surfaces, high enough for every hole."""
    every = np.arange(len(holes))
    tops = np.concatenate([holes.collars[:, 2], holes.points_at(every, ends)[:, 2]])
    reach = float(ends.max(initial=0.0))
    return curtains(labeller, float(tops.min()) - reach, float(tops.max()) + reach)


def curtains(labeller: Labeller, low: float, high: float) -> list[Mesh]:
    """Return vertical walls through the rims of surfaces, between two elevations."""
    sheets = [d.placed for d in labeller.domains if d.is_surface]
    sheets += [tiles for stack in labeller.domains.stacks for tiles in stack.placed]
    meshes = {id(mesh): mesh for tiles in sheets for mesh in tiles if not mesh.is_closed}
    return [curtain(rim(mesh), low, high) for mesh in meshes.values()]


def curtain(edges: Floats, low: float, high: float) -> Mesh:
    """Return vertical walls through edges (m, 2, 3), from elevation `low` to elevation `high`."""
    corners = np.concatenate([edges, edges], axis=1)
    corners[:, :2, 2], corners[:, 2:, 2] = low, high
    faces = 4 * np.arange(len(edges))[:, None, None] + np.array([[0, 1, 3], [0, 3, 2]])
    return Mesh(corners.reshape(-1, 3), faces.reshape(-1, 3), name="rim")


def cut_at(
    holes: NDArray[np.intp],
    starts: Floats,
    ends: Floats,
    wall_holes: NDArray[np.intp],
    wall_depths: Floats,
) -> tuple[NDArray[np.intp], Floats, Floats]:
    """Cut intervals at the depths of walls within them.

    Parameters
    ----------
    holes, starts, ends : (n,) intp, float64, float64
        Hole, FROM and TO of each interval.
    wall_holes, wall_depths : (k,) intp, float64
        Hole and depth of each wall, sorted by hole and then by depth.

    Returns
    -------
    rows, begins, ends : (p,) intp, float64, float64
        Interval and depths of each part. Neighbouring parts share one depth.
    """
    first = place_in(wall_holes, wall_depths, holes, starts, side="right")
    last = place_in(wall_holes, wall_depths, holes, ends, side="left")
    counts = np.maximum(last - first, 0)
    rows = np.repeat(np.arange(len(holes)), counts + 1)
    begin_of = np.concatenate([[0], np.cumsum(counts + 1)])[:-1]
    rank = np.arange(len(rows)) - begin_of[rows]
    begins, stops = starts[rows], ends[rows]
    inner = rank > 0
    cuts = wall_depths[first[rows[inner]] + rank[inner] - 1]
    begins[inner] = cuts
    stops[np.flatnonzero(inner) - 1] = cuts
    return rows, begins, stops


def place_in(
    wall_holes: NDArray[np.intp],
    wall_depths: Floats,
    holes: NDArray[np.intp],
    depths: Floats,
    *,
    side: Literal["left", "right"],
) -> NDArray[np.intp]:
    """Return the index at which each depth would be inserted among the wall depths of its hole."""
    low = np.searchsorted(wall_holes, holes, side="left")
    high = np.searchsorted(wall_holes, holes, side="right")
    while (open_rows := np.flatnonzero(low < high)).size:
        middle = (low[open_rows] + high[open_rows]) >> 1
        before = wall_depths[middle] < depths[open_rows]
        if side == "right":
            before |= wall_depths[middle] == depths[open_rows]
        low[open_rows] = np.where(before, middle + 1, low[open_rows])
        high[open_rows] = np.where(before, high[open_rows], middle)
    return low


def allowed_in(
    labeller: Labeller, rows: Intervals, counts: ConditionCounts | None = None
) -> list[Bools | None] | None:
    """Return, for each domain, the mask of intervals that meet its conditions; None means all.

    `counts` receives the counts of unusual values in columns of conditions; if None, this function
    warns about them.
    """
    domains = labeller.domains
    condition_columns(domains, rows.table.names, rows.table.name)
    allowed = allowed_rows(domains, rows.table.column, counts, row="sample")
    if counts is not None and allowed is not None:
        for sentence in unmet_in(domains, allowed, "sample"):
            warn(sentence)
    return allowed


def condition_names(labeller: Labeller) -> list[str]:
    """Return the names of the columns that conditions of domains use."""
    return [each.column for _, group in labeller.domains.conditions for each in group]


def _codes_of(
    labeller: Labeller, points: Floats, allowed: Sequence[Bools | None] | None
) -> NDArray[np.intp]:
    """Return the domain code of each point; points are labelled in batches of limited size."""
    codes = np.empty(len(points), np.intp)
    for begin in range(0, len(points), _PART):
        some = slice(begin, begin + _PART)
        part_allowed = allowed and [None if mask is None else mask[some] for mask in allowed]
        codes[some] = labeller.label(points[some], part_allowed).codes
    return codes


# --- Cuts of intervals as decimals: lengths add up exactly, and slivers join a neighbour.

_DECIMALS = 3


@dataclass(frozen=True, eq=False)
class Cuts:
    """Intervals for output, whole or cut into pieces that lie end to end.

    Attributes
    ----------
    rows : (p,) intp
        Interval of each piece, ascending.
    codes : (p,) intp
        Domain code of each piece.
    begins, ends : dict of int to Decimal
        Depths of cuts, by piece. A piece that is not in `begins` begins at the FROM of its
        interval. A piece that is not in `ends` ends at the TO of its interval.
    cut : int
        Number of intervals that were cut.
    slivers : int
        Number of pieces that were too short, and were joined to their longer neighbour.
    """

    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    begins: dict[int, Decimal]
    ends: dict[int, Decimal]
    cut: int
    slivers: int

    def depths(self, starts: Floats, ends: Floats) -> tuple[Floats, Floats]:
        """Return two arrays (p,): the top depth and the bottom depth of each piece.

        `starts` and `ends` are FROM and TO of the intervals.
        """
        first, last = starts[self.rows], ends[self.rows]
        for values, cuts in ((first, self.begins), (last, self.ends)):
            for piece, depth in cuts.items():
                values[piece] = float(depth)
        return first, last


def check_length(min_length: float) -> Decimal:
    """Return a shortest length as a decimal; require a finite length of at least 0."""
    if not 0 <= min_length < math.inf:
        message = f"min_length is {min_length}; it must be a finite length, 0 or more"
        raise ValueError(message)
    return Decimal(str(min_length))


def make_cuts(
    count: int,
    parts: Parts,
    whole: NDArray[np.intp],
    spelled: Sequence[NDArray[np.object_]],
    min_length: Decimal,
) -> Cuts:
    """Turn parts between walls into pieces for output.

    Parameters
    ----------
    count : int
        Number of intervals.
    parts : Parts
        Parts of the usable intervals.
    whole : (n,) intp
        Domain codes to use for intervals without parts.
    spelled : pair of (n,) object
        FROM and TO of each interval as Decimal; needed only for intervals with several parts.
    min_length : Decimal
        Shortest length of a piece.

    Returns
    -------
    Cuts
        Depths of cuts are rounded to 3 decimals, or to more if `min_length` has more.
    """
    exponent = min_length.normalize().as_tuple().exponent
    step = Decimal(1).scaleb(-max(_DECIMALS, -int(exponent)))
    sizes = np.bincount(parts.rows, minlength=count)
    codes_of = whole.copy()
    single = sizes[parts.rows] == 1
    codes_of[parts.rows[single]] = parts.codes[single]
    rows, codes = [np.flatnonzero(sizes < 2)], [codes_of[sizes < 2]]
    depths: list[tuple[int, list[Decimal]]] = []
    cut = slivers = 0
    several = np.flatnonzero(~single)
    groups = np.split(several, np.flatnonzero(np.diff(parts.rows[several])) + 1)
    for group in groups if several.size else []:
        row = int(parts.rows[group[0]])
        bounds = [spelled[0][row]]
        bounds += [Decimal(depth).quantize(step) for depth in parts.begins[group[1:]].tolist()]
        bounds.append(spelled[1][row])
        bounds, labels, short = _without_slivers(bounds, parts.codes[group].tolist(), min_length)
        slivers += short
        cut += len(labels) > 1
        depths.append((row, bounds))
        rows.append(np.full(len(labels), row))
        codes.append(np.array(labels, np.intp))
    owners = np.concatenate(rows)
    order = np.argsort(owners, kind="stable")
    first = np.searchsorted(owners[order], np.array([row for row, _ in depths], np.intp))
    begins, ends = {}, {}
    for place, (_, bounds) in zip(first.tolist(), depths, strict=True):
        for piece, depth in enumerate(bounds[1:-1], place):
            ends[piece], begins[piece + 1] = depth, depth
    return Cuts(owners[order], np.concatenate(codes)[order], begins, ends, cut, slivers)


def _without_slivers(
    bounds: list[Decimal], labels: list[int], least: Decimal
) -> tuple[list[Decimal], list[int], int]:
    """Join neighbouring pieces that have the same label, and join short pieces to a neighbour.

    A piece is short if it is shorter than `least`. The shortest piece is joined first, to its
    longer neighbour. Return a tuple: the bounds and the labels of the remaining pieces, and the
    number of short pieces.
    """
    slivers = 0
    bounds, labels = _joined(bounds, labels)
    while len(labels) > 1:
        lengths = [high - low for low, high in pairwise(bounds)]
        shortest = min(range(len(lengths)), key=lengths.__getitem__)
        if lengths[shortest] >= least and lengths[shortest] > 0:
            break
        slivers += 1
        before = lengths[shortest - 1] if shortest else Decimal("-Infinity")
        after = lengths[shortest + 1] if shortest + 1 < len(labels) else Decimal("-Infinity")
        labels.pop(shortest)
        bounds.pop(shortest if before >= after else shortest + 1)
        bounds, labels = _joined(bounds, labels)
    return bounds, labels, slivers


def _joined(bounds: list[Decimal], labels: list[int]) -> tuple[list[Decimal], list[int]]:
    """Join neighbouring pieces with the same label; return the new bounds and labels."""
    changes = [place for place in range(1, len(labels)) if labels[place] != labels[place - 1]]
    return (
        [bounds[0], *(bounds[place] for place in changes), bounds[-1]],
        [labels[0], *(labels[place] for place in changes)],
    )


def spell(depth: Decimal, mark: str = ".") -> str:
    """Format a depth without trailing zeros.

    Examples
    --------
    >>> spell(Decimal("25.350")), spell(Decimal("100.000"), ",")
    ('25.35', '100')
    """
    text = format(depth, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text.replace(".", mark)


# --- The text of a table whose intervals are cut: a row for each piece.


def cut_rows(source: TextRows, rows: Intervals, cuts: Cuts) -> TextRows:
    """Return the text with one row for each piece of a cut interval.

    Each piece copies the row of its interval except FROM and TO; all other bytes are kept.
    """
    body, layout = source.body, source.layout
    mark = layout.decimal.decode()
    spans = source.spans()
    fields = {role: source.places(rows.table.roles[role]) for role in ("from", "to")}
    newline = _newline(source)
    parts, at = [source.text[: layout.data_start]], 0
    pieces = np.flatnonzero(np.bincount(cuts.rows, minlength=len(source))[cuts.rows] > 1)
    for piece in pieces.tolist():
        row = int(cuts.rows[piece])
        begin, end = spans[row].tolist()
        edits = []
        for role, depths in (("from", cuts.begins), ("to", cuts.ends)):
            if piece in depths:
                low, high = fields[role][row].tolist()
                edits.append((low, high, spell(depths[piece], mark).encode()))
        if piece not in cuts.begins:  # the first of its row
            parts.append(body[at:begin])
        else:
            parts.append(newline)
        place = begin
        for low, high, text in sorted(edits):
            parts += [body[place:low], text]
            place = high
        parts.append(body[place:end])
        at = end
    parts.append(body[at:])
    places = [0, *rows.table.roles.values()]
    return TextRows(b"".join(parts), layout, source.name, places)


def _newline(source: TextRows) -> bytes:
    """Return the line end of the header."""
    head = source.layout.head_rows[0].row
    return source.text[head.end : head.following] or b"\n"
