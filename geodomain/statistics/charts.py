"""Charts of statistics: their axes, ticks and marks, and how matplotlib draws them.

A `Chart` describes axes, ticks and marks. `figure_of` and `validation_figures` draw charts for
files with matplotlib; `geodomain.reporting.svg.chart_svg` draws the same charts for a page.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import TableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_PICTURES = ("png", "svg", "pdf")
# Warm for the first of two things and cool for the second; distinguishable with colour-blindness.
WARM, COOL, INK = "#b5382c", "#3d6b73", "#2b2b2b"
PALE, _LINES = "#9a9a9a", "#d9d9d9"
Number = float | None


def require_picture(path: Path) -> str:
    """Return the format of a picture, from the extension of its file."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _PICTURES:
        message = f"the extension of {path} is not that of a picture: use .{', .'.join(_PICTURES)}"
        raise TableError(message)
    return kind


# --- Axes, with round ticks.


class Axis(NamedTuple):
    """An axis of a chart.

    Attributes
    ----------
    name : str
        What the axis shows, with its unit.
    low, high : float
        The two ends.
    ticks : sequence of (float, str)
        The place and the text of each tick.
    kind : {"linear", "log", "normal"}
        The scale. On a normal axis, values are probabilities, from 0 to 1.
    colour : str
        Colour of the texts; empty for that of other texts.
    slanted : bool
        Whether the texts of ticks are slanted, because they are long. Only for a horizontal axis.
    """

    name: str
    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    kind: Literal["linear", "log", "normal"] = "linear"
    colour: str = ""
    slanted: bool = False

    def scaled(self, value: float) -> float:
        """Return a number that is proportional to the place of a value on the axis."""
        if self.kind == "log":
            return math.log10(value)
        return NormalDist().inv_cdf(value) if self.kind == "normal" else value

    def place(self, value: float) -> float:
        """Return the place of a value, from 0 at the low end to 1 at the high end.

        Examples
        --------
        >>> Axis("AU", 0.1, 10.0, (), "log").place(1.0)
        0.5
        """
        low, high = self.scaled(self.low), self.scaled(self.high)
        return (self.scaled(value) - low) / ((high - low) or 1.0)


def round_length(length: float, *, up: bool = False) -> float:
    """Round a length down to 1, 2 or 5 times a power of ten; if `up` is true, round it up."""
    power = 10.0 ** math.floor(math.log10(length))
    steps = (1, 2, 5, 10)
    part = length / power
    if up:
        return next(step for step in steps if step >= part - 1e-9) * power
    return max(step for step in steps if step <= part + 1e-9) * power


def ticks(low: float, high: float, most: int) -> list[float]:
    """Return at most `most` round values between two numbers."""
    step = round_length((high - low) / most, up=True)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def linear_axis(
    name: str, values: Iterable[Number], *, most: int = 5, whole: bool = False, colour: str = ""
) -> Axis:
    """Return an axis that holds all values and ends at ticks; it begins at 0 if no value is below.

    Parameters
    ----------
    name : str
        Name of the axis.
    values : iterable of float or None
        The values to show; None is left out.
    most : int
        Largest number of steps between the ticks of positive values.
    whole : bool
        Whether ticks are whole numbers.
    colour : str
        As for `Axis`.

    Examples
    --------
    >>> linear_axis("AU", [0.3, 2.2]).ticks
    [(0.0, '0'), (0.5, '0.5'), (1.0, '1'), (1.5, '1.5'), (2.0, '2'), (2.5, '2.5')]
    """
    numbers = [value for value in values if value is not None]
    low, high = min(0.0, *numbers, 0.0), max(0.0, *numbers, 0.0)
    if not high - low > 0:
        high = low + 1.0
    step = round_length((high - low) / most, up=True)
    if whole:
        step = max(step, 1.0)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    marks = [round(number * step, 12) for number in range(first, last + 1)]
    return Axis(name, marks[0], marks[-1], [(mark, short(mark)) for mark in marks], colour=colour)


def between(name: str, low: float, high: float, most: int) -> Axis:
    """Return a linear axis with given ends, and ticks at round values between them."""
    marks = ticks(low, high, most) if high > low else [low]
    if len(marks) > 4 and max(abs(low), abs(high)) >= _LONG:
        marks = ticks(low, high, 4)
    return Axis(name, low, high, [(mark, f"{mark:,.10g}") for mark in marks])


