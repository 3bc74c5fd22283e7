"""Results of operations on solids: the solid, its inputs, what changed, and the proof."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from geodomain.errors import counted
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import html_table, records_frame
from geodomain.settings import Rule
from geodomain.solids.mending import Change
from geodomain.solids.proof import Proof

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SolidInput:
    """An input of an operation: its size, and the changes that mended it.

    Attributes
    ----------
    name : str
        Name of the mesh.
    triangles : int
        Number of triangles before the changes.
    volume : float or None
        The volume that it encloses by the rule, in float64; None for a surface, and for a mesh that
        crosses itself.
    crossing : tuple of float, optional
        A point (x, y, z) near which the mesh crosses itself.
    changes : tuple of Change
        The changes, in their order.
    """

    name: str
    triangles: int
    volume: float | None
    crossing: tuple[float, ...] | None
    changes: tuple[Change, ...]

    def lines(self) -> list[str]:
        """Return the input as lines of text."""
        volume = "" if self.volume is None else f", volume {self.volume:,.10g}"
        lines = [f"{self.name}: {counted(self.triangles, 'triangle')}{volume}"]
        lines += [f"  {change}" for change in self.changes]
        if self.crossing is not None:
            place = ", ".join(f"{value:.10g}" for value in self.crossing)
            lines.append(f"  crosses itself near ({place}); so does the result")
        return lines


@dataclass(frozen=True, eq=False, repr=False)
class SolidResult:
    """The result of an operation on solids; `str` gives a report.

    Attributes
    ----------
    operation : str
        The operation, such as "union".
    mesh : Mesh
        The result. Its name is that of the operation, such as "the union", or of a repaired solid.
    inputs : tuple of SolidInput
        The inputs, in their order.
    rule : {"parity", "winding"}
        The rule for inside.
    volume : float or None
        The volume of the result, in float64; None if it crosses itself.
    unchanged, new : int
        Vertices of the result that are vertices of an input, bit for bit, and vertices that the
        operation made.
    tolerance : float
        The tolerance of manifold3d: it may merge points that are closer than this. It is 0 if
        nothing was cut.
    distance : float
        How far a wall of the result may be off: the tolerance, and the rounding of new vertices to
        float64.
    offset : float
        The largest distance of a new vertex from the walls of the inputs, as measured.
    proof : Proof
        The comparison of the result with the inputs at random points.
    """

    operation: str
    mesh: Mesh
    inputs: tuple[SolidInput, ...]
    rule: Rule
    volume: float | None
    unchanged: int
    new: int
    tolerance: float
    distance: float
    offset: float
    proof: Proof

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all inputs."""
        return tuple(change for each in self.inputs for change in each.changes)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON; the mesh is left out."""
        from dataclasses import asdict

        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        del plain["mesh"]
        plain["inputs"] = [asdict(each) for each in self.inputs]
        plain["proof"] = self.proof.as_dict()
        return {
            **plain,
            "name": self.mesh.name,
            "triangles": len(self.mesh.triangles),
            "bounds": self.mesh.bounds.tolist(),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return the changes of the inputs as rows; `input` is the name of the mesh."""
        names = [each.name for each in self.inputs for _ in each.changes]
        places = [change.places[0] if change.places else (np.nan,) * 3 for change in self.changes]
        corners = np.array(places, np.float64).reshape(-1, 3)
        columns = {"input": names} | dict(zip("xyz", corners.T, strict=True))
        return records_frame(Change, self.changes, columns)

    def __str__(self) -> str:
        """Return the inputs and their changes, the result, and the proof."""
        lines = [line for each in self.inputs for line in each.lines()]
        return "\n".join([*lines, *self._lines()])

    def _lines(self) -> list[str]:
        volume = "not computed, because the result crosses itself"
        if self.volume is not None:
            volume = f"{self.volume:,.10g}"
        lines = [
            f"{self.operation}: {counted(len(self.mesh.triangles), 'triangle')}, volume {volume}, "
            f"by rule {self.rule}",
            f"{counted(self.unchanged, 'vertex', 'vertices')} of the inputs unchanged, "
            f"{counted(self.new, 'new vertex', 'new vertices')}",
        ]
        if self.new:
            lines.append(
                f"new vertices are at most {self.offset:.2g} from the walls of the inputs; a wall "
                f"may be off by {self.distance:.2g} (tolerance of manifold3d "
                f"{self.tolerance:.2g}, and rounding)"
            )
        return [*lines, str(self.proof)]

    def __repr__(self) -> str:
        """Return the operation, the number of triangles and the volume."""
        volume = "unknown" if self.volume is None else f"{self.volume:,.10g}"
        triangles = counted(len(self.mesh.triangles), "triangle")
        return f"<SolidResult of {self.operation}: {triangles}, volume {volume}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            (
                each.name,
                f"{each.triangles:,}",
                "" if each.volume is None else f"{each.volume:,.10g}",
            )
            for each in self.inputs
        ]
        own = "" if self.volume is None else f"{self.volume:,.10g}"
        rows.append((self.operation, f"{len(self.mesh.triangles):,}", own))
        notes = [line.strip() for each in self.inputs for line in each.lines()[1:]]
        return html_table(
            f"Solids: {self.operation}",
            rows,
            headings=("", "triangles", "volume"),
            notes=[*notes, *self._lines()[1:]],
        )
