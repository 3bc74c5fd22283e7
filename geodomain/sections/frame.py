"""What stands about a section: axes, title, scale bar, north arrow, places of other sections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geodomain.sections.cutting import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

INK, _MARK = "#222222", "#c2185b"
_AXES = ("x, east", "y, north", "z, up")
_LOOKING = ("looking west", "looking north", "plan")
# Of blocks on whose lower faces a section lies.
_SIDES = ("east", "north", "upper")
# So many places of other sections are named; more would hide each other.
_MOST_NAMES = 8


def title_of(section: Section, stretch: float, *, on_faces: bool) -> str:
    """Say where a section is, how it is looked at, and which blocks it cuts if it is on faces."""
    taller = f", vertical x {stretch:g}" if stretch != 1 else ""
    faces = faces_said(section) if on_faces else ""
    return f"{section.axis} = {section.at:,.10g}, {_LOOKING[section.across]}{taller}{faces}"


def faces_said(section: Section) -> str:
    """Say in a title which blocks a section on faces cuts."""
    return f", on faces: blocks on the {_SIDES[section.across]} side"


def faces_warnings(sections: Sequence[Section]) -> list[str]:
    """Say that sections lie on faces of blocks, and which blocks are drawn: a sentence an axis."""
    found = []
    for across, side in enumerate(_SIDES):
        some = [one for one in sections if one.across == across]
        named = ", ".join(f"{one.axis} = {one.at:.10g}" for one in some[:5])
        more = f" and {len(some) - 5:,} more" if len(some) > 5 else ""
        if len(some) == 1:
            found.append(
                f"the section {named} lies on faces of blocks: those on its {side} side are drawn"
            )
        elif some:
            found.append(
                f"{len(some):,} sections ({named}{more}) lie on faces of blocks: those on their "
                f"{side} sides are drawn"
            )
    return found


def round_length(length: float, *, up: bool = False) -> float:
    """Return 1, 2 or 5 times a power of ten, not above a length, or not below."""
    power = 10.0 ** math.floor(math.log10(length))
    steps = (1, 2, 5, 10)
    part = length / power
    if up:
        return next(step for step in steps if step >= part - 1e-9) * power
    return max(step for step in steps if step <= part + 1e-9) * power


def draw_frame(axes: Axes, section: Section, title: str, unit: str, inches: Floats) -> None:
    """Draw the title and the axes of a panel that is so many inches wide and high."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    right, up = section.along
    said = f" ({unit})" if unit else ""
    axes.set_xlabel(_AXES[right] + said, fontsize=9)
    axes.set_ylabel(_AXES[up] + said, fontsize=9)
    axes.set_title(title, color=INK, loc="left", fontsize=11, pad=13)
    width, height = inches
    for axis, length in ((axes.xaxis, width), (axes.yaxis, 2 * height)):
        ticks = int(np.clip(length, 1, 6))
        axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.tick_params(labelsize=8)


def draw_scale_bar(axes: Axes, window: Floats, unit: str, inches: Floats) -> None:
    """Draw a bar of a round length below the right end of a panel."""
    wide = float(window[1, 0] - window[0, 0])
    length = round_length(wide / 5)
    share = length / wide
    down = -0.5 * 1.0 / float(inches[1])  # half an inch below the frame
    points = [1 - share, 1.0], [down, down]
    axes.plot(*points, transform=axes.transAxes, color=INK, lw=3, clip_on=False, gid="scale-bar")
    axes.annotate(
        f"{length:,.10g} {unit}".strip(),
        xy=(1 - share, down),
        xycoords="axes fraction",
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
        color=INK,
    )


def draw_north(axes: Axes, inches: Floats) -> None:
    """Draw an arrow to the north at the upper right of a plan, on blocks of any colour."""
    from matplotlib.patheffects import withStroke

    width, height = (float(one) for one in inches)
    x, top, down = 1 - 0.25 / width, 1 - 0.12 / height, 1 - 0.74 / height
    pale = [withStroke(linewidth=3.5, foreground="#ffffff")]
    arrow = {"arrowstyle": "-|>,head_width=0.35,head_length=0.7", "color": INK, "lw": 1.6}
    axes.annotate(
        "",
        xy=(x, top),
        xytext=(x, down),
        xycoords="axes fraction",
        arrowprops=arrow | {"path_effects": pale},
        zorder=9,
    )
    axes.annotate(
        "N",
        xy=(x, down),
        xycoords="axes fraction",
        ha="center",
        va="top",
        fontsize=11,
        fontweight="bold",
        color=INK,
        path_effects=pale,
        zorder=9,
        gid="north",
    )


def draw_marks(axes: Axes, section: Section, others: Sequence[Section], window: Floats) -> None:
    """Draw where the other sections cut this one, as dashed lines that their names stand at."""
    right, up = section.along
    named = len(others) <= _MOST_NAMES
    for other in others:
        along = 0 if other.across == right else 1
        if other.across not in (right, up) or not window[0, along] < other.at < window[1, along]:
            continue
        line = axes.axvline if along == 0 else axes.axhline
        line(other.at, color=_MARK, lw=0.9, ls=(0, (6, 4)), zorder=5, gid="section-mark")
        if named:
            # Above the frame, or within it, at its right end.
            place = (other.at, 1.0) if along == 0 else (1.0, other.at)
            axes.annotate(
                f"{other.axis} = {other.at:,.10g}",
                xy=place,
                xycoords=("data", "axes fraction") if along == 0 else ("axes fraction", "data"),
                xytext=(0, 2) if along == 0 else (-3, 2),
                textcoords="offset points",
                ha="center" if along == 0 else "right",
                va="bottom",
                fontsize=7,
                color=_MARK,
                zorder=8,
                bbox={"boxstyle": "square,pad=0.1", "fc": "#ffffff", "ec": "none", "alpha": 0.75},
            )
