"""What the paper reports, to stand beside what this machine does; nothing is measured here.

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
MIB = 1 << 20  # what the paper calls MB


class Published(NamedTuple):
    """One row: seconds for all segments, NaN if not reported, and millions of pairs a second."""

    seconds: float
    mega_tests_per_second: float


# Tables 1 and 3, by the names of our contenders: versions 1, 2.0, 2.1 and 2.2 of the program are
# the last four. Of Table 1's preliminary times the paper repeats all in Table 3.
RUNS = {
    "PyVista ray_trace": Published(384.5, 761.5),
    "VTK OBBTree": Published(92.3, 3_171.3),
    "PyVista multi_ray_trace": Published(60.6, 4_832.5),
    "geodomain brute (cuda)": Published(23.729, 12_340.5),
    "geodomain bvh, 1 block (cuda)": Published(5.022, 58_978.1),
    "geodomain bvh, 16 blocks (cuda)": Published(0.463, 632_071.5),
    "geodomain bvh, 16 blocks, sorted (cuda)": Published(0.228, 1_284_357.7),
}
# What Table 1 cites from elsewhere.
CITED = {
    "Jimenez et al. 2014, GTX 560 Ti": Published(nan, 2_742.0),
    "the same, scaled to a Titan X": Published(nan, 9_651.9),
}
# Table 2, in seconds: differences of what it gives cumulatively. Codes include the centroids,
# the tree the clearing of its nodes; the sort was the host's.
BUILD = {
    "boxes of segments": 4.32e-3,
    "codes": (7.75 - 4.32) * 1e-3,
    "sort": (24.23 - 7.75) * 1e-3,
    "tree": (24.94 - 24.23) * 1e-3,
}
# Bytes: both ends of the segments, the answers, and what is left of 267.8 MiB.
MEMORY = {
    "segments": round(2 * 114.4 * MIB),
    "answers, boolean": round(38.1 * MIB),
    "all else": round((267.8 - 2 * 114.4 - 38.1) * MIB),
}
NOTES = f"""\
Published: {SOURCE}; {SEGMENTS:,} segments, {TRIANGLES:,} triangles;
{MACHINES}. About the same work here: ten million rays.
Brute force is its version 1, a hierarchy asked by 1 block 2.0, by 16 blocks 2.1, and with
sorted segments 2.2; its codes were sorted on the host. Its copies took 46.7 ms to the GPU and
3.3 ms back. Its 267.8 MB are of 2^20 bytes; MB in these tables are of 10^6."""


def as_dict() -> dict[str, object]:
    """Return everything for JSON, None where there is no number."""
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


# --- The picture of a hierarchy: the boxes of one level over the surface, drawn off-screen.

_HEIGHTS = 4


class LevelError(ValueError):
    """A level that the hierarchy does not have."""


def draw_level(intersector: SegmentIntersector, level: int, path: Path) -> None:
    """Draw the boxes of a level of the hierarchy over its surface.

    Parameters
    ----------
    intersector : SegmentIntersector
        The surface, with a hierarchy.
    level : int
        0 is the whole.
    path : Path
        A PNG file; one that is there is replaced.

    Raises
    ------
    LevelError
        If there is no such level.
    OSError
        If the file cannot be written.
    """
    try:
        boxes = intersector.to_pyvista(level)
    except ValueError as error:  # before a window is made
        raise LevelError(str(error)) from None
    with _quiet():
        _draw(intersector.mesh.to_pyvista(), boxes, level, path)


def _draw(surface: pyvista.PolyData, boxes: pyvista.PolyData, level: int, path: Path) -> None:
    """Draw a surface and the boxes around its parts."""
    # Typed too narrowly in PyVista, whose own documentation uses it otherwise.
    pyvista: Any = importlib.import_module("pyvista")
    plotter = pyvista.Plotter(off_screen=True, window_size=(1400, 850))
    plotter.set_background("white")
    plotter.add_mesh(surface, color="#d8c7a3")
    plotter.add_mesh(boxes, style="wireframe", color="#b5382c", line_width=2, lighting=False)
    said = f"Level {level} of the hierarchy: {boxes.n_cells // 6:,} boxes over "
    said += f"{surface.n_cells:,} triangles. Heights are exaggerated {_HEIGHTS} times."
    plotter.add_text(said, font_size=9, color="#222222", position="upper_left")
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
    """Silence VTK's message about a missing display, which it does not need."""
    from vtkmodules.vtkCommonCore import vtkLogger as logger

    logger.SetStderrVerbosity(logger.VERBOSITY_ERROR)
    try:
        yield
    finally:
        logger.SetStderrVerbosity(logger.VERBOSITY_INFO)


# --- The chart of a benchmark: rates and build times as dots, what is published beside them.

_OURS, _THEIRS, _PAPER, _INK = "#b5382c", "#7d868b", "#2b5f8a", "#222222"
_OUR_NAME = "geodomain"
_PUBLISHED = f"{HEADING}: {SOURCE}"


class ChartRow(NamedTuple):
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


