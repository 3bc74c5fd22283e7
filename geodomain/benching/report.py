"""Format the results of a benchmark as text and charts, with the published results.

R. Leung, "GPU implementation of a ray-surface intersection algorithm in CUDA", arXiv 2209.02878
(2022): Tables 1 to 3, and the memory of its version 2.1.
"""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from geodomain.benching.timing import Run
from geodomain.files.streams import replaced
from geodomain.query.segments import SegmentIntersector

if TYPE_CHECKING:
    import pyvista
    from matplotlib.axes import Axes

    from geodomain.benching.timing import Run

SOURCE = "R. Leung, arXiv 2209.02878 (2022)"
HEADING = "published, Titan X"
MACHINES = "GeForce GTX Titan X; libraries on a Core i7-8665U"
TRIANGLES, SEGMENTS = 29_284, 10_000_000
MIB = 1 << 20  # the paper's MB


class Published(NamedTuple):
    """A result from the paper: seconds for all segments (or NaN), and million tests a second.

    A test is one pair of a triangle and a segment.
    """

    seconds: float
    mega_tests_per_second: float


# Tables 1 and 3 under the names of our contenders; the last four are versions 1, 2.0, 2.1 and 2.2
# of the program. Table 3 repeats the preliminary times of Table 1.
RUNS = {
    "PyVista ray_trace": Published(384.5, 761.5),
    "VTK OBBTree": Published(92.3, 3_171.3),
    "PyVista multi_ray_trace": Published(60.6, 4_832.5),
    "geodomain brute (cuda)": Published(23.729, 12_340.5),
    "geodomain bvh, 1 block (cuda)": Published(5.022, 58_978.1),
    "geodomain bvh, 16 blocks (cuda)": Published(0.463, 632_071.5),
    "geodomain bvh, 16 blocks, sorted (cuda)": Published(0.228, 1_284_357.7),
}
# Results of others that Table 1 cites.
CITED = {
    "Jimenez et al. 2014, GTX 560 Ti": Published(nan, 2_742.0),
    "the same, scaled to a Titan X": Published(nan, 9_651.9),
}
# Table 2, in seconds, from its cumulative times. Codes include the centroids, and the tree includes
# clearing its nodes; the sort ran on the host.
BUILD = {
    "boxes of segments": 4.32e-3,
    "codes": (7.75 - 4.32) * 1e-3,
    "sort": (24.23 - 7.75) * 1e-3,
    "tree": (24.94 - 24.23) * 1e-3,
}
# Bytes of the ends of segments, of the answers, and of all other arrays; 267.8 MiB in all.
MEMORY = {
    "segments": round(2 * 114.4 * MIB),
    "answers, boolean": round(38.1 * MIB),
    "all else": round((267.8 - 2 * 114.4 - 38.1) * MIB),
}
NOTES = f"""\
Published: {SOURCE}; {SEGMENTS:,} segments, {TRIANGLES:,} triangles;
{MACHINES}. For about the same work here, use ten million rays.
The paper's version 1 is brute force, 2.0 a hierarchy with 1 block, 2.1 with 16 blocks, and 2.2
with sorted segments. The paper sorted codes on the host. Copying took 46.7 ms to the GPU and
3.3 ms back. The paper's 267.8 MB are MiB (2^20 bytes); an MB in these tables is 10^6 bytes."""


def as_dict() -> dict[str, object]:
    """Return the published results for JSON, with None instead of NaN."""
    runs = {
        name: {
            "seconds": None if each.seconds != each.seconds else each.seconds,
            "tests_per_second": each.mega_tests_per_second * 1e6,
        }
        for name, each in (RUNS | CITED).items()
    }
    return {
        "source": SOURCE,
        "machine": MACHINES,
        "triangles": TRIANGLES,
        "rays": SEGMENTS,
        "runs": runs,
        "build_seconds": BUILD,
        "memory_bytes": MEMORY,
    }


# --- The picture of a hierarchy: the boxes of one level over the surface.

_HEIGHTS = 4


class LevelError(ValueError):
    """Raised for a level that the hierarchy does not have."""


