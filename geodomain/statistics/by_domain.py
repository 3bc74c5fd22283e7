"""Statistics of samples and blocks by domain: naive, declustered, and with top cuts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from geodomain.compute.data import Floats
from geodomain.drillholes.tables import require_outputs
from geodomain.errors import collect_warnings, counted, warn
from geodomain.formats.blocks import write_columns
from geodomain.progress import Progress, show_progress
from geodomain.result_tables import records_columns
from geodomain.settings import among, read_keywords, with_keywords
from geodomain.statistics.groups import (
    Group,
    Groups,
    Part,
    decluster,
    lost_rows,
    not_declustered,
    require_labels,
)
from geodomain.statistics.populations import Numbers
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
from geodomain.statistics.samples import gather_samples
from geodomain.statistics.settings import (
    AUTO,
    NEAREST,
    StatsKeywords,
    StatsSettings,
    WeightSettings,
)
from geodomain.statistics.spilled import SpilledPart
from geodomain.tables.settings import TableKeywords

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@with_keywords(StatsSettings, StatsKeywords, table=TableKeywords)
def stats(
    what: str | os.PathLike[str] | IntoDataFrame,
    grade: str | Sequence[str],
    output: str | os.PathLike[str] | None = None,
    *,
    blocks: str | os.PathLike[str] | IntoDataFrame | None = None,
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
    blocks : path or table, optional
        Block model for ``decluster="nearest"``: each sample is weighted by the volume of the blocks
        of its domain that are nearest to it. Its columns are recognised by their names; ``column``
        names its label column as well.
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
        the grade. They multiply the weights of the rows, such as lengths. The volumes of nearest
        blocks replace these weights.

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
        For missing grades, weights and coordinates, for negative grades, and for blocks that occur
        twice, overlap or leave gaps. Also if
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
    if (blocks is not None) != (settings.cell == NEAREST):
        message = "blocks= is the model of decluster='nearest': give both or neither"
        raise ValueError(message)
    require_outputs([output, curve], [what, blocks], overwrite=overwrite, formats="columns")
    table = among(TableKeywords, keywords)
    with collect_warnings() as warned, show_progress(progress, "reading") as report_progress:
        purpose = "" if settings.cell is None else "declustering"
        groups = Groups(
            gather_samples(
                what,
                settings,
                grades,
                table,
                threads,
                report_progress,
                purpose=purpose,
                spill=settings.cell != NEAREST,
            )
        )
        model: Groups | None = None
        if blocks is not None:
            own = WeightSettings(column=settings.column)
            model = Groups(
                gather_samples(blocks, own, (), {}, threads, report_progress, purpose=purpose)
            )
            require_labels(model.samples, groups.samples)
        result = describe_samples(groups, model, settings, caps, threads, warned)
        for path, records in ((output, StatsRow), (curve, ClusterPoint)):
            if path is not None:
                rows = [*result.rows, *result.totals] if path is output else result.cluster_curve
                write_columns(records_columns(records, rows), path, overwrite=overwrite)
    return result


def describe_samples(
    groups: Groups,
    blocks: Groups | None,
    settings: StatsSettings,
    caps: Mapping[str, tuple[float, ...]],
    threads: int | None,
    warned: Sequence[str] = (),
) -> Statistics:
    """Return the statistics of gathered samples or blocks, with the warnings `warned`.

    `blocks` are those of ``decluster="nearest"``, and `caps` the top cuts of each grade.
    """
    work = _Work(groups, blocks, settings, caps, threads)
    for name in groups.samples.grades:
        work.compute(name)
    for sentence in work.warnings():
        warn(sentence)
    return work.result(warned)


class _Work:
    """Computes the statistics of gathered rows, one grade after another."""

    def __init__(
        self,
        groups: Groups,
        blocks: Groups | None,
        settings: StatsSettings,
        caps: Mapping[str, tuple[float, ...]],
        threads: int | None,
    ) -> None:
        self._groups, self._samples = groups, groups.samples
        self._settings, self._caps, self._blocks = settings, caps, blocks
        self._threads = threads
        self._rows: list[StatsRow] = []
        self._totals: list[StatsRow] = []
        self._cuts: list[CutPoint] = []
        self._trials: list[ClusterPoint] = []
        self._unweighed: list[str] = []

    def compute(self, grade: str) -> None:
        """Add the statistics of a grade."""
        for group, part in self._groups.parts(grade, self._threads):
            rows = list(self._of_group(grade, group, part))
            (self._totals if group.whole else self._rows).extend(rows)

    def result(self, warned: Iterable[str]) -> Statistics:
        """Return the statistics of all grades, with the warnings issued so far."""
        samples = self._samples
        notes = samples.below_notes()
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
        """Yield warnings: missing and negative values, and domains that are not declustered."""
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
            yield from lost_rows(samples, row.grade, row.missing, row.without_weight, left_out)
        for grade in samples.negative.values():
            yield from grade.warnings(samples.word)
        yield from samples.place_warnings()
        yield from self._unweighed

    def _of_group(self, grade: str, group: Group, part: Part | SpilledPart) -> Iterator[StatsRow]:
        """Yield the rows of a domain: naive, with each cap, and then the same declustered."""
        row = StatsRow(
            grade,
            ALL if group.whole else group.domain,
            "naive",
            rows=group.total,
            count=len(part),
            missing=group.missing,
            without_weight=group.without_weight,
        )
        yield from self._with_cuts(row, part)
        if not self._samples.placed:
            return
        there = part.located()
        row = replace(
            row, weights="declustered", count=len(there), without_place=len(part) - len(there)
        )
        weighed = decluster(
            there, self._settings, table=self._samples.table, blocks=self._blocks_of(group)
        )
        for trial in weighed.trials:
            self._trials.append(cluster_point(row, trial, chosen=trial is weighed.chosen))
        if weighed.cell is not None:
            x, y, z = weighed.cell
            row = replace(row, cell_x=x, cell_y=y, cell_z=z)
        if weighed.weights is None:
            if weighed.why:
                self._unweighed.append(not_declustered(grade, group, weighed.why))
            yield replace(row, weight=there.total_weight())
            return
        yield from self._with_cuts(row, there, weighed.weights)

    def _blocks_of(self, group: Group) -> tuple[Floats, Floats | None] | None:
        """Return the centres and volumes of the blocks of a domain, if there is a model."""
        model = self._blocks
        if model is None:
            return None
        rows = model.in_domain(group.domain, group.whole)
        return model.points[rows], model.weights_of(rows)

    def _with_cuts(
        self, row: StatsRow, part: Part | SpilledPart, weights: Numbers | None = None
    ) -> Iterator[StatsRow]:
        """Yield the statistics of values without a cap, and then with each cap."""
        caps = self._caps[row.grade]
        if not len(part):
            yield row
            yield from (replace(row, cap=cap) for cap in caps)
            return
        population = part.population(weights)
        whole = described(row, population, part.total_weight())
        yield whole
        yield from (cut_row(whole, population.cut(cap)) for cap in caps)
        if caps:
            self._cuts += [cut_point(row, cut) for cut in population.cut_curve()]
