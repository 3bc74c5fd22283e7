"""Small drawings of grades as SVG, styled by presentation attributes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from geodomain.report.section_frame import ticks
from geodomain.sections.colours import darker

Floats = NDArray[np.float64]

_WIDE, _HIGH = 420, 240
_LEFT, _RIGHT, _TOP, _FOOT = 62, 372, 34, 196
_INK = 'fill="currentColor"'


def histogram_svg(
    domain: str, colour: str, edges: Floats, shares: Floats, name: str, grade: str
) -> str:
    """Draw the shares of a domain's volume between edges of a grade.

    Parameters
    ----------
    domain, colour : str
        What is drawn, and how.
    edges : (k + 1,) float64
    shares : (k,) float64
        0 to 1.
    name : str
        Makes identifiers unique.
    grade : str
        Below the axis.
    """
    most = float(shares.max()) or 1.0
    parts = []
    for left, right, share in zip(edges[:-1], edges[1:], shares.tolist(), strict=True):
        x, end = _across(float(left), edges), _across(float(right), edges)
        y = _FOOT - (_FOOT - _TOP) * share / most
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(end - x - 1, 0.5):.1f}" '
            f'height="{_FOOT - y:.1f}" fill="{colour}" stroke="{darker(colour)}" '
            'stroke-width="0.6"/>'
        )
    parts += _bottom(float(edges[0]), float(edges[-1]), edges, grade)
    parts += _side([value for value in ticks(0.0, most, 3) if value <= most], most, percent=True)
    mean = float((shares * (edges[:-1] + edges[1:]) / 2).sum())
    said = f"Histogram of {grade} in {domain}; mean about {mean:.3g}"
    return _drawing(domain, said, f"histogram-{name}", parts)


def curve_svg(
    domain: str,
    colour: str,
    cutoffs: Sequence[float],
    tonnes: Sequence[float],
    means: Sequence[float | None],
    name: str,
    grade: str,
) -> str:
    """Draw tonnes and mean grade above cut-offs.

    Parameters
    ----------
    domain, colour : str
        What is drawn, and how.
    cutoffs, tonnes : sequence of float
        Ascending cut-offs, and the tonnes at or above each.
    means : sequence of float or None
        The mean grade of those; None where there are none.
    name : str
        Makes identifiers unique.
    grade : str
        Below the axis.
    """
    edges = np.array([cutoffs[0], cutoffs[-1] or 1.0])
    most = max(tonnes)
    highest = max((mean for mean in means if mean is not None), default=1.0) or 1.0
    line = _path(cutoffs, [one / most for one in tonnes], edges)
    there = [(at, mean) for at, mean in zip(cutoffs, means, strict=True) if mean is not None]
    dashes = _path([at for at, _ in there], [mean / highest for _, mean in there], edges)
    parts = [
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="3"/>',
        f'<path d="{dashes}" fill="none" stroke="currentColor" stroke-width="1.6" '
        'stroke-dasharray="5 4"/>',
    ]
    parts += _bottom(float(edges[0]), float(edges[1]), edges, f"{grade} from")
    parts += _side([value for value in ticks(0.0, most, 3) if value <= most], most)
    for value in ticks(0.0, highest, 3):
        y = _FOOT - (_FOOT - _TOP) * min(value / highest, 1)
        parts.append(f'<text {_INK} x="{_RIGHT + 6}" y="{y + 4:.1f}">{value:.4g}</text>')
    said = f"Grade-tonnage curve of {grade} in {domain}"
    return _drawing(domain, said, f"curve-{name}", parts)


def _drawing(title: str, said: str, name: str, parts: Sequence[str]) -> str:
    frame = (
        f'<path d="M{_LEFT} {_TOP}V{_FOOT}H{_RIGHT}V{_TOP}" fill="none" stroke="currentColor" '
        'stroke-opacity="0.5"/>'
    )
    name = "".join(one if one.isalnum() else "-" for one in name)
    return (
        f'<svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-labelledby="{name}" font-size="12" '
        f'font-family="system-ui, sans-serif"><title id="{name}">{escape(said)}</title>'
        f'<text {_INK} x="{_LEFT}" y="20" font-size="14" font-weight="600">{escape(title)}</text>'
        f"{''.join(parts)}{frame}</svg>"
    )


def _across(value: float, edges: Floats) -> float:
    length = float(edges[-1] - edges[0]) or 1.0
    return _LEFT + (_RIGHT - _LEFT) * (value - float(edges[0])) / length


def _path(across: Sequence[float], up: Sequence[float], edges: Floats) -> str:
    places = [
        f"{_across(x, edges):.1f} {_FOOT - (_FOOT - _TOP) * y:.1f}"
        for x, y in zip(across, up, strict=True)
    ]
    return f"M{'L'.join(places)}" if places else ""


def _bottom(low: float, high: float, edges: Floats, grade: str) -> list[str]:
    marks = ticks(low, high, 5) if high > low else [low]
    return [
        f'<text {_INK} x="{_across(value, edges):.1f}" y="{_FOOT + 16}" '
        f'text-anchor="middle">{value:.4g}</text>'
        for value in marks
    ] + [
        f'<text {_INK} x="{(_LEFT + _RIGHT) / 2}" y="{_FOOT + 34}" '
        f'text-anchor="middle">{escape(grade)}</text>'
    ]


def _side(values: Sequence[float], most: float, *, percent: bool = False) -> list[str]:
    return [
        f'<text {_INK} x="{_LEFT - 6}" y="{_FOOT - (_FOOT - _TOP) * value / most + 4:.1f}" '
        f'text-anchor="end">{_short(value, percent=percent)}</text>'
        for value in values
    ]


def _short(value: float, *, percent: bool) -> str:
    """Say a number in few characters."""
    if percent:
        return f"{value:.0%}" if value >= 0.01 or not value else f"{value:.1%}"
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"
