"""Mend a wireframe where the right change is certain, and refuse it where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.compute.meshes import group_equal
from geodomain.errors import MeshError, counted
from geodomain.mesh import fitness
from geodomain.mesh.check import PLACES, check, find_duplicates
from geodomain.mesh.components import connected_components
from geodomain.mesh.edges import EdgeTable, collinear, edge_table, has_equal_corners
from geodomain.mesh.mesh import Mesh, area, enclosed_volume, normals
from geodomain.mesh.open_edges import open_edges_sentence, place, t_junctions
from geodomain.mesh.polygons import triangulate
from geodomain.mesh.repair import Hole, fill_holes, weld
from geodomain.settings import Rule

# Texts of changes by kind, in the singular and in the plural.
_WORDS = {
    "coincident": ("vertex joined to an equal vertex", "vertices joined to equal vertices"),
    "degenerate": ("triangle with two equal corners dropped", "triangles with two equal corners "
                   "dropped"),
    "welded": ("vertex moved by the weld", "vertices moved by the weld"),
    "duplicate": ("copy of a triangle dropped", "copies of triangles dropped"),
    "folded": ("triangle dropped because it is folded onto another", "triangles dropped because "
               "they are folded onto others"),
    "split": ("triangle cut at a T-junction", "triangles cut at T-junctions"),
    "filled": ("hole filled", "holes filled"),
    "turned": ("triangle turned to face the same way as its neighbours", "triangles turned to face "
               "the same way as their neighbours"),
    "shell turned": ("shell turned to face out of the solid", "shells turned to face out of the "
                     "solid"),
    "shell dropped": ("shell dropped because it bounds nothing", "shells dropped because they "
                      "bound nothing"),
    "unfolded": ("folded flat face triangulated again", "folded flat faces triangulated again"),
    "united": ("group of overlapping shells combined by the rule", "groups of overlapping shells "
               "combined by the rule"),
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One kind of change to a wireframe.

    Attributes
    ----------
    kind : str
        "coincident", "degenerate", "welded", "duplicate", "folded", "split", "filled", "turned",
        "shell turned", "shell dropped", "unfolded" or "united".
    count : int
        How many vertices, triangles, holes or shells were changed.
    places : tuple of tuple of float
        A point (x, y, z) at each of the first 100 changes.
    volume : float
        A bound on the volume of the space that the changes moved from inside to outside or the
        other way. It is exactly 0 if the change leaves the surface as a set of points. For holes,
        it is the area of their new triangles times the distance of their corners from a plane,
        because an open wireframe has no volume.
    """

    kind: str
    count: int
    places: tuple[tuple[float, ...], ...]
    volume: float = 0.0

    def __str__(self) -> str:
        """Return the number of changes, the first place, and the volume that they moved."""
        single, several = _WORDS[self.kind]
        first = "" if self.count == 1 else "the first "
        at = f", {first}at {point_text(self.places[0])}" if self.places else ""
        moved = f"at most {self.volume:.3g} of volume" if self.volume else "no volume"
        if self.kind == "filled":
            choice = (
                f"up to {self.volume:.3g} of volume depends on the choice of triangles"
                if self.volume
                else "the new triangles are flat"
            )
            return f"{counted(self.count, single, several)}{at}; {choice}"
        return f"{counted(self.count, single, several)}{at}; {moved} moved"


class Mended(NamedTuple):
    """A closed wireframe whose triangles face consistently, and the changes that made it so."""

    mesh: Mesh
    changes: tuple[Change, ...]


def point_text(point: NDArray[np.float64] | tuple[float, ...]) -> str:
    """Return a point as text with 10 digits."""
    return f"({', '.join(f'{float(value):.10g}' for value in point)})"


