"""The commands `check`, `convert` and `distance`: work on wireframes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

import click

from geodomain.cli import options
from geodomain.cli.console import Console, message_of, print_error, print_json, print_text
from geodomain.cli.options import by_name, named_path
from geodomain.errors import counted, visible

if TYPE_CHECKING:
    from geodomain.settings import BackendName
    from geodomain.tables.settings import TableKeywords

    class DistanceOptions(TableKeywords):
        """The options of `geodomain distance` that are also keywords of `distance_file`."""

        signed: bool
        output: str
        overwrite: bool
        backend: BackendName
        threads: int | None


_NOT_FIT = 3

_EXAMPLE = """\b
Example:
  geodomain check ore.stl --weld 0.001 -o closed.stl
"""


@click.command(
    short_help="Report what is wrong with wireframes, weld them, and fill holes.",
    epilog=_EXAMPLE,
    context_settings=options.CONTEXT,
)
@click.argument(
    "meshes", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MESH..."
)
@options.json_option
@options.weld_option(
    "Join vertices that are at most TOLERANCE apart, and report on the result.", zero=True
)
@click.option(
    "--fill",
    type=click.IntRange(min=3),
    metavar="MAX_EDGES",
    help="After welding, close holes of at most MAX_EDGES edges with new triangles, and report "
    "the position and size of each hole.",
)
@click.option(
    "--kind",
    type=click.Choice(["solid", "surface"]),
    default="solid",
    show_default=True,
    help="Intended use of the meshes: a closed solid, or an open surface for domains "
    "with kind = above or below.",
)
@options.output_option(
    "OUT", "Write the welded or filled mesh to OUT.", type=click.Path(path_type=Path)
)
@options.overwrite_option
def check(
    meshes: tuple[Path, ...],
    as_json: bool,
    weld: float | None,
    fill: int | None,
    kind: Literal["solid", "surface"],
    output: Path | None,
    overwrite: bool,
) -> None:
    """Report whether each MESH can be used for labelling, and if not, why and where.

    A wireframe must be closed, and its shells must not overlap. For an open wireframe, the command
    reports whether welding would close it. With --weld or --fill, the command repairs the mesh,
    describes the changes, and writes OUT. An open surface passes the check with --kind surface.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 a mesh cannot be used, 4 cannot read or write a
    file.
    """
    from geodomain.errors import GeodomainError
    from geodomain.wireframes import check_file

    _require_one_change(meshes, output, changed=weld is not None or fill is not None)
    reports, wrong = [], list[Exception]()
    console = Console(quiet=False)
    with console.listening():
        for path in meshes:
            try:
                report = check_file(
                    path, output, weld=weld, fill=fill, kind=kind, overwrite=overwrite
                )
                reports.append(report)
            except (GeodomainError, OSError) as error:
                wrong.append(error)
                if len(meshes) > 1:  # the last error ends the command
                    print_error(message_of(error))
                continue
            if not as_json:
                print_text(reports[-1])
    if as_json and (reports or not wrong):
        print_json([report.as_dict() for report in reports])
    if len(meshes) > 1 and wrong:
        console.tell()  # warnings about the meshes that were read
        message = f"{len(wrong)} of {counted(len(meshes), 'mesh', 'meshes')} could not be read"
        raise type(wrong[-1])(message)
    if wrong:
        raise wrong[0]
    if not all(report.fit for report in reports):
        raise SystemExit(_NOT_FIT)


def _require_one_change(meshes: tuple[Path, ...], output: Path | None, *, changed: bool) -> None:
    """Refuse -o if neither --weld nor --fill is used, or if there are several meshes."""
    if output is not None and not changed:
        message = "-o writes a changed mesh: add --weld or --fill"
        raise click.UsageError(message)
    if output is not None and len(meshes) > 1:
        message = f"-o writes one file, but there are {len(meshes)} meshes: change one at a time"
        raise click.UsageError(message)


# --- The command `geodomain convert`: wireframes and block models from one format to another.

_CONVERT_EXAMPLE = """\b
Example:
  geodomain convert pit.dxf pit.omf
  geodomain convert labelled.csv labelled.vtu
