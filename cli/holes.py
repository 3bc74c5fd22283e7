"""The commands `geodomain holes ...`: what drillholes pass through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodomain.cli import hole_options, options, values
from geodomain.cli.console import Console, print_json, print_text

_EXAMPLE = """\b
Example:
  geodomain holes crossings --collar collar.csv --survey survey.csv --solid ORE=ore.stl -o stays.csv
"""


@click.group(epilog=_EXAMPLE, context_settings=options.CONTEXT)
def holes() -> None:
    """Find what drillholes pass through."""


@holes.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@hole_options.hole_options
@hole_options.intervals_option
@options.solid_option("A closed wireframe and its name; a repeated NAME is a union.")
@click.option(
    "--surface",
    "surfaces",
    type=values.named_path,
    multiple=True,
    metavar="NAME=PATH",
    help="An open surface and its name.",
)
@options.list_option
@options.output_option("OUT.csv", "Where stays in solids go; - is stdout.")
@click.option(
    "--pierce",
    metavar="OUT.csv",
    help="Where the points go at which holes go through surfaces; - is stdout.",
)
@options.overwrite_option
@options.rule_options
@options.machine_options
@options.report_options
def crossings(as_json: bool, quiet: bool, **given: Any) -> None:
    """Write where drillholes enter and leave solids, and where they go through surfaces.

    A row of OUT.csv is one stay of a hole in a solid: hole, domain, from, to, length, the points of
    entry and exit, and whether the hole begins or ends inside. Holes are arcs between stations, and
    are crossed as such. The summary says in how many holes the collar, the crossings and the end
    agree.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    from geodomain.drillholes.crossing_files import crossings_file

    asked = hole_options.as_keywords(given)
    solids, surfaces = values.by_name(given.pop("solids")), values.by_name(given.pop("surfaces"))
    if not (solids or surfaces or given["domains"]):
        message = "nothing to cross: use --solid NAME=PATH, --surface NAME=PATH or --domains FILE"
        raise click.UsageError(message)
    if (solids or surfaces) and given["domains"]:
        message = "--domains lists solids and surfaces: give it, or --solid and --surface"
        raise click.UsageError(message)
    listed: Path | None = given.pop("domains")
    to_stdout = "-" in (given["output"], given["pierce"])
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        found = crossings_file(**asked, **given, solids=solids, surfaces=surfaces, domains=listed)
    written = given["output"] or given["pierce"]
    if as_json:
        print_json(found.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(found, err=bool(written))
