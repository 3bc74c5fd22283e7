"""Options of the commands that make a test surface and segments across it."""

from __future__ import annotations

import click

from geodomain.cli import values
from geodomain.cli.options import Decorator, together


def scene_options(rays: str) -> Decorator:
    """Make the options that say what a test surface and its segments are."""
    return together(
        click.option(
            "--triangles",
            type=values.terrain_triangles,
            default="29260",
            show_default=True,
            metavar="N",
            help="Approximate number of triangles; the cells of the grid stay square.",
        ),
        click.option(
            "--rays",
            type=values.count,
            default=rays,
            show_default=True,
            metavar="N",
            help="Number of segments; half of them cross the surface.",
        ),
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True),
    )