def mend(
    mesh: Mesh, rule: Rule = "parity", *, tolerance: float | None = None, holes: int | None = None
) -> Mended:
    """Return a closed mesh in which each edge is used equally often in both directions.

    Parameters
    ----------
    mesh : Mesh
        Any mesh.
    rule : {"parity", "winding"}
        The rule for inside. By parity two copies of a triangle cancel; by winding number they
        cancel only if they face opposite ways.
    tolerance : float, optional
        Join vertices that are at most this far apart, as `geodomain.weld` does.
    holes : int, optional
        Fill holes of at most this number of edges, as `geodomain.fill_holes` does.

    Returns
    -------
    Mended
        The remaining triangles keep the order of the input. Only the weld moves vertices.

    Raises
    ------
    MeshError
        If the mesh is still open, encloses nothing, or cannot be oriented; the message gives the
        place.
    """
    mended, changes = mend_surface(mesh, rule, tolerance=tolerance)
    if holes is not None and not mended.is_closed:
        mended, added = _filled(mended, holes)
        changes += added
    if not mended.is_closed and check(mended).sheet:
        message = (
            f"{mesh.name} is an open surface, not a solid: clip a solid above or below it, or "
            "make a solid between two surfaces"
        )
        raise MeshError(message)
    if not mended.is_closed:
        raise MeshError(open_edges_sentence(mended, _instead(mended, holes)))
    if not len(mended.triangles):
        raise MeshError(_nothing_left(mesh, changes))
    mended, turned = _oriented(mended)
    _refuse_unbalanced(mended)
    fitness.require_inside(mended, rule)
    fitness.mark_warned(mended)  # the changes say the same
    return Mended(mended, changes + turned)


def _nothing_left(mesh: Mesh, changes: tuple[Change, ...]) -> str:
    """Return why a mesh has no triangle after some changes."""
    if not changes:
        return f"{mesh.name} has no triangles, so it encloses nothing"
    if changes[0].kind == "welded":
        return f"{mesh.name} has no triangles left after the weld: use a smaller tolerance"
    return f"{mesh.name} encloses nothing: all its triangles are folded onto others"


def _instead(mesh: Mesh, holes: int | None) -> str:
    """Return what a user can do instead of welding an open mesh."""
    largest = max((hole.edges for hole in fill_holes(mesh, 3).holes), default=3)
    if holes is None or holes < largest:
        return f"fill its holes, of at most {counted(largest, 'edge')}, with fill="
    return ""


def mend_surface(
    mesh: Mesh, rule: Rule = "parity", *, tolerance: float | None = None
) -> tuple[Mesh, tuple[Change, ...]]:
    """Mend equal vertices, copies of triangles and T-junctions, in an open or closed mesh.

    Parameters are those of `mend`.
    """
    changes: tuple[Change, ...] = ()
    if tolerance is not None:
        mesh, changes = _welded(mesh, tolerance)
    for step in (_merged, lambda each: _without_copies(each, rule), _without_junctions):
        mesh, made = step(mesh)
        changes += made
    return mesh, changes


def place_change(
    kind: str, places: Floats, volume: float = 0.0, count: int = 0
) -> tuple[Change, ...]:
    """Return a tuple with one change; an empty tuple if there is no place."""
    if not len(places):
        return ()
    points = tuple(tuple(map(float, row)) for row in places[:PLACES])
    return (Change(kind, count or len(places), points, volume),)


def _welded(mesh: Mesh, tolerance: float) -> tuple[Mesh, tuple[Change, ...]]:
    """Weld a mesh.

    A vertex that moves by a length sweeps at most this length times a third of the area of its
    triangles, to first order; the bound is three times as large.
    """
    result = weld(mesh, tolerance)
    if not result.moved:
        return result.mesh, ()
    table = edge_table(mesh)
    stay = {row.tobytes() for row in result.mesh.vertices}
    moved = np.array([row.tobytes() not in stay for row in table.vertices])
    swept = table.triangles[moved[table.triangles].any(axis=1)]
    bound = result.largest_move * area(normals(table.vertices, swept))
    return result.mesh, place_change("welded", table.vertices[moved], bound, result.moved)


def _merged(mesh: Mesh) -> tuple[Mesh, tuple[Change, ...]]:
    """Join vertices with equal coordinates, and drop triangles with two equal corners."""
    table = edge_table(mesh)
    used = np.unique(mesh.triangles)
    first, _ = group_equal(mesh.vertices[used])
    repeated = np.ones(len(used), np.bool_)
    repeated[first] = False
    flat = has_equal_corners(table.triangles)
    changes = place_change("coincident", mesh.vertices[used[repeated]])
    changes += place_change("degenerate", table.vertices[table.triangles[flat, 0]])
    merged = Mesh(table.vertices, table.triangles[~flat], name=mesh.name)
    return (merged if changes else mesh), changes


# Copies of triangles.


