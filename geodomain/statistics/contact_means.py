"""Means of a grade by distance from a contact, with intervals, as a table and as a chart.

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

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.drillholes.findings import Finding, notes_of
from geodomain.errors import counted, in_lines
from geodomain.result_tables import ResultColumns, csv_text, data_frame, html_table, text_table
from geodomain.statistics.charts import Chart, ContactSide, contact_chart, figure_of
from geodomain.statistics.settings import ContactSettings

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

# --- Means and intervals, with the hole as the unit.

SEED = 29
RESAMPLES = 1999
# With fewer holes there is no interval.
LEAST_HOLES = 5
# With more holes, the quantile of the normal distribution replaces those of the resamples, from
# which it then differs by less than their own noise.
_MANY, _NORMAL = 1000, 1.959963984540054
# Relative errors below this are rounding.
_SAME = 1e-12
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
        The two ends; None for fewer than `LEAST_HOLES` holes, or if an end is infinite. An end is
        infinite if so many holes have the same grade that too many resamples have a standard
        error of 0.

    Notes
    -----
    The standard error of a mean m of h holes, with the sum s and the weight w of each hole, is
    sqrt(h / (h - 1) sum (s - m w)^2) / sum w. Each resample of h holes has its own mean m' and
    standard error e', and so a value t = (m' - m) / e'. With the standard error e of m and the
    quantiles of t, the interval is from m - t(0.975) e to m - t(0.025) e.

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
    if error <= _SAME * abs(mean):
        return mean, mean
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
        some = values[begin : begin + count]
        some[:] = np.where(moves == 0, 0.0, np.copysign(np.inf, moves))
        np.divide(moves, errors, out=some, where=errors > _SAME * error)
    values.sort()
    tail = (RESAMPLES + 1) // 40
    low, high = mean - error * float(values[-tail]), mean - error * float(values[tail - 1])
    return (low, high) if np.isfinite([low, high]).all() else None


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
        95 % interval of the mean; None for fewer than five holes, and if too many of them have the
        same grade.
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
        95 % interval of the mean difference; None as for a class of distance.
    """

    holes: int
    mean: float | None
    low: float | None
    high: float | None


class Measured(NamedTuple):
    """Measured samples: side, distance, grade, weight, and hole (-1 without an id)."""

    sides: NDArray[np.intp]
    distances: Floats
    grades: Floats
    weights: Floats
    holes: NDArray[np.intp]


class Tally:
    """Sums of measured samples for each side, class of distance and hole."""

    def __init__(self, samples: Measured, settings: ContactSettings) -> None:
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
    edge : float, optional
        Largest error of the place at which a third domain cuts the contact off; 0 if none does.
    negative : int
        Number of negative grades.
    notes : tuple of str
        Notes on values below detection.
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
    edge: float | None
    negative: int
    notes: tuple[str, ...]
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
            "interval": f"95 %, {self._method}, PCG64 seed {SEED}",
            "edge": self.edge,
            "negative": self.negative,
            "notes": list(self.notes),
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

    @property
    def step_sentence(self) -> str:
        """The step of the grade as a sentence."""
        first, second = map(self._named, self.between)
        step, across = self.step, f"{counted(self.step.holes, 'hole')} with samples on both sides"
        if step.mean is None:
            return "step: none, because no hole has samples on both sides"
        interval = _interval(step.low, step.high)
        said = f" (95 % interval {interval})" if interval else ""
        return f"step: {step.mean:.4g}{said}, {first} minus {second}, in {across}"

    def _notes(self) -> list[str]:
        """Return the lines below the table: the step, the counts, and findings."""
        counts, most = self.counts, f"{self.settings.max:g}"
        lines = [self.step_sentence]
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
        lines.append(f"intervals: {self._method}, from {LEAST_HOLES} holes on")
        if self.edge:
            lines.append(f"edges at a third domain: located to within {self.edge:.2g}")
        return [*lines, *self.notes, *notes_of(self.findings, self.dips)]

    @property
    def _method(self) -> str:
        """How the intervals are computed."""
        method = f"bootstrap-t of holes, {RESAMPLES:,} resamples"
        if max((each.holes for each in (*self.sides, *self.rows)), default=0) <= _MANY:
            return method
        return f"{method}; normal (mean and {_NORMAL:.2f} standard errors) above {_MANY:,} holes"

    @property
    def columns(self) -> ResultColumns:
        """The columns of the table of the classes of distance."""
        kinds = ["str", *["float64"] * 2, *["int64"] * 2, *["float64"] * 4]
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(kinds)
        return dict(zip(self.headings, zip(kinds, columns, strict=True), strict=True))

    def to_csv(self) -> str:
        """Return the classes of distance as CSV."""
        return csv_text(self.columns)

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
        step = self.step_sentence
        title = "" if self.step.mean is None else step[0].upper() + step[1:]
        return figure_of(self.chart(), 8.0, 5.5, title=title)

    def chart(self, unit: str = "") -> Chart:
        """Return the chart that `draw` and reports draw; `unit` is that of coordinates."""
        return contact_chart(
            (self._side(0, -1.0), self._side(1, 1.0)),
            width=self.settings.bin,
            most=self.settings.max,
            grade=self.grade,
            along="along the hole" if self.settings.along == "hole" else "from the contact",
            title="Grade by distance from the contact",
            unit=unit,
        )

    def _side(self, place: int, sign: float) -> ContactSide:
        """Return a side of the contact as it is drawn."""
        label, total = self.between[place], self.sides[place]
        subtitle = ""
        if total.mean is not None:
            subtitle = f"mean {total.mean:.3g}, {counted(total.samples, 'sample')}"
            subtitle += f", {counted(total.holes, 'hole')}" if total.holes else ""
        return ContactSide(
            self._named(label),
            subtitle,
            self.colours.get(label, ""),
            [
                (
                    min(sign * row.begin, sign * row.end),
                    max(sign * row.begin, sign * row.end),
                    row.samples,
                    row.mean,
                    row.low,
                    row.high,
                )
                for row in self.rows
                if row.label == label and row.mean is not None
            ],
            None if total.mean is None else (total.mean, sign * total.end),
        )


def _interval(low: float | None, high: float | None) -> str:
    """Return an interval as text, "" without one."""
    return "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
