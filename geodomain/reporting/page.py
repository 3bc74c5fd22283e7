"""Build the HTML page of a report, with a security policy that forbids network requests."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import cast

import numpy as np

from geodomain.compute.data import Floats
from geodomain.domains.order import Domains
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.findings import Finding, notes_of
from geodomain.errors import TableError, collect_warnings, counted
from geodomain.files.unchanged import Digest
from geodomain.mesh.mesh import Mesh
from geodomain.reporting import tables
from geodomain.reporting.blocks import Blocks, Geometry, ShownLabel, geometry_of
from geodomain.reporting.compare import Comparison
from geodomain.reporting.domain_figures import DomainFigures
from geodomain.reporting.domain_pages import (
    PageStyle,
    Picture,
    figures_json,
    findings_html,
    pages_html,
)
from geodomain.reporting.grades import GradePart, GradeSettings, grades_html
from geodomain.reporting.look import NearHoles, darker, kind_of_name, with_ground
from geodomain.reporting.planes import Section
from geodomain.reporting.record import FileFacts, Record
from geodomain.reporting.scene import Pack, Scene, scene_of
from geodomain.reporting.sections import cuts_nothing, wireframes_of
from geodomain.reporting.svg import (
    DrawnSection,
    SectionStyle,
    default_sections,
    grade_classes,
    section_svg,
)
from geodomain.reporting.tables import DomainRow

_VIEWER = Path(__file__).parent / "viewer"
# Buttons of the view that set the viewing direction.
_LOOKS = (
    ("north", "Look north"), ("south", "Look south"), ("east", "Look east"),
    ("west", "Look west"), ("down", "Look down"), ("oblique", "Oblique"),
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A section drawing, and its legend as HTML."""

    drawn: DrawnSection
    legend: str

    @property
    def title(self) -> str:
        """The title of the section."""
        return self.drawn.title

    @property
    def svg(self) -> str:
        """The drawing."""
        return self.drawn.svg


def html_page(
    title: str,
    lead: str,
    parts: Sequence[tuple[str, str, str]],
    scene: Mapping[str, object] | None,
    blocks: Sequence[str] = (),
    figures: Mapping[str, object] | None = None,
) -> str:
    """Return the HTML of a page.

    Parameters
    ----------
    title : str
        Title of the page.
    lead : str
        HTML below the title.
    parts : sequence of (name, heading, HTML)
        The parts of the page in order. The name is the identifier of the part in the HTML.
    scene : mapping, optional
        Plain values for the 3D view; None for a page without a view, which has no JavaScript.
    blocks : sequence of str
        Arrays for the 3D view, in base64.
    figures : mapping, optional
        Plain values: the figures of the pages of domains.

    Returns
    -------
    str
    """
    code, style = (_VIEWER / "viewer.js").read_text(), (_VIEWER / "page.css").read_text()
    scripts = "'none'" if scene is None else _hash(code)
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {scripts}; style-src {_hash(style)}"
    )
    links = "".join(f'<a href="#{name}">{escape(heading)}</a>' for name, heading, _ in parts)
    body = "".join(
        f'<section id="{name}" aria-labelledby="{name}-heading">'
        f'<h2 id="{name}-heading">{escape(heading)}</h2>{html}</section>'
        for name, heading, html in parts
    )
    return "".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title><style>{style}</style></head><body>",
            f'<header><h1>{escape(title)}</h1>{lead}<nav aria-label="Parts">{links}</nav></header>',
            f"<main>{body}</main>",
            *([] if scene is None else _view_data(scene, blocks, figures or {}, code)),
            "</body></html>\n",
        ]
    )


def _view_data(
    scene: Mapping[str, object], blocks: Sequence[str], figures: Mapping[str, object], code: str
) -> list[str]:
    """Return the data of the 3D view and its program, as HTML."""
    return [
        f'<script type="application/json" id="scene">{escaped_json(scene)}</script>',
        f'<script type="application/json" id="figures">{escaped_json(figures)}</script>',
        *(
            f'<script type="text/plain" id="data-{number}">{block}</script>\n'
            for number, block in enumerate(blocks)
        ),
        f"<script>{code}</script>",
    ]


