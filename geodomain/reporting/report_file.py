"""Write the report of a labelled block model as one HTML file without requests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

from geodomain.checks.columns import density_unit as unit_of
from geodomain.domains.sources import DomainsGiven, drawn_source, policy_of
from geodomain.drillholes.checks import Finding, notes_of
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike, files_of
from geodomain.errors import collect_warnings, counted, in_lines
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, open_target
from geodomain.files.unchanged import Unchanged
from geodomain.formats.blocks import file_of, require_page_name
from geodomain.html import html_table
from geodomain.inputs import model_path
from geodomain.progress import Progress, show_progress
from geodomain.reporting.blocks import read_blocks
from geodomain.reporting.compare import compare_files
from geodomain.reporting.grades import GradesAsked
from geodomain.reporting.look import NearHoles, near_holes, ramp_of
from geodomain.reporting.page import MOST_SECTIONS, Changes, Content
from geodomain.reporting.record import RecordGiven, read_record, require_same_file
from geodomain.reporting.sections import Section, SectionGiven, as_sections, require_labels
from geodomain.reporting.tables import domain_rows
from geodomain.tables.numbers import BelowDetection
from geodomain.tables.options import table_options
from geodomain.tables.settings import TableKeywords

# What to do with blocks in memory, and with what is no block model.
IN_MEMORY = "write the labelled blocks to a file first; wireframes alone are given with domains="


@dataclass(frozen=True)
class Report:
    """What a report holds.

    Attributes
    ----------
    output : str
        The file that was written.
    size : int
        Its bytes.
    blocks, drawn : int
        Blocks of the model, and boundary blocks that the view draws.
    sections : tuple of Section
        What was drawn.
    findings : tuple of Finding
        Those about the drillholes, their topography included.
    dips : str
        Which dips point down, and how that was decided; "" without drillholes.
    """

    output: str
    size: int
    blocks: int
    drawn: int
    sections: tuple[Section, ...]
    findings: tuple[Finding, ...] = ()
    dips: str = ""

    def __str__(self) -> str:
        """Say what was written."""
        wrote = (
            f"wrote {self.output}: {self.size / 1e6:.1f} MB, {counted(self.blocks, 'block')}, "
            f"{counted(len(self.sections), 'section')}"
        )
        return in_lines([wrote, *notes_of(self.findings, self.dips)])

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("file", self.output),
            ("size", f"{self.size / 1e6:.1f} MB"),
            ("blocks", f"{self.blocks:,}"),
            ("boundary blocks drawn", f"{self.drawn:,}"),
            ("sections", ", ".join(f"{one.axis} = {one.at:.10g}" for one in self.sections)),
        ]
        rows += [("drillholes", line) for line in notes_of(self.findings, self.dips)]
        return html_table("Report", rows)


def report_file(
    model: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    domains: DomainsGiven | None = None,
    record: RecordGiven | None = None,
    compare: str | os.PathLike[str] | None = None,
    sections: SectionGiven | Sequence[SectionGiven] = (),
    column: str = "domain",
    background: str | Iterable[str] = (),
    holes: Drillholes | None = None,
    within: float | None = None,
    samples: TableLike | None = None,
    sample_grade: str | None = None,
    density: str | float | None = None,
    density_unit: str | None = None,
    grade: str | Sequence[str] = (),
    title: str | None = None,
    note: str | None = None,
    overwrite: bool = False,
    progress: Progress | bool = False,
    **table: Unpack[TableKeywords],
) -> Report:
    r"""Write a report of a labelled block model as one HTML file, to be opened in a browser.

    The page holds blocks and volumes by domain, warnings, a view in three dimensions that can be
    turned and cut, sections, and the files with their SHA-256. It loads nothing from a network.

    Parameters
    ----------
    model : path
        A block model that has a column of labels: text, Parquet or VTK. It is read once.
    output : path
        The page. It appears whole or not at all.
    domains : optional
        As for `label_file`: their wireframes are drawn, closed or open, and their background is
        no domain.
    record : path or mapping, optional
        What `label_file` wrote with ``record``: options, overlaps, warnings and volumes before
        priority are taken from it. It must be of this model, byte for byte.
    compare : path, optional
        An earlier labelling of the same blocks, in the same order: the page says how many blocks,
        and what volume, went from which domain to which. Both models are read for it.
    sections : str, tuple, Section, or several of them
        Where to cut, at most 30: "z=310", ("z", 310); by default at even distances through the
        labelled domains, across x, y and z.
    column : str
        The column of labels.
    background : str or several
        Labels that are no domain; WASTE or BACKGROUND where neither this, `domains` nor the record
        names one.
    holes : Drillholes, optional
        Drawn in the view, and on sections where ``within`` is given.
    within : float, optional
        How near a section, on either side, a hole must be to be drawn on it.
    samples : path, DataFrame or pyarrow.Table, optional
        Samples of the holes (hole, FROM, TO, grades), drawn along them on sections, coloured by
        grade; needs ``within``. Those without a value are not drawn; negative ones count as
        `holes` reads them, with a warning.
    sample_grade : str, optional
        Their column; needed with ``samples``.
    density : str or float, optional
        A column, or one for all blocks: tonnes are added up by domain.
    density_unit : {"t/m3", "lb/ft3", "t/ft3", "kg/m3"}, optional
        As for `tonnes`.
    grade : str or sequence of str
        Columns of grades: histograms by domain and, with ``density``, grade-tonnage curves.
    title, note : str, optional
        What the page is called, and what else it says at its head.
    overwrite : bool
        Whether a page that is there may be replaced.
    progress : bool or callable
        As for `label_file`.
    **table
        What the file does not say, or not clearly; as for `label_file`.

    Returns
    -------
    Report
        ``print`` it.

    Raises
    ------
    FileExistsError
        If the page is there already; see ``overwrite``.
    TableError
        For a page in the place of a file that is read, a model without labels or sizes, the
        record of another file, a section that cuts no block, and other blocks to compare with.
    TypeError
        For a model that is no path.
    ValueError
        For what is no section, more than 30 of them, a distance without holes, and samples
        without holes, a distance or a grade.

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
    source, place = model_path(model, IN_MEMORY), Path(output)
    require_places([place], overwrite=overwrite)
    require_page_name(str(place))
    names = (grade,) if isinstance(grade, str) else tuple(grade)
    grades = GradesAsked(names, density, unit_of(density_unit))
    sampled = tuple(files_of([samples]))
    table["below_detection"] = table.get("below_detection") or policy_of(domains)
    near = _near(holes, within, samples, sample_grade, table["below_detection"])
    content, asked = gather_content(
        source,
        place,
        domains=domains,
        record=record,
        compare=compare,
        sections=sections,
        column=column,
        background=background,
        holes=holes,
        grades=grades,
        near=near,
        sampled=sampled,
        progress=progress,
        table=table,
    )
    made = content.html(asked, title or f"{Path(source).name} by domain", note)
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
    )


