"""The report of a benchmark, as data and as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict

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
        Tables 1 and 2: other libraries and ours, our strategies for whether a
        segment crosses, and our modes.
    build : dict of str to dict of str to float
        Table 3: for each backend, seconds of each part of building the hierarchy.
    memory : dict of str to dict of str to int
        For each backend, bytes of each array that a query needs.
    """

    setting: Setting
    peers: tuple[Run, ...]
    strategies: tuple[Run, ...]
    modes: tuple[Run, ...] = ()
    build: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, dict[str, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "setting": self.setting,
            "peers": _with_gains(self.peers),
            "strategies": _with_gains(self.strategies),
            "modes": _with_gains(self.modes),
            "build_seconds": self.build,
            "memory_bytes": self.memory,
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


_HEADINGS = ("", "rays", "build", "load", "time", "rays/s", "Mi/s", "gain", "differences")


def as_text(report: Report) -> str:
    """Return all the tables as text."""
    parts = [
        _setting(report.setting),
        _runs("Table 1. Libraries on this machine; gain over the first", report.peers),
        _runs("Table 2. Strategies of geodomain; gain over the first", report.strategies),
        _runs("Modes of geodomain; gain over the first", report.modes),
        *(
            _shares(f"Table 3. Building the hierarchy ({backend})", parts, _time)
            for backend, parts in report.build.items()
        ),
        *(
            _shares(f"Memory ({backend})", parts, _bytes)
            for backend, parts in report.memory.items()
        ),
        "Brute force is the paper's version 1; a hierarchy asked by one block 2.0, by sixteen 2.1, "
        "and with sorted rays 2.2.\n"
        "Mi/s: million pairs of a triangle and a ray a second, as if every pair were tried.\n"
        "time: until the answers are in memory, copied back from a GPU.\n"
        "differences: answers that are not those of exact arithmetic.",
    ]
    return "\n\n".join(part for part in parts if part)


def _setting(setting: Setting) -> str:
    """Describe the setting of the measurements."""
    return (
        f"{setting['triangles']:,} triangles, {setting['rays']:,} rays "
        f"({setting['crossing']:,} cross), seed {setting['seed']}, best of {setting['repeat']}, "
        f"{setting['threads']} threads\n{setting['machine']}"
    )


def _runs(title: str, runs: Sequence[Run]) -> str:
    """Lay out a table of contenders."""
    if not runs:
        return ""
    rows = [_HEADINGS, *map(_cells, runs, gains(runs))]
    width = max(len(row[0]) for row in rows)
    full = [row for row in rows if len(row) > 2]
    # A column that says nothing of anyone is left out.
    widths = [max(map(len, column)) if any(column[1:]) else 0 for column in zip(*full, strict=True)]
    lines = [title]
    for name, *rest in rows:
        if len(rest) > 1:
            rest = [
                cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True) if width
            ]
        lines.append("  ".join([name.ljust(width), *rest]).rstrip())
    return "\n".join(lines)


def _cells(run: Run, gain: float | None) -> tuple[str, ...]:
    """Return the row of one contender: two cells if it did not run."""
    if gain is None:
        return run.name, f"({run.lacking})"
    return (
        run.name,
        f"{run.rays:,}",
        _time(run.build_seconds),
        _time(run.load_seconds),
        _time(run.seconds),
        rounded(run.rays_per_second),
        rounded(run.tests_per_second / 1e6),
        f"{rounded(gain)}x",
        f"{run.differences:,}",
    )


def _shares(title: str, parts: Mapping[str, float], say: Callable[[float], str]) -> str:
    """Lay out the parts of a whole and their sum."""
    if not parts:
        return ""
    total = sum(parts.values())
    names, values = [*parts, "in all"], [*parts.values(), total]
    texts = [say(value) for value in values]
    width, widest = max(map(len, names)), max(map(len, texts))
    lines = [
        f"{name:{width}}  {text:>{widest}}  {value / total:4.0%}"
        for name, text, value in zip(names, texts, values, strict=True)
    ]
    return "\n".join([title, *lines])


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
