"""The command `geodomain synthesize`: a test surface, segments across it, and the truth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from geodomain.cli import options, values
from geodomain.cli.talk import Talk

_EXAMPLE = """\b
Example:
  geodomain synthesize scene --rays 1e6
  geodomain intersect scene/vertices_f32 scene/triangles_i32 scene/rayFrom_f32 scene/rayTo_f32 \\
      -o found
"""


@click.command(
    short_help="Make a test surface and line segments across it.",
    epilog=_EXAMPLE,
    context_settings=options.CONTEXT,
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--triangles",
    type=values.terrain_triangles,
    default="29260",
    show_default=True,
    metavar="N",
    help="About how many; cells of the grid stay square.",
)
@click.option(
    "--rays",
    type=values.count,
    default="1e7",
    show_default=True,
    metavar="N",
    help="Segments; half of them cross the surface.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--perturb", is_flag=True, help="Let segments pass beside the centroids of triangles."
)
@click.option("--float64", is_flag=True, help="Write vertices and segments in double precision.")
@click.option("--threads", type=click.IntRange(min=1), help="All the cores, if not given.")
@click.option("--overwrite", is_flag=True, help="Replace such files in DIR.")
@options.report_options
def synthesize(folder: Path, float64: bool, as_json: bool, quiet: bool, **asked: Any) -> None:
    """Write a test surface and segments across it to DIR, as raw little-endian files.

    An undulating terrain, 3000 x 2500 m, and segments along the normals of its triangles, after
    R. Leung, arXiv 2209.02878. The same options give the same files. truth_boolean_i32 and
    truth_count_i32 say for each segment whether it crosses the surface and how many times, by
    exact arithmetic on the numbers in the files; parameters.json says what was made.
    """
    from geodomain.synthetic.segment_files import write_scene

    with Talk(quiet).progress("synthesizing") as progress:
        made = write_scene(
            folder, float_type="float64" if float64 else "float32", progress=progress, **asked
        )
    if as_json:
        click.echo(json.dumps(made, indent=2))
    elif not quiet:
        click.echo(_summary(folder, made), err=True)


def _summary(folder: Path, made: dict[str, Any]) -> str:
    """Say what was made and where."""
    share = made["crossing"] / made["rays"]
    return (
        f"{made['triangles']:,} triangles and {made['rays']:,} segments, of which "
        f"{made['crossing']:,} ({share:.1%}) cross, in {folder}:\n  "
        + "\n  ".join((*made["files"], *made["truth"], "parameters.json"))
    )
