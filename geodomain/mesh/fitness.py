"""Checks of a mesh before labelling: closed, balanced for winding numbers, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodomain.errors import MeshError, counted, warn
from geodomain.mesh.faults.edge_table import edge_table
from geodomain.mesh.faults.edges import open_edges_sentence, place
from geodomain.mesh.faults.relations import relate
from geodomain.mesh.faults.report import report_on
from geodomain.mesh.faults.shell_counts import cancelling, count_shells
from geodomain.mesh.faults.warnings import mesh_warnings
from geodomain.mesh.mesh import Mesh

if TYPE_CHECKING:
    from geodomain.mesh.faults.relations import Relations


# Most pairs of triangles to compare in a query for points: a second or two.
_IN_PASSING = 10_000_000


def require_fit(mesh: Mesh, *, allow_open: bool, instead: str | None = None) -> None:
    """Refuse an open mesh unless it is allowed; `instead` as for `open_edges_sentence`.

    Warns about a closed mesh with faults; see `warn_once`.

    Raises
    ------
    MeshError
        As `require_closed`.
    """
    if not allow_open:
        require_closed(mesh, instead)
    warn_once(mesh)


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
