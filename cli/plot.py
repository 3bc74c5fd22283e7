"""The command `geodomain plot`: sections through a labelled block model, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodomain.cli import hole_options, options, values
from geodomain.cli.console import Console
from geodomain.cli.grades import grade_option
from geodomain.cli.section import section_option, title_option
from geodomain.cli.sectioned import Sectioned
from geodomain.cli.values import by_name
from geodomain.errors import counted

_EXAMPLE = """\b
Example:
  geodomain plot labelled.csv --section y=7480200,7480300,50 --domains domains.toml -o sections.pdf
"""


def _colour_map(context: click.Context, option: click.Parameter, value: str) -> str:
    """Refuse a colour map that there is not, once a grade is drawn."""
    from geodomain.sections.look import require_cmap

    if value != option.default:
        try:
            require_cmap(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return value


@click.command(cls=Sectioned, epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@section_option(
    "Where to cut: z=310, or y=7480200,7480300,50 for a run of sections, which are the pages of a "
    "PDF; may be repeated.  [default: across x, y and z through the middle of the labelled domains]"
)
@options.solid_option(
    "A wireframe, closed or open, whose trace is drawn in the colour of the domain NAME."
)
@options.domains_option(
    "A list of domains whose wireframes are drawn; its background is drawn as ground."
)
@options.column_option("Column of the labels.", default="domain", show_default=True)
@options.background_option(
    "Label for ground outside every domain; may be repeated.  "
    "[default: that of --domains, or WASTE]",
    multiple=True,
)
@click.option(
    "--colour-by",
    metavar="COLUMN",
    help="Colour blocks by a column of numbers, such as a grade, not by domain.",
)
@click.option(
    "--cmap",
    metavar="NAME",
    callback=_colour_map,
    default="viridis",
    show_default=True,
    help="Colours for --colour-by and --grade: a colour map of matplotlib.",
)
@hole_options.optional_holes
@hole_options.intervals_option
@hole_options.within_option
@grade_option(
    "With --intervals: colour the samples along the holes by this column of the first file.",
    "sampled",
    multiple=False,
)
@title_option("Title of each page.")
@click.option("--unit", metavar="TEXT", default="", help="Unit of the coordinates, such as m.")
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
    **given: Any,
) -> None:
    """Draw sections through LABELLED, a block model that `geodomain label` has given a column.

    Blocks are drawn by domain or by grade at their true sizes, sub-blocked and rotated ones too,
    with the traces of wireframes over them and the drillholes near them, all sections to one
    scale. Sections across x look west, those across y north. A section on faces of blocks shows
    those above it, to the east or to the north.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.drillholes.checks import notes_of
    from geodomain.sections.file import plot_sections

    if labelled == "-":
        message = "the model is read twice: give a file, not -"
        raise click.UsageError(message)
    if solids and domains:
        message = "--solid and --domains both list wireframes: give one of them"
        raise click.UsageError(message)
    options.require_rotation(given)
    samples = hole_options.samples_of(given, "sampled", "grade")
    holes, within, output = hole_options.read_optional(given), given.pop("within"), given["output"]
    if (holes is None) != (within is None):
        message = "--collar and --within go together: which drillholes, and how near to a section"
        raise click.UsageError(message)
    console = Console(quiet)
    with console.listening():
        drawn = plot_sections(
            labelled,
            domains=domains or by_name(solids),
            holes=holes,
            within=within,
            samples=samples,
            grade=given.pop("sampled"),
            progress=console.on_terminal,
            **given,
        )
    console.say(
        f"wrote {output}: {counted(len(drawn), 'section')}, {output.stat().st_size:,} bytes"
    )
    if holes is not None:
        for line in notes_of(holes.report.findings, holes.report.dips):
            console.say(line)
