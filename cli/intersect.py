"""The command `geodomain intersect`: where segments cross a surface, as files or as a table."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.intersecting import answer_files, answer_table
from geodomain.cli.talk import Talk

_INPUTS = "{MESH SEGMENTS.csv | VERTICES TRIANGLES FROM TO}"

_FLOATS = click.Choice(["float32", "float64"])

_EXAMPLE = """\b
Examples:
  geodomain intersect topography.ply holes.csv --start XC YC ZC --end XE YE ZE -o hits.csv
  geodomain intersect vertices_f32 triangles_i32 rayFrom_f32 rayTo_f32 --mode barycentric -o found
"""


@click.command(
    short_help="Find where line segments cross a surface.",
    epilog=_EXAMPLE,
    context_settings=options.CONTEXT,
)
@click.argument("inputs", nargs=-1, type=click.Path(path_type=Path), metavar=_INPUTS, required=True)
@click.option(
    "--mode",
    type=click.Choice(["boolean", "barycentric", "intercept_count", "all"]),
    help="Whether a segment crosses; its first crossing; how many; every crossing (of a table). "
    "[default: boolean, for a table barycentric]",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="The folder of the answers [default: .], or their table; - is stdout.",
)
@click.option("--vertex-type", type=_FLOATS, help="Numbers in VERTICES, where it is in doubt.")
@click.option("--ray-type", type=_FLOATS, help="Numbers in FROM and TO, where it is in doubt.")
@click.option(
    "--start", nargs=3, metavar="X Y Z", help="Columns of the segments' starts in SEGMENTS.csv."
)
@click.option("--end", nargs=3, metavar="X Y Z", help="Columns of their ends.")
@options.segment_table_options
@options.machine_options
@click.option("--overwrite", is_flag=True, help="Replace what is there.")
@options.report_options
def intersect(inputs: tuple[Path, ...], as_json: bool, quiet: bool, **given: Any) -> None:
    """Find where segments cross a surface, exactly.

    MESH is any wireframe, open or closed, and SEGMENTS.csv has six columns for the ends, such as
    x1, y1, z1, x2, y2, z2; - is stdin. HITS.csv gets the row of the segment, t from 0 at its start
    to 1 at its end, the distance from the start in the unit of the coordinates, the point, the
    triangle, and where on it (u, v); rows and triangles count from 0.

    The other four are raw little-endian files: float32 or float64 vertices and ends, int32
    triangles. DIR gets results_i32 (1 or 0, or the count), or for barycentric
    intersectTriangle_i32 (-1 for a miss) and barycentricT_f32, U and V (2.5e8, 0, 0 for a miss).

    A segment stands for itself moved by an infinitesimal, up first, then east, then north: a hole
    collared on the ground crosses it going down, not going up; along a plane nothing is crossed.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    began = time.perf_counter()
    run = {2: answer_table, 4: answer_files}.get(len(inputs))
    if run is None:
        message = f"give MESH SEGMENTS.csv, or VERTICES TRIANGLES FROM TO, not {len(inputs)} inputs"
        raise click.UsageError(message)
    to_stdout = given["output"] == "-"
    talk = Talk(quiet or (as_json and to_stdout))
    with talk.listening():
        summary = run(inputs, given, talk) | {"seconds": round(time.perf_counter() - began, 3)}
    if as_json:
        click.echo(json.dumps(summary, indent=2), err=to_stdout)
    elif not quiet:
        click.echo(_as_text(summary), err=True)


def _as_text(summary: dict[str, Any]) -> str:
    """Say in a few lines what was found, how fast, and where."""
    lines = [
        f"{summary['crossing']:,} of {summary['segments']:,} segments cross a surface of "
        f"{summary['triangles']:,} triangles"
    ]
    if summary["mode"] in ("intercept_count", "all"):
        lines.append(f"crossings: {summary['crossings']:,}")
    if summary["missing"]:
        lines.append(f"{summary['missing']:,} without one of their coordinates cross nothing")
    lines.append(f"{summary['seconds']:.2f} s, {summary['backend']} ({summary['backend_reason']})")
    return "\n".join([*lines, *(f"  {output}" for output in summary["outputs"])])
