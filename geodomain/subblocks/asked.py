"""What a caller asks of splitting and joining, checked; no blocks are read here."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Protocol, get_args, runtime_checkable

from geodomain.errors import TableError
from geodomain.io.blocks.model import BlockFile, file_of, kind_of, require_same_kind
from geodomain.io.blocks.rewriting.space import Space
from geodomain.io.blocks.rewriting.task import SIZE_COLUMNS, Rewriting
from geodomain.io.files.places import refuse_inputs, require_places
from geodomain.io.files.standard import STANDARD
from geodomain.io.header.families import find_column, plain_name
from geodomain.io.numbers import Resolution, read_resolution
from geodomain.subblocks.schemes import Scheme

IN_MEMORY = "write a table in memory to a file first"
_KINDS = ("parquet", "text", "vtk")


@runtime_checkable
class Rewritable(Protocol):
    """A model whose blocks can be replaced by others."""

    @property
    def space(self) -> Space:
        """The frame of its blocks."""

    def rewrite(self, task: Rewriting) -> None:
        """Write the model with other blocks."""


def require_scheme(scheme: str) -> None:
    """Raise ValueError for a scheme that there is not."""
    if scheme not in get_args(Scheme):
        message = f"scheme is {scheme!r}; it can be 'octree', 'grid' or 'seam'"
        raise ValueError(message)


def _three(minimum: float | str | Sequence[float | str]) -> list[str]:
    """Give three numbers as texts."""
    if isinstance(minimum, str):
        minimum = minimum.split(",")
    each = [minimum] if isinstance(minimum, int | float) else list(minimum)
    return [str(one) for one in (each * 3 if len(each) == 1 else each)]


def smallest_sizes(
    minimum: float | str | Sequence[float | str],
) -> tuple[Fraction, Fraction, Fraction]:
    """Give the smallest sizes, checked."""
    try:
        x, y, z = (Fraction(one) for one in _three(minimum))
    except (ValueError, TypeError, ZeroDivisionError):
        x = y = z = Fraction(0)
    if min(x, y, z) <= 0:
        message = f"minimum= is {minimum!r}; it must be one size or three, DX,DY,DZ, all above zero"
        raise ValueError(message)
    return x, y, z


def resolution_of(
    resolution: float | str, minimum: float | str | Sequence[float | str]
) -> Resolution:
    """Give what cuts are rounded to, which must leave sub-blocks a size."""
    found = read_resolution(resolution)
    least = min(smallest_sizes(minimum))
    if Fraction(found.units, 10**found.places) * 2 > least:
        message = (
            f"resolution= is {resolution} and the smallest size {float(least):g}: it must be at "
            "most half of that"
        )
        raise ValueError(message)
    return found


def require_output(source: str, target: str, *, overwrite: bool) -> list[Path]:
    """Give the file to write; refuse places and kinds that cannot be."""
    kind = kind_of(source)
    if kind not in _KINDS:
        message = (
            f"{source} is no text, Parquet or VTK, which alone are split and joined: write it as "
            "one of these with 'geodomain convert'"
        )
        raise TableError(message)
    if kind != "vtk":
        require_same_kind(source, target)
    elif Path(target).suffix.lower() != ".vtu":
        message = f"{target}: cells of several sizes are written as .vtu; end the output in it"
        raise TableError(message)
    if target == STANDARD:
        return []
    places = [Path(target)]
    if source != STANDARD:
        refuse_inputs(places, [file_of(source)])
    require_places(places, overwrite=overwrite)
    return places


def rewritable(model: BlockFile) -> Rewritable:
    """Give the model as one whose blocks can be replaced; refuse one without sizes."""
    if not isinstance(model, Rewritable):  # kinds were looked at before
        raise TypeError(model.name)
    if model.centroid and not model.sizes:
        message = (
            f"{model.name} has no block sizes: name their columns, or say the size of every block, "
            "with dx=, dy= and dz="
        )
        raise TableError(message)
    if model.frame.fixed:
        plain = {plain_name(name) for name in model.columns}
        for name in SIZE_COLUMNS:
            if plain_name(name) in plain:
                message = (
                    f"{model.name} has a column {name!r}, where the sizes of sub-blocks would be"
                )
                raise TableError(message)
    return model


def refuse_new(model: BlockFile, *added: tuple[str, str]) -> None:
    """Refuse names that columns have already."""
    plain = [plain_name(name) for name in model.columns]
    names = [plain_name(name) for name, _ in added]
    for (name, keyword), own in zip(added, names, strict=True):
        if not own:
            message = f"{keyword} needs a name"
            raise ValueError(message)
        if names.count(own) > 1:
            message = f"two new columns are called {name!r}: choose another name with {keyword}"
            raise ValueError(message)
        if own in plain:
            message = (
                f"{model.name} already has a column {name!r}: choose another name for the new one "
                f"with {keyword}"
            )
            raise TableError(message)


def parent_column(model: BlockFile, parent: str) -> int:
    """Find the column of the parents."""
    try:
        found = find_column(model.columns, parent, model.name)
    except TableError as error:
        message = f"{error} Name the column that says which blocks belong together with parent=."
        raise TableError(message) from None
    if model.columns[found] in (*model.centroid, *model.sizes):
        message = f"{model.name}: {parent!r} holds coordinates or sizes, not numbers of parents"
        raise TableError(message)
    return found


def amount_columns(model: BlockFile, extensive: str | Sequence[str]) -> list[int]:
    """Find the columns of amounts."""
    wanted = [extensive] if isinstance(extensive, str) else list(extensive)
    found = [find_column(model.columns, name, model.name) for name in dict.fromkeys(wanted)]
    for field in found:
        if model.columns[field] in (*model.centroid, *model.sizes):
            message = (
                f"{model.name}: {model.columns[field]!r} is a coordinate or a size, not an amount"
            )
            raise TableError(message)
    return list(dict.fromkeys(found))
