"""The command `geodomain tonnes`: volume, tonnes, grade and metal of a labelled block model."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.labelling import amounts_options, require_sense

_EXAMPLE = """\b
Example:
  geodomain tonnes labelled.csv --density SG --grade AU --bench 10 --cutoff 0.5,1,2 -o tonnes.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@options.column_option("Label column.  [default: domain]")
@amounts_options(required=True)
@options.background_option("With --proportion: domain for the rest of each block.  [default: rest]")
@options.output_option("OUT.csv", "Table to write; - is stdout.")
@options.overwrite_option
@options.table_options
@options.box_options
@options.threads_option
@options.report_options
def tonnes(
    labelled: str,
    column: str | None,
    proportion: tuple[tuple[str, str], ...],
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Add up volume, tonnes, mean grades and metal of LABELLED by domain, bench and cut-off.

    LABELLED is a block model with sizes and a label column: text (- for stdin), Parquet or VTK.
    Tonnes are volume times density, metal is grade times tonnes, and means are weighted by
    tonnes. Missing densities and grades are reported, and do not count as zero.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.volumes.tonnes import tonnes_file

    options.require_table(given)
    require_sense(column, proportion, given["grade"], given["cutoff"], given["grade_unit"])
    if given["background"] is not None and not (proportion and given["background"]):
        message = "--background names the rest of each block that --proportion leaves"
        raise click.UsageError(message)
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = tonnes_file(
            labelled,
            column=column or "domain",
            proportion=dict(proportion),
            progress=console.on_terminal,
            **given,
        )
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not (quiet and given["output"]):
        print_text(result, err=bool(given["output"]))
