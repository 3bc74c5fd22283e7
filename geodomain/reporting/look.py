"""The style of sections: colours of domains, axes, title, scale bar and north arrow."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import open_model
from geodomain.reporting.planes import Section
from geodomain.reporting.sections import Samples, samples_of
from geodomain.statistics.charts import round_length
from geodomain.tables.numbers import BelowDetection
from geodomain.tables.options import TableOptions
from geodomain.volumes.tonnes import has_decimal_commas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Palettes: warm for ore, cool for waste, green to mauve for other names; strong colours come first.
# Any two of these colours are at least 15 apart in CIELAB, for normal sight, deuteranopia and
# protanopia; a background and air are 12 apart from them: `tests/reporting/test_colours.py`.
_PALETTES = {
    "ore": (
        ("#9c2400", "#cc5400", "#cc9c00", "#900024"),
        ("#a86c3c", "#c09c48", "#fccc24", "#fccc60"),
    ),
    "waste": (
        ("#2454a8", "#0c6c84", "#0090e4", "#3c3c78"),
        ("#244854", "#0084b4", "#30c0fc", "#a8d8fc"),
    ),
    "other": (
        ("#60906c", "#0c786c", "#a8a86c", "#c09cc0"),
        ("#78c09c", "#00603c", "#9ce4a8", "#d8d884"),
    ),
}  # fmt: skip
# Smallest distances between two colours, tried in this order.
_APART = (30.0, 22.0, 15.0)
# Smallest distance of a shade, if the colours of a palette are used up.
_DISTINCT = 5.0
# Pale colours of the background and of blocks without a label; the others are used if a domain has
# the first one. Air is white.
_GROUNDS, _NOTHINGS = ("#d3dbe0", "#e2e8ed", "#c3ced7"), ("#f4f3ef", "#f9f8f5", "#e9e8e2")
_WHITE = "#ffffff"
# Colour of blocks without a value when a ramp colours the others.
NO_VALUE = "#e9edf1"
# Labels that mean background if the user names no background.
_USUAL_GROUND = {"waste", "background"}

# Words of names, without digits, that tell the kind of a domain; the first kind that fits counts.
_WORDS = {
    "air": r"air|sky|void|atmosphere",
    "cover": r"cover|overburden|(top)?soil|alluvium|colluvium|till",
    "waste": r"wastes?|host|country|barren|basement|d[yi]kes?|sills?|intrusi(on|ve)s?|fw|hw"
    r"|footwall|hangingwall|interburden|partings?|dilution|rock|background|outside|rest|none",
    "ore": r"ore(s|body|bodies)?|lodes?|veins?|reefs?|seams?|coal|min|minerali[sz](ed|ation)|hg|mg"
    r"|lg|(high|low)grade|sul(ph|f)ides?|gossan|skarn|stockwork|pegmatites?|kimberlite|gold|copper",
}


def kind_of_name(name: str) -> str:
    """Return "air", "cover", "waste", "ore" or "other": what the words of a domain's name suggest.

    Examples
    --------
    >>> [kind_of_name(name) for name in ("ORE_2", "Air", "waste dyke", "D1")]
    ['ore', 'air', 'waste', 'other']
    """
    words = re.findall(r"[^\W\d_]+", name.casefold())
    kinds = (
        kind for kind, pattern in _WORDS.items() if any(re.fullmatch(pattern, w) for w in words)
    )
    return next(kinds, "other")


def colours_of(names: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """Assign each domain a colour derived from its name: warm for ore, cool for waste.

    A name whose colour would be too similar to the colour of another domain gets the next colour
    of its palette. Ore comes first, then waste, then other names, each in alphabetical order.
    Air is white.

    Parameters
    ----------
    names : iterable of str
        Names of domains.
    chosen : mapping of str to str, optional
        Colours, #rrggbb, that the user chose.

    Returns
    -------
    dict of str to str
        In the order of the names.

    Examples
    --------
    >>> colours_of(["ORE", "DYKE"])["ORE"] == colours_of(["ORE"])["ORE"]
    True
    >>> colours_of(["AIR"])
    {'AIR': '#ffffff'}
    """
    listed, colours = list(dict.fromkeys(names)), dict(chosen or {})
    kinds = {name: kind_of_name(name) for name in listed}
    rank = ("ore", "waste", "cover", "other", "air").index
    for name in sorted(set(listed) - colours.keys(), key=lambda name: (rank(kinds[name]), name)):
        is_air = kinds[name] == "air" and _WHITE not in colours.values()
        colours[name] = _WHITE if is_air else _free(name, kinds[name], list(set(colours.values())))
    return {name: colours[name] for name in listed}


def with_ground(
    names: Iterable[str], ground: Iterable[str], chosen: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Assign colours to domains; assign background labels a pale colour that no domain has.

    Parameters
    ----------
    names : iterable of str
        Names of domains; background labels among them are skipped.
    ground : iterable of str
        Background labels; the empty label has its own colour, and air is white.
    chosen : mapping of str to str, optional
        Colours, #rrggbb, that the user chose.
    """
    rest = set(ground)
    colours = colours_of((name for name in names if name and name not in rest), chosen)
    used = set(colours.values())
    pale = next((colour for colour in _GROUNDS if colour not in used), _GROUNDS[0])
    nothing = next((colour for colour in _NOTHINGS if colour not in used), _NOTHINGS[0])
    pales = {
        name: nothing if not name else _WHITE if kind_of_name(name) == "air" else pale
        for name in sorted(rest)
    }
    return pales | colours


