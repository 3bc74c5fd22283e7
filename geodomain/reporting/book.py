"""Draw a section book: sections at true scale on sheets of paper with title blocks, as a PDF."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.look import (
    INK,
    Look,
    Ramp,
    darker,
    draw_marks,
    faces_note,
    is_in,
    round_length,
)
from geodomain.reporting.panel import Panel, ramp_colours
from geodomain.reporting.planes import Section
from geodomain.reporting.sections import Cut, cut_triangles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The scale, the paper, and what the title block says.

# Width and height, upright, in mm.
_PAPERS = {
    "A4": (210.0, 297.0), "A3": (297.0, 420.0), "A2": (420.0, 594.0), "A1": (594.0, 841.0),
    "A0": (841.0, 1189.0), "Letter": (215.9, 279.4), "Tabloid": (279.4, 431.8),
    "Ansi-A": (215.9, 279.4), "Ansi-B": (279.4, 431.8), "Ansi-C": (431.8, 558.8),
    "Ansi-D": (558.8, 863.6), "Ansi-E": (863.6, 1117.6),
}  # fmt: skip
_METRES = {"": 1.0, "m": 1.0, "metre": 1.0, "metres": 1.0, "ft": 0.3048, "feet": 0.3048}
_MM = 25.4  # in an inch
MOST_SHEETS = 500


@dataclass(frozen=True)
class Sheets:
    """The scale and paper of a section book, and the texts of its title block.

    Attributes
    ----------
    paper : str
        Name of the paper size, such as A3.
    turned : {"portrait", "landscape"}, optional
        Orientation; None for the one that needs fewer sheets.
    scale : float, optional
        Length in the model for a length of 1 on paper; None for the largest usual scale at which
        each section fits on one sheet.
    unit : str
        Unit of the model, which is metres or feet.
    model, prepared_by : str
        File name of the model, and name of the author; may be empty.
    """

    paper: str = "A3"
    turned: str | None = None
    scale: float | None = None
    unit: str = "m"
    model: str = ""
    prepared_by: str = ""

    @property
    def sizes(self) -> list[tuple[float, float]]:
        """The sizes of paper to choose from, (width, height) in mm; landscape is first."""
        wide, high = _PAPERS[self.paper]
        upright, turned = (wide, high), (high, wide)
        return {"portrait": [upright], "landscape": [turned]}.get(
            self.turned or "", [turned, upright]
        )

    @property
    def per_mm(self) -> float:
        """The length in the model, in its unit, of a millimetre on paper."""
        return (self.scale or 1.0) / 1000 / _METRES[self.unit]


def as_sheets(
    scale: str | float | None,
    paper: str | None,
    unit: str,
    model: str,
    prepared_by: str | None,
    output: Path,
) -> Sheets | None:
    """Return the sheets of a book, or None if neither a scale nor a paper is named.

    Raises
    ------
    ValueError
        If the scale, the paper or the unit is unknown, or the output is not a PDF.
    """
    if scale is None and paper is None:
        if prepared_by is not None:
            message = "prepared_by= is for the title block of a book: give scale= or paper= too"
            raise ValueError(message)
        return None
    if output.suffix.lower() != ".pdf":
        message = f"{output} is not a PDF: scale= and paper= make a book of sheets, which is a PDF"
        raise ValueError(message)
    if unit.casefold() not in _METRES:
        message = f"the unit is {unit!r}, but a true scale needs m or ft: give unit='m'"
        raise ValueError(message)
    name, turned = parse_paper(paper or "A3")
    ratio = None if scale is None else parse_scale(scale)
    return Sheets(name, turned, ratio, unit.casefold(), model, prepared_by or "")


def parse_scale(scale: str | float) -> float:
    """Return 500 for the scale "1:500", or for the number 500.

    Raises
    ------
    ValueError
        If it is not a scale.
    """
    text = str(scale).replace(" ", "").removeprefix("1:")
    try:
        ratio = float(text)
    except ValueError:
        ratio = math.nan
    if not 0 < ratio < math.inf:
        message = f"{scale!r} is not a scale: give it as 1:500"
        raise ValueError(message)
    return ratio


def parse_paper(paper: str) -> tuple[str, str | None]:
    """Return the name and the orientation of a paper size such as A3 or A3-portrait.

    Raises
    ------
    ValueError
        If the size is unknown.
    """
    name, _, turned = paper.casefold().rpartition("-")
    if turned not in ("portrait", "landscape"):
        name, turned = paper.casefold(), ""
    for known in _PAPERS:
        if known.casefold() == name:
            return known, turned or None
    message = (
        f"{paper!r} is not a paper size: use one of {', '.join(_PAPERS)}, with -portrait or "
        "-landscape if you want to choose"
    )
    raise ValueError(message)


# The parts of a sheet in mm: border, title strip, and the margins of the map for labels.

_BORDER, _STRIP = 8.0, 46.0
_LEFT, _RIGHT, _FOOT, _HEAD = 9.0, 4.0, 7.0, 13.0
# Sheets of one section overlap by this length on either side of their match line.
_OVERLAP = 10.0
# The digits of usual scales: 1:1000, 1:1250 and so on.
_USUAL = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10)
# Space between the blocks and the frame.
_AIR = 4.0


class Sheet(NamedTuple):
    """A sheet: a part of a section.

    Attributes
    ----------
    cut : int
        Number of the section.
    size : tuple of float
        Width and height of the paper in mm.
    window : (2, 2) float64
        The part of the section that the map shows.
    core : (2, 2) float64
        The part up to the match lines.
    sides : dict of str to int
        For each side with a match line, the number of the sheet that goes on there.
    """

    cut: int
    size: tuple[float, float]
    window: Floats
    core: Floats
    sides: dict[str, int]


def _map_size(size: tuple[float, float]) -> Floats:
    """Return the width and height of the map on a sheet, in mm."""
    across = size[0] - 2 * _BORDER - _LEFT - _RIGHT
    up = size[1] - 2 * _BORDER - _STRIP - _FOOT - _HEAD
    return np.array([across, up])


def _count(content: Floats, room: Floats, overlap: Floats) -> list[int]:
    """Return the numbers of sheets side by side and above each other for a content (2,)."""
    return [
        1 if length <= space else math.ceil(length / (space - 2 * beyond) - 1e-9)
        for length, space, beyond in zip(content, room, overlap, strict=True)
    ]


class _Part(NamedTuple):
    """A part of a section in one direction: up to the match lines, and all that a sheet shows."""

    core: tuple[float, float]
    shown: tuple[float, float]


def _divide(low: float, high: float, count: int, room: float, unit: float) -> list[_Part]:
    """Divide a length into parts that sheets with this room can show.

    Match lines are at round coordinates if the parts then fit. `unit` is the length of a mm.
    """
    if count == 1:
        middle = (low + high) / 2
        whole = (middle - room / 2, middle + room / 2)
        return [_Part(whole, whole)]
    edges = np.linspace(low, high, count + 1)
    step = round_length(10 * unit, up=True)
    rounded = np.concatenate([[low], np.round(edges[1:-1] / step) * step, [high]])
    overlap = _OVERLAP * unit
    if np.diff(rounded).max() <= room - 2 * overlap:
        edges = rounded
    parts = []
    for start, end in pairwise(edges.tolist()):
        # A sheet at the end shows the end, and more beyond its match line.
        first = float(np.clip((start + end - room) / 2, low, high - room))
        parts.append(_Part((start, end), (first, first + room)))
    return parts


class _Plan:
    """The sheets of a book: which part of which section is on each."""

    def __init__(self, panels: Sequence[Panel], sheets: Sheets) -> None:
        self._panels = panels
        windows: dict[object, Floats] = {}
        for panel in panels:
            low, high = windows.get(panel.cut.section.family, panel.window)
            windows[panel.cut.section.family] = np.stack(
                [np.minimum(low, panel.window[0]), np.maximum(high, panel.window[1])]
            )
        self._windows = [windows[panel.cut.section.family] for panel in panels]
        if sheets.scale is None:
            sheets = replace(sheets, scale=self._largest_scale(sheets))
        self.sheets = sheets
        total = sum(math.prod(self._chosen(number)[1]) for number in range(len(panels)))
        if total > MOST_SHEETS:
            fits = self._largest_scale(sheets)
            message = (
                f"the sections need {total:,} sheets of {sheets.paper} at 1:{sheets.scale:,.10g}, "
                f"and a book has at most {MOST_SHEETS}: 1:{fits:,.10g} is the largest scale at "
                "which each section fits on one sheet"
            )
            raise TableError(message)
        self.pages: list[Sheet] = []
        for number in range(len(panels)):
            self.pages += self._pages_of(number)

    def _units(self, number: int, sheets: Sheets) -> Floats:
        """Return the units of the model to the right and upwards in a mm on paper."""
        return np.array([sheets.per_mm, sheets.per_mm / self._panels[number].stretch])

    def _content(self, number: int, units: Floats) -> Floats:
        """Return the width and height that the content of a section needs, with some air."""
        low, high = self._windows[number]
        return np.asarray(high - low + 2 * _AIR * units)

    def _chosen(self, number: int) -> tuple[tuple[float, float], list[int]]:
        """Return the size of paper that needs the fewest sheets, and their number each way."""
        units = self._units(number, self.sheets)
        content, overlap = self._content(number, units), _OVERLAP * units
        counts = [
            (size, _count(content, _map_size(size) * units, overlap)) for size in self.sheets.sizes
        ]
        return min(counts, key=lambda each: math.prod(each[1]))

    def _largest_scale(self, sheets: Sheets) -> float:
        """Return the largest usual scale at which each section fits on one sheet."""
        least = 0.0
        for number in range(len(self._panels)):
            units = self._units(number, replace(sheets, scale=1.0))
            low, high = self._windows[number]
            length = (high - low) / units
            least = max(
                least,
                min(float((length / (_map_size(size) - 2 * _AIR)).max()) for size in sheets.sizes),
            )
        power = 10.0 ** math.floor(math.log10(least))
        return next(step * power for step in _USUAL if step * power >= least * (1 - 1e-9))

    def _pages_of(self, number: int) -> list[Sheet]:
        """Return the sheets of a section, from left to right and from the top down."""
        size, counts = self._chosen(number)
        units = self._units(number, self.sheets)
        room = _map_size(size) * units
        air = _AIR * units * np.array([[-1], [1]])
        parts = [
            _divide(*limits, count, space, unit)
            for limits, count, space, unit in zip(
                (self._windows[number] + air).T.tolist(),
                counts,
                room.tolist(),
                units.tolist(),
                strict=True,
            )
        ]
        found: dict[tuple[int, int], tuple[Floats, Floats]] = {}
        for row in reversed(range(counts[1])):
            for column in range(counts[0]):
                across, up = parts[0][column], parts[1][row]
                core = np.array([across.core, up.core]).T
                if self._panels[number].has_blocks(core):
                    found[column, row] = np.array([across.shown, up.shown]).T, core
        numbers = {place: len(self.pages) + each + 1 for each, place in enumerate(found)}
        return [
            Sheet(
                number,
                size,
                window,
                core,
                {
                    side: numbers[column + right, row + above]
                    for side, (right, above) in _SIDES.items()
                    if (column + right, row + above) in numbers
                },
            )
            for (column, row), (window, core) in found.items()
        ]


_SIDES = {"left": (-1, 0), "right": (1, 0), "below": (0, -1), "above": (0, 1)}


# The book.


def draw_book(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]],
    colours: Mapping[str, str],
    look: Look,
    sheets: Sheets,
    progress: Callable[[int, int | None], None] | None = None,
) -> bytes:
    """Draw sections at true scale, each on as many sheets as it needs.

    Parameters
    ----------
    cuts : sequence of Cut
        Sections from `gather`.
    wireframes : mapping of str to sequence of Mesh
        Wireframes by domain.
    colours : mapping of str to str
        Colours of labels and domains.
    look : Look
        Style of the sections.
    sheets : Sheets
        Scale, paper and title block.
    progress : callable, optional
        Called with the number of sheets drawn and the total.

    Returns
    -------
    bytes
        The PDF. Its text is text (TrueType fonts), and its lines are vectors.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    panels = [Panel(cut, wireframes, look) for cut in cuts]
    plan = _Plan(panels, sheets)
    key = _Key(cuts, wireframes, colours)
    out = io.BytesIO()
    told = {"Title": look.title or sheets.model, "Creator": f"geodomain {version('geodomain')}"}
    if sheets.prepared_by:
        told["Author"] = sheets.prepared_by
    with rc_context({"pdf.fonttype": 42}), PdfPages(out, metadata=told) as pages:
        for number, page in enumerate(plan.pages):
            drawing = _Drawing(page, panels[page.cut], plan.sheets, colours)
            drawing.draw_map([cut.section for cut in cuts])
            drawing.draw_strip(key, number + 1, len(plan.pages))
            pages.savefig(drawing.figure)
            if progress is not None:
                progress(number + 1, len(plan.pages))
    return out.getvalue()


