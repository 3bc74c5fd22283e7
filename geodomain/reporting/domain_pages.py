"""The page of each domain in a report, and the findings about drillholes: HTML and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import NamedTuple

import numpy as np

from geodomain.drillholes.check import LEVELS, HoleCheck
from geodomain.drillholes.crossings import STAYS
from geodomain.errors import counted
from geodomain.reporting.blocks import ShownLabel
from geodomain.reporting.domain_figures import MOST_NEIGHBOURS, DomainFigures, has_page
from geodomain.reporting.grades import GradeSettings, curve_of, grade_classes_of
from geodomain.reporting.look import legible
from geodomain.reporting.svg import chart_svg
from geodomain.reporting.tables import (
    DomainRow,
    domain_name,
    exact_figure,
    grade_figure,
    in_unit,
    table,
    volume,
)
from geodomain.result_tables import rounded
from geodomain.statistics.charts import (
    COOL,
    WARM,
    Chart,
    Curve,
    Series,
    histogram_chart,
    probability_chart,
    swath_charts,
    ticks,
)
from geodomain.statistics.populations import Population
from geodomain.statistics.results import Statistics, StatsRow
from geodomain.statistics.validation import NO_ROWS, SHARES, Side
from geodomain.volumes.tonnes_report import Tonnes, TonnesRow

# Rows of the tables of a page.
_MOST_ROWS, _MOST_CUTOFFS = 10, 12


class Picture(NamedTuple):
    """A section that a page shows as a small picture.

    Attributes
    ----------
    number : int
        Its number in the report.
    title : str
        Its title.
    size : tuple of int
        Width and height of the drawing.
    """

    number: int
    title: str
    size: tuple[int, int]


@dataclass(frozen=True)
class PageStyle:
    """Data and style that all pages of domains share.

    Attributes
    ----------
    labels : sequence of ShownLabel
        How to show each label, in the order of the labels of the blocks.
    rows : sequence of DomainRow
        Blocks and volumes of the domains, in their order.
    colours : mapping of str to str
        Colours by the names of domains.
    grades : GradeSettings
        Grades and their units.
    sums : Tonnes, optional
        Tonnes by domain; None without a density.
    above : mapping of str to Tonnes
        For each grade, tonnes above round cut-offs.
    pictures : mapping of str to sequence of Picture
        The sections of each domain.
    unit : str
        Unit of coordinates; may be empty.
    """

    labels: Sequence[ShownLabel]
    rows: Sequence[DomainRow]
    colours: Mapping[str, str]
    grades: GradeSettings
    sums: Tonnes | None
    above: Mapping[str, Tonnes]
    pictures: Mapping[str, Sequence[Picture]]
    unit: str = ""

    @property
    def shown(self) -> list[DomainRow]:
        """The rows of the domains that have a page."""
        return [row for row in self.rows if has_page(row)]

    def length(self, value: float) -> str:
        """Return a length with its unit."""
        return f"{rounded(value, 4)} {self.unit}".strip()


def pages_html(figures: DomainFigures, style: PageStyle) -> str:
    """Return the pages of all domains, with links to them."""
    if not style.shown:
        return "<p>The model has no block in a domain.</p>"
    links = "".join(
        f'<li><a href="#domain-{number}">{domain_name(row.name, style.colours[row.name])}</a></li>'
        for number, row in enumerate(style.shown)
    )
    pages = "".join(
        _Page(figures, style, number, row).html for number, row in enumerate(style.shown)
    )
    return f'<ul class="domain-links">{links}</ul>{_introduction(figures, style)}{pages}'


def _introduction(figures: DomainFigures, style: PageStyle) -> str:
    """Return the text about all pages: definitions, and missing parts."""
    sentences = []
    if figures.samples is not None:
        sentences.append(figures.labelled_by)
        weight = figures.samples.weight or "number"
        sentences.append(f"Samples are weighted by {weight}.")
    if figures.holes:
        sentences.append(
            "Spacing of holes: the middle of a hole's samples in the domain stands for the hole, "
            "and the spacing is the median distance to the nearest other hole (of at most 2,000 "
            "holes). Distances from samples: from the centre of a block to the nearest sample of "
            "its domain."
        )
    if figures.validations:
        sentences.append(
            "Blocks are smoother than samples, because each averages over its volume: means should "
            "agree, while blocks have a smaller CV."
        )
    if figures.contacts:
        sentences.append(
            "Contacts are the parts of wireframes with one of the two labels on each side. "
            "Their confidence intervals treat each hole as one observation."
        )
    lines = [f'<p class="hint">{escape(" ".join(sentences))}</p>'] if sentences else []
    left_out = [f"<li>{escape(note)}</li>" for note in figures.notes]
    left_out += [f"<li>Not shown: {escape(each)}</li>" for each in figures.missing]
    lines += [f'<ul class="hint">{"".join(left_out)}</ul>'] if left_out else []
    return "".join(lines)


class _Page:
    """The page of one domain."""

    def __init__(
        self, figures: DomainFigures, style: PageStyle, number: int, row: DomainRow
    ) -> None:
        self._figures, self._style, self._number, self._row = figures, style, number, row
        self._name = row.name

    @property
    def html(self) -> str:
        """The page."""
        style = self._style
        parts = [self._facts()]
        for place, (ours, theirs) in enumerate(self._figures.pairs):
            title = style.grades.titled(ours or theirs)
            if len(self._figures.pairs) > 1:
                parts.append(f"<h4>{escape(title)}</h4>")
            parts.append(self._statistics(place, ours, theirs))
            parts.append(self._caps(place, theirs))
            parts.append(self._charts(place, ours, theirs, title))
            parts.append(self._contacts(place, theirs))
        cutoffs = [self._cutoffs(*each) for each in enumerate(dict(self._figures.pairs))]
        parts.append(f'<div class="tables">{"".join(cutoffs)}{self._crossings()}</div>')
        parts.append(self._pictures())
        return (
            f'<article class="domain" id="domain-{self._number}">'
            f"<h3>{domain_name(self._name, style.colours[self._name])}</h3>{''.join(parts)}"
            '<p class="hint screen"><a href="#domain-pages">All domains</a></p></article>'
        )

    def _facts(self) -> str:
        """Return the main figures, as short cells."""
        row, style, figures = self._row, self._style, self._figures
        cells = [
            ("blocks", f"{row.blocks:,}"),
            (in_unit("volume", style.unit), volume(row.volume)),
            ("share of all blocks", f"{row.share:.2%}"),
        ]
        sums = self._rows_of(style.sums)
        if sums:
            cells.append(("tonnes", volume(sums[0].tonnes)))
        near = figures.holes.get(self._name)
        if near is not None:
            cells.append(("samples", f"{near.samples:,}"))
            if near.holes:
                cells.append(("holes with samples", f"{near.holes:,}"))
            if near.spacing:
                cells.append(("spacing of holes", self._exact(near.spacing)))
            cells += [
                (f"volume more than {style.length(band)} from a sample", _share(share))
                for band, share in zip(figures.bands, near.beyond, strict=True)
            ]
        shown = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{text}</dd></div>" for name, text in cells if text
        )
        return f'<dl class="facts">{shown}</dl>'

    def _exact(self, value: float) -> str:
        unit = f" {escape(self._style.unit)}" if self._style.unit else ""
        return f"{exact_figure(value)}{unit}"

    def _rows_of(self, sums: Tonnes | None) -> list[TonnesRow]:
        """Return the rows of this domain, over all classes; the first has no cut-off."""
        return [row for row in sums.domains if row.domain == self._row.label] if sums else []

    # --- Statistics.

    def _populations(self, ours: str, theirs: str) -> list[tuple[str, StatsRow]]:
        """Return the rows of statistics, each with its name."""
        figures, populations = self._figures, []
        if figures.samples is not None and theirs:
            for row in figures.samples.rows:
                if (row.grade, row.domain) == (theirs, self._name):
                    if row.cap is not None and not row.samples_cut:
                        continue
                    name = "samples" if row.weights == "naive" else "samples, declustered"
                    cap = "" if row.cap is None else f", cut at {row.cap:g}"
                    populations.append((f"{name}{cap}", row))
        if figures.blocks is not None and ours:
            populations += [
                ("blocks", row)
                for row in figures.blocks.rows
                if (row.grade, row.domain) == (ours, self._name) and row.cap is None
            ]
        return populations

    def _statistics(self, place: int, ours: str, theirs: str) -> str:
        """Return the table of statistics: samples and blocks, one below the other."""
        rows = self._populations(ours, theirs)
        if not rows:
            return ""
        headings = ["", "count", "missing", "weight", *(head for head, _ in _MEASURES)]
        cells = [
            [
                escape(name),
                f"{row.count:,}",
                f"{row.missing:,}",
                volume(row.weight),
                *(grade_figure(getattr(row, key)) for _, key in _MEASURES),
            ]
            for name, row in rows
        ]
        title = self._style.grades.titled(ours or theirs)
        html = table(
            f"Statistics of {title} in {self._name}", headings, cells,
            name=f"statistics-{self._number}-{place}",
        )  # fmt: skip
        validation = self._figures.validations.get(ours)
        for each in validation.rows if validation else ():
            if each.domain == self._name and each.difference is not None:
                sign = f"{each.difference:+.3g} %"
                html += (
                    f'<p class="hint">Mean of the blocks minus mean of the samples'
                    f"{', declustered' if each.weights != 'naive' else ''}: "
                    f'<data value="{each.difference!r}" title="{each.difference!r}">{sign}</data> '
                    "of the mean of the samples.</p>"
                )
        return html

    def _caps(self, place: int, theirs: str) -> str:
        """Return the table of top cuts, if there are any."""
        rows = [row for _, row in self._populations("", theirs) if row.cap is not None]
        if not rows:
            return ""
        headings = ["cap", "weights", "percentile", "samples cut", "holes cut", "mean", "CV"]
        cells = [
            [
                f"{row.cap:g}",
                row.weights,
                grade_figure(row.percentile),
                f"{row.samples_cut:,}",
                "" if row.holes_cut is None else f"{row.holes_cut:,}",
                grade_figure(row.mean),
                grade_figure(row.cv),
                "" if row.metal_lost is None else f"{row.metal_lost:.2%}",
            ]
            for row in rows
        ]
        return table(
            f"Top cuts of {theirs} in {self._name}", [*headings, "metal lost"], cells,
            name=f"caps-{self._number}-{place}",
        )  # fmt: skip

    # --- Charts.

    def _charts(self, place: int, ours: str, theirs: str, title: str) -> str:
        """Return the histogram, the probability plot, the slices and the grade-tonnage curve."""
        figures, style = self._figures, self._style
        name = f"{self._number}-{place}"
        drawn: list[tuple[Chart, str]] = []
        samples, blocks = figures.sides.get(ours or theirs, {}).get(self._name, (NO_ROWS, NO_ROWS))
        words = self._sample_word(ours)
        some = [
            (word, kind, colour, side)
            for word, kind, colour, side in (
                ("blocks", "block", WARM, blocks),
                (words, "sample", COOL, samples),
            )
            if len(side)
        ]
        if some:
            drawn.append((histogram_of(title, some), "Histogram"))
            curves = [
                (word, kind, colour, self._curve(ours, kind, side))
                for word, kind, colour, side in some
            ]
            drawn.append(
                (probability_chart("Log-probability plot", title, curves), "Log-probability plot")
            )
        shown = {row.text: row for row in style.labels}.get(self._row.label)
        rows = [row for row in self._rows_of(style.above.get(ours)) if row.cutoff is not None]
        if rows and shown is not None and rows[0].tonnes > 0:
            curve = curve_of(shown, rows, title)._replace(title="Grade and tonnage")
            drawn.append((curve, "Grade-tonnage curve"))
        validation = figures.validations.get(ours)
        if validation is not None:
            panels = validation.panels(self._name)
            slices = swath_charts(panels, title, style.unit, words)
            drawn += [(chart, chart.title) for chart in slices]
        charts = "".join(
            chart_svg(
                chart, f"domain-{name}-{number}", f"{what} of {title} in {self._name}", high=190
            )
            for number, (chart, what) in enumerate(drawn)
        )
        return f'<div class="charts">{charts}</div>' if charts else ""

    def _curve(self, ours: str, kind: str, side: Side) -> Curve:
        """Return the distribution of samples or blocks: that of `validate`, if there is one."""
        validation = self._figures.validations.get(ours)
        every = validation.quantiles if validation else ()
        pairs = [each for each in every if each.domain == self._name]
        if not pairs:
            return curve_of_side(side)
        return Curve(
            [each.probability for each in pairs],
            [each.sample if kind == "sample" else each.block for each in pairs],
            Population(side.values, side.weights).mean,
            side.at_zero,
        )

    def _sample_word(self, ours: str) -> str:
        """Return the name of the samples in charts: declustered or not."""
        validation = self._figures.validations.get(ours)
        for row in validation.rows if validation else ():
            if row.domain == self._name and row.weights != "naive":
                return "samples, declustered"
        return "samples"

    def _cutoffs(self, place: int, ours: str) -> str:
        """Return the table of tonnes and grade above cut-offs."""
        style = self._style
        rows = self._rows_of(style.sums)
        is_asked = style.sums is not None and style.sums.cutoff_grade == ours
        if not is_asked or len(rows) < 2:
            above = self._rows_of(style.above.get(ours))
            rows = _at_round_cutoffs([row for row in above if row.tonnes > 0])
        if not rows or not ours:
            return ""
        metal = next((each.unit for each in rows[0].grades if each.name == ours), "")
        headings = [
            "cut-off", "blocks", in_unit("volume", style.unit), "tonnes",
            f"mean {style.grades.titled(ours)}", f"metal, {metal}" if metal else "metal",
        ]  # fmt: skip
        cells = []
        for row in rows:
            (own,) = (each for each in row.grades if each.name == ours)
            cells.append([
                "all" if row.cutoff is None else f"{row.cutoff:g}", f"{row.blocks:,}",
                volume(row.volume), volume(row.tonnes), grade_figure(own.mean), volume(own.metal),
            ])  # fmt: skip
        return table(
            f"{ours} at or above cut-offs in {self._name}, weighted by tonnes", headings, cells,
            name=f"cutoffs-{self._number}-{place}",
        )  # fmt: skip

    def _contacts(self, place: int, theirs: str) -> str:
        """Return the charts of contacts with other labels, and notes on the other contacts."""
        figures = self._figures
        touching = figures.touching.get(self._name)
        if not touching or theirs not in figures.contacts:
            return ""
        by_pair = {frozenset(each.between): each for each in figures.contacts[theirs]}
        colours = {name: legible(colour) for name, colour in self._style.colours.items()}
        drawn: list[str] = []
        bare: list[str] = []
        more = touching[MOST_NEIGHBOURS:]
        for other in touching[:MOST_NEIGHBOURS]:
            pair = frozenset((self._name, other))
            if pair not in by_pair:
                more.append(other)
                continue
            contact = replace(by_pair[pair], colours=colours)
            if not all(side.samples for side in contact.sides):
                bare.append(other or "(background)")
                continue
            names = " and ".join(each or "(background)" for each in contact.between)
            chart = chart_svg(
                contact.chart(self._style.unit),
                f"contact-{self._number}-{place}-{len(drawn)}",
                f"{theirs} by distance from the contact of {names}",
                high=210,
            )
            sentence = contact.step_sentence
            drawn.append(
                f'<div class="contact">{chart}<p class="hint">'
                f"{escape(sentence[0].upper() + sentence[1:])}.</p></div>"
            )
        notes = [self._without_conditions] if drawn and self._without_conditions else []
        if bare:
            most = self._style.length(figures.contacts[theirs][0].settings.max)
            notes.append(
                f"Without samples on both sides within {most} of the contact: {', '.join(bare)}."
            )
        if more:
            listed = ", ".join(each or "(background)" for each in more[:_MOST_ROWS])
            listed += f" and {len(more) - _MOST_ROWS:,} more" if len(more) > _MOST_ROWS else ""
            notes.append(f"Smaller contacts, which are not drawn: {listed}.")
        text = f'<p class="hint">{escape(" ".join(notes))}</p>' if notes else ""
        return (
            f'<h4>Contacts</h4><div class="charts">{"".join(drawn)}</div>{text}' if drawn else text
        )

    @property
    def _without_conditions(self) -> str:
        """A sentence about domains whose conditions neither contacts nor crossings apply."""
        names = self._figures.conditional.get(self._name, ())
        if not names:
            return ""
        return (
            f"Contacts and crossings follow the wireframes alone: here {self._name} may include "
            f"what the conditions of {' and '.join(names)} take from it elsewhere on this page."
        )

    # --- Holes and sections.

    def _crossings(self) -> str:
        """Return a table of the first crossings of holes with the wireframes of the domain."""
        crossings = self._figures.crossings
        if crossings is None or self._name not in crossings.solids:
            return ""
        mine = np.flatnonzero(crossings.stays.domains == crossings.solids.index(self._name))
        if not len(mine):
            return '<p class="hint">No hole crosses the wireframes of this domain.</p>'
        stays = crossings.stays
        cells = [
            [
                escape(crossings.names[stays.holes[row]]),
                *(volume(each) for each in (
                    float(stays.begins[row]), float(stays.ends[row]),
                    float(stays.ends[row] - stays.begins[row]),
                )),
            ]
            for row in mine[:_MOST_ROWS].tolist()
        ]  # fmt: skip
        total = float((stays.ends[mine] - stays.begins[mine]).sum())
        holes = counted(len(np.unique(stays.holes[mine])), "hole")
        inside = f"{counted(len(mine), 'interval')} of {holes} inside {self._name}"
        text = f"{inside}, {self._style.length(total)} in all"
        if len(mine) > _MOST_ROWS:
            text += f"; the first {_MOST_ROWS} are shown, and all are in the JSON of this page"
        text = f"{text}. {self._without_conditions}".rstrip(". ")
        shown = table(
            f"Crossings of holes with {self._name}", ["hole", "from", "to", "length"], cells,
            name=f"crossings-{self._number}",
        )  # fmt: skip
        return f'<div>{shown}<p class="hint">{escape(text)}.</p></div>'

    def _pictures(self) -> str:
        """Return small sections, which link to the large ones."""
        pictures = self._style.pictures.get(self._name, ())
        if not pictures:
            return ""
        drawn = "".join(
            f'<a class="small" href="#section-{each.number}">'
            f'<svg viewBox="0 0 {each.size[0]} {each.size[1]}" role="img" font-size="210" '
            f'font-family="system-ui, sans-serif" aria-label="{escape(each.title, quote=True)}">'
            f'<use href="#drawing-{each.number}"/></svg>{escape(each.title)}</a>'
            for each in pictures
        )
        return f'<h4>Sections</h4><div class="charts sections">{drawn}</div>'


# The columns of the table of statistics.
_MEASURES = (
    ("min", "minimum"), ("Q1", "quartile_1"), ("median", "median"), ("Q3", "quartile_3"),
    ("P90", "p90"), ("P95", "p95"), ("P99", "p99"), ("max", "maximum"), ("mean", "mean"),
    ("variance", "variance"), ("CV", "cv"),
)  # fmt: skip


def _at_round_cutoffs(rows: list[TonnesRow]) -> list[TonnesRow]:
    """Return the row of all blocks, and a few rows whose cut-offs are multiples of a round step."""
    above = {row.cutoff: row for row in rows if row.cutoff}
    for most in range(_MOST_CUTOFFS if above else 0, 0, -1):
        cutoffs = [each for each in ticks(0.0, max(above), most) if each]
        if all(each in above for each in cutoffs):
            return [*rows[:1], *(above[each] for each in cutoffs)]
    return rows[:1]


def _share(share: float) -> str:
    """Return a share in percent, exact on hover."""
    return f'<data value="{share!r}" title="{share!r}">{share:.1%}</data>'


def histogram_of(title: str, some: Sequence[tuple[str, str, str, Side]]) -> Chart:
    """Return the histogram of sides, each with its name, the word for one value, and its colour."""
    values = np.concatenate([side.values for _, _, _, side in some])
    top = max(float(np.quantile(side.values, 0.99)) for _, _, _, side in some)
    classes = grade_classes_of(values, float(values.min()), top if top > 0 else 1.0)
    series = []
    for word, _, colour, side in some:
        weights = np.ones(len(side)) if side.weights is None else side.weights
        shares = classes.shares(side.values, weights)
        mean = Population(side.values, side.weights).mean
        series.append(Series(word, shares.tolist(), mean, colour))
    chart = histogram_chart(
        "Histogram", title, classes.edges, series, is_log=classes.is_log, what="of the weight"
    )
    if not classes.is_log:
        return chart
    hidden = [
        f"{side.at_zero:,} {kind}{'' if side.at_zero == 1 else 's'}"
        for _, kind, _, side in some
        if side.at_zero
    ]
    if not hidden:
        return chart
    (panel,) = chart.panels
    note = f"{' and '.join(hidden)} at 0 or below: off the axis"
    return chart._replace(subtitle=note, panels=[panel])


def curve_of_side(side: Side) -> Curve:
    """Return the distribution of samples or blocks with their weights."""
    population = Population(side.values, side.weights)
    return Curve(
        [float(share) for share in SHARES],
        [population.quantile(share) for share in SHARES],
        population.mean,
        side.at_zero,
    )


# --- Findings about the holes.


def findings_html(check: HoleCheck, unit: str, say: Callable[[str], str] = str) -> str:
    """Return tables of the rows of each table of holes, and of the findings about them.

    `say` writes the names of keywords.
    """
    rows = [
        [
            escape(key),
            escape(each.name),
            f"{each.rows:,}",
            f"{each.used:,}",
            escape(", ".join(f"{count:,} {code}" for code, count in each.not_used.items()) or "0"),
        ]
        for key, each in check.tables.items()
    ]
    length = f"{rounded(check.length, 4)} {unit}".strip()
    counts = ", ".join(counted(count, level) for level, count in check.counts.items())
    parts = [
        f"<p>{counted(check.holes, 'hole')}, {escape(length)} in all: {counts}.</p>",
        table("Rows of tables", ["table", "file", "rows", "used", "not used"], rows,
              name="hole-rows"),
    ]  # fmt: skip
    findings = sorted(check.findings, key=lambda each: LEVELS.index(each.level))
    if findings:
        cells = [
            [
                each.level,
                escape(each.what),
                f"<code>{escape(each.code)}</code>",
                escape(each.table),
                f"{each.count:,}",
                escape("; ".join(each.first)),
                escape(say(each.mend)),
            ]
            for each in findings
        ]
        headings = ["severity", "finding", "code", "table", "cases", "first cases", "what to do"]
        parts.append(table("Findings", headings, cells, name="findings"))
    return "".join(parts)


# --- JSON.


def figures_json(figures: DomainFigures, style: PageStyle) -> dict[str, object]:
    """Return all figures as plain values, ready for JSON."""
    return {
        "grades": [{"blocks": ours, "samples": theirs} for ours, theirs in figures.pairs],
        "distance_bands": list(figures.bands),
        "spacing": figures.spacing,
        "notes": figures.notes,
        "missing": figures.missing,
        "holes": None if figures.check is None else figures.check.as_dict(),
        "domains": [_Json(figures, style, row).values for row in style.shown],
    }


class _Json:
    """The figures of a domain as plain values."""

    def __init__(self, figures: DomainFigures, style: PageStyle, row: DomainRow) -> None:
        self._figures, self._style, self._row, self._name = figures, style, row, row.name

    @property
    def values(self) -> dict[str, object]:
        """All figures of the domain."""
        figures, style, row = self._figures, self._style, self._row
        near = figures.holes.get(self._name)
        return {
            "name": row.name,
            "label": row.label,
            "blocks": row.blocks,
            "share": row.share,
            "volume": row.volume,
            "samples": None if near is None else near.samples,
            "holes": None if near is None else near.holes,
            "spacing": None if near is None else near.spacing,
            "beyond": [] if near is None else list(near.beyond),
            "sample_statistics": self._of(figures.samples),
            "block_statistics": self._of(figures.blocks),
            "validation": {
                grade: {
                    "row": self._first(each.rows),
                    "quantiles": self._some(each.quantiles),
                    "swaths": self._some(each.swaths),
                }
                for grade, each in figures.validations.items()
            },
            "touching": figures.touching.get(self._name, []),
            "contacts": {
                grade: [each.as_dict() for each in some if self._name in each.between]
                for grade, some in figures.contacts.items()
            },
            "tonnes": self._tonnes(style.sums),
            "above_cutoffs": {grade: self._tonnes(sums) for grade, sums in style.above.items()},
            "crossings": self._crossings(),
            "sections": [each.title for each in style.pictures.get(self._name, ())],
        }

    def _of(self, statistics: Statistics | None) -> list[dict[str, object]]:
        return self._some(statistics.rows) if statistics else []

    def _some(self, rows: Sequence[object]) -> list[dict[str, object]]:
        return [asdict(row) for row in rows if row.domain == self._name]  # type: ignore[attr-defined, call-overload]

    def _first(self, rows: Sequence[object]) -> dict[str, object] | None:
        return next(iter(self._some(rows)), None)

    def _tonnes(self, sums: Tonnes | None) -> list[dict[str, object]]:
        rows = sums.domains if sums else ()
        return [asdict(row) for row in rows if row.domain == self._row.label]

    def _crossings(self) -> list[dict[str, object]]:
        """Return each stay of a hole in the wireframes, under the headings of its table."""
        crossings = self._figures.crossings
        if crossings is None:
            return []
        return [
            dict(zip(STAYS, values, strict=True))
            for values in crossings.stay_rows()
            if values[1] == self._name
        ]
