"""Find the edges of a mesh by the coordinates of their ends, and count the triangles at each.

The module also tests points for collinearity exactly, and finds the rim of an open mesh and the
folds of a surface. Edges are found by sorting and equality alone, without a tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.compute.meshes import group_equal
from geodomain.mesh.mesh import Mesh


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The distinct vertices of a mesh, its triangles as vertex indices, and its distinct edges.

    Attributes
    ----------
    vertices : (v, 3) float64
        The distinct vertices that triangles use.
    triangles : (t, 3) int64
        All the triangles of the mesh, in its order, as indices of these vertices.
    ends : (e, 2) int64
        The vertices of each edge, the smaller index first. Edges are in ascending order.
    uses : (e,) int64
        How many triangles have the edge; triangles with two equal vertices do not count.
    balance : (e,) int64
        How many triangles use the edge from its first end to its second end, minus how many use it
        in the opposite direction. It is 0 if two neighbours face the same way.
    """

    vertices: Floats
    triangles: Ints
    ends: Ints
    uses: Ints
    balance: Ints

    @cached_property
    def degenerate(self) -> Bools:
        """The mask of triangles that have two equal vertices."""
        return has_equal_corners(self.triangles)

    @property
    def odd(self) -> Ints:
        """Indices of the edges with an odd number of triangles; a closed mesh has none."""
        return np.flatnonzero(self.uses & 1)

    @property
    def open(self) -> Ints:
        """Indices of the edges that belong to a single triangle."""
        return np.flatnonzero(self.uses == 1)

    @property
    def nonmanifold(self) -> Ints:
        """Indices of the edges that belong to more than two triangles."""
        return np.flatnonzero(self.uses > 2)

    @property
    def unbalanced(self) -> Ints:
        """Indices of the edges that are used more often in one direction than in the other."""
        return np.flatnonzero(self.balance)

    def segments(self, edges: Ints, most: int | None = None) -> Floats:
        """Return the coordinates (n, 2, 3) of the ends of edges, sorted by x, y, z.

        If `most` is given, return only the first `most` edges. The result does not depend on the
        order of triangles or vertices.
        """
        x = self.vertices[:, 0][self.ends[edges]].min(axis=1)
        if most is not None and most < len(edges):
            # The first edges by all coordinates are among the first by x.
            edges = edges[x <= np.partition(x, most)[most]]
        ends = self.vertices[self.ends[edges]]
        first, second = ends[:, 0], ends[:, 1]
        swap = _comes_before(second, first)
        ends[swap] = ends[swap, ::-1]
        return ends[np.lexsort(ends.reshape(-1, 6).T[::-1])[:most]]


def has_equal_corners(triangles: Ints) -> Bools:
    """Return the mask of triangles with two equal indices."""
    a, b, c = triangles.T
    equal: Bools = (a == b) | (b == c) | (c == a)
    return equal


def _comes_before(left: Floats, right: Floats) -> Bools:
    """Return, for each row, whether the point in `left` comes before the point in `right`.

    The order is by x, then y, then z.
    """
    lower, equal = left < right, left == right
    before: Bools = lower[:, 0] | (equal[:, 0] & (lower[:, 1] | (equal[:, 1] & lower[:, 2])))
    return before


def edge_table(mesh: Mesh) -> EdgeTable:
    """Find the edges of a mesh by the coordinates of their ends.

    Parameters
    ----------
    mesh : Mesh
        Any mesh; its triangles need not share vertices.

    Returns
    -------
    EdgeTable
        Vertices with equal coordinates are merged.

    Examples
    --------
    >>> from geodomain import Mesh
    >>> table = edge_table(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    >>> len(table.open), len(table.nonmanifold)
    (3, 0)
    """
    vertices, triangles = distinct_vertices(mesh)
    whole = triangles[~has_equal_corners(triangles)]
    ends, uses, balance = count_edges(whole, len(vertices))
    return EdgeTable(vertices, triangles, ends, uses, balance)


