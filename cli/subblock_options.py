"""Options of the commands that split blocks and join sub-blocks."""

from __future__ import annotations

import click

from geodomain.cli import options


def extensive_option(what: str) -> options.Decorator:
    """Make the option that names columns of amounts."""
    return click.option("--extensive", metavar="COLUMN,...", help=what)


def columns_of(value: str | None) -> list[str]:
    """Split the names of columns."""
    return [name for name in (value or "").split(",") if name]


scheme_options = options.together(
    click.option(
        "--scheme",
        type=click.Choice(["octree", "grid", "seam"]),
        required=True,
        help="octree: halve along each axis that still may be, and again what a wireframe enters; "
        "grid: cut into equal cells at once; seam: equal in plan, cut along z where a wireframe "
        "crosses.",
    ),
    click.option(
        "--min",
        "minimum",
        required=True,
        metavar="DX,DY,DZ",
        help="Smallest size of a sub-block; one number stands for all three.",
    ),
    click.option(
        "--merge", is_flag=True, help="Join sub-blocks of a block that have the same domain."
    ),
    click.option(
        "--resolution",
        default="0.001",
        show_default=True,
        metavar="LENGTH",
        help="What the cuts of a seam are rounded to, and in text those that do not end, such as "
        "thirds.",
    ),
    extensive_option(
        "Columns of amounts of a whole block, such as VOLUME,TONNES, which its sub-blocks share by "
        "volume."
    ),
)


def parent_option(what: str) -> options.Decorator:
    """Make the option that names the column of the parents."""
    return click.option("--parent", metavar="NAME", default="parent", show_default=True, help=what)
