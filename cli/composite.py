"""The command `geodomain composite`: samples of drillholes over equal lengths within domains."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import hole_options, options, values
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.labelling import domains_of

_EXAMPLE = """\b
Example:
  geodomain composite assay.csv --collar collar.csv --survey survey.csv --solid ORE=ore.stl \\
      --length 2 --weight AU --weight CU -o composites.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("samples", metavar="INTERVALS")
@hole_options.hole_options
@options.solid_option("A closed wireframe and its label; a repeated NAME is a union.")
@options.list_option
@click.option(
    "--length",
    type=click.FloatRange(min=0, min_open=True),
    callback=values.finite,
    required=True,
    metavar="LENGTH",
    help="Length of a composite.",
)
@click.option(
    "--weight",
    "grade",
    multiple=True,
    metavar="GRADE",
    help="A column to average, weighted by length; may be repeated.",
)
@click.option(
    "--short",
    type=click.Choice(["keep", "merge", "drop"]),
    default="keep",
    show_default=True,
    help="What becomes of a last piece shorter than --min-length, where a hole leaves a domain: a "
    "composite of its own, part of the one before, or nothing.",
)
@hole_options.min_length_option("What is short.  [default: half of --length]")
@options.output_option("OUT.csv", "Where to write; - is stdout.")
@options.background_option("Label for what is in no domain.")
@options.overwrite_option
@options.rule_options
@options.machine_options
@options.report_options
def composite(samples: str, as_json: bool, quiet: bool, **given: Any) -> None:
    """Average the samples of INTERVALS over equal lengths along the holes, each within one domain.

    Composites begin where a hole enters a domain, and end where it leaves it. Means are weighted by
    length. Missing values are left out of them and their length is written beside each mean; so are
    negative values, with a warning. Samples that overlap are refused.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    from geodomain.drillholes.composite_files import composite_file

    asked = hole_options.as_keywords(given)
    domains = domains_of(given | {"codes": False})
    given = {name: value for name, value in given.items() if name not in ("solids", "domains")}
    if given["min_length"] is not None and given["min_length"] > given["length"]:
        message = "--min-length is longer than --length"
        raise click.UsageError(message)
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        found = composite_file(samples, domains, **asked, **given)
    if as_json:
        print_json(found.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(found, err=bool(given["output"]))
