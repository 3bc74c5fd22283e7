"""The command `geodomain demo`: write a synthetic deposit, and label its blocks."""

from __future__ import annotations

import os
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from geodomain.cli import options
from geodomain.cli.console import Console, as_options

if TYPE_CHECKING:
    from geodomain.synthetic import Deposit


_EXAMPLE = """\b
Example:
  geodomain demo demo
"""


@click.command(
    short_help="Make a synthetic deposit and label it.",
    epilog=_EXAMPLE,
    context_settings=options.CONTEXT,
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@options.overwrite_option
@options.quiet_option
def demo(folder: Path, overwrite: bool, quiet: bool) -> None:
    """Write a synthetic gold deposit to DIR and label its block models.

    The deposit has folded ore lenses, an oxide zone, a waste dyke that cuts the ore, and a
    topography. DIR also gets two block models with grades, one regular and one sub-blocked, and
    tables of drillholes. Coordinates are large, as in the grid of a real mine, and in metres.
    """
    from geodomain import synthetic
    from geodomain.labelling.files import label_file
    from geodomain.synthetic import files

    files.require_free(folder, overwrite=overwrite)
    with files.all_or_none(folder):
        deposit = synthetic.deposit()
        domains = files.write_deposit(deposit, folder, overwrite=overwrite)
        console = Console(quiet)
        console.say(_contents(folder, deposit))
        for model, result in files.labelled_files(folder).items():
            console.say(f"\n{_command(model, domains, result)}\n")
            with console.listening():
                done = label_file(model, domains, result, background="WASTE", overwrite=True)
            console.say(as_options(str(done)))


def _command(model: Path, domains: dict[str, list[Path]], result: Path) -> str:
    """Return the `geodomain label` command that labels a model as the demo does."""
    solids = [f"--solid={name}={path}" for name, paths in domains.items() for path in paths]
    rest = ["--background=WASTE", "-o", str(result), "--overwrite"]
    return _command_line(["geodomain", "label", str(model), *solids, *rest])


def _command_line(words: list[str]) -> str:
    """Return a command line, quoted for the shell of this system."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _contents(folder: Path, deposit: Deposit) -> str:
    """Return a list of the files, with the number of triangles, blocks or rows in each."""
    from geodomain.synthetic import files

    meshes = [*deposit.solids.values(), deposit.topography]
    counts = [f"{len(mesh.triangles):9,} triangles" for mesh in meshes]
    counts += [f"{len(table):9,} blocks" for table in (deposit.regular, deposit.subblocked)]
    counts += [f"{len(deposit.drilling):9,} collars of drillholes"]
    counts += [f"{len(deposit.drilling.survey_csv().splitlines()) - 1:9,} survey stations"]
    counts += [f"{sum(map(len, deposit.drilling.grades)):9,} assays"]
    counts += [f"{len(tomllib.loads(files.DOMAIN_LIST)['domain']):9,} domains of blocks, in order"]
    lines = [f"  {name:16}{count}" for name, count in zip(files.file_names(), counts, strict=True)]
    title = f"A synthetic gold deposit, at mine coordinates in metres, in {folder}:"
    return "\n".join([title, *lines])