# From this size on, numbers of coordinates are long, so an axis has fewer of them.
_LONG = 1e5
# Most ticks of a log axis; fewer steps between the powers of ten are used to stay below it.
_MOST_MARKS = 7


def log_axis(name: str, low: float, high: float) -> Axis:
    """Return a logarithmic axis with ticks at 1, 2 and 5 times powers of ten.

    Examples
    --------
    >>> [text for _, text in log_axis("AU", 0.1, 12.0).ticks]
    ['0.1', '0.2', '0.5', '1', '2', '5', '10']
    """
    if not high > low * (1 + 1e-9):
        low, high = low / 1.5, low * 1.5
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    marks: list[float] = []
    tens = tuple(range(1, 10))
    for steps in (tuple(each / 2 for each in range(2, 20)), tens, (1, 2, 5), (1, 3), (1,)):
        powers = [(step, power) for power in range(first, last + 1) for step in steps]
        marks = [float(f"{step}e{power}") for step, power in powers if step == int(step)]
        marks += [step * 10.0**power for step, power in powers if step != int(step)]
        marks = [mark for mark in sorted(marks) if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
        if len(marks) <= _MOST_MARKS:
            break
    marks = marks[:: 1 + len(marks) // (_MOST_MARKS + 1)]
    return Axis(name, low, high, [(mark, f"{mark:,.6g}") for mark in marks], "log")


def short(value: float) -> str:
    """Return a number in few characters.

    Examples
    --------
    >>> short(4e9), short(2.5e6), short(20000.0), short(40.0)
    ('4 G', '2.5 M', '20 k', '40')
    """
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= size:
            size = 1e3 if unit == " k" else size
            return f"{value / size:,.4g}{unit}"
    return f"{value:,.4g}"


# --- Marks, panels and charts.


class Line(NamedTuple):
    """A line, or markers alone if `dash` is "none"; it is in the legend if it has a name.

    `right` says that the values belong to the axis at the right.
    """

    xs: Sequence[float]
    ys: Sequence[float]
    colour: str
    name: str = ""
    width: float = 1.6
    dash: Literal["", "dashed", "none"] = ""
    marker: Literal["", "o", "s"] = ""
    right: bool = False


class Bars(NamedTuple):
    """Bars, each with its two ends along x; `gap` is a share of the width.

    A bar begins at the foot of the panel, or at its entry of `bases`, and ends at its height.
    """

    ends: Sequence[tuple[float, float]]
    heights: Sequence[float]
    colour: str
    name: str = ""
    alpha: float = 1.0
    gap: float = 0.08
    bases: Sequence[float] = ()


class Band(NamedTuple):
    """A pale area between two lines."""

    xs: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]
    colour: str


class Word(NamedTuple):
    """A word beside a point; `left` puts it at the left of the point."""

    x: float
    y: float
    text: str
    left: bool = False


class Panel(NamedTuple):
    """Marks over one vertical axis.

    Attributes
    ----------
    y : Axis
        The axis at the left.
    marks : sequence of mark
        What is drawn, the lowest first.
    right : Axis, optional
        A second axis, at the right.
    share : float
        Height, relative to the other panels of the chart.
    note, over : str
        Texts in the lower and in the upper right corner.
    """

    y: Axis
    marks: Sequence[Line | Bars | Band | Word]
    right: Axis | None = None
    share: float = 1.0
    note: str = ""
    over: str = ""


class Head(NamedTuple):
    """A heading over a part of a chart; its middle is at a share of the width."""

    place: float
    title: str
    subtitle: str
    colour: str


class Chart(NamedTuple):
    """Panels below each other over one horizontal axis.

    Attributes
    ----------
    title : str
        Title, and the text for readers who do not see the chart.
    x : Axis
        The axis of all panels.
    panels : sequence of Panel
        The panels, from above.
    subtitle : str
        A second line.
    heads : sequence of Head
        Headings over parts of the chart.
    square : bool
        Whether both axes have the same length.
    """

    title: str
    x: Axis
    panels: Sequence[Panel]
    subtitle: str = ""
    heads: Sequence[Head] = ()
    square: bool = False

    @property
    def legend(self) -> dict[str, Line | Bars]:
        """The marks with a name, by their names."""
        marks = [mark for panel in self.panels for mark in panel.marks]
        return {mark.name: mark for mark in marks if isinstance(mark, Line | Bars) and mark.name}


# --- Histograms, and tonnes and grade above cut-offs.


class Series(NamedTuple):
    """Samples or blocks of a histogram: a name, the share in each class, the mean, a colour."""

    name: str
    shares: Sequence[float]
    mean: float | None
    colour: str


def histogram_chart(
    title: str, grade: str, edges: Floats, series: Sequence[Series], *, is_log: bool, what: str
) -> Chart:
    """Draw shares by classes of a grade: the first series as bars, others as outlines.

    Parameters
    ----------
    title : str
        Title of the chart.
    grade : str
        Name of the grade, with its unit.
    edges : (k + 1,) float64
        The limits of the k classes.
    series : sequence of Series
        What is counted; a dashed line shows each mean.
    is_log : bool
        Whether the axis of grades is logarithmic.
    what : str
        Name of the vertical axis.
    """
    low, high = float(edges[0]), float(edges[-1])
    x = log_axis(f"{grade} (log axis)", low, high) if is_log else between(grade, low, high, 6)
    shares = [share for each in series for share in each.shares]
    y = linear_axis(what, shares)
    y = y._replace(ticks=[(value, f"{100 * value:.3g}%") for value, _ in y.ticks])
    ends = edges.tolist()
    marks: list[Line | Bars | Band | Word] = []
    for place, each in enumerate(series):
        mean = "" if each.mean is None else f", mean {each.mean:.3g}"
        name = f"{each.name}{mean}" if each.name else ""
        if place == 0:
            pairs = list(pairwise(ends))
            marks.append(Bars(pairs, each.shares, each.colour, name, gap=0.04))
        else:
            heights = np.repeat(np.array(each.shares), 2).tolist()
            steps = np.repeat(edges, 2)[1:-1].tolist()
            xs, ys = [steps[0], *steps, steps[-1]], [0.0, *heights, 0.0]
            marks.append(Line(xs, ys, each.colour, name, width=2.0))
    marks += [
        Line([each.mean] * 2, [0.0, y.high], each.colour, width=1.2, dash="dashed")
        for each in series
        if each.mean is not None and low <= each.mean <= high
    ]
    return Chart(title, x, [Panel(y, marks)])


def curve_chart(
    title: str,
    colour: str,
    cutoffs: Sequence[float],
    tonnes: Sequence[float],
    means: Sequence[float | None],
    grade: str,
) -> Chart:
    """Draw tonnes (line, left) and mean grade (dashes, right) at or above cut-offs."""
    x = between(f"cut-off {grade}", cutoffs[0], cutoffs[-1] or 1.0, 6)
    points = [pair for pair in zip(cutoffs, means, strict=True) if pair[1] is not None]
    ats, values = [at for at, _ in points], [mean for _, mean in points if mean is not None]
    tonnage = Line(cutoffs, tonnes, colour, "tonnes", width=2.4)
    dashes = Line(ats, values, PALE, "mean grade", dash="dashed", right=True)
    panel = Panel(
        linear_axis("tonnes", tonnes), [tonnage, dashes], right=linear_axis("mean", values)
    )
    return Chart(title, x, [panel])


# --- Grades on both sides of a contact.


# Intervals are drawn up to this multiple of the largest mean.
_TALLEST = 2.5


class ContactSide(NamedTuple):
    """One side of a contact, as it is drawn.

    Attributes
    ----------
    title, subtitle : str
        The label, and its mean with numbers of samples and holes.
    colour : str
        Colour of the label; empty for the usual one.
    classes : sequence of tuple
        For each class of distance with samples: the two ends, the number of samples, the mean, and
        the ends of its interval or None. Distances on the left of the contact are negative.
    mean : tuple of float, optional
        The mean of all samples, and the distance up to which its line is drawn.
    """

    title: str
    subtitle: str
    colour: str
    classes: Sequence[tuple[float, float, int, float, float | None, float | None]]
    mean: tuple[float, float] | None


def contact_chart(
    sides: tuple[ContactSide, ContactSide],
    *,
    width: float,
    most: float,
    grade: str,
    along: str,
    title: str,
    unit: str = "",
) -> Chart:
    """Draw means with their intervals above, and numbers of samples below.

    `width` is that of the classes of distance, up to `most`: ticks are at limits of classes.
    """
    upper: list[Line | Bars | Band | Word] = []
    lower: list[Line | Bars | Band | Word] = []
    heads, values, positive = [], [0.0], True
    for place, usual, side in zip((0.25, 0.75), (WARM, COOL), sides, strict=True):
        colour = side.colour or usual
        middles = [0.5 * (begin + end) for begin, end, *_ in side.classes]
        means = [mean for _, _, _, mean, _, _ in side.classes]
        intervals = [
            (middle, low, high)
            for middle, (_, _, _, _, low, high) in zip(middles, side.classes, strict=True)
            if low is not None and high is not None
        ]
        positive = positive and all(mean >= 0 for mean in means)
        values += [*means, *(end for _, low, high in intervals for end in (low, high))]
        if intervals:
            xs, lows, highs = zip(*intervals, strict=True)
            upper.append(Band(xs, lows, highs, colour))
        upper.append(Line(middles, means, colour, width=1.4, marker="o"))
        if side.mean is not None:
            value, end = side.mean
            upper.append(Line([0.0, end], [value] * 2, colour, width=1.0, dash="dashed"))
        ends = [(begin, end) for begin, end, *_ in side.classes]
        lower.append(Bars(ends, [each[2] for each in side.classes], colour))
        heads.append(Head(place, side.title, side.subtitle, colour))
    # An interval may reach below 0, where no grades are, or be much larger than all means.
    note = ""
    if positive:
        middle = [mean for side in sides for _, _, _, mean, _, _ in side.classes]
        top, highest = _TALLEST * max([0.0, *middle]), max(values)
        values = [min(max(value, 0.0), top) for value in values]
        note = f"an interval reaches {highest:.3g}" if highest > top else ""
    grades = linear_axis(f"mean {grade}, 95 % interval", values)
    counts = linear_axis(
        "samples", [each[2] for side in sides for each in side.classes], most=3, whole=True
    )
    upper.append(Line([0.0, 0.0], [grades.low, grades.high], PALE, width=1.0))
    lower.append(Line([0.0, 0.0], [counts.low, counts.high], PALE, width=1.0))
    # At most five ticks on each side, a round number of classes apart.
    step = width * round_length(max(1.0, most / width / 5), up=True)
    away = [number * step for number in range(1, math.floor(most / step + 1e-9) + 1)]
    places = [*(-each for each in reversed(away)), 0.0, *away]
    where = f"distance {along}, {unit or 'in the unit of the coordinates'}"
    x = Axis(where, -most, most, [(each, f"{abs(each):,.6g}") for each in places])
    panels = [Panel(grades, upper, share=3.0, over=note), Panel(counts, lower)]
    return Chart(title, x, panels, heads=heads)


# --- Blocks against samples.

# Probabilities in percent that have a tick.
_PERCENTS = (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)
# Quantiles that have a name in the quantile-quantile plot.
_NAMED = {0.1: "P10", 0.5: "P50", 0.9: "P90", 0.99: "P99"}
# Quantiles have log axes if the 99th percentile is at least so many times the first.
_WIDE_RANGE = 10.0


class Curve(NamedTuple):
    """The distribution of the grades of samples or blocks, as it is drawn.

    Attributes
    ----------
    shares, grades : sequence of float
        Probabilities, and the quantiles at them.
    mean : float, optional
        The mean.
    at_zero : int
        Number of values that are 0 or less.
    """

    shares: Sequence[float]
    grades: Sequence[float]
    mean: float | None
    at_zero: int


class SwathPanel(NamedTuple):
    """Slices along one axis, as they are drawn.

    Attributes
    ----------
    axis : str
        Name of the axis.
    edges : sequence of (float, float)
        The two faces of each slice.
    naive, samples, blocks : sequence of float, optional
        Means in each slice; `naive` is empty if samples are not declustered.
    counts : sequence of int
        Number of samples in each slice.
    weights : sequence of float
        Total weight of the blocks in each slice.
    weight : str
        What blocks are weighted by.
    """

    axis: str
    edges: Sequence[tuple[float, float]]
    naive: Sequence[float | None]
    samples: Sequence[float | None]
    blocks: Sequence[float | None]
    counts: Sequence[int]
    weights: Sequence[float]
    weight: str


class DomainPage(NamedTuple):
    """The charts of one domain: title, distributions of samples and blocks, and swaths."""

    title: str
    subtitle: str
    grade: str
    samples: str
    sample_curve: Curve
    block_curve: Curve
    swaths: Sequence[SwathPanel]


def probability_chart(
    title: str, grade: str, curves: Sequence[tuple[str, str, str, Curve]]
) -> Chart:
    """Draw cumulative distributions over a log axis of grades and a normal axis of probability.

    Each curve comes with its name, the word for one of its values, and its colour.
    """
    marks: list[Line | Bars | Band | Word] = []
    hidden, every = [], []
    y = Axis(
        "cumulative weight, %", 0.0007, 0.9993,
        [(each / 100, f"{each:g}") for each in _PERCENTS], "normal",
    )  # fmt: skip
    for name, what, colour, curve in curves:
        pairs = [
            (grade, share)
            for share, grade in zip(curve.shares, curve.grades, strict=True)
            if grade > 0
        ]
        every += [grade for grade, _ in pairs]
        mean = "" if curve.mean is None else f", mean {curve.mean:.3g}"
        xs, ys = [grade for grade, _ in pairs], [share for _, share in pairs]
        marks.append(Line(xs, ys, colour, f"{name}{mean}", width=1.8))
        if curve.at_zero:
            hidden.append(f"{curve.at_zero:,} {what}{'' if curve.at_zero == 1 else 's'}")
    note = f"{' and '.join(hidden)} at 0 or below: off the axis" if hidden else ""
    x = Axis(grade, 1.0, 10.0, (), "log")  # without a value above 0
    if every:
        x = log_axis(grade, min(every) / 1.1, max(every) * 1.1)
    return Chart(title, x, [Panel(y, marks, note=note)])


def quantile_chart(samples: Curve, blocks: Curve) -> Chart:
    """Draw the quantiles of blocks over those of samples, with the line where both are equal."""
    shares = np.array(samples.shares)
    pairs = np.array([samples.grades, blocks.grades], np.float64)
    names = "quantiles of samples", "quantiles of blocks"
    middle = pairs[:, (shares >= 0.01) & (shares <= 0.99)]
    above = middle[middle > 0]
    logarithmic = bool(len(above)) and float(above.max()) >= _WIDE_RANGE * float(above.min())
    if logarithmic:
        positive = (pairs > 0).all(axis=0)
        shares, pairs = shares[positive], pairs[:, positive]
    if not pairs.size:
        axes = [Axis(name, 0.0, 1.0, ()) for name in names]
        return Chart("Quantiles", axes[0], [Panel(axes[1], ())], square=True)
    if logarithmic:
        axes = [log_axis(name, pairs.min() / 1.15, pairs.max() * 1.15) for name in names]
    else:
        margin = 0.04 * (float(np.ptp(pairs)) or 1.0)
        low, high = float(pairs.min()) - margin, float(pairs.max()) + margin
        axes = [between(name, low, high, 4) for name in names]
    ends = [axes[0].low, axes[0].high]
    marks: list[Line | Bars | Band | Word] = [
        Line(ends, ends, PALE, width=0.9),
        Line(pairs[0].tolist(), pairs[1].tolist(), COOL, dash="none", marker="o"),
    ]
    for share, name in _NAMED.items():
        at = np.flatnonzero(np.isclose(shares, share))
        if len(at):
            x, y = pairs[:, at[0]].tolist()
            marks += [Line([x], [y], WARM, dash="none", marker="s")]
            marks += [Word(x, y, name, left=share > 0.95)]
    return Chart("Quantiles", axes[0], [Panel(axes[1], marks)], square=True)


def swath_charts(
    swaths: Sequence[SwathPanel], grade: str, unit: str = "", samples: str = "samples"
) -> list[Chart]:
    """Draw slices along each axis: means above; numbers of samples and weights of blocks below.

    All charts have the same axis of grades.
    """
    means = [
        mean for each in swaths for mean in (*each.naive, *each.samples, *each.blocks)
    ]  # fmt: skip
    grades = linear_axis(f"mean {grade}", means)
    counts = linear_axis(
        "samples", [n for each in swaths for n in each.counts], most=3, whole=True, colour=COOL
    )
    charts = []
    for swath in swaths:
        middles = [0.5 * (begin + end) for begin, end in swath.edges]
        upper: list[Line | Bars | Band | Word] = []
        for values, name, colour, dash, marker in (
            (swath.naive, "samples, naive", PALE, "dashed", ""),
            (swath.samples, samples, COOL, "", "o"),
            (swath.blocks, "blocks", WARM, "", "s"),
        ):
            points = [
                (middle, value)
                for middle, value in zip(middles, values, strict=False)
                if value is not None
            ]
            if points:
                xs, ys = zip(*points, strict=True)
                upper.append(Line(xs, ys, colour, name, dash=dash, marker=marker))  # type: ignore[arg-type]
        weights = linear_axis(swath.weight, swath.weights, most=3, colour=WARM)
        lower: list[Line | Bars | Band | Word] = [
            Bars(swath.edges, swath.counts, COOL, alpha=0.55),
            Line(middles, swath.weights, WARM, width=1.3, right=True),
        ]
        low = min((begin for begin, _ in swath.edges), default=0.0)
        high = max((end for _, end in swath.edges), default=1.0)
        x = between(f"{swath.axis}, {unit}" if unit else swath.axis, low, high, 5)
        panels = [Panel(grades, upper, share=2.4), Panel(counts, lower, right=weights)]
        charts.append(Chart(f"Slices along {swath.axis}", x, panels))
    return charts


# --- Draw charts for files, with matplotlib.

# Inches of a page.
_WIDE, _HIGH = 11.5, 7.6


def picture_of(figures: Sequence[Figure], kind: str) -> bytes:
    """Return figures as the bytes of a file; only a PDF may have several, one to a page."""
    out = io.BytesIO()
    if len(figures) > 1:
        from matplotlib.backends.backend_pdf import PdfPages

        with PdfPages(out, metadata={"CreationDate": None}) as pages:
            for figure in figures:
                pages.savefig(figure)
        return out.getvalue()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figures[0].savefig(out, format=kind, metadata=dates.get(kind))
    return out.getvalue()


def figure_of(chart: Chart, width: float, height: float, *, title: str = "") -> Figure:
    """Draw a chart as a figure of its own; sizes are in inches."""
    figure = empty_figure(width, height)
    draw_chart(figure, chart)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


def validation_figures(groups: Sequence[Sequence[DomainPage]]) -> list[Figure]:
    """Return a figure for each group of domains, one domain below the other."""
    figures = []
    for pages in groups:
        # Spaces are fractions of the height of the whole figure.
        count = max(1, len(pages))
        space = 0.02 / count
        figure = empty_figure(_WIDE, _HIGH * count, space)
        parts = figure.subfigures(len(pages), 1, squeeze=False, hspace=2 * space) if pages else ()
        for page, (part,) in zip(pages, parts, strict=True):
            _page(part, page, space)
        figures.append(figure)
    return figures


def _page(figure: SubFigure, page: DomainPage, space: float) -> None:
    """Draw the charts of a domain."""
    figure.suptitle(page.title, x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)
    ((upper,), (lower,)) = figure.subfigures(
        2, 1, squeeze=False, height_ratios=(1.1, 1), hspace=space
    )
    ((left, right),) = upper.subfigures(1, 2, squeeze=False, width_ratios=(1.5, 1))
    curves = [
        (page.samples, "sample", COOL, page.sample_curve),
        ("blocks", "block", WARM, page.block_curve),
    ]
    draw_chart(left, probability_chart(page.subtitle, page.grade, curves))
    draw_chart(right, quantile_chart(page.sample_curve, page.block_curve)._replace(title=""))
    if page.swaths:
        parts = lower.subfigures(1, len(page.swaths), squeeze=False)[0]
        charts = swath_charts(page.swaths, page.grade)
        for part, chart in zip(parts, charts, strict=True):
            draw_chart(part, chart._replace(title=""))


def empty_figure(width: float, height: float, space: float = 0.02) -> Figure:
    """Return an empty figure; sizes are in inches, and `space` is a fraction of the height."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(hspace=space)
    figure = Figure(figsize=(width, height), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def draw_chart(figure: Figure | SubFigure, chart: Chart) -> None:
    """Draw a chart in a figure or a part of it."""
    shares = [panel.share for panel in chart.panels]
    panels = figure.subplots(
        len(shares), 1, sharex=True, squeeze=False,
        gridspec_kw={"height_ratios": shares, "hspace": 0.04},
    )[:, 0]  # fmt: skip
    for axes, panel in zip(panels, chart.panels, strict=True):
        axes.spines[["top", "right"]].set_visible(False)
        both = len(chart.panels) == 1
        axes.grid(axis="both" if both else "y", color=_LINES, lw=0.6)
        axes.set_axisbelow(True)
        _set_axis(axes, "y", panel.y)
        other = axes.twinx() if panel.right is not None else axes
        if panel.right is not None:
            other.spines[["top", "left"]].set_visible(False)
            _set_axis(other, "y", panel.right)
        for mark in panel.marks:
            right = isinstance(mark, Line) and mark.right
            _draw_mark(other if right else axes, chart.x, panel.y, mark)
        for text, y, side in ((panel.note, 0.02, "bottom"), (panel.over, 0.98, "top")):
            if text:
                look = {"transform": axes.transAxes, "ha": "right", "va": side}
                axes.text(0.99, y, text, fontsize=8.5, **look)
        _set_axis(axes, "x", chart.x, named=panel is chart.panels[-1])
        if chart.square:
            axes.set_aspect("equal", adjustable="box")
    first = panels[0]
    for head in chart.heads:
        look = {"transform": first.transAxes, "ha": "center", "va": "bottom", "color": head.colour}
        first.text(head.place, 1.07, head.title, fontsize=11, fontweight="bold", **look)
        first.text(head.place, 1.02, head.subtitle, fontsize=9, **look)
    if chart.title and not chart.heads:
        first.set_title(chart.title, loc="left", fontsize=9.5, color=INK)
    if chart.legend:
        legends = [axes.get_legend_handles_labels() for axes in figure.axes]
        handles = [handle for each, _ in legends for handle in each]
        names = [name for _, each in legends for name in each]
        figure.legend(
            handles, names, loc="outside upper left", ncols=2 + (len(names) > 2), fontsize=8.5,
            frameon=False, columnspacing=1.2, handlelength=1.6,
        )  # fmt: skip


def _draw_mark(axes: Axes, x: Axis, y: Axis, mark: Line | Bars | Band | Word) -> None:
    """Draw a mark; its y is scaled here if the axis is normal, which matplotlib does not know."""

    def up(values: Sequence[float]) -> list[float]:
        return [y.scaled(value) for value in values] if y.kind == "normal" else list(values)

    if isinstance(mark, Line):
        axes.plot(
            mark.xs, up(mark.ys), color=mark.colour, lw=mark.width,
            ls={"": "-", "dashed": "--", "none": ""}[mark.dash], marker=mark.marker, ms=3.6,
            label=mark.name or None,
        )  # fmt: skip
    elif isinstance(mark, Band):
        axes.fill_between(mark.xs, mark.lows, mark.highs, color=mark.colour, alpha=0.18, lw=0)
    elif isinstance(mark, Bars):
        middles = [0.5 * (begin + end) for begin, end in mark.ends]
        widths = [(1 - mark.gap) * (end - begin) for begin, end in mark.ends]
        bases = mark.bases or [0.0] * len(mark.heights)
        lengths = [height - base for height, base in zip(mark.heights, bases, strict=True)]
        axes.bar(
            middles, lengths, widths, bases, color=mark.colour, alpha=mark.alpha,
            label=mark.name or None,
        )  # fmt: skip
    else:
        axes.annotate(
            mark.text, (mark.x, mark.y), xytext=(-6, 4) if mark.left else (6, -4),
            textcoords="offset points", ha="right" if mark.left else "left",
            va="bottom" if mark.left else "top", fontsize=8.5,
        )  # fmt: skip


def _set_axis(axes: Axes, which: Literal["x", "y"], axis: Axis, *, named: bool = True) -> None:
    """Give an axis its scale, ends, ticks, name and colour."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    here = axes.xaxis if which == "x" else axes.yaxis
    if axis.kind == "log":
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    ends = (axis.low, axis.high)
    normal = axis.kind == "normal"
    places = [axis.scaled(value) if normal else value for value, _ in axis.ticks]
    (axes.set_xlim if which == "x" else axes.set_ylim)(
        *(axis.scaled(end) if normal else end for end in ends)
    )
    here.set_major_locator(FixedLocator(places))
    here.set_major_formatter(FixedFormatter([text for _, text in axis.ticks]))
    here.set_minor_locator(NullLocator())
    if axis.slanted:
        for tick in here.get_ticklabels():
            tick.set(rotation=35, ha="right", rotation_mode="anchor")
    if named:
        here.set_label_text(axis.name, color=axis.colour or "black")
    if axis.colour:
        axes.tick_params(axis=which, colors=axis.colour, labelsize=8.5)
