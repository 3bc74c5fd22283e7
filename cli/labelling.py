"""The command `geodomain label`: a block model in, the same with a domain column out."""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import options
from geodomain.cli.request import Request, read_request
from geodomain.cli.talk import Talk

if TYPE_CHECKING:
    from geodomain.label_table import ColumnPlan
    from geodomain.labeller import Labeller, Solid
    from geodomain.solids import Weld
    from geodomain.summary import Summary
    from geodomain.tables.files import Source, Target
    from geodomain.tables.layout import TableLayout

# The head is looked for in so many bytes.
_PEEK = 1 << 20


_EXAMPLE = """\b
Example:
  geodomain label blocks.csv --solid ORE=ore.stl --solid WASTE=waste.obj -o labelled.csv
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="BLOCKS.csv")
@click.option(
    "--solid",
    "solids",
    type=options.named_path,
    multiple=True,
    required=True,
    metavar="NAME=PATH",
    help="A closed wireframe and its label; the first one named wins, and a repeated NAME is a "
    "union. Without NAME= the file's stem.",
)
@click.option("-o", "--output", metavar="OUT.csv", help="Where to write; - is stdout.")
@click.option("--column", metavar="NAME", help="Name of the new column.  [default: domain]")
@click.option("--background", default="", metavar="LABEL", help="For blocks in no solid.")
@click.option("--unassigned", default="", metavar="LABEL", help="For blocks without coordinates.")
@click.option(
    "--leaky",
    metavar="LABEL",
    help="With --allow-open: for blocks above or below a hole, for which an open mesh has no "
    "answer, unless a solid named before it has them.  [default: as --unassigned]",
)
@click.option("--flags", is_flag=True, help="Add a column in_<name> of 0 and 1 for each solid.")
@options.table_options
@options.rule_options
@click.option("--allow-disjoint", is_flag=True, help="Accept that no solid meets the model.")
@click.option("--count-on-wall", is_flag=True, help="Count blocks exactly on a wall.")
@options.machine_options
@click.option("--overwrite", is_flag=True, help="Replace OUT.csv if it is there.")
@click.option(
    "--replace-column",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[NAME]",
    help="Rewrite the column NAME, or that of --column, where it stands.",
)
@click.option("--in-place", is_flag=True, help="Write to BLOCKS.csv itself.")
@click.option("--dry-run", is_flag=True, help="Label and report, and write nothing.")
@options.report_options
def label(**given: Any) -> None:
    """Label the blocks of BLOCKS.csv by the closed wireframes that contain them.

    The table comes back as it was, byte for byte, with one column more. BLOCKS.csv may be - for
    stdin, and may be compressed (.csv.gz). The summary goes to stderr.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 5 device, 130 interrupted.
    """
    request = read_request(given)
    # JSON on stderr holds the warnings itself, and must stay JSON.
    talk = Talk(request.quiet or (request.as_json and request.destination == "-"))
    with talk.listening():
        summary = _run(request, talk)
    _report(summary, request)


def _run(request: Request, talk: Talk) -> Summary:
    """Read the meshes and the head, label every row, and say what was found."""
    from geodomain.label_table import label_table
    from geodomain.summary import summarise
    from geodomain.tables.files import open_source

    began = time.perf_counter()
    _check_destination(request)
    solids, welds = _solids(request)
    labeller, plan = _labeller(request, solids), _plan(request)
    with open_source(request.blocks) as source:
        layout = _layout(request, source)
        with _target(request, source) as target, talk.progress() as progress:
            _, tally = label_table(
                source,
                target,
                layout,
                labeller,
                plan,
                name=source.name,
                allow_disjoint=request.allow_disjoint,
                threads=request.threads,
                progress=progress,
            )
    summary = summarise(
        labeller,
        tally,
        plan.labels,
        seconds=time.perf_counter() - began,
        columns=[column.name for column in plan.columns(solids)],
        output=request.destination,
        welds=welds,
    )
    for doubt in summary.warnings:
        talk.warn(doubt)
    return replace(summary, warnings=tuple(talk.said))


def _check_destination(request: Request) -> None:
    """Refuse, before there is any work, an output in no folder or over a wireframe."""
    from geodomain.errors import TableError

    if request.destination in (None, "-"):
        return
    place = Path(request.destination)
    options.require_folder(place)
    for _, path in request.solids:
        if place.exists() and Path(path).exists() and place.samefile(path):
            message = f"{place} is the wireframe {path}; name another output"
            raise TableError(message)


def _layout(request: Request, source: Source) -> TableLayout:
    """Work out what the head of the table means."""
    from geodomain.tables.layout import read_layout
    from geodomain.tables.options import TableOptions

    head, options = source.peek(_PEEK), TableOptions(**request.table)
    return read_layout(head, options, name=source.name, whole=len(head) < _PEEK)


def _target(request: Request, source: Source) -> AbstractContextManager[Target | None]:
    """Open what is written; a dry run has nothing."""
    from geodomain.tables.files import open_target

    if request.destination is None:
        return nullcontext()
    return open_target(
        request.destination,
        source=source,
        overwrite=request.overwrite,
        in_place=request.in_place,
    )


def _solids(request: Request) -> tuple[tuple[Solid, ...], tuple[Weld, ...]]:
    """Read all the meshes, and weld them if that was asked for."""
    from geodomain.solids import read_solids

    return read_solids(request.solids, weld=request.weld)


def _labeller(request: Request, solids: tuple[Solid, ...]) -> Labeller:
    """Make the solids ready to be asked."""
    from geodomain.labeller import Labeller

    return Labeller(
        solids,
        rule=request.rule,
        backend=request.backend,
        threads=request.threads,
        allow_open=request.allow_open,
        count_on_wall=request.count_on_wall,
    )


def _plan(request: Request) -> ColumnPlan:
    """Say which columns the table gets."""
    from geodomain.label_table import ColumnPlan
    from geodomain.summary import Labels

    leaky = request.unassigned if request.leaky is None else request.leaky
    return ColumnPlan(
        request.column,
        Labels(request.background, request.unassigned, leaky),
        flags=request.flags,
        replace=request.replace,
        encoding=request.table["encoding"],
    )


def _report(summary: Summary, request: Request) -> None:
    """Write the summary: for scripts to stdout, unless the data are there; to read to stderr."""
    from geodomain.summary import as_table

    if request.as_json:
        click.echo(json.dumps(summary.as_dict(), indent=2), err=request.destination == "-")
    elif not request.quiet:
        click.echo(as_table(summary), err=True)
