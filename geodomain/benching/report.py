"""What a benchmark found, as data and as text; nothing is measured here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from geodomain.benching.timing import Run


@dataclass(frozen=True)
class Report:
    """Hold all that one benchmark measured.

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

    setting: dict[str, Any]
    peers: tuple[Run, ...]
    strategies: tuple[Run, ...]
    modes: tuple[Run, ...] = ()
    build: dict[str, dict[str, float]] = field(default_factory=dict)
    memory: dict[str, dict[str, int]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Give everything for JSON."""
        return {
            "setting": self.setting,
            "peers": _with_gains(self.peers),
            "strategies": _with_gains(self.strategies),
            "modes": _with_gains(self.modes),
            "build_seconds": self.build,
            "memory_bytes": self.memory,
        }


def _with_gains(runs: Sequence[Run]) -> list[dict[str, Any]]:
    return [run.as_dict() | {"gain": gain} for run, gain in zip(runs, gains(runs), strict=True)]


def gains(runs: Sequence[Run]) -> list[float | None]:
    """Return the rates over that of the first that ran; None for those that did not."""
    base = next((run.rays_per_second for run in runs if not run.lacking), math.nan)
    return [None if run.lacking else run.rays_per_second / base for run in runs]


_HEADINGS = ("", "rays", "build", "load", "time", "rays/s", "Mi/s", "gain", "differences")


def as_text(report: Report) -> str:
    """Lay out all the tables."""
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


def _setting(setting: dict[str, Any]) -> str:
    """Say what was measured where."""
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
    """Give the row of one contender: two cells where it did not run."""
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


def _shares(title: str, parts: dict[str, Any], say: Any) -> str:
    """Lay out the parts of a whole and their sum."""
    if not parts:
        return ""
    total = sum(parts.values())
    rows = [(name, say(part), part / total) for name, part in parts.items()]
    rows.append(("in all", say(total), 1.0))
    width, widest = (max(len(row[i]) for row in rows) for i in (0, 1))
    lines = [f"{name:{width}}  {text:>{widest}}  {share:4.0%}" for name, text, share in rows]
    return "\n".join([title, *lines])


def _time(seconds: float) -> str:
    """Say a time with three figures, in the unit that suits it."""
    if math.isnan(seconds):
        return ""
    unit, scale = next(
        ((unit, scale) for unit, scale in (("s", 1), ("ms", 1e3)) if seconds * scale >= 1),
        ("us", 1e6),
    )
    return f"{rounded(seconds * scale)} {unit}"


def _bytes(count: int) -> str:
    """Say bytes with three figures."""
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
