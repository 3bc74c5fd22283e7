"""The frame of a section as SVG: from coordinates to units, ticks, scale, north."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.sections.cutting import Section
from geodomain.sections.frame import round_length

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Units of the drawing: what is drawn is at most so wide and high, with margins for words.
_WIDTH, _HEIGHT = 10_000, 6_000
LEFT, TOP, RIGHT, BELOW = 1_300, 200, 600, 800
# Flatter than this, z is drawn longer.
_FLATTEST = 0.25
_NAMES = ("x, east", "y, north", "z, up")
_INK = 'fill="currentColor"'


class Window:
    """From coordinates of a section to units of the drawing; y goes down there."""

    def __init__(self, section: Section, extent: Floats) -> None:
        along = list(section.along)
        self.low, self.high = extent[0, along], extent[1, along]
        wide, high = (self.high - self.low).tolist()
        self.stretch = 1.0
        if section.axis != "z" and high / wide < _FLATTEST:
            self.stretch = _round_factor(_FLATTEST * wide / high)
        self.scale = min(_WIDTH / wide, _HEIGHT / (high * self.stretch))
        self.scales = np.array([self.scale, self.scale * self.stretch])
        self.size = np.ceil((self.high - self.low) * self.scales).astype(int)

    def units(self, places: Floats) -> Ints:
        """Return units of places, (..., 2)."""
        flat = np.clip((places - self.low) * self.scales, -1e7, 1e7)
        flat[..., 1] = self.size[1] - flat[..., 1]
        units: Ints = np.round(flat + np.array([LEFT, TOP])).astype(np.int64)
        return units


def frame_svg(section: Section, window: Window, marks: Sequence[Section]) -> str:
    """Draw the frame, its ticks with coordinates, and where the other sections are."""
    right, up = section.along
    wide, high = window.size.tolist()
    foot = TOP + high
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}" fill="none" '
        'stroke="currentColor" stroke-width="12"/>'
    ]
    for value in ticks(window.low[0], window.high[0], max(2, wide // 1700)):
        x = window.units(np.array([value, window.low[1]]))[0]
        parts.append(f'<path stroke="currentColor" stroke-width="12" d="M{x} {foot}v70"/>')
        parts.append(
            f'<text {_INK} x="{x}" y="{foot + 290}" text-anchor="middle">{value:,.10g}</text>'
        )
    for value in ticks(window.low[1], window.high[1], max(2, high // 700)):
        y = window.units(np.array([window.low[0], value]))[1]
        parts.append(f'<path stroke="currentColor" stroke-width="12" d="M{LEFT} {y}h-70"/>')
        parts.append(
            f'<text {_INK} x="{LEFT - 110}" y="{y + 70}" text-anchor="end" font-size="170">'
            f"{value:,.10g}</text>"
        )
    for mark in marks:
        if mark.across == right:
            x = window.units(np.array([mark.at, window.low[1]]))[0]
            parts.append(_mark(f"M{x} {TOP - 90}v180M{x} {foot - 90}v180"))
        elif mark.across == up:
            y = window.units(np.array([window.low[0], mark.at]))[1]
            parts.append(_mark(f"M{LEFT - 60} {y}h150M{LEFT + wide - 90} {y}h180"))
    parts.append(f'<text {_INK} x="{LEFT}" y="{foot + 640}">{_NAMES[right]} →</text>')
    parts.append(
        f'<text {_INK} x="0" y="0" text-anchor="end" '
        f'transform="translate(170 {TOP}) rotate(-90)">{_NAMES[up]} →</text>'
    )
    return "".join(parts)


def _mark(path: str) -> str:
    """Draw where another section is."""
    return f'<path stroke="#c2185b" stroke-width="26" d="{path}"/>'


def scale_bar_svg(window: Window) -> str:
    """Draw a bar of a round length."""
    wide, high = window.size.tolist()
    length = round_length((window.high[0] - window.low[0]) / 4)
    units = round(length * window.scale)
    x, y = LEFT + wide - units, TOP + high + 600
    return (
        f'<path stroke="currentColor" stroke-width="40" d="M{x} {y}h{units}"/>'
        f'<text {_INK} x="{x - 80}" y="{y + 60}" text-anchor="end">{length:,.10g} units</text>'
    )


def north_svg(window: Window) -> str:
    """Draw an arrow to the north."""
    x, y = LEFT + int(window.size[0]) - 250, TOP + 200
    return (
        f'<g stroke="#fff" stroke-width="30" paint-order="stroke">'
        f'<path fill="#111" d="M{x} {y}l110 420l-110 -90l-110 90z"/>'
        f'<text x="{x}" y="{y + 640}" text-anchor="middle" fill="#111">N</text></g>'
    )


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return round values between two, at most so many."""
    step = round_length((high - low) / most, up=True)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _round_factor(factor: float) -> float:
    """Return a round exaggeration near a factor."""
    return min((1, 2, 3, 5, 10, 20, 50, 100), key=lambda one: abs(math.log(one / factor))) * 1.0
