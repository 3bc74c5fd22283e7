"""Grades by domain for a report: histograms, tonnes and mean grades above cut-offs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import density_unit as unit_of
from geodomain.compute.data import Floats
from geodomain.errors import warn
from geodomain.reporting.blocks import Blocks, ShownLabel
from geodomain.reporting.look import kind_of_name, orders_of
from geodomain.reporting.svg import chart_svg
from geodomain.reporting.tables import domain_name, grade_figure, in_unit, table, volume
from geodomain.statistics.charts import (
    Chart,
    Series,
    curve_chart,
    histogram_chart,
    round_length,
    ticks,
)
from geodomain.volumes.tonnage import Tonnage, Wanted
from geodomain.volumes.tonnes import Cutoffs, metal_units, wanted_of
from geodomain.volumes.tonnes_report import Tonnes, TonnesRow, report, tonnage_warnings

# Number of blocks added up at a time.
_TOGETHER = 1 << 18


@dataclass(frozen=True)
class _Part:
    """A range of rows of a model, as a batch for `Tonnage`."""

    blocks: Blocks
    rows: slice

    def numbers(self, name: str) -> Floats:
        """Return the numbers of a column in these rows."""
        return self.blocks.numbers[name][self.rows]

    def labels(self, _: list[str]) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct labels, and for each row the index of the row's label among them."""
        return self.blocks.labels, self.blocks.codes[self.rows].astype(np.intp)

    def classes(self, _: list[str]) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct classes, and for each row the index of the row's class among them."""
        return self.blocks.classes, self.blocks.class_codes[self.rows].astype(np.intp)


def add_up(blocks: Blocks, wanted: Wanted, *, warned: bool = False) -> Tonnes:
    """Add up tonnes and grades as `geodomain.tonnes_file` does, from blocks in memory.

    Parameters
    ----------
    blocks : Blocks
        The model; its `numbers` hold the grades and the density.
    wanted : Wanted
        The grades and cut-offs to add up by label.
    warned : bool
        Whether warnings about these blocks have already been given.
    """
    tonnage = Tonnage(wanted)
    for start in range(0, len(blocks.codes), _TOGETHER):
        part = _Part(blocks, slice(start, start + _TOGETHER))
        places = blocks.points[part.rows], blocks.sizes[part.rows]
        classes = part.classes if wanted.classification else None
        tonnage.add(*places, part.numbers, part.labels, classes)
    for sentence in () if warned else tonnage_warnings(tonnage, negative=False):
        warn(sentence)
    return report(tonnage)


# Histograms, tonnes and mean grades.

# Numbers of bars and of cut-offs; the last bar includes all values above this quantile.
_BARS, _CUTOFFS, _SHARE = 30, 50, 0.99
# Number of domains drawn, the largest first.
_MOST = 12
# How the page writes units of grades that have a short name as an option.
_UNITS = {"gpt": "g/t", "opt": "oz/st"}


@dataclass(frozen=True)
class GradeSettings:
    """The grade columns of a report, and the tonnes to add up.

    Attributes
    ----------
    names : tuple of str
        Grade columns.
    wanted : Wanted, optional
        The tonnes of the table; None without a density.
    units : mapping of str to str
        Units of grades, as the page writes them.
    """

    names: tuple[str, ...] = ()
    wanted: Wanted | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read as numbers."""
        density = self.wanted.density if self.wanted else None
        return tuple(dict.fromkeys([*self.names, *([density] if isinstance(density, str) else [])]))

    def titled(self, name: str) -> str:
        """Return the name of a grade with its unit, such as "AU, g/t"."""
        return f"{name}, {self.units[name]}" if name in self.units else name


def _names_of(grade: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names of grade columns, each once."""
    return (grade,) if isinstance(grade, str) else tuple(dict.fromkeys(grade))


def grade_settings(
    column: str,
    grade: str | Sequence[str],
    density: str | float | None,
    density_unit: str | None = None,
    cutoff: Cutoffs | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    classification: str | None = None,
    sample_grade: str | Sequence[str] | None = None,
) -> GradeSettings:
    """Check arguments of `report_file` about tonnes and grades; `tonnes` describes them."""
    names, sampled = _names_of(grade), _names_of(sample_grade or ())
    shown = tuple(dict.fromkeys([*names, *sampled]))
    metal_units(grade_unit, names if isinstance(grade_unit, str) and names else shown)
    spelled = {shown[0]: grade_unit} if isinstance(grade_unit, str) else grade_unit or {}
    units = {name: _UNITS.get(unit, unit) for name, unit in spelled.items()}
    grade_unit = {name: unit for name, unit in spelled.items() if name in names}
    if density is not None:
        wanted = wanted_of(
            column, density, names, None, cutoff, None, grade_unit, None, density_unit, None,
            classification,
        )  # fmt: skip
        return GradeSettings(names, wanted, units)
    unit_of(density_unit)
    if cutoff is not None or classification is not None:
        message = (
            "cutoff= and classification= need density=: they divide the table of tonnes, which "
            "needs the densities of blocks"
        )
        raise ValueError(message)
    return GradeSettings(names, None, units)


