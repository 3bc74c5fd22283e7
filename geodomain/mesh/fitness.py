"""Checks of a mesh before labelling: closed, balanced for winding numbers, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from geodomain.compute.meshes import merge_equal
from geodomain.errors import MeshError, counted, warn
from geodomain.mesh.check import NOTHING_INSIDE, mesh_warnings, report_on
from geodomain.mesh.edges import edge_table
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.open_edges import open_edges_sentence, place
from geodomain.mesh.shells import (
    cancelling,
    count_shells,
    encloses_nothing,
    relate,
    star_cancels,
    whole_places,
)

if TYPE_CHECKING:
    from geodomain.mesh.shells import Relations

# Most pairs of triangles to compare in a query for points: a second or two.
_IN_PASSING = 10_000_000


def require_fit(
    mesh: Mesh,
    *,
    allow_open: bool,
    instead: str | None = None,
    rule: Literal["parity", "winding"] | None = "parity",
) -> None:
    """Refuse a solid that is open, unless it may be, or in which nothing can be inside.

    Parameters
    ----------
    mesh : Mesh
        The solid.
    allow_open : bool
        Whether it may be open.
    instead : str, optional
        As for `open_edges_sentence`.
    rule : {"parity", "winding"}, optional
        What tells whether something is inside; without it a mesh passes that has an inside by
        either rule.

    Raises
    ------
    MeshError
        As `require_closed` and `require_inside`.

    Warns
    -----
    GeodomainWarning
        About a closed mesh with faults; see `warn_once`.
    """
    if not allow_open:
        require_closed(mesh, instead)
    require_inside(mesh, rule or ("winding" if mesh.is_balanced else "parity"))
    warn_once(mesh)


def require_inside(mesh: Mesh, rule: Literal["parity", "winding"]) -> None:
    """Refuse a closed mesh in which nothing can be inside: its faces cancel, or lie in a plane.

    Raises
    ------
    MeshError
        With the reason, and how to mend it.
    """
    kept: dict[str, str] = mesh.__dict__.setdefault("_encloses_nothing", {})
    if rule not in kept:
        kept[rule] = _encloses_nothing(mesh, rule)
    if kept[rule]:
        raise MeshError(kept[rule])


def _encloses_nothing(mesh: Mesh, rule: Literal["parity", "winding"]) -> str:
    """Return why nothing can be inside a closed mesh; empty where something can."""
    bodies = mesh.bodies
    if not mesh.is_closed or not bodies.triangles:
        return ""
    extent = mesh.bounds[1] - mesh.bounds[0]
    if (extent == 0).any():
        axis = int((extent == 0).argmax())
        return (
            f"{mesh.name} lies in the plane {'xyz'[axis]} = {mesh.bounds[0, axis]:.10g}: nothing "
            "can be inside; export the wireframe again, as a solid"
        )
    if not _stars_cancel(mesh, rule):  # most honest meshes end here
        return ""
    distinct = merge_equal(mesh.vertices)[mesh.triangles].astype(np.int64)
    if not encloses_nothing(mesh.vertices, distinct, winding=rule == "winding"):
        return ""
    said = NOTHING_INSIDE.format(mesh.name)
    if (
        rule == "parity"
        and mesh.is_balanced
        and not encloses_nothing(mesh.vertices, distinct, winding=True)
    ):
        said += " By rule 'winding' the mesh has an inside."
    return said


def _stars_cancel(mesh: Mesh, rule: Literal["parity", "winding"]) -> bool:
    """Return whether faces cancel at the first corner of the first triangle.

    Cheaper than all of `encloses_nothing`, which sorts the triangles first.
    """
    centre = mesh.triangles[0, 0]
    here = (mesh.vertices == mesh.vertices[centre]).all(axis=1)
    met = here[mesh.triangles]
    star = mesh.triangles[met.sum(axis=1) == 1]
    star = np.where(here[star], centre, star)
    used, corners = np.unique(np.append(star, centre), return_inverse=True)
    places = whole_places(mesh.vertices[used])
    triangles = corners[:-1].reshape(-1, 3)
    return star_cancels(places, int(corners[-1]), triangles, winding=rule == "winding")


def warn_once(mesh: Mesh) -> None:
    """Warn about the faults of a closed mesh, on the first call only.

    Most meshes are one body without a handle in which directions cancel, which is known for next
    to nothing; only others are looked at, as `list_warnings` does, but not for long. At a hole
    edges are mis-oriented by nature: an open mesh is not looked at.

    Warns
    -----
    GeodomainWarning
        In the name of the first caller outside the package.
    """
    if "_warned" in mesh.__dict__ or not mesh.is_closed:
        return
    mark_warned(mesh)
    if mesh.is_balanced and mesh.bodies.is_ball:
        return
    if said := list_warnings(mesh, total=_IN_PASSING):
        warn(" ".join(said))


def mark_warned(mesh: Mesh) -> None:
    """Keep `warn_once` from repeating what was said of a mesh already."""
    mesh.__dict__["_warned"] = True


def require_closed(mesh: Mesh, instead: str | None = None) -> None:
    """Refuse a mesh in which an edge belongs to an odd number of triangles.

    Raises
    ------
    MeshError
        With the number of such edges, the first one, the smallest gap, and the way out.
    """
    if mesh.is_closed:
        return

    raise MeshError(open_edges_sentence(mesh, instead))


def require_balanced(mesh: Mesh) -> None:
    """Refuse a mesh in which the directed uses of an edge do not cancel.

    Raises
    ------
    MeshError
        With the number of such edges and the first one.
    """
    if mesh.is_balanced:
        return

    table = edge_table(mesh)
    count = len(table.unbalanced)
    message = (
        f"{mesh.name} has no winding number: at {counted(count, 'edge')} the directed "
        f"uses do not cancel, the first {place(table.segments(table.unbalanced, 1)[0])}; orient "
        "the triangles alike, or label by rule 'parity', which needs no orientation"
    )
    raise MeshError(message)


def list_warnings(mesh: Mesh, *, total: int | None = None) -> list[str]:
    """List warnings about a mesh that can be used for labelling.

    A mesh of one component whose edges each join two triangles that face alike gets no warning, and
    this check takes milliseconds. For several such components, their relations are computed; only
    other meshes are examined in full. ``total`` limits the time, as for `relate`.

    Returns
    -------
    list of str
        A sentence each, the worst first: a duplicate shell, shells that overlap,
        mis-oriented edges, shells inside others or touching them, non-manifold edges,
        duplicate faces.
    """
    found = relate(mesh, total=total)
    if found.closed and found.balanced and found.plain:
        return _say_shells(mesh, found) if found.components > 1 else []

    return report_on(mesh, found).warnings()


def _say_shells(mesh: Mesh, found: Relations) -> list[str]:
    """Say how the components of a mesh lie to each other."""
    counts, places = count_shells(found)
    return mesh_warnings(mesh.name, counts | {"duplicate_shells": cancelling(found)}, places)
