"""The page of a difference: the waterfall, the tables, and the changed blocks in 3D."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from geodomain.changes.difference_results import (
    CHANGE,
    NEW,
    OLD,
    ChangedBlocks,
    DifferenceRow,
    ModelDifference,
    figure,
)
from geodomain.changes.domain_differences import DomainsDifference
from geodomain.changes.wireframe_differences import WireframeDifference
from geodomain.files.streams import open_target
from geodomain.files.unchanged import Digest
from geodomain.reporting import tables
from geodomain.reporting.blocks import Blocks, Geometry, ShownLabel, TextColumns, geometry_of
from geodomain.reporting.look import colours_of
from geodomain.reporting.page import (
    MOST_SECTIONS,
    draw_sections,
    file_facts,
    fullest_section,
    html_page,
    now,
    scene_note,
    sections_html,
    view_html,
)
from geodomain.reporting.scene import Pack, scene_of
from geodomain.reporting.svg import SectionStyle, chart_svg, default_sections
from geodomain.statistics.charts import (
    COOL,
    INK,
    WARM,
    Axis,
    Bars,
    Chart,
    Line,
    Panel,
    draw_chart,
    empty_figure,
    linear_axis,
    picture_of,
    require_picture,
    short,
)

Part = tuple[str, str, str]

# --- The waterfall.

# Most domains with a waterfall: those with the largest changes.
_MOST_DOMAINS = 12
# Space above and below the levels, as a share of their range.
_SPACE = 0.12
# Names of steps with more letters than this are slanted.
_LONG = 5


class Waterfall(NamedTuple):
    """The running level of an amount of a domain, from the old model to the new one.

    Attributes
    ----------
    domain, what : str
        The domain, and the amount with its unit.
    names : list of str
        "old", the steps, and "new".
    levels : list of float
        The amount after "old" and after each step; the last one is that of the new model.
    """

    domain: str
    what: str
    names: list[str]
    levels: list[float]

    @property
    def change(self) -> float:
        """The largest change by a step, as a share of the largest level."""
        largest = max(map(abs, self.levels)) or 1.0
        return max((abs(b - a) / largest for a, b in pairwise(self.levels)), default=0.0)

    def chart(self) -> Chart:
        """Return the waterfall as a chart; its vertical axis need not begin at 0."""
        low, high = min(self.levels), max(self.levels)
        space = _SPACE * (high - low) or abs(high) or 1.0
        foot = low - space if low - space > 0 or low < 0 else 0.0
        y = _cut_axis(self.what, foot, high + space)
        count = len(self.names)
        ends = [(place + 0.0, place + 1.0) for place in range(count)]
        rises = [(place, a, b) for place, (a, b) in enumerate(pairwise(self.levels), 1) if b > a]
        falls = [(place, a, b) for place, (a, b) in enumerate(pairwise(self.levels), 1) if b < a]
        whole = [ends[0], ends[-1]]
        marks: list[Line | Bars] = [
            Bars(whole, [self.levels[0], self.levels[-1]], INK, alpha=0.55, bases=[y.low, y.low]),
            _bars(rises, COOL, "more"),
            _bars(falls, WARM, "less"),
        ]
        marks += [
            Line([place + 0.04, place + 1.04], [level, level], INK, width=1.0)
            for place, level in enumerate(self.levels)
        ]
        names = [(place + 0.5, name) for place, name in enumerate(self.names)]
        slanted = max(map(len, self.names)) > _LONG
        x = Axis("", 0.0, float(count), names, slanted=slanted)
        change = self.levels[-1] - self.levels[0]
        title = f"{self.domain or '(no label)'}: {'+' if change > 0 else ''}{short(change)}"
        return Chart(title, x, [Panel(y, [mark for mark in marks if _has_content(mark)])])


def _has_content(mark: Line | Bars) -> bool:
    return isinstance(mark, Line) or bool(mark.ends)


def _bars(changes: Sequence[tuple[int, float, float]], colour: str, name: str) -> Bars:
    """Return the bars of steps, each from its lower to its upper level."""
    return Bars(
        [(place + 0.0, place + 1.0) for place, *_ in changes],
        [max(a, b) for _, a, b in changes],
        colour,
        name,
        bases=[min(a, b) for _, a, b in changes],
    )


def _cut_axis(name: str, low: float, high: float) -> Axis:
    """Return a vertical axis from `low` to `high`, with ticks at round values."""
    whole = linear_axis(name, [0.0, high - low])
    step = whole.ticks[1][0] - whole.ticks[0][0]
    first = int(np.ceil(low / step))
    marks = [round(step * place, 12) for place in range(first, int(np.floor(high / step)) + 1)]
    texts = [short(mark) for mark in marks]
    if len(set(texts)) < len(texts):  # four digits do not tell the ticks apart
        size, unit = (1e6, " M") if max(map(abs, marks)) >= 1e6 else (1.0, "")
        texts = [f"{mark / size:,.8g}{unit}" for mark in marks]
    return Axis(name, low, high, list(zip(marks, texts, strict=True)))


def waterfalls(result: ModelDifference) -> list[Waterfall]:
    """Return the waterfalls of a difference: tonnes and metals, or volumes, by domain.

    Domains without a change are left out; of many domains, those with the largest changes remain.
    """
    amounts: list[list[Waterfall]] = []
    named = [*((name, result.rows) for name in result.domains), ("all domains", result.totals)]
    for name, every in named:
        rows = [
            row
            for row in every
            if row.cutoff is None
            and row.step != CHANGE
            and (row.domain == name or every is result.totals)
        ]
        falls = [
            Waterfall(name, what, [row.step for row in rows], _levels(rows, values))
            for what, values in _amounts(result, rows)
        ]
        if any(fall.change > 0 for fall in falls):
            amounts.append(falls)
    largest = sorted(amounts, key=lambda falls: -max(fall.change for fall in falls))
    shown = {id(falls) for falls in largest[:_MOST_DOMAINS]}
    return [fall for falls in amounts if id(falls) in shown for fall in falls]


def _amounts(
    result: ModelDifference, rows: Sequence[DifferenceRow]
) -> Iterator[tuple[str, list[float]]]:
    """Yield the name and the numbers of each amount: tonnes and metals, or volumes."""
    if not result.has_tonnes:
        yield "volume", [row.volume for row in rows]
        return
    yield "tonnes", [row.tonnes or 0.0 for row in rows]
    for place, grade in enumerate(result.totals[0].grades):
        unit = f", {grade.unit}" * bool(grade.unit)
        yield f"{grade.name} metal{unit}", [row.grades[place].metal for row in rows]


def _levels(rows: Sequence[DifferenceRow], values: Sequence[float]) -> list[float]:
    """Return the running level after each row; the last level is that of the new model."""
    levels = [values[0]]
    for row, value in zip(rows[1:], values[1:], strict=True):
        levels.append(value if row.step == NEW else levels[-1] + value)
    return levels


def write_chart(
    result: ModelDifference, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Draw the waterfalls of a difference to a file: .png, .svg or .pdf.

    Raises
    ------
    TableError
        If the extension is not that of a picture.
    OSError
        If the file cannot be written. If it exists already; see ``overwrite``.
    """
    kind = require_picture(Path(path))
    falls = waterfalls(result)
    across = max(1, len(list(_amounts(result, result.totals))))
    down = max(1, len(falls) // across)
    figure = empty_figure(4.6 * across, 3.1 * down, 0.02 / down)
    parts = figure.subfigures(down, across, squeeze=False).ravel().tolist()
    for part, fall in zip(parts, falls, strict=False):
        draw_chart(part, fall.chart())
    if not falls:
        parts[0].text(0.5, 0.5, f"{result.old} and {result.new}: no change", ha="center")
    content = picture_of([figure], kind)
    with open_target(path, overwrite=overwrite) as target:
        target.write(memoryview(content))


# --- The page.


def write_page(
    result: ModelDifference | WireframeDifference | DomainsDifference,
    path: str | os.PathLike[str],
    title: str | None,
    files: Sequence[tuple[str, Path]],
    *,
    unit: str = "",
    overwrite: bool = False,
) -> None:
    """Write a page of a difference.

    Parameters
    ----------
    result : ModelDifference, WireframeDifference or DomainsDifference
        The difference.
    path : path
        HTML file to write.
    title : str, optional
        Title of the page. [default: the names of both inputs]
    files : sequence of (what, path)
        The files that were read.
    unit : str
        Unit of the coordinates; may be empty.
    overwrite : bool
        Whether an existing file may be replaced.

    Raises
    ------
    OSError
        If the file cannot be written. If it exists already; see ``overwrite``.
    """
    name = title or f"{Path(result.old).name} and {Path(result.new).name}"
    origin = ("origin", "How it was made", _origin(files))
    cells = {"Old": result.old, "New": result.new, "Date": now().partition("T")[0]}
    lead = "".join(
        f"<div><dt>{what}</dt><dd>{escape(text)}</dd></div>" for what, text in cells.items()
    )
    lead = f'<dl class="title-block">{lead}</dl>'
    if isinstance(result, ModelDifference):
        html = _model_page(result, name, lead, origin, unit)
    else:
        html = html_page(name, lead, [_source_part(result), origin], None)
    with open_target(path, overwrite=overwrite) as target:
        target.write(memoryview(html.encode()))


def _origin(files: Sequence[tuple[str, Path]]) -> str:
    """Return the tables of files and versions as HTML."""
    read = [(what, file_facts(path, Digest.of_file(path))) for what, path in files]
    facts = {"page made": now(), "page by": f"geodomain {version('geodomain')}"}
    listed = tables.files_table(read) if read else ""
    return listed + tables.facts_table("Run", facts, name="run")


def _source_part(result: WireframeDifference | DomainsDifference) -> Part:
    """Return the part of the page about wireframes or lists of domains."""
    headings, rows = result.table()
    cells = [[escape(cell) for cell in row] for row in rows]
    if isinstance(result, WireframeDifference):
        table = tables.table("Shells", headings, cells, name="shells") + _paragraphs(result.notes)
    else:
        table = tables.table("Changes", headings, cells, name="changes")
    return "summary", "Summary", f"<p>{escape(result.sentence)}</p>{table}"


def _paragraphs(sentences: Sequence[str]) -> str:
    return "".join(f'<p class="hint">{escape(sentence)}</p>' for sentence in sentences)


def _model_page(result: ModelDifference, title: str, lead: str, origin: Part, unit: str) -> str:
    """Return the page of a difference of models."""
    headings, rows = result.table()
    cells = [[escape(cell) for cell in row] for row in rows]
    parts: list[Part] = [
        ("summary", "Summary", _summary(result)),
        ("steps", "Steps", tables.table("Sums and changes", headings, cells, name="steps-table")),
        ("moves", "Labels", _moves(result, unit)),
        ("problems", "Warnings", tables.warnings_list(result.warnings)),
    ]
    changed = result.changed
    if changed is None or not len(changed.codes):
        parts.append(("view", "Changed blocks", "<p>No block changed its label.</p>"))
        return html_page(title, lead, [*parts, origin], None)
    pack = Pack()
    view, sections, scene = _drawn(changed, pack, unit)
    parts += [("view", "Changed blocks", view), ("sections", "Sections", sections), origin]
    return html_page(title, lead, parts, scene | {"unit": unit}, pack.blocks, {})


def _summary(result: ModelDifference) -> str:
    """Return the sentence, the waterfalls and the notes as HTML."""
    charts = "".join(
        chart_svg(fall.chart(), f"fall-{number}", f"{fall.what} of {fall.domain}")
        for number, fall in enumerate(waterfalls(result))
    )
    hint = (
        '<p class="hint">Grey bars are the models, and coloured bars the changes by each step. The '
        "vertical axes need not begin at 0.</p>"
    )
    shown = f'<div class="charts">{charts}</div>{hint}' if charts else "<p>No sum changed.</p>"
    return f"<p>{escape(result.sentence)}</p>{shown}{_paragraphs(result.notes)}"


def _moves(result: ModelDifference, unit: str) -> str:
    """Return the table of volumes by old and new label as HTML."""
    if not result.moves:
        return "<p>The models have no common cells.</p>"
    largest = max(move.volume for move in result.moves)
    rows = [
        [
            escape(move.old or "(no label)"),
            escape(move.new or "(no label)"),
            figure(move.volume, largest, signed=False),
        ]
        for move in result.moves
    ]
    headings = [OLD, NEW, tables.in_unit("volume", unit)]
    return tables.table("Volume in both models, by label", headings, rows, name="moves-table")


def _drawn(changed: ChangedBlocks, pack: Pack, unit: str) -> tuple[str, str, dict[str, object]]:
    """Return the view of the changed blocks, the sections through them, and the scene."""
    geometry = _geometry(changed)
    # The names of changes would give most of them the colours of waste.
    names = [*changed.kinds, *changed.wireframes]
    neutral = colours_of([f"change {number}" for number in range(len(names))])
    colours = dict(zip(names, neutral.values(), strict=True))
    labels = [
        ShownLabel(kind, kind, colours[kind], place, ground=False, hidden=False)
        for place, kind in enumerate(changed.kinds)
    ]
    scene = scene_of(geometry, _texts(changed), labels, changed.wireframes, colours, None, pack)
    sections = default_sections(geometry, geometry.extent, geometry.extent, MOST_SECTIONS)
    style = SectionStyle(
        labels=changed.kinds,
        colours=[colours[kind] for kind in changed.kinds],
        traces=changed.wireframes,
        trace_colours=colours,
        marks=sections,
        unit=unit,
    )
    figures = draw_sections(sections, geometry, style, "the changed blocks")
    swatches = [tables.swatch(label.colour) for label in labels]
    view = view_html(labels, swatches, dict.fromkeys(changed.wireframes, True))
    hint = (
        '<p class="hint">Blocks of the new model whose label changed, and blocks outside the other '
        "model. A block with several changes has the colour of the largest one.</p>"
    )
    return (
        hint + view + scene_note(scene),
        sections_html(figures, fullest_section(figures)),
        scene.values,
    )


def _geometry(changed: ChangedBlocks) -> Geometry:
    """Return the changed blocks in the form that the view needs."""
    blocks = Blocks(
        name="the changed blocks",
        digest=Digest(),
        points=changed.points,
        sizes=changed.sizes,
        matrix=np.ascontiguousarray(changed.axes.T),
        labels=changed.kinds,
        codes=changed.codes,
        texts=_texts(changed),
        numbers={},
        proportions={},
    )
    return replace(geometry_of(blocks), rows=changed.rows)


def _texts(changed: ChangedBlocks) -> TextColumns:
    """Return the columns that the view shows for a block: its model, row and change."""
    rows, row_codes = np.unique(changed.rows, return_inverse=True)
    return TextColumns(
        ("model", "row", "change"),
        (list(changed.models), [f"{row + 1:,}" for row in rows.tolist()], list(changed.kinds)),
        (changed.model_codes, row_codes.astype(np.int32), changed.codes),
    )
