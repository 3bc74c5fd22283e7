"""What distances of a block model were found, as plain values and as a table to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import counted
from geodomain.html.table import html_table, text_table

_HEADINGS = ("mesh", "column", "nearest", "farthest", "inside")


@dataclass
class DistanceColumn:
    """The distances from one mesh.

    Attributes
    ----------
    name : str
        What the mesh is called.
    column : str
        The column that holds them.
    nearest, farthest : float, optional
        The smallest and the largest of them, signs included; None without a block.
    inside : int, optional
        Blocks with a negative distance; None where distances have no sign.
    """

    name: str
    column: str
    nearest: float | None = None
    farthest: float | None = None
    inside: int | None = None

    def add(self, distances: NDArray[np.float64]) -> None:
        """Take the distances of more blocks, NaN for those without a place."""
        known = distances[~np.isnan(distances)]
        if known.size:
            least, most = float(known.min()), float(known.max())
            self.nearest = least if self.nearest is None else min(self.nearest, least)
            self.farthest = most if self.farthest is None else max(self.farthest, most)
        if self.inside is not None:
            self.inside += int((known < 0).sum())

    def cells(self) -> tuple[str, ...]:
        """Return a row of the table."""
        ends = ("-" if end is None else f"{end:,.6g}" for end in (self.nearest, self.farthest))
        return self.name, self.column, *ends, "" if self.inside is None else f"{self.inside:,}"


@dataclass(frozen=True, repr=False)
class DistanceSummary:
    """Report the distances of a block model; `str` is a table, and a notebook shows one.

    Attributes
    ----------
    rows, missing : int
        Blocks, and those among them without coordinates, which have no distance.
    columns : tuple of DistanceColumn
        By mesh, in the order of the columns.
    output : str
        The file.
    """

    rows: int
    missing: int
    columns: tuple[DistanceColumn, ...]
    output: str

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Lay the table out as lines to read."""
        return "\n".join([*text_table(self._table(), names=2), self._counted()])

    def __repr__(self) -> str:
        """Say how many blocks and meshes there are."""
        names = ", ".join(one.name for one in self.columns)
        return f"<DistanceSummary of {counted(self.rows, 'block')}: {names}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, *rows = self._table()
        return html_table("Distances", rows, headings=headings, notes=[self._counted()])

    def _table(self) -> list[tuple[str, ...]]:
        """Return headings and rows, without the last column where distances have no sign."""
        signed = any(one.inside is not None for one in self.columns)
        rows = [_HEADINGS, *(one.cells() for one in self.columns)]
        return [row if signed else row[:-1] for row in rows]

    def _counted(self) -> str:
        """Count the blocks."""
        lost = f", {self.missing:,} without coordinates" if self.missing else ""
        return f"{counted(self.rows, 'block')}{lost}"
