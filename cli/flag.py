"""The command `geodomain flag`: samples or composites in, the same with a domain column out."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.labelling import run_labelling

_EXAMPLE = """\b
Example:
  geodomain flag samples.csv --x MIDX --y MIDY --z MIDZ --domains domains.toml -o flagged.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="POINTS.csv")
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
    """Flag the samples or composites of POINTS.csv with the domains that their points are in.

    As `geodomain label` does with blocks, by the same domains and the same exact rule, so that
    samples and blocks on a contact fall on the same side of it. Each row needs the coordinates of
    its middle; rows without them are counted and labelled as --unassigned says. Samples in a local
    grid are turned into the world by --rotation, as a rotated model is.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    run_labelling("flag", given)
