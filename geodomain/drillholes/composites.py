"""Composites of drillholes: their rows, and their summary by domain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.domains.sources import DomainsGiven, domains_to_label
from geodomain.drillholes.checks import Finding, notes_of
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.flagging import Parts, cut_at, flag_parts, label_gaps
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, counted, in_lines, warn
from geodomain.html import html_table, text_table
from geodomain.labelling.evaluate import rest_labels
from geodomain.labelling.labeller import LOST, Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.query.locator import Rule
from geodomain.tables.conditions import with_policy
from geodomain.tables.numbers import NegativeGrades

if TYPE_CHECKING:
    import pandas


class GradeTotals(TypedDict):
    """One grade in one domain: its mean, and the length without a value."""

    mean: float | None
    missing: float


class DomainTotals(TypedDict):
    """What the composites of one domain add up to."""

    name: str
    composites: int
    length: float
    grades: dict[str, GradeTotals]


@dataclass(frozen=True, eq=False, repr=False)
class Composites:
    """Composites of drillholes, a row of each array to a composite, by hole, then by depth.

    Attributes
    ----------
    holes : (k,) intp
        Places among `names`.
    names : tuple of str
        Of the holes.
    domains : (k,) intp
        Places among `labels`.
    labels : tuple of str
        The domains in their order, then the label of what is in none.
    begins, ends : (k,) float64
        Along the hole.
    middles : (k, 3) float64
    grades : dict of str to (k,) float64
        Means, weighted by length, over what has a value; NaN where nothing has one.
    missing : dict of str to (k,) float64
        Of each grade, the length of a composite without a value: not sampled, not assayed, or
        below detection by a policy that says so. A grade of 0 is a value.
    length : float
        As it was asked for.
    dropped : int
        Short pieces that were dropped.
    negative : dict of str to int
        Of each grade, the values below 0.
    findings : tuple of Finding
        Of the tables of holes.
    dips : str
        Which dips point down, and how that was decided.
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

    def __len__(self) -> int:
        """Count the composites."""
        return len(self.holes)

    def __repr__(self) -> str:
        """Say how many there are."""
        return f"<Composites: {len(self):,} of {self.length:g} in {len(self.labels)} domains>"

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns of `rows`."""
        grades = [name for grade in self.grades for name in (grade, f"{grade}_missing")]
        return ("hole", "from", "to", "length", "x", "y", "z", "domain", *grades)

    def rows(self) -> Iterable[tuple[object, ...]]:
        """Give the composites as rows under `headings`; depths have 3 decimals, means 10 digits."""
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
        """Return the composites as a table, numbers with all their digits."""
        import pandas

        columns: dict[str, object] = {
            "hole": [self.names[hole] for hole in self.holes.tolist()],
            "from": self.begins,
            "to": self.ends,
            "length": self.ends - self.begins,
            **{axis: self.middles[:, place] for place, axis in enumerate("xyz")},
            "domain": [self.labels[domain] for domain in self.domains.tolist()],
        }
        for grade, values in self.grades.items():
            columns |= {grade: values, f"{grade}_missing": self.missing[grade]}
        return pandas.DataFrame(columns)

    def as_dict(self) -> dict[str, object]:
        """Give the summary as plain values, ready for JSON."""
        return {
            "composites": len(self),
            "length": self.length,
            "dropped": self.dropped,
            "negative": self.negative,
            "domains": [self._domain(place) for place in range(len(self.labels))],
            "findings": [each.as_dict() for each in self.findings],
            "dips": self.dips,
        }

    def _domain(self, place: int) -> DomainTotals:
        """Add up one domain."""
        mine = self.domains == place
        lengths = (self.ends - self.begins)[mine]
        found: DomainTotals = {
            "name": self.labels[place],
            "composites": int(mine.sum()),
            "length": math.fsum(lengths.tolist()),
            "grades": {},
        }
        for grade, values in self.grades.items():
            weights = lengths - self.missing[grade][mine]
            total = math.fsum(weights.tolist())
            sums = math.fsum(np.nan_to_num(values[mine] * weights).tolist())
            found["grades"][grade] = {
                "mean": sums / total if total > 0 else None,
                "missing": math.fsum(self.missing[grade][mine].tolist()),
            }
        return found

    def __str__(self) -> str:
        """Lay the summary out as lines to read."""
        return in_lines([*text_table(self._rows()), *self._notes()])

    def _repr_html_(self) -> str:
        """Give the summary as a table for a notebook."""
        headings, *rows = self._rows()
        return html_table(repr(self)[1:-1], rows, headings=headings, notes=self._notes())

    def _rows(self) -> list[list[str]]:
        """Give the cells of the summary, headings first."""
        rows = [["domain", "composites", "length"]]
        for grade in self.grades:
            rows[0] += [grade, f"without {grade}"]
        for place in range(len(self.labels)):
            one = self._domain(place)
            if not one["composites"]:
                continue
            name = one["name"] or "(background)"
            row = [name, f"{one['composites']:,}", f"{one['length']:,.2f}"]
            for found in one["grades"].values():
                row += ["" if found["mean"] is None else f"{found['mean']:.4g}"]
                row += [f"{found['missing']:,.2f}"]
            rows.append(row)
        return rows

    def _notes(self) -> list[str]:
        """Give the lines below the table."""
        dropped = [f"{self.dropped:,} short pieces were dropped"] if self.dropped else []
        return [*dropped, *notes_of(self.findings, self.dips)]


def _shortest(value: float) -> str:
    """Return a number as text, a whole one without a point."""
    return repr(value).removesuffix(".0")


def _digits(value: float) -> str:
    """Return a number with 10 digits, NaN as nothing."""
    return "" if math.isnan(value) else f"{value:.10g}"


# --- Runs of holes in one domain, cut into composites, and the means of samples over them.

Short = Literal["keep", "merge", "drop"]
SHORT: tuple[Short, ...] = ("keep", "merge", "drop")
# Part of a composite's length that rounding may leave over at the end of a run.
_CRUMB = 1e-9
_MOST = 100_000_000


@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of holes in one domain each, by hole, then by depth."""

    holes: NDArray[np.intp]
    codes: NDArray[np.intp]
    begins: Floats
    ends: Floats

    def only(self, which: NDArray[np.bool_]) -> Stretches:
        """Return some of them."""
        return Stretches(self.holes[which], self.codes[which], self.begins[which], self.ends[which])


