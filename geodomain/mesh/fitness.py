"""Check that a mesh can label blocks: closed, not empty, and oriented for winding numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from geodomain.compute.meshes import merge_equal
from geodomain.errors import MeshError, counted, warn
from geodomain.mesh.check import (
    NOTHING_INSIDE,
    encloses_nothing,
    extremes_cancel,
    mesh_warnings,
    report_on,
)
from geodomain.mesh.edges import edge_table
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.open_edges import open_edges_sentence, place
from geodomain.mesh.relations import cancelling, count_shells, relate

if TYPE_CHECKING:
    from geodomain.mesh.relations import Relations

# Pairs of triangles that are compared, at most, before points are labelled: a second or two.
_IN_PASSING = 10_000_000


def require_fit(
    mesh: Mesh,
    *,
    allow_open: bool,
    instead: str | None = None,
    rule: Literal["parity", "winding"] | None = "parity",
) -> None:
    """Refuse a solid that encloses nothing, or that is open although `allow_open` is false.

    Parameters
    ----------
    mesh : Mesh
        The solid.
    allow_open : bool
        Whether the solid may be open.
    instead : str, optional
        What the user can do instead of closing the mesh, for the message; see
        `open_edges_sentence`.
    rule : {"parity", "winding"}, optional
        The rule that decides which points are inside. If it is None, a mesh is accepted if it
        encloses something by at least one of the rules.

    Raises
    ------
    MeshError
        For the reasons given at `require_closed` and `require_inside`.

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
    """Refuse a closed mesh that encloses nothing, because its faces cancel or lie in one plane.

    Raises
    ------
    MeshError
        If the mesh encloses nothing; the message gives the reason and a remedy.
    """
    reasons: dict[str, str] = mesh.__dict__.setdefault("_encloses_nothing", {})
    if rule not in reasons:
        reasons[rule] = _encloses_nothing(mesh, rule)
    if reasons[rule]:
        raise MeshError(reasons[rule])


def _encloses_nothing(mesh: Mesh, rule: Literal["parity", "winding"]) -> str:
    """Return the reason why a closed mesh encloses nothing; empty if it encloses something."""
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
    winding = rule == "winding"
    if not extremes_cancel(mesh.vertices, mesh.triangles, winding=winding):
        return ""
    distinct = merge_equal(mesh.vertices)[mesh.triangles].astype(np.int64)
    if not encloses_nothing(mesh.vertices, distinct, winding=winding):
        return ""
    message = NOTHING_INSIDE.format(mesh.name)
    if (
        rule == "parity"
        and mesh.is_balanced
        and not encloses_nothing(mesh.vertices, distinct, winding=True)
    ):
        message += " By rule 'winding' the mesh has an inside."
    return message


def warn_once(mesh: Mesh) -> None:
    """Warn about the faults of a closed mesh, on the first call only.

    Most meshes are one body without a handle, and all triangles face outwards or all face inwards.
    A quick test recognises such a mesh. Other meshes are checked by `list_warnings`, which compares
    10 million pairs of triangles at most. An open mesh is not checked, because edges at a hole are
    always mis-oriented.

    Warns
    -----
    GeodomainWarning
        For each fault; the warning names the first caller outside the package as its source.
    """
    if "_warned" in mesh.__dict__ or not mesh.is_closed:
        return
    mark_warned(mesh)
    if mesh.is_balanced and mesh.bodies.is_ball:
        return
    if messages := list_warnings(mesh, total=_IN_PASSING):
        warn(" ".join(messages))


def mark_warned(mesh: Mesh) -> None:
    """Record that the user has been warned about a mesh, so that `warn_once` stays silent."""
    mesh.__dict__["_warned"] = True


def require_closed(mesh: Mesh, instead: str | None = None) -> None:
    """Refuse a mesh in which an edge belongs to an odd number of triangles.

    Raises
    ------
    MeshError
        The message gives the number of such edges, the first edge, the smallest gap, and the
        remedy.
    """
    if mesh.is_closed:
        return

    raise MeshError(open_edges_sentence(mesh, instead))


def require_balanced(mesh: Mesh) -> None:
    """Refuse a mesh with a mis-oriented edge, because such a mesh has no winding number.

    Raises
    ------
    MeshError
        The message gives the number of such edges and the first edge.
    """
    if mesh.is_balanced:
        return

    table = edge_table(mesh)
    count = len(table.unbalanced)
    message = (
        f"{mesh.name} has no winding number, because {counted(count, 'edge')} "
        f"{'is' if count == 1 else 'are'} mis-oriented, the first "
        f"{place(table.segments(table.unbalanced, 1)[0])}; orient all triangles the same way, or "
        "label by rule 'parity', which needs no orientation"
    )
    raise MeshError(message)


def list_warnings(mesh: Mesh, *, total: int | None = None) -> list[str]:
    """List warnings about a mesh that can be used for labelling.

    If the mesh is one component, and each edge joins two triangles that face the same way, there is
    no warning, and the check takes milliseconds. If the mesh has several components of this kind,
    only the relations of components are computed. All other meshes are checked in full. ``total``
    limits the work on relations, as in `relate`.

    Returns
    -------
    list of str
        One sentence each, the worst first: duplicate shells, shells that overlap,
        mis-oriented edges, shells inside others or touching them, non-manifold edges,
        duplicate triangles.
    """
    relations = relate(mesh, total=total)
    if relations.closed and relations.balanced and relations.plain:
        return _say_shells(mesh, relations) if relations.components > 1 else []

    return report_on(mesh, relations).warnings()


def _say_shells(mesh: Mesh, relations: Relations) -> list[str]:
    """Return the warnings about the relations of a mesh's components."""
    counts, places = count_shells(relations)
    return mesh_warnings(mesh.name, counts | {"duplicate_shells": cancelling(relations)}, places)
