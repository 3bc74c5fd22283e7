"""From rows of a survey to the stations of each hole: sorted, complete, with what was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.curves import Ints, bends_between
from geodomain.drillholes.directions import directions
from geodomain.drillholes.findings import Finding, finding

# A bend of nearly half a circle has no plane: its arc could go anywhere.
_MOST_BEND = np.deg2rad(179.0)


@dataclass(frozen=True, eq=False)
class SurveyRows:
    """Rows of a survey whose dips are positive down.

    Attributes
    ----------
    holes : (m,) intp
        The hole of each row, or -1 for one that has no collar.
    depths, azimuths, dips : (m,) float64
        As the file has them, but for the sign of the dips.
    """

    holes: NDArray[np.intp]
    depths: Floats
    azimuths: Floats
    dips: Floats

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether each row has its numbers; a vertical one needs no azimuth."""
        aimed = np.isfinite(self.azimuths) | (np.abs(self.dips) == 90.0)
        full: NDArray[np.bool_] = aimed & np.isfinite(self.depths) & np.isfinite(self.dips)
        return full


@dataclass(eq=False)
class Stations:
    """The stations of all the holes that have any, hole by hole, each from depth 0 down.

    Attributes
    ----------
    holes : (h,) intp
        Which of the collars have stations.
    offsets : (h + 1,) int64
        Hole holes[i] has the stations offsets[i] to offsets[i + 1].
    depths : (m,) float64
    tangents : (m, 3) float64
    last : (h,) float64
        The depth of the last station that the survey has.
    findings : list of Finding
    left_out : dict of int to str
        Collars that are not used, and why.
    """

    holes: NDArray[np.intp]
    offsets: Ints
    depths: Floats
    tangents: Floats
    last: Floats
    findings: list[Finding] = field(default_factory=list)
    left_out: dict[int, str] = field(default_factory=dict)


def make_stations(rows: SurveyRows, names: list[str], *, vertical: bool) -> Stations:
    """Sort and complete the stations of holes.

    Parameters
    ----------
    rows : SurveyRows
        In any order.
    names : list of str
        Of the collars.
    vertical : bool
        Whether a hole without a station goes straight down; it is left out otherwise.

    Returns
    -------
    Stations
    """
    found: list[Finding] = []
    left_out: dict[int, str] = {}
    rows = _usable(rows, names, found, left_out)
    rows = _sorted(rows, names, found)
    rows = _single(rows, names, found, left_out)
    counts = np.bincount(rows.holes, minlength=len(names))
    bare = np.flatnonzero(counts == 0)
    _note(found, "holes without a station", names, bare, bad=not vertical)
    if vertical:
        rows = _with_first(rows, bare, np.zeros(len(bare)), np.full(len(bare), 90.0))
    else:
        left_out |= dict.fromkeys(bare.tolist(), "it has no station")
    _note(found, "holes with one station, which are straight", names, np.flatnonzero(counts == 1))
    begins = _begins(rows.holes)
    last = rows.depths[np.append(begins[1:], len(rows.depths))[: len(begins)] - 1]
    late = begins[rows.depths[begins] > 0] if len(begins) else begins
    _note(found, "holes whose first station is below the collar", names, rows.holes[late])
    rows = _with_first(rows, rows.holes[late], rows.azimuths[late], rows.dips[late])
    return _gathered(rows, last, names, found, left_out)


def _gathered(
    rows: SurveyRows,
    last: Floats,
    names: list[str],
    found: list[Finding],
    left_out: dict[int, str],
) -> Stations:
    """Give the stations of holes that can be used, as vectors."""
    tangents = directions(rows.azimuths, rows.dips)
    begins = _begins(rows.holes)
    inner = np.ones(len(rows.holes), np.bool_)
    inner[begins] = False
    later = np.flatnonzero(inner)
    bends, _ = bends_between(tangents[later - 1], tangents[later])
    sharp = np.unique(rows.holes[later[bends > _MOST_BEND]])
    _note(found, "holes that turn back on themselves", names, sharp, bad=True)
    left_out |= {int(hole): "two of its stations point in opposite directions" for hole in sharp}
    out = np.zeros(len(names), np.bool_)
    out[list(left_out)] = True
    kept = ~out[rows.holes]
    holes = rows.holes[begins]
    counts = np.diff(np.append(begins, len(rows.holes)))[~out[holes]]
    return Stations(
        holes[~out[holes]],
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        rows.depths[kept],
        tangents[kept],
        last[~out[holes]],
        found,
        left_out,
    )