def draw_level(intersector: SegmentIntersector, level: int, path: Path) -> None:
    """Draw the boxes of one level of a surface's bounding volume hierarchy, over the surface.

    Parameters
    ----------
    intersector : SegmentIntersector
        The surface, with a hierarchy.
    level : int
        Level to draw; level 0 is the root.
    path : Path
        A PNG file, replaced if it exists.

    Raises
    ------
    LevelError
        If the hierarchy has no such level.
    OSError
        If the file cannot be written.
    """
    try:
        boxes = intersector.to_pyvista(level)
    except ValueError as error:  # raised before a window is opened
        raise LevelError(str(error)) from None
    with _quiet():
        _draw(intersector.mesh.to_pyvista(), boxes, level, path)


def _draw(surface: pyvista.PolyData, boxes: pyvista.PolyData, level: int, path: Path) -> None:
    """Write a picture of a surface and of the boxes of one level of its hierarchy."""
    # PyVista's types are too narrow for uses in its own documentation.
    pyvista: Any = importlib.import_module("pyvista")
    plotter = pyvista.Plotter(off_screen=True, window_size=(1400, 850))
    plotter.set_background("white")
    plotter.add_mesh(surface, color="#d8c7a3")
    plotter.add_mesh(boxes, style="wireframe", color="#b5382c", line_width=2, lighting=False)
    caption = f"Level {level} of the hierarchy: {boxes.n_cells // 6:,} boxes over "
    caption += f"{surface.n_cells:,} triangles. Heights are exaggerated {_HEIGHTS} times."
    plotter.add_text(caption, font_size=9, color="#222222", position="upper_left")
    plotter.set_scale(zscale=_HEIGHTS)
    plotter.view_vector((0.5, -1.0, 0.9))
    plotter.camera.zoom(1.35)
    try:
        picture = io.BytesIO()
        plotter.screenshot(picture)
        with replaced(path) as file:
            file.write(picture.getvalue())
    finally:
        plotter.close()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence VTK's message that there is no display; rendering to a file needs none."""
    from vtkmodules.vtkCommonCore import vtkLogger as logger

    logger.SetStderrVerbosity(logger.VERBOSITY_ERROR)
    try:
        yield
    finally:
        logger.SetStderrVerbosity(logger.VERBOSITY_INFO)


# --- The chart of a benchmark: rates and build times as dots, beside the published ones.

_OURS, _THEIRS, _PAPER, _INK = "#b5382c", "#7d868b", "#2b5f8a", "#222222"
_OUR_NAME = "geodomain"
_PUBLISHED = f"{HEADING}: {SOURCE}"


class ChartRow(NamedTuple):
    """A row of a chart: the measured value (or NaN), its text, and the published value."""

    value: float
    words: str
    paper: float = nan


