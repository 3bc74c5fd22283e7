"""Drawing of sections with matplotlib, off screen: blocks by domain, then wireframes' traces."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geodomain.errors import TableError
from geodomain.mesh.mesh import Mesh
from geodomain.sections.colours import GROUND, NOTHING, colours_of, darker
from geodomain.sections.cutting import Floats, box_of, cut_blocks, cut_triangles
from geodomain.sections.gathering import Cut
from geodomain.sections.page import lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#222222"
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
        """Return the width and height at which the window is drawn."""
        return np.asarray((self.window[1] - self.window[0]) * [1, self.stretch])

    @property
    def shown(self) -> set[str]:
        """Return the labels of its blocks, and the domains whose traces are in the window."""
        low, high = self.window
        inside = {
            name
            for name, lines in self.traces.items()
            if ((lines.max(axis=1) >= low) & (lines.min(axis=1) <= high)).all(axis=1).any()
        }
        return inside | set(self.cut.labels.tolist())

    def draw(self, axes: Axes, colours: Mapping[str, str], scale: float) -> None:
        """Draw blocks, traces and axes."""
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
            for colour, width, order_of in (("#ffffff", 2.6, 3), (darker(colours[name]), 1.3, 4)):
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
        """Return the width of the lines between blocks, in points; none where blocks are dots."""
        smallest = float(self.cut.sizes[:, list(self.cut.section.along)].min())
        dots = smallest * scale * _DOTS
        return 0.0 if dots < 12 else min(0.6, dots / 40)

    def _frame(self, axes: Axes) -> None:
        """Set the window, the scale, the title and the axis labels."""
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
        width, height = np.asarray(axes.bbox.size) / _DOTS
        for axis, inches in ((axes.xaxis, width), (axes.yaxis, 2 * height)):
            ticks = int(np.clip(inches, 1, 6))
            axis.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        axes.tick_params(labelsize=8)


def _colours(
    cuts: Sequence[Cut], wireframes: Mapping[str, Sequence[Mesh]], background: Sequence[str]
) -> dict[str, str]:
    """Return each label its colour: wireframes' domains first, in their order, then the others."""
    labels = sorted({label for cut in cuts for label in cut.labels.tolist()}, key=_by_number)
    ground = [label for label in labels if label in background]
    domains = [*wireframes, *(one for one in labels if one not in (*wireframes, *ground, ""))]
    chosen = dict.fromkeys(ground, GROUND) | ({"": NOTHING} if "" in labels else {})
    return chosen | colours_of(domains)


def _by_number(label: str) -> list[tuple[int, str]]:
    """Return a sort key that puts 2 before 10."""
    return [
        (int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", label)
    ]


def _legend_columns(names: Collection[str], width: float) -> int:
    """Return the number of legend columns for a page of this width."""
    longest = max(map(len, names))
    return max(1, min(len(names), 8, int(width / (longest * _LETTER + _PATCH))))


def _legend(
    figure: Figure, colours: Mapping[str, str], there: Collection[str], columns: int
) -> None:
    """Draw the legend below the panels; a domain without a block there is shown as a line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=colour, edgecolor="#999999", lw=0.4, label=name or "(not labelled)")
        if name in there
        else Line2D([], [], color=darker(colour), lw=1.3, label=name)
        for name, colour in colours.items()
    ]
    figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False, borderpad=0.0)
