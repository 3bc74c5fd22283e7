"""The commands `label` and `tonnes`, and options and functions that other commands also use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click
from click.core import ParameterSource

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.help import Sectioned
from geodomain.cli.options import Decorator, by_name, require_table, together
from geodomain.errors import GeodomainError
from geodomain.labelling.settings import DatasetKeywords, FileKeywords, LabelSettings
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    from collections.abc import Callable

    from geodomain.cli.options import Decorator
    from geodomain.labelling.files import RunRecord
    from geodomain.labelling.summary import Summary
    from geodomain.volumes.tonnes_report import Tonnes


# --- Options of densities and grades, shared by `geodomain tonnes`, `label` and `report`.


def density_option(what: str, *, required: bool = False) -> Decorator:
    """Make the option --density, with the help text `what`."""
    return click.option(
        "--density", type=_density, required=required, metavar="COLUMN|VALUE", help=what
    )


def density_unit_option() -> Decorator:
    """Make the option --density-unit."""
    return click.option(
        "--density-unit",
        type=click.Choice(["t/m3", "g/cm3", "lb/ft3", "t/ft3", "kg/m3"]),
        help="Unit of the densities. Its unit of volume must match the unit of the coordinates, "
        "such as t/m3 for metres. Tonnes are then metric, and unlikely densities give a warning.  "
        "[default: tonnes = volume x density, without conversion]",
    )


def classification_option() -> Decorator:
    """Make the option --classification."""
    return click.option(
        "--classification",
        metavar="COLUMN",
        help="Column of resource classes, such as Measured, Indicated and Inferred. The table then "
        "has rows for each class of a domain, and totals by class.",
    )


def grade_option(what: str, *, single: bool = False) -> Decorator:
    """Make the option --grade, with the help text `what`; a `single` grade is required."""
    return click.option(
        "--grade", multiple=not single, required=single, metavar="COLUMN", help=what
    )


def _density(value: str) -> str | float:
    """Return a density, which must be above 0, as a number; return the name of a column as text."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not 0 < number < math.inf:
        message = f"{value} is neither a number above 0 nor a column"
        raise click.BadParameter(message)
    return number


# --- Options for tonnes and grade, shared by `geodomain tonnes` and `geodomain label`.

AMOUNTS = (
    *("density", "grade", "bench", "cutoff", "proportion", "grade_unit", "density_unit"),
    "classification",
)


Cutoff = list[str] | dict[str, list[str]]


def _cutoff(value: str) -> Cutoff:
    """Parse GRADE=VALUE,... and return {GRADE: [text]}; parse VALUE,... and return [text]."""
    name, equals, rest = value.rpartition("=")
    try:
        numbers = [float(number) for number in rest.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)) or bool(name) != bool(equals):
        message = f"{value!r} is not GRADE=VALUE,... such as AU=0.5,1,2"
        raise click.BadParameter(message)
    # The library reads the text again, because a comma may be the file's decimal mark.
    return {name: [rest]} if name else [rest]


def _together(
    _context: click.Context, _option: click.Parameter, uses: Sequence[Cutoff]
) -> Cutoff | None:
    """Join the cut-offs of all uses of the option; refuse cut-offs for more than one grade."""
    named: dict[str, list[str]] = {}
    bare: list[str] = []
    for cutoff in uses:
        for name, numbers in cutoff.items() if isinstance(cutoff, dict) else [("", cutoff)]:
            (named.setdefault(name, []) if name else bare).extend(numbers)
    if named and (bare or len(named) > 1):
        names = ", ".join([*named, *(["no grade"] if bare else [])])
        message = f"cut-offs are given for {names}: give cut-offs for one grade only"
        raise click.BadParameter(message)
    return named or bare or None


def _share(value: str) -> tuple[str, str]:
    """Split NAME=COLUMN, the value of --proportion, into NAME and COLUMN."""
    name, _, column = value.partition("=")
    if not name or not column:
        message = f"{value!r} is not NAME=COLUMN"
        raise click.BadParameter(message)
    return name, column


def _unit(value: str) -> tuple[str, str]:
    """Split [GRADE=]UNIT into GRADE ("" if it is left out) and UNIT; refuse an unknown unit."""
    from geodomain.volumes.tonnage import metal_unit

    name, _, unit = value.rpartition("=")
    try:
        metal_unit(name or "the grade", unit)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return name, unit


