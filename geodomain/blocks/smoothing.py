"""Smooth the walls between the blocks of a lattice by VTK's SurfaceNets.

SurfaceNets (S. F. F. Gibson, Constrained elastic surface nets, 1998) moves the corners of walls
towards the middle of their neighbours, by less than half a block, so that few centroids change
sides. A corner moves once for all labels, so the solids on both sides of a wall still share its
triangles.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.blocks.walls import Boxes, WallTriangles
from geodomain.compute.data import Floats, Ints
from geodomain.errors import TableError
from geodomain.mesh.components import shells
from geodomain.mesh.mesh import normals, sixfold_volumes

# Largest move of a corner along each axis, in blocks. At half a block it would reach a centroid.
_REACH = 0.45


class Body(NamedTuple):
    """A connected part of a solid: its place, and its volume before and after smoothing."""

    place: Floats
    before: float
    after: float

    @property
    def loss(self) -> float:
        """The share of the volume that smoothing removes."""
        return 1 - self.after / self.before


def smoothed(boxes: Boxes, codes: NDArray[np.int32]) -> tuple[WallTriangles, WallTriangles]:
    """Return the triangles of all walls before and after smoothing.

    Parameters
    ----------
    boxes : Boxes
        Blocks of a lattice.
    codes : (n,) int32
        The label code of each block.

    Raises
    ------
    TableError
        If VTK has no SurfaceNets.
    """
    grid = boxes.lattice(codes)
    steps = np.array([np.diff(each).mean() for each in boxes.places])
    corners, quads = _nets(grid, steps, smooth=False)
    moved, same = _nets(grid, steps, smooth=True)
    if not np.array_equal(quads, same):
        message = "this version of VTK changes the faces that it smooths: use smooth='none'"
        raise TableError(message)
    # The first corner of the blocks is half a step above the centre of the padding. At a corner
    # where walls touch along an edge, newer versions of VTK have several points: they are merged.
    shape = tuple(len(each) for each in boxes.places)
    cells = np.rint(corners / steps - 0.5).astype(np.int64)
    keys, point = np.unique(np.ravel_multi_index(tuple(cells.T), shape), return_inverse=True)
    index = np.column_stack(np.unravel_index(keys, shape))
    used = np.zeros(len(corners))
    used[quads] = 1.0
    count = np.bincount(point, used)
    sharp, smooth = np.empty((2, len(index), 3))
    for axis, each in enumerate(boxes.places):
        sharp[:, axis] = each[index[:, axis]]
        middle = np.bincount(point, used * moved[:, axis]) / np.maximum(count, 1)
        smooth[:, axis] = np.interp(middle / steps[axis] - 0.5, np.arange(len(each)), each)
    quads = point[quads]
    below, above, faces_down = _sides(grid, index[quads])
    quads[faces_down] = quads[faces_down][:, ::-1]
    first, second = (
        ((smooth[quads[:, corner]] - smooth[quads[:, corner + 2]]) ** 2).sum(axis=1)
        for corner in (0, 1)
    )
    quads = np.where((first <= second)[:, None], quads, np.roll(quads, -1, axis=1))
    triangles = np.stack([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1).reshape(-1, 3)
    walls = WallTriangles(sharp, triangles, below.repeat(2), above.repeat(2))
    return walls, walls._replace(vertices=smooth)


def _nets(grid: NDArray[np.int32], steps: Floats, *, smooth: bool) -> tuple[Floats, Ints]:
    """Return the corners of walls between cells, (v, 3), and the walls as four corners each."""
    import pyvista

    try:
        from vtkmodules.vtkFiltersCore import vtkSurfaceNets3D
    except ImportError:
        message = "smooth='surfacenets' needs VTK 9.3 or later: pip install -U vtk"
        raise TableError(message) from None
    image = pyvista.ImageData(dimensions=grid.shape, spacing=steps)
    values = grid.ravel(order="F") + 1
    image.point_data["codes"] = values
    image.set_active_scalars("codes")
    nets = vtkSurfaceNets3D()
    nets.SetInputData(image)
    nets.SetBackgroundLabel(0)
    labels = np.unique(values)
    labels = labels[labels > 0]
    nets.SetNumberOfLabels(len(labels))
    for place, label in enumerate(labels.tolist()):
        nets.SetValue(place, label)
    nets.SetOutputMeshTypeToQuads()
    nets.SetSmoothing(smooth)
    nets.AutomaticSmoothingConstraintsOff()
    nets.SetConstraintStrategyToConstraintBox()
    nets.SetConstraintBox(*(2 * _REACH * steps).tolist())
    nets.Update()
    surface = pyvista.PolyData(nets.GetOutput())
    faces = np.asarray(surface.faces, np.int64).reshape(-1, 5)[:, 1:]
    return np.asarray(surface.points, np.float64), faces


def _sides(
    grid: NDArray[np.int32], corners: Ints
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
    """Return the codes below and above each wall, and which walls face downwards.

    `corners` are the indices of the four corners of each wall, (q, 4, 3).
    """
    low, span = corners.min(axis=1), np.ptp(corners, axis=1)
    axis = (span == 0).argmax(axis=1)
    cell = low + 1  # in the padded lattice, the cell above the lowest corner
    beneath = cell - (np.arange(3) == axis[:, None])
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 1])
    down = np.take_along_axis(sides, axis[:, None], axis=1).ravel() < 0
    return grid[tuple(beneath.T)], grid[tuple(cell.T)], down


def bodies(sharp: Floats, smooth: Floats, triangles: Ints) -> list[Body]:
    """Return the connected parts of a solid, without its voids."""
    part, count = shells(triangles, len(sharp))
    volumes = []
    for vertices in (sharp, smooth):
        moved = vertices - vertices.mean(axis=0)
        terms = sixfold_volumes(moved[triangles[:, 0]], normals(moved, triangles))
        volumes.append(np.bincount(part, terms, count) / 6)
    before, after = volumes
    first = np.full(count, len(triangles))
    np.minimum.at(first, part, np.arange(len(triangles)))
    return [
        Body(smooth[triangles[first[row], 0]], float(before[row]), float(after[row]))
        for row in np.flatnonzero(before > 0).tolist()
    ]
