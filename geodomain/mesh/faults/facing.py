"""How the components of a mesh face: outwards or inwards, exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.mesh_checks import VertexFans, are_distinct, volume_sign
from geodomain.mesh.faults.components import ComponentTriangles, Ints, find_components
from geodomain.mesh.faults.edge_table import edge_table
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]


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
