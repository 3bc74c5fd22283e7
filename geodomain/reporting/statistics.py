"""Statistics of samples and blocks by domain: naive, declustered, and with top cuts."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.columns import LabelSpellings
from geodomain.compute.data import Floats
from geodomain.drillholes.tables import Reading, read_table, usual_column
from geodomain.errors import (
    CentroidError,
    TableError,
    collect_warnings,
    counted,
    in_lines,
    shown,
    warn,
)
from geodomain.files.outputs import refuse_inputs, require_places
from geodomain.files.streams import STANDARD, open_target
from geodomain.formats.blocks import Rows, file_of, open_model, read_columns, require_text_name
from geodomain.progress import Progress, show_progress
from geodomain.reporting.declustering import Cell, Declustering, Trial, best
from geodomain.reporting.populations import (
    LARGEST,
    QUARTILES,
    UPPER,
    Cut,
    Population,
    RunningSums,
)
from geodomain.reporting.settings import AUTO, StatsKeywords, StatsSettings
from geodomain.result_tables import (
    html_table,
    parquet_bytes,
    records_columns,
    records_frame,
    text_table,
)
from geodomain.settings import among, read_keywords, with_keywords
from geodomain.tables.conditions import Column
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.numbers import NegativeGrades
from geodomain.tables.options import TableOptions, options_among
from geodomain.tables.settings import TableKeywords, TextKeywords
from geodomain.tables.vendors import find_column, plain_name
from geodomain.volumes.tonnage import nearest_float, require_few, volumes_of

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame

_ALL, _NO_DOMAIN, _DOMAIN = "(all)", "(none)", "domain"
_PARQUET = (".parquet", ".pq")
# More cells than this along an axis cannot be numbered.
_MOST_CELLS = 1 << 30


# --- The result: values, CSV or Parquet, and a text table.


@dataclass(frozen=True)
class StatsRow:
    """Statistics of one grade in one domain.

    Attributes
    ----------
    grade : str
        Name of the column.
    domain : str
        The label; empty for rows without a label. In `Statistics.totals`, it is ``"(all)"``.
    weights : {"naive", "declustered"}
        Whether the weights are those of the rows, or are multiplied by declustering weights.
    cap : float, optional
        Values above the cap count as the cap; None for the values as they are.
    rows : int
        Number of rows in the domain: the sum of the next four numbers.
    count : int
        Number of values in the statistics.
    missing, without_weight, without_place : int
        Number of rows without the grade; of the others, those without a weight; of these, in
        declustered statistics, those without coordinates.
    weight : float
        Total weight of the values, before declustering: a length, a volume or a number of rows.
    minimum, quartile_1, median, quartile_3, p90, p95, p99, maximum : float, optional
        Quantiles: the first value whose cumulative weight reaches the share. All statistics are
        None if there is no value.
    mean, variance : float, optional
        The divisor of the variance is the total weight.
    cv : float, optional
        Coefficient of variation; None if the mean is not above 0.
    cell_x, cell_y, cell_z : float, optional
        Size of the cells of declustering.
    percentile : float, optional
        Share of the weight at or below the cap, in percent.
    samples_cut, holes_cut : int, optional
        Number of values above the cap, and of holes with such a value; None if holes are unknown.
    metal_lost : float, optional
        Share of the metal that the cap removes, 0 to 1; None if the mean is not above 0.
    """

    grade: str
    domain: str
    weights: str
    cap: float | None = None
    rows: int = 0
    count: int = 0
    missing: int = 0
    without_weight: int = 0
    without_place: int = 0
    weight: float = 0.0
    minimum: float | None = None
    quartile_1: float | None = None
    median: float | None = None
    quartile_3: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    maximum: float | None = None
    mean: float | None = None
    variance: float | None = None
    cv: float | None = None
    cell_x: float | None = None
    cell_y: float | None = None
    cell_z: float | None = None
    percentile: float | None = None
    samples_cut: int | None = None
    holes_cut: int | None = None
    metal_lost: float | None = None


@dataclass(frozen=True)
class CutPoint:
    """A candidate for a top cut: one point of the curve of a grade in a domain.

    The attributes are those of `StatsRow` with the same names.
    """

    grade: str
    domain: str
    weights: str
    cap: float
    percentile: float
    samples_cut: int
    holes_cut: int | None
    mean: float
    cv: float | None
    metal_lost: float | None


@dataclass(frozen=True)
class ClusterPoint:
    """A size of cells that was tried: one point of the curve of a grade in a domain.

    Attributes
    ----------
    grade, domain : str
        As for `StatsRow`.
    cell_x, cell_y, cell_z : float
        Size of the cells.
    mean : float
        Declustered mean with these cells.
    cells : float
        Number of cells with samples, averaged over the origins.
    chosen : bool
        Whether the statistics use this size.
    """

    grade: str
    domain: str
    cell_x: float
    cell_y: float
    cell_z: float
    mean: float
    cells: float
    chosen: bool


@dataclass(frozen=True, repr=False)
class Statistics:
    """Statistics by grade and domain; `str` gives tables, and a notebook shows them.

    Attributes
    ----------
    rows : tuple of StatsRow
        Rows by grade and domain: naive, with each cap, and then the same declustered. Empty
        without a label column.
    totals : tuple of StatsRow
        The same rows for all domains together, as one population.
    read : int
        Number of rows read.
    column : str, optional
        The label column.
    weight : str
        What the rows are weighted by: "volume", "TO - FROM", the name of a column, or "" if each
        row counts alike.
    cut_curve : tuple of CutPoint
        Effects of candidates for a top cut, from the 90th percentile to the maximum.
    cluster_curve : tuple of ClusterPoint
        The sizes of cells that ``decluster="auto"`` tried.
    warnings : tuple of str
        The warnings that were issued.
    notes : tuple of str
        Other observations, such as labels that differ only in case.
    """

    rows: tuple[StatsRow, ...]
    totals: tuple[StatsRow, ...]
    read: int
    column: str | None = None
    weight: str = ""
    cut_curve: tuple[CutPoint, ...] = ()
    cluster_curve: tuple[ClusterPoint, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return `rows` and then `totals` as a DataFrame, with a column for each attribute."""
        return records_frame(StatsRow, [*self.rows, *self.totals])

    def to_csv(self) -> str:
        r"""Return the rows of `to_pandas` as CSV, with unrounded numbers; lines end in "\n"."""
        return _csv(StatsRow, [*self.rows, *self.totals])

    def __str__(self) -> str:
        """Return the statistics as text: tables for each grade, then notes."""
        lines: list[str] = []
        for title, cells in self._tables():
            lines += [*[""] * bool(lines), title, *text_table(cells)]
        return in_lines([*lines, *[""] * bool(self.notes), *self.notes])

    def __repr__(self) -> str:
        """Return the numbers of rows, grades and domains as text."""
        grades = dict.fromkeys(row.grade for row in self.totals)
        domains = {row.domain for row in self.rows}
        return (
            f"<Statistics of {', '.join(grades)} in {counted(self.read, 'row')}: "
            f"{counted(len(domains), 'domain')}>"
        )

    def _repr_html_(self) -> str:
        """Return tables for a notebook."""
        notes = [*self.notes, *(f"warning: {text}" for text in self.warnings)]
        tables = [
            html_table(title, cells, headings=headings)
            for title, (headings, *cells) in self._tables()
        ]
        return "".join([*tables, html_table("Notes", [], notes=notes) if notes else ""])

    def _tables(self) -> Iterator[tuple[str, list[list[str]]]]:
        """Yield the title and the cells of the printed tables: statistics, then top cuts."""
        by = f", weighted by {self.weight}" if self.weight else ""
        every = [*self.rows, *self.totals]
        for grade in dict.fromkeys(row.grade for row in every):
            own = [row for row in every if row.grade == grade]
            whole = [row for row in own if row.cap is None]
            yield f"{grade}{by}", _columns_shown(_SHOWN, whole, self.weight)
            if cut := [row for row in own if row.cap is not None]:
                yield f"{grade}, top cuts{by}", _columns_shown(_CUTS, cut, self.weight)


