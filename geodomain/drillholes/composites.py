"""Average samples of drillholes into composites within domains, and summarise them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, TableColumn
from geodomain.domains.order import ConditionCounts, DomainsLike
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.drillholes import Drillholes, for_samples, settle
from geodomain.drillholes.findings import Finding, notes_of
from geodomain.drillholes.flagging import Parts, cut_at, flag_parts, label_gaps, without_domain
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.settings import HoleSettings, SampleKeywords
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, counted, in_lines, warn
from geodomain.labelling.evaluate import rest_labels
from geodomain.labelling.labeller import LOST, Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.query.locator import Rule
from geodomain.result_tables import data_frame, html_table, text_table
from geodomain.settings import BackendName, with_keywords
from geodomain.tables.conditions import with_policy
from geodomain.tables.numbers import NegativeGrades
from geodomain.tables.settings import TableSettings

if TYPE_CHECKING:
    import pandas


class GradeTotals(TypedDict):
    """Totals of one grade in one domain: the mean, and the length without a value."""

    mean: float | None
    missing: float


class DomainTotals(TypedDict):
    """Totals of the composites of one domain."""

    name: str
    composites: int
    length: float
    grades: dict[str, GradeTotals]


@dataclass(frozen=True, eq=False, repr=False)
class Composites:
    """Composites of drillholes, sorted by hole and then by depth.

    Attributes
    ----------
    holes : (k,) intp
        Indices into `names`.
    names : tuple of str
        Names of the holes.
    domains : (k,) intp
        Indices into `labels`.
    labels : tuple of str
        Domains in order, then the background label.
    begins, ends : (k,) float64
        FROM and TO depths.
    middles : (k, 3) float64
        Middle points.
    grades : dict of str to (k,) float64
        Means of the samples that have a value, weighted by length; NaN if no sample has a value.
    missing : dict of str to (k,) float64
        For each grade, the length without a value: not sampled, not assayed, or missing because
        of the setting ``below_detection``. A grade of 0 is a value.
    length : float
        Nominal length of a composite.
    dropped : int
        Number of short pieces dropped.
    negative : dict of str to int
        For each grade, the number of values below 0.
    findings : tuple of Finding
        Findings about the tables of holes.
    dips : str
        Which dips point down, and how that was decided.
    notes : tuple of str
        Notes on values below detection.
    """

    holes: NDArray[np.intp]
    names: tuple[str, ...]
    domains: NDArray[np.intp]
    labels: tuple[str, ...]
    begins: Floats
    ends: Floats
    middles: Floats
    grades: dict[str, Floats]
    missing: dict[str, Floats]
    length: float
    dropped: int
    negative: dict[str, int]
    findings: tuple[Finding, ...]
    dips: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of composites."""
        return len(self.holes)

    def __repr__(self) -> str:
        """Return the number of composites, their length and the number of domains."""
        return f"<Composites: {len(self):,} of {self.length:g} in {len(self.labels)} domains>"

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns of `rows`."""
        grades = [name for grade in self.grades for name in (grade, f"{grade}_missing")]
        return ("hole", "from", "to", "length", "x", "y", "z", "domain", *grades)

    def rows(self) -> Iterable[tuple[object, ...]]:
        """Return the composites as rows under `headings`.

        Depths have at most 3 decimals. Coordinates, and lengths without a value, have at most 6.
        Means have 10 digits.
        """
        begins, ends = self.begins.round(3), self.ends.round(3)
        numbers = [begins, ends, (ends - begins).round(3), *self.middles.round(6).T]
        values = [
            column.round(6) if length else column
            for grade in self.grades
            for length, column in ((False, self.grades[grade]), (True, self.missing[grade]))
        ]
        return zip(
            (self.names[hole] for hole in self.holes.tolist()),
            *(map(_shortest, column.tolist()) for column in numbers),
            (self.labels[domain] for domain in self.domains.tolist()),
            *([_digits(value) for value in column.tolist()] for column in values),
            strict=True,
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return the composites as a DataFrame, in which numbers have all their digits."""
        columns: dict[str, TableColumn] = {
            "hole": [self.names[hole] for hole in self.holes.tolist()],
            "from": self.begins,
            "to": self.ends,
            "length": self.ends - self.begins,
            **{axis: self.middles[:, place] for place, axis in enumerate("xyz")},
            "domain": [self.labels[domain] for domain in self.domains.tolist()],
        }
        for grade, values in self.grades.items():
            columns |= {grade: values, f"{grade}_missing": self.missing[grade]}
        return data_frame(columns)

    def as_dict(self) -> dict[str, object]:
        """Return the summary as plain values, ready for JSON."""
        return {
            "composites": len(self),
            "length": self.length,
            "dropped": self.dropped,
            "negative": self.negative,
            "notes": list(self.notes),
            "domains": [self._domain(place) for place in range(len(self.labels))],
            "findings": [each.as_dict() for each in self.findings],
            "dips": self.dips,
        }

    def _domain(self, place: int) -> DomainTotals:
        """Return the totals of one domain."""
        in_domain = self.domains == place
        lengths = (self.ends - self.begins)[in_domain]
        totals: DomainTotals = {
            "name": self.labels[place],
            "composites": int(in_domain.sum()),
            "length": math.fsum(lengths.tolist()),
            "grades": {},
        }
        for grade, values in self.grades.items():
            weights = lengths - self.missing[grade][in_domain]
            total = math.fsum(weights.tolist())
            sums = math.fsum(np.nan_to_num(values[in_domain] * weights).tolist())
            totals["grades"][grade] = {
                "mean": sums / total if total > 0 else None,
                "missing": math.fsum(self.missing[grade][in_domain].tolist()),
            }
        return totals

    def __str__(self) -> str:
        """Return the summary as a text table."""
        return in_lines([*text_table(self._rows()), *self._notes()])

    def _repr_html_(self) -> str:
        """Return the summary as a table for a notebook."""
        headings, *rows = self._rows()
        return html_table(repr(self)[1:-1], rows, headings=headings, notes=self._notes())

    def _rows(self) -> list[list[str]]:
        """Return the cells of the summary, headings first."""
        rows = [["domain", "composites", "length"]]
        for grade in self.grades:
            rows[0] += [grade, f"without {grade}"]
        for place in range(len(self.labels)):
            totals = self._domain(place)
            if not totals["composites"]:
                continue
            name = totals["name"] or "(background)"
            row = [name, f"{totals['composites']:,}", f"{totals['length']:,.2f}"]
            for grade_totals in totals["grades"].values():
                row += ["" if grade_totals["mean"] is None else f"{grade_totals['mean']:.4g}"]
                row += [f"{grade_totals['missing']:,.2f}"]
            rows.append(row)
        return rows

    def _notes(self) -> list[str]:
        """Return the lines below the summary: dropped pieces, the sign of dips, and findings."""
        dropped = counted(self.dropped, "short piece was", "short pieces were")
        notes = [f"{dropped} dropped"] if self.dropped else []
        return [*notes, *self.notes, *notes_of(self.findings, self.dips)]


