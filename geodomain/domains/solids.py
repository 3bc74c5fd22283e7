"""Meshes from files on their way to being solids: welded where asked, and looked at for faults."""

from __future__ import annotations

import os
from dataclasses import dataclass

from geodomain.errors import MeshError, warn
from geodomain.io.meshes.reading import read_mesh
from geodomain.mesh.faults.welding import weld as weld_mesh
from geodomain.mesh.fitness import list_warnings, mark_warned
from geodomain.mesh.mesh import Mesh


@dataclass(frozen=True)
class Weld:
    """What welding changed in one mesh; `largest_move` in the unit of the coordinates."""

    mesh: str
    tolerance: float
    moved: int
    largest_move: float


def read_solid(
    path: str | os.PathLike[str], *, weld: float | None = None
) -> tuple[Mesh, tuple[Weld, ...]]:
    """Read one mesh to label with.

    Parameters
    ----------
    path : path
        The file.
    weld : float, optional
        Join the vertices that are so close.

    Returns
    -------
    Mesh, tuple of Weld
        And what welding changed, if that was asked for.

    Raises
    ------
    MeshError
        For a mesh that encloses nothing, by itself or after welding.

    Warns
    -----
    GeodomainWarning
        For what is odd about a mesh that can be labelled with all the same: see
        `geodomain.mesh.fitness.list_warnings`.
    """
    mesh, welds = welded(read_mesh(path), weld)
    _require_some_left(mesh, weld)
    # At a hole edges are mis-oriented by nature; what an open mesh does is said elsewhere.
    for sentence in list_warnings(mesh) if mesh.is_closed else ():
        warn(sentence)
    mark_warned(mesh)
    return mesh, welds


def welded(mesh: Mesh, tolerance: float | None) -> tuple[Mesh, tuple[Weld, ...]]:
    """Return a mesh welded, and what that changed; without a tolerance the mesh itself."""
    if tolerance is None:
        return mesh, ()
    result = weld_mesh(mesh, tolerance)
    return result.mesh, (Weld(mesh.name, tolerance, result.moved, result.largest_move),)


def _require_some_left(mesh: Mesh, tolerance: float | None) -> None:
    """Refuse a mesh that encloses nothing, and a weld that joins a whole one into nothing."""
    if mesh.bodies.triangles:
        return
    if tolerance is None:
        message = (
            f"{mesh.name} has no triangle with three different corners; export the wireframe again"
        )
    else:
        message = (
            f"{mesh.name} has no triangle left after welding at {tolerance:g}; choose a smaller "
            "tolerance"
        )
    raise MeshError(message)