def distinct_vertices(mesh: Mesh) -> tuple[Floats, Ints]:
    """Return the distinct vertices that triangles use, and the triangles as indices of these."""
    used = np.zeros(len(mesh.vertices), np.bool_)
    used[mesh.triangles] = True
    vertices = mesh.vertices[used]
    first, group = group_equal(vertices)
    place = group[np.cumsum(used) - 1] if len(group) else group
    return vertices[first], place[mesh.triangles]


def count_edges(triangles: Ints, vertex_count: int) -> tuple[Ints, Ints, Ints]:
    """Return the arrays `ends`, `uses` and `balance` of an EdgeTable."""
    start, end = triangles, triangles[:, [1, 2, 0]]
    low, high = np.minimum(start, end), np.maximum(start, end)
    # One word holds an edge and its direction, so that a plain sort of values is enough.
    words = ((low * vertex_count + high) * 2 + (start > end)).ravel()
    words.sort()
    keys = words >> 1
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else keys
    uses = np.diff(np.r_[starts, len(keys)])
    backward = np.add.reduceat(words & 1, starts) if len(keys) else keys
    ends = np.stack(np.divmod(keys[starts], max(vertex_count, 1)), axis=1)
    return ends, uses, uses - 2 * backward


# Exact test for collinear points.

# The relative error of a difference is at most u, that of a product of two differences at most
# (2 + u) u + u, and the difference of two products adds u. So 4 u times the permanent bounds the
# error of a minor; second-order terms are within the slack.
_ERROR = 5 * 2.0**-53
_SPLIT = 2.0**27 + 1


def collinear(a: Floats, b: Floats, c: Floats) -> Bools:
    """Return the mask of triples of points that are collinear, in exact arithmetic.

    Parameters
    ----------
    a, b, c : (n, 3) float64
        Points with magnitudes in the range of a Mesh. A triple with two equal points is collinear.

    Returns
    -------
    (n,) bool
        True where the triangle a, b, c has exactly no area.
    """
    p, q = b - a, c - a
    result = np.ones(len(a), np.bool_)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        left, right = p[:, i] * q[:, j], p[:, j] * q[:, i]
        result &= np.abs(left - right) <= _ERROR * (np.abs(left) + np.abs(right))
    rows = np.flatnonzero(result)
    if len(rows):
        result[rows] = _collinear_unfiltered(a[rows], b[rows], c[rows])
    return result


def _collinear_unfiltered(a: Floats, b: Floats, c: Floats) -> Bools:
    """Test exactly whether triples of points are collinear.

    If the differences of coordinates are exact in float64, pairs of float64 numbers are used.
    Otherwise fractions are used.
    """
    exact = ((_tail(b, a) == 0) & (_tail(c, a) == 0)).all(axis=1)
    result: Bools = exact & _no_minor(b - a, c - a)
    for row in np.flatnonzero(~exact):
        result[row] = _collinear_fractions(a[row], b[row], c[row])
    return result


def _tail(x: Floats, y: Floats) -> Floats:
    """Return the rounding error of x - y (Knuth's two-difference)."""
    difference = x - y
    virtual = x - difference
    return (x - (difference + virtual)) + (virtual - y)


def _no_minor(p: Floats, q: Floats) -> Bools:
    """Return, for each pair of vectors, whether all three 2 x 2 minors are exactly 0."""
    result = np.ones(len(p), np.bool_)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        left, right = exact_product(p[:, i], q[:, j]), exact_product(p[:, j], q[:, i])
        result &= (left[0] == right[0]) & (left[1] == right[1])
    return result


