"""Commands for models that change: `diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, as_options, print_json, print_text
from geodomain.cli.labelling import (
    cutoff_option,
    density_option,
    density_unit_option,
    grade_option,
    grade_unit_option,
    require_sense,
)
from geodomain.errors import GeodomainError
from geodomain.reporting.difference_settings import DiffSettings

_DIFF_EXAMPLE = """\b
Examples:
  geodomain diff january.csv march.csv --density SG --grade AU --report diff.html
  geodomain diff january.csv march.csv --domains january.toml --domains march.toml --density SG
  geodomain diff ore_january.stl ore_march.stl
  geodomain diff january.toml march.toml
"""


@click.command(epilog=_DIFF_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@options.domains_option(
    "List of domains; give it twice, first that of OLD and then that of NEW. Blocks are "
    "labelled by their centroids.  [default: compare the labels in OLD and NEW]",
    multiple=True,
)
@options.column_option("Label column.  [default: domain, if there is such a column]")
@density_option(
    "Column of densities, or one number for all blocks. With this option, tonnes are compared."
)
@density_unit_option()
@grade_option("Column of a grade; may be repeated.")
@cutoff_option()
@grade_unit_option()
@options.settings_options(DiffSettings)
@options.output_option("OUT", "Table to write, .csv, .parquet or .xlsx; - is stdout.")
@options.page_option("Page to write: the waterfall, the tables, and the changed blocks in 3D.")
@options.title_option("Title of the page.  [default: the names of OLD and NEW]")
@options.chart_option("FILE", "Draw the waterfall: .png, .svg or .pdf.")
@options.overwrite_option
@options.table_options
@options.box_options
@options.rule_options
@options.machine_options
@options.report_options
def diff(
    old: str, new: str, domains: tuple[Path, ...], as_json: bool, quiet: bool, **arguments: Any
) -> None:
    """Explain the difference of OLD and NEW: two block models, wireframes or lists of domains.

    For block models, the change of volume, tonnes, metal and grade in each domain is attributed to
    steps: extent of the models, wireframes, order of the domains, lattice of blocks, labels that
    the domains do not explain, density, and grade. Each step replaces one property of OLD by that
    of NEW. The changes of all steps add up to the difference exactly. The blocks of OLD and NEW may
    have other sizes and origins; sums are made over their common cells. Without --domains,
    wireframes, order and lattice are one step. 'geodomain compare' compares labels of the same
    blocks.

    For wireframes, the command reports the volume gained and lost, shell by shell, and the greatest
    distance. For lists of domains (.toml), it reports every change, and whether it changes labels.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.reporting.differences import diff as explain
    from geodomain.reporting.differences import require_request

    options.require_table(arguments)
    options.require_settings(DiffSettings, arguments)
    require_sense(
        arguments["column"], (), arguments["grade"], arguments["cutoff"], arguments["grade_unit"]
    )
    if len(domains) not in (0, 2):
        message = (
            "give --domains twice, first the list of OLD and then that of NEW; it may be the same "
            "file"
        )
        raise click.UsageError(message)
    if arguments["density"] is None and arguments["grade"]:
        message = "--grade needs --density: means and metal are weighted by tonnes"
        raise click.UsageError(message)
    try:
        require_request(old, new, domains=domains, **arguments)
    except GeodomainError:
        raise
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = explain(
            old, new, domains=domains or None, progress=console.on_terminal, **arguments
        )
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not (quiet and any(arguments[name] for name in ("output", "report", "chart"))):
        print_text(result, err=to_stdout)
