"""What a labelling asks of a mesh: closed, balanced for winding numbers, and what is odd."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from geodomain.errors import GeodomainWarning, MeshError
from geodomain.mesh import Mesh

if TYPE_CHECKING:
    from geodomain.faults.relations import Relations


# Pairs of triangles that are compared for who only asks where points are: a second or two.
_IN_PASSING = 10_000_000


def require_fit(mesh: object, *, allow_open: bool) -> None:
    """Refuse what is no Mesh (a path has to be read first), and an open one unless allowed.

    Of a closed one that is odd it warns; see `warn_once`.

    Raises
    ------
    TypeError
        For anything but a `Mesh`.
    MeshError
        As `require_closed`.
    """
    solid = require_mesh(mesh, "solid")
    if not allow_open:
        require_closed(solid)
    warn_once(solid)


def require_mesh(mesh: object, what: str) -> Mesh:
    """Return the mesh, or refuse what is none.

    Raises
    ------
    TypeError
        For anything but a `Mesh`.
    """
    if isinstance(mesh, Mesh):
        return mesh
    message = f"a {what} must be a geodomain.Mesh, not {type(mesh).__name__}: see read_mesh"
    raise TypeError(message)


def warn_once(mesh: Mesh) -> None:
    """Warn of what is odd about a closed mesh, the first time it is asked.

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
        warnings.warn(" ".join(said), GeodomainWarning, stacklevel=_levels_to_caller())


def mark_warned(mesh: Mesh) -> None:
    """Keep `warn_once` from repeating what was said of a mesh already."""
    mesh.__dict__["_warned"] = True


def _levels_to_caller() -> int:
    """Count the frames from the caller of this one to the first that is outside the package."""
    package, level = str(Path(__file__).parent), 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    return level


def require_closed(mesh: Mesh) -> None:
    """Refuse a mesh in which an edge belongs to an odd number of triangles.

    Raises
    ------
    MeshError
        With the number of such edges, the first one, the smallest gap, and the way out.
    """
    if mesh.is_closed:
        return
    from geodomain.faults.edges import open_edges_sentence

    raise MeshError(open_edges_sentence(mesh))


def require_balanced(mesh: Mesh) -> None:
    """Refuse a mesh in which the directed uses of an edge do not cancel.

    Raises
    ------
    MeshError
        With the number of such edges and the first one.
    """
    if mesh.is_balanced:
        return
    from geodomain.faults.edge_table import edge_table
    from geodomain.faults.edges import place

    table = edge_table(mesh)
    count = len(table.unbalanced)
    message = (
        f"{mesh.name} has no winding number: at {count} edge{'s' * (count != 1)} the directed "
        f"uses do not cancel, the first {place(table.segments(table.unbalanced, 1)[0])}; orient "
        "the triangles alike, or label by rule 'parity', which does not mind"
    )
    raise MeshError(message)


def list_warnings(mesh: Mesh, *, total: int | None = None) -> list[str]:
    """Say what is odd about a mesh that can be labelled with all the same.

    A mesh of one piece in which each edge joins two triangles that run alike has nothing to
    say, and that costs milliseconds to see; of several such pieces it is told how they lie to
    each other; only other meshes are looked at whole. ``total`` limits the time, as for `relate`.

    Returns
    -------
    list of str
        A sentence each, the worst first: a shell that is there twice, shells that overlap,
        mis-oriented edges, shells inside others or touching them, non-manifold edges,
        duplicate faces.
    """
    from geodomain.faults.relations import relate

    found = relate(mesh, total=total)
    if found.closed and found.balanced and found.plain:
        return _say_shells(mesh, found) if found.pieces > 1 else []
    from geodomain.faults.report import report_on

    return report_on(mesh, found).warnings()


def _say_shells(mesh: Mesh, found: Relations) -> list[str]:
    """Say how the pieces of a mesh lie to each other."""
    from geodomain.faults.doubts import doubts
    from geodomain.faults.shell_counts import cancelling, count_shells

    counts, places = count_shells(found)
    return doubts(mesh.name, counts | {"duplicate_shells": cancelling(found)}, places)