def _units(
    _context: click.Context, _option: click.Parameter, uses: Sequence[tuple[str, str]]
) -> str | dict[str, str] | None:
    """Join the units of all uses of the option: a dict by grade, or a unit without a grade."""
    units = dict(uses)
    if len(units) < len(uses) or (len(units) > 1 and "" in units):
        message = "give each grade one unit, as GRADE=UNIT"
        raise click.BadParameter(message)
    return units.get("") or units or None


def bench_option(what: str) -> Decorator:
    """Make the option --bench, with the help text `what`."""
    return click.option(
        "--bench",
        type=click.FloatRange(min=0, min_open=True),
        callback=options.finite,
        metavar="HEIGHT",
        help=what,
    )


def cutoff_option(what: str = "") -> Decorator:
    """Make the option --cutoff; `what` replaces its help text."""
    return click.option(
        "--cutoff",
        type=_cutoff,
        multiple=True,
        callback=_together,
        metavar="[GRADE=]VALUE,...",
        help=what
        or "Also report tonnes and grade at or above each cut-off, such as AU=0.5,1,2. "
        "With a single --grade its name may be left out. Repeat --cutoff for more cut-offs of the "
        "same grade; a second grade cannot have cut-offs.",
    )


def grade_unit_option() -> Decorator:
    """Make the option --grade-unit."""
    return click.option(
        "--grade-unit",
        type=_unit,
        multiple=True,
        callback=_units,
        metavar="[GRADE=]UNIT",
        help="Unit of a grade: %, ppm, ppb, gpt (g/t), opt (troy ounces per short ton) or a "
        "mass per tonne, such as AU=g/t. Metal is then in t for %, g for ppm and gpt, mg for ppb, "
        "and troy ounces for opt. For any other mass per tonne it is in that mass, such as kg for "
        "kg/t. May be repeated.",
    )


def amounts_options(*, required: bool = False) -> Decorator:
    """Make the options for tonnes and grades; `required` makes --density a required option."""
    what = "Column of densities, or one number for all blocks."
    return together(
        density_option(
            what if required else f"{what} With this option, tonnes are added up.",
            required=required,
        ),
        density_unit_option(),
        grade_option("Column of a grade; may be repeated."),
        bench_option(
            "Report by bench as well. Benches are HEIGHT high and named by their base; blocks that "
            "straddle two benches are split in proportion."
        ),
        cutoff_option(),
        click.option(
            "--proportion",
            type=_share,
            multiple=True,
            metavar="NAME=COLUMN",
            help="Compute tonnes from fractions of blocks, not from labels. NAME is a domain, and "
            "COLUMN has the fraction of each block inside the domain, 0 to 1, such as "
            "ORE=prop_ore. May be repeated. The rest of each block counts as --background.",
        ),
        grade_unit_option(),
        classification_option(),
    )


def require_sense(
    column: str | None,
    proportion: Sequence[tuple[str, str]],
    grades: Sequence[str],
    cutoff: object,
    units: object,
) -> None:
    """Raise a usage error if the options for tonnes and grades contradict each other."""
    message = ""
    if column and proportion:
        message = "--column and --proportion both assign blocks to domains: give only one of them"
    elif len(dict(proportion)) < len(proportion):
        message = "--proportion names a domain twice: give each domain one column"
    elif isinstance(cutoff, dict) and not cutoff.keys() <= set(grades):
        message = f"--cutoff names {', '.join(cutoff)}, but there is no --grade with that name"
    elif isinstance(cutoff, list) and len(grades) != 1:
        message = (
            "--cutoff must name a grade, such as AU=0.5,1,2, unless there is exactly one --grade"
        )
    elif isinstance(units, dict) and not units.keys() <= set(grades):
        message = f"--grade-unit names {', '.join(units)}, but there is no --grade with that name"
    elif isinstance(units, str) and len(grades) != 1:
        message = (
            "--grade-unit must name a grade, such as AU=g/t, unless there is exactly one --grade"
        )
    if message:
        raise click.UsageError(message)


# --- Shared by `geodomain label` and `geodomain flag`: options to arguments of `label_file`.


