"""The commands `regularise`, `deplete` and `diff`, for models that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodomain.changes.difference_settings import DiffSettings
from geodomain.cli import options
from geodomain.cli.console import Console, as_options, print_json, print_text
from geodomain.cli.labelling import (
    bench_option,
    classification_option,
    cutoff_option,
    density_option,
    density_unit_option,
    grade_option,
    grade_unit_option,
    require_sense,
)
from geodomain.errors import GeodomainError
from geodomain.labelling.settings import LabelSettings
from geodomain.tables.settings import PlaceSettings

# --- The command `geodomain regularise`: a model in blocks of another lattice.

_REGULARISE_EXAMPLE = """\b
Example:
  geodomain regularise labelled.csv --size 20,20,10 --density SG --mean AU --share domain \\
      --cutoff AU=0.5,1 -o selective.csv
"""


def _weighted(value: str) -> tuple[str, str]:
    """Split COLUMN=WEIGHT, the value of --mean; the weight is "" if there is none."""
    column, _, weight = value.partition("=")
    if not column:
        message = f"{value!r} is not COLUMN or COLUMN=WEIGHT"
        raise click.BadParameter(message)
    return column, weight


@click.command(epilog=_REGULARISE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="MODEL")
@options.size_option("Size of the new blocks; one number means the same size in x, y and z.")
@options.count_option(
    "Number of new blocks along each axis, from --origin, which is then the lower corner of the "
    "new model. What lies outside is summed separately.  [default: enough to contain MODEL]"
)
@density_option("Column of densities, averaged by volume, or one number for all blocks.")
@click.option(
    "--mean",
    type=_weighted,
    multiple=True,
    metavar="COLUMN[=WEIGHT]",
    help="Average a column, such as a grade. WEIGHT is volume, tonnes (needs --density), or a "
    "column by which the volume is multiplied. May be repeated.  [default of WEIGHT: tonnes with "
    "--density, otherwise volume]",
)
@click.option(
    "--sum",
    multiple=True,
    metavar="COLUMN",
    help="Add up a column of amounts of whole blocks, such as tonnes. The amount of a block that "
    "is cut is divided among the new blocks by volume. May be repeated.",
)
@click.option(
    "--dominant",
    multiple=True,
    metavar="COLUMN",
    help="Give each new block the text with the largest volume in it; of texts with equal volumes, "
    "the first in alphabetical order. May be repeated.",
)
@click.option(
    "--share",
    multiple=True,
    metavar="COLUMN",
    help="For each label of a column, write the share of the new block with this label, as the "
    "column prop_<label>. May be repeated.",
)
@cutoff_option(
    "Also report dilution and ore loss at each cut-off, such as AU=0.5,1: the tonnes and metal "
    "that change sides. With a single --mean, the column may be left out."
)
@click.option(
    "--cutoff-table", metavar="OUT", help="CSV, Parquet or .xlsx file of dilution and ore loss."
)
@click.option(
    "--incomplete",
    type=click.Choice(["keep", "refuse"]),
    default="keep",
    show_default=True,
    help="What to do with blocks that lack a density, a value of --mean or --sum, or a weight. "
    "keep: leave them out of that mean or sum, and count them. refuse: end with an error.",
)
@options.output_option("OUT", "New model, such as .csv, .parquet, .vti or .omf.", required=True)
@options.overwrite_option
@options.table_options
@options.settings_options(
    PlaceSettings,
    origin="A corner of any new block; the others follow from it. With --rotation: world "
    "coordinates of the centre of the rotation, as for 'geodomain label'.  [default: the lower "
    "corner of MODEL]",
)
@options.threads_option
@options.report_options
def regularise(
    model: str, mean: tuple[tuple[str, str], ...], as_json: bool, quiet: bool, **arguments: Any
) -> None:
    """Move the values of MODEL to the blocks of another regular lattice: larger, smaller, shifted.

    MODEL is a regular or sub-blocked model with sizes, in any format that `geodomain label` reads.
    Each block is divided exactly among the new blocks that it overlaps, so volume, tonnes and
    metal are conserved. The new lattice has the axes of MODEL and, without --count, contains MODEL.
    --origin is a corner of any new block; with --rotation it is the centre of the rotation, as for
    `label`.

    The new model has the columns x, y, z, dx, dy and dz; filled, the share of the new block that
    lies in blocks of MODEL; and the columns that the options name. New blocks outside MODEL are
    left out.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.changes.regularising import NewLattice, Plan
    from geodomain.changes.regularising import regularise as compute

    options.require_table(arguments if arguments["rotation"] else arguments | {"origin": None})
    if len(dict(mean)) < len(mean):
        message = "--mean names a column twice: give each column one weight"
        raise click.UsageError(message)
    if arguments["cutoff_table"] is not None and arguments["cutoff"] is None:
        message = "--cutoff-table is the table of --cutoff: give both, or only --cutoff"
        raise click.UsageError(message)
    if model == "-":
        message = "MODEL is read several times: give a file, not -"
        raise click.UsageError(message)
    corner = None if arguments["rotation"] else arguments["origin"]
    planned = ("density", "sum", "dominant", "share", "cutoff", "incomplete")
    try:
        Plan.read(mean=dict(mean), **{name: arguments[name] for name in planned})
        NewLattice.read(arguments["size"], corner, arguments["count"])
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    console = Console(quiet)
    with console.listening():
        result = compute(model, mean=dict(mean), progress=console.on_terminal, **arguments)
    if as_json:
        print_json(result.as_dict())
    elif not quiet:
        print_text(result)


