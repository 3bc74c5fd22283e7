"""Match the rows of an interval table with their holes, and check their depths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.drillholes.findings import Finding, id_proposals, note
from geodomain.drillholes.tables import HoleTable

# A TO beyond this multiple of the hole's depth is more than a sample past the end of the hole.
_FAR = 1.5


@dataclass(frozen=True, eq=False)
class Intervals:
    """Rows of an interval table, each with its hole and depths.

    Attributes
    ----------
    table : HoleTable
        The interval table.
    holes : (n,) intp
        Index of the hole of each row, -1 if the hole is unknown.
    starts, ends : (n,) float64
        FROM and TO, NaN where missing.
    usable : (n,) bool
        Rows of a known hole with 0 <= FROM < TO and FROM less than the depth of the hole.
    findings : list of Finding
        Faults of the rows that are not usable, and other findings.
    """

    table: HoleTable
    holes: NDArray[np.intp]
    starts: Floats
    ends: Floats
    usable: Bools
    findings: list[Finding]

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Indices of the usable rows, sorted by hole and then by FROM."""
        rows = np.flatnonzero(self.usable)
        keys = self.holes[rows], self.starts[rows]
        same = keys[0][1:] == keys[0][:-1]
        if ((keys[0][1:] > keys[0][:-1]) | (same & (keys[1][1:] >= keys[1][:-1]))).all():
            return rows
        return rows[np.lexsort((keys[1], keys[0]))]

    @cached_property
    def overlapping(self) -> NDArray[np.intp]:
        """Indices of usable rows whose FROM is less than the TO of the previous row of the hole."""
        rows = self.order
        holes, starts, ends = self.holes[rows], self.starts[rows], self.ends[rows]
        again = (holes[1:] == holes[:-1]) & (starts[1:] < ends[:-1])
        return rows[np.flatnonzero(again) + 1]

    @cached_property
    def after_gaps(self) -> NDArray[np.intp]:
        """Indices of usable rows whose FROM is greater than every earlier TO of the hole."""
        rows = self.order
        holes, starts = self.holes[rows], self.starts[rows]
        depths, ranks = np.unique(self.ends[rows], return_inverse=True)
        # The hole outweighs every rank, so that a running maximum stays within the hole.
        weight = max(len(depths), 1)
        deepest = depths[np.maximum.accumulate(holes * weight + ranks) % weight]
        apart = (holes[1:] == holes[:-1]) & (starts[1:] > deepest[:-1])
        return rows[np.flatnonzero(apart) + 1]


def match_intervals(
    table: HoleTable, index: dict[str, int], ends: Floats, left_out: dict[str, str]
) -> Intervals:
    """Match the rows of a table with holes.

    Parameters
    ----------
    table : HoleTable
        The interval table.
    index : dict of str to int
        Index of each hole by its id.
    ends : (h,) float64
        Depths of the ends of holes.
    left_out : dict of str to str
        Holes whose collar cannot be used.

    Returns
    -------
    Intervals
    """
    codes, ids = table.ids
    holes = np.array([index.get(text, -1) for text in ids], np.intp)[codes]
    starts, stops = table.numbers("from"), table.numbers("to")
    matched = holes >= 0
    with np.errstate(invalid="ignore"):
        reasons = {
            "interval-no-depth": np.isnan(starts) | np.isnan(stops),
            "interval-reversed": stops <= starts,
            "interval-above": starts < 0,
            "interval-below": matched & (starts >= ends[holes]),
        }
        past = matched & (stops > ends[holes]) & (starts < ends[holes])
        far = past & (stops > _FAR * ends[holes])
    usable = matched.copy()
    findings: list[Finding] = []
    strange = ~matched & ~np.array([text in left_out for text in ids], np.bool_)[codes]
    lost = np.unique(codes[strange])
    proposals = id_proposals([ids[code] for code in lost], [*index, *left_out])
    near = dict(zip(lost.tolist(), proposals, strict=True))
    alone = np.flatnonzero(strange)
    note(findings, "interval-no-collar", [ids[code] for code in codes[alone]],
         lambda number: "" if ids[codes[alone[number]]] else table.where(int(alone[number])),
         lambda number: near[int(codes[alone[number]])])  # fmt: skip
    note(findings, "interval-left-out", [ids[code] for code in codes[~matched & ~strange]])

    def of_rows(code: str, rows: NDArray[np.intp]) -> None:
        note(findings, code, [ids[each] for each in codes[rows].tolist()],
             lambda number: table.where(int(rows[number])))  # fmt: skip

    def at_depths(code: str, rows: NDArray[np.intp]) -> None:
        note(findings, code, [ids[each] for each in codes[rows].tolist()],
             lambda number: f"at {starts[rows[number]]:g}")  # fmt: skip

    for code, faulty in reasons.items():
        faulty = faulty & usable
        usable &= ~faulty
        of_rows(code, np.flatnonzero(faulty))
    of_rows("interval-past", np.flatnonzero(past & ~far & usable))
    rows = np.flatnonzero(far & usable)
    note(findings, "interval-far-past", [ids[each] for each in codes[rows].tolist()],
         lambda number: table.where(int(rows[number])),
         lambda number: f"TO {stops[rows[number]]:g} of {ends[holes[rows[number]]]:g}")  # fmt: skip
    intervals = Intervals(table, holes, starts, stops, usable, findings)
    at_depths("interval-overlap", intervals.overlapping)
    at_depths("interval-gap", intervals.after_gaps)
    without = sorted(set(index.values()) - set(np.unique(holes).tolist()))
    names = list(index)
    note(findings, "hole-no-interval", [names[hole] for hole in without])
    return intervals
