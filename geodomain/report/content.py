"""What a report says, part by part; nothing is read or written but the hashes of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.order import Domains
from geodomain.drillholes.checks import Finding, notes_of
from geodomain.drillholes.drillholes import Drillholes
from geodomain.errors import TableError, collect_warnings, counted
from geodomain.inspection.comparison import Comparison
from geodomain.mesh.mesh import Mesh
from geodomain.report import page, tables
from geodomain.report.blocks import Blocks
from geodomain.report.domain_rows import DomainRow
from geodomain.report.geometry import Geometry, geometry_of
from geodomain.report.grades import GradesAsked, grades_html
from geodomain.report.near_svg import grade_classes
from geodomain.report.origin import Origin
from geodomain.report.packing import Pack
from geodomain.report.record import Record
from geodomain.report.scene import Scene, scene_of
from geodomain.report.section_svg import (
    SectionStyle,
    default_sections,
    section_svg,
)
from geodomain.report.shown_label import ShownLabel
from geodomain.sections.colours import darker, with_ground
from geodomain.sections.cutting import Section
from geodomain.sections.gathering import wireframes_of
from geodomain.sections.look import NearHoles

Floats = NDArray[np.float64]

MOST_SECTIONS = 30


@dataclass(frozen=True)
class Changes:
    """What became of the blocks since an earlier labelling, and the file that has it."""

    old: Path
    moves: Comparison


@dataclass(frozen=True)
class MadePage:
    """A page, its fullest section as SVG, and what they show.

    Attributes
    ----------
    html, picture : str
    drawn : int
        Boundary blocks in the view.
    sections : tuple of Section
    """

    html: str
    picture: str
    drawn: int
    sections: tuple[Section, ...]


@dataclass(frozen=True)
class Content:
    """All that a report is made of."""

    source: str
    blocks: Blocks
    domains: Domains
    files: tuple[Path, ...]
    rows: list[DomainRow]
    record: Record | None
    warned: Sequence[str]
    grades: GradesAsked
    column: str
    holes: Drillholes | None = None
    changes: Changes | None = None
    near: NearHoles | None = None
    sampled: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()

    def html(self, asked: list[Section], title: str, note: str | None) -> MadePage:
        """Return the page."""
        geometry, pack = geometry_of(self.blocks), Pack()
        wireframes = {name: w for name, w in wireframes_of(self.domains).items() if w}
        colours = self._colours(wireframes)
        labels = self._labels(colours)
        sections = asked or default_sections(
            geometry, geometry.extent, _focus(geometry, labels), MOST_SECTIONS
        )
        style = SectionStyle(
            labels=[label.name for label in labels],
            colours=[label.colour for label in labels],
            traces=wireframes,
            trace_colours=colours,
            marks=sections,
            near=self.near,
        )
        # Packing is deflating for the most part, which leaves Python free for the rest.
        with ThreadPoolExecutor(1) as other:
            packing = other.submit(
                scene_of, geometry, self.blocks.texts, labels, wireframes, colours, self.holes, pack
            )
            figures = draw_sections(sections, geometry, style, self.blocks.name)
            with collect_warnings() as doubtful:
                grades = self._grades(labels)
            scene = packing.result()
        swatches = [tables.swatch(label.colour) for label in labels]
        view = page.view_html(
            labels, swatches, list(wireframes), 0 if self.holes is None else len(self.holes)
        )
        origin = self._origin()
        parts = [
            ("summary", "Summary", self._summary(colours, note)),
            *self._changes(),
            ("problems", "Warnings", tables.warnings_list(self._warnings(doubtful))),
            *self._drillholes(),
            ("view", "Model", view + _said(scene)),
            *grades,
            (
                "sections",
                "Sections",
                page.sections_html(figures, _fullest(figures), self._near_said),
            ),
            ("origin", "How it was made", origin.html),
        ]
        values = scene.values | self._hole_values()
        html = page.html_page(title, origin.lead, parts, values, pack.blocks)
        return MadePage(html, figures[_fullest(figures)].svg, scene.drawn, tuple(sections))

    def _colours(self, wireframes: Mapping[str, Sequence[Mesh]]) -> dict[str, str]:
        """Return every label and wireframe its colour."""
        ground = [row.name for row in self.rows if row.is_ground]
        names = [*(row.name for row in self.rows), *wireframes]
        return with_ground(names, ground, self.domains.colours)

    def _labels(self, colours: Mapping[str, str]) -> list[ShownLabel]:
        """Say what the codes of blocks stand for."""
        rows = {row.label: row for row in self.rows}
        order = {row.label: place for place, row in enumerate(self.rows)}
        above = {domain.name for domain in self.domains if domain.kind == "above"}
        return [
            ShownLabel(
                text=label,
                name=rows[label].name or "(no label)",
                colour=colours[rows[label].name],
                order=order[label],
                ground=rows[label].is_ground,
                # What lies above the ground would hide everything else.
                hidden=rows[label].name in above,
            )
            for label in self.blocks.labels
        ]

    def _summary(self, colours: Mapping[str, str], note: str | None) -> str:
        """Return the note, and blocks and volumes by domain."""
        said = f'<p class="note">{escape(note)}</p>' if note else ""
        overlaps = self.record["summary"]["overlaps"] if self.record else ()
        rows = tables.domains_table(self.rows, colours)
        both = f'<div class="tables">{rows}{tables.overlaps_table(overlaps)}</div>'
        return said + both + _explained(self.rows)

    def _changes(self) -> list[tuple[str, str, str]]:
        """Return the part about an earlier labelling, if there is one."""
        if self.changes is None:
            return []
        headings, *rows = self.changes.moves.cells()
        cells = [[escape(cell) for cell in row] for row in rows]
        said = f"{self.changes.moves.said} since {self.changes.old.name}."
        moves = tables.table("Blocks by old and new label", headings, cells, name="moves")
        return [("changes", "Changes", f"<p>{escape(said)}</p>{moves}")]

    def _drillholes(self) -> list[tuple[str, str, str]]:
        """Return the part about the tables of drillholes: the sign of dips, and the notes."""
        if self.holes is None:
            return []
        notes = notes_of(self.findings, self.holes.report.dips)
        return [("drillholes", "Drillholes", tables.warnings_list(notes, "hole-notes"))]

    def _hole_values(self) -> dict[str, object]:
        """Return the sign of dips and the findings, ready for JSON."""
        if self.holes is None:
            return {}
        found = [each.as_dict() for each in self.findings]
        return {"drillholes": {"dips": self.holes.report.dips, "findings": found}}

    def _grades(self, labels: Sequence[ShownLabel]) -> list[tuple[str, str, str]]:
        """Return the part about tonnes and grades, if it was asked for."""
        asked, blocks = self.grades, self.blocks
        if asked.density is None and not asked.names:
            return []
        html = grades_html(blocks, asked, labels, self.column)
        return [("grades", "Tonnes and grade", html)]

    @property
    def _near_said(self) -> str:
        """Say which drillholes sections show."""
        if self.near is None:
            return ""
        samples = " and their samples" if self.near.samples else ""
        return f" Drillholes{samples} are drawn within {self.near.within:.10g} on either side."

    def _warnings(self, doubtful: Sequence[str]) -> list[str]:
        """Return what was warned of and noted, when labelling and now, once each."""
        labelled = self.record["summary"] if self.record else None
        known = [*labelled["warnings"], *labelled["notes"]] if labelled else []
        return list(dict.fromkeys([*known, *self.warned, *doubtful]))

    def _origin(self) -> Origin:
        """Say what the model and the page were made of."""
        others = [] if self.changes is None else [("compared with", self.changes.old)]
        others += [("drawn", path) for path in self.files]
        holes = self.holes.files if self.holes else ()
        others += [("drillholes", path) for path in holes]
        others += [("samples", path) for path in self.sampled if path not in holes]
        return Origin(self.source, self.blocks.digest, others, self.record)


def draw_sections(
    sections: Sequence[Section], geometry: Geometry, style: SectionStyle, name: str
) -> list[page.Figure]:
    """Return the title, the drawing and the legend of each section; none may cut nothing."""
    extent = geometry.extent
    figures = []
    for number, section in enumerate(sections):
        low, high = extent[:, section.across]
        if not low <= section.at < high:
            message = (
                f"no block of {name} is cut by {section.axis} = {section.at:.10g}: "
                f"{section.axis} runs from {low:.10g} to {high:.10g}"
            )
            raise TableError(message)
        drawn = section_svg(section, number, geometry, extent, style)
        figures.append(page.Figure(drawn.title, drawn.svg, _legend(drawn.svg, style)))
    return figures


def _legend(drawn: str, style: SectionStyle) -> str:
    """Name the colours of a drawing: of blocks, then of traces of other domains."""
    blocks = dict(zip(style.labels, style.colours, strict=True))
    found = [
        f"{tables.swatch(colour)} {escape(name)}"
        for name, colour in {**style.trace_colours, **blocks}.items()
        if name
        and (f'fill="{colour}"' in drawn or (name in style.traces and darker(colour) in drawn))
    ]
    return "".join(f"<span>{one}</span> " for one in [*found, *_grades_named(drawn, style.near)])


def _grades_named(drawn: str, near: NearHoles | None) -> list[str]:
    """Name the colours of samples along drillholes, if there are any in a drawing."""
    if near is None or near.ramp is None or 'stroke-linecap="butt"' not in drawn:
        return []
    classes = grade_classes(near.ramp)
    return [
        f"{escape(near.ramp.name)}:",
        *(f"{tables.swatch(one.colour)} {escape(one.said)}" for one in classes),
    ]


def _fullest(figures: Sequence[page.Figure]) -> int:
    """Choose the section that names most labels, and of these the most detailed."""
    sizes = [(one.svg.count('shape-rendering="crispEdges"'), len(one.svg)) for one in figures]
    return max(range(len(sizes)), key=sizes.__getitem__)


def _focus(geometry: Geometry, labels: Sequence[ShownLabel]) -> Floats:
    """Return the box of the blocks in domains, or of all where none is."""
    is_domain = np.array([not label.ground for label in labels])[geometry.codes]
    if not is_domain.any():
        return geometry.extent
    points = geometry.world(np.flatnonzero(is_domain))
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _explained(rows: Sequence[DomainRow]) -> str:
    """Say what the columns of volumes mean."""
    said = ["Volume is that of the blocks with the label, in cubed units of the file."]
    if any(row.own_volume is not None for row in rows):
        said.append(
            "Volume before priority counts every block in the domain, also those that another "
            "domain has."
        )
    if any(row.wireframe_volume is not None for row in rows):
        said.append(
            "Wireframe volume is what its closed meshes enclose; none where they leave the model."
        )
    return f'<p class="hint">{" ".join(said)}</p>'


def _said(scene: Scene) -> str:
    """Say what the view shows and what it leaves out."""
    thinned = f", one of every {scene.every}" if scene.every > 1 else ""
    said = [
        f"Drawn: {counted(scene.drawn, 'block')} of domains on a boundary{thinned}. A cut shows "
        f"every block that it meets, of all {scene.count:,}."
    ]
    said += [
        f"The wireframe {escape(one.name)} is drawn with {one.drawn:,} of its {one.whole:,} "
        "triangles."
        for one in scene.coarse
    ]
    if scene.left_out:
        names = ", ".join(map(escape, scene.left_out))
        said.append(f"Rows are shown without the columns {names}, which are too large.")
    return f'<p class="hint">{" ".join(said)}</p>'
