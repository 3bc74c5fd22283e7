"""The commands `flag`, `composite`, `contacts` and `holes`, and options for other commands."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodomain.cli import options
from geodomain.cli.console import Console, as_options, print_json, print_text
from geodomain.cli.help import Sectioned
from geodomain.cli.labelling import domains_of, grade_option, run_labelling
from geodomain.domains.defaults import LabelDefaults
from geodomain.drillholes.settings import HoleKeywords, HoleSettings
from geodomain.labelling.settings import LabelSettings
from geodomain.statistics.settings import ContactSettings
from geodomain.tables.settings import PlaceSettings, TableSettings

if TYPE_CHECKING:
    from geodomain.drillholes.drillholes import Drillholes


_NOT_FIT = 3
_SETTINGS = tuple(entry.name for entry in fields(HoleSettings))
_tables = (
    click.option(
        "--collar", metavar="FILE", help="Table of collars: hole, x, y, z, and the depth if known."
    ),
    click.option(
        "--survey", metavar="FILE", help="Table of survey stations: hole, depth, azimuth, dip."
    ),
)
_reading = options.settings_options(HoleSettings)

intervals_option = click.option(
    "--intervals",
    multiple=True,
    metavar="FILE",
    help="Samples or logs: hole, from, to. If the collar table has no depths, a hole ends at its "
    "largest TO. May be repeated.",
)


within_option = click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True),
    callback=options.finite,
    metavar="LENGTH",
    help="With --collar: draw the drillholes within LENGTH of a section, projected onto it.",
)


def sample_grade_option(condition: str) -> options.Decorator:
    """Make the option --sample-grade; `condition` says which other options it needs."""
    return options.sample_grade_option(
        f"{condition}: colour the samples along the drawn holes by this column of the first "
        "--intervals file."
    )


def samples_of(arguments: dict[str, Any]) -> str | None:
    """Return the table of samples to draw, or None without --sample-grade.

    Raises
    ------
    click.UsageError
        If --sample-grade is used without --collar and --intervals.
    """
    if arguments["sample_grade"] is None:
        return None
    if not arguments["collar"] or not arguments["intervals"]:
        message = (
            "--sample-grade colours samples along drillholes: also give --collar and --intervals"
        )
        raise click.UsageError(message)
    table: str = arguments["intervals"][0]
    return table


def min_length_option(what: str) -> options.Decorator:
    """Make the option --min-length with the help text `what`."""
    return click.option(
        "--min-length",
        type=click.FloatRange(min=0),
        callback=options.finite,
        metavar="LENGTH",
        help=what,
    )


def _between_option(
    metavar: str, what: str, *, required: bool = False, multiple: bool = False
) -> options.Decorator:
    """Make the option --between, a pair of names, with the help text `what`."""
    return click.option(
        "--between", nargs=2, metavar=metavar, help=what, required=required, multiple=multiple
    )


# For commands that also work without holes.
optional_holes = options.together(*_tables, _reading)
hole_options = options.together(*_tables, _reading, options.text_options, options.number_options)


def as_keywords(arguments: dict[str, Any]) -> dict[str, Any]:
    """Remove the drillhole options from `arguments`; return them as keywords of `Drillholes`."""
    require_collar(arguments)
    keywords = {
        name: arguments.pop(name) for name in ("collar", "survey", *HoleKeywords.__annotations__)
    }
    if "intervals" in arguments:
        keywords["intervals"] = list(arguments.pop("intervals"))
    return keywords


def refuse_without_collar(arguments: dict[str, Any]) -> None:
    """Remove the drillhole options from `arguments`; raise a usage error if the user typed one.

    Call this if there is no collar table: all of these options need one.
    """
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if name not in (*_SETTINGS, "survey", "intervals") or name not in arguments:
            continue
        del arguments[name]
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            message = f"{option.opts[0]} is for drillholes, and needs --collar FILE"
            raise click.UsageError(message)
    arguments.pop("collar")


def require_collar(arguments: dict[str, Any]) -> None:
    """Raise a usage error if there is no collar table."""
    if not arguments["collar"]:
        message = "no drillholes given: use --collar FILE, and --survey FILE"
        raise click.UsageError(message)


def read_optional(arguments: dict[str, Any]) -> Drillholes | None:
    """Remove the drillhole options from `arguments`; return the holes, or None without --collar."""
    from geodomain.drillholes.drillholes import Drillholes

    if not arguments["collar"]:
        refuse_without_collar(arguments)
        return None
    holes = Drillholes(**as_keywords(dict(arguments)))
    for name in ("collar", "survey", "intervals", *_SETTINGS):
        arguments.pop(name)
    return holes


# --- The commands `geodomain flag`, `composite` and `holes`.


_EXAMPLE = """\b
Example:
  geodomain flag assay.csv --collar collar.csv --survey survey.csv --domains domains.toml -o out.csv
