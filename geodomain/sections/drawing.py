"""Draws sections with matplotlib, off screen: blocks by domain, wireframes' traces over them."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodomain.errors import TableError
from geodomain.mesh import Mesh
from geodomain.sections.cutting import Floats, box_of, cut_blocks, cut_triangles
from geodomain.sections.gathering import Cut
from geodomain.sections.page import lay_out

# Told apart by people who see colours differently; then they come again, paler and darker.
_COLOURS = (
    "#b5382c", "#3d6b73", "#e6a532", "#6a4c93", "#5b8c3e", "#c97b9b",
    "#2f5d9b", "#8c5a2b", "#49a6a6", "#9b9b2f",
)  # fmt: skip
_GROUND, _NOTHING, _INK = "#e4e0d6", "#e9edf1", "#222222"
_AXES = ("x, east", "y, north", "z, up")
_LOOKING = ("looking west", "looking north", "plan")
_DOTS = 150
# Inches: a line of the legend, a letter in it, and what stands before a name.
_LINE, _LETTER, _PATCH = 0.26, 0.088, 0.65
_KINDS = ("png", "svg", "pdf")


def draw(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]] | None = None,
    *,
    background: Sequence[str] = (),
    kind: str = "png",
    exaggerate: float = 1.0,
) -> bytes:
    """Draw sections on one page, all of them to one scale.

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
    exaggerate : float
        How much longer a unit is drawn along z than along x and y.

    Returns
    -------
    bytes
        The picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wireframes = wireframes or {}
    colours = _colours(cuts, wireframes, background)
    panels = [_Panel(cut, wireframes, exaggerate) for cut in cuts]
    shown = {name for panel in panels for name in panel.shown}
    lengths = np.array([panel.lengths for panel in panels])
    columns = _legend_columns(shown, lay_out(lengths).size[0])
    page = lay_out(lengths, below=_LINE * -(-len(shown) // columns))
    wide, high = page.size
    figure = Figure(figsize=page.size, dpi=_DOTS)
    FigureCanvasAgg(figure)
    for (left, bottom, across, up), panel in zip(page.panels, panels, strict=True):
        place = (left / wide, bottom / high, across / wide, up / high)
        panel.draw(figure.add_axes(place), colours, page.scale)
    there = {label for cut in cuts for label in cut.labels.tolist()}
    _legend(figure, {name: colours[name] for name in colours if name in shown}, there, columns)
    out = io.BytesIO()
    figure.savefig(
        out, format=kind, bbox_inches="tight", metadata={"Date": None} if kind == "svg" else None
    )
    return out.getvalue()


def require_kind(path: Path) -> str:
    """Give the kind of picture that a path asks for by its extension.

    Raises
    ------
    TableError
        If there is no such kind.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _KINDS:
        message = f"{path} is no picture: give it one of the extensions .{', .'.join(_KINDS)}"
        raise TableError(message)
    return kind


class _Panel:
    """One section: its polygons, its lines, and the window that shows them."""

    def __init__(
        self, cut: Cut, wireframes: Mapping[str, Sequence[Mesh]], exaggerate: float
    ) -> None:
        self.cut = cut
        self.stretch = 1.0 if cut.section.axis == "z" else exaggerate
        self.polygons = cut_blocks(cut.section, cut.points, cut.sizes, cut.matrix)
        self.traces = {
            name: np.concatenate(
                [cut_triangles(cut.section, mesh.vertices[mesh.triangles]) for mesh in meshes]
            )
            for name, meshes in wireframes.items()
            if meshes
        }
        box = box_of(self.polygons)
        margin = 0.02 * (box[1] - box[0]) * [1, self.stretch]
        self.window = box + margin.max() / [1, self.stretch] * np.array([[-1], [1]])

    @property
    def lengths(self) -> Floats:
        """Give how long the window is drawn to the right and up."""
        return np.asarray((self.window[1] - self.window[0]) * [1, self.stretch])

    @property
    def shown(self) -> set[str]:
        """Give the labels of its blocks, and the domains whose traces are in the window."""
        low, high = self.window
        inside = {
            name
            for name, lines in self.traces.items()
            if ((lines.max(axis=1) >= low) & (lines.min(axis=1) <= high)).all(axis=1).any()
        }
        return inside | set(self.cut.labels.tolist())

    def draw(self, axes: Any, colours: Mapping[str, str], scale: float) -> None:
        """Draw blocks, then traces, then what names the axes."""
        from matplotlib.collections import LineCollection, PolyCollection

        edge = self._edge(scale)
        order = {label: number for number, label in enumerate(colours)}
        for label in sorted(set(self.cut.labels.tolist()), key=lambda one: order[one]):
            rows = np.flatnonzero(self.cut.labels == label)
            shapes = [self.polygons[row] for row in rows]
            axes.add_collection(
                PolyCollection(
                    shapes,
                    facecolors=colours[label],
                    edgecolors="#ffffff",
                    linewidths=edge,
                    antialiaseds=edge > 0,  # smoothed edges would leave gaps between blocks
                )
            )
        for name, lines in self.traces.items():
            # A pale line below the dark one: it shows on blocks of any colour.
            for colour, width, order_of in (("#ffffff", 2.6, 3), (_darker(colours[name]), 1.3, 4)):
                axes.add_collection(
                    LineCollection(
                        list(lines),
                        colors=colour,
                        linewidths=width,
                        zorder=order_of,
                        capstyle="round",
                    )
                )
        self._frame(axes)

    def _edge(self, scale: float) -> float:
        """Give the width of the lines between blocks, in points; none where blocks are dots."""
        smallest = float(self.cut.sizes[:, list(self.cut.section.along)].min())
        dots = smallest * scale * _DOTS
        return 0.0 if dots < 12 else min(0.6, dots / 40)

    def _frame(self, axes: Any) -> None:
        """Set the window, the scale, and the words around it."""
        from matplotlib.ticker import MaxNLocator, StrMethodFormatter

        right, up = self.cut.section.along
        axes.set_xlim(*self.window[:, 0])
        axes.set_ylim(*self.window[:, 1])
        axes.set_aspect(self.stretch, anchor="NW")
        axes.set_xlabel(_AXES[right])
        axes.set_ylabel(_AXES[up])
        section = self.cut.section
        taller = f", vertical x {self.stretch:g}" if self.stretch != 1 else ""
        title = f"{section.axis} = {section.at:,.10g}, {_LOOKING[section.across]}{taller}"
        axes.set_title(title, color=_INK, loc="left", fontsize=11)
        width, height = axes.bbox.size / _DOTS
        for axis, inches in ((axes.xaxis, width), (axes.yaxis, 2 * height)):
            ticks = int(np.clip(inches, 1, 6))
            axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        axes.tick_params(labelsize=8)


def _colours(
    cuts: Sequence[Cut], wireframes: Mapping[str, Sequence[Mesh]], background: Sequence[str]
) -> dict[str, str]:
    """Give each label its colour: wireframes' domains first, in their order, then the others."""
    labels = sorted({label for cut in cuts for label in cut.labels.tolist()}, key=_by_number)
    ground = [label for label in labels if label in background]
    domains = [*wireframes, *(one for one in labels if one not in (*wireframes, *ground, ""))]
    chosen = dict.fromkeys(ground, _GROUND) | ({"": _NOTHING} if "" in labels else {})
    return chosen | {name: _colour(number) for number, name in enumerate(domains)}


def _by_number(label: str) -> list[tuple[int, str]]:
    """Order labels as people count: 2 before 10."""
    return [
        (int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)
    ]


def _colour(number: int) -> str:
    """Give one of thirty colours."""
    again, which = divmod(number, len(_COLOURS))
    towards, share = ((0, 0.0), (255, 0.5), (0, 0.4))[again % 3]
    return _blended(_COLOURS[which], towards, share)


def _legend_columns(names: Collection[str], width: float) -> int:
    """Give how many names stand beside each other below a page so wide."""
    longest = max(map(len, names))
    return max(1, min(len(names), 8, int(width / (longest * _LETTER + _PATCH))))


def _legend(figure: Any, colours: Mapping[str, str], there: Collection[str], columns: int) -> None:
    """Name the colours below the panels; what has no block there is a line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=colour, edgecolor="#999999", lw=0.4, label=name or "(not labelled)")
        if name in there
        else Line2D([], [], color=_darker(colour), lw=1.3, label=name)
        for name, colour in colours.items()
    ]
    figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False, borderpad=0.0)


def _darker(colour: str) -> str:
    """Give a colour's darker sister."""
    return _blended(colour, 0, 0.45)


def _blended(colour: str, towards: int, share: float) -> str:
    """Mix a colour with some share of black, 0, or white, 255."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02x}" for part in parts)
