"""Explain the difference between two block models, wireframes or lists of domains."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.changes.attribution import (
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
from geodomain.changes.difference_page import write_chart, write_page
from geodomain.changes.difference_results import (
    CHANGE,
    NEW,
    OLD,
    ChangedBlocks,
    DifferenceRow,
    GradeChange,
    ModelDifference,
    Step,
    VolumeMove,
)
from geodomain.changes.difference_settings import (
    DENSITY,
    EXTENT,
    GRADE,
    LABELS,
    LATTICE,
    ORDER,
    PROPERTIES,
    WIREFRAMES,
    DiffKeywords,
    DiffSettings,
)
from geodomain.changes.domain_differences import DomainsDifference, domains_difference
from geodomain.changes.model_versions import (
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
from geodomain.changes.wireframe_differences import (
    WireframeDifference,
    have_same_meshes,
    wireframe_difference,
)
from geodomain.checks.columns import unit_of_length
from geodomain.domains.order import DomainsLike
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.tables import require_outputs
from geodomain.errors import TableError, collect_warnings, warn
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import (
    file_of,
    open_model,
    require_page_name,
    require_table_name,
    write_columns,
)
from geodomain.formats.cell_file import CellModel, without_geometry
from geodomain.formats.registry import format_of_wireframe, head_of
from geodomain.inputs import MeshLike, is_grid, is_mesh_like
from geodomain.labelling.settings import LabelSettings
from geodomain.mesh.mesh import Mesh
from geodomain.progress import Progress, show_progress
from geodomain.reporting.sections import wireframes_of
from geodomain.settings import among, read_keywords, with_keywords
from geodomain.statistics.charts import require_picture
from geodomain.tables.in_memory import BlockFrame, is_frame
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.settings import TableKeywords, TableSettings
from geodomain.tables.vendors import plain_name
from geodomain.volumes.exact_sums import ONE
from geodomain.volumes.tonnage import MetalUnit, Wanted
from geodomain.volumes.tonnes import Cutoffs, metal_units, wanted_of

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

_USUAL = "domain"

Difference: TypeAlias = ModelDifference | WireframeDifference | DomainsDifference


@with_keywords((DiffSettings, LabelSettings), DiffKeywords, table=TableKeywords)
def diff(
    old: ModelLike | MeshLike | DomainsLike,
    new: ModelLike | MeshLike | DomainsLike,
    *,
    domains: tuple[DomainsLike, DomainsLike] | None = None,
    density: str | float | None = None,
    grade: str | Sequence[str] = (),
    column: str | None = None,
    cutoff: Cutoffs | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    density_unit: str | None = None,
    output: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    chart: str | os.PathLike[str] | None = None,
    title: str | None = None,
    overwrite: bool = False,
    progress: Progress | bool = False,
    **keywords: Unpack[DiffKeywords],
) -> Difference:
    r"""Explain how two block models, wireframes or lists of domains differ.

    The difference between two models is attributed to steps, whose changes add up to it exactly:

    - extent: blocks, or parts of blocks, that lie outside the other model;
    - wireframes: the domains, with their wireframes, kinds and conditions;
    - order: the order of the domains;
    - lattice: the blocks, which decide where labels are computed;
    - labels: labels in the files that differ from those of the domains;
    - density; and grade.

    A step is the sum over a hybrid model minus the sum over the hybrid before it. The first hybrid
    is the old model, and each step replaces one property with that of the new model. All
    hybrids are summed over the common cells of both models: the overlaps of old and new blocks.

    Parameters
    ----------
    old, new : path, table, PyVista grid, mesh-like, or domains
        Two block models, whose blocks may differ in size and origin; two versions of a
        wireframe; or two lists of domains, such as ``domains.toml``. Both must be of the same
        kind. Only `output`, `report`, `title`, `overwrite` and `progress` also apply to wireframes
        and lists of domains.
    domains : (old, new), optional
        The domains of the old and of the new model, as for `label_points`. Blocks are then labelled
        by their centroids. Without domains, the labels in the files are compared, and wireframes,
        order and lattice are one step.
    density : str or float, optional
        As for `tonnes`. Without a density, only volumes are compared.
    grade : str or sequence of str
        Columns of grades, as for `tonnes`.
    column : str, optional
        Label column of both models. [default: "domain", if there is such a column]
    cutoff, grade_unit, density_unit
        As for `tonnes`.
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
        cells, and the steps extent, lattice, labels, density and grade are one step.

    Raises
    ------
    TableError, DomainError, MeshError
        As for `tonnes`, `label_points` and `read_mesh`.
    ValueError, TypeError
        If a setting is invalid, or if `old` and `new` are of different kinds.
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
    settings = read_keywords(DiffSettings, keywords, DiffKeywords)
    label_settings = read_keywords(LabelSettings, keywords, DiffKeywords)
    options = table_options(**among(TableKeywords, keywords))
    inputs = [each for each in (old, new, *(domains or ())) if _is_path(each)]
    require_outputs([output, report], inputs, overwrite=overwrite, formats="any", chart=chart)
    if output is not None and os.fspath(output) != STANDARD:
        require_table_name(os.fspath(output), parquet=True)
    if report is not None:
        require_page_name(os.fspath(report))
    if chart is not None:
        require_picture(Path(chart))
    kind = require_request(
        old,
        new,
        domains=domains,
        density=density,
        grade=grade,
        column=column,
        cutoff=cutoff,
        grade_unit=grade_unit,
        density_unit=density_unit,
        report=report,
        chart=chart,
        title=title,
        **keywords,
    )
    with collect_warnings() as warned, show_progress(progress, "comparing") as told:
        result: Difference
        if kind == "model":
            amounts = _Amounts(density, grade, column, cutoff, grade_unit, density_unit)
            models = cast("tuple[ModelLike, ModelLike]", (old, new))
            plan = _Plan(models, domains, amounts, settings, label_settings, options)
            result = plan.difference(told, draws=report is not None)
            result = replace(result, warnings=tuple(warned))
        else:
            result = (
                wireframe_difference(cast(MeshLike, old), cast(MeshLike, new))
                if kind == "wireframe"
                else domains_difference(cast(DomainsLike, old), cast(DomainsLike, new))
            )
    if output is not None:
        write_columns(result.columns(), output, overwrite=overwrite)
    if report is not None:
        sources = {OLD: old, NEW: new}
        if domains is not None:
            sources |= {"old domains": domains[0], "new domains": domains[1]}
        files = [
            (what, file_of(os.fspath(each)))
            for what, each in sources.items()
            if isinstance(each, str | os.PathLike)
        ]
        unit = unit_of_length(density_unit)
        write_page(result, report, title, files, unit=unit, overwrite=overwrite)
    if chart is not None:
        write_chart(cast(ModelDifference, result), chart, overwrite=overwrite)
    return result


