"""The command `geodomain plot`: sections through a labelled block model, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodomain.cli import options, values
from geodomain.cli.console import Console
from geodomain.cli.section import section_option
from geodomain.cli.values import by_name

_EXAMPLE = """\b
Example:
  geodomain plot labelled.csv --section z=310 --domains domains.toml -o section.png
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@section_option(
    "Where to cut; may be repeated.  [default: across x, y and z through the middle of the "
    "labelled domains]"
)
@options.solid_option(
    "A wireframe, closed or open, whose trace is drawn in the colour of the domain NAME."
)
@options.domains_option(
    "A list of domains whose wireframes are drawn; its background is drawn as ground."
)
@options.column_option("Column of the labels.", default="domain", show_default=True)
@options.background_option("Label for ground outside every domain; may be repeated.", multiple=True)
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
@options.frame_options
@options.quiet_option
def plot(
    labelled: str,
    solids: tuple[tuple[str, str], ...],
    domains: Path | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Draw sections through LABELLED, a block model that `geodomain label` has given a column.

    Blocks are drawn by domain at their true sizes, sub-blocked and rotated ones too, with the
    traces of wireframes over them, all sections to one scale. Sections across x look west, those
    across y north.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.sections.file import plot_sections

    if labelled == "-":
        message = "the model is read twice: give a file, not -"
        raise click.UsageError(message)
    if solids and domains:
        message = "--solid and --domains both list wireframes: give one of them"
        raise click.UsageError(message)
    options.require_rotation(given)
    with Console(quiet).listening():
        plot_sections(labelled, domains=domains or by_name(solids), **given)