def exact_product(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return x * y and its rounding error, both exact unless they under- or overflow (Dekker)."""
    (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
    product = x * y
    error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, error


def _halves(x: Floats) -> tuple[Floats, Floats]:
    """Split each number into a high and a low half of 26 bits (Veltkamp)."""
    wide = _SPLIT * x
    high = wide - (wide - x)
    return high, x - high


def _collinear_fractions(a: Floats, b: Floats, c: Floats) -> bool:
    """Return whether one triple of points is collinear, in rational arithmetic."""
    p = [Fraction(float(x)) - Fraction(float(y)) for x, y in zip(b, a, strict=True)]
    q = [Fraction(float(x)) - Fraction(float(y)) for x, y in zip(c, a, strict=True)]
    return all(p[i] * q[j] == p[j] * q[i] for i, j in ((0, 1), (1, 2), (2, 0)))


# The rim of an open mesh in a fixed order, and its folds.


def signed_rim(mesh: Mesh) -> tuple[Floats, NDArray[np.int32]]:
    """Return the edges that are used more often in one direction, and the excess of that direction.

    Returns
    -------
    ends : ndarray of float64, shape (m, 2, 3)
        Coordinates, sorted by x, then y, then z: the smaller end of an edge comes first, and the
        edges are in ascending order. So a sum over them does not depend on the order of vertices
        or triangles.
    weights : ndarray of int32, shape (m,)
        How many triangles use the edge from the first end to the second, minus how many use it from
        the second end to the first.

    Examples
    --------
    >>> from geodomain import Mesh
    >>> ends, weights = signed_rim(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]))
    >>> ends[:, :, :2].astype(int).tolist(), weights.tolist()
    ([[[0, 0], [0, 1]], [[0, 0], [1, 0]], [[0, 1], [1, 0]]], [-1, 1, -1])
    """
    table = edge_table(mesh)
    edges = table.unbalanced
    return _ordered(table.vertices[table.ends[edges]], table.balance[edges])


def rim(mesh: Mesh) -> Floats:
    """Return the edges (m, 2, 3) with an odd number of triangles, in the order of `signed_rim`."""
    table = edge_table(mesh)
    return table.segments(table.odd)


def folds(mesh: Mesh, signs: NDArray[np.int8]) -> Floats:
    """Return the edges at which a surface folds: it runs back over or under itself.

    In plan, more triangles lie on one side of such an edge than on its other side. Edges of the rim
    are left out.

    Parameters
    ----------
    mesh : Mesh
    signs : (t,) int8
        The sign of each triangle's area, projected to the horizontal plane.

    Returns
    -------
    ndarray of float64, shape (m, 2, 3)
        Ends of edges with z = 0.
    """
    table = edge_table(mesh)
    if abs(signs.sum(dtype=np.int64)) == len(signs) and np.array_equal(table.unbalanced, table.odd):
        return np.empty((0, 2, 3))
    plan = table.vertices * (1.0, 1.0, 0.0)
    first, place = group_equal(plan)
    level = place[table.triangles[signs != 0]]
    level = np.where((signs[signs != 0] > 0)[:, None], level, level[:, ::-1])  # all turn alike
    ends = np.stack([level, np.roll(level, -1, axis=1)], axis=-1).reshape(-1, 2)
    key, inverse = np.unique(_key(ends, len(first)), return_inverse=True)
    change = np.bincount(inverse.reshape(-1), np.sign(ends[:, 1] - ends[:, 0]), len(key))
    rims = _key(place[table.ends[table.odd]], len(first))
    edges = key[(change != 0) & ~np.isin(key, rims)]
    return np.ascontiguousarray(plan[first[np.stack(np.divmod(edges, len(first)), axis=1)]])


def _key(ends: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    low, high = np.minimum(*ends.T), np.maximum(*ends.T)
    key: NDArray[np.int64] = low * count + high
    return key


def _ordered(ends: Floats, weights: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int32]]:
    """Sort the ends of each edge, then the edges, by x, y, z; negate weights of turned edges."""
    keys = np.lexsort(ends.reshape(-1, 2, 3).transpose(2, 0, 1)[::-1], axis=-1)
    swap = keys[:, 0] == 1
    ends = np.where(swap[:, None, None], ends[:, ::-1], ends)
    weights = np.where(swap, -weights, weights)
    order = np.lexsort(ends.reshape(-1, 6).T[::-1])
    return np.ascontiguousarray(ends[order]), weights[order].astype(np.int32)
