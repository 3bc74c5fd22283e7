"""Connected components of a mesh: shells, their triangles, orientation and volumes."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.compute.meshes import (
    Components,
    VertexFans,
    are_distinct,
    merge_equal,
    volume_sign,
)
from geodomain.mesh.edges import EdgeTable, edge_table
from geodomain.mesh.mesh import Mesh, area, normals, sixfold_volumes


def connected_components(first: Ints, second: Ints, count: int) -> Ints:
    """Label the connected components of a graph.

    Parameters
    ----------
    first, second : (e,) int64
        The two nodes of each edge of the graph.
    count : int
        Number of nodes.

    Returns
    -------
    (count,) int64
        For each node, the smallest node of its component.

    Notes
    -----
    Each round attaches every root to the smallest root that an edge links it to, and
    then compresses all paths. Edges within one tree are dropped, so a few rounds suffice.
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
    """Return the root of each node's tree; `root` holds parents, and a root is its own parent."""
    while True:
        further = root[root]
        if np.array_equal(further, root):
            return root
        root = further


def shells(triangles: Ints, vertex_count: int) -> tuple[Ints, int]:
    """Label triangles by the shell they belong to.

    Triangles that share a vertex belong to the same shell. So two bodies that touch in a point are
    one shell. Two copies of a body are one shell too.

    Parameters
    ----------
    triangles : (t, 3) int64
        Indices of vertices with distinct coordinates.
    vertex_count : int
        Number of vertices.

    Returns
    -------
    (t,) int64
        Number of each triangle's shell. Shells are numbered 0, 1, ... in the order of their first
        triangles.
    int
        Number of shells.
    """
    a, b, c = triangles.T
    root = connected_components(np.r_[a, b], np.r_[b, c], vertex_count)[a]
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
        The component of each triangle; -1 for a triangle with two equal corners.
    """

    def __init__(self, mesh: Mesh, places: NDArray[np.int32], components: Components) -> None:
        """Group the triangles; vertices with equal coordinates have equal numbers in `places`."""
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
        """Return one vertex of each component: the first corner of its first triangle."""
        first: NDArray[np.int32] = self.mesh.triangles[self.order[self.starts[components]], 0]
        return first

    def folded(self, components: Ints) -> Bools:
        """Return the mask (components,) of the components that are folded flat.

        Only components in `components` are tested; the others are False. A component is folded flat
        if each of its faces occurs an even number of times.
        """
        folded = np.zeros(self.count, np.bool_)
        for component in components.tolist():
            corners = np.sort(self._places[self.triangles(component)], axis=1)
            _, copies = np.unique(corners, axis=0, return_counts=True)
            folded[component] = (copies % 2 == 0).all()
        return folded


def find_components(mesh: Mesh) -> tuple[Components, ComponentTriangles]:
    """Merge equal vertices; return the edge-connected components and their triangles."""
    places = merge_equal(mesh.vertices)
    linked = Components(mesh.vertices, np.ascontiguousarray(places[mesh.triangles]))
    return linked, ComponentTriangles(mesh, places, linked)


# The exact orientation of components: outwards or inwards.


def facing(mesh: Mesh, fans: VertexFans) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Return the component of each triangle and the orientation of each component.

    Returns
    -------
    (t,) int32
        The component of each triangle; -1 for a triangle with two equal corners.
    (components,) int8
        The orientation of each component: 1 if it faces outwards, -1 if it faces inwards, 0 if it
        has no signed volume or is mis-oriented.
    """
    if sign := _lone_sign(mesh, fans):
        return np.zeros(len(mesh.triangles), np.int32), np.array([sign], np.int8)
    _, parts = find_components(mesh)
    return parts.component, outward_signs(parts)


def _lone_sign(mesh: Mesh, fans: VertexFans) -> int:
    """Return 1 if a mesh of one component faces outwards, -1 if inwards, 0 if unknown."""
    if not (fans.are_rings and mesh.bodies.count == 1 and are_distinct(mesh.vertices)):
        return 0
    return volume_sign(mesh.vertices, mesh.triangles)


