"""The options of densities and grades that `geodomain tonnes`, `label` and `report` share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from geodomain.cli.options import Decorator


def density_option(what: str, *, required: bool = False) -> Decorator:
    """Make the option for the density of blocks."""
    return click.option(
        "--density", type=_density, required=required, metavar="COLUMN|VALUE", help=what
    )


def density_unit_option() -> Decorator:
    """Make the option for the unit of densities."""
    return click.option(
        "--density-unit",
        type=click.Choice(["t/m3", "g/cm3", "lb/ft3", "t/ft3", "kg/m3"]),
        help="Unit of the densities, by the unit of the coordinates: tonnes are then of 1,000 kg, "
        "and densities that no rock has are warned of.  [default: volume times density, as it is]",
    )


def grade_option(what: str, name: str = "grade", *, multiple: bool = True) -> Decorator:
    """Make the option that names grades, or one; it goes by a name of its own where one is said."""
    return click.option("--grade", name, multiple=multiple, metavar="COLUMN", help=what)


def _density(value: str) -> str | float:
    """Read a number above zero; anything else is a column."""
    try:
        number = float(value)
    except ValueError:
        return value
    if not 0 < number < math.inf:
        message = f"{value} is neither above zero nor a column"
        raise click.BadParameter(message)
    return number
