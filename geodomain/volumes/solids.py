"""Report the volume that a wireframe encloses, shell by shell."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from geodomain.compute.meshes import vertex_fans
from geodomain.errors import counted
from geodomain.inputs import MeshLike, as_mesh
from geodomain.mesh import check
from geodomain.mesh.components import facing
from geodomain.mesh.mesh import Mesh, normals, sixfold_volumes
from geodomain.result_tables import html_table, records_frame, text_table
from geodomain.volumes.shares import triangle_weights

if TYPE_CHECKING:
    import pandas

_HEADINGS = ("shell", "triangles", "area", "volume", "counts")
_COUNTS = {1: "added", -1: "subtracted", 0: "not counted"}


@dataclass(frozen=True)
class ShellVolume:
    """One shell of a wireframe: an edge-connected part.

    Attributes
    ----------
    triangles : int
        Number of triangles.
    area, volume : float
        Area of the shell, and the volume that it encloses on its own, above 0 whichever way it
        faces.
    counts : {"added", "subtracted", "not counted"}
        Whether the volume is part of the solid, or a void in it. A shell that occurs twice cancels
        itself, and is not counted.
    """

    triangles: int
    area: float
    volume: float
    counts: str


@dataclass(frozen=True, repr=False)
class VolumeReport:
    """The volume of a wireframe, by the same rule as labels; `str` gives a table.

    Attributes
    ----------
    name : str
        Name of the mesh.
    volume : float or None
        The volume of all points that `contains` calls inside: voids are subtracted, whichever way
        their shells face. None if the mesh does not enclose a volume that can be added up; `note`
        says why.
    signed_volume : float
        The sum of the signed volumes of all shells, as other programs compute it. It differs from
        the volume if a shell faces the wrong way, or occurs twice.
    area : float
        The area of all triangles.
    shells : tuple of ShellVolume
        The shells, each with its number of ``triangles``, its ``area``, its ``volume`` and whether
        it ``counts``; empty if there is no volume.
    note : str
        The reason for a missing volume, or "".
    """

    name: str
    volume: float | None
    signed_volume: float
    area: float
    shells: tuple[ShellVolume, ...] = ()
    note: str = ""

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each shell."""
        return records_frame(ShellVolume, self.shells)

    def __str__(self) -> str:
        """Return the volume, and a table of the shells if there are several."""
        lines = [self._total()]
        if len(self.shells) > 1:
            lines += text_table([_HEADINGS, *self._rows()])
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the name and the volume."""
        return f"<VolumeReport of {self._total()}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_table("Volume", self._rows(), headings=_HEADINGS, notes=[self._total()])

    def _total(self) -> str:
        if self.volume is None:
            return f"{self.name}: no volume, because {self.note}"
        shells = f" in {counted(len(self.shells), 'shell')}" * (len(self.shells) > 1)
        return f"{self.name}: volume {self.volume:,.10g}, area {self.area:,.10g}{shells}"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (str(number), f"{s.triangles:,}", f"{s.area:,.10g}", f"{s.volume:,.10g}", s.counts)
            for number, s in enumerate(self.shells, 1)
        ]


def volume_report(mesh: MeshLike) -> VolumeReport:
    """Return the volume that a wireframe encloses, and the part of each shell in it.

    Parameters
    ----------
    mesh : mesh-like
        Any type that `as_mesh` accepts. An open mesh has no volume; the report says so.

    Returns
    -------
    VolumeReport
        ``print`` it. Volumes are sums of float64 terms, relative to the middle of the mesh.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> report = geodomain.volume_report((corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    >>> print(report)
    mesh: volume 121.5, area 191.6480577
    """
    mesh = as_mesh(mesh)
    whole = check.check(mesh)
    note = _fault(mesh, whole)
    if note:
        return VolumeReport(mesh.name, None, whole.signed_volume, whole.area, (), note)
    component, outward = facing(mesh, vertex_fans(mesh.vertices, mesh.triangles))
    weights = triangle_weights(mesh, "parity")
    middle = (mesh.bounds[0] + mesh.bounds[1]) / 2  # far from it, terms would cancel
    crosses = normals(mesh.vertices - middle, mesh.triangles)
    terms = sixfold_volumes(mesh.vertices[mesh.triangles[:, 0]] - middle, crosses) / 6
    there, count = component >= 0, len(outward)  # triangles with two equal corners are in no shell
    shell, factors = component[there], weights.values[there]
    own = np.bincount(shell, terms[there], minlength=count)
    areas = np.bincount(shell, np.linalg.norm(crosses[there], axis=1) / 2, minlength=count)
    low, high = np.full(count, 127, np.int8), np.full(count, -127, np.int8)
    np.minimum.at(low, shell, factors)
    np.maximum.at(high, shell, factors)
    if weights.doubtful.any() or (low != high).any():
        note = "its shells cross each other or themselves: add up the shares of blocks instead"
        return VolumeReport(mesh.name, None, whole.signed_volume, whole.area, (), note)
    added = low * own
    shells = tuple(
        ShellVolume(int(triangles), float(area), abs(float(volume)), _COUNTS[int(sign)])
        for triangles, area, volume, sign in zip(
            np.bincount(shell, minlength=count), areas, own, np.sign(added), strict=True
        )
    )
    total = float(added.sum())
    return VolumeReport(mesh.name, total, whole.signed_volume, whole.area, shells)


def _fault(mesh: Mesh, report: check.MeshReport) -> str:
    """Return the reason why a mesh encloses no volume, or ""."""
    if not len(mesh.triangles):
        return "it has no triangles"
    if not report.closed:
        open_edges = report.boundary_edges
        return "it is not closed: " + (
            f"{open_edges:,} of its edges have only one triangle"
            if open_edges
            else "it has edges with an odd number of triangles"
        )
    if report.cancelled:
        return "each of its faces occurs an even number of times, and the copies cancel"
    if not report.balanced:
        return "some of its triangles face opposite ways"
    return ""