def run_labelling(command: str, arguments: dict[str, Any]) -> None:
    """Run `geodomain label` or `flag` with the given options, and print the summary."""
    from geodomain.formats.blocks import holds_many_files
    from geodomain.labelling.files import RunRecord

    page = arguments.pop("report", None)
    run = RunRecord(command, dict(arguments), arguments.pop("record"), page=page)
    as_json, quiet = arguments.pop("as_json"), arguments.pop("quiet")
    require_table(arguments)
    amounts = {name: arguments.pop(name) for name in AMOUNTS if name in arguments}
    made = _columns(arguments) | _places(arguments) | {"domains": domains_of(arguments)}
    made["samples"] = command == "flag"
    keywords = arguments | made  # the remaining options have the names of keywords
    options.require_settings(LabelSettings, keywords)
    to_stdout = keywords["output"] == "-"
    in_parts = command == "label" and holds_many_files(keywords["model"])
    if in_parts:
        _require_of_dataset(page, keywords)
    else:
        for name in ("scheduler", "take_over"):
            if keywords.pop(name, None):
                option = name.replace("_", "-")
                _misuse(f"--{option} needs a dataset: a folder, or a pattern of files")
    _require_page(page, keywords)
    _require_amounts(amounts, keywords, in_parts=in_parts)
    # JSON on stderr contains the warnings itself and must stay valid JSON.
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        summary = _verb(in_parts)(**keywords, record=run, progress=console.on_terminal)
        if not as_json and not quiet:
            print_text(summary, err=True)
        tonnes = _add_up(amounts, keywords, summary.background.label)
        if as_json:
            added = {"tonnes": tonnes.as_dict()} if tonnes else {}
            print_json(summary.as_dict() | added, err=to_stdout)
        elif tonnes and not quiet:
            print_text(tonnes, err=True)
        # The model has been labelled and reported by now, even if its report fails.
        if page is not None:
            console.say(_write_page(page, keywords, run, summary, progress=console.on_terminal))


def _verb(in_parts: bool) -> Callable[..., Summary]:
    """Return the function that labels: `label_dataset` if `in_parts`, otherwise `label_file`."""
    if in_parts:
        from geodomain.datasets.labelling import label_dataset

        return label_dataset
    from geodomain.labelling.files import label_file

    return label_file


def _require_of_dataset(page: Path | None, keywords: dict[str, Any]) -> None:
    """Refuse options that only work for single files, and turn the other options into keywords.

    The keywords are those of `label_dataset`; `keywords` is changed in place.
    """
    if keywords["output"] is not None and keywords["output"] == keywords["model"]:
        _misuse(
            "--in-place works only for single files: for a dataset, give the output with -o OUT"
        )
    if page is not None:
        _misuse("--report works only for a single labelled file, not for a dataset")
    if keywords["output"] is None and keywords["scheduler"] is not None:
        _misuse("--scheduler lets workers write the files, so it needs -o OUT, not --dry-run")
    if keywords.pop("gslib_grid") is not None:
        _misuse(
            "--gslib-grid works only for a single GSLIB file; a dataset consists of Parquet or "
            "text files"
        )
    names = FileKeywords.__annotations__.keys() - DatasetKeywords.__annotations__.keys()
    if any([keywords.pop(name, None) not in (None, False) for name in names]):
        _misuse("--proportions and --by work only for single files, not for a dataset")
    keywords["dataset"] = keywords.pop("model")


def _require_page(page: Path | None, keywords: dict[str, Any]) -> None:
    """Refuse --report if no labelled file is written."""
    if page is not None and keywords["output"] in (None, "-"):
        _misuse("--report needs a labelled file: use -o OUT.csv or --in-place")


# Options for reading a table and for reports that a labelling also has.
_TABLE = tuple(TableKeywords.__annotations__)
_SHARED = (*_TABLE, "column", "domains", "overwrite")


def _write_page(
    page: Path, keywords: dict[str, Any], run: RunRecord, summary: Summary, *, progress: bool
) -> str:
    """Write the report of a labelled file, and return a message about the report.

    The message has no notes, because the summary already contains them.
    """
    from geodomain.formats.blocks import labelled_path
    from geodomain.reporting.report_file import report_file

    shared = {name: keywords[name] for name in _SHARED if name in keywords}
    record = run.as_dict(str(keywords["model"]), summary)
    labelled = labelled_path(str(keywords["model"]), keywords["output"])
    made = report_file(labelled, page, record=record, progress=progress, **shared)
    return str(replace(made, notes=()))