def _csv(record: type, records: Sequence[object]) -> str:
    """Return records as CSV with unrounded numbers, and empty cells for missing values."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [entry.name for entry in fields(record)]  # type: ignore[arg-type]
    writer.writerow(names)
    for each in records:
        values = [getattr(each, name) for name in names]
        writer.writerow(["" if value is None else value for value in values])
    return text.getvalue()


class _Shown(NamedTuple):
    """A column of the printed table.

    `always` says whether the column is printed even if it is empty or 0 in all rows.
    """

    heading: str
    text: Callable[[StatsRow], str]
    always: bool = True


def _figure(value: float | None, digits: int = 4) -> str:
    """Return a number with some digits, but all of its whole digits; "-" for None."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def _figures(name: str) -> Callable[[StatsRow], str]:
    return lambda row: _figure(getattr(row, name))


def _number(name: str) -> Callable[[StatsRow], str]:
    def text(row: StatsRow) -> str:
        value = getattr(row, name)
        return "-" if value is None else f"{value:,}" if value else "0"

    return text


def _cell(row: StatsRow) -> str:
    sizes = [row.cell_x, row.cell_y, row.cell_z]
    if None in sizes:
        return ""
    texts = [f"{size:.4g}" for size in sizes]
    return texts[0] if len({*texts}) == 1 else " x ".join(texts)