"""
# Keywords of options that do not apply to intervals along holes, beside the settings that
# `flag_file` does not take.
_OF_POINTS = (
    "x", "y", "z", "dx", "dy", "dz", "rotation", "origin", "local_origin", "gslib_grid",
    "replace_column", "in_place", "record", "points_are_middles",
)  # fmt: skip
_SAMPLE_COLUMNS = {
    **{axis: f"Column of the sample's {axis}." for axis in "xyz"},
    **{
        f"d{axis}": f"If SAMPLES.csv is a table of blocks: column of the sizes in {axis}, or one "
        "size for all."
        for axis in "xyz"
    },
}


@click.command(cls=Sectioned, epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="SAMPLES.csv")
@optional_holes
@click.option(
    "--by",
    type=click.Choice(["middle", "majority"]),
    help="With --collar: flag each interval with the domain at its middle, or with the domain "
    "that contains most of its length (majority).  [default: middle]",
)
@click.option(
    "--split", is_flag=True, help="With --collar: split intervals wherever they cross a wireframe."
)
@min_length_option(
    "With --split: do not split off parts shorter than this; the summary gives their number.  "
    "[default: 0.001]"
)
@click.option(
    "--coordinates",
    is_flag=True,
    help="With --collar: add columns x, y, z with the middle of each interval.",
)
@options.domain_options
@options.output_option("OUT.csv", "File to write; - is stdout.")
@options.settings_options(
    LabelSettings, without=LabelDefaults, background="Label for samples outside every domain."
)
@options.settings_options(TableSettings, without=PlaceSettings, **_SAMPLE_COLUMNS)
@options.rotation_options
@options.devices_option
@options.replacing_options
@options.report_options
def flag(**arguments: Any) -> None:
    """Flag the samples of SAMPLES.csv with their domains.

    Samples are labelled by the same exact rule as blocks in `geodomain label`. So samples and
    blocks on a contact fall on the same side of the contact.

    With --collar, SAMPLES.csv is a table of intervals along drillholes: hole, from, to. It may be
    Parquet; the output is then Parquet too. It may also be a sheet of Excel (FILE.xlsx:SHEET); the
    output is then .xlsx or text. It may also be a table in a geoh5 workspace
    (FILE.geoh5:GROUP/TABLE); the output is then a copy of the workspace.

    Without --collar, each row needs the coordinates of the middle of the sample (SAMPLES.csv may
    then also be a table of blocks), and --rotation turns samples from a local grid into world
    coordinates. Rows without coordinates are counted, and get the label of --unassigned.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    if arguments["collar"]:
        _flag_intervals(arguments)
        return
    for name in ("by", "split", "min_length", "coordinates"):
        if arguments.pop(name) not in (None, False):
            message = f"--{name.replace('_', '-')} is for drillholes, and needs --collar FILE"
            raise click.UsageError(message)
    refuse_without_collar(arguments)
    run_labelling("flag", arguments)


