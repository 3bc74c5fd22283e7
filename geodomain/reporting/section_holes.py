"""Project drillholes near a section, and their samples, onto its plane."""

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

# Points along a hole: enough that the chords look like the curve.
_MOST = 200
# Number of holes handled at a time.
_TOGETHER = 2000


def lines_near(section: Section, holes: Drillholes, within: float) -> list[tuple[str, Floats]]:
    """Return the parts of holes within a distance of a section, projected at right angles.

    Parameters
    ----------
    section : Section
        The plane.
    holes : Drillholes
        Holes, near or far.
    within : float
        Distance on either side.

    Returns
    -------
    list of (str, (k, 2) float64)
        Hole name and points of a line, in order of depth; a hole that leaves and comes back has
        several lines.
    """
    parts = []
    for start in range(0, len(holes), _TOGETHER):
        rows = np.arange(start, min(start + _TOGETHER, len(holes)))
        depths = holes.ends[rows, None] * np.linspace(0.0, 1.0, _MOST)
        points = holes.points_at(np.repeat(rows, _MOST), depths.ravel()).reshape(-1, _MOST, 3)
        offsets = points[..., section.across] - section.at
        near = (offsets.min(axis=1) <= within) & (offsets.max(axis=1) >= -within)
        for hole in np.flatnonzero(near).tolist():
            lines = pieces_near(points[hole], offsets[hole], section, within)
            parts += [(holes.names[start + hole], line) for line in lines]
    return parts


def pieces_near(points: Floats, offset: Floats, section: Section, within: float) -> list[Floats]:
    """Return the pieces of a line that are within a distance of the plane."""
    flat = points[:, list(section.along)]
    if (np.abs(offset) <= within).all():
        return [flat]
    start, stop = _spans(offset, within)
    near = start < stop
    # A piece continues if one step is near at its end and the next step at its beginning.
    goes_on = near[:-1] & near[1:] & (stop[:-1] == 1) & (start[1:] == 0)
    first = np.flatnonzero(near & ~np.append(False, goes_on))
    last = np.flatnonzero(near & ~np.append(goes_on, False))
    steps = np.diff(flat, axis=0)
    heads, tails = flat[:-1] + start[:, None] * steps, flat[:-1] + stop[:, None] * steps
    return [
        np.concatenate([heads[start : start + 1], flat[start + 1 : end + 1], tails[end : end + 1]])
        for start, end in zip(first.tolist(), last.tolist(), strict=True)
    ]


def _spans(offset: Floats, within: float) -> tuple[Floats, Floats]:
    """Return start and end, 0 to 1, of the near part of each step; 1 and 0 if none is near."""
    begin, change = offset[:-1], np.diff(offset)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (-within - begin) / change, (within - begin) / change
    start, stop = np.maximum(np.minimum(one, two), 0.0), np.minimum(np.maximum(one, two), 1.0)
    still, here = change == 0, np.abs(begin) <= within
    return np.where(still, np.where(here, 0.0, 1.0), start), np.where(still, here * 1.0, stop)


# Samples near a section, as lines with a grade.

# Points along a sample; a hole bends little within one.
_POINTS = 5
# Number of samples handled at a time.
_SAMPLES_TOGETHER = 50_000


@dataclass(frozen=True)
class Samples:
    """Samples with a grade.

    Attributes
    ----------
    name : str
        Grade column.
    holes : (n,) intp
        Index of the hole of each sample.
    starts, ends : (n,) float64
        FROM and TO depths.
    values : (n,) float64
        Grades.
    """

    name: str
    holes: NDArray[np.intp]
    starts: Floats
    ends: Floats
    values: Floats


def samples_of(
    holes: Drillholes, table: TableLike, grade: str, below: BelowDetection | None = None
) -> Samples:
    """Read the samples that lie on the holes and have a grade.

    Negative values follow the policy for values below detection. Without a policy they are used as
    they are, with a warning.

    Raises
    ------
    TableError
        If the column is missing, or no sample of these holes has a number in the column.
    """
    rows = holes.match(table, also=[grade])
    column = with_policy(rows.table.column(grade), below)
    negative = NegativeGrades(grade, column.rule.below)
    values = negative.take(column.numbers())
    for sentence in negative.warnings("sample"):
        warn(sentence)
    valid = np.flatnonzero(rows.usable & np.isfinite(values))
    if not len(valid):
        message = (
            f"{rows.table.name}: no sample of these holes has a number in the column {grade!r}: "
            "name a grade column"
        )
        raise TableError(message)
    # Nothing is drawn below the end of a hole.
    ends = np.minimum(rows.ends[valid], holes.ends[rows.holes[valid]])
    return Samples(grade, rows.holes[valid], rows.starts[valid], ends, values[valid])


def samples_near(
    section: Section, holes: Drillholes, within: float, samples: Samples
) -> tuple[list[Floats], Floats]:
    """Return the parts of samples within a distance of a section, projected at right angles.

    Parameters
    ----------
    section : Section
        The plane.
    holes : Drillholes
        The holes of the samples.
    within : float
        Distance on either side.
    samples : Samples

    Returns
    -------
    list of (k, 2) float64
        Lines.
    (n,) float64
        Grade of each line.
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
        for row in np.flatnonzero(near).tolist():
            pieces = pieces_near(points[row], offsets[row], section, within)
            lines += pieces
            values += [float(samples.values[start + row])] * len(pieces)
    return lines, np.array(values, np.float64)
