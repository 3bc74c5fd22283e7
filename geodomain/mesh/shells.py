"""Find the shells and components of a mesh: how they face, nest and relate, and their volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_columns, refuse_row
from geodomain.compute import choose
from geodomain.compute.api import PointIndex
from geodomain.compute.data import Bools, Columns, Floats, Ints
from geodomain.compute.meshes import (
    Components,
    Seen,
    VertexFans,
    are_distinct,
    group_equal,
    merge_equal,
    volume_sign,
)
from geodomain.compute.native import thread_count
from geodomain.mesh.edges import EdgeTable, count_edges, edge_table, has_equal_corners
from geodomain.mesh.mesh import Mesh, area, normals, sixfold_volumes


def components(first: Ints, second: Ints, count: int) -> Ints:
    """Label the connected components of a graph.

    Parameters
    ----------
    first, second : (e,) int64
        The two nodes of each edge of the graph.
    count : int
        How many nodes there are.

    Returns
    -------
    (count,) int64
        For each node, the smallest node of its component.

    Notes
    -----
    Every root is attached to the smallest root that an edge links it to, then all paths are
    compressed. A few rounds suffice, because edges within one tree are dropped.
    """
    root = np.arange(count)
    while len(first):
        low, high = np.minimum(first, second), np.maximum(first, second)
        np.minimum.at(root, high, low)
        root = _flattened(root)
        first, second = root[first], root[second]
        apart = first != second
        first, second = first[apart], second[apart]
    return root


def _flattened(root: Ints) -> Ints:
    """Point every node at the end of its path."""
    while True:
        further = root[root]
        if np.array_equal(further, root):
            return root
        root = further


def shells(triangles: Ints, vertex_count: int) -> tuple[Ints, int]:
    """Label triangles by the shell they belong to.

    Triangles that share a vertex belong to the same shell, so two bodies that touch in a
    point, and a body that occurs twice, are one shell.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices with distinct coordinates.
    vertex_count : int
        Number of vertices.

    Returns
    -------
    (t,) int64
        0, 1, ... in the order of the first triangle of each shell.
    int
        How many shells there are.
    """
    a, b, c = triangles.T
    root = components(np.r_[a, b], np.r_[b, c], vertex_count)[a]
    _, first, label = np.unique(root, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[label.reshape(-1)], len(first)


# Triangles grouped by component.


class ComponentTriangles:
    """The triangles of a mesh grouped by edge-connected component.

    Attributes
    ----------
    component : (t,) int32
        The component of each triangle, -1 where two corners are equal.
    """

    def __init__(self, mesh: Mesh, places: NDArray[np.int32], components: Components) -> None:
        """Group the triangles; equal vertices have equal `places`."""
        self.mesh = mesh
        self._places = places
        self.component = components.component
        self.count = components.count
        self.order = np.argsort(self.component, kind="stable")
        self.starts = np.searchsorted(self.component[self.order], np.arange(components.count + 1))

    def triangles(self, component: int) -> NDArray[np.int32]:
        """Return the triangles of one component."""
        return self.mesh.triangles[self.order[self.starts[component] : self.starts[component + 1]]]

    def first_vertices(self, components: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return a vertex of each component."""
        first: NDArray[np.int32] = self.mesh.triangles[self.order[self.starts[components]], 0]
        return first

    def folded(self, components: Ints) -> Bools:
        """Return which of these components are folded flat, each face on another."""
        folded = np.zeros(self.count, np.bool_)
        for component in components.tolist():
            corners = np.sort(self._places[self.triangles(component)], axis=1)
            _, copies = np.unique(corners, axis=0, return_counts=True)
            folded[component] = (copies % 2 == 0).all()
        return folded


def find_components(mesh: Mesh) -> tuple[Components, ComponentTriangles]:
    """Find the components of a mesh, merging equal vertices, and their triangles."""
    places = merge_equal(mesh.vertices)
    linked = Components(mesh.vertices, np.ascontiguousarray(places[mesh.triangles]))
    return linked, ComponentTriangles(mesh, places, linked)


# Duplicate triangles and shells, and components whose faces all cancel.

Vector = tuple[int, int, int]


