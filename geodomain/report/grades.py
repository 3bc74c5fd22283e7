"""Grades by domain for a report: histograms, tonnes and mean grade above cut-offs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from geodomain.io.header.keywords import TableKeywords
from geodomain.report.curves import curve_svg, histogram_svg
from geodomain.report.section_frame import ticks
from geodomain.report.shown_label import ShownLabel
from geodomain.report.tables import table, volume
from geodomain.volumes.tonnes import tonnes_file
from geodomain.volumes.tonnes_table import TonnesRow

Floats = NDArray[np.float64]

# Of histograms and of cut-offs; values above this share are left to the last bar.
_BARS, _CUTOFFS, _SHARE = 30, 24, 0.99
# Domains that are drawn, the largest first.
_MOST = 12


@dataclass(frozen=True)
class GradesAsked:
    """Which grades a report shows, and how heavy blocks are.

    Attributes
    ----------
    names : tuple of str
        Columns of grades.
    density : str or float, optional
        A column, or one number for all blocks; without it there are no tonnes.
    """

    names: tuple[str, ...] = ()
    density: str | float | None = None


def grades_html(
    model: str | os.PathLike[str],
    asked: GradesAsked,
    values: Mapping[str, Floats],
    codes: NDArray[np.int32],
    weights: Floats,
    labels: Sequence[ShownLabel],
    column: str,
    keywords: TableKeywords,
) -> str:
    """Return tables and drawings of grades by domain.

    Parameters
    ----------
    model : path
        The labelled model, which is read once more where there is a density.
    asked : GradesAsked
        What is to be shown.
    values : mapping of str to (n,) float64
        The grade of each block, NaN where it has none.
    codes, weights : (n,)
        The label of each block, and its volume.
    labels : sequence of ShownLabel
        What the codes stand for.
    column : str
        The column of labels.
    keywords : mapping
        What else says how the model is read.
    """
    parts = [_tonnes(model, asked, column, keywords)] if asked.density is not None else []
    for number, name in enumerate(asked.names):
        known = values[name]
        if not np.isfinite(known).any():
            parts.append(f"<p>No block has a number in the column {escape(name)}.</p>")
            continue
        is_domain = np.array([not label.ground for label in labels])[codes]
        typical = known[is_domain & np.isfinite(known)]
        top = float(np.quantile(typical, _SHARE)) if len(typical) else 0.0
        top = top if top > 0 else 1.0
        parts.append(f"<h3>{escape(name)}</h3>")
        parts.append(_histograms(name, number, known, top, codes, weights, labels))
        if asked.density is not None:
            rows = _above(model, asked, name, top, column, keywords)
            parts.append(_curves(name, number, rows, labels))
    return "".join(parts)


def _tonnes(
    model: str | os.PathLike[str], asked: GradesAsked, column: str, keywords: TableKeywords
) -> str:
    """Return volume, tonnes, mean grades and metal by domain."""
    assert asked.density is not None
    found = tonnes_file(model, density=asked.density, grade=asked.names, domain=column, **keywords)
    headings = ["domain", "blocks", "volume", "tonnes"]
    headings += [word for name in asked.names for word in (f"mean {name}", f"{name} metal")]
    lines = [(row.domain or "(no label)", row) for row in found.rows]
    lines += [("total", row) for row in found.totals]
    cells = [[escape(name), *_tonnes_cells(row)] for name, row in lines]
    return table("Tonnes and grade by domain", headings, cells, name="tonnes")


def _tonnes_cells(row: TonnesRow) -> list[str]:
    cells = [f"{row.blocks:,}", volume(row.volume), volume(row.tonnes)]
    for grade in row.grades:
        cells += ["" if grade.mean is None else f"{grade.mean:.6g}", volume(grade.metal)]
    return cells


def _histograms(
    name: str,
    number: int,
    known: Floats,
    top: float,
    codes: NDArray[np.int32],
    weights: Floats,
    labels: Sequence[ShownLabel],
) -> str:
    """Return a histogram of a grade for each domain, by volume."""
    edges = np.linspace(min(0.0, float(np.nanmin(known))), top, _BARS + 1)
    finite = np.isfinite(known)
    places = np.clip(np.searchsorted(edges, known[finite], side="right") - 1, 0, _BARS - 1)
    sums = np.bincount(
        codes[finite] * _BARS + places, weights[finite], len(labels) * _BARS
    ).reshape(-1, _BARS)
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
    said = f"Share of each domain's volume by {name}; the last bar holds all above {top:.4g}."
    return f'<p class="hint">{escape(said)}</p><div class="curves">{"".join(drawn)}</div>'


def _above(
    model: str | os.PathLike[str],
    asked: GradesAsked,
    name: str,
    top: float,
    column: str,
    keywords: TableKeywords,
) -> Sequence[TonnesRow]:
    """Return tonnes and mean grade above cut-offs by domain."""
    assert asked.density is not None
    cutoffs = ticks(0.0, top, _CUTOFFS)
    found = tonnes_file(
        model, density=asked.density, grade=name, domain=column, cutoff=cutoffs, **keywords
    )
    return [row for row in found.domains if row.cutoff is not None]


def _curves(name: str, number: int, rows: Sequence[TonnesRow], labels: Sequence[ShownLabel]) -> str:
    """Return a grade-tonnage curve for each domain, and its numbers as a table."""
    colours = {label.text: label.colour for label in labels if not label.ground}
    by_domain: dict[str, list[TonnesRow]] = {}
    for row in rows:
        if row.domain in colours:
            by_domain.setdefault(row.domain, []).append(row)
    order = sorted(by_domain, key=lambda domain: -by_domain[domain][0].tonnes)[:_MOST]
    drawn = [
        curve_svg(
            domain,
            colours[domain],
            [row.cutoff or 0.0 for row in by_domain[domain]],
            [row.tonnes for row in by_domain[domain]],
            [row.grades[0].mean for row in by_domain[domain]],
            f"{name}-{number}-{place}",
            name,
        )
        for place, domain in enumerate(order)
        if by_domain[domain][0].tonnes > 0
    ]
    cells = [
        [escape(domain), f"{row.cutoff:g}", *_tonnes_cells(row)]
        for domain in order
        for row in by_domain[domain]
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