def _flag_intervals(arguments: dict[str, Any]) -> None:
    """Run `geodomain flag` for intervals along drillholes."""
    from geodomain.drillholes.flag_files import FlagKeywords, flag_file

    settings = [entry.name for entry in fields(LabelSettings)]
    others = [name for name in settings if name not in FlagKeywords.__annotations__]
    for name in (*(name for name in others if name in arguments and name != "by"), *_OF_POINTS):
        if arguments.pop(name) not in (None, False):
            message = f"--{name.replace('_', '-')} is for points, and does not apply with --collar"
            if name == "flags":
                message += (
                    ": first flag the intervals with --coordinates, then flag the output again, "
                    "without --collar, with --flags, --points-are-middles and a new --column"
                )
            raise click.UsageError(message)
    if arguments["split"] and arguments["by"]:
        message = "--split and --by are different ways to flag an interval: give one of them"
        raise click.UsageError(message)
    by = "split" if arguments.pop("split") else arguments["by"] or "middle"
    least = arguments.pop("min_length")
    if least is not None and by != "split":
        message = "--min-length is for parts of intervals, and needs --split"
        raise click.UsageError(message)
    output, dry_run = arguments.pop("output"), arguments.pop("dry_run")
    if output is None and not dry_run:
        message = "no output given: use -o OUT.csv, or --dry-run"
        raise click.UsageError(message)
    as_json, quiet, samples = (
        arguments.pop("as_json"),
        arguments.pop("quiet"),
        arguments.pop("blocks"),
    )
    keywords = as_keywords(arguments)
    keywords |= arguments | {"by": by, "domains": domains_of(arguments)}
    keywords.pop("solids", None)
    console = Console(quiet or (as_json and output == "-"))
    with console.listening():
        flags = flag_file(
            samples,
            output=None if dry_run else output,
            min_length=0.001 if least is None else least,
            **keywords,
        )
    if as_json:
        print_json(flags.as_dict(), err=output == "-")
    elif not quiet:
        print_text(flags, err=True)


# --- The command `geodomain composite`: samples of drillholes over equal lengths within domains.

_COMPOSITE_EXAMPLE = """\b
Example:
  geodomain composite assay.csv --collar collar.csv --survey survey.csv --solid ORE=ore.stl \\
      --length 2 --grade AU --grade CU -o composites.csv
"""


