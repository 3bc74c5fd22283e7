"""Which components of a mesh lie inside others that they meet in points at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_columns, refuse_row
from geodomain.backends import choose
from geodomain.backends.api import PointIndex
from geodomain.backends.components import Components
from geodomain.backends.data import Columns
from geodomain.backends.threads import thread_count
from geodomain.mesh.faults.components import Bools, ComponentTriangles, Ints
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]
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
