"""The command `geodomain demo`: a synthetic deposit as files, and its blocks labelled."""

from __future__ import annotations

import os
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from geodomain.synthetic import Deposit


@click.command(short_help="Make a synthetic deposit and label it.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option("--overwrite", is_flag=True, help="Replace files of an earlier demo in DIR.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
def demo(folder: Path, overwrite: bool, quiet: bool) -> None:
    """Write a synthetic gold deposit to DIR and label its block models.

    Folded ore lenses, an oxide zone, a waste dyke that cuts the ore, the topography, and two
    block models with grades, one regular and one sub-blocked, all at mine coordinates.

    \b
    Example:
      geodomain demo demo
    """  # noqa: D301
    from geodomain import synthetic
    from geodomain.synthetic import files
    from geodomain.tables.atomic import refuse_to_replace

    models = (files.REGULAR, files.SUBBLOCKED)
    results = [folder / f"labelled_{model}" for model in models]
    made = [folder / name for name in files.file_names()]
    refuse_to_replace([*made, *results], overwrite=overwrite)
    deposit = synthetic.deposit()
    domains = files.write_deposit(deposit, folder)
    if not quiet:
        click.echo(_contents(folder, deposit), err=True)
    for model, result in zip(models, results, strict=True):
        _label(folder / model, domains, result, quiet)


def _label(model: Path, domains: dict[str, list[Path]], result: Path, quiet: bool) -> None:
    """Run `geodomain label` with the very arguments that are shown."""
    from geodomain.cli.label import label

    solids = [f"--solid={name}={path}" for name, paths in domains.items() for path in paths]
    arguments = [str(model), *solids, "--background=WASTE", "-o", str(result), "--overwrite"]
    if not quiet:
        click.echo(f"\n{_command_line(['geodomain', 'label', *arguments])}\n", err=True)
    quietly = ["--quiet"] if quiet else []
    label.main([*arguments, *quietly], prog_name="geodomain label", standalone_mode=False)


def _command_line(words: list[str]) -> str:
    """Quote a command for the shell of this system."""
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _contents(folder: Path, deposit: Deposit) -> str:
    """Say what was made."""
    from geodomain.synthetic import files

    meshes = [*deposit.solids.values(), deposit.topography]
    counts = [f"{len(mesh.triangles):9,} triangles" for mesh in meshes]
    counts += [f"{len(table):9,} blocks" for table in (deposit.regular, deposit.subblocked)]
    counts += [f"{len(tomllib.loads(files.DOMAIN_LIST)['domain']):9,} domains of blocks, in order"]
    lines = [f"  {name:16}{count}" for name, count in zip(files.file_names(), counts, strict=True)]
    title = f"A gold deposit that was never mined, at mine coordinates in metres, in {folder}:"
    return "\n".join([title, *lines])
