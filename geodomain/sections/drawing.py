"""Drawing of sections with matplotlib, off screen: pages of panels and their legend."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geodomain.errors import TableError, warn
from geodomain.mesh.mesh import Mesh
from geodomain.sections.colours import darker, with_ground
from geodomain.sections.cutting import Section
from geodomain.sections.frame import INK
from geodomain.sections.gathering import Cut
from geodomain.sections.look import Look, Ramp
from geodomain.sections.page import lay_out
from geodomain.sections.panel import DOTS, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches: a line of the legend, a letter in it, what stands before a name, the ramp, the title.
_LINE, _LETTER, _PATCH, _RAMP, _TITLE = 0.26, 0.088, 0.65, 0.75, 0.45
_KINDS = ("png", "svg", "pdf")
# What matplotlib says of a character that its font has no shape for, with its number.
_GLYPH = re.compile(r"Glyph (\d+) .*missing from")


def draw(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]] | None = None,
    *,
    background: Sequence[str] = (),
    kind: str = "png",
    look: Look | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> bytes:
    """Draw sections, all of them to one scale, on one page or each on its own.

    Parameters
    ----------
    cuts : sequence of Cut
        What `gather` has read.
    wireframes : mapping of str to sequence of Mesh, optional
        By domain, in the order of the legend; each trace has the colour of its domain, darker.
    background : sequence of str
        Labels that are drawn as ground.
    kind : {"png", "svg", "pdf"}
        Of picture.
    look : Look, optional
        How they are drawn; pages are for "pdf".
    progress : callable, optional
        Called with how many pages are drawn, and their number.

    Returns
    -------
    bytes
        The picture.
    """
    with _missing_glyphs():
        return _drawn(cuts, wireframes or {}, background, kind, look or Look(), progress)


@contextmanager
def _missing_glyphs() -> Iterator[None]:
    """Warn of characters that matplotlib has no shape for, in our words, once for all."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = {}
    for each in caught:
        glyph = _GLYPH.match(str(each.message))
        if glyph is None:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        else:
            missing[chr(int(glyph[1]))] = True
    if missing:
        warn(f"the font of pictures has no {', '.join(map(repr, missing))}: a box stands for each")


def _drawn(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]],
    background: Sequence[str],
    kind: str,
    look: Look,
    progress: Callable[[int, int | None], None] | None,
) -> bytes:
    """Draw, and return the picture."""
    book = _Book(cuts, wireframes, background, look)
    out = io.BytesIO()
    if not look.paged:
        book.figure(cuts).savefig(
            out,
            format=kind,
            bbox_inches="tight",
            metadata={"Date": None} if kind == "svg" else None,
        )
        return out.getvalue()
    from matplotlib.backends.backend_pdf import PdfPages

    book.share_frames()
    with PdfPages(out) as pages:
        for number, cut in enumerate(cuts):
            pages.savefig(book.figure([cut]))
            if progress is not None:
                progress(number + 1, len(cuts))
    return out.getvalue()


