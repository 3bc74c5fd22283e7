"""Check the settings of splitting and joining blocks, and hold the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, get_args, runtime_checkable

import numpy as np

from geodomain.blocks.schemes import Scheme
from geodomain.compute.data import Floats, Ints
from geodomain.errors import TableError, counted
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import BlockFile, file_of, kind_of, require_same_kind
from geodomain.formats.rewriting import SIZE_COLUMNS, BlockRows, NewRows, Rewriting, Space
from geodomain.labelling.summary import Summary
from geodomain.result_tables import records_frame
from geodomain.tables.numbers import NegativeGrades, Numbers, Resolution, read_resolution
from geodomain.tables.vendors import find_column, plain_name

if TYPE_CHECKING:
    import pandas

# Usual names of columns that hold an amount of the whole block, such as volume or tonnes.
_LIKELY = {
    *("volume", "vol", "blockvolume", "tonnes", "tonnage", "tons", "ton", "mass", "weight"),
    *("metal", "ounces", "oz", "kg", "m3", "toneladas", "volumen", "masa"),
}


def shared(amount: Numbers, parent: Ints, volumes: Floats) -> Numbers:
    """Divide the amount of each parent among its parts by volume, so that nothing is lost.

    A running sum of volumes is kept for each parent. A part gets the amount up to and including
    this part, minus the amount up to the previous part.

    Parameters
    ----------
    amount : Numbers, (n,)
        The amount of each parent.
    parent : (m,) int64
        The index of the parent of each part, ascending.
    volumes : (m,) float64
        The volume of each part.

    Returns
    -------
    Numbers, (m,)
        The amount of each part.
    """
    starts = np.diff(parent, prepend=-1) != 0
    ends = np.diff(parent, append=-1) != 0
    part = volumes / np.bincount(parent, volumes)[parent]
    sums = np.cumsum(part)
    share = sums - (sums - part)[starts][np.cumsum(starts) - 1]
    share = np.where(ends, 1.0, np.clip(share, 0.0, 1.0))
    before = np.where(starts, 0.0, np.roll(share, 1))
    amounts = amount.take(parent)
    return amounts.portion(share) - amounts.portion(before)


class NegativeAmounts:
    """Counts negative amounts, which may stand for missing values.

    Parameters
    ----------
    names : sequence of str
        Columns of amounts, such as tonnes.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._columns = [NegativeGrades(name) for name in names]

    def counted(
        self, rewrite: Callable[[BlockRows], Iterator[NewRows]]
    ) -> Callable[[BlockRows], Iterator[NewRows]]:
        """Return a function that counts negative amounts and then calls `rewrite`."""

        def counting(rows: BlockRows) -> Iterator[NewRows]:
            for negative, amount in zip(self._columns, rows.amounts, strict=True):
                negative.take(amount.doubles(), rows.first)
            return rewrite(rows)

        return counting

    def warnings(self) -> Iterator[str]:
        """Yield a warning for each column with negative amounts."""
        for amounts in self._columns:
            yield from amounts.warnings("block", detection=False)


def unshared_warnings(
    names: Sequence[str], shares: Sequence[int], *, joined: bool = False
) -> Iterator[str]:
    """Yield a warning for each column that is named like an amount but is not in `shares`.

    Parameters
    ----------
    names : sequence of str
        Names of all columns.
    shares : sequence of int
        Indices of the columns that are divided or added up.
    joined : bool
        Whether blocks were joined, not split.
    """
    for field, name in enumerate(names):
        if plain_name(name) not in _LIKELY or field in shares:
            continue
        if joined:
            result = "a joined block keeps the amount of only one sub-block: add amounts up"
        else:
            result = "each sub-block keeps the whole amount: divide the amount by volume"
        yield f"{name} looks like an amount of a whole block, but {result} with extensive={name!r}"


# Checked settings of splitting and joining.

IN_MEMORY = "write a table in memory to a file first"
_KINDS = ("excel", "parquet", "text", "vtk")


@runtime_checkable
class Rewritable(Protocol):
    """A model file whose blocks can be replaced."""

    @property
    def space(self) -> Space:
        """The local frame of the blocks."""

    def rewrite(self, task: Rewriting) -> None:
        """Write the model with new blocks."""


def require_scheme(scheme: str) -> None:
    """Raise ValueError for an unknown scheme."""
    if scheme not in get_args(Scheme):
        message = f"scheme is {scheme!r}; use 'octree', 'grid' or 'seam'"
        raise ValueError(message)


def _three(minimum: float | str | Sequence[float | str]) -> list[str]:
    """Return three numbers as texts; a single number is used for all three."""
    if isinstance(minimum, str):
        minimum = minimum.split(",")
    numbers = [minimum] if isinstance(minimum, int | float) else list(minimum)
    return [str(number) for number in (numbers * 3 if len(numbers) == 1 else numbers)]


def smallest_sizes(
    minimum: float | str | Sequence[float | str],
) -> tuple[Fraction, Fraction, Fraction]:
    """Return the smallest sizes along x, y and z; raise ValueError unless all are above zero."""
    try:
        x, y, z = (Fraction(number) for number in _three(minimum))
    except (ValueError, TypeError, ZeroDivisionError):
        x = y = z = Fraction(0)
    if min(x, y, z) <= 0:
        message = f"minimum= is {minimum!r}; give one size, or three, DX,DY,DZ, all above zero"
        raise ValueError(message)
    return x, y, z


def resolution_of(
    resolution: float | str, minimum: float | str | Sequence[float | str]
) -> Resolution:
    """Return the resolution of cuts; raise ValueError if it is above half the smallest size."""
    step = read_resolution(resolution)
    least = min(smallest_sizes(minimum))
    if Fraction(step.units, 10**step.places) * 2 > least:
        message = (
            f"resolution= is {resolution}, but the smallest size is {float(least):g}: the "
            "resolution must be at most half of this size"
        )
        raise ValueError(message)
    return step


