"""Charts of statistics, with matplotlib: grades at a contact, and blocks against samples."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from geodomain.errors import TableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

_PICTURES = ("png", "svg", "pdf")
# Warm for the first of two things and cool for the second; distinguishable with colour-blindness.
WARM, COOL, INK = "#b5382c", "#3d6b73", "#2b2b2b"
_PALE, _LINES = "#9a9a9a", "#d9d9d9"


def require_picture(path: Path) -> str:
    """Return the format of a picture, from the extension of its file."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _PICTURES:
        message = f"the extension of {path} is not that of a picture: use .{', .'.join(_PICTURES)}"
        raise TableError(message)
    return kind


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


def _figure(width: float, height: float, space: float = 0.02) -> Figure:
    """Return an empty figure; sizes are in inches, and `space` is a fraction of the height."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(hspace=space)
    figure = Figure(figsize=(width, height), dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def _tidy(axes: Axes, *, both: bool = False) -> None:
    """Give axes the look of all charts: two spines, and faint lines behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="both" if both else "y", color=_LINES, lw=0.6)
    axes.set_axisbelow(True)


def _few_counts(axes: Axes) -> None:
    """Give the vertical axis a few ticks, at whole numbers."""
    axes.locator_params(axis="y", integer=True, nbins=4)


# --- Grades on both sides of a contact.


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
    sides: tuple[ContactSide, ContactSide], *, most: float, grade: str, along: str, title: str
) -> Figure:
    """Draw means with their intervals above, and numbers of samples below."""
    figure = _figure(8.0, 5.5)
    upper, lower = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 1), "hspace": 0.04}
    )
    positive = True
    for place, usual, side in zip((0.25, 0.75), (WARM, COOL), sides, strict=True):
        colour = side.colour or usual
        middles = [0.5 * (begin + end) for begin, end, *_ in side.classes]
        means = [mean for _, _, _, mean, _, _ in side.classes]
        positive &= all(mean >= 0 for mean in means)
        upper.plot(middles, means, "o-", color=colour, ms=4.5, lw=1.4)
        known = [
            (middle, low, high)
            for middle, (_, _, _, _, low, high) in zip(middles, side.classes, strict=True)
            if low is not None and high is not None
        ]
        if known:
            upper.fill_between(*zip(*known, strict=True), color=colour, alpha=0.18, lw=0)
        if side.mean is not None:
            value, end = side.mean
            upper.plot([0.0, end], [value] * 2, "--", color=colour, lw=1.0)
        widths = [0.92 * (end - begin) for begin, end, *_ in side.classes]
        lower.bar(middles, [each[2] for each in side.classes], widths, color=colour)
        heading = {"transform": upper.transAxes, "ha": "center", "va": "bottom", "color": colour}
        upper.text(place, 1.07, side.title, fontsize=11, fontweight="bold", **heading)
        upper.text(place, 1.02, side.subtitle, fontsize=9, **heading)
    for axes in (upper, lower):
        axes.axvline(0.0, color=INK, lw=1.0)
        _tidy(axes)
    lower.set_xlim(-most, most)
    lower.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    _few_counts(lower)
    if positive:
        upper.set_ylim(bottom=0.0)
    upper.set_ylabel(f"mean {grade}, 95 % interval")
    lower.set_ylabel("samples")
    lower.set_xlabel(f"distance {along}, in the unit of the coordinates")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK)
    return figure


# --- Blocks against samples.

# Inches of a page.
_WIDE, _HIGH = 11.5, 7.6
# Probabilities in percent that have a tick.
_PERCENTS = (0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9)
# Quantiles that have a name in the quantile-quantile plot.
_NAMED = {0.1: "P10", 0.5: "P50", 0.9: "P90", 0.99: "P99"}
# Quantiles have log axes if the 99th percentile is at least so many times the first.
_WIDE_RANGE = 10.0
# From here on, the numbers of coordinates are long, so an axis has fewer.
_LONG = 1e5


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


