"""The commands `stats` and `validate`: statistics by domain, and blocks against samples."""

from __future__ import annotations

from typing import Any

import click

from geodomain.cli import options
from geodomain.cli.console import Console, as_options, print_json, print_text
from geodomain.cli.labelling import grade_option
from geodomain.statistics.settings import AUTO, NEAREST, StatsSettings, ValidateSettings

_EXAMPLE = """\b
Example:
  geodomain stats samples.csv --grade AU --column domain --sample-weight LENGTH --decluster auto \\
      --cap AU=20 -o stats.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("what", metavar="SAMPLES|BLOCKS")
@grade_option("Column of a grade; may be repeated.")
@options.column_option("Label column.  [default: domain, if there is such a column]")
@options.settings_options(StatsSettings)
@click.option(
    "--blocks",
    metavar="MODEL",
    help="Block model for --decluster nearest. Its columns are recognised by their names.",
)
@click.option(
    "--curve",
    metavar="OUT.csv",
    help="With --decluster auto: table of the sizes of cells that were tried, with their means.",
)
@options.output_option("OUT.csv", "Table to write, .csv, .xlsx or .parquet; - is stdout.")
@options.overwrite_option
@options.table_options
@options.box_options
@options.threads_option
@options.report_options
def stats(what: str, as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Compute quantiles, mean and variance of grades by domain, also declustered and top-cut.

    SAMPLES or BLOCKS is a table in any format that `geodomain label` reads; for samples, columns of
    hole, from and to are enough. Only --decluster uses coordinates. A row without a grade or a
    weight is left out of the statistics of that grade, and counted.

    A quantile such as P90 is the first value, in ascending order, whose cumulative weight reaches
    90 % of the total weight. The divisor of the variance is the total weight. Declustering is by
    cells (Journel, 1983), within each domain. Its weights multiply the weights of the rows, such as
    lengths. With --decluster nearest, the weight of a sample is the volume of the blocks of its
    domain that are nearest to it. With a cap, the table of top cuts shows the percentile of the
    cap, how many samples and holes it cuts, and the metal that it removes.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.statistics.by_domain import stats as compute

    options.require_table(arguments)
    options.require_settings(StatsSettings, arguments)
    _require_sense(arguments)
    to_stdout = "-" in (arguments["output"], arguments["curve"])
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = compute(what, progress=console.on_terminal, **arguments)
    written = arguments["output"] or arguments["curve"]
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not (quiet and written):
        print_text(result, err=bool(written))


def _require_sense(arguments: dict[str, Any]) -> None:
    """Raise a usage error if options contradict each other."""
    if not arguments["grade"]:
        message = "no grade given: use --grade COLUMN"
        raise click.UsageError(message)
    if arguments["curve"] is not None and arguments["decluster"] != AUTO:
        message = "--curve is the curve of --decluster auto: give both, or only --decluster"
        raise click.UsageError(message)
    if (arguments["blocks"] is not None) != (arguments["decluster"] == NEAREST):
        message = "--blocks is the model of --decluster nearest: give both or neither"
        raise click.UsageError(message)
    try:
        StatsSettings(cap=arguments["cap"]).caps(list(arguments["grade"]))
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None


# --- The command `geodomain validate`: blocks against samples.

_VALIDATE_EXAMPLE = """\b
Examples:
  geodomain validate blocks.csv --samples samples.csv --grade AU --chart validation.pdf
  geodomain validate blocks.csv --samples samples.csv --grade AU --sample-grade AU_PPM \\
      --swath x,z --step 25 -o means.csv
"""


@click.command(epilog=_VALIDATE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="BLOCKS")
@options.samples_option("Samples with coordinates, grades and domains.", required=True)
@grade_option("Column of the grade of the blocks.", single=True)
@options.sample_grade_option("Column of the grade of the samples.  [default: --grade]")
@options.column_option("Label column.  [default: domain, if there is such a column]")
@options.settings_options(ValidateSettings)
@options.chart_option(
    "FILE",
    "Draw probability plots, quantiles and swaths: .pdf with a page for each domain, .svg or .png.",
)
@options.output_option("OUT", "CSV, Parquet or .xlsx file of the means by domain; - is stdout.")
@click.option(
    "--quantile-table", metavar="OUT", help="CSV, Parquet or .xlsx file of the quantiles."
)
@click.option("--swath-table", metavar="OUT", help="CSV, Parquet or .xlsx file of the slices.")
@options.overwrite_option
@options.table_options
@options.box_options
@options.threads_option
@options.report_options
def validate(blocks: str, as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Compare the grades of blocks with those of declustered samples, domain by domain.

    BLOCKS is a block model in any format that `geodomain label` reads. SAMPLES is a table with
    coordinates, such as `geodomain flag --coordinates` writes. Rows without a grade, a weight or
    coordinates are left out, and counted. Options about columns and rotation are for BLOCKS; those
    about texts and missing values are for both tables.

    The table has means, their difference in percent, and the CV. Blocks are smoother than samples,
    because each averages over its volume: means should agree, but blocks have a smaller CV. The
    charts are probability plots, quantile-quantile plots and swath plots. A swath plot has the
    means in slices along an axis: x, y or z, or an axis of a rotated model. Bars below it show the
    number of samples and the volume of blocks in each slice.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.statistics.validation import validate as compute

    options.require_table(arguments)
    options.require_settings(ValidateSettings, arguments)
    tables = [arguments[name] for name in ("output", "quantile_table", "swath_table")]
    to_stdout = "-" in tables
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = compute(blocks, progress=console.on_terminal, **arguments)
    written = any(tables) or arguments["chart"] is not None
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not (quiet and written):
        print_text(result, err=to_stdout)
