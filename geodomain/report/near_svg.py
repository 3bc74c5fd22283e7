"""Drillholes near a section and the grades of their samples, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodomain.report.section_frame import TOP, Window
from geodomain.sections.cutting import Section
from geodomain.sections.look import NearHoles, Ramp
from geodomain.sections.near_holes import lines_near
from geodomain.sections.samples import samples_near

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# From low to high, told apart by people who see colours differently, in grey too (viridis).
_COLOURS = (
    "#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725",
)  # fmt: skip
_INK = "#222222"
# More names would hide each other.
_MOST_NAMES, _LETTER = 60, 140
# Units that a line may leave its hole by, and points that a hole has at most.
_SLACK, _MOST_POINTS = 4, 24


@dataclass(frozen=True)
class GradeClass:
    """A step of a ramp: its colour, and the grades that it stands for."""

    colour: str
    said: str


def grade_classes(ramp: Ramp) -> list[GradeClass]:
    """Return the steps of a ramp, low to high; the last one has all that is higher too."""
    edges = np.linspace(ramp.low, ramp.high, len(_COLOURS) + 1).tolist()
    named = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    if ramp.highest > ramp.high:
        named[-1] = f"{edges[-2]:.3g} to {ramp.highest:.3g}"
    return [GradeClass(*both) for both in zip(_COLOURS, named, strict=True)]


def near_svg(section: Section, window: Window, near: NearHoles) -> str:
    """Draw the holes near a section, square onto it, with their names and samples.

    Parameters
    ----------
    section : Section
        The plane.
    window : Window
        From coordinates to units of the drawing.
    near : NearHoles
        Holes, how near they must be, and samples with the ramp of their grade.
    """
    holes = lines_near(section, near.holes, near.within)
    if not holes:
        return ""
    lines = _drawn([line for _, line in holes], window)
    path = _path(lines)
    sampled = _samples(section, window, near)
    first = {name: line[0] for (name, _), line in zip(holes[::-1], lines[::-1], strict=True)}
    words = [
        f'<text x="{x}" y="{y}" font-size="{_LETTER}" fill="{_INK}" stroke="#fff" '
        f'stroke-width="40" paint-order="stroke">{escape(name)}</text>'
        for name, x, y in _names(first)
    ]
    # A hole that is seen from above is a dot.
    width = 40 if section.axis == "z" else 16 if sampled else 26
    return (
        f'<path stroke="#fff" stroke-width="60" d="{path}"/>{sampled}'
        f'<path stroke="{_INK}" stroke-width="{width}" d="{path}"/>{"".join(words)}'
    )


def _names(first: Mapping[str, Ints]) -> list[tuple[str, int, int]]:
    """Return names and their places beside where holes begin, but no two over each other."""
    found: list[tuple[str, int, int]] = []
    for name, at in first.items() if len(first) <= _MOST_NAMES else ():
        x, y = int(at[0]) + 50, max(int(at[1]) - 50, TOP + _LETTER)
        if not any(
            abs(y - other_y) < _LETTER and x < other_x + _wide(other) and other_x < x + _wide(name)
            for other, other_x, other_y in found
        ):
            found.append((name, x, y))
    return found


def _wide(name: str) -> float:
    """Return about how long a name is."""
    return 0.62 * _LETTER * (len(name) + 1)


def _samples(section: Section, window: Window, near: NearHoles) -> str:
    """Draw samples as bars along their holes, one path to a step of the ramp."""
    if near.samples is None or near.ramp is None:
        return ""
    lines, values = samples_near(section, near.holes, near.within, near.samples)
    share = (values - near.ramp.low) / (near.ramp.high - near.ramp.low)
    steps = np.clip(np.floor(share * len(_COLOURS)), 0, len(_COLOURS) - 1).astype(int)
    bars = _drawn(lines, window)
    parts = [f'<path stroke="#fff" stroke-width="94" stroke-linecap="butt" d="{_path(bars)}"/>']
    for step in np.unique(steps).tolist():
        path = _path([bars[row] for row in np.flatnonzero(steps == step).tolist()])
        parts.append(
            f'<path stroke="{_COLOURS[step]}" stroke-width="74" stroke-linecap="butt" d="{path}"/>'
        )
    return "".join(parts) if bars else ""


def _drawn(lines: Sequence[Floats], window: Window) -> list[Ints]:
    """Return lines in units of the drawing, with as few points as show them."""
    if not lines:
        return []
    ends = np.cumsum([len(line) for line in lines])
    return [_fewer(line) for line in np.split(window.units(np.concatenate(lines)), ends[:-1])]


def _fewer(line: Ints) -> Ints:
    """Return the ends of a line that is straight, and some of the points of one that is not."""
    along = (line[-1] - line[0]).astype(np.float64)
    length = float(np.hypot(*along))
    offsets = (line - line[0]).astype(np.float64)
    if length == 0:
        away = np.hypot(offsets[:, 0], offsets[:, 1])
    else:
        away = np.abs(offsets[:, 0] * along[1] - offsets[:, 1] * along[0]) / length
    some = np.array([0, len(line) - 1])
    if (away > _SLACK).any():
        some = np.unique(np.linspace(0, len(line) - 1, _MOST_POINTS).astype(np.intp))
    found: Ints = line[some]
    return found


def _path(lines: Sequence[Ints]) -> str:
    """Return one path of lines."""
    return "".join("M" + "L".join(f"{x} {y}" for x, y in line.tolist()) for line in lines)