def gather_content(
    source: str,
    place: Path | None,
    *,
    domains: DomainsGiven | None,
    record: RecordGiven | None,
    compare: str | os.PathLike[str] | None,
    sections: SectionGiven | Sequence[SectionGiven],
    column: str,
    background: str | Iterable[str],
    holes: Drillholes | None,
    grades: GradesAsked,
    near: NearHoles | None = None,
    sampled: tuple[Path, ...] = (),
    progress: Progress | bool,
    table: TableKeywords,
) -> tuple[Content, list[Section]]:
    """Read what a page is made of; `place` is where it is to be written, if anywhere."""
    places = [] if place is None else [place]
    _refuse_slips(source, places, (record, compare, *sampled), holes)
    options, asked = table_options(**table), as_sections(sections)
    if len(asked) > MOST_SECTIONS:
        message = f"{len(asked)} sections are too many: a report has at most {MOST_SECTIONS}"
        raise ValueError(message)
    known = None if record is None else read_record(record)
    with Unchanged(file_of(source)):  # it is read again to be compared
        with collect_warnings() as warned, show_progress(progress, "reading") as told:
            listed, files = drawn_source(domains)
            refuse_inputs(places, files)
            findings = () if holes is None else holes.tell(listed)
            blocks = read_blocks(
                source,
                options,
                column,
                numeric=grades.columns,
                density=grades.density,
                progress=told,
            )
        if known is None and not listed.targets:
            require_labels(blocks.labels, column, blocks.name)
        if known is not None:
            require_same_file(known, blocks.name, blocks.digest)
        ground = [background] if isinstance(background, str) else list(background)
        rows = domain_rows(blocks, listed, known["summary"] if known else None, ground)
        changes = None
        if compare is not None:
            old = Path(compare)
            changes = Changes(old, compare_files(old, source, column=column, **table))
    content = Content(
        source,
        blocks,
        listed,
        files,
        rows,
        known,
        warned,
        grades,
        column,
        holes,
        changes,
        near,
        sampled,
        findings,
    )
    return content, asked


def _near(
    holes: Drillholes | None,
    within: float | None,
    samples: TableLike | None,
    sample_grade: str | None,
    below: BelowDetection | None,
) -> NearHoles | None:
    """Return what is drawn of holes on sections, if anything is; refuse half of it."""
    if within is None and samples is None and sample_grade is None:
        return None
    if holes is None:
        message = "within= and samples= are about drillholes: give holes= with them"
        raise ValueError(message)
    if (samples is None) != (sample_grade is None):
        message = "samples= and sample_grade= go together: a table, and its column of grades"
        raise ValueError(message)
    near = near_holes(holes, within, samples, sample_grade, below)
    if near is None or near.samples is None:
        return near
    ramp = ramp_of(f"{near.samples.name} of samples", "", near.samples.values)
    return replace(near, ramp=ramp)


def _refuse_slips(
    source: str, places: Sequence[Path], others: Sequence[object], holes: Drillholes | None
) -> None:
    """Refuse what cannot be read or written before there is any work."""
    if source == STANDARD:
        message = "a report holds the SHA-256 of its model: give a file, not -"
        raise ValueError(message)
    read = [Path(one) for one in others if isinstance(one, str | os.PathLike)]
    refuse_inputs(places, [Path(source), *read, *(holes.files if holes else ())])