def usual_ground(labels: Iterable[str], domains: Collection[str]) -> list[str]:
    """Return the labels that usually mean background, such as waste, and are not domains."""
    return [name for name in labels if name.casefold() in _USUAL_GROUND and name not in domains]


def darker(colour: str) -> str:
    """Return a darker shade of a colour."""
    return blended(colour, 0, 0.45)


def legible(colour: str) -> str:
    """Return a colour for lines and points: a darker shade if the colour is pale.

    Examples
    --------
    >>> legible("#ffffff"), legible("#2050b0")
    ('#8c8c8c', '#2050b0')
    """
    bright = sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) / 3
    return darker(colour) if bright > 180 else colour


def blended(colour: str, towards: int, share: float) -> str:
    """Mix a colour with black (`towards` is 0) or white (255), in the proportion `share`."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02x}" for part in parts)


def _free(name: str, kind: str, used: Sequence[str]) -> str:
    """Return a colour for a name that is far enough from the colours that are taken.

    If no colour of the name's palette is far enough, the most distant of its paler and darker
    shades is returned, and after these, the most distant colour of any palette.
    """
    own = {"cover": "waste", "air": "other"}.get(kind, kind)
    at = zlib.crc32(name.encode()) % len(_PALETTES[own][0])
    colours = [shade for part in _PALETTES[own] for shade in (*part[at:], *part[:at])]
    apart = _apart_from(colours, used)
    for least in _APART:
        for colour, distance in zip(colours, apart, strict=True):
            if distance >= least:
                return colour
    every = [shade for parts in _PALETTES.values() for part in parts for shade in part]
    for some in (colours, every):
        shades = [*some, *(blended(shade, to, 0.4) for to in (255, 0) for shade in some)]
        distance, colour = max(zip(_apart_from(shades, used), shades, strict=True))
        if distance >= _DISTINCT:
            break
    return colour


# Colours as they are seen with normal sight, and without red or green receptors: matrices of
# Machado, Oliveira and Fernandes (2009) for linear RGB, severity 1.
_SIGHTS = np.array(
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]],
    ]
)  # fmt: skip
# Linear sRGB to XYZ with white at 1.
_XYZ = np.array(
    [[0.412456, 0.357576, 0.180438], [0.212673, 0.715152, 0.072175], [0.019334, 0.119192, 0.950304]]
)
_XYZ /= _XYZ.sum(axis=1, keepdims=True)


@cache
def _lab(colour: str) -> Floats:
    """Return a colour's CIELAB coordinates (3, 3): a row for each kind of sight."""
    share = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(_SIGHTS @ linear, 0, 1) @ _XYZ.T
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116).T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def _apart_from(colours: Sequence[str], used: Sequence[str]) -> list[float]:
    """Return each colour's smallest distance in CIELAB to colours that are taken, by any sight."""
    if not used:
        return [math.inf] * len(colours)
    own, other = (np.stack([_lab(each) for each in some]) for some in (colours, used))
    apart = np.linalg.norm(own[:, None] - other, axis=-1).min(axis=(1, 2))
    return [float(each) for each in apart]


# Style of a section.


