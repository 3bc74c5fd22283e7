"""The command `geodomain model`: make a regular block model."""

from __future__ import annotations

from collections.abc import Callable

import click

from geodomain.cli import options
from geodomain.cli.console import Console, print_json, print_text

_EXAMPLE = """\b
Example:
  geodomain model --fit ore.stl --margin 20 --size 10,10,5 -o blocks.csv
"""


def _read_by(reader: str, *given: str) -> Callable[[str], str]:
    """Return an option type that checks a value; the library reads the text again, to its digit."""

    def check(value: str) -> str:
        from geodomain.modelling import decimal_axis

        try:
            getattr(decimal_axis, reader)(value, *given)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        return value

    return check


@click.command(epilog=_EXAMPLE, context_settings=options.CONTEXT)
@click.option(
    "--size",
    type=_read_by("read_sizes"),
    required=True,
    metavar="DX,DY,DZ",
    help="Size of a block; one number stands for all three.",
)
@options.origin_option(
    "Lower corner of the model (not a centroid). With --fit: a corner that blocks are aligned "
    "to [default: 0,0,0]. With --rotation: the model's origin in world coordinates.",
    type=_read_by("read_decimals", "origin"),
)
@click.option(
    "--count", type=_read_by("read_counts"), metavar="NX,NY,NZ", help="Blocks along each axis."
)
@click.option(
    "--fit",
    multiple=True,
    metavar="MESH",
    help="Make as few blocks as hold this wireframe, in the place of --count; may be repeated.",
)
@click.option(
    "--margin",
    type=_read_by("read_margins"),
    metavar="M",
    help="With --fit: least distance of the wireframe from the sides; one number, or MX,MY,MZ.  "
    "[default: 0]",
)
@options.rotation_option
@options.local_origin_option
@options.output_option("OUT", "A .csv, .csv.gz, .parquet or .vti; - is stdout.", required=True)
@options.overwrite_option
@options.report_options
def model(
    size: str,
    origin: str | None,
    count: str | None,
    fit: tuple[str, ...],
    margin: str | None,
    rotation: str | None,
    local_origin: str | None,
    output: str,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a regular block model: centroids and sizes, ready for `geodomain label`.

    Centroids are exact decimals, origin + (i + 1/2) size. Rows run through x first, then y, then
    z. Fitted blocks lie at multiples of their size. With --rotation the coordinates are local to
    the rotated model, and `geodomain label` takes the same --rotation and --origin; a .vti file
    is turned itself.

    Exit codes: 0 ok, 1 a bug, 2 usage, 3 bad input, 4 input or output, 130 interrupted.
    """
    from geodomain.modelling.file import model_file

    _refuse(
        {
            "how many blocks? Give either --count NX,NY,NZ or --fit MESH": bool(count) == bool(fit),
            "--count needs --origin: the lower corner of the model": count and not origin,
            "--margin belongs to --fit": count and margin,
            "--rotation needs --origin: the world coordinates of the model's origin": (
                rotation and not origin
            ),
            "--local-origin belongs to --rotation": local_origin and not rotation,
        }
    )
    console = Console(quiet or (as_json and output == "-"))
    with console.listening():
        made = model_file(
            output,
            size=size,
            origin=origin,
            count=count,
            fit=[*fit] or None,
            margin=margin or 0,
            rotation=rotation,
            local_origin=local_origin,
            overwrite=overwrite,
            progress=console.on_terminal,
        )
    if as_json:
        print_json(made.as_dict(), err=output == "-")
    elif not quiet:
        print_text(made, err=True)


def _refuse(contradictions: dict[str, object]) -> None:
    """Refuse options of which a contradiction is true."""
    for message, found in contradictions.items():
        if found:
            raise click.UsageError(message)
