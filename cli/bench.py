"""The command `geodomain bench`: segments against a surface by everyone who can, timed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geodomain.cli import options, places, values
from geodomain.cli.talk import Talk

if TYPE_CHECKING:
    from geodomain.benching.report import Report
    from geodomain.intersector import SegmentIntersector

_CHARTS, _TREES = (".png", ".svg", ".pdf"), (".png",)
_PICTURE = click.Path(dir_okay=False, path_type=Path)

_EXAMPLE = """\b
Example:
  geodomain bench --rays 1e6 --chart bench.png
"""


@click.command(
    short_help="Compare ways to intersect segments on this machine.",
    epilog=_EXAMPLE,
    context_settings=options.CONTEXT,
)
@click.option(
    "--triangles", type=values.terrain_triangles, default="29260", show_default=True, metavar="N"
)
@click.option("--rays", type=values.count, default="1e6", show_default=True, metavar="N")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Repetitions; the fastest counts.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Ours; all the cores, if not given.")
@click.option(
    "--chart",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="PNG",
    help="Draw the rates.",
)
@click.option(
    "--tree",
    type=(click.IntRange(min=0), _PICTURE),
    metavar="LEVEL PNG",
    help="Draw the boxes of a level of the hierarchy, 0 the largest, without a window.",
)
@click.option("--overwrite", is_flag=True, help="Replace pictures that are there.")
@options.report_options
def bench(
    triangles: int,
    rays: int,
    seed: int,
    repeat: int,
    threads: int | None,
    chart: Path | None,
    tree: tuple[int, Path] | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Time segments against a triangulated surface, by geodomain and by other libraries.

    Repeats the tables of R. Leung, arXiv 2209.02878, on this machine: the scene of `geodomain
    synthesize`, the same segments for everyone in one run, and every answer compared with exact
    arithmetic. A slow library gets the first segments alone. What is not installed is said to be so
    (pip install 'geodomain[bench]').
    """
    from geodomain.benching.running import make_scene, run

    _require_place(chart, _CHARTS, "matplotlib", overwrite)
    _require_place(tree and tree[1], _TREES, "pyvista", overwrite)
    with Talk(quiet).steps() as step:
        step("making the scene")
        scene, intersector = make_scene(triangles, rays, seed, threads)
        if tree:
            step("drawing the hierarchy")
            _draw_tree(intersector, *tree)
        report = run(scene, repeat=repeat, threads=threads, step=step)
        _draw(report, chart)
    if as_json:
        click.echo(json.dumps(report.as_dict(), indent=2, allow_nan=False))
    elif not quiet:
        from geodomain.benching.report import as_text

        click.echo(as_text(report))


def _require_place(
    picture: Path | None, kinds: tuple[str, ...], library: str, overwrite: bool
) -> None:
    """Stop before there is any work if a picture cannot be drawn, or not where it should be."""
    from geodomain.tables.atomic import refuse_to_replace

    if picture is None:
        return
    if picture.suffix.lower() not in kinds:
        message = f"{picture} must end in {' or '.join(kinds)}"
        raise click.BadParameter(message)
    if importlib.util.find_spec(library) is None:
        message = f"{picture} is drawn by {library}, which is not installed: pip install {library}"
        raise click.BadParameter(message)
    places.require_folder(picture)
    refuse_to_replace([picture], overwrite=overwrite)


def _draw(report: Report, chart: Path | None) -> None:
    """Draw the chart, if it is wanted."""
    if chart is not None:
        from geodomain.benching.chart import draw

        draw(report, chart)


def _draw_tree(intersector: SegmentIntersector, level: int, path: Path) -> None:
    """Draw a level of the hierarchy."""
    from geodomain.benching.tree import draw_level

    try:
        draw_level(intersector, level, path)
    except ValueError as error:  # there is no such level
        raise click.BadParameter(str(error), param_hint="--tree") from None