@dataclass(frozen=True)
class Ramp:
    """The colours of a grade: a ramp, or classes with a colour each.

    Attributes
    ----------
    name : str
        Name of the grade column, written below the ramp.
    cmap : str
        A colour map of matplotlib.
    low, high : float
        Values at the ends of the ramp. Values above `high` get the last colour of the ramp.
    highest : float
        The largest value drawn.
    edges : tuple of float
        Grades that divide classes, ascending; a grade on an edge is in the class above. If they are
        empty, the colours are a ramp from `low` to `high`.
    is_log : bool
        Whether the steps of the ramp have equal ratios instead of equal widths.
    """

    name: str
    cmap: str
    low: float
    high: float
    highest: float
    edges: tuple[float, ...] = ()
    is_log: bool = False

    @property
    def classes(self) -> list[str]:
        """The names of the classes, from low to high, such as "below 0.5" and "0.5 to 1"."""
        if not self.edges:
            return []
        texts = [f"{edge:,.10g}" for edge in self.edges]
        middle = [f"{low} to {high}" for low, high in pairwise(texts)]
        return [f"below {texts[0]}", *middle, f"{texts[-1]} and above"]

    def bounds(self, count: int) -> Floats:
        """Return the grades between `count` steps of the ramp, with both ends."""
        if not self.is_log:
            return np.linspace(self.low, self.high, count + 1)
        edges = np.geomspace(self.low, self.high, count + 1)
        return np.array([float(f"{edge:.2g}") for edge in edges])

    def steps(self, values: Floats, count: int) -> NDArray[np.intp]:
        """Return the index of the colour of each value: its class, or one of `count` steps.

        NaN gets -1.
        """
        valid = np.isfinite(values)
        if self.edges or self.is_log:
            edges = self.edges or self.bounds(count)[1:-1]
            return np.where(valid, np.searchsorted(edges, values, side="right"), -1)
        share = np.clip(
            (np.where(valid, values, self.low) - self.low) / (self.high - self.low), 0, 1
        )
        return np.where(valid, np.minimum(share * count, count - 1).astype(int), -1)


@dataclass(frozen=True)
class NearHoles:
    """Drillholes to draw on sections, their samples, and their largest distance from a section."""

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
        Vertical exaggeration.
    title : str
        Title of a page; may be empty.
    unit : str
        Unit of coordinates, for axes and scale bars; may be empty.
    colours : mapping of str to str
        Colours that the user chose for domains.
    ramp : Ramp, optional
        Ramp that colours blocks by grade instead of by domain.
    near : NearHoles, optional
        Drillholes to project.
    paged : bool
        Whether each section has its own page. Pages of sections across the same axis then show the
        same rectangle.
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
        """The colour ramps in the legend: one for blocks, and one for samples if it differs."""
        ramps = [self.ramp, self.near.ramp if self.near else None]
        return list(dict.fromkeys(ramp for ramp in ramps if ramp is not None))


def near_holes(
    holes: Drillholes | None,
    within: float | None,
    samples: TableLike | None,
    grade: str | None,
    below: BelowDetection | None = None,
) -> NearHoles | None:
    """Return the drillholes to draw on sections, with their samples; None if there are no holes.

    `below` says how to treat values below detection; it applies if the holes have no such setting.
    """
    if (samples is None) != (grade is None):
        message = "give both samples= and sample_grade=: the samples and their grade column"
        raise ValueError(message)
    if holes is None:
        if samples is not None:
            message = "samples= needs drillholes: give holes= and within= too"
            raise ValueError(message)
        return None
    near = NearHoles(holes, _distance(within))
    if samples is None or grade is None:
        return near
    return replace(near, samples=samples_of(holes, samples, grade, below))


def _distance(within: float | None) -> float:
    """Return the largest distance of holes from a section; refuse None, and 0 or less."""
    if within is None or not 0 < within < math.inf:
        message = (
            f"within= is {within}, but must be above 0: it is the largest distance at which holes "
            "are drawn"
        )
        raise ValueError(message)
    return within


class Edges(tuple[float, ...]):
    """Edges of classes, with the text on the command line from which they were read."""

    text: str = ""


def as_classes(
    classes: Mapping[str, Sequence[float]] | None, shown: Collection[str | None]
) -> dict[str, tuple[float, ...]]:
    """Return the edges of classes by grade.

    Raises
    ------
    ValueError
        If edges do not ascend, or a grade is not in `shown`.
    """
    checked = {}
    for name, edges in (classes or {}).items():
        try:
            checked[name] = edges if isinstance(edges, Edges) else tuple(map(float, edges))
        except (TypeError, ValueError):
            checked[name] = ()
        ascend = all(low < high for low, high in pairwise((-math.inf, *checked[name], math.inf)))
        if not checked[name] or not ascend:
            message = (
                f"the classes of {name} are {edges!r}: give the grades between them in ascending "
                "order, such as AU=0.5,1,2,5"
            )
            raise ValueError(message)
        if name.casefold() not in {each.casefold() for each in shown if each is not None}:
            message = f"classes= names {name}, but no blocks or samples are coloured by {name}"
            raise ValueError(message)
    return checked


