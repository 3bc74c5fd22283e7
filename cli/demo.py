"""The command `geodomain demo`: write a synthetic deposit, label its blocks, and report."""

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


_TITLE = "A deposit that was never mined"
_WITHIN = 25.0  # metres between a section and the holes drawn on it: half the spacing of holes

_EXAMPLE = """\b
Example:
  geodomain demo demo
"""


@click.command(
    short_help="Make a synthetic deposit, label it, and report.",
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
    tables of drillholes. Coordinates are large, as in the grid of a real mine, and in metres. At
    the end, DIR/report.html shows the labelled model, tonnes and drillholes, and a page for each
    domain.
    """
    from geodomain import synthetic
    from geodomain.drillholes.drillholes import Drillholes
    from geodomain.labelling.files import label_file
    from geodomain.reporting.report_file import report_file
    from geodomain.synthetic import files

    files.require_free(folder, overwrite=overwrite)
    with files.all_or_none(folder):
        deposit = synthetic.deposit()
        domains = files.write_deposit(deposit, folder, overwrite=overwrite)
        console = Console(quiet)
        console.say(_contents(folder, deposit))
        solids = [f"--solid={name}={path}" for name, paths in domains.items() for path in paths]
        for model, result in files.labelled_files(folder).items():
            record = folder / files.RECORD if model.name == files.REGULAR else None
            record_words = ["--record", str(record)] if record else []
            words = ["--background=WASTE", *record_words, "-o", str(result), "--overwrite"]
            console.say(f"\n{_command_line(['geodomain', 'label', str(model), *solids, *words])}\n")
            with console.listening():
                done = label_file(
                    model, domains, result, background="WASTE", record=record, overwrite=True
                )
            console.say(as_options(str(done)))
        console.say(f"\n{_command_line(_report_command(folder, solids))}\n")
        collar, survey, assay, record, report = (
            folder / name
            for name in (files.COLLAR, files.SURVEY, files.ASSAY, files.RECORD, files.REPORT)
        )
        with console.listening():
            page = report_file(
                folder / f"labelled_{files.REGULAR}",
                report,
                domains=domains,
                record=record,
                holes=Drillholes(collar, survey, assay),
                samples=assay,
                sample_grade="AU",
                within=_WITHIN,
                density="DENSITY",
                density_unit="t/m3",
                grade="AU",
                grade_unit="g/t",
                cutoff="0.5,1,2",
                title=_TITLE,
                overwrite=True,
            )
        console.say(as_options(str(page)))


def _report_command(folder: Path, solids: list[str]) -> list[str]:
    """Return the words of the `geodomain report` command that writes the demo's report."""
    from geodomain.synthetic import files

    words = ["geodomain", "report", str(folder / f"labelled_{files.REGULAR}"), *solids]
    named = {
        "--record": files.RECORD,
        "--collar": files.COLLAR,
        "--survey": files.SURVEY,
        "--intervals": files.ASSAY,
    }
    words += [word for name, file in named.items() for word in (name, str(folder / file))]
    words += ["--sample-grade=AU", f"--within={_WITHIN:g}", "--density=DENSITY"]
    words += ["--density-unit=t/m3", "--grade=AU", "--grade-unit=g/t", "--cutoff=0.5,1,2"]
    words += [f"--title={_TITLE}"]
    return [*words, "-o", str(folder / files.REPORT), "--overwrite"]


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
