"""Draw sections, drillholes and charts as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, Ints
from geodomain.errors import counted
from geodomain.mesh.mesh import Mesh
from geodomain.reporting.blocks import Geometry
from geodomain.reporting.look import NearHoles, Ramp, darker, faces_note
from geodomain.reporting.planes import AXES, Section
from geodomain.reporting.sections import cut_blocks, cut_triangles, lines_near, samples_near
from geodomain.statistics.charts import (
    INK,
    Axis,
    Band,
    Bars,
    Chart,
    Line,
    Word,
    round_length,
    ticks,
)
from geodomain.statistics.charts import Panel as ChartPanel


def merge_rectangles(rectangles: Ints) -> Ints:
    """Merge rectangles that do not overlap, first along rows and then along columns.

    Parameters
    ----------
    rectangles : (n, 4) int64
        Left, right, low and high of each rectangle; empty rectangles are dropped.

    Returns
    -------
    (k, 4) int64
        Rectangles that cover the same area.

    Examples
    --------
    >>> merge_rectangles(np.array([[0, 1, 0, 1], [1, 2, 0, 1], [0, 2, 1, 3]])).tolist()
    [[0, 2, 0, 3]]
    """
    proper = rectangles[
        (rectangles[:, 0] < rectangles[:, 1]) & (rectangles[:, 2] < rectangles[:, 3])
    ]
    rows = _merge(proper, along=0, across=2)
    return _merge(rows, along=2, across=0)


def _merge(rectangles: Ints, *, along: int, across: int) -> Ints:
    """Join rectangles that touch along one axis and have the same extent along the other axis."""
    low, high = rectangles[:, along], rectangles[:, along + 1]
    near, far = rectangles[:, across], rectangles[:, across + 1]
    order = np.lexsort((low, far, near))
    low, high, near, far = low[order], high[order], near[order], far[order]
    starts = np.ones(len(low), np.bool_)
    starts[1:] = (low[1:] != high[:-1]) | (near[1:] != near[:-1]) | (far[1:] != far[:-1])
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(low)) - 1
    out = np.empty((len(first), 4), np.int64)
    out[:, along], out[:, along + 1] = low[first], high[last[: len(first)]]
    out[:, across], out[:, across + 1] = near[first], far[first]
    return out


def rectangles_path(rectangles: Ints) -> str:
    """Return an SVG path of rectangles (left, right, low, high).

    The start of each rectangle is written relative to the start of the rectangle before it.
    """
    steps = np.diff(rectangles[:, [0, 2]], axis=0, prepend=0).tolist()
    return "M0 0" + "".join(
        f"m{right} {down}h{wide}v{high}h{-wide}z"
        for (right, down), wide, high in zip(
            steps,
            (rectangles[:, 1] - rectangles[:, 0]).tolist(),
            (rectangles[:, 3] - rectangles[:, 2]).tolist(),
            strict=True,
        )
    )


def polygons_path(polygons: Iterable[Ints]) -> str:
    """Return an SVG path of closed polygons, each of shape (k, 2)."""
    return "".join(
        "M" + "L".join(f"{x} {y}" for x, y in polygon.tolist()) + "z" for polygon in polygons
    )


def lines_path(lines: Ints) -> str:
    """Return an SVG path of line segments (k, 2, 2).

    The start of each segment is written relative to the end of the segment before it.
    """
    proper = lines[(lines[:, 0] != lines[:, 1]).any(axis=1)].reshape(-1, 4)
    places = np.unique(proper, axis=0).reshape(-1, 2)
    steps = np.diff(places, axis=0, prepend=0).reshape(-1, 4)
    return "M0 0" + "".join(f"m{a} {b}l{c} {d}" for a, b, c, d in steps.tolist())


# Frame of a section: units, ticks, scale, north.

# Largest width and height of the drawing area, and its margins, in units of the drawing.
_WIDTH, _HEIGHT = 10_000, 6_000
LEFT, TOP, RIGHT, BELOW = 1_300, 200, 600, 800
# A section with a lower ratio of height to width is exaggerated.
_FLATTEST = 0.25
_INK = 'fill="currentColor"'


class Window:
    """Converter from section coordinates to units of the drawing, in which y points down."""

    def __init__(self, section: Section, extent: Floats) -> None:
        self.low, self.high = section.frame(extent)
        wide, high = (self.high - self.low).tolist()
        self.stretch = 1.0
        if not section.is_plan and high / wide < _FLATTEST:
            self.stretch = _round_factor(_FLATTEST * wide / high)
        self.scale = min(_WIDTH / wide, _HEIGHT / (high * self.stretch))
        self.scales = np.array([self.scale, self.scale * self.stretch])
        self.size = np.ceil((self.high - self.low) * self.scales).astype(int)

    def units(self, places: Floats) -> Ints:
        """Convert section coordinates (..., 2) to units of the drawing."""
        flat = np.clip((places - self.low) * self.scales, -1e7, 1e7)
        flat[..., 1] = self.size[1] - flat[..., 1]
        units: Ints = np.round(flat + np.array([LEFT, TOP])).astype(np.int64)
        return units


def frame_svg(section: Section, window: Window, marks: Sequence[Section], unit: str) -> str:
    """Draw a section's frame, ticks with coordinates, and marks where other sections cross it."""
    named = f" ({escape(unit)})" if unit else ""
    wide, high = window.size.tolist()
    foot = TOP + high
    parts = [
        f'<rect x="{LEFT}" y="{TOP}" width="{wide}" height="{high}" fill="none" '
        'stroke="currentColor" stroke-width="12"/>'
    ]
    for value in ticks(window.low[0], window.high[0], max(2, wide // 1300)):
        x = window.units(np.array([value, window.low[1]]))[0]
        parts.append(f'<path stroke="currentColor" stroke-width="12" d="M{x} {foot}v70"/>')
        parts.append(
            f'<text {_INK} x="{x}" y="{foot + 290}" text-anchor="middle">{value:,.10g}</text>'
        )
    for value in ticks(window.low[1], window.high[1], max(2, high // 700)):
        y = window.units(np.array([window.low[0], value]))[1]
        parts.append(f'<path stroke="currentColor" stroke-width="12" d="M{LEFT} {y}h-70"/>')
        parts.append(
            f'<text {_INK} x="{LEFT - 110}" y="{y + 70}" text-anchor="end" font-size="170">'
            f"{value:,.10g}</text>"
        )
    for mark in marks:
        crossing = section.crossing(mark)
        if crossing is None:
            continue
        free = np.isinf(crossing[0])
        (x, y), end = window.units(np.where(np.isinf(crossing), window.low, crossing)).tolist()
        if free[1]:
            parts.append(_mark(f"M{x} {TOP - 90}v180M{x} {foot - 90}v180"))
        elif free[0]:
            parts.append(_mark(f"M{LEFT - 60} {y}h150M{LEFT + wide - 90} {y}h180"))
        else:
            parts.append(_mark(f"M{x} {y}L{end[0]} {end[1]}"))
    right, up = section.axis_names
    parts.append(f'<text {_INK} x="{LEFT}" y="{foot + 640}">{right}{named} →</text>')
    parts.append(
        f'<text {_INK} x="0" y="0" text-anchor="end" '
        f'transform="translate(170 {TOP}) rotate(-90)">{up}{named} →</text>'
    )
    return "".join(parts)


def _mark(path: str) -> str:
    """Draw the mark where another section crosses, given its SVG path."""
    return f'<path stroke="#c2185b" stroke-width="26" d="{path}"/>'


def scale_bar_svg(window: Window, unit: str) -> str:
    """Draw a scale bar of round length."""
    wide, high = window.size.tolist()
    length = round_length((window.high[0] - window.low[0]) / 4)
    units = round(length * window.scale)
    x, y = LEFT + wide - units, TOP + high + 600
    words = escape(f"{length:,.10g} {unit}".strip())
    return (
        f'<path stroke="currentColor" stroke-width="40" d="M{x} {y}h{units}"/>'
        f'<text {_INK} x="{x - 80}" y="{y + 60}" text-anchor="end">{words}</text>'
    )


def north_svg(window: Window) -> str:
    """Draw a north arrow."""
    x, y = LEFT + int(window.size[0]) - 250, TOP + 200
    return (
        f'<g stroke="#fff" stroke-width="30" paint-order="stroke">'
        f'<path fill="#111" d="M{x} {y}l110 420l-110 -90l-110 90z"/>'
        f'<text x="{x}" y="{y + 640}" text-anchor="middle" fill="#111">N</text></g>'
    )


def _round_factor(factor: float) -> float:
    """Return the round vertical exaggeration that is nearest to a factor, compared by ratio."""
    factors = (1, 2, 3, 5, 10, 20, 50, 100)
    return min(factors, key=lambda rounded: abs(math.log(rounded / factor))) * 1.0


# Drillholes and the grades of their samples.

# Viridis, from low to high: distinguishable with colour-blindness, and in grey.
_COLOURS = (
    "#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725",
)  # fmt: skip
_HOLE_INK = "#222222"
# Names are written up to this number, as more would overlap; width of a letter.
_MOST_NAMES, _LETTER = 60, 140
# Tolerance of a straightened line in units, and limit of points of a hole.
_SLACK, _MOST_POINTS = 4, 24


@dataclass(frozen=True)
class GradeClass:
    """A step of a colour ramp: a colour and an interval of grades."""

    colour: str
    interval: str


def grade_classes(ramp: Ramp) -> list[GradeClass]:
    """Return the classes of a grade, or the steps of its ramp, from low to high.

    The last step includes all higher grades.
    """
    if ramp.edges:
        colours = _colours_of(len(ramp.classes))
        return [GradeClass(*both) for both in zip(colours, ramp.classes, strict=True)]
    edges = ramp.bounds(len(_COLOURS)).tolist()
    named = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    if ramp.is_log:
        named[0] = f"below {edges[1]:.3g}"
    if ramp.highest > ramp.high:
        named[-1] = f"{edges[-2]:.3g} to {ramp.highest:.3g}"
    return [GradeClass(*both) for both in zip(_COLOURS, named, strict=True)]


def _colours_of(count: int) -> list[str]:
    """Return this number of colours, evenly along viridis."""
    viridis = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in _COLOURS])
    places = np.linspace(0, len(viridis) - 1, count)
    mixed = [np.interp(places, np.arange(len(viridis)), viridis[:, part]) for part in range(3)]
    return [
        f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in np.round(mixed).astype(int).T
    ]


def near_svg(section: Section, window: Window, near: NearHoles) -> str:
    """Draw the holes near a section, projected at right angles, with names and samples.

    Parameters
    ----------
    section : Section
        The plane.
    window : Window
        Converts coordinates to units of the drawing.
    near : NearHoles
        The holes, their largest distance from the plane, and their samples with a colour ramp.
    """
    holes = lines_near(section, near.holes, near.within)
    if not holes:
        return ""
    lines = _drawn([line for _, line in holes], window)
    path = _path(lines)
    sampled = _samples(section, window, near)
    first = {name: line[0] for (name, _), line in zip(holes[::-1], lines[::-1], strict=True)}
    words = [
        f'<text x="{x}" y="{y}" font-size="{_LETTER}" fill="{_HOLE_INK}" stroke="#fff" '
        f'stroke-width="40" paint-order="stroke">{escape(name)}</text>'
        for name, x, y in _names(first)
    ]
    # From above, a vertical hole is a dot.
    width = 40 if section.is_plan else 16 if sampled else 26
    return (
        f'<path stroke="#fff" stroke-width="60" d="{path}"/>{sampled}'
        f'<path stroke="{_HOLE_INK}" stroke-width="{width}" d="{path}"/>{"".join(words)}'
    )


def _names(first: Mapping[str, Ints]) -> list[tuple[str, int, int]]:
    """Return (name, x, y) for the hole names that can be written without overlaps."""
    placed: list[tuple[str, int, int]] = []
    for name, at in first.items() if len(first) <= _MOST_NAMES else ():
        x, y = int(at[0]) + 50, max(int(at[1]) - 50, TOP + _LETTER)
        if not any(
            abs(y - other_y) < _LETTER and x < other_x + _wide(other) and other_x < x + _wide(name)
            for other, other_x, other_y in placed
        ):
            placed.append((name, x, y))
    return placed


def _wide(name: str) -> float:
    """Estimate the width of a name in units of the drawing."""
    return 0.62 * _LETTER * (len(name) + 1)


def _samples(section: Section, window: Window, near: NearHoles) -> str:
    """Draw samples as bars along their holes; all samples of one colour are one path."""
    if near.samples is None or near.ramp is None:
        return ""
    lines, values = samples_near(section, near.holes, near.within, near.samples)
    colours = [step.colour for step in grade_classes(near.ramp)]
    steps = near.ramp.steps(values, len(colours))
    bars = _drawn(lines, window)
    parts = [f'<path stroke="#fff" stroke-width="94" stroke-linecap="butt" d="{_path(bars)}"/>']
    for step in np.unique(steps).tolist():
        path = _path([bars[row] for row in np.flatnonzero(steps == step).tolist()])
        parts.append(
            f'<path stroke="{colours[step]}" stroke-width="74" stroke-linecap="butt" d="{path}"/>'
        )
    return "".join(parts) if bars else ""


def _drawn(lines: Sequence[Floats], window: Window) -> list[Ints]:
    """Convert lines to units of the drawing, and leave out points that are not needed."""
    if not lines:
        return []
    ends = np.cumsum([len(line) for line in lines])
    return [_fewer(line) for line in np.split(window.units(np.concatenate(lines)), ends[:-1])]


def _fewer(line: Ints) -> Ints:
    """Return fewer points of a line: its ends if it is nearly straight, otherwise some points."""
    along = (line[-1] - line[0]).astype(np.float64)
    length = float(np.hypot(*along))
    offsets = (line - line[0]).astype(np.float64)
    if length == 0:
        away = np.hypot(offsets[:, 0], offsets[:, 1])
    else:
        away = np.abs(offsets[:, 0] * along[1] - offsets[:, 1] * along[0]) / length
    some = np.array([0, len(line) - 1])
    if (away > _SLACK).any():
        some = np.unique(np.linspace(0, len(line) - 1, _MOST_POINTS).astype(np.intp))
    fewer: Ints = line[some]
    return fewer


def _path(lines: Sequence[Ints]) -> str:
    """Return an SVG path of lines, each of shape (k, 2)."""
    return "".join("M" + "L".join(f"{x} {y}" for x, y in line.tolist()) for line in lines)


# One section, styled by presentation attributes.


@dataclass(frozen=True)
class SectionStyle:
    """The style that all sections of a report share.

    Attributes
    ----------
    labels : list of str
        The text to show for each label of the model, in order.
    colours : list of str
        The colour of each label.
    traces : mapping of str to sequence of Mesh
        Wireframes by domain.
    trace_colours : mapping of str to str
        Colours of wireframes by domain.
    marks : sequence of Section
        Sections whose crossings are marked at the frame.
    near : NearHoles, optional
        Drillholes to draw near a section.
    unit : str
        Unit of coordinates, for axes and scale bars; may be empty.
    """

    labels: list[str]
    colours: list[str]
    traces: Mapping[str, Sequence[Mesh]]
    trace_colours: Mapping[str, str]
    marks: Sequence[Section] = ()
    near: NearHoles | None = None
    unit: str = ""


@dataclass(frozen=True)
class DrawnSection:
    """The SVG of a section, its title, its size, and its number of blocks with each label."""

    title: str
    svg: str
    size: tuple[int, int]
    counts: NDArray[np.intp]


def _title(section: Section, rows: NDArray[np.int64], geometry: Geometry, stretch: float) -> str:
    """Return the title of a section: plane, viewing direction and exaggeration.

    If the plane lies on block faces, the title also gives the side of the plane whose blocks are
    drawn.
    """
    taller = f", vertical x {stretch:g}" if stretch != 1 else ""
    faces = faces_note(section) if _is_on_faces(section, rows, geometry) else ""
    looking = "plan, north up" if section.is_plan else section.looking
    return f"{section.name}, {looking}{taller}{faces}"


def _is_on_faces(section: Section, rows: NDArray[np.int64], geometry: Geometry) -> bool:
    """Return whether a section lies on the lower faces of the blocks that it cuts."""
    across = section.across
    if across is None or geometry.is_turned:
        return False
    low = geometry.world(rows) - geometry.sizes[geometry.kinds[rows]] / 2
    return bool((low[:, across] == section.origin[across]).any())


def section_svg(
    section: Section, number: int, geometry: Geometry, extent: Floats, style: SectionStyle
) -> DrawnSection:
    """Draw a section.

    Parameters
    ----------
    section : Section
        The plane. A plane on the lower face of a block cuts the block. A plane on the upper face
        does not.
    number : int
        A number that makes the identifiers of this drawing unique in the page.
    geometry : Geometry
        The blocks.
    extent : (2, 3) float64
        World bounding box of the blocks, for the frame.
    style : SectionStyle
        Colours, wireframes, marks and drillholes.

    Returns
    -------
    DrawnSection
        The drawing is an `svg` element with a title.
    """
    window = Window(section, extent)
    rows = cut_rows(section, geometry)
    title = _title(section, rows, geometry, window.stretch)
    blocks = _blocks(section, rows, geometry, window, style)
    if section.ends is not None:  # blocks continue beyond the ends of a line
        blocks = _clipped(blocks, window, f"section-ends-{number}")
    parts = [
        blocks,
        _over(section, window, style, number),
        frame_svg(section, window, style.marks, style.unit),
        scale_bar_svg(window, style.unit),
        north_svg(window) if section.is_plan else "",
    ]
    wide, high = (window.size + np.array([LEFT + RIGHT, TOP + BELOW])).tolist()
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-labelledby="section-title-{number}" font-size="210" '
        f'font-family="system-ui, sans-serif"><title id="section-title-{number}">'
        f"Section {escape(title)}: {escape(_label_counts(rows, geometry, style))}</title>"
        + f'<g id="drawing-{number}">{"".join(parts)}</g></svg>'
    )
    counts = np.bincount(geometry.codes[rows], minlength=len(style.labels))
    return DrawnSection(title, drawn, (wide, high), counts)


def cut_rows(section: Section, geometry: Geometry) -> NDArray[np.int64]:
    """Return the indices, in `geometry`, of the blocks that a section cuts."""
    at = section.at - float(section.height(geometry.origin))
    if section.axis is not None and not geometry.is_turned:
        return _cut_straight(at, AXES.index(section.axis), geometry)
    height, reach = _spread(section.normal, geometry)
    offsets = at - height
    cut = (-reach <= offsets) & (offsets < reach)
    if section.ends is not None:
        middle, half = _spread(section.right, geometry)
        middle += section.flat(geometry.origin)[0]
        cut &= (middle + half > 0) & (middle - half < section.length)
    return np.flatnonzero(cut)


def _spread(direction: Floats, geometry: Geometry) -> tuple[Floats, Floats]:
    """Return where blocks are in a direction, from the origin of the model, and half their size."""
    turned = direction @ geometry.matrix
    middle = np.zeros(len(geometry.kinds))
    for part in range(3):
        middle += (geometry.centres[part] * turned[part])[geometry.places[part]]
    half: Floats = (geometry.sizes @ np.abs(turned) / 2)[geometry.kinds]
    return middle, half


def _cut_straight(at: float, axis: int, geometry: Geometry) -> NDArray[np.int64]:
    """Return the indices of blocks cut by a plane at right angles to a block axis."""
    offset = at - geometry.centres[axis][:, None]
    half = geometry.sizes[:, axis] / 2
    cut = (-half <= offset) & (offset < half)
    levels = np.flatnonzero(cut.any(axis=1))
    if not len(levels):
        return np.empty(0, np.int64)
    places = geometry.places[axis]
    near = np.flatnonzero((places >= levels[0]) & (places <= levels[-1]))
    rows: NDArray[np.int64] = near[cut[places[near], geometry.kinds[near]]]
    return rows


def _blocks(
    section: Section,
    rows: NDArray[np.int64],
    geometry: Geometry,
    window: Window,
    style: SectionStyle,
) -> str:
    """Draw the blocks; all blocks with the same label are one path.

    Each label is written in the largest rectangle of its blocks, if it fits.
    """
    codes = geometry.codes[rows]
    rectangles, polygons = _shapes(section, rows, geometry, window)
    paths, words = [], []
    for code in np.unique(codes).tolist():
        if rectangles is not None:
            merged = merge_rectangles(rectangles[codes == code])
            path = rectangles_path(merged)
            words.append(_word(merged, style.labels[code], window))
        else:
            path = polygons_path([polygons[row] for row in np.flatnonzero(codes == code)])
        # Corners of slanted polygons are rounded to units; an outline closes the gaps.
        colour = style.colours[code]
        line = "" if rectangles is not None else f' stroke="{colour}" stroke-width="16"'
        paths.append(f'<path fill="{colour}"{line} shape-rendering="crispEdges" d="{path}"/>')
    return "".join([*paths, *words])


def _shapes(
    section: Section, rows: NDArray[np.int64], geometry: Geometry, window: Window
) -> tuple[Ints | None, list[Ints]]:
    """Return a pair (rectangles, polygons): the shapes in which the plane cuts the blocks.

    If all shapes are rectangles, `polygons` is empty. Otherwise `rectangles` is None.
    """
    points, sizes = geometry.world(rows), geometry.sizes[geometry.kinds[rows]]
    if section.axis is not None and not geometry.is_turned:
        low = window.units(section.flat(points - sizes / 2))
        high = window.units(section.flat(points + sizes / 2))
        return np.stack([low[:, 0], high[:, 0], high[:, 1], low[:, 1]], axis=1), []
    polygons = cut_blocks(section, points, sizes, geometry.matrix)
    upright = not section.is_plan and np.array_equal(geometry.matrix[2], [0.0, 0.0, 1.0])
    if upright:  # a vertical plane cuts upright blocks in rectangles
        corners = [[polygon.min(axis=0), polygon.max(axis=0)] for polygon in polygons]
        boxes = np.array(corners).reshape(-1, 2, 2)
        boxes[..., 0] = np.clip(boxes[..., 0], *section.reach)
        low, high = window.units(boxes[:, 0]), window.units(boxes[:, 1])
        return np.stack([low[:, 0], high[:, 0], high[:, 1], low[:, 1]], axis=1), []
    return None, [window.units(polygon) for polygon in polygons]


def _word(rectangles: Ints, label: str, window: Window) -> str:
    """Draw a label in the largest of its rectangles; if the label does not fit, draw nothing."""
    if not len(rectangles) or not label:
        return ""
    wide = rectangles[:, 1] - rectangles[:, 0]
    high = rectangles[:, 3] - rectangles[:, 2]
    fits = (wide > 130 * len(label) + 100) & (high > 260)
    if not fits.any():
        return ""
    left, right, top, below = rectangles[np.where(fits, wide * high, -1).argmax()].tolist()
    return (
        f'<text x="{(left + right) // 2}" y="{(top + below) // 2 + 70}" text-anchor="middle" '
        f'fill="#111" stroke="#fff" stroke-width="50" paint-order="stroke">{escape(label)}</text>'
    )


def _over(section: Section, window: Window, style: SectionStyle, number: int) -> str:
    """Draw the wireframes and drillholes that lie over the blocks, clipped to the frame."""
    drawn = _traces(section, window, style)
    if style.near is not None:
        drawn += near_svg(section, window, style.near)
    if not drawn:
        return ""
    lines = 'fill="none" stroke-linecap="round" '
    return _clipped(drawn, window, f"section-clip-{number}", lines)


def _clipped(drawn: str, window: Window, name: str, style: str = "") -> str:
    """Return a group that is clipped to the frame."""
    wide, high = window.size
    return (
        f'<clipPath id="{name}"><rect x="{LEFT}" y="{TOP}" width="{wide}" '
        f'height="{high}"/></clipPath><g {style}clip-path="url(#{name})">{drawn}</g>'
    )


def _traces(section: Section, window: Window, style: SectionStyle) -> str:
    """Draw the traces of wireframes: each is a dark line on a pale line."""
    paths = []
    for name, meshes in style.traces.items():
        lines = [cut_triangles(section, mesh.vertices[mesh.triangles]) for mesh in meshes]
        path = "".join(lines_path(window.units(each)) for each in lines if len(each))
        if path:
            colour = darker(style.trace_colours[name])
            paths.append(f'<path stroke="#fff" stroke-width="48" d="{path}"/>')
            paths.append(f'<path stroke="{colour}" stroke-width="22" d="{path}"/>')
    return "".join(paths)


def _label_counts(rows: NDArray[np.int64], geometry: Geometry, style: SectionStyle) -> str:
    """Return a text that lists the labels of a section, each with its number of blocks."""
    codes, counts = np.unique(geometry.codes[rows], return_counts=True)
    order = np.argsort(-counts)
    return ", ".join(
        f"{style.labels[code] or '(no label)'} {counted(count, 'block')}"
        for code, count in zip(codes[order].tolist(), counts[order].tolist(), strict=True)
    )


def default_sections(
    geometry: Geometry, extent: Floats, focus: Floats, count: int
) -> list[Section]:
    """Choose sections across each axis through the labelled domains.

    The sections go through block centres, unless the model is rotated.

    Parameters
    ----------
    geometry : Geometry
        The blocks.
    extent, focus : (2, 3) float64
        `extent`: bounding box of all blocks. `focus`: bounding box of the labelled domains.
    count : int
        Largest number of sections.
    """
    sections = []
    for axis, name in enumerate(AXES):
        low, high = focus[:, axis]
        each = max(1, count // 3)
        wanted = low + (np.arange(each) + 0.5) * (high - low) / each
        if geometry.is_turned:
            length = high - low
            digits = 2 - math.floor(math.log10(length)) if length > 0 else 0
            chosen = [round(float(value), digits) for value in wanted]
        else:
            levels = np.unique(geometry.centres[axis] + geometry.origin[axis])
            nearest = np.abs(levels[:, None] - wanted).argmin(axis=0)
            chosen = levels[nearest].tolist()
        sections += [Section(name, float(at)) for at in dict.fromkeys(chosen)]
    return sections


# Draw charts, `geodomain.statistics.charts.Chart`, as SVG.

_WIDE, _HIGH = 420, 162
_LEFT, _RIGHT, _RIGHT_AXIS = 62, 16, 56
# Space beside the texts of vertical ticks, and the width of their letters.
_TICK, _LETTER_WIDE = 9, 7
# Width of a letter of 12 pixels, for legends that wrap.
_CHARACTER = 6.4


def chart_svg(chart: Chart, name: str, what: str, *, high: int = _HIGH) -> str:
    """Draw a chart.

    Parameters
    ----------
    chart : Chart
        What to draw.
    name : str
        A text that makes the identifiers of this drawing unique in the page.
    what : str
        What the chart shows, for readers who cannot see it.
    high : int
        Height of the panels together, in pixels of a drawing that is 420 wide.
    """
    name = "".join(letter if letter.isalnum() else "-" for letter in name)
    over, top = _chart_head(chart)
    two = any(panel.right is not None for panel in chart.panels)
    texts = [text for panel in chart.panels for _, text in panel.y.ticks]
    left = max(_LEFT, _TICK + _LETTER_WIDE * max(map(len, texts), default=0))
    right = _WIDE - (_RIGHT_AXIS if two else _RIGHT)
    if chart.square:
        right = left + high
    total = sum(panel.share for panel in chart.panels)
    parts = [over]
    top += 8
    for panel in chart.panels:
        top += 22
        foot = top + high * panel.share / total
        parts.append(_panel(chart, panel, (left, top, right, foot)))
        top = foot
    parts.append(_x_axis(chart.x, left, right, top))
    below = 44 + _slant(chart.x)
    return (
        f'<svg viewBox="0 0 {_WIDE} {top + below:.0f}" role="img" aria-labelledby="{name}" '
        f'font-size="12" font-family="system-ui, sans-serif"><title id="{name}">'
        f"{escape(_caption(chart, what))}</title>{''.join(parts)}</svg>"
    )


def _caption(chart: Chart, what: str) -> str:
    """Return the text of a chart for readers who cannot see it."""
    heads = [f"{head.title}: {head.subtitle}" for head in chart.heads]
    return "; ".join(filter(None, [what, chart.subtitle, *heads, *chart.legend]))


def _chart_head(chart: Chart) -> tuple[str, float]:
    """Draw title, headings and legend; return them and the height that they take."""
    parts, y = [], 0.0
    if chart.title and not chart.heads:
        y = 18.0
        parts.append(
            f'<text {_INK} x="4" y="18" font-size="14" font-weight="600">{escape(chart.title)}'
            "</text>"
        )
    if chart.subtitle:
        y += 17
        parts.append(f'<text {_INK} x="4" y="{y:.0f}">{escape(chart.subtitle)}</text>')
    if chart.heads:
        for head in chart.heads:
            x = _LEFT + head.place * (_WIDE - _RIGHT - _LEFT)
            parts.append(
                f'<text {_INK} x="{x:.0f}" y="18" text-anchor="middle" font-size="14" '
                f'font-weight="600">{escape(head.title)}</text>'
                + "".join(
                    f'<text {_INK} x="{x:.0f}" y="{34 + 15 * line}" text-anchor="middle">'
                    f"{escape(words)}</text>"
                    for line, words in enumerate(head.subtitle.split(", ", 1))
                )
            )
        y = 48.0
    x, row = 4.0, y
    for text, mark in chart.legend.items():
        wide = 24 + _CHARACTER * len(text)
        if row == y or x + wide > _WIDE:
            x, row = 4.0, row + 17
        parts.append(_legend_mark(mark, x, row - 4))
        parts.append(f'<text {_INK} x="{x + 22:.0f}" y="{row:.0f}">{escape(text)}</text>')
        x += wide + 8
    return "".join(parts), row


def _legend_mark(mark: Line | Bars, x: float, y: float) -> str:
    if isinstance(mark, Bars):
        return (
            f'<rect x="{x:.0f}" y="{y - 5:.0f}" width="16" height="10" fill="{_paint(mark)}" '
            f'fill-opacity="{mark.alpha:g}"/>'
        )
    line = f'<path d="M{x:.0f} {y:.0f}h16" stroke="{_paint(mark)}" {_stroke(mark)}/>'
    return line + _markers(mark, [(x + 8, y)])


def _paint(mark: Line | Bars | Band) -> str:
    """Return the colour of a mark; ink is the colour of text, which is light on a dark page."""
    return "currentColor" if mark.colour == INK else mark.colour


def _stroke(mark: Line) -> str:
    """Return the attributes of a line, apart from its colour."""
    dash = ' stroke-dasharray="5 4"' if mark.dash == "dashed" else ""
    return f'fill="none" stroke-width="{mark.width:g}"{dash}'


def _markers(mark: Line, places: Sequence[tuple[float, float]]) -> str:
    """Draw the markers of a line, all in one path."""
    if not mark.marker:
        return ""
    cap = "round" if mark.marker == "o" else "square"
    path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places)
    wide = 5 if mark.marker == "o" else 4
    return (
        f'<path d="{path}" stroke="{_paint(mark)}" stroke-width="{wide}" stroke-linecap="{cap}"/>'
    )


def _panel(chart: Chart, panel: ChartPanel, box: tuple[float, float, float, float]) -> str:
    """Draw a panel in a box: left, top, right, foot."""
    left, top, right, foot = box
    parts = []
    for value, text in panel.y.ticks:
        y = foot - (foot - top) * panel.y.place(value)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{right}"/>')
        parts.append(f'<text {_INK} x="{left - 7}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    parts.append(f'<text {_INK} x="4" y="{top - 9:.0f}">{escape(panel.y.name)}</text>')
    if panel.right is not None:
        for value, text in panel.right.ticks:
            y = foot - (foot - top) * panel.right.place(value)
            parts.append(f'<text {_INK} x="{right + 6}" y="{y + 4:.1f}">{text}</text>')
        parts.append(
            f'<text {_INK} x="{_WIDE - 4}" y="{top - 9:.0f}" text-anchor="end">'
            f"{escape(panel.right.name)}</text>"
        )
    if len(chart.panels) == 1 and not panel.right:
        parts += [
            f'<path class="grid" d="M{left + (right - left) * chart.x.place(value):.1f} {top:.0f}'
            f'V{foot:.1f}"/>'
            for value, _ in chart.x.ticks
        ]
    parts += [_mark_svg(mark, chart.x, panel, box) for mark in panel.marks]
    frame = f"M{left} {top:.0f}V{foot:.1f}H{right}" + (f"V{top:.0f}" if panel.right else "")
    parts.append(f'<path d="{frame}" fill="none" stroke="currentColor" stroke-opacity="0.5"/>')
    parts += [
        f'<text {_INK} x="{right - 4}" y="{y:.0f}" text-anchor="end" font-size="11">{escape(text)}'
        "</text>"
        for text, y in ((panel.note, foot - 6), (panel.over, top + 12))
        if text
    ]
    return "".join(parts)


def _mark_svg(
    mark: Line | Bars | Band | Word,
    x: Axis,
    panel: ChartPanel,
    box: tuple[float, float, float, float],
) -> str:
    """Draw a mark."""
    left, top, right, foot = box
    axis = panel.right if isinstance(mark, Line) and mark.right and panel.right else panel.y

    def at(across: float, up: float) -> tuple[float, float]:
        share = min(max(axis.place(up), 0.0), 1.0)
        return left + (right - left) * x.place(across), foot - (foot - top) * share

    def path(places: Sequence[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{one:.1f} {two:.1f}" for one, two in places)

    if isinstance(mark, Line):
        places = [at(*pair) for pair in zip(mark.xs, mark.ys, strict=True)]
        drawn = ""
        if mark.dash != "none" and len(places) > 1:
            drawn = f'<path d="{path(places)}" stroke="{_paint(mark)}" {_stroke(mark)}/>'
        return drawn + _markers(mark, places)
    if isinstance(mark, Band):
        lows = [at(*pair) for pair in zip(mark.xs, mark.lows, strict=True)]
        highs = [at(*pair) for pair in zip(mark.xs, mark.highs, strict=True)]
        area = path([*lows, *reversed(highs)])
        return f'<path d="{area}z" fill="{_paint(mark)}" fill-opacity="0.18"/>'
    if isinstance(mark, Word):
        across, up = at(mark.x, mark.y)
        anchor, shift, down = ("end", -7, -4) if mark.left else ("start", 7, 12)
        return (
            f'<text {_INK} x="{across + shift:.1f}" y="{up + down:.1f}" text-anchor="{anchor}" '
            f'font-size="11">{escape(mark.text)}</text>'
        )
    bars = []
    bases = [at(0.0, base)[1] for base in mark.bases] or [foot] * len(mark.ends)
    for (begin, end), height, base in zip(mark.ends, mark.heights, bases, strict=True):
        start, (stop, y) = at(begin, 0.0)[0], at(end, height)
        if base - y > 0:
            gap = mark.gap * (stop - start)
            bars.append(
                f"M{start + gap / 2:.1f} {base:.1f}V{y:.2f}h{stop - start - gap:.1f}V{base:.1f}z"
            )
    alpha = f' fill-opacity="{mark.alpha:g}"' if mark.alpha < 1 else ""
    return f'<path class="bars" d="{"".join(bars)}" fill="{_paint(mark)}"{alpha}/>' if bars else ""


# Degrees by which long texts of ticks are slanted.
_SLANT = 35


def _slant(axis: Axis) -> float:
    """Return the extra height below a horizontal axis that slanted texts need."""
    if not axis.slanted:
        return 0.0
    longest = max((len(text) for _, text in axis.ticks), default=0)
    return longest * _CHARACTER * math.sin(math.radians(_SLANT))


def _x_axis(axis: Axis, left: float, right: float, foot: float) -> str:
    """Draw ticks and the name of the horizontal axis."""
    parts = []
    for value, text in axis.ticks:
        x = left + (right - left) * axis.place(value)
        parts.append(f'<path stroke="currentColor" d="M{x:.1f} {foot:.1f}v4"/>')
        y = foot + (14 if axis.slanted else 18)
        turned = f' transform="rotate(-{_SLANT} {x:.1f} {y:.0f})"' if axis.slanted else ""
        anchor = "end" if axis.slanted else "middle"
        parts.append(
            f'<text {_INK} x="{x:.1f}" y="{y:.0f}" text-anchor="{anchor}"{turned}>{escape(text)}'
            "</text>"
        )
    middle = (left + right) / 2
    parts.append(
        f'<text {_INK} x="{middle:.0f}" y="{foot + 37 + _slant(axis):.0f}" text-anchor="middle">'
        f"{escape(axis.name)}</text>"
    )
    return "".join(parts)