@dataclass(frozen=True)
class GradePart:
    """The part of a page about tonnes and grades.

    Attributes
    ----------
    html : str
        Tables and drawings.
    main : str
        A short table of tonnes and grades by domain for the summary; "" without a density.
    notes : list of str
        Notes on densities and grades.
    sums : Tonnes, optional
        Tonnes by domain; None without a density.
    above : dict of str to Tonnes
        For each grade, tonnes above round cut-offs.
    """

    html: str
    main: str
    notes: list[str]
    sums: Tonnes | None = None
    above: dict[str, Tonnes] = field(default_factory=dict)


def grades_html(
    blocks: Blocks, grades: GradeSettings, labels: Sequence[ShownLabel], unit: str
) -> GradePart:
    """Return tables and drawings of grades by domain.

    Parameters
    ----------
    blocks : Blocks
        The model; its `numbers` hold the grades and the density.
    grades : GradeSettings
        Grades and tonnes to show.
    labels : sequence of ShownLabel
        How to show each label, in the order of the labels in `blocks`.
    unit : str
        Unit of coordinates; may be empty.
    """
    parts: list[str] = []
    notes: list[str] = []
    main = ""
    whole: Tonnes | None = None
    above: dict[str, Tonnes] = {}
    if grades.wanted is not None:
        whole = add_up(blocks, grades.wanted)
        notes = [*whole.notes]
        main = _main(whole, grades, labels, unit)
        parts.append(_tonnes(whole, grades, labels, unit))
        parts += [f'<p class="hint">{escape(note)}</p>' for note in notes]
    for number, name in enumerate(grades.names):
        top = _top(blocks, name, labels)
        if top is None:
            parts.append(f"<p>No block has a number in the column {escape(name)}.</p>")
            continue
        parts.append(f"<h3>{escape(grades.titled(name))}</h3>")
        parts.append(_histograms(grades, number, top, blocks, labels))
        if grades.wanted is not None:
            above[name] = _above_cutoffs(blocks, grades.wanted, name, top)
            parts.append(_curves(grades, number, above[name], labels, unit))
    return GradePart("".join(parts), main, notes, whole, above)


def _is_charted(label: ShownLabel) -> bool:
    """Return whether a label gets a histogram and a curve; background and air do not."""
    return not label.ground and kind_of_name(label.name) != "air"


def _typical(blocks: Blocks, name: str, labels: Sequence[ShownLabel]) -> Floats:
    """Return the grades of the blocks in domains."""
    values = blocks.numbers[name]
    is_domain = np.array([not label.ground for label in labels])[blocks.codes]
    return values[is_domain & np.isfinite(values)]


def _top(blocks: Blocks, name: str, labels: Sequence[ShownLabel]) -> float | None:
    """Return the upper end of a grade's axis, or None if no block has the grade."""
    if not np.isfinite(blocks.numbers[name]).any():
        return None
    typical = _typical(blocks, name, labels)
    top = float(np.quantile(typical, _SHARE)) if len(typical) else 0.0
    return top if top > 0 else 1.0


def _above_cutoffs(blocks: Blocks, wanted: Wanted, name: str, top: float) -> Tonnes:
    """Return tonnes and mean grade of each label above round cut-offs from 0 to `top`."""
    cutoffs = tuple(ticks(0.0, top, _CUTOFFS))
    some = replace(
        wanted, grades=(name,), cut=name, cutoffs=cutoffs, classification="",
        units={grade: unit for grade, unit in wanted.units.items() if grade == name},
    )  # fmt: skip
    return add_up(blocks, some, warned=True)


def _main(sums: Tonnes, grades: GradeSettings, labels: Sequence[ShownLabel], unit: str) -> str:
    """Return an HTML table of tonnes, mean grades and metal by domain, without cut-offs."""
    headings = ["domain", in_unit("volume", unit), "tonnes", *_grade_headings(sums, grades)]
    rows = {row.domain: row for row in sums.domains if row.cutoff is None}
    order = sorted((label for label in labels if label.text in rows), key=lambda label: label.order)
    lines = [(domain_name(label.name, label.colour), rows[label.text]) for label in order]
    lines += [("total", row) for row in sums.totals if row.cutoff is None]
    cells = [
        [name, volume(row.volume), volume(row.tonnes), *_grade_cells(row)] for name, row in lines
    ]
    return table("Tonnes and grade", headings, cells, name="main")


