"""The option --section, shared by `geodomain plot` and `geodomain report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from geodomain.cli.options import Decorator
    from geodomain.sections.cutting import Section


def section_option(what: str) -> Decorator:
    """Make the option that says where to cut."""
    return click.option(
        "--section", "sections", type=_section, multiple=True, metavar="AXIS=COORDINATE", help=what
    )


def _section(value: str) -> Section:
    """Read AXIS=COORDINATE."""
    from geodomain.sections.cutting import parse_section

    try:
        return parse_section(value)
    except ValueError:
        message = f"{value!r} is not AXIS=COORDINATE, such as z=310"
        raise click.BadParameter(message) from None