def refuse_commas_of_classes(
    classes: Mapping[str, tuple[float, ...]], source: str, options: TableOptions
) -> None:
    """Raise TableError if a model has decimal commas, and a text of edges has commas but no point.

    A comma in this text may be a decimal mark: 0,5 may be one grade or two.
    """
    texts = [(name, edges) for name, edges in classes.items() if isinstance(edges, Edges)]
    texts = [(name, edges) for name, edges in texts if "," in edges.text and "." not in edges.text]
    if not texts or source == STANDARD:
        return
    with open_model(source, options) as model:
        if not has_decimal_commas(model):
            return
        name, edges = texts[0]
        mend = "write decimal points"
        if len(edges) == 2:
            mend = (
                f"write {name}={edges.text.replace(',', '.')} for one grade, or "
                f"{name}={','.join(map(str, edges))} for two"
            )
        message = (
            f"{model.name} has decimal commas, so the classes {edges.text!r} are ambiguous: {mend}"
        )
        raise TableError(message)


def parse_classes(text: str) -> tuple[str, Edges]:
    """Return the grade and the edges of a text such as AU=0.5,1,2,5.

    Raises
    ------
    ValueError
        If the text does not have this form, or the edges do not ascend.
    """
    name, equals, edges = text.rpartition("=")
    if not name or not equals:
        message = f"{text!r} is not of the form COLUMN=GRADE,GRADE, such as AU=0.5,1,2,5"
        raise ValueError(message)
    try:
        numbers = [float(edge) for edge in edges.split(",")]
    except ValueError:
        numbers = []
    classes = Edges(as_classes({name: numbers}, [name])[name])
    classes.text = edges
    return name, classes


def with_classes(ramp: Ramp, name: str, classes: Mapping[str, tuple[float, ...]]) -> Ramp:
    """Give a ramp the classes of a grade, if there are any."""
    named = {each.casefold(): edges for each, edges in classes.items()}
    return replace(ramp, edges=named.get(name.casefold(), ()))


def ramp_of(name: str, cmap: str, values: Floats) -> Ramp | None:
    """Return a ramp from the minimum to the 98th percentile of values; None without values.

    If a few grades are high, a ramp up to the maximum would give nearly all blocks the same colour.
    """
    valid = values[np.isfinite(values)]
    if not len(valid):
        return None
    low, high, highest = float(valid.min()), float(np.quantile(valid, 0.98)), float(valid.max())
    if high <= low:
        high = highest if highest > low else low + 1.0
    return Ramp(name, cmap, low, high, highest)


# Grades have a logarithmic scale if two quantiles of those above 0 differ by this factor.
_ORDERS, _QUANTILES = 100.0, (0.01, 0.99)


def orders_of(grades: Floats) -> tuple[float, float] | None:
    """Return a range (low, high) of grades that span orders of magnitude; None for other grades.

    Examples
    --------
    >>> orders_of(np.array([1.0, 2.0, 5.0])) is None
    True
    """
    positive = grades[grades > 0]
    if not len(positive):
        return None
    low, high = (float(quantile) for quantile in np.quantile(positive, _QUANTILES))
    return (low, high) if high >= _ORDERS * low else None


def require_cmap(name: str) -> None:
    """Raise ValueError for an unknown colour map."""
    from matplotlib import colormaps

    if name not in colormaps:
        close = get_close_matches(name, list(colormaps), 1)
        hint = f"; did you mean {close[0]!r}?" if close else ": try 'viridis', 'magma' or 'turbo'"
        message = f"there is no colour map {name!r}{hint}"
        raise ValueError(message)


# The frame of a section: axes, title, scale bar, north arrow, marks of other sections.

INK, _MARK = "#222222", "#c2185b"
# If a section lies on block faces, the blocks on this side of it are drawn.
_SIDES = ("east", "north", "upper")
# Names of other sections are written up to this number; more would overlap.
_MOST_NAMES = 8


def title_of(section: Section, stretch: float, *, on_faces: bool) -> str:
    """Return the title of a section: plane, viewing direction and exaggeration.

    If the plane lies on block faces, the title also gives the side of the plane whose blocks are
    drawn.
    """
    taller = f", vertical x {stretch:g}" if stretch != 1 else ""
    faces = faces_note(section) if on_faces else ""
    return f"{section.name}, {section.looking}{taller}{faces}"


