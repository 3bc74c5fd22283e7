"""Draw one section into axes of matplotlib: blocks, traces of wireframes, drillholes, frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.look import (
    INK,
    NO_VALUE,
    Look,
    Ramp,
    darker,
    draw_frame,
    draw_marks,
    draw_north,
    draw_scale_bar,
    title_of,
)
from geodomain.reporting.planes import Section
from geodomain.reporting.sections import (
    Cut,
    box_of,
    cut_blocks,
    cut_triangles,
    lines_near,
    samples_near,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as MplPath

DOTS = 150
# Margin of the frame around its contents on each side, as a share of their length.
_MARGIN = 0.01
_MOST_NAMES = 60
# Width in points of lines between blocks on paper.
_THIN = 0.2


class Panel:
    """One section: its polygons and lines, and the rectangle that is drawn."""

    def __init__(self, cut: Cut, wireframes: Mapping[str, Sequence[Mesh]], look: Look) -> None:
        self.cut, self.look = cut, look
        self.stretch = 1.0 if cut.section.is_plan else look.exaggerate
        self.polygons = cut_blocks(cut.section, cut.points, cut.sizes, cut.matrix)
        self.traces = {
            name: np.concatenate(
                [cut_triangles(cut.section, mesh.vertices[mesh.triangles]) for mesh in meshes]
            )
            for name, meshes in wireframes.items()
            if meshes
        }
        near = look.near
        self.holes = lines_near(cut.section, near.holes, near.within) if near else []
        box = box_of(self.polygons)
        if cut.section.ends is not None:
            box[:, 0] = cut.section.reach
        self.window = box + _MARGIN * (box[1] - box[0]) * np.array([[-1], [1]])

    @property
    def lengths(self) -> Floats:
        """Width and height of the drawn rectangle, including vertical exaggeration."""
        return np.asarray((self.window[1] - self.window[0]) * [1, self.stretch])

    @property
    def traced(self) -> set[str]:
        """The domains whose wireframes cross the drawn rectangle."""
        low, high = self.window
        return {
            name
            for name, lines in self.traces.items()
            if ((lines.max(axis=1) >= low) & (lines.min(axis=1) <= high)).all(axis=1).any()
        }

    @property
    def shown(self) -> set[str]:
        """The names for the legend: domains with traces, and block labels.

        If blocks are coloured by grade, the block labels are left out.
        """
        labels = set() if self.look.ramp else set(self.cut.labels.tolist())
        return self.traced | labels

    def draw(
        self, axes: Axes, colours: Mapping[str, str], scale: float, others: Sequence[Section]
    ) -> None:
        """Draw blocks, traces, holes and the frame."""
        self.draw_content(axes, colours, scale)
        self._hole_names(axes)
        section = self.cut.section
        axes.set_xlim(*self.window[:, 0])
        axes.set_ylim(*self.window[:, 1])
        axes.set_aspect(self.stretch, anchor="NW")
        inches = np.asarray(axes.bbox.size) / DOTS
        title = title_of(section, self.stretch, on_faces=self.cut.is_on_faces)
        draw_frame(axes, section, title, self.look.unit, inches)
        draw_scale_bar(axes, self.window, self.look.unit, inches)
        draw_marks(axes, section, others, self.window)
        if section.is_plan:
            draw_north(axes, inches)

    def has_blocks(self, window: Floats) -> bool:
        """Return whether a rectangle shows any block."""
        return bool(self._visible(window).any())

    def _visible(self, window: Floats) -> NDArray[np.bool_]:
        """Return the mask of the polygons that may meet a rectangle."""
        low, high = self._boxes
        return np.asarray(((high > window[0]) & (low < window[1])).all(axis=1))

    @cached_property
    def _boxes(self) -> tuple[Floats, Floats]:
        """The lowest and highest coordinates (n, 2) of each polygon."""
        starts = np.cumsum([0, *map(len, self.polygons[:-1])])
        corners = np.concatenate(self.polygons)
        return np.minimum.reduceat(corners, starts), np.maximum.reduceat(corners, starts)

    def draw_content(
        self,
        axes: Axes,
        colours: Mapping[str, str],
        scale: float,
        window: Floats | None = None,
    ) -> None:
        """Draw blocks, traces of wireframes, and holes with samples.

        If `window` is a rectangle (2, 2), blocks outside it are left out.
        """
        self._blocks(axes, colours, scale, window)
        for name, lines in self.traces.items():
            # A pale line below the dark one keeps it visible on any colour.
            _lines(axes, list(lines), "#ffffff", 2.6, 3)
            colour = colours[name]
            _lines(axes, list(lines), colour if self.look.ramp else darker(colour), 1.3, 4)
        holes = [line for _, line in self.holes]
        if holes:
            sampled = self._sampled(axes)
            _lines(axes, holes, "#ffffff", 3.0, 6)
            _lines(axes, holes, INK, 0.7 if sampled else 1.4, 9 if sampled else 7)

    def _blocks(
        self, axes: Axes, colours: Mapping[str, str], scale: float, window: Floats | None
    ) -> None:
        """Draw the blocks by domain or by grade.

        For speed, all blocks of one colour form one path.
        """
        from matplotlib.patches import PathPatch

        edge = 0.0 if self.look.ramp else self._edge(scale)
        visible = None
        # Viewers of PDF smooth edges, and would show gaps between blocks of different colours.
        is_sealed = window is not None and not edge
        if window is not None:
            visible, edge = self._visible(window), min(edge, _THIN)
        for painted, colour in self._painted(colours):
            rows = painted if visible is None else [row for row in painted if visible[row]]
            if not rows:
                continue
            blocks = PathPatch(
                _one_path([self.polygons[row] for row in rows]),
                facecolor=colour,
                edgecolor=colour if is_sealed else "#ffffff",
                linewidth=_THIN if is_sealed else edge,
                antialiased=edge > 0,  # smoothed edges would leave gaps between blocks
            )
            axes.add_artist(blocks)

    def _painted(self, colours: Mapping[str, str]) -> Iterator[tuple[list[int], str]]:
        """Yield pairs: the indices of the blocks that have a certain colour, and this colour."""
        labels, ramp, values = self.cut.labels, self.look.ramp, self.cut.values
        if ramp is None or values is None:
            for name, colour in colours.items():
                rows = np.flatnonzero(labels == name)
                if len(rows):
                    yield rows.tolist(), colour
            return
        yield from _by_colour(ramp, values)

    def _edge(self, scale: float) -> float:
        """Return the width in points of lines between blocks; 0 if blocks are a few pixels wide."""
        drawn = np.abs(self.cut.section.normal) < 1
        smallest = float(self.cut.sizes[:, drawn].min())
        dots = smallest * scale * DOTS
        return 0.0 if dots < 12 else min(0.6, dots / 40)

    def _hole_names(self, axes: Axes) -> None:
        """Write the names of the holes near the section at their upper ends."""
        first = {name: line[0] for name, line in reversed(self.holes)}
        for name, place in list(first.items())[:_MOST_NAMES] if len(first) <= _MOST_NAMES else ():
            axes.annotate(
                name,
                xy=tuple(place),
                xytext=(2, 2),
                textcoords="offset points",
                fontsize=6,
                color=INK,
                zorder=8,
                clip_on=True,
                annotation_clip=True,
                bbox={"facecolor": "#ffffff", "alpha": 0.75, "edgecolor": "none", "pad": 0.4},
            )

    def _sampled(self, axes: Axes) -> bool:
        """Draw samples as coloured bars along holes; return whether any were drawn."""
        near = self.look.near
        if near is None or near.samples is None or near.ramp is None:
            return False
        lines, values = samples_near(self.cut.section, near.holes, near.within, near.samples)
        _lines(axes, lines, "#ffffff", 6.6, 7, "butt")
        for rows, colour in _by_colour(near.ramp, values):
            _lines(axes, [lines[row] for row in rows], colour, 5.0, 8, "butt")
        return True


def _by_colour(ramp: Ramp, values: Floats) -> Iterator[tuple[list[int], str]]:
    """Yield pairs: the indices of the values that get a certain colour, and this colour."""
    colours = ramp_colours(ramp)
    steps = ramp.steps(values, len(colours))
    for step in np.unique(steps).tolist():
        colour = NO_VALUE if step < 0 else colours[step]
        yield np.flatnonzero(steps == step).tolist(), colour


def ramp_colours(ramp: Ramp) -> list[str]:
    """Return the colours of a ramp, or of its classes, from low to high."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    colours = colormaps[ramp.cmap]
    count = len(ramp.classes) or colours.N
    return [to_hex(colours(step / max(count - 1, 1))) for step in range(count)]


def _one_path(polygons: Sequence[Floats]) -> MplPath:
    """Return one path of several polygons that do not overlap."""
    from matplotlib.path import Path

    counts = np.array([len(polygon) for polygon in polygons])
    ends = np.cumsum(counts + 1) - 1  # the vertices that close polygons
    vertices = np.zeros((ends[-1] + 1, 2))
    codes = np.full(len(vertices), Path.LINETO, Path.code_type)
    corners = np.ones(len(vertices), np.bool_)
    corners[ends] = False
    vertices[corners] = np.concatenate(polygons)
    codes[ends], codes[ends - counts] = Path.CLOSEPOLY, Path.MOVETO
    return Path(vertices, codes)


def _lines(
    axes: Axes,
    lines: Sequence[Floats],
    colour: str,
    width: float,
    order: int,
    ends: Literal["round", "butt"] = "round",
) -> None:
    """Draw lines in one colour."""
    from matplotlib.collections import LineCollection

    axes.add_collection(
        LineCollection(lines, colors=colour, linewidths=width, zorder=order, capstyle=ends)
    )
