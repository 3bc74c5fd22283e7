"""Samples and blocks for statistics: the columns that are used, from a file or from memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.checks.blocks import (
    MISSING_OPTION,
    BlockChecks,
    VolumeChecks,
    realisations_of,
)
from geodomain.checks.columns import LabelSpellings
from geodomain.compute.data import Floats
from geodomain.drillholes.tables import Reading, has_roles, read_table, usual_column
from geodomain.errors import CentroidError, RoleError, TableError
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import Rows, kind_of, open_model, read_columns
from geodomain.formats.geoh5_holes import holds_intervals
from geodomain.formats.parquet import open_samples
from geodomain.formats.registry import is_workspace
from geodomain.progress import Progress
from geodomain.settings import among
from geodomain.statistics.populations import LARGEST
from geodomain.statistics.settings import ReportSettings, StatsSettings, WeightSettings
from geodomain.statistics.spilled import SpilledRows
from geodomain.tables.conditions import Column
from geodomain.tables.frames import Frame, LocalFrame
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.numbers import NegativeGrades
from geodomain.tables.options import TableOptions, options_among
from geodomain.tables.settings import TableKeywords, TextKeywords
from geodomain.tables.vendors import find_column, plain_name
from geodomain.volumes.tonnage import require_few, volumes_of

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

_DOMAIN = "domain"

# Bytes for each row: of the stored columns, and of temporary arrays at their peak (measured with
# 10 million samples).
_GRADE, _CODE, _HOLE, _POINT = 8, 2, 4, 24
_WORK, _CAPPED, _DECLUSTERED = 85, 35, 150


class _Weights(NamedTuple):
    """What rows are weighted by: columns, the volume of blocks, one number, or nothing.

    Attributes
    ----------
    name : str
        Name of the weight in the result, such as "volume"; "" if all rows have the same weight.
    columns : tuple of str
        One column of weights, or the columns of TO and FROM.
    number : float, optional
        One weight for all rows.
    """

    name: str = ""
    columns: tuple[str, ...] = ()
    number: float | None = None


def _weights(settings: WeightSettings, names: Sequence[str], sized: bool, table: str) -> _Weights:
    """Return what rows are weighted by: what the caller says, or else volume or length."""
    weight = settings.weight
    if isinstance(weight, str):
        return _Weights(weight, (names[find_column(names, weight, table)],))
    if weight is not None:
        return _Weights(number=weight)
    if sized:
        return _Weights("volume")
    ends = [usual_column(names, role) for role in ("to", "from")]
    if None not in ends:
        to, begin = (str(name) for name in ends)
        return _Weights(f"{to} - {begin}", (to, begin))
    return _Weights()


class Samples:
    """The columns that statistics need, gathered batch by batch.

    Parameters
    ----------
    settings : WeightSettings
        The label column and the weights; top cuts as well, if the settings have them.
    grades : sequence of str
        Columns of grades.
    names : sequence of str
        All columns of the table.
    options : TableOptions
        The user's options for the table.
    table : str
        Name of the table in messages.
    sized : bool
        Whether rows are blocks with sizes.
    placed : bool
        Whether coordinates are kept.
    spill : bool
        Whether rows that do not fit into memory are moved to disk, rather than refused.

    Attributes
    ----------
    axes : (3, 3) float64
        The directions of the block edges in world coordinates, one row per axis.
    frame : LocalFrame, optional
        The frame in which blocks are axis-aligned; None if the model is not rotated.
    largest : (3,) float64
        The largest size of a block along each axis; 0 without sizes.
    spilled : SpilledRows, optional
        The rows, if they are on disk; None if they are in memory.
    """

    def __init__(
        self,
        settings: WeightSettings,
        grades: Sequence[str],
        names: Sequence[str],
        options: TableOptions,
        table: str,
        *,
        sized: bool,
        placed: bool,
        spill: bool = False,
    ) -> None:
        self.spilled: SpilledRows | None = None
        self._may_spill = spill
        self.table, self.word = table, "block" if sized else "sample"
        self.grades = {name: names[find_column(names, name, table)] for name in grades}
        self.weights = _weights(settings, names, sized, table)
        self.column = _label_column(settings, names, table)
        self.hole = _hole_column(settings, grades, names, table)
        self.placed = placed
        self.axes, self.largest = np.eye(3), np.zeros(3)
        self.frame: LocalFrame | None = None
        self.volumes: VolumeChecks | None = None
        self._places = BlockChecks(compare=False)
        self.negative = {
            name: NegativeGrades(name, options.below_detection) for name in self.grades
        }
        self.spelled = LabelSpellings(self.column or "")
        self.labels: list[str] = []
        self._holes: list[str] = []
        self.rows = 0
        self._values: dict[str, list[Floats]] = {name: [] for name in grades}
        self._weights: list[Floats] = []
        self._points: list[Floats] = []
        self._domains: list[NDArray[np.uint16]] = []
        self._numbers: list[NDArray[np.int32]] = []

    @property
    def columns(self) -> list[str]:
        """The columns to read, apart from centroids and sizes."""
        others = [name for name in (self.column, self.hole) if name is not None]
        return list(dict.fromkeys([*self.grades.values(), *self.weights.columns, *others]))

    def add(
        self,
        points: Floats | None,
        sizes: Floats | None,
        column: Callable[[str], Column],
        there: Rows,
    ) -> None:
        """Add a batch of rows; called as `geodomain.formats.blocks.AddRows`."""
        for name, source in self.grades.items():
            cells = column(source)
            numbers = cells.numbers()[there]
            below = cells.below_detection()
            self._values[name].append(self.negative[name].take(numbers, self.rows, below))
            count = len(numbers)
        if points is not None:
            count = len(points)
        if self.volumes is not None and points is not None and sizes is not None:
            self.volumes.add(points, sizes)
        elif self.placed and points is not None:
            self._places.add(points)
        if sizes is not None and count:
            with np.errstate(invalid="ignore"):
                self.largest = np.fmax(self.largest, np.fmax.reduce(sizes, axis=0))
        weights = self._weights_of(sizes, lambda name: column(name).numbers()[there], count)
        if weights is not None:
            self._weights.append(weights)
        if self.column is not None:
            self.labels, codes = self.spelled.distinct(column(self.column), self.labels)
            require_few(self.labels, self.column)
            self._domains.append(codes[there].astype(np.uint16))
        if self.hole is not None:
            self._holes, codes = column(self.hole).distinct(self._holes)
            self._numbers.append(codes[there].astype(np.int32))
        if self.placed and points is not None:
            self._points.append(points)
        for name in self.grades:
            self._refuse_huge(name, self._values[name][-1])
        if weights is not None:
            self._refuse_huge(self.weights.name, weights)
        self.rows += count
        self._keep_to_memory()

    def _keep_to_memory(self) -> None:
        """Move the rows to disk, or refuse them, if their statistics would not fit into memory."""
        if self.spilled is not None:
            self._spill()
            return
        row = _GRADE * len(self.grades) + _GRADE + _CODE + _WORK
        row += _HOLE + _CAPPED if self.hole is not None else 0
        row += _POINT + _DECLUSTERED if self.placed else 0
        if self._may_spill and self.rows * row > memory.allowance():
            self._spill()
            return
        what = f"{self.table}: statistics of {self.rows:,} rows"
        memory.require(self.rows * row, what, TableError)

    def _spill(self) -> None:
        """Move the rows that are in memory to disk."""
        lists: dict[str, Sequence[NDArray[np.generic]]] = {
            **self._values, "weight": self._weights, "hole": self._numbers, "point": self._points
        }  # fmt: skip
        for place, first in enumerate(next(iter(self._values.values()))):
            batch = {name: parts[place] for name, parts in lists.items() if parts}
            codes = self._domains[place] if self._domains else np.zeros(len(first), np.uint16)
            if self.spilled is None:
                self.spilled = SpilledRows(batch)
            self.spilled.add(codes, batch)
        self._values = {name: [] for name in self._values}
        self._weights, self._points, self._domains, self._numbers = [], [], [], []

    def place_warnings(self) -> Iterator[str]:
        """Yield the warnings of `label` about coordinates of -99 and the like, and about volumes.

        The latter are about blocks that occur twice, overlap or leave gaps.
        """
        if self.volumes is not None:
            yield from self.volumes.warnings()
        yield from self._places.warnings(mend=MISSING_OPTION)

    def below_notes(self) -> list[str]:
        """Return notes on the cells below detection."""
        return [note for grade in self.negative.values() for note in grade.notes()]

    def values(self, grade: str) -> Floats:
        """Return the grades of all rows, NaN where missing, and release them: call this once."""
        return np.concatenate([np.empty(0), *self._values.pop(grade)])

    def again(self, *, placed: bool = True) -> Samples:
        """Return the same samples, so that `values` can be called once more.

        With `placed` false, the coordinates are not used.
        """
        twin = copy(self)
        twin._values, twin.placed = dict(self._values), placed
        return twin

    def weights_of_rows(self) -> Floats | None:
        """Return the weights of all rows, NaN where missing; None if all weights are the same."""
        return np.concatenate(self._weights) if self._weights else None

    def points(self) -> Floats:
        """Return the coordinates of all rows, (n, 3); empty unless declustering needs them."""
        return np.concatenate([np.empty((0, 3)), *self._points])

    def domains(self) -> NDArray[np.uint16]:
        """Return the index of each row's label in `labels`; empty without a label column."""
        return np.concatenate([np.empty(0, np.uint16), *self._domains])

    def holes(self) -> NDArray[np.int32] | None:
        """Return the number of each row's hole; None if holes are not known."""
        return np.concatenate(self._numbers) if self._numbers else None

    def _weights_of(
        self, sizes: Floats | None, numbers: Callable[[str], Floats], count: int
    ) -> Floats | None:
        """Return the weights of a batch, NaN where missing or 0; None if all are the same."""
        weights = self.weights
        if weights.number is not None:
            return np.full(count, weights.number) if weights.number != 1 else None
        if weights.columns:
            first, *others = (numbers(name) for name in weights.columns)
            lengths = first - others[0] if others else first
            self._refuse_negative(lengths)
            return np.where(lengths > 0, lengths, np.nan)
        return volumes_of(sizes) if weights.name and sizes is not None else None

    def _refuse_huge(self, name: str, values: Floats) -> None:
        """Raise TableError for a grade or weight whose square or product could overflow."""
        with np.errstate(invalid="ignore"):
            huge = np.abs(values) > LARGEST
        if huge.any():
            row = int(huge.argmax())
            value = float(values[row])
            message = (
                f"{self.table}: {name} is {value!r} in {self.word} {self.rows + row + 1:,}, "
                "too large for a variance: correct it, or, if it stands for a missing value, use "
                f"missing={{{name!r}: {value!r}}}"
            )
            raise TableError(message)

    def _refuse_negative(self, weights: Floats) -> None:
        wrong = weights < 0
        if not wrong.any():
            return
        row = int(wrong.argmax())
        value = repr(float(weights[row])).removesuffix(".0")
        mend = "correct the row"
        if len(self.weights.columns) == 1:
            (name,) = self.weights.columns
            mend = f"if {value} stands for a missing value, use missing={{{name!r}: {value}}}"
        message = (
            f"{self.table}: {self.weights.name} is {value} in {self.word} {self.rows + row + 1:,}, "
            f"but a weight cannot be negative: {mend}"
        )
        raise TableError(message)