def _rates(runs: Sequence[Run]) -> dict[str, ChartRow]:
    """Return millions of segments a second, of the contenders that ran and of the paper."""
    rows = {}
    for run in runs:
        known = RUNS.get(run.name)
        paper = SEGMENTS / known.seconds / 1e6 if known else nan
        rate = nan if run.lacking else run.rays_per_second / 1e6
        rows[run.name] = ChartRow(rate, run.lacking or rounded(rate), paper)
    return rows


def _milliseconds(parts: dict[str, float]) -> dict[str, ChartRow]:
    return {
        name: ChartRow(1e3 * seconds, rounded(1e3 * seconds), 1e3 * BUILD.get(name, nan))
        for name, seconds in parts.items()
    }


def _draw_dots(axes: Axes, rows: dict[str, ChartRow]) -> None:
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


# --- The report of a benchmark, as data and as text.


class Setting(TypedDict):
    """What was asked, and of what machine."""

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
        What was asked and of what machine.
    peers, strategies, modes : tuple of Run
        Tables 1 and 3 of the paper: other libraries and ours, our strategies for whether a
        segment crosses; and our modes.
    build : dict of str to dict of str to float
        Table 2: for each backend, seconds of each part of building the hierarchy.
    memory : dict of str to dict of str to int
        For each backend, bytes of each array that a query needs.
    absent : dict of str to str
        Why a backend has neither.
    """

    setting: Setting
    peers: tuple[Run, ...]
    strategies: tuple[Run, ...]
    modes: tuple[Run, ...] = ()
    build: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, dict[str, int]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
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
        """Return all the tables as text."""
        return as_text(self)


def _with_gains(runs: Sequence[Run]) -> list[dict[str, object]]:
    return [run.as_dict() | {"gain": gain} for run, gain in zip(runs, gains(runs), strict=True)]


def gains(runs: Sequence[Run]) -> list[float | None]:
    """Return the rates over that of the first that ran; None for those that did not."""
    base = next((run.rays_per_second for run in runs if not run.lacking), math.nan)
    return [None if run.lacking else run.rays_per_second / base for run in runs]


def as_text(report: Report) -> str:
    """Return all the tables as text."""
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
        "Mi/s: million pairs of a triangle and a ray a second, as if every pair were tried.\n"
        "time: until the answers are in memory, copied back from a GPU.\n"
        "wrong: answers that are not those of exact arithmetic.",
    ]
    return "\n\n".join(part for part in parts if part)


def _setting(setting: Setting) -> str:
    """Describe the setting of the measurements."""
    return (
        f"{setting['triangles']:,} triangles, {setting['rays']:,} rays "
        f"({setting['crossing']:,} cross), seed {setting['seed']}, best of {setting['repeat']}, "
        f"{setting['threads']} threads\n{setting['machine']}"
    )


_HEADINGS = ("rays", "build", "load", "time", "rays/s", "Mi/s", "gain", "wrong")

Row = tuple[str, ...] | str  # the cells of a table, or words in their place


def _runs(title: str, runs: Sequence[Run]) -> str:
    """Lay out a table of contenders, and what is published of them."""
    ours: list[Row] = [_HEADINGS, *map(_cells, runs, gains(runs))]
    theirs: list[Row] = [("time", "Mi/s"), *(_published(run.name) for run in runs)]
    blocks = [_block("", ours)]
    if any(theirs[1:]):
        blocks.append(_block(HEADING, theirs))
    return _beside(title, [run.name for run in runs], blocks) if runs else ""


def _cells(run: Run, gain: float | None) -> Row:
    """Return what was measured of one contender, or why it did not run."""
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
    """Return what the paper reports of a contender, in its own digits."""
    found = (RUNS | CITED).get(name)
    if found is None:
        return ""
    seconds = "" if math.isnan(found.seconds) else f"{found.seconds:,} s"
    return seconds, f"{found.mega_tests_per_second:,}"


def _shares(
    title: str,
    machines: Mapping[str, Mapping[str, float]],
    paper: Mapping[str, float],
    say: Callable[[float], str],
) -> str:
    """Lay out the parts of a whole and their sum, for each backend and for the paper."""
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
    """Return lines as long as each other: columns that say nothing of anyone are left out."""
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
    """Put a column of names and blocks of lines beside each other, below a title."""
    width = max(map(len, names))
    lines = zip([name.ljust(width) for name in ["", "", *names]], *blocks, strict=True)
    texts = ["  ".join(parts).rstrip() for parts in lines]
    return "\n".join([title, *filter(None, texts)])


def _time(seconds: float) -> str:
    """Format a time with three figures in a suitable unit."""
    if math.isnan(seconds):
        return ""
    unit, scale = next(
        ((unit, scale) for unit, scale in (("s", 1), ("ms", 1e3)) if seconds * scale >= 1),
        ("us", 1e6),
    )
    return f"{rounded(seconds * scale)} {unit}"


def _bytes(count: float) -> str:
    """Format bytes with three figures."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{rounded(count / scale)} {unit}"
    return f"{count} B"


def rounded(value: float) -> str:
    """Write three figures of a number, without a power of ten."""
    if not math.isfinite(value) or value == 0:
        return str(value)
    value = float(f"{value:.2e}")
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