def _without_copies(mesh: Mesh, rule: Rule) -> tuple[Mesh, tuple[Change, ...]]:
    """Drop copies of triangles where the rule says how many count.

    Copies that face opposite ways bound nothing. By parity any two copies cancel. If the three
    edges of a repeated triangle have an odd number of triangles, one copy is too many: a copy is
    dropped, and the edges are closed.
    """
    table = edge_table(mesh)
    duplicates = find_duplicates(table.triangles, len(table.vertices))
    if not len(duplicates.faces):
        return mesh, ()
    if duplicates.shells and rule == "parity":
        message = (
            f"{mesh.name} has {counted(duplicates.shells, 'shell')} twice, and by parity the "
            "copies cancel: remove one copy, or use rule='winding', which counts a shell once, "
            "however often it occurs"
        )
        raise MeshError(message)
    remaining, cancelled = _counting_copies(table, rule)
    if remaining.all():
        return mesh, ()
    copies = _middles(table.vertices, table.triangles[~remaining & ~cancelled])
    folded = _middles(table.vertices, table.triangles[cancelled])
    changes = place_change("duplicate", copies) + place_change("folded", folded)
    return Mesh(table.vertices, table.triangles[remaining], name=mesh.name), changes


def _counting_copies(table: EdgeTable, rule: Rule) -> tuple[Bools, Bools]:
    """Return the masks of triangles that remain, and of those whose copies all cancel."""
    triangles = table.triangles
    a, b, c = triangles.T
    turns = np.where((a < b) ^ (b < c) ^ (a < c), 1, -1)
    _, group = group_equal(np.sort(triangles, axis=1).astype(np.float64))
    copies, net = np.bincount(group), np.bincount(group, turns).astype(np.int64)
    odd = np.zeros(len(triangles), np.bool_)
    if len(table.odd):
        odd_edges = _edge_numbers(table, triangles)
        odd |= np.isin(odd_edges, table.odd).all(axis=1)
    remaining = np.ones(len(triangles), np.bool_)
    cancelled = np.zeros(len(triangles), np.bool_)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(copies)))
    for number in np.flatnonzero(copies > 1).tolist():
        rows = order[starts[number] : starts[number] + copies[number]]
        count = int(copies[number]) % 2 if rule == "parity" else abs(int(net[number]))
        if odd[rows[0]]:
            count += 1 if count == 0 else -1
        way = 1 if net[number] >= 0 else -1
        alike = rows[turns[rows] == way]
        remaining[rows] = False
        remaining[alike[:count]] = True
        cancelled[rows] = count == 0
    return remaining, cancelled


def _edge_numbers(table: EdgeTable, triangles: Ints) -> Ints:
    """Return the index of each triangle's three edges in the table."""
    count = len(table.vertices)
    keys = table.ends[:, 0] * count + table.ends[:, 1]
    start, end = triangles, triangles[:, [1, 2, 0]]
    numbers: Ints = np.searchsorted(keys, np.minimum(start, end) * count + np.maximum(start, end))
    return numbers


def _middles(vertices: Floats, triangles: Ints) -> Floats:
    """Return the middle of each triangle."""
    return np.asarray(vertices[triangles].mean(axis=1))


# T-junctions.


def _without_junctions(mesh: Mesh) -> tuple[Mesh, tuple[Change, ...]]:
    """Cut triangles whose edge has vertices of other open edges exactly on it.

    The surface stays the same set of points.
    """
    table = edge_table(mesh)
    edges = t_junctions(table)
    if not len(edges):
        return mesh, ()
    inserted = _vertices_on(table, edges)
    if not inserted:
        return mesh, ()
    rows = np.flatnonzero(
        np.isin(_edge_numbers(table, table.triangles), list(inserted)).any(axis=1)
    )
    rings = [_ring(table.triangles[row], inserted, table) for row in rows.tolist()]
    corners = np.concatenate([np.array(ring) for ring in rings])
    sizes = np.array([len(ring) for ring in rings])
    cut = triangulate(table.vertices, corners, sizes, flat=False)
    stay = np.delete(table.triangles, rows, axis=0)
    whole = Mesh(table.vertices, np.concatenate([stay, cut]), name=mesh.name)
    return whole, place_change("split", _middles(table.vertices, table.triangles[rows]))