def outward_signs(parts: ComponentTriangles) -> NDArray[np.int8]:
    """Return the exact sign of each component's signed volume; 0 for a mis-oriented component."""
    count, mesh = parts.count, parts.mesh
    whole = parts.component >= 0
    owner = parts.component[whole]
    corners = mesh.triangles[whole]
    origin = mesh.vertices[parts.first_vertices(np.arange(count))]
    a, b, c = (mesh.vertices[corners[:, k]] - origin[owner] for k in range(3))
    terms, sizes = _determinants(a, b, c)
    volume = np.bincount(owner, terms, minlength=count)
    # The error of a term is below 16 units of its size, and each addition adds one unit more.
    bound = np.bincount(owner, sizes, minlength=count) * 2.0**-52
    bound *= 16 + np.bincount(owner, minlength=count)
    signs = np.sign(volume).astype(np.int8)
    for component in np.flatnonzero(~(np.abs(volume) > bound)).tolist():
        signs[component] = _exact_sign(mesh.vertices[parts.triangles(component)])
    signs[_unbalanced(parts)] = 0
    return signs


def _exact_sign(triangles: Floats) -> int:
    """Return the sign of the signed volume of triangles (t, 3, 3), in rational arithmetic."""
    total = Fraction(0)
    for corners in triangles.tolist():
        (a, b, c), (d, e, f), (g, h, i) = (map(Fraction, corner) for corner in corners)
        total += a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return (total > 0) - (total < 0)


def _unbalanced(parts: ComponentTriangles) -> Ints:
    """Return the components that have a mis-oriented edge."""
    if parts.mesh.is_balanced:
        return np.zeros(0, np.int64)

    table = edge_table(parts.mesh)
    apart = np.zeros(len(table.vertices), np.bool_)
    apart[table.ends[table.unbalanced].ravel()] = True
    touched = apart[table.triangles].any(axis=1)
    return np.unique(parts.component[(parts.component >= 0) & touched])


def _determinants(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return the determinant of each triple of vectors, and a sum for each determinant.

    The sum is that of the magnitudes of the terms; it bounds the rounding error.
    """
    total, size = np.zeros(len(a)), np.zeros(len(a))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        left, right = b[:, j] * c[:, k], b[:, k] * c[:, j]
        total += a[:, i] * (left - right)
        size += np.abs(a[:, i]) * (np.abs(left) + np.abs(right))
    return total, size


# Areas and signed volumes by shell, in float64.

_BOX_TESTS = 20_000_000


class Solidity(NamedTuple):
    """Numbers, area and volume of shells; the fields are described in MeshReport."""

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
    """Return the signed volume of each shell, followed by the total of all faulty shells.

    `sound` is the mask of shells that are neither open nor mis-oriented. For a faulty shell, the
    value at its own place is 0.
    """
    # A sound shell is measured from one of its corners: at mine coordinates, terms measured from 0
    # would cancel. A shell that is not sound has no volume of its own; all share one origin.
    count = len(sound)
    owner = np.where(sound[label], label, count)
    origin = np.empty((count + 1, 3))
    origin[owner[::-1]] = vertices[triangles[::-1, 0]]
    origin[count] = vertices.mean(axis=0) if len(vertices) else 0.0
    arm = vertices[triangles[:, 0]] - origin[owner]
    return np.bincount(owner, sixfold_volumes(arm, crosses), minlength=count + 1) / 6


def _faulty(table: EdgeTable, triangles: Ints, label: Ints, count: int) -> Bools:
    """Return whether each shell is open or mis-oriented."""
    shell_of = np.zeros(len(table.vertices), np.int64)
    shell_of[triangles] = label[:, None]
    faulty = np.zeros(count, np.bool_)
    faulty[shell_of[table.ends[np.r_[table.odd, table.unbalanced], 0]]] = True
    return faulty


def _inside_out(corners: Floats, label: Ints, inward: Bools, outward: Bools) -> int:
    """Count the inward shells whose boxes are not strictly inside any outward shell's box.

    At most 20 million pairs of boxes are compared. Inward shells beyond this limit are not counted.
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
