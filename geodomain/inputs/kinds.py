"""Types of inputs: any mesh, several meshes, any points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    import pyvista
    from narwhals.typing import IntoDataFrame
    from numpy.typing import ArrayLike

    from geodomain.mesh.mesh import Mesh


class FacedSurface(Protocol):
    """A surface with vertices (v, 3) and faces (t, 3), as trimesh has it."""

    @property
    def vertices(self) -> ArrayLike:
        """Coordinates, (v, 3)."""

    @property
    def faces(self) -> ArrayLike:
        """Indices of vertices, (t, 3)."""


MeshLike: TypeAlias = (
    "Mesh | pyvista.PolyData | pyvista.UnstructuredGrid | FacedSurface"
    " | tuple[ArrayLike, ArrayLike] | str | os.PathLike[str]"
)
MeshesLike: TypeAlias = "MeshLike | pyvista.MultiBlock | Iterable[MeshLike | pyvista.MultiBlock]"
PointsLike: TypeAlias = "ArrayLike | pyvista.DataSet | IntoDataFrame"
