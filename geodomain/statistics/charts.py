"""Charts of statistics, with matplotlib: grades at a contact, and blocks against samples."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from geodomain.errors import TableError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def _figure(width: float, height: float) -> Figure:
    """Return an empty figure; sizes are in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _tidy(axes: Axes, *, both: bool = False) -> None:
    """Give axes the look of all charts: two spines, and faint lines behind the data."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="both" if both else "y", color=_LINES, lw=0.6)
    axes.set_axisbelow(True)


def _few_counts(axes: Axes) -> None:
    """Give the vertical axis a few ticks, at whole numbers."""
    axes.yaxis.get_major_locator().set_params(integer=True, nbins=4)


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
