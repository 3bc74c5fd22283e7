"""The difference between two block models: sums by domain and step, with their table and CSV."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.changes.attribution import Amounts
from geodomain.errors import in_lines
from geodomain.mesh.mesh import Mesh
from geodomain.result_tables import ResultColumns, data_frame, html_table, text_table

if TYPE_CHECKING:
    import pandas

OLD, NEW, CHANGE = "old", "new", "difference"


@dataclass(frozen=True)
class GradeChange:
    """A grade and its metal in a model, or their change by a step.

    Attributes
    ----------
    name : str
        Name of the column.
    mean : float or None
        Mean grade, weighted by tonnes, or its change; None if the domain has no tonnes with the
        grade before or after the step.
    metal : float
        Metal, or its change.
    unit : str
        Unit of the metal; empty if the unit of the grade was not specified.
    """

    name: str
    mean: float | None
    metal: float
    unit: str = ""


@dataclass(frozen=True)
class DifferenceRow:
    """The sums of a domain in a model, or their change by a step; each number is rounded once.

    Attributes
    ----------
    domain : str
        The label; empty for blocks without a label, and for the totals.
    cutoff : float, optional
        The lowest grade of the blocks that are summed; None if all blocks are summed.
    step : str
        "old" or "new" for the sums of a model, the name of a step, or "difference".
    volume : float
        Volume in cubed units of the coordinates.
    tonnes : float, optional
        Tonnes; None without a density.
    grades : tuple of GradeChange
        The grades in the caller's order.
    exact : Amounts
        The same numbers as fractions.
    """

    domain: str
    cutoff: float | None
    step: str
    volume: float
    tonnes: float | None
    grades: tuple[GradeChange, ...]
    exact: Amounts = field(repr=False)

    @property
    def is_level(self) -> bool:
        """Whether the row has the sums of a model, not a change."""
        return self.step in (OLD, NEW)

    def as_dict(self) -> dict[str, object]:
        """Return plain values: each number rounded, and exact as numerator/denominator."""
        exact = self.exact
        grades = [
            {
                "name": grade.name,
                "unit": grade.unit,
                "mean": grade.mean,
                "mean_exact": None if mean is None else str(mean),
                "metal": grade.metal,
                "metal_exact": str(metal),
            }
            for grade, mean, metal in zip(self.grades, exact.means, exact.metal, strict=True)
        ]
        return {
            "domain": self.domain,
            "cutoff": self.cutoff,
            "step": self.step,
            "volume": self.volume,
            "volume_exact": str(exact.volume),
            "tonnes": self.tonnes,
            "tonnes_exact": None if self.tonnes is None else str(exact.tonnes),
            "grades": grades,
        }


@dataclass(frozen=True)
class Step:
    """A step of the attribution.

    Attributes
    ----------
    name : str
        Its name, such as "wireframes", or several names if steps are merged.
    note : str
        Why steps are merged; empty if this step is a single one.
    """

    name: str
    note: str = ""


@dataclass(frozen=True)
class VolumeMove:
    """The volume with a certain old and new label: `volume`, rounded once, and `exact`."""

    old: str
    new: str
    volume: float
    exact: Fraction = field(repr=False)

    def as_dict(self) -> dict[str, object]:
        """Return plain values; `volume_exact` is numerator/denominator."""
        names = {"old": self.old, "new": self.new}
        return names | {"volume": self.volume, "volume_exact": str(self.exact)}


@dataclass(frozen=True)
class ChangedBlocks:
    """Blocks to draw: new blocks whose label changed, and blocks outside the other model.

    Attributes
    ----------
    points, sizes : (n, 3) float64
        World centroids and sizes.
    axes : (3, 3) float64
        The directions of the block edges.
    kinds : list of str
        The kinds of change, such as "ORE -> WASTE".
    codes : (n,) int32
        The kind of each block.
    rows : (n,) int64
        The row of each block in its own model, from 0.
    models : tuple of str
        Names of the two models.
    model_codes : (n,) int32
        The model of each block: 0 for the old one, 1 for the new one.
    wireframes : mapping of str to sequence of Mesh
        Old and new wireframes of the domains whose wireframes differ.
    """

    points: NDArray[np.float64]
    sizes: NDArray[np.float64]
    axes: NDArray[np.float64]
    kinds: list[str]
    codes: NDArray[np.int32]
    rows: NDArray[np.int64]
    models: tuple[str, str]
    model_codes: NDArray[np.int32]
    wireframes: Mapping[str, Sequence[Mesh]] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class ModelDifference:
    """The difference between two block models, step by step; ``print`` it for a table.

    Attributes
    ----------
    old, new : str
        Names of the two models.
    steps : tuple of Step
        The steps in the order of the attribution.
    averaged : bool
        Whether each step is the mean over all orders of the steps.
    rows : tuple of DifferenceRow
        For each domain and cut-off: the old model, the steps, the new model and the difference.
        The exact changes of all steps add up to the exact difference.
    totals : tuple of DifferenceRow
        The same for all domains together.
    moves : tuple of VolumeMove
        Volume in both models by old and new label.
    old_blocks, new_blocks : int
        Numbers of blocks that are summed.
    cutoff_grade : str
        The grade to which cut-offs apply; empty if there are no cut-offs.
    notes : tuple of str
        How the steps were computed.
    warnings : tuple of str
        The warnings that were issued.
    changed : ChangedBlocks, optional
        The blocks that the page shows; None without a page.
    """

    old: str
    new: str
    steps: tuple[Step, ...]
    averaged: bool
    rows: tuple[DifferenceRow, ...]
    totals: tuple[DifferenceRow, ...]
    moves: tuple[VolumeMove, ...]
    old_blocks: int
    new_blocks: int
    cutoff_grade: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    changed: ChangedBlocks | None = None

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return {
            "kind": "models",
            "old": self.old,
            "new": self.new,
            "old_blocks": self.old_blocks,
            "new_blocks": self.new_blocks,
            "steps": [vars(step) for step in self.steps],
            "averaged": self.averaged,
            "cutoff_grade": self.cutoff_grade,
            "rows": [row.as_dict() for row in self.rows],
            "totals": [row.as_dict() for row in self.totals],
            "moves": [move.as_dict() for move in self.moves],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
        }

    @property
    def domains(self) -> list[str]:
        """The labels of `rows`, in order."""
        return list(dict.fromkeys(row.domain for row in self.rows))

    @property
    def has_tonnes(self) -> bool:
        """Whether there is a density, and so tonnes."""
        return self.totals[0].tonnes is not None

    @property
    def sentence(self) -> str:
        """The difference of all domains together, in one sentence."""
        row = next(row for row in self.totals if row.step == CHANGE and row.cutoff is None)
        what = f"{row.volume:+,.6g} of volume" if row.tonnes is None else f"{row.tonnes:+,.6g} t"
        metals = "".join(
            f", {grade.metal:+,.6g} {grade.unit}".rstrip() + f" of {grade.name}"
            for grade in row.grades
        )
        return f"{self.old} -> {self.new}: {what}{metals}"

    def columns(self) -> ResultColumns:
        """Return the columns of the table: a row for each domain, cut-off and step.

        The rows of all domains together come last, with the domain "total".
        """
        rows = [*self.rows, *self.totals]
        names = [*(row.domain for row in self.rows), *("total" for _ in self.totals)]
        columns: dict[str, tuple[str, list[object]]] = {"domain": ("str", [*names])}
        if self.cutoff_grade:
            columns["cutoff"] = ("float64", [row.cutoff for row in rows])
        columns["step"] = ("str", [row.step for row in rows])
        columns["volume"] = ("float64", [row.volume for row in rows])
        if self.has_tonnes:
            columns["tonnes"] = ("float64", [row.tonnes for row in rows])
        for place, grade in enumerate(self.totals[0].grades):
            unit = f"_{grade.unit}" * bool(grade.unit)
            columns[f"mean_{grade.name}"] = ("float64", [row.grades[place].mean for row in rows])
            metals = [row.grades[place].metal for row in rows]
            columns[f"metal_{grade.name}{unit}"] = ("float64", [*metals])
        return cast(ResultColumns, columns)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table of `columns` as a DataFrame."""
        columns = self.columns()
        kinds = {name: None if kind == "str" else kind for name, (kind, _) in columns.items()}
        return data_frame({name: values for name, (_, values) in columns.items()}, kinds)

    def __str__(self) -> str:
        """Return the table as text, with notes."""
        headings, rows = self.table()
        names = headings.index("volume")
        return in_lines([*text_table([headings, *rows], names=names), *self.notes])

    def __repr__(self) -> str:
        """Return the difference in one line."""
        return f"<ModelDifference: {self.sentence}>"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        headings, rows = self.table()
        notes = [*self.notes, *(f"warning: {text}" for text in self.warnings)]
        return html_table("Difference", rows, headings=headings, notes=notes)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return a tuple: the headings, and the cells of the rows with rounded numbers."""
        headings = ["domain", *[f"{self.cutoff_grade} from"] * bool(self.cutoff_grade), "step"]
        headings += ["volume", *["tonnes"] * self.has_tonnes]
        for grade in self.totals[0].grades:
            headings += [grade.name, f"{grade.name} metal" + f", {grade.unit}" * bool(grade.unit)]
        every = [*self.rows, *self.totals]
        widest = [
            max((abs(value) for value in column), default=0.0)
            for column in zip(*(_summed(row) for row in every), strict=True)
        ]
        rows = [self._cells(row, row.domain or "(no label)", widest) for row in self.rows]
        return headings, rows + [self._cells(row, "total", widest) for row in self.totals]

    def _cells(self, row: DifferenceRow, name: str, widest: Sequence[float]) -> list[str]:
        """Return the cells of a row; `widest` are the largest volume, tonnes and metals."""
        cells = [name]
        if self.cutoff_grade:
            cells.append("" if row.cutoff is None else f"{row.cutoff:g}")
        sums = [
            figure(value, most, signed=not row.is_level)
            for value, most in zip(_summed(row), widest, strict=True)
        ]
        head = 1 + self.has_tonnes
        cells += [row.step, *sums[:head]]
        for grade, metal in zip(row.grades, sums[head:], strict=True):
            sign = "" if row.is_level else "+"
            mean = "-" if grade.mean is None else f"{grade.mean:{sign}.6g}"
            cells += [mean if grade.mean else mean.removeprefix("+"), metal]
        return cells


def _summed(row: DifferenceRow) -> list[float]:
    """Return the volume, the tonnes if there are any, and the metals of a row."""
    tonnes = [] if row.tonnes is None else [row.tonnes]
    return [row.volume, *tonnes, *(grade.metal for grade in row.grades)]


# Digits of the largest number of a column; smaller ones have as many decimals.
_DIGITS = 10


def figure(value: float, largest: float, *, signed: bool) -> str:
    """Return a sum as text, with as many decimals as the largest sum has in ten digits."""
    places = _DIGITS - 1 - math.floor(math.log10(largest)) if largest else 0
    number = round(value, places) + 0.0
    text = f"{number:{'+' if signed and number else ''},.{max(places, 0)}f}"
    return text.rstrip("0").removesuffix(".") if "." in text else text
