"""The rows of an interval table against the holes that they are of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.drillholes.checks import Finding, id_proposals, note
from geodomain.drillholes.tables import HoleTable


@dataclass(frozen=True, eq=False)
class Intervals:
    """The rows of a table: of which hole each is, from where to where, and whether it can be used.

    Attributes
    ----------
    table : HoleTable
    holes : (n,) intp
        The hole of each row, -1 for one that is not there.
    starts, ends : (n,) float64
        FROM and TO, NaN where missing.
    usable : (n,) bool
        Rows of a hole that is there, with 0 <= FROM < TO, that begin above its end.
    findings : list of Finding
        What is wrong with the others, and what else is to be seen.
    """

    table: HoleTable
    holes: NDArray[np.intp]
    starts: Floats
    ends: Floats
    usable: Bools
    findings: list[Finding]

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The usable rows, by hole, then by FROM."""
        rows = np.flatnonzero(self.usable)
        keys = self.holes[rows], self.starts[rows]
        same = keys[0][1:] == keys[0][:-1]
        if ((keys[0][1:] > keys[0][:-1]) | (same & (keys[1][1:] >= keys[1][:-1]))).all():
            return rows
        return rows[np.lexsort((keys[1], keys[0]))]

    @cached_property
    def overlapping(self) -> NDArray[np.intp]:
        """The usable rows that begin above the end of the one before in their hole, by FROM."""
        rows = self.order
        holes, starts, ends = self.holes[rows], self.starts[rows], self.ends[rows]
        again = (holes[1:] == holes[:-1]) & (starts[1:] < ends[:-1])
        return rows[np.flatnonzero(again) + 1]

    @cached_property
    def after_gaps(self) -> NDArray[np.intp]:
        """The usable rows that begin below all that begin before them in their hole."""
        rows = self.order
        holes, starts = self.holes[rows], self.starts[rows]
        depths, ranks = np.unique(self.ends[rows], return_inverse=True)
        # The hole weighs more than any rank: the largest so far is of the same hole, and exact.
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
        Of intervals.
    index : dict of str to int
        The holes.
    ends : (h,) float64
        Where they end.
    left_out : dict of str to str
        Holes with a collar that cannot be used.

    Returns
    -------
    Intervals
    """
    codes, ids = table.ids
    holes = np.array([index.get(text, -1) for text in ids], np.intp)[codes]
    starts, stops = table.numbers("from"), table.numbers("to")
    known = holes >= 0
    with np.errstate(invalid="ignore"):
        reasons = {
            "interval-no-depth": np.isnan(starts) | np.isnan(stops),
            "interval-reversed": stops <= starts,
            "interval-above": starts < 0,
            "interval-below": known & (starts >= ends[holes]),
        }
        past = known & (stops > ends[holes]) & (starts < ends[holes])
    usable = known.copy()
    found: list[Finding] = []
    strange = ~known & ~np.array([text in left_out for text in ids], np.bool_)[codes]
    lost = np.unique(codes[strange])
    proposals = id_proposals([ids[code] for code in lost], [*index, *left_out])
    near = dict(zip(lost.tolist(), proposals, strict=True))
    alone = np.flatnonzero(strange)
    note(found, "interval-no-collar", [ids[code] for code in codes[alone]],
         lambda number: "" if ids[codes[alone[number]]] else table.where(int(alone[number])),
         lambda number: near[int(codes[alone[number]])])  # fmt: skip
    note(found, "interval-left-out", [ids[code] for code in codes[~known & ~strange]])

    def of_rows(code: str, rows: NDArray[np.intp]) -> None:
        note(found, code, [ids[each] for each in codes[rows].tolist()],
             lambda number: table.where(int(rows[number])))  # fmt: skip

    def at_depths(code: str, rows: NDArray[np.intp]) -> None:
        note(found, code, [ids[each] for each in codes[rows].tolist()],
             lambda number: f"at {starts[rows[number]]:g}")  # fmt: skip

    for code, which in reasons.items():
        which = which & usable
        usable &= ~which
        of_rows(code, np.flatnonzero(which))
    of_rows("interval-past", np.flatnonzero(past & usable))
    made = Intervals(table, holes, starts, stops, usable, found)
    at_depths("interval-overlap", made.overlapping)
    at_depths("interval-gap", made.after_gaps)
    bare = sorted(set(index.values()) - set(np.unique(holes).tolist()))
    names = list(index)
    note(found, "hole-no-interval", [names[hole] for hole in bare])
    return made