def _usable(
    rows: SurveyRows, names: list[str], found: list[Finding], left_out: dict[int, str]
) -> SurveyRows:
    """Leave out rows that say nothing, and holes with a dip that cannot be."""
    known = rows.holes >= 0
    steep = known & (np.abs(rows.dips) > 90.0)
    _note(found, "stations whose dip is beyond 90 degrees", names, rows.holes[steep], bad=True)
    left_out |= dict.fromkeys(rows.holes[steep].tolist(), "a dip is beyond 90 degrees")
    above = known & (rows.depths < 0)
    _note(found, "stations above the collar, not used", names, rows.holes[above], bad=True)
    lacking = known & ~rows.complete
    azimuths = np.where(np.abs(rows.dips) == 90.0, np.nan_to_num(rows.azimuths), rows.azimuths)
    _note(found, "stations without depth, azimuth or dip, not used", names, rows.holes[lacking],
          bad=True)  # fmt: skip
    with np.errstate(invalid="ignore"):
        wrapped = known & ~lacking & ((azimuths < 0) | (azimuths > 360))
    _note(found, "stations whose azimuth is outside 0 to 360, wrapped", names, rows.holes[wrapped])
    kept = np.flatnonzero(known & ~steep & ~above & ~lacking)
    return SurveyRows(rows.holes[kept], rows.depths[kept], azimuths[kept], rows.dips[kept])


def _sorted(rows: SurveyRows, names: list[str], found: list[Finding]) -> SurveyRows:
    """Sort by hole and depth; tell the holes whose rows were not in order."""
    order = np.argsort(rows.holes, kind="stable")
    holes, depths = rows.holes[order], rows.depths[order]
    back = np.flatnonzero((holes[1:] == holes[:-1]) & (depths[1:] < depths[:-1]))
    _note(found, "holes whose stations were not in order", names, holes[back], distinct=True)
    if back.size:
        order = np.lexsort((rows.depths, rows.holes))
    return _take(rows, order)


def _single(
    rows: SurveyRows, names: list[str], found: list[Finding], left_out: dict[int, str]
) -> SurveyRows:
    """Drop stations that are there twice; leave out holes with two directions at one depth."""
    again = (rows.holes[1:] == rows.holes[:-1]) & (rows.depths[1:] == rows.depths[:-1])
    turned = np.abs(rows.azimuths[1:] - rows.azimuths[:-1]) % 360.0
    same = (rows.dips[1:] == rows.dips[:-1]) & ((turned == 0) | (np.abs(rows.dips[1:]) == 90.0))
    twice, other = np.flatnonzero(again & same) + 1, np.flatnonzero(again & ~same) + 1
    _note(found, "stations that are there twice", names, rows.holes[twice])
    _note(found, "holes with two directions at one depth", names, rows.holes[other], bad=True,
          distinct=True)  # fmt: skip
    left_out |= dict.fromkeys(rows.holes[other].tolist(), "it has two directions at one depth")
    kept = np.ones(len(rows.holes), np.bool_)
    kept[twice] = kept[other] = False
    return _take(rows, np.flatnonzero(kept))


def _with_first(
    rows: SurveyRows, holes: NDArray[np.intp], azimuths: Floats, dips: Floats
) -> SurveyRows:
    """Put a station at depth 0 before those of some holes."""
    if not len(holes):
        return rows
    owners = np.concatenate([holes, rows.holes])
    order = np.argsort(owners, kind="stable")
    depths = np.concatenate([np.zeros(len(holes)), rows.depths])
    joined = SurveyRows(
        owners,
        depths,
        np.concatenate([azimuths, rows.azimuths]),
        np.concatenate([dips, rows.dips]),
    )
    return _take(joined, order)


def _take(rows: SurveyRows, order: NDArray[np.intp]) -> SurveyRows:
    """Return some rows in some order."""
    return SurveyRows(rows.holes[order], rows.depths[order], rows.azimuths[order], rows.dips[order])


def _begins(holes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first row of each hole, of rows that are sorted by hole."""
    return np.flatnonzero(np.diff(holes, prepend=-1) != 0)


def _note(
    found: list[Finding],
    what: str,
    names: list[str],
    holes: Iterable[int],
    *,
    bad: bool = False,
    distinct: bool = False,
) -> None:
    """Add a finding about holes, each named once."""
    rows = np.asarray(holes, np.intp)
    if not rows.size:
        return
    each = list(dict.fromkeys(rows[: 1 << 16].tolist()))
    count = len(np.unique(rows)) if distinct else len(rows)
    found += finding(what, (names[hole] for hole in each), count, bad=bad)