def escaped_json(value: object) -> str:
    """Return JSON without `<`, so that it cannot end the script element around it."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def view_html(
    labels: Sequence[ShownLabel],
    swatches: Sequence[str],
    wireframes: Mapping[str, bool],
    holes: int = 0,
) -> str:
    """Return the HTML of the 3D view and its controls, which the viewer's JavaScript fills.

    Parameters
    ----------
    labels : sequence of ShownLabel
        How to show each label of the model, in order.
    swatches : sequence of str
        For each label, HTML of a small square in its colour.
    wireframes : mapping of str to bool
        Domains with a wireframe, and whether it is drawn when the view opens.
    holes : int
        Number of drillholes in the view.
    """
    return "".join(
        [
            '<p id="no-view" role="status">This view needs JavaScript and WebGL. The tables and '
            "sections of this page show the same model without them.</p>",
            '<div id="viewer" hidden><div class="stage" id="stage">'
            '<canvas id="canvas" tabindex="0" role="img" aria-describedby="canvas-help"></canvas>'
            '<canvas id="overlay" aria-hidden="true"></canvas></div>',
            '<p id="canvas-help" class="hint screen">Drag to turn, right-drag or two fingers to '
            "move, wheel to zoom; click a block to read its row. Keys: arrows turn, + and - zoom, "
            "Enter picks the block in the middle.</p>",
            '<div class="controls">',
            _cut_controls(),
            _look_controls(),
            _domain_controls(labels, swatches, wireframes, holes),
            _row_controls(),
            "</div></div>",
        ]
    )


def _cut_controls() -> str:
    axes = "".join(f'<option value="{value}">{text}</option>' for value, text in (
        ("", "no cut"), ("0", "across x (east)"), ("1", "across y (north)"), ("2", "across z (up)")
    ))  # fmt: skip
    return (
        "<fieldset><legend>Cut</legend>"
        f'<label>Plane <select id="cut-axis">{axes}</select></label>'
        '<label>Place <input id="cut-range" type="range" min="0" max="1000" value="500" disabled>'
        '</label><label>Coordinate <input id="cut-at" type="number" step="any" disabled></label>'
        '<label><input id="cut-flip" type="checkbox" disabled> keep the other side</label>'
        '<label><input id="cut-ground" type="checkbox" checked disabled> '
        "blocks in no domain</label></fieldset>"
    )


def _look_controls() -> str:
    buttons = "".join(
        f'<button type="button" data-look="{name}">{text}</button>' for name, text in _LOOKS
    )
    return (
        f'<fieldset><legend>Look</legend><div class="buttons">{buttons}</div>'
        '<label>Projection <select id="projection"><option value="perspective">perspective'
        '</option><option value="orthographic">orthographic</option></select></label>'
        '<label>Vertical exaggeration <input id="exaggeration" type="number" min="0.1" max="100" '
        'step="0.5" value="1"></label></fieldset>'
    )


def _domain_controls(
    labels: Sequence[ShownLabel],
    swatches: Sequence[str],
    wireframes: Mapping[str, bool],
    holes: int,
) -> str:
    lines = []
    numbered = zip(range(len(labels)), labels, swatches, strict=True)
    for number, label, square in sorted(numbered, key=lambda entry: entry[1].order):
        if not label.ground:
            checked = "" if label.hidden else " checked"
            lines.append(
                f'<label>{square} <input type="checkbox"{checked} data-label="{number}"> '
                f"blocks of {escape(label.name)}</label>"
            )
    lines += [
        f'<label><input type="checkbox"{" checked" if is_drawn else ""} '
        f'data-wireframe="{escape(name, quote=True)}"> wireframe of {escape(name)}</label>'
        for name, is_drawn in wireframes.items()
    ]
    if holes:
        lines.append(
            '<label><input type="checkbox" checked id="holes"> '
            f"{counted(holes, 'drillhole')}</label>"
        )
    return f'<fieldset id="shown"><legend>Show</legend>{"".join(lines)}</fieldset>'


def _row_controls() -> str:
    return (
        '<fieldset><legend>Block</legend><label>Row in the file <input id="row" type="number" '
        'min="1" step="1"></label><div id="picked" aria-live="polite">'
        "<p>No block is picked.</p></div></fieldset>"
    )


def sections_html(figures: Sequence[Figure], first: int, more: str = "") -> str:
    """Return HTML of sections, with controls to step through them.

    In a browser without JavaScript, all sections are shown.

    Parameters
    ----------
    figures : sequence of Figure
        Sections in order.
    first : int
        Index of the section to show first.
    more : str
        A further sentence of HTML about the content of the sections.
    """
    options = "".join(
        f'<option value="{number}">{escape(figure.title)}</option>'
        for number, figure in enumerate(figures)
    )
    drawn = "".join(
        f'<figure id="section-{number}" data-section="{number}"'
        f"{' data-first=yes' if number == first else ''}>"
        f"<figcaption>{escape(figure.title)}</figcaption>{figure.svg}"
        f'<p class="legend">{figure.legend}</p></figure>'
        for number, figure in enumerate(figures)
    )
    return (
        f'<p class="hint">{counted(len(figures), "section")}. A plane on the lower face of a block '
        "cuts it; a plane on the upper face does not. Red marks at the frame show where the other "
        "sections cross; lines are traces of wireframes."
        f"{more}</p>"
        '<div class="strip" id="strip" hidden><button type="button" id="section-back">Previous'
        f'</button><label>Section <select id="section-choice">{options}</select></label>'
        f'<button type="button" id="section-on">Next</button></div>{drawn}'
    )


def _hash(text: str) -> str:
    """Return the expression that allows an inline script or style in a content security policy."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