_NAMES = (
    _Shown("domain", lambda row: row.domain or _NO_DOMAIN),
    _Shown("weights", lambda row: row.weights, always=False),
    _Shown("cell", _cell, always=False),
)
_MOMENTS = (_Shown("mean", _figures("mean")), _Shown("CV", _figures("cv")))
_SHOWN = (
    *_NAMES,
    _Shown("count", _number("count")),
    _Shown("missing", _number("missing"), always=False),
    _Shown("no weight", _number("without_weight"), always=False),
    _Shown("no place", _number("without_place"), always=False),
    _Shown("weight", lambda row: _figure(row.weight, 6), always=False),
    *(
        _Shown(heading, _figures(name))
        for heading, name in (
            ("min", "minimum"),
            ("Q1", "quartile_1"),
            ("median", "median"),
            ("Q3", "quartile_3"),
            *((each.upper(), each) for each in ("p90", "p95", "p99")),
            ("max", "maximum"),
        )
    ),
    _MOMENTS[0],
    _Shown("variance", _figures("variance")),
    _MOMENTS[1],
)
_CUTS = (
    *_NAMES,
    _Shown("cap", lambda row: f"{row.cap:g}"),
    _Shown("percentile", lambda row: "-" if row.percentile is None else f"{row.percentile:.4g}"),
    _Shown("count", _number("count")),
    _Shown("cut", _number("samples_cut")),
    _Shown("holes cut", _number("holes_cut"), always=False),
    *_MOMENTS,
    _Shown("metal lost", lambda row: "-" if row.metal_lost is None else f"{row.metal_lost:.2%}"),
)


def _columns_shown(
    columns: Sequence[_Shown], rows: Sequence[StatsRow], weight: str
) -> list[list[str]]:
    """Return the cells of a printed table; the first row holds the headings."""
    both = any(row.weights == "declustered" for row in rows)
    kept = []
    for column in columns:
        texts = [column.text(row) for row in rows]
        said = {*texts} - {"", "-", "0"}
        needed = {"weights": both, "weight": bool(weight)}.get(column.heading, bool(said))
        if column.always or needed:
            heading = weight if column.heading == "weight" else column.heading
            kept.append([heading, *texts])
    return [list(line) for line in zip(*kept, strict=True)]


# --- Rows gathered from a file or a table in memory.


class _Weights(NamedTuple):
    """What rows are weighted by: columns, the volume of blocks, one number, or nothing.

    Attributes
    ----------
    name : str
        The name in the result.
    columns : tuple of str
        One column of weights, or the columns of TO and FROM.
    number : float, optional
        One weight for all rows.
    """

    name: str = ""
    columns: tuple[str, ...] = ()
    number: float | None = None


def _weights(settings: StatsSettings, names: Sequence[str], sized: bool, table: str) -> _Weights:
    """Return what rows are weighted by: what the caller says, or else volume or length."""
    given = settings.weight
    if isinstance(given, str):
        return _Weights(given, (names[find_column(names, given, table)],))
    if given is not None:
        return _Weights(number=given)
    if sized:
        return _Weights("volume")
    ends = [usual_column(names, role) for role in ("to", "from")]
    if None not in ends:
        to, begin = (str(name) for name in ends)
        return _Weights(f"{to} - {begin}", (to, begin))
    return _Weights()


