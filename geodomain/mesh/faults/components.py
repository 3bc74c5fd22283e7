"""The triangles of a mesh, component by component."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.components import Components
from geodomain.backends.mesh_checks import merge_equal
from geodomain.mesh.mesh import Mesh

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


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