def _tonnes(sums: Tonnes, grades: GradeSettings, labels: Sequence[ShownLabel], unit: str) -> str:
    """Return an HTML table of volume, tonnes, mean grades and metal by domain.

    Classes and cut-offs have rows of their own, as in `geodomain tonnes`.
    """
    headings = ["domain"]
    headings += [sums.classification] if sums.classification else []
    headings += [f"{grades.titled(sums.cutoff_grade)} from"] if sums.cutoff_grade else []
    headings += ["blocks", in_unit("volume", unit), "tonnes", *_grade_headings(sums, grades)]
    shown = {label.text: label for label in labels}
    rows = sorted(sums.rows, key=lambda row: shown[row.domain].order)
    lines = [(shown[row.domain].name, row, "(none)") for row in rows]
    lines += [("total", row, "(none)") for row in sums.classes]
    lines += [("total", row, "") for row in sums.totals]
    cells = []
    for name, row, no_class in lines:
        line = [escape(name)]
        line += [escape(row.classification or no_class)] if sums.classification else []
        line += [_cutoff(row)] if sums.cutoff_grade else []
        cells.append([*line, *_tonnes_cells(row)])
    return table("Tonnes and grade by domain", headings, cells, name="tonnes")


def _cutoff(row: TonnesRow) -> str:
    return "all" if row.cutoff is None else f"{row.cutoff:g}"


def _grade_headings(sums: Tonnes, grades: GradeSettings) -> list[str]:
    """Return two headings for each grade: the mean and the metal, with their units."""
    headings = []
    for grade in sums.totals[0].grades:
        metal = f"{grade.name} metal"
        headings.append(f"mean {grades.titled(grade.name)}")
        headings.append(f"{metal}, {grade.unit}" if grade.unit else metal)
    return headings


def _tonnes_cells(row: TonnesRow) -> list[str]:
    return [f"{row.blocks:,}", volume(row.volume), volume(row.tonnes), *_grade_cells(row)]


def _grade_cells(row: TonnesRow) -> list[str]:
    return [cell for each in row.grades for cell in (grade_figure(each.mean), volume(each.metal))]


@dataclass(frozen=True)
class GradeClasses:
    """The classes of a histogram of grades.

    Attributes
    ----------
    edges : (k + 1,) float64
        The grades that bound the k classes, ascending.
    is_log : bool
        Whether the axis is logarithmic.
    """

    edges: Floats
    is_log: bool = False

    def shares(self, values: Floats, weights: Floats) -> Floats:
        """Return the share of the weight in each class, of the weight of all values.

        The first class includes all values below, and the last all above, but a logarithmic axis
        has no values of 0 or less.
        """
        drawn = values > 0 if self.is_log else np.ones(len(values), np.bool_)
        bars = len(self.edges) - 1
        places = np.searchsorted(self.edges, values[drawn], side="right") - 1
        sums = np.bincount(np.clip(places, 0, bars - 1), weights[drawn], bars)
        return np.asarray(sums / (weights.sum() or 1.0), np.float64)


def grade_classes_of(typical: Floats, lowest: float, top: float) -> GradeClasses:
    """Return the classes of histograms of a grade, which end at round numbers.

    Parameters
    ----------
    typical : (n,) float64
        Grades of the blocks in domains. If they span orders of magnitude, the axis is logarithmic.
    lowest, top : float
        The lowest grade, and the upper end of a linear axis.

    Examples
    --------
    >>> grade_classes_of(np.array([0.5, 1.0, 2.0]), 0.0, 2.9).edges[[0, 1, -1]].tolist()
    [0.0, 0.1, 2.9]
    >>> grade_classes_of(np.array([0.01, 0.1, 10.0]), 0.01, 10.0).is_log
    True
    """
    orders = orders_of(typical)
    if orders is not None:
        low, high = orders
        # Few values near the lower end, such as 0.01, 0.02 and 0.03, would leave gaps.
        few = len(np.unique(typical[(typical > 0) & (typical <= 10 * low)])) < 20
        each = 5 if few or high >= 1e4 * low else 10
        first = math.floor(each * math.log10(low) + 1e-9)
        last = math.ceil(each * math.log10(high) - 1e-9)
        return GradeClasses(10.0 ** (np.arange(first, last + 1) / each), is_log=True)
    lowest = min(0.0, lowest)
    step = round_length((top - lowest) / _BARS, up=True)
    first = math.floor(lowest / step + 1e-9)
    last = max(math.ceil(top / step - 1e-9), first + 1)
    return GradeClasses(np.round(np.arange(first, last + 1) * step, 12), is_log=False)