def _require_amounts(amounts: dict[str, Any], keywords: dict[str, Any], *, in_parts: bool) -> None:
    """Refuse options for tonnes without --density, or if no single labelled file is written."""
    if not any(amounts.values()):
        return
    if amounts["density"] is None:
        named = "--grade, --bench, --cutoff, --proportion, --grade-unit, --density-unit"
        _misuse(f"{named} and --classification need --density")
    if keywords.get("output") in (None, "-") or in_parts:
        _misuse("--density needs a single labelled file: use -o OUT.csv, or geodomain tonnes")
    require_sense(
        None, *(amounts[name] for name in ("proportion", "grade", "cutoff", "grade_unit"))
    )
    # Find mistakes before any work; only stdin cannot be read twice.
    if keywords["model"] != "-":
        from geodomain.volumes.tonnes import require_amounts

        table = {name: keywords[name] for name in _TABLE}
        require_amounts(
            keywords["model"],
            amounts["density"],
            amounts["grade"],
            amounts["cutoff"],
            amounts["classification"],
            **table,
        )


def _add_up(amounts: dict[str, Any], keywords: dict[str, Any], background: str) -> Tonnes | None:
    """Return the tonnes of the labelled file, or None without --density."""
    if amounts.get("density") is None:
        return None
    from geodomain.domains.sources import policy_of
    from geodomain.formats.blocks import labelled_path
    from geodomain.volumes.tonnes import tonnes_file

    table = {name: keywords[name] for name in _TABLE}
    table["below_detection"] = table["below_detection"] or policy_of(keywords["domains"])
    proportion = dict(amounts["proportion"])
    output = keywords["output"]
    try:
        return tonnes_file(
            labelled_path(str(keywords["model"]), output),
            column=keywords["column"],
            threads=keywords["threads"],
            background=(background or None) if proportion else None,
            **(amounts | {"proportion": proportion} | table),
        )
    except GeodomainError as error:  # such as text among the densities: the labels are right
        message = f"{output} was written with its labels, but tonnes could not be added up: {error}"
        raise GeodomainError(message) from error