def _hole_column(
    settings: WeightSettings, grades: Sequence[str], names: Sequence[str], table: str
) -> str | None:
    """Return the column of holes: the one that the caller names, or a usual one with top cuts."""
    if not isinstance(settings, StatsSettings):
        return None
    if settings.hole is not None:
        return names[find_column(names, settings.hole, table)]
    needed = isinstance(settings, ReportSettings) or any(settings.caps(grades).values())
    return usual_column(names, "hole") if needed else None


def _label_column(settings: WeightSettings, names: Sequence[str], table: str) -> str | None:
    """Return the label column: the one that the caller names, or else one called domain."""
    if settings.column is not None:
        return names[find_column(names, settings.column, table)]
    alike = [name for name in names if plain_name(name) == _DOMAIN]
    return alike[0] if len(alike) == 1 else None


def gather_samples(
    what: str | os.PathLike[str] | IntoDataFrame,
    settings: WeightSettings,
    grades: Sequence[str],
    table: TableKeywords,
    threads: int | None,
    progress: Progress | None,
    *,
    purpose: str = "",
    options: TableOptions | None = None,
    spill: bool = False,
) -> Samples:
    """Read the columns that statistics need, from a file or a table in memory.

    `purpose` says what needs coordinates, for messages. Without it they are not used, so those of
    collars do no harm. `options` replaces the options that are made of the keywords `table`.
    With `spill`, rows that do not fit into memory are moved to disk.
    """
    options = options or options_among(table)
    if not purpose:
        options = options._replace(points_are_middles=True)
    if not isinstance(what, str | os.PathLike):
        return _of_frame(what, settings, grades, options, placed=bool(purpose), spill=spill)
    path = os.fspath(what)
    if is_workspace(path) and holds_intervals(path):
        return _of_intervals(
            path, settings, grades, table, threads, progress, None, purpose, spill=spill
        )
    try:
        with open_model(path, options) as model:
            samples = Samples(
                settings, grades, model.columns, options, model.name,
                sized=bool(model.sizes) or not model.centroid, placed=bool(purpose), spill=spill,
            )  # fmt: skip
            samples.frame, samples.axes = model.frame.lattice, model.axes
            if model.sizes:
                times = realisations_of(model.facts())
                samples.volumes = VolumeChecks(model.axes, times=times)
            read_columns(model, samples.columns, samples.add, threads=threads, progress=progress)
            return samples
    except CentroidError as error:
        if path == STANDARD:
            raise
        return _of_intervals(
            path, settings, grades, table, threads, progress, error, purpose, spill=spill
        )


