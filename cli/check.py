"""The command `geodomain check`: report mesh faults, weld and fill holes on request."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.errors import print_error, said_of
from geodomain.errors import counted

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
@options.weld_option("Join vertices that are this close, and report on the result.", zero=True)
@click.option(
    "--fill",
    type=click.IntRange(min=3),
    metavar="MAX_EDGES",
    help="Close holes of at most MAX_EDGES edges by new triangles, after welding, and say where "
    "each hole is, and how large.",
)
@click.option(
    "--kind",
    type=click.Choice(["solid", "surface"]),
    default="solid",
    show_default=True,
    help="What the meshes are to be used as: a surface is open, with kind = above or below.",
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
    """Report whether each MESH is fit to label blocks with, and if not, why and where.

    A wireframe must be closed, and none of its shells may overlap. For open ones, reports whether
    welding would close them. --weld and --fill change a mesh on the way to OUT, and say how. An
    open surface is fit as --kind surface.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 a mesh not fit to label with, 4 input or output.
    """
    from geodomain.errors import GeodomainError
    from geodomain.inspection.mesh_file import check_file

    _require_one_change(meshes, output, changed=weld is not None or fill is not None)
    found, wrong = [], list[Exception]()
    console = Console(quiet=False)
    with console.listening():
        for path in meshes:
            try:
                one = check_file(path, output, weld=weld, fill=fill, kind=kind, overwrite=overwrite)
                found.append(one)
            except (GeodomainError, OSError) as error:
                wrong.append(error)
                if len(meshes) > 1:  # the last of them ends the command
                    print_error(said_of(error))
                continue
            if not as_json:
                print_text(found[-1])
    if as_json and (found or not wrong):
        print_json([one.as_dict() for one in found])
    if len(meshes) > 1 and wrong:
        console.tell()  # of those that could be read
        message = f"{len(wrong)} of {counted(len(meshes), 'mesh', 'meshes')} could not be read"
        raise type(wrong[-1])(message)
    if wrong:
        raise wrong[0]
    if not all(one.fit for one in found):
        raise SystemExit(_NOT_FIT)


def _require_one_change(meshes: tuple[Path, ...], output: Path | None, *, changed: bool) -> None:
    """Refuse an output without a change, or for several meshes."""
    if output is not None and not changed:
        message = "-o writes a mesh that is changed: give --weld or --fill"
        raise click.UsageError(message)
    if output is not None and len(meshes) > 1:
        message = f"-o is one file, and there are {len(meshes)} meshes: change one at a time"
        raise click.UsageError(message)
