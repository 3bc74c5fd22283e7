"""The chart of a benchmark: the rates of all contenders, and the build times."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from geodomain.benching.report import rounded
from geodomain.io.files.streams import replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from geodomain.benching.report import Report
    from geodomain.benching.timing import Run

_OURS, _THEIRS, _INK = "#b5382c", "#9aa3a8", "#222222"
_OUR_NAME = "geodomain"

Bars = dict[str, tuple[float, str]]  # by name: its length, and what stands beside it


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

    panels = [
        ("Libraries", "million segments a second, from arrays", _rates(report.peers)),
        ("Strategies", "million segments a second, loaded beforehand", _rates(report.strategies)),
        ("Modes", "million segments a second, loaded beforehand", _rates(report.modes)),
        *(
            (f"Building the hierarchy ({backend})", "milliseconds", _milliseconds(parts))
            for backend, parts in report.build.items()
        ),
    ]
    panels = [panel for panel in panels if any(length for length, _ in panel[-1].values())]
    lines = [len(values) + 2 for *_, values in panels]
    figure = Figure(figsize=(9, 0.7 + 0.31 * sum(lines)), dpi=150, layout="constrained")
    setting = report.setting
    said = f"{setting['rays']:,} segments against {setting['triangles']:,} triangles"
    figure.suptitle(f"{said}\n{setting['machine']}", color=_INK, fontsize=11)
    columns = figure.subplots(len(panels), 1, height_ratios=lines, squeeze=False)[:, 0]
    for axes, (title, unit, values) in zip(columns, panels, strict=True):
        _draw_bars(axes, values)
        axes.set_title(title, loc="left", fontsize=10, color=_INK)
        axes.set_xlabel(unit, fontsize=9, color=_INK)
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix.removeprefix(".") or None)
    with replaced(path) as file:
        file.write(picture.getvalue())


def _rates(runs: Sequence[Run]) -> Bars:
    """Return the rates in millions of the contenders that ran, and why the others did not."""
    return {
        run.name: (0.0, run.lacking)
        if run.lacking
        else (run.rays_per_second / 1e6, rounded(run.rays_per_second / 1e6))
        for run in runs
    }


def _milliseconds(parts: dict[str, float]) -> Bars:
    return {name: (1e3 * seconds, rounded(1e3 * seconds)) for name, seconds in parts.items()}


def _draw_bars(axes: Axes, bars: Bars) -> None:
    """Draw a bar for each contender, the first on top; logarithmic if rates differ much."""
    lengths = [length for length, _ in bars.values()]
    others = any(name.startswith(_OUR_NAME) for name in bars)
    colours = [_THEIRS if others and not name.startswith(_OUR_NAME) else _OURS for name in bars]
    shortest, longest = min(filter(None, lengths)), max(lengths)
    logarithmic = longest > 50 * shortest
    nothing = shortest / 3 if logarithmic else 0.0
    drawn = axes.barh(list(bars), [each or nothing for each in lengths], color=colours, height=0.7)
    axes.bar_label(drawn, [said for _, said in bars.values()], padding=4, fontsize=8)
    axes.invert_yaxis()
    if logarithmic:
        axes.set_xscale("log")
        axes.set_xlim(nothing, longest * 8)
    else:
        axes.set_xlim(0, 1.2 * longest)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False, labelsize=9, colors=_INK)
