"""What the commands that label share: options of tonnes, and options as keywords of functions."""

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
from geodomain.cli.options import Decorator, by_name, require_table, together
from geodomain.errors import GeodomainError
from geodomain.labelling.settings import DatasetKeywords, FileKeywords, LabelSettings
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    from collections.abc import Callable

    from geodomain.cli.options import Decorator
    from geodomain.labelling.files import RunRecord
    from geodomain.labelling.summary import Summary
    from geodomain.volumes.tonnes_table import Tonnes


# --- The options of densities and grades that `geodomain tonnes`, `label` and `report` share.


def density_option(what: str, *, required: bool = False) -> Decorator:
    """Make the option for the density of blocks."""
    return click.option(
        "--density", type=_density, required=required, metavar="COLUMN|VALUE", help=what
    )


def density_unit_option() -> Decorator:
    """Make the option for the unit of densities."""
    return click.option(
        "--density-unit",
        type=click.Choice(["t/m3", "g/cm3", "lb/ft3", "t/ft3", "kg/m3"]),
        help="Unit of the densities, by the unit of the coordinates: tonnes are then of 1,000 kg, "
        "and densities that no rock has are warned of.  [default: volume times density, as it is]",
    )


def grade_option(what: str, name: str = "grade", *, multiple: bool = True) -> Decorator:
    """Make the option that names grades, or one; it goes by a name of its own where one is said."""
    return click.option("--grade", name, multiple=multiple, metavar="COLUMN", help=what)


