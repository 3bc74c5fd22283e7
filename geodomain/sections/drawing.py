"""Draws sections with matplotlib, off screen: blocks by domain, wireframes' traces over them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from geodomain.errors import TableError
from geodomain.mesh import Mesh
from geodomain.sections.cutting import Floats, box_of, cut_blocks, cut_triangles
from geodomain.sections.gathering import Cut

# Told apart by people who see colours differently; then they come again.
_COLOURS = (
    "#b5382c", "#3d6b73", "#e6a532", "#6a4c93", "#5b8c3e", "#c97b9b",
    "#2f5d9b", "#8c5a2b", "#49a6a6", "#9b9b2f",
)  # fmt: skip
_GROUND, _NOTHING, _INK = "#e4e0d6", "#e9edf1", "#222222"
_AXES = ("x, east", "y, north", "z, up")
# Inches: of all panels together, and of the rest of a page.
_WIDTH, _HEIGHT, _MARGIN = 15.0, 9.0, 1.1
_DOTS = 150
_KINDS = ("png", "svg", "pdf")


def draw(
    cuts: Sequence[Cut],
    wireframes: Mapping[str, Sequence[Mesh]] | None = None,
    *,
    background: Sequence[str] = (),
    kind: str = "png",
) -> bytes:
    """Draw sections side by side, all of them to one scale.

    Parameters
    ----------
    cuts : sequence of Cut
        What `gather` has read.
    wireframes : mapping of str to sequence of Mesh, optional
        By domain; each trace has the colour of its domain, darker.
    background : sequence of str
        Labels that are drawn as ground.
    kind : {"png", "svg", "pdf"}
        Of picture.

    Returns
    -------
    bytes
        The picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    wireframes = wireframes or {}
    colours = _colours(cuts, wireframes, background)
    panels = [_Panel(cut, wireframes) for cut in cuts]
    lengths = np.array([panel.lengths for panel in panels])
    wide = lengths[:, 0].sum() < 6 * lengths[:, 1].max()
    grid = (1, len(panels)) if wide else (len(panels), 1)
    figure = Figure(figsize=_page(lengths, wide), dpi=_DOTS, layout="constrained")
    FigureCanvasAgg(figure)
    ratios: dict[str, Any] = (
        {"width_ratios": lengths[:, 0]} if wide else {"height_ratios": lengths[:, 1]}
    )
    for axes, panel in zip(
        figure.subplots(*grid, squeeze=False, **ratios).flat, panels, strict=True
    ):
        panel.draw(axes, colours)
    _legend(figure, colours, cuts)
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


def _page(lengths: Floats, wide: bool) -> tuple[float, float]:
    """Give the size of the page on which the panels have one scale."""
    across = lengths[:, 0].sum() if wide else lengths[:, 0].max()
    up = lengths[:, 1].max() if wide else lengths[:, 1].sum()
    scale = min(_WIDTH / across, _HEIGHT / up)
    count = len(lengths) if wide else 1
    rows = 1 if wide else len(lengths)
    return max(across * scale, 3.0) + _MARGIN * count, max(up * scale, 1.5) + _MARGIN * rows


class _Panel:
    """One section: its polygons, its lines, and the window that shows them."""

    def __init__(self, cut: Cut, wireframes: Mapping[str, Sequence[Mesh]]) -> None:
        self.cut = cut
        self.polygons = cut_blocks(cut.section, cut.points, cut.sizes, cut.matrix)
        self.traces = {
            name: np.concatenate(
                [cut_triangles(cut.section, mesh.vertices[mesh.triangles]) for mesh in meshes]
            )
            for name, meshes in wireframes.items()
        }
        box = box_of(self.polygons)
        margin = 0.02 * (box[1] - box[0]).max()
        self.window = box + np.array([[-margin], [margin]])

    @property
    def lengths(self) -> Floats:
        """Give how long the window is to the right and up."""
        return np.asarray(self.window[1] - self.window[0])

    def draw(self, axes: Any, colours: Mapping[str, str]) -> None:
        """Draw blocks, then traces, then what names the axes."""
        from matplotlib.collections import LineCollection, PolyCollection

        edge = self._edge()
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
            axes.add_collection(
                LineCollection(list(lines), colors=_darker(colours[name]), linewidths=1.3, zorder=3)
            )
        self._frame(axes)

    def _edge(self) -> float:
        """Give the width of the lines between blocks, in points; none where blocks are dots."""
        smallest = float(self.cut.sizes[:, list(self.cut.section.along)].min())
        dots = smallest / float(self.lengths.max()) * _WIDTH * _DOTS
        return 0.0 if dots < 12 else min(0.6, dots / 40)

    def _frame(self, axes: Any) -> None:
        """Set the window, the scale, and the words around it."""
        from matplotlib.ticker import MaxNLocator, StrMethodFormatter

        right, up = self.cut.section.along
        axes.set_xlim(*self.window[:, 0])
        axes.set_ylim(*self.window[:, 1])
        axes.set_aspect("equal", anchor="N")
        axes.set_xlabel(_AXES[right])
        axes.set_ylabel(_AXES[up])
        axes.set_title(f"{self.cut.section.axis} = {self.cut.section.at:,.10g}", color=_INK)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
            axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        axes.tick_params(labelsize=8)


def _colours(
    cuts: Sequence[Cut], wireframes: Mapping[str, Sequence[Mesh]], background: Sequence[str]
) -> dict[str, str]:
    """Give each label its colour: wireframes' domains first, in their order, then the others."""
    labels = sorted({label for cut in cuts for label in cut.labels.tolist()})
    ground = [label for label in labels if label in background]
    domains = [*wireframes, *(one for one in labels if one not in (*wireframes, *ground, ""))]
    chosen = dict.fromkeys(ground, _GROUND) | ({"": _NOTHING} if "" in labels else {})
    return chosen | {name: _COLOURS[n % len(_COLOURS)] for n, name in enumerate(domains)}


def _legend(figure: Any, colours: Mapping[str, str], cuts: Sequence[Cut]) -> None:
    """Name the colours below the panels; what has no block there is a line."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    there = {label for cut in cuts for label in cut.labels.tolist()}
    handles = [
        Patch(facecolor=colour, edgecolor="#999999", lw=0.4, label=name or "(not labelled)")
        if name in there
        else Line2D([], [], color=_darker(colour), lw=1.3, label=name)
        for name, colour in colours.items()
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(len(handles), 8), frameon=False
    )


def _darker(colour: str) -> str:
    """Give a colour's darker sister."""
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{int(part * 0.55):02x}" for part in parts)
