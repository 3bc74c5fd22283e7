"""The picture of a benchmark: rates of everyone beside each other, and what building takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodomain.benching.report import rounded

if TYPE_CHECKING:
    from geodomain.benching.report import Report
    from geodomain.benching.timing import Run

_OURS, _THEIRS, _INK = "#b5382c", "#9aa3a8", "#222222"
_OUR_NAME = "geodomain"


def draw(report: Report, path: Path) -> None:
    """Draw a report as a PNG, or whatever the ending of the path asks matplotlib for.

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

    panels = [
        ("Libraries", "segments a second, from arrays", _rates(report.peers)),
        ("Strategies", "segments a second, loaded beforehand", _rates(report.strategies)),
        *(
            (f"Building the hierarchy ({backend})", "milliseconds", _milliseconds(parts))
            for backend, parts in report.build.items()
        ),
    ]
    panels = [panel for panel in panels if panel[-1]]
    lines = [len(values) + 2 for *_, values in panels]
    figure = Figure(figsize=(9, 0.7 + 0.31 * sum(lines)), dpi=150, layout="constrained")
    figure.suptitle(f"Segments against {report.setting['triangles']:,} triangles", color=_INK)
    columns = figure.subplots(len(panels), 1, height_ratios=lines, squeeze=False)[:, 0]
    for axes, (title, unit, values) in zip(columns, panels, strict=True):
        _draw_bars(axes, values)
        axes.set_title(title, loc="left", fontsize=10, color=_INK)
        axes.set_xlabel(unit, fontsize=9, color=_INK)
    figure.savefig(path)


def _rates(runs: Sequence[Run]) -> dict[str, float]:
    """Return the rates of those that ran."""
    return {run.name: run.rays_per_second for run in runs if not run.lacking}


def _milliseconds(parts: dict[str, float]) -> dict[str, float]:
    return {name: 1e3 * seconds for name, seconds in parts.items()}


def _draw_bars(axes: Any, values: dict[str, float]) -> None:
    """Draw a bar for each, the first on top; logarithmic where they are far apart."""
    names, lengths = list(values), list(values.values())
    others = any(name.startswith(_OUR_NAME) for name in names)
    colours = [_THEIRS if others and not name.startswith(_OUR_NAME) else _OURS for name in names]
    bars = axes.barh(names, lengths, color=colours, height=0.7)
    axes.bar_label(bars, [rounded(value) for value in lengths], padding=4, fontsize=8)
    axes.invert_yaxis()
    if max(lengths) > 50 * min(lengths):
        axes.set_xscale("log")
        axes.set_xlim(min(lengths) / 3, max(lengths) * 8)
    else:
        axes.set_xlim(0, 1.2 * max(lengths))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False, labelsize=9, colors=_INK)