def validation_charts(groups: Sequence[Sequence[DomainPage]]) -> list[Figure]:
    """Return a figure for each group of domains, one domain below the other."""
    figures = []
    for pages in groups:
        # Spaces are fractions of the height of the whole figure.
        count = max(1, len(pages))
        space = 0.02 / count
        figure = _figure(_WIDE, _HIGH * count, space)
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
    probability, quantiles = upper.subplots(1, 2, gridspec_kw={"width_ratios": (1.5, 1)})
    probability.set_title(page.subtitle, loc="left", fontsize=9.5, color=INK)
    _probability_plot(probability, page)
    _quantile_plot(quantiles, page)
    if page.swaths:
        panels = lower.subplots(
            2, len(page.swaths), sharex="col", sharey="row", squeeze=False,
            gridspec_kw={"height_ratios": (2.4, 1), "hspace": space},
        )  # fmt: skip
        for place, swath in enumerate(page.swaths):
            last = place == len(page.swaths) - 1
            _swath(panels[:, place], swath, page.grade, first=place == 0, last=last)
        means = [mean for swath in page.swaths for mean in (*swath.samples, *swath.blocks)]
        if all(mean is None or mean >= 0 for mean in means):
            panels[0, 0].set_ylim(bottom=0.0)
        lower.legend(
            *panels[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=3,
            fontsize=9, frameon=False,
        )  # fmt: skip


def _probability_plot(axes: Axes, page: DomainPage) -> None:
    """Draw cumulative distributions over a log axis of grades and a normal axis of probability."""
    from statistics import NormalDist

    normal = NormalDist().inv_cdf
    hidden = []
    for curve, name, what, colour in (
        (page.sample_curve, page.samples, "sample", COOL),
        (page.block_curve, "blocks", "block", WARM),
    ):
        shown = [
            (grade, normal(share))
            for share, grade in zip(curve.shares, curve.grades, strict=True)
            if grade > 0
        ]
        mean = "" if curve.mean is None else f", mean {curve.mean:.3g}"
        axes.plot(
            *(zip(*shown, strict=True) if shown else ([], [])), color=colour, lw=1.8,
            label=f"{name}{mean}",
        )  # fmt: skip
        if curve.at_zero:
            hidden.append(f"{curve.at_zero:,} {what}{'' if curve.at_zero == 1 else 's'}")
    axes.set_yticks([normal(each / 100) for each in _PERCENTS], [f"{each:g}" for each in _PERCENTS])
    axes.set_ylim(normal(0.0007), normal(0.9993))
    _log_axis(axes, "x")
    axes.set_xlabel(page.grade)
    axes.set_ylabel("cumulative weight, %")
    _tidy(axes, both=True)
    axes.legend(loc="upper left", fontsize=9, frameon=False)
    if hidden:
        text = f"{' and '.join(hidden)} at 0 or below: off the axis"
        axes.text(0.99, 0.02, text, transform=axes.transAxes, ha="right", va="bottom", fontsize=8.5)


def _quantile_plot(axes: Axes, page: DomainPage) -> None:
    """Draw the quantiles of blocks over those of samples, with the line where both are equal."""
    shares = np.array(page.sample_curve.shares)
    pairs = np.array([page.sample_curve.grades, page.block_curve.grades], np.float64)
    _tidy(axes, both=True)
    axes.set_xlabel("quantiles of samples")
    axes.set_ylabel("quantiles of blocks")
    middle = pairs[:, (shares >= 0.01) & (shares <= 0.99)]
    above = middle[middle > 0]
    logarithmic = bool(len(above)) and float(above.max()) >= _WIDE_RANGE * float(above.min())
    if logarithmic:
        positive = (pairs > 0).all(axis=0)
        shares, pairs = shares[positive], pairs[:, positive]
    if not pairs.size:
        return
    if logarithmic:
        low, high = pairs.min() / 1.15, pairs.max() * 1.15
    else:
        margin = 0.04 * (np.ptp(pairs) or 1.0)
        low, high = pairs.min() - margin, pairs.max() + margin
    axes.plot([low, high], [low, high], color=INK, lw=0.9)
    axes.plot(*pairs, "o", color=_PALE, ms=3.2)
    for share, name in _NAMED.items():
        at = np.flatnonzero(np.isclose(shares, share))
        if len(at):
            x, y = pairs[:, at[0]]
            axes.plot([x], [y], "o", color=INK, ms=5)
            right = share < 0.95
            axes.annotate(
                name, (x, y), xytext=(6, -4) if right else (-6, 4), textcoords="offset points",
                ha="left" if right else "right", va="top" if right else "bottom", fontsize=8.5,
            )  # fmt: skip
    if logarithmic:
        _log_axis(axes, "x")
        _log_axis(axes, "y")
    axes.set(xlim=(low, high), ylim=(low, high))
    axes.set_aspect("equal", adjustable="box")


def _swath(
    panels: Sequence[Axes], swath: SwathPanel, grade: str, *, first: bool, last: bool
) -> None:
    """Draw the means in the slices above, and numbers of samples and weights of blocks below."""
    upper, lower = panels
    middles = [0.5 * (begin + end) for begin, end in swath.edges]
    for means, label, colour, width, line, marker in (
        (swath.naive, "samples, naive", _PALE, 1.0, "--", ""),
        (swath.samples, "samples", COOL, 1.6, "-", "o"),
        (swath.blocks, "blocks", WARM, 1.6, "-", "s"),
    ):
        if len(means):
            known = [pair for pair in zip(middles, means, strict=True) if pair[1] is not None]
            upper.plot(
                *(zip(*known, strict=True) if known else ([], [])), color=colour, lw=width,
                ls=line, marker=marker, ms=3.4, label=label,
            )  # fmt: skip
    widths = [0.9 * (end - begin) for begin, end in swath.edges]
    lower.bar(middles, swath.counts, widths, color=COOL, alpha=0.55)
    _few_counts(lower)
    other = lower.twinx()
    other.plot(middles, swath.weights, color=WARM, lw=1.3)
    other.set_ylim(0.0, 1.1 * max(swath.weights) or 1.0)
    other.locator_params(axis="y", nbins=3)
    other.yaxis.set_major_formatter(lambda value, _: _short(value))
    other.tick_params(axis="y", colors=WARM, labelsize=8.5)
    other.spines[["top", "left"]].set_visible(False)
    _tidy(upper)
    _tidy(lower)
    lower.tick_params(axis="y", colors=COOL)
    farthest = max(abs(each) for each in middles)
    lower.locator_params(axis="x", nbins=5 if farthest < _LONG else 3)
    lower.xaxis.set_major_formatter(
        lambda value, _: f"{value:,g}" if value % 1 else f"{value:,.0f}"
    )
    lower.set_xlabel(swath.axis)
    if first:
        upper.set_ylabel(f"mean {grade}")
        lower.set_ylabel("samples", color=COOL)
    if last:
        other.set_ylabel(swath.weight, color=WARM)


def _log_axis(axes: Axes, which: str) -> None:
    """Give an axis a log scale with plain numbers at 1, 2 and 5 times powers of ten."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis = axes.xaxis if which == "x" else axes.yaxis
    low, high = sorted(axis.get_data_interval())
    if not 0 < low <= high < np.inf:  # without values above 0
        axis.set_ticks([])
        return
    parts = (1.0,) if high > 300 * low else (1.0, 2.0, 5.0)
    if high < 4 * low:
        parts = tuple(np.arange(1.0, 10.0, 0.5).tolist())
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(10.0, parts))
    axis.set_major_formatter(lambda value, _: f"{value:,g}")
    axis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    """Return a large number with few digits.

    Examples
    --------
    >>> _short(4e9), _short(2.5e6), _short(20000.0), _short(40.0)
    ('4,000 M', '2.5 M', '20 k', '40')
    """
    for size, unit in ((1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:,g}{unit}"
    return f"{value:g}"
