"""Blocks against declustered samples: means by domain, quantiles, and slices along axes (swaths).

Both sides have their weights: blocks their volume, samples their declustered weights. Blocks are
smoother than samples, because each averages over its volume, so their means should agree, but not
their spread. E. H. Isaaks and R. M. Srivastava, "An Introduction to Applied Geostatistics", 1989.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.drillholes.tables import require_outputs
from geodomain.errors import TableError, collect_warnings, counted, shown, warn
from geodomain.files.streams import open_target
from geodomain.formats.blocks import write_columns
from geodomain.progress import Progress, show_progress
from geodomain.result_tables import records_columns
from geodomain.settings import among, read_keywords, with_keywords
from geodomain.statistics.charts import (
    picture_of,
    require_picture,
    validation_figures,
)
from geodomain.statistics.declustering import Cell
from geodomain.statistics.groups import (
    Group,
    Groups,
    Part,
    decluster,
    in_order,
    lost_rows,
    not_declustered,
    total_weight,
)
from geodomain.statistics.populations import Population
from geodomain.statistics.results import ALL
from geodomain.statistics.samples import Samples, gather_samples
from geodomain.statistics.settings import AXES, NEAREST, ValidateKeywords, ValidateSettings
from geodomain.tables.frames import turned
from geodomain.tables.options import TableOptions, options_among
from geodomain.tables.settings import TableKeywords, TextKeywords
from geodomain.tables.vendors import plain_name
from geodomain.volumes.exact_sums import ONE, exact_sums, nearest_float
from geodomain.volumes.tonnage import snapped

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

from geodomain.statistics.validation_report import QuantilePair, Swath, Validation, ValidationRow

# Probabilities of the quantiles, in thousandths: the percentiles, and more of them at both ends.
SHARES = tuple(Fraction(part, 1000) for part in (1, 2, 5, *range(10, 1000, 10), 995, 998, 999))
# Number of slices that the default thickness makes, and the largest number along an axis.
_SLICES, _MOST_SLICES = 20, 1000


@with_keywords(ValidateSettings, ValidateKeywords, table=TableKeywords)
def validate(
    blocks: str | os.PathLike[str] | IntoDataFrame,
    grade: str,
    output: str | os.PathLike[str] | None = None,
    *,
    samples: str | os.PathLike[str] | IntoDataFrame,
    sample_grade: str | None = None,
    quantile_table: str | os.PathLike[str] | None = None,
    swath_table: str | os.PathLike[str] | None = None,
    chart: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
    **keywords: Unpack[ValidateKeywords],
) -> Validation:
    """Compare the grades of blocks with those of declustered samples, domain by domain.

    Parameters
    ----------
    blocks : path, pandas or polars DataFrame, or pyarrow.Table
        Block model in any format that `label_file` takes.
    grade : str
        Column of the grade of the blocks.
    output : path, optional
        File for the table of `Validation.to_pandas`: Parquet if it ends in .parquet or .pq,
        otherwise CSV; "-" is CSV on stdout. After an error no partial file remains.
    samples : path, pandas or polars DataFrame, or pyarrow.Table
        Samples with coordinates, as `geodomain flag --coordinates` writes them.
    sample_grade : str, optional
        Column of the grade of the samples. [default: that of the blocks]
    quantile_table, swath_table : path, optional
        Files for the quantiles and the slices, as for `output`.
    chart : path, optional
        File for the charts: a PDF with a page for each domain, or SVG or PNG with all domains below
        each other. Needs matplotlib.
    overwrite : bool
        Whether existing outputs may be replaced.
    threads, progress
        As for `label_file`.
    **settings
    **table
        Options for reading the blocks, as for `label_file`. Those about texts and missing values
        apply to the samples as well, and ``points_are_middles`` to the samples alone.

    Returns
    -------
    Validation
        ``print`` shows a table. Only rows with a grade, a weight and coordinates are compared;
        other rows are counted. Sums are exact and rounded once, so the order of rows does not
        matter. A quantile is the first value whose cumulative weight reaches its share.

    Raises
    ------
    TableError
        For ambiguous, missing or invalid columns, a negative weight, and slices or cells that are
        too thin.
    OSError
        If a file cannot be opened. If an output exists already; see ``overwrite``.
    ValueError, TypeError
        For invalid settings, or an object that is not a table.
    ModuleNotFoundError
        If a chart is wanted, and matplotlib is not installed.

    Warns
    -----
    GeodomainWarning
        For rows that are left out, negative grades, blocks that occur twice, overlap or leave gaps,
        samples in domains without blocks, and domains whose samples are not declustered.

    Notes
    -----
    A block or a sample is in the slice of its centre. Slices are along the axes of the model, from
    multiples of ``step`` in its own coordinates; see ``swath_axes``.

    Examples
    --------
    >>> import geodomain, pandas
    >>> blocks = pandas.DataFrame({"X": [5, 15, 25], "Y": 5, "Z": 5, "DX": 10, "DY": 10, "DZ": 10})
    >>> blocks["AU"] = [1.0, 2.0, 3.0]
    >>> samples = pandas.DataFrame({"X": [4, 5, 22], "Y": 5, "Z": 5, "AU": [0.0, 1.0, 4.0]})
    >>> row = geodomain.validate(blocks, "AU", samples=samples).total
    >>> round(row.naive_mean, 2), round(row.sample_mean, 2), row.block_mean
    (1.67, 3.0, 2.0)
    """
    settings = read_keywords(ValidateSettings, keywords, ValidateKeywords)
    own = sample_grade or grade
    kind = None if chart is None else require_picture(Path(chart))
    targets = [output, quantile_table, swath_table]
    require_outputs(targets, [blocks, samples], overwrite=overwrite, formats="columns", chart=chart)
    with collect_warnings() as warned, show_progress(progress, "reading") as report_progress:
        weights = (settings.block_weight, settings.sample_weight)
        options = options_of_both(
            among(TableKeywords, keywords), [grade, weights[0]], [own, weights[1]]
        )
        model = gather_samples(
            blocks, settings.of_blocks, [grade], among(TableKeywords, keywords), threads,
            report_progress, purpose="a comparison with samples", options=options[0],
        )  # fmt: skip
        x, y, z = settings.xyz or (None, None, None)
        drilled = gather_samples(
            samples, settings.of_samples(model.column), [own], {}, threads, report_progress,
            purpose="a comparison with blocks", options=options[1]._replace(x=x, y=y, z=z),
        )  # fmt: skip
        result, _ = compare_samples(model, drilled, settings, (grade, own), threads, warned)
        # Drawn before any file is written: matplotlib may be missing.
        picture = None if kind is None else _picture_of(result, kind)
        for path, record, records in (
            (output, ValidationRow, [*result.rows, result.total]),
            (quantile_table, QuantilePair, result.quantiles),
            (swath_table, Swath, result.swaths),
        ):
            if path is not None:
                write_columns(records_columns(record, records), path, overwrite=overwrite)
        if chart is not None and picture is not None:
            with open_target(chart, overwrite=overwrite) as target:
                target.write(memoryview(picture))
    return result


def _picture_of(validation: Validation, kind: str) -> bytes:
    """Return the charts as the bytes of a file: in a PDF, each domain has a page."""
    pages = [page for _, page in validation.pages()]
    groups = [[page] for page in pages] if kind == "pdf" and pages else [pages]
    return picture_of(validation_figures(groups), kind)


def compare_samples(
    blocks: Samples,
    samples: Samples,
    settings: ValidateSettings,
    grades: tuple[str, str],
    threads: int | None,
    warned: Sequence[str] = (),
) -> tuple[Validation, dict[str, tuple[Side, Side]]]:
    """Compare gathered blocks with gathered samples; `grades` are their columns of grades.

    Returns
    -------
    Validation
        The comparison, with the warnings `warned`.
    dict of str to (Side, Side)
        For each domain, and for ``"(all)"``, the samples and the blocks that are compared.
    """
    work = _Work(blocks, samples, settings, grades, threads)
    rows = work.compare()
    for sentence in work.warnings(rows):
        warn(sentence)
    return work.result(rows, warned), work.sides


def options_of_both(
    keywords: TableKeywords,
    block_columns: Sequence[str | float | None],
    sample_columns: Sequence[str | float | None],
) -> tuple[TableOptions, TableOptions]:
    """Return the options for reading the blocks, and those for the samples.

    A mark of missing values, or a limit of detection, of a column of the other table is left out.
    """
    blocks, samples = options_among(keywords), options_among(among(TextKeywords, keywords))
    samples = samples._replace(points_are_middles=blocks.points_are_middles)
    ours, theirs = (
        {plain_name(each) for each in some if isinstance(each, str)}
        for some in (block_columns, sample_columns)
    )

    def without(options: TableOptions, others: set[str]) -> TableOptions:
        return options._replace(
            own_missing=tuple(
                each for each in options.own_missing if plain_name(each[0]) not in others
            ),
            detection_limits=tuple(
                each for each in options.detection_limits if plain_name(each[0]) not in others
            ),
        )

    return without(blocks, theirs - ours), without(samples, ours - theirs)


@dataclass(frozen=True)
class Side:
    """The rows of one table in a domain that are compared.

    Attributes
    ----------
    rows : int
        Number of rows of the domain.
    without_grade, without_weight, without_place : int
        Numbers of rows that are left out.
    values : (n,) float64
        Grades.
    own, weights : (n,) float64, optional
        The weights of the rows, such as lengths, and the weights that are compared, which
        declustering may have changed; None if each row counts alike.
    points : (n, 3) float64
        Places in world coordinates.
    """

    rows: int
    without_grade: int
    without_weight: int
    without_place: int
    values: Floats
    own: Floats | None
    weights: Floats | None
    points: Floats

    def __len__(self) -> int:
        """Return the number of rows that are compared."""
        return len(self.values)

    @property
    def at_zero(self) -> int:
        """The number of values that are 0 or less."""
        return int((self.values <= 0).sum())


NO_ROWS = Side(0, 0, 0, 0, np.empty(0), None, None, np.empty((0, 3)))


class _Work:
    """Compares gathered blocks with gathered samples, domain by domain."""

    def __init__(
        self,
        blocks: Samples,
        samples: Samples,
        settings: ValidateSettings,
        grades: tuple[str, str],
        threads: int | None,
    ) -> None:
        self._settings, self._grades, self._threads = settings, grades, threads
        self._blocks, self._samples = Groups(blocks), Groups(samples)
        self._steps: tuple[float, ...] = ()
        self._unweighed: list[str] = []
        self._pairs: list[QuantilePair] = []
        self._swaths: list[Swath] = []
        self.sides: dict[str, tuple[Side, Side]] = {}
        # Slices along the axes of a rotated model; the world's axes otherwise.
        turned_model = not np.array_equal(blocks.axes, np.eye(3))
        self._turned = turned_model and settings.swath_axes == "model"

    def compare(self) -> list[ValidationRow]:
        """Return the rows of the domains, and then that of all domains."""
        sides = []
        for groups, grade in zip((self._blocks, self._samples), self._grades, strict=True):
            values = groups.values(grade)
            sides.append({
                (group.whole, group.domain): (group, _side_of(groups, group, values))
                for group in groups.of(values)
            })  # fmt: skip
        blocks, samples = sides
        # A table without labels is compared as a whole.
        labelled = self._blocks.samples.column and self._samples.samples.column
        keys = [(False, label) for whole, label in {**blocks, **samples} if not whole and labelled]
        keys.sort(key=lambda key: in_order(key[1]))
        whole = (True, "")
        self._steps = self._thicknesses(blocks[whole][1], samples[whole][1])
        return [
            self._row(
                key,
                blocks[key][1] if key in blocks else NO_ROWS,
                *samples.get(key, (None, NO_ROWS)),
            )
            for key in [*keys, whole]
        ]

    def result(self, rows: Sequence[ValidationRow], warned: Sequence[str]) -> Validation:
        """Return the comparison, with the warnings issued so far."""
        blocks, samples = self._blocks.samples, self._samples.samples
        frame = ""
        if self._turned:
            frame = "the rotation of the cells"
            frame = frame if blocks.frame is None else blocks.frame.say_turns()
        return Validation(
            rows=tuple(rows[:-1]),
            total=rows[-1],
            quantiles=tuple(self._pairs),
            swaths=tuple(self._swaths),
            grade=self._grades[0],
            sample_grade=self._grades[1],
            block_weight=blocks.weights.name,
            sample_weight=samples.weights.name,
            frame=frame,
            warnings=tuple(warned),
            notes=(
                *_alone(rows, "blocks", "samples"),
                *blocks.spelled.notes(),
                *samples.spelled.notes(),
                *dict.fromkeys([*blocks.below_notes(), *samples.below_notes()]),
            ),
        )

    def warnings(self, rows: Sequence[ValidationRow]) -> Iterator[str]:
        """Yield warnings: rows that are left out, negative grades, domains on one side alone."""
        total = rows[-1]
        for groups, grade, what in (
            (self._blocks, self._grades[0], "blocks"),
            (self._samples, self._grades[1], "samples"),
        ):
            table = groups.samples
            missing, weightless, placeless = (
                getattr(total, f"{what}_without_{name}") for name in ("grade", "weight", "place")
            )
            yield from lost_rows(table, grade, missing, weightless, "left out of the comparison")
            if placeless:
                lost = counted(placeless, table.word)
                yield f"{lost} with {grade} without coordinates: left out of the comparison"
            for negative in table.negative.values():
                yield from negative.warnings(table.word)
            yield from table.place_warnings()
            if not getattr(total, what):
                yield f"{table.table} has no {what} with {grade}: there is nothing to compare"
        columns = self._blocks.samples.column, self._samples.samples.column
        if (columns[0] is None) != (columns[1] is None):
            bare = (self._blocks if columns[0] is None else self._samples).samples
            yield f"{bare.table} has no label column: all domains are compared as one"
        yield from _alone(rows, "samples", "blocks")
        yield from self._unweighed

    def _row(
        self, key: tuple[bool, str], blocks: Side, group: Group | None, samples: Side
    ) -> ValidationRow:
        """Return the row of a domain, and add its quantiles and slices."""
        whole, label = key
        domain = ALL if whole else label
        naive = Population(samples.values, samples.own).mean if len(samples) else None
        weights, cell = self._declustered(group, samples, blocks)
        named = "naive"
        if weights is not None:
            named = NEAREST if self._settings.cell == NEAREST else "cells"
            samples = replace(samples, weights=weights)
        self.sides[domain] = samples, blocks
        ours, theirs = (
            Population(side.values, side.weights) if len(side) else None
            for side in (samples, blocks)
        )
        mean, block_mean = (
            None if population is None else population.mean for population in (ours, theirs)
        )
        if ours is not None and theirs is not None:
            self._pairs += [
                QuantilePair(domain, float(share), ours.quantile(share), theirs.quantile(share))
                for share in SHARES
            ]
        for axis in self._settings.axes:
            self._swaths += self._slices(domain, axis, samples, blocks)
        x, y, z = cell or (None, None, None)
        return ValidationRow(
            domain,
            named,
            sample_rows=samples.rows,
            samples=len(samples),
            samples_without_grade=samples.without_grade,
            samples_without_weight=samples.without_weight,
            samples_without_place=samples.without_place,
            sample_weight=total_weight(samples.own, len(samples)),
            block_rows=blocks.rows,
            blocks=len(blocks),
            blocks_without_grade=blocks.without_grade,
            blocks_without_weight=blocks.without_weight,
            blocks_without_place=blocks.without_place,
            block_weight=total_weight(blocks.own, len(blocks)),
            naive_mean=naive,
            sample_mean=mean,
            block_mean=block_mean,
            difference=(
                100 * (block_mean - mean) / mean
                if mean is not None and block_mean is not None and mean > 0
                else None
            ),
            sample_cv=None if ours is None else ours.cv,
            block_cv=None if theirs is None else theirs.cv,
            samples_at_zero=samples.at_zero,
            blocks_at_zero=blocks.at_zero,
            cell_x=x,
            cell_y=y,
            cell_z=z,
        )

    def _declustered(
        self, group: Group | None, samples: Side, blocks: Side
    ) -> tuple[Floats | None, Cell | None]:
        """Return the declustered weights of samples, and the size of cells; None without them."""
        if group is None:
            return None, None
        weighed = decluster(
            Part(samples.values, samples.own, None, samples.points, self._threads),
            self._settings,
            table=self._samples.samples.table,
            blocks=(blocks.points, blocks.weights),
        )
        # Samples without blocks to compare with are reported as such.
        if weighed.why and len(blocks):
            self._unweighed.append(not_declustered(self._grades[1], group, weighed.why))
        weights = weighed.weights
        return None if weights is None else weights[slice(None)], weighed.cell

    def _along(self, points: Floats, axis: int) -> Floats:
        """Return the coordinates of points along an axis of the slices."""
        model = self._blocks.samples
        if not self._turned:
            return points[:, axis]
        if model.frame is not None:
            return model.frame.to_local(points)[:, axis]
        return turned(points, model.axes, (0.0, 0.0, 0.0))[:, axis]

    def _thicknesses(self, blocks: Side, samples: Side) -> tuple[float, ...]:
        """Return the thickness of the slices along each axis, given or chosen."""
        if self._settings.steps is not None:
            return self._settings.steps
        chosen = []
        for axis in range(3):
            places = self._along((blocks if len(blocks) else samples).points, axis)
            extent = float(np.ptp(places)) if len(places) else 0.0
            size = float(self._blocks.samples.largest[axis])
            if self._turned or np.array_equal(self._blocks.samples.axes, np.eye(3)):
                chosen.append(_thickness(extent, size))
            else:
                chosen.append(_thickness(extent, 0.0))
        return tuple(chosen)

    def _slices(self, domain: str, axis: int, samples: Side, blocks: Side) -> Iterator[Swath]:
        """Yield the slices of a domain along an axis that have samples or blocks."""
        step = self._steps[axis]
        with np.errstate(over="ignore"):
            ours, theirs = (
                np.floor(snapped(self._along(side.points, axis) / step))
                for side in (samples, blocks)
            )
        every = np.concatenate([ours, theirs])
        if not len(every):
            return
        low, high = float(every.min()), float(every.max())
        if not high - low < _MOST_SLICES:
            message = (
                f"step= is {step:g} along {AXES[axis]}, where the domain {shown(domain)} would "
                f"have more than {_MOST_SLICES:,} slices: give a larger one"
            )
            raise TableError(message)
        count = int(high - low) + 1
        first, second = ((each - low).astype(np.intp) for each in (ours, theirs))
        naive = _Sums(samples.values, samples.own, first, count)
        sampled = _Sums(samples.values, samples.weights, first, count)
        blocked = _Sums(blocks.values, blocks.weights, second, count)
        for place in range(count):
            if naive.counts[place] or blocked.counts[place]:
                yield Swath(
                    domain,
                    AXES[axis],
                    (low + place) * step,
                    (low + place + 1) * step,
                    naive.counts[place],
                    naive.weight(place),
                    blocked.counts[place],
                    blocked.weight(place),
                    naive.mean(place),
                    sampled.mean(place),
                    blocked.mean(place),
                )


def _alone(rows: Sequence[ValidationRow], mine: str, other: str) -> Iterator[str]:
    """Yield a sentence that lists the domains with rows on one side only, if there are any."""
    *domains, total = rows
    alone = [
        shown(row.domain) if row.domain else "rows without a domain"
        for row in domains
        if getattr(row, mine) and not getattr(row, other)
    ]
    if alone and getattr(total, other):
        yield (
            f"{mine} without {other} to compare with: {', '.join(alone)}; the row of all {mine} "
            "includes them"
        )


class _Sums:
    """Exact sums of weights, and of weights times grades, in each slice."""

    def __init__(
        self, values: Floats, weights: Floats | None, places: NDArray[np.intp], count: int
    ) -> None:
        self.counts: list[int] = np.bincount(places, minlength=count).tolist()
        self._metals = exact_sums(values if weights is None else weights * values, places, count)
        self._weights = (
            [number * ONE for number in self.counts]
            if weights is None
            else exact_sums(weights, places, count)
        )

    def weight(self, place: int) -> float:
        """Return the total weight in a slice."""
        return nearest_float(self._weights[place])

    def mean(self, place: int) -> float | None:
        """Return the weighted mean in a slice; None without a weight."""
        weight = self._weights[place]
        return nearest_float(self._metals[place], weight) if weight else None


def sides_of(groups: Groups, grade: str) -> dict[str, Side]:
    """Return the rows of each domain, and of ``"(all)"``, that have a grade and coordinates."""
    values = groups.values(grade)
    return {
        ALL if group.whole else group.domain: _side_of(groups, group, values)
        for group in groups.of(values)
    }


def _side_of(groups: Groups, group: Group, values: Floats) -> Side:
    """Return the rows of a domain that have a grade, a weight and coordinates."""
    rows = groups.placed(group.rows)
    own = groups.weights_of(rows)
    lost = len(group.rows) - len(rows)
    return Side(
        group.total, group.missing, group.without_weight, lost, values[rows], own, own,
        groups.points[rows],
    )  # fmt: skip


def _thickness(extent: float, size: float) -> float:
    """Return a thickness that makes about 20 slices: a multiple of the block size, if known.

    Examples
    --------
    >>> _thickness(400.0, 10.0), _thickness(30.0, 10.0), _thickness(437.0, 0.0)
    (20.0, 10.0, 20.0)
    """
    wanted = extent / _SLICES
    if size > 0:
        return size * max(1, round(wanted / size))
    if wanted <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * next(each for each in (10, 5, 2, 1) if each * power <= wanted))
