"""Repair a mesh: weld close vertices and fill holes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from geodomain.compute.data import Floats, Ints
from geodomain.compute.meshes import group_equal
from geodomain.errors import MeshError, counted
from geodomain.mesh.components import connected_components
from geodomain.mesh.edges import (
    EdgeTable,
    collinear,
    distinct_vertices,
    edge_table,
    has_equal_corners,
)
from geodomain.mesh.mesh import Mesh, area, normals
from geodomain.mesh.polygons import triangulate
from geodomain.result_tables import html_table, records_frame

if TYPE_CHECKING:
    import pandas

_PAIRS_AT_ONCE = 1 << 20
_SWEEPS = 8
# Three directions that no wireframe runs along, so that projections do not tie.
_DIRECTIONS = np.array(
    [[0.5257, 0.6180, 0.5846], [-0.4142, 0.7321, 0.5409], [0.6457, -0.2361, 0.7262]]
).T


def near_pairs(points: Floats, distance: float, limit: int) -> tuple[Ints, Ints, Floats] | None:
    """Find the pairs of points within a distance of each other.

    Parameters
    ----------
    points : (n, 3) float64
        Distinct points.
    distance : float
        The largest distance, in the unit of the coordinates; it is compared in float64.
    limit : int
        How many pairs may be examined.

    Returns
    -------
    first, second : (k,) int64
        The indices of the two points of each pair. A pair may occur several times; the order is
        arbitrary.
    separation : (k,) float64
        The distance between the two points.
    None
        If more pairs than the limit would be examined.

    Notes
    -----
    Points are sorted into eight grids. These are shifted by half a cell along none,
    some or all of the axes. Consider two points that are at most a quarter of a cell's width apart
    along an axis, and two grids that are shifted by half a cell along this axis: at most one of the
    grids separates the points. A margin covers the rounding of cell numbers. So both points are in
    one cell of at least one of the eight grids.
    """
    low = points.min(axis=0)
    extent = float((points.max(axis=0) - low).max())
    width = 4 * max(distance, 16 * float(np.spacing(extent)))
    pairs: list[tuple[Ints, Ints, Floats]] = []
    seen = 0
    for shift in product((0.0, 0.5), repeat=3):
        cells = np.floor((points - low) / width + np.array(shift))
        for first, second in _pairs_of_a_cell(cells):
            seen += len(first)
            if seen > limit:
                return None
            separation = separations(points, first, second)
            near = separation <= distance
            pairs.append((first[near], second[near], separation[near]))
    firsts, seconds, gaps = ([part[i] for part in pairs] for i in range(3))
    nothing = np.empty(0, np.int64)
    return (
        np.concatenate([nothing, *firsts]),
        np.concatenate([nothing, *seconds]),
        np.concatenate([np.empty(0), *gaps]),
    )


def separations(points: Floats, first: Ints, second: Ints) -> Floats:
    """Return the distances of pairs of points; a tiny distance does not underflow to 0."""
    x, y, z = (points[first] - points[second]).T
    return np.asarray(np.hypot(np.hypot(x, y), z))


def _pairs_of_a_cell(cells: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Yield all pairs of points that share a cell, in batches."""
    _, group = group_equal(cells)
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    place = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    # Point i of a cell is paired with the i points before it.
    later = np.flatnonzero(place)
    part = np.cumsum(place[later]) // _PAIRS_AT_ONCE
    for rows in np.split(later, np.flatnonzero(np.diff(part)) + 1):
        repeats = place[rows]
        second = np.repeat(rows, repeats)
        back = np.arange(len(second)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + 1
        yield order[second - back], order[second]


def closest_pair(points: Floats) -> float | None:
    """Return the smallest distance between two points.

    Parameters
    ----------
    points : (n, 3) float64
        Distinct points.

    Returns
    -------
    float or None
        None for fewer than two points. If too many pairs are close to each other, an upper bound on
        the smallest distance.
    """
    if len(points) < 2:
        return None
    bound = _closest_in_sweeps(points)
    pairs = near_pairs(points, bound, 50 * len(points) + 100_000)
    return bound if pairs is None else float(np.append(pairs[2], bound).min())


def _closest_in_sweeps(points: Floats) -> float:
    """Return an upper bound on the smallest distance between two points.

    Points are sorted along three directions. In each order, a point is compared with the next 8
    points.
    """
    best = np.inf
    for along in (points @ _DIRECTIONS).T:
        order = np.argsort(along)
        for step in range(1, min(_SWEEPS, len(points) - 1) + 1):
            best = min(best, float(separations(points, order[step:], order[:-step]).min()))
    return best


# Weld vertices within a tolerance.

_MOST_PAIRS = 200_000_000
# Pairs for each open vertex: a mesh that a weld can close has few open vertices near each other.
_MOST_PAIRS_OF_ONE = 50


@dataclass(frozen=True, eq=False)
class WeldResult:
    """A welded mesh, and how welding changed it.

    Attributes
    ----------
    mesh : Mesh
        The welded mesh. No two of its vertices have equal coordinates, and no triangle has two
        equal vertices.
    moved : int
        How many distinct vertices moved.
    largest_move : float
        The largest distance that a vertex moved, in the unit of the coordinates.
    dropped : int
        How many triangles were dropped because two of their vertices were equal, before or after
        the weld.
    """

    mesh: Mesh
    moved: int
    largest_move: float
    dropped: int

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("vertices", f"{len(self.mesh.vertices):,}"),
            ("triangles", f"{len(self.mesh.triangles):,}"),
            ("closed", "yes" if self.mesh.is_closed else "no"),
            ("vertices moved", f"{self.moved:,}"),
            ("largest move", f"{self.largest_move:.3g}"),
            ("triangles dropped", f"{self.dropped:,}"),
        ]
        return html_table(f"Weld of {self.mesh.name}", rows)