class _Samples:
    """The columns that statistics need, gathered batch by batch.

    Parameters
    ----------
    settings : StatsSettings
        What is computed.
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
    """

    def __init__(
        self,
        settings: StatsSettings,
        grades: Sequence[str],
        names: Sequence[str],
        options: TableOptions,
        table: str,
        sized: bool,
    ) -> None:
        self.table, self.word = table, "block" if sized else "sample"
        self.grades = {name: names[find_column(names, name, table)] for name in grades}
        self.weights = _weights(settings, names, sized, table)
        self.column = _label_column(settings, names, table)
        hole = settings.hole
        self.hole = (
            usual_column(names, "hole") if hole is None else names[find_column(names, hole, table)]
        )
        if not any(settings.caps(grades).values()) and hole is None:
            self.hole = None
        self.placed = settings.cell is not None
        self.negative = {
            name: NegativeGrades(name, options.below_detection) for name in self.grades
        }
        self.below = dict.fromkeys(self.grades, 0)
        self.spelled = LabelSpellings(self.column or "")
        self.labels: list[str] = []
        self._holes: list[str] = []
        self.rows = 0
        self._parts: dict[str, list[NDArray[np.generic]]] = {}

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
            self.below[name] += cells.below_detection()
            self._keep(name, self.negative[name].take(numbers, self.rows))
        count = len(numbers)
        weights = self._weights_of(sizes, lambda name: column(name).numbers()[there], count)
        if weights is not None:
            self._keep("#weight", weights)
        if self.column is not None:
            self.labels, codes = self.spelled.distinct(column(self.column), self.labels)
            require_few(self.labels, self.column)
            self._keep("#domain", codes[there].astype(np.uint16))
        if self.hole is not None:
            self._holes, codes = column(self.hole).distinct(self._holes)
            self._keep("#hole", codes[there].astype(np.int32))
        if self.placed and points is not None:
            self._keep("#points", points)
        self.rows += count

    def of(self, name: str) -> NDArray[np.generic]:
        """Return a column of all rows."""
        parts = self._parts.pop(name, [])
        whole = np.concatenate(parts) if len(parts) != 1 else parts[0]
        self._parts[name] = [whole]
        return whole

    def floats(self, name: str) -> Floats:
        """Return a column of numbers of all rows."""
        return self.of(name).astype(np.float64, copy=False)

    def weight_of_rows(self) -> Floats | None:
        """Return the weights of all rows, NaN where missing; None if each row counts alike."""
        return self.floats("#weight") if "#weight" in self._parts else None

    def holes_of_rows(self) -> NDArray[np.generic] | None:
        """Return the number of each row's hole, or None."""
        return self.of("#hole") if "#hole" in self._parts else None

    def _keep(self, name: str, values: NDArray[np.generic]) -> None:
        self._parts.setdefault(name, []).append(values)

    def _weights_of(
        self, sizes: Floats | None, numbers: Callable[[str], Floats], count: int
    ) -> Floats | None:
        """Return the weights of a batch, NaN where missing or 0; None if each row counts alike."""
        weights = self.weights
        if weights.number is not None:
            return np.full(count, weights.number) if weights.number != 1 else None
        if weights.columns:
            first, *others = (numbers(name) for name in weights.columns)
            given = first - others[0] if others else first
            self._refuse_negative(given)
            return np.where(given > 0, given, np.nan)
        return volumes_of(sizes) if weights.name and sizes is not None else None

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


def _label_column(settings: StatsSettings, names: Sequence[str], table: str) -> str | None:
    """Return the label column: the one that the caller names, or else one called domain."""
    if settings.column is not None:
        return names[find_column(names, settings.column, table)]
    alike = [name for name in names if plain_name(name) == _DOMAIN]
    return alike[0] if len(alike) == 1 else None


