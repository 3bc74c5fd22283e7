"""The command `geodomain model`: make a regular block model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from geodomain.cli import hole_options, options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.tables.settings import TableSettings

_EXAMPLE = """\b
Example:
  geodomain model --fit ore.stl --margin 20 --size 10,10,5 -o blocks.csv
"""


def _read_by(reader: str, *given: str) -> Callable[[str], str]:
    """Return an option type that checks a value; the library reads the text again, to its digit."""

    def check(value: str) -> str:
        from geodomain.blocks import new_model

        try:
            getattr(new_model, reader)(value, *given)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        return value

    return check


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.option(
    "--size",
    type=_read_by("read_sizes"),
    required=True,
    metavar="DX,DY,DZ",
    help="Size of a block; one number stands for all three.",
)
@options.origin_option(
    "Lower corner of the model (not a centroid). With --fit: a corner that blocks are aligned "
    "to [default: 0,0,0]. With --rotation: the model's origin in world coordinates.",
    type=_read_by("read_decimals", "origin"),
)
@click.option(
    "--count", type=_read_by("read_counts"), metavar="NX,NY,NZ", help="Blocks along each axis."
)
@click.option(
    "--fit",
    multiple=True,
    metavar="MESH",
    help="Make as few blocks as hold this wireframe, in the place of --count; may be repeated.",
)
@click.option(
    "--margin",
    type=_read_by("read_margins"),
    metavar="M",
    help="With --fit: least distance of the wireframe from the sides; one number, or MX,MY,MZ.  "
    "[default: 0]",
)
@options.settings_options(TableSettings, "rotation", "local_origin")
@options.output_option("OUT", "A .csv, .csv.gz, .parquet or .vti; - is stdout.", required=True)
@options.overwrite_option
@options.report_options
def model(
    size: str,
    origin: str | None,
    count: str | None,
    fit: tuple[str, ...],
    margin: str | None,
    rotation: str | None,
    local_origin: str | None,
    output: str,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a regular block model: centroids and sizes, ready for `geodomain label`.

    Centroids are exact decimals, origin + (i + 1/2) size. Rows run through x first, then y, then
    z. Fitted blocks lie at multiples of their size. With --rotation the coordinates are local to
    the rotated model, and `geodomain label` takes the same --rotation and --origin; a .vti file
    is turned itself.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.blocks.new_model import model_file

    _refuse(
        {
            "how many blocks? Give either --count NX,NY,NZ or --fit MESH": bool(count) == bool(fit),
            "--count needs --origin: the lower corner of the model": count and not origin,
            "--margin belongs to --fit": count and margin,
            "--rotation needs --origin: the world coordinates of the model's origin": (
                rotation and not origin
            ),
            "--local-origin belongs to --rotation": local_origin and not rotation,
        }
    )
    console = Console(quiet or (as_json and output == "-"))
    with console.listening():
        made = model_file(
            output,
            size=size,
            origin=origin,
            count=count,
            fit=[*fit] or None,
            margin=margin or 0,
            rotation=rotation,
            local_origin=local_origin,
            overwrite=overwrite,
            progress=console.on_terminal,
        )
    if as_json:
        print_json(made.as_dict(), err=output == "-")
    elif not quiet:
        print_text(made, err=True)


def _refuse(contradictions: dict[str, object]) -> None:
    """Refuse options of which a contradiction is true."""
    for message, found in contradictions.items():
        if found:
            raise click.UsageError(message)


# --- The command `geodomain inspect`: describe a block model before labelling it.

_INSPECT_EXAMPLE = """\b
Example:
  geodomain inspect blocks.csv ore.stl topography.ply
"""


@click.command(epilog=_INSPECT_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="[BLOCKS]", required=False)
@click.argument("meshes", nargs=-1, metavar="[MESH...]")
@options.list_option
@hole_options.optional_holes
@hole_options.intervals_option
@options.table_options
@options.box_options
@options.report_options
def inspect(
    blocks: str | None,
    meshes: tuple[str, ...],
    domains: Path | None,
    as_json: bool,
    quiet: bool,
    **table: Any,
) -> None:
    """Describe BLOCKS: columns, sizes, lattice, rotation, extent, and how each MESH fits it.

    BLOCKS is a block model: text (- for stdin), Parquet or VTK. The command reads it once and
    writes nothing. Warnings report axes that seem to be exchanged, and coordinates that seem to use
    another datum. The last line estimates how long labelling takes. With --domains the command also
    compares the meshes of that list, and BLOCKS must have the columns that its conditions name.

    With --collar, and without BLOCKS, it describes drillholes: columns, the sign of dips, ends of
    holes, bends, and every row and hole that is odd or cannot be used.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    console = Console(quiet)
    with console.listening():
        if table["collar"]:
            _refuse_both(blocks)
            found = _report_holes(table)
        else:
            found = _report_blocks(blocks, meshes, domains, console, table)
    if as_json:
        print_json(found.as_dict())
    else:
        print_text(found)


def _refuse_both(blocks: str | None) -> None:
    """Refuse a block model beside holes."""
    if blocks is not None:
        message = f"--collar describes drillholes, and {blocks} is a block model: give one of them"
        raise click.UsageError(message)


def _report_holes(given: dict[str, Any]) -> Any:
    """Describe drillholes."""
    from geodomain.drillholes.drillholes import Drillholes

    asked = hole_options.as_keywords(given)
    return Drillholes(**asked).report


def _report_blocks(
    blocks: str | None,
    meshes: tuple[str, ...],
    domains: Path | None,
    console: Console,
    given: dict[str, Any],
) -> Any:
    """Describe a block model."""
    from geodomain.reporting.inspect import inspect_file

    if blocks is None:
        message = "nothing to describe: give BLOCKS, or --collar FILE for drillholes"
        raise click.UsageError(message)
    hole_options.refuse_without_collar(given)
    options.require_table(given)
    return inspect_file(blocks, meshes, domains, progress=console.on_terminal, **given)


# --- The command `geodomain compare`: two labellings of one block model.

_COMPARE_EXAMPLE = """\b
Example:
  geodomain compare january.csv march.csv
"""


@click.command(epilog=_COMPARE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.column_option("Column of the labels.", default="domain", show_default=True)
@click.option(
    "--new-column",
    metavar="NAME",
    help="Column of the labels in NEW, if it is called otherwise.  [default: as --column]",
)
@options.table_options
@options.frame_options
@options.report_options
def compare(old: str, new: str, as_json: bool, quiet: bool, **given: Any) -> None:
    """Compare the labels of OLD and NEW: blocks and volume moved from domain to domain.

    OLD and NEW are one block model, labelled twice, with its blocks in the same order: text,
    Parquet or any other kind of file that `geodomain label` reads. They may be the same file, with
    two columns of labels. The command writes nothing.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.reporting.compare import compare_files

    options.require_table(given)
    if "-" in (old, new):
        message = "two models are compared: give files, not -"
        raise click.UsageError(message)
    console = Console(quiet)
    with console.listening():
        found = compare_files(old, new, progress=console.on_terminal, **given)
    if as_json:
        print_json(found.as_dict())
    else:
        print_text(found)
