"""The run that `geodomain label` and `geodomain flag` share: read, label, report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import places
from geodomain.cli.request import Request, read_request
from geodomain.cli.talk import Talk

if TYPE_CHECKING:
    from geodomain.blockfiles import Destination
    from geodomain.domain_sources import DomainSource
    from geodomain.label_table import ColumnPlan
    from geodomain.labeller import Labeller
    from geodomain.record import Run
    from geodomain.summary import Summary


def run_labelling(command: str, given: dict[str, Any]) -> None:
    """Do what the user asks, and say what came of it."""
    from geodomain.record import Run

    run = Run(command, dict(given))
    request = read_request(given)
    # JSON on stderr holds the warnings itself, and must stay JSON.
    talk = Talk(request.quiet or (request.as_json and request.destination == "-"))
    with talk.listening():
        summary = _label(request, run, talk)
    if request.record is not None:
        run.write(request.record, summary)
    _report(summary, request)


def _label(request: Request, run: Run, talk: Talk) -> Summary:
    """Read the meshes and the head, label every row, and say what was found."""
    from geodomain.blockfiles import open_model
    from geodomain.label_table import label_table
    from geodomain.summary import summarise
    from geodomain.tables.options import TableOptions

    _check_places(request)
    given = _domains(request)
    run.inputs.extend(given.files)
    places.refuse_inputs(_written(request), given.files)
    labeller, plan = _labeller(request, given), _plan(request, given)
    table = TableOptions(**request.table)
    with (
        open_model(request.blocks, table, digest=run.source) as model,
        talk.progress() as progress,
    ):
        tally = label_table(
            model,
            _destination(request, run),
            labeller,
            plan,
            allow_disjoint=request.allow_disjoint,
            threads=request.threads,
            progress=progress,
        )
    summary = summarise(
        labeller,
        tally,
        plan.labels,
        seconds=run.seconds,
        columns=[column.name for column in plan.columns(labeller.targets)],
        output=request.destination,
        welds=given.welds,
    )
    for doubt in summary.warnings:
        talk.warn(doubt)
    return replace(summary, warnings=tuple(talk.said))


def _check_places(request: Request) -> None:
    """Refuse, before there is any work, outputs of another kind or in no folder, or a record."""
    from geodomain.blockfiles import require_same_kind

    if request.destination is not None:
        require_same_kind(request.blocks, request.destination)
    if request.destination not in (None, "-"):
        places.require_folder(Path(request.destination))
    if request.record is None:
        return
    places.require_folder(request.record)
    if request.record.exists() and not request.overwrite:
        message = f"{request.record} is there already; name another record, or replace it"
        raise FileExistsError(message)


def _written(request: Request) -> list[Path]:
    """Give the files that are written: the labelled model, if it is one, and the record."""
    written = [] if request.destination in (None, "-") else [Path(request.destination)]
    return written + ([] if request.record is None else [request.record])


def _destination(request: Request, run: Run) -> Destination | None:
    """Say what is written; a dry run has nothing."""
    from geodomain.blockfiles import Destination

    if request.destination is None:
        return None
    return Destination(request.destination, request.overwrite, request.in_place, run.target)


def _domains(request: Request) -> DomainSource:
    """Read the domains and all the meshes, and weld them if that was asked for."""
    from geodomain.domain_sources import from_file, from_solids

    if request.domains is not None:
        return from_file(request.domains, weld=request.weld)
    return from_solids(request.solids, weld=request.weld)


def _labeller(request: Request, given: DomainSource) -> Labeller:
    """Make the domains ready to be asked."""
    from geodomain.labeller import Labeller

    return Labeller(
        given.domains,
        rule=request.rule,
        backend=request.backend,
        threads=request.threads,
        allow_open=request.allow_open,
        count_on_wall=request.count_on_wall,
    )


def _plan(request: Request, given: DomainSource) -> ColumnPlan:
    """Say which columns the table gets."""
    from geodomain.label_table import ColumnPlan
    from geodomain.labels import labels_of

    return ColumnPlan(
        request.column,
        labels_of(
            given.domains,
            codes=request.codes,
            background=request.background,
            unassigned=request.unassigned,
            leaky=request.leaky,
        ),
        flags=request.flags,
        replace=request.replace,
        codes=request.codes,
        uncertain=request.uncertain,
    )


def _report(summary: Summary, request: Request) -> None:
    """Write the summary: for scripts to stdout, unless the data are there; to read to stderr."""
    from geodomain.summary import as_table

    if request.as_json:
        click.echo(json.dumps(summary.as_dict(), indent=2), err=request.destination == "-")
    elif not request.quiet:
        click.echo(as_table(summary), err=True)