def _is_path(thing: object) -> bool:
    return isinstance(thing, str | os.PathLike)


# Names of the inputs in messages, in the singular and in the plural.
_KINDS = {
    "model": ("a block model", "block models"),
    "wireframe": ("a wireframe", "wireframes"),
    "domains": ("a list of domains", "lists of domains"),
}


# Keywords that apply to models, wireframes and lists of domains.
_FOR_ALL = ("output", "report", "title", "overwrite", "backend", "threads")
_USUAL_VALUES = {
    entry.name: entry.default for kind in (LabelSettings, TableSettings) for entry in fields(kind)
}
# Keywords that need another keyword, and why.
_BY_DOMAINS = ("domains", "without them it has no effect")
_NEEDS = {
    "grade": ("density", "means and metal are weighted by tonnes"),
    "density_unit": ("density", "it is the unit of the densities"),
    "new_density": ("density", "the old model needs densities, too"),
    "title": ("report", "it is the title of the page"),
    **dict.fromkeys(("rule", "allow_open", "weld", "background", "unassigned"), _BY_DOMAINS),
}


def require_request(old: object, new: object, **settings: object) -> str:
    """Return the kind of both inputs: "model", "wireframe" or "domains".

    Raises
    ------
    ValueError
        If they are of different kinds, if a setting applies only to models and the inputs are not
        models, if a setting lacks another that it needs, or if `new_grade` does not rename a grade.
    """
    kinds = [_kind(old), _kind(new)]
    if kinds[0] != kinds[1]:
        first, second = (_KINDS[kind][0] for kind in kinds)
        message = (
            f"the old input is {first}, and the new input is {second}: compare two inputs of the "
            "same kind"
        )
        raise ValueError(message)
    chosen = [
        name for name, value in settings.items() if value and value != _USUAL_VALUES.get(name)
    ]
    for_models = [name for name in chosen if name not in _FOR_ALL]
    if kinds[0] != "model" and for_models:
        what = "labelling by domains" if for_models[0] == "domains" else f"{for_models[0]}="
        message = f"{what} is for block models, and these are {_KINDS[kinds[0]][1]}"
        raise ValueError(message)
    for name in chosen:
        needed, reason = _NEEDS.get(name, ("", ""))
        if needed and needed not in chosen:
            what = "the domains of both models" if needed == "domains" else f"{needed}="
            message = f"{name}= needs {what}: {reason}"
            raise ValueError(message)
    grade = settings.get("grade") or ()
    grades = [grade] if isinstance(grade, str) else cast("Sequence[str]", grade)
    renamed = cast("Mapping[str, str]", settings.get("new_grade") or {})
    if not renamed.keys() <= {*grades}:
        message = (
            f"new_grade= renames {', '.join(renamed)}; it must rename a grade "
            f"({', '.join(grades) or 'there is none'})"
        )
        raise ValueError(message)
    return kinds[0]


