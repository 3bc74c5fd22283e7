"""Shells of a mesh: orientation, duplicates, nesting, relations, areas and volumes."""

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
        The ends of each link.
    count : int
        How many nodes there are.

    Returns
    -------
    (count,) int64
        The smallest node of the component of each node.

    Notes
    -----
    Every root hooks to the smallest root that a link leads it to, then all paths are
    halved to nothing; a few rounds do, since links within one tree are dropped.
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

    Triangles that share a vertex are of one shell, so that two bodies that touch in a
    point, or a body that is there twice, are one.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices that are distinct by value.
    vertex_count : int
        Above every index.

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
    """The triangles of a mesh by their components, which hang together by edges.

    Attributes
    ----------
    component : (t,) int32
        The component of each triangle, -1 where two corners are equal.
    """

    def __init__(self, mesh: Mesh, places: NDArray[np.int32], found: Components) -> None:
        """Sort the triangles; `places` tells which vertices are equal."""
        self.mesh = mesh
        self._places = places
        self.component = found.component
        self.count = found.count
        self.order = np.argsort(self.component, kind="stable")
        self.starts = np.searchsorted(self.component[self.order], np.arange(found.count + 1))

    def triangles(self, component: int) -> NDArray[np.int32]:
        """Return the triangles of one component."""
        return self.mesh.triangles[self.order[self.starts[component] : self.starts[component + 1]]]

    def first_vertices(self, components: NDArray[np.integer]) -> NDArray[np.int32]:
        """Return a vertex of each of some components."""
        first: NDArray[np.int32] = self.mesh.triangles[self.order[self.starts[components]], 0]
        return first

    def folded(self, components: Ints) -> Bools:
        """Return which of some components lie back upon themselves, face on face."""
        found = np.zeros(self.count, np.bool_)
        for component in components.tolist():
            corners = np.sort(self._places[self.triangles(component)], axis=1)
            _, copies = np.unique(corners, axis=0, return_counts=True)
            found[component] = (copies % 2 == 0).all()
        return found


def find_components(mesh: Mesh) -> tuple[Components, ComponentTriangles]:
    """Find the components of a mesh, equal vertices being one, and their triangles."""
    places = merge_equal(mesh.vertices)
    found = Components(mesh.vertices, np.ascontiguousarray(places[mesh.triangles]))
    return found, ComponentTriangles(mesh, places, found)


# Duplicate triangles and shells, and components whose faces all cancel.

Vector = tuple[int, int, int]


class Doubles(NamedTuple):
    """The repeated triangles, and how many whole shells are there twice.

    Attributes
    ----------
    faces : (n,) int64
        Triangles whose three corners an earlier one has, in any order; ascending.
    shells : int
        Closed shells whose every face is there an even number of times, other solids'
        walls aside. They cancel: by parity, nothing is inside.
    """

    faces: Ints
    shells: int


def find_doubles(triangles: Ints, vertex_count: int) -> Doubles:
    """Find triangles that are there more than once.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices that are distinct by value; degenerate ones count too.
    vertex_count : int
        Above every index.
    """
    # Indices are far below 2^53, so that they are the same as float64.
    first, group = group_equal(np.sort(triangles, axis=1).astype(np.float64))
    is_first = np.zeros(len(triangles), np.bool_)
    is_first[first] = True
    faces = np.flatnonzero(~is_first)
    if not len(faces):
        return Doubles(faces, 0)
    copies = np.bincount(group)
    proper = ~has_equal_corners(triangles[first])
    more = (copies > 1) & proper
    found = _cancelled_shells(triangles[first[more]], copies[more], vertex_count)
    return Doubles(faces, found)