# Provenance: files with hashes, versions, options.


@dataclass(frozen=True)
class Origin:
    """The files, versions and options with which a page was made.

    Attributes
    ----------
    model : str
        The labelled model.
    digest : Digest
        Hash of the model.
    others : sequence of (what, path)
        The other files that were read: for each, what the file is, and its path.
    record : Record, optional
        Record of the labelling.
    folder : Path, optional
        Folder to which absolute paths are made relative; None keeps them absolute.
    prepared_by : str
        Who made the report; may be empty.
    """

    model: str
    digest: Digest
    others: Sequence[tuple[str, Path]]
    record: Record | None
    folder: Path | None = None
    prepared_by: str = ""

    @property
    def title_block(self) -> str:
        """The title block of the page, as HTML: model, dates, author and version."""
        labelled = f", labelled {escape(_day(self.record['started']))}" if self.record else ""
        cells = {
            "Model": f"{escape(Path(self.model).name)}{labelled}",
            "Date": _day(now()),
            "Prepared by": escape(self.prepared_by),
            "Made with": f"geodomain {escape(version('geodomain'))}, "
            '<a href="#origin">files and options</a>',
            "SHA-256 of the model": f"<code>{self.digest.hexadecimal[:16]}</code>..., "
            f"{self.digest.size:,} bytes",
        }
        shown = "".join(
            f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in cells.items() if text
        )
        return f'<dl class="title-block">{shown}</dl>'

    @property
    def html(self) -> str:
        """The HTML tables of files, of versions and dates, and of options."""
        record = self.record
        recorded = record["inputs"] if record else []
        files = [("labelled model", file_facts(self.model, self.digest))]
        files += [("labelled from", file) for file in recorded]
        listed = {file["sha256"] for _, file in files}
        for what, path in self.others:
            file = file_facts(path, Digest.of_file(path))
            if file["sha256"] not in listed or what == "compared with":
                files.append((what, file))
        facts: dict[str, object] = {
            "report made": now(),
            "report by": f"geodomain {version('geodomain')}",
            "labelled": record["started"] if record else "",
            "labelled by": record["versions"] if record else {},
            "command": record["command"] if record else "",
        }
        options = record["options"] if record else {}
        if self.folder is not None:
            files = [(what, cast(FileFacts, self._renamed(file))) for what, file in files]
            facts = cast(dict[str, object], self._renamed(facts))
            options = cast(dict[str, object], self._renamed(options))
        return (
            tables.files_table(files)
            + tables.facts_table("Run", facts, name="run")
            + tables.facts_table("Options", options, name="options")
        )

    @cached_property
    def _names(self) -> dict[str, str]:
        """The name on the page of each file, by its path; longest paths first.

        A relative path in the record is left out, because its folder is unknown.
        """
        if self.folder is None:
            return {}
        paths = {self.model, *(str(path) for _, path in self.others)}
        if self.record is not None:
            output = [self.record["output"]] if self.record["output"] else []
            recorded = [file["path"] for file in [*self.record["inputs"], *output]]
            recorded += [text for text in self.record["options"].values() if isinstance(text, str)]
            paths |= {path for path in recorded if Path(path).is_absolute()}
        longest_first = sorted(paths, key=len, reverse=True)
        return {path: relative(path, self.folder) for path in longest_first}

    def _renamed(self, value: object) -> object:
        """Return a value of the record, with paths in its texts replaced by names of `_names`."""
        if isinstance(value, Mapping):
            return {key: self._renamed(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._renamed(item) for item in value]
        if not isinstance(value, str):
            return value
        if value in self._names:
            return self._names[value]
        for path, name in self._names.items():
            if Path(path).is_absolute():
                value = value.replace(path, name)
        return value


def relative(path: str, folder: Path) -> str:
    """Return a path relative to a folder; a path on another drive stays absolute."""
    try:
        return Path(os.path.relpath(Path(path).resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive on Windows
        return path


def now() -> str:
    """Return the time in UTC as text."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _day(moment: str) -> str:
    return moment.partition("T")[0]


def file_facts(path: str | Path, digest: Digest) -> FileFacts:
    """Return the path, size and SHA-256 of a file."""
    return {"path": str(path), "bytes": digest.size, "sha256": digest.hexadecimal}


# The parts of the report.

MOST_SECTIONS = 30


@dataclass(frozen=True)
class Changes:
    """A comparison of the model with an earlier labelling, and the file of that labelling."""

    old: Path
    moves: Comparison


@dataclass(frozen=True)
class MadePage:
    """A finished page.

    Attributes
    ----------
    html : str
        The page.
    picture : str
        SVG of the section with the most labels.
    drawn : int
        Number of boundary blocks in the view.
    sections : tuple of Section
        Sections of the page.
    notes : tuple of str
        Warnings and notes from the record of the labelling, followed by notes on grades and
        densities.
    figures : dict
        The figures of the pages of domains, ready for JSON.
    """

    html: str
    picture: str
    drawn: int
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    figures: dict[str, object]


@dataclass(frozen=True)
class Content:
    """All content of a report, before it is laid out as a page."""

    source: str
    blocks: Blocks
    domains: Domains
    files: tuple[Path, ...]
    rows: list[DomainRow]
    record: Record | None
    warned: list[str]
    grades: GradeSettings
    holes: Drillholes | None = None
    changes: Changes | None = None
    near: NearHoles | None = None
    sampled: tuple[Path, ...] = ()
    findings: tuple[Finding, ...] = ()
    folder: Path | None = None
    unit: str = ""
    prepared_by: str = ""
    pages: DomainFigures | None = None
    say: Callable[[str], str] = str

    def html(self, planes: list[Section], title: str, note: str | None) -> MadePage:
        """Return the finished page with these sections, title and note."""
        geometry, pack = geometry_of(self.blocks), Pack()
        wireframes = {name: w for name, w in wireframes_of(self.domains).items() if w}
        colours = self._colours(wireframes)
        labels = self._labels(colours)
        sections = planes or default_sections(
            geometry, geometry.extent, _focus(geometry, labels), MOST_SECTIONS
        )
        style = SectionStyle(
            labels=[label.name for label in labels],
            colours=[label.colour for label in labels],
            traces=wireframes,
            trace_colours=colours,
            marks=sections,
            near=self.near,
            unit=self.unit,
        )
        # Packing is mostly compression, which runs without the interpreter lock.
        with ThreadPoolExecutor(1) as other:
            packing = other.submit(
                scene_of, geometry, self.blocks.texts, labels, wireframes, colours, self.holes, pack
            )
            figures = draw_sections(sections, geometry, style, self.blocks.name)
            with collect_warnings() as grade_warnings:
                grades = self._grades(labels)
            scene = packing.result()
        fullest = fullest_section(figures)
        # Identifiers within a drawing are unique in the page, so the summary has its own drawing.
        picture = section_svg(sections[fullest], len(sections), geometry, geometry.extent, style)
        swatches = [tables.swatch(label.colour) for label in labels]
        drawn = {name: name not in self._hidden for name in wireframes}
        pages, json_figures = self._pages(labels, colours, grades, sections, figures)
        view = view_html(labels, swatches, drawn, 0 if self.holes is None else len(self.holes))
        origin = self._origin()
        parts = [
            ("summary", "Summary", self._summary(colours, note, picture, grades.main)),
            *self._changes(),
            ("problems", "Warnings", tables.warnings_list(self._warnings(grade_warnings))),
            *self._drillholes(),
            ("view", "Model", view + scene_note(scene)),
            *([("grades", "Tonnes and grade", grades.html)] if grades.html else []),
            ("sections", "Sections", sections_html(figures, fullest, self._near_note)),
            *([("domain-pages", "Domains", pages)] if pages else []),
            ("origin", "How it was made", origin.html),
        ]
        values = scene.values | {"unit": self.unit} | self._hole_values()
        return MadePage(
            html_page(title, origin.title_block, parts, values, pack.blocks, json_figures),
            figures[fullest].svg,
            scene.drawn,
            tuple(sections),
            (*self._recorded, *self.blocks.notes, *grades.notes),
            json_figures,
        )

    def _pages(
        self,
        labels: Sequence[ShownLabel],
        colours: Mapping[str, str],
        grades: GradePart,
        sections: Sequence[Section],
        figures: Sequence[Figure],
    ) -> tuple[str, dict[str, object]]:
        """Return the pages of domains, and their figures for JSON; empty without figures."""
        if self.pages is None:
            return "", {}
        style = PageStyle(
            labels=labels,
            rows=self.rows,
            colours=colours,
            grades=self.grades,
            sums=grades.sums,
            above=grades.above,
            pictures=_pictures(self.blocks.labels, self.rows, sections, figures),
            unit=self.unit,
        )
        return pages_html(self.pages, style), figures_json(self.pages, style)

    def _colours(self, wireframes: Mapping[str, Sequence[Mesh]]) -> dict[str, str]:
        """Return a colour for each label and each domain with a wireframe, in their order."""
        ground = [row.name for row in self.rows if row.is_ground]
        names = dict.fromkeys([*(row.name for row in self.rows), *wireframes])
        colours = with_ground(names, ground, self.domains.colours)
        return {name: colours[name] for name in names}

    def _labels(self, colours: Mapping[str, str]) -> list[ShownLabel]:
        """Return a ShownLabel for each label of the model."""
        rows = {row.label: row for row in self.rows}
        order = {row.label: place for place, row in enumerate(self.rows)}
        return [
            ShownLabel(
                text=label,
                name=rows[label].name or "(no label)",
                colour=colours[rows[label].name],
                order=order[label],
                ground=rows[label].is_ground,
                hidden=rows[label].name in self._hidden,
            )
            for label in self.blocks.labels
        ]

    @cached_property
    def _hidden(self) -> set[str]:
        """Names of domains above the ground, which would hide everything else in the 3D view."""
        above = {domain.name for domain in self.domains if domain.kind == "above"}
        names = [
            *(row.name for row in self.rows),
            *(target.name for target in self.domains.targets),
        ]
        return above | {name for name in names if kind_of_name(name) in ("air", "cover")}

    def _summary(
        self, colours: Mapping[str, str], note: str | None, picture: DrawnSection, main: str
    ) -> str:
        """Return HTML: the user's note, a section, the tables of volumes and tonnes, overlaps."""
        introduction = f'<p class="note">{escape(note)}</p>' if note else ""
        overlaps = self.record["summary"]["overlaps"] if self.record else ()
        rows = tables.domains_table(self.rows, colours, self.unit)
        return (
            f'{introduction}<div class="summary"><div class="picture">{picture.svg}'
            f'<p class="hint">Section {escape(picture.title)}. '
            f'<a href="#sections">All sections</a></p></div>{main or rows}</div>'
            f'<div class="tables">{rows if main else ""}'
            f"{tables.overlaps_table(overlaps, self.unit)}</div>"
            f"{_explained(self.rows, self.unit)}"
        )

    def _changes(self) -> list[tuple[str, str, str]]:
        """Return the part of the page about an earlier labelling, as a list; empty without it."""
        if self.changes is None:
            return []
        headings, *rows = self.changes.moves.cells()
        cells = [[escape(cell) for cell in row] for row in rows]
        if "volume" in headings:
            place = headings.index("volume")
            headings[place] = tables.in_unit("volume", self.unit)
            for row, move in zip(cells, self.changes.moves.moves, strict=True):
                row[place] = tables.volume(move.volume)
        sentence = f"{self.changes.moves.sentence} since {self.changes.old.name}."
        moves = tables.table("Blocks by old and new label", headings, cells, name="moves")
        return [("changes", "Changes", f"<p>{escape(sentence)}</p>{moves}")]

    def _drillholes(self) -> list[tuple[str, str, str]]:
        """Return the part of the page about drillholes, as a list; empty without drillholes."""
        if self.holes is None:
            return []
        check = self.pages.check if self.pages else None
        if check is None:
            notes = notes_of(self.findings, self.holes.report.dips)
            return [("drillholes", "Drillholes", tables.warnings_list(notes, "hole-notes"))]
        dips = f'<p id="dips">Dips: {escape(self.holes.report.dips)}.</p>'
        return [("drillholes", "Drillholes", dips + findings_html(check, self.unit, self.say))]

    def _hole_values(self) -> dict[str, object]:
        """Return the sign of dips and the findings, ready for JSON."""
        if self.holes is None:
            return {}
        findings = [each.as_dict() for each in self.findings]
        return {"drillholes": {"dips": self.holes.report.dips, "findings": findings}}

    def _grades(self, labels: Sequence[ShownLabel]) -> GradePart:
        """Return the part of the page about tonnes and grades, or an empty part."""
        if self.grades.wanted is None and not self.grades.names:
            return GradePart("", "", [])
        return grades_html(self.blocks, self.grades, labels, self.unit)

    @property
    def _near_note(self) -> str:
        """A sentence about the drillholes on sections; empty if no holes are drawn."""
        if self.near is None:
            return ""
        samples = " and their samples" if self.near.samples else ""
        within = f"{self.near.within:.10g} {escape(self.unit)}".strip()
        return f" Drillholes{samples} are drawn within {within} on either side."

    def _warnings(self, grade_warnings: Sequence[str]) -> list[str]:
        """Return warnings and notes of the labelling and of this report, without repetitions."""
        read = [*self._recorded, *self.warned, *self.blocks.notes]
        return list(dict.fromkeys([*read, *grade_warnings]))

    @property
    def _recorded(self) -> list[str]:
        """The warnings and notes in the record of the labelling, and the shifts of domains."""
        labelled = self.record["summary"] if self.record else None
        recorded = [*labelled["warnings"], *labelled["notes"]] if labelled else []
        return list(dict.fromkeys([*recorded, *self.domains.shifts]))

    def _origin(self) -> Origin:
        """Return the provenance of the page: the model and the other files that were read."""
        others = [] if self.changes is None else [("compared with", self.changes.old)]
        others += [("drawn", path) for path in self.files]
        holes = self.holes.files if self.holes else ()
        others += [("drillholes", path) for path in holes]
        others += [("samples", path) for path in self.sampled if path not in holes]
        return Origin(
            self.source, self.blocks.digest, others, self.record, self.folder, self.prepared_by
        )


def draw_sections(
    sections: Sequence[Section], geometry: Geometry, style: SectionStyle, name: str
) -> list[Figure]:
    """Return the title, drawing and legend of each section; refuse a section that cuts no block."""
    extent = geometry.extent
    figures = []
    for number, section in enumerate(sections):
        low, high = section.span(extent)
        if not low <= section.at < high:
            raise TableError(cuts_nothing(section, extent, name))
        drawn = section_svg(section, number, geometry, extent, style)
        figures.append(Figure(drawn, _legend(drawn.svg, style)))
    return figures


def _legend(drawn: str, style: SectionStyle) -> str:
    """Return the legend of a drawing as HTML: first its domains and labels, then its grades."""
    blocks = dict(zip(style.labels, style.colours, strict=True))
    entries = [
        f"{tables.swatch(colour)} {escape(name)}"
        for name, colour in {**style.trace_colours, **blocks}.items()
        if name
        and (f'fill="{colour}"' in drawn or (name in style.traces and darker(colour) in drawn))
    ]
    entries += _sample_legend(drawn, style.near)
    return "".join(f"<span>{entry}</span> " for entry in entries)


def _sample_legend(drawn: str, near: NearHoles | None) -> list[str]:
    """Return the legend of sample grades, if the drawing shows samples."""
    if near is None or near.ramp is None or 'stroke-linecap="butt"' not in drawn:
        return []
    classes = grade_classes(near.ramp)
    return [
        f"{escape(near.ramp.name)}:",
        *(f"{tables.swatch(step.colour)} {escape(step.interval)}" for step in classes),
    ]


# Directions of sections of which a page of a domain shows one each.
_MOST_PICTURES = 3


def _pictures(
    labels: Sequence[str],
    rows: Sequence[DomainRow],
    sections: Sequence[Section],
    figures: Sequence[Figure],
) -> dict[str, list[Picture]]:
    """Return, for each domain, the section in each direction that cuts most of its blocks."""
    pictures: dict[str, list[Picture]] = {}
    for row in rows:
        if row.is_ground or row.label not in labels:
            continue
        code = labels.index(row.label)
        best: dict[object, int] = {}
        for number, (section, figure) in enumerate(zip(sections, figures, strict=True)):
            count = int(figure.drawn.counts[code])
            key = section.axis or "line"
            if count and (key not in best or count > figures[best[key]].drawn.counts[code]):
                best[key] = number
        pictures[row.name] = [
            Picture(number, figures[number].title, figures[number].drawn.size)
            for number in sorted(best.values())[:_MOST_PICTURES]
        ]
    return pictures


def fullest_section(figures: Sequence[Figure]) -> int:
    """Return the index of the section with the most labels.

    Among sections with equally many labels, the one with the longest SVG is taken.
    """
    sizes = [(fig.svg.count('shape-rendering="crispEdges"'), len(fig.svg)) for fig in figures]
    return max(range(len(sizes)), key=sizes.__getitem__)


def _focus(geometry: Geometry, labels: Sequence[ShownLabel]) -> Floats:
    """Return the bounding box of the blocks in domains, or of all blocks if no block is in one."""
    is_domain = np.array([not label.ground for label in labels])[geometry.codes]
    if not is_domain.any():
        return geometry.extent
    points = geometry.world(np.flatnonzero(is_domain))
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _explained(rows: Sequence[DomainRow], unit: str) -> str:
    """Return HTML that explains the volume columns in the table of domains."""
    what = "" if unit else ", in cubed units of the file"
    sentences = [f"Volume is the volume of the blocks with the label{what}."]
    if any(row.own_volume is not None for row in rows):
        sentences.append(
            "Volume before priority counts every block in the domain, even if another domain takes "
            "it."
        )
    if any(row.wireframe_volume is not None for row in rows):
        sentences.append(
            "Wireframe volume is the volume inside the closed meshes of the domain; it is empty if "
            "they extend beyond the model."
        )
    sentences.append("Numbers are rounded; point at a number to read all its digits.")
    return f'<p class="hint">{" ".join(sentences)}</p>'


def scene_note(scene: Scene) -> str:
    """Return a note, as HTML, on the content of the 3D view and on what was left out of it."""
    thinned = f", one of every {scene.every}" if scene.every > 1 else ""
    sentences = [
        f"Drawn: {counted(scene.drawn, 'block')} of domains at a boundary{thinned}. A cut shows "
        f"all blocks that it meets, of {scene.count:,} in the model."
    ]
    sentences += [
        f"The wireframe {escape(mesh.name)} is drawn with {mesh.drawn:,} of its {mesh.whole:,} "
        "triangles."
        for mesh in scene.coarse
    ]
    if scene.left_out:
        names = ", ".join(map(escape, scene.left_out))
        sentences.append(f"The page leaves out the columns {names}, because they are too large.")
    return f'<p class="hint">{" ".join(sentences)}</p>'
