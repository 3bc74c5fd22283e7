"""The look of sections: colours of domains, axes, title, scale bar and north arrow."""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from geodomain.compute.data import Floats
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.reporting.section_holes import Samples, samples_of
from geodomain.reporting.sections import Section
from geodomain.tables.numbers import BelowDetection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Told apart by people who see colours differently; then they come again, paler and darker.
_COLOURS = (
    "#b5382c", "#3d6b73", "#e6a532", "#6a4c93", "#5b8c3e", "#c97b9b",
    "#2f5d9b", "#8c5a2b", "#49a6a6", "#9b9b2f",
)  # fmt: skip
# What is no domain: background, and blocks without a label. Pale, in case a domain was given one.
_GROUNDS, _NOTHINGS = ("#e4e0d6", "#f1ecdf", "#d5d1c7"), ("#e9edf1", "#f5f7f9", "#dbe1e8")
# A block without a value, beside those that a ramp colours.
NO_VALUE = "#e9edf1"
# What a background is called where nothing says which label it is.
_USUAL_GROUND = {"waste", "background"}


def colours_of(names: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return each domain a colour that its name decides.

    Two names that would have the same colour are told apart, the one that sorts first keeps it.

    Parameters
    ----------
    names : iterable of str
        Of domains.
    chosen : mapping of str to str, optional
        Colours, #rrggbb, that are given.

    Returns
    -------
    dict of str to str
        In the order of the names.

    Examples
    --------
    >>> colours_of(["ORE", "DYKE"])["ORE"] == colours_of(["ORE"])["ORE"]
    True
    """
    listed, given = list(dict.fromkeys(names)), dict(chosen or {})
    taken = set(given.values())
    for name in sorted(set(listed) - given.keys()):
        given[name] = next(
            (colour for colour in _candidates(name) if colour not in taken), _candidates(name)[0]
        )
        taken.add(given[name])
    return {name: given[name] for name in listed}


def with_ground(
    names: Iterable[str], ground: Iterable[str], chosen: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return colours of domains, and a pale one that none of them has for all that is ground.

    Parameters
    ----------
    names : iterable of str
        Of domains; those that are ground are passed over.
    ground : iterable of str
        Labels of what is no domain; an empty one has a colour of its own.
    chosen : mapping of str to str, optional
        Colours, #rrggbb, that are given.
    """
    rest = set(ground)
    colours = colours_of((name for name in names if name and name not in rest), chosen)
    taken = set(colours.values())
    pale = next((one for one in _GROUNDS if one not in taken), _GROUNDS[0])
    nothing = next((one for one in _NOTHINGS if one not in taken), _NOTHINGS[0])
    return {name: pale if name else nothing for name in sorted(rest)} | colours


def usual_ground(labels: Iterable[str], domains: Collection[str]) -> list[str]:
    """Return the labels that are called as a background is, and as no domain."""
    return [one for one in labels if one.casefold() in _USUAL_GROUND and one not in domains]


def darker(colour: str) -> str:
    """Return a colour's darker sister."""
    return blended(colour, 0, 0.45)


def blended(colour: str, towards: int, share: float) -> str:
    """Mix a colour with some share of black, 0, or white, 255."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02x}" for part in parts)


def _candidates(name: str) -> list[str]:
    """Return thirty colours, the one that a name asks for first."""
    count = len(_COLOURS)
    first = zlib.crc32(name.encode()) % count
    turned = [_COLOURS[(first + step) % count] for step in range(count)]
    tiers = ((0, 0.0), (255, 0.5), (0, 0.4))
    return [blended(one, towards, share) for towards, share in tiers for one in turned]


# Style of a section.


@dataclass(frozen=True)
class Ramp:
    """Colours for a grade.

    Attributes
    ----------
    name : str
        Of the column, below the ramp.
    cmap : str
        One of matplotlib's colour maps.
    low, high : float
        The values at the ends of the ramp; higher ones have its last colour.
    highest : float
        Of all the values that are drawn.
    """

    name: str
    cmap: str
    low: float
    high: float
    highest: float


@dataclass(frozen=True)
class NearHoles:
    """Drillholes, how far from a section they are drawn on it, and what colours them."""

    holes: Drillholes
    within: float
    samples: Samples | None = None
    ramp: Ramp | None = None


@dataclass(frozen=True)
class Look:
    """How sections are drawn.

    Attributes
    ----------
    exaggerate : float
        How much longer a unit is drawn along z than along x and y.
    title : str
        Above all sections of a page; empty for none.
    unit : str
        Of coordinates, at the axes and the scale bar; empty for none.
    colours : mapping of str to str
        Of domains, where they were chosen.
    ramp : Ramp, optional
        Colours of a grade in the place of those of domains.
    near : NearHoles, optional
        Drillholes to project.
    paged : bool
        Whether each section has a page of its own, all of one frame.
    """

    exaggerate: float = 1.0
    title: str = ""
    unit: str = ""
    colours: Mapping[str, str] = field(default_factory=dict)
    ramp: Ramp | None = None
    near: NearHoles | None = None
    paged: bool = False

    @property
    def ramps(self) -> list[Ramp]:
        """The ramps to explain: of the blocks, and of samples where theirs is another one."""
        found = [self.ramp, self.near.ramp if self.near else None]
        return list(dict.fromkeys(one for one in found if one is not None))


def near_holes(
    holes: Drillholes | None,
    within: float | None,
    samples: TableLike | None,
    grade: str | None,
    below: BelowDetection | None = None,
) -> NearHoles | None:
    """Return the holes to project and their samples, before the model is read.

    The policy `below` for values below detection is for holes that were read without one.
    """
    if (samples is None) != (grade is None):
        message = "samples and their grade go together: give samples=, and grade= for their column"
        raise ValueError(message)
    if holes is None:
        if samples is not None:
            message = "samples are drawn along drillholes: give holes= and within= with them"
            raise ValueError(message)
        return None
    near = NearHoles(holes, _distance(within))
    if samples is None or grade is None:
        return near
    return replace(near, samples=samples_of(holes, samples, grade, below))


def _distance(within: float | None) -> float:
    """Return how near holes must be, or refuse to guess it."""
    if within is None or not 0 < within < math.inf:
        message = f"within is {within}: say how near drillholes are drawn, a length above 0"
        raise ValueError(message)
    return within


def ramp_of(name: str, cmap: str, values: Floats) -> Ramp | None:
    """Return a ramp from the lowest value to that which 98% do not exceed; None without values.

    A few high grades would leave all others one colour.
    """
    there = values[np.isfinite(values)]
    if not len(there):
        return None
    low, high, highest = float(there.min()), float(np.quantile(there, 0.98)), float(there.max())
    if high <= low:
        high = highest if highest > low else low + 1.0
    return Ramp(name, cmap, low, high, highest)


def require_cmap(name: str) -> None:
    """Raise ValueError for a colour map that there is not."""
    from matplotlib import colormaps

    if name not in colormaps:
        close = get_close_matches(name, list(colormaps), 1)
        hint = f"; did you mean {close[0]!r}?" if close else ": try 'viridis', 'magma' or 'turbo'"
        message = f"there is no colour map {name!r}{hint}"
        raise ValueError(message)


# Around a section: axes, title, scale bar, north arrow, other sections.

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
