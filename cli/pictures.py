"""The commands `geodomain plot` and `geodomain report`: draw sections, or write a web page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodomain.cli import drillholes, options
from geodomain.cli import options as values
from geodomain.cli.console import Console, as_options, print_json, print_text
from geodomain.cli.help import Sectioned
from geodomain.cli.labelling import (
    classification_option,
    cutoff_option,
    density_option,
    density_unit_option,
    grade_option,
    grade_unit_option,
    require_sense,
)
from geodomain.cli.options import by_name, line_option, section_option, title_option
from geodomain.errors import counted
from geodomain.statistics.settings import ReportSettings

_EXAMPLE = """\b
Example:
  geodomain plot labelled.csv --section y=7480200,7480300,50 --domains domains.toml -o sections.pdf
"""


def _colour_map(context: click.Context, option: click.Parameter, value: str) -> str:
    """Refuse an unknown colour map; the default is not checked, to avoid loading matplotlib."""
    from geodomain.reporting.look import require_cmap

    if value != option.default:
        try:
            require_cmap(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return value


def _classes(value: str) -> tuple[str, tuple[float, ...]]:
    """Read a value of --classes."""
    from geodomain.reporting.look import parse_classes

    try:
        return parse_classes(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _classes_option(what: str) -> options.Decorator:
    """Make the option --classes, with the help text `what`."""
    return click.option(
        "--classes",
        metavar="COLUMN=GRADE,...",
        type=_classes,
        multiple=True,
        callback=lambda _context, _option, pairs: dict(pairs),
        help=what,
    )


def _scale(value: str) -> str:
    """Check a value of --scale, and return its text."""
    from geodomain.reporting.sheets import parse_scale

    try:
        parse_scale(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


def _paper(value: str) -> str:
    """Check a value of --paper, and return its text."""
    from geodomain.reporting.sheets import parse_paper

    try:
        parse_paper(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


_prepared_by_option = click.option(
    "--prepared-by", metavar="NAME", help="Author, for the title block of a report or book."
)


def _unit_option(what: str) -> options.Decorator:
    """Make the option --unit, with the help text `what`."""
    return click.option("--unit", metavar="TEXT", default="", help=what)


@click.command(cls=Sectioned, epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@section_option(
    "Position of a section, such as z=310, or a series of sections from START to STOP, such as "
    "y=7480200,7480300,50; a PDF has a page for each. E, N and RL mean x, y and z. May be "
    "repeated.  [default: across x, y and z through the middle of the labelled domains]"
)
@line_option(
    "An upright section in any direction, given by its two ends; the second end is drawn at the "
    "right. The sections are named A-A', B-B' and so on. May be repeated."
)
@options.solid_option(
    "Draw the trace of a wireframe, closed or open, in the colour of the domain NAME."
)
@options.domains_option(
    "Draw the wireframes of this list of domains. Blocks with the list's background label get a "
    "pale colour."
)
@options.column_option("Column of the labels.", default="domain", show_default=True)
@options.background_option(
    "Label in LABELLED that means outside every domain; may be repeated.  "
    "[default: the background of --domains, or WASTE]",
    multiple=True,
)
@click.option(
    "--colour-by",
    metavar="COLUMN",
    help="Colour blocks by a numeric column, such as a grade, instead of by domain.",
)
@click.option(
    "--cmap",
    metavar="NAME",
    callback=_colour_map,
    default="viridis",
    show_default=True,
    help="Colours for --colour-by and --sample-grade: a matplotlib colour map, such as viridis.",
)
@_classes_option(
    "Grades at which --colour-by or --sample-grade is divided into classes, each with its own "
    "colour, such as AU=0.5,1,2,5. A grade on a limit is in the class above. May be repeated."
)
@drillholes.optional_holes
@drillholes.intervals_option
@drillholes.within_option
@drillholes.sample_grade_option("With --intervals")
@click.option(
    "--scale",
    metavar="1:N",
    type=_scale,
    help="Make a section book at this scale: a PDF of sheets with title block, grid, key plan and "
    "legend. A section that is larger than a sheet continues on further sheets.  [default: with "
    "--paper, the largest usual scale at which each section fits on one sheet]",
)
@click.option(
    "--paper",
    metavar="SIZE",
    type=_paper,
    help="Make a section book on this paper: A4 to A0, Letter, Tabloid, or Ansi-A to Ansi-E. Add "
    "-portrait or -landscape to choose the orientation, as in A3-portrait.  [default: A3 with "
    "--scale]",
)
@_prepared_by_option
@title_option("Title of each page; in a section book, the project.")
@_unit_option(
    "Unit of the coordinates, such as m. A section book needs m or ft.  [default: m in a section "
    "book]"
)
@options.output_option(
    "OUT.png",
    "Picture to write: .png, .svg or .pdf.",
    type=click.Path(path_type=Path),
    required=True,
)
@options.overwrite_option
@click.option(
    "--exaggerate",
    type=click.FloatRange(min=0, min_open=True),
    callback=values.finite,
    default=1.0,
    metavar="FACTOR",
    help="Vertical exaggeration, for flat deposits.  [default: 1]",
)
@options.table_options
@options.box_options
@options.quiet_option
def plot(
    labelled: str,
    solids: tuple[tuple[str, str], ...],
    domains: Path | None,
    quiet: bool,
    **arguments: Any,
) -> None:
    """Draw sections through LABELLED, a block model with labels from `geodomain label`.

    Blocks are drawn at their true sizes, coloured by domain or by grade, with traces of wireframes
    and with drillholes near the section. All sections have the same scale. Sections across x look
    west, and sections across y look north. A section exactly on faces of blocks shows the
    blocks above, east or north of the section.

    With --scale or --paper, the output is a section book: a PDF of sheets at true scale.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.drillholes.findings import notes_of
    from geodomain.reporting.plot import plot_sections

    _refuse_pipe_and_two_lists("the model may have to be read twice", labelled, solids, domains)
    options.require_table(arguments)
    samples = drillholes.samples_of(arguments)
    within, output = arguments.pop("within"), arguments["output"]
    if bool(arguments["collar"]) != (within is not None):
        message = (
            "give both --collar and --within: the drillholes, and the largest distance from a "
            "section at which they are drawn"
        )
        raise click.UsageError(message)
    _refuse_book(labelled, arguments)
    console = Console(quiet)
    with console.listening():
        holes = drillholes.read_optional(arguments)
        drawn = plot_sections(
            labelled,
            domains=domains or by_name(solids),
            holes=holes,
            within=within,
            samples=samples,
            progress=console.on_terminal,
            **arguments,
        )
    console.say(
        f"wrote {output}: {counted(len(drawn), 'section')}, {output.stat().st_size:,} bytes"
    )
    if holes is not None:
        for line in notes_of(holes.report.findings, holes.report.dips):
            console.say(line)