def runs_of(rows: Intervals, parts: Parts, gaps: tuple[NDArray[np.intp], Parts]) -> Stretches:
    """Join parts of samples, and of what lies between them, to runs in one domain."""
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
    """Cut runs into composites from the top down; return them, and how many were dropped."""
    expected = float(((runs.ends - runs.begins) / length).sum())
    if expected > _MOST:
        message = (
            f"composites of {length:g} along {expected * length:.3g} of holes would be more than "
            f"{_MOST:,}: correct the depths, or give a greater length"
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
    made: Stretches, rows: Intervals, parts: Parts, values: dict[str, Floats]
) -> tuple[Floats, dict[str, Floats], dict[str, Floats]]:
    """Return the sampled length of each composite, and of each grade the mean and what lacks."""
    holes = rows.holes[parts.rows]
    edges = np.concatenate([made.begins, made.ends])
    owners = np.concatenate([made.holes, made.holes])
    order = np.lexsort((edges, owners))
    pieces, begins, ends = cut_at(holes, parts.begins, parts.ends, owners[order], edges[order])
    middles, lengths = 0.5 * (begins + ends), ends - begins
    place = _stretch_at(made, holes[pieces], middles)
    inside = place >= 0
    place, pieces, lengths = place[inside], pieces[inside], lengths[inside]
    count = len(made.holes)
    sampled = np.asarray(np.bincount(place, weights=lengths, minlength=count), np.float64)
    means: dict[str, Floats] = {}
    missing: dict[str, Floats] = {}
    for name, column in values.items():
        grade = column[parts.rows[pieces]]
        known = ~np.isnan(grade)
        weights = np.bincount(place[known], weights=lengths[known], minlength=count)
        sums = np.bincount(place[known], weights=(lengths * grade)[known], minlength=count)
        means[name] = np.divide(sums, weights, out=np.full(count, np.nan), where=weights > 0)
        lacking = made.ends - made.begins - weights
        missing[name] = np.where(lacking > _CRUMB * np.maximum(made.ends, 1.0), lacking, 0.0)
    return sampled, means, missing


def _stretch_at(made: Stretches, holes: NDArray[np.intp], depths: Floats) -> NDArray[np.intp]:
    """Return the stretch that each depth of a hole is in, or -1."""
    keys = np.lexsort((np.concatenate([np.zeros(len(made.holes)), np.ones(len(holes))]),
                       np.concatenate([made.begins, depths]),
                       np.concatenate([made.holes, holes])))  # fmt: skip
    is_stretch = keys < len(made.holes)
    latest = np.cumsum(is_stretch) - 1
    found = np.empty(len(holes), np.intp)
    found[keys[~is_stretch] - len(made.holes)] = latest[~is_stretch]
    ok = found >= 0
    ok[ok] &= (made.holes[found[ok]] == holes[ok]) & (depths[ok] < made.ends[found[ok]])
    return np.where(ok, found, -1)


# --- Average samples of drillholes over equal lengths, each within one domain.


