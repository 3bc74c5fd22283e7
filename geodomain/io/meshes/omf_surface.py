"""What the two versions of the Open Mining Format have in common; reads no file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError
from geodomain.io.meshes.lattice_faces import lattice_faces
from geodomain.io.meshes.solids import listed
from geodomain.mesh.faces import Faces


def no_surface(file: str, kinds: Sequence[str]) -> MeshError:
    """Return the error for a project without surfaces, with what it has instead."""
    held = listed(list(dict.fromkeys(kinds))) or "nothing"
    message = f"{file} has no surface: it holds {held}; export the wireframes as surfaces"
    return MeshError(message)


@dataclass(frozen=True)
class Grid:
    """A surface over a grid: cell sizes along two axes, heights (u + 1, v + 1) of the nodes."""

    origin: NDArray[np.float64]
    axis_u: NDArray[np.float64]
    axis_v: NDArray[np.float64]
    sizes_u: NDArray[np.float64]
    sizes_v: NDArray[np.float64]
    heights: NDArray[np.float64] | None


def grid_faces(grid: Grid) -> Faces:
    """Return two triangles a cell, divided from its low corner to its high one."""
    u, v = (np.concatenate([[0.0], np.cumsum(sizes)]) for sizes in (grid.sizes_u, grid.sizes_v))
    place = grid.origin + u[:, None, None] * grid.axis_u + v[None, :, None] * grid.axis_v
    if grid.heights is not None:
        normal = np.cross(grid.axis_u, grid.axis_v)
        place = place + grid.heights[:, :, None] * (normal / np.linalg.norm(normal))
    return lattice_faces(place)