@click.command(epilog=_COMPOSITE_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("samples", metavar="INTERVALS")
@hole_options
@options.solid_option("A closed wireframe and its label; a repeated NAME is a union.")
@options.list_option
@click.option(
    "--length",
    type=click.FloatRange(min=0, min_open=True),
    callback=options.finite,
    required=True,
    metavar="LENGTH",
    help="Length of a composite.",
)
@grade_option("A grade to average; means are weighted by length. May be repeated.")
@click.option(
    "--short",
    type=click.Choice(["keep", "merge", "drop"]),
    default="keep",
    show_default=True,
    help="What to do with the last composite in a domain if it is shorter than --min-length: "
    "keep it, merge it into the composite above, or drop it.",
)
@min_length_option(
    "Least length of the last composite in a domain: see --short.  [default: half of --length]"
)
@options.output_option("OUT.csv", "Where to write, .csv or .xlsx; - is stdout.")
@options.background_option("Label for samples outside every domain.")
@options.overwrite_option
@options.rule_options
@options.machine_options
@options.report_options
def composite(samples: str, as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Average the samples of INTERVALS into composites of equal length along the holes.

    Each composite lies within one domain. Lengths are measured from the point at which a hole
    enters a domain. The last composite ends where the hole leaves the domain. Means are weighted by
    length. Missing values are left out of a mean; the column after the mean states how much of the
    composite's length had no value. Negative values count, with a warning, unless
    --below-detection or --missing says what they mean. Samples that overlap are an error.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.drillholes.files import composite_file

    hole_keywords = as_keywords(arguments)
    domains = domains_of(arguments | {"codes": False})
    arguments = {
        name: value for name, value in arguments.items() if name not in ("solids", "domains")
    }
    if arguments["min_length"] is not None and arguments["min_length"] > arguments["length"]:
        message = "--min-length is longer than --length"
        raise click.UsageError(message)
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        composites = composite_file(samples, domains, **hole_keywords, **arguments)
    if as_json:
        print_json(composites.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(composites, err=bool(arguments["output"]))


# --- The command `geodomain contacts`: grades by distance from the walls between two labels.

_CONTACTS_EXAMPLE = """\b
Examples:
  geodomain contacts assay.csv --collar collar.csv --survey survey.csv --domains domains.toml \\
      --between ORE WASTE --grade AU --chart contact.svg
  geodomain contacts composites.csv --solid ORE=ore.stl --background WASTE \\
      --between ORE WASTE --grade AU --bin 5 --max 50 -o contact.csv
"""


@click.command(epilog=_CONTACTS_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("samples", metavar="SAMPLES")
@optional_holes
@options.solid_option("A closed wireframe and its label; a repeated NAME is a union.")
@options.list_option
@_between_option(
    "LABEL LABEL",
    "The two labels: names of domains or layers, or the label of --background.",
    required=True,
)
@grade_option("The grade to average; means are weighted by length.", single=True)
@options.settings_options(ContactSettings)
@options.settings_options(
    TableSettings,
    *("x", "y", "z", "points_are_middles"),
    x=_SAMPLE_COLUMNS["x"],
    y=_SAMPLE_COLUMNS["y"],
    z=_SAMPLE_COLUMNS["z"],
)
@options.text_options
@options.number_options
@options.output_option("OUT", "CSV, Parquet or .xlsx file of the classes of distance; - is stdout.")
@options.chart_option(
    "FILE", "Draw the means, their intervals and the numbers of samples as .svg, .png or .pdf."
)
@options.background_option("Label for samples outside every domain.")
@options.overwrite_option
@options.rule_options
@options.machine_options
@options.report_options
def contacts(samples: str, as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Average a grade by distance from the contact of two domains, on both sides.

    The contact is made of those parts of walls that have one label on one side and the other label
    on the other side. Labels follow the same rule as for blocks. Samples that are nearer to a wall
    with a third label than to the contact are counted, but not measured. With --collar, SAMPLES is
    a table of intervals along drillholes: hole, from, to. Otherwise each row needs the coordinates
    of the middle of the sample.

    The 95 % confidence intervals treat each hole, not each sample, as one observation, because
    samples of one hole resemble each other. The summary gives the step in grade at the contact: the
    mean difference between the two sides, from the holes that have samples on both sides. A
    confidence interval needs at least 5 holes.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.statistics.contacts import contacts_file

    options.require_settings(ContactSettings, arguments)
    domains = domains_of(arguments | {"codes": False})
    arguments = {
        name: value for name, value in arguments.items() if name not in ("solids", "domains")
    }
    if arguments["collar"]:
        for name in ("x", "y", "z", "points_are_middles"):
            if arguments.pop(name):
                message = (
                    f"--{name.replace('_', '-')} is for samples with coordinates, and does not "
                    "apply with --collar"
                )
                raise click.UsageError(message)
    else:
        if arguments["along"] == "hole":
            message = "--along hole measures along drillholes, and needs --collar FILE"
            raise click.UsageError(message)
        columns = arguments.pop("columns")  # it may name the column of the hole
        refuse_without_collar(arguments)
        arguments["columns"] = columns
    first, second = arguments["between"]
    if first == second:
        message = f"--between names {first!r} twice: give two different labels"
        raise click.UsageError(message)
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = contacts_file(samples, domains, **arguments)
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(result, err=to_stdout)


# --- The commands `geodomain holes ...`: crossings with solids and surfaces, and checks.

_HOLES_EXAMPLE = """\b
Example:
  geodomain holes crossings --collar collar.csv --survey survey.csv --solid ORE=ore.stl -o stays.csv
"""


_surface_option = click.option(
    "--surface",
    "surfaces",
    type=options.named_path,
    multiple=True,
    metavar="NAME=PATH",
    help="An open surface and its name.",
)


@click.group(epilog=_HOLES_EXAMPLE, context_settings=options.CONTEXT)
def holes() -> None:
    """Check drillholes, find where they cross wireframes, and make points for implicit models."""


@holes.command(
    short_help="Write where drillholes cross solids and surfaces.",
    epilog=_HOLES_EXAMPLE,
    context_settings=options.CONTEXT,
)
@hole_options
@intervals_option
@options.solid_option("A closed wireframe and its name; a repeated NAME is a union.")
@_surface_option
@options.list_option
@options.output_option(
    "OUT.csv", "File for the parts of holes inside solids, .csv or .xlsx; - is stdout."
)
@click.option(
    "--pierce",
    metavar="OUT.csv",
    help="File for the points where holes go through surfaces; - is stdout.",
)
@options.overwrite_option
@options.rule_options
@options.machine_options
@options.report_options
def crossings(as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Write where drillholes enter and leave solids, and where they go through surfaces.

    A row of OUT.csv (-o) is one stay: the part of a hole from where it enters a solid to where it
    leaves the solid. Columns are hole, domain, from, to, length, the points of entry and exit, and
    whether the hole begins or ends inside. A row of OUT.csv (--pierce) is one point where a hole
    goes through a surface. Between two stations, a hole is an arc. As a check, the summary counts
    the holes whose crossings fit their ends: if only one of collar and end is inside a solid, the
    number of crossings must be odd, otherwise even.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.drillholes.files import crossings_file

    hole_keywords = as_keywords(arguments)
    solids, surfaces = (
        options.by_name(arguments.pop("solids")),
        options.by_name(arguments.pop("surfaces")),
    )
    if not (solids or surfaces or arguments["domains"]):
        message = (
            "no wireframe is given for the holes to cross: use --solid NAME=PATH, --surface "
            "NAME=PATH or --domains FILE"
        )
        raise click.UsageError(message)
    _refuse_two_lists(solids, surfaces, arguments)
    listed: Path | None = arguments.pop("domains")
    to_stdout = "-" in (arguments["output"], arguments["pierce"])
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = crossings_file(
            **hole_keywords, **arguments, solids=solids, surfaces=surfaces, domains=listed
        )
    written = arguments["output"] or arguments["pierce"]
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(result, err=bool(written))


_POINTS_EXAMPLE = """\b
Examples:
  geodomain holes surface-points --collar collar.csv --survey survey.csv --intervals geology.csv \\
      --logged ROCK --for loopstructural -o points.csv
  geodomain holes surface-points --collar collar.csv --survey survey.csv --surface BASE=base.dxf \\
      --for gempy -o points.csv --orientations orientations.csv
"""


def _value_of(text: str) -> tuple[str, float]:
    """Read SURFACE=NUMBER, the value of the scalar field on a surface."""
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError:
        message = f"{text!r} is not SURFACE=NUMBER, such as BASE=0"
        raise click.BadParameter(message) from None


@holes.command(
    short_help="Write points and orientations for LoopStructural or GemPy.",
    epilog=_POINTS_EXAMPLE,
    context_settings=options.CONTEXT,
)
@hole_options
@intervals_option
@click.option(
    "--for",
    "target",
    type=click.Choice(["loopstructural", "gempy"]),
    required=True,
    help="The library that reads the files.",
)
@options.solid_option("A closed wireframe and its name; a repeated NAME is a union.")
@_surface_option
@options.list_option
@click.option(
    "--logged",
    metavar="COLUMN",
    help="Column of codes in an --intervals file, such as rock types. Each change of the code "
    "along a hole gives a point, without an orientation.",
)
@_between_option(
    "CODE CODE",
    "With --logged: only contacts of these two codes, in either order. May be repeated.",
    multiple=True,
)
@click.option(
    "--name-by",
    type=click.Choice(["base", "top", "pair"]),
    default="base",
    show_default=True,
    help="With --logged: name the surface by the code above it (base), by the code below it "
    "(top), or by both as ABOVE/BELOW (pair).",
)
@click.option(
    "--max-gap",
    type=click.FloatRange(min=0),
    callback=options.finite,
    default=0.0,
    metavar="LENGTH",
    help="With --logged: if the code changes across an unlogged gap of at most LENGTH, put a point "
    "in the middle of the gap.  [default: 0]",
)
@click.option(
    "--feature",
    metavar="NAME",
    help="For LoopStructural: one feature_name for all surfaces, with --value for each.  "
    "[default: each surface is a feature]",
)
@click.option(
    "--value",
    "values",
    type=_value_of,
    multiple=True,
    metavar="SURFACE=NUMBER",
    help="For LoopStructural: value of the scalar field on SURFACE. May be repeated.  [default: 0]",
)
@options.output_option("OUT.csv", "File for the points, .csv or .xlsx; - is stdout.")
@click.option(
    "--orientations",
    metavar="OUT.csv",
    help="For GemPy: file for the points that have an orientation; - is stdout.",
)
@options.overwrite_option
@options.rule_options
@options.machine_options
@options.report_options
def surface_points(as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Write the points where drillholes meet surfaces, for LoopStructural or GemPy.

    A point is where a hole goes through a surface or a wall of a solid, or where a logged code
    changes (--logged). At a wireframe, the orientation is the normal of the triangle: upwards for a
    surface, outwards for a solid. A logged contact has no orientation.

    OUT.csv (-o) has the columns X, Y, Z, feature_name, val, nx, ny, nz for LoopStructural, or X, Y,
    Z, formation for GemPy; in both, hole and depth follow. GemPy reads orientations from a second
    file (--orientations): X, Y, Z, G_x, G_y, G_z, formation, hole, depth.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    from geodomain.drillholes.files import surface_points_file
    from geodomain.drillholes.surface_points import check_contacts, check_target

    hole_keywords = as_keywords(arguments)
    solids, surfaces = (
        options.by_name(arguments.pop("solids")),
        options.by_name(arguments.pop("surfaces")),
    )
    if not (solids or surfaces or arguments["domains"] or arguments["logged"]):
        message = (
            "no surface is given: use --logged COLUMN, --surface NAME=PATH, --solid NAME=PATH or "
            "--domains FILE"
        )
        raise click.UsageError(message)
    _refuse_two_lists(solids, surfaces, arguments)
    values = dict(arguments.pop("values"))
    contacts = arguments["logged"], arguments["between"], arguments["name_by"], arguments["max_gap"]
    try:
        check_target(arguments["target"], arguments["feature"], values, arguments["orientations"])
        check_contacts(*contacts, wireframes=True)
    except ValueError as error:
        raise click.UsageError(as_options(str(error))) from None
    to_stdout = "-" in (arguments["output"], arguments["orientations"])
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = surface_points_file(
            **hole_keywords, **arguments, solids=solids, surfaces=surfaces, values=values
        )
    written = arguments["output"] or arguments["orientations"]
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(result, err=bool(written))


def _refuse_two_lists(
    solids: dict[str, list[str]], surfaces: dict[str, list[str]], arguments: dict[str, Any]
) -> None:
    """Raise a usage error if both --domains and single wireframes are given."""
    if (solids or surfaces) and arguments["domains"]:
        message = (
            "--domains already lists solids and surfaces: give either --domains, or --solid and "
            "--surface"
        )
        raise click.UsageError(message)


_CHECK_EXAMPLE = """\b
Example:
  geodomain holes check --collar collar.csv --survey survey.csv --intervals assay.csv -o table.csv
"""


@holes.command(
    short_help="Check the tables of drillholes, and list what is wrong.",
    epilog=_CHECK_EXAMPLE,
    context_settings=options.CONTEXT,
)
@hole_options
@intervals_option
@options.list_option
@grade_option(
    "A column of grades to check. May be repeated.  [default: each column that looks like grades]"
)
@click.option(
    "--twin",
    type=click.FloatRange(min=0),
    callback=options.finite,
    metavar="DISTANCE",
    help="Report holes that run beside another hole, at most DISTANCE away.  [default: a quarter "
    "of the usual distance between collars, but at most 5]",
)
@options.output_option(
    "TABLE", "Write a row for each case of a finding: .csv, .xlsx or .parquet; - is stdout."
)
@options.overwrite_option
@options.threads_option
@options.report_options
def check(as_json: bool, quiet: bool, **arguments: Any) -> None:
    """Check the tables of drillholes: what is wrong, where, and what to do about it.

    The command checks ids, collars, stations, intervals and grades. A finding is an error if a row
    or hole cannot be used, a warning if samples may have a wrong position or value, and a note if
    the rows may be right. For each table, the summary counts the rows that were read, used, and
    left out, with the reason. TABLE (-o) has a row for each case, hole by hole: severity, code,
    finding, table, hole, rows of the file, depths, value, and what to do.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data (with --strict, also any error or warning among
    the findings), 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.drillholes.files import check_holes_file

    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    keywords = as_keywords(arguments)
    with console.listening():
        result = check_holes_file(**keywords, **arguments, say=as_options)
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not quiet:
        print_text(result, err=to_stdout)
    if keywords["strict"] and not result.fit:
        raise SystemExit(_NOT_FIT)