def _refuse_book(labelled: str, arguments: dict[str, Any]) -> None:
    """Refuse options of a section book that contradict each other, and classes of no grade."""
    from geodomain.reporting.look import as_classes
    from geodomain.reporting.sheets import as_sheets

    scale, paper, unit = arguments["scale"], arguments["paper"], arguments["unit"]
    try:
        as_sheets(scale, paper, unit, labelled, arguments["prepared_by"], arguments["output"])
        as_classes(arguments["classes"], (arguments["colour_by"], arguments["sample_grade"]))
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None


# --- The command `geodomain report`: a labelled block model as one page for the browser.

_REPORT_EXAMPLE = """\b
Example:
  geodomain report labelled.csv --domains domains.toml --record run.json -o report.html
"""


@click.command(cls=Sectioned, epilog=_REPORT_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@options.solid_option("Draw a wireframe, closed or open, in the colour of the domain NAME.")
@options.domains_option(
    "Draw the wireframes of this list of domains. The list's background label does not count as a "
    "domain."
)
@options.record_option(
    "Record written by 'geodomain label --record': the report then shows the options, "
    "overlaps and warnings of that run."
)
@click.option(
    "--compare",
    metavar="OLD",
    type=click.Path(path_type=Path),
    help="Show the blocks whose domain differs from that in OLD, an earlier labelling of the same "
    "blocks.",
)
@section_option(
    "Position of a section or of a series, as in 'geodomain plot'. May be repeated.  [default: 30 "
    "sections through the domains]"
)
@line_option("Ends of an upright section, as in 'geodomain plot'. May be repeated.")
@options.column_option("Column of the labels.", default="domain", show_default=True)
@options.background_option(
    "Label in LABELLED that means outside every domain; may be repeated.  "
    "[default: the background of --domains or --record, or WASTE]",
    multiple=True,
)
@drillholes.optional_holes
@drillholes.intervals_option
@drillholes.within_option
@options.samples_option(
    "Samples for the pages of domains. With --collar, a table with hole, from, to and grades; if "
    "it has no label column, the wireframes label the samples. Without --collar, a table with "
    "coordinates and domains, as for 'geodomain validate'.  [default: the first --intervals file, "
    "if --sample-grade is given]"
)
@options.sample_grade_option(
    "Grade column of the samples. May be repeated, in the order of --grade. With --within, the "
    "first also colours the samples along the drawn holes.  [default: --grade]",
    multiple=True,
)
@_classes_option(
    "Grades at which --sample-grade is divided into classes, each with its own colour, as in "
    "'geodomain plot'."
)
@options.settings_options(ReportSettings)
@density_option(
    "Column of densities, or one number for all blocks. With this option, tonnes are added up."
)
@density_unit_option()
@grade_option(
    "Grade column: the page shows its statistics and histograms by domain, and with --density its "
    "grade-tonnage curves. May be repeated."
)
@cutoff_option()
@grade_unit_option()
@classification_option()
@title_option("Title of the page, usually the project.  [default: the file's name]")
@click.option("--note", metavar="TEXT", help="Text at the head of the page.")
@_prepared_by_option
@_unit_option("Unit of the coordinates, such as m.")
@click.option(
    "--relative-paths",
    is_flag=True,
    help="Show paths of files relative to the folder of the page.",
)
@options.output_option(
    "OUT.html",
    "Page to write.",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
)
@options.overwrite_option
@options.table_options
@options.box_options
@options.report_options
def report(
    labelled: str,
    solids: tuple[tuple[str, str], ...],
    domains: Path | None,
    as_json: bool,
    quiet: bool,
    **arguments: Any,
) -> None:
    """Write a report of LABELLED, a block model with labels from `geodomain label`.

    The report is one HTML file, which a browser opens without a network. It shows blocks and
    volumes by domain, warnings, a 3D view with wireframes, sections, and the files with their
    SHA-256. With --record it also shows how the model was labelled.

    Each domain has a page: statistics of samples and blocks, histogram and probability plot,
    contacts with its neighbours, slices, grade and tonnage above cut-offs, crossings by holes, and
    the share of its volume that is farther than given distances from the nearest sample. Its
    figures are those of the commands stats, validate, contacts, tonnes and holes crossings.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.reporting.look import as_classes
    from geodomain.reporting.report_file import report_file

    _refuse_pipe_and_two_lists("a report needs the SHA-256 of its model", labelled, solids, domains)
    options.require_table(arguments)
    options.require_settings(ReportSettings, arguments)
    if arguments["within"] is not None and not arguments["collar"]:
        message = "--within is for drillholes, and needs --collar FILE"
        raise click.UsageError(message)
    _take_samples(arguments)
    try:
        as_classes(arguments["classes"], arguments["sample_grade"][:1] or arguments["grade"][:1])
        caps = [*arguments["sample_grade"], *arguments["grade"][len(arguments["sample_grade"]) :]]
        ReportSettings(cap=arguments["cap"]).caps(caps)
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    if arguments["density_unit"] and arguments["density"] is None:
        message = "--density-unit needs --density, whose unit it gives"
        raise click.UsageError(message)
    require_sense(None, (), arguments["grade"], arguments["cutoff"], None)
    _require_graded_units(arguments)
    for name in ("cutoff", "classification"):
        if arguments[name] and arguments["density"] is None:
            message = f"--{name} needs --density: it divides the table of tonnes"
            raise click.UsageError(message)
    console = Console(quiet)
    with console.listening():
        holes = drillholes.read_optional(arguments)
        done = report_file(
            labelled,
            domains=domains or by_name(solids),
            holes=holes,
            progress=console.on_terminal,
            say=as_options,
            **arguments,
        )
    if as_json:
        print_json(done.as_dict())
    elif not quiet:
        print_text(done, err=True)


def _require_graded_units(arguments: dict[str, Any]) -> None:
    """Refuse units of grades that neither blocks nor samples have."""
    grades = [*arguments["grade"], *arguments["sample_grade"]]
    units = arguments["grade_unit"]
    single = arguments["grade"] or grades
    require_sense(None, (), single if isinstance(units, str) else grades, None, units)


def _take_samples(arguments: dict[str, Any]) -> None:
    """Complete the samples: with --sample-grade alone, they are the first --intervals file.

    Raises
    ------
    click.UsageError
        If there are no samples for --sample-grade, or no grade for --samples.
    """
    if arguments["sample_grade"] and not arguments["samples"]:
        if not arguments["collar"] or not arguments["intervals"]:
            message = (
                "--sample-grade is a column of samples: also give --samples, or --collar and "
                "--intervals"
            )
            raise click.UsageError(message)
        arguments["samples"] = arguments["intervals"][0]
    if arguments["samples"] and not arguments["sample_grade"] and not arguments["grade"]:
        message = "--samples needs --sample-grade or --grade: the column of their grade"
        raise click.UsageError(message)


def _refuse_pipe_and_two_lists(
    reason: str, labelled: str, solids: tuple[tuple[str, str], ...], domains: Path | None
) -> None:
    """Refuse a model from stdin, and refuse --solid together with --domains.

    `reason` is the beginning of the message about stdin, and says why a file is needed.
    """
    if labelled == "-":
        message = f"{reason}: give a file, not -"
        raise click.UsageError(message)
    if solids and domains:
        message = "--solid and --domains both list wireframes: give one of them"
        raise click.UsageError(message)