def _holds_blocks(path: str) -> bool:
    """Return whether a file whose format holds wireframes and blocks has blocks."""
    try:
        with open_model(path, table_options()):
            return True
    except TableError:
        return False


def _kind(thing: object) -> str:
    """Return whether a file or an object is a model, a wireframe or a list of domains."""
    if isinstance(thing, str | os.PathLike):
        if os.fspath(thing) == STANDARD:
            message = "diff reads both inputs more than once: give files, not -"
            raise TableError(message)
        place = file_of(os.fspath(thing))
        if place.suffix.lower() == ".toml":
            return "domains"
        if not place.is_file():
            return "model"  # opening it reports the error
        form = format_of_wireframe(head_of(place, place.suffix.lower()))
        if form is None:
            return "model"
        return "wireframe" if form.wireframe or not _holds_blocks(os.fspath(thing)) else "model"
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


def _options_of(
    models: tuple[ModelLike, ModelLike], options: TableOptions
) -> tuple[TableOptions, TableOptions]:
    """Return the options for each model; options of geometry apply only to tables.

    If both models store the geometry of their cells, these options are refused when the models are
    opened.
    """
    own = without_geometry(options)
    stores = [own != options and _stores_geometry(each, own) for each in models]
    old, new = (own if mask and not all(stores) else options for mask in stores)
    return old, new


def _stores_geometry(model: ModelLike, options: TableOptions) -> bool:
    """Return whether a model has cells with a geometry of their own, such as a grid."""
    opened = open_source(model, options)
    if opened is None:
        return False
    with opened as each:
        return isinstance(each, CellModel)


def _label_column(source: _Source, column: str | None) -> str:
    """Return the label column: the caller's, or "domain" if the model has it, or ""."""
    plain = [plain_name(name) for name in source.columns]
    if column is not None:
        return column
    return _USUAL if _USUAL in plain else ""


class _Amounts(NamedTuple):
    """The arguments that `diff` and `tonnes` share."""

    density: str | float | None
    grade: str | Sequence[str]
    column: str | None
    cutoff: Cutoffs | None
    grade_unit: str | Mapping[str, str] | None
    density_unit: str | None


