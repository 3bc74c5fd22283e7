"""The command `geodomain plot`: sections through a labelled block model, as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import options, places, values
from geodomain.cli.request import table_of
from geodomain.cli.talk import Talk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from geodomain.mesh import Mesh
    from geodomain.sections.cutting import Section

_EXAMPLE = """\b
Example:
  geodomain plot labelled.csv --section z=310 --domains domains.toml -o section.png
"""


def _section(value: str) -> Section:
    """Read AXIS=COORDINATE."""
    from geodomain.sections.cutting import parse_section

    try:
        return parse_section(value)
    except ValueError:
        message = f"{value!r} is not AXIS=COORDINATE, such as z=310"
        raise click.BadParameter(message) from None


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.argument("labelled", metavar="LABELLED")
@click.option(
    "--section",
    "sections",
    type=_section,
    multiple=True,
    metavar="AXIS=COORDINATE",
    help="Where to cut; may be repeated.  [default: across x, y and z through the middle of the "
    "labelled domains]",
)
@click.option(
    "--solid",
    "solids",
    type=values.named_path,
    multiple=True,
    metavar="NAME=PATH",
    help="A wireframe, closed or open, whose trace is drawn in the colour of the domain NAME.",
)
@click.option(
    "--domains",
    metavar="FILE.toml",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A list of domains whose wireframes are drawn instead, and whose background is ground.",
)
@click.option("--column", default="domain", show_default=True, help="The column of labels.")
@click.option(
    "--background",
    multiple=True,
    metavar="LABEL",
    help="A label that is ground and no domain; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="OUT.png",
    help="The picture; .svg and .pdf too.",
)
@click.option("--overwrite", is_flag=True, help="Replace OUT.png if it is there.")
@click.option(
    "--exaggerate",
    type=click.FloatRange(min=0, min_open=True),
    callback=values.finite,
    default=1.0,
    metavar="FACTOR",
    help="Draw z so many times longer than x and y, for flat deposits.  [default: 1]",
)
@options.table_options
@options.frame_options
@click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors.")
def plot(
    labelled: str,
    sections: tuple[Section, ...],
    solids: tuple[tuple[str, str], ...],
    domains: Path | None,
    column: str,
    background: tuple[str, ...],
    output: Path,
    overwrite: bool,
    exaggerate: float,
    quiet: bool,
    **given: Any,
) -> None:
    """Draw sections through LABELLED, a block model that `geodomain label` has given a column.

    Blocks are drawn by domain at their true sizes, sub-blocked and rotated ones too, with the
    traces of wireframes over them, all sections to one scale. Sections across x look west, those
    across y north.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    if labelled == "-":
        message = "the model is read twice: give a file, not -"
        raise click.UsageError(message)
    from geodomain.sections.drawing import draw, require_kind
    from geodomain.sections.gathering import gather
    from geodomain.tables.files import open_target
    from geodomain.tables.options import TableOptions

    if solids and domains:
        message = "--solid and --domains both list wireframes: give one of them"
        raise click.UsageError(message)
    places.require_folder(output)
    kind = require_kind(output)
    talk = Talk(quiet)
    with talk.listening(), open_target(output, overwrite=overwrite) as target:
        wireframes, ground = _wireframes(solids, domains)
        ground = (*background, *ground)
        table = TableOptions(**table_of(given))
        cuts = gather(labelled, table, column, sections, background=ground)
        picture = draw(cuts, wireframes, background=ground, kind=kind, exaggerate=exaggerate)
        target.write(memoryview(picture))


def _wireframes(
    solids: tuple[tuple[str, str], ...], domains: Path | None
) -> tuple[dict[str, Sequence[Mesh]], tuple[str, ...]]:
    """Read wireframes by the domains that they bound, and the label of the background."""
    from geodomain.meshfiles import read_mesh

    if domains is None:
        found: dict[str, list[Mesh]] = {}
        for name, path in solids:
            found.setdefault(name, []).append(read_mesh(path))
        return {**found}, ()
    from geodomain.domain_file import read_domains
    from geodomain.sections.gathering import wireframes_of

    listed = read_domains(domains)
    return wireframes_of(listed), (listed.background,) if listed.background else ()
