"""Takes meshes from VTK's data sets through PyVista, imported when it is needed; parses no file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import GeodomainError, MeshError
from geodomain.mesh import Mesh
from geodomain.meshfiles.faces import Faces

# VTK's cell types that are flat polygons with their corners in ring order.
_POLYGONS = (5, 7, 9)
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


def read(path: Path, extension: str) -> Faces:
    """Return the polygons of a file that PyVista reads, as if it had the extension.

    Raises
    ------
    MeshError
        If PyVista cannot read it, or it holds something other than polygons.
    """
    return from_dataset(read_dataset(path, extension), path.name)


def read_dataset(path: Path, extension: str, error: type[GeodomainError] = MeshError) -> Any:
    """Return the data set of a file that PyVista reads, as if it had the extension.

    Raises
    ------
    GeodomainError
        Of the type that is asked for, if PyVista cannot read it.
    """
    import pyvista

    try:
        with vtk_errors():
            reader: Any = pyvista.get_reader  # its parameters have no types in some releases
            return reader(str(path), force_ext=extension).read()
    except (RuntimeError, ValueError, TypeError, AttributeError, OSError) as wrong:
        message = f"{path.name} cannot be read by PyVista ({_reason(wrong)}): export the file again"
        raise error(message) from wrong


@contextmanager
def vtk_errors() -> Iterator[None]:
    """Raise what VTK would only print, as a RuntimeError, and have nothing printed."""
    import pyvista

    with _quiet(), pyvista.VtkErrorCatcher(raise_errors=True, send_to_logging=False):
        yield


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep VTK, and PyVista's log of it, from printing what is said in the error anyway."""
    import pyvista

    silence: Any = getattr(pyvista, "vtk_verbosity", nullcontext)  # not in older releases
    root = logging.getLogger()
    root.addFilter(_is_not_of_vtk)
    try:
        with silence("off"):
            yield
    finally:
        root.removeFilter(_is_not_of_vtk)


def _is_not_of_vtk(record: logging.LogRecord) -> bool:
    """Tell whether something else than PyVista's observer of VTK has written a log record."""
    return record.module != "observers"


def _reason(error: Exception) -> str:
    """Return the first thing VTK complains of, without where in VTK that was."""
    text = " ".join(str(error).split())
    return text.partition("): ")[2].partition(" ERROR:")[0][:120] or text[:120]


def from_dataset(dataset: Any, name: str) -> Faces:
    """Return the polygons of a PolyData, or of an UnstructuredGrid of flat cells.

    Raises
    ------
    MeshError
        If there are cells of another kind, or the data set is of another kind.
    """
    import pyvista

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


def _without_strips(surface: Any) -> Any:
    """Return a PolyData whose triangle strips are triangles, every second one turned back."""
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
        _CELLS.get(kind, f"cells of VTK type {kind}") for kind in kinds if kind not in _POLYGONS
    ]
    if other:
        message = (
            f"{name} holds {', '.join(other)}, which are no faces: keep triangles or polygons"
            " alone (in PyVista, extract_surface() and triangulate()) and save them as .vtp"
        )
        raise MeshError(message)


def _offsets(grid: Any) -> NDArray[Any]:
    """Return where each cell's corners start; releases of PyVista name it differently."""
    return np.asarray(grid.cell_offsets if hasattr(grid, "cell_offsets") else grid.offset)


def to_dataset(mesh: Mesh) -> Any:
    """Return a PolyData of the mesh's triangles, points in double precision."""
    import pyvista

    triangles: Any = mesh.triangles
    return pyvista.PolyData.from_regular_faces(mesh.vertices.copy(), triangles)


def boxes_to_dataset(boxes: NDArray[np.float64]) -> Any:
    """Return a PolyData of the six sides of each box, (k, 2, 3): low and high corners."""
    import pyvista

    choice = np.stack(np.meshgrid([0, 1], [0, 1], [0, 1], indexing="ij"), axis=-1).reshape(8, 3)
    corners = boxes[:, choice, [0, 1, 2]].reshape(-1, 3)  # 4 for x, 2 for y, 1 for z
    sides = np.array(
        [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    )
    faces = (8 * np.arange(len(boxes))[:, None, None] + sides).reshape(-1, 4)
    return pyvista.PolyData.from_regular_faces(corners, faces)


def write(mesh: Mesh, path: Path) -> None:
    """Write VTP in double precision."""
    to_dataset(mesh).save(path)
