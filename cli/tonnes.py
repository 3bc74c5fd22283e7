"""The command `geodomain tonnes`: volume, tonnes, grade and metal of a labelled block model."""

from __future__ import annotations

import math
from typing import Any

import click

from geodomain.cli import options, values
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.grades import density_option, grade_option

_EXAMPLE = """\b
Example:
  geodomain tonnes labelled.csv --density SG --grade AU --bench 10 --cutoff 0.5,1,2 -o tonnes.csv
"""


def _cutoff(value: str) -> list[float] | dict[str, list[float]]:
    """Read NAME=VALUE,... or VALUE,..."""
    name, equals, rest = value.rpartition("=")
    try:
        numbers = [float(one) for one in rest.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)) or bool(name) != bool(equals):
        message = f"{value!r} is not GRADE=VALUE,... such as AU=0.5,1,2"
        raise click.BadParameter(message)
    return {name: numbers} if name else numbers


def _share(value: str) -> tuple[str, str]:
    """Split NAME=COLUMN."""
    name, _, column = value.partition("=")
    if not name or not column:
        message = f"{value!r} is not NAME=COLUMN"
        raise click.BadParameter(message)
    return name, column


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@click.option("--domain", metavar="COLUMN", help="The column of labels.  [default: domain]")
@density_option("The column of densities, or one number for all blocks.", required=True)
@grade_option("A grade; may be repeated.")
@click.option(
    "--bench",
    type=click.FloatRange(min=0, min_open=True),
    callback=values.finite,
    metavar="HEIGHT",
    help="By benches at multiples of HEIGHT, each with its lower end; blocks are split by their "
    "overlap.",
)
@click.option(
    "--cutoff",
    type=_cutoff,
    metavar="[GRADE=]VALUE,...",
    help="At or above each of these grades too; with one grade VALUE,... will do.",
)
@click.option(
    "--proportion",
    type=_share,
    multiple=True,
    metavar="NAME=COLUMN",
    help="A domain, and the column of the part of each block, 0 to 1, that is its own, instead of "
    "labels; may be repeated.",
)
@options.output_option("OUT.csv", "Table to write; - is stdout.")
@options.overwrite_option
@options.table_options
@options.frame_options
@options.threads_option
@options.report_options
def tonnes(
    labelled: str,
    domain: str | None,
    proportion: tuple[tuple[str, str], ...],
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Add up volume, tonnes, mean grades and metal of LABELLED by domain, bench and cut-off.

    LABELLED is a block model with sizes and a column of labels: text (- for stdin), Parquet or
    VTK. Tonnes are volume times density, metal is grade times tonnes, and means are weighted by
    tonnes. Missing densities and grades are counted apart, not taken for zero.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.volumes.tonnes import tonnes_file

    options.require_rotation(given)
    _require_sense(domain, proportion, given)
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        found = tonnes_file(
            labelled,
            domain=domain or "domain",
            proportion=dict(proportion),
            progress=console.on_terminal,
            **given,
        )
    if as_json:
        print_json(found.as_dict(), err=to_stdout)
    elif not (quiet and given["output"]):
        print_text(found, err=bool(given["output"]))


def _require_sense(
    domain: str | None, proportion: tuple[tuple[str, str], ...], given: dict[str, Any]
) -> None:
    """Refuse options that contradict each other."""
    message, grades, cutoff = "", given["grade"], given["cutoff"]
    if domain and proportion:
        message = "--domain and --proportion both say what a block is: give one of them"
    elif len(dict(proportion)) < len(proportion):
        message = "--proportion names a domain twice"
    elif isinstance(cutoff, dict) and not cutoff.keys() <= set(grades):
        message = f"--cutoff is of {', '.join(cutoff)}, which is no --grade"
    elif isinstance(cutoff, list) and len(grades) != 1:
        message = "--cutoff must name a --grade where there is not just one: AU=0.5,1,2"
    if message:
        raise click.UsageError(message)
