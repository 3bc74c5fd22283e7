"""Match the rows of an interval table with their holes, and check their depths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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
    unused : dict of str to (k,) intp
        Rows that are not usable, by the code of the finding about them.
    """

    table: HoleTable
    holes: NDArray[np.intp]
    starts: Floats
    ends: Floats
    usable: Bools
    findings: list[Finding]
    unused: dict[str, NDArray[np.intp]] = field(default_factory=dict)

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Indices of the usable rows, sorted by hole and then by FROM."""
        rows = np.flatnonzero(self.usable)
        keys = self.holes[rows], self.starts[rows]
        same = keys[0][1:] == keys[0][:-1]
        if ((keys[0][1:] > keys[0][:-1]) | (same & (keys[1][1:] >= keys[1][:-1]))).all():
            return rows
        return rows[np.lexsort((keys[1], keys[0]))]

    @property
    def overlapping(self) -> NDArray[np.intp]:
        """Indices of usable rows whose FROM is less than the TO of the previous row of the hole."""
        return self.order[self._overlaps + 1]

    @property
    def overlapped(self) -> NDArray[np.intp]:
        """Indices of the rows before the rows `overlapping`."""
        return self.order[self._overlaps]

    @cached_property
    def _overlaps(self) -> NDArray[np.intp]:
        rows = self.order
        holes, starts, ends = self.holes[rows], self.starts[rows], self.ends[rows]
        return np.flatnonzero((holes[1:] == holes[:-1]) & (starts[1:] < ends[:-1]))

    @property
    def after_gaps(self) -> NDArray[np.intp]:
        """Indices of usable rows whose FROM is greater than every earlier TO of the hole."""
        return self._gaps[0]

    @property
    def gap_starts(self) -> Floats:
        """The depth at which each gap before the rows `after_gaps` begins."""
        return self._gaps[1]

    @cached_property
    def _gaps(self) -> tuple[NDArray[np.intp], Floats]:
        rows = self.order
        holes, starts = self.holes[rows], self.starts[rows]
        depths, ranks = np.unique(self.ends[rows], return_inverse=True)
        # The hole outweighs every rank, so that a running maximum stays within the hole.
        weight = max(len(depths), 1)
        deepest = depths[np.maximum.accumulate(holes * weight + ranks) % weight]
        apart = np.flatnonzero((holes[1:] == holes[:-1]) & (starts[1:] > deepest[:-1]))
        return rows[apart + 1], deepest[apart]


def match_intervals(
    table: HoleTable,
    index: dict[str, int],
    ends: Floats,
    left_out: Mapping[str, str],
    key: str = "intervals",
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
    key : str
        Name of the table in findings.

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
         lambda number: near[int(codes[alone[number]])], table=key, rows=alone)  # fmt: skip
    out = np.flatnonzero(~matched & ~strange)
    note(findings, "interval-left-out", [ids[code] for code in codes[out]], table=key, rows=out)
    unused = {"interval-no-collar": alone, "interval-left-out": out}

    def of_rows(
        code: str, rows: NDArray[np.intp], detail: Callable[[int], str] | None = None
    ) -> None:
        note(findings, code, [ids[each] for each in codes[rows].tolist()],
             lambda number: table.where(int(rows[number])),
             table=key, rows=rows, detail=detail)  # fmt: skip

    def at_depths(
        code: str, rows: NDArray[np.intp], others: NDArray[np.intp] | None, lengths: Floats
    ) -> None:
        note(findings, code, [ids[each] for each in codes[rows].tolist()],
             lambda number: f"at {starts[rows[number]]:g}", table=key, rows=rows, others=others,
             detail=lambda number: f"{lengths[number]:.10g} long")  # fmt: skip

    for code, faulty in reasons.items():
        faulty = faulty & usable
        usable &= ~faulty
        unused[code] = rows = np.flatnonzero(faulty)
        of_rows(code, rows, _details(code, rows, starts, stops, ends, holes))
    rows = np.flatnonzero(past & ~far & usable)
    of_rows("interval-past", rows, _details("interval-past", rows, starts, stops, ends, holes))
    rows = np.flatnonzero(far & usable)
    note(findings, "interval-far-past", [ids[each] for each in codes[rows].tolist()],
         lambda number: table.where(int(rows[number])),
         lambda number: f"TO {stops[rows[number]]:g} of {ends[holes[rows[number]]]:g}",
         table=key, rows=rows)  # fmt: skip
    intervals = Intervals(table, holes, starts, stops, usable, findings, unused)
    later, before = intervals.overlapping, intervals.overlapped
    at_depths("interval-overlap", later, before,
              np.minimum(stops[before], stops[later]) - starts[later])  # fmt: skip
    gaps = intervals.after_gaps
    at_depths("interval-gap", gaps, None, starts[gaps] - intervals.gap_starts)
    without = sorted(set(index.values()) - set(np.unique(holes).tolist()))
    names = list(index)
    note(findings, "hole-no-interval", [names[hole] for hole in without],
         table=key, detail=lambda _: f"none in {table.name}")  # fmt: skip
    return intervals


def _details(
    code: str,
    rows: NDArray[np.intp],
    starts: Floats,
    stops: Floats,
    ends: Floats,
    holes: NDArray[np.intp],
) -> Callable[[int], str] | None:
    """Return a function that describes a row in the table of findings, from its index in `rows`."""
    if code == "interval-reversed":
        return lambda number: (
            "no length" if stops[rows[number]] == starts[rows[number]] else "TO is less than FROM"
        )
    if code in ("interval-below", "interval-past"):
        return lambda number: f"the hole ends at {ends[holes[rows[number]]]:.10g}"
    return None
