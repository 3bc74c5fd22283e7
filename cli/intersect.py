"""The command `geodomain intersect`: where segments cross a surface, as files or as a table."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import options, values
from geodomain.cli.talk import Talk

if TYPE_CHECKING:
    from geodomain.hit_tally import HitTally
    from geodomain.intersector import SegmentIntersector
    from geodomain.mesh import Mesh
    from geodomain.tables.files import Source
    from geodomain.tables.layout import TableLayout

# The head of a table is looked for in so many bytes.
_PEEK = 1 << 20

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
    to 1 at its end, the distance, the point, the triangle, and where on it (u, v); rows and
    triangles count from 0.

    The other four are raw little-endian files: float32 or float64 vertices and ends, int32
    triangles. DIR gets results_i32 (1 or 0, or the count), or for barycentric
    intersectTriangle_i32 (-1 for a miss) and barycentricT_f32, U and V (2.5e8, 0, 0 for a miss).

    A segment stands for itself moved by an infinitesimal, up first, then east, then north: a hole
    collared on the ground crosses it going down, not going up; along a plane nothing is crossed.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    began = time.perf_counter()
    run = {2: _table, 4: _files}.get(len(inputs))
    if run is None:
        message = f"give MESH SEGMENTS.csv, or VERTICES TRIANGLES FROM TO, not {len(inputs)} inputs"
        raise click.UsageError(message)
    destination = given["output"]
    talk = Talk(quiet or (as_json and destination == "-"))
    with talk.listening():
        summary, tally = run(inputs, given, talk)
    summary |= tally.as_dict() | {"seconds": round(time.perf_counter() - began, 3)}
    if as_json:
        click.echo(json.dumps(summary, indent=2), err=destination == "-")
    elif not quiet:
        click.echo(_as_text(summary), err=True)


def _table(
    inputs: tuple[Path, ...], given: dict[str, Any], talk: Talk
) -> tuple[dict[str, Any], HitTally]:
    """Answer a table with a table."""
    from geodomain.hit_table import intersect_table
    from geodomain.meshfiles import read_mesh
    from geodomain.tables.files import open_source, open_target

    _refuse(given, ("vertex_type", "ray_type"), "raw files, and SEGMENTS.csv is a table")
    if given["output"] is None:
        message = "say where to write: -o HITS.csv, or -o - for stdout"
        raise click.UsageError(message)
    if bool(given["start"]) != bool(given["end"]):
        message = "--start and --end go together"
        raise click.UsageError(message)
    mode = given["mode"] or "barycentric"
    if given["output"] != "-":
        values.require_folder(Path(given["output"]))
        _refuse_inputs([Path(given["output"])], inputs)
    mesh = read_mesh(inputs[0])
    with open_source(str(inputs[1])) as source:
        layout = _layout(source, given)
        with (
            _intersector(mesh, given) as intersector,
            open_target(given["output"], source=source, overwrite=given["overwrite"]) as target,
            talk.progress("intersecting") as progress,
        ):
            tally = intersect_table(
                intersector,
                source,
                target,
                layout,
                mode=mode,
                name=source.name,
                threads=given["threads"],
                progress=progress,
            )
    return _said(mesh, mode, [given["output"]]), tally


def _layout(source: Source, given: dict[str, Any]) -> TableLayout:
    """Work out what the head of the table means."""
    from geodomain.tables.segments import read_segment_layout

    head = source.peek(_PEEK)
    asked = {key: given[key] for key in ("start", "end", "delimiter", "missing", "encoding")}
    return read_segment_layout(head, **asked, name=source.name, whole=len(head) < _PEEK)


def _files(
    inputs: tuple[Path, ...], given: dict[str, Any], talk: Talk
) -> tuple[dict[str, Any], HitTally]:
    """Answer raw files with raw files."""
    from geodomain.hit_files import OUTPUTS, intersect_files
    from geodomain.rawfiles import open_segments, read_raw_mesh
    from geodomain.rawfiles.writing import refuse_to_replace

    columns = ("start", "end", "delimiter", "missing")
    _refuse(given, columns, "a table, and FROM and TO are raw files")
    mode, folder = given["mode"] or "boolean", Path(given["output"] or ".")
    if mode not in OUTPUTS:
        message = f"--mode {mode} writes a table: give MESH SEGMENTS.csv"
        raise click.UsageError(message)
    outputs = [folder / name for name in OUTPUTS[mode]]
    _refuse_inputs(outputs, inputs)
    refuse_to_replace(outputs, overwrite=given["overwrite"])
    mesh = read_raw_mesh(*inputs[:2], vertex_type=given["vertex_type"])
    segments = open_segments(*inputs[2:], ray_type=given["ray_type"])
    with (
        _intersector(mesh, given) as intersector,
        talk.progress("intersecting") as progress,
    ):
        tally = intersect_files(
            intersector,
            segments,
            folder,
            mode=mode,
            overwrite=given["overwrite"],
            progress=progress,
        )
    return _said(mesh, mode, [str(path) for path in outputs]), tally


def _refuse(given: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    """Stop at options that belong to the other kind of input."""
    for name in names:
        if given[name]:
            message = f"--{name.replace('_', '-')} is for {why}"
            raise click.UsageError(message)


def _refuse_inputs(outputs: list[Path], inputs: tuple[Path, ...]) -> None:
    """Stop before an output takes the place of an input."""
    from geodomain.errors import TableError

    for path in outputs:
        if any(path.exists() and each.exists() and path.samefile(each) for each in inputs):
            message = f"{path} is an input; name another output"
            raise TableError(message)


def _intersector(mesh: Mesh, given: dict[str, Any]) -> SegmentIntersector:
    """Make the surface ready to be asked."""
    from geodomain.intersector import SegmentIntersector

    return SegmentIntersector(mesh, backend=given["backend"], threads=given["threads"])


def _said(mesh: Mesh, mode: str, outputs: list[str]) -> dict[str, Any]:
    """Begin the summary."""
    return {"mode": mode, "triangles": len(mesh.triangles), "outputs": outputs}


def _as_text(summary: dict[str, Any]) -> str:
    """Say in a line or two what was found."""
    lines = [
        f"{summary['crossing']:,} of {summary['segments']:,} segments cross a surface of "
        f"{summary['triangles']:,} triangles; {summary['seconds']:.2f} s"
    ]
    if summary["mode"] in ("intercept_count", "all"):
        lines.append(f"{summary['crossings']:,} crossings")
    if summary["missing"]:
        lines.append(f"{summary['missing']:,} without one of their coordinates cross nothing")
    return "\n".join([*lines, *(f"  {output}" for output in summary["outputs"])])
