"""Fill the holes of an open mesh: boundary loops, each closed by triangles between its corners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from geodomain.errors import counted
from geodomain.html.table import html_table
from geodomain.mesh.faults.collinear import collinear
from geodomain.mesh.faults.edge_table import EdgeTable, Floats, Ints, edge_table
from geodomain.mesh.faults.shells import components
from geodomain.mesh.measure import area, normals
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import triangulate


@dataclass(frozen=True)
class Hole:
    """A boundary loop, or several that cannot be told apart, and what became of it.

    Attributes
    ----------
    edges : int
        Open edges.
    reason : str
        Why it was not filled; empty where it was.
    corner : tuple of float
        The corner that comes first by x, then y, then z.
    bounds : tuple of two tuples of float
        The box of its corners, lowest corner first.
    area : float
        Of the triangles that fill it, in squares of the unit of the coordinates.
    off_plane : float
        How far the farthest corner is from the plane through their mean that best fits the area.
    """

    edges: int
    reason: str
    corner: tuple[float, ...]
    bounds: tuple[tuple[float, ...], tuple[float, ...]]
    area: float = 0.0
    off_plane: float = 0.0

    @property
    def filled(self) -> bool:
        """Whether it is closed now."""
        return not self.reason

    def __str__(self) -> str:
        """Say what became of it, and where it is."""
        corner = ", ".join(f"{value:.10g}" for value in self.corner)
        if self.reason:
            return f"left open: {counted(self.edges, 'edge')} from ({corner}), {self.reason}"
        flat = "flat" if self.off_plane == 0 else f"{self.off_plane:.3g} off a plane"
        return (
            f"filled: {counted(self.edges, 'edge')} from ({corner}), area {self.area:.6g}, {flat}"
        )


@dataclass(frozen=True, eq=False)
class FillResult:
    """A mesh whose holes are filled, and what was done to each.

    Attributes
    ----------
    mesh : Mesh
        The vertices and triangles that there were, in their order, then new triangles.
    added : int
        How many triangles are new.
    holes : tuple of Hole
        All of them, filled or not, by their first corner.
    """

    mesh: Mesh
    added: int
    holes: tuple[Hole, ...]

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
    if max_edges < 3:
        message = f"max_edges is {max_edges}; a hole has 3 edges at least"
        raise ValueError(message)
    table = edge_table(mesh)
    found = sorted(_filled(table, max_edges), key=lambda one: (one[0].corner, one[0].edges))
    holes = tuple(hole for hole, _ in found)
    corners = np.concatenate([np.empty((0, 3), np.int64), *(new for _, new in found)])
    new = _originals(mesh, table)[corners].astype(mesh.triangles.dtype)
    whole = np.concatenate([mesh.triangles, new])
    return FillResult(Mesh(mesh.vertices, whole, name=mesh.name), len(new), holes)


def _originals(mesh: Mesh, table: EdgeTable) -> Ints:
    """Return the vertex of the mesh, the first that triangles use, at each distinct place."""
    first = np.empty(len(table.vertices), np.int64)
    first[table.triangles.ravel()[::-1]] = mesh.triangles.ravel()[::-1]
    return first


def _filled(table: EdgeTable, most: int) -> Iterator[tuple[Hole, Ints]]:
    """Yield each hole with its triangles, by distinct vertices; none where it stays open."""
    edges = table.odd
    used, ends = np.unique(table.ends[edges], return_inverse=True)
    ends = ends.reshape(-1, 2)
    label = components(ends[:, 0], ends[:, 1], len(used))[ends[:, 0]]
    order = np.argsort(label, kind="stable")
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    for begin, end in pairwise([*starts.tolist(), len(order)]):
        own = edges[order[begin:end]]
        if (table.uses[own] != 1).any():
            yield _fill(table, own, "of which some have three or more triangles")
            continue
        loops = _loops(table, own)
        if not _meet_as_a_tree(table, loops):
            yield _fill(table, own, "of loops that meet at several corners")
            continue
        for loop in loops:
            yield _fill(table, loop, f"more than {most:,}" if len(loop) > most else "")


def _loops(table: EdgeTable, own: Ints) -> list[Ints]:
    """Return the edges of closed walks that meet no corner twice, and use each edge once.

    Every corner has an even number of the edges. A walk that comes to a corner where it was before
    has closed a loop, which is taken off it.
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
    """Return whether the edges of loops that hang together can be parted in one way alone.

    So it is where loops and the corners that they share make a tree: no two loops share two
    corners, and no chain of loops closes.
    """
    corners = [np.unique(table.ends[loop]) for loop in loops]
    times = np.unique(np.concatenate(corners), return_counts=True)[1]
    several = times[times > 1]
    return len(loops) + len(several) - int(several.sum()) == 1


def _fill(table: EdgeTable, own: Ints, reason: str) -> tuple[Hole, Ints]:
    """Return a hole and its triangles, unless there is a reason against them."""
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
    """Return the corners of a loop in order, so that triangles face as their neighbours do.

    Where neighbours disagree, most of them decide; of as many each way, the corner that comes first
    by its coordinates: the ring goes on to that one of its neighbours which comes before the other.
    """
    beside: dict[int, list[int]] = {}
    for low, high in table.ends[own].tolist():
        beside.setdefault(low, []).append(high)
        beside.setdefault(high, []).append(low)
    start = min(beside)
    ring, last, here = [start], start, min(beside[start])
    while here != start:
        ring.append(here)
        one, other = beside[here]
        last, here = here, other if one == last else one
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
    """Return points from a corner in a unit, a power of two, in which no product overflows."""
    moved = points - corner
    _, exponent = np.frexp(np.abs(moved).max())
    return np.ldexp(moved, -int(exponent)), float(np.ldexp(1.0, int(exponent)))


def _is_line(points: Floats) -> bool:
    """Return whether points are on one line, exactly: any triangles between them have no area."""
    first = np.broadcast_to(points[0], points.shape)
    second = np.broadcast_to(points[1], points.shape)
    return len(points) == 3 or bool(collinear(first, second, points).all())


def _off_plane(points: Floats, normal: Floats) -> float:
    """Return the largest distance of points from the plane through their mean."""
    length = float(np.linalg.norm(normal))
    if not length:
        return 0.0
    heights = points @ (normal / length)
    return float(np.abs(heights - heights.mean()).max())
