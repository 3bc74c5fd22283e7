"""One section as SVG, styled by presentation attributes: blocks, traces, frame, scale, words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import counted
from geodomain.mesh.mesh import Mesh
from geodomain.report.geometry import Geometry
from geodomain.report.near_svg import near_svg
from geodomain.report.outlines import (
    lines_path,
    merge_rectangles,
    polygons_path,
    rectangles_path,
)
from geodomain.report.section_frame import (
    BELOW,
    LEFT,
    RIGHT,
    TOP,
    Window,
    frame_svg,
    north_svg,
    scale_bar_svg,
)
from geodomain.sections.colours import darker
from geodomain.sections.cutting import AXES, Section, cut_blocks, cut_triangles
from geodomain.sections.frame import faces_said
from geodomain.sections.look import NearHoles

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LOOKING = ("looking west", "looking north", "plan, north up")


@dataclass(frozen=True)
class SectionStyle:
    """What all sections of a report have in common.

    Attributes
    ----------
    labels : list of str
        What the codes of blocks stand for, as it is shown.
    colours : list of str
        Of the labels.
    traces : mapping of str to sequence of Mesh
        Wireframes by domain.
    trace_colours : mapping of str to str
        The colour of each.
    marks : sequence of Section
        Other sections whose places are marked at the frame.
    near : NearHoles, optional
        Drillholes that are drawn where they are near.
    """

    labels: list[str]
    colours: list[str]
    traces: Mapping[str, Sequence[Mesh]]
    trace_colours: Mapping[str, str]
    marks: Sequence[Section] = ()
    near: NearHoles | None = None


@dataclass(frozen=True)
class DrawnSection:
    """A section as SVG, and what stands above it."""

    title: str
    svg: str


def _title(section: Section, rows: NDArray[np.int64], geometry: Geometry, stretch: float) -> str:
    """Say where a section is, how it is looked at, and which blocks it cuts if it is on faces."""
    taller = f", vertical x {stretch:g}" if stretch != 1 else ""
    faces = faces_said(section) if _is_on_faces(section, rows, geometry) else ""
    return f"{section.axis} = {section.at:,.10g}, {_LOOKING[section.across]}{taller}{faces}"


def _is_on_faces(section: Section, rows: NDArray[np.int64], geometry: Geometry) -> bool:
    """Return whether a section lies on lower faces of the blocks that it cuts."""
    if geometry.is_turned:
        return False
    low = geometry.world(rows) - geometry.sizes[geometry.kinds[rows]] / 2
    return bool((low[:, section.across] == section.at).any())


def section_svg(
    section: Section, number: int, geometry: Geometry, extent: Floats, style: SectionStyle
) -> DrawnSection:
    """Draw a section.

    Parameters
    ----------
    section : Section
        The plane. A block has its lower face and not its upper one.
    number : int
        Makes the identifiers of this drawing unique in a page.
    geometry : Geometry
        The blocks.
    extent : (2, 3) float64
        Of the blocks in the world: the frame.
    style : SectionStyle

    Returns
    -------
    DrawnSection
        Its drawing is an `svg` element with a title.
    """
    window = Window(section, extent)
    rows = cut_rows(section, geometry)
    title = _title(section, rows, geometry, window.stretch)
    parts = [
        _blocks(section, rows, geometry, window, style),
        _over(section, window, style, number),
        frame_svg(section, window, style.marks),
        scale_bar_svg(window),
        north_svg(window) if section.axis == "z" else "",
    ]
    wide, high = (window.size + np.array([LEFT + RIGHT, TOP + BELOW])).tolist()
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" role="img" '
        f'aria-labelledby="section-title-{number}" font-size="210" '
        f'font-family="system-ui, sans-serif"><title id="section-title-{number}">'
        f"Section {escape(title)}: {escape(_said(rows, geometry, style))}</title>"
        + "".join(parts)
        + "</svg>"
    )
    return DrawnSection(title, drawn)


def cut_rows(section: Section, geometry: Geometry) -> NDArray[np.int64]:
    """Return the blocks that a section cuts, as places in the geometry."""
    axis = section.across
    if not geometry.is_turned:
        return _cut_straight(section.at - geometry.origin[axis], axis, geometry)
    height = np.zeros(len(geometry.kinds))
    for part in range(3):
        height += (geometry.centres[part] * geometry.matrix[axis, part])[geometry.places[part]]
    offsets = section.at - geometry.origin[axis] - height
    reach = (geometry.sizes @ np.abs(geometry.matrix[axis]) / 2)[geometry.kinds]
    return np.flatnonzero((-reach <= offsets) & (offsets < reach))


def _cut_straight(at: float, axis: int, geometry: Geometry) -> NDArray[np.int64]:
    """Return the blocks that a plane across their own axis cuts: few pairs of place and size."""
    offset = at - geometry.centres[axis][:, None]
    half = geometry.sizes[:, axis] / 2
    cut = (-half <= offset) & (offset < half)
    levels = np.flatnonzero(cut.any(axis=1))
    if not len(levels):
        return np.empty(0, np.int64)
    places = geometry.places[axis]
    near = np.flatnonzero((places >= levels[0]) & (places <= levels[-1]))
    found: NDArray[np.int64] = near[cut[places[near], geometry.kinds[near]]]
    return found


def _blocks(
    section: Section,
    rows: NDArray[np.int64],
    geometry: Geometry,
    window: Window,
    style: SectionStyle,
) -> str:
    """Draw the blocks, one path to a label, and write each label where it has most room."""
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
        # Corners of slanted polygons are rounded to units: a line as wide closes the gaps.
        colour = style.colours[code]
        line = "" if rectangles is not None else f' stroke="{colour}" stroke-width="16"'
        paths.append(f'<path fill="{colour}"{line} shape-rendering="crispEdges" d="{path}"/>')
    return "".join([*paths, *words])


def _shapes(
    section: Section, rows: NDArray[np.int64], geometry: Geometry, window: Window
) -> tuple[Ints | None, list[Ints]]:
    """Return blocks as rectangles, or as polygons where they are none in this plane."""
    points, sizes = geometry.world(rows), geometry.sizes[geometry.kinds[rows]]
    if not geometry.is_turned:
        along = list(section.along)
        low = window.units(points[:, along] - sizes[:, along] / 2)
        high = window.units(points[:, along] + sizes[:, along] / 2)
        return np.stack([low[:, 0], high[:, 0], high[:, 1], low[:, 1]], axis=1), []
    polygons = cut_blocks(section, points, sizes, geometry.matrix)
    upright = section.axis != "z" and np.array_equal(geometry.matrix[2], [0.0, 0.0, 1.0])
    if upright:  # a vertical plane cuts upright blocks in rectangles
        boxes = np.array([[one.min(axis=0), one.max(axis=0)] for one in polygons]).reshape(-1, 2, 2)
        low, high = window.units(boxes[:, 0]), window.units(boxes[:, 1])
        return np.stack([low[:, 0], high[:, 0], high[:, 1], low[:, 1]], axis=1), []
    return None, [window.units(polygon) for polygon in polygons]


def _word(rectangles: Ints, label: str, window: Window) -> str:
    """Write a label in the largest rectangle of its blocks, if it fits."""
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
    """Draw wireframes and drillholes over the blocks, clipped to the frame."""
    drawn = _traces(section, window, style)
    if style.near is not None:
        drawn += near_svg(section, window, style.near)
    if not drawn:
        return ""
    wide, high = window.size
    return (
        f'<clipPath id="section-clip-{number}"><rect x="{LEFT}" y="{TOP}" width="{wide}" '
        f'height="{high}"/></clipPath><g fill="none" stroke-linecap="round" '
        f'clip-path="url(#section-clip-{number})">{drawn}</g>'
    )


def _traces(section: Section, window: Window, style: SectionStyle) -> str:
    """Draw where the plane cuts wireframes: a dark line on a pale one."""
    paths = []
    for name, meshes in style.traces.items():
        lines = [cut_triangles(section, mesh.vertices[mesh.triangles]) for mesh in meshes]
        path = "".join(lines_path(window.units(each)) for each in lines if len(each))
        if path:
            colour = darker(style.trace_colours[name])
            paths.append(f'<path stroke="#fff" stroke-width="48" d="{path}"/>')
            paths.append(f'<path stroke="{colour}" stroke-width="22" d="{path}"/>')
    return "".join(paths)


def _said(rows: NDArray[np.int64], geometry: Geometry, style: SectionStyle) -> str:
    """Say what a section shows."""
    codes, counts = np.unique(geometry.codes[rows], return_counts=True)
    order = np.argsort(-counts)
    return ", ".join(
        f"{style.labels[code] or '(no label)'} {counted(count, 'block')}"
        for code, count in zip(codes[order].tolist(), counts[order].tolist(), strict=True)
    )


def default_sections(
    geometry: Geometry, extent: Floats, focus: Floats, count: int
) -> list[Section]:
    """Choose sections through the labelled domains, across each axis, amid blocks.

    Parameters
    ----------
    geometry : Geometry
        The blocks.
    extent, focus : (2, 3) float64
        The boxes of all blocks, and of the labelled domains.
    count : int
        At most so many in all.
    """
    found = []
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
        found += [Section(name, float(at)) for at in dict.fromkeys(chosen)]
    return found