def _density(value: str) -> str | float:
    """Read a number above zero; anything else is a column."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not 0 < number < math.inf:
        message = f"{value} is neither above zero nor a column"
        raise click.BadParameter(message)
    return number


# --- The options of `geodomain tonnes` for what is added up, which `geodomain label` takes too.

AMOUNTS = ("density", "grade", "bench", "cutoff", "proportion", "grade_unit", "density_unit")


Cutoff = list[str] | dict[str, list[str]]


def _cutoff(value: str) -> Cutoff:
    """Read NAME=VALUE,... or VALUE,..."""
    name, equals, rest = value.rpartition("=")
    try:
        numbers = [float(one) for one in rest.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)) or bool(name) != bool(equals):
        message = f"{value!r} is not GRADE=VALUE,... such as AU=0.5,1,2"
        raise click.BadParameter(message)
    # The library reads the text again: a comma may be the decimal mark of the file.
    return {name: [rest]} if name else [rest]


def _together(
    _context: click.Context, _option: click.Parameter, given: Sequence[Cutoff]
) -> Cutoff | None:
    """Join the cut-offs of an option that is repeated; the last one alone would be a loss."""
    named: dict[str, list[str]] = {}
    bare: list[str] = []
    for one in given:
        for name, numbers in one.items() if isinstance(one, dict) else [("", one)]:
            (named.setdefault(name, []) if name else bare).extend(numbers)
    if named and (bare or len(named) > 1):
        said = ", ".join([*named, *(["no grade"] if bare else [])])
        message = f"cut-offs of {said}: one grade is cut, so name it alone"
        raise click.BadParameter(message)
    return named or bare or None


def _share(value: str) -> tuple[str, str]:
    """Split NAME=COLUMN."""
    name, _, column = value.partition("=")
    if not name or not column:
        message = f"{value!r} is not NAME=COLUMN"
        raise click.BadParameter(message)
    return name, column


def _unit(value: str) -> tuple[str, str]:
    """Split GRADE=UNIT, or take a unit alone."""
    from geodomain.volumes.tonnage import metal_unit

    name, _, unit = value.rpartition("=")
    try:
        metal_unit(name or "the grade", unit)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return name, unit


def _units(
    _context: click.Context, _option: click.Parameter, given: Sequence[tuple[str, str]]
) -> str | dict[str, str] | None:
    """Join the units of an option that is repeated."""
    units = dict(given)
    if len(units) < len(given) or (len(units) > 1 and "" in units):
        message = "give each grade one unit, as GRADE=UNIT"
        raise click.BadParameter(message)
    return units.get("") or units or None


def amounts_options(*, required: bool = False) -> Decorator:
    """Make the options; without `required` nothing is added up where there is no density."""
    what = "The column of densities, or one number for all blocks."
    return together(
        density_option(what if required else f"Add up tonnes too. {what}", required=required),
        density_unit_option(),
        grade_option("A grade; may be repeated."),
        click.option(
            "--bench",
            type=click.FloatRange(min=0, min_open=True),
            callback=options.finite,
            metavar="HEIGHT",
            help="By benches at multiples of HEIGHT, each with its lower end; blocks are split by "
            "their overlap.",
        ),
        click.option(
            "--cutoff",
            type=_cutoff,
            multiple=True,
            callback=_together,
            metavar="[GRADE=]VALUE,...",
            help="At or above each of these grades too; with one grade VALUE,... will do. May be "
            "repeated for the same grade.",
        ),
        click.option(
            "--proportion",
            type=_share,
            multiple=True,
            metavar="NAME=COLUMN",
            help="A domain, and the column of the part of each block, 0 to 1, that is its own, "
            "instead of labels; may be repeated. The rest of each block is of --background.",
        ),
        click.option(
            "--grade-unit",
            type=_unit,
            multiple=True,
            callback=_units,
            metavar="[GRADE=]UNIT",
            help="Unit of a grade: %, ppm, ppb or a mass per tonne such as g/t. Its metal is then "
            "in t, g, mg or that mass, and says so. May be repeated.",
        ),
    )


def require_sense(
    domain: str | None,
    proportion: Sequence[tuple[str, str]],
    grades: Sequence[str],
    cutoff: object,
    units: object,
) -> None:
    """Refuse options that contradict each other."""
    message = ""
    if domain and proportion:
        message = "--domain and --proportion both say what a block is: give one of them"
    elif len(dict(proportion)) < len(proportion):
        message = "--proportion names a domain twice"
    elif isinstance(cutoff, dict) and not cutoff.keys() <= set(grades):
        message = f"--cutoff is of {', '.join(cutoff)}, which is no --grade"
    elif isinstance(cutoff, list) and len(grades) != 1:
        message = "--cutoff must name a --grade where there is not just one: AU=0.5,1,2"
    elif isinstance(units, dict) and not units.keys() <= set(grades):
        message = f"--grade-unit is of {', '.join(units)}, which is no --grade"
    elif isinstance(units, str) and len(grades) != 1:
        message = "--grade-unit must name a --grade where there is not just one: AU=g/t"
    if message:
        raise click.UsageError(message)


# --- What `geodomain label` and `geodomain flag` share: options to arguments of `label_file`.


def run_labelling(command: str, given: dict[str, Any]) -> None:
    """Label a file as the options say, and print the summary."""
    from geodomain.datasets.parts import is_dataset
    from geodomain.labelling.files import RunRecord

    page = given.pop("report", None)
    run = RunRecord(command, dict(given), given.pop("record"), page=page)
    as_json, quiet = given.pop("as_json"), given.pop("quiet")
    require_table(given)
    amounts = {name: given.pop(name) for name in AMOUNTS if name in given}
    made = _columns(given) | _places(given) | {"domains": domains_of(given)}
    made["samples"] = command == "flag"
    asked = given | made  # what is left of the options goes by the same names
    options.require_settings(LabelSettings, asked)
    to_stdout = asked["output"] == "-"
    in_parts = command == "label" and is_dataset(asked["model"])
    if in_parts:
        _require_of_dataset(page, asked)
    else:
        for name in ("scheduler", "take_over"):
            if asked.pop(name, None):
                option = name.replace("_", "-")
                _misuse(f"--{option} is for a dataset: a folder, or a pattern of files")
    _require_page(page, asked)
    _require_amounts(amounts, asked, in_parts=in_parts)
    # JSON on stderr holds the warnings itself, and must stay JSON.
    console = Console(quiet or (as_json and to_stdout))
    with console.listening():
        summary = _verb(in_parts)(**asked, record=run, progress=console.on_terminal)
        if not as_json and not quiet:
            print_text(summary, err=True)
        tonnes = _add_up(amounts, asked, summary.background.label)
        if as_json:
            added = {"tonnes": tonnes.as_dict()} if tonnes else {}
            print_json(summary.as_dict() | added, err=to_stdout)
        elif tonnes and not quiet:
            print_text(tonnes, err=True)
        # The model is labelled by now, and said to be, whatever becomes of its report.
        if page is not None:
            console.say(_write_page(page, asked, run, summary, progress=console.on_terminal))


def _verb(in_parts: bool) -> Callable[..., Summary]:
    """Return the function that labels a dataset, or a file."""
    if in_parts:
        from geodomain.datasets.labelling import label_dataset

        return label_dataset
    from geodomain.labelling.files import label_file

    return label_file


def _require_of_dataset(page: Path | None, asked: dict[str, Any]) -> None:
    """Refuse what is for one file alone, and name the arguments as for `label_dataset`."""
    if asked["output"] is not None and asked["output"] == asked["model"]:
        _misuse("--in-place rewrites one file; of a dataset name the output with -o OUT")
    if page is not None:
        _misuse("--report is of one labelled file, not of a dataset")
    if asked["output"] is None and asked["scheduler"] is not None:
        _misuse("--scheduler has workers write the files: it needs -o OUT, not --dry-run")
    if asked.pop("gslib_grid") is not None:
        _misuse("--gslib-grid is of one GSLIB file, and a dataset is of Parquet or text")
    names = FileKeywords.__annotations__.keys() - DatasetKeywords.__annotations__.keys()
    if any([asked.pop(name, None) not in (None, False) for name in names]):
        _misuse("--proportions and --by measure shares in one file, not in a dataset")
    asked["dataset"] = asked.pop("model")


def _require_page(page: Path | None, asked: dict[str, Any]) -> None:
    """Refuse a report of what is not written to a file."""
    if page is not None and asked["output"] in (None, "-"):
        _misuse("--report needs a labelled file: use -o OUT.csv or --in-place")


# What a table is read with, and what a report is asked with that a labelling is asked with too.
_TABLE = tuple(TableKeywords.__annotations__)
_SHARED = (*_TABLE, "column", "domains", "overwrite")


def _write_page(
    page: Path, asked: dict[str, Any], run: RunRecord, summary: Summary, *, progress: bool
) -> str:
    """Write the report, and say so; its notes are those of the labelling, which are printed."""
    from geodomain.reporting.report_file import report_file

    shared = {name: asked[name] for name in _SHARED if name in asked}
    record = run.as_dict(str(asked["model"]), summary)
    made = report_file(asked["output"], page, record=record, progress=progress, **shared)
    return str(replace(made, notes=()))


def _require_amounts(amounts: dict[str, Any], asked: dict[str, Any], *, in_parts: bool) -> None:
    """Refuse to add up without a density, or what is not written to one file."""
    if not any(amounts.values()):
        return
    if amounts["density"] is None:
        named = "--grade, --bench, --cutoff, --proportion, --grade-unit and --density-unit"
        _misuse(f"{named} add up tonnes: give --density")
    if asked.get("output") in (None, "-") or in_parts:
        _misuse("--density adds up one labelled file: use -o OUT.csv, or geodomain tonnes")
    require_sense(
        None, *(amounts[name] for name in ("proportion", "grade", "cutoff", "grade_unit"))
    )
    # A slip is found before there is any work; only stdin cannot be looked at twice.
    if asked["model"] != "-":
        from geodomain.volumes.tonnes import require_amounts

        table = {name: asked[name] for name in _TABLE}
        require_amounts(
            asked["model"], amounts["density"], amounts["grade"], amounts["cutoff"], **table
        )


def _add_up(amounts: dict[str, Any], asked: dict[str, Any], background: str) -> Tonnes | None:
    """Return the tonnes of the labelled file, if they are asked for."""
    if amounts.get("density") is None:
        return None
    from geodomain.domains.sources import policy_of
    from geodomain.volumes.tonnes import tonnes_file

    table = {name: asked[name] for name in _TABLE}
    table["below_detection"] = table["below_detection"] or policy_of(asked["domains"])
    proportion = dict(amounts["proportion"])
    output = asked["output"]
    try:
        return tonnes_file(
            output,
            domain=asked["column"],
            threads=asked["threads"],
            background=(background or None) if proportion else None,
            **(amounts | {"proportion": proportion} | table),
        )
    except GeodomainError as error:  # such as text among the densities: the labels are right
        message = f"{output} is written, with its labels, but its tonnes are not added up: {error}"
        raise GeodomainError(message) from error


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    """Return the name of the column, and whether it is rewritten."""
    replace, column = given.pop("replace_column"), given.pop("column")
    source = click.get_current_context().get_parameter_source("column")
    if replace and source is not ParameterSource.DEFAULT and replace != column:
        _misuse("--replace-column and --column name different columns")
    return {"column": replace or column, "replace": replace is not None}


def domains_of(given: dict[str, Any]) -> Path | dict[str, list[str]]:
    """Return the list of domains, or the solids by name; refuse none and both."""
    solids, listed = given.pop("solids"), given.pop("domains")
    if not solids and listed is None:
        _misuse("no domains given: use --solid NAME=PATH, or --domains FILE.toml")
    if solids and listed is not None:
        _misuse("--solid and --domains both list domains: give one of them")
    if given["codes"] and listed is None:
        _misuse("--codes writes the codes of --domains FILE.toml, which solids do not have")
    return listed or by_name(solids)


def _places(given: dict[str, Any]) -> dict[str, Any]:
    """Return the model and the output; refuse no output, two outputs, and stdin in place."""
    blocks, output = given.pop("blocks"), given.pop("output")
    in_place, dry_run = given.pop("in_place"), given.pop("dry_run")
    if output is None and not (in_place or dry_run):
        _misuse("no output given: use -o OUT.csv, --in-place, or --dry-run")
    if output is not None and in_place:
        _misuse("--in-place writes to BLOCKS.csv, and -o elsewhere: give one of them")
    if in_place and blocks == "-":
        _misuse("--in-place cannot rewrite stdin")
    if dry_run:
        return {"model": blocks, "output": None}
    if in_place:
        return {"model": blocks, "output": blocks, "overwrite": True}
    _refuse_the_input(blocks, output)
    return {"model": blocks, "output": output}


def _refuse_the_input(blocks: str, output: str) -> None:
    """Refuse to change a model in place unless --in-place says so; --overwrite is not enough."""
    from geodomain.errors import TableError

    one, other = Path(blocks), Path(output)
    if "-" not in (blocks, output) and one.is_file() and other.exists() and one.samefile(other):
        message = (
            f"{output} is the input itself; name another output, or rewrite it with --in-place"
        )
        raise TableError(message)


def _misuse(message: str) -> NoReturn:
    """End with exit code 2."""
    raise click.UsageError(message)
