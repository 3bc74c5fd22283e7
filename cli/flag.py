"""The command `geodomain flag`: add a domain column to samples or intervals of drillholes."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import hole_options, options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.labelling import domains_of, run_labelling
from geodomain.cli.sectioned import Sectioned
from geodomain.cli.share_options import by_option

_EXAMPLE = """\b
Example:
  geodomain flag assay.csv --collar collar.csv --survey survey.csv --domains domains.toml -o out.csv
"""
# What has no meaning for intervals along holes, by its keyword.
_OF_POINTS = (
    "leaky", "flags", "uncertain", "x", "y", "z", "dx", "dy", "dz", "rotation", "origin",
    "local_origin", "gslib_grid", "count_on_wall", "replace_column", "in_place", "record",
    "points_are_middles",
)  # fmt: skip


@click.command(cls=Sectioned, epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="SAMPLES.csv")
@hole_options.optional_holes
@by_option(
    ["middle", "majority"],
    "With --collar: the domain of each interval's middle, or of its greatest length.  "
    "[default: middle]",
)
@click.option(
    "--split", is_flag=True, help="With --collar: split intervals wherever they cross a wall."
)
@hole_options.min_length_option(
    "With --split: parts that are shorter are counted, not split off.  [default: 0.001]"
)
@click.option(
    "--coordinates",
    is_flag=True,
    help="With --collar: add columns x, y, z of the middle of each interval.",
)
@options.domain_options
@options.output_options
@options.table_options
@options.rotation_options
@options.rule_options
@options.meeting_options
@options.machine_options
@options.replacing_options
@options.report_options
def flag(**given: Any) -> None:
    """Flag the samples of SAMPLES.csv with the domains that they are in.

    Samples get the same domains, by the same exact rule, as blocks get from `geodomain label`, so
    that samples and blocks on a contact fall on the same side of it.

    With --collar SAMPLES.csv is a table of intervals along drillholes: hole, from, to. The samples
    may be Parquet, and so is the output then. Without --collar
    each row needs the coordinates of its middle, and --rotation turns samples from a local grid
    into world coordinates. Rows without a place are counted and labelled as --unassigned says.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    if given["collar"]:
        _flag_intervals(given)
        return
    for name in ("by", "split", "min_length", "coordinates"):
        if given.pop(name) not in (None, False):
            message = f"--{name.replace('_', '-')} is about drillholes, and needs --collar FILE"
            raise click.UsageError(message)
    hole_options.refuse_without_collar(given)
    run_labelling("flag", given)


def _flag_intervals(given: dict[str, Any]) -> None:
    """Flag intervals along drillholes."""
    from geodomain.drillholes.flag_files import flag_file

    for name in _OF_POINTS:
        if given.pop(name) not in (None, False):
            message = f"--{name.replace('_', '-')} is about points, and not with --collar"
            raise click.UsageError(message)
    if given["split"] and given["by"]:
        message = "--split and --by are different ways to flag an interval: give one of them"
        raise click.UsageError(message)
    by = "split" if given.pop("split") else given["by"] or "middle"
    least = given.pop("min_length")
    if least is not None and by != "split":
        message = "--min-length is about parts of intervals, and needs --split"
        raise click.UsageError(message)
    output, dry_run = given.pop("output"), given.pop("dry_run")
    if output is None and not dry_run:
        message = "no output given: use -o OUT.csv, or --dry-run"
        raise click.UsageError(message)
    as_json, quiet, samples = given.pop("as_json"), given.pop("quiet"), given.pop("blocks")
    asked = hole_options.as_keywords(given)
    asked |= given | {"by": by, "domains": domains_of(given), "column": given["column"] or "domain"}
    asked.pop("solids", None)
    console = Console(quiet or (as_json and output == "-"))
    with console.listening():
        found = flag_file(
            samples,
            output=None if dry_run else output,
            min_length=0.001 if least is None else least,
            **asked,
        )
    if as_json:
        print_json(found.as_dict(), err=output == "-")
    elif not quiet:
        print_text(found, err=True)
