"""The command `geodomain check`: what is wrong with meshes, and a weld where one is asked for."""

from __future__ import annotations

import errno
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli.places import require_folder
from geodomain.cli.values import finite

if TYPE_CHECKING:
    from geodomain.mesh import Mesh

_NOT_FIT = 3

_EXAMPLE = """\b
Example:
  geodomain check ore.stl --weld 0.001 -o closed.stl
"""


@click.command(short_help="Report what is wrong with wireframes, and weld them.", epilog=_EXAMPLE)
@click.argument(
    "meshes", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MESH..."
)
@click.option("--json", "as_json", is_flag=True, help="Report as JSON, a list with each MESH.")
@click.option(
    "--weld",
    type=click.FloatRange(min=0),
    callback=finite,
    metavar="TOLERANCE",
    help="Join vertices that are this close, and report on the result.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="OUT", help="Write the weld to OUT."
)
@click.option("--overwrite", is_flag=True, help="Replace OUT if it is there.")
def check(
    meshes: tuple[Path, ...],
    as_json: bool,
    weld: float | None,
    output: Path | None,
    overwrite: bool,
) -> None:
    """Tell whether each MESH is fit to label blocks with, and if not, why and where.

    A wireframe must be closed. Of one that is not, it says whether welding would close it.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 a mesh not fit to label with, 4 input or output.
    """
    _refuse(meshes, weld, output, overwrite)
    found = []
    with _warnings_told():
        for path in meshes:
            found.append(_check(path, weld, output))
            if not as_json:
                click.echo(_as_text(found[-1]))
    if as_json:
        click.echo(json.dumps([_as_dict(one) for one in found], indent=2, allow_nan=False))
    if not all(one["report"].fit for one in found):
        raise SystemExit(_NOT_FIT)


def _refuse(
    meshes: tuple[Path, ...], weld: float | None, output: Path | None, overwrite: bool
) -> None:
    """Stop before anything is read if the options do not go together."""
    if output is None:
        return
    if weld is None:
        message = "-o writes a welded mesh: give a tolerance with --weld"
        raise click.UsageError(message)
    if len(meshes) > 1:
        message = f"-o is one file, and there are {len(meshes)} meshes: weld one at a time"
        raise click.UsageError(message)
    require_folder(output)
    if output.exists() and not overwrite:
        reason = "it is there already; choose another name, or replace it with --overwrite"
        raise FileExistsError(errno.EEXIST, reason, str(output))


@contextmanager
def _warnings_told() -> Iterator[None]:
    """Say what readers and writers doubt, on stderr."""

    def tell(message: Warning | str, *_: Any, **__: Any) -> None:
        click.secho(f"warning: {message}", fg="yellow", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = tell
        yield


def _check(path: Path, weld: float | None, output: Path | None) -> dict[str, Any]:
    """Read, weld and write one mesh, and report on the last of these."""
    from geodomain.faults.report import check as check_mesh
    from geodomain.meshfiles import read_mesh

    mesh, welded = read_mesh(path), None
    if weld is not None:
        mesh, welded = _weld(mesh, weld, output)
    report = check_mesh(mesh)
    return {"report": report, "weld": welded, "closes": {} if report.closed else _closes(mesh)}


def _weld(mesh: Mesh, tolerance: float, output: Path | None) -> tuple[Mesh, dict[str, Any]]:
    """Weld a mesh, and take it as it is in the file: STL rounds what is written."""
    from geodomain.faults.welding import weld
    from geodomain.meshfiles import read_mesh, write_mesh

    result = weld(mesh, tolerance)
    if not len(result.mesh.triangles):
        output = None  # no format has a mesh of nothing
    done = {
        "tolerance": tolerance,
        "moved": result.moved,
        "largest_move": result.largest_move,
        "dropped": result.dropped,
        "output": None if output is None else str(output),
    }
    if output is None:
        return result.mesh, done
    write_mesh(result.mesh, output)
    return read_mesh(output), done


def _closes(mesh: Mesh) -> dict[float, bool]:
    """Try the usual tolerances."""
    from geodomain.faults.edge_table import edge_table
    from geodomain.faults.welding import closing_weld

    table = edge_table(mesh)
    return {trial: closing_weld(mesh, table, trial) is not None for trial in (1e-6, 1e-3, 1e-2)}


def _as_text(found: dict[str, Any]) -> str:
    """Lay out one report, after what welding did."""
    from geodomain.faults.report_table import as_table

    table = as_table(found["report"], found["closes"])
    done = found["weld"]
    if done is None:
        return table
    return (
        f"welded at {done['tolerance']:g}: {done['moved']:,} vertices moved, at most "
        f"{done['largest_move']:.3g}; {done['dropped']:,} triangles dropped\n{table}"
    )


def _as_dict(found: dict[str, Any]) -> dict[str, Any]:
    """Give one report for JSON."""
    closes = {f"{tolerance:g}": does for tolerance, does in found["closes"].items()}
    report: dict[str, Any] = found["report"].as_dict()
    return report | {"weld": found["weld"], "weld_closes": closes}
