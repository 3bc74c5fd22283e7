"""Options that commands share, and the types of their values."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# Each command has them itself, because it may be run without the group.
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "pipe": "|"}


def named_path(value: str) -> tuple[str, str]:
    """Split NAME=PATH at the first equals sign; a path alone is named by its stem."""
    name, equals, path = value.partition("=")
    if not equals:
        name, path = Path(value).stem, value
    if not name or not path:
        message = f"{value!r} is not NAME=PATH"
        raise click.BadParameter(message)
    if not Path(path).exists() and Path(value).exists():
        message = f"the path has an equals sign; say NAME={value}"
        raise click.BadParameter(message)
    return name, path


def delimiter(value: str) -> bytes:
    """Give the byte of one of the four delimiters, said by itself or by name."""
    mark = _DELIMITERS.get(value.lower(), value)
    if mark not in _DELIMITERS.values():
        message = f"{value!r} is none of , ; tab |"
        raise click.BadParameter(message)
    return bytes(mark, "ascii")


def decimal(value: str) -> bytes:
    """Give the byte of a decimal mark."""
    if value not in (",", "."):
        message = f"{value!r} is neither , nor ."
        raise click.BadParameter(message)
    return bytes(value, "ascii")


def encoding(value: str) -> str:
    """Give Python's name of an encoding in which ASCII is ASCII, so that cells fit in."""
    try:
        known = codecs.lookup(value).name
        if ",a0".encode(known) == b",a0":
            return known
    except (LookupError, UnicodeError):
        pass
    message = f"{value!r} is not an encoding that keeps ASCII, such as utf-8"
    raise click.BadParameter(message)


def missing(value: str) -> float | str:
    """Give a number if it is one, with a point or a comma, and otherwise the text itself."""
    value = value.strip()
    try:
        found = float(value.replace(",", "."))
    except ValueError:
        found = math.nan
    if not value or "\0" in value:
        message = "it stands for a value; an empty field is missing without it"
        raise click.BadParameter(message)
    return found if math.isfinite(found) else value


def turns(value: str) -> tuple[tuple[str, float], ...]:
    """Split AXIS=DEGREES,... into turns."""
    found = [part.partition("=") for part in value.split(",")]
    try:
        pairs = tuple((axis.strip().lower(), float(angle)) for axis, _, angle in found)
    except ValueError:
        pairs = ()
    if not pairs or any(axis not in "xyz" or not math.isfinite(angle) for axis, angle in pairs):
        message = f"{value!r} is not AXIS=DEGREES, such as z=30 or z=30,x=-60"
        raise click.BadParameter(message)
    return pairs


def point(value: str) -> tuple[float, ...]:
    """Give the three numbers of X,Y,Z."""
    try:
        numbers = tuple(map(float, value.split(",")))
    except ValueError:
        numbers = ()
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        message = f"{value!r} is not X,Y,Z, three numbers with decimal points"
        raise click.BadParameter(message)
    return numbers


def finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Refuse infinity and NaN, which pass for numbers."""
    if value is not None and not math.isfinite(value):
        message = f"{value} is not a finite number"
        raise click.BadParameter(message)
    return value


def count(value: str) -> int:
    """Read a positive whole number, which may be written 1e7 or 10_000_000."""
    try:
        found = float(value.replace("_", ""))
    except ValueError:
        found = math.nan
    if not 1 <= found < 2**53 or found != int(found):
        message = f"{value!r} is not a positive whole number"
        raise click.BadParameter(message)
    return int(found)


def terrain_triangles(value: str) -> int:
    """Read how many triangles the test surface shall have."""
    from geodomain.synthetic.undulation import require_possible

    triangles = count(value)
    try:
        require_possible(triangles)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return triangles


def together(*options: Decorator) -> Decorator:
    """Make one decorator of several options, in their order."""
    return lambda command: reduce(lambda done, option: option(done), reversed(options), command)


def _column(flag: str, what: str) -> Decorator:
    """Make the option that names one column of the table."""
    return click.option(flag, metavar="COLUMN", help=f"Column of the {what}.")


_text_options = (
    click.option(
        "--delimiter", type=delimiter, metavar="MARK", help="One of , ; tab |; found otherwise."
    ),
    click.option(
        "--decimal", type=decimal, metavar="MARK", help="Decimal comma or point; found otherwise."
    ),
    click.option(
        "--encoding",
        type=encoding,
        metavar="NAME",
        default="utf-8",
        show_default=True,
        help="Encoding of the header and of new cells.",
    ),
    click.option(
        "--missing",
        type=missing,
        multiple=True,
        metavar="VALUE",
        help="What stands for a coordinate that is missing, such as -99, - or NA; may be repeated. "
        "Empty and NaN always do.",
    ),
)

frame_options = together(
    click.option(
        "--position",
        type=click.Choice(["centroid", "corner"]),
        help="What the coordinates are: centroids, or the lowest corners of blocks with sizes.  "
        "[default: what the head says, or centroid]",
    ),
    click.option(
        "--rotation",
        type=turns,
        metavar="AXIS=DEGREES,...",
        help="The coordinates are local to a rotated model: the turns of its axes, in their order, "
        "clockwise seen from the positive end of each: z=30 turns north to azimuth 30.",
    ),
    click.option(
        "--origin", type=point, metavar="X,Y,Z", help="With --rotation: its origin in the world."
    ),
    click.option(
        "--local-origin",
        type=point,
        metavar="X,Y,Z",
        help="With --rotation: the same point in the coordinates of the model.  [default: 0,0,0]",
    ),
)

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
        callback=finite,
        metavar="TOLERANCE",
        help="Join vertices of a mesh that are this close, and say how many moved.",
    ),
)

domain_options = together(
    click.option(
        "--solid",
        "solids",
        type=named_path,
        multiple=True,
        metavar="NAME=PATH",
        help="A closed wireframe and its label; the first one named wins, and a repeated NAME is a "
        "union. Without NAME= the file's stem.",
    ),
    click.option(
        "--domains",
        metavar="FILE.toml",
        type=click.Path(dir_okay=False, path_type=Path),
        help="A list of domains instead: solids, surfaces, stacks, conditions, order.",
    ),
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