def require_kind(path: Path) -> str:
    """Return the picture format of a path, by its extension.

    Raises
    ------
    TableError
        If there is no such kind.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _KINDS:
        message = f"{path} does not end as a picture: use one of .{', .'.join(_KINDS)}"
        raise TableError(message)
    return kind


class _Book:
    """Sections and the colours that they share."""

    def __init__(
        self,
        cuts: Sequence[Cut],
        wireframes: Mapping[str, Sequence[Mesh]],
        background: Sequence[str],
        look: Look,
    ) -> None:
        self._look, self._wireframes = look, wireframes
        self._sections = [cut.section for cut in cuts]
        self._colours = _colours(cuts, wireframes, background, look)
        self._windows: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
        self._cuts = cuts

    def share_frames(self) -> None:
        """Give sections across one axis one frame, so that their pages can be leafed through."""
        for cut in self._cuts:
            window = Panel(cut, {}, Look()).window
            low, high = self._windows.get(cut.section.axis, window)
            self._windows[cut.section.axis] = np.stack(
                [np.minimum(low, window[0]), np.maximum(high, window[1])]
            )

    def figure(self, cuts: Sequence[Cut]) -> Figure:
        """Draw a page."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        look, colours = self._look, self._colours
        panels = [Panel(cut, self._wireframes, look) for cut in cuts]
        for panel in panels:
            panel.window = self._windows.get(panel.cut.section.axis, panel.window)
        shown = {name for panel in panels for name in panel.shown}
        lengths = np.array([panel.lengths for panel in panels])
        columns = _legend_columns(shown, lay_out(lengths).size[0])
        foot = _LINE * -(-len(shown) // columns) + _RAMP * len(look.ramps)
        page = lay_out(lengths, below=foot, above=_TITLE if look.title else 0.0)
        wide, high = page.size
        figure = Figure(figsize=page.size, dpi=DOTS)
        FigureCanvasAgg(figure)
        for (left, bottom, across, up), panel in zip(page.panels, panels, strict=True):
            place = (left / wide, bottom / high, across / wide, up / high)
            panel.draw(figure.add_axes(place), colours, page.scale, self._others(panel))
        there = {label for cut in cuts for label in cut.labels.tolist()}
        _legend(
            figure,
            {name: colours[name] for name in colours if name in shown},
            () if look.ramp else there,
            columns,
            by_grade=look.ramp is not None,
        )
        for number, ramp in enumerate(look.ramps):
            _draw_ramp(figure, ramp, foot - _RAMP * number)
        if look.title:
            figure.suptitle(
                look.title, x=0.02, y=1 - 0.1 / high, ha="left", va="top", fontsize=14, color=INK
            )
        return figure

    def _others(self, panel: Panel) -> list[Section]:
        """Return the sections across other axes."""
        return [one for one in self._sections if one.across != panel.cut.section.across]


def _colours(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]],
    background: Sequence[str],
    look: Look,
) -> dict[str, str]:
    """Return each label its colour: wireframes' domains first, in their order, then the others."""
    labels = sorted({label for cut in cuts for label in cut.labels.tolist()}, key=_by_number)
    ground = [label for label in labels if label in background or not label]
    names = [*wireframes, *(one for one in labels if one not in wireframes)]
    return with_ground(names, ground, look.colours)


def _by_number(label: str) -> list[tuple[int, str]]:
    """Return a sort key that puts 2 before 10."""
    return [
        (int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)
    ]


def _legend_columns(names: Collection[str], width: float) -> int:
    """Return the number of legend columns for a page of this width."""
    longest = max(map(len, names), default=1)
    return max(1, min(len(names), 8, int(width / (longest * _LETTER + _PATCH))))


def _legend(
    figure: Figure,
    colours: Mapping[str, str],
    there: Collection[str],
    columns: int,
    *,
    by_grade: bool,
) -> None:
    """Draw the legend below the panels; a domain without a block there is shown as a line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=colour, edgecolor="#999999", lw=0.4, label=name or "(not labelled)")
        if name in there
        else Line2D([], [], color=colour if by_grade else darker(colour), lw=1.6, label=name)
        for name, colour in colours.items()
    ]
    if handles:
        figure.legend(
            handles=handles, loc="lower center", ncols=columns, frameon=False, borderpad=0
        )


def _draw_ramp(figure: Figure, ramp: Ramp, foot: float) -> None:
    """Draw the colours of a grade above the legend, from this height down."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    wide, high = figure.get_size_inches()
    length = min(4.0, 0.6 * wide)
    place = ((1 - length / wide) / 2, (foot - 0.25) / high, length / wide, 0.14 / high)
    bar = figure.colorbar(
        ScalarMappable(Normalize(ramp.low, ramp.high), colormaps[ramp.cmap]),
        cax=figure.add_axes(place),
        orientation="horizontal",
        extend="max" if ramp.highest > ramp.high else "neither",
    )
    bar.set_label(ramp.name, fontsize=9)
    bar.ax.tick_params(labelsize=8)