def weld(mesh: Mesh, tolerance: float) -> WeldResult:
    """Join the vertices of a mesh that are close to each other; see `geodomain.weld`."""
    if not (isinstance(tolerance, Real) and np.isfinite(tolerance) and tolerance >= 0):
        message = f"tolerance must be a number of at least 0, not {tolerance}"
        raise ValueError(message)
    vertices, triangles = distinct_vertices(mesh)
    target = _targets(vertices, float(tolerance), mesh.name, _MOST_PAIRS)
    moved = np.flatnonzero(target != np.arange(len(target)))
    welded = target[triangles]
    remaining = welded[~has_equal_corners(welded)]
    used, corners = np.unique(remaining, return_inverse=True)
    moves = separations(vertices, moved, target[moved])
    return WeldResult(
        Mesh(vertices[used], corners.reshape(-1, 3), name=mesh.name),
        moved=len(moved),
        largest_move=float(moves.max(initial=0.0)),
        dropped=len(triangles) - len(remaining),
    )


def _targets(vertices: Floats, tolerance: float, name: str, limit: int) -> Ints:
    """Return, for each vertex, the index of the vertex to which it moves; its own if it stays."""
    if not tolerance or len(vertices) < 2:
        return np.arange(len(vertices))
    pairs = near_pairs(vertices, tolerance, limit)
    if pairs is None:
        message = (
            f"{name}: a weld tolerance of {tolerance:g} is too wide, because too many pairs of "
            "vertices are within this distance; choose a smaller tolerance"
        )
        raise MeshError(message)
    return _first_by_coordinates(vertices, pairs[0], pairs[1])


def _first_by_coordinates(vertices: Floats, first: Ints, second: Ints) -> Ints:
    """Return, for each vertex, the first vertex of its cluster in the order by x, then y, then z.

    A cluster is a set of vertices that are connected by pairs of `first` and `second`.
    """
    near = np.unique(np.r_[first, second])
    order = near[np.lexsort(vertices[near].T[::-1])]
    rank = np.full(len(vertices), -1)
    rank[order] = np.arange(len(order))
    target = np.arange(len(vertices))
    # Components are labelled by their smallest node: here, by the first in that order.
    target[order] = order[connected_components(rank[first], rank[second], len(order))]
    return target