def _gather(
    what: str | os.PathLike[str] | IntoDataFrame,
    settings: StatsSettings,
    grades: Sequence[str],
    table: TableKeywords,
    threads: int | None,
    progress: Progress | None,
) -> _Samples:
    """Read the columns that statistics need, from a file or a table in memory."""
    if settings.cell is None:
        # Without declustering, coordinates are not used: those of collars do no harm.
        table = {**table, "points_are_middles": True}
    if not isinstance(what, str | os.PathLike):
        return _of_frame(what, settings, grades, options_among(table))
    path = os.fspath(what)
    try:
        with open_model(path, options_among(table)) as model:
            samples = _Samples(
                settings, grades, model.columns, options_among(table), model.name,
                bool(model.sizes) or not model.centroid,
            )  # fmt: skip
            read_columns(model, samples.columns, samples.add, threads=threads, progress=progress)
            return samples
    except CentroidError as error:
        if path == STANDARD:
            raise
        return _of_intervals(path, settings, grades, table, threads, error)


def _of_intervals(
    path: str,
    settings: StatsSettings,
    grades: Sequence[str],
    table: TableKeywords,
    threads: int | None,
    error: CentroidError,
) -> _Samples:
    """Read a table of intervals (hole, from, to), which has no coordinates."""
    reading = Reading(text=among(TextKeywords, table), threads=threads)
    try:
        found = read_table(path, "intervals", reading, also=None)
    except TableError:
        message = f"{error} Or give a table of samples with columns of hole, from and to."
        raise TableError(message) from None
    if settings.cell is not None:
        _refuse_no_places(found.name)
    samples = _Samples(settings, grades, found.names, reading.options, found.name, False)
    samples.add(None, None, found.column, slice(None))
    return samples


def _of_frame(
    frame: IntoDataFrame, settings: StatsSettings, grades: Sequence[str], options: TableOptions
) -> _Samples:
    """Take the columns from a table in memory."""
    blocks = BlockFrame(frame, options=options)
    points, sizes = None, None
    try:
        points, sizes, _ = blocks.blocks(options)
    except CentroidError:
        if settings.cell is not None:
            raise
    samples = _Samples(settings, grades, blocks.names, options, NAME, sizes is not None)
    samples.add(points, sizes, lambda name: blocks.column(blocks.find(name)), slice(None))
    return samples


def _refuse_no_places(table: str) -> None:
    message = (
        f"{table} has no coordinates, which declustering needs: add those of the middles of the "
        "samples with 'geodomain flag --coordinates' or 'geodomain composite'"
    )
    raise TableError(message)


