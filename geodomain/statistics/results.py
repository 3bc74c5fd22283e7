"""Results of `geodomain.stats`: rows of statistics, curves, and printed tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from geodomain.errors import counted, in_lines
from geodomain.result_tables import (
    csv_text,
    html_table,
    records_columns,
    records_frame,
    text_table,
)
from geodomain.statistics.declustering import Trial
from geodomain.statistics.populations import Cut, Population

if TYPE_CHECKING:
    import pandas

ALL = "(all)"
_NO_DOMAIN = "(none)"


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
        Whether values have the weights of their rows alone (naive), or these weights times
        declustering weights.
    cap : float, optional
        Values above the cap count as the cap; None for the values as they are.
    rows : int
        Number of rows in the domain: the sum of the next four numbers.
    count : int
        Number of values in the statistics.
    missing, without_weight, without_place : int
        Number of rows without the grade; of rows with the grade but without a weight; and, in
        declustered statistics, of rows with both but without coordinates.
    weight : float
        Total weight of the values, before declustering: a length, a volume or a number of rows.
    minimum, quartile_1, median, quartile_3, p90, p95, p99, maximum : float, optional
        Quantiles: the first value whose cumulative weight reaches the share. All statistics are
        None if there is no value.
    mean, variance : float, optional
        Weighted mean and variance; the divisor of the variance is the total weight.
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
    """A size of cells that ``decluster="auto"`` tried for a grade in a domain.

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
    """Statistics by grade and domain; ``print`` them for tables.

    Attributes
    ----------
    rows : tuple of StatsRow
        Statistics by grade and domain: naive without and with each cap, then declustered without
        and with each cap. Empty without a label column.
    totals : tuple of StatsRow
        The same rows for all domains together, as one population.
    read : int
        Number of rows read.
    column : str, optional
        The label column.
    weight : str
        What the rows are weighted by: "volume", "TO - FROM", the name of a column, or "" if all
        rows have the same weight.
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
        return csv_text(records_columns(StatsRow, [*self.rows, *self.totals]))

    def __str__(self) -> str:
        """Return the statistics as text: tables for each grade, then notes."""
        lines: list[str] = []
        for title, cells in self._tables():
            lines += [*[""] * bool(lines), title, *text_table(cells)]
        notes = self._shown_notes()
        return in_lines([*lines, *[""] * bool(notes), *notes])

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
        notes = [*self._shown_notes(), *(f"warning: {text}" for text in self.warnings)]
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
            if cut := [row for row in own if row.samples_cut]:
                yield f"{grade}, top cuts{by}", _columns_shown(_CUTS, cut, self.weight)

    def _shown_notes(self) -> list[str]:
        """Return the notes below the printed tables: caps that cut nothing, and `notes`."""
        lines = []
        capped = [row for row in (*self.rows, *self.totals) if row.cap is not None]
        for grade, cap in dict.fromkeys((row.grade, row.cap) for row in capped):
            same = [row for row in capped if (row.grade, row.cap) == (grade, cap)]
            below = {row.domain for row in same} - {row.domain for row in same if row.samples_cut}
            domains = counted(len(below - {ALL}), "domain")
            if ALL in below:
                lines.append(f"{grade}: no value is above the cap {cap:g}")
            elif below:
                lines.append(f"{grade}: {domains} without a value above the cap {cap:g}")
        return [*lines, *self.notes]


class _Shown(NamedTuple):
    """A column of the printed table.

    `always` says whether the column is printed even if it is empty or 0 in all rows.
    """

    heading: str
    text: Callable[[StatsRow], str]
    always: bool = True


def named(domain: str) -> str:
    """Return the name of a domain in a table; rows without a label have one as well."""
    return domain or _NO_DOMAIN


def figure(value: float | None, digits: int = 4) -> str:
    """Return a number with some digits, but all of its whole digits; "-" for None."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def _figures(name: str) -> Callable[[StatsRow], str]:
    return lambda row: figure(getattr(row, name))


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
    _Shown("domain", lambda row: named(row.domain)),
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
    _Shown("weight", lambda row: figure(row.weight, 6), always=False),
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
    shown_columns = []
    for column in columns:
        texts = [column.text(row) for row in rows]
        needed = {
            "weights": both,
            "weight": bool(weight),
            "holes cut": {*texts} != {"-"},
        }.get(column.heading, bool({*texts} - {"", "-", "0"}))
        if column.always or needed:
            heading = weight if column.heading == "weight" else column.heading
            shown_columns.append([heading, *texts])
    return [list(line) for line in zip(*shown_columns, strict=True)]


def described(row: StatsRow, population: Population, weight: float) -> StatsRow:
    """Return a row with the statistics of a population, and with its total `weight`."""
    return replace(
        row,
        weight=weight,
        minimum=population.minimum,
        quartile_1=population.quantile(Fraction(1, 4)),
        median=population.quantile(Fraction(1, 2)),
        quartile_3=population.quantile(Fraction(3, 4)),
        p90=population.quantile(Fraction(9, 10)),
        p95=population.quantile(Fraction(19, 20)),
        p99=population.quantile(Fraction(99, 100)),
        maximum=population.maximum,
        mean=population.mean,
        variance=population.variance,
        cv=population.cv,
    )


def cut_row(row: StatsRow, cut: Cut) -> StatsRow:
    """Return the statistics of a row after a top cut."""

    def lower(value: float | None) -> float | None:
        return None if value is None else min(value, cut.cap)

    return replace(
        row,
        cap=cut.cap,
        minimum=lower(row.minimum),
        quartile_1=lower(row.quartile_1),
        median=lower(row.median),
        quartile_3=lower(row.quartile_3),
        p90=lower(row.p90),
        p95=lower(row.p95),
        p99=lower(row.p99),
        maximum=lower(row.maximum),
        mean=cut.mean,
        variance=cut.variance,
        cv=cut.cv,
        percentile=cut.percentile,
        samples_cut=cut.samples,
        holes_cut=cut.holes,
        metal_lost=cut.lost,
    )


def cut_point(row: StatsRow, cut: Cut) -> CutPoint:
    """Return a point of the curve of top cuts of a row."""
    return CutPoint(
        row.grade, row.domain, row.weights, cut.cap, cut.percentile, cut.samples, cut.holes,
        cut.mean, cut.cv, cut.lost,
    )  # fmt: skip


def cluster_point(row: StatsRow, trial: Trial, *, chosen: bool) -> ClusterPoint:
    """Return a point of the curve of declustering of a row."""
    return ClusterPoint(row.grade, row.domain, *trial.cell, trial.mean, trial.cells, chosen)
