"""Which components of a mesh lie inside others that they meet in points at most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_columns, refuse_row
from geodomain.backends import choose
from geodomain.backends.api import PointIndex
from geodomain.backends.data import Columns
from geodomain.backends.threads import thread_count
from geodomain.mesh.faults.components import Bools, ComponentTriangles
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]

# What is found of a pair besides 1, -1 (the second, or the first, is inside) and 0.
_UNDETERMINED = 2


def nest(
    parts: ComponentTriangles, boxes: Floats, pairs: Pairs, touch: Bools
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
        held = _holds(boxes[outer], boxes[inner]).all(axis=1) & (state == 0)
        asked = np.flatnonzero(held)
        asked = asked[np.argsort(outer[asked], kind="stable")]
        for rows in np.split(asked, np.flatnonzero(np.diff(outer[asked])) + 1):
            if len(rows):
                inside = _inside(parts, outer[rows[0]], inner[rows], touch[rows])
                state[rows] = np.where(inside == 1, way, inside)
    nested = np.concatenate([pairs[state == 1], pairs[state == -1][:, ::-1]])
    return nested, pairs[state == _UNDETERMINED], pairs[(state == 0) & touch]


def _inside(
    parts: ComponentTriangles, outer: int, inner: NDArray[np.int32], touch: Bools
) -> NDArray[np.int8]:
    """Return which components are inside one that they meet in points at most; or _UNDETERMINED."""
    threads = thread_count(None)
    index = choose("cpu").point_index(_alone(parts, outer), threads=threads)
    points = parts.mesh.vertices[parts.first_vertices(inner)]
    for row in np.flatnonzero(touch):
        points[row] = _free_point(parts, index, threads, inner[row])
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
