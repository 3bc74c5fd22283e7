"""Write the report of a labelled block model as one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Unpack, cast

from geodomain.checks.columns import unit_of_length
from geodomain.domains.order import DomainsLike
from geodomain.domains.sources import drawn_source, policy_of
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.findings import Finding, notes_of, sentences
from geodomain.drillholes.tables import TableLike, files_of
from geodomain.errors import collect_warnings, counted, in_lines
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, open_target
from geodomain.files.unchanged import Unchanged
from geodomain.formats.blocks import file_of, require_page_name
from geodomain.inputs import model_path
from geodomain.labelling.settings import LabelSettings
from geodomain.progress import Progress, show_progress
from geodomain.reporting.blocks import read_blocks
from geodomain.reporting.compare import compare_files
from geodomain.reporting.domain_figures import DomainRequest, gather_figures
from geodomain.reporting.grades import GradeSettings, grade_settings
from geodomain.reporting.look import (
    NearHoles,
    as_classes,
    near_holes,
    orders_of,
    ramp_of,
    refuse_commas_of_classes,
    with_classes,
)
from geodomain.reporting.page import MOST_SECTIONS, Changes, Content
from geodomain.reporting.planes import LineGiven, Section, SectionGiven, as_lines, as_sections
from geodomain.reporting.record import RecordGiven, read_record, require_same_file
from geodomain.reporting.sections import require_labels
from geodomain.reporting.tables import domain_rows
from geodomain.result_tables import html_table
from geodomain.settings import among, read_keywords, with_keywords
from geodomain.statistics.settings import ReportKeywords, ReportSettings
from geodomain.tables.numbers import BelowDetection
from geodomain.tables.options import table_options
from geodomain.tables.settings import TableKeywords
from geodomain.volumes.tonnes import Cutoffs

# Advice for a model that is not a file.
_IN_MEMORY = "write the labelled blocks to a file first, and give wireframes with domains="


@dataclass(frozen=True)
class Report:
    """The result of `report_file`.

    Attributes
    ----------
    output : str
        Path of the page.
    size : int
        Size of the page in bytes.
    blocks, drawn : int
        Number of blocks in the model, and number of boundary blocks that the 3D view draws.
    sections : tuple of Section
        Sections of the page.
    findings : tuple of Finding
        Findings about the drillholes, including a comparison of their collars with topography.
    dips : str
        Which dips point down, and how that was decided; "" without drillholes.
    notes : tuple of str
        Warnings and notes from the record of the labelling, and notes on grades and densities.
    figures : dict
        All figures of the pages of domains, and the findings of the check of the holes: plain
        values.
    """

    output: str
    size: int
    blocks: int
    drawn: int
    sections: tuple[Section, ...]
    findings: tuple[Finding, ...] = ()
    dips: str = ""
    notes: tuple[str, ...] = ()
    figures: dict[str, object] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """Return the result as plain values, ready for JSON."""
        return {
            "output": self.output,
            "size": self.size,
            "blocks": self.blocks,
            "drawn": self.drawn,
            "sections": list(map(str, self.sections)),
            "findings": [each.as_dict() for each in self.findings],
            "dips": self.dips,
            "notes": [*self.notes, *cast(list[str], self.figures.get("notes", []))],
            **{name: value for name, value in self.figures.items() if name != "notes"},
        }

    def __str__(self) -> str:
        """Return lines of text: the path and size of the page, and the notes."""
        wrote = (
            f"wrote {self.output}: {self.size / 1e6:.1f} MB, {counted(self.blocks, 'block')}, "
            f"{counted(len(self.sections), 'section')}"
        )
        left_out = cast(list[str], self.figures.get("notes", []))
        lines = [wrote, *self.notes, *left_out]
        return in_lines([*lines, *notes_of(self.findings, self.dips)])

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("file", self.output),
            ("size", f"{self.size / 1e6:.1f} MB"),
            ("blocks", f"{self.blocks:,}"),
            ("boundary blocks drawn", f"{self.drawn:,}"),
            ("sections", ", ".join(map(str, self.sections))),
        ]
        rows += [("note", line) for line in self.notes]
        rows += [("drillholes", line) for line in notes_of(self.findings, self.dips)]
        return html_table("Report", rows)


@with_keywords(ReportSettings, ReportKeywords, table=TableKeywords)
def report_file(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    domains: DomainsLike | None = None,
    record: RecordGiven | None = None,
    compare: str | os.PathLike[str] | None = None,
    sections: SectionGiven | Sequence[SectionGiven] = (),
    line: LineGiven | Sequence[LineGiven] = (),
    column: str = "domain",
    background: str | Iterable[str] = (),
    holes: Drillholes | None = None,
    within: float | None = None,
    samples: TableLike | None = None,
    sample_grade: str | Sequence[str] | None = None,
    classes: Mapping[str, Sequence[float]] | None = None,
    density: str | float | None = None,
    density_unit: str | None = None,
    grade: str | Sequence[str] = (),
    cutoff: Cutoffs | None = None,
    grade_unit: str | Mapping[str, str] | None = None,
    classification: str | None = None,
    unit: str = "",
    title: str | None = None,
    note: str | None = None,
    prepared_by: str | None = None,
    relative_paths: bool = False,
    overwrite: bool = False,
    progress: Progress | bool = False,
    say: Callable[[str], str] = str,
    **keywords: Unpack[ReportKeywords],
) -> Report:
    r"""Write a report of a labelled block model as one HTML file for a browser.

    The page holds blocks and volumes by domain, warnings, a 3D view to rotate and cut, sections, a
    page for each domain, and the files with their SHA-256. It loads nothing from a network.

    Parameters
    ----------
    model : path
        A block model with a label column, in any format. It is read once.
    output : path
        The page. After an error there is no partial file.
    domains : optional
        As for `label_file`. The wireframes of the domains are drawn, closed or open. The background
        labels that `domains` sets do not count as domains.
    record : path or mapping, optional
        The record that `label_file` wrote to the path ``record``. The page shows its options,
        overlaps and warnings, and the volume of each domain before priority. This volume includes
        the blocks that went to domains of higher priority. The output that the record names must be
        this model, byte for byte.
    compare : path, optional
        An earlier labelling of the same blocks in the same order. The page shows the number and
        volume of blocks whose domain changed. Both files are read for this comparison.
    sections : str, tuple, Section, or several of them
        Where to cut, such as "z=310", "RL=310" or ("z", 310); at most 30 sections. [default: at
        even distances through the labelled domains, across x, y and z]
    line : four numbers, str, or several of them
        Further sections, as for `plot_sections`: upright planes through two points of the map.
    column : str
        Label column.
    background : str or several
        Labels that are not domains. [default: as in `domains` or the record, or else WASTE or
        BACKGROUND]
    holes : Drillholes, optional
        Drillholes for the view, and for sections if ``within`` is given.
    within : float, optional
        Holes are drawn on sections that are at most this far from them, on either side.
    samples : path, DataFrame or pyarrow.Table, optional
        Samples with grades, for the pages of domains. With `holes`, they are intervals (hole, FROM,
        TO), which are labelled by `domains` at their middles if they have no label column. With
        ``within`` they are also drawn along the holes on sections, coloured by the first grade.
        Without `holes`, they need coordinates, and labels as for `validate`. Negative values give a
        warning. The setting ``below_detection`` of `holes`, or else of this function, or else of
        `domains`, says how to treat them.
    sample_grade : str or sequence of str, optional
        Grade columns of the samples, in the order of ``grade``. [default: ``grade``]
    classes : mapping of str to sequence of float, optional
        Grades that divide ``sample_grade`` into classes, as for `plot_sections`.
    density : str or float, optional
        A column, or one number for all blocks. If it is given, the page shows tonnes by domain.
    density_unit : {"t/m3", "lb/ft3", "t/ft3", "kg/m3"}, optional
        As for `tonnes`.
    grade : str or sequence of str
        Grade columns. For each grade, the page shows a histogram by domain. With ``density``, it
        also shows grade-tonnage curves.
    cutoff, grade_unit, classification : optional
        As for `tonnes`: the table of tonnes has rows for each cut-off and each resource class. The
        unit of a grade is written beside its name; here it may also be a grade of the samples. A
        cut-off or a class needs ``density``.
    unit : str
        Unit of the coordinates, such as "m", for axes, scale bars and volumes. [default: the unit
        that ``density_unit`` implies, if it is given]
    title, note : str, optional
        Title of the page, usually the project, and a text below it.
    prepared_by : str, optional
        Who made the report, for the title block.
    relative_paths : bool
        Whether the page shows paths relative to its own folder. Such paths do not contain the names
        of users and drives.
    overwrite : bool
        Whether to replace an existing page.
    progress : bool or callable
        As for `label_file`.
    say : callable
        Writes the names of keywords in texts of the pages of domains; `geodomain report` writes
        options.
    **settings
    **table
        Options for reading the file, as for `label_file`. Those about texts and missing values
        apply to samples with coordinates as well.

    Returns
    -------
    Report
        ``print`` it.

    Raises
    ------
    FileExistsError
        If the page exists; see ``overwrite``.
    TableError
        If the page would replace an input. If the model has no labels or sizes. If the record
        belongs to another file. If a section cuts no block. If the model to compare has different
        blocks.
    TypeError
        If the model is not a path.
    ValueError
        If a section, a line, the classes or a setting are invalid, or if there are more than 30
        sections. Also if ``within`` is given without ``holes``, ``sample_grade`` without
        ``samples``, or ``samples`` without a grade. Also if ``cutoff`` or ``classification`` is
        given without ``density``.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = "X,Y,Z,DX,DY,DZ,domain\n5,5,5,10,10,10,ORE\n15,5,5,10,10,10,DYKE\n"
    >>> _ = (folder / "labelled.csv").write_text(rows)
    >>> done = geodomain.report_file(folder / "labelled.csv", folder / "report.html")
    >>> done.blocks, done.drawn, len(done.sections)
    (2, 2, 4)
    """
    source, place = model_path(model, _IN_MEMORY), Path(output)
    require_places([place], overwrite=overwrite)
    require_page_name(str(place))
    grades = grade_settings(
        column, grade, density, density_unit, cutoff, grade_unit, classification, sample_grade
    )
    settings = read_keywords(ReportSettings, keywords, ReportKeywords)
    table = cast(TableKeywords, {**among(TableKeywords, keywords)})
    sample_grades = _sample_grades(samples, sample_grade, grades.names)
    settings.caps(sample_grades)
    sampled = tuple(files_of([samples]))
    table["below_detection"] = table.get("below_detection") or policy_of(domains)
    near = _near(holes, within, samples, sample_grades, table["below_detection"], classes)
    weight = settings.of_blocks.weight
    refuse_commas_of_classes(as_classes(classes, sample_grades[:1]), source, table_options(**table))
    content, planes = gather_content(
        source,
        place,
        domains=domains,
        record=record,
        compare=compare,
        sections=sections,
        line=line,
        column=column,
        background=background,
        holes=holes,
        grades=grades,
        near=near,
        sampled=sampled,
        also=[weight] if isinstance(weight, str) else [],
        progress=progress,
        table=table,
    )
    request = DomainRequest(
        samples, sample_grades, settings, table, column, _labelling(content, background)
    )
    pages = gather_figures(
        request, content.blocks, content.rows, grades, content.domains, holes, content.warned
    )
    content = replace(
        content,
        pages=pages.spelled(say),
        say=say,
        folder=place.parent if relative_paths else None,
        unit=unit or unit_of_length(density_unit),
        prepared_by=prepared_by or "",
    )
    made = content.html(planes, title or f"{Path(source).name} by domain", note)
    data = made.html.encode()
    with open_target(place, overwrite=overwrite) as target:
        target.write(memoryview(data))
    return Report(
        str(place),
        len(data),
        len(content.blocks.codes),
        made.drawn,
        made.sections,
        content.findings,
        "" if holes is None else holes.report.dips,
        made.notes,
        made.figures,
    )


def gather_content(
    source: str,
    place: Path | None,
    *,
    domains: DomainsLike | None,
    record: RecordGiven | None,
    compare: str | os.PathLike[str] | None,
    sections: SectionGiven | Sequence[SectionGiven],
    line: LineGiven | Sequence[LineGiven] = (),
    column: str,
    background: str | Iterable[str],
    holes: Drillholes | None,
    grades: GradeSettings,
    near: NearHoles | None = None,
    sampled: tuple[Path, ...] = (),
    also: Sequence[str] = (),
    progress: Progress | bool,
    table: TableKeywords,
) -> tuple[Content, list[Section]]:
    """Read everything that a page shows; `place` is the path of the page, None without a file.

    `also` names further columns of numbers.
    """
    places = [] if place is None else [place]
    _refuse_slips(source, places, (record, compare, *sampled), holes)
    options, planes = table_options(**table), [*as_sections(sections), *as_lines(line)]
    if len(planes) > MOST_SECTIONS:
        message = f"{len(planes)} sections are too many: a report has at most {MOST_SECTIONS}"
        raise ValueError(message)
    recorded = None if record is None else read_record(record)
    with Unchanged(file_of(source)):  # the comparison reads it again
        with collect_warnings() as warned, show_progress(progress, "reading") as report:
            listed, files = drawn_source(domains)
            refuse_inputs(places, files)
            findings = () if holes is None else holes.tell(listed)
            # `tell` warns once per Drillholes, so these warnings may have been given before.
            warned += [each for each in sentences(findings) if each not in warned]
            blocks = read_blocks(
                source,
                options,
                column,
                numeric=list(dict.fromkeys([*grades.columns, *also])),
                wanted=grades.wanted,
                progress=report,
            )
        if recorded is None and not listed.targets:
            require_labels(blocks.labels, column, blocks.name)
        if recorded is not None:
            require_same_file(recorded, blocks.name, blocks.digest)
        ground = [background] if isinstance(background, str) else list(background)
        rows = domain_rows(blocks, listed, recorded["summary"] if recorded else None, ground)
        changes = None
        if compare is not None:
            old = file_of(os.fspath(compare))
            changes = Changes(old, compare_files(old, source, column=column, **table))
    content = Content(
        source,
        blocks,
        listed,
        files,
        rows,
        recorded,
        warned,
        grades,
        holes,
        changes,
        near,
        sampled,
        findings,
    )
    return content, planes


def _near(
    holes: Drillholes | None,
    within: float | None,
    samples: TableLike | None,
    sample_grades: Sequence[str],
    below: BelowDetection | None,
    classes: Mapping[str, Sequence[float]] | None,
) -> NearHoles | None:
    """Return the holes and samples to draw on sections, or None; refuse incomplete options."""
    classed = as_classes(classes, sample_grades[:1])
    if within is None:
        return None
    if holes is None:
        message = "within= needs drillholes: give holes= too"
        raise ValueError(message)
    near = near_holes(
        holes, within, samples, sample_grades[0] if samples is not None else None, below
    )
    if near is None or near.samples is None:
        return near
    ramp = ramp_of(f"{near.samples.name} of samples", "", near.samples.values)
    orders = orders_of(near.samples.values)
    if ramp is not None and orders is not None:
        ramp = replace(ramp, low=orders[0], high=orders[1], is_log=True)
    return replace(near, ramp=ramp and with_classes(ramp, near.samples.name, classed))


def _sample_grades(
    samples: TableLike | None, sample_grade: str | Sequence[str] | None, grades: Sequence[str]
) -> tuple[str, ...]:
    """Return the grade columns of the samples: the named columns, or those of the blocks."""
    named = (sample_grade,) if isinstance(sample_grade, str) else tuple(sample_grade or ())
    if (samples is None and named) or (samples is not None and not (named or grades)):
        message = "give both samples= and sample_grade=: the samples and their grade column"
        raise ValueError(message)
    if samples is None:
        return ()
    if grades and len(named) > len(grades):
        message = (
            f"sample_grade= names {len(named)} columns, but grade= names {len(grades)}: name them "
            "in the same order"
        )
        raise ValueError(message)
    return (*named, *grades[len(named) :])


def _labelling(content: Content, background: str | Iterable[str]) -> LabelSettings:
    """Return the settings to label samples as the record says that the blocks were labelled."""
    record = content.record
    options = record["options"] if record else {}
    label = content.domains.background
    if not label and record is not None:
        label = record["summary"]["background"]["label"]
    others = [background] if isinstance(background, str) else list(background)
    others = others or [row.name for row in content.rows if row.is_ground and row.name]
    if not label and len(others) == 1:
        (label,) = others
    weld = options.get("weld")
    return LabelSettings(
        background=label,
        rule="winding" if options.get("rule") == "winding" else "parity",
        allow_open=options.get("allow_open") is True,
        weld=float(weld) if isinstance(weld, int | float) else None,
    )


def _refuse_slips(
    source: str, places: Sequence[Path], others: Sequence[object], holes: Drillholes | None
) -> None:
    """Refuse a model from stdin, and refuse an output that would replace an input."""
    if source == STANDARD:
        message = "the model is - (stdin), but a report needs its SHA-256: give a file"
        raise ValueError(message)
    files = [file_of(os.fspath(other)) for other in others if isinstance(other, str | os.PathLike)]
    refuse_inputs(places, [file_of(source), *files, *(holes.files if holes else ())])