def could_close(table: EdgeTable, tolerance: float) -> bool:
    """Return whether a weld could cancel all open edges, by a quick test of the open edges only.

    Vertices that are on no open edge are ignored. So the test misses welds that join open edges by
    way of such vertices. Welding is a simplicial map: the odd edges of its result are the image of
    the odd edges of the mesh.
    """
    ends = table.ends[table.odd]
    used, local = np.unique(ends, return_inverse=True)
    limit = _MOST_PAIRS_OF_ONE * len(used) + 10_000
    try:
        image = _targets(table.vertices[used], tolerance, "", limit)[local.reshape(-1, 2)]
    except MeshError:
        return False
    left = np.sort(image[image[:, 0] != image[:, 1]], axis=1)
    return not (np.unique(left, axis=0, return_counts=True)[1] & 1).any()


def is_gentle(mesh: Mesh, tolerance: float) -> bool:
    """Return whether a tolerance is at most a hundredth of the longest side of a mesh's box."""
    return bool(len(mesh.triangles)) and tolerance <= 0.01 * float(
        np.ptp(mesh.bounds, axis=0).max()
    )


def closing_weld(mesh: Mesh, table: EdgeTable, tolerance: float) -> WeldResult | None:
    """Return the weld with a tolerance; None if it does not close the mesh or changes its shape.

    A very wide weld closes any mesh by collapsing all its triangles. So the tolerance must be at
    most a hundredth of the mesh's size. No more triangles may collapse than there are open edges.
    """
    result = collapsing_weld(mesh, tolerance)
    if result is None or result.dropped - int(table.degenerate.sum()) > len(table.odd):
        return None
    return result


def collapsing_weld(mesh: Mesh, tolerance: float) -> WeldResult | None:
    """Return the weld with a tolerance; None if it does not close the mesh.

    Triangles may collapse, but three quarters of all triangles must remain. The tolerance must be
    at most a hundredth of the mesh's size.
    """
    if not is_gentle(mesh, tolerance):
        return None
    try:
        result = weld(mesh, tolerance)
    except MeshError:
        return None
    if 4 * len(result.mesh.triangles) < 3 * len(mesh.triangles):
        return None
    return None if len(edge_table(result.mesh).odd) else result


# Fill the holes of an open mesh.


@dataclass(frozen=True)
class Hole:
    """A hole of a mesh, and the result of filling it.

    A hole is a boundary loop, or several loops that cannot be separated.

    Attributes
    ----------
    edges : int
        Number of open edges of the hole.
    reason : str
        Why the hole was not filled; empty if it was filled.
    corner : tuple of float
        The first corner of the hole, in the order by x, then y, then z.
    bounds : tuple of two tuples of float
        The box of the hole's corners: its lowest and its highest corner.
    area : float
        The area of the triangles that fill the hole, in squares of the unit of the coordinates.
    off_plane : float
        The largest distance of a corner from the loop's mean plane, which passes through the
        mean of the corners.
    """

    edges: int
    reason: str
    corner: tuple[float, ...]
    bounds: tuple[tuple[float, ...], tuple[float, ...]]
    area: float = 0.0
    off_plane: float = 0.0

    @property
    def filled(self) -> bool:
        """Whether the hole was filled."""
        return not self.reason

    def __str__(self) -> str:
        """Say whether the hole was filled, where it is, and how large it is."""
        corner = ", ".join(f"{value:.10g}" for value in self.corner)
        if self.reason:
            return f"left open: {counted(self.edges, 'edge')} from ({corner}), {self.reason}"
        flat = "flat" if self.off_plane == 0 else f"{self.off_plane:.3g} off a plane"
        return (
            f"filled: {counted(self.edges, 'edge')} from ({corner}), area {self.area:.6g}, {flat}"
        )


