"""Relations of a mesh's components: apart, nested, touching, overlapping or equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_columns, refuse_row
from geodomain.compute import choose
from geodomain.compute.api import PointIndex
from geodomain.compute.data import Bools, Columns, Floats, Indices, Ints
from geodomain.compute.meshes import Components, Seen
from geodomain.compute.native import thread_count
from geodomain.mesh.components import (
    ComponentTriangles,
    connected_components,
    find_components,
    outward_signs,
)
from geodomain.mesh.mesh import Mesh

Pairs = Indices
Integers = NDArray[np.integer]

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
    """How the components of a mesh, numbered from 0, relate to each other.

    A component is edge-connected. If more than two triangles meet at an edge, two of them are
    connected if they are neighbours around the edge and the solid is between them. So bodies that
    share an edge or a wall, and two copies of one body, are separate components.

    Attributes
    ----------
    components : int
        Number of components.
    closed, balanced, plain : bool
        `closed`: whether every edge has an even number of triangles. `balanced`: whether every edge
        is used equally often in both directions. `plain`: whether every edge has at most two
        triangles.
    boxes : (components, 2, 3) float64
        The box of each component.
    outward : (components,) int8
        1 if a component faces outwards, -1 if it faces inwards, 0 if it encloses no signed volume.
        All are 0 if no two components were compared.
    nested : (n, 2) int64
        Pairs of an outer and an inner component, whose walls may touch. No other component lies
        between the two: the outer component is the innermost that contains the inner component.
    depth, winding : (components,) int64
        `depth`: number of components around each component. `winding`: sum of `outward` of these.
    near : (n, 2) int64
        Pairs whose surfaces may meet.
    touching : (n, 2) int64
        Pairs that share points of their surfaces but no volume.
    overlapping : (n, 2) int64
        Pairs that share part of their volumes, and neither component contains the other.
    equal : (n, 2) int64
        Pairs that enclose the same space.
    undetermined : (n, 2) int64
        Pairs whose boxes meet and whose relation could not be determined.

    A component that is folded flat, face on face, encloses nothing and is in no pair.
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
        The largest number of pairs of triangles to compare for one pair of components.
    total : int, optional
        The largest number of pairs of triangles to compare altogether. If this allows fewer than a
        thousand pairs of triangles for each pair of components, nothing is compared and all
        relations are undetermined.

    Returns
    -------
    Relations
        The order of the triangles affects how components are numbered, and nothing else.

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
        pairs = _classify_pairs(components, parts, within, seen)
        tree = _nesting_tree(
            components, outward, pairs["nested"], cluster, 0 if all_near else count
        )
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
    """Return pairs whose surfaces may meet, and whether these include all pairs whose boxes meet.

    If there are more than ``most`` pairs, the search stops early: the result then has more than
    ``most`` pairs, but not all of them.

    If the boxes of many components meet, the boxes of their triangles are compared instead. In a
    mesh of nested shells, the boxes of all components meet. Then the boxes of triangles give far
    fewer pairs than the boxes of components.
    """
    if most is not None:  # to compare boxes of triangles may take longer than the limit allows
        return components.near(most), True
    few = _FEW * components.count
    near = components.near(few)
    return (near, True) if len(near) <= few else (components.contacts(), False)


def _clusters(near: Pairs, folded: Bools) -> tuple[Pairs, int]:
    """Return the cluster of each component, and the number of clusters.

    Pairs in `near` connect components to clusters. A component that is folded flat has cluster -1.
    """
    root = connected_components(
        near[:, 0].astype(np.int64), near[:, 1].astype(np.int64), len(folded)
    )
    cluster = np.full(len(folded), -1, np.int32)
    solid = np.flatnonzero(~folded)
    names, cluster[solid] = np.unique(root[solid], return_inverse=True)
    return cluster, len(names)


_KINDS = ("nested", "touching", "overlapping", "equal", "undetermined")


