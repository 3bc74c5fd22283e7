"""The command `solids`: unite, intersect, subtract, clip, extrude, repair and split solids."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from geodomain.cli import options
from geodomain.cli.console import Console, message_of, print_error, print_json, print_text
from geodomain.errors import GeodomainError, MeshError, counted
from geodomain.solids.settings import SolidSettings

if TYPE_CHECKING:
    from geodomain.solids.results import SolidResult
    from geodomain.solids.settings import MendKeywords, SolidKeywords

    class SolidOptions(SolidKeywords):
        """Options of all subcommands that write a solid."""

        output: Path
        overwrite: bool
        as_json: bool
        quiet: bool


_NOT_REPAIRED = 3
_EXAMPLE = """\b
Example:
  geodomain solids subtract ore.ply dyke.ply -o ore_without_dyke.ply
"""
_settings = options.settings_options(SolidSettings)
_writing = options.together(
    options.output_option("OUT", "Solid to write.", type=click.Path(path_type=Path), required=True),
    options.overwrite_option,
    _settings,
    options.report_options,
)
_solids = click.argument("solids", nargs=-1, required=True, metavar="SOLID...")


@click.group(epilog=_EXAMPLE, context_settings=options.CONTEXT)
def solids() -> None:
    """Unite, intersect, subtract, clip, extrude, repair and split solids.

    SOLID is any wireframe file, or FILE:NAME for one solid of a file. Vertices that an operation
    does not touch are unchanged, bit for bit. Inputs are mended first if the right change is
    certain, and each change is listed. Each result is proved: 100,000 random points must get the
    same labels from the result as from the rule applied to the inputs. If a label differs away from
    the walls, nothing is written.
    Needs geodomain[solids].
    """


def _subcommand(name: str, *decorators: options.Decorator, example: str) -> options.Decorator:
    """Return a decorator that adds a subcommand with options and an example."""

    def add(function: Callable[..., None]) -> click.Command:
        command = options.together(*decorators)(function)
        epilog = f"\b\nExample:\n  geodomain solids {example}\n"
        return solids.command(name, epilog=epilog, context_settings=options.CONTEXT)(command)

    return add


@_subcommand("union", _solids, _writing, example="union north.ply south.ply -o ore.ply")
def union(solids: tuple[str, ...], **arguments: Unpack[SolidOptions]) -> None:
    """Write the space inside at least one SOLID.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    _write("union", solids, arguments)


@_subcommand("intersect", _solids, _writing, example="intersect ore.ply pit.ply -o mined.ply")
def intersect(solids: tuple[str, ...], **arguments: Unpack[SolidOptions]) -> None:
    """Write the space inside every SOLID.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    _require_several(solids)
    _write("intersect", solids, arguments)


@_subcommand("subtract", _solids, _writing, example="subtract ore.ply dyke.ply -o rest.ply")
def subtract(solids: tuple[str, ...], **arguments: Unpack[SolidOptions]) -> None:
    """Write the space inside the first SOLID and outside all the others.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    _require_several(solids)
    _write("subtract", solids, arguments)


def _require_several(solids: tuple[str, ...]) -> None:
    if len(solids) < 2:
        message = "give at least two solids"
        raise click.UsageError(message)