def _shortest(value: float) -> str:
    """Format a number with its shortest digits, and whole numbers without a point."""
    return repr(value).removesuffix(".0")


def _digits(value: float) -> str:
    """Format a number with 10 digits; "" for NaN."""
    return "" if math.isnan(value) else f"{value:.10g}"


# --- Runs of holes within one domain, composites of them, and means of samples.

Short = Literal["keep", "merge", "drop"]
SHORT: tuple[Short, ...] = ("keep", "merge", "drop")
# Share of a composite's length that rounding may leave at the end of a run.
_CRUMB = 1e-9
_MOST = 100_000_000


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of holes, sorted by hole and then by depth; each lies within one domain."""

    holes: NDArray[np.intp]
    codes: NDArray[np.intp]
    begins: Floats
    ends: Floats

    def only(self, mask: NDArray[np.bool_]) -> Stretches:
        """Return the stretches at which the mask is true."""
        return Stretches(self.holes[mask], self.codes[mask], self.begins[mask], self.ends[mask])


def runs_of(rows: Intervals, parts: Parts, gaps: tuple[NDArray[np.intp], Parts]) -> Stretches:
    """Join the parts of samples and gaps into runs; each run lies within one domain.

    `gaps` is the result of `label_gaps`: the hole of each gap, and the parts of the gaps.
    """
    gap_holes, between = gaps
    holes = np.concatenate([rows.holes[parts.rows], gap_holes[between.rows]])
    codes = np.concatenate([parts.codes, between.codes])
    begins = np.concatenate([parts.begins, between.begins])
    ends = np.concatenate([parts.ends, between.ends])
    order = np.lexsort((begins, holes))
    holes, codes, begins, ends = holes[order], codes[order], begins[order], ends[order]
    new = np.ones(len(holes), np.bool_)
    new[1:] = (holes[1:] != holes[:-1]) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(holes)) - 1
    return Stretches(holes[first], codes[first], begins[first], ends[last[: len(first)]])


def cut_runs(runs: Stretches, length: float, short: Short, least: float) -> tuple[Stretches, int]:
    """Cut each run into composites of equal length, from the top down.

    Return a tuple: the composites, and the number of short pieces that were dropped.
    """
    expected = float(((runs.ends - runs.begins) / length).sum())
    if expected > _MOST:
        message = (
            f"there would be more than {_MOST:,} composites of length {length:g}, because the "
            f"holes have a total length of {expected * length:.3g}: correct the depths, or give a "
            "greater length"
        )
        raise TableError(message)
    whole = np.floor((runs.ends - runs.begins) / length + _CRUMB).astype(np.int64)
    rest = runs.ends - runs.begins - whole * length
    tail = rest > _CRUMB * length
    is_short = tail & (rest < least * (1 - _CRUMB))
    dropped = is_short & (short == "drop")
    merged = is_short & (short == "merge") & (whole > 0)
    counts = whole + (tail & ~dropped & ~merged)
    owners = np.repeat(np.arange(len(counts)), counts)
    rank = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = runs.begins[owners] + rank * length
    ends = begins + length
    final = rank == counts[owners] - 1
    to_exit = final & ~dropped[owners]
    ends[to_exit] = runs.ends[owners[to_exit]]
    return Stretches(runs.holes[owners], runs.codes[owners], begins, ends), int(dropped.sum())


def averages(
    composites: Stretches, rows: Intervals, parts: Parts, values: dict[str, Floats]
) -> tuple[Floats, dict[str, Floats], dict[str, Floats]]:
    """Return a tuple: the sampled length of each composite, and two dicts with an array per grade.

    The first dict has the mean grades of composites. The second dict has their lengths without a
    value.
    """
    holes = rows.holes[parts.rows]
    edges = np.concatenate([composites.begins, composites.ends])
    owners = np.concatenate([composites.holes, composites.holes])
    order = np.lexsort((edges, owners))
    pieces, begins, ends = cut_at(holes, parts.begins, parts.ends, owners[order], edges[order])
    middles, lengths = 0.5 * (begins + ends), ends - begins
    place = _stretch_at(composites, holes[pieces], middles)
    inside = place >= 0
    place, pieces, lengths = place[inside], pieces[inside], lengths[inside]
    count = len(composites.holes)
    sampled = np.asarray(np.bincount(place, weights=lengths, minlength=count), np.float64)
    means: dict[str, Floats] = {}
    missing: dict[str, Floats] = {}
    for name, column in values.items():
        grade = column[parts.rows[pieces]]
        valid = ~np.isnan(grade)
        weights = np.bincount(place[valid], weights=lengths[valid], minlength=count)
        sums = np.bincount(place[valid], weights=(lengths * grade)[valid], minlength=count)
        means[name] = np.divide(sums, weights, out=np.full(count, np.nan), where=weights > 0)
        lacking = composites.ends - composites.begins - weights
        missing[name] = np.where(lacking > _CRUMB * np.maximum(composites.ends, 1.0), lacking, 0.0)
    return sampled, means, missing


def _stretch_at(stretches: Stretches, holes: NDArray[np.intp], depths: Floats) -> NDArray[np.intp]:
    """Return the index of the stretch that contains each depth of a hole, or -1 if none does."""
    keys = np.lexsort((np.concatenate([np.zeros(len(stretches.holes)), np.ones(len(holes))]),
                       np.concatenate([stretches.begins, depths]),
                       np.concatenate([stretches.holes, holes])))  # fmt: skip
    is_stretch = keys < len(stretches.holes)
    latest = np.cumsum(is_stretch) - 1
    latest_stretch = np.empty(len(holes), np.intp)
    latest_stretch[keys[~is_stretch] - len(stretches.holes)] = latest[~is_stretch]
    within = latest_stretch >= 0
    within[within] &= (stretches.holes[latest_stretch[within]] == holes[within]) & (
        depths[within] < stretches.ends[latest_stretch[within]]
    )
    return np.where(within, latest_stretch, -1)


# --- Composites of samples.


@with_keywords((HoleSettings, TableSettings), SampleKeywords)
def composite(
    intervals: TableLike,
    holes: Drillholes,
    domains: DomainsLike,
    *,
    length: float,
    grade: str | Sequence[str] = (),
    short: Short = "keep",
    min_length: float | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    threads: int | None = None,
    **keywords: Unpack[SampleKeywords],
) -> Composites:
    """Average samples of drillholes into composites of equal length, each within one domain.

    Parameters
    ----------
    intervals : path, or pandas or polars DataFrame, or pyarrow.Table
        Samples: hole, FROM, TO and grades.
    holes : Drillholes
        The holes.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`.
    length : float
        Length of a composite, in the unit of the file.
    grade : str or sequence of str
        Columns to average, weighted by length. Missing values are left out, and their length is
        reported beside the mean. The setting ``below_detection`` of this function, or else of
        `holes`, or else of `domains`, says how to treat negative values. Without this setting they
        are used unchanged, with a warning.
    short : {"keep", "merge", "drop"}
        What to do with the last composite before a hole leaves a domain, if it is shorter than
        `min_length`: keep it, merge it into the composite above, or drop it.
    min_length : float, optional
        Shortest length of a composite. [default: half of `length`]
    background : str, optional
        Label of samples outside every domain. [default: as set in `domains`]
    rule, allow_open, weld, backend, threads
        As for `label_file`.
    **settings

    Returns
    -------
    Composites
        In each domain, the first composite begins where the hole enters, and the last composite
        ends where the hole leaves. Therefore each composite lies in one domain. Composites without
        any sample are left out. ``print`` the result for a summary.

    Raises
    ------
    TableError
        If samples overlap, or a column is missing.
    ValueError
        If a length is not positive.
    DomainError, MeshError, OSError
        As `label_file`.

    Warns
    -----
    GeodomainWarning
        For negative grades. Also for each warning among the findings about holes and samples that
        has not been issued for `holes` before.

    Examples
    --------
    >>> import geodomain, pandas
    >>> collar = {"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "AZIMUTH": [0], "DIP": [90]}
    >>> samples = {"HOLE": ["A"] * 3, "FROM": [6, 7.5, 8], "TO": [7.5, 8, 9], "AU": [1.0, 3, None]}
    >>> samples = pandas.DataFrame(samples)
    >>> holes = geodomain.Drillholes(pandas.DataFrame(collar), intervals=samples)
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> composites = geodomain.composite(samples, holes, {"ORE": ore}, length=2, grade="AU")
    >>> [row[:4] + row[7:] for row in composites.rows()][-1]
    ('A', '7', '9', '2', 'ORE', '2', '1')
    """
    grades = (grade,) if isinstance(grade, str) else tuple(dict.fromkeys(grade))
    least = 0.5 * length if min_length is None else min_length
    _require_lengths(length, least, short)
    listed = domains_to_label(domains, weld=weld).domains
    names = [target.name for target in listed.targets]
    settings = LabelSettings(
        background=background, rule=rule, allow_open=allow_open, backend=backend, threads=threads
    )
    rest, _ = rest_labels(listed, names, settings)
    labeller = Labeller(listed, settings)
    conditions = [condition.column for _, group in listed.conditions for condition in group]
    holes = for_samples(holes, keywords)
    rows = holes.match(intervals, also=[*grades, *conditions])
    findings = [*holes.tell(listed), *rows.findings]
    refuse_overlaps(rows)
    seen = ConditionCounts()
    parts = flag_parts(holes.paths, rows, labeller, seen)
    findings += without_domain(rows, parts.rows, parts.codes, labeller)
    settled = settle(holes, findings)
    gaps = label_gaps(holes.paths, rows, labeller)
    runs = runs_of(rows, parts, gaps)
    lost = len(labeller.targets) + LOST
    runs = runs.only(runs.codes < lost)
    composites, dropped = cut_runs(runs, length, short, least)
    values: dict[str, Floats] = {}
    negative: dict[str, int] = {}
    for name in grades:
        column = with_policy(rows.table.column(name), listed.below_detection)
        below = NegativeGrades(name, column.rule.below)
        values[name] = below.take(column.numbers(), cells=column.below_detection())
        negative[name], seen.grades[name] = below.count, below
    for sentence in seen.warnings("sample"):
        warn(sentence)
    sampled, means, missing = averages(composites, rows, parts, values)
    is_sampled = sampled > 0
    composites = composites.only(is_sampled)
    middles = 0.5 * (composites.begins + composites.ends)
    return Composites(
        composites.holes,
        holes.names,
        composites.codes,
        (*names, rest),
        composites.begins,
        composites.ends,
        holes.points_at(composites.holes, middles),
        {name: column[is_sampled] for name, column in means.items()},
        {name: column[is_sampled] for name, column in missing.items()},
        length,
        dropped,
        negative,
        settled,
        holes.report.dips,
        tuple(seen.notes()),
    )


def refuse_overlaps(rows: Intervals) -> None:
    """Raise TableError if samples overlap, because it is unclear which sample to use."""
    if rows.overlapping.size:
        row = int(rows.overlapping[0])
        overlaps = counted(rows.overlapping.size, "sample overlaps", "samples overlap")
        message = (
            f"{rows.table.name}: {overlaps} the sample above, the first in {rows.table.where(row)} "
            f"(FROM {rows.starts[row]:g}); correct the depths, or remove duplicate samples, before "
            "compositing"
        )
        raise TableError(message)


def _require_lengths(length: float, least: float, short: str) -> None:
    """Require a positive length, a shortest length from 0 to this length, and a valid `short`."""
    if not 0 < length < math.inf:
        message = f"length is {length}; it must be above 0"
        raise ValueError(message)
    if not 0 <= least <= length:
        message = (
            f"min_length is {least}; it must be from 0 to {length:g}, the length of composites"
        )
        raise ValueError(message)
    if short not in SHORT:
        message = f"short is {short!r}; use {', '.join(map(repr, SHORT))}"
        raise ValueError(message)
