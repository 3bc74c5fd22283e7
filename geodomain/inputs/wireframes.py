"""Functions of one mesh from any source: check, weld, fill, write."""

from __future__ import annotations

import os
from collections.abc import Mapping

from geodomain.inputs.kinds import MeshLike
from geodomain.inputs.meshes import as_mesh
from geodomain.io.meshes import writing
from geodomain.mesh.faults import filling, report, welding
from geodomain.mesh.faults.filling import FillResult
from geodomain.mesh.faults.report import MeshReport
from geodomain.mesh.faults.welding import WeldResult


def check(mesh: MeshLike) -> MeshReport:
    """Count and locate what is wrong with a mesh.

    Parameters
    ----------
    mesh : mesh-like
        As for `as_mesh`; closed or not, empty or not.

    Returns
    -------
    MeshReport
        Counts do not depend on the order of vertices or triangles.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> report = geodomain.check((corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    >>> report.closed, report.shells, round(report.signed_volume, 6)
    (True, 1, 0.166667)
    """
    return report.check(as_mesh(mesh))


def weld(mesh: MeshLike, tolerance: float) -> WeldResult:
    """Join the vertices of a mesh that are close to each other.

    Each cluster moves to that member of it which comes first by x, then y, then z, so that
    no coordinate is new and the order of vertices and triangles does not matter. Chains
    are joined whole: if a is close to b and b to c, all three become one, however far c is
    from a. So a vertex can move further than the tolerance; `largest_move` tells.

    Parameters
    ----------
    mesh : mesh-like
        As for `as_mesh`; closed or not.
    tolerance : float
        In the unit of the coordinates; 0 joins equal vertices only.

    Returns
    -------
    WeldResult
        The new mesh, and what was changed.

    Raises
    ------
    ValueError
        For a tolerance that is negative or not finite.
    MeshError
        Where the tolerance is so wide that far too many vertices are within it.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0.001], [0, 1, 0], [1, 1, 0]]
    >>> result = geodomain.weld((corners, [[0, 1, 2], [3, 5, 4]]), 0.01)
    >>> len(result.mesh.vertices), result.moved, result.largest_move
    (4, 1, 0.001)
    """
    return welding.weld(as_mesh(mesh), tolerance)


def fill_holes(mesh: MeshLike, max_edges: int) -> FillResult:
    """Fill the holes of a mesh: close each boundary loop by triangles between its corners.

    No vertex is added or moved. A loop meets none of its corners twice, and each of its edges has
    one triangle. Loops that meet at a corner are filled one by one; where they meet at several,
    and it is not certain which edges are one loop, they are left open. A hole gets the same
    triangles whatever the order of vertices and triangles: from the corner that comes first by x,
    then y, then z, where that folds nothing, and otherwise by clipping ears. They face as their
    neighbours do, or most of them. In a loop that lies in a plane, and does not cross itself, they
    do not cross each other; a loop whose fill would fold over itself is left open. Whether they
    cross other parts of the mesh is not looked at.

    Parameters
    ----------
    mesh : mesh-like
        As for `as_mesh`. The rim of an open surface is a boundary loop, too.
    max_edges : int
        Holes with more edges are left open.

    Returns
    -------
    FillResult
        The new mesh, and what became of each hole, with its place and area.

    Raises
    ------
    ValueError
        For fewer edges than 3.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]]
    >>> found = geodomain.fill_holes((corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2]]), 10)
    >>> print(found.holes[0], found.mesh.is_closed)
    filled: 3 edges from (0, 0, 4), area 13.8564, flat True
    """
    return filling.fill_holes(as_mesh(mesh), max_edges)


def write_mesh(
    mesh: MeshLike | Mapping[str, MeshLike],
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> None:
    """Write a wireframe, or several by name, in the format that the extension names.

    .ply (binary double), .obj, .off, .vtp, .msh (Leapfrog), .ts (GOCAD TSurf), .omf
    (OMF 2, through pyarrow) and .dtm with .str (Surpac) keep every coordinate and
    triangle; .dxf (3DFACE of R12) every corner, but no vertex that no triangle uses;
    .stl (binary) holds single precision. The file appears whole or not at all;
    one that is there keeps its mode, and a link is followed.

    Parameters
    ----------
    mesh : mesh-like, or mapping of str to mesh-like
        What to write, as for `as_mesh`. A mesh alone is called like the file, without its
        extension. .dxf, .ts and .omf hold names, .dtm numbers; other files get all
        solids as one mesh.
    path : str or path-like
        Where to; .str is written beside .dtm.
    overwrite : bool
        Whether a file that is there may be replaced.

    Raises
    ------
    FileExistsError
        If the file is there already; see ``overwrite``.
    OSError
        If the file cannot be written.
    MeshError
        If the extension is not known, or STL cannot hold the coordinates.

    Warns
    -----
    GeodomainWarning
        If STL's rounding moves a vertex, with the largest move.
    """
    if isinstance(mesh, Mapping):
        meshes = {name: as_mesh(one) for name, one in mesh.items()}
        writing.write_mesh(meshes, path, overwrite=overwrite)
    else:
        writing.write_mesh(as_mesh(mesh), path, overwrite=overwrite)