@lru_cache(maxsize=4096)
def _text_size(text: str, points: float, weight: str = "normal") -> tuple[float, float]:
    """Return the width and height of a text in mm."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=points, weight=weight)
    wide, high, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return wide / 72 * _MM, high / 72 * _MM


def _fitted(text: str, room: float, points: float, weight: str = "normal") -> tuple[str, float]:
    """Return a text and its size in points so that it fits into a width in mm."""
    least = 0.65 * points
    while points > least and _text_size(text, points, weight)[0] > room:
        points -= 0.25
    while len(text) > 2 and _text_size(text, points, weight)[0] > room:
        text = text[:-2] + "…"
    return text, points


# Left, bottom, right and top in mm.
_TextBox = tuple[float, float, float, float]
_GREY, _PALE, _MARK = "#555555", "#b8b8b8", "#c2185b"
# Endings of coordinates to the right and upwards.
_ENDINGS = {"x": (" N", " RL"), "y": (" E", " RL"), "z": (" E", " N"), None: ("", " RL")}


class _Drawing:
    """One sheet: a map, and a strip with legend, key plan, scale and title block."""

    def __init__(
        self, page: Sheet, panel: Panel, sheets: Sheets, colours: Mapping[str, str]
    ) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self._page, self._panel, self._sheets, self._colours = page, panel, sheets, colours
        self._look, self._section = panel.look, panel.cut.section
        wide, high = page.size
        self.figure: Figure = Figure(figsize=(wide / _MM, high / _MM))
        FigureCanvasAgg(self.figure)
        self._axes = self._at(0, 0, wide, high)
        self._axes.set_xlim(0, wide)
        self._axes.set_ylim(0, high)
        self._axes.axis("off")
        self._axes.set_zorder(9)
        self._corner = np.array([_BORDER + _LEFT, _BORDER + _STRIP + _FOOT])
        self._room = _map_size(page.size)
        self._ratio = sheets.scale or 1.0
        self._unnamed = 0

    def _at(self, x: float, y: float, wide: float, high: float) -> Axes:
        """Add axes at a place in mm."""
        across, up = self._page.size
        axes: Axes = self.figure.add_axes((x / across, y / up, wide / across, high / up))
        return axes

    def _place(self, points: Floats) -> Floats:
        """Convert coordinates (..., 2) of the section to mm on the sheet."""
        low, high = self._page.window
        return np.asarray(self._corner + (points - low) / (high - low) * self._room)

    def _text(self, x: float, y: float, text: str, points: float = 6.0, **more: Any) -> None:
        """Write a text at a place in mm."""
        more = {"color": INK, "ha": "left", "va": "center", **more}
        self._axes.text(x, y, text, fontsize=points, **more)

    def _box(self, x: float, y: float, wide: float, high: float, **more: Any) -> None:
        """Draw a rectangle at a place in mm."""
        from matplotlib.patches import Rectangle

        more = {"facecolor": "none", "edgecolor": INK, "lw": 0.6, **more}
        self._axes.add_patch(Rectangle((x, y), wide, high, **more))

    def _line(self, xs: Sequence[float], ys: Sequence[float], **more: Any) -> None:
        """Draw a line between places in mm."""
        self._axes.plot(xs, ys, **{"color": INK, "lw": 0.6, "solid_capstyle": "butt", **more})

    # The map.

    def draw_map(self, sections: Iterable[Section]) -> None:
        """Draw the part of the section, its grid, marks, match lines and names of holes."""
        from matplotlib.patches import Rectangle

        section, window = self._section, self._page.window
        axes = self._at(*self._corner, *self._room)
        axes.set_xlim(*window[:, 0])
        axes.set_ylim(*window[:, 1])
        axes.set_xticks([])
        axes.set_yticks([])
        self._panel.draw_content(axes, self._colours, 1 / self._sheets.per_mm / _MM, window)
        if section.ends is not None:  # wireframes continue beyond the ends of a line
            (low, foot), (high, top) = window
            start, end = max(low, 0.0), min(high, section.length)
            between = Rectangle((start, foot), end - start, top - foot, transform=axes.transData)
            for artist in [*axes.artists, *axes.patches, *axes.collections]:
                artist.set_clip_path(between)
        self._grid(axes)
        others = [other for other in sections if section.crossing(other) is not None]
        draw_marks(axes, section, others, window)
        axes.set_gid("map")
        for spine in axes.spines.values():
            spine.set_color(INK)
            spine.set_linewidth(0.8)
        taken = []
        if section.is_plan:
            aside = 8.0 + _OVERLAP * ("right" in self._page.sides)
            taken.append(self._north(*(self._corner + self._room - [aside, 6.0]), 12.0))
        self._ends()
        taken += self._match_lines()
        self._hole_names(taken)
        self._heading()

    def _heading(self) -> None:
        """Write the name of the section above the map."""
        _, high = self._page.size
        faces = faces_note(self._section) if self._panel.cut.is_on_faces else ""
        x, y = self._corner[0], high - _BORDER - 4.2
        self._text(x, y, self._section.name, 11.0, weight="bold")
        x += _text_size(self._section.name, 11.0, "bold")[0] + 4
        self._text(x, y, f"{self._section.looking}{self._taller}{faces}", 8.0, color=_GREY)

    @property
    def _taller(self) -> str:
        stretch = self._panel.stretch
        return f", vertical x {stretch:g}" if stretch != 1 else ""

    def _grid(self, axes: Axes) -> None:
        """Draw lines at round coordinates, with the coordinates at the left and below."""
        window = self._page.window
        endings = _ENDINGS[self._section.axis]
        for along in (0, 1):
            low, high = window[:, along].tolist()
            step = round_length((high - low) / float(self._room[along]) * 22.0, up=True)
            for number in range(math.ceil(low / step), math.floor(high / step) + 1):
                value = round(number * step, 10)
                line = axes.axhline if along else axes.axvline
                line(value, color="#000000", alpha=0.28, lw=0.35, zorder=2.5, gid="grid")
                text = f"{value:,.10g}{endings[along]}"
                place = self._place(np.array([value, value]))[along]
                half = _text_size(text, 6.0)[0] / 2
                inside = self._corner[along] + half, self._corner[along] + self._room[along] - half
                place = float(np.clip(place, *inside))
                if along:
                    self._text(self._corner[0] - 2.4, place, text, rotation=90, ha="center")
                else:
                    self._text(place, self._corner[1] - 2.8, text, ha="center")

    def _ends(self) -> None:
        """Mark the ends of a line with their names and coordinates, and eastings or northings."""
        if self._section.ends is None:
            return
        x1, y1, x2, y2 = self._section.ends
        top = float(self._corner[1] + self._room[1])
        names = (self._section.label.partition("-")[0], self._section.label.rpartition("-")[2])
        for name, (x, y), at in zip(names, ((x1, y1), (x2, y2)), self._section.reach, strict=True):
            place = float(self._place(np.array([at, 0.0]))[0])
            if not self._corner[0] <= place <= self._corner[0] + self._room[0]:
                continue
            self._line([place] * 2, [top, top + 2.2], lw=1.2)
            more = f"{x:,.10g} E, {y:,.10g} N"
            align = "left" if at == 0 else "right"
            shift = 1.0 if at == 0 else -1.0
            wide = _text_size(name, 8.0, "bold")[0] + 1.5
            self._text(place + shift, top + 2.6, name, 8.0, weight="bold", ha=align)
            self._text(place + shift + wide * shift, top + 2.4, more, 5.0, color=_GREY, ha=align)
        self._crossed_coordinates(top)

    def _crossed_coordinates(self, top: float) -> None:
        """Mark where a line crosses round eastings, or northings if it runs more to the north."""
        section = self._section
        along = int(np.abs(section.right[:2]).argmax())
        slope, start = float(section.right[along]), float(section.origin[along])
        window = self._page.window
        low, high = sorted(
            start + slope * float(np.clip(at, *section.reach)) for at in window[:, 0]
        )
        step = round_length(self._sheets.per_mm * 22.0 * abs(slope), up=True)
        for number in range(math.ceil(low / step), math.floor(high / step) + 1):
            value = round(number * step, 10)
            place = float(self._place(np.array([(value - start) / slope, 0.0]))[0])
            self._line([place] * 2, [top - 1.8, top])
            pale = {"facecolor": "#ffffff", "alpha": 0.75, "edgecolor": "none", "pad": 0.4}
            text = f"{value:,.10g}{(' E', ' N')[along]}"
            half = _text_size(text, 5.0)[0] / 2
            if self._corner[0] + half < place < self._corner[0] + self._room[0] - half:
                self._text(place, top - 3.2, text, 5.0, ha="center", bbox=pale)

    def _match_lines(self) -> list[_TextBox]:
        """Draw lines along which sheets of the same section are joined; return their labels."""
        low, high = self._place(self._page.core)
        left, below = self._corner
        right, top = self._corner + self._room
        lines = {
            "left": ((low[0], low[0]), (below, top)),
            "right": ((high[0], high[0]), (below, top)),
            "below": ((left, right), (low[1], low[1])),
            "above": ((left, right), (high[1], high[1])),
        }
        pale = {"facecolor": "#ffffff", "alpha": 0.85, "edgecolor": "none", "pad": 0.6}
        boxes = []
        for side, number in self._page.sides.items():
            xs, ys = lines[side]
            self._line(xs, ys, lw=1.1, ls=(0, (10, 3, 2, 3)), gid="match-line")
            upright = xs[0] == xs[1]
            x, y = xs[0] + 0.3 * (xs[1] - xs[0]), ys[0] + 0.3 * (ys[1] - ys[0])
            text = f"match line, sheet {number}"
            angle = 90 if upright else 0
            self._text(x, y, text, 6.5, ha="center", rotation=angle, bbox=pale)
            half = np.array(_text_size(text, 6.5)) / 2 + 0.5
            right, up = half[::-1] if upright else half
            boxes.append((x - right, y - up, x + right, y + up))
        return boxes

    def _hole_names(self, taken: list[_TextBox]) -> None:
        """Write names of holes where they are free, within the map; count those without room."""
        window = self._page.window
        ends: dict[str, list[Floats]] = {}
        for name, line in self._panel.holes:
            inside = [point for point in line if is_in(window, float(point[0]), float(point[1]))]
            if inside:
                ends.setdefault(name, []).extend(self._place(np.array([inside[0], inside[-1]])))
        low, high = self._corner + 0.4, self._corner + self._room - 0.4
        for name, (first, *_, last) in ends.items():
            wide, tall = _text_size(name, 6.0)
            wide, tall = wide + 0.6, tall + 0.6
            places = [
                (float(end[0]) + dx, float(end[1]) + dy)
                for end, rises in ((first, (0.8, -0.5 * tall, -tall - 0.8)), (last, (-tall - 0.8,)))
                for dy in rises
                for dx in (0.8, -wide - 0.8, -0.5 * wide)
            ]
            free = (
                (x, y, x + wide, y + tall)
                for x, y in places
                if low[0] <= x and low[1] <= y and x + wide <= high[0] and y + tall <= high[1]
            )
            box = next((box for box in free if not any(_overlap(box, one) for one in taken)), None)
            if box is None:
                self._unnamed += 1
                continue
            taken.append(box)
            pale = {"facecolor": "#ffffff", "alpha": 0.75, "edgecolor": "none", "pad": 0.3}
            x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            self._text(x, y, name, ha="center", bbox=pale, gid="hole-name")

    def _north(self, x: float, y: float, high: float) -> _TextBox:
        """Draw a north arrow with its top at a place in mm; return the box that it takes."""
        from matplotlib.patches import Polygon

        wide = 0.3 * high
        self._box(
            x - wide / 2 - 1, y - 1.35 * high - 1, wide + 2, 1.35 * high + 3,
            facecolor="#ffffff", alpha=0.8, edgecolor="none",
        )  # fmt: skip
        corners = [(x, y), (x - wide / 2, y - high), (x, y - 0.75 * high), (x + wide / 2, y - high)]
        self._axes.add_patch(Polygon(corners, facecolor=INK, edgecolor=INK, lw=0.4))
        self._text(x, y - 1.2 * high, "N", 0.75 * high, weight="bold", ha="center")
        return x - wide / 2 - 1, y - 1.35 * high - 1, x + wide / 2 + 1, y + 2

    # The strip below the map.

    def draw_strip(self, key: _Key, number: int, total: int) -> None:
        """Draw the border, and the legend, key plan, scale and title block below the map."""
        wide, high = self._page.size
        self._box(_BORDER, _BORDER, wide - 2 * _BORDER, high - 2 * _BORDER, lw=1.0)
        top = _BORDER + _STRIP
        self._line([_BORDER, wide - _BORDER], [top, top], lw=1.0)
        inner = wide - 2 * _BORDER
        titled = min(100.0, 0.36 * inner)
        scaled, plan = min(56.0, 0.2 * inner), min(60.0, 0.22 * inner)
        x = wide - _BORDER - titled
        self._title_block(x, titled, number, total)
        self._line([x, x], [_BORDER, top])
        x -= scaled
        self._scale_bar(x, scaled)
        self._line([x, x], [_BORDER, top])
        x -= plan
        axes = self._at(x + 1.5, _BORDER + 1.5, plan - 3, _STRIP - 7)
        self._text(x + 1.5, top - 2.8, "Key plan", 5.0, color=_GREY)
        key.draw(axes, self._page.cut, self._page.core, self._panel.window)
        self._north(x + plan - 4.5, top - 7.0, 4.0)
        self._line([x, x], [_BORDER, top])
        self._legend(_BORDER, x - _BORDER)

    def _title_block(self, x: float, wide: float, number: int, total: int) -> None:
        """Draw the title block."""
        sheets = self._sheets
        project = self._look.title or re.sub(r"\.\w+$", "", sheets.model)
        named = f"Section {self._section.name}, {self._section.looking}"
        if self._section.is_plan:
            named = f"Plan {self._section.name}"
        scale = f"1:{self._ratio:,.10g} at {sheets.paper}{self._taller}"
        today = datetime.now().astimezone().date().isoformat()
        rows: list[tuple[float, list[tuple[str, str, float, float, str]]]] = [
            (13.0, [("Project", project, 1.0, 11.0, "bold")]),
            (11.0, [("Section", named, 1.0, 8.5, "bold")]),
            (11.0, [("Model", sheets.model, 0.6, 7.0, "normal"),
                    ("Prepared by", sheets.prepared_by, 0.4, 7.0, "normal")]),
            (11.0, [("Scale", scale, 0.42, 7.0, "bold"), ("Date", today, 0.28, 7.0, "normal"),
                    ("Sheet", f"{number} of {total}", 0.3, 7.0, "bold")]),
        ]  # fmt: skip
        top = _BORDER + _STRIP
        for height, cells in rows:
            left = x
            for label, text, share, points, weight in cells:
                if left > x:
                    self._line([left, left], [top - height, top])
                self._text(left + 1.2, top - 2.2, label, 4.5, color=_GREY)
                fitted, size = _fitted(text, share * wide - 2.4, points, weight)
                self._text(left + 1.2, top - 0.64 * height, fitted, size, weight=weight)
                left += share * wide
            top -= height
            if top > _BORDER + 1:
                self._line([x, x + wide], [top, top])

    def _scale_bar(self, x: float, wide: float) -> None:
        """Draw a scale bar of round length, and how to check it."""
        sheets, top = self._sheets, _BORDER + _STRIP
        length = 4 * round_length(sheets.per_mm * (wide - 12) / 4)
        drawn = length / sheets.per_mm
        left, y = x + (wide - drawn) / 2, top - 17.0
        unit = sheets.unit or "m"
        self._text(x + wide / 2, top - 6.5, f"1:{self._ratio:,.10g}", 11.0, weight="bold",
                   ha="center")  # fmt: skip
        for part in range(4):
            fill = INK if part % 2 == 0 else "#ffffff"
            self._box(left + part * drawn / 4, y, drawn / 4, 1.8, facecolor=fill, gid="scale-bar")
        for share in (0, 0.5, 1):
            ending = f" {unit}" if share == 1 else ""
            self._text(
                left + share * drawn, y - 2.6, f"{share * length:,.10g}{ending}", 6.0, ha="center"
            )
        notes = [f"at {sheets.paper}, printed at 100 %"]
        if self._panel.stretch != 1:
            notes.append(f"vertical 1:{round(self._ratio / self._panel.stretch):,}")
        near = self._look.near
        if near is not None:
            notes.append(f"drillholes within {near.within:,.10g} {unit}")
        if self._unnamed:
            notes.append(f"{counted(self._unnamed, 'hole name')} without room")
        notes.append(f"geodomain {version('geodomain')}")
        for line, note in enumerate(notes):
            text, points = _fitted(note, wide - 3, 5.5)
            self._text(x + wide / 2, y - 8.0 - 3.6 * line, text, points, ha="center", color=_GREY)

    def _legend(self, x: float, wide: float) -> None:
        """Draw the legend: domains, and the classes or ramps of grades."""
        top = _BORDER + _STRIP
        entries = self._entries()
        rows = int((_STRIP - 6.0) // 4.2)
        self._text(x + 1.5, top - 2.8, "Legend", 5.0, color=_GREY)
        row, left, widest = 0, x + 2.0, 0.0
        for index, (kind, colour, text) in enumerate(entries):
            group = 1
            if kind == "head":  # a grade and its classes stay together if they can
                group += next(
                    (at for at, each in enumerate(entries[index + 1 :]) if each[0] == "head"),
                    len(entries) - index - 1,
                )
            if row == rows or (row + group > rows >= group):
                row, left, widest = 0, left + widest + 4.0, 0.0
            needed = _text_size(text, 6.5)[0] + (0.0 if kind == "head" else 7.0)
            if left + min(needed, 16.0) > x + wide - 1:
                others = f"and {counted(len(entries) - index, 'other')}"
                self._text(x + wide - 1.5, _BORDER + 1.8, others, 5.0, ha="right", color=_GREY)
                return
            y = top - 7.4 - 4.2 * row
            room = x + wide - 1 - left - (0.0 if kind == "head" else 7.0)
            fitted, points = _fitted(text, room, 6.5)
            if kind == "patch":
                self._box(left, y - 1.4, 5.2, 2.8, facecolor=colour, edgecolor="#999999", lw=0.3)
            elif kind == "line":
                self._line([left, left + 5.2], [y, y], color=colour, lw=1.4)
            weight = "bold" if kind == "head" else "normal"
            at = left if kind == "head" else left + 6.8
            self._text(at, y - 0.1, fitted, points, weight=weight)
            widest = max(widest, min(needed, room + 7.0))
            row += 1

    def _entries(self) -> list[tuple[str, str, str]]:
        """Return the entries of the legend: kind, colour and text."""
        panel, look = self._panel, self._look
        labels = set() if look.ramp else set(panel.cut.labels.tolist())
        entries = []
        for name, colour in self._colours.items():
            if name in labels:
                entries.append(("patch", colour, name or "(not labelled)"))
            elif name in panel.traced:
                entries.append(("line", colour if look.ramp else darker(colour), name))
        if panel.holes:
            entries.append(("line", INK, "drillhole"))
        for ramp in look.ramps:
            entries.append(("head", "", ramp.name))
            entries += [("patch", colour, text) for colour, text in _steps(ramp)]
        return entries


def _steps(ramp: Ramp) -> list[tuple[str, str]]:
    """Return colours and texts of the classes of a grade, or of steps along its ramp."""
    colours = ramp_colours(ramp)
    if ramp.edges:
        return list(zip(colours, ramp.classes, strict=True))
    values = np.linspace(ramp.low, ramp.high, 5)
    texts = [f"{value:,.3g}" for value in values.tolist()]
    if ramp.highest > ramp.high:
        texts[-1] += " and above"
    picked = np.linspace(0, len(colours) - 1, 5).round().astype(int).tolist()
    return [(colours[at], text) for at, text in zip(picked, texts, strict=True)]


def _overlap(one: _TextBox, two: _TextBox) -> bool:
    """Return whether two boxes (left, bottom, right, top) overlap."""
    return one[0] < two[2] and two[0] < one[2] and one[1] < two[3] and two[1] < one[3]


# The key plan.


class _Key:
    """A small plan of the model with the traces of all sections of the book."""

    def __init__(
        self,
        cuts: Sequence[Cut],
        wireframes: Mapping[str, Sequence[Mesh]],
        colours: Mapping[str, str],
    ) -> None:
        self._sections = [cut.section for cut in cuts]
        extent = cuts[0].extent
        self._extent = np.zeros((2, 3)) if extent is None else extent
        ends = [section.ends for section in self._sections if section.ends]
        corners = np.concatenate(
            [self._extent[:, :2], *(np.array(each).reshape(2, 2) for each in ends)]
        )
        low, high = corners.min(axis=0), corners.max(axis=0)
        self._box = np.stack([low, high]) + 0.06 * (high - low).max() * np.array([[-1], [1]])
        self._plan = Section("z", float(self._extent[:, 2].mean()))
        self._traces = [
            (colours[name], cut_triangles(self._plan, mesh.vertices[mesh.triangles]))
            for name, meshes in wireframes.items()
            for mesh in meshes
        ]

    def draw(self, axes: Axes, cut: int, core: Floats, window: Floats) -> None:
        """Draw the plan; the part of a section on this sheet is bold, with the direction of view.

        `core` is this part, and `window` the rectangle of the whole section.
        """
        from matplotlib.collections import LineCollection
        from matplotlib.patches import Rectangle

        (left, below), (right, top) = self._box.tolist()
        axes.set_xlim(left, right)
        axes.set_ylim(below, top)
        axes.set_aspect("equal", anchor="C")
        axes.axis("off")
        low, high = self._extent[:, :2]
        outline = Rectangle(tuple(low), *(high - low), facecolor="#f6f4ee", edgecolor=_PALE, lw=0.5)
        axes.add_patch(outline)
        for colour, lines in self._traces:
            axes.add_collection(LineCollection(list(lines), colors=darker(colour), linewidths=0.4))
        for number, section in enumerate(self._sections):
            trace = self._trace(section)
            if trace is not None and number != cut:
                axes.plot(*trace.T, color="#888888", lw=0.45)
        part = np.stack([np.maximum(core[0], window[0]), np.minimum(core[1], window[1])])
        self._current(axes, self._sections[cut], part)

    def _trace(self, section: Section) -> Floats | None:
        """Return the ends (2, 2) of the trace of a section on the map; None for a plan."""
        line = self._plan.crossing(section)
        if line is None:
            return None
        low, high = self._extent[:, :2]
        return np.where(np.isinf(line), np.stack([low, high]), line)

    def _current(self, axes: Axes, section: Section, part: Floats) -> None:
        """Draw the section of this sheet."""
        from matplotlib.patches import Rectangle

        if section.is_plan:
            wide, high = part[1] - part[0]
            axes.add_patch(Rectangle(tuple(part[0]), wide, high, fill=False, ec=_MARK, lw=1.2))
            return
        trace = self._trace(section)
        if trace is None:
            return
        axes.plot(*trace.T, color=_MARK, lw=0.6)
        ends = section.origin[:2] + part[:, :1] * section.right[:2]
        axes.plot(*ends.T, color=_MARK, lw=1.6, solid_capstyle="butt")
        length = 0.09 * float((self._box[1] - self._box[0]).max())
        ahead = length * np.array([-section.right[1], section.right[0]])
        for end in trace:
            arrow = {"arrowstyle": "-|>,head_length=0.25,head_width=0.12", "color": _MARK}
            arrow |= {"lw": 0.7, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", xy=tuple(end + ahead), xytext=tuple(end), arrowprops=arrow)
        if section.ends is not None:
            names = (section.label.partition("-")[0], section.label.rpartition("-")[2])
            for name, end, back in zip(names, trace, (-1, 1), strict=True):
                place = end + back * 0.6 * length * section.right[:2]
                axes.text(*place, name, fontsize=5.5, color=_MARK, ha="center", va="center",
                          weight="bold", clip_on=False)  # fmt: skip