def _vertices_on(table: EdgeTable, edges: Ints) -> dict[int, Ints]:
    """Return, for each T-junction edge with vertices on it, these vertices from end to end."""
    candidates = np.unique(table.ends[edges])
    points = table.vertices[candidates]
    on_edges = {}
    for edge in edges.tolist():
        start, end = table.vertices[table.ends[edge]]
        low, high = np.minimum(start, end), np.maximum(start, end)
        near = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
        near = near[~np.isin(candidates[near], table.ends[edge])]
        shape = (len(near), 3)
        line = collinear(np.broadcast_to(start, shape), np.broadcast_to(end, shape), points[near])
        between = near[line]
        if len(between):
            along = ((points[between] - start) * (end - start)).sum(axis=1)
            on_edges[edge] = candidates[between[np.argsort(along, kind="stable")]]
    return on_edges


def _ring(triangle: Ints, inserted: dict[int, Ints], table: EdgeTable) -> list[int]:
    """Return the corners of a triangle with the vertices on its edges between them."""
    ring: list[int] = []
    for number, corner in zip(
        _edge_numbers(table, triangle[None])[0].tolist(), triangle.tolist(), strict=True
    ):
        between = inserted.get(number, np.empty(0, np.int64)).tolist()
        forward = table.ends[number, 0] == corner
        ring += [corner, *(between if forward else between[::-1])]
    return ring


# Holes and orientation.


def _filled(mesh: Mesh, holes: int) -> tuple[Mesh, tuple[Change, ...]]:
    """Fill holes; the bound on the volume is that between a flat cap and the actual cap."""
    result = fill_holes(mesh, holes)
    filled: list[Hole] = [hole for hole in result.holes if hole.filled]
    places = np.array([hole.corner for hole in filled]).reshape(-1, 3)
    bound = sum(hole.area * hole.off_plane for hole in filled)
    return result.mesh, place_change("filled", places, bound)


def _oriented(mesh: Mesh) -> tuple[Mesh, tuple[Change, ...]]:
    """Turn triangles until each edge of two triangles is used once in each direction.

    In each part that is connected by such edges, the direction that most of the area faces wins. A
    part that has only one side, such as a Moebius strip, is not changed.
    """
    if mesh.is_balanced:
        return mesh, ()
    table = edge_table(mesh)
    count = len(table.triangles)
    edges = _edge_numbers(table, table.triangles).ravel()
    forward = (table.triangles < table.triangles[:, [1, 2, 0]]).ravel()
    owner = np.repeat(np.arange(count), 3)
    order = np.argsort(edges, kind="stable")
    starts = np.searchsorted(edges[order], np.flatnonzero(table.uses == 2))
    first, second = order[starts], order[starts + 1]
    same = forward[first] == forward[second]  # neighbours that face opposite ways
    left, right = owner[first], owner[second]
    # Each triangle is two nodes: as it is, and turned.
    root = connected_components(
        np.r_[left, left + count], np.r_[right + same * count, right + ~same * count], 2 * count
    )
    as_is, turned = root[:count], root[count:]
    one_sided = as_is == turned
    group = np.minimum(as_is, turned)
    way = np.where(as_is <= turned, 1, -1)
    sizes = np.linalg.norm(normals(table.vertices, table.triangles), axis=1)
    balance = np.bincount(group, sizes * way, minlength=2 * count)
    flip = (np.where(balance[group] >= 0, 1, -1) != way) & ~one_sided
    triangles = table.triangles.copy()
    triangles[flip] = triangles[flip][:, ::-1]
    places = _middles(table.vertices, table.triangles[flip])
    return Mesh(table.vertices, triangles, name=mesh.name), place_change("turned", places)


def orient(mesh: Mesh) -> Mesh:
    """Return a mesh, open or closed, whose triangles face the same way as their neighbours."""
    return _oriented(mesh)[0]


def _refuse_unbalanced(mesh: Mesh) -> None:
    """Refuse a closed mesh whose triangles cannot be turned to face consistently."""
    if mesh.is_balanced:
        return
    table = edge_table(mesh)
    where = place(table.segments(table.unbalanced, 1)[0])
    message = (
        f"{mesh.name} has {counted(len(table.unbalanced), 'edge')} whose triangles cannot be "
        f"turned to face the same way, the first {where}: repair the mesh in the program that made "
        "it"
    )
    raise MeshError(message)


def space_between(before: Mesh, after: Mesh) -> float:
    """Return the difference of the volumes that two closed meshes enclose, in float64."""
    volumes = [enclosed_volume(m.vertices, m.triangles, m.bounds) for m in (before, after)]
    return abs(volumes[0] - volumes[1])
