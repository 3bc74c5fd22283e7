"""Compute how much ground lies between two surfaces: cut, and fill."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import MeshError
from geodomain.inputs import MeshLike, as_mesh
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import html_table, records_frame
from geodomain.settings import BackendName
from geodomain.volumes.shares import Shares

if TYPE_CHECKING:
    import pandas

_TRIANGLES = 8  # approximate number of triangles of both surfaces in a cell
_MOST_CELLS = 256  # along each side of the plan
# Share of a cell on which a surface may lie over itself.
_FOLDED = 1e-9
_LOW = 2.0**-10


@dataclass(frozen=True)
class CutAndFill:
    """Cut and fill between two surfaces; ``print`` it.

    Attributes
    ----------
    before, after : str
        Names of the surfaces.
    cut : float
        Volume below the first surface and above the second.
    fill : float
        Volume above the first surface and below the second.
    area : float
        Area in plan that both surfaces cover; cut and fill are measured only there.
    """

    before: str
    after: str
    cut: float
    fill: float
    area: float

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame of one row, which can be stacked with the rows of other surfaces."""
        return records_frame(CutAndFill, [self])

    def __str__(self) -> str:
        """Return a line of text."""
        return (
            f"from {self.before} to {self.after}: cut {self.cut:,.10g}, fill {self.fill:,.10g}, "
            f"over {self.area:,.10g} in plan"
        )

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        cells = [f"{value:,.10g}" for value in (self.cut, self.fill, self.area)]
        row = [self.before, self.after, *cells]
        return html_table(
            "Cut and fill", [row], headings=["before", "after", "cut", "fill", "area"]
        )


def cut_and_fill(
    before: MeshLike,
    after: MeshLike,
    *,
    backend: BackendName = "auto",
    threads: int | None = None,
) -> CutAndFill:
    """Return the volumes between two surfaces, over the area in plan that both cover.

    Parameters
    ----------
    before, after : mesh-like
        Open surfaces, such as the surveys of a pit at the ends of two months; any type that
        `as_mesh` accepts. Their triangles, rims and holes may lie anywhere in plan.
    backend : {"auto", "cuda", "cpu"}
        Where to prepare the surfaces; results have the same bits everywhere.
    threads : int, optional
        Number of threads. [default: all cores] Results have the same bits for any number.

    Returns
    -------
    CutAndFill
        Each pair of triangles that overlap in plan adds the volume between them, so nothing is
        sampled. The plan is divided into cells. If k pairs overlap in a cell, the error of the
        volume in it is less than ``k * (1 + r) * 2**-44`` times the area of the cell times the
        total height of both surfaces; r is the length of the largest triangle, in cells.

    Raises
    ------
    MeshError
        If a mesh is closed or has no triangle. If a surface overhangs or overlaps itself on more
        than 1e-9 of a cell. If the surfaces do not overlap in plan.

    Examples
    --------
    >>> import geodomain
    >>> plan, halves = [[0, 0], [4, 0], [4, 4], [0, 4]], [[0, 1, 2], [0, 2, 3]]
    >>> before = geodomain.Mesh([[*place, 5] for place in plan], halves, name="May")
    >>> after = geodomain.Mesh([[x, y, 4 + x / 2] for x, y in plan], halves, name="June")
    >>> print(geodomain.cut_and_fill(before, after))
    from May to June: cut 4, fill 4, over 16 in plan
    """
    surfaces = [as_mesh(before), as_mesh(after)]
    for surface in surfaces:
        _require_surface(surface)
    lows, highs = _cells(surfaces)
    height = float(highs[0, 2] - lows[0, 2])  # at least four times that of both surfaces
    half = height / 2
    area = (highs[:, 0] - lows[:, 0]) * (highs[:, 1] - lows[:, 1])
    at, up, over = (
        [Shares(_raised(mesh, by), "below", "parity", backend, threads) for mesh in surfaces]
        for by in (0.0, half, height)
    )

    def under(first: Shares, second: Shares) -> float:
        """Return the volume under the lower of two surfaces, over the area that both cover."""
        return math.fsum(first.common([second], lows, highs)[:, 3] * area * height)

    for surface, roof in zip(surfaces, over, strict=True):
        _refuse_folds(surface, roof, lows, highs)
    plan = under(*over) / height  # both reach the roofs of the cells
    if plan <= 0:
        raise MeshError(_apart(surfaces))
    lower = under(*at)
    cut, fill = under(at[0], up[1]) - lower, under(up[0], at[1]) - lower
    return CutAndFill(surfaces[0].name, surfaces[1].name, max(cut, 0.0), max(fill, 0.0), plan)


