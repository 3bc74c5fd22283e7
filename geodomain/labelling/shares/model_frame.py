"""The frame in which blocks are boxes along the axes; meshes are turned into it, in float64."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.header.frames import turned
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]
_SQUARE, _UPRIGHT = 1e-9, 1e-12


class ModelFrame(NamedTuple):
    """The directions of the blocks' edges, and the place in the world that is 0, 0, 0 in them.

    Attributes
    ----------
    axes : (3, 3) float64
        A row each.
    origin : (3,) float64
        Near the meshes, so that differences round little.
    """

    axes: Floats
    origin: Floats

    @property
    def is_world(self) -> bool:
        """Whether blocks lie along the axes of the world."""
        return bool((self.axes == np.eye(3)).all())

    def local(self, points: Floats) -> Floats:
        """Return world coordinates, (n, 3), in this frame."""
        if self.is_world:
            return points
        return turned(points, self.axes, (0.0, 0.0, 0.0), self.origin.tolist())

    def world(self, points: Floats) -> Floats:
        """Return coordinates of this frame, (n, 3), in the world."""
        return points if self.is_world else turned(points, self.axes.T, self.origin.tolist())

    def mesh(self, mesh: Mesh) -> Mesh:
        """Return a mesh of the world in this frame."""
        if self.is_world:
            return mesh
        vertices = np.ascontiguousarray(self.local(mesh.vertices))
        return Mesh(vertices, mesh.triangles, name=mesh.name)


def model_frame(axes: Floats, origin: Floats, *, has_surfaces: bool, name: str) -> ModelFrame:
    """Return the frame of a model, whose blocks' edges have these directions.

    Raises
    ------
    TableError
        For blocks that are no boxes, and, where there are surfaces, for blocks that are tilted:
        above is then not along their edges.
    """
    if not np.abs(axes @ axes.T - np.eye(3)).max() <= _SQUARE:
        message = f"{name}: the blocks' edges are not at right angles, so that they have no shares"
        raise TableError(message)
    if has_surfaces and not np.abs(axes[2] - (0.0, 0.0, 1.0)).max() <= _UPRIGHT:
        message = (
            f"{name} is tilted about x or y, and above and below are along the vertical: shares "
            "of such blocks are measured inside solids only"
        )
        raise TableError(message)
    return ModelFrame(axes, origin)
