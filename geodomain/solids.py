"""Named meshes from files: the solids that blocks are labelled by, all read before any output."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from geodomain.domains import Domain
from geodomain.errors import GeodomainWarning, MeshError
from geodomain.faults.welding import weld as weld_mesh
from geodomain.mesh import Mesh
from geodomain.meshfiles import read_mesh
from geodomain.topology import list_warnings, mark_warned


@dataclass(frozen=True)
class Weld:
    """What welding changed in one mesh; `largest_move` in the unit of the coordinates."""

    mesh: str
    tolerance: float
    moved: int
    largest_move: float


def read_solids(
    named: Sequence[tuple[str, str]], *, weld: float | None = None
) -> tuple[tuple[Domain, ...], tuple[Weld, ...]]:
    """Read meshes and gather them into solids.

    Parameters
    ----------
    named : sequence of (name, path)
        In order of priority; a name that comes again is a union, at the place of its first.
    weld : float, optional
        Join the vertices of each mesh that are so close.

    Returns
    -------
    tuple of Domain, tuple of Weld
        And what welding changed, mesh by mesh.

    Warns
    -----
    GeodomainWarning
        For what is odd about a mesh that can be labelled with all the same: see
        `geodomain.topology.list_warnings`.
    """
    meshes: dict[str, list[Mesh]] = {}
    welds: list[Weld] = []
    for name, path in named:
        mesh, welded = read_solid(path, weld=weld)
        welds.extend(welded)
        meshes.setdefault(name, []).append(mesh)
    return tuple(Domain(name, parts) for name, parts in meshes.items()), tuple(welds)


def read_solid(
    path: str | os.PathLike[str], *, weld: float | None = None
) -> tuple[Mesh, tuple[Weld, ...]]:
    """Read one mesh to label with, as `read_solids` does."""
    mesh = read_mesh(path)
    welds: list[Weld] = []
    if weld is not None:
        result = weld_mesh(mesh, weld)
        welds.append(Weld(mesh.name, weld, result.moved, result.largest_move))
        mesh = result.mesh
    _require_some_left(mesh, weld)
    # At a hole edges are mis-oriented by nature; what an open mesh does is said elsewhere.
    for sentence in list_warnings(mesh) if mesh.is_closed else ():
        warnings.warn(sentence, GeodomainWarning, stacklevel=3)
    mark_warned(mesh)
    return mesh, tuple(welds)


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
