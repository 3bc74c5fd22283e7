"""Samples along drillholes near a section, as lines in its plane with a grade each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, warn
from geodomain.io.conditions import with_policy
from geodomain.io.number_columns import BelowDetection, NegativeGrades
from geodomain.sections.cutting import Section
from geodomain.sections.near_holes import pieces_near

Floats = NDArray[np.float64]

# Points along a sample, which is short: a hole bends little in it.
_POINTS = 5
# So many samples at a time.
_TOGETHER = 50_000


@dataclass(frozen=True)
class Samples:
    """Samples that have a grade.

    Attributes
    ----------
    name : str
        Of the grade.
    holes : (n,) intp
        The hole of each.
    starts, ends : (n,) float64
        From where to where along it.
    values : (n,) float64
    """

    name: str
    holes: NDArray[np.intp]
    starts: Floats
    ends: Floats
    values: Floats


def samples_of(
    holes: Drillholes, table: TableLike, grade: str, below: BelowDetection | None = None
) -> Samples:
    """Read the samples of holes; those without a value are left out.

    Negative values count as they are, with a warning, or by the policy for values below detection.

    Raises
    ------
    TableError
        Where there is no such column, or no sample of these holes has a number in it.
    """
    rows = holes.match(table, also=[grade])
    column = with_policy(rows.table.column(grade), below)
    negative = NegativeGrades(grade, column.rule.below)
    values = negative.take(column.numbers())
    if said := negative.warning("sample"):
        warn(said)
    there = np.flatnonzero(rows.usable & np.isfinite(values))
    if not len(there):
        message = (
            f"{rows.table.name}: no sample of these holes has a number in the column {grade!r}: "
            "name a column of grades"
        )
        raise TableError(message)
    # Below its end a hole is not drawn.
    ends = np.minimum(rows.ends[there], holes.ends[rows.holes[there]])
    return Samples(grade, rows.holes[there], rows.starts[there], ends, values[there])


def samples_near(
    section: Section, holes: Drillholes, within: float, samples: Samples
) -> tuple[list[Floats], Floats]:
    """Return what of each sample is within a distance of a section, projected square onto it.

    Parameters
    ----------
    section : Section
        The plane.
    holes : Drillholes
        What the samples are of.
    within : float
        The distance, on either side.
    samples : Samples

    Returns
    -------
    list of (k, 2) float64
        Lines.
    (n,) float64
        The value of each.
    """
    lines: list[Floats] = []
    values: list[float] = []
    for start in range(0, len(samples.values), _TOGETHER):
        some = slice(start, start + _TOGETHER)
        shares = np.linspace(0.0, 1.0, _POINTS)
        first, last = samples.starts[some, None], samples.ends[some, None]
        depths = first + (last - first) * shares
        rows = np.repeat(samples.holes[some], _POINTS)
        points = holes.points_at(rows, depths.ravel()).reshape(-1, _POINTS, 3)
        offsets = points[..., section.across] - section.at
        near = (offsets.min(axis=1) <= within) & (offsets.max(axis=1) >= -within)
        for one in np.flatnonzero(near).tolist():
            found = pieces_near(points[one], offsets[one], section, within)
            lines += found
            values += [float(samples.values[start + one])] * len(found)
    return lines, np.array(values, np.float64)