def draw(report: Report, path: Path) -> None:
    """Draw the results of a benchmark; the extension of the path decides the picture format.

    Parameters
    ----------
    report : Report
        The results.
    path : Path
        The picture, replaced if it exists.

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
    title = f"{setting['rays']:,} segments against {setting['triangles']:,} triangles"
    figure.suptitle(f"{title}\n{setting['machine']}", color=_INK, fontsize=11)
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
    figure.savefig(picture, format=kind, bbox_inches="tight")  # numbers are outside the axes
    with replaced(path) as file:
        file.write(picture.getvalue())


def _rates(runs: Sequence[Run]) -> dict[str, ChartRow]:
    """Return, for each contender, millions of segments a second, measured and published."""
    rows = {}
    for run in runs:
        published = RUNS.get(run.name)
        paper = SEGMENTS / published.seconds / 1e6 if published else nan
        rate = nan if run.lacking else run.rays_per_second / 1e6
        rows[run.name] = ChartRow(rate, run.lacking or rounded(rate), paper)
    return rows


def _milliseconds(parts: dict[str, float]) -> dict[str, ChartRow]:
    return {
        name: ChartRow(1e3 * seconds, rounded(1e3 * seconds), 1e3 * BUILD.get(name, nan))
        for name, seconds in parts.items()
    }


def _draw_dots(axes: Axes, rows: dict[str, ChartRow]) -> None:
    """Draw the measured and the published value of each row as dots, and write the values."""
    values = [value for row in rows.values() for value in (row.value, row.paper) if value > 0]
    least, most = (min(values), max(values)) if values else (1.0, 1.0)
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
        elif _across(axes, row.paper) < 0.5:  # keep the text away from the published mark
            _write(axes, (0.99, place), row.words, _INK, "right")
        else:
            _write(axes, (0.01, place), row.words, _INK, "left")
        if row.paper > 0:
            _write(axes, (1.2, place), rounded(row.paper), _PAPER, "right")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False, labelsize=9, colors=_INK)


def _across(axes: Axes, value: float) -> float:
    """Return the horizontal position of a value in the chart, from 0 (left) to 1 (right)."""
    place = axes.transData.transform((value, 0.0))
    return float(axes.transAxes.inverted().transform(place)[0])


def _write(
    axes: Axes, place: tuple[float, float], words: str, colour: str, side: Literal["left", "right"]
) -> None:
    """Write text at `place`: a fraction of the chart's width, and a row.

    `side` is the alignment of the text.
    """
    axes.annotate(
        words, place, xycoords=("axes fraction", "data"), annotation_clip=False,
        horizontalalignment=side, verticalalignment="center", fontsize=7.5, color=colour,
    )  # fmt: skip


# --- The report of a benchmark, as data and as text.


class Setting(TypedDict):
    """The settings of a benchmark: sizes of the scene, repetitions and machine."""

    triangles: int
    rays: int
    crossing: int
    seed: int
    repeat: int
    threads: int
    machine: str


@dataclass(frozen=True)
class Report:
    """The results of one benchmark.

    Attributes
    ----------
    setting : dict
        Sizes of the scene, repetitions and machine.
    peers, strategies, modes : tuple of Run
        Results for Table 1 of the paper (other libraries and ours), for Table 3 (our strategies in
        boolean mode), and for our modes.
    build : dict of str to dict of str to float
        Results for Table 2: for each backend, seconds of each stage of building the hierarchy.
    memory : dict of str to dict of str to int
        For each backend, the number of bytes of each array of a query.
    absent : dict of str to str
        For each backend that could not be used, the reason.
    """

    setting: Setting
    peers: tuple[Run, ...]
    strategies: tuple[Run, ...]
    modes: tuple[Run, ...] = ()
    build: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, dict[str, int]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return plain values for JSON."""
        return {
            "setting": self.setting,
            "peers": _with_gains(self.peers),
            "strategies": _with_gains(self.strategies),
            "modes": _with_gains(self.modes),
            "build_seconds": self.build,
            "memory_bytes": self.memory,
            "published": as_dict(),
        }

    def __str__(self) -> str:
        """Return all tables as text."""
        return as_text(self)


def _with_gains(runs: Sequence[Run]) -> list[dict[str, object]]:
    return [run.as_dict() | {"gain": gain} for run, gain in zip(runs, gains(runs), strict=True)]


def gains(runs: Sequence[Run]) -> list[float | None]:
    """Return each contender's rate divided by the rate of the first contender that ran.

    The gain is None for contenders that did not run.
    """
    base = next((run.rays_per_second for run in runs if not run.lacking), math.nan)
    return [None if run.lacking else run.rays_per_second / base for run in runs]


def as_text(report: Report) -> str:
    """Return all tables as text."""
    cited = [Run(name, 0, lacking="not run here") for name in CITED]
    parts = [
        _setting(report.setting),
        _runs("Table 1. Libraries, from arrays; gain over the first", [*report.peers, *cited]),
        _shares("Table 2. Building the hierarchy", report.build, BUILD, _time),
        _runs("Table 3. Strategies of geodomain, loaded; gain over the first", report.strategies),
        _runs("Modes of geodomain, loaded; gain over the first", report.modes),
        _shares("Memory", report.memory, MEMORY, _bytes),
        "\n".join(f"{name} has no column: {why}" for name, why in report.absent.items()),
        NOTES,
        "Mi/s: million pairs of a triangle and a ray per second, as if every pair were tested.\n"
        "time: until the answers are in host memory, including copies from a GPU.\n"
        "wrong: answers that differ from exact arithmetic.",
    ]
    return "\n\n".join(part for part in parts if part)


def _setting(setting: Setting) -> str:
    """Return the settings of a benchmark as two lines of text."""
    return (
        f"{setting['triangles']:,} triangles, {setting['rays']:,} rays "
        f"({setting['crossing']:,} cross), seed {setting['seed']}, best of {setting['repeat']}, "
        f"{setting['threads']} threads\n{setting['machine']}"
    )


