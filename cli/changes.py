"""The command `regularise`, for models that change."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, as_options, print_json, print_text
from geodomain.cli.labelling import cutoff_option, density_option
from geodomain.tables.settings import PlaceSettings

# --- The command `geodomain regularise`: a model in blocks of another lattice.

_REGULARISE_EXAMPLE = """\b
Example:
  geodomain regularise labelled.csv --size 20,20,10 --density SG --mean AU --share domain \\
      --cutoff AU=0.5,1 -o selective.csv
"""


def _weighted(value: str) -> tuple[str, str]:
    """Split COLUMN=WEIGHT, the value of --mean; the weight is "" if there is none."""
    column, _, weight = value.partition("=")
    if not column:
        message = f"{value!r} is not COLUMN or COLUMN=WEIGHT"
        raise click.BadParameter(message)
    return column, weight


@click.command(epilog=_REGULARISE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="MODEL")
@options.size_option("Size of the new blocks; one number means the same size in x, y and z.")
@options.count_option(
    "Number of new blocks along each axis, from --origin. What lies outside is added up apart.  "
    "[default: as many as contain MODEL]"
)
@density_option("Column of densities, averaged by volume, or one number for all blocks.")
@click.option(
    "--mean",
    type=_weighted,
    multiple=True,
    metavar="COLUMN[=WEIGHT]",
    help="Average a column, such as a grade. WEIGHT is volume, tonnes (needs --density), or a "
    "column by which the volume is multiplied. May be repeated.  [default of WEIGHT: tonnes with "
    "--density, otherwise volume]",
)
@click.option(
    "--sum",
    multiple=True,
    metavar="COLUMN",
    help="Divide the amounts of blocks, such as tonnes, by volume, and add them up. May be "
    "repeated.",
)
@click.option(
    "--dominant",
    multiple=True,
    metavar="COLUMN",
    help="Give each new block the text that has most of its volume; of texts with equal volumes, "
    "the first in alphabetical order. May be repeated.",
)
@click.option(
    "--share",
    multiple=True,
    metavar="COLUMN",
    help="For each label of a column, write the share of the new block with this label, as the "
    "column prop_<label>. May be repeated.",
)
@cutoff_option(
    "Also report dilution and ore loss at each cut-off, such as AU=0.5,1: the tonnes and metal "
    "that change sides. With a single --mean its name may be left out."
)
@click.option(
    "--cutoff-table", metavar="OUT", help="CSV, Parquet or .xlsx file of dilution and ore loss."
)
@click.option(
    "--incomplete",
    type=click.Choice(["keep", "refuse"]),
    default="keep",
    show_default=True,
    help="What to do with blocks that lack a density or a value of --mean: leave them out of the "
    "mean and count them, or end with an error.",
)
@options.output_option("OUT", "New model, such as .csv, .parquet, .vti or .omf.", required=True)
@options.overwrite_option
@options.table_options
@options.settings_options(
    PlaceSettings,
    origin="A corner of a new block; others lie whole blocks away. With --rotation: world "
    "coordinates of the centre of the rotation, as for 'geodomain label'.  [default: the lower "
    "corner of MODEL]",
)
@options.threads_option
@options.report_options
def regularise(
    model: str, mean: tuple[tuple[str, str], ...], as_json: bool, quiet: bool, **arguments: Any
) -> None:
    """Move the values of MODEL to the blocks of another regular lattice: larger, smaller, shifted.

    MODEL is a regular or sub-blocked model with sizes, in any format that `geodomain label` reads.
    Each block is divided exactly among the new blocks that it overlaps, so volume, tonnes and
    metal are conserved. The new lattice lies along the axes of MODEL and contains it. --origin is a
    corner of a new block; with --rotation it is the origin of the rotation, as for `label`.

    The new model has the columns x, y, z, dx, dy, dz, then filled: the share of the new block in
    blocks of MODEL, then the columns that the options name. New blocks outside MODEL are left out.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.blocks.regularising import NewLattice, Plan
    from geodomain.blocks.regularising import regularise as compute

    options.require_table(arguments if arguments["rotation"] else arguments | {"origin": None})
    if len(dict(mean)) < len(mean):
        message = "--mean names a column twice: give each column one weight"
        raise click.UsageError(message)
    if arguments["cutoff_table"] is not None and arguments["cutoff"] is None:
        message = "--cutoff-table is the table of --cutoff: give both, or only --cutoff"
        raise click.UsageError(message)
    if model == "-":
        message = "MODEL is read several times: give a file, not -"
        raise click.UsageError(message)
    corner = None if arguments["rotation"] else arguments["origin"]
    planned = ("density", "sum", "dominant", "share", "cutoff", "incomplete")
    try:
        Plan.read(mean=dict(mean), **{name: arguments[name] for name in planned})
        NewLattice.read(arguments["size"], corner, arguments["count"])
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    console = Console(quiet)
    with console.listening():
        result = compute(model, mean=dict(mean), progress=console.on_terminal, **arguments)
    if as_json:
        print_json(result.as_dict())
    elif not quiet:
        print_text(result)
