"""The chart of a benchmark: rates and build times as dots, what is published beside them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from geodomain.benching import published
from geodomain.benching.report import rounded
from geodomain.io.files.streams import replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geodomain.benching.report import Report
    from geodomain.benching.timing import Run

_OURS, _THEIRS, _PAPER, _INK = "#b5382c", "#7d868b", "#2b5f8a", "#222222"
_OUR_NAME = "geodomain"
_PUBLISHED = f"{published.HEADING}: {published.SOURCE}"


class Row(NamedTuple):
    """One line of a panel: what was measured, or NaN and why not; and what is published."""

    value: float
    words: str
    paper: float = nan


def draw(report: Report, path: Path) -> None:
    """Draw a report in the format that the path's extension names.

    Parameters
    ----------
    report : Report
        What was measured.
    path : Path
        Where to; a file that is there is replaced.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    panels = [
        ("Table 1. Libraries", "million segments a second, from arrays", _rates(report.peers)),
        *(
            (f"Table 2. Building the hierarchy ({backend})", "milliseconds", _milliseconds(parts))
            for backend, parts in report.build.items()
        ),
        ("Table 3. Strategies", "million segments a second, loaded", _rates(report.strategies)),
        ("Modes", "million segments a second, loaded", _rates(report.modes)),
    ]
    panels = [panel for panel in panels if panel[-1]]
    lines = [len(rows) + 2.2 for *_, rows in panels]
    figure = Figure(figsize=(10.5, 1.1 + 0.27 * sum(lines)), dpi=150, layout="constrained")
    setting = report.setting
    said = f"{setting['rays']:,} segments against {setting['triangles']:,} triangles"
    figure.suptitle(f"{said}\n{setting['machine']}", color=_INK, fontsize=11)
    columns = figure.subplots(len(panels), 1, height_ratios=lines, squeeze=False)[:, 0]
    for axes, (title, unit, rows) in zip(columns, panels, strict=True):
        _draw_dots(axes, rows)
        axes.set_title(title, loc="left", fontsize=10, color=_INK)
        axes.set_xlabel(unit, fontsize=9, color=_INK)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=_OURS, label="geodomain"),
        Line2D([], [], marker="o", linestyle="", color=_THEIRS, label="other libraries"),
        Line2D([], [], marker="D", linestyle="", color=_PAPER, fillstyle="none", label=_PUBLISHED),
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, frameon=False, fontsize=9)
    picture = io.BytesIO()
    kind = path.suffix.removeprefix(".") or None
    figure.savefig(picture, format=kind, bbox_inches="tight")  # numbers stand beside the axes
    with replaced(path) as file:
        file.write(picture.getvalue())


def _rates(runs: Sequence[Run]) -> dict[str, Row]:
    """Return millions of segments a second, of the contenders that ran and of the paper."""
    rows = {}
    for run in runs:
        known = published.RUNS.get(run.name)
        paper = published.SEGMENTS / known.seconds / 1e6 if known else nan
        rate = nan if run.lacking else run.rays_per_second / 1e6
        rows[run.name] = Row(rate, run.lacking or rounded(rate), paper)
    return rows


def _milliseconds(parts: dict[str, float]) -> dict[str, Row]:
    return {
        name: Row(1e3 * seconds, rounded(1e3 * seconds), 1e3 * published.BUILD.get(name, nan))
        for name, seconds in parts.items()
    }


def _draw_dots(axes: Axes, rows: dict[str, Row]) -> None:
    """Draw two dots to a line, the first on top, and their numbers beside it."""
    known = [each for row in rows.values() for each in (row.value, row.paper) if each > 0]
    least, most = (min(known), max(known)) if known else (1.0, 1.0)
    if most > 50 * least:
        axes.set_xscale("log")
        axes.set_xlim(least / 3, 3 * most)
    else:
        axes.set_xlim(0, 1.1 * most)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    others = any(name.startswith(_OUR_NAME) for name in rows)
    for place, (name, row) in enumerate(rows.items()):
        ours = name.startswith(_OUR_NAME) or not others
        colour = _OURS if ours else _THEIRS
        axes.plot(row.value, place, "o", color=colour)
        axes.plot(row.paper, place, "D", color=_PAPER, fillstyle="none")
        if row.value > 0:
            _write(axes, (1.1, place), row.words, colour, "right")
        elif _across(axes, row.paper) < 0.5:  # words are where the paper's mark is not
            _write(axes, (0.99, place), row.words, _INK, "right")
        else:
            _write(axes, (0.01, place), row.words, _INK, "left")
        if row.paper > 0:
            _write(axes, (1.2, place), rounded(row.paper), _PAPER, "right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False, labelsize=9, colors=_INK)


def _across(axes: Axes, value: float) -> float:
    """Return where a value lies between the left side, 0, and the right, 1."""
    place = axes.transData.transform((value, 0.0))
    return float(axes.transAxes.inverted().transform(place)[0])


def _write(
    axes: Axes, place: tuple[float, float], words: str, colour: str, side: Literal["left", "right"]
) -> None:
    """Write words at a share of the width, on a line; `side` is where they end or begin."""
    axes.annotate(
        words, place, xycoords=("axes fraction", "data"), annotation_clip=False,
        horizontalalignment=side, verticalalignment="center", fontsize=7.5, color=colour,
    )  # fmt: skip
