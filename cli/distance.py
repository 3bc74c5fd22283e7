"""The command `geodomain distance`: add the distance from wireframes to a block model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.values import by_name, named_path

if TYPE_CHECKING:
    from geodomain.io.header.keywords import TableKeywords

    class DistanceOptions(TableKeywords):
        """The options that `distance_file` takes by the same names."""

        signed: bool
        output: str
        overwrite: bool
        backend: str
        threads: int | None


_EXAMPLE = """\b
Example:
  geodomain distance blocks.csv --mesh ORE=ore.stl --mesh FAULT=fault.dxf -o distances.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="BLOCKS")
@click.option(
    "--mesh",
    "meshes",
    type=named_path,
    multiple=True,
    required=True,
    metavar="NAME=PATH",
    help="A wireframe, open or closed, whose column is dist_<name>; may be repeated. Without NAME= "
    "each solid of the file has a column.",
)
@click.option("--signed", is_flag=True, help="Make distances inside negative; meshes are closed.")
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
    **given: Unpack[DistanceOptions],
) -> None:
    """Add a column with the distance of each block of BLOCKS from each mesh, in the mesh's unit.

    BLOCKS is any block model that `geodomain label` takes, and the output has the same format: a
    text table keeps every byte and gains columns. Distances are of centroids, and float64; a block
    without coordinates has none. The summary goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    from geodomain.volumes.distance_file import distance_file

    options.require_rotation(given)
    named = by_name(meshes)
    twice = [name for name, paths in named.items() if len(paths) > 1]
    if twice:
        message = f"--mesh names {twice[0]} twice: give each mesh a name of its own"
        raise click.UsageError(message)
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        paths = {name: path for name, (path,) in named.items()}
        found = distance_file(blocks, paths, progress=console.on_terminal, **given)
    if as_json:
        print_json(found.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(found, err=True)
