"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from geodomain.cli import values

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# Each command has them itself, because it may be run without the group.
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def together(*options: Decorator) -> Decorator:
    """Make one decorator of several options, in their order."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def _column(flag: str, what: str) -> Decorator:
    """Make the option that names one column of the table."""
    return click.option(flag, metavar="COLUMN", help=f"Column of the {what}.")


_text_options = (
    click.option(
        "--delimiter",
        type=values.delimiter,
        metavar="MARK",
        help="One of , ; tab |; found otherwise.",
    ),
    click.option(
        "--decimal",
        type=values.decimal,
        metavar="MARK",
        help="Decimal comma or point; found otherwise.",
    ),
    click.option(
        "--encoding",
        type=values.encoding,
        metavar="NAME",
        default="utf-8",
        show_default=True,
        help="Encoding of the header and of new cells.",
    ),
    click.option(
        "--missing",
        type=values.missing,
        multiple=True,
        metavar="VALUE",
        help="What stands for a coordinate that is missing, such as -99, - or NA; may be repeated. "
        "Empty and NaN always do.",
    ),
)

position_option = click.option(
    "--position",
    type=click.Choice(["centroid", "corner"]),
    help="What the coordinates are: centroids, or the lowest corners of blocks with sizes.  "
    "[default: what the head says, or centroid]",
)

rotation_options = together(
    click.option(
        "--rotation",
        type=values.turns,
        metavar="AXIS=DEGREES,...",
        help="The coordinates are local to a rotated model: the turns of its axes, in their order, "
        "clockwise seen from the positive end of each: z=30 turns north to azimuth 30.",
    ),
    click.option(
        "--origin",
        type=values.point,
        metavar="X,Y,Z",
        help="With --rotation: its origin in the world.",
    ),
    click.option(
        "--local-origin",
        type=values.point,
        metavar="X,Y,Z",
        help="With --rotation: the same point in the coordinates of the model.  [default: 0,0,0]",
    ),
)

frame_options = together(position_option, rotation_options)

table_options = together(
    *[_column(f"--{axis}", f"centroid's {axis}") for axis in "xyz"],
    *[_column(f"--d{axis}", f"block's size in {axis}") for axis in "xyz"],
    *_text_options,
)

segment_table_options = together(*_text_options)

rule_options = together(
    click.option(
        "--rule",
        type=click.Choice(["parity", "winding"]),
        default="parity",
        show_default=True,
        help="What is inside: an odd number of walls above, or a winding number other than 0.",
    ),
    click.option("--allow-open", is_flag=True, help="Label with meshes that are not closed."),
    click.option(
        "--weld",
        type=click.FloatRange(min=0, min_open=True),
        callback=values.finite,
        metavar="TOLERANCE",
        help="Join vertices of a mesh that are this close, and say how many moved.",
    ),
)

domains_option = click.option(
    "--domains",
    metavar="FILE.toml",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A list of domains: solids, surfaces, stacks, conditions, order.",
)

domain_options = together(
    click.option(
        "--solid",
        "solids",
        type=values.named_path,
        multiple=True,
        metavar="NAME=PATH",
        help="A closed wireframe and its label; the first one named wins, and a repeated NAME is a "
        "union. Without NAME= the file's stem.",
    ),
    domains_option,
    click.option("--codes", is_flag=True, help="Write the domains' codes, not their names."),
)

output_options = together(
    click.option("-o", "--output", metavar="OUT.csv", help="Where to write; - is stdout."),
    click.option("--column", metavar="NAME", help="Name of the new column.  [default: domain]"),
    click.option("--background", metavar="LABEL", help="For what is in no domain."),
    click.option("--unassigned", metavar="LABEL", help="For rows without coordinates."),
    click.option(
        "--leaky",
        metavar="LABEL",
        help="With --allow-open: for rows above or below a hole, for which an open mesh has no "
        "answer, unless a domain named before it has them.  [default: as --unassigned]",
    ),
    click.option(
        "--flags", is_flag=True, help="Add a column in_<name> of 0 and 1 for each domain."
    ),
    click.option(
        "--uncertain",
        is_flag=True,
        help="Add a column of 0 and 1: whether rounding may have decided, by winding number of an "
        "open mesh.",
    ),
)

replacing_options = together(
    click.option("--overwrite", is_flag=True, help="Replace the output if it is there."),
    click.option(
        "--replace-column",
        is_flag=False,
        flag_value="",
        default=None,
        metavar="[NAME]",
        help="Rewrite the column NAME, or that of --column, where it stands.",
    ),
    click.option("--in-place", is_flag=True, help="Write to the input itself."),
    click.option("--dry-run", is_flag=True, help="Label and report, and write nothing."),
    click.option(
        "--record",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write to FILE, as JSON, what was run, on what, and what came of it.",
    ),
)

meeting_options = together(
    click.option("--allow-disjoint", is_flag=True, help="Accept that no domain meets the rows."),
    click.option("--count-on-wall", is_flag=True, help="Count rows exactly on a wireframe."),
)

machine_options = together(
    click.option(
        "--backend",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Where to compute; the answers are the same.",
    ),
    click.option("--threads", type=click.IntRange(min=1), help="All the cores, if not given."),
)

report_options = together(
    click.option("--json", "as_json", is_flag=True, help="Write the summary as JSON to stdout."),
    click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors."),
)
