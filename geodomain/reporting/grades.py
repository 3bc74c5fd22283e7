"""Grades by domain for a report: histograms, tonnes and mean grades above cut-offs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import DensityUnit
from geodomain.compute.data import Floats
from geodomain.errors import warn
from geodomain.reporting.blocks import Blocks, ShownLabel
from geodomain.reporting.svg import curve_svg, histogram_svg, ticks
from geodomain.reporting.tables import table, volume
from geodomain.volumes.tonnage import Tonnage, Wanted
from geodomain.volumes.tonnes import Tonnes, TonnesRow, report, tonnage_warnings

# Number of blocks added up at a time.
_TOGETHER = 1 << 18


@dataclass(frozen=True)
class _Part:
    """A range of rows of a model, with the methods of a batch that `Tonnage` accepts."""

    blocks: Blocks
    rows: slice

    def numbers(self, name: str) -> Floats:
        """Return the numbers of a column in these rows."""
        return self.blocks.numbers[name][self.rows]

    def labels(self, _: list[str]) -> tuple[list[str], NDArray[np.intp]]:
        """Return the distinct labels, and for each row the index of the row's label among them."""
        return self.blocks.labels, self.blocks.codes[self.rows].astype(np.intp)


def add_up(blocks: Blocks, wanted: Wanted) -> Tonnes:
    """Add up tonnes and grades as `geodomain.tonnes_file` does, from blocks in memory.

    Parameters
    ----------
    blocks : Blocks
        The model; its `numbers` hold the grades and the density.
    wanted : Wanted
        The grades and cut-offs to add up by label.
    """
    tonnage = Tonnage(wanted)
    for start in range(0, len(blocks.codes), _TOGETHER):
        part = _Part(blocks, slice(start, start + _TOGETHER))
        tonnage.add(blocks.points[part.rows], blocks.sizes[part.rows], part.numbers, part.labels)
    for sentence in tonnage_warnings(tonnage, negative=False):
        warn(sentence)
    return report(tonnage)


# Histograms, tonnes and mean grades.

# Numbers of bars and of cut-offs; the last bar includes all values above this quantile.
_BARS, _CUTOFFS, _SHARE = 30, 24, 0.99
# Number of domains drawn, the largest first.
_MOST = 12


@dataclass(frozen=True)
class GradesAsked:
    """The grade columns of a report, and the density of blocks.

    Attributes
    ----------
    names : tuple of str
        Grade columns.
    density : str or float, optional
        A column, or one number for all blocks. Tonnes are shown only if it is given.
    unit : DensityUnit, optional
        Unit of the density.
    """

    names: tuple[str, ...] = ()
    density: str | float | None = None
    unit: DensityUnit | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read as numbers."""
        density = (self.density,) if isinstance(self.density, str) else ()
        return tuple(dict.fromkeys([*self.names, *density]))


def grades_html(
    blocks: Blocks, grades: GradesAsked, labels: Sequence[ShownLabel], column: str
) -> tuple[str, list[str]]:
    """Return tables and drawings of grades by domain as HTML, and notes on them as texts.

    Parameters
    ----------
    blocks : Blocks
        The model; its `numbers` hold the grades and the density.
    grades : GradesAsked
        Grades and density to show.
    labels : sequence of ShownLabel
        How to show each label, in the order of the labels in `blocks`.
    column : str
        Label column.
    """
    tops = {name: _top(blocks, name, labels) for name in grades.names}
    sums = _sums(blocks, grades, tops, column)
    parts: list[str] = []
    notes: list[str] = []
    for whole in list(sums.values())[:1]:
        notes = [*whole.notes]
        parts.append(_tonnes(whole, grades.names, labels))
        parts += [f'<p class="hint">{escape(note)}</p>' for note in notes]
    for number, (name, top) in enumerate(tops.items()):
        if top is None:
            parts.append(f"<p>No block has a number in the column {escape(name)}.</p>")
            continue
        parts.append(f"<h3>{escape(name)}</h3>")
        parts.append(_histograms(name, number, top, blocks, labels))
        if name in sums:
            parts.append(_curves(name, number, sums[name], labels))
    return "".join(parts), notes


def _top(blocks: Blocks, name: str, labels: Sequence[ShownLabel]) -> float | None:
    """Return the upper end of a grade's axis, or None if no block has the grade."""
    values = blocks.numbers[name]
    finite = np.isfinite(values)
    if not finite.any():
        return None
    is_domain = np.array([not label.ground for label in labels])[blocks.codes]
    typical = values[is_domain & finite]
    top = float(np.quantile(typical, _SHARE)) if len(typical) else 0.0
    return top if top > 0 else 1.0


