"""Explain the difference of two block models, wireframes or lists of domains."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.order import DomainsLike
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.tables import require_outputs
from geodomain.errors import TableError, collect_warnings, in_lines
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import file_of, require_page_name, write_columns
from geodomain.formats.registry import format_of_meshes, head_of
from geodomain.inputs import MeshLike, is_grid, is_mesh_like
from geodomain.labelling.settings import LabelSettings, PointKeywords
from geodomain.progress import Progress, show_progress
from geodomain.reporting.attribution import (
    DENSITY,
    EXTENT,
    GRADE,
    LABELS,
    LATTICE,
    ORDER,
    PROPERTIES,
    WIREFRAMES,
    Amounts,
    Factor,
    Scale,
    all_states,
    amounts_of,
    cumulated,
    hybrid_of,
    sequence_states,
    steps_averaged,
    steps_in_order,
    volume_parts,
)
from geodomain.reporting.model_versions import (
    DomainPair,
    Drawn,
    ModelColumns,
    ModelLike,
    ModelPair,
    ReadModel,
    domain_names,
    have_same_axes,
    open_source,
    read_version,
)
from geodomain.reporting.source_differences import (
    DomainsDifference,
    WireframeDifference,
    domains_difference,
    wireframe_difference,
)
from geodomain.result_tables import (
    ResultColumns,
    data_frame,
    html_table,
    text_table,
)
from geodomain.settings import read_keywords, with_keywords
from geodomain.tables.in_memory import BlockFrame, is_frame
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.settings import TableKeywords
from geodomain.tables.vendors import plain_name
from geodomain.volumes.tonnage import ONE, MetalUnit, Wanted
from geodomain.volumes.tonnes import Cutoffs, wanted_of

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame

OLD, NEW, CHANGE = "old", "new", "difference"
_USUAL = "domain"


class DiffKeywords(PointKeywords, TableKeywords, total=False):
    """The keywords of `diff` for labelling and for reading tables; all are optional."""

    weld: float | None


# --- The result.


@dataclass(frozen=True)
class GradeChange:
    """A grade and its metal: of a model, or the change by a step.

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
        """Return plain values; each number is rounded, and exact as numerator/denominator."""
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
    """The volume in both models with an old and a new label; `volume` is rounded once."""

    old: str
    new: str
    volume: float


