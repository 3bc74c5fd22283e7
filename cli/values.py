"""What the user types for an option, read and checked; which options there are is elsewhere."""

from __future__ import annotations

import codecs
import math
from pathlib import Path

import click

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