def _sums(
    blocks: Blocks, options: GradesAsked, tops: Mapping[str, float | None], column: str
) -> dict[str, Tonnes]:
    """Return, for each grade, tonnes and mean grade of each label above a series of cut-offs.

    The cut-offs of a grade run from 0 to the end of its axis. The result for the first grade also
    holds the means of all other grades. Without a density, the result is empty.
    """
    sums: dict[str, Tonnes] = {}
    if options.density is None:
        return sums
    for name, top in [one for one in tops.items() if one[1] is not None] or [("", None)]:
        cutoffs = () if top is None else tuple(ticks(0.0, top, _CUTOFFS))
        grades = (name,) if sums else options.names
        wanted = Wanted(
            column, options.density, grades, cut=name, cutoffs=cutoffs, density_unit=options.unit
        )
        sums[name] = add_up(blocks, wanted)
    return sums


def _tonnes(sums: Tonnes, names: Sequence[str], labels: Sequence[ShownLabel]) -> str:
    """Return an HTML table of volume, tonnes, mean grades and metal by domain."""
    headings = ["domain", "blocks", "volume", "tonnes"]
    headings += [word for name in names for word in (f"mean {name}", f"{name} metal")]
    rows = {row.domain: row for row in sums.rows if row.cutoff is None}
    order = sorted((label for label in labels if label.text in rows), key=lambda one: one.order)
    lines = [(label.name, rows[label.text]) for label in order]
    lines += [("total", row) for row in sums.totals if row.cutoff is None]
    cells = [[escape(name), *_tonnes_cells(row)] for name, row in lines]
    return table("Tonnes and grade by domain", headings, cells, name="tonnes")


def _tonnes_cells(row: TonnesRow) -> list[str]:
    cells = [f"{row.blocks:,}", volume(row.volume), volume(row.tonnes)]
    for grade in row.grades:
        cells += ["" if grade.mean is None else f"{grade.mean:.6g}", volume(grade.metal)]
    return cells


def _histograms(
    name: str, number: int, top: float, blocks: Blocks, labels: Sequence[ShownLabel]
) -> str:
    """Return HTML with a histogram for each domain: the share of the volume by grade."""
    values = blocks.numbers[name]
    edges = np.linspace(min(0.0, float(np.nanmin(values))), top, _BARS + 1)
    finite = np.isfinite(values)
    places = np.clip(np.searchsorted(edges, values[finite], side="right") - 1, 0, _BARS - 1)
    weights = blocks.sizes[finite].prod(axis=1)
    sums = np.bincount(blocks.codes[finite] * _BARS + places, weights, len(labels) * _BARS).reshape(
        -1, _BARS
    )
    order = [code for code in np.argsort(-sums.sum(axis=1)).tolist() if sums[code].any()]
    shown = [code for code in order if not labels[code].ground][:_MOST]
    drawn = [
        histogram_svg(
            labels[code].name,
            labels[code].colour,
            edges,
            sums[code] / sums[code].sum(),
            f"{name}-{number}-{code}",
            name,
        )
        for code in shown
    ]
    caption = f"Share of each domain's volume by {name}; the last bar includes all above {top:.4g}."
    return f'<p class="hint">{escape(caption)}</p><div class="curves">{"".join(drawn)}</div>'


def _curves(name: str, number: int, sums: Tonnes, labels: Sequence[ShownLabel]) -> str:
    """Return HTML with a grade-tonnage curve for each domain, and with a table of the values."""
    which = [grade.name for grade in sums.totals[0].grades].index(name)
    by_domain = {
        label: [row for row in sums.rows if row.domain == label.text and row.cutoff is not None]
        for label in labels
        if not label.ground
    }
    most = {label: rows[0].tonnes for label, rows in by_domain.items() if rows}
    order = sorted(most, key=lambda label: -most[label])[:_MOST]
    drawn = [
        curve_svg(
            label.name,
            label.colour,
            [row.cutoff or 0.0 for row in by_domain[label]],
            [row.tonnes for row in by_domain[label]],
            [row.grades[which].mean for row in by_domain[label]],
            f"{name}-{number}-{place}",
            name,
        )
        for place, label in enumerate(order)
        if most[label] > 0
    ]
    cells = [
        [
            escape(label.name),
            f"{row.cutoff:g}",
            *_tonnes_cells(replace(row, grades=(row.grades[which],))),
        ]
        for label in order
        for row in by_domain[label]
    ]
    headings = ["domain", f"{name} from", "blocks", "volume", "tonnes", f"mean {name}", "metal"]
    numbers = table(
        f"Tonnes and mean {name} above cut-offs", headings, cells, name=f"above-{number}"
    )
    return (
        '<p class="hint">Tonnes (line, left) and mean grade (dashes, right) of the blocks at or '
        f'above each cut-off.</p><div class="curves">{"".join(drawn)}</div>'
        f"<details><summary>The numbers as a table</summary>{numbers}</details>"
    )