def faces_note(section: Section) -> str:
    """Return the end of the title of a plane on block faces: on which side blocks are drawn."""
    side = "" if section.across is None else _SIDES[section.across]
    return f", on faces: blocks on the {side} side"


def faces_warnings(sections: Sequence[Section]) -> list[str]:
    """Return warnings about sections that lie on block faces, one sentence for each axis."""
    sentences = []
    for across, side in enumerate(_SIDES):
        some = [section for section in sections if section.across == across]
        named = ", ".join(map(str, some[:5]))
        more = f" and {len(some) - 5:,} more" if len(some) > 5 else ""
        if len(some) == 1:
            sentences.append(
                f"the section {named} lies on faces of blocks: blocks on its {side} side are drawn"
            )
        elif some:
            sentences.append(
                f"{len(some):,} sections ({named}{more}) lie on faces of blocks: blocks on their "
                f"{side} sides are drawn"
            )
    return sentences


def draw_frame(axes: Axes, section: Section, title: str, unit: str, inches: Floats) -> None:
    """Draw the title and axes of a panel; `inches` are the panel's width and height."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    right, up = section.axis_names
    in_unit = f" ({unit})" if unit else ""
    axes.set_xlabel(right + in_unit, fontsize=9)
    axes.set_ylabel(up + in_unit, fontsize=9)
    axes.set_title(title, color=INK, loc="left", fontsize=11, pad=13)
    width, height = inches
    for axis, length in ((axes.xaxis, width), (axes.yaxis, 2 * height)):
        ticks = int(np.clip(length, 1, 6))
        axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.tick_params(labelsize=8)


def draw_scale_bar(axes: Axes, window: Floats, unit: str, inches: Floats) -> None:
    """Draw a scale bar of round length at the lower right of a panel."""
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
    """Draw a north arrow at the upper right of a plan, legible on any colour."""
    from matplotlib.patheffects import withStroke

    width, height = (float(length) for length in inches)
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


class _LineStyle(TypedDict):
    color: str
    lw: float
    ls: tuple[int, tuple[int, int]]
    zorder: int
    gid: str


def draw_marks(
    axes: Axes,
    section: Section,
    others: Sequence[Section],
    window: Floats,
    write: Callable[[str, float, float, int | None], None] | None = None,
) -> None:
    """Draw dashed lines, with names, where other sections cross this section.

    If `write` is given, it writes the names. Its arguments are the name, its place in this section
    (x, y), and the number of the axis that the line crosses (None at an end of a line).
    """
    named = len(others) <= _MOST_NAMES or write is not None
    if write is None:
        write = partial(_name_mark, axes)
    style: _LineStyle = {"color": _MARK, "lw": 0.9, "ls": (0, (6, 4)), "zorder": 5,
                         "gid": "section-mark"}  # fmt: skip
    for other in others:
        crossing = section.crossing(other)
        if crossing is None:
            continue
        if np.isfinite(crossing).all():  # a line on a plan
            axes.plot(*crossing.T, **style)
            for name, (x, y) in zip(other.end_names, crossing.tolist(), strict=True):
                if named and is_in(window, x, y):
                    write(name, x, y, None)
            continue
        along = 0 if np.isfinite(crossing[0, 0]) else 1
        at = float(crossing[0, along])
        if not window[0, along] < at < window[1, along]:
            continue
        line = axes.axvline if along == 0 else axes.axhline
        line(at, **style)
        if named:
            right, top = window[1].tolist()
            write(other.name, at if along == 0 else right, top if along == 0 else at, along)


def is_in(window: Floats, x: float, y: float) -> bool:
    """Return whether a point is in a rectangle (2, 2)."""
    return bool(window[0, 0] <= x <= window[1, 0] and window[0, 1] <= y <= window[1, 1])


def _name_mark(axes: Axes, name: str, x: float, y: float, along: int | None) -> None:
    """Write the name of another section at its mark.

    A vertical line has its name above the frame, a horizontal one inside, at the right.
    """
    axes.annotate(
        name,
        xy=(1.0 if along == 1 else x, 1.0 if along == 0 else y),
        xycoords=(
            "axes fraction" if along == 1 else "data",
            "axes fraction" if along == 0 else "data",
        ),
        xytext=(-3 if along == 1 else 0, 2),
        textcoords="offset points",
        ha="right" if along == 1 else "center",
        va="bottom",
        fontsize=7,
        color=_MARK,
        zorder=8,
        bbox={"boxstyle": "square,pad=0.1", "fc": "#ffffff", "ec": "none", "alpha": 0.75},
    )