_HEADINGS = ("rays", "build", "load", "time", "rays/s", "Mi/s", "gain", "wrong")

Row = tuple[str, ...] | str  # the cells of a row, or a text instead


def _runs(title: str, runs: Sequence[Run]) -> str:
    """Return a table of the contenders' results, measured and published, as text."""
    ours: list[Row] = [_HEADINGS, *map(_cells, runs, gains(runs))]
    theirs: list[Row] = [("time", "Mi/s"), *(_published(run.name) for run in runs)]
    blocks = [_block("", ours)]
    if any(theirs[1:]):
        blocks.append(_block(HEADING, theirs))
    return _beside(title, [run.name for run in runs], blocks) if runs else ""


def _cells(run: Run, gain: float | None) -> Row:
    """Return a contender's results as texts, or the reason why it did not run."""
    if gain is None:
        return f"({run.lacking})"
    return (
        f"{run.rays:,}",
        _time(run.build_seconds),
        _time(run.load_seconds),
        _time(run.seconds),
        rounded(run.rays_per_second),
        rounded(run.tests_per_second / 1e6),
        f"{rounded(gain)}x",
        f"{run.differences:,}",
    )


def _published(name: str) -> Row:
    """Return a contender's published result as texts, with the digits that its paper prints."""
    row = (RUNS | CITED).get(name)
    if row is None:
        return ""
    seconds = "" if math.isnan(row.seconds) else f"{row.seconds:,} s"
    return seconds, f"{row.mega_tests_per_second:,}"


def _shares(
    title: str,
    machines: Mapping[str, Mapping[str, float]],
    paper: Mapping[str, float],
    say: Callable[[float], str],
) -> str:
    """Return a table of amounts with their percentages and sum, for each backend and the paper.

    `say` formats an amount.
    """
    columns = {**machines, HEADING: paper}
    names = list(dict.fromkeys(name for parts in columns.values() for name in parts))
    blocks = []
    for heading, parts in columns.items():
        total = sum(parts.values())
        values = [*(parts.get(name) for name in names), total]
        cells = [
            ("", "") if each is None else (say(each), f"{each / total:.0%}") for each in values
        ]
        blocks.append(_block(heading, [("", ""), *cells]))
    return _beside(title, [*names, "in all"], blocks) if machines else ""


def _block(heading: str, rows: Sequence[Row]) -> list[str]:
    """Return a heading and a table as lines of equal length; empty columns are left out."""
    full = [row for row in rows if not isinstance(row, str)]
    widths = [max(map(len, column)) if any(column[1:]) else 0 for column in zip(*full, strict=True)]
    texts = [
        row
        if isinstance(row, str)
        else "  ".join(cell.rjust(size) for cell, size in zip(row, widths, strict=True) if size)
        for row in rows
    ]
    width = max(map(len, [heading, *texts]))
    lines = [
        text.ljust(width) if isinstance(row, str) else text.rjust(width)
        for row, text in zip(rows, texts, strict=True)
    ]
    return [heading.rjust(width), *lines]


def _beside(title: str, names: list[str], blocks: list[list[str]]) -> str:
    """Return a title and tables side by side as text; a column of names is on the left."""
    width = max(map(len, names))
    lines = zip([name.ljust(width) for name in ["", "", *names]], *blocks, strict=True)
    texts = ["  ".join(parts).rstrip() for parts in lines]
    return "\n".join([title, *filter(None, texts)])


def _time(seconds: float) -> str:
    """Format a time with three significant figures and a suitable unit; "" for NaN."""
    if math.isnan(seconds):
        return ""
    unit, scale = next(
        ((unit, scale) for unit, scale in (("s", 1), ("ms", 1e3)) if seconds * scale >= 1),
        ("us", 1e6),
    )
    return f"{rounded(seconds * scale)} {unit}"


def _bytes(count: float) -> str:
    """Format a number of bytes with three significant figures and a suitable unit."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{rounded(count / scale)} {unit}"
    return f"{count} B"


def rounded(value: float) -> str:
    """Format a number with three significant figures, without an exponent."""
    if not math.isfinite(value) or value == 0:
        return str(value)
    value = float(f"{value:.2e}")
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
