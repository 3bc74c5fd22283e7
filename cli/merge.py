"""The command `geodomain merge`: join sub-blocks into fewer blocks."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.subblock_options import columns_of, extensive_option, parent_option

_EXAMPLE = """\b
Example:
  geodomain merge sub.csv --extensive VOLUME,TONNES -o merged.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="SUB")
@options.output_option("MERGED.csv", "File to write; - is stdout.", required=True)
@parent_option("Column that says which blocks belong together.")
@extensive_option("Columns of amounts, such as VOLUME,TONNES, which are added up.")
@options.overwrite_option
@options.table_options
@options.box_options
@options.threads_option
@options.report_options
def merge(as_json: bool, quiet: bool, **given: Any) -> None:
    """Join neighbours in SUB that have the same parent and agree in all other columns.

    SUB is text (- for stdin), Parquet or .vtu with block sizes, such as 'geodomain subblock'
    writes; the blocks of a parent follow each other. Joined blocks fill what their parts filled,
    exactly. The number of blocks before and after goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.subblocks.merged_file import merge_file

    options.require_rotation(given)
    given["extensive"] = columns_of(given["extensive"])
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        found = merge_file(**given, progress=console.on_terminal)
    if as_json:
        print_json(found.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(found, err=True)
