"""The command `geodomain compare`: two labellings of one block model."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text

_EXAMPLE = """\b
Example:
  geodomain compare january.csv march.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.column_option("Column of the labels.", default="domain", show_default=True)
@click.option(
    "--new-column",
    metavar="NAME",
    help="Column of the labels in NEW, if it is called otherwise.  [default: as --column]",
)
@options.table_options
@options.frame_options
@options.report_options
def compare(old: str, new: str, as_json: bool, quiet: bool, **given: Any) -> None:
    """Compare the labels of OLD and NEW: blocks and volume moved from domain to domain.

    OLD and NEW are one block model, labelled twice, with its blocks in the same order: text,
    Parquet or any other kind of file that `geodomain label` reads. They may be the same file, with
    two columns of labels. The command writes nothing.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.inspection.comparison import compare_files

    options.require_rotation(given)
    if "-" in (old, new):
        message = "two models are compared: give files, not -"
        raise click.UsageError(message)
    console = Console(quiet)
    with console.listening():
        found = compare_files(old, new, progress=console.on_terminal, **given)
    if as_json:
        print_json(found.as_dict())
    else:
        print_text(found)