# --- From rows to statistics.


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
    """Compute statistics of grades by domain: quantiles, mean, variance, declustered, top cuts.

    Parameters
    ----------
    what : path, pandas or polars DataFrame, or pyarrow.Table
        Samples, or blocks of a model in any format. A file without coordinates needs columns of
        hole, from and to. Only declustering uses coordinates.
    grade : str or sequence of str
        Columns of grades.
    output : path, optional
        File for the table of `Statistics.to_pandas`: Parquet if it ends in .parquet or .pq,
        otherwise CSV; "-" is CSV on stdout. After an error no partial file remains.
    curve : path, optional
        File for the sizes of cells that ``decluster="auto"`` tried, as for `output`.
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
        ``print`` shows tables. A row without a grade or a weight is left out of the statistics of
        this grade, and counted. Sums are exact and rounded once, so the order of the rows does not
        matter. A quantile is the first value whose cumulative weight reaches its share, exactly.
        Declustering weights (Journel, 1983) are those of the samples that have the grade, within
        each domain; they multiply lengths.

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
        For missing grades, weights and coordinates, negative grades, and a curve of declustering
        whose extreme is at its end: then there are no declustered statistics.

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
        message = "curve= is the curve of decluster='auto': give both or neither"
        raise ValueError(message)
    targets = [os.fspath(each) for each in (output, curve) if each is not None]
    _require_targets(targets, what, overwrite=overwrite)
    table = among(TableKeywords, keywords)
    with collect_warnings() as warned, show_progress(progress, "reading") as report_progress:
        samples = _gather(what, settings, grades, table, threads, report_progress)
        work = _Work(samples, settings, caps, threads)
        for name in samples.grades:
            work.compute(name)
        for sentence in work.warnings():
            warn(sentence)
        found = work.result(warned)
        for path, records in ((output, StatsRow), (curve, ClusterPoint)):
            if path is not None:
                rows = [*found.rows, *found.totals] if path is output else found.cluster_curve
                _write(os.fspath(path), records, rows, overwrite=overwrite)
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
        if place.suffix.lower() not in _PARQUET:
            require_text_name(str(place))
    require_places(places, overwrite=overwrite)


def _write(path: str, record: type, records: Sequence[object], *, overwrite: bool) -> None:
    """Write records as Parquet or CSV, as the extension says."""
    if Path(path).suffix.lower() in _PARQUET:
        content = parquet_bytes(records_columns(record, records), path)
    else:
        content = _csv(record, records).encode()
    with open_target(path, overwrite=overwrite) as target:
        target.write(memoryview(content))


class _Group(NamedTuple):
    """The values of a grade in one domain, or in all domains.

    Attributes
    ----------
    row : StatsRow
        The names and counts of the statistics.
    rows : (n,) intp
        The rows that have the grade and a weight.
    """

    row: StatsRow
    rows: NDArray[np.intp]


class _Work:
    """Computes the statistics of gathered rows, one grade after another."""

    def __init__(
        self,
        samples: _Samples,
        settings: StatsSettings,
        caps: Mapping[str, tuple[float, ...]],
        threads: int | None,
    ) -> None:
        self._samples, self._settings, self._caps = samples, settings, caps
        self._threads = threads
        self._weights, self._holes = samples.weight_of_rows(), samples.holes_of_rows()
        placed = samples.placed and samples.rows
        self._points = samples.floats("#points") if placed else np.empty((0, 3))
        self._rows: list[StatsRow] = []
        self._totals: list[StatsRow] = []
        self._cuts: list[CutPoint] = []
        self._trials: list[ClusterPoint] = []
        self._turnless: list[str] = []

    def compute(self, grade: str) -> None:
        """Add the statistics of a grade."""
        values = self._samples.floats(grade) if self._samples.rows else np.empty(0)
        self._refuse_huge(grade, values)
        for group in self._groups(grade, values):
            rows = list(self._of_group(group, values))
            (self._totals if group.row.domain == _ALL else self._rows).extend(rows)

    def result(self, warned: Iterable[str]) -> Statistics:
        """Return the statistics of all grades, with the warnings issued so far."""
        samples = self._samples
        notes = [
            f"{name}: {counted(count, 'value')} below detection, read by below_detection="
            f"{samples.negative[name].below!r}"
            for name, count in samples.below.items()
            if count
        ]
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
            left_out = "left out of its statistics"
            if row.weights == "declustered":
                if row.without_place:
                    lost = counted(row.without_place, samples.word)
                    yield f"{lost} with {row.grade} without coordinates: in no cell, {left_out}"
                continue
            if row.missing:
                yield f"{counted(row.missing, samples.word)} without {row.grade}: {left_out}"
            if row.without_weight:
                lost = counted(row.without_weight, samples.word)
                yield (
                    f"{lost} with {row.grade} without a weight above 0 "
                    f"({samples.weights.name}): {left_out}"
                )
        for grade in samples.negative.values():
            yield from grade.warnings(samples.word)
        yield from self._turnless

    def _refuse_huge(self, grade: str, values: Floats) -> None:
        with np.errstate(invalid="ignore"):
            huge = np.abs(values) > LARGEST
        if huge.any():
            row = int(huge.argmax())
            value = float(values[row])
            message = (
                f"{self._samples.table}: {grade} is {value!r} in {self._samples.word} {row + 1:,}, "
                "too large for a variance: correct it, or, if it stands for a missing value, use "
                f"missing={{{grade!r}: {value!r}}}"
            )
            raise TableError(message)

    def _groups(self, grade: str, values: Floats) -> Iterator[_Group]:
        """Yield the rows of each domain in the order of the labels, and then those of all."""
        samples = self._samples
        known = ~np.isnan(values)
        used = known if self._weights is None else known & ~np.isnan(self._weights)
        every = np.flatnonzero(used)
        if samples.column is not None and samples.rows:
            codes = samples.of("#domain")
            count = len(samples.labels)
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
            _ALL,
            "naive",
            rows=samples.rows,
            count=len(every),
            missing=lost,
            without_weight=samples.rows - lost - len(every),
        )
        yield _Group(row, every)

    def _of_group(self, group: _Group, values: Floats) -> Iterator[StatsRow]:
        """Yield the rows of a domain: naive, with each cap, and then the same declustered."""
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

    def _holes_of(self, rows: NDArray[np.intp]) -> NDArray[np.integer] | None:
        return None if self._holes is None else self._holes[rows]  # type: ignore[return-value]

    def _with_cuts(
        self,
        row: StatsRow,
        values: Floats,
        weights: Floats | None,
        lengths: Floats | None,
        holes: NDArray[np.integer] | None,
    ) -> Iterator[StatsRow]:
        """Yield the statistics of values, and then those with each cap."""
        caps = self._caps[row.grade]
        if not len(values):
            yield row
            yield from (replace(row, cap=cap) for cap in caps)
            return
        population = Population(values, weights, holes)
        named = zip(
            ("quartile_1", "median", "quartile_3", "p90", "p95", "p99"),
            (population.quantile(share) for share in (*QUARTILES, *UPPER)),
            strict=True,
        )
        quantiles = {"minimum": population.minimum, **dict(named), "maximum": population.maximum}
        whole = replace(
            row,
            weight=_total(lengths, len(values)),
            mean=population.mean,
            variance=population.variance,
            cv=population.cv,
            **quantiles,
        )
        yield whole
        for cut in map(population.cut, caps):
            lower = {name: min(value, cut.cap) for name, value in quantiles.items()}
            yield replace(
                whole,
                cap=cut.cap,
                mean=cut.mean,
                variance=cut.variance,
                cv=cut.cv,
                percentile=cut.percentile,
                samples_cut=cut.samples,
                holes_cut=cut.holes,
                metal_lost=cut.lost,
                **lower,
            )
        if caps:
            self._cuts += [_cut_point(row, cut) for cut in population.cut_curve()]

    def _declustered(
        self, row: StatsRow, points: Floats, values: Floats, lengths: Floats | None
    ) -> tuple[Floats | None, Cell | None]:
        """Return the declustering weights of the values, and the size of the cells.

        Both are None if ``decluster="auto"`` finds no size, and the weights alone without values.
        """
        settings, cell = self._settings, self._settings.cell
        if not len(points):
            return None, None
        grid = Declustering(points, settings.decluster_origins, self._threads)
        if cell == AUTO:
            trials = [grid.trial(size, values, lengths) for size in grid.sizes(settings.ratio)]
            chosen = best(trials, maximise=settings.maximise) if trials else None
            self._trials += [_cluster_point(row, trial, trial is chosen) for trial in trials]
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
                "larger ones with decluster="
            )
            raise TableError(message)
        return grid.weights(size), size


def _total(lengths: Floats | None, count: int) -> float:
    return float(count) if lengths is None else nearest_float(RunningSums(lengths).total)


def _cut_point(row: StatsRow, cut: Cut) -> CutPoint:
    return CutPoint(
        row.grade, row.domain, row.weights, cut.cap, cut.percentile, cut.samples, cut.holes,
        cut.mean, cut.cv, cut.lost,
    )  # fmt: skip


def _cluster_point(row: StatsRow, trial: Trial, chosen: bool) -> ClusterPoint:
    return ClusterPoint(row.grade, row.domain, *trial.cell, trial.mean, trial.cells, chosen)


def _no_turn(row: StatsRow, trials: Sequence[Trial], *, maximise: bool) -> str:
    """Return a warning that no size of cells is better than others."""
    whose = (
        f"{row.grade} of all domains"
        if row.domain == _ALL
        else (f"{row.grade} of {shown(row.domain) if row.domain else 'rows without a domain'}")
    )
    what = "largest" if maximise else "least"
    if not trials:
        why = "all samples are at one place"
    else:
        sizes = " to ".join(f"{trial.cell[0]:g}" for trial in (trials[0], trials[-1]))
        why = f"with cells of {sizes}, the {what} declustered mean is not between the ends"
    return (
        f"{whose} is not declustered: {why}; give a size of cells with decluster=, such as the "
        "spacing of holes where they are sparse"
    )