@dataclass(frozen=True)
class ChangedBlocks:
    """Blocks to draw: new ones whose labels changed, and old ones outside the new model.

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
    """

    points: NDArray[np.float64]
    sizes: NDArray[np.float64]
    axes: NDArray[np.float64]
    kinds: list[str]
    codes: NDArray[np.int32]
    rows: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class ModelDifference:
    """The difference of two block models, step by step; ``print`` it for a table.

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
        The blocks that a page shows; None if no page was asked for.
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
            "moves": [vars(move) for move in self.moves],
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
            _figure(value, most, signed=not row.is_level)
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


def _figure(value: float, largest: float, *, signed: bool) -> str:
    """Return a sum as text, with the decimals that ten digits of the largest sum leave."""
    places = _DIGITS - 1 - math.floor(math.log10(largest)) if largest else 0
    number = round(value, places) + 0.0
    return f"{number:{'+' if signed and number else ''},.10g}"


Difference: TypeAlias = ModelDifference | WireframeDifference | DomainsDifference


# --- The verb.


@with_keywords(LabelSettings, DiffKeywords, table=TableKeywords)
def diff(
    old: ModelLike | MeshLike | DomainsLike,
    new: ModelLike | MeshLike | DomainsLike,
    *,
    domains: tuple[DomainsLike, DomainsLike] | None = None,
    density: str | float | None = None,
    grade: str | Sequence[str] = (),
    new_density: str | float | None = None,
    new_grade: Mapping[str, str] | None = None,
    column: str | None = None,
    new_column: str | None = None,
    cutoff: Cutoffs | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    density_unit: str | None = None,
    steps: str | Sequence[str] | None = None,
    average_orders: bool = False,
    output: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    chart: str | os.PathLike[str] | None = None,
    title: str | None = None,
    overwrite: bool = False,
    progress: Progress | bool = False,
    **keywords: Unpack[DiffKeywords],
) -> Difference:
    r"""Explain the difference of two block models, step by step; or of wireframes, or of domains.

    The difference of two models is attributed to steps, whose changes add up to it exactly:

    - extent: blocks, or parts of blocks, that lie outside the other model;
    - wireframes: the domains, with their wireframes, kinds and conditions;
    - order: the order of the domains;
    - lattice: the blocks, which decide where labels are computed;
    - labels: labels in the files that differ from those of the domains;
    - density; and grade.

    A step is the sum over a hybrid model minus the sum over the hybrid before it. The first hybrid
    is the old model, and each step replaces one property by that of the new model. All hybrids
    are summed over the common cells of both models, that is the overlaps of an old and a new block.

    Parameters
    ----------
    old, new : path, table, PyVista grid, mesh-like, or domains
        Two block models, with any blocks; two versions of a wireframe; or two lists of domains,
        such as ``domains.toml``. Both must be of the same kind. All keywords but `output`,
        `report`, `title`, `overwrite` and `progress` are for models.
    domains : (old, new), optional
        The domains of the old and of the new model, as for `label_points`. Blocks are then labelled
        by their centroids. Without domains, the labels in the files are compared, and wireframes,
        order and lattice are one step.
    density : str or float, optional
        As for `tonnes`. Without a density, only volumes are compared.
    grade : str or sequence of str
        Columns of grades, as for `tonnes`.
    new_density : str or float, optional
        The density of the new model. [default: `density`]
    new_grade : mapping of str to str, optional
        Columns of the new model whose names differ, by the name in the old model.
    column, new_column : str, optional
        Label columns of the two models. [default: "domain" where there is such a column; for the
        new model also `column`]
    cutoff, grade_unit, density_unit
        As for `tonnes`.
    steps : str or sequence of str, optional
        The order of the steps, as seven names, or as a text with commas. [default: "extent,
        wireframes, order, lattice, labels, density, grade"]
    average_orders : bool
        Whether each step is the mean of its changes over all orders of the steps.
    output : path, optional
        File for the table: .csv, .parquet or .xlsx; "-" is CSV on stdout.
    report : path, optional
        File for a page with the waterfall, the tables and the changed blocks in 3D.
    chart : path, optional
        File for the waterfall: .png, .svg or .pdf.
    title : str, optional
        Title of the page.
    overwrite : bool
        Whether existing outputs may be replaced.
    progress
        As for `label_file`.
    **settings
    **table
        Options for reading both models, as for `label_file`.

    Returns
    -------
    ModelDifference, WireframeDifference or DomainsDifference
        ``print`` it. Sums are rational numbers, rounded once: each coordinate and size counts as
        the shortest decimal that reads back as the stored float64, and each density and grade as
        the float64 itself. Blocks without a density or a grade are summed as by `tonnes`, and
        counted in the warnings. If the two models are rotated differently, they have no common
        cells, and the steps extent, lattice, density and grade are one step.

    Raises
    ------
    TableError, DomainError, MeshError
        As for `tonnes`, `label_points` and `read_mesh`.
    ValueError, TypeError
        For invalid settings, or for two things of different kinds.
    OSError
        If a file cannot be read. If an output exists already; see ``overwrite``.

    Warns
    -----
    GeodomainWarning
        As for `tonnes`.

    Examples
    --------
    >>> import geodomain, pandas
    >>> wide = pandas.DataFrame({"X": [5.0], "Y": 5.0, "Z": 5.0, "DX": 10.0, "DY": 10.0,
    ...     "DZ": 10.0, "domain": "ORE", "AU": 2.0})
    >>> halves = pandas.DataFrame({"X": [2.5, 7.5, 12.5], "Y": 5.0, "Z": 5.0, "DX": 5.0,
    ...     "DY": 10.0, "DZ": 10.0, "domain": ["ORE", "WASTE", "ORE"], "AU": 2.5})
    >>> result = geodomain.diff(wide, halves, density=2.0, grade="AU")
    >>> for row in result.rows[:6]:
    ...     print(row.step, row.tonnes, row.grades[0].metal)
    old 2000.0 4000.0
    extent 1000.0 2500.0
    wireframes, order, lattice -1000.0 -2000.0
    density 0.0 0.0
    grade 0.0 500.0
    new 2000.0 5000.0
    """
    label_settings = read_keywords(LabelSettings, keywords, DiffKeywords)
    options = table_options(
        **{name: value for name, value in keywords.items() if name in TableKeywords.__annotations__}  # type: ignore[arg-type]
    )
    inputs = [each for each in (old, new, *(domains or ())) if _is_path(each)]
    require_outputs([output], inputs, overwrite=overwrite, formats="columns", chart=chart)
    if report is not None:
        require_page_name(os.fspath(report))
        require_outputs([report], inputs, overwrite=overwrite, formats="any")
    kind = _kind_of_both(old, new)
    with collect_warnings() as warned, show_progress(progress, "comparing") as told:
        result: Difference
        if kind == "model":
            plan = _Plan(
                cast(ModelLike, old), cast(ModelLike, new), domains, density, grade, new_density,
                new_grade, column, new_column, cutoff, grade_unit, density_unit, steps,
                average_orders, label_settings, options,
            )  # fmt: skip
            result = plan.difference(told, draws=report is not None)
            result = replace(result, warnings=tuple(warned))
        else:
            _refuse_model_settings(
                kind,
                {
                    "domains": domains, "density": density, "grade": grade, "cutoff": cutoff,
                    "steps": steps, "average_orders": average_orders, "chart": chart,
                    "column": column,
                },
            )  # fmt: skip
            result = (
                wireframe_difference(cast(MeshLike, old), cast(MeshLike, new))
                if kind == "wireframe"
                else domains_difference(cast(DomainsLike, old), cast(DomainsLike, new))
            )
    _write(result, output, report, chart, title, overwrite=overwrite)
    return result


def _is_path(thing: object) -> bool:
    return isinstance(thing, str | os.PathLike)


def _write(
    result: Difference,
    output: str | os.PathLike[str] | None,
    report: str | os.PathLike[str] | None,
    chart: str | os.PathLike[str] | None,
    title: str | None,
    *,
    overwrite: bool,
) -> None:
    """Write the table, the page and the chart that the caller asked for."""
    if output is not None:
        write_columns(result.columns(), output, overwrite=overwrite)
    if report is not None or chart is not None:
        from geodomain.reporting import difference_page

        if report is not None:
            difference_page.write_page(result, report, title, overwrite=overwrite)
        if chart is not None:
            assert isinstance(result, ModelDifference)
            difference_page.write_chart(result, Path(chart), overwrite=overwrite)


def _refuse_model_settings(kind: str, settings: Mapping[str, object]) -> None:
    """Raise ValueError if a setting for block models is given for wireframes or domains."""
    wrong = [name for name, value in settings.items() if value not in (None, (), False)]
    if wrong:
        message = f"{wrong[0]}= is for two block models, and these are {_KINDS[kind][1]}"
        raise ValueError(message)


# What is compared: one, and several of them.
_KINDS = {
    "model": ("a block model", "block models"),
    "wireframe": ("a wireframe", "wireframes"),
    "domains": ("a list of domains", "lists of domains"),
}


def _kind_of_both(old: object, new: object) -> str:
    """Return the kind of both things; raise ValueError if they have different kinds."""
    kinds = [_kind(old), _kind(new)]
    if kinds[0] != kinds[1]:
        first, second = (_KINDS[kind][0] for kind in kinds)
        message = f"old= is {first}, and new= is {second}: compare two things of the same kind"
        raise ValueError(message)
    return kinds[0]


def _kind(thing: object) -> str:
    """Return whether a file or an object is a model, a wireframe or a list of domains."""
    if isinstance(thing, str | os.PathLike):
        if os.fspath(thing) == STANDARD:
            message = "diff reads two files more than once: give files, not -"
            raise TableError(message)
        place = file_of(os.fspath(thing))
        if place.suffix.lower() == ".toml":
            return "domains"
        if not place.is_file():
            return "model"  # opening it reports the error
        form = format_of_meshes(head_of(place, place.suffix.lower()))
        return "wireframe" if form is not None and form.wireframe else "model"
    if is_grid(thing) or is_frame(thing):
        return "model"
    if is_mesh_like(thing):
        return "wireframe"
    return "domains"


# --- Two models: which steps there are, and their sums.


class _Source(NamedTuple):
    """A model before it is read: its name, its columns, and the directions of its edges."""

    name: str
    columns: tuple[str, ...]
    axes: NDArray[np.float64]


def _look_at(source: ModelLike, options: TableOptions, usual: str) -> _Source:
    """Return the name, columns and axes of a model."""
    opened = open_source(source, options)
    if opened is not None:
        with opened as model:
            return _Source(model.name, model.columns, model.axes)
    blocks = BlockFrame(cast("IntoDataFrame", source), options=options)
    return _Source(usual, tuple(blocks.names), blocks.blocks(options)[2].axes)


def _label_column(source: _Source, column: str | None) -> str:
    """Return the column of labels: that of the caller, "domain" if there is one, or ""."""
    plain = [plain_name(name) for name in source.columns]
    if column is not None:
        return column
    return _USUAL if _USUAL in plain else ""


class _Plan:
    """The steps between two models, from the settings of `diff`, and their sums."""

    def __init__(
        self,
        old: ModelLike,
        new: ModelLike,
        domains: tuple[DomainsLike, DomainsLike] | None,
        density: str | float | None,
        grade: str | Sequence[str],
        new_density: str | float | None,
        new_grade: Mapping[str, str] | None,
        column: str | None,
        new_column: str | None,
        cutoff: Cutoffs | None,
        grade_unit: str | Mapping[str, str] | None,
        density_unit: str | None,
        steps: str | Sequence[str] | None,
        averaged: bool,
        settings: LabelSettings,
        options: TableOptions,
    ) -> None:
        self._models, self._averaged, self._settings = (old, new), averaged, settings
        self._options, self._has_density = options, density is not None
        self._order = _step_order(steps)
        sources = [
            _look_at(each, options, f"the {usual} table")
            for each, usual in ((old, OLD), (new, NEW))
        ]
        self._sources = sources
        columns = [
            _label_column(sources[0], column),
            _label_column(sources[1], new_column or column),
        ]
        _require_labels(sources, columns, domains=domains is not None)
        self._wanted = _wanted_pair(
            columns, density, grade, new_density, new_grade, cutoff, grade_unit, density_unit,
            options,
        )  # fmt: skip
        self._pair = None if domains is None else _domain_pair(domains, settings)
        self._factors, self._steps = _factors(
            self._order,
            has_domains=domains is not None,
            has_labels=any(columns),
            has_density=self._has_density,
            has_grade=bool(self._wanted[0].grades),
            same_axes=have_same_axes(sources[0].axes, sources[1].axes),
        )

    def difference(self, progress: Progress | None, *, draws: bool) -> ModelDifference:
        """Read both models, sum the hybrids, and return the result."""
        states = (all_states if self._averaged else sequence_states)(self._factors)
        models = [self._read(number, states, progress) for number in (0, 1)]
        pair = ModelPair(models[0], models[1], self._wanted, self._pair)
        sums, moves, drawn = pair.sums(states, tracks=draws)
        wanted = self._wanted[0]
        unit = pair.overlay.volume_unit
        tonnes = Fraction(*(wanted.density_unit.tonnes if wanted.density_unit else (1, 1)))
        metals = [wanted.units.get(name, MetalUnit("")) for name in wanted.grades]
        scale = Scale(
            unit,
            unit * tonnes,
            tuple(unit * tonnes * Fraction(each.times, each.parts) for each in metals),
        )
        levels: dict[tuple[int | None, int], dict[frozenset[str], Amounts]] = {}
        for state in states:
            for label, step, row in cumulated(sums[state], pair.shape):
                levels.setdefault((label, step), {})[state] = amounts_of(row, scale)
        order = self._label_order(pair)
        rows = [
            row
            for label in order
            for step in range(pair.shape.intervals)
            for row in self._rows(pair.names[label], step, levels[label, step])
        ]
        totals = [
            row
            for step in range(pair.shape.intervals)
            for row in self._rows("", step, levels[None, step])
        ]
        return ModelDifference(
            models[0].name,
            models[1].name,
            tuple(self._steps),
            self._averaged,
            tuple(rows),
            tuple(totals),
            _moves(moves, pair, order, unit),
            len(models[0].points),
            len(models[1].points),
            wanted.cut,
            tuple(self._notes(pair)),
            (),
            None if drawn is None else _changed_blocks(pair, drawn),
        )

    def _read(
        self, number: int, states: Iterable[frozenset[str]], progress: Progress | None
    ) -> ReadModel:
        """Read a model with the labels that the hybrids of these states need."""
        hybrids = [hybrid_of(state) for state in states]
        keys = {(each.wireframes, each.order) for each in hybrids if each.lattice == bool(number)}
        keys.add((bool(number), bool(number)))
        columns = ModelColumns(self._wanted[number], self._options, self._has_density)
        return read_version(
            self._models[number],
            columns,
            self._pair,
            sorted(keys),
            threads=self._settings.threads,
            progress=progress,
            name=self._sources[number].name,
        )

    def _rows(
        self, domain: str, step: int, levels: Mapping[frozenset[str], Amounts]
    ) -> Iterator[DifferenceRow]:
        """Yield the rows of a domain and a cut-off."""
        add_up = steps_averaged if self._averaged else steps_in_order
        changes = add_up(self._factors, levels)
        first, last = levels[frozenset()], levels[sequence_states(self._factors)[-1]]
        names = [OLD, *(factor.name for factor in self._factors), NEW, CHANGE]
        amounts = [first, *changes, last, last.combined(first, Fraction(-1))]
        cutoff = None if step == 0 else self._wanted[0].cutoffs[step - 1]
        for name, exact in zip(names, amounts, strict=True):
            yield self._row(domain, cutoff, name, exact)

    def _row(self, domain: str, cutoff: float | None, step: str, exact: Amounts) -> DifferenceRow:
        wanted = self._wanted[0]
        grades = tuple(
            GradeChange(
                name,
                None if mean is None else _rounded(mean),
                _rounded(metal),
                wanted.units[name].name if name in wanted.units else "",
            )
            for name, mean, metal in zip(wanted.grades, exact.means, exact.metal, strict=True)
        )
        tonnes = _rounded(exact.tonnes) if self._has_density else None
        return DifferenceRow(domain, cutoff, step, _rounded(exact.volume), tonnes, grades, exact)

    def _label_order(self, pair: ModelPair) -> list[int]:
        """Return the labels in the order of the result: domains by priority, then the others."""
        ranks: dict[str, int] = {}
        rest: set[str] = set()
        if self._pair is not None:
            for domains in reversed(self._pair.lists):
                for name in domain_names(domains):
                    ranks.setdefault(name, len(ranks))
                rest |= {domains.background, domains.unassigned}

        def key(label: int) -> tuple[bool, bool, int, str]:
            name = pair.names[label]
            return not name, name in rest, ranks.get(name, len(ranks)), name

        return sorted(range(len(pair.names)), key=key)

    def _notes(self, pair: ModelPair) -> Iterator[str]:
        """Yield sentences about the steps."""
        names = ", ".join(factor.name for factor in self._factors)
        if len(self._factors) == 1:
            yield f"there is one step: {names}"
        elif self._averaged:
            orders = math.factorial(len(self._factors))
            yield (
                f"each step is its mean over all {orders:,} orders of {names}; the steps add up "
                "to the difference exactly"
            )
        else:
            yield f"the steps in their order: {names}; they add up to the difference exactly"
        yield from (f"{step.name}: {step.note}" for step in self._steps if step.note)
        if not pair.overlays:
            yield "the models are rotated differently, so their blocks have no common cells"
        elif pair.same_blocks:
            yield "both models have the same blocks" + (
                "" if self._pair is None else ", so lattice changes labels only by conditions"
            )
        if pair.overlays and any(model.is_turned for model in pair.models):
            yield "the models are rotated: centroids along their axes are rounded to 1e-6"
        if self._pair is not None:
            yield from self._notes_on_domains()

    def _notes_on_domains(self) -> Iterator[str]:
        """Yield sentences about lists of domains that the steps do not follow in every respect."""
        assert self._pair is not None
        for name, domains in zip((OLD, NEW), self._pair.lists, strict=True):
            if domains.by == "majority":
                yield (
                    f"the {name} list has by = 'majority', but the steps label blocks by their "
                    "centroids"
                )
        tests = [
            each for domains in self._pair.lists for _, some in domains.conditions for each in some
        ]
        if tests:
            columns = ", ".join(dict.fromkeys(each.column for each in tests))
            yield (
                f"conditions of domains read {columns}: a change of a column changes labels in the "
                "step lattice"
            )


def _rounded(value: Fraction) -> float:
    """Return the float64 nearest to a fraction."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        message = "a sum is more than float64 can hold: look for values that are far too large"
        raise TableError(message) from None


def _step_order(steps: str | Sequence[str] | None) -> list[str]:
    """Return the order of the properties; raise ValueError unless each occurs once."""
    if steps is None:
        return list(PROPERTIES)
    names = [name.strip() for name in (steps.split(",") if isinstance(steps, str) else steps)]
    if sorted(names) != sorted(PROPERTIES):
        message = (
            f"steps= is {','.join(names)!r}; it must have each of {', '.join(PROPERTIES)} once"
        )
        raise ValueError(message)
    return names


def _require_labels(sources: Sequence[_Source], columns: Sequence[str], *, domains: bool) -> None:
    """Raise TableError if only one model has labels, and no domains are given."""
    if domains or bool(columns[0]) == bool(columns[1]):
        return
    lacking, other = (1, 0) if columns[0] else (0, 1)
    keyword = "new_column=" if lacking else "column="
    message = (
        f"{sources[lacking].name} has no column {_USUAL!r}, and {sources[other].name} has labels: "
        f"name its label column with {keyword}, or give domains="
    )
    raise TableError(message)


def _wanted_pair(
    columns: Sequence[str],
    density: str | float | None,
    grade: str | Sequence[str],
    new_density: str | float | None,
    new_grade: Mapping[str, str] | None,
    cutoff: Cutoffs | None,
    grade_unit: str | Mapping[str, str] | None,
    density_unit: str | None,
    options: TableOptions,
) -> tuple[Wanted, Wanted]:
    """Check the settings of sums, and return them for the old and for the new model."""
    if density is None and (grade or new_density is not None or density_unit is not None):
        message = (
            "tonnes and grades need the densities of both models: give density=, as a column or "
            "a number"
        )
        raise ValueError(message)
    old = wanted_of(
        columns[0], 1.0 if density is None else density, grade, None, cutoff, None, grade_unit,
        options.below_detection, density_unit, None, None,
    )  # fmt: skip
    renamed = dict(new_grade or {})
    if not renamed.keys() <= set(old.grades):
        message = (
            f"new_grade= renames {', '.join(renamed)}; it must rename grades "
            f"({', '.join(old.grades) or 'there is none'})"
        )
        raise ValueError(message)
    names = {name: renamed.get(name, name) for name in old.grades}
    # `wanted_of` checks the new density as it does the old one.
    new = wanted_of(
        columns[1], old.density if new_density is None else new_density, [*names.values()], None,
        {names[old.cut]: [*old.cutoffs]} if old.cut else None, None,
        None, options.below_detection, density_unit, None, None,
    )  # fmt: skip
    units = {names[name]: unit for name, unit in old.units.items()}
    return old, replace(new, grades=tuple(names.values()), units=units, spelled=old.spelled)


def _domain_pair(domains: tuple[DomainsLike, DomainsLike], settings: LabelSettings) -> DomainPair:
    """Read both lists of domains."""
    if (
        isinstance(domains, str | os.PathLike)
        or not isinstance(domains, Sequence)
        or len(domains) != 2
    ):
        message = "domains= must be two lists: that of the old model, and that of the new model"
        raise ValueError(message)
    lists = [domains_to_label(each, weld=settings.weld).domains for each in domains]
    return DomainPair(lists[0], lists[1], settings)


def _factors(
    order: Sequence[str],
    *,
    has_domains: bool,
    has_labels: bool,
    has_density: bool,
    has_grade: bool,
    same_axes: bool,
) -> tuple[list[Factor], list[Step]]:
    """Return the steps in their order, merged where they cannot be told apart."""
    names = [
        name
        for name in order
        if not (
            (name == LABELS and not (has_domains and has_labels))
            or (name == DENSITY and not has_density)
            or (name == GRADE and not has_grade)
            or (name in (WIREFRAMES, ORDER) and not (has_domains or has_labels))
        )
    ]
    groups: list[tuple[set[str], str]] = []
    if not has_domains and has_labels:
        groups.append(({WIREFRAMES, ORDER, LATTICE}, "one step, because no domains are given"))
    if not same_axes:
        what = {EXTENT, LATTICE, DENSITY, GRADE}
        why = "one step, because the models are rotated differently"
        if groups:
            what, why = what | groups.pop()[0], f"{why}, and no domains are given"
        groups.append((what, why))
    factors: list[Factor] = []
    steps: list[Step] = []
    for name in names:
        if any(name in factor.properties for factor in factors):
            continue
        own, note = next((group for group in groups if name in group[0]), ({name}, ""))
        together = [each for each in names if each in own]
        title = ", ".join(together)
        # Properties without a step of their own become new with the lattice.
        factors.append(Factor(title, frozenset(together)))
        steps.append(Step(title, note if len(together) > 1 else ""))
    return _complete(factors), steps


def _complete(factors: list[Factor]) -> list[Factor]:
    """Return the steps, the last of which also has the properties that are in no step."""
    listed = frozenset[str]().union(*(factor.properties for factor in factors))
    rest = frozenset(PROPERTIES) - listed
    *others, last = factors
    return [*others, Factor(last.name, last.properties | rest)]


def _moves(
    moves: Mapping[tuple[int, int], int], pair: ModelPair, order: Sequence[int], unit: Fraction
) -> tuple[VolumeMove, ...]:
    """Return the volumes by old and new label; different labels come first."""
    rank = {label: place for place, label in enumerate(order)}
    keys = sorted(moves, key=lambda key: (key[0] == key[1], rank[key[0]], rank[key[1]]))
    return tuple(
        VolumeMove(
            pair.names[old], pair.names[new], _rounded(Fraction(moves[old, new], ONE) * unit)
        )
        for old, new in keys
    )


# A block is outside the other model if less than this share of it is covered.
_COVERED = 1e-9


def _changed_blocks(pair: ModelPair, drawn: Drawn) -> ChangedBlocks:
    """Return the new blocks whose label changed, and the old blocks outside the new model.

    A new block with several old labels gets the change with the largest volume.
    """
    old, new = pair.models
    labels = pair.shown_labels(1)
    key = drawn.second * len(pair.names) + drawn.labels
    distinct, where = np.unique(key, return_inverse=True)
    volume = np.bincount(where, drawn.volume, len(distinct))
    block, before = np.divmod(distinct, len(pair.names))
    order = np.lexsort((before, -volume, block))
    block, first = np.unique(block[order], return_index=True)
    before = before[order][first]
    texts = [name or "(no label)" for name in pair.names]
    kinds: dict[str, int] = {}

    def code(text: str) -> int:
        return kinds.setdefault(text, len(kinds))

    moved = [
        code(f"{texts[a]} -> {texts[b]}")
        for a, b in zip(before.tolist(), labels[block].tolist(), strict=True)
    ]
    faces = pair.overlay.second, pair.overlay.first
    shares = [
        covered / np.sum(volume_parts(each.lengths()), axis=0)
        for each, covered in zip(faces, (drawn.new_covered, drawn.covered), strict=True)
    ]
    added, removed = (np.flatnonzero(share < _COVERED) for share in shares)
    parts = [(new, block, moved), (new, added, [code(f"only in {new.name}")] * len(added))]
    parts.append((old, removed, [code(f"only in {old.name}")] * len(removed)))
    return ChangedBlocks(
        np.concatenate([model.points[rows] for model, rows, _ in parts]),
        np.concatenate([model.sizes[rows] for model, rows, _ in parts]),
        new.axes,
        [*kinds],
        np.concatenate([np.array(codes, np.int32) for *_, codes in parts]),
        np.concatenate([model.rows[rows] for model, rows, _ in parts]),
    )