def _refuse_folds(mesh: Mesh, roof: Shares, lows: Floats, highs: Floats) -> None:
    """Raise MeshError if a surface lies over itself.

    `roof` is the same surface, raised above all cells. Where n triangles lie over each other, the
    surface has n * n pairs of triangles. So the area of the pairs in plan exceeds that of the
    triangles unless n is 0 or 1.
    """
    (x0, y0, bottom), (x1, y1, top) = lows.min(axis=0), highs.max(axis=0)
    # Shares above 1 are cut off. A low sheet under all triangles keeps the shares below 1.
    z = bottom + (top - bottom) * _LOW
    corners = [[x, y, z] for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
    sheet = Shares(Mesh(corners, [[0, 1, 2], [0, 2, 3]]), "below", "parity", "cpu", None)
    single = roof.common([sheet], lows, highs)[:, 3]
    pairs = roof.common([roof, sheet], lows, highs)[:, 7]
    over = np.flatnonzero(np.abs(pairs - single) > _FOLDED * _LOW)
    if len(over):
        x, y = (lows[over[0]] + highs[over[0]])[:2] / 2
        message = (
            f"{mesh.name} overhangs or overlaps itself near ({x:.10g}, {y:.10g}), so cut and fill "
            "are not defined there: repair it, or remove the overhang"
        )
        raise MeshError(message)


def _apart(surfaces: list[Mesh]) -> str:
    return f"{surfaces[0].name} and {surfaces[1].name} do not overlap in plan"


def _require_surface(mesh: Mesh) -> None:
    if not len(mesh.triangles):
        message = f"{mesh.name} has no triangle, so it is not a surface"
        raise MeshError(message)
    if mesh.is_closed:
        message = f"{mesh.name} is closed, but cut and fill are measured between two open surfaces"
        raise MeshError(message)


def _raised(mesh: Mesh, by: float) -> Mesh:
    if not by:
        return mesh
    return Mesh(mesh.vertices + np.array([0.0, 0.0, by]), mesh.triangles, name=mesh.name)


def _cells(surfaces: list[Mesh]) -> tuple[Floats, Floats]:
    """Return the corners of cells that cover the plan common to two boxes, (n, 3).

    The cells begin below both surfaces, and end above them by more than the surfaces' height.
    """
    boxes = np.stack([mesh.bounds for mesh in surfaces])
    low, high = boxes[:, 0].max(axis=0), boxes[:, 1].min(axis=0)
    if (low >= high)[:2].any():
        raise MeshError(_apart(surfaces))
    bottom, top = boxes[:, 0, 2].min(), boxes[:, 1, 2].max()
    # A power of two, so that raising a surface by half of it hardly rounds.
    height = 2.0 ** math.ceil(math.log2(max(top - bottom, 2.0**-20)) + 1)
    triangles = sum(len(mesh.triangles) for mesh in surfaces)
    count = min(max(int(math.sqrt(triangles / _TRIANGLES)), 1), _MOST_CELLS)
    x, y = (np.linspace(low[axis], high[axis], count + 1) for axis in (0, 1))
    lows = np.array([[a, b, bottom - height / 4] for a in x[:-1] for b in y[:-1]])
    highs = np.array([[a, b, bottom + height * 7 / 4] for a in x[1:] for b in y[1:]])
    return lows, highs
