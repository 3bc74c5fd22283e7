"""The options --section and --title, shared by `geodomain plot` and `geodomain report`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from geodomain.cli.options import Decorator


def section_option(what: str) -> Decorator:
    """Make the option that says where to cut."""
    return click.option(
        "--section",
        "sections",
        type=_section,
        multiple=True,
        metavar="AXIS=AT|START,STOP,STEP",
        help=what,
    )


def title_option(what: str) -> Decorator:
    """Make the option that names a picture or a page."""
    return click.option("--title", metavar="TEXT", help=what)


def _section(value: str) -> str:
    """Check AXIS=COORDINATE or AXIS=START,STOP,STEP."""
    from geodomain.sections.asking import parse_sections

    try:
        parse_sections(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value