def _classify_pairs(
    components: Components, parts: ComponentTriangles, near: Pairs, seen: Pairs
) -> dict[str, Ints]:
    """Sort pairs into the kinds of `Relations`; `seen` holds flags of how two components meet."""
    shared, first_alone, second_alone, wide = (
        (seen & int(bits)) != 0 for bits in (_SHARED, _FIRST_ALONE, _SECOND_ALONE, _WIDE)
    )
    overlapping = (seen & int(Seen.CROSS)) != 0
    undetermined = ~overlapping & ((seen & int(Seen.UNDETERMINED | Seen.TOO_MANY)) != 0)
    clear = ~overlapping & ~undetermined & wide
    loose = ~overlapping & ~undetermined & ~wide
    nested, undetermined_loose, touching_loose = _nest(
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


# Nesting of components that share at most points.

# A pair's state is 1 if the second component is inside the first, -1 if the first is inside the
# second, 0 if neither is, and this value if that is not known.
_UNDETERMINED = 2


class Nesting(NamedTuple):
    """The tree of components inside others.

    Attributes
    ----------
    around : (components,) int64
        The innermost component around each component, or -1.
    depth : (components,) int64
        How many components are around each component.
    winding : (components,) int64
        For each component: among the components around it, the number that face outwards minus the
        number that face inwards.
    """

    around: Ints
    depth: Ints
    winding: Ints


def _nest(
    components: Components, parts: ComponentTriangles, pairs: Pairs, touch: Bools
) -> tuple[Pairs, Pairs, Pairs]:
    """Classify pairs of components that meet in single points or not at all.

    In such a pair, each component is either entirely inside the other component or entirely
    outside.

    Returns
    -------
    tuple of (n, 2) int32
        Three arrays of pairs: nested (the outer component comes first), undetermined, and touching.
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


def _nesting_tree(
    components: Components,
    outward: NDArray[np.int8],
    nested: Ints,
    cluster: NDArray[np.int32],
    count: int,
) -> Nesting:
    """Build the nesting tree of all components from the nested pairs within clusters.

    Triangles of different clusters never meet, so a component contains either all of another
    cluster or none of it. The highest vertex of a cluster decides. The next surface above this
    vertex belongs to some cluster X. A component that contains the vertex belongs to X or contains
    X.

    Parameters
    ----------
    components : Components
        The components of the mesh.
    outward : (components,) int8
        Whether each component faces outwards or inwards; see `Relations`.
    nested : (n, 2) int64
        Pairs within a cluster; the second component is inside the first.
    cluster : (components,) int32
        The cluster of each component, or -1 if it encloses nothing.
    count : int
        Number of clusters.
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
    """Pair the highest component of each cluster with components of the next cluster above it.

    A pair is (outer, highest): the box of the outer component must contain the box of the highest.
    """
    members = _grouped(cluster[cluster >= 0], np.flatnonzero(cluster >= 0), len(next_above))
    pairs = []
    for k in np.flatnonzero(next_above >= 0).tolist():
        outer = members[cluster[next_above[k]]]
        boxes = components.boxes[outer]
        outer = outer[_holds(boxes, components.boxes[highest[k]][None]).all(axis=1)]
        pairs.append(np.stack([outer, np.full(len(outer), highest[k])], axis=1))
    table = np.concatenate([np.zeros((0, 2), np.int64), *pairs]).astype(np.int32)
    return np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")])


def _grouped(group: Integers, values: Integers, count: int) -> list[Integers]:
    """Return a list of arrays: for each group from 0 to count - 1, the values that belong to it."""
    order = np.argsort(group, kind="stable")
    return np.split(values[order], np.searchsorted(group[order], np.arange(1, count)))


def _tops(components: Components, cluster: NDArray[np.int32], count: int) -> Floats:
    """Return the highest z of each cluster."""
    tops = np.full(count, -np.inf)
    np.maximum.at(tops, cluster[cluster >= 0], components.boxes[cluster >= 0, 1, 2])
    return tops


def _inside(parts: ComponentTriangles, outer: int, inner: NDArray[np.int32]) -> NDArray[np.int8]:
    """Return whether each component in `inner` is inside `outer`: 1, 0 or _UNDETERMINED.

    The components may touch in points.
    """
    threads = thread_count(None)
    index = choose("cpu").point_index(_alone(parts, outer), threads=threads)
    points = np.array([_free_point(parts, index, threads, component) for component in inner])
    undetermined = np.isnan(points[:, 0])
    inside = _answer(index.contains, points, threads)
    return np.where(undetermined, _UNDETERMINED, inside).astype(np.int8)


def _free_point(
    parts: ComponentTriangles, index: PointIndex, threads: int, component: int
) -> Floats:
    """Return a vertex of a component, or the middle of an edge, that is off the indexed surface.

    If all these points are on the surface, return NaN.
    """
    corners = parts.mesh.vertices[parts.triangles(component)]
    half, next_half = corners / 2, corners[:, [1, 2, 0]] / 2
    middles = half + next_half
    # A middle that rounding has moved off its edge is not a point of the surface.
    exact = ((middles - half == next_half) & (middles - next_half == half)).all(axis=2)
    points = np.concatenate([corners.reshape(-1, 3), middles[exact]])
    free = np.flatnonzero(~_answer(index.on_surface, points, threads))
    return points[free[0]] if len(free) else np.full(3, np.nan)


def _alone(parts: ComponentTriangles, component: int) -> Mesh:
    """Return a component as a separate mesh."""
    used, triangles = np.unique(parts.triangles(component), return_inverse=True)
    return Mesh(parts.mesh.vertices[used], triangles.reshape(-1, 3))


def _answer(
    query: Callable[[Columns, NDArray[np.bool_], int], int], points: Floats, threads: int
) -> Bools:
    """Return the results of a query such as `index.contains` for points (n, 3)."""
    columns, out = as_columns(points), np.empty(len(points), np.bool_)
    refuse_row(columns, query(columns, out, threads))
    return out


def _holds(outer: Floats, inner: Floats) -> Bools:
    """Return the mask (n, 3): whether each outer box contains its inner box along each axis."""
    contained: Bools = (outer[:, 0] <= inner[:, 0]) & (inner[:, 1] <= outer[:, 1])
    return contained


# Counts and locations of shell relations.


def count_shells(relations: Relations) -> tuple[dict[str, int], dict[str, Floats]]:
    """Count and locate nested, touching, overlapping, equal and undetermined shells for a report.

    Parameters
    ----------
    relations : Relations
        The relations of the mesh's components.

    Returns
    -------
    counts : dict of str to int
        Keyed by the fields of MeshReport.
    places : dict of str to (n, 2, 3) float64
        Boxes (lowest and highest corner) in ascending order. A nested shell is located by its box,
        and a pair of shells by the intersection of both boxes.
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
    """Return the number of groups of equal shells that have an even number of shells.

    By parity, nothing is inside such a group.
    """
    if not len(relations.equal):
        return 0
    copies = np.bincount(
        connected_components(relations.equal[:, 0], relations.equal[:, 1], relations.components)
    )
    return int(((copies > 0) & (copies % 2 == 0)).sum())


def _common(boxes: Floats) -> Floats:
    """Return the intersections (n, 2, 3) of pairs of boxes (n, 2, 2, 3)."""
    return np.stack([boxes[:, :, 0].max(axis=1), boxes[:, :, 1].min(axis=1)], axis=1)


def _ascending(boxes: Floats) -> Floats:
    """Return boxes sorted by their coordinates, so that the order of triangles does not matter."""
    return boxes[np.lexsort(boxes.reshape(-1, 6).T[::-1])]