def _histograms(
    grades: GradeSettings, number: int, top: float, blocks: Blocks, labels: Sequence[ShownLabel]
) -> str:
    """Return HTML with a histogram for each domain: the share of the volume by grade."""
    name = grades.names[number]
    values = blocks.numbers[name]
    axis = grade_classes_of(_typical(blocks, name, labels), float(np.nanmin(values)), top)
    edges = axis.edges
    finite = np.isfinite(values)
    codes, values, weights = blocks.codes[finite], values[finite], blocks.sizes[finite].prod(axis=1)
    whole = np.bincount(codes, weights, len(labels))
    means = np.bincount(codes, weights * values, len(labels))
    shares = {
        code: axis.shares(values[codes == code], weights[codes == code])
        for code in np.flatnonzero(whole > 0).tolist()
    }
    some = [code for code in np.argsort(-whole).tolist() if code in shares and shares[code].any()]
    some = [code for code in some if _is_charted(labels[code])][:_MOST]
    drawings = []
    for code in sorted(some, key=lambda code: labels[code].order):
        label, mean = labels[code], float(means[code] / whole[code])
        chart = histogram_chart(
            label.name,
            grades.titled(name),
            edges,
            [Series("blocks", shares[code].tolist(), mean, label.colour)],
            is_log=axis.is_log,
            what="of volume",
        )
        what = f"Histogram of {grades.titled(name)} in {label.name}"
        drawings.append(chart_svg(chart, f"histogram-{name}-{number}-{code}", what))
    caption = f"Share of each domain's volume by {name}, on a "
    if axis.is_log:
        drawn = sum(float(shares[code].sum() * whole[code]) for code in some)
        off = 1 - drawn / whole[some].sum() if some else 0.0
        caption += f"log axis; the first bar includes all below {edges[1]:.3g}, "
        caption += f"the last all above {edges[-2]:.3g}. "
        caption += f"{off:.1%} of the volume, at or below 0, is off the axis." if off > 1e-9 else ""
    else:
        caption += f"linear axis; the last bar includes all above {edges[-2]:.4g}."
    return (
        f'<p class="hint">{escape(caption)} A dashed line shows the mean.</p>'
        f'<div class="curves">{"".join(drawings)}</div>'
    )


def _curves(
    grades: GradeSettings, number: int, sums: Tonnes, labels: Sequence[ShownLabel], unit: str
) -> str:
    """Return HTML with a grade-tonnage curve for each domain, and with a table of the values."""
    name = grades.names[number]
    by_domain = {
        label: [row for row in sums.rows if row.domain == label.text and row.cutoff is not None]
        for label in labels
        if _is_charted(label)
    }
    most = {label: rows[0].tonnes for label, rows in by_domain.items() if rows}
    largest = sorted(most, key=lambda label: -most[label])[:_MOST]
    order = sorted(largest, key=lambda label: label.order)
    drawn = [
        chart_svg(
            curve_of(label, by_domain[label], grades.titled(name)),
            f"curve-{name}-{number}-{place}",
            f"Grade-tonnage curve of {grades.titled(name)} in {label.name}",
        )
        for place, label in enumerate(order)
        if most[label] > 0
    ]
    cells = [
        [escape(label.name), _cutoff(row), *_tonnes_cells(row)]
        for label in order
        for row in by_domain[label]
    ]
    headings = ["domain", f"{grades.titled(name)} from", "blocks", in_unit("volume", unit)]
    headings += ["tonnes", *_grade_headings(sums, grades)]
    numbers = table(
        f"Tonnes and mean {name} above cut-offs", headings, cells, name=f"above-{number}"
    )
    return (
        '<p class="hint">Tonnes (line, left) and mean grade (dashes, right) of the blocks at or '
        f'above each cut-off.</p><div class="curves">{"".join(drawn)}</div>'
        f"<details><summary>The numbers as a table</summary>{numbers}</details>"
    )


def curve_of(label: ShownLabel, rows: Sequence[TonnesRow], grade: str) -> Chart:
    """Return the grade-tonnage curve of a domain, from its rows with cut-offs."""
    return curve_chart(
        label.name,
        label.colour,
        [row.cutoff or 0.0 for row in rows],
        [row.tonnes for row in rows],
        [row.grades[0].mean for row in rows],
        grade,
    )