# --- The command `geodomain deplete`: what is mined by period, and what remains.

_DEPLETE_EXAMPLE = """\b
Example:
  geodomain deplete labelled.csv --initial topography.ply --mined 2026-01=pit_jan.ply \\
      --mined 2026-02=pit_feb.ply --mined 2026-02=stope_7.ply --density SG --grade AU -o left.csv
"""


@click.command(epilog=_DEPLETE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("model", metavar="MODEL")
@click.option(
    "--mined",
    type=options.named_path,
    shell_complete=options.named_paths,
    multiple=True,
    required=True,
    metavar="PERIOD=PATH",
    help="A period, and a wireframe of what is mined in it. A closed wireframe is a solid, such as "
    "a stope: its inside is mined. An open wireframe is a surface, such as the survey of a pit: "
    "everything above it is mined. Repeat it for each period and wireframe. Periods that are "
    "dates, such as 2026-01, are sorted; a date in another form is an error; other names keep the "
    "order of the options.",
)
@click.option(
    "--initial",
    multiple=True,
    metavar="PATH",
    help="The state before the first period: topography or an earlier survey, and voids. What is "
    "above these surfaces or inside these solids is not in situ. May be repeated.  [default: all "
    "of MODEL is in situ]",
)
@click.option(
    "--design",
    multiple=True,
    metavar="PATH",
    help="What was to be mined: solids, or surfaces with everything above them. The result then "
    "has overbreak and underbreak. May be repeated.",
)
@click.option(
    "--at",
    metavar="DATE",
    help="The last period: its name, or a date. Periods that end later are left out.",
)
@options.column_option("Label column.  [default: domain, if there is such a column]")
@options.solid_option(
    "A domain and its closed wireframe, such as ORE=ore.stl, in place of --column: a block then "
    "has its exact share in each domain. Where solids overlap, the first wins. May be repeated."
)
@options.background_option("With --solid: domain for the rest of the ground.  [default: rest]")
@density_option("Column of densities, or one number for all blocks.", required=True)
@density_unit_option()
@grade_option("Column of a grade; may be repeated.")
@bench_option(
    "Report by bench as well. Benches are HEIGHT high and named by their base; blocks that span "
    "several benches are cut at the levels between them, and each piece is measured."
)
@cutoff_option()
@grade_unit_option()
@classification_option()
@options.output_option("OUT", "Model to write, with the shares mined and remaining; - is stdout.")
@click.option(
    "--tonnes-table", metavar="OUT", help="CSV, Parquet or .xlsx file of the tonnes; - is stdout."
)
@options.overwrite_option
@options.table_options
@options.box_options
@options.settings_options(LabelSettings, "rule")
@options.machine_options
@options.report_options
def deplete(
    model: str, mined: tuple[tuple[str, str], ...], as_json: bool, quiet: bool, **arguments: Any
) -> None:
    """Add up what is mined from MODEL in each period, and what remains, by domain and bench.

    MODEL is a block model with sizes, in any format that `geodomain label` reads. Ground belongs to
    the first period that mines it. Shares of blocks are computed from the triangles; a warning
    counts the blocks that had to be sampled. Sums are exact: mined + remaining = in situ.

    The output has the format of MODEL and new columns: the share of the block that is mined in each
    period, such as mined_2026_01, and remaining, the share that is left. --initial adds the column
    in_situ, and --design adds overbreak and underbreak. The summary also has cut and fill between
    surfaces.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.changes.depletion import deplete as compute
    from geodomain.changes.mined_periods import periods_until, refuse_both

    options.require_table(arguments)
    require_sense(None, (), arguments["grade"], arguments["cutoff"], arguments["grade_unit"])
    periods: dict[str, list[str]] = {}
    for name, path in mined:
        if not name:
            message = f"--mined {path} names no period: write --mined 2026-01={path}"
            raise click.UsageError(message)
        periods.setdefault(name, []).append(path)
    arguments["domains"] = options.by_name(arguments.pop("solids"))
    try:
        periods_until(periods, arguments["at"])
        refuse_both(arguments["column"], arguments["domains"], arguments["background"])
    except GeodomainError:
        raise
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    outputs = arguments["output"], arguments["tonnes_table"]
    if outputs == ("-", "-"):
        message = "-o and --tonnes-table both write to stdout: name a file for one of them"
        raise click.UsageError(message)
    for name in ("initial", "design"):
        arguments[name] = [*arguments[name]]
    to_stdout = "-" in outputs
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = compute(model, periods, progress=console.on_terminal, **arguments)
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(result, err=to_stdout)


# --- The command `geodomain diff`: what changed between two models, and why.

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
    "List of domains; give the option twice, first for OLD and then for NEW. Blocks are "
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
    """Explain how OLD and NEW differ: two block models, wireframes or lists of domains.

    For block models, the change of volume, tonnes, metal and grade in each domain is attributed to
    steps: extent of the models, wireframes, order of the domains, lattice of blocks, labels that
    the domains do not explain, density, and grade. Each step replaces one property of OLD with
    that of NEW. The changes of all steps add up to the difference exactly. The blocks of OLD and
    NEW may differ in size and origin; sums are made over their common cells. Without --domains,
    wireframes, order and lattice are one step. 'geodomain compare' compares labels of the same
    blocks.

    For wireframes, the command reports the volume gained and lost, shell by shell, and the greatest
    distance. For lists of domains (.toml), it reports every change, and whether the change can
    alter labels.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.changes.differences import diff as explain
    from geodomain.changes.differences import require_request

    options.require_table(arguments)
    options.require_settings(DiffSettings, arguments)
    require_sense(
        arguments["column"], (), arguments["grade"], arguments["cutoff"], arguments["grade_unit"]
    )
    if len(domains) not in (0, 2):
        message = "give --domains twice, first for OLD and then for NEW; both may be the same file"
        raise click.UsageError(message)
    try:
        require_request(old, new, domains=domains, **arguments)
    except GeodomainError:
        raise
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    lists = (domains[0], domains[1]) if domains else None
    with console.listening():
        result = explain(old, new, domains=lists, progress=console.on_terminal, **arguments)
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not (quiet and any(arguments[name] for name in ("output", "report", "chart"))):
        print_text(result, err=to_stdout)
