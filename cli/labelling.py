"""What `geodomain label` and `geodomain flag` share: options to arguments of `label_file`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from geodomain.cli.amounts import AMOUNTS, require_sense
from geodomain.cli.console import Console, print_json, print_text
from geodomain.cli.options import require_rotation
from geodomain.cli.values import by_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from geodomain.labelling.run_record import RunRecord
    from geodomain.labelling.summary import Summary
    from geodomain.volumes.tonnes_table import Tonnes


def run_labelling(command: str, given: dict[str, Any]) -> None:
    """Label a file as the options say, and print the summary."""
    from geodomain.datasets.parts import is_dataset
    from geodomain.labelling.run_record import RunRecord

    page = given.pop("report", None)
    run = RunRecord(command, dict(given), given.pop("record"), page=page)
    as_json, quiet = given.pop("as_json"), given.pop("quiet")
    require_rotation(given)
    amounts = {name: given.pop(name) for name in AMOUNTS if name in given}
    made = _columns(given) | _places(given) | {"domains": domains_of(given)}
    made["samples"] = command == "flag"
    asked = given | made  # what is left of the options goes by the same names
    if asked["leaky"] is not None and not asked["allow_open"]:
        _misuse("--leaky needs --allow-open: it labels rows at the holes of open meshes")
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
    from geodomain.labelling.file import label_file

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
    shares = [asked.pop(name) for name in ("proportions", "percent", "by", "lines")]
    if any(one is not None for one in shares):
        _misuse("--proportions and --by measure shares in one file, not in a dataset")
    asked["dataset"] = asked.pop("model")
    del asked["samples"]


def _require_page(page: Path | None, asked: dict[str, Any]) -> None:
    """Refuse a report of what is not written to a file."""
    if page is not None and asked["output"] in (None, "-"):
        _misuse("--report needs a labelled file: use -o OUT.csv or --in-place")


# What a table is read with, and what a report is asked with that a labelling is asked with too.
_TABLE = (
    *("x", "y", "z", "dx", "dy", "dz", "missing", "position", "rotation", "origin"),
    *("local_origin", "frame", "delimiter", "decimal", "encoding", "gslib_grid"),
    *("below_detection", "detection_limit"),
)
_SHARED = (*_TABLE, "points_are_middles", "column", "domains", "overwrite")


def _write_page(
    page: Path, asked: dict[str, Any], run: RunRecord, summary: Summary, *, progress: bool
) -> str:
    """Write the report, and say so."""
    from geodomain.report.file import report_file

    shared = {name: asked[name] for name in _SHARED if name in asked}
    record = run.as_dict(str(asked["model"]), summary)
    return str(report_file(asked["output"], page, record=record, progress=progress, **shared))


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
    return tonnes_file(
        asked["output"],
        domain=asked["column"],
        threads=asked["threads"],
        background=(background or None) if proportion else None,
        **(amounts | {"proportion": proportion} | table),
    )


def _columns(given: dict[str, Any]) -> dict[str, Any]:
    """Return the name of the column, and whether it is rewritten."""
    replace, column = given.pop("replace_column"), given.pop("column")
    if column == "":
        _misuse("--column needs a name")
    if replace and column and replace != column:
        _misuse("--replace-column and --column name different columns")
    for option in ("flags", "uncertain", "proportions"):
        if replace is not None and given.get(option):
            _misuse(
                f"--replace-column rewrites one column, and --{option} adds others: do without one "
                "of the two, or put the labels in a column of their own with --column"
            )
    return {"column": replace or column or "domain", "replace": replace is not None}


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
