"""Reads the surfaces of the Open Mining Format, version 1 (files of omf 0.9 to 1.0)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.io.meshes.omf_surface import Grid, grid_faces, no_surface
from geodomain.io.meshes.solids import NamedFaces
from geodomain.io.omf.refusal import refusing
from geodomain.io.omf.version1 import Project1
from geodomain.mesh.faces import Faces


def read(data: bytes, path: Path) -> list[NamedFaces]:
    """Return each surface element by its name; points, lines and volumes are passed over."""
    with refusing(path.name, MeshError):
        project = Project1(data, path.name, MeshError)
        elements = list(project.elements())
        surfaces = [one for one in elements if one["__class__"] == "SurfaceElement"]
        if not surfaces:
            raise no_surface(path.name, [one["__class__"] for one in elements])
        return [(str(one.get("name", "")), _faces(project, one)) for one in surfaces]


def _faces(project: Project1, element: Any) -> Faces:
    geometry = project.objects[element["geometry"]]
    origin = project.origin(geometry)
    if geometry["__class__"] == "SurfaceGridGeometry":
        return _grid(project, geometry, origin)
    vertices = project.array(geometry["vertices"]).reshape(-1, 3) + origin
    corners = project.array(geometry["triangles"]).reshape(-1).astype(np.int64)
    if len(corners) % 3:
        project.refuse("a surface has triangles that are not whole")
    return Faces(vertices, corners, np.full(len(corners) // 3, 3, dtype=np.int64))


def _grid(project: Project1, geometry: Any, origin: NDArray[np.float64]) -> Faces:
    u, v = (np.array(geometry[f"tensor_{axis}"], dtype=np.float64) for axis in "uv")
    axes = [np.array(geometry[f"axis_{axis}"], dtype=np.float64) for axis in "uv"]
    project.require_surface(len(u), len(v))
    heights = None
    if geometry.get("offset_w") is not None:
        shape = len(u) + 1, len(v) + 1
        # v fastest, as cells of volumes
        heights = project.array(geometry["offset_w"]).astype(np.float64).reshape(shape)
    return grid_faces(Grid(origin, axes[0], axes[1], u, v, heights))
