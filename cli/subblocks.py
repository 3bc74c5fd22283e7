"""The commands `geodomain subblock` and `geodomain merge`: split blocks and join sub-blocks."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.labelling import domains_of
from geodomain.labelling.settings import LabelSettings


def extensive_option(what: str) -> options.Decorator:
    """Make the option that names columns of amounts."""
    return click.option("--extensive", metavar="COLUMN,...", help=what)


def columns_of(value: str | None) -> list[str]:
    """Split the names of columns."""
    return [name for name in (value or "").split(",") if name]


scheme_options = options.together(
    click.option(
        "--scheme",
        type=click.Choice(["octree", "grid", "seam"]),
        required=True,
        help="octree: halve a block along each axis, then halve the parts that a wireframe enters, "
        "and so on; grid: cut a block into equal cells; seam: cut a block into equal cells in "
        "plan, and each cell in z where a wireframe crosses it.",
    ),
    click.option(
        "--minimum",
        required=True,
        metavar="DX,DY,DZ",
        help="Smallest size of a sub-block; one number means the same size in x, y and z.",
    ),
    click.option(
        "--merge", is_flag=True, help="Join sub-blocks of a block that have the same domain."
    ),
    click.option(
        "--resolution",
        default="0.001",
        show_default=True,
        metavar="LENGTH",
        help="With --scheme seam: cuts in z are rounded to multiples of this. In text tables also "
        "the rounding step for cuts with endless decimals, such as a third of 10.",
    ),
    extensive_option(
        "Columns of quantities that can be added up, such as VOLUME,TONNES. They are divided among "
        "the sub-blocks by volume."
    ),
)


def parent_option(what: str) -> options.Decorator:
    """Make the option that names the column of the parents."""
    return click.option("--parent", metavar="NAME", default="parent", show_default=True, help=what)


# --- The command `geodomain subblock`: split blocks at wireframes.

_EXAMPLE = """\b
Example:
  geodomain subblock blocks.csv --solid ORE=ore.stl --scheme octree --minimum 2.5 -o sub.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="MODEL")
@options.solid_option("A closed wireframe and its label, as for 'geodomain label'.")
@options.list_option
@scheme_options
@options.output_option("OUT.csv", "File to write; - is stdout.", required=True)
@options.settings_options(LabelSettings, "column", column="Name of the column of domains.")
@parent_option("Name of the column with the row of the parent block.")
@options.settings_options(LabelSettings, "background", "unassigned", "leaky")
@options.overwrite_option
@options.table_options
@options.box_options
@options.rule_options
@options.settings_options(LabelSettings, "allow_disjoint")
@options.machine_options
@options.report_options
def subblock(as_json: bool, quiet: bool, **given: Any) -> None:
    """Split the blocks of MODEL at wireframes, and label the sub-blocks.

    MODEL is text (- for stdin), Parquet or VTK with block sizes. The output has the same format
    (for VTK, .vtu). A block is split if a wireframe enters it and it is larger than --minimum. Each
    sub-block gets its coordinates and sizes, and two new columns: the row of its parent, counted
    from 0, and its domain. All other columns, except those of --extensive, are copied from the
    parent byte for byte. The summary goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    from geodomain.blocks.splitting import subblock_file

    options.require_table(given)
    _require_sense(given)
    given |= {
        "domains": domains_of(given | {"codes": False}),
        "extensive": columns_of(given["extensive"]),
    }
    del given["solids"]
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        summary = subblock_file(**given, progress=console.on_terminal)
    if as_json:
        print_json(summary.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(summary, err=True)


def _require_sense(given: dict[str, Any]) -> None:
    """Raise a usage error for invalid sizes, column names or options."""
    from geodomain.blocks.settings import resolution_of
    from geodomain.cli.console import as_options

    try:
        resolution_of(given["resolution"], given["minimum"])
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    if not given["parent"]:
        message = "--parent needs a name"
        raise click.UsageError(message)
    options.require_settings(LabelSettings, given)


# --- The command `geodomain merge`: join sub-blocks into fewer blocks.

_MERGE_EXAMPLE = """\b
Example:
  geodomain merge sub.csv --extensive VOLUME,TONNES -o merged.csv
"""


@click.command(epilog=_MERGE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="SUB")
@options.output_option("MERGED.csv", "File to write; - is stdout.", required=True)
@parent_option("Column that identifies the parent of each block.")
@extensive_option("Columns of quantities to add up, such as VOLUME,TONNES.")
@options.overwrite_option
@options.table_options
@options.box_options
@options.threads_option
@options.report_options
def merge(as_json: bool, quiet: bool, **given: Any) -> None:
    """Join neighbours in SUB that have the same parent and agree in all other columns.

    SUB is text (- for stdin), Parquet or .vtu with block sizes, such as 'geodomain subblock'
    writes; the blocks of a parent are in consecutive rows. Joined blocks fill exactly the space of
    their parts. The number of blocks before and after goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.blocks.merging import merge_file

    options.require_table(given)
    given["extensive"] = columns_of(given["extensive"])
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        summary = merge_file(**given, progress=console.on_terminal)
    if as_json:
        print_json(summary.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(summary, err=True)
