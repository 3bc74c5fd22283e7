"""The wireframe: a frozen, validated triangulated mesh; no files, no labelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.errors import MeshError

SMALLEST, LARGEST = 2.0**-306, 2.0**339


@dataclass(frozen=True, eq=False)
class Mesh:
    """Hold a triangulated wireframe whose arrays have been checked once.

    Parameters
    ----------
    vertices : array_like of shape (v, 3)
        Coordinates x, y, z in the unit of the project; widened to float64 exactly.
    triangles : array_like of shape (t, 3)
        Indices of vertices; counter-clockwise seen from outside is the custom.
    name : str, optional
        What messages call this mesh, usually the name of its file.

    Raises
    ------
    MeshError
        For a coordinate that is not finite or out of range, or an index that is.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]
    name: str

    def __init__(self, vertices: ArrayLike, triangles: ArrayLike, *, name: str = "mesh") -> None:
        points: Any = np.array(vertices, dtype=np.float64, order="C", ndmin=2) + 0.0
        corners: Any = np.array(triangles, dtype=np.int32, order="C", ndmin=2).reshape(-1, 3)
        points = points.reshape(-1, 3)
        if not np.isfinite(points).all():
            message = f"{name} has a vertex that is not finite"
            raise MeshError(message)
        points.flags.writeable = False
        corners.flags.writeable = False
        object.__setattr__(self, "vertices", points)
        object.__setattr__(self, "triangles", corners)
        object.__setattr__(self, "name", name)

    @property
    def bounds(self) -> NDArray[np.float64]:
        """Return the corners of the bounding box of the triangles, shape (2, 3)."""
        used = self.vertices[self.triangles.ravel()]
        return np.array([used.min(axis=0), used.max(axis=0)])
