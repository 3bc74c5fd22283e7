"""Detection of float32 or float64 coordinates in a raw file."""

from __future__ import annotations

import errno
from pathlib import Path

from geodomain.errors import TableError

FLOATS = {"float32": "<f4", "float64": "<f8"}

# The original's own names end so: vertices_f32, rayFrom_f32.
_ENDINGS = {"f32": "float32", "f64": "float64"}

_ROW = {name: 3 * int(code[-1]) for name, code in FLOATS.items()}  # bytes


def byte_count(path: Path) -> int:
    """Return the size of a file; OSError for what has none, such as a folder or a pipe."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a file, which raw arrays are read from", str(path))
    return path.stat().st_size


def float_type(path: Path, said: str | None, keyword: str, *, at_least: int = 0) -> str:
    """Return the type of the coordinates in a file of x, y, z rows.

    What the user says comes first, then an ending of the name, `_f32` or `_f64`, and
    last the size, where it leaves one possibility.

    Parameters
    ----------
    path : Path
        A file that is there.
    said : {"float32", "float64"}, optional
        What the user says.
    keyword : str
        How the user can say it, for the message: ``"ray_type="``.
    at_least : int
        How many rows there must be; where no type has as many, the one with more is told.

    Raises
    ------
    TableError
        Where the size fits no whole number of rows, or fits both types.
    """
    size = byte_count(path)
    named = said or next((_ENDINGS[end] for end in _ENDINGS if path.name.endswith(f"_{end}")), None)
    if named is not None:
        if size % _ROW[named]:
            message = (
                f"{path} has {size:,} bytes, which is no whole number of rows of three {named} "
                f"({_ROW[named]} bytes each). Export it again, or correct {keyword}."
            )
            raise TableError(message)
        return named
    whole = [name for name, row in _ROW.items() if size % row == 0]
    fitting = [name for name in whole if size // _ROW[name] >= at_least]
    if len(fitting) == 1 or not size or (whole and not fitting):
        return [*fitting, *whole][0]
    if fitting:
        message = (
            f"{path} has {size:,} bytes, which may be {size // 12:,} rows of float32 or "
            f"{size // 24:,} of float64. Say which with {keyword}, or by a name that ends in "
            "_f32 or _f64."
        )
    else:
        message = (
            f"{path} has {size:,} bytes, which is no whole number of rows of three float32 or "
            "float64 (12 or 24 bytes each). Export it again."
        )
    raise TableError(message)
