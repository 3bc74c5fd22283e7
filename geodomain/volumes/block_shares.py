"""The shares of blocks anywhere that lie inside a solid, or above or below a surface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import Floats, as_doubles, as_rows, host_room
from geodomain.backends import choose
from geodomain.backends.api import BlockAnswer, BlockIndex
from geodomain.backends.footprint_end import EdgeReach, FootprintEnd
from geodomain.backends.mesh_checks import projection_signs
from geodomain.backends.overlay import common_shares
from geodomain.backends.threads import thread_count
from geodomain.errors import counted, warn
from geodomain.inputs.kinds import MeshLike, PointsLike
from geodomain.inputs.meshes import as_mesh
from geodomain.inputs.points import point_rows
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.rim import folds, rim
from geodomain.query.locator import PointLocator, Rule, check_rule
from geodomain.query.surfaces import BELOW, OFF, sides_of
from geodomain.volumes.shells import triangle_weights

Kind = Literal["solid", "above", "below"]

LINES = 16  # along each side of a block, where triangles cross
_TOGETHER = 1 << 18  # blocks that are taken at a time
# A surface that covers a block's plan once does so within this.
_SINGLE = 1e-9


def proportions(
    mesh: MeshLike,
    centres: PointsLike,
    sizes: ArrayLike,
    *,
    kind: Kind = "solid",
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    out: object = None,
) -> NDArray[np.float64]:
    """Return the share of each block that lies inside a solid, or above or below a surface.

    Computed from the triangles, without sampling, except where they cross: see below.

    Parameters
    ----------
    mesh : mesh-like
        A closed mesh for "solid"; for "above" and "below" usually an open one. As for `as_mesh`.
    centres : array_like of shape (n, 3), or points-like
        The blocks' centroids x, y, z, in the mesh's unit. Sub-blocks of any size will do.
    sizes : array_like of shape (3,) or (n, 3)
        The blocks' whole lengths along x, y and z. A block is that from ``centre - size / 2`` to
        ``centre + size / 2``, rounded to float64.
    kind : {"solid", "above", "below"}
        Which part of the block is measured.
    rule : {"parity", "winding"}
        What is inside a solid, as in `contains`.
    backend : {"auto", "cuda", "cpu"}
        Where to compute; the bits are the same. Blocks along lines are always the CPU's.
    threads : int, optional
        Number of threads. [default: all cores] Results have the same bits for any number.
    out : numpy.ndarray of float64, shape (n,), optional
        Where to write the shares, apart from the centres. It is returned.

    Returns
    -------
    numpy.ndarray of float64, shape (n,)
        From 0.0 to 1.0, and exactly one of these where no triangle enters a block; NaN where a
        centroid is not finite, and where the plan of a block is not wholly within the footprint
        of a surface, however little is beyond. A block with n triangles over it, whose sizes are
        at most r times the block's, is wrong by less than ``n * (1 + r) * 2**-47`` of its volume;
        and by 1e-9 more where a surface lies over itself on less than that of the plan.

    Warns
    -----
    GeodomainWarning
        With the number of blocks that were taken along 16 x 16 vertical lines, each cut where
        triangles are. Those are the blocks that a triangle enters which crosses others, or is on
        the boundary of what shells have in common, or is of a solid whose triangles face
        opposite ways; and those over which a surface folds, or tiles of it overlap.

    Raises
    ------
    MeshError
        If a solid is not closed, or has no winding number and the rule is "winding".
    ValueError
        If a size is not between 2^-306 and 2^339, or too small beside the centroid; if ``out``
        does not fit, or shares memory with the centres.

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
    """Raise ValueError for a kind that does not exist."""
    if kind not in ("solid", "above", "below"):
        message = f"kind is {kind!r}; it can be 'solid', 'above' or 'below'"
        raise ValueError(message)


