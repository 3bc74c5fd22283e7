"""The command `geodomain bench`: compare ways to intersect segments."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options, values
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.scene_options import scene_options

_EXAMPLE = """\b
Example:
  geodomain bench --rays 1e6 --chart bench.png
"""


@click.command(
    short_help="Compare ways to intersect segments on this machine.",
    epilog=_EXAMPLE,
    context_settings=options.CONTEXT,
)
@scene_options(rays="1e6")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    metavar="N",
    help="Number of repetitions; the fastest counts.",
)
@options.threads_option
@click.option(
    "--chart",
    type=values.Picture((".png", ".svg", ".pdf"), "matplotlib"),
    metavar="PNG",
    help="Draw a chart of the rates to this file.",
)
@click.option(
    "--tree",
    type=(click.IntRange(min=0), values.Picture((".png",), "pyvista")),
    metavar="LEVEL PNG",
    help="Draw the boxes of one level of the hierarchy to a file; level 0 has the largest.",
)
@options.overwrite_option
@options.report_options
def bench(as_json: bool, quiet: bool, **asked: Any) -> None:
    """Time segments against a triangulated surface, by geodomain and by other libraries.

    Repeats the tables of R. Leung, arXiv 2209.02878, on this machine: the scene of `geodomain
    synthesize`, the same segments for everyone in one run, and every answer compared with exact
    arithmetic. Beside this machine's figures stand the paper's ("published, Titan X"). A slow
    library gets only the first segments. The report names the libraries that are not installed
    (pip install 'geodomain[bench]').
    """
    from geodomain.benching.running import compare
    from geodomain.benching.tree import LevelError

    with Console(quiet).steps() as step:
        try:
            report = compare(**asked, step=step)
        except LevelError as error:
            raise click.BadParameter(str(error), param_hint="--tree") from None
    if as_json:
        print_json(report.as_dict())
    elif not quiet:
        print_text(report)
