"""The report of a benchmark, as data and as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from geodomain.benching import published
from geodomain.benching.timing import Run


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
            "published": published.as_dict(),
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
    cited = [Run(name, 0, lacking="not run here") for name in published.CITED]
    parts = [
        _setting(report.setting),
        _runs("Table 1. Libraries, from arrays; gain over the first", [*report.peers, *cited]),
        _shares("Table 2. Building the hierarchy", report.build, published.BUILD, _time),
        _runs("Table 3. Strategies of geodomain, loaded; gain over the first", report.strategies),
        _runs("Modes of geodomain, loaded; gain over the first", report.modes),
        _shares("Memory", report.memory, published.MEMORY, _bytes),
        "\n".join(f"{name} has no column: {why}" for name, why in report.absent.items()),
        published.NOTES,
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
        blocks.append(_block(published.HEADING, theirs))
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
    found = (published.RUNS | published.CITED).get(name)
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
    columns = {**machines, published.HEADING: paper}
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