"""


@click.command(epilog=_CONVERT_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("source", metavar="IN")
@click.argument("output", metavar="OUT", type=click.Path(path_type=Path))
@options.overwrite_option
def convert(source: str, output: Path, overwrite: bool) -> None:
    """Write the wireframes or blocks of IN in the format of OUT's extension.

    IN is any file of wireframes, or FILE:NAME for one of its solids. OUT ends in .dxf, .dtm (with
    .str), .msh, .ts, .omf, .geoh5, .ply, .obj, .off, .vtp or .stl. Vertices keep all their digits,
    except in .stl. Names of solids are kept if OUT can hold names (.dxf, .ts, .omf, .geoh5).

    A block model (text, Excel, Parquet, VTK, OMF, geoh5, Datamine, GSLIB, GOCAD Voxet) goes to
    .csv, .xlsx, .parquet, .vtu, .vti (blocks of one size that fill a lattice), .omf or .geoh5. If
    OUT is .omf or .geoh5 and IN has wireframes and block models, only the wireframes are converted.
    To convert one of its block models, give IN:NAME.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    from geodomain.formats.blocks import convert_blocks, converts_blocks
    from geodomain.formats.wireframes import convert_file, holds_names

    with Console(quiet=False).listening():
        if converts_blocks(source, output):
            count = convert_blocks(source, output, overwrite=overwrite)
            print_text(counted(count, "block"), err=True)
            return
        solids = convert_file(source, output, overwrite=overwrite)
    for name, mesh in solids.items():
        print_text(f"{visible(name)}: {counted(len(mesh.triangles), 'triangle')}", err=True)
    if len(solids) > 1 and not holds_names(output):
        print_text(
            f"{output.name} cannot store names: all {len(solids)} solids are one mesh in it",
            err=True,
        )


# --- The command `geodomain distance`: add the distance from wireframes to a block model.

_DISTANCE_EXAMPLE = """\b
Example:
  geodomain distance blocks.csv --mesh ORE=ore.stl --mesh FAULT=fault.dxf -o distances.csv
"""


@click.command(epilog=_DISTANCE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="BLOCKS")
@click.option(
    "--mesh",
    "meshes",
    type=named_path,
    multiple=True,
    required=True,
    metavar="NAME=PATH",
    help="A wireframe, open or closed, such as ORE=ore.stl; its column is dist_<name>, here "
    "dist_ore. May be repeated. Without NAME= each solid of the file gets a column.",
)
@click.option(
    "--signed", is_flag=True, help="Make distances inside a mesh negative; meshes must be closed."
)
@options.output_option("OUT.csv", "File to write; - is stdout.", required=True)
@options.overwrite_option
@options.table_options
@options.frame_options
@options.machine_options
@options.report_options
def distance(
    blocks: str,
    meshes: tuple[tuple[str, str], ...],
    as_json: bool,
    quiet: bool,
    **keywords: Unpack[DistanceOptions],
) -> None:
    """Add columns with the distance of each block of BLOCKS from each mesh, in the mesh's unit.

    BLOCKS is any block model that `geodomain label` takes, and the output has the same format: a
    text table keeps every byte and gains columns. Distances are from centroids, in float64; a
    block without coordinates gets no distance. The summary goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.volumes.distance import distance_file

    options.require_table(keywords)
    named = by_name(meshes)
    twice = [name for name, paths in named.items() if len(paths) > 1]
    if twice:
        message = f"--mesh names {twice[0]} twice: use a different name for each mesh"
        raise click.UsageError(message)
    to_stdout = keywords["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        paths = {name: path for name, (path,) in named.items()}
        summary = distance_file(blocks, paths, progress=console.on_terminal, **keywords)
    if as_json:
        print_json(summary.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(summary, err=True)