def require_output(source: str, target: str, *, overwrite: bool) -> list[Path]:
    """Return the paths to write; raise an error for formats and paths that cannot be written."""
    kind = kind_of(source)
    if kind not in _KINDS:
        message = (
            f"blocks of {source} cannot be split or joined, because only text, Excel, Parquet and "
            "VTK files are supported: convert the file with 'geodomain convert'"
        )
        raise TableError(message)
    if kind != "vtk":
        require_same_kind(source, target)
    elif Path(target).suffix.lower() != ".vtu":
        message = f"{target}: blocks of several sizes need the extension .vtu"
        raise TableError(message)
    if target == STANDARD:
        return []
    places = [Path(target)]
    if source != STANDARD:
        refuse_inputs(places, [file_of(source)])
    require_places(places, overwrite=overwrite)
    return places


def rewritable(model: BlockFile) -> Rewritable:
    """Return the model as `Rewritable`; raise TableError if it has no block sizes."""
    if not isinstance(model, Rewritable):  # `require_output` has checked the format
        raise TypeError(model.name)
    if model.centroid and not model.sizes:
        message = (
            f"{model.name} has no block sizes: name their columns, or give the size of all blocks, "
            "with dx=, dy= and dz="
        )
        raise TableError(message)
    if model.frame.fixed:
        plain = {plain_name(name) for name in model.columns}
        for name in SIZE_COLUMNS:
            if plain_name(name) in plain:
                message = (
                    f"{model.name} already has a column {name!r}, but the sizes of sub-blocks are "
                    "written under that name: rename the existing column"
                )
                raise TableError(message)
    return model


def refuse_new(model: BlockFile, *added: tuple[str, str]) -> None:
    """Raise an error for new columns whose names are empty, equal or already used.

    Each entry of `added` is the name of a column, and the keyword that sets the name.
    """
    plain = [plain_name(name) for name in model.columns]
    names = [plain_name(name) for name, _ in added]
    for (name, keyword), plain_added in zip(added, names, strict=True):
        if not plain_added:
            message = f"{keyword} needs a name"
            raise ValueError(message)
        if names.count(plain_added) > 1:
            message = f"two new columns are called {name!r}: choose another name with {keyword}"
            raise ValueError(message)
        if plain_added in plain:
            message = (
                f"{model.name} already has a column {name!r}: choose another name for the new one "
                f"with {keyword}"
            )
            raise TableError(message)


def parent_column(model: BlockFile, parent: str) -> int:
    """Return the index of the parent column."""
    try:
        field = find_column(model.columns, parent, model.name)
    except TableError as error:
        message = f"{error} With parent=, name the column that identifies the parent of each block."
        raise TableError(message) from None
    if model.columns[field] in (*model.centroid, *model.sizes):
        message = f"{model.name}: {parent!r} holds coordinates or sizes, not parent numbers"
        raise TableError(message)
    return field


def amount_columns(model: BlockFile, extensive: str | Sequence[str]) -> list[int]:
    """Return the indices of the columns of amounts; raise TableError for coordinates and sizes."""
    names = [extensive] if isinstance(extensive, str) else list(extensive)
    fields = [find_column(model.columns, name, model.name) for name in dict.fromkeys(names)]
    for field in fields:
        if model.columns[field] in (*model.centroid, *model.sizes):
            message = (
                f"{model.name}: {model.columns[field]!r} is a coordinate or a block size; "
                "extensive= needs quantities that can be added up, such as tonnes"
            )
            raise TableError(message)
    return list(dict.fromkeys(fields))


# Results of splitting and joining: values, JSON, text.


@dataclass(frozen=True)
class SubblockSummary:
    """The result of `subblock_file`.

    Attributes
    ----------
    scheme : str
        The scheme: "octree", "grid" or "seam".
    parents, split, missing : int
        Numbers of blocks in the model, of blocks that were split, and of blocks without coordinates
        or sizes, which are not changed.
    subblocks, written : int
        Numbers of blocks after splitting, and after joining.
    dropped : int
        Number of cuts of "seam" that were dropped because they were too near to a face or to
        another cut.
    labels : Summary
        Labels of the sub-blocks before joining.
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

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame of one row; ``labels.to_pandas()`` has a row for each domain."""
        return records_frame(SubblockSummary, [self])

    def __str__(self) -> str:
        """Return the result as lines of text."""
        lines = [
            f"{counted(self.parents, 'block')}, of which {self.split:,} split by {self.scheme}: "
            f"{counted(self.subblocks, 'sub-block')}"
        ]
        if self.written != self.subblocks:
            lines.append(f"joined into {counted(self.written, 'block')}")
        if self.dropped:
            lines.append(
                f"{counted(self.dropped, 'cut')} dropped, too near to a face or another cut"
            )
        return "\n".join([*lines, str(self.labels)])


@dataclass(frozen=True)
class MergeSummary:
    """The result of `merge_file`.

    Attributes
    ----------
    parents : int
        Number of parents.
    before, after : int
        Number of blocks read and written.
    seconds : float
        Elapsed time.
    output : str
        The output file.
    warnings : tuple of str
        Texts of all warnings.
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

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame of one row, which can be stacked with the rows of other models."""
        return records_frame(MergeSummary, [self])

    def __str__(self) -> str:
        """Return the result as a line of text."""
        return (
            f"{counted(self.before, 'block')} of {counted(self.parents, 'parent')} joined into "
            f"{self.after:,} in {self.seconds:.2f} s"
        )
