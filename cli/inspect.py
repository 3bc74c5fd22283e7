"""The command `geodomain inspect`: describe a block model before labelling it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodomain.cli import hole_options, options
from geodomain.cli.console import Console, print_json, print_text

_EXAMPLE = """\b
Example:
  geodomain inspect blocks.csv ore.stl topography.ply
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="[BLOCKS]", required=False)
@click.argument("meshes", nargs=-1, metavar="[MESH...]")
@options.list_option
@hole_options.optional_holes
@hole_options.intervals_option
@options.table_options
@options.box_options
@options.report_options
def inspect(
    blocks: str | None,
    meshes: tuple[str, ...],
    domains: Path | None,
    as_json: bool,
    quiet: bool,
    **table: Any,
) -> None:
    """Describe BLOCKS: columns, sizes, lattice, rotation, extent, and how each MESH fits it.

    BLOCKS is a block model: text (- for stdin), Parquet or VTK. The command reads it once and
    writes nothing. Warnings report axes that seem to be exchanged, and coordinates that seem to use
    another datum. The last line estimates how long labelling takes. With --domains the command also
    compares the meshes of that list, and BLOCKS must have the columns that its conditions name.

    With --collar, and without BLOCKS, it describes drillholes: columns, the sign of dips, ends of
    holes, bends, and every row and hole that is odd or cannot be used.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    console = Console(quiet)
    with console.listening():
        if table["collar"]:
            _refuse_both(blocks)
            found = _report_holes(table)
        else:
            found = _report_blocks(blocks, meshes, domains, console, table)
    if as_json:
        print_json(found.as_dict())
    else:
        print_text(found)


def _refuse_both(blocks: str | None) -> None:
    """Refuse a block model beside holes."""
    if blocks is not None:
        message = f"--collar describes drillholes, and {blocks} is a block model: give one of them"
        raise click.UsageError(message)


def _report_holes(given: dict[str, Any]) -> Any:
    """Describe drillholes."""
    from geodomain.drillholes.drillholes import Drillholes

    asked = hole_options.as_keywords(given)
    return Drillholes(**asked).report


def _report_blocks(
    blocks: str | None,
    meshes: tuple[str, ...],
    domains: Path | None,
    console: Console,
    given: dict[str, Any],
) -> Any:
    """Describe a block model."""
    from geodomain.inspection.file import inspect_file

    if blocks is None:
        message = "nothing to describe: give BLOCKS, or --collar FILE for drillholes"
        raise click.UsageError(message)
    hole_options.refuse_without_collar(given)
    options.require_rotation(given)
    return inspect_file(blocks, meshes, domains, progress=console.on_terminal, **given)
