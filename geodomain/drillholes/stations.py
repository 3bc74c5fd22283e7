"""From rows of a survey to the stations of each hole: sorted, complete, with findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.checks import BEND, Finding, check_angles, check_bends, note
from geodomain.drillholes.curves import Ints, bends_between
from geodomain.drillholes.directions import directions

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


def make_stations(
    rows: SurveyRows,
    names: list[str],
    *,
    vertical: bool,
    bend: tuple[float, float] = BEND,
) -> Stations:
    """Sort and complete the stations of holes.

    Parameters
    ----------
    rows : SurveyRows
        In any order.
    names : list of str
        Of the collars.
    vertical : bool
        Whether a hole without a station goes straight down; it is left out otherwise.
    bend : (float, float)
        The largest bend that is no finding, in degrees, and the span that it is within.

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
    if vertical:
        _note(found, "station-vertical", names, bare)
        rows = _with_first(rows, bare, np.zeros(len(bare)), np.full(len(bare), 90.0))
    else:
        _note(
            found, "station-none", names, [hole for hole in bare.tolist() if hole not in left_out]
        )
        left_out = dict.fromkeys(bare.tolist(), "it has no station") | left_out
    _note(found, "station-single", names, np.flatnonzero(counts == 1))
    begins = _begins(rows.holes)
    last = rows.depths[np.append(begins[1:], len(rows.depths))[: len(begins)] - 1]
    late = begins[rows.depths[begins] > 0] if len(begins) else begins
    _note(found, "station-late", names, rows.holes[late])
    rows = _with_first(rows, rows.holes[late], rows.azimuths[late], rows.dips[late])
    return _gathered(rows, last, names, found, left_out, bend)


def _gathered(
    rows: SurveyRows,
    last: Floats,
    names: list[str],
    found: list[Finding],
    left_out: dict[int, str],
    bend: tuple[float, float],
) -> Stations:
    """Return the stations of holes that can be used, as vectors."""
    tangents = directions(rows.azimuths, rows.dips)
    begins = _begins(rows.holes)
    inner = np.ones(len(rows.holes), np.bool_)
    inner[begins] = False
    later = np.flatnonzero(inner)
    bends, _ = bends_between(tangents[later - 1], tangents[later])
    sharp = np.unique(rows.holes[later[bends > _MOST_BEND]])
    _note(found, "station-turns-back", names, sharp)
    left_out |= {int(hole): "two of its stations point in opposite directions" for hole in sharp}
    out = np.zeros(len(names), np.bool_)
    out[list(left_out)] = True
    kept = ~out[rows.holes]
    holes = rows.holes[begins]
    counts = np.diff(np.append(begins, len(rows.holes)))[~out[holes]]
    holes, last = holes[~out[holes]], last[~out[holes]]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    check_bends(found, names, holes, offsets, rows.depths[kept], tangents[kept], bend)
    return Stations(
        holes,
        offsets,
        rows.depths[kept],
        tangents[kept],
        last,
        found,
        left_out,
    )


def _usable(
    rows: SurveyRows, names: list[str], found: list[Finding], left_out: dict[int, str]
) -> SurveyRows:
    """Leave out incomplete rows, and holes with a dip that cannot be."""
    known = rows.holes >= 0
    exchanged = check_angles(found, names, rows.holes, rows.depths, rows.azimuths, rows.dips)
    steep = known & (np.abs(rows.dips) > 90.0)
    left_out |= dict.fromkeys(rows.holes[steep].tolist(), "a dip is beyond 90 degrees")
    left_out |= dict.fromkeys(
        rows.holes[exchanged].tolist(), "its azimuth and dip seem to be exchanged"
    )
    above = known & (rows.depths < 0)
    _note_rows(found, "station-above", names, rows, above)
    lacking = known & ~rows.complete
    azimuths = np.where(np.abs(rows.dips) == 90.0, np.nan_to_num(rows.azimuths), rows.azimuths)
    _note_rows(found, "station-incomplete", names, rows, lacking)
    kept = np.flatnonzero(known & ~steep & ~above & ~lacking)
    return SurveyRows(rows.holes[kept], rows.depths[kept], azimuths[kept], rows.dips[kept])


def _sorted(rows: SurveyRows, names: list[str], found: list[Finding]) -> SurveyRows:
    """Sort by hole and depth; tell the holes whose rows were not in order."""
    order = np.argsort(rows.holes, kind="stable")
    holes, depths = rows.holes[order], rows.depths[order]
    back = np.flatnonzero((holes[1:] == holes[:-1]) & (depths[1:] < depths[:-1]))
    _note(found, "station-order", names, np.unique(holes[back]))
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
    _note(found, "station-twice", names, rows.holes[twice], rows.depths[twice])
    _note(found, "station-differs", names, np.unique(rows.holes[other]))
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
    code: str,
    names: list[str],
    holes: Iterable[int],
    depths: Floats | None = None,
) -> None:
    """Add a finding about holes, or about stations at depths of them."""
    where = [] if depths is None else [f"at {depth:g}" for depth in depths.tolist()]
    note(found, code, [names[hole] for hole in holes], where)


def _note_rows(
    found: list[Finding], code: str, names: list[str], rows: SurveyRows, which: NDArray[np.bool_]
) -> None:
    """Add a finding about stations, with the numbers that they lack."""
    places = np.flatnonzero(which)

    def lack(number: int) -> str:
        row = places[number]
        columns = {"depth": rows.depths, "azimuth": rows.azimuths, "dip": rows.dips}
        lacking = [name for name, values in columns.items() if np.isnan(values[row])]
        return f"no {' and no '.join(lacking)}" if lacking else ""

    def depth(number: int) -> str:
        at = rows.depths[places[number]]
        return "" if np.isnan(at) else f"at {at:g}"

    note(found, code, [names[hole] for hole in rows.holes[places].tolist()], depth, lack)