@_subcommand(
    "clip",
    click.argument("solid", metavar="SOLID"),
    click.option(
        "--above", multiple=True, metavar="SURFACE",
        help="Keep the part above SURFACE, an open mesh. Repeat it for the tiles of a surface.",
    ),
    click.option(
        "--below", multiple=True, metavar="SURFACE",
        help="Keep the part below SURFACE. Repeat it for the tiles of a surface.",
    ),
    click.option(
        "--box", metavar="X1,Y1,Z1,X2,Y2,Z2",
        help="Keep the part inside the box with these lowest and highest corners.",
    ),
    click.option(
        "--extend", type=click.Choice(["unassigned", "nearest"]), default="unassigned",
        show_default=True,
        help="Beyond the rim of SURFACE: refuse a solid that reaches there (unassigned), or "
        "continue SURFACE at the height of the nearest point of its rim, which must be convex in "
        "plan (nearest).",
    ),
    _writing,
    example="clip ore.ply --below topography.ply -o ore_below_ground.ply",
)  # fmt: skip
def clip(
    solid: str,
    above: tuple[str, ...],
    below: tuple[str, ...],
    box: str | None,
    extend: str,
    **arguments: Unpack[SolidOptions],
) -> None:
    """Write the part of SOLID above or below a surface, or inside a box.

    As in labelling, no point beyond the rim of the surface is above or below it: see --extend.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    if sum(map(bool, (above, below, box))) != 1:
        message = "give one of --above, --below and --box"
        raise click.UsageError(message)
    if box is not None and extend != "unassigned":
        message = "a box has no rim: --extend is for --above and --below"
        raise click.UsageError(message)
    extra: dict[str, Any] = {"above": list(above) or None, "below": list(below) or None}
    extra["extend"] = extend
    if box is not None:
        extra["box"] = _corners(box)
    _write("clip", (solid,), arguments, inputs=(*above, *below), **extra)


def _corners(text: str) -> tuple[list[float], list[float]]:
    """Read the two corners of a box from six numbers."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    grows = all(a < b for a, b in zip(numbers[:3], numbers[3:], strict=False))  # not so for NaN
    if len(numbers) != 6 or not grows or not all(map(math.isfinite, numbers)):
        message = (
            f"--box is {text!r}; it must be X1,Y1,Z1,X2,Y2,Z2, the lowest and the highest corner"
        )
        raise click.UsageError(message)
    return numbers[:3], numbers[3:]


@_subcommand(
    "extrude",
    click.argument("outline", metavar="POLYGON"),
    click.option(
        "--from", "low", type=float, required=True, callback=options.finite, metavar="Z",
        help="Elevation of the floor.",
    ),
    click.option(
        "--to", "high", type=float, required=True, callback=options.finite, metavar="Z",
        help="Elevation of the roof.",
    ),
    _writing,
    example="extrude lease.csv --from 0 --to 400 -o lease.ply",
)  # fmt: skip
def extrude(outline: str, low: float, high: float, **arguments: Unpack[SolidOptions]) -> None:
    """Write the prism over POLYGON between two elevations.

    POLYGON is a text table of corners, in order, with columns x and y, and a column RING if there
    are several rings. POLYGON can also be an open wireframe: its footprint is extruded.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    if low >= high:
        message = f"--from {low:g} is not below --to {high:g}"
        raise click.UsageError(message)
    _write("extrude", (outline,), arguments, low=low, high=high)


@_subcommand(
    "between",
    click.argument("top", metavar="TOP"),
    click.argument("base", metavar="BASE"),
    _writing,
    example="between hanging_wall.ply foot_wall.ply -o vein.ply",
)
def between(top: str, base: str, **arguments: Unpack[SolidOptions]) -> None:
    """Write the space below surface TOP and above surface BASE, where their footprints overlap.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    _write("between", (top, base), arguments)


def _write(
    function: str,
    sources: tuple[str, ...],
    arguments: SolidOptions,
    *,
    inputs: tuple[str, ...] = (),
    **extra: Any,
) -> None:
    """Call a function of `geodomain.solids`, write its result, and report."""
    from geodomain import solids as library
    from geodomain.solids.files import require_output, write_solid

    keywords: dict[str, Any] = dict(arguments)
    output, overwrite = keywords.pop("output"), keywords.pop("overwrite")
    as_json, quiet = keywords.pop("as_json"), keywords.pop("quiet")
    with Console(quiet).listening():
        require_output(output, (*sources, *inputs), overwrite=overwrite)
        result: SolidResult = getattr(library, function)(*sources, **extra, **keywords)
        write_solid(result.mesh, output, overwrite=overwrite)
    if as_json:
        print_json(result.as_dict() | {"output": str(output)})
    elif not quiet:
        print_text(f"{result}\nwrote {output}", err=True)


