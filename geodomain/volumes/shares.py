"""Compute which share of each block is inside a solid, or above or below a surface."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_doubles, as_rows, host_room
from geodomain.compute import choose
from geodomain.compute.api import BlockAnswer, BlockIndex
from geodomain.compute.data import Bools, Floats, Ints
from geodomain.compute.meshes import (
    EdgeReach,
    FootprintEnd,
    common_shares,
    crossed_triangles,
    projection_signs,
    vertex_fans,
)
from geodomain.compute.native import thread_count
from geodomain.errors import counted, warn
from geodomain.inputs import MeshLike, PointsLike, as_mesh, point_rows
from geodomain.mesh import fitness
from geodomain.mesh.components import connected_components, facing
from geodomain.mesh.edges import edge_table, folds, rim
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.relations import Relations, relate
from geodomain.query.contains import contains_lattice
from geodomain.query.lattice import Axes, label_bits
from geodomain.query.locator import PointLocator, Rule, check_rule
from geodomain.query.surfaces import BELOW, OFF, sides_of
from geodomain.settings import BackendName


class TriangleWeights(NamedTuple):
    """The factors of the volumes below triangles, one factor for each triangle of a mesh.

    The volume inside the mesh is the sum, over all triangles, of factor times volume below.

    Attributes
    ----------
    values : (t,) int8
        The factors. The volume below a triangle has the sign of the triangle's projection in plan.
    doubtful : (t,) bool
        Triangles near which the factors may be wrong. A block that such a triangle enters is
        sampled along vertical lines. The shares of other blocks are computed with the factors.
    """

    values: NDArray[np.int8]
    doubtful: Bools


def triangle_weights(mesh: Mesh, rule: Rule) -> TriangleWeights:
    """Return the weight of the volume below each triangle; the mesh caches the result.

    By the rule, a point has the value 1 inside the mesh and 0 outside. The weight of a shell is the
    value just within the shell minus the value just outside it. By parity, a shell inside another
    shell is therefore a void. A shell may have different weights in different places if its
    triangles cross or face opposite ways, or if it overlaps another shell.

    Raises
    ------
    MeshError
        If the mesh is not closed. If the rule is "winding" and the mesh has no winding number.
    """
    fitness.require_fit(mesh, allow_open=False, instead="", rule=rule)
    if rule == "winding":
        fitness.require_balanced(mesh)
    cache: dict[str, TriangleWeights] = mesh.__dict__.setdefault("_triangle_weights", {})
    if rule not in cache:
        cache[rule] = _weigh(mesh, rule)
    return cache[rule]


def _weigh(mesh: Mesh, rule: Rule) -> TriangleWeights:
    count = len(mesh.triangles)
    if not mesh.is_balanced:
        return TriangleWeights(np.zeros(count, np.int8), np.ones(count, np.bool_))
    fans = vertex_fans(mesh.vertices, mesh.triangles)
    component, outward = facing(mesh, fans)
    related = relate(mesh) if len(outward) > 1 else None
    mixed = np.zeros(len(outward), np.bool_)
    if related is not None:
        mixed[np.concatenate([related.equal, related.undetermined]).ravel()] = True
    crossed = _crossed(mesh, fans.parted, component, mixed, related)
    overlap = related is not None and len(related.overlapping) > 0
    if crossed.any() or mixed.any() or overlap:
        crossed |= np.append(mixed, False)[component]  # index -1 is the appended False
        return TriangleWeights(*weigh_patches(mesh, component, crossed, rule))
    values = np.append(_of_shells(outward, related, rule), np.int8(0))[component]
    return TriangleWeights(np.ascontiguousarray(values), np.zeros(count, np.bool_))


def _crossed(
    mesh: Mesh,
    parted: NDArray[np.uint8],
    component: NDArray[np.int32],
    mixed: Bools,
    related: Relations | None,
) -> Bools:
    """Return a mask of triangles that cross others of the same shell or of an overlapping shell."""

    def compare(pairs: NDArray[np.int64]) -> Bools:
        groups = component
        if len(pairs) or mixed.any():
            shells = connected_components(pairs[:, 0].copy(), pairs[:, 1].copy(), len(mixed))
            groups = np.append(np.where(mixed, -1, shells), -1)[component].astype(np.int32)
        return crossed_triangles(
            mesh.vertices, mesh.triangles, mesh.bounds, groups, parted, thread_count(None)
        )

    if related is None:
        return compare(np.zeros((0, 2), np.int64))
    crossed = compare(related.overlapping)
    # If a shell crosses itself, its relation to other shells cannot be inferred from contacts.
    own = np.zeros(len(mixed), np.bool_)
    own[component[crossed & (component >= 0)]] = True
    others = related.near[own[related.near].any(axis=1)]
    return compare(np.concatenate([related.overlapping, others])) if len(others) else crossed


def _of_shells(
    outward: NDArray[np.int8], related: Relations | None, rule: Rule
) -> NDArray[np.int8]:
    """Return the weight of each shell, from its orientation and the shells that enclose it."""
    if related is None:
        return outward
    winding = related.winding
    within, without = (winding + outward != 0).astype(int), (winding != 0).astype(int)
    counts = 1 - 2 * (related.depth % 2) if rule == "parity" else within - without
    weights: NDArray[np.int8] = (counts * outward).astype(np.int8)
    return weights


# Weights of triangles where a mesh crosses itself.

_MOST = 2000  # number of patches to sample, largest first; a patch takes milliseconds at most
_TRIES = 4  # number of triangles to try in a patch


class _Sample(NamedTuple):
    """A point inside a triangle, with the triangles above this point."""

    shell: int  # the triangle's shell
    sign: int  # the sign of its projection
    above: tuple[tuple[int, int], ...]  # shell and sign of each triangle above


def weigh_patches(
    mesh: Mesh, component: NDArray[np.int32], crossed: Bools, rule: Rule
) -> tuple[NDArray[np.int8], Bools]:
    """Return weights (t,) int8, and a mask (t,) of the triangles near which they may be wrong.

    Parameters
    ----------
    mesh : Mesh
        A mesh that uses every edge equally often in both directions.
    component : (t,) int32
        The shell of each triangle, or -1. Each shell uses its edges equally often in both
        directions.
    crossed : (t,) bool
        Triangles that cross other triangles, or may cross them.
    rule : {"parity", "winding"}
        The rule for inside.
    """
    patch, order = _patches(mesh, crossed | (component < 0))
    places = _Places(mesh, component)
    samples = {number: places.sample(rows) for number, rows in order}
    weights: dict[int, int] = {}
    for sample in samples.values():
        if sample is not None and sample.shell not in weights:
            weights[sample.shell] = _weight(sample, rule)
    good = [n for n, sample in samples.items() if sample and _holds(sample, weights, rule)]
    values = np.zeros(int(component.max(initial=-1)) + 2, np.int8)
    values[list(weights)] = list(weights.values())
    doubtful = ~np.isin(patch, good) & (component >= 0)
    return np.ascontiguousarray(values[component]), doubtful


def _patches(mesh: Mesh, apart: Bools) -> tuple[Ints, list[tuple[int, Ints]]]:
    """Return a tuple: the patch of each triangle, and the largest patches with their triangles.

    A patch is a set of triangles connected by edges of exactly two triangles. Triangles in the mask
    `apart` are in no patch; their number is -1.
    """
    corners = edge_table(mesh).triangles
    count = len(corners)
    whole = np.flatnonzero((corners != np.roll(corners, 1, axis=1)).all(axis=1))
    ends = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=-1)[whole], axis=-1)
    keys = ends[..., 0].ravel() * (int(corners.max(initial=0)) + 1) + ends[..., 1].ravel()
    by_edge = np.argsort(keys, kind="stable")
    owner, key = np.repeat(whole, 3)[by_edge], keys[by_edge]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    pairs = starts[np.diff(starts, append=len(key)) == 2]
    first, second = owner[pairs], owner[pairs + 1]
    linked = ~apart[first] & ~apart[second]
    patch = np.where(apart, -1, connected_components(first[linked], second[linked], count))
    by_patch = np.argsort(patch, kind="stable")
    numbers, begin, sizes = np.unique(patch[by_patch], return_index=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[: _MOST + 1]
    return patch, [
        (int(numbers[i]), by_patch[begin[i] : begin[i] + sizes[i]])
        for i in largest.tolist()
        if numbers[i] >= 0
    ]


class _Places:
    """Samples points in triangles, and finds the triangles above these points, exactly."""

    def __init__(self, mesh: Mesh, component: NDArray[np.int32]) -> None:
        self._corners, self._component = mesh.vertices[mesh.triangles], component
        plan = self._corners[..., :2]
        self._lows, self._highs = plan.min(axis=1), plan.max(axis=1)

    def sample(self, rows: Ints) -> _Sample | None:
        """Return a sample in one of the triangles `rows`; try the triangles largest in plan first.

        Return None if the samples of the first few triangles are all ambiguous.
        """
        a, b, c = (self._corners[rows, k, :2] for k in range(3))
        with np.errstate(over="ignore", invalid="ignore"):
            area = np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
        for row in rows[np.argsort(-area, kind="stable")[:_TRIES]].tolist():
            sample = self._above(row)
            if sample is not None:
                return sample
        return None

    def _above(self, row: int) -> _Sample | None:
        x, y = (float(v) for v in self._corners[row, :, :2].sum(axis=0) / 3)
        over = (self._lows <= (x, y)).all(axis=1) & (self._highs >= (x, y)).all(axis=1)
        over &= self._component >= 0
        heights: dict[int, tuple[Fraction, int]] = {}
        for other in np.flatnonzero(over).tolist():
            met = _crossing(self._corners[other].tolist(), Fraction(x), Fraction(y))
            if met is None:
                return None
            if met[1] != 0:
                heights[other] = met
        if row not in heights:
            return None
        height, sign = heights.pop(row)
        if any(level == height for level, _ in heights.values()):
            return None
        above = [
            (int(self._component[other]), turn)
            for other, (level, turn) in heights.items()
            if level > height
        ]
        return _Sample(int(self._component[row]), sign, tuple(above))


def _crossing(corners: list[list[float]], x: Fraction, y: Fraction) -> tuple[Fraction, int] | None:
    """Return a tuple: the height at which a vertical line crosses a triangle, and a sign.

    The sign is the sign of the triangle's projection in plan, or 0 if the line misses the triangle.
    Return None if the line meets the triangle's outline.
    """
    points = [[Fraction(value) for value in corner] for corner in corners]
    sides = []
    for p, q in zip(points, points[1:] + points[:1], strict=True):
        sides.append((p[0] - x) * (q[1] - y) - (p[1] - y) * (q[0] - x))
    if min(sides) < 0 < max(sides):
        return Fraction(0), 0
    if 0 in sides:  # on an edge's line: on the edge itself, or the triangle is a line in plan
        return None
    a, b, c = points
    height = (a[2] * sides[1] + b[2] * sides[2] + c[2] * sides[0]) / sum(sides)
    return height, 1 if sides[0] > 0 else -1


def _inside(signs: list[int], rule: Rule) -> int:
    return len(signs) % 2 if rule == "parity" else int(sum(signs) != 0)


def _weight(sample: _Sample, rule: Rule) -> int:
    """Return the weight of a sample's triangle: the value just below minus the value just above it.

    By the rule, a point has the value 1 inside the mesh and 0 outside. The difference is multiplied
    by the sign of the triangle's projection in plan.
    """
    signs = [sign for _, sign in sample.above]
    return sample.sign * (_inside([*signs, sample.sign], rule) - _inside(signs, rule))


def _holds(sample: _Sample, weights: dict[int, int], rule: Rule) -> bool:
    """Return whether the weights give the true values just above and just below a sample.

    By the rule, a point has the value 1 inside the mesh and 0 outside.
    """
    signs = [sign for _, sign in sample.above]
    above = sum(weights.get(shell, 0) * sign for shell, sign in sample.above)
    below = above + weights[sample.shell] * sample.sign
    return above == _inside(signs, rule) and below == _inside([*signs, sample.sign], rule)


# Shares of arbitrary blocks.

Kind = Literal["solid", "above", "below"]

LINES = 16  # number of lines along each side of a block in which triangles cross
_TOGETHER = 1 << 18  # number of blocks in a part
# Share of a block's plan up to which a surface may overlap itself and still covers the plan once.
_SINGLE = 1e-9


def proportions(
    mesh: MeshLike,
    centres: PointsLike,
    sizes: ArrayLike,
    *,
    kind: Kind = "solid",
    rule: Rule = "parity",
    backend: BackendName = "auto",
    threads: int | None = None,
    out: object = None,
) -> NDArray[np.float64]:
    """Return the share of each block that lies inside a solid, or above or below a surface.

    The share is computed from the triangles, without sampling, except in blocks in which triangles
    cross; see the warning below.

    Parameters
    ----------
    mesh : mesh-like
        A closed mesh for "solid"; for "above" and "below" usually an open one. Any type that
        `as_mesh` accepts.
    centres : array_like of shape (n, 3), or points-like
        The blocks' centroids x, y, z, in the mesh's unit. Sub-blocks may have any size.
    sizes : array_like of shape (3,) or (n, 3)
        The full lengths of the blocks along x, y and z. A block extends from ``centre - size / 2``
        to ``centre + size / 2``, rounded to float64.
    kind : {"solid", "above", "below"}
        Which part of the block is measured: inside a solid, or above or below a surface.
    rule : {"parity", "winding"}
        The rule for inside a solid, as in `contains`.
    backend : {"auto", "cuda", "cpu"}
        Where to compute; results have the same bits everywhere. Blocks that are sampled along
        vertical lines (see Warns) are always computed on the CPU.
    threads : int, optional
        Number of threads. [default: all cores] Results have the same bits for any number.
    out : numpy.ndarray of float64, shape (n,), optional
        Array that receives the shares and is returned. It must not share memory with `centres`.

    Returns
    -------
    numpy.ndarray of float64, shape (n,)
        From 0.0 to 1.0. A share is exactly 0.0 or 1.0 if no triangle enters the block. It is NaN if
        the centroid is not finite, or if the block's plan is not entirely within the footprint of a
        surface. If k triangles lie above or below a block, and none of them is larger than r times
        the block, the error is less than ``k * (1 + r) * 2**-47`` of the block's volume. A surface
        that overlaps itself on less than 1e-9 of the block's plan can add an error of up to 1e-9.

    Warns
    -----
    GeodomainWarning
        If some blocks were sampled along 16 x 16 vertical lines; the warning gives their number.
        The length inside is exact along each line. A block is sampled if one of these triangles
        enters it: a triangle that crosses others; a triangle at which shells overlap; a triangle of
        a solid whose triangles face opposite ways. For a surface, a block is sampled if the surface
        folds over itself in the block, or if tiles of the surface overlap there.

    Raises
    ------
    MeshError
        If a solid is not closed. If the rule is "winding" and a solid has no winding number.
    ValueError
        If a size is not between 2^-306 and 2^339, or so small that float64 cannot tell the block's
        faces from its centroid. If ``out`` has a wrong shape or type, or shares memory with the
        centres.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.proportions(mesh, [[1, 1, 2], [5, 1, 2], [9, 1, 2]], [2, 2, 4]).tolist()
    [1.0, 0.5, 0.0]
    """
    check_rule(rule)
    places = as_rows(point_rows(centres), "centres")
    lows, highs = _corners(places, sizes)
    room = host_room((len(places),), np.float64, out, (places,))
    shares = Shares(as_mesh(mesh), kind, rule, backend, threads)
    shares.write(lows, highs, places, room)
    return room


def check_kind(kind: str) -> None:
    """Raise ValueError for an unknown kind."""
    if kind not in ("solid", "above", "below"):
        message = f"kind is {kind!r}; use 'solid', 'above' or 'below'"
        raise ValueError(message)


def by_lines(name: str, blocks: int, lines: int) -> str:
    """Return a warning that some blocks were sampled, because triangles may cross in them."""
    return (
        f"{name}: triangles may cross or fold in {counted(blocks, 'block')}, whose shares were "
        f"sampled along {lines} x {lines} vertical lines and are not exact"
    )


class Shares:
    """Computes the shares of blocks inside a solid, or above or below a surface.

    Parameters
    ----------
    mesh, kind, rule, backend, threads
        As for `proportions`.
    lines : int
        Number of vertical lines along each side of a block's plan, for blocks in which triangles
        cross.
    """

    def __init__(
        self,
        mesh: Mesh,
        kind: Kind,
        rule: Rule,
        backend: BackendName,
        threads: int | None,
        *,
        lines: int = LINES,
    ) -> None:
        check_kind(kind)
        self._mesh, self._kind, self._rule, self._backend = mesh, kind, rule, backend
        self._lines = lines
        self._threads = thread_count(threads)
        self._weights: NDArray[np.int8] | None
        self._doubtful: BlockIndex | None = None
        self._end: FootprintEnd | None = None
        edges = np.empty((0, 2, 3))
        if kind == "solid":
            weights = triangle_weights(mesh, rule)
            self._weights = None if weights.doubtful.all() else weights.values
            if weights.doubtful.any() and not weights.doubtful.all():
                part = Mesh(mesh.vertices, mesh.triangles[weights.doubtful], name=mesh.name)
                self._doubtful = choose(backend).block_index(part, edges)
                self._nothing = np.zeros(len(part.triangles), np.int8)
        else:
            self._weights = signs = projection_signs(mesh.vertices, mesh.triangles)
            edges = self._footprint(rim(mesh), folds(mesh, signs))
        self._index = choose(backend).block_index(mesh, edges)

    def _footprint(self, rims: Floats, folded: Floats) -> Floats:
        """Return the edges of rims and folds that must not meet the plan of a block.

        If one of these edges does not bound the footprint along its whole length, a `FootprintEnd`
        is stored, which tests whether the footprint ends within a block's plan.
        """
        edges = np.concatenate([rims, folded])
        end = FootprintEnd(self._mesh, edges, self._threads)
        strict = end.reach != EdgeReach.NOWHERE
        strict[: len(rims)] = True  # the parity of crossings changes across these
        if (end.reach[strict] != EdgeReach.ALL_ALONG).any():
            self._end = end
        return np.ascontiguousarray(edges[strict])

    def write(self, lows: Floats, highs: Floats, centres: Floats, out: Floats) -> None:
        """Write the shares of blocks into `out`; warn if some were sampled along lines.

        `lows` and `highs` (n, 3) are the corners of the blocks, `centres` (n, 3) the centroids.
        """
        parts = (slice(begin, begin + _TOGETHER) for begin in range(0, len(out), _TOGETHER))
        self.write_many((lows[rows], highs[rows], centres[rows], out[rows]) for rows in parts)

    def write_many(self, parts: Iterable[tuple[Floats, Floats, Floats, Floats]]) -> None:
        """Write the shares of several batches of blocks; warn once for all batches.

        Each batch is a tuple with the four arguments of `write`.
        """
        lines = sum(self._write_some(*part) for part in parts)
        if lines:
            warn(by_lines(self._mesh.name, lines, self._lines))

    def _write_some(self, lows: Floats, highs: Floats, centres: Floats, out: Floats) -> int:
        out[...] = self._labels(centres)
        answers = self.entered(lows, highs, out)
        if self._kind != "solid":
            out[answers == BlockAnswer.OFF_RIM] = np.nan
        if self._kind == "above":
            np.subtract(1.0, out, out=out)
        out[~np.isfinite(centres).all(axis=1)] = np.nan
        return int((answers == BlockAnswer.BY_LINES).sum())

    def entered(self, lows: Floats, highs: Floats, out: Floats) -> NDArray[np.uint8]:
        """Write the shares of blocks that a triangle or open edge enters; keep the rest of `out`.

        The share is that inside a solid or below a surface. Return a `BlockAnswer` for each block,
        which tells how the share was computed.
        """
        lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        answers = self._ask(self._index, self._weights, lows, highs, out)
        if self._doubtful is not None:
            # The weights may be wrong only for blocks that a doubtful triangle enters.
            inner = np.flatnonzero(answers != BlockAnswer.BY_LABEL)
            rows = inner[self.doubts(lows[inner], highs[inner])]
            part = out[rows]
            answers[rows] = self._ask(self._index, None, lows[rows], highs[rows], part)
            out[rows] = part
        if self._end is not None and self._weights is not None:
            rows = np.flatnonzero(answers == BlockAnswer.OFF_RIM)
            rows = rows[~self._end.is_in(lows[rows], highs[rows], self._threads)]
            part = out[rows]
            answers[rows] = self._index.covered_shares(
                self._weights, lows[rows], highs[rows], part, self._threads,
                lines=self._lines, single=_SINGLE,
            )  # fmt: skip
            out[rows] = part
        return answers

    def doubts(self, lows: Floats, highs: Floats) -> NDArray[np.bool_]:
        """Return a mask (n,) of the blocks to sample along lines if a triangle enters them."""
        if self._doubtful is None:
            return np.full(len(lows), self._weights is None)
        lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        answers = self._ask(self._doubtful, self._nothing, lows, highs, np.empty(len(lows)))
        return np.asarray(answers != BlockAnswer.BY_LABEL)

    def _ask(
        self,
        index: BlockIndex,
        weights: NDArray[np.int8] | None,
        lows: Floats,
        highs: Floats,
        out: Floats,
    ) -> NDArray[np.uint8]:
        solid = self._kind == "solid"
        return index.shares(
            weights,
            lows,
            highs,
            out,
            self._threads,
            wound=solid and self._rule == "winding",
            lines=self._lines,
            single=0.0 if solid else _SINGLE,
        )

    def cuts(
        self, lows: Floats, highs: Floats, lines: int
    ) -> tuple[NDArray[np.int32], Floats, NDArray[np.int8]]:
        """Return the crossings of the mesh with ``lines * lines`` vertical lines in each block.

        See `geodomain.compute.api.BlockIndex.cuts`.
        """
        return self._index.cuts(
            np.ascontiguousarray(lows),
            np.ascontiguousarray(highs),
            lines,
            self._threads,
            below=self._kind != "solid",
        )

    def common(self, others: Sequence[Shares], lows: Floats, highs: Floats) -> Floats:
        """Return, for each block and each set of bodies, the share in the intersection of the set.

        The k bodies are this one and `others`. The result (n, 2**k) has a column for each set of
        bodies. Each bit of a column's number tells whether a body is in the set; the lowest bit
        stands for this body. Sets of fewer than two bodies get 0. No triangle whose weight may be
        wrong may enter a block, and surfaces must cover each block's plan exactly once.
        """
        bodies = []
        for body in (self, *others):
            assert body._weights is not None  # otherwise all blocks of the body are doubtful
            bodies.append((body._index, body._weights))
        return common_shares(bodies, lows, highs, self._threads)

    def _labels(self, centres: Floats) -> Floats:
        """Return 1 for centroids inside a solid or below a surface, and 0 for other centroids.

        For a centroid outside the footprint of a surface, return NaN.
        """
        if self._kind == "solid":
            return self._locator.contains(centres, rule=self._rule).astype(np.float64)
        side = sides_of(self._locator.count_sides(centres))
        return np.where(side == OFF, np.nan, side == BELOW).astype(np.float64)

    @cached_property
    def _locator(self) -> PointLocator:
        return PointLocator(
            self._mesh,
            backend=self._backend,
            threads=self._threads,
            allow_open=True,
        )


# In this range, also the range of meshes, no area or volume overflows or underflows to 0.
SIZES = "between 2^-306 and 2^339"


def sizes_fit(sizes: Floats) -> NDArray[np.bool_]:
    """Return whether each size is within the allowed range; the result has the shape of `sizes`."""
    return (sizes >= 2.0**-306) & (sizes <= 2.0**339)


def _corners(centres: Floats, sizes: ArrayLike) -> tuple[Floats, Floats]:
    """Return the lowest and the highest corner of each block, as two arrays (n, 3).

    Raise ValueError for wrong sizes.
    """
    lengths = as_doubles(sizes, "sizes")
    if lengths.shape not in ((3,), centres.shape):
        message = f"sizes must have shape (3,) or {centres.shape}, not {lengths.shape}"
        raise ValueError(message)
    lows, highs = centres - lengths / 2, centres + lengths / 2
    fits = (lows < centres) & (centres < highs) & sizes_fit(lengths)
    wrong = np.flatnonzero(~fits.all(axis=1) & np.isfinite(centres).all(axis=1))
    if len(wrong):
        row = int(wrong[0])
        size = np.broadcast_to(lengths, centres.shape)[row]
        message = (
            f"block {row} has size {tuple(map(float, size))}: sizes must be {SIZES}, "
            "and not below the resolution of float64 at the centroid"
        )
        raise ValueError(message)
    return lows, highs


# Shares of the blocks of a lattice.


def proportions_lattice(
    mesh: MeshLike,
    x_edges: ArrayLike,
    y_edges: ArrayLike,
    z_edges: ArrayLike,
    *,
    kind: Kind = "solid",
    rule: Rule = "parity",
    backend: BackendName = "auto",
    threads: int | None = None,
    out: object = None,
) -> NDArray[np.float64]:
    """Return the share of each block of a lattice inside a solid, or above or below a surface.

    The share is computed from the triangles, without sampling, except in blocks in which triangles
    cross (see Warns). Each triangle is clipped to the columns of blocks that it enters, and the
    volume below it is integrated.

    Parameters
    ----------
    mesh : mesh-like
        A closed mesh for "solid"; for "above" and "below" usually an open one. Any type that
        `as_mesh` accepts.
    x_edges, y_edges, z_edges : array_like of shape (nx + 1,), (ny + 1,), (nz + 1,)
        Coordinates of the block faces along each axis, strictly increasing, in the mesh's unit.
        Blocks may differ in size.
    kind : {"solid", "above", "below"}
        Which part of the block is measured: inside a solid, or above or below a surface.
    rule : {"parity", "winding"}
        The rule for inside, as in `contains`.
    backend : {"auto", "cuda", "cpu"}
        Where to compute; results have the same bits everywhere. Blocks that are sampled along
        vertical lines (see Warns) are always computed on the CPU.
    threads : int, optional
        Number of threads. [default: all cores] Results have the same bits for any number.
    out : numpy.ndarray of float64, shape (nx, ny, nz), optional
        Array that receives the shares and is returned.

    Returns
    -------
    numpy.ndarray of float64, shape (nx, ny, nz)
        From 0.0 to 1.0. A share is exactly 0.0 or 1.0 if no triangle enters the block. It is NaN if
        the block's plan is not entirely within the footprint of a surface. If n triangles lie above
        or below a block, and none of them is larger than r times the block, the error is less than
        ``n * (1 + r) * 2**-47`` of the block's volume. This is below 1e-9 if ``n * (1 + r)`` is at
        most 1e5.

    Warns
    -----
    GeodomainWarning
        As for `proportions`, if some blocks were sampled along vertical lines.

    Raises
    ------
    MeshError
        As for `proportions`.
    ValueError
        If edges are not strictly increasing. If two edges are so close that float64 has no number
        between them.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.proportions_lattice(mesh, [0, 2, 4, 6], [0, 2], [0, 4, 8]).tolist()
    [[[1.0, 0.5]], [[0.9166666666666667, 0.08333333333333334]], [[0.5, 0.0]]]
    """
    mesh = as_mesh(mesh)
    check_rule(rule)
    check_kind(kind)
    chosen = choose(backend)
    edges = tuple(
        _edges(values, f"{name}_edges")
        for name, values in zip("xyz", (x_edges, y_edges, z_edges), strict=True)
    )
    shape = tuple(len(axis) - 1 for axis in edges)
    room = host_room(shape, np.float64, out)
    weights = triangle_weights(mesh, rule) if kind == "solid" else None
    if weights is None or weights.doubtful.all():
        _write_one_by_one(Shares(mesh, kind, rule, backend, threads), edges, room)
        return room
    count = thread_count(threads)
    labels = _labels(mesh, edges, rule, backend, count)
    axes = edges[0], edges[1], edges[2]
    chosen.lattice_shares(mesh, weights.values, axes, labels, room, count)
    if weights.doubtful.any():
        corners = mesh.vertices[mesh.triangles[weights.doubtful]].reshape(-1, 3)
        cells = _cells(edges, corners.min(axis=0), corners.max(axis=0))
        _write_doubtful(Shares(mesh, kind, rule, backend, threads), edges, cells, room)
    return room


def _write_one_by_one(shares: Shares, edges: tuple[Floats, ...], room: Floats) -> None:
    """Write the shares into `room`, layer by layer along x, as for blocks that form no lattice."""
    cells = tuple(slice(0, len(axis) - 1) for axis in edges)
    layers = _layers(edges, cells)
    shares.write_many((*blocks, room[i].reshape(-1)) for i, blocks in enumerate(layers))


def _write_doubtful(
    shares: Shares, edges: tuple[Floats, ...], cells: tuple[slice, ...], room: Floats
) -> None:
    """Recompute the shares of blocks for which the weights of triangles may be wrong.

    Only blocks in the ranges `cells` are tested. The shares are sampled along vertical lines.
    """

    def doubtful() -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
        for i, (lows, highs, middles) in enumerate(_layers(edges, cells), cells[0].start):
            rows = np.flatnonzero(shares.doubts(lows, highs))
            part = np.empty(len(rows))
            yield lows[rows], highs[rows], middles[rows], part
            layer = room[i, cells[1], cells[2]]
            layer[np.unravel_index(rows, layer.shape)] = part

    shares.write_many(doubtful())


def _cells(edges: tuple[Floats, ...], low: Floats, high: Floats) -> tuple[slice, ...]:
    """Return the ranges of blocks along x, y and z that overlap a box."""
    spans = []
    for axis, least, most in zip(edges, low, high, strict=True):
        begin = max(int(np.searchsorted(axis, least, "right")) - 1, 0)
        end = min(int(np.searchsorted(axis, most, "left")), len(axis) - 1)
        spans.append(slice(begin, max(begin, end)))
    return tuple(spans)


def _layers(
    edges: tuple[Floats, ...], cells: tuple[slice, ...]
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield three arrays (n, 3) for each layer along x.

    They are the lowest corners, the highest corners and the middles of the layer's blocks.
    """
    cuts = [
        (axis[:-1][span], axis[1:][span], _middles(axis)[span])
        for axis, span in zip(edges, cells, strict=True)
    ]
    for i in range(len(cuts[0][0])):
        lows, highs, middles = (
            np.stack(
                [part.ravel() for part in np.meshgrid(x[i : i + 1], y, z, indexing="ij")], axis=1
            )
            for x, y, z in zip(*cuts, strict=True)
        )
        yield lows, highs, middles


