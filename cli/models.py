"""The commands `model`, `inspect`, `compare`, `subblock`, `merge` and `shell`, for block models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from geodomain.cli import drillholes, options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.labelling import domains_of
from geodomain.labelling.settings import LabelSettings
from geodomain.tables.settings import TableSettings

_EXAMPLE = """\b
Example:
  geodomain model --fit ore.stl --margin 20 --size 10,10,5 -o blocks.csv
"""


def _read_by(reader: str, *arguments: str) -> Callable[[str], str]:
    """Return an option type that checks a value by a function of the module `new_model`.

    `reader` is the name of the function. The option keeps the text, which the library reads again.
    """

    def check(value: str) -> str:
        from geodomain.blocks import new_model

        try:
            getattr(new_model, reader)(value, *arguments)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        return value

    return check


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@options.size_option(
    "Block size; one number means the same size in x, y and z.", type=_read_by("read_sizes")
)
@options.origin_option(
    "Lower corner of the model (not a centroid). With --fit: a block corner to align to "
    "[default: 0,0,0]. With --rotation: the origin of the model in world coordinates.",
    type=_read_by("read_decimals", "origin"),
)
@options.count_option("Blocks along each axis.", type=_read_by("read_counts"))
@click.option(
    "--fit",
    multiple=True,
    metavar="MESH",
    help="Make the fewest blocks that contain this wireframe, instead of --count; may be repeated.",
)
@click.option(
    "--margin",
    type=_read_by("read_margins"),
    metavar="M",
    help="With --fit: minimum distance between the wireframe and the sides of the model; one "
    "number, or MX,MY,MZ.  [default: 0]",
)
@options.settings_options(TableSettings, "rotation", "local_origin")
@options.output_option(
    "OUT", "File to write (.csv, .csv.gz, .parquet or .vti); - is stdout.", required=True
)
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

    Centroids are exact decimals, origin + (i + 1/2) size. Rows run through x first, then y, then z.
    With --fit, block corners lie at --origin plus multiples of the block size. With --rotation the
    file has local coordinates: give `geodomain label` the same --rotation, --origin and
    --local-origin. A .vti file stores its rotation, so `geodomain label` needs none of these
    options for it.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.blocks.new_model import model_file

    _refuse(
        {
            "give the number of blocks with either --count NX,NY,NZ or --fit MESH": (
                bool(count) == bool(fit)
            ),
            "--count needs --origin: the lower corner of the model": count and not origin,
            "--margin needs --fit, because --count sets the size of the model": count and margin,
            "--rotation needs --origin: the world coordinates of the model's origin": (
                rotation and not origin
            ),
            "--local-origin needs --rotation": local_origin and not rotation,
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
    """Raise a usage error with the first message in `contradictions` whose value is true."""
    for message, is_true in contradictions.items():
        if is_true:
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
@drillholes.optional_holes
@drillholes.intervals_option
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
    """Describe BLOCKS: columns, sizes, lattice, rotation, extent, and the position of each MESH.

    BLOCKS is a block model: text (- for stdin), Parquet or VTK. The command reads it once and
    writes nothing. Warnings report axes that seem to be swapped, and coordinates that seem to use
    another datum. The last line estimates how long labelling takes. With --domains the command
    also checks the meshes of that list. If domains of the list have conditions, BLOCKS must have
    the columns that the conditions use.

    With --collar instead of BLOCKS, the command describes drillholes: columns, the sign of dips,
    ends of holes, bends, and all unusual or unusable rows and holes.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    console = Console(quiet)
    with console.listening():
        if table["collar"]:
            _refuse_both(blocks)
            description = _report_holes(table)
        else:
            description = _report_blocks(blocks, meshes, domains, console, table)
    if as_json:
        print_json(description.as_dict())
    else:
        print_text(description)


def _refuse_both(blocks: str | None) -> None:
    """Raise a usage error if both a block model and drillholes are given."""
    if blocks is not None:
        message = f"--collar describes drillholes, and {blocks} is a block model: give one of them"
        raise click.UsageError(message)


