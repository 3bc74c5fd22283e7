"""Convert PyVista surfaces to arrays and back; PyVista is imported on first use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import MeshError, counted, warn
from geodomain.mesh.polygons import Faces

if TYPE_CHECKING:
    import pyvista

# VTK cell types of flat polygons with their corners in ring order.
POLYGONS = (5, 7, 9)
_CELLS = {
    0: "empty cells",
    1: "vertices",
    2: "poly-vertices",
    3: "lines",
    4: "poly-lines",
    6: "triangle strips",
    8: "pixels",
    10: "tetrahedra",
    11: "voxels",
    12: "hexahedra",
    13: "wedges",
    14: "pyramids",
    22: "quadratic triangles",
    23: "quadratic quadrilaterals",
    42: "polyhedra",
}


GHOSTS = "vtkGhostType"
_LEFT_OUT = 1 | 8 | 32  # vtkDataSetAttributes: DUPLICATECELL, REFINEDCELL, HIDDENCELL


def is_dataset(thing: object, *kinds: str) -> bool:
    """Return whether an object has one of the PyVista types `kinds`, without importing PyVista."""
    pyvista = sys.modules.get("pyvista")
    types = (getattr(pyvista, kind, None) for kind in kinds)
    return isinstance(thing, tuple(kind for kind in types if isinstance(kind, type)))


def from_dataset(dataset: object, name: str) -> Faces:
    """Return the polygons of a PolyData. An UnstructuredGrid of flat cells is also accepted.

    Raises
    ------
    MeshError
        If the data set is of another type, or has cells that are not polygons.
    """
    import pyvista

    if isinstance(dataset, (pyvista.PolyData, pyvista.UnstructuredGrid)):
        dataset = _without_ghosts(dataset, name)
    if isinstance(dataset, pyvista.PolyData):
        dataset = _without_strips(dataset).cast_to_unstructured_grid()
    if not isinstance(dataset, pyvista.UnstructuredGrid):
        message = (
            f"{name} holds {type(dataset).__name__}, not a wireframe: extract the surface"
            " that is meant and save it as .vtp"
        )
        raise MeshError(message)
    points = np.asarray(dataset.points)
    vertices = points.astype(np.float64).reshape(-1, 3)
    if dataset.n_cells == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return Faces(vertices, nothing, nothing)
    _require_polygons(np.unique(dataset.celltypes).tolist(), name)
    sizes = np.diff(_offsets(dataset)).astype(np.int64)
    corners = np.asarray(dataset.cell_connectivity).astype(np.int64)
    return Faces(vertices, corners, sizes, single=points.dtype == np.float32)


def _without_ghosts(
    dataset: pyvista.PolyData | pyvista.UnstructuredGrid, name: str
) -> pyvista.PolyData | pyvista.UnstructuredGrid:
    """Return a data set without cells that are hidden, refined, or repeated in another piece."""
    left_out = ghosts(dataset)
    if not left_out.any():
        return dataset
    count = int(left_out.sum())
    verb = "is" if count == 1 else "are"
    warn(f"{name}: {counted(count, 'ghost or hidden cell')} {verb} left out, as in VTK")
    visible: pyvista.UnstructuredGrid = dataset.extract_cells(np.flatnonzero(~left_out).tolist())
    return visible


def ghosts(dataset: pyvista.DataSet) -> NDArray[np.bool_]:
    """Return the mask (n,) of cells that are hidden, refined, or repeated in another piece."""
    if GHOSTS not in dataset.cell_data:
        return np.zeros(dataset.n_cells, np.bool_)
    return np.asarray((np.asarray(dataset.cell_data[GHOSTS]).astype(np.int64) & _LEFT_OUT) != 0)


def _without_strips(surface: pyvista.PolyData) -> pyvista.PolyData:
    """Return a PolyData with triangles in place of triangle strips.

    Every second triangle of a strip is reversed.
    """
    import pyvista

    if surface.n_strips == 0:
        return surface
    cells = [np.asarray(surface.faces, dtype=np.int64)]
    strips, at = np.asarray(surface.strips, dtype=np.int64), 0
    while at < len(strips):
        strip = strips[at + 1 : at + 1 + strips[at]]
        rows = np.column_stack([strip[:-2], strip[1:-1], strip[2:]])
        rows[1::2] = rows[1::2, [1, 0, 2]]
        cells.append(np.insert(rows, 0, 3, axis=1).ravel())
        at += 1 + int(strips[at])
    return pyvista.PolyData(surface.points, faces=np.concatenate(cells))


def _require_polygons(kinds: list[int], name: str) -> None:
    other = [
        _CELLS.get(kind, f"cells of VTK type {kind}") for kind in kinds if kind not in POLYGONS
    ]
    if other:
        message = (
            f"{name} holds {', '.join(other)}, which are not faces: keep only triangles and"
            " polygons (in PyVista, extract_surface() and triangulate()) and save them as .vtp"
        )
        raise MeshError(message)


def _offsets(grid: pyvista.UnstructuredGrid) -> NDArray[np.int64]:
    """Return the index at which each cell's corners start.

    This works with old and new versions of PyVista.
    """
    return np.asarray(grid.cell_offsets if hasattr(grid, "cell_offsets") else grid.offset)


def to_dataset(vertices: NDArray[np.float64], triangles: NDArray[np.int32]) -> pyvista.PolyData:
    """Return a PolyData of triangles, with points in double precision."""
    import pyvista

    surface: pyvista.PolyData = pyvista.PolyData.from_regular_faces(
        vertices.copy(),
        triangles,  # type: ignore[arg-type]  # int32 is accepted too
    )
    return surface


def boxes_to_dataset(boxes: NDArray[np.float64]) -> pyvista.PolyData:
    """Return a PolyData with the six sides of each box.

    `boxes` (k, 2, 3) holds the lowest and the highest corner of each box.
    """
    import pyvista

    choice = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(8, 3)
    corners = boxes[:, choice, [0, 1, 2]].reshape(-1, 3)  # 4 for x, 2 for y, 1 for z
    sides = np.array(
        [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    )
    faces = (8 * np.arange(len(boxes))[:, None, None] + sides).reshape(-1, 4)
    surface: pyvista.PolyData = pyvista.PolyData.from_regular_faces(corners, faces)
    return surface