def _edges(values: ArrayLike, name: str) -> Floats:
    """Return edges as float64. Raise ValueError unless they are increasing and far enough apart."""
    edges = np.ascontiguousarray(as_doubles(values, name)) + 0.0
    if edges.ndim != 1 or len(edges) < 2:
        message = (
            f"{name} must be one-dimensional, with two or more values, not of shape {edges.shape}"
        )
        raise ValueError(message)
    if not np.isfinite(edges).all():
        message = f"{name} must be finite"
        raise ValueError(message)
    middle = _middles(edges)
    wrong = np.flatnonzero(~((edges[:-1] < middle) & (middle < edges[1:])))
    if len(wrong):
        first = int(wrong[0])
        message = (
            f"{name}[{first}] and {name}[{first + 1}] are {edges[first]} and {edges[first + 1]}: "
            "values must be strictly increasing, and not so close that no float64 lies between them"
        )
        raise ValueError(message)
    if not sizes_fit(np.diff(edges)).all():
        message = f"{name} have a spacing out of range: block sizes must be {SIZES}"
        raise ValueError(message)
    return edges


def _middles(edges: Floats) -> Floats:
    middles: Floats = edges[:-1] / 2 + edges[1:] / 2
    return middles


def _labels(
    mesh: Mesh, edges: tuple[Floats, ...], rule: Rule, backend: BackendName, threads: int
) -> NDArray[np.uint64]:
    """Return which blocks have their middle inside the mesh, as bits along z (nx, ny, words)."""
    x, y, z = (_middles(axis) for axis in edges)
    if rule == "parity":
        return label_bits(mesh, Axes(x, y, z), choose(backend), threads)
    inside = contains_lattice(mesh, x, y, z, rule=rule, backend=backend, threads=threads)
    words = (len(z) + 63) // 64
    padded = np.zeros((len(x), len(y), 8 * words), np.uint8)
    packed = np.packbits(inside, axis=2, bitorder="little")
    padded[:, :, : packed.shape[2]] = packed
    return padded.view(np.uint64)
