"""The options of `geodomain label` for blocks that wireframes cut: shares and majority."""

from __future__ import annotations

from collections.abc import Sequence

import click

from geodomain.cli.options import Decorator, together


def by_option(choices: Sequence[str], what: str) -> Decorator:
    """Make the option for what decides a label."""
    return click.option("--by", type=click.Choice(choices), help=what)


share_options = together(
    click.option(
        "--proportions",
        is_flag=False,
        flag_value="itself",
        default=None,
        type=click.Choice(["itself", "priority"]),
        help="Add a column prop_<name> for each domain: the share of each block in it, 0 to 1, by "
        "itself, or by the order and rules of the domains (priority). Blocks need sizes.  "
        "[without a value: itself]",
    ),
    click.option(
        "--percent",
        is_flag=True,
        default=None,
        help="With --proportions: columns pct_<name>, 0 to 100.",
    ),
    by_option(
        ["centroid", "majority"],
        "What labels a block: its centroid, or the largest share by the order and rules of the "
        "domains; of equal shares the first domain wins.  [default: centroid]",
    ),
    click.option(
        "--lines",
        type=click.IntRange(2, 256),
        metavar="N",
        help="Cut blocks that more than three wireframes enter along N x N vertical lines.  "
        "[default: 16]",
    ),
)
