"""Draw a section book: sections at true scale on sheets of paper with title blocks, as a PDF."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from importlib.metadata import version
from itertools import product
from typing import TYPE_CHECKING, Literal

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import counted
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.look import (
    INK,
    Look,
    Ramp,
    darker,
    draw_marks,
    faces_note,
)
from geodomain.reporting.panel import Panel, ramp_colours
from geodomain.reporting.planes import Section
from geodomain.reporting.sections import Cut, cut_triangles
from geodomain.reporting.sheets import (
    BORDER,
    FOOT,
    LEFT,
    MM,
    OVERLAP,
    STRIP,
    Plan,
    Sheet,
    Sheets,
    enlarged,
    map_size,
)
from geodomain.statistics.charts import round_length

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
        The PDF, with text that can be searched (TrueType fonts), and lines as vectors.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    panels = [Panel(cut, wireframes, look) for cut in cuts]
    plan = Plan(panels, sheets)
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
    return wide / 72 * MM, high / 72 * MM


def _fitted(text: str, room: float, points: float, weight: str = "normal") -> tuple[str, float]:
    """Return a text and its size in points, reduced until it fits into a width in mm."""
    least = 0.65 * points
    while points > least and _text_size(text, points, weight)[0] > room:
        points -= 0.25
    while len(text) > 2 and _text_size(text, points, weight)[0] > room:
        text = text[:-2] + "…"
    return text, points


_Weight = Literal["normal", "bold"]
# A hole that is shorter than this on paper is drawn as a circle.
_DOT = 0.8
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
        self._larger = enlarged(page.size)
        self.figure: Figure = Figure(figsize=(wide / MM, high / MM))
        FigureCanvasAgg(self.figure)
        # From here on, lengths are in mm of A3; on larger paper, everything is drawn larger.
        wide, high = self._size = (wide / self._larger, high / self._larger)
        self._per_mm = sheets.per_mm * self._larger
        self._axes = self._at(0, 0, wide, high)
        self._axes.set_xlim(0, wide)
        self._axes.set_ylim(0, high)
        self._axes.axis("off")
        self._axes.set_zorder(9)
        self._corner = np.array([BORDER + LEFT, BORDER + STRIP + FOOT])
        self._room = map_size(page.size) / self._larger
        self._occupied = _Taken()
        self._ratio = sheets.scale or 1.0
        self._unnamed = 0

    def _at(self, x: float, y: float, wide: float, high: float) -> Axes:
        """Add axes at a place in mm."""
        across, up = self._size
        axes: Axes = self.figure.add_axes((x / across, y / up, wide / across, high / up))
        return axes

    def _place(self, points: Floats) -> Floats:
        """Convert coordinates (..., 2) of the section to mm on the sheet."""
        low, high = self._page.window
        return np.asarray(self._corner + (points - low) / (high - low) * self._room)

    def _text(
        self,
        x: float,
        y: float,
        text: str,
        points: float = 6.0,
        *,
        ha: Literal["left", "center", "right"] = "left",
        color: str = INK,
        weight: _Weight = "normal",
        rotation: float = 0,
        is_over: bool = False,
        gid: str | None = None,
    ) -> None:
        """Write a text at a place in mm; a text over the map has a white background."""
        ground = {"facecolor": "#ffffff", "alpha": 0.8, "edgecolor": "none", "pad": 0.4}
        self._axes.text(
            x, y, text, fontsize=points * self._larger, ha=ha, va="center", color=color,
            weight=weight, rotation=rotation, bbox=ground if is_over else None, gid=gid,
        )  # fmt: skip

    def _box(
        self,
        x: float,
        y: float,
        wide: float,
        high: float,
        *,
        facecolor: str = "none",
        edgecolor: str = INK,
        lw: float = 0.6,
        alpha: float = 1.0,
    ) -> None:
        """Draw a rectangle at a place in mm."""
        from matplotlib.patches import Rectangle

        self._axes.add_patch(
            Rectangle((x, y), wide, high, fc=facecolor, ec=edgecolor, lw=lw, alpha=alpha)
        )

    def _line(
        self,
        xs: Sequence[float],
        ys: Sequence[float],
        *,
        color: str = INK,
        lw: float = 0.6,
        is_dashed: bool = False,
    ) -> None:
        """Draw a line between places in mm."""
        dashes = (0, (10, 3, 2, 3)) if is_dashed else "-"
        self._axes.plot(xs, ys, color=color, lw=lw, ls=dashes, solid_capstyle="butt")

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
        self._panel.draw_content(axes, self._colours, 1 / self._sheets.per_mm / MM, window)
        if section.ends is not None:  # wireframes continue beyond the ends of a line
            low, high = self._between_ends()
            between = Rectangle(tuple(low), *(high - low), transform=axes.transData)
            for artist in [*axes.artists, *axes.patches, *axes.collections]:
                artist.set_clip_path(between)
        self._grid(axes)
        axes.set_gid("map")
        for spine in axes.spines.values():
            spine.set_color(INK)
            spine.set_linewidth(0.8)
        if section.is_plan:
            aside = 8.0 + OVERLAP * ("right" in self._page.sides)
            x, y = (self._corner + self._room - [aside, 6.0]).tolist()
            self._occupied.add(self._north(x, y, 12.0))
        self._ends()
        self._match_lines()
        others = [other for other in sections if section.crossing(other) is not None]
        draw_marks(axes, section, others, window, self._name_mark)
        self._dots()
        self._hole_names()
        self._heading()

    def _heading(self) -> None:
        """Write the name of the section above the map."""
        _, high = self._size
        faces = faces_note(self._section) if self._panel.cut.is_on_faces else ""
        x, y = self._corner[0], high - BORDER - 4.2
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
        places = ((x1, y1), (x2, y2))
        names, reach = self._section.end_names, self._section.reach
        for name, (x, y), at in zip(names, places, reach, strict=True):
            place = float(self._place(np.array([at, 0.0]))[0])
            if not self._corner[0] <= place <= self._corner[0] + self._room[0]:
                continue
            self._line([place] * 2, [top, top + 2.2], lw=1.2)
            more = f"{x:,.10g} E, {y:,.10g} N"
            align: Literal["left", "right"] = "left" if at == 0 else "right"
            shift = 1.0 if at == 0 else -1.0
            wide = _text_size(name, 8.0, "bold")[0] + 1.5
            self._text(place + shift, top + 2.6, name, 8.0, weight="bold", ha=align)
            self._text(place + shift + wide * shift, top + 2.4, more, 5.0, color=_GREY, ha=align)
            across = shift * (2 + wide + _text_size(more, 5.0)[0])
            left, right = sorted((place, place + across))
            self._occupied.add((left, top, right, top + 4.5))
        self._crossed_coordinates(top)

    def _crossed_coordinates(self, top: float) -> None:
        """Mark round eastings along a line, or round northings if it runs more to the north."""
        section = self._section
        along = int(np.abs(section.right[:2]).argmax())
        slope, start = float(section.right[along]), float(section.origin[along])
        window = self._page.window
        low, high = sorted(
            start + slope * float(np.clip(at, *section.reach)) for at in window[:, 0]
        )
        step = round_length(self._per_mm * 22.0 * abs(slope), up=True)
        for number in range(math.ceil(low / step), math.floor(high / step) + 1):
            value = round(number * step, 10)
            place = float(self._place(np.array([(value - start) / slope, 0.0]))[0])
            self._line([place] * 2, [top - 1.8, top])
            text = f"{value:,.10g}{(' E', ' N')[along]}"
            half = _text_size(text, 5.0)[0] / 2
            if self._corner[0] + half < place < self._corner[0] + self._room[0] - half:
                self._text(place, top - 3.2, text, 5.0, ha="center", is_over=True)

    def _name_mark(self, name: str, x: float, y: float, along: int | None) -> None:
        """Write the name of another section at its mark, unless it would cover a text."""
        place = self._place(np.array([x, y]))
        wide, tall = np.array(_text_size(name, 6.5)) + 0.6
        left = float(place[0]) - (wide + 0.8 if along == 1 else wide / 2)
        below = float(place[1]) + 0.6
        box = (left, below, left + wide, below + tall)
        if self._occupied.is_free(box):
            self._occupied.add(box)
            x, y = left + wide / 2, below + tall / 2
            self._text(x, y, name, 6.5, ha="center", color=_MARK, is_over=True)

    def _match_lines(self) -> None:
        """Draw lines along which sheets of the same section are joined."""
        low, high = self._place(self._page.core)
        left, below = self._corner
        right, top = self._corner + self._room
        lines = {
            "left": ((low[0], low[0]), (below, top)),
            "right": ((high[0], high[0]), (below, top)),
            "below": ((left, right), (low[1], low[1])),
            "above": ((left, right), (high[1], high[1])),
        }
        for side, number in self._page.sides.items():
            xs, ys = lines[side]
            self._line(xs, ys, lw=1.1, is_dashed=True)
            upright = xs[0] == xs[1]
            x, y = xs[0] + 0.3 * (xs[1] - xs[0]), ys[0] + 0.3 * (ys[1] - ys[0])
            text = f"match line, sheet {number}"
            angle = 90 if upright else 0
            self._text(x, y, text, 6.5, ha="center", rotation=angle, is_over=True)
            half = np.array(_text_size(text, 6.5)) / 2 + 0.5
            right, up = half[::-1] if upright else half
            self._occupied.add((x - right, y - up, x + right, y + up))

    def _between_ends(self) -> Floats:
        """Return the least and the largest coordinates, (2, 2), of what the sheet shows.

        This is the window, without what lies beyond the ends of a line.
        """
        window = np.array(self._page.window, np.float64)
        if self._section.ends is not None:
            window[:, 0] = window[:, 0].clip(0.0, self._section.length)
        return window

    def _dots(self) -> None:
        """Draw circles for holes that are seen end on, such as vertical holes on a plan."""
        low, high = self._between_ends()
        lines = [line for _, line in self._panel.holes]
        short = [line for line in lines if np.ptp(self._place(line), axis=0).max() < _DOT]
        middles = np.array([line.mean(axis=0) for line in short]).reshape(-1, 2)
        shown = self._place(middles[((middles >= low) & (middles <= high)).all(axis=1)])
        self._axes.plot(*shown.T, "o", ms=1.6 * self._larger, mfc="#ffffff", mec=INK, mew=0.6,
                        gid="hole-dots")  # fmt: skip

    def _hole_names(self) -> None:
        """Write names of holes where they cover no other text; count the names without room."""
        window = self._between_ends()
        ends: dict[str, list[Floats]] = {}
        for name, line in self._panel.holes:
            inside = line[((line >= window[0]) & (line <= window[1])).all(axis=1)]
            if len(inside):
                ends.setdefault(name, []).extend(self._place(inside[[0, -1]]))
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
            box = next((box for box in free if self._occupied.is_free(box)), None)
            if box is None:
                self._unnamed += 1
                continue
            self._occupied.add(box)
            x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            self._text(x, y, name, ha="center", is_over=True, gid="hole-name")

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
        wide, high = self._size
        self._box(BORDER, BORDER, wide - 2 * BORDER, high - 2 * BORDER, lw=1.0)
        top = BORDER + STRIP
        self._line([BORDER, wide - BORDER], [top, top], lw=1.0)
        inner = wide - 2 * BORDER
        titled = min(100.0, 0.35 * inner)
        scaled, plan = min(56.0, 0.19 * inner), min(60.0, 0.2 * inner)
        x = wide - BORDER - titled
        self._title_block(x, titled, number, total)
        self._line([x, x], [BORDER, top])
        x -= scaled
        self._scale_bar(x, scaled)
        self._line([x, x], [BORDER, top])
        x -= plan
        axes = self._at(x + 1.5, BORDER + 1.5, plan - 3, STRIP - 7)
        self._text(x + 1.5, top - 2.8, "Key plan", 5.0, color=_GREY)
        key.draw(axes, self._page.cut, self._page.core, self._panel.window)
        self._north(x + plan - 4.5, top - 7.0, 4.0)
        self._line([x, x], [BORDER, top])
        self._legend(BORDER, x - BORDER)

    def _title_block(self, x: float, wide: float, number: int, total: int) -> None:
        """Draw the title block."""
        sheets = self._sheets
        project = self._look.title or re.sub(r"\.\w+$", "", sheets.model)
        named = f"Section {self._section.name}, {self._section.looking}"
        if self._section.is_plan:
            named = f"Plan {self._section.name}"
        scale = f"1:{self._ratio:,.10g} at {sheets.paper}{self._taller}"
        today = datetime.now().astimezone().date().isoformat()
        rows: list[tuple[float, list[tuple[str, str, float, float, _Weight]]]] = [
            (13.0, [("Project", project, 1.0, 11.0, "bold")]),
            (11.0, [("Section", named, 1.0, 8.5, "bold")]),
            (11.0, [("Model", sheets.model, 0.6, 7.0, "normal"),
                    ("Prepared by", sheets.prepared_by, 0.4, 7.0, "normal")]),
            (11.0, [("Scale", scale, 0.42, 7.0, "bold"), ("Date", today, 0.28, 7.0, "normal"),
                    ("Sheet", f"{number} of {total}", 0.3, 7.0, "bold")]),
        ]  # fmt: skip
        top = BORDER + STRIP
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
            if top > BORDER + 1:
                self._line([x, x + wide], [top, top])

    def _scale_bar(self, x: float, wide: float) -> None:
        """Draw a scale bar of round length, with notes on paper, drillholes and version."""
        sheets, top = self._sheets, BORDER + STRIP
        length = 4 * round_length(self._per_mm * (wide - 12) / 4)
        drawn = length / self._per_mm
        left, y = x + (wide - drawn) / 2, top - 17.0
        unit = sheets.unit or "m"
        self._text(x + wide / 2, top - 6.5, f"1:{self._ratio:,.10g}", 11.0, weight="bold",
                   ha="center")  # fmt: skip
        for part in range(4):
            fill = INK if part % 2 == 0 else "#ffffff"
            self._box(left + part * drawn / 4, y, drawn / 4, 1.8, facecolor=fill)
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
        top = BORDER + STRIP
        entries = self._entries()
        rows = int((STRIP - 6.0) // 4.2)
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
                self._text(x + wide - 1.5, BORDER + 1.8, others, 5.0, ha="right", color=_GREY)
                return
            y = top - 7.4 - 4.2 * row
            room = x + wide - 1 - left - (0.0 if kind == "head" else 7.0)
            fitted, points = _fitted(text, room, 6.5)
            if kind == "patch":
                self._box(left, y - 1.4, 5.2, 2.8, facecolor=colour, edgecolor="#999999", lw=0.3)
            elif kind == "line":
                self._line([left, left + 5.2], [y, y], color=colour, lw=1.4)
            weight: _Weight = "bold" if kind == "head" else "normal"
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


class _Taken:
    """The boxes on a sheet that texts cover already."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[_TextBox]] = {}

    def add(self, box: _TextBox) -> None:
        """Mark a box as taken."""
        for cell in self._cells_of(box):
            self._cells.setdefault(cell, []).append(box)

    def is_free(self, box: _TextBox) -> bool:
        """Return whether a box overlaps no taken box."""
        near = (text_box for cell in self._cells_of(box) for text_box in self._cells.get(cell, ()))
        return not any(
            box[0] < text_box[2]
            and text_box[0] < box[2]
            and box[1] < text_box[3]
            and text_box[1] < box[3]
            for text_box in near
        )

    @staticmethod
    def _cells_of(box: _TextBox) -> Iterator[tuple[int, int]]:
        """Yield the squares of 20 mm that a box meets."""
        left, below, right, top = (int(side // 20) for side in box)
        yield from product(range(left, right + 1), range(below, top + 1))


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
            arrow = {"arrowstyle": "-|>,head_length=0.25,head_width=0.12", "color": _MARK,
                     "lw": 0.7, "shrinkA": 0, "shrinkB": 0}  # fmt: skip
            axes.annotate("", xy=tuple(end + ahead), xytext=tuple(end), arrowprops=arrow,
                          annotation_clip=False)  # fmt: skip
        if section.ends is not None:
            for name, end, back in zip(section.end_names, trace, (-1, 1), strict=True):
                x, y = (end + back * 0.6 * length * section.right[:2]).tolist()
                axes.text(x, y, name, fontsize=5.5, color=_MARK, ha="center", va="center",
                          weight="bold", clip_on=False)  # fmt: skip