@dataclass(frozen=True, eq=False)
class FillResult:
    """A mesh whose holes are filled, and the result for each hole.

    Attributes
    ----------
    mesh : Mesh
        The original vertices and triangles in their order, then the new triangles.
    added : int
        How many triangles are new.
    holes : tuple of Hole
        All holes, filled or not, sorted by their first corner.
    """

    mesh: Mesh
    added: int
    holes: tuple[Hole, ...]

    def to_pandas(self) -> pandas.DataFrame:
        """Return the holes as rows; ``x``, ``y`` and ``z`` are coordinates of the first corner."""
        corners = np.array([hole.corner for hole in self.holes], np.float64).reshape(-1, 3)
        return records_frame(Hole, self.holes, dict(zip("xyz", corners.T, strict=True)))

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("holes filled", f"{sum(hole.filled for hole in self.holes):,}"),
            ("left open", f"{sum(not hole.filled for hole in self.holes):,}"),
            ("triangles added", f"{self.added:,}"),
            ("area added", f"{sum(hole.area for hole in self.holes):.6g}"),
            ("closed", "yes" if self.mesh.is_closed else "no"),
        ]
        return html_table(f"Fill of {self.mesh.name}", rows, notes=[*map(str, self.holes)])


def fill_holes(mesh: Mesh, max_edges: int) -> FillResult:
    """Fill the holes of a mesh; see `geodomain.fill_holes`."""
    if not (isinstance(max_edges, Real) and max_edges >= 3):
        message = f"max_edges is {max_edges}, but must be at least 3: a hole has at least 3 edges"
        raise ValueError(message)
    table = edge_table(mesh)
    filled = sorted(_filled(table, max_edges), key=lambda pair: (pair[0].corner, pair[0].edges))
    holes = tuple(hole for hole, _ in filled)
    corners = np.concatenate([np.empty((0, 3), np.int64), *(new for _, new in filled)])
    new = _originals(mesh, table)[corners].astype(mesh.triangles.dtype)
    whole = np.concatenate([mesh.triangles, new])
    return FillResult(Mesh(mesh.vertices, whole, name=mesh.name), len(new), holes)


def _originals(mesh: Mesh, table: EdgeTable) -> Ints:
    """Return, for each distinct vertex, the first equal vertex of the mesh that a triangle uses."""
    first = np.empty(len(table.vertices), np.int64)
    first[table.triangles.ravel()[::-1]] = mesh.triangles.ravel()[::-1]
    return first


def _filled(table: EdgeTable, most: int) -> Iterator[tuple[Hole, Ints]]:
    """Yield pairs of a hole and the triangles that fill it; no triangles if the hole stays open.

    Triangles are given as indices of distinct vertices.
    """
    edges = table.odd
    used, ends = np.unique(table.ends[edges], return_inverse=True)
    ends = ends.reshape(-1, 2)
    label = connected_components(ends[:, 0], ends[:, 1], len(used))[ends[:, 0]]
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    for begin, end in pairwise([*starts.tolist(), len(order)]):
        own = edges[order[begin:end]]
        if (table.uses[own] != 1).any():
            yield _fill(table, own, "some of which have three or more triangles")
            continue
        loops = _loops(table, own)
        if not _meet_as_a_tree(table, loops):
            yield _fill(table, own, "in loops that meet at several corners")
            continue
        for loop in loops:
            yield _fill(table, loop, f"more than {most:,}" if len(loop) > most else "")


def _loops(table: EdgeTable, own: Ints) -> list[Ints]:
    """Split open edges into simple loops that together use each edge once.

    Every corner has an even number of edges. A walk that returns to a corner has closed a loop,
    which is removed from the walk.
    """
    beside: dict[int, dict[int, int]] = {}
    for edge, (low, high) in zip(own.tolist(), table.ends[own].tolist(), strict=True):
        beside.setdefault(low, {})[high] = beside.setdefault(high, {})[low] = edge
    loops = []
    for start in sorted(beside):
        path, passed, places = [start], list[int](), {start: 0}
        while beside[path[-1]]:
            here = path[-1]
            there = min(beside[here])
            passed.append(beside[here].pop(there))
            del beside[there][here]
            if there not in places:
                places[there] = len(path)
                path.append(there)
                continue
            back = places[there]
            loops.append(np.array(passed[back:], np.int64))
            for corner in path[back + 1 :]:
                del places[corner]
            del path[back + 1 :], passed[back:]
    return loops


