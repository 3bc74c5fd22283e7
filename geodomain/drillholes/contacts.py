"""Contact analysis: grades by distance from the walls between two domains.

Samples of one hole resemble each other, so the hole is the unit of every interval. Intervals are
95 % bootstrap-t intervals of holes: B. Efron, "Nonparametric standard errors and confidence
intervals", Canadian Journal of Statistics 9, 1981; T. J. DiCiccio and B. Efron, "Bootstrap
Confidence Intervals", Statistical Science 11, 1996. A percentile bootstrap covers too little for
5 to 15 holes.

The draws are 64-bit numbers of PCG64 with the seed `SEED`, whose stream NumPy keeps the same in all
versions. Holes are sorted by id and samples by value before sums are formed. So a result depends on
neither the order of rows, nor threads, nor the backend.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.contact_walls import (
    find_walls,
    labels_at,
    measure_along,
    with_walls,
)
from geodomain.drillholes.drillholes import Drillholes, for_samples, settle
from geodomain.drillholes.findings import Finding, notes_of
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.settings import (
    ContactFileKeywords,
    ContactKeywords,
    ContactSettings,
    HoleKeywords,
    HoleSettings,
    SampleKeywords,
)
from geodomain.drillholes.tables import (
    PARQUET,
    Reading,
    TableLike,
    read_table,
    reading_of,
    require_outputs,
    roles_among,
)
from geodomain.errors import DomainError, TableError, counted, in_lines, shown, warn
from geodomain.files.outputs import refuse_inputs
from geodomain.files.streams import open_target
from geodomain.formats.blocks import Relabelling, open_model, require_text_name
from geodomain.inputs import PathGiven
from geodomain.labelling.evaluate import rest_labels
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.query.locator import Rule
from geodomain.result_tables import data_frame, html_table, text_table
from geodomain.settings import BackendName, among, read_keywords, with_keywords
from geodomain.tables.conditions import Column, with_policy
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.numbers import BelowDetection, NegativeGrades
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.settings import TableKeywords, TableSettings
from geodomain.tables.vendors import closest, find_column

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure
    from narwhals.typing import IntoDataFrame

# --- Means and intervals, with the hole as the unit.

SEED = 29
RESAMPLES = 1999
# With fewer holes there is no interval.
LEAST_HOLES = 5
# With more holes, the quantile of the normal distribution replaces those of the resamples, from
# which it then differs by less than their own noise.
_MANY, _NORMAL = 1000, 1.959963984540054
_DRAWS = 1 << 22


def interval_of_mean(sums: Floats, weights: Floats) -> tuple[float, float] | None:
    """Return the 95 % interval of a weighted mean, by resampling of holes.

    Parameters
    ----------
    sums, weights : (h,) float64
        For each hole, the sum of weight times grade, and the sum of weights, which is positive. The
        mean is the total of `sums` divided by the total of `weights`.

    Returns
    -------
    tuple of float or None
        The two ends; None for fewer than `LEAST_HOLES` holes.

    Notes
    -----
    The standard error of a mean m of h holes, with the sum s and the weight w of each hole, is
    sqrt(h / (h - 1) sum (s - m w)^2) / sum w. Each resample of h holes gives a mean and a standard
    error of its own, and so a value t = (its mean - m) / its error. With the quantiles of t, the
    interval is from m - t(0.975) error to m - t(0.025) error.

    Examples
    --------
    >>> grades = np.array([1.0, 2.0, 2.5, 3.0, 4.0])
    >>> low, high = interval_of_mean(grades, np.ones(5))
    >>> low < 2.5 < high
    True
    """
    holes = len(sums)
    if holes < LEAST_HOLES:
        return None
    total = float(weights.sum())
    mean = float(sums.sum()) / total
    rests = sums - mean * weights
    scale = holes / (holes - 1)
    error = float(np.sqrt(scale * (rests * rests).sum())) / total
    if holes > _MANY:
        return mean - _NORMAL * error, mean + _NORMAL * error
    draws = np.random.PCG64(SEED)
    values = np.empty(RESAMPLES)
    step = max(1, _DRAWS // holes)
    for begin in range(0, RESAMPLES, step):
        count = min(step, RESAMPLES - begin)
        raw = draws.random_raw(count * holes) >> np.uint64(32)
        picked = (raw * np.uint64(holes) >> np.uint64(32)).astype(np.intp).reshape(count, holes)
        drawn, drawn_rests = weights[picked], rests[picked]
        totals = drawn.sum(axis=1)
        moves = drawn_rests.sum(axis=1) / totals
        drawn_rests -= moves[:, None] * drawn
        errors = np.sqrt(scale * (drawn_rests * drawn_rests).sum(axis=1)) / totals
        with np.errstate(divide="ignore", invalid="ignore"):
            values[begin : begin + count] = np.where(moves == 0, 0.0, moves / errors)
    values.sort()
    tail = (RESAMPLES + 1) // 40
    # An error of 0 times an infinite quantile is 0: all holes have the same grade.
    low, high = (error and error * float(values[place]) for place in (-tail, tail - 1))
    return mean - low, mean - high


class ContactRow(NamedTuple):
    """Samples on one side of a contact, in one class of distance or in all.

    Attributes
    ----------
    label : str
        The domain.
    begin, end : float
        Distances: from `begin` to below `end`; the last class includes `end`.
    samples, holes : int
        Number of samples, and of their holes; 0 holes if the table has no ids of holes.
    length : float
        Total length of the samples, or their number if they have no FROM and TO.
    mean : float or None
        Mean grade, weighted by length.
    low, high : float or None
        95 % interval of the mean; None for fewer than five holes.
    """

    label: str
    begin: float
    end: float
    samples: int
    holes: int
    length: float
    mean: float | None
    low: float | None
    high: float | None


class ContactStep(NamedTuple):
    """The step of the grade at a contact, from the holes with samples on both sides.

    Attributes
    ----------
    holes : int
        Number of holes with measured samples on both sides.
    mean : float or None
        Mean over these holes of the difference between the hole's means on the two sides, the first
        label minus the second. Each hole counts once.
    low, high : float or None
        95 % interval of the mean difference; None for fewer than five holes.
    """

    holes: int
    mean: float | None
    low: float | None
    high: float | None


class _Measured(NamedTuple):
    """Measured samples: side, distance, grade, weight, and hole (-1 without an id)."""

    sides: NDArray[np.intp]
    distances: Floats
    grades: Floats
    weights: Floats
    holes: NDArray[np.intp]


class _Tally:
    """Sums of measured samples for each side, class of distance and hole."""

    def __init__(self, samples: _Measured, settings: ContactSettings) -> None:
        """Form the sums in an order that does not depend on the order of the rows."""
        self._settings = settings
        self._classes = max(1, int(np.ceil(settings.max / settings.bin - 1e-9)))
        places = np.minimum((samples.distances / settings.bin).astype(np.intp), self._classes - 1)
        keys = ((samples.holes + 1) * 2 + samples.sides) * self._classes + places
        order = np.lexsort((samples.weights, samples.grades, keys))
        keys, weights = keys[order], samples.weights[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        cells = keys[first]
        self._holes = cells // (2 * self._classes) - 1
        self._sides, self._places = cells // self._classes % 2, cells % self._classes
        self._counts = np.diff(np.append(first, len(keys)))
        self._weights, self._sums = np.zeros((2, len(first)))
        if len(first):
            self._weights = np.add.reduceat(weights, first)
            self._sums = np.add.reduceat(weights * samples.grades[order], first)

    def rows(self, labels: tuple[str, str]) -> tuple[list[ContactRow], list[ContactRow]]:
        """Return the rows for each class, and those of both sides as a whole.

        The classes of the first label are in descending order, those of the second in ascending
        order, as on a line across the contact.
        """
        size, most = self._settings.bin, self._settings.max
        places = [(0, place) for place in reversed(range(self._classes))]
        places += [(1, place) for place in range(self._classes)]
        classes = [
            self._row(
                labels[side],
                place * size,
                min((place + 1) * size, most),
                (self._sides == side) & (self._places == place),
            )
            for side, place in places
        ]
        return classes, [
            self._row(label, 0.0, most, self._sides == side) for side, label in enumerate(labels)
        ]

    def _row(self, label: str, begin: float, end: float, cells: NDArray[np.bool_]) -> ContactRow:
        """Return the row for some cells."""
        sums, weights, holes = self._by_hole(cells)
        total = float(weights.sum())
        named = bool(len(holes)) and bool(holes[0] >= 0)
        mean = float(sums.sum()) / total if len(sums) else None
        low, high = (interval_of_mean(sums, weights) if named else None) or (None, None)
        count = int(self._counts[cells].sum())
        return ContactRow(
            label, begin, end, count, len(holes) if named else 0, total, mean, low, high
        )

    def _by_hole(self, cells: NDArray[np.bool_]) -> tuple[Floats, Floats, NDArray[np.intp]]:
        """Return sums of weight times grade, sums of weights, and the holes, in their order."""
        holes, rows = np.unique(self._holes[cells], return_inverse=True)
        return (
            np.asarray(np.bincount(rows, self._sums[cells], len(holes)), np.float64),
            np.asarray(np.bincount(rows, self._weights[cells], len(holes)), np.float64),
            holes,
        )

    def step(self) -> ContactStep:
        """Return the mean difference between the two sides over the holes that have both."""
        sides = [self._by_hole((self._sides == side) & (self._holes >= 0)) for side in (0, 1)]
        (first, first_weights, holes), (second, second_weights, others) = sides
        _, here, there = np.intersect1d(holes, others, return_indices=True)
        differences = (first / first_weights)[here] - (second / second_weights)[there]
        if not len(differences):
            return ContactStep(0, None, None, None)
        low, high = interval_of_mean(differences, np.ones(len(here))) or (None, None)
        return ContactStep(len(here), float(differences.mean()), low, high)


# --- Results.

HEADINGS = ("domain", "from", "to", "samples", "holes", "length")
_KEYS = (*HEADINGS, "mean", "low", "high")


@dataclass(frozen=True, eq=False, repr=False)
class Contacts:
    """Grades by distance from a contact; ``print`` it for a table, `draw` a chart.

    Attributes
    ----------
    between : tuple of str
        The two labels.
    grade : str
        Column of the grade.
    settings : ContactSettings
        Classes of distance, and how distances are measured.
    rows : list of ContactRow
        One row for each label and class of distance: the first label from far to near, then the
        second label from near to far.
    sides : list of ContactRow
        One row for each label, for all its measured samples.
    step : ContactStep
        The step of the grade at the contact.
    counts : dict of str to int
        ``rows`` read, which is the sum of the others: ``measured``; ``farther`` than the largest
        distance; ``other_wall``, nearer to a wall between their own label and a third one;
        ``other_domain``, with another label; ``without_grade``; ``unplaced``, without coordinates,
        hole or length.
    weighted : bool
        Whether means are weighted by the length of samples.
    edge : float
        Largest error of the place at which a third domain cuts the contact off; 0 if none does.
    negative : int
        Number of negative grades.
    findings : tuple of Finding
        Findings about the tables of holes.
    dips : str
        Which dips point down, and how that was decided.
    colours : dict of str to str
        Colours of the labels in the chart.
    """

    between: tuple[str, str]
    grade: str
    settings: ContactSettings
    rows: list[ContactRow]
    sides: list[ContactRow]
    step: ContactStep
    counts: dict[str, int]
    weighted: bool
    edge: float
    negative: int
    findings: tuple[Finding, ...]
    dips: str
    colours: dict[str, str]

    def __repr__(self) -> str:
        """Return the labels, and the numbers of samples and holes."""
        names = " and ".join(self._named(label) for label in self.between)
        measured = counted(self.counts["measured"], "sample")
        return f"<Contacts of {names}: {measured}, {counted(self.step.holes, 'hole')} across>"

    def to_pandas(self) -> pandas.DataFrame:
        """Return the classes of distance as rows."""
        kinds = dict.fromkeys(("samples", "holes"), "int64")
        kinds |= dict.fromkeys(("from", "to", "length", self.grade, "low", "high"), "float64")
        columns = zip(*self.rows, strict=True)
        return data_frame(dict(zip(self.headings, columns, strict=True)), kinds)

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns of a table of `rows`."""
        return (*HEADINGS, self.grade, "low", "high")

    def as_dict(self) -> dict[str, object]:
        """Return the result as plain values, ready for JSON."""
        return {
            "between": list(self.between),
            "grade": self.grade,
            "bin": self.settings.bin,
            "max": self.settings.max,
            "along": self.settings.along,
            "counts": self.counts,
            "weighted": self.weighted,
            "step": self.step._asdict(),
            "sides": [dict(zip(_KEYS, row, strict=True)) for row in self.sides],
            "classes": [dict(zip(_KEYS, row, strict=True)) for row in self.rows],
            "interval": f"95 %, bootstrap-t of holes, {RESAMPLES:,} resamples, PCG64 seed {SEED}",
            "edge": self.edge,
            "negative": self.negative,
            "findings": [each.as_dict() for each in self.findings],
            "dips": self.dips,
        }

    def __str__(self) -> str:
        """Return the classes of distance as a text table, with the step and the counts below."""
        return in_lines([*text_table(self._cells()), *self._notes()])

    def _repr_html_(self) -> str:
        """Return the classes of distance as a table for a notebook."""
        headings, *rows = self._cells()
        return html_table(repr(self)[1:-1], rows, headings=headings, notes=self._notes())

    def _named(self, label: str) -> str:
        return label or "(background)"

    def _cells(self) -> list[list[str]]:
        """Return the cells of the table, headings first; classes without a sample are left out."""
        what = ["length"] * self.weighted
        cells = [["domain", "distance", "samples", "holes", *what, self.grade, "95 % interval"]]
        rows = [row for row in self.rows if row.samples]
        for row in (*rows, *self.sides):
            where = f"{row.begin:g} to {row.end:g}"
            length = [f"{row.length:,.6g}"] * self.weighted
            mean = "" if row.mean is None else f"{row.mean:.4g}"
            cells.append([
                self._named(row.label), where, f"{row.samples:,}", f"{row.holes:,}", *length, mean,
                _interval(row.low, row.high),
            ])  # fmt: skip
        return cells

    def _step(self) -> str:
        """Return the step as a sentence."""
        first, second = map(self._named, self.between)
        step, across = self.step, f"{counted(self.step.holes, 'hole')} with samples on both sides"
        if step.mean is None:
            return f"step: none, because there are {across}"
        interval = _interval(step.low, step.high)
        said = f" (95 % interval {interval})" if interval else ""
        return f"step: {step.mean:.4g}{said}, {first} minus {second}, in {across}"

    def _notes(self) -> list[str]:
        """Return the lines below the table: the step, the counts, and findings."""
        counts, most = self.counts, f"{self.settings.max:g}"
        lines = [self._step()]
        along = "from the wall" if self.settings.along == "wall" else "along the hole"
        parts = {
            "measured": f"measured {along}",
            "farther": f"farther than {most}",
            "other_wall": "nearer to another wall",
            "other_domain": "in other domains",
            "without_grade": f"without {self.grade}",
            "unplaced": "without a place or length",
        }
        listed = ", ".join(f"{counts[key]:,} {what}" for key, what in parts.items() if counts[key])
        lines.append(f"samples: {counts['rows']:,} rows" + (f": {listed}" if listed else ""))
        lines.append(
            f"intervals: bootstrap-t of holes, from {LEAST_HOLES} holes on, {RESAMPLES:,} resamples"
        )
        if self.edge:
            lines.append(f"a third domain cuts the contact off; its edge is within {self.edge:.2g}")
        return [*lines, *notes_of(self.findings, self.dips)]

    def to_csv(self) -> str:
        """Return the classes of distance as CSV."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.headings)
        writer.writerows(
            ["" if cell is None else cell for cell in row] for row in map(tuple, self.rows)
        )
        return text.getvalue()

    def _parquet(self, path: str) -> bytes:
        """Return the classes of distance as a Parquet file."""
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            message = f"writing {path} needs pyarrow: pip install 'geodomain[parquet]'"
            raise TableError(message) from None
        kinds = [pyarrow.string(), *[pyarrow.float64()] * 2, *[pyarrow.int64()] * 2]
        kinds += [pyarrow.float64()] * 4
        columns = [
            pyarrow.array(column, kind)
            for column, kind in zip(zip(*self.rows, strict=True), kinds, strict=True)
        ]
        out = io.BytesIO()
        parquet.write_table(pyarrow.table(columns, names=list(self.headings)), out)
        return out.getvalue()

    def draw(self) -> Figure:
        """Draw means with their intervals above, and numbers of samples below, with matplotlib.

        Returns
        -------
        matplotlib.figure.Figure
            The first label is on the left of the contact, the second on the right.

        Raises
        ------
        ModuleNotFoundError
            If matplotlib is not installed.
        """
        return _drawn(self)


def _interval(low: float | None, high: float | None) -> str:
    """Return an interval as text, "" without one."""
    return "" if low is None or high is None else f"{low:.4g} to {high:.4g}"


# --- Samples with grades, from intervals along holes or from a table of points.


class _Samples(NamedTuple):
    """Samples with places and grades; all arrays have a value for each row.

    Attributes
    ----------
    points : (n, 3) float64
        Middle points; NaN for a sample without a place, hole or length.
    grades, weights : (n,) float64
        Grades, NaN if missing; and lengths, or 1 without FROM and TO.
    holes : (n,) intp
        Index of each hole in the sorted ids; -1 if the table has no ids.
    weighted : bool
        Whether weights are lengths.
    negative : NegativeGrades
        Counts of negative grades.
    """

    points: Floats
    grades: Floats
    weights: Floats
    holes: NDArray[np.intp]
    weighted: bool
    negative: NegativeGrades


def _in_order(codes: NDArray[np.intp], names: Sequence[str]) -> NDArray[np.intp]:
    """Return the index of each row's hole in the sorted ids, from its index in `names`."""
    places = np.empty(len(names) + 1, np.intp)
    places[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    places[-1] = -1
    return places[codes]


def _along_holes(
    holes: Drillholes, rows: Intervals, grade: str, below: BelowDetection | None
) -> _Samples:
    """Place the intervals of a table at their middles on the holes."""
    column = with_policy(rows.table.column(grade), below)
    negative = NegativeGrades(grade, column.rule.below)
    usable = rows.usable
    points = np.full((len(rows.holes), 3), np.nan)
    points[usable] = holes.points_at(
        rows.holes[usable], 0.5 * (rows.starts[usable] + rows.ends[usable])
    )
    return _Samples(
        points,
        negative.take(column.numbers()),
        np.where(usable, rows.ends - rows.starts, 0.0),
        _in_order(rows.holes, holes.names),
        True,
        negative,
    )


def _at_points(
    samples: TableLike,
    grade: str,
    below: BelowDetection | None,
    options: TableOptions,
    columns: dict[str, str],
    threads: int | None,
) -> _Samples:
    """Read a table of points: coordinates, grades, and hole, FROM and TO if it has them."""
    reader = _PointReader(grade, below, columns)
    if isinstance(samples, str | os.PathLike):
        with open_model(os.fspath(samples), options) as opened:
            places = reader.find(opened.columns, opened.name)

            def add(points: Floats, _: Floats | None, column: Callable[[int], Column]) -> tuple[()]:
                reader.add(points, column)
                return ()

            opened.relabel(Relabelling(add, also=places, threads=threads))
    else:
        frame = BlockFrame(cast("IntoDataFrame", samples), options=options)
        reader.find(frame.names, NAME)
        reader.add(frame.blocks(options)[0], frame.column)
    return reader.samples()


class _PointReader:
    """Collects samples from the chunks of a table of points."""

    def __init__(self, grade: str, below: BelowDetection | None, columns: dict[str, str]) -> None:
        self._grade, self._below = grade, below
        self._columns = Reading(columns).columns
        self._negative = NegativeGrades(grade, below)
        self._names: list[str] = []
        self._chunks: list[tuple[Floats, Floats, Floats, NDArray[np.intp]]] = []
        self._rows = 0

    def find(self, names: Sequence[str], title: str) -> list[int]:
        """Find the columns, and return their places."""
        self._place = find_column(names, self._grade, title)
        self._roles = roles_among(names, "intervals", self._columns, title)
        self._weighted = {"from", "to"} <= self._roles.keys()
        return [self._place, *self._roles.values()]

    def add(self, points: Floats, column: Callable[[int], Column]) -> None:
        """Add the rows of a chunk."""
        values = with_policy(column(self._place), self._below)
        self._negative.below = values.rule.below
        grades = self._negative.take(values.numbers(), self._rows)
        weights, holes = np.ones(len(points)), np.full(len(points), -1)
        if self._weighted:
            starts, ends = (column(self._roles[role]).numbers() for role in ("from", "to"))
            weights = np.where(ends > starts, ends - starts, 0.0)
        if "hole" in self._roles:
            self._names, holes = column(self._roles["hole"]).distinct(self._names)
            blank = self._names.index("") if "" in self._names else -1
            weights = np.where(holes == blank, 0.0, weights)
        self._chunks.append((np.array(points), grades, weights, holes))
        self._rows += len(points)

    def samples(self) -> _Samples:
        """Return the samples of all chunks."""
        empty = np.empty((0, 3)), np.empty(0), np.empty(0), np.empty(0, np.intp)
        points, grades, weights, holes = (
            np.concatenate(parts) for parts in zip(empty, *self._chunks, strict=True)
        )
        points[~(weights > 0)] = np.nan
        return _Samples(
            points,
            grades,
            weights,
            _in_order(holes, self._names),
            self._weighted,
            self._negative,
        )


# --- Contacts of samples in memory or in a file.


@with_keywords((ContactSettings, HoleSettings, TableSettings), ContactKeywords)
def contacts(
    samples: TableLike,
    domains: DomainsLike,
    between: Sequence[str],
    grade: str,
    *,
    holes: Drillholes | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    threads: int | None = None,
    **keywords: Unpack[ContactKeywords],
) -> Contacts:
    """Average a grade by distance from the walls between two labels, on both sides.

    Parameters
    ----------
    samples : path, or pandas or polars DataFrame, or pyarrow.Table
        With `holes`, intervals: hole, FROM, TO and the grade; a sample is placed at its middle.
        Otherwise points: X, Y, Z and the grade, and the hole, FROM and TO if the table has them.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`. Domains with conditions on columns, or with a limit of distance, are
        left out with a warning: walls do not decide their labels.
    between : sequence of str
        Two labels: names of domains or layers, or the background label.
    grade : str
        Column of the grade. Means are weighted by length if there are FROM and TO. Negative values
        are treated as ``below_detection`` says; without it, they are used unchanged, with a
        warning.
    holes : Drillholes, optional
        The holes of the samples.
    background : str, optional
        Label of samples outside every domain. [default: as set in `domains`]
    rule, allow_open, weld, backend, threads
        As for `label_file`.
    **settings

    Returns
    -------
    Contacts
        ``print`` it for a table; `Contacts.draw` makes a chart.

    Raises
    ------
    DomainError
        If the domains do not have a label, or the label belongs to a domain that is left out.
    TableError
        If a column is missing, or a hole cannot be used.
    ValueError
        If `between` is not two different labels, or a setting has an invalid value.
    MeshError, OSError
        As `label_file`.

    Warns
    -----
    GeodomainWarning
        For negative grades; for findings about holes and samples, as `composite`; for domains that
        are left out; for a surface that is extended beyond its rim; and if no wall separates the
        two labels.

    Notes
    -----
    A sample is measured from those parts of all walls that have one of the two labels on each side.
    Labels are decided by the rule and the order of the domains, at points off the wall by 1/64 of a
    class. Distances from whole walls have the error bound of `nearest`. Where a third domain cuts
    the contact off, the edge is located to 1/16 of a class. A sample is not measured if a
    wall between its own label and a third label is nearer.

    A hole counts as crossing if it has measured samples on both sides. Intervals are described in
    `geodomain.drillholes.contacts`.

    Examples
    --------
    >>> import geodomain, pandas
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [90, 0, 0], [0, 90, 0], [0, 0, 90]], faces)
    >>> points = pandas.DataFrame({"X": 9, "Y": 9, "Z": [-3, -1, 1, 3], "AU": [0.1, 0.3, 2, 2.2]})
    >>> found = geodomain.contacts(points, {"ORE": ore}, ("ORE", "W"), "AU", background="W", max=4)
    >>> [(row.label, row.begin, row.end, row.mean) for row in found.rows]
    [('ORE', 2.0, 4.0, 2.2), ('ORE', 0.0, 2.0, 2.0), ('W', 0.0, 2.0, 0.3), ('W', 2.0, 4.0, 0.1)]
    """
    asked = read_keywords(ContactSettings, keywords, ContactKeywords)
    if asked.along == "hole" and holes is None:
        message = "along='hole' measures along drillholes: give holes="
        raise ValueError(message)
    _require_two(between)
    listed = with_walls(domains_to_label(domains, weld=weld).domains, between)
    settings = LabelSettings(
        background=background, rule=rule, allow_open=allow_open, backend=backend, threads=threads
    )
    labels, codes = _labels_of(listed, between, settings)
    labeller = Labeller(listed, settings)
    found: tuple[Finding, ...] = ()
    rows: Intervals | None = None
    if holes is None:
        options = table_options(**among(TableKeywords, keywords))
        columns = dict(keywords.get("columns") or {})
        read = _at_points(samples, grade, listed.below_detection, options, columns, threads)
    else:
        _refuse_places(keywords)
        holes = for_samples(holes, among(SampleKeywords, keywords))
        rows = holes.match(samples, also=[grade])
        found = settle(holes, [*holes.tell(listed), *rows.findings])
        read = _along_holes(holes, rows, grade, listed.below_detection)
    for sentence in read.negative.warnings("sample"):
        warn(sentence)
    measured, counts, edge = _measured(read, labeller, codes, asked, holes, rows)
    if not counts["measured"] and edge is None:
        pair = " and ".join(map(shown, labels))
        warn(f"no wall between {pair} is within {asked.max:g} of a sample of theirs")
    tally = _Tally(measured, asked)
    classes, sides = tally.rows(labels)
    return Contacts(
        between=labels,
        grade=grade,
        settings=asked,
        rows=classes,
        sides=sides,
        step=tally.step(),
        counts=counts,
        weighted=read.weighted,
        edge=edge or 0.0,
        negative=read.negative.count,
        findings=found,
        dips=holes.report.dips if holes is not None else "",
        colours=listed.colours,
    )


def _require_two(between: Sequence[str]) -> None:
    """Require two different labels."""
    if isinstance(between, str) or len(between) != 2 or between[0] == between[1]:
        message = f"between is {shown(between)}; it must be two different labels"
        raise ValueError(message)


def _labels_of(
    domains: Domains, between: Sequence[str], settings: LabelSettings
) -> tuple[tuple[str, str], tuple[int, int]]:
    """Return the two labels, and their codes."""
    names = [target.name for target in domains.targets]
    known = [*names, rest_labels(domains, names, settings)[0]]
    for label in between:
        if label not in known:
            message = (
                f"{shown(label)} is not a label of these domains{closest(known, label)}: the "
                f"labels are {', '.join(map(shown, known))}; background= names the last one, of "
                "samples outside every domain"
            )
            raise DomainError(message)
    first, second = between
    return (first, second), (known.index(first), known.index(second))


def _refuse_places(keywords: ContactKeywords) -> None:
    """Raise ValueError for keywords about coordinates or columns if holes place the samples."""
    for name in ("x", "y", "z", "points_are_middles", "columns"):
        if keywords.get(name):
            message = (
                f"{name}= is for samples with coordinates, but holes= places these samples: leave "
                f"out {name}=, or give it to Drillholes"
            )
            raise ValueError(message)


def _measured(
    read: _Samples,
    labeller: Labeller,
    codes: tuple[int, int],
    asked: ContactSettings,
    holes: Drillholes | None,
    rows: Intervals | None,
) -> tuple[_Measured, dict[str, int], float | None]:
    """Measure the samples; return those that count, the number of rows by case, and the edge.

    The edge is None if no wall separates the labels.
    """
    placed: Bools = np.asarray(np.isfinite(read.points).all(axis=1))
    usable = np.flatnonzero(placed)
    labels = labels_at(labeller, read.points[usable])
    own = (labels == codes[0]) | (labels == codes[1])
    valued = ~np.isnan(read.grades[usable])
    kept = own & valued
    chosen, labels = usable[kept], labels[kept]
    sides = np.where(labels == codes[0], 0, 1)
    edge: float | None
    if asked.along == "hole" and holes is not None and rows is not None:
        thin = asked.bin / 64
        away = measure_along(holes.paths, rows, chosen, labels, codes, labeller, thin)
        edge = 0.0 if np.isfinite(away.contact).any() else None
    else:
        points = read.points[chosen]
        walls = find_walls(labeller, codes, points, asked.max, asked.bin)
        away = walls.measure(points, sides, asked.max, labeller)
        edge = None if walls.contact is None else walls.edge
    near = away.contact <= asked.max
    measured = near & (away.contact <= away.other)
    taken = chosen[measured]
    counts = {
        "rows": len(placed),
        "measured": len(taken),
        "farther": int((~near).sum()),
        "other_wall": int((near & ~measured).sum()),
        "other_domain": int((~own).sum()),
        "without_grade": int((own & ~valued).sum()),
        "unplaced": int((~placed).sum()),
    }
    part = _Measured(
        sides[measured],
        away.contact[measured],
        read.grades[taken],
        read.weights[taken],
        read.holes[taken],
    )
    return part, counts, edge


@with_keywords((ContactSettings, HoleSettings, TableSettings), ContactFileKeywords)
def contacts_file(
    samples: PathGiven,
    domains: DomainsLike,
    output: PathGiven | None = None,
    *,
    between: Sequence[str],
    grade: str,
    collar: TableLike | None = None,
    survey: TableLike | None = None,
    chart: PathGiven | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    **keywords: Unpack[ContactFileKeywords],
) -> Contacts:
    r"""Average a grade of the samples in a file by distance from the walls between two labels.

    Parameters
    ----------
    samples : path
        With `collar`, a table of intervals: hole, FROM, TO and the grade. Otherwise a table of
        points: X, Y, Z and the grade, and the hole, FROM and TO if it has them.
    domains, between, grade, background, rule, allow_open, weld, backend, threads
        As for `contacts`.
    output : path, optional
        CSV or Parquet file of the classes of distance; "-" is CSV on stdout.
    collar, survey
        As for `Drillholes`.
    chart : path, optional
        SVG, PNG or PDF file of the chart; needs matplotlib.
    overwrite : bool
        Whether to replace existing files.
    **settings

    Returns
    -------
    Contacts
        As from `contacts`.

    Raises
    ------
    TableError, ValueError, DomainError, MeshError, OSError
        As `contacts` and `Drillholes`.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "au.csv").write_text("X,Y,Z,AU\n9,9,-1,0.3\n9,9,1,2\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [90, 0, 0], [0, 90, 0], [0, 0, 90]], faces)
    >>> _ = geodomain.contacts_file(folder / "au.csv", {"ORE": ore}, folder / "contacts.csv",
    ...     between=("ORE", "W"), grade="AU", background="W", max=2)
    >>> print((folder / "contacts.csv").read_text().strip())
    domain,from,to,samples,holes,length,AU,low,high
    ORE,0.0,2.0,1,0,1.0,2.0,,
    W,0.0,2.0,1,0,1.0,0.3,,
    """
    tables = [samples, collar, survey, keywords.get("topography")]
    places = require_outputs([output, chart], tables, overwrite=overwrite, text=False)
    as_parquet = output is not None and os.fspath(output).lower().endswith(PARQUET)
    if output is not None and not as_parquet:
        require_text_name(os.fspath(output))
    kind = None if chart is None else _picture(Path(chart))
    sources = domains_to_label(domains, weld=weld)
    refuse_inputs(places, sources.files)
    holes: Drillholes | None = None
    table: TableLike = samples
    if collar is not None:
        _, reading = reading_of(among(HoleKeywords, keywords), threads)
        table = read_table(samples, "intervals", reading, also=[grade])
        holes = Drillholes(collar, survey, table, threads=threads, **among(HoleKeywords, keywords))
    elif survey is not None:
        message = "survey= needs collar=, which says where the holes begin"
        raise ValueError(message)
    own = among(ContactKeywords, keywords)
    if holes is not None:  # the holes have these settings already
        own = among(
            ContactKeywords, {name: each for name, each in own.items() if name in _OF_SAMPLES}
        )
    found = contacts(
        table,
        sources.domains,
        between,
        grade,
        holes=holes,
        background=background,
        rule=rule,
        allow_open=allow_open,
        backend=backend,
        threads=threads,
        **own,
    )
    # Drawn before any file is written: matplotlib may be missing.
    picture = None if kind is None else _picture_of(found, kind)
    if output is not None:
        content = found._parquet(os.fspath(output)) if as_parquet else found.to_csv().encode()
        with open_target(output, overwrite=overwrite) as target:
            target.write(memoryview(content))
    if chart is not None and picture is not None:
        with open_target(chart, overwrite=overwrite) as target:
            target.write(memoryview(picture))
    return found


_OF_SAMPLES = {"bin", "max", "along", "x", "y", "z", "points_are_middles"}


# --- The chart.

_PICTURES = ("png", "svg", "pdf")
# Warm for the first label and cool for the second; distinguishable with colour-blindness.
_WARM, _COOL, _INK = "#b5382c", "#3d6b73", "#2b2b2b"


def _picture(path: Path) -> str:
    """Return the format of a picture, from the extension of its file."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _PICTURES:
        message = f"the extension of {path} is not that of a picture: use .{', .'.join(_PICTURES)}"
        raise TableError(message)
    return kind


def _picture_of(found: Contacts, kind: str) -> bytes:
    """Return the chart as the bytes of a file."""
    out = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    found.draw().savefig(out, format=kind, metadata=metadata)
    return out.getvalue()


def _drawn(found: Contacts) -> Figure:
    """Draw the chart; see `Contacts.draw`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.5), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    upper, lower = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 1), "hspace": 0.04}
    )
    colours = [
        found.colours.get(label, usual)
        for label, usual in zip(found.between, (_WARM, _COOL), strict=True)
    ]
    for side, (label, colour) in enumerate(zip(found.between, colours, strict=True)):
        sign = 1.0 if side else -1.0
        rows = [row for row in found.rows if row.label == label and row.mean is not None]
        middles = [sign * 0.5 * (row.begin + row.end) for row in rows]
        upper.plot(middles, [row.mean for row in rows], "o-", color=colour, ms=4.5, lw=1.4)
        known = [
            (middle, row.low, row.high)
            for middle, row in zip(middles, rows, strict=True)
            if row.low is not None and row.high is not None
        ]
        if known:
            upper.fill_between(*zip(*known, strict=True), color=colour, alpha=0.18, lw=0)
        total = found.sides[side]
        if total.mean is not None:
            upper.plot([0.0, sign * total.end], [total.mean] * 2, "--", color=colour, lw=1.0)
        lower.bar(
            middles, [row.samples for row in rows],
            [0.92 * (row.end - row.begin) for row in rows], color=colour,
        )  # fmt: skip
        heading = {"transform": upper.transAxes, "ha": "center", "va": "bottom", "color": colour}
        middle = 0.75 if side else 0.25
        upper.text(middle, 1.07, found._named(label), fontsize=11, fontweight="bold", **heading)
        if total.mean is not None:
            where = f"{counted(total.samples, 'sample')}, {counted(total.holes, 'hole')}"
            upper.text(middle, 1.02, f"mean {total.mean:.3g}, {where}", fontsize=9, **heading)
    for axes in (upper, lower):
        axes.axvline(0.0, color=_INK, lw=1.0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#d9d9d9", lw=0.6)
        axes.set_axisbelow(True)
    most = found.settings.max
    lower.set_xlim(-most, most)
    lower.xaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    lower.yaxis.get_major_locator().set_params(integer=True, nbins=4)
    if all(row.mean is None or row.mean >= 0 for row in found.rows):
        upper.set_ylim(bottom=0.0)
    upper.set_ylabel(f"mean {found.grade}, 95 % interval")
    lower.set_ylabel("samples")
    along = "along the hole" if found.settings.along == "hole" else "from the contact"
    lower.set_xlabel(f"distance {along}, in the unit of the coordinates")
    step = found.step
    if step.mean is not None:
        figure.suptitle(found._step()[0].upper() + found._step()[1:], x=0.01, ha="left",
                        fontsize=10, color=_INK)  # fmt: skip
    return figure
