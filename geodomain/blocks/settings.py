"""Settings and results of splitting and joining blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Protocol, get_args, runtime_checkable

import numpy as np

from geodomain.blocks.schemes import Scheme
from geodomain.compute.data import Floats, Ints
from geodomain.errors import TableError, counted
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import BlockFile, file_of, kind_of, require_same_kind
from geodomain.formats.rewriting import SIZE_COLUMNS, BlockRows, NewRows, Rewriting, Space
from geodomain.labelling.summary import Summary
from geodomain.tables.numbers import NegativeGrades, Numbers, Resolution, read_resolution
from geodomain.tables.vendors import find_column, plain_name

# Columns of amounts: what is true of a whole block and not of a part of it.
_LIKELY = {
    *("volume", "vol", "blockvolume", "tonnes", "tonnage", "tons", "ton", "mass", "weight"),
    *("metal", "ounces", "oz", "kg", "m3", "toneladas", "volumen", "masa"),
}


def shared(amount: Numbers, parent: Ints, volumes: Floats) -> Numbers:
    """Give each part of parents its share, by volume; shares of a parent add up to all of it.

    Each is the difference of what parts up to it have, and up to the one before.
    """
    starts = np.diff(parent, prepend=-1) != 0
    ends = np.diff(parent, append=-1) != 0
    part = volumes / np.bincount(parent, volumes)[parent]
    sums = np.cumsum(part)
    share = sums - (sums - part)[starts][np.cumsum(starts) - 1]
    share = np.where(ends, 1.0, np.clip(share, 0.0, 1.0))
    before = np.where(starts, 0.0, np.roll(share, 1))
    own = amount.take(parent)
    return own.portion(share) - own.portion(before)


class NegativeAmounts:
    """Negative amounts, which may be codes of missing values and not amounts at all.

    Parameters
    ----------
    names : sequence of str
        The columns of amounts.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._found = [NegativeGrades(name) for name in names]

    def counted(
        self, rewrite: Callable[[BlockRows], Iterator[NewRows]]
    ) -> Callable[[BlockRows], Iterator[NewRows]]:
        """Return what rewrites rows, and counts their negative amounts."""

        def counting(rows: BlockRows) -> Iterator[NewRows]:
            for found, amount in zip(self._found, rows.amounts, strict=True):
                found.take(amount.doubles(), rows.first)
            return rewrite(rows)

        return counting

    def warnings(self) -> Iterator[str]:
        """Yield a warning for each column that has some."""
        for amounts in self._found:
            yield from amounts.warnings("block", detection=False)


def unshared_warnings(
    names: Sequence[str], shares: Sequence[int], *, joined: bool = False
) -> Iterator[str]:
    """Yield a warning for each column that looks like an amount and is not named as one."""
    for field, name in enumerate(names):
        if plain_name(name) not in _LIKELY or field in shares:
            continue
        if joined:
            said = "a joined block has that of one of its parts: add it up"
        else:
            said = "each sub-block keeps all of it: share it by volume"
        yield f"{name} looks like an amount of a whole block, and {said} with extensive={name!r}"


# Checked settings of splitting and joining.

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


# Results of splitting and joining: values, JSON, text.


@dataclass(frozen=True)
class SubblockSummary:
    """What `subblock_file` did.

    Attributes
    ----------
    scheme : str
    parents, split, missing : int
        Blocks of the model; those that were split; those without coordinates or sizes, which are
        as they were.
    subblocks, written : int
        Blocks after splitting, and after joining: the same where nothing is joined.
    dropped : int
        Cuts of a seam that were too near to a face or to another cut.
    labels : Summary
        The labels of the sub-blocks, before any are joined.
    """

    scheme: str
    parents: int
    split: int
    missing: int
    subblocks: int
    written: int
    dropped: int
    labels: Summary

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Return everything as lines of text."""
        lines = [
            f"{counted(self.parents, 'block')}, of which {self.split:,} split by {self.scheme}: "
            f"{counted(self.subblocks, 'sub-block')}"
        ]
        if self.written != self.subblocks:
            lines.append(f"joined into {counted(self.written, 'block')}")
        if self.dropped:
            lines.append(f"{counted(self.dropped, 'cut')} dropped, too near to a face or a cut")
        return "\n".join([*lines, str(self.labels)])


@dataclass(frozen=True)
class MergeSummary:
    """What `merge_file` did.

    Attributes
    ----------
    parents : int
        Blocks that others were sub-blocks of.
    before, after : int
        Blocks that were read, and that were written.
    seconds : float
    output : str
    warnings : tuple of str
    """

    parents: int
    before: int
    after: int
    seconds: float
    output: str
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Return everything as a line of text."""
        return (
            f"{counted(self.before, 'block')} of {counted(self.parents, 'parent')} joined into "
            f"{self.after:,} in {self.seconds:.2f} s"
        )
