"""Drillholes near a section and their samples, as lines in its plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, warn
from geodomain.reporting.sections import Section
from geodomain.tables.conditions import with_policy
from geodomain.tables.numbers import BelowDetection, NegativeGrades

# Points along a hole: a line between two of them differs from the arc by nothing that is seen.
_MOST = 200
# So many holes at a time.
_TOGETHER = 2000


def lines_near(section: Section, holes: Drillholes, within: float) -> list[tuple[str, Floats]]:
    """Return what of each hole is within a distance of a section, projected square onto it.

    Parameters
    ----------
    section : Section
        The plane.
    holes : Drillholes
        What may be near it.
    within : float
        The distance, on either side.

    Returns
    -------
    list of (str, (k, 2) float64)
        The hole and the points of a line, from its collar down; a hole that leaves and comes back
        has several.
    """
    found = []
    for start in range(0, len(holes), _TOGETHER):
        rows = np.arange(start, min(start + _TOGETHER, len(holes)))
        depths = holes.ends[rows, None] * np.linspace(0.0, 1.0, _MOST)
        points = holes.points_at(np.repeat(rows, _MOST), depths.ravel()).reshape(-1, _MOST, 3)
        offsets = points[..., section.across] - section.at
        near = (offsets.min(axis=1) <= within) & (offsets.max(axis=1) >= -within)
        for one in np.flatnonzero(near).tolist():
            lines = pieces_near(points[one], offsets[one], section, within)
            found += [(holes.names[start + one], line) for line in lines]
    return found


def pieces_near(points: Floats, offset: Floats, section: Section, within: float) -> list[Floats]:
    """Cut a line where it comes nearer than a distance, and where it leaves."""
    flat = points[:, list(section.along)]
    if (np.abs(offset) <= within).all():
        return [flat]
    start, stop = _spans(offset, within)
    near = start < stop
    # A piece goes on from a step that is near to its end into one that is from its beginning.
    goes_on = near[:-1] & near[1:] & (stop[:-1] == 1) & (start[1:] == 0)
    first = np.flatnonzero(near & ~np.append(False, goes_on))
    last = np.flatnonzero(near & ~np.append(goes_on, False))
    steps = np.diff(flat, axis=0)
    heads, tails = flat[:-1] + start[:, None] * steps, flat[:-1] + stop[:, None] * steps
    return [
        np.concatenate([heads[one : one + 1], flat[one + 1 : two + 1], tails[two : two + 1]])
        for one, two in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _spans(offset: Floats, within: float) -> tuple[Floats, Floats]:
    """Return from where to where, 0 to 1, each step of a line is near enough; 1 to 0 if nowhere."""
    begin, change = offset[:-1], np.diff(offset)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (-within - begin) / change, (within - begin) / change
    start, stop = np.maximum(np.minimum(one, two), 0.0), np.minimum(np.maximum(one, two), 1.0)
    still, here = change == 0, np.abs(begin) <= within
    return np.where(still, np.where(here, 0.0, 1.0), start), np.where(still, here * 1.0, stop)


# Samples near a section, each a line with a grade.

# Points along a sample, which is short: a hole bends little in it.
_POINTS = 5
# So many samples at a time.
_SAMPLES_TOGETHER = 50_000


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
    for sentence in negative.warnings("sample"):
        warn(sentence)
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
    for start in range(0, len(samples.values), _SAMPLES_TOGETHER):
        some = slice(start, start + _SAMPLES_TOGETHER)
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