def _columns(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return two keywords: `column`, the name of the label column, and `replace`.

    `replace` says whether an existing column of this name is replaced.
    """
    replace, column = arguments.pop("replace_column"), arguments.pop("column")
    source = click.get_current_context().get_parameter_source("column")
    if replace and source is not ParameterSource.DEFAULT and replace != column:
        _misuse("--replace-column and --column name different columns: give only one of them")
    return {"column": replace or column, "replace": replace is not None}


def domains_of(arguments: dict[str, Any]) -> Path | dict[str, list[str]]:
    """Return the path of the list of domains; with --solid, return the paths of solids by name.

    Raises
    ------
    click.UsageError
        If --solid and --domains are used together, or if neither is used. Also if --codes is used
        without --domains.
    """
    solids, listed = arguments.pop("solids"), arguments.pop("domains")
    if not solids and listed is None:
        _misuse("no domains given: use --solid NAME=PATH, or --domains FILE.toml")
    if solids and listed is not None:
        _misuse("--solid and --domains both list domains: give one of them")
    if arguments["codes"] and listed is None:
        _misuse("--codes needs --domains FILE.toml, because --solid has no codes")
    return listed or by_name(solids)


def _places(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the keywords `model` and `output`; for --in-place, also `overwrite`.

    Raises
    ------
    click.UsageError
        If there is no output, or more than one output. Also if stdin is to be rewritten in place.
    """
    blocks, output = arguments.pop("blocks"), arguments.pop("output")
    in_place, dry_run = arguments.pop("in_place"), arguments.pop("dry_run")
    if output is None and not (in_place or dry_run):
        _misuse("no output given: use -o OUT.csv, --in-place, or --dry-run")
    if output is not None and in_place:
        _misuse("--in-place writes to BLOCKS.csv, but -o to another file: give only one of them")
    if in_place and blocks == "-":
        _misuse("--in-place cannot rewrite stdin: name a file, or use -o OUT.csv")
    if dry_run:
        return {"model": blocks, "output": None}
    if in_place:
        return {"model": blocks, "output": blocks, "overwrite": True}
    _refuse_the_input(blocks, output)
    return {"model": blocks, "output": output}


def _refuse_the_input(blocks: str, output: str) -> None:
    """Refuse an output that is the input file, even with --overwrite; --in-place is for this."""
    from geodomain.errors import TableError
    from geodomain.formats.blocks import file_of

    model, target = file_of(blocks), file_of(output)
    if (
        "-" not in (blocks, output)
        and model.is_file()
        and target.exists()
        and model.samefile(target)
    ):
        message = (
            f"{output} is the input itself; name another output, or rewrite it with --in-place"
        )
        raise TableError(message)


def _misuse(message: str) -> NoReturn:
    """Raise a usage error, which gives exit code 2."""
    raise click.UsageError(message)


# --- The command `geodomain label`.


_LABEL_EXAMPLE = """\b
Example:
  geodomain label blocks.csv --solid ORE=ore.stl --solid WASTE=waste.obj -o labelled.csv
"""


@click.command(cls=Sectioned, epilog=_LABEL_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="BLOCKS")
@options.domain_options
@options.output_option("OUT.csv", "File to write; - is stdout.")
@options.settings_options(LabelSettings)
@options.table_options
@options.box_options
@amounts_options()
@options.devices_option
@options.scheduler_option
@options.take_over_option
@options.replacing_options
@options.labelled_page_option
@options.report_options
def label(**arguments: Any) -> None:
    """Label the blocks of BLOCKS by the wireframes that they are inside, above or below.

    Name closed wireframes with --solid, or list domains in a file: --domains domains.toml. The list
    may contain solids, surfaces and stacks, with conditions, codes and an order: see 'geodomain
    help domains'.

    BLOCKS is a text table (- for stdin, .csv.gz too), Parquet, a VTK data set, Datamine's .dm,
    GSLIB, OMF or geoh5 (FILE:NAME selects one of several models). The output has the same format: a
    text table keeps every byte and gains one column. A GOCAD Voxet becomes .csv, .parquet, .vtu,
    .omf or .geoh5.
    The summary goes to stderr. BLOCKS may also be a sheet of Excel, FILE.xlsx:SHEET. If BLOCKS
    is a sheet or text, OUT may be .xlsx or text.

    BLOCKS may also be a folder of Parquet or text files, or a pattern in quotes, such as
    'blocks/*.parquet'. Then -o is a folder for the labelled files. Both folders may be
    URLs, such as s3://bucket/blocks. To resume an interrupted run, repeat the command.

    With --density, the command reads the labelled file again and prints volume, tonnes, mean grades
    and metal by domain below the summary, like `geodomain tonnes`.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 5 device, 130
    interrupted.
    """
    run_labelling("label", arguments)


# --- The command `geodomain tonnes`.


_TONNES_EXAMPLE = """\b
Example:
  geodomain tonnes labelled.csv --density SG --grade AU --bench 10 --cutoff 0.5,1,2 -o tonnes.csv
"""


@click.command(epilog=_TONNES_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@options.column_option("Label column.  [default: domain]")
@amounts_options(required=True)
@options.background_option("With --proportion: domain for the rest of each block.  [default: rest]")
@options.output_option("OUT.csv", "Table to write, .csv or .xlsx; - is stdout.")
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
    **arguments: Any,
) -> None:
    """Add up volume, tonnes and metal of LABELLED by domain, class, bench and cut-off.

    LABELLED is a block model with sizes and a label column: text (- for stdin), Parquet or VTK.
    Tonnes are volume times density, metal is grade times tonnes, and means are weighted by
    tonnes. Missing densities and grades are reported, and do not count as zero.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file, 130 interrupted.
    """
    from geodomain.volumes.tonnes import tonnes_file

    options.require_table(arguments)
    require_sense(
        column, proportion, arguments["grade"], arguments["cutoff"], arguments["grade_unit"]
    )
    if arguments["background"] is not None and not (proportion and arguments["background"]):
        message = (
            "--background needs --proportion, and a name for the part of each block that is "
            "outside all domains of --proportion"
        )
        raise click.UsageError(message)
    to_stdout = arguments["output"] == "-"
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        result = tonnes_file(
            labelled,
            column=column or "domain",
            proportion=dict(proportion),
            progress=console.on_terminal,
            **arguments,
        )
    if as_json:
        print_json(result.as_dict(), err=to_stdout)
    elif not (quiet and arguments["output"]):
        print_text(result, err=bool(arguments["output"]))
