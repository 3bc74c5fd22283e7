"""Options of the commands that read drillholes, as arguments of `Drillholes`."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodomain.cli import options
from geodomain.drillholes.settings import HoleKeywords, HoleSettings

if TYPE_CHECKING:
    from geodomain.drillholes.drillholes import Drillholes


_SETTINGS = tuple(entry.name for entry in fields(HoleSettings))
_tables = (
    click.option(
        "--collar", metavar="FILE", help="Collars: hole, x, y, z, and if known the depth."
    ),
    click.option("--survey", metavar="FILE", help="Stations: hole, depth, azimuth, dip."),
)
_reading = options.settings_options(HoleSettings)

intervals_option = click.option(
    "--intervals",
    multiple=True,
    metavar="FILE",
    help="Samples or logs: hole, from, to. If the collar table has no depths, a hole ends at its "
    "largest TO. May be repeated.",
)


within_option = click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True),
    callback=options.finite,
    metavar="LENGTH",
    help="With --collar: draw the drillholes within LENGTH of a section, projected onto it.",
)


def sample_grade_option(condition: str) -> options.Decorator:
    """Make the option that names the grade of samples."""
    what = f"{condition}: colour the samples along the holes by this column of the first file."
    return click.option("--sample-grade", metavar="COLUMN", help=what)


def samples_of(given: dict[str, Any]) -> str | None:
    """Return the table of samples to draw, None without a grade; refuse a grade alone."""
    if given["sample_grade"] is None:
        return None
    if not given["collar"] or not given["intervals"]:
        message = (
            "--sample-grade colours samples along drillholes: also give --collar and --intervals"
        )
        raise click.UsageError(message)
    table: str = given["intervals"][0]
    return table


def min_length_option(what: str) -> options.Decorator:
    """Make the option for a least length."""
    return click.option(
        "--min-length",
        type=click.FloatRange(min=0),
        callback=options.finite,
        metavar="LENGTH",
        help=what,
    )


# For commands that also work without holes.
optional_holes = options.together(*_tables, _reading)
hole_options = options.together(*_tables, _reading, options.text_options, options.number_options)


def as_keywords(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of holes from `given`, and return them as keywords of `Drillholes`."""
    require_collar(given)
    keywords = {
        name: given.pop(name) for name in ("collar", "survey", *HoleKeywords.__annotations__)
    }
    if "intervals" in given:
        keywords["intervals"] = list(given.pop("intervals"))
    return keywords


def refuse_without_collar(given: dict[str, Any]) -> None:
    """Remove the options of holes from `given`; refuse them, because there is no collar table."""
    context = click.get_current_context()
    for option in context.command.params:
        name = str(option.name)
        if name not in (*_SETTINGS, "survey", "intervals") or name not in given:
            continue
        del given[name]
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            message = f"{option.opts[0]} is about drillholes, and needs --collar FILE"
            raise click.UsageError(message)
    given.pop("collar")


def require_collar(given: dict[str, Any]) -> None:
    """Refuse options without a collar table."""
    if not given["collar"]:
        message = "no holes given: use --collar FILE, and --survey FILE"
        raise click.UsageError(message)


def read_optional(given: dict[str, Any]) -> Drillholes | None:
    """Remove the options of drillholes from `given`, and read the holes, if there are any."""
    from geodomain.drillholes.drillholes import Drillholes

    if not given["collar"]:
        refuse_without_collar(given)
        return None
    holes = Drillholes(**as_keywords(dict(given)))
    for name in ("collar", "survey", "intervals", *_SETTINGS):
        given.pop(name)
    return holes