class _Plan:
    """The steps between two models, from the settings of `diff`, and their sums."""

    def __init__(
        self,
        models: tuple[ModelLike, ModelLike],
        domains: tuple[DomainsLike, DomainsLike] | None,
        amounts: _Amounts,
        settings: DiffSettings,
        label_settings: LabelSettings,
        options: TableOptions,
    ) -> None:
        self._models, self._settings, self._labelling = models, settings, label_settings
        self._options, self._has_density = _options_of(models, options), amounts.density is not None
        self._sources = [
            _look_at(each, own, f"the {usual} table")
            for each, own, usual in zip(models, self._options, (OLD, NEW), strict=True)
        ]
        columns = [
            _label_column(source, column)
            for source, column in zip(
                self._sources, (amounts.column, settings.new_column or amounts.column), strict=True
            )
        ]
        self._without_labels = ""
        if domains is None and bool(columns[0]) != bool(columns[1]):
            self._without_labels = _without_labels(self._sources, columns)
            columns = ["", ""]
        self._wanted = _wanted_pair(columns, amounts, settings, options)
        _require_columns(self._sources, self._wanted)
        self._pair = (
            None if domains is None else _domain_pair(domains, label_settings, settings.rename)
        )
        self._factors, self._steps = _factors(
            settings.order,
            has_domains=domains is not None,
            has_labels=any(columns),
            has_density=self._has_density,
            has_grade=bool(self._wanted[0].grades),
            groups=_groups(self._sources, self._pair, has_labels=any(columns)),
        )

    def difference(self, progress: Progress | None, *, draws: bool) -> ModelDifference:
        """Read both models, sum the hybrids, and return the result."""
        states = (all_states if self._settings.average_orders else sequence_states)(self._factors)
        models = [self._read(number, states, progress) for number in (0, 1)]
        pair = ModelPair(models[0], models[1], self._wanted, self._pair, self._settings.rename)
        sums, moves, drawn = pair.sums(states, tracks=draws)
        if pair.overlays and not moves:
            warn(
                f"no block of {models[0].name} overlaps a block of {models[1].name}, so the whole "
                "difference is in the step extent: check the coordinates of both models"
            )
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
        # A label without a volume in any hybrid, such as that of missing centroids, has no rows.
        order = [
            label
            for label in self._label_order(pair)
            if any(amounts.volume for amounts in levels[label, 0].values())
        ]
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
            self._settings.average_orders,
            tuple(rows),
            tuple(totals),
            _moves(moves, pair, order, unit),
            len(models[0].points),
            len(models[1].points),
            wanted.cut,
            tuple(self._notes(pair)),
            (),
            None if drawn is None else _changed_blocks(pair, drawn, self._pair),
        )

    def _read(
        self, number: int, states: Iterable[frozenset[str]], progress: Progress | None
    ) -> ReadModel:
        """Read a model with the labels that the hybrids of these states need."""
        hybrids = [hybrid_of(state) for state in states]
        keys = {(each.wireframes, each.order) for each in hybrids if each.lattice == bool(number)}
        keys.add((bool(number), bool(number)))
        columns = ModelColumns(self._wanted[number], self._options[number], self._has_density)
        return read_version(
            self._models[number],
            columns,
            self._pair,
            sorted(keys),
            new=bool(number),
            threads=self._labelling.threads,
            progress=progress,
            name=self._sources[number].name,
        )

    def _rows(
        self, domain: str, step: int, levels: Mapping[frozenset[str], Amounts]
    ) -> Iterator[DifferenceRow]:
        """Yield the rows of a domain and a cut-off."""
        add_up = steps_averaged if self._settings.average_orders else steps_in_order
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
        titles = [factor.name for factor in self._factors]
        names = ", ".join(f"({title})" if ", " in title else title for title in titles)
        if len(self._factors) == 1:
            yield f"there is one step: {titles[0]}"
        elif self._settings.average_orders:
            orders = math.factorial(len(self._factors))
            yield (
                f"each step is its mean over all {orders:,} orders of {names}; the steps add up "
                "to the difference exactly"
            )
        else:
            yield f"the steps in their order: {names}; they add up to the difference exactly"
        yield from (f"{step.name}: {step.note}" for step in self._steps if step.note)
        if self._without_labels:
            yield self._without_labels
        if pair.overlays and pair.same_blocks:
            yield "both models have the same blocks" + (
                ""
                if self._pair is None
                else ", so the step lattice changes labels only through conditions"
            )
        if pair.overlays and any(model.is_turned for model in pair.models):
            yield "the models are rotated: centroids along their axes are rounded to 1e-6"
        if self._pair is not None:
            yield from self._notes_on_domains()
        yield from (note for model in pair.models for note in model.notes)

    def _notes_on_domains(self) -> Iterator[str]:
        """Yield sentences about how the lists of domains label blocks."""
        assert self._pair is not None
        yield "domains label blocks by their centroids"
        for name, domains in zip((OLD, NEW), self._pair.lists, strict=True):
            if domains.by == "majority":
                yield f"the {name} list has by = 'majority', which the steps do not use"
        tests = [
            each for domains in self._pair.lists for _, some in domains.conditions for each in some
        ]
        if tests:
            columns = ", ".join(dict.fromkeys(each.column for each in tests))
            step = next(each.name for each in self._factors if LATTICE in each.properties)
            yield (
                f"conditions of domains read {columns}: where these values change, labels change "
                f"in the step {step}"
            )


