"""What a labelling asks of a mesh: closed, and balanced for winding numbers."""

from __future__ import annotations

from geodomain.errors import MeshError
from geodomain.mesh import Mesh


def require_closed(mesh: Mesh) -> None:
    """Raise MeshError, with counts, places and the way out, if the mesh is not closed."""
    if mesh.is_closed:
        return
    message = f"{mesh.name} is not closed"
    raise MeshError(message)


def require_balanced(mesh: Mesh) -> None:
    """Raise MeshError if directed uses of the edges do not cancel."""
    if mesh.is_balanced:
        return
    message = (
        f"{mesh.name} has no winding number: triangles beside each other run in different "
        "directions; orient them alike, or label by rule 'parity', which does not mind"
    )
    raise MeshError(message)