@_subcommand(
    "repair",
    _solids,
    options.output_option(
        "OUT", "Write the repaired solid to OUT.", type=click.Path(path_type=Path)
    ),
    options.overwrite_option,
    _settings,
    options.json_option,
    example="repair ore.stl --fill 3 -o mended.ply",
)
def repair(
    solids: tuple[str, ...],
    output: Path | None,
    overwrite: bool,
    as_json: bool,
    **keywords: Unpack[SolidKeywords],
) -> None:
    """Report for each SOLID how it can be repaired, or why it cannot be repaired.

    A repair joins equal vertices, drops copies of triangles and folded triangles, cuts triangles at
    T-junctions, turns triangles and shells that face the wrong way, and combines shells that
    overlap. It moves vertices only with --weld, and fills holes only with --fill.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 a solid cannot be repaired, 4 cannot read or write a file.
    """
    from geodomain import solids as library
    from geodomain.solids.files import require_output, write_solid

    if output is not None and len(solids) > 1:
        message = f"-o writes one file, but there are {len(solids)} solids: repair one at a time"
        raise click.UsageError(message)
    results, wrong = list[dict[str, Any]](), list[Exception]()
    console = Console(quiet=False)
    with console.listening():
        if output is not None:
            require_output(output, solids, overwrite=overwrite)
        for path in solids:
            try:
                result = library.repair(path, **keywords)
                if output is not None:
                    write_solid(result.mesh, output, overwrite=overwrite)
            except (GeodomainError, OSError) as error:
                wrong.append(error)
                results.append({"name": path, "repaired": False, "reason": message_of(error)})
                if len(solids) > 1:  # the last error ends the command
                    print_error(message_of(error))
                continue
            results.append(result.as_dict() | {"repaired": True})
            if not as_json:
                print_text(result)
    if as_json and (len(solids) > 1 or not wrong):
        print_json(results)
    if as_json and len(solids) > 1:
        raise SystemExit(_NOT_REPAIRED if wrong else 0)
    if len(solids) > 1 and wrong:
        console.tell()
        message = f"{len(wrong)} of {counted(len(solids), 'solid')} cannot be repaired"
        raise MeshError(message)
    if wrong:
        raise wrong[0]


@_subcommand(
    "split",
    click.argument("solid", metavar="SOLID"),
    _writing,
    example="split ore.ply -o bodies.dxf",
)
def split(solid: str, **arguments: Unpack[SolidOptions]) -> None:
    """Write each body of SOLID, an outer shell with the voids in it, as a solid of its own.

    If the format of OUT holds names (.dxf, .ts, .omf, .geoh5), all bodies are written to OUT.
    Otherwise each body is written to its own file, such as OUT_1.ply.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    from geodomain import solids as library
    from geodomain.solids.files import write_bodies

    keywords: dict[str, Any] = dict(arguments)
    output, overwrite = keywords.pop("output"), keywords.pop("overwrite")
    as_json, quiet = keywords.pop("as_json"), keywords.pop("quiet")
    with Console(quiet).listening():
        result = library.split(solid, **keywords)
        paths = write_bodies(result.bodies, output, solid, overwrite=overwrite)
    if as_json:
        print_json(result.as_dict() | {"outputs": [str(path) for path in paths]})
    elif not quiet:
        print_text("\n".join([str(result), *(f"wrote {path}" for path in paths)]), err=True)


@_subcommand(
    "volumes",
    _solids,
    options.output_option("OUT.csv", "Table to write: .csv, .xlsx or .parquet."),
    options.overwrite_option,
    options.settings_options(SolidSettings, "rule", "weld", "fill"),
    options.json_option,
    example="volumes ore.ply dyke.ply oxide.ply",
)
def volumes(
    solids: tuple[str, ...],
    output: str | None,
    overwrite: bool,
    as_json: bool,
    **keywords: Unpack[MendKeywords],
) -> None:
    """Print the volume of each SOLID, of each pair's overlap, and of the part outside all others.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad data, 4 cannot read or write a file.
    """
    from geodomain import solids as library
    from geodomain.solids.files import require_table, write_table

    with Console(quiet=False).listening():
        if output is not None:
            require_table(output, solids, overwrite=overwrite)
        matrix = library.volumes(*solids, **keywords)
        if output is not None:
            write_table(matrix.columns, output, overwrite=overwrite)
    if as_json:
        print_json(matrix.as_dict())
    else:
        print_text(matrix)