def _rounded(value: Fraction) -> float:
    """Return the float64 nearest to a fraction."""
    try:
        return value.numerator / value.denominator
    except OverflowError:
        message = "a sum is more than float64 can hold: look for values that are far too large"
        raise TableError(message) from None


def _without_labels(sources: Sequence[_Source], columns: Sequence[str]) -> str:
    """Return a note that blocks are summed without labels, because one model has none."""
    lacking, other = (1, 0) if columns[0] else (0, 1)
    keyword = "new_column=" if lacking else "column="
    return (
        f"{sources[lacking].name} has no column {_USUAL!r}, so the labels of {sources[other].name} "
        "are not used, and all blocks are summed together: to sum by domain, name the label column "
        f"with {keyword}, or give the domains of both models"
    )


def _has_column(source: _Source, name: str) -> bool:
    return plain_name(name) in map(plain_name, source.columns)


def _require_columns(sources: Sequence[_Source], wanted: tuple[Wanted, Wanted]) -> None:
    """Raise TableError if the new model lacks a density or a grade that the old one has."""
    pairs = [("new_density=", wanted[0].density, wanted[1].density, "densities")]
    pairs += [
        ("new_grade=", *names, "grades")
        for names in zip(wanted[0].grades, wanted[1].grades, strict=True)
    ]
    old, new = sources
    for keyword, name, renamed, what in pairs:
        if (
            isinstance(name, str)
            and name == renamed
            and _has_column(old, name)
            and not _has_column(new, name)
        ):
            message = (
                f"{new.name} has no column {name!r}, and {old.name} has {what} in it: name the "
                f"column of {new.name} with {keyword}; its columns are {', '.join(new.columns)}"
            )
            raise TableError(message)


def _wanted_pair(
    columns: Sequence[str], amounts: _Amounts, settings: DiffSettings, options: TableOptions
) -> tuple[Wanted, Wanted]:
    """Check the settings of sums, and return them for the old and for the new model."""
    density, unit = amounts.density, amounts.density_unit

    def wanted(
        column: str, density: str | float, grade: str | Sequence[str], cutoff: Cutoffs | None
    ) -> Wanted:
        return wanted_of(
            column, density, grade, None, cutoff, None, None, options.below_detection, unit, None,
            None,
        )  # fmt: skip

    old = wanted(columns[0], 1.0 if density is None else density, amounts.grade, amounts.cutoff)
    old = replace(old, units=metal_units(amounts.grade_unit, old.grades))
    renamed = settings.new_grade or {}
    names = [renamed.get(name, name) for name in old.grades]
    new_density = old.density if settings.new_density is None else settings.new_density
    new = wanted(columns[1], new_density, names, None)
    cut = renamed.get(old.cut, old.cut)
    return old, replace(new, grades=tuple(names), cut=cut, cutoffs=old.cutoffs, spelled=old.spelled)


def _domain_pair(
    domains: tuple[DomainsLike, DomainsLike],
    settings: LabelSettings,
    rename: Mapping[str, str] | None,
) -> DomainPair:
    """Read both lists of domains."""
    if (
        isinstance(domains, str | os.PathLike)
        or not isinstance(domains, Sequence)
        or len(domains) != 2
    ):
        message = "domains= must be two lists: that of the old model, and that of the new model"
        raise ValueError(message)
    lists = [domains_to_label(each, weld=settings.weld).domains for each in domains]
    return DomainPair(lists[0], lists[1], settings, rename)