def composite(
    intervals: TableLike,
    holes: Drillholes,
    domains: DomainsGiven,
    *,
    length: float,
    grade: str | Sequence[str] = (),
    short: Short = "keep",
    min_length: float | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: str = "auto",
    threads: int | None = None,
) -> Composites:
    """Average samples of drillholes over equal lengths, each within one domain.

    Parameters
    ----------
    intervals : path, or pandas or polars DataFrame, or pyarrow.Table
        Samples: hole, FROM, TO and grades.
    holes : Drillholes
        The holes.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`.
    length : float
        Of a composite, in the unit of the file.
    grade : str or sequence of str
        Columns that are averaged, weighted by length. Missing values are left out, and their
        length is reported beside the mean. Negative ones count as they are, with a warning, or as
        the keyword ``below_detection`` of `holes` says.
    short : {"keep", "merge", "drop"}
        What becomes of a last piece shorter than `min_length`, where a hole leaves a domain:
        a composite of its own, part of the one before, or nothing.
    min_length : float, optional
        Half of `length`, if not given.
    background : str, optional
        The label of what is in no domain; that of `domains` otherwise.
    rule, allow_open, weld, backend, threads
        As for `label_file`.

    Returns
    -------
    Composites
        From where a hole enters a domain down to where it leaves it; none lies in two domains. A
        composite of which nothing is sampled is left out. ``print`` it for a summary.

    Raises
    ------
    TableError
        For samples that overlap, and columns that are not there.
    ValueError
        For a length that is none.
    DomainError, MeshError, OSError
        As `label_file`.

    Warns
    -----
    GeodomainWarning
        For negative grades.

    Examples
    --------
    >>> import geodomain, pandas
    >>> collar = {"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "AZIMUTH": [0], "DIP": [90]}
    >>> samples = {"HOLE": ["A"] * 3, "FROM": [6, 7.5, 8], "TO": [7.5, 8, 9], "AU": [1.0, 3, None]}
    >>> samples = pandas.DataFrame(samples)
    >>> holes = geodomain.Drillholes(pandas.DataFrame(collar), intervals=samples)
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> found = geodomain.composite(samples, holes, {"ORE": ore}, length=2, grade="AU")
    >>> [row[:4] + row[7:] for row in found.rows()][-1]
    ('A', '7', '9', '2', 'ORE', '2', '1')
    """
    grades = (grade,) if isinstance(grade, str) else tuple(dict.fromkeys(grade))
    least = 0.5 * length if min_length is None else min_length
    _require_lengths(length, least, short)
    given = domains_to_label(domains, weld=weld).domains
    names = [target.name for target in given.targets]
    settings = LabelSettings(
        background=background, rule=rule, allow_open=allow_open, backend=backend, threads=threads
    )
    rest, _ = rest_labels(given, names, settings)
    labeller = Labeller(given, settings)
    conditions = [one.column for _, some in given.conditions for one in some]
    rows = holes.match(intervals, also=[*grades, *conditions])
    refuse_overlaps(rows)
    parts = flag_parts(holes.paths, rows, labeller)
    gaps = label_gaps(holes.paths, rows, labeller)
    runs = runs_of(rows, parts, gaps)
    lost = len(labeller.targets) + LOST
    runs = runs.only(runs.codes < lost)
    made, dropped = cut_runs(runs, length, short, least)
    values: dict[str, Floats] = {}
    negative: dict[str, int] = {}
    for name in grades:
        column = with_policy(rows.table.column(name), given.below_detection)
        below = NegativeGrades(name, column.rule.below)
        values[name], negative[name] = below.take(column.numbers()), below.count
        for sentence in below.warnings("sample"):
            warn(sentence)
    sampled, means, missing = averages(made, rows, parts, values)
    some = sampled > 0
    made = made.only(some)
    middles = 0.5 * (made.begins + made.ends)
    return Composites(
        made.holes,
        holes.names,
        made.codes,
        (*names, rest),
        made.begins,
        made.ends,
        holes.points_at(made.holes, middles),
        {name: column[some] for name, column in means.items()},
        {name: column[some] for name, column in missing.items()},
        length,
        dropped,
        negative,
        tuple(rows.findings),
        holes.report.dips,
    )


def refuse_overlaps(rows: Intervals) -> None:
    """Raise TableError where samples overlap: the correct sample is ambiguous."""
    if rows.overlapping.size:
        row = int(rows.overlapping[0])
        message = (
            f"{rows.table.name}: {counted(rows.overlapping.size, 'overlap')} with the "
            f"interval before, the first in {rows.table.where(row)} (FROM {rows.starts[row]:g}); "
            "remove what is there twice before compositing"
        )
        raise TableError(message)


def _require_lengths(length: float, least: float, short: str) -> None:
    """Refuse lengths that are none."""
    if not 0 < length < math.inf:
        message = f"length is {length}; it must be above 0"
        raise ValueError(message)
    if not 0 <= least <= length:
        message = f"min_length is {least}; it must be 0 to {length:g}, the length of a composite"
        raise ValueError(message)
    if short not in SHORT:
        message = f"short is {short!r}; it can be {', '.join(map(repr, SHORT))}"
        raise ValueError(message)