def encloses_nothing(vertices: Floats, triangles: Ints, *, winding: bool) -> bool:
    """Return whether the faces of a closed mesh cancel, so that nothing can be inside.

    Faces are compared as sets of places, however they are cut into triangles. What is inside
    changes wherever the faces of a plane lie on each other an odd number of times; by winding
    number, where they do not lie there as often one way round as the other. In one plane the faces
    cancel where the edges cancel that bound them, and these do, line by line, where their ends do.
    So each vertex is asked by itself, and the first where something is left decides.

    Parameters
    ----------
    vertices : (v, 3) float64
        Distinct by value.
    triangles : (t, 3) int64
        Indices of vertices; degenerate triangles are left out.
    winding : bool
        Whether what is inside is told by the winding number, not by parity.
    """
    proper = triangles[~has_equal_corners(triangles)]
    if not len(proper):
        return False
    left = _uncancelled(proper, winding=winding)
    order = np.argsort(left, axis=None, kind="stable")
    used, starts = np.unique(left.reshape(-1)[order], return_index=True)
    stars = np.split(left[order // 3], starts[1:])
    places = whole_places(vertices)
    # In no order, so that a small part in which something is inside is met early.
    for some in np.random.default_rng(0).permutation(len(used)).tolist():
        if not star_cancels(places, int(used[some]), stars[some], winding=winding):
            return False
    return True


def _uncancelled(proper: Ints, *, winding: bool) -> Ints:
    """Return the triangles that are left where those with the same corners cancel."""
    first, group = group_equal(np.sort(proper, axis=1).astype(np.float64))
    if winding:
        a, b, c = proper.T
        turns = np.where((a < b) ^ (b < c) ^ (a < c), 1, -1)
        kept: Ints = proper[(np.bincount(group, turns) != 0)[group]]
    else:
        kept = proper[first[np.bincount(group) % 2 == 1]]
    return kept


def whole_places(vertices: Floats) -> list[Vector]:
    """Return places as whole numbers of a unit so small that nothing is rounded."""
    fraction, power = np.frexp(vertices)
    digits = np.ldexp(fraction, 53).astype(np.int64)
    power[digits == 0] = power.max(initial=0)
    shift = power - power.min(initial=0)
    whole: list[Vector] = (digits.astype(object) << shift.astype(object)).tolist()
    return whole


def star_cancels(places: Sequence[Vector], centre: int, star: Ints, *, winding: bool) -> bool:
    """Return whether the edges that end in a vertex cancel on each line of each plane.

    Parameters
    ----------
    places : sequence of three int
        Of the vertices, as by `whole_places`.
    centre : int
        The vertex.
    star : (t, 3) int64
        The triangles that have it as a corner once.
    winding : bool
        As in `encloses_nothing`.
    """
    ends: dict[tuple[Vector, Vector], int] = {}
    x, y, z = places[centre]
    for corners in star.tolist():
        at = corners.index(centre)
        one, other = places[corners[at - 2]], places[corners[at - 1]]
        leaving = one[0] - x, one[1] - y, one[2] - z
        coming = other[0] - x, other[1] - y, other[2] - z
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
    """Return the shortest whole vector of a line, the same for both ways along it."""
    part = gcd(*vector)
    if not part:
        return vector
    first = next(value for value in vector if value)
    part = part if first > 0 else -part
    x, y, z = (value // part for value in vector)
    return x, y, z


def _cancelled_shells(faces: Ints, copies: Ints, vertex_count: int) -> int:
    """Count the shells that no odd edge touches and that are not there thrice, or five times.

    Only repeated faces are given, so that what else touches a shell does not hide it. A
    solid that shares a wall with two copies of another makes three of that wall: one face
    of even number tells enough.
    """
    label, count = shells(faces, vertex_count)
    ends, uses, _ = count_edges(faces, vertex_count)
    shell_of = np.zeros(vertex_count, np.int64)
    shell_of[faces] = label[:, None]
    cancelled = np.zeros(count, np.bool_)
    cancelled[label[copies % 2 == 0]] = True
    cancelled[shell_of[ends[uses & 1 == 1, 0]]] = False
    return int(cancelled.sum())


# Orientation of components, exactly: outwards or inwards.


def facing(mesh: Mesh, fans: VertexFans) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Return the component of each triangle, (t,), and how each component faces, as `Relations`.

    A triangle of which two corners are equal is in no component, -1.
    """
    if sign := _lone_sign(mesh, fans):
        return np.zeros(len(mesh.triangles), np.int32), np.array([sign], np.int8)
    _, parts = find_components(mesh)
    return parts.component, outward_signs(parts)


def _lone_sign(mesh: Mesh, fans: VertexFans) -> int:
    """Return how a mesh faces that is plainly one component, 0 if it is not, or it is not clear."""
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
    # Each term is off by less than 16 units of its size, the sum by one for each addend.
    bound = np.bincount(owner, sizes, minlength=count) * 2.0**-52
    bound *= 16 + np.bincount(owner, minlength=count)
    signs = np.sign(volume).astype(np.int8)
    for component in np.flatnonzero(~(np.abs(volume) > bound)).tolist():
        signs[component] = _exact_sign(mesh.vertices[parts.triangles(component)])
    signs[_unbalanced(parts)] = 0
    return signs


def _exact_sign(triangles: Floats) -> int:
    """Return the sign of the volume of triangles, (t, 3, 3), by fractions."""
    total = Fraction(0)
    for corners in triangles.tolist():
        (a, b, c), (d, e, f), (g, h, i) = (map(Fraction, corner) for corner in corners)
        total += a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return (total > 0) - (total < 0)


def _unbalanced(parts: ComponentTriangles) -> Ints:
    """Return the components with an edge not used equally in both directions."""
    if parts.mesh.is_balanced:
        return np.zeros(0, np.int64)

    table = edge_table(parts.mesh)
    apart = np.zeros(len(table.vertices), np.bool_)
    apart[table.ends[table.unbalanced].ravel()] = True
    touched = apart[table.triangles].any(axis=1)
    return np.unique(parts.component[(parts.component >= 0) & touched])


def _determinants(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return the determinants of rows of three vectors, and sums of their terms' sizes."""
    total, size = np.zeros(len(a)), np.zeros(len(a))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        left, right = b[:, j] * c[:, k], b[:, k] * c[:, j]
        total += a[:, i] * (left - right)
        size += np.abs(a[:, i]) * (np.abs(left) + np.abs(right))
    return total, size


# Nesting of components that share at most points.

Pairs = NDArray[np.int32]
Indices = NDArray[np.integer]

# What is found of a pair besides 1, -1 (the second, or the first, is inside) and 0.
_UNDETERMINED = 2


class Nesting(NamedTuple):
    """The tree of shells inside others.

    Attributes
    ----------
    around : (components,) int64
        The innermost component around each one, -1 where there is none.
    depth : (components,) int64
        How many components are around each one.
    winding : (components,) int64
        How many of them face outwards, less those that face inwards.
    """

    around: Ints
    depth: Ints
    winding: Ints


def nest(
    found: Components, parts: ComponentTriangles, pairs: Pairs, touch: Bools
) -> tuple[Pairs, Pairs, Pairs]:
    """Return how pairs lie that meet in points at most: all of one is in the other, or out.

    Returns
    -------
    tuple of (n, 2) int32
        Pairs that are nested, the outer component first; that are undetermined; that touch.
    """
    state = np.zeros(len(pairs), np.int8)
    for way in (1, -1):
        outer, inner = pairs[:, ::way].T
        held = _holds(found.boxes[outer], found.boxes[inner]).all(axis=1) & (state == 0)
        apart = np.flatnonzero(held & ~touch)
        apart = apart[np.argsort(outer[apart], kind="stable")]
        inside = found.inside(np.stack([outer[apart], inner[apart]], axis=1))
        state[apart] = np.where(inside, way, 0)
        asked = np.flatnonzero(held & touch)
        asked = asked[np.argsort(outer[asked], kind="stable")]
        for rows in np.split(asked, np.flatnonzero(np.diff(outer[asked])) + 1):
            if len(rows):
                within = _inside(parts, outer[rows[0]], inner[rows])
                state[rows] = np.where(within == 1, way, within)
    nested = np.concatenate([pairs[state == 1], pairs[state == -1][:, ::-1]])
    return nested, pairs[state == _UNDETERMINED], pairs[(state == 0) & touch]


def nesting_tree(
    found: Components,
    outward: NDArray[np.int8],
    nested: Ints,
    cluster: NDArray[np.int32],
    count: int,
) -> Nesting:
    """Join the nested pairs within clusters to a tree of all components.

    Between clusters no boxes of triangles meet, so all of a cluster is inside another component
    or out of it. Above its highest vertex, which is in what the whole cluster is in, the next
    surface belongs to a cluster X: what is around the first is part of X, or around X.

    Parameters
    ----------
    found : Components
        Of the mesh.
    outward : (components,) int8
        How they face.
    nested : (n, 2) int64
        Pairs of one cluster of which the second is inside the first.
    cluster : (components,) int32
        The cluster of each component, -1 for components that enclose nothing.
    count : int
        How many clusters there are.
    """
    outer, inner = nested.T
    depth = np.bincount(inner, minlength=found.count)
    winding = np.zeros(found.count, np.int64)
    np.add.at(winding, inner, outward[outer].astype(np.int64))
    own = np.full(found.count, -1)
    order = np.lexsort([outer, depth[outer]])
    own[inner[order]] = outer[order]  # of several assignments the last one holds
    if count < 2:
        return Nesting(own, depth, winding)

    next_above, highest = found.above(cluster, count)
    candidates = _candidates(found, cluster, next_above, highest)
    held = candidates[found.inside(candidates)] if len(candidates) else candidates
    holders = _grouped(cluster[held[:, 1]], held[:, 0], count)
    above = np.where(next_above < 0, -1, cluster[next_above]).tolist()
    around, levels, turns = [-1] * count, [0] * count, [0] * count
    tops = _tops(found, cluster, count)
    for k in np.argsort(-tops, kind="stable").tolist():
        if (other := above[k]) < 0:
            continue
        mine = holders[k]
        levels[k] = levels[other] + len(mine)
        turns[k] = turns[other] + int(outward[mine].sum())
        around[k] = max(mine.tolist(), key=lambda n: (depth[n], n)) if len(mine) else around[other]
    kept = cluster >= 0
    at = cluster[kept]
    own[kept] = np.where(own[kept] >= 0, own[kept], np.array(around)[at])
    depth[kept] += np.array(levels)[at]
    winding[kept] += np.array(turns)[at]
    return Nesting(own, depth, winding)


def _candidates(
    found: Components,
    cluster: NDArray[np.int32],
    next_above: NDArray[np.int32],
    highest: NDArray[np.int32],
) -> Pairs:
    """Return components of the cluster above each one whose boxes hold its highest component."""
    members = _grouped(cluster[cluster >= 0], np.flatnonzero(cluster >= 0), len(next_above))
    pairs = []
    for k in np.flatnonzero(next_above >= 0).tolist():
        outer = members[cluster[next_above[k]]]
        boxes = found.boxes[outer]
        outer = outer[_holds(boxes, found.boxes[highest[k]][None]).all(axis=1)]
        pairs.append(np.stack([outer, np.full(len(outer), highest[k])], axis=1))
    table = np.concatenate([np.zeros((0, 2), np.int64), *pairs]).astype(np.int32)
    return np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")])


def _grouped(group: Indices, values: Indices, count: int) -> list[Indices]:
    """Return the values of each group, 0 to count - 1."""
    order = np.argsort(group, kind="stable")
    return np.split(values[order], np.searchsorted(group[order], np.arange(1, count)))


def _tops(found: Components, cluster: NDArray[np.int32], count: int) -> Floats:
    """Return the highest z of each cluster."""
    tops = np.full(count, -np.inf)
    np.maximum.at(tops, cluster[cluster >= 0], found.boxes[cluster >= 0, 1, 2])
    return tops


def _inside(parts: ComponentTriangles, outer: int, inner: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return which components are inside one that they touch in points; or _UNDETERMINED."""
    threads = thread_count(None)
    index = choose("cpu").point_index(_alone(parts, outer), threads=threads)
    points = np.array([_free_point(parts, index, threads, component) for component in inner])
    undetermined = np.isnan(points[:, 0])
    inside = _answer(index.contains, points, threads)
    return np.where(undetermined, _UNDETERMINED, inside).astype(np.int8)


def _free_point(
    parts: ComponentTriangles, index: PointIndex, threads: int, component: int
) -> Floats:
    """Return a point of a component's surface that is not on the index's; or NaN."""
    corners = parts.mesh.vertices[parts.triangles(component)]
    one, two = corners / 2, corners[:, [1, 2, 0]] / 2
    middles = one + two
    # A middle that rounding has moved off its edge is no point of the surface.
    exact = ((middles - one == two) & (middles - two == one)).all(axis=2)
    points = np.concatenate([corners.reshape(-1, 3), middles[exact]])
    free = np.flatnonzero(~_answer(index.on_surface, points, threads))
    return points[free[0]] if len(free) else np.full(3, np.nan)


def _alone(parts: ComponentTriangles, component: int) -> Mesh:
    """Return one component as a mesh of its own."""
    used, triangles = np.unique(parts.triangles(component), return_inverse=True)
    return Mesh(parts.mesh.vertices[used], triangles.reshape(-1, 3))


def _answer(
    ask: Callable[[Columns, NDArray[np.bool_], int], int], points: Floats, threads: int
) -> Bools:
    """Ask an index about points, (n, 3)."""
    columns, out = as_columns(points), np.empty(len(points), np.bool_)
    refuse_row(columns, ask(columns, out, threads))
    return out


def _holds(outer: Floats, inner: Floats) -> Bools:
    """Return whether closed boxes hold others, (n, 3), axis by axis."""
    held: Bools = (outer[:, 0] <= inner[:, 0]) & (inner[:, 1] <= outer[:, 1])
    return held


# Relations of components: apart, nested, touching, overlapping or equal.

# Boxes of so many pairs to a component may meet before triangles are compared.
_FEW = 16
# Of one pair of components so many pairs of triangles are compared: ten seconds.
_LIMIT = 64_000_000
_FEWEST = 1_000
_WIDE = ~int(Seen.TOUCH | Seen.TOO_MANY)
_SHARED = Seen.FIRST_IN | Seen.SECOND_IN | Seen.SAME
_FIRST_ALONE = Seen.FIRST_OUT | Seen.SECOND_IN | Seen.BACK
_SECOND_ALONE = Seen.SECOND_OUT | Seen.FIRST_IN | Seen.BACK


class Relations(NamedTuple):
    """How the components of a mesh lie to each other; they are numbered from 0.

    A component hangs together by edges. Where more than two triangles meet at an edge, those two
    hang together that bound the same wedge of solid: bodies that share an edge, a wall, or every
    triangle, are still several components.

    Attributes
    ----------
    components : int
        How many there are.
    closed, balanced, plain : bool
        Whether every edge has an even number of triangles; as many each way; at most two.
    boxes : (components, 2, 3) float64
        Of each component.
    outward : (components,) int8
        1 where it faces outwards, -1 inwards, 0 where it encloses no volume of a sign; all 0
        where no two components are compared.
    nested : (n, 2) int64
        Each component that lies inside others, whose walls it may touch: the innermost one around
        it, and itself.
    depth, winding : (components,) int64
        How many components are around each one, and the sum of how they face.
    near : (n, 2) int64
        Pairs whose surfaces may meet.
    touching : (n, 2) int64
        Pairs that share points of their surfaces and nothing of their insides.
    overlapping : (n, 2) int64
        Pairs that share some of their insides, each having some to itself.
    equal : (n, 2) int64
        Pairs that enclose the same space.
    undetermined : (n, 2) int64
        Pairs whose boxes meet and whose relation was not found out.

    Components that lie back upon themselves, face on face, enclose nothing and are in no pair.
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
    """Find the components of a mesh and how they lie to each other.

    Parameters
    ----------
    mesh : Mesh
        For an open mesh, only the components are counted.
    limit : int
        How many pairs of triangles of one pair of components may be compared.
    total : int, optional
        How many of all pairs together. Where that leaves less than a thousand to each, none is
        compared: all that are found until then are undetermined.

    Returns
    -------
    Relations
        Which component is which depends on the order of the triangles; nothing else does.

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
    found, parts = find_components(mesh)
    outward = np.zeros(found.count, np.int8)
    pairs = dict.fromkeys(_KINDS, np.zeros((0, 2), np.int64))
    none = np.zeros(found.count, np.int64)
    tree = Nesting(none - 1, none, none)
    most = total // _FEWEST if total else None
    near, all_near = _near(found, most) if found.closed else (np.zeros((0, 2), np.int32), True)
    if most and len(near) > most:
        pairs["undetermined"] = near[: most + 1].astype(np.int64)
    elif len(near) or not all_near:
        outward = outward_signs(parts)
        folded = parts.folded(np.flatnonzero(outward == 0))
        near = near[~folded[near].any(axis=1)]
        each = min(limit, total // max(len(near), 1)) if total else limit
        cluster, count = _clusters(near, folded)
        within = near if all_near else found.near(cluster=cluster)
        seen = np.zeros(len(within), np.int32)
        first, second = within.T.astype(np.int64) * [[found.count], [1]]
        low, high = near.T.astype(np.int64) * [[found.count], [1]]
        seen[np.searchsorted(first + second, low + high)] = found.relate(near, outward, each)
        pairs = _sort_out(found, parts, within, seen)
        tree = nesting_tree(found, outward, pairs["nested"], cluster, 0 if all_near else count)
        inner = np.flatnonzero(tree.around >= 0)
        pairs["nested"] = _sorted_rows(np.stack([tree.around[inner], inner], axis=1))
    return Relations(
        found.count,
        found.closed,
        found.balanced,
        found.plain,
        found.boxes,
        outward,
        depth=tree.depth,
        winding=tree.winding,
        near=near.astype(np.int64),
        **pairs,
    )


def _near(found: Components, most: int | None) -> tuple[Pairs, bool]:
    """Return the pairs whose surfaces may meet, and whether they are all whose boxes do.

    Of more than ``most`` pairs it returns some, and more than ``most``.

    Of shells within shells the boxes of each pair meet: triangles are compared then, which finds
    pairs by the thousand instead of by the million.
    """
    few = _FEW * found.count
    near = found.near(few)
    return (near, True) if len(near) <= few else (found.contacts(most), False)


def _clusters(near: Pairs, folded: Bools) -> tuple[Pairs, int]:
    """Return the cluster of each component, -1 for folded ones, and how many clusters there are."""
    root = components(near[:, 0].astype(np.int64), near[:, 1].astype(np.int64), len(folded))
    cluster = np.full(len(folded), -1, np.int32)
    kept = np.flatnonzero(~folded)
    names, cluster[kept] = np.unique(root[kept], return_inverse=True)
    return cluster, len(names)


_KINDS = ("nested", "touching", "overlapping", "equal", "undetermined")


def _sort_out(
    components: Components, parts: ComponentTriangles, near: Pairs, seen: Pairs
) -> dict[str, Ints]:
    """Put each pair where it belongs, given what was seen where its components meet."""
    shared, first_alone, second_alone, wide = (
        (seen & int(bits)) != 0 for bits in (_SHARED, _FIRST_ALONE, _SECOND_ALONE, _WIDE)
    )
    overlapping = (seen & int(Seen.CROSS)) != 0
    undetermined = ~overlapping & ((seen & int(Seen.UNDETERMINED | Seen.TOO_MANY)) != 0)
    told = ~overlapping & ~undetermined & wide
    loose = ~overlapping & ~undetermined & ~wide
    nested, undetermined_loose, touching_loose = nest(
        components, parts, near[loose], (seen[loose] & int(Seen.TOUCH)) != 0
    )
    found = {
        "nested": (
            near[told & shared & first_alone],
            near[told & shared & second_alone][:, ::-1],
            nested,
        ),
        "touching": (near[told & ~shared], touching_loose),
        "overlapping": (near[overlapping],),
        "equal": (near[told & shared & ~first_alone & ~second_alone],),
        "undetermined": (near[undetermined], undetermined_loose),
    }
    return {kind: _sorted_rows(np.concatenate(parts)) for kind, parts in found.items()}


def _sorted_rows(pairs: NDArray[np.integer]) -> Ints:
    """Return pairs in ascending order."""
    return pairs[np.lexsort(pairs.T[::-1])].astype(np.int64)


# Counts and locations of shell relations.


def count_shells(found: Relations) -> tuple[dict[str, int], dict[str, Floats]]:
    """Count what a report says of shells.

    Parameters
    ----------
    found : Relations
        Of the mesh.

    Returns
    -------
    counts : dict of str to int
        By the names of the fields of MeshReport.
    places : dict of str to (n, 2, 3) float64
        The lowest and the highest corner of where it is, in ascending order: of a shell
        inside another its own box, of a pair what their boxes have in common.
    """
    around, inner = found.nested.T
    alike = inner[found.outward[inner] == found.outward[around]]
    pairs = {
        "overlapping_shells": found.overlapping,
        "touching_shells": found.touching,
        "equal_shells": found.equal,
        "undetermined_shells": found.undetermined,
    }
    places = {name: _common(found.boxes[of]) for name, of in pairs.items()}
    places |= {"nested_shells": found.boxes[inner], "nested_alike": found.boxes[alike]}
    counts = {name: len(where) for name, where in places.items()}
    return counts | {"components": found.components}, {
        name: _ascending(at) for name, at in places.items()
    }


def cancelling(found: Relations) -> int:
    """Count the spaces that an even number of shells encloses: nothing is inside them."""
    if not len(found.equal):
        return 0
    copies = np.bincount(components(found.equal[:, 0], found.equal[:, 1], found.components))
    return int(((copies > 0) & (copies % 2 == 0)).sum())


def _common(boxes: Floats) -> Floats:
    """Return what two boxes have in common, pair by pair of (n, 2, 2, 3)."""
    return np.stack([boxes[:, :, 0].max(axis=1), boxes[:, :, 1].min(axis=1)], axis=1)


def _ascending(boxes: Floats) -> Floats:
    """Return boxes in the order of their coordinates, whatever the order of triangles."""
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
        Of the mesh.
    triangles : (t, 3) int64
        Those that are not degenerate.

    Returns
    -------
    Solidity
        Shells that are not closed, or whose triangles do not agree, face nowhere.
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
    """Return the signed volume of each shell that is sound, and of all the others together."""
    # A sound shell is measured about a corner of its own, since at mine coordinates the terms
    # about 0 would cancel; the others have no volume of their own, and one origin.
    count = len(sound)
    owner = np.where(sound[label], label, count)
    origin = np.empty((count + 1, 3))
    origin[owner[::-1]] = vertices[triangles[::-1, 0]]
    origin[count] = vertices.mean(axis=0) if len(vertices) else 0.0
    arm = vertices[triangles[:, 0]] - origin[owner]
    return np.bincount(owner, sixfold_volumes(arm, crosses), minlength=count + 1) / 6


def _faulty(table: EdgeTable, triangles: Ints, label: Ints, count: int) -> Bools:
    """Return the shells that are open or do not balance."""
    shell_of = np.zeros(len(table.vertices), np.int64)
    shell_of[triangles] = label[:, None]
    faulty = np.zeros(count, np.bool_)
    faulty[shell_of[table.ends[np.r_[table.odd, table.unbalanced], 0]]] = True
    return faulty


def _inside_out(corners: Floats, label: Ints, inward: Bools, outward: Bools) -> int:
    """Count the inward shells whose boxes lie strictly inside that of no outward one.

    Of very many shells, some thousands are tried.
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