def _meet_as_a_tree(table: EdgeTable, loops: list[Ints]) -> bool:
    """Return whether the edges of connected loops can be split into loops in only one way.

    This is so if loops and their shared corners form a tree: no two loops share two corners, and no
    chain of loops leads back to its start.
    """
    corners = [np.unique(table.ends[loop]) for loop in loops]
    times = np.unique(np.concatenate(corners), return_counts=True)[1]
    several = times[times > 1]
    return len(loops) + len(several) - int(several.sum()) == 1


def _fill(table: EdgeTable, own: Ints, reason: str) -> tuple[Hole, Ints]:
    """Return a hole and the triangles that fill it.

    There are no triangles if the hole stays open: for the given `reason`, or because a fill would
    fold over itself.
    """
    places = table.vertices[np.unique(table.ends[own])]
    corner = tuple(places[np.lexsort(places.T[::-1])[0]].tolist())
    bounds = (tuple(places.min(axis=0).tolist()), tuple(places.max(axis=0).tolist()))
    none = np.empty((0, 3), np.int64)
    if reason:
        return Hole(len(own), reason, corner, bounds), none
    ring = _ring(table, own)
    triangles = triangulate(table.vertices, ring, np.array([len(ring)]), flat=False)
    local, unit = _local(table.vertices[ring], np.array(corner))
    places_of = dict(zip(ring.tolist(), range(len(ring)), strict=True))
    crosses = normals(local, np.vectorize(places_of.__getitem__)(triangles))
    if not _is_line(table.vertices[ring]) and not (crosses @ crosses.sum(axis=0) > 0).all():
        reason = "so far from a plane that a fill would fold over itself"
        return Hole(len(own), reason, corner, bounds), none
    off = _off_plane(local, crosses.sum(axis=0)) * unit if len(ring) > 3 else 0.0
    hole = Hole(len(own), "", corner, bounds, area(crosses) * unit * unit, off)
    return hole, triangles.astype(np.int64)


def _ring(table: EdgeTable, own: Ints) -> Ints:
    """Return the corners of a loop in an order by which new triangles face as their neighbours do.

    If the neighbours face different ways, the majority decides. Without a majority, the ring goes
    from its first corner, in the order of coordinates, towards the first of that corner's two
    neighbours.
    """
    beside: dict[int, list[int]] = {}
    for low, high in table.ends[own].tolist():
        beside.setdefault(low, []).append(high)
        beside.setdefault(high, []).append(low)
    start = min(beside)
    ring, last, here = [start], start, min(beside[start])
    while here != start:
        ring.append(here)
        left, right = beside[here]
        last, here = here, right if left == last else left
    ends, balance = table.ends[own].tolist(), table.balance[own].tolist()
    uses = {(low, high): use for (low, high), use in zip(ends, balance, strict=True)}
    steps = zip(ring, [*ring[1:], start], strict=True)
    along = sum(uses[a, b] if a < b else -uses[b, a] for a, b in steps)
    if along == 0:
        places = table.vertices[ring].tolist()
        first = places.index(min(places))
        along = 1 if places[first - 1] < places[(first + 1) % len(ring)] else -1
    return np.array(ring[::-1] if along > 0 else ring, np.int64)


def _local(points: Floats, corner: Floats) -> tuple[Floats, float]:
    """Return points relative to a corner, divided by a power of two, and this power of two."""
    moved = points - corner
    _, exponent = np.frexp(np.abs(moved).max())
    return np.ldexp(moved, -int(exponent)), float(np.ldexp(1.0, int(exponent)))


def _is_line(points: Floats) -> bool:
    """Return whether points are exactly collinear; a ring of only three points counts as well."""
    first = np.broadcast_to(points[0], points.shape)
    second = np.broadcast_to(points[1], points.shape)
    return len(points) == 3 or bool(collinear(first, second, points).all())


def _off_plane(points: Floats, normal: Floats) -> float:
    """Return the largest distance of points from the plane through their mean with this normal."""
    length = float(np.linalg.norm(normal))
    if not length:
        return 0.0
    heights = points @ (normal / length)
    return float(np.abs(heights - heights.mean()).max())
