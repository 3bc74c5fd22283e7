"""The command `geodomain synthesize`: a test surface, segments across it, and the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.scene_options import scene_options
from geodomain.errors import counted

if TYPE_CHECKING:
    from geodomain.synthetic.segment_files import SceneFiles

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
@scene_options(rays="1e7")
@click.option(
    "--perturb", is_flag=True, help="Let segments pass beside the centroids of triangles."
)
@click.option("--float64", is_flag=True, help="Write vertices and segments in double precision.")
@options.threads_option
@options.overwrite_option
@options.report_options
def synthesize(folder: Path, float64: bool, as_json: bool, quiet: bool, **asked: Any) -> None:
    """Write a test surface and segments across it to DIR, as raw little-endian files.

    An undulating terrain, 3000 x 2500 m, and segments along the normals of its triangles, after
    R. Leung, arXiv 2209.02878. The same options give the same files. truth_boolean_i32 and
    truth_count_i32 say for each segment whether it crosses the surface and how many times, by
    exact arithmetic on the numbers in the files; parameters.json says what was made.
    """
    from geodomain.synthetic.segment_files import write_scene

    kind = "float64" if float64 else "float32"
    made = write_scene(folder, float_type=kind, progress=Console(quiet).on_terminal, **asked)
    if as_json:
        print_json(made)
    elif not quiet:
        print_text(_summary(folder, made), err=True)


def _summary(folder: Path, made: SceneFiles) -> str:
    """Say what was made and where."""
    share = made["crossing"] / made["rays"]
    return (
        f"{counted(made['triangles'], 'triangle')} and {counted(made['rays'], 'segment')}, of "
        "which "
        f"{made['crossing']:,} ({share:.1%}) cross, in {folder}:\n  "
        + "\n  ".join((*made["files"], *made["truth"], "parameters.json"))
    )