class Doubles(NamedTuple):
    """Repeated triangles, and how many whole shells are repeated.

    Attributes
    ----------
    faces : (n,) int64
        Triangles with the same three corners as an earlier one, in any order; ascending.
    shells : int
        Closed shells whose faces each occur an even number of times, not counting walls shared
        with other solids. They cancel: by parity, nothing is inside.
    """

    faces: Ints
    shells: int


def find_doubles(triangles: Ints, vertex_count: int) -> Doubles:
    """Find triangles and shells that occur more than once.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices with distinct coordinates; degenerate triangles count too.
    vertex_count : int
        Number of vertices.
    """
    # Indices are far below 2^53, so float64 holds them exactly.
    first, group = group_equal(np.sort(triangles, axis=1).astype(np.float64))
    is_first = np.zeros(len(triangles), np.bool_)
    is_first[first] = True
    faces = np.flatnonzero(~is_first)
    if not len(faces):
        return Doubles(faces, 0)
    copies = np.bincount(group)
    proper = ~has_equal_corners(triangles[first])
    more = (copies > 1) & proper
    shells_cancelled = _cancelled_shells(triangles[first[more]], copies[more], vertex_count)
    return Doubles(faces, shells_cancelled)


def encloses_nothing(vertices: Floats, triangles: Ints, *, winding: bool) -> bool:
    """Return whether the faces of a closed mesh cancel, so that nothing can be inside.

    Faces are compared as sets of points, however they are cut into triangles. A point of a plane
    separates inside from outside if an odd number of faces covers it, or, by winding
    number, if the faces there do not face both ways equally often. The faces in a plane
    cancel if their boundary edges cancel, and edges cancel, line by line, if their ends do.
    So each vertex is tested alone, and the first where something remains decides.

    Parameters
    ----------
    vertices : (v, 3) float64
        Distinct vertices.
    triangles : (t, 3) int64
        Indices of vertices; degenerate triangles are ignored.
    winding : bool
        Whether the inside is defined by the winding number instead of parity.
    """
    proper = triangles[~has_equal_corners(triangles)]
    if not len(proper):
        return False
    left = _uncancelled(proper, winding=winding)
    order = np.argsort(left, axis=None, kind="stable")
    used, starts = np.unique(left.reshape(-1)[order], return_index=True)
    stars = np.split(left[order // 3], starts[1:])
    places = whole_places(vertices)
    # In random order, so that a small part that encloses something is met early.
    for each in np.random.default_rng(0).permutation(len(used)).tolist():
        if not star_cancels(places, int(used[each]), stars[each], winding=winding):
            return False
    return True


def _uncancelled(proper: Ints, *, winding: bool) -> Ints:
    """Return the triangles that remain after triangles with the same corners cancel."""
    first, group = group_equal(np.sort(proper, axis=1).astype(np.float64))
    if winding:
        a, b, c = proper.T
        turns = np.where((a < b) ^ (b < c) ^ (a < c), 1, -1)
        remaining: Ints = proper[(np.bincount(group, turns) != 0)[group]]
    else:
        remaining = proper[first[np.bincount(group) % 2 == 1]]
    return remaining


def whole_places(vertices: Floats) -> list[Vector]:
    """Return coordinates as integers in a unit small enough to be exact."""
    fraction, power = np.frexp(vertices)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    power[digits == 0] = power.max(initial=0)
    shift = power - power.min(initial=0)
    whole: list[Vector] = (digits.astype(object) << shift.astype(object)).tolist()
    return whole


def star_cancels(places: Sequence[Vector], centre: int, star: Ints, *, winding: bool) -> bool:
    """Return whether the edges at a vertex cancel on each line of each plane.

    Parameters
    ----------
    places : sequence of three int
        The vertices' coordinates, from `whole_places`.
    centre : int
        The vertex.
    star : (t, 3) int64
        The triangles with the vertex as exactly one corner.
    winding : bool
        As in `encloses_nothing`.
    """
    ends: dict[tuple[Vector, Vector], int] = {}
    x, y, z = places[centre]
    for corners in star.tolist():
        at = corners.index(centre)
        after, before = places[corners[at - 2]], places[corners[at - 1]]
        leaving = after[0] - x, after[1] - y, after[2] - z
        coming = before[0] - x, before[1] - y, before[2] - z
        plane = _direction(_cross(leaving, coming))
        if not any(plane):
            continue
        for way, step in ((leaving, -1), (coming, 1)):
            key = plane, _direction(way)
            ends[key] = ends.get(key, 0) + step
    return not any(count if winding else count % 2 for count in ends.values())


def _cross(p: Vector, q: Vector) -> Vector:
    return (p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0])


def _direction(vector: Vector) -> Vector:
    """Return the shortest integer vector along a line, the same for both directions."""
    part = gcd(*vector)
    if not part:
        return vector
    first = next(value for value in vector if value)
    part = part if first > 0 else -part
    x, y, z = (value // part for value in vector)
    return x, y, z


def _cancelled_shells(faces: Ints, copies: Ints, vertex_count: int) -> int:
    """Count the shells without odd edges that have a face with an even number of copies.

    Only repeated faces are passed, so that other triangles that touch a shell do not hide it. A
    solid that shares a wall with two copies of another makes three copies of that wall, so one
    face with an even number is enough.
    """
    label, count = shells(faces, vertex_count)
    ends, uses, _ = count_edges(faces, vertex_count)
    shell_of = np.zeros(vertex_count, np.int64)
    shell_of[faces] = label[:, None]
    cancelled = np.zeros(count, np.bool_)
    cancelled[label[copies % 2 == 0]] = True
    cancelled[shell_of[ends[uses & 1 == 1, 0]]] = False
    return int(cancelled.sum())


# The exact orientation of components: outwards or inwards.


def facing(mesh: Mesh, fans: VertexFans) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Return the component of each triangle, (t,), and how each component faces, as `Relations`.

    A triangle with two equal corners is in no component: -1.
    """
    if sign := _lone_sign(mesh, fans):
        return np.zeros(len(mesh.triangles), np.int32), np.array([sign], np.int8)
    _, parts = find_components(mesh)
    return parts.component, outward_signs(parts)


def _lone_sign(mesh: Mesh, fans: VertexFans) -> int:
    """Return how a mesh faces if it is obviously one component; 0 if not, or if that is unsure."""
    if not (fans.are_rings and mesh.bodies.count == 1 and are_distinct(mesh.vertices)):
        return 0
    return volume_sign(mesh.vertices, mesh.triangles)


def outward_signs(parts: ComponentTriangles) -> NDArray[np.int8]:
    """Return the signs of the components' signed volumes, exactly; see `Relations`."""
    count, mesh = parts.count, parts.mesh
    whole = parts.component >= 0
    owner = parts.component[whole]
    corners = mesh.triangles[whole]
    origin = mesh.vertices[parts.first_vertices(np.arange(count))]
    a, b, c = (mesh.vertices[corners[:, k]] - origin[owner] for k in range(3))
    terms, sizes = _determinants(a, b, c)
    volume = np.bincount(owner, terms, minlength=count)
    # The error of a term is below 16 units of its size, that of the sum one more for each addend.
    bound = np.bincount(owner, sizes, minlength=count) * 2.0**-52
    bound *= 16 + np.bincount(owner, minlength=count)
    signs = np.sign(volume).astype(np.int8)
    for component in np.flatnonzero(~(np.abs(volume) > bound)).tolist():
        signs[component] = _exact_sign(mesh.vertices[parts.triangles(component)])
    signs[_unbalanced(parts)] = 0
    return signs


def _exact_sign(triangles: Floats) -> int:
    """Return the sign of the volume of triangles, (t, 3, 3), in rational arithmetic."""
    total = Fraction(0)
    for corners in triangles.tolist():
        (a, b, c), (d, e, f), (g, h, i) = (map(Fraction, corner) for corner in corners)
        total += a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return (total > 0) - (total < 0)


def _unbalanced(parts: ComponentTriangles) -> Ints:
    """Return the components with a mis-oriented edge."""
    if parts.mesh.is_balanced:
        return np.zeros(0, np.int64)

    table = edge_table(parts.mesh)
    apart = np.zeros(len(table.vertices), np.bool_)
    apart[table.ends[table.unbalanced].ravel()] = True
    touched = apart[table.triangles].any(axis=1)
    return np.unique(parts.component[(parts.component >= 0) & touched])


def _determinants(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return determinants of rows of three vectors, and the summed magnitudes of their terms."""
    total, size = np.zeros(len(a)), np.zeros(len(a))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        left, right = b[:, j] * c[:, k], b[:, k] * c[:, j]
        total += a[:, i] * (left - right)
        size += np.abs(a[:, i]) * (np.abs(left) + np.abs(right))
    return total, size


# Nesting of components that share at most points.

Pairs = NDArray[np.int32]
Indices = NDArray[np.integer]

# State of a pair: 1, -1 (the second, or the first, is inside), 0 (neither), or this.
_UNDETERMINED = 2


class Nesting(NamedTuple):
    """The tree of components inside others.

    Attributes
    ----------
    around : (components,) int64
        The innermost component around each one, or -1.
    depth : (components,) int64
        How many components are around each one.
    winding : (components,) int64
        How many of these face outwards, minus those that face inwards.
    """

    around: Ints
    depth: Ints
    winding: Ints


def nest(
    components: Components, parts: ComponentTriangles, pairs: Pairs, touch: Bools
) -> tuple[Pairs, Pairs, Pairs]:
    """Classify pairs that meet in points at most: one component is wholly inside the other, or not.

    Returns
    -------
    tuple of (n, 2) int32
        Pairs that are nested, the outer component first; undetermined pairs; pairs that touch.
    """
    state = np.zeros(len(pairs), np.int8)
    for way in (1, -1):
        outer, inner = pairs[:, ::way].T
        boxed = _holds(components.boxes[outer], components.boxes[inner]).all(axis=1) & (state == 0)
        apart = np.flatnonzero(boxed & ~touch)
        apart = apart[np.argsort(outer[apart], kind="stable")]
        inside = components.inside(np.stack([outer[apart], inner[apart]], axis=1))
        state[apart] = np.where(inside, way, 0)
        touching = np.flatnonzero(boxed & touch)
        touching = touching[np.argsort(outer[touching], kind="stable")]
        for rows in np.split(touching, np.flatnonzero(np.diff(outer[touching])) + 1):
            if len(rows):
                within = _inside(parts, outer[rows[0]], inner[rows])
                state[rows] = np.where(within == 1, way, within)
    nested = np.concatenate([pairs[state == 1], pairs[state == -1][:, ::-1]])
    return nested, pairs[state == _UNDETERMINED], pairs[(state == 0) & touch]


def nesting_tree(
    components: Components,
    outward: NDArray[np.int8],
    nested: Ints,
    cluster: NDArray[np.int32],
    count: int,
) -> Nesting:
    """Build the nesting tree of all components from the nested pairs within clusters.

    No boxes of triangles of two clusters meet, so a whole cluster is inside another component
    or outside. The highest vertex of a cluster shows which: the next surface above it belongs to
    some cluster X, and the component around the vertex is part of X, or is around X.

    Parameters
    ----------
    components : Components
        The components of the mesh.
    outward : (components,) int8
        How they face; see `Relations`.
    nested : (n, 2) int64
        Pairs within a cluster; the second component is inside the first.
    cluster : (components,) int32
        The cluster of each component, or -1 if it encloses nothing.
    count : int
        How many clusters there are.
    """
    outer, inner = nested.T
    depth = np.bincount(inner, minlength=components.count)
    winding = np.zeros(components.count, np.int64)
    np.add.at(winding, inner, outward[outer].astype(np.int64))
    own = np.full(components.count, -1)
    order = np.lexsort([outer, depth[outer]])
    own[inner[order]] = outer[order]  # of repeated indices, the last assignment counts
    if count < 2:
        return Nesting(own, depth, winding)

    next_above, highest = components.above(cluster, count)
    candidates = _candidates(components, cluster, next_above, highest)
    enclosing = candidates[components.inside(candidates)] if len(candidates) else candidates
    holders = _grouped(cluster[enclosing[:, 1]], enclosing[:, 0], count)
    above = np.where(next_above < 0, -1, cluster[next_above]).tolist()
    around, levels, turns = [-1] * count, [0] * count, [0] * count
    tops = _tops(components, cluster, count)
    for k in np.argsort(-tops, kind="stable").tolist():
        if (other := above[k]) < 0:
            continue
        mine = holders[k]
        levels[k] = levels[other] + len(mine)
        turns[k] = turns[other] + int(outward[mine].sum())
        around[k] = max(mine.tolist(), key=lambda n: (depth[n], n)) if len(mine) else around[other]
    clustered = cluster >= 0
    at = cluster[clustered]
    own[clustered] = np.where(own[clustered] >= 0, own[clustered], np.array(around)[at])
    depth[clustered] += np.array(levels)[at]
    winding[clustered] += np.array(turns)[at]
    return Nesting(own, depth, winding)


def _candidates(
    components: Components,
    cluster: NDArray[np.int32],
    next_above: NDArray[np.int32],
    highest: NDArray[np.int32],
) -> Pairs:
    """Return pairs: components of the next cluster above, and the highest in their box."""
    members = _grouped(cluster[cluster >= 0], np.flatnonzero(cluster >= 0), len(next_above))
    pairs = []
    for k in np.flatnonzero(next_above >= 0).tolist():
        outer = members[cluster[next_above[k]]]
        boxes = components.boxes[outer]
        outer = outer[_holds(boxes, components.boxes[highest[k]][None]).all(axis=1)]
        pairs.append(np.stack([outer, np.full(len(outer), highest[k])], axis=1))
    table = np.concatenate([np.zeros((0, 2), np.int64), *pairs]).astype(np.int32)
    return np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")])


def _grouped(group: Indices, values: Indices, count: int) -> list[Indices]:
    """Return the values of each group, 0 to count - 1."""
    order = np.argsort(group, kind="stable")
    return np.split(values[order], np.searchsorted(group[order], np.arange(1, count)))


def _tops(components: Components, cluster: NDArray[np.int32], count: int) -> Floats:
    """Return the highest z of each cluster."""
    tops = np.full(count, -np.inf)
    np.maximum.at(tops, cluster[cluster >= 0], components.boxes[cluster >= 0, 1, 2])
    return tops


def _inside(parts: ComponentTriangles, outer: int, inner: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return which components are inside another that they touch in points, or _UNDETERMINED."""
    threads = thread_count(None)
    index = choose("cpu").point_index(_alone(parts, outer), threads=threads)
    points = np.array([_free_point(parts, index, threads, component) for component in inner])
    undetermined = np.isnan(points[:, 0])
    inside = _answer(index.contains, points, threads)
    return np.where(undetermined, _UNDETERMINED, inside).astype(np.int8)


def _free_point(
    parts: ComponentTriangles, index: PointIndex, threads: int, component: int
) -> Floats:
    """Return a point of a component that is not on the indexed surface, or NaN."""
    corners = parts.mesh.vertices[parts.triangles(component)]
    half, next_half = corners / 2, corners[:, [1, 2, 0]] / 2
    middles = half + next_half
    # A middle that rounding has moved off its edge is not a point of the surface.
    exact = ((middles - half == next_half) & (middles - next_half == half)).all(axis=2)
    points = np.concatenate([corners.reshape(-1, 3), middles[exact]])
    free = np.flatnonzero(~_answer(index.on_surface, points, threads))
    return points[free[0]] if len(free) else np.full(3, np.nan)


def _alone(parts: ComponentTriangles, component: int) -> Mesh:
    """Return one component as a mesh of its own."""
    used, triangles = np.unique(parts.triangles(component), return_inverse=True)
    return Mesh(parts.mesh.vertices[used], triangles.reshape(-1, 3))


def _answer(
    query: Callable[[Columns, NDArray[np.bool_], int], int], points: Floats, threads: int
) -> Bools:
    """Return the results of an index's query for points, (n, 3)."""
    columns, out = as_columns(points), np.empty(len(points), np.bool_)
    refuse_row(columns, query(columns, out, threads))
    return out


def _holds(outer: Floats, inner: Floats) -> Bools:
    """Return whether closed boxes hold others, (n, 3), axis by axis."""
    contained: Bools = (outer[:, 0] <= inner[:, 0]) & (inner[:, 1] <= outer[:, 1])
    return contained


# Relations of components: apart, nested, touching, overlapping or equal.

# Pairs of meeting boxes for each component, above which triangles are compared instead.
_FEW = 16
# Pairs of triangles that are compared for one pair of components, at most: ten seconds.
_LIMIT = 64_000_000
_FEWEST = 1_000
_WIDE = ~int(Seen.TOUCH | Seen.TOO_MANY)
_SHARED = Seen.FIRST_IN | Seen.SECOND_IN | Seen.SAME
_FIRST_ALONE = Seen.FIRST_OUT | Seen.SECOND_IN | Seen.BACK
_SECOND_ALONE = Seen.SECOND_OUT | Seen.FIRST_IN | Seen.BACK


class Relations(NamedTuple):
    """How the components of a mesh, numbered from 0, lie to each other.

    A component is edge-connected. Where more than two triangles meet at an edge, two triangles
    are connected if they bound the same wedge of solid: bodies that share an edge, a wall, or every
    triangle are separate components.

    Attributes
    ----------
    components : int
        Number of components.
    closed, balanced, plain : bool
        Whether every edge has an even number of triangles; is used equally in both directions;
        has at most two triangles.
    boxes : (components, 2, 3) float64
        The box of each component.
    outward : (components,) int8
        1 for components that face outwards, -1 inwards, 0 for components that enclose no signed
        volume; all 0 if no two components were compared.
    nested : (n, 2) int64
        Each component inside another, as second; first, the innermost component around it, whose
        walls it may touch.
    depth, winding : (components,) int64
        The number of components around each one, and the sum of their `outward`.
    near : (n, 2) int64
        Pairs whose surfaces may meet.
    touching : (n, 2) int64
        Pairs that share points of their surfaces but no volume.
    overlapping : (n, 2) int64
        Pairs that share part of their volumes, neither containing the other.
    equal : (n, 2) int64
        Pairs that enclose the same space.
    undetermined : (n, 2) int64
        Pairs whose boxes meet and whose relation could not be determined.

    Components that are folded flat, face on face, enclose nothing and are in no pair.
    """

    components: int
    closed: bool
    balanced: bool
    plain: bool
    boxes: Floats
    outward: NDArray[np.int8]
    nested: Ints
    depth: Ints
    winding: Ints
    near: Ints
    touching: Ints
    overlapping: Ints
    equal: Ints
    undetermined: Ints


def relate(mesh: Mesh, *, limit: int = _LIMIT, total: int | None = None) -> Relations:
    """Find the components of a mesh and their relations.

    Parameters
    ----------
    mesh : Mesh
        For an open mesh, only the components are counted.
    limit : int
        Most pairs of triangles to compare for one pair of components.
    total : int, optional
        Most pairs of triangles to compare altogether. If that leaves fewer than a thousand for
        each pair of components, none is compared and the pairs are undetermined.

    Returns
    -------
    Relations
        Only the numbering of components depends on the order of the triangles.

    Examples
    --------
    >>> from geodomain import Mesh
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> inner = [[1, 1, 1], [3, 1, 1], [1, 3, 1], [1, 1, 3]]
    >>> two = Mesh(corners + inner, faces + [[i + 4 for i in face] for face in faces])
    >>> relate(two).nested.tolist()
    [[0, 1]]
    """
    components, parts = find_components(mesh)
    outward = np.zeros(components.count, np.int8)
    pairs = dict.fromkeys(_KINDS, np.zeros((0, 2), np.int64))
    none = np.zeros(components.count, np.int64)
    tree = Nesting(none - 1, none, none)
    most = total // _FEWEST if total else None
    near, all_near = (
        _near(components, most) if components.closed else (np.zeros((0, 2), np.int32), True)
    )
    if most and len(near) > most:
        pairs["undetermined"] = near[: most + 1].astype(np.int64)
    elif len(near) or not all_near:
        outward = outward_signs(parts)
        folded = parts.folded(np.flatnonzero(outward == 0))
        near = near[~folded[near].any(axis=1)]
        each = min(limit, total // max(len(near), 1)) if total else limit
        cluster, count = _clusters(near, folded)
        within = near if all_near else components.near(cluster=cluster)
        seen = np.zeros(len(within), np.int32)
        first, second = within.T.astype(np.int64) * [[components.count], [1]]
        low, high = near.T.astype(np.int64) * [[components.count], [1]]
        seen[np.searchsorted(first + second, low + high)] = components.relate(near, outward, each)
        pairs = _sort_out(components, parts, within, seen)
        tree = nesting_tree(components, outward, pairs["nested"], cluster, 0 if all_near else count)
        inner = np.flatnonzero(tree.around >= 0)
        pairs["nested"] = _sorted_rows(np.stack([tree.around[inner], inner], axis=1))
    return Relations(
        components.count,
        components.closed,
        components.balanced,
        components.plain,
        components.boxes,
        outward,
        depth=tree.depth,
        winding=tree.winding,
        near=near.astype(np.int64),
        **pairs,
    )


def _near(components: Components, most: int | None) -> tuple[Pairs, bool]:
    """Return the pairs whose surfaces may meet, and whether they are all pairs whose boxes meet.

    If there are more than ``most`` pairs, some of them are returned, but more than ``most``.

    The boxes of nested shells all meet in pairs. Their triangles are compared instead, which
    leaves thousands of pairs rather than millions.
    """
    few = _FEW * components.count
    near = components.near(few)
    return (near, True) if len(near) <= few else (components.contacts(most), False)


def _clusters(near: Pairs, folded: Bools) -> tuple[Pairs, int]:
    """Return the cluster of each component, -1 for folded ones, and how many clusters there are."""
    root = components(near[:, 0].astype(np.int64), near[:, 1].astype(np.int64), len(folded))
    cluster = np.full(len(folded), -1, np.int32)
    solid = np.flatnonzero(~folded)
    names, cluster[solid] = np.unique(root[solid], return_inverse=True)
    return cluster, len(names)


_KINDS = ("nested", "touching", "overlapping", "equal", "undetermined")


def _sort_out(
    components: Components, parts: ComponentTriangles, near: Pairs, seen: Pairs
) -> dict[str, Ints]:
    """Classify each pair by the flags of its components' contacts."""
    shared, first_alone, second_alone, wide = (
        (seen & int(bits)) != 0 for bits in (_SHARED, _FIRST_ALONE, _SECOND_ALONE, _WIDE)
    )
    overlapping = (seen & int(Seen.CROSS)) != 0
    undetermined = ~overlapping & ((seen & int(Seen.UNDETERMINED | Seen.TOO_MANY)) != 0)
    clear = ~overlapping & ~undetermined & wide
    loose = ~overlapping & ~undetermined & ~wide
    nested, undetermined_loose, touching_loose = nest(
        components, parts, near[loose], (seen[loose] & int(Seen.TOUCH)) != 0
    )
    pairs = {
        "nested": (
            near[clear & shared & first_alone],
            near[clear & shared & second_alone][:, ::-1],
            nested,
        ),
        "touching": (near[clear & ~shared], touching_loose),
        "overlapping": (near[overlapping],),
        "equal": (near[clear & shared & ~first_alone & ~second_alone],),
        "undetermined": (near[undetermined], undetermined_loose),
    }
    return {kind: _sorted_rows(np.concatenate(parts)) for kind, parts in pairs.items()}


def _sorted_rows(pairs: NDArray[np.integer]) -> Ints:
    """Return pairs in ascending order."""
    return pairs[np.lexsort(pairs.T[::-1])].astype(np.int64)


# Counts and locations of shell relations.


def count_shells(relations: Relations) -> tuple[dict[str, int], dict[str, Floats]]:
    """Return the counts and places of shell relations for a report.

    Parameters
    ----------
    relations : Relations
        The relations of the mesh's components.

    Returns
    -------
    counts : dict of str to int
        By field of MeshReport.
    places : dict of str to (n, 2, 3) float64
        Boxes, lowest and highest corner, in ascending order: for a shell inside another its own
        box, for a pair the intersection of both boxes.
    """
    around, inner = relations.nested.T
    alike = inner[relations.outward[inner] == relations.outward[around]]
    pairs = {
        "overlapping_shells": relations.overlapping,
        "touching_shells": relations.touching,
        "equal_shells": relations.equal,
        "undetermined_shells": relations.undetermined,
    }
    places = {name: _common(relations.boxes[of]) for name, of in pairs.items()}
    places |= {"nested_shells": relations.boxes[inner], "nested_alike": relations.boxes[alike]}
    counts = {name: len(where) for name, where in places.items()}
    return counts | {"components": relations.components}, {
        name: _ascending(at) for name, at in places.items()
    }


def cancelling(relations: Relations) -> int:
    """Count the spaces that an even number of equal shells encloses: nothing is inside them."""
    if not len(relations.equal):
        return 0
    copies = np.bincount(
        components(relations.equal[:, 0], relations.equal[:, 1], relations.components)
    )
    return int(((copies > 0) & (copies % 2 == 0)).sum())


def _common(boxes: Floats) -> Floats:
    """Return the intersection of each pair of boxes, (n, 2, 2, 3)."""
    return np.stack([boxes[:, :, 0].max(axis=1), boxes[:, :, 1].min(axis=1)], axis=1)


def _ascending(boxes: Floats) -> Floats:
    """Return boxes sorted by coordinates, independently of the order of triangles."""
    return boxes[np.lexsort(boxes.reshape(-1, 6).T[::-1])]


# Areas and signed volumes by shell, in float64.

_BOX_TESTS = 20_000_000


class Solidity(NamedTuple):
    """Volumes and shells; see MeshReport."""

    shells: int
    area: float
    signed_volume: float
    inward: int
    inside_out: int


def measure_shells(table: EdgeTable, triangles: Ints) -> Solidity:
    """Measure the volumes of all shells.

    Parameters
    ----------
    table : EdgeTable
        The edge table of the mesh.
    triangles : (t, 3) int64
        Triangles that are not degenerate.

    Returns
    -------
    Solidity
        Shells that are open or mis-oriented count as neither inward nor outward.
    """
    label, count = shells(triangles, len(table.vertices))
    crosses = normals(table.vertices, triangles)
    sound = ~_faulty(table, triangles, label, count)
    volumes = _volumes(table.vertices, triangles, crosses, label, sound)
    outward, inward = (sound & (sign * volumes[:count] > 0) for sign in (1, -1))
    return Solidity(
        shells=count,
        area=area(crosses),
        signed_volume=float(volumes.sum()),
        inward=int(inward.sum()),
        inside_out=_inside_out(table.vertices[triangles], label, inward, outward),
    )


def _volumes(
    vertices: Floats, triangles: Ints, crosses: Floats, label: Ints, sound: Bools
) -> Floats:
    """Return the signed volume of each sound shell, and of all other shells together."""
    # A sound shell is measured from a corner of its own, because from 0 the terms would cancel
    # at mine coordinates; the other shells have no volume each, and share one origin.
    count = len(sound)
    owner = np.where(sound[label], label, count)
    origin = np.empty((count + 1, 3))
    origin[owner[::-1]] = vertices[triangles[::-1, 0]]
    origin[count] = vertices.mean(axis=0) if len(vertices) else 0.0
    arm = vertices[triangles[:, 0]] - origin[owner]
    return np.bincount(owner, sixfold_volumes(arm, crosses), minlength=count + 1) / 6


def _faulty(table: EdgeTable, triangles: Ints, label: Ints, count: int) -> Bools:
    """Return which shells are open or mis-oriented."""
    shell_of = np.zeros(len(table.vertices), np.int64)
    shell_of[triangles] = label[:, None]
    faulty = np.zeros(count, np.bool_)
    faulty[shell_of[table.ends[np.r_[table.odd, table.unbalanced], 0]]] = True
    return faulty


def _inside_out(corners: Floats, label: Ints, inward: Bools, outward: Bools) -> int:
    """Count the inward shells whose boxes are not strictly inside any outward shell's box.

    If there are very many shells, only some thousands are tried.
    """
    if not inward.any():
        return 0
    boxes = _boxes(corners, label, len(inward))
    outer = boxes[outward]
    tried = boxes[inward][: max(1, _BOX_TESTS // max(1, len(outer)))]
    return sum(
        not ((outer[:, 0] < low) & (outer[:, 1] > high)).all(axis=1).any() for low, high in tried
    )


def _boxes(corners: Floats, label: Ints, count: int) -> Floats:
    """Return the box of each shell, (s, 2, 3)."""
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(count))
    low = np.minimum.reduceat(corners.min(axis=1)[order], starts)
    return np.stack([low, np.maximum.reduceat(corners.max(axis=1)[order], starts)], axis=1)