def _report_holes(values: dict[str, Any]) -> Any:
    """Return the description of drillholes that `geodomain inspect` prints."""
    from geodomain.drillholes.holes_from_tables import report_on_holes

    return report_on_holes(**drillholes.as_keywords(values))


def _report_blocks(
    blocks: str | None,
    meshes: tuple[str, ...],
    domains: Path | None,
    console: Console,
    table: dict[str, Any],
) -> Any:
    """Return the description of a block model that `geodomain inspect` prints."""
    from geodomain.reporting.inspect import inspect_file

    if blocks is None:
        message = "nothing to describe: give BLOCKS, or --collar FILE for drillholes"
        raise click.UsageError(message)
    drillholes.refuse_without_collar(table)
    options.require_table(table)
    return inspect_file(blocks, meshes, domains, progress=console.on_terminal, **table)


# --- The command `geodomain compare`: two labellings of one block model.

_COMPARE_EXAMPLE = """\b
Example:
  geodomain compare january.csv march.csv
"""


@click.command(epilog=_COMPARE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.column_option("Label column.", default="domain", show_default=True)
@click.option(
    "--new-column",
    metavar="NAME",
    help="Label column of NEW, if its name differs.  [default: as --column]",
)
@options.output_option("OUT.csv", "Table of moves to write, .csv or .xlsx; - is stdout.")
@options.overwrite_option
@options.table_options
@options.frame_options
@options.report_options
def compare(old: str, new: str, as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Compare the labels of OLD and NEW: count the blocks that moved from domain to domain.

    OLD and NEW are two labellings of one block model, with the blocks in the same order, in any
    format that `geodomain label` reads. They may be the same file with two label columns.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.reporting.compare import compare_files

    options.require_table(arguments)
    if "-" in (old, new):
        message = "compare reads two models: give files, not -"
        raise click.UsageError(message)
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        comparison = compare_files(old, new, progress=console.on_terminal, **arguments)
    if as_json:
        print_json(comparison.as_dict(), err=to_stdout)
    elif not (quiet and arguments["output"]):
        print_text(comparison, err=bool(arguments["output"]))


# --- Options of the commands for sub-blocks.


def extensive_option(what: str) -> options.Decorator:
    """Make the option --extensive, with the help text `what`."""
    return click.option("--extensive", metavar="COLUMN,...", help=what)


def columns_of(value: str | None) -> list[str]:
    """Return the column names in a text such as VOLUME,TONNES."""
    return [name for name in (value or "").split(",") if name]


scheme_options = options.together(
    click.option(
        "--scheme",
        type=click.Choice(["octree", "grid", "seam"]),
        required=True,
        help="octree: halve a block along each axis, then halve the parts that a wireframe enters, "
        "and so on; grid: cut a block into equal cells; seam: cut a block into equal cells in "
        "plan, then cut each cell in z where a wireframe crosses it.",
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
        help="With --scheme seam: cuts in z are rounded to multiples of this. In text tables, cuts "
        "of every scheme are rounded in this way if they have endless decimals, such as 10/3.",
    ),
    extensive_option(
        "Columns of quantities that can be added up, such as VOLUME,TONNES. They are divided among "
        "the sub-blocks by volume."
    ),
)


def parent_option(what: str) -> options.Decorator:
    """Make the option --parent, with the help text `what`."""
    return click.option("--parent", metavar="NAME", default="parent", show_default=True, help=what)


# --- The command `geodomain subblock`: split blocks at wireframes.

_SUBBLOCK_EXAMPLE = """\b
Example:
  geodomain subblock blocks.csv --solid ORE=ore.stl --scheme octree --minimum 2.5 -o sub.csv
"""


@click.command(epilog=_SUBBLOCK_EXAMPLE, context_settings=options.CONTEXT)
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
def subblock(as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Split the blocks of MODEL at wireframes, and label the sub-blocks.

    MODEL is text (- for stdin), Parquet or VTK with block sizes. The output has the same format
    (for VTK, .vtu). A block that is larger than --minimum is split if a wireframe enters it. Each
    sub-block gets its coordinates and sizes, and two new columns: the row of its parent, counted
    from 0, and its domain. All other columns, except those of --extensive, are copied from the
    parent byte for byte. The summary goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.blocks.splitting import subblock_file

    options.require_table(arguments)
    _require_sense(arguments)
    arguments |= {
        "domains": domains_of(arguments | {"codes": False}),
        "extensive": columns_of(arguments["extensive"]),
    }
    del arguments["solids"]
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        summary = subblock_file(**arguments, progress=console.on_terminal)
    if as_json:
        print_json(summary.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(summary, err=True)


def _require_sense(arguments: dict[str, Any]) -> None:
    """Raise a usage error if sizes or names are invalid, or if options contradict each other."""
    from geodomain.blocks.settings import resolution_of
    from geodomain.cli.console import as_options

    try:
        resolution_of(arguments["resolution"], arguments["minimum"])
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    if not arguments["parent"]:
        message = "--parent needs the name of a column"
        raise click.UsageError(message)
    options.require_settings(LabelSettings, arguments)


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
def merge(as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Join neighbours in SUB that have the same parent and agree in their attributes.

    Attributes are all columns except coordinates, sizes and the columns of --extensive.

    SUB is text (- for stdin), Parquet or .vtu with block sizes, such as an output of 'geodomain
    subblock'. The blocks of a parent must be in consecutive rows. Joined blocks fill exactly the
    space of their parts. The number of blocks before and after goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.blocks.merging import merge_file

    options.require_table(arguments)
    arguments["extensive"] = columns_of(arguments["extensive"])
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        summary = merge_file(**arguments, progress=console.on_terminal)
    if as_json:
        print_json(summary.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(summary, err=True)


# --- The command `geodomain shell`: wireframes of labelled blocks.

_SHELL_EXAMPLE = """\b
Example:
  geodomain shell labelled.csv --only ORE -o ore.dxf
"""


@click.command(epilog=_SHELL_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="LABELLED")
@click.option(
    "--only",
    multiple=True,
    metavar="LABEL",
    help="Make a wireframe of the blocks with this label; may be repeated. Blocks with other "
    "labels are outside.",
)
@click.option(
    "--all", "every", is_flag=True, help="Make a wireframe for each label, named by the label."
)
@options.output_option(
    "OUT",
    "File to write: .dxf, .ts, .omf, .geoh5 or .dtm (with .str); for one label also .msh, .ply, "
    ".obj, .off, .vtp or .stl.",
    required=True,
)
@options.column_option("Label column.", default="domain", show_default=True)
@click.option(
    "--smooth",
    type=click.Choice(["none", "surfacenets"]),
    default="none",
    show_default=True,
    help="surfacenets: smooth the wireframes by VTK's SurfaceNets; the model must be regular.",
)
@options.overwrite_option
@options.table_options
@options.box_options
@options.report_options
def shell(
    model: str, only: tuple[str, ...], every: bool, as_json: bool, quiet: bool, **arguments: Any
) -> None:
    """Make closed wireframes of the blocks of LABELLED: the boundary of the blocks of each label.

    LABELLED is any block model that `geodomain label` reads, with a column of labels. Blocks may
    have different sizes, and may be rotated. Where two labels meet, both wireframes have the same
    triangles. Without --smooth, these wireframes label the model exactly as it is labelled now.
    With --smooth, the summary states how many blocks would change their label, and how
    the volume of each label changes. The summary goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.blocks.shell import shell as outline

    options.require_table(arguments)
    _refuse(
        {
            "give either --only LABEL or --all": bool(only) == every,
            "-o - is stdout, but wireframes are written to a file: use -o ore.dxf": (
                arguments["output"] == "-"
            ),
        }
    )
    console = Console(quiet)
    with console.listening():
        result = outline(model, only=[*only] or None, progress=console.on_terminal, **arguments)
    if as_json:
        print_json(result.as_dict())
    elif not quiet:
        print_text(result, err=True)
