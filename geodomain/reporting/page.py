"""Build the HTML page of a report: its parts, its inputs, and a policy against requests."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from pathlib import Path

import numpy as np

from geodomain.compute.data import Floats
from geodomain.domains.order import Domains
from geodomain.drillholes.checks import Finding, notes_of
from geodomain.drillholes.drillholes import Drillholes
from geodomain.errors import TableError, collect_warnings, counted
from geodomain.files.unchanged import Digest
from geodomain.mesh.mesh import Mesh
from geodomain.reporting import tables
from geodomain.reporting.blocks import Blocks, Geometry, ShownLabel, geometry_of
from geodomain.reporting.compare import Comparison
from geodomain.reporting.grades import GradesAsked, grades_html
from geodomain.reporting.look import NearHoles, darker, with_ground
from geodomain.reporting.record import FileFacts, Record
from geodomain.reporting.scene import Pack, Scene, scene_of
from geodomain.reporting.sections import Section, wireframes_of
from geodomain.reporting.svg import SectionStyle, default_sections, grade_classes, section_svg
from geodomain.reporting.tables import DomainRow

_VIEWER = Path(__file__).parent / "viewer"
# Of the view's controls: what looks along which direction.
_LOOKS = (
    ("north", "Look north"), ("south", "Look south"), ("east", "Look east"),
    ("west", "Look west"), ("down", "Look down"), ("oblique", "Oblique"),
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """A section of the page: its title, its SVG, and HTML that names its colours."""

    title: str
    svg: str
    legend: str


def html_page(
    title: str,
    lead: str,
    parts: Sequence[tuple[str, str, str]],
    scene: Mapping[str, object],
    blocks: Sequence[str],
) -> str:
    """Return a page.

    Parameters
    ----------
    title : str
        Of the page.
    lead : str
        HTML below the title.
    parts : sequence of (name, heading, HTML)
        What it shows, in order; the name is the part's identifier.
    scene : mapping
        Plain values for the view.
    blocks : sequence of str
        The arrays of the scene, in base64.

    Returns
    -------
    str
    """
    code, style = (_VIEWER / "viewer.js").read_text(), (_VIEWER / "page.css").read_text()
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(code)}; style-src {_hash(style)}"
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
            f'<script type="application/json" id="scene">{escaped_json(scene)}</script>',
            *(
                f'<script type="text/plain" id="data-{number}">{block}</script>\n'
                for number, block in enumerate(blocks)
            ),
            f"<script>{code}</script></body></html>\n",
        ]
    )


def escaped_json(value: object) -> str:
    """Return JSON in which no `<` can end the block that it stands in."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def view_html(
    labels: Sequence[ShownLabel], swatches: Sequence[str], wireframes: Sequence[str], holes: int = 0
) -> str:
    """Return the frame of the view and its controls, which the viewer's code brings to life.

    Parameters
    ----------
    labels : sequence of ShownLabel
        What the codes of blocks stand for.
    swatches : sequence of str
        A small square of its colour for each.
    wireframes : sequence of str
        Domains that have one.
    holes : int
        How many drillholes are drawn.
    """
    return "".join(
        [
            '<p id="no-view" role="status">This view needs JavaScript and WebGL. The tables and '
            "sections of this page show the same model without them.</p>",
            '<div id="viewer" hidden><div class="stage" id="stage">'
            '<canvas id="canvas" tabindex="0" role="img" aria-describedby="canvas-help"></canvas>'
            '<canvas id="overlay" aria-hidden="true"></canvas></div>',
            '<p id="canvas-help" class="hint">Drag to turn, right-drag or two fingers to move, '
            "wheel to zoom; click a block to read its row. Keys: arrows turn, + and - zoom, "
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
    labels: Sequence[ShownLabel], swatches: Sequence[str], wireframes: Sequence[str], holes: int
) -> str:
    lines = []
    numbered = zip(range(len(labels)), labels, swatches, strict=True)
    for number, label, square in sorted(numbered, key=lambda one: one[1].order):
        if not label.ground:
            checked = "" if label.hidden else " checked"
            lines.append(
                f'<label>{square} <input type="checkbox"{checked} data-label="{number}"> '
                f"blocks of {escape(label.name)}</label>"
            )
    lines += [
        f'<label><input type="checkbox" checked data-wireframe="{escape(name, quote=True)}"> '
        f"wireframe of {escape(name)}</label>"
        for name in wireframes
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
    """Return sections with a strip to step through them; without JavaScript all are shown.

    Parameters
    ----------
    figures : sequence of Figure
        In the order of the strip.
    first : int
        Which of them is shown at first.
    more : str
        A sentence of HTML about what else they show.
    """
    options = "".join(
        f'<option value="{number}">{escape(one.title)}</option>'
        for number, one in enumerate(figures)
    )
    drawn = "".join(
        f'<figure data-section="{number}"{" data-first=yes" if number == first else ""}>'
        f"<figcaption>{escape(one.title)}</figcaption>{one.svg}"
        f'<p class="legend">{one.legend}</p></figure>'
        for number, one in enumerate(figures)
    )
    return (
        f'<p class="hint">{counted(len(figures), "section")}. A block is cut where the plane is '
        "on its lower "
        "face and not where it is on its upper one. Red marks at the frame are where the other "
        "sections cross; lines are traces of wireframes."
        f"{more}</p>"
        '<div class="strip" id="strip" hidden><button type="button" id="section-back">Previous'
        f'</button><label>Section <select id="section-choice">{options}</select></label>'
        f'<button type="button" id="section-on">Next</button></div>{drawn}'
    )


def _hash(text: str) -> str:
    """Return the source expression that allows one inline block."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


# Provenance: files with hashes, versions, options.


@dataclass(frozen=True)
class Origin:
    """What a page was made of.

    Attributes
    ----------
    model : str
        The labelled model.
    digest : Digest
        Of its bytes.
    others : sequence of (what, path)
        Files that were read beside it.
    record : Record, optional
        Of the labelling.
    """

    model: str
    digest: Digest
    others: Sequence[tuple[str, Path]]
    record: Record | None

    @property
    def lead(self) -> str:
        """Return one line for the head of the page: which bytes, when, by what."""
        known = self.record
        labelled = f", labelled {escape(_day(known['started']))}" if known else ""
        return (
            f'<p class="lead">{escape(Path(self.model).name)}, {self.digest.size:,} bytes, SHA-256 '
            f"<code>{self.digest.hexadecimal[:16]}</code>...{labelled}. Report made {_day(_now())} "
            f"by geodomain {escape(version('geodomain'))}. "
            '<a href="#origin">All files, versions and options</a></p>'
        )

    @property
    def html(self) -> str:
        """Return tables of files, of versions and dates, and of options."""
        record = self.record
        recorded = record["inputs"] if record else []
        files = [("labelled model", _file(self.model, self.digest))]
        files += [("labelled from", one) for one in recorded]
        known = {one["sha256"] for _, one in files}
        for what, path in self.others:
            found = _file(path, Digest.of_file(path))
            if found["sha256"] not in known or what == "compared with":
                files.append((what, found))
        facts: dict[str, object] = {
            "report made": _now(),
            "report by": f"geodomain {version('geodomain')}",
            "labelled": record["started"] if record else "",
            "labelled by": record["versions"] if record else {},
            "command": record["command"] if record else "",
        }
        return (
            tables.files_table(files)
            + tables.facts_table("Run", facts, name="run")
            + tables.facts_table("Options", record["options"] if record else {}, name="options")
        )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _day(moment: str) -> str:
    return moment.partition("T")[0]


def _file(path: str | Path, digest: Digest) -> FileFacts:
    return {"path": str(path), "bytes": digest.size, "sha256": digest.hexadecimal}


# The parts of the report.

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
        view = view_html(
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
                sections_html(figures, _fullest(figures), self._near_said),
            ),
            ("origin", "How it was made", origin.html),
        ]
        values = scene.values | self._hole_values()
        html = html_page(title, origin.lead, parts, values, pack.blocks)
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
) -> list[Figure]:
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
        figures.append(Figure(drawn.title, drawn.svg, _legend(drawn.svg, style)))
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


def _fullest(figures: Sequence[Figure]) -> int:
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
