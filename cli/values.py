"""Types of option values: parse and check what the user types."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import click


def named_path(value: str) -> tuple[str, str]:
    """Split NAME=PATH at the first equals sign; a path alone has the names in its file."""
    name, equals, path = value.partition("=")
    if not equals:
        name, path = "", value
    if (equals and not name) or not path:
        message = f"{value!r} is not NAME=PATH"
        raise click.BadParameter(message)
    if not Path(path).exists() and Path(value).exists():
        message = f"the path contains an equals sign; write NAME={value}"
        raise click.BadParameter(message)
    return name, path


def by_name(solids: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Group paths by name; a repeated name is a union.

    Without a name each solid of the file is there, by the name that it has in the file.
    """
    found: dict[str, list[str]] = {}
    for name, path in solids:
        for solid, place in [(name, path)] if name else _each(path):
            found.setdefault(solid, []).append(place)
    return found


def _each(path: str) -> list[tuple[str, str]]:
    """List the solids of a file and where each is."""
    from geodomain.io.meshes.reading import read_meshes

    names = list(read_meshes(path))
    return [(name, path if len(names) == 1 else f"{path}:{name}") for name in names]


def read_by(reader: str) -> Callable[[str], str]:
    """Return an option type that checks a value by a reader of `geodomain.io.header.keywords`.

    The library reads the text again, so that both take the same words.
    """

    def check(value: str) -> str:
        from geodomain.io.header import keywords

        try:
            getattr(keywords, reader)(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
        return value

    return check


def limit(value: str) -> tuple[str, float]:
    """Split COLUMN=LIMIT, a number above 0."""
    column, _, number = value.rpartition("=")
    try:
        found = float(number)
    except ValueError:
        found = math.nan
    if not column or not 0 < found < math.inf:
        message = f"{value!r} is not COLUMN=LIMIT, such as AU=0.01"
        raise click.BadParameter(message)
    return column, found


def as_mapping(
    _: click.Context, __: click.Parameter, given: Sequence[tuple[str, float]]
) -> dict[str, float]:
    """Return the values of an option that is repeated by their names."""
    return dict(given)


def finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    """Raise BadParameter for infinity and NaN."""
    if value is not None and not math.isfinite(value):
        message = f"{value} is not a finite number"
        raise click.BadParameter(message)
    return value


def scheduler(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Raise BadParameter for what is neither a number of local workers nor an address."""
    if value is not None:
        from geodomain.datasets.workers import require_scheduler

        try:
            require_scheduler(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return value


class Picture(click.Path):
    """The path of a picture, with its allowed formats and the library that draws it."""

    def __init__(self, kinds: tuple[str, ...], library: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._kinds, self._library = kinds, library

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Fail early for a picture that cannot be drawn."""
        picture = Path(os.fsdecode(super().convert(value, param, ctx)))
        if picture.suffix.lower() not in self._kinds:
            self.fail(f"{picture} must end in {' or '.join(self._kinds)}", param, ctx)
        if importlib.util.find_spec(self._library) is None:
            message = f"{picture} is drawn by {self._library}, which is not installed: "
            self.fail(message + f"pip install {self._library}", param, ctx)
        return picture


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
    """Read the number of triangles of the test surface."""
    from geodomain.synthetic.undulation import require_possible

    triangles = count(value)
    try:
        require_possible(triangles)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return triangles


def chosen_devices(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    """Use the GPUs with these numbers in this process, and in those that it starts."""
    if value is None or context.resilient_parsing:
        return value
    from geodomain.backends.chosen_devices import use_devices
    from geodomain.errors import DeviceError

    words = [word.strip() for word in value.split(",")]
    if not all(word.isdecimal() for word in words):
        message = f"{value!r} is not numbers with commas between them, such as 0,1"
        raise click.BadParameter(message)
    try:
        use_devices([int(word) for word in words])
    except DeviceError:  # no GPU at all: said as everywhere, with its own exit code
        raise
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    os.environ["GEODOMAIN_DEVICE"] = ",".join(words)
    return value
