"""Named meshes from files: the solids that blocks are labelled by, all read before any output."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from geodomain.errors import GeodomainWarning, MeshError
from geodomain.faults.welding import weld as weld_mesh
from geodomain.labeller import Solid
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
) -> tuple[tuple[Solid, ...], tuple[Weld, ...]]:
    """Read meshes and gather them into solids.

    Parameters
    ----------
    named : sequence of (name, path)
        In order of priority; a name that comes again is a union, at the place of its first.
    weld : float, optional
        Join the vertices of each mesh that are so close.

    Returns
    -------
    tuple of Solid, tuple of Weld
        And what welding changed, mesh by mesh.

    Warns
    -----
    GeodomainWarning
        For what is odd about a mesh that can be labelled with all the same: see
        `geodomain.topology.list_warnings`.
    """
    meshes: dict[str, list[Mesh]] = {}
    welds = []
    for name, path in named:
        mesh = read_mesh(path)
        if weld is not None:
            result = weld_mesh(mesh, weld)
            _require_some_left(result.mesh, weld)
            welds.append(Weld(mesh.name, weld, result.moved, result.largest_move))
            mesh = result.mesh
        # At a hole edges are mis-oriented by nature; what an open mesh does is said elsewhere.
        for sentence in list_warnings(mesh) if mesh.is_closed else ():
            warnings.warn(sentence, GeodomainWarning, stacklevel=2)
        mark_warned(mesh)
        meshes.setdefault(name, []).append(mesh)
    return tuple(Solid(name, tuple(parts)) for name, parts in meshes.items()), tuple(welds)


def _require_some_left(mesh: Mesh, tolerance: float) -> None:
    """Refuse a weld that joins a whole mesh into nothing."""
    if not len(mesh.triangles):
        message = (
            f"{mesh.name} has no triangle left after welding at {tolerance:g}; choose a smaller "
            "tolerance"
        )
        raise MeshError(message)
