"""From rows of a collar table to one collar for each hole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.checks import Finding, note
from geodomain.drillholes.tables import HoleTable


@dataclass(frozen=True, eq=False)
class Collars:
    """One collar for each hole.

    Attributes
    ----------
    names : list of str
        In the order of the table.
    points : (h, 3) float64
    ends : (h,) float64
        NaN where the table does not say it.
    azimuths, dips : (h,) float64
        NaN where the table does not say them; dips as the table has them.
    findings : list of Finding
    left_out : dict of str to str
        Holes that are not used, and why.
    """

    names: list[str]
    points: Floats
    ends: Floats
    azimuths: Floats
    dips: Floats
    findings: list[Finding]
    left_out: dict[str, str]


def read_collars(table: HoleTable) -> Collars:
    """Return the collars of a table; those that contradict each other are left out."""
    codes, ids = table.ids
    points = np.stack([table.numbers(axis) for axis in "xyz"], axis=1)
    named = np.array([bool(text) for text in ids], np.bool_)[codes]
    here = np.isfinite(points).all(axis=1)
    found: list[Finding] = []
    bare = np.flatnonzero(~named)
    note(found, "collar-no-hole", [""] * len(bare), lambda number: table.where(int(bare[number])))
    lost = named & ~here
    note(found, "collar-no-coordinates", [ids[code] for code in codes[lost]])
    left_out = dict.fromkeys((ids[code] for code in codes[lost]), "its collar has no coordinates")
    endless = table.infinite("end") | table.infinite("azimuth") | table.infinite("dip")
    note(found, "collar-infinite", [ids[code] for code in codes[endless]])
    rows = np.flatnonzero(named & here)
    _, first = np.unique(codes[rows], return_index=True)
    kept = rows[np.sort(first)]
    again = np.setdiff1d(rows, kept)
    if again.size:
        of_code = np.full(len(ids), -1)
        of_code[codes[kept]] = kept
        other = _differ(table, again, of_code[codes[again]])
        note(found, "collar-twice", [ids[code] for code in codes[again[~other]]])
        both = list(dict.fromkeys(ids[code] for code in codes[again[other]]))
        note(found, "collar-differs", both)
        left_out |= dict.fromkeys(both, "it has two different collars")
    names = [ids[code] for code in codes[kept]]
    use = np.array([name not in left_out for name in names], np.bool_)
    kept = kept[use]
    names = [name for name, used in zip(names, use, strict=True) if used]
    return Collars(
        names,
        points[kept],
        _numbers(table, "end")[kept],
        _numbers(table, "azimuth")[kept],
        _numbers(table, "dip")[kept],
        found,
        left_out,
    )


def _numbers(table: HoleTable, role: str) -> Floats:
    """Return the numbers of a role, NaN in a table without it."""
    return table.numbers(role) if role in table.roles else np.full(len(table), np.nan)


def _differ(
    table: HoleTable, rows: NDArray[np.intp], others: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Tell the rows that place, end or aim a hole differently from others of it."""
    values = {role: _numbers(table, role) for role in ("x", "y", "z", "end", "azimuth", "dip")}
    vertical = np.abs(values["dip"]) == 90.0
    values["azimuth"] = np.where(vertical, 0.0, values["azimuth"] % 360.0)
    differ = np.zeros(len(rows), np.bool_)
    for one in values.values():
        differ |= (one[rows] != one[others]) & ~(np.isnan(one[rows]) & np.isnan(one[others]))
    return differ
