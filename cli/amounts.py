"""The options of `geodomain tonnes` for what is added up, which `geodomain label` takes too."""

from __future__ import annotations

import math
from collections.abc import Sequence

import click

from geodomain.cli import values
from geodomain.cli.grades import density_option, density_unit_option, grade_option
from geodomain.cli.options import Decorator, together

AMOUNTS = ("density", "grade", "bench", "cutoff", "proportion", "grade_unit", "density_unit")


Cutoff = list[str] | dict[str, list[str]]


def _cutoff(value: str) -> Cutoff:
    """Read NAME=VALUE,... or VALUE,..."""
    name, equals, rest = value.rpartition("=")
    try:
        numbers = [float(one) for one in rest.split(",")]
    except ValueError:
        numbers = []
    if not numbers or not all(map(math.isfinite, numbers)) or bool(name) != bool(equals):
        message = f"{value!r} is not GRADE=VALUE,... such as AU=0.5,1,2"
        raise click.BadParameter(message)
    # The library reads the text again: a comma may be the decimal mark of the file.
    return {name: [rest]} if name else [rest]


def _together(
    _context: click.Context, _option: click.Parameter, given: Sequence[Cutoff]
) -> Cutoff | None:
    """Join the cut-offs of an option that is repeated; the last one alone would be a loss."""
    named: dict[str, list[str]] = {}
    bare: list[str] = []
    for one in given:
        for name, numbers in one.items() if isinstance(one, dict) else [("", one)]:
            (named.setdefault(name, []) if name else bare).extend(numbers)
    if named and (bare or len(named) > 1):
        said = ", ".join([*named, *(["no grade"] if bare else [])])
        message = f"cut-offs of {said}: one grade is cut, so name it alone"
        raise click.BadParameter(message)
    return named or bare or None


def _share(value: str) -> tuple[str, str]:
    """Split NAME=COLUMN."""
    name, _, column = value.partition("=")
    if not name or not column:
        message = f"{value!r} is not NAME=COLUMN"
        raise click.BadParameter(message)
    return name, column


def _unit(value: str) -> tuple[str, str]:
    """Split GRADE=UNIT, or take a unit alone."""
    from geodomain.volumes.metal_units import metal_unit

    name, _, unit = value.rpartition("=")
    try:
        metal_unit(name or "the grade", unit)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return name, unit


def _units(
    _context: click.Context, _option: click.Parameter, given: Sequence[tuple[str, str]]
) -> str | dict[str, str] | None:
    """Join the units of an option that is repeated."""
    units = dict(given)
    if len(units) < len(given) or (len(units) > 1 and "" in units):
        message = "give each grade one unit, as GRADE=UNIT"
        raise click.BadParameter(message)
    return units.get("") or units or None


def amounts_options(*, required: bool = False) -> Decorator:
    """Make the options; without `required` nothing is added up where there is no density."""
    what = "The column of densities, or one number for all blocks."
    return together(
        density_option(what if required else f"Add up tonnes too. {what}", required=required),
        density_unit_option(),
        grade_option("A grade; may be repeated."),
        click.option(
            "--bench",
            type=click.FloatRange(min=0, min_open=True),
            callback=values.finite,
            metavar="HEIGHT",
            help="By benches at multiples of HEIGHT, each with its lower end; blocks are split by "
            "their overlap.",
        ),
        click.option(
            "--cutoff",
            type=_cutoff,
            multiple=True,
            callback=_together,
            metavar="[GRADE=]VALUE,...",
            help="At or above each of these grades too; with one grade VALUE,... will do. May be "
            "repeated for the same grade.",
        ),
        click.option(
            "--proportion",
            type=_share,
            multiple=True,
            metavar="NAME=COLUMN",
            help="A domain, and the column of the part of each block, 0 to 1, that is its own, "
            "instead of labels; may be repeated. The rest of each block is of --background.",
        ),
        click.option(
            "--grade-unit",
            type=_unit,
            multiple=True,
            callback=_units,
            metavar="[GRADE=]UNIT",
            help="Unit of a grade: %, ppm, ppb or a mass per tonne such as g/t. Its metal is then "
            "in t, g, mg or that mass, and says so. May be repeated.",
        ),
    )


def require_sense(
    domain: str | None,
    proportion: Sequence[tuple[str, str]],
    grades: Sequence[str],
    cutoff: object,
    units: object,
) -> None:
    """Refuse options that contradict each other."""
    message = ""
    if domain and proportion:
        message = "--domain and --proportion both say what a block is: give one of them"
    elif len(dict(proportion)) < len(proportion):
        message = "--proportion names a domain twice"
    elif isinstance(cutoff, dict) and not cutoff.keys() <= set(grades):
        message = f"--cutoff is of {', '.join(cutoff)}, which is no --grade"
    elif isinstance(cutoff, list) and len(grades) != 1:
        message = "--cutoff must name a --grade where there is not just one: AU=0.5,1,2"
    elif isinstance(units, dict) and not units.keys() <= set(grades):
        message = f"--grade-unit is of {', '.join(units)}, which is no --grade"
    elif isinstance(units, str) and len(grades) != 1:
        message = "--grade-unit must name a --grade where there is not just one: AU=g/t"
    if message:
        raise click.UsageError(message)
