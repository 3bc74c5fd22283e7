"""The edges of a mesh by the values of their ends: which are used how often, and by whom.

Exact, and by sorting: no tolerance, no geometry beyond equality. What the faults mean
and where the gaps are is for `gaps` and `report`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.mesh_checks import group_equal
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """The distinct vertices, the triangles on them, and the distinct edges.

    Attributes
    ----------
    vertices : (v, 3) float64
        Distinct coordinates that triangles use.
    triangles : (t, 3) int64
        All the triangles of the mesh, in its order, by these vertices.
    ends : (e, 2) int64
        The vertices of each edge, the smaller index first, ascending.
    uses : (e,) int64
        How many triangles have the edge; those with two equal vertices do not count.
    balance : (e,) int64
        Uses along the edge minus uses against it; 0 where the neighbours agree.
    """

    vertices: Floats
    triangles: Ints
    ends: Ints
    uses: Ints
    balance: Ints

    @cached_property
    def degenerate(self) -> Bools:
        """Return which triangles have two equal vertices, (t,) bool."""
        return has_equal_corners(self.triangles)

    @property
    def odd(self) -> Ints:
        """Return the edges that an odd number of triangles has: none, if the mesh is closed."""
        return np.flatnonzero(self.uses & 1)

    @property
    def open(self) -> Ints:
        """Return the edges that a single triangle has."""
        return np.flatnonzero(self.uses == 1)

    @property
    def nonmanifold(self) -> Ints:
        """Return the edges that more than two triangles have."""
        return np.flatnonzero(self.uses > 2)

    @property
    def unbalanced(self) -> Ints:
        """Return the edges whose directed uses do not cancel."""
        return np.flatnonzero(self.balance)

    def segments(self, edges: Ints, most: int | None = None) -> Floats:
        """Return the ends of edges, (n, 2, 3), in the order of their coordinates.

        With `most`, only so many of the first.

        Neither the order of the triangles nor that of the vertices is left in it.
        """
        x = self.vertices[:, 0][self.ends[edges]].min(axis=1)
        if most is not None and most < len(edges):
            # What comes first by all coordinates comes first by x.
            edges = edges[x <= np.partition(x, most)[most]]
        ends = self.vertices[self.ends[edges]]
        first, second = ends[:, 0], ends[:, 1]
        swap = _comes_before(second, first)
        ends[swap] = ends[swap, ::-1]
        return ends[np.lexsort(ends.reshape(-1, 6).T[::-1])[:most]]


def has_equal_corners(triangles: Ints) -> Bools:
    """Return which triangles have two equal indices."""
    a, b, c = triangles.T
    equal: Bools = (a == b) | (b == c) | (c == a)
    return equal


def _comes_before(left: Floats, right: Floats) -> Bools:
    """Return where points come before others: by x, then y, then z."""
    lower, equal = left < right, left == right
    before: Bools = lower[:, 0] | (equal[:, 0] & (lower[:, 1] | (equal[:, 1] & lower[:, 2])))
    return before


def edge_table(mesh: Mesh) -> EdgeTable:
    """Find the edges of a mesh by the coordinates of their ends.

    Parameters
    ----------
    mesh : Mesh
        Any; also one that was made without sharing its vertices.

    Returns
    -------
    EdgeTable
        Vertices are equal where their coordinates are equal as numbers.

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
    """Return the distinct coordinates that triangles use, and the triangles on them."""
    used = np.zeros(len(mesh.vertices), np.bool_)
    used[mesh.triangles] = True
    vertices = mesh.vertices[used]
    first, group = group_equal(vertices)
    place = group[np.cumsum(used) - 1] if len(group) else group
    return vertices[first], place[mesh.triangles]


def count_edges(triangles: Ints, vertex_count: int) -> tuple[Ints, Ints, Ints]:
    """Return ends, uses and balance of the edges; see EdgeTable."""
    start, end = triangles, triangles[:, [1, 2, 0]]
    low, high = np.minimum(start, end), np.maximum(start, end)
    # One word holds an edge and its direction: a sort of values, which is the fastest there is.
    words = ((low * vertex_count + high) * 2 + (start > end)).ravel()
    words.sort()
    keys = words >> 1
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else keys
    uses = np.diff(np.r_[starts, len(keys)])
    backward = np.add.reduceat(words & 1, starts) if len(keys) else keys
    ends = np.stack(np.divmod(keys[starts], max(vertex_count, 1)), axis=1)
    return ends, uses, uses - 2 * backward