def by_lines(name: str, blocks: int, lines: int) -> str:
    """Say how many blocks went along lines because triangles of one mesh may cross."""
    return (
        f"{name}: {counted(blocks, 'block')} in which triangles may "
        f"cross or fold taken along {lines} x {lines} vertical lines, not computed whole"
    )


class Shares:
    """Shares of blocks that lie inside a solid, or above or below a surface.

    Parameters
    ----------
    mesh, kind, rule, backend, threads
        As `proportions` has them.
    lines : int
        Along each side of a block, where triangles cross.
    """

    def __init__(
        self,
        mesh: Mesh,
        kind: Kind,
        rule: Rule,
        backend: str,
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
        """Find where the footprint ends; return the edges that a block is not to be met by."""
        edges = np.concatenate([rims, folded])
        end = FootprintEnd(self._mesh, edges, self._threads)
        kept = end.reach != EdgeReach.NOWHERE
        kept[: len(rims)] = True  # across which the number of crossings turns odd or even
        if (end.reach[kept] != EdgeReach.ALL_ALONG).any():
            self._end = end
        return np.ascontiguousarray(edges[kept])

    def write(self, lows: Floats, highs: Floats, centres: Floats, out: Floats) -> None:
        """Write the shares of blocks (n, 3), and warn of those that went along lines."""
        parts = (slice(begin, begin + _TOGETHER) for begin in range(0, len(out), _TOGETHER))
        self.write_many((lows[rows], highs[rows], centres[rows], out[rows]) for rows in parts)

    def write_many(self, parts: Iterable[tuple[Floats, Floats, Floats, Floats]]) -> None:
        """Do the same for several lots of blocks, and warn once."""
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
        """Write the shares, inside or below, of blocks that a triangle enters, or a rim.

        Returns the `BlockAnswer` of each block.
        """
        lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        answers = self._ask(self._index, self._weights, lows, highs, out)
        if self._doubtful is not None:
            # Only of those that a doubtful triangle enters are the weights not to be trusted.
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
        """Return which blocks of a solid have to go along lines if a triangle enters them, (n,)."""
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
        """Return what lines through blocks cross; see `geodomain.backends.api.BlockIndex`."""
        return self._index.cuts(
            np.ascontiguousarray(lows),
            np.ascontiguousarray(highs),
            lines,
            self._threads,
            below=self._kind != "solid",
        )

    def common(self, others: Sequence[Shares], lows: Floats, highs: Floats) -> Floats:
        """Return the shares of blocks that lie in this body and others at once, (n, 2**k).

        By sets of bodies, of which this one is the first bit; only of two or more, of others 0.
        No block may have a doubtful triangle, and surfaces have to cover its plan once.
        """
        bodies = []
        for body in (self, *others):
            assert body._weights is not None  # or all of its blocks are doubtful
            bodies.append((body._index, body._weights))
        return common_shares(bodies, lows, highs, self._threads)

    def _labels(self, centres: Floats) -> Floats:
        """Return the share of a block that no triangle enters, by its centroid."""
        if self._kind == "solid":
            return self._locator.contains(centres, rule=self._rule).astype(np.float64)
        side = sides_of(self._locator.count_sides(centres))
        return np.where(side == OFF, np.nan, side == BELOW).astype(np.float64)

    @cached_property
    def _locator(self) -> PointLocator:
        return PointLocator(
            self._mesh, backend=self._backend, threads=self._threads, allow_open=True
        )


# With a mesh's own range for sizes no area and no volume of a block overflows, or falls to 0.
SIZES = "between 2^-306 and 2^339"


def sizes_fit(sizes: Floats) -> NDArray[np.bool_]:
    """Return which sizes of blocks, in the shape given, can have shares."""
    return (sizes >= 2.0**-306) & (sizes <= 2.0**339)


def _corners(centres: Floats, sizes: ArrayLike) -> tuple[Floats, Floats]:
    """Return the lowest and highest corners of blocks, (n, 3), checked."""
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
