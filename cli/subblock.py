"""The command `geodomain subblock`: split blocks at wireframes."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.labelling import domains_of
from geodomain.cli.subblock_options import columns_of, parent_option, scheme_options

_EXAMPLE = """\b
Example:
  geodomain subblock blocks.csv --solid ORE=ore.stl --scheme octree --min 2.5,2.5,1.25 -o sub.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="MODEL")
@options.solid_option("A closed wireframe and its label, as for 'geodomain label'.")
@options.list_option
@scheme_options
@options.output_option("OUT.csv", "File to write; - is stdout.", required=True)
@options.column_option("Name of the column of domains.  [default: domain]")
@parent_option("Name of the column of parents' rows.")
@options.background_option("Label for blocks outside every domain.")
@options.unassigned_option
@options.leaky_option
@options.overwrite_option
@options.table_options
@options.box_options
@options.rule_options
@options.disjoint_option
@options.machine_options
@options.report_options
def subblock(as_json: bool, quiet: bool, **given: Any) -> None:
    """Split the blocks of MODEL at wireframes, and label the sub-blocks.

    MODEL is text (- for stdin), Parquet or VTK with block sizes; the output has the same format
    (VTK: .vtu). A block is split while a wireframe enters it and it is larger than --min.
    Sub-blocks keep the other columns byte for byte, have coordinates and sizes of their own, and
    two columns more: the row of their parent, from 0, and their domain. The summary goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    from geodomain.subblocks.file import subblock_file

    options.require_rotation(given)
    _require_sense(given)
    given |= {
        "domains": domains_of(given | {"codes": False}),
        "extensive": columns_of(given["extensive"]),
        "column": given["column"] or "domain",
    }
    del given["solids"]
    to_stdout = given["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        found = subblock_file(**given, progress=console.on_terminal)
    if as_json:
        print_json(found.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(found, err=True)


def _require_sense(given: dict[str, Any]) -> None:
    """Raise a usage error for sizes and columns that cannot be."""
    from geodomain.cli.spelling import as_options
    from geodomain.subblocks.asked import resolution_of

    try:
        resolution_of(given["resolution"], given["minimum"])
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    if not given["parent"] or given["column"] == "":
        message = "--parent and --column need names"
        raise click.UsageError(message)
    if given["leaky"] is not None and not given["allow_open"]:
        message = "--leaky needs --allow-open: it labels rows at the holes of open meshes"
        raise click.UsageError(message)