def _groups(
    sources: Sequence[_Source], pair: DomainPair | None, *, has_labels: bool
) -> list[tuple[set[str], str]]:
    """Return sets of properties that cannot be told apart, and why."""
    groups: list[tuple[set[str], str]] = []
    if pair is None and has_labels:
        groups.append(({WIREFRAMES, ORDER, LATTICE}, "no domains are given"))
    if not have_same_axes(sources[0].axes, sources[1].axes):
        why = "the models are rotated differently and have no common cells"
        groups.append(({EXTENT, LATTICE, LABELS, DENSITY, GRADE}, why))
    for number, domains in enumerate(pair.lists if pair else ()):
        # Hybrids label the blocks of each model by the domains of the other one.
        other = sources[1 - number]
        tests = [each.column for _, some in domains.conditions for each in some]
        lacking = [name for name in dict.fromkeys(tests) if not _has_column(other, name)]
        if lacking:
            why = (
                f"{other.name} has no column {', '.join(lacking)}, which conditions of the "
                f"{(OLD, NEW)[number]} domains read"
            )
            groups.append(({WIREFRAMES, LATTICE}, why))
    return groups


def _factors(
    order: Sequence[str],
    *,
    has_domains: bool,
    has_labels: bool,
    has_density: bool,
    has_grade: bool,
    groups: Sequence[tuple[set[str], str]],
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
    factors: list[Factor] = []
    steps: list[Step] = []
    for name in names:
        if any(name in factor.properties for factor in factors):
            continue
        own, reasons = {name}, list[str]()
        for _ in groups:  # a group may join two others
            for some, why in groups:
                if some & own and why not in reasons:
                    own |= some
                    reasons.append(why)
        together = [each for each in names if each in own]
        factors.append(Factor(", ".join(together), frozenset(together)))
        note = f"one step, because {', and '.join(reasons)}" if len(together) > 1 else ""
        steps.append(Step(factors[-1].name, note))
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
    volumes = [Fraction(moves[key], ONE) * unit for key in keys]
    return tuple(
        VolumeMove(pair.names[old], pair.names[new], _rounded(exact), exact)
        for (old, new), exact in zip(keys, volumes, strict=True)
    )


# A block is outside the other model if less than this share of it is covered.
_COVERED = 1e-9


def _changed_blocks(pair: ModelPair, drawn: Drawn, domains: DomainPair | None) -> ChangedBlocks:
    """Return the new blocks whose label changed, and all blocks outside the other model.

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
    parts = [(1, block, moved)]
    for number, rows in ((1, added), (0, removed)):
        parts.append((number, rows, [code(f"{pair.models[number].name} only") for _ in rows]))
    owners = [pair.models[number] for number, *_ in parts]
    return ChangedBlocks(
        np.concatenate(
            [model.points[rows] for model, (_, rows, _) in zip(owners, parts, strict=True)]
        ),
        np.concatenate(
            [model.sizes[rows] for model, (_, rows, _) in zip(owners, parts, strict=True)]
        ),
        new.axes,
        [*kinds],
        np.concatenate([np.array(codes, np.int32) for *_, codes in parts]),
        np.concatenate(
            [model.rows[rows] for model, (_, rows, _) in zip(owners, parts, strict=True)]
        ),
        (old.name, new.name),
        np.concatenate([np.full(len(rows), number, np.int32) for number, rows, _ in parts]),
        {} if domains is None else _changed_wireframes(domains),
    )


def _changed_wireframes(domains: DomainPair) -> dict[str, Sequence[Mesh]]:
    """Return the old and the new meshes of the domains whose meshes differ."""
    old, new = (wireframes_of(each) for each in domains.lists)
    changed: dict[str, Sequence[Mesh]] = {}
    for name in dict.fromkeys([*old, *new]):
        pair = old.get(name, ()), new.get(name, ())
        if not have_same_meshes(*pair):
            changed |= {
                f"{name}, {which}": meshes
                for which, meshes in zip((OLD, NEW), pair, strict=True)
                if meshes
            }
    return changed
