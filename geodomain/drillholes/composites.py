"""Composites of drillholes: their rows, and their summary by domain."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.checks import Finding, notes_of
from geodomain.errors import in_lines
from geodomain.html.table import html_table, text_table

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
