"""The command `geodomain inspect`: what is understood of a block model, before it is labelled."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import options
from geodomain.cli.request import table_of
from geodomain.cli.talk import Talk

if TYPE_CHECKING:
    from geodomain.inspection.report import Inspection

_EXAMPLE = """\b
Example:
  geodomain inspect blocks.csv ore.stl topography.ply
"""


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("blocks", metavar="BLOCKS")
@click.argument("meshes", nargs=-1, metavar="[MESH...]")
@options.domains_option
@options.table_options
@options.frame_options
@options.report_options
def inspect(
    blocks: str,
    meshes: tuple[str, ...],
    domains: Path | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Say what BLOCKS is: columns, sizes, lattice, rotation, extent, and how each MESH fits it.

    BLOCKS is a block model: text (- for stdin), Parquet or VTK. It is read once and nothing is
    written. Warnings say where axes seem to be exchanged or another datum is meant, and the last
    line what labelling takes, by what reading took here. With --domains the meshes of a list are
    compared too, and BLOCKS is to have the columns that its conditions are about.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    talk = Talk(quiet)
    with talk.listening():
        found = _inspect(blocks, meshes, domains, table_of(given), talk)
    if as_json:
        click.echo(json.dumps(found.as_dict(), indent=2))
    else:
        from geodomain.inspection.report import as_table

        click.echo(as_table(found))


def _inspect(
    blocks: str, meshes: tuple[str, ...], domains: Path | None, table: dict[str, Any], talk: Talk
) -> Inspection:
    """Read the meshes, pass over the blocks, and say what is doubtful."""
    from geodomain.blockfiles import open_model
    from geodomain.domain_file import read_domains
    from geodomain.inspection.report import inspect_model
    from geodomain.meshfiles import read_mesh
    from geodomain.ordering import Domains, condition_columns
    from geodomain.tables.options import TableOptions

    listed = Domains() if domains is None else read_domains(domains)
    read = [*map(read_mesh, meshes), *listed.meshes]
    with open_model(blocks, TableOptions(**table)) as model, talk.progress("reading") as progress:
        condition_columns(listed, model.columns, model.name)
        found = inspect_model(model, read, progress=progress)
    for doubt in found.warnings:
        talk.warn(doubt)
    return replace(found, warnings=tuple(talk.said))