def _of_intervals(
    path: str,
    settings: WeightSettings,
    grades: Sequence[str],
    table: TableKeywords,
    threads: int | None,
    progress: Progress | None,
    error: CentroidError | None,
    purpose: str,
    *,
    spill: bool,
) -> Samples:
    """Read a table of intervals (hole, from, to), which has no coordinates.

    `error` is the error for a file without coordinates, if it is no such table either. It is None
    if the file is known to be such a table.
    """
    if purpose:
        message = (
            f"{Path(path).name} has no coordinates, which {purpose} needs: add those of the "
            "middles of the samples, as flag with coordinates=True or composite writes them"
        )
        raise TableError(message)
    options = options_among(among(TextKeywords, table))
    neither = f"{error} Or give a table of samples with columns of hole, from and to."
    if error is not None and kind_of(path) == "parquet":
        with open_samples(path, options) as model:
            if not has_roles(model.columns, "intervals", {}):
                raise TableError(neither)
            samples = Samples(
                settings, grades, model.columns, options, model.name,
                sized=False, placed=False, spill=spill,
            )  # fmt: skip
            read_columns(model, samples.columns, samples.add, progress=progress)
            return samples
    try:
        reading = Reading(text=among(TextKeywords, table), threads=threads)
        intervals = read_table(path, "intervals", reading, also=None)
    except RoleError:
        if error is None:
            raise
        raise TableError(neither) from None
    samples = Samples(
        settings, grades, intervals.names, options, intervals.name,
        sized=False, placed=False, spill=spill,
    )  # fmt: skip
    samples.add(None, None, intervals.column, slice(None))
    return samples


def _of_frame(
    frame: IntoDataFrame,
    settings: WeightSettings,
    grades: Sequence[str],
    options: TableOptions,
    *,
    placed: bool,
    spill: bool,
) -> Samples:
    """Take the columns from a table in memory."""
    blocks = BlockFrame(frame, options=options)
    points, sizes, layout = None, None, Frame()
    try:
        points, sizes, layout = blocks.blocks(options)
    except CentroidError:
        if placed:
            raise
    sized = sizes is not None
    samples = Samples(
        settings, grades, blocks.names, options, NAME, sized=sized, placed=placed, spill=spill
    )
    samples.frame, samples.axes = layout.lattice, layout.axes
    samples.volumes = VolumeChecks(layout.axes) if sized else None
    samples.add(points, sizes, lambda name: blocks.column(blocks.find(name)), slice(None))
    return samples
