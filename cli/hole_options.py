"""Options of the commands that read drillholes, as arguments of `Drillholes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from geodomain.cli import options
from geodomain.tables.settings import TextKeywords

if TYPE_CHECKING:
    from geodomain.drillholes.drillholes import Drillholes


def _role(value: str) -> tuple[str, str]:
    """Split ROLE=COLUMN."""
    role, _, column = value.partition("=")
    if not role or not column:
        message = f"{value!r} is not ROLE=COLUMN, such as dip=INCL"
        raise click.BadParameter(message)
    return role, column


def _bend(value: str | tuple[float, float]) -> tuple[float, float]:
    """Read ANGLE,LENGTH."""
    from geodomain.drillholes.checks import require_bend

    if isinstance(value, tuple):
        return value
    try:
        angle, length = (float(text) for text in value.split(","))
        return require_bend((angle, length))
    except ValueError:
        message = f"{value!r} is not ANGLE,LENGTH, such as 15,30"
        raise click.BadParameter(message) from None


def _finding(value: str) -> str:
    """Refuse a finding that there is not."""
    from geodomain.drillholes.checks import require_codes

    try:
        require_codes(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


_tables = (
    click.option("--collar", metavar="FILE", help="Collars: hole, x, y, z, perhaps its depth."),
    click.option("--survey", metavar="FILE", help="Stations: hole, depth, azimuth, dip."),
)
_reading = (
    click.option(
        "--desurvey",
        type=click.Choice(["minimum-curvature", "balanced", "tangent"]),
        default="minimum-curvature",
        show_default=True,
        help="The curve between two stations.",
    ),
    click.option(
        "--dip-down",
        type=click.Choice(["auto", "positive", "negative"]),
        default="auto",
        show_default=True,
        help="Which dips point down; auto decides once for the file, by the sign of their sum.",
    ),
    click.option(
        "--vertical",
        is_flag=True,
        help="Take holes without a station as vertical.  [default: leave them out]",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Make every warning about the tables of holes an error.",
    ),
    click.option(
        "--accept",
        type=_finding,
        multiple=True,
        metavar="FINDING[:HOLE]",
        help="Pass a finding, by the code that is printed with it; may be repeated.",
    ),
    click.option(
        "--topography",
        metavar="FILE",
        help="Compare collars and ends of holes with this surface.  "
        "[default: a surface of the domains at which most collars are]",
    ),
    click.option(
        "--bend",
        type=_bend,
        metavar="ANGLE,LENGTH",
        help="Warn of a hole that turns by more degrees within a length.  [default: 15,30]",
    ),
    click.option(
        "--hole-column",
        "hole_columns",
        type=_role,
        multiple=True,
        metavar="ROLE=COLUMN",
        help="Name a column by what it holds: hole, x, y, z, end, at, azimuth, dip, from or to; "
        "survey.hole is for one table.",
    ),
)

intervals_option = click.option(
    "--intervals",
    multiple=True,
    metavar="FILE",
    help="Samples or logs: hole, from, to. Where the collars have no depth, holes end at the "
    "largest TO; may be repeated.",
)


within_option = click.option(
    "--within",
    type=click.FloatRange(min=0, min_open=True),
    callback=options.finite,
    metavar="LENGTH",
    help="With --collar: draw the drillholes that are so near to a section, projected onto it.",
)


def samples_of(given: dict[str, Any], grade: str, option: str | None = None) -> str | None:
    """Return the table of samples whose grade is drawn, if one is; refuse a grade without it."""
    if given[grade] is None:
        return None
    if not given["collar"] or not given["intervals"]:
        said = (option or grade).replace("_", "-")
        message = f"--{said} is of samples along drillholes: it needs --collar and --intervals"
        raise click.UsageError(message)
    table: str = given["intervals"][0]
    return table


def min_length_option(what: str) -> options.Decorator:
    """Make the option that says what is too short."""
    return click.option(
        "--min-length",
        type=click.FloatRange(min=0),
        callback=options.finite,
        metavar="LENGTH",
        help=what,
    )


# For commands that can do without holes: none of these is required, nor clashes with others.
optional_holes = options.together(*_tables, *_reading)
hole_options = options.together(*_tables, *_reading, options.text_options, options.number_options)


def as_keywords(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of holes out of those given, as keywords of `Drillholes`."""
    require_collar(given)
    asked = {name: given.pop(name) for name in ("collar", "survey", "vertical", "strict")}
    asked |= {name: given.pop(name) for name in TextKeywords.__annotations__}
    if "intervals" in given:
        asked["intervals"] = list(given.pop("intervals"))
    asked["method"] = given.pop("desurvey").replace("-", " ")
    asked["down"] = given.pop("dip_down")
    asked["columns"] = dict(given.pop("hole_columns"))
    asked |= {"topography": given.pop("topography"), "accept": given.pop("accept")}
    if (bend := given.pop("bend")) is not None:
        asked["bend"] = bend
    return asked


# Options of holes that have no meaning without a collar table.
_PLAIN = (
    "survey", "intervals", "vertical", "strict", "hole_columns", "topography", "bend", "accept",
)  # fmt: skip


def refuse_without_collar(given: dict[str, Any]) -> None:
    """Take the options of holes out of those given, and refuse them without a collar table."""
    usual = {"desurvey": "minimum-curvature", "dip_down": "auto"}
    for name in (*_PLAIN, *usual):
        if name in given and given.pop(name) not in (None, False, (), usual.get(name)):
            option = "hole-column" if name == "hole_columns" else name.replace("_", "-")
            message = f"--{option} is about drillholes, and needs --collar FILE"
            raise click.UsageError(message)
    given.pop("collar")


def require_collar(given: dict[str, Any]) -> None:
    """Refuse to do without the table that every hole is in."""
    if not given["collar"]:
        message = "no holes given: use --collar FILE, and --survey FILE"
        raise click.UsageError(message)


def read_optional(given: dict[str, Any]) -> Drillholes | None:
    """Take the options of drillholes out of those given, and read the holes, if there are any."""
    from geodomain.drillholes.drillholes import Drillholes

    if not given["collar"]:
        refuse_without_collar(given)
        return None
    holes = Drillholes(**as_keywords(dict(given)))
    for name in ("collar", "desurvey", "dip_down", *_PLAIN):
        given.pop(name)
    return holes
