"""Statistics of samples and blocks by domain: naive, declustered, and with top cuts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError, collect_warnings, counted, shown, warn
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD
from geodomain.formats.blocks import file_of, require_table_name, write_columns
from geodomain.progress import Progress, show_progress
from geodomain.result_tables import records_columns
from geodomain.settings import among, read_keywords, with_keywords
from geodomain.statistics.declustering import Cell, Declustering, Trial, best
from geodomain.statistics.populations import LARGEST, Population, RunningSums
from geodomain.statistics.results import (
    ALL,
    ClusterPoint,
    CutPoint,
    Statistics,
    StatsRow,
    cluster_point,
    cut_point,
    cut_row,
    described,
)
from geodomain.statistics.samples import Samples, gather_samples
from geodomain.statistics.settings import AUTO, StatsKeywords, StatsSettings
from geodomain.tables.settings import TableKeywords
from geodomain.volumes.tonnage import nearest_float

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

# More cells than this along an axis cannot be numbered.
_MOST_CELLS = 1 << 30


@with_keywords(StatsSettings, StatsKeywords, table=TableKeywords)
def stats(
    what: str | os.PathLike[str] | IntoDataFrame,
    grade: str | Sequence[str],
    output: str | os.PathLike[str] | None = None,
    *,
    curve: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: Progress | bool = False,
    **keywords: Unpack[StatsKeywords],
) -> Statistics:
    """Compute quantiles, mean and variance of grades by domain, also declustered and top-cut.

    Parameters
    ----------
    what : path, pandas or polars DataFrame, or pyarrow.Table
        Samples, or blocks of a model in any format. A file without coordinates needs columns of
        hole, from and to. Only declustering uses coordinates.
    grade : str or sequence of str
        Columns of grades.
    output : path, optional
        File for the table of `Statistics.to_pandas`: .csv, .parquet or .xlsx; "-" is CSV on
        stdout. After an error no partial file remains.
    curve : path, optional
        File for the sizes of cells that ``decluster="auto"`` tried, with the declustered mean of
        each; the formats are those of `output`.
    overwrite : bool
        Whether existing outputs may be replaced.
    threads, progress
        As for `label_file`.
    **settings
    **table
        Options for reading the table, as for `label_file`.

    Returns
    -------
    Statistics
        ``print`` it for tables. A row without a grade or a weight is left out of the statistics of
        this grade, and counted. Sums are exact and rounded once, so the order of the rows does not
        matter. A quantile is the first value whose cumulative weight reaches its share, exactly.
        Declustering weights (Journel, 1983) are computed in each domain from the samples that have
        the grade. They multiply the weights of the rows, such as lengths.

    Raises
    ------
    TableError
        For ambiguous, missing or invalid columns, a negative weight, or cells that are too small.
        For declustering without coordinates.
    OSError
        If a file cannot be opened. If an output exists already; see ``overwrite``.
    ValueError, TypeError
        For invalid settings, or an object that is not a table.

    Warns
    -----
    GeodomainWarning
        For missing grades, weights and coordinates, and for negative grades. Also if
        ``decluster="auto"`` finds no best size of cells, because the smallest or the largest cells
        have the extreme mean: there are no declustered statistics then.

    Examples
    --------
    >>> import geodomain, pandas
    >>> samples = pandas.DataFrame({"FROM": [0, 1, 3], "TO": [1, 3, 4], "AU": [4.0, 1.0, 2.0]})
    >>> (row,) = geodomain.stats(samples, "AU").totals
    >>> row.count, row.weight, row.mean, row.median, row.variance
    (3, 4.0, 2.0, 1.0, 1.5)
    """
    settings = read_keywords(StatsSettings, keywords, StatsKeywords)
    grades = [grade] if isinstance(grade, str) else list(dict.fromkeys(grade))
    if not grades:
        message = "grade= is empty: name at least one column of grades"
        raise ValueError(message)
    caps = settings.caps(grades)
    if curve is not None and settings.cell != AUTO:
        message = "curve= is the curve of decluster='auto': give both, or only decluster="
        raise ValueError(message)
    targets = [os.fspath(each) for each in (output, curve) if each is not None]
    _require_targets(targets, what, overwrite=overwrite)
    table = among(TableKeywords, keywords)
    with collect_warnings() as warned, show_progress(progress, "reading") as report_progress:
        samples = gather_samples(what, settings, grades, table, threads, report_progress)
        work = _Work(samples, settings, caps, threads)
        for name in samples.grades:
            work.compute(name)
        for sentence in work.warnings():
            warn(sentence)
        found = work.result(warned)
        for path, records in ((output, StatsRow), (curve, ClusterPoint)):
            if path is not None:
                rows = [*found.rows, *found.totals] if path is output else found.cluster_curve
                write_columns(records_columns(records, rows), path, overwrite=overwrite)
    return found


def _require_targets(targets: Sequence[str], what: object, *, overwrite: bool) -> None:
    """Refuse outputs that cannot be written, before any work."""
    if targets.count(STANDARD) > 1:
        message = "two outputs would both go to stdout (-): name a file for at least one of them"
        raise TableError(message)
    read = isinstance(what, str | os.PathLike) and os.fspath(what) != STANDARD
    places = [Path(target) for target in targets if target != STANDARD]
    refuse_inputs(places, [file_of(os.fspath(what))] if read else [])  # type: ignore[call-overload]
    for place in places:
        require_table_name(str(place), parquet=True)
    require_places(places, overwrite=overwrite)


class _Group(NamedTuple):
    """The values of a grade in one domain, or in all domains.

    Attributes
    ----------
    row : StatsRow
        The names and counts of the statistics.
    rows : (n,) intp
        The rows that have the grade and a weight.
    whole : bool
        Whether the rows are those of all domains together.
    """

    row: StatsRow
    rows: NDArray[np.intp]
    whole: bool = False


class _Work:
    """Computes the statistics of gathered rows, one grade after another."""

    def __init__(
        self,
        samples: Samples,
        settings: StatsSettings,
        caps: Mapping[str, tuple[float, ...]],
        threads: int | None,
    ) -> None:
        self._samples, self._settings, self._caps = samples, settings, caps
        self._threads = threads
        self._weights, self._holes = samples.weights_of_rows(), samples.holes()
        self._points, self._domains = samples.points(), samples.domains()
        self._rows: list[StatsRow] = []
        self._totals: list[StatsRow] = []
        self._cuts: list[CutPoint] = []
        self._trials: list[ClusterPoint] = []
        self._turnless: list[str] = []

    def compute(self, grade: str) -> None:
        """Add the statistics of a grade."""
        values = self._samples.values(grade)
        self._refuse_huge(grade, values)
        self._refuse_huge(self._samples.weights.name, self._weights)
        for group in self._groups(grade, values):
            rows = list(self._of_group(group, values))
            (self._totals if group.whole else self._rows).extend(rows)

    def result(self, warned: Iterable[str]) -> Statistics:
        """Return the statistics of all grades, with the warnings issued so far."""
        samples = self._samples
        notes = [
            f"{name}: {counted(count, 'value')} below detection, read by below_detection="
            f"{samples.negative[name].below!r}"
            for name, count in samples.below.items()
            if count
        ]
        if not samples.weights.name and samples.weights.number is None:
            notes.append(
                f"each {samples.word} has the same weight: to weight by length, for example, name "
                "the column of lengths with sample_weight="
            )
        return Statistics(
            rows=tuple(self._rows),
            totals=tuple(self._totals),
            read=samples.rows,
            column=samples.column,
            weight=samples.weights.name,
            cut_curve=tuple(self._cuts),
            cluster_curve=tuple(self._trials),
            warnings=tuple(warned),
            notes=(*notes, *samples.spelled.notes()),
        )

    def warnings(self) -> Iterator[str]:
        """Yield warnings about missing and negative values, and curves that do not turn."""
        samples = self._samples
        if not samples.rows:
            yield f"{samples.table} has no rows: there are no statistics"
        for row in self._totals:
            if row.cap is not None:
                continue
            left_out = f"left out of the statistics of {row.grade}"
            if row.weights == "declustered":
                if row.without_place:
                    lost = counted(row.without_place, samples.word)
                    yield (
                        f"{lost} with {row.grade} but without coordinates: left out of the "
                        f"declustered statistics of {row.grade}"
                    )
                continue
            if row.missing:
                yield f"{counted(row.missing, samples.word)} without {row.grade}: {left_out}"
            if row.without_weight:
                lost = counted(row.without_weight, samples.word)
                yield (
                    f"{lost} with {row.grade} but without a weight above 0 "
                    f"({samples.weights.name}): {left_out}"
                )
        for grade in samples.negative.values():
            yield from grade.warnings(samples.word)
        yield from self._turnless

    def _refuse_huge(self, name: str, values: Floats | None) -> None:
        """Raise TableError for a grade or weight whose square or product could overflow."""
        if values is None:
            return
        with np.errstate(invalid="ignore"):
            huge = np.abs(values) > LARGEST
        if huge.any():
            row = int(huge.argmax())
            value = float(values[row])
            message = (
                f"{self._samples.table}: {name} is {value!r} in {self._samples.word} {row + 1:,}, "
                "too large for a variance: correct it, or, if it stands for a missing value, use "
                f"missing={{{name!r}: {value!r}}}"
            )
            raise TableError(message)

    def _groups(self, grade: str, values: Floats) -> Iterator[_Group]:
        """Yield the rows of each domain, sorted by label, and then the rows of all domains."""
        samples = self._samples
        known = ~np.isnan(values)
        used = known if self._weights is None else known & ~np.isnan(self._weights)
        every = np.flatnonzero(used)
        if samples.column is not None and samples.rows:
            codes, count = self._domains, len(samples.labels)
            totals, missing, usable = (
                np.bincount(codes[mask], minlength=count) for mask in (slice(None), ~known, used)
            )
            order = every[np.argsort(codes[every], kind="stable")]
            ends = np.cumsum(usable)
            for code in sorted(
                range(count), key=lambda at: (not samples.labels[at], samples.labels[at])
            ):
                if not totals[code]:
                    continue
                row = StatsRow(
                    grade,
                    samples.labels[code],
                    "naive",
                    rows=int(totals[code]),
                    count=int(usable[code]),
                    missing=int(missing[code]),
                    without_weight=int(totals[code] - missing[code] - usable[code]),
                )
                yield _Group(row, order[ends[code] - usable[code] : ends[code]])
        lost = int((~known).sum())
        row = StatsRow(
            grade,
            ALL,
            "naive",
            rows=samples.rows,
            count=len(every),
            missing=lost,
            without_weight=samples.rows - lost - len(every),
        )
        yield _Group(row, every, whole=True)

    def _of_group(self, group: _Group, values: Floats) -> Iterator[StatsRow]:
        """Yield the statistics of a domain: naive and declustered, each without and with caps."""
        some = values[group.rows]
        lengths = None if self._weights is None else self._weights[group.rows]
        yield from self._with_cuts(group.row, some, lengths, lengths, self._holes_of(group.rows))
        if not self._samples.placed:
            return
        points = self._points[group.rows]
        there = np.isfinite(points).all(axis=1)
        rows = group.rows[there]
        some, lengths = some[there], None if lengths is None else lengths[there]
        row = replace(
            group.row,
            weights="declustered",
            count=len(rows),
            without_place=len(group.rows) - len(rows),
        )
        weights, cell = self._declustered(row, points[there], some, lengths)
        if cell is not None:
            row = replace(row, cell_x=cell[0], cell_y=cell[1], cell_z=cell[2])
        if weights is None:
            yield replace(row, weight=_total(lengths, len(rows)))
            return
        both = weights if lengths is None else weights * lengths
        yield from self._with_cuts(row, some, both, lengths, self._holes_of(rows))

    def _holes_of(self, rows: NDArray[np.intp]) -> NDArray[np.int32] | None:
        return None if self._holes is None else self._holes[rows]

    def _with_cuts(
        self,
        row: StatsRow,
        values: Floats,
        weights: Floats | None,
        lengths: Floats | None,
        holes: NDArray[np.int32] | None,
    ) -> Iterator[StatsRow]:
        """Yield the statistics of values without a cap, and then with each cap."""
        caps = self._caps[row.grade]
        if not len(values):
            yield row
            yield from (replace(row, cap=cap) for cap in caps)
            return
        population = Population(values, weights, holes)
        whole = described(row, population, _total(lengths, len(values)))
        yield whole
        yield from (cut_row(whole, population.cut(cap)) for cap in caps)
        if caps:
            self._cuts += [cut_point(row, cut) for cut in population.cut_curve()]

    def _declustered(
        self, row: StatsRow, points: Floats, values: Floats, lengths: Floats | None
    ) -> tuple[Floats | None, Cell | None]:
        """Return the declustering weights of the values, and the size of the cells.

        Both are None if there are no values, or if ``decluster="auto"`` finds no size.
        """
        settings, cell = self._settings, self._settings.cell
        if not len(points):
            return None, None
        grid = Declustering(points, settings.decluster_origins, self._threads)
        if cell == AUTO:
            trials = [grid.trial(size, values, lengths) for size in grid.sizes(settings.ratio)]
            chosen = best(trials, maximise=settings.maximise) if trials else None
            self._trials += [cluster_point(row, trial, chosen=trial is chosen) for trial in trials]
            if chosen is None:
                self._turnless.append(_no_turn(row, trials, maximise=settings.maximise))
                return None, None
            size = chosen.cell
        elif isinstance(cell, tuple):
            size = cell
        else:
            x, y, z = settings.ratio
            side = float(cell)  # type: ignore[arg-type]  # neither None nor text here
            size = side * x, side * y, side * z
        if any(side / step > _MOST_CELLS for side, step in zip(grid.sides, size, strict=True)):
            message = (
                f"{self._samples.table}: cells of {size[0]:g} x {size[1]:g} x {size[2]:g} are too "
                f"small for a domain of {' x '.join(f'{side:g}' for side in grid.sides)}: give "
                "a larger size with decluster="
            )
            raise TableError(message)
        return grid.weights(size), size


def _total(lengths: Floats | None, count: int) -> float:
    return float(count) if lengths is None else nearest_float(RunningSums(lengths).total)


def _no_turn(row: StatsRow, trials: Sequence[Trial], *, maximise: bool) -> str:
    """Return a warning that no best size of cells was found."""
    whose = (
        f"{row.grade} of all domains"
        if row.domain == ALL
        else (f"{row.grade} of {shown(row.domain) if row.domain else 'rows without a domain'}")
    )
    what = "largest" if maximise else "least"
    if not trials:
        why = "all samples are at one place"
    else:
        sizes = " to ".join(f"{trial.cell[0]:g}" for trial in (trials[0], trials[-1]))
        why = (
            f"cells of {sizes} were tried, and the smallest or the largest have the {what} "
            "declustered mean"
        )
    return (
        f"{whose} is not declustered: {why}; give a size of cells with decluster=, such as the "
        "spacing of holes where they are sparse"
    )
