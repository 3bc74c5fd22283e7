"""Sort and complete the stations of a survey, and check their angles and bends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.drillholes.curves import bends_between, directions
from geodomain.drillholes.findings import Finding, note
from geodomain.tables.numbers import MARKS

# The plane of the arc is undefined for a bend of nearly 180 degrees.
_MOST_BEND = np.deg2rad(179.0)
# In radians: a right angle, rounded up, and the least dip of a steep hole; fewest such holes.
_QUARTER, _STEEP_ENOUGH, _ENOUGH = 1.571, 0.349, 5
# All of this many angles are multiples of a tenth of a degree by chance in fewer than 1 of 10^9
# surveys.
_ENOUGH_FOR_TENTHS = 10


@dataclass(frozen=True, eq=False)
class SurveyRows:
    """Rows of a survey, with dips converted to positive down.

    Attributes
    ----------
    holes : (m,) intp
        The hole of each row, or -1 if the hole has no collar.
    depths, azimuths, dips : (m,) float64
        Depth and direction of each station, as in the file except for the sign of the dips.
    places : (m,) intp
        The row of each station in the survey, -1 for stations from other sources.
    down : int, or (m,) intp
        1 if positive dips point down in the file, otherwise -1; for all stations, or for each.
    """

    holes: NDArray[np.intp]
    depths: Floats
    azimuths: Floats
    dips: Floats
    places: NDArray[np.intp]
    down: int | NDArray[np.intp] = 1

    @property
    def complete(self) -> NDArray[np.bool_]:
        """The mask of rows with all numbers; a vertical station needs no azimuth."""
        aimed = np.isfinite(self.azimuths) | (np.abs(self.dips) == 90.0)
        full: NDArray[np.bool_] = aimed & np.isfinite(self.depths) & np.isfinite(self.dips)
        return full


@dataclass(eq=False)
class Stations:
    """The stations of all holes, hole by hole, from depth 0 down.

    Attributes
    ----------
    holes : (h,) intp
        Indices of the collars that have stations.
    offsets : (h + 1,) int64
        Hole holes[i] has the stations offsets[i] to offsets[i + 1].
    depths : (m,) float64
        Depth of each station.
    tangents : (m, 3) float64
        Direction of each station, as a unit vector.
    last : (h,) float64
        The depth of the last station of each hole.
    places : (m,) intp
        The row of each station in the survey, -1 for stations from other sources.
    findings : list of Finding
        Findings about the survey.
    left_out : dict of int to str
        Indices of collars that are not used, and the code of the finding about them.
    """

    holes: NDArray[np.intp]
    offsets: Ints
    depths: Floats
    tangents: Floats
    last: Floats
    places: NDArray[np.intp]
    findings: list[Finding] = field(default_factory=list)
    left_out: dict[int, str] = field(default_factory=dict)


def make_stations(
    rows: SurveyRows,
    names: list[str],
    *,
    vertical: bool,
    bend: tuple[float, float],
) -> Stations:
    """Sort and complete the stations of holes.

    Parameters
    ----------
    rows : SurveyRows
        The rows, in any order.
    names : list of str
        Ids of the collars.
    vertical : bool
        Whether a hole without a station is vertical; otherwise it is left out.
    bend : (float, float)
        The largest bend that is not a finding: an angle in degrees, within a length of hole.

    Returns
    -------
    Stations
    """
    findings: list[Finding] = []
    left_out: dict[int, str] = {}
    rows = _usable(rows, names, findings, left_out)
    rows = _sorted(rows, names, findings)
    rows = _single(rows, names, findings, left_out)
    counts = np.bincount(rows.holes, minlength=len(names))
    bare = np.flatnonzero(counts == 0)
    if vertical:
        _note(findings, "station-vertical", names, bare)
        rows = _with_first(rows, bare, np.zeros(len(bare)), np.full(len(bare), 90.0))
    else:
        _note(
            findings,
            "station-none",
            names,
            [hole for hole in bare.tolist() if hole not in left_out],
        )
        left_out = dict.fromkeys(bare.tolist(), "station-none") | left_out
    begins = _begins(rows.holes)
    single = begins[counts[rows.holes[begins]] == 1]
    _note(findings, "station-single", names, rows.holes[single], rows=rows.places[single])
    last = rows.depths[np.append(begins[1:], len(rows.depths))[: len(begins)] - 1]
    late = begins[rows.depths[begins] > 0] if len(begins) else begins
    firsts = rows.depths[late]
    _note(findings, "station-late", names, rows.holes[late], rows=rows.places[late],
          detail=lambda number: f"the first station is at {firsts[number]:.10g}")  # fmt: skip
    rows = _with_first(rows, rows.holes[late], rows.azimuths[late], rows.dips[late])
    return _gathered(rows, last, names, findings, left_out, bend)


def _gathered(
    rows: SurveyRows,
    last: Floats,
    names: list[str],
    findings: list[Finding],
    left_out: dict[int, str],
    bend: tuple[float, float],
) -> Stations:
    """Return the stations of usable holes, with directions as unit vectors."""
    tangents = directions(rows.azimuths, rows.dips)
    begins = _begins(rows.holes)
    inner = np.ones(len(rows.holes), np.bool_)
    inner[begins] = False
    later = np.flatnonzero(inner)
    bends, _ = bends_between(tangents[later - 1], tangents[later])
    back = later[bends > _MOST_BEND]
    sharp, first = np.unique(rows.holes[back], return_index=True)
    _note(findings, "station-turns-back", names, sharp, rows=rows.places[back[first]],
          others=rows.places[back[first] - 1])  # fmt: skip
    left_out |= dict.fromkeys(sharp.tolist(), "station-turns-back")
    out = np.zeros(len(names), np.bool_)
    out[list(left_out)] = True
    usable = ~out[rows.holes]
    holes = rows.holes[begins]
    counts = np.diff(np.append(begins, len(rows.holes)))[~out[holes]]
    holes, last = holes[~out[holes]], last[~out[holes]]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = rows.places[usable]
    check_bends(
        findings, names, holes, offsets, rows.depths[usable], tangents[usable], bend, places
    )
    return Stations(
        holes,
        offsets,
        rows.depths[usable],
        tangents[usable],
        last,
        places,
        findings,
        left_out,
    )


def _usable(
    rows: SurveyRows, names: list[str], findings: list[Finding], left_out: dict[int, str]
) -> SurveyRows:
    """Leave out incomplete rows, and holes with impossible dips."""
    of_hole = rows.holes >= 0
    exchanged = check_angles(
        findings, names, rows.holes, rows.depths, rows.azimuths, rows.dips, rows.places, rows.down
    )
    steep = of_hole & (np.abs(rows.dips) > 90.0)
    left_out |= dict.fromkeys(rows.holes[steep].tolist(), "dip-beyond")
    left_out |= dict.fromkeys(rows.holes[exchanged].tolist(), "angles-exchanged")
    above = of_hole & (rows.depths < 0)
    _note_rows(findings, "station-above", names, rows, above)
    lacking = of_hole & ~rows.complete
    azimuths = np.where(np.abs(rows.dips) == 90.0, np.nan_to_num(rows.azimuths), rows.azimuths)
    _note_rows(findings, "station-incomplete", names, rows, lacking)
    usable = np.flatnonzero(of_hole & ~steep & ~above & ~lacking)
    return SurveyRows(
        rows.holes[usable],
        rows.depths[usable],
        azimuths[usable],
        rows.dips[usable],
        rows.places[usable],
    )


def _sorted(rows: SurveyRows, names: list[str], findings: list[Finding]) -> SurveyRows:
    """Sort rows by hole and depth; add a finding for holes that were not in order."""
    order = np.argsort(rows.holes, kind="stable")
    holes, depths = rows.holes[order], rows.depths[order]
    back = np.flatnonzero((holes[1:] == holes[:-1]) & (depths[1:] < depths[:-1]))
    mixed, first = np.unique(holes[back], return_index=True)
    places = rows.places[order]
    _note(findings, "station-order", names, mixed, rows=places[back[first] + 1],
          others=places[back[first]])  # fmt: skip
    if back.size:
        order = np.lexsort((rows.depths, rows.holes))
    return _take(rows, order)


def _single(
    rows: SurveyRows, names: list[str], findings: list[Finding], left_out: dict[int, str]
) -> SurveyRows:
    """Drop repeated stations; leave out holes with two directions at the same depth."""
    again = (rows.holes[1:] == rows.holes[:-1]) & (rows.depths[1:] == rows.depths[:-1])
    turned = np.abs(rows.azimuths[1:] - rows.azimuths[:-1]) % 360.0
    same = (rows.dips[1:] == rows.dips[:-1]) & ((turned == 0) | (np.abs(rows.dips[1:]) == 90.0))
    twice, other = np.flatnonzero(again & same) + 1, np.flatnonzero(again & ~same) + 1
    _note(findings, "station-twice", names, rows.holes[twice], rows.depths[twice],
          rows=rows.places[twice], others=rows.places[twice - 1])  # fmt: skip
    apart, first = np.unique(rows.holes[other], return_index=True)
    _note(findings, "station-differs", names, apart, rows=rows.places[other[first]],
          others=rows.places[other[first] - 1])  # fmt: skip
    left_out |= dict.fromkeys(rows.holes[other].tolist(), "station-differs")
    mask = np.ones(len(rows.holes), np.bool_)
    mask[twice] = mask[other] = False
    return _take(rows, np.flatnonzero(mask))


def _with_first(
    rows: SurveyRows, holes: NDArray[np.intp], azimuths: Floats, dips: Floats
) -> SurveyRows:
    """Add a station at depth 0 before the other stations of some holes."""
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
        np.concatenate([np.full(len(holes), -1), rows.places]),
    )
    return _take(joined, order)


def _take(rows: SurveyRows, order: NDArray[np.intp]) -> SurveyRows:
    """Return the rows at some indices, in this order."""
    return SurveyRows(
        rows.holes[order],
        rows.depths[order],
        rows.azimuths[order],
        rows.dips[order],
        rows.places[order],
    )


def _begins(holes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the index of the first row of each hole; rows are sorted by hole."""
    return np.flatnonzero(np.diff(holes, prepend=-1) != 0)


def _note(
    findings: list[Finding],
    code: str,
    names: list[str],
    holes: Iterable[int],
    depths: Floats | None = None,
    *,
    rows: NDArray[np.intp] | None = None,
    others: NDArray[np.intp] | None = None,
    detail: Callable[[int], str] | None = None,
) -> None:
    """Add a finding about holes, or about stations of holes if their depths are given."""
    where = [] if depths is None else [f"at {depth:g}" for depth in depths.tolist()]
    note(findings, code, [names[hole] for hole in holes], where, table="survey", rows=rows,
         others=others, detail=detail)  # fmt: skip


def _note_rows(
    findings: list[Finding], code: str, names: list[str], rows: SurveyRows, which: NDArray[np.bool_]
) -> None:
    """Add a finding about stations; the text of each station says which numbers it lacks."""
    places = np.flatnonzero(which)

    def lack(number: int) -> str:
        row = places[number]
        columns = {"depth": rows.depths, "azimuth": rows.azimuths, "dip": rows.dips}
        lacking = [name for name, values in columns.items() if np.isnan(values[row])]
        return f"no {' and no '.join(lacking)}" if lacking else ""

    def depth(number: int) -> str:
        at = rows.depths[places[number]]
        return "" if np.isnan(at) else f"at {at:g}"

    note(findings, code, [names[hole] for hole in rows.holes[places].tolist()], depth, lack,
         table="survey", rows=rows.places[places])  # fmt: skip


# --- Checks of angles and bends.


def check_angles(
    findings: list[Finding],
    names: Sequence[str],
    holes: NDArray[np.intp],
    depths: Floats,
    azimuths: Floats,
    dips: Floats,
    places: NDArray[np.intp],
    down: int | NDArray[np.intp] = 1,
) -> Bools:
    """Find azimuths and dips that are missing-value marks, in radians, exchanged, or out of range.

    Parameters
    ----------
    findings : list of Finding
        List to which findings are added.
    names : sequence of str
        Ids of the holes.
    holes : (m,) intp
        Index of the hole of each station, -1 if the hole has no collar.
    depths, azimuths, dips : (m,) float64
        Depth and direction of each station, in degrees; dips positive down.
    places : (m,) intp
        The row of each station in the survey.
    down : int, or (m,) intp
        1 if positive dips point down in the file, otherwise -1. Findings show dips as in the file.

    Returns
    -------
    (m,) bool
        The mask of stations whose azimuth and dip seem to be exchanged.
    """

    def add(code: str, which: Bools, values: Floats) -> None:
        rows = np.flatnonzero(which)
        note(findings, code, (names[holes[row]] for row in rows),
             _depth_of(depths, rows), lambda number: f"{values[rows[number]]:.10g}",
             table="survey", rows=places[rows])  # fmt: skip

    of_hole, written = holes >= 0, down * dips
    with np.errstate(invalid="ignore"):
        aimed = of_hole & (np.abs(dips) != 90.0) & np.isfinite(azimuths)
        exchanged = of_hole & (np.abs(dips) > 90) & (np.abs(dips) <= 360) & (np.abs(azimuths) <= 90)
        exchanged &= azimuths != 0
        marks = aimed & np.isin(azimuths, list(MARKS))
        negative = aimed & (azimuths < 0) & ~marks
        if negative.any():  # azimuths are from -180 to 180, so -99 is an azimuth
            marks &= azimuths < -360
        beyond = aimed & ~marks & ~exchanged & (np.abs(azimuths) > 360)
        wrapped = aimed & ~marks & ~exchanged & (azimuths < 0) & (azimuths >= -360)
        steep = of_hole & (np.abs(dips) > 90) & ~exchanged
    rows = np.flatnonzero(exchanged)
    note(
        findings,
        "angles-exchanged",
        (names[holes[row]] for row in rows),
        _depth_of(depths, rows),
        lambda number: f"azimuth {azimuths[rows[number]]:g}, dip {written[rows[number]]:g}",
        table="survey",
        rows=places[rows],
    )
    add("dip-beyond", steep, written)
    add("azimuth-mark", marks, azimuths)
    add("azimuth-beyond", beyond, azimuths)
    add("azimuth-wrapped", wrapped, azimuths)
    usable = aimed & ~marks & ~exchanged & ~steep & np.isfinite(dips)
    if _are_radians(azimuths[usable], dips[usable]):
        add("angles-radians", usable, azimuths)
    else:
        stated = of_hole & np.isfinite(dips) & (dips != 0)
        if _dips_are_radians(dips[stated], len(np.unique(holes[stated]))):
            add("angles-radians", stated, dips)
    return exchanged


def _depth_of(depths: Floats, rows: NDArray[np.intp]) -> Callable[[int], str]:
    """Return a function that returns the depth of a case as text, from the index of the case."""
    return lambda number: "" if np.isnan(depths[rows[number]]) else f"at {depths[rows[number]]:g}"


def _are_radians(azimuths: Floats, dips: Floats) -> bool:
    """Return whether angles seem to be radians.

    All azimuths must be from 0 to 2 pi. Degrees can be so small too, if all holes go north.
    Therefore one of three other conditions must be met. (1) Azimuths, converted to degrees, are
    round numbers (`_round_degrees`). (2) Azimuths spread by more than pi and are not all whole
    numbers. (3) Dips are from -pi/2 to pi/2 and are not all whole numbers.
    """
    if len(azimuths) < 2 or (azimuths < 0).any() or (azimuths > 6.2832).any():
        return False
    low = bool((np.abs(dips) <= 1.5708).all()) and bool((dips % 1 != 0).any())
    whole = bool((azimuths % 1 == 0).all())
    if not whole and _round_degrees(np.unique(azimuths)):
        return True
    return (low and bool((azimuths > 0).any())) or (
        not whole and len(np.unique(azimuths)) >= 3 and float(np.ptp(azimuths)) > math.pi
    )


def _dips_are_radians(dips: Floats, holes: int) -> bool:
    """Return whether dips seem to be radians.

    All dips must be from -pi/2 to pi/2. Dips of level holes in degrees can be so small too.
    Therefore one of two other conditions must be met. (1) Dips, converted to degrees, are round
    numbers, and the largest is at least 20. (2) There are at least 5 holes, and all dips have the
    same sign and are at least 20 degrees.
    """
    if holes < 2 or (np.abs(dips) > _QUARTER).any() or (dips * 10 % 1 == 0).all():
        return False
    if float(np.abs(dips).max()) >= _STEEP_ENOUGH and _round_degrees(np.unique(np.abs(dips))):
        return True
    one_sign = bool((dips > 0).all() or (dips < 0).all())
    return holes >= _ENOUGH and one_sign and float(np.abs(dips).min()) >= _STEEP_ENOUGH


def _round_degrees(azimuths: Floats) -> bool:
    """Return whether distinct angles in radians, converted to degrees, are round numbers.

    The tolerance is the rounding of the radians. Angles with only two or three decimals are too
    coarse for a test of whole degrees. Therefore they must be multiples of 5 degrees. Ten or more
    angles with at least four decimals may be multiples of a tenth of a degree.
    """
    decimals = next((d for d in range(6) if (np.round(azimuths, d) == azimuths).all()), 6)
    if decimals < 2:
        return False
    step = 5.0 if decimals < 4 else 1.0 if len(azimuths) < _ENOUGH_FOR_TENTHS else 0.1
    slack = max(math.degrees(0.5 * 0.1**decimals), 0.005 if len(azimuths) > 1 else 0.0005)
    angles = np.degrees(azimuths) / step
    return bool((np.abs(angles - np.round(angles)) * step <= 1.01 * slack).all())


def check_exchanged(azimuths: Floats, dips: Floats) -> bool:
    """Return whether the columns of azimuths and dips seem to be exchanged.

    They seem to be exchanged if at least a quarter of the dips are beyond 90 degrees, no dip is
    beyond 360 degrees, no azimuth is beyond 90 degrees, and not all azimuths are 0.
    """
    both = np.isfinite(azimuths) & np.isfinite(dips)
    azimuths, dips = azimuths[both], dips[both]
    beyond = np.abs(dips) > 90
    return (
        bool(beyond.any())
        and 4 * int(beyond.sum()) >= len(dips)
        and bool((np.abs(azimuths) <= 90).all())
        and bool((azimuths != 0).any())
        and bool((np.abs(dips) <= 360).all())
    )


def check_bends(
    findings: list[Finding],
    names: Sequence[str],
    holes: NDArray[np.intp],
    offsets: Ints,
    depths: Floats,
    tangents: Floats,
    bend: tuple[float, float],
    places: NDArray[np.intp],
) -> None:
    """Find holes that turn by more than an angle within a length of hole, called the span.

    The directions of any two stations at most one span apart are compared. If these stations are
    closer than a span, the angle between them is not scaled up to the span, because correct surveys
    may turn by 40 degrees in 6 units. If two consecutive stations are more than one span apart,
    their distance is rounded up to whole spans, and the hole may turn by the angle in each span.

    Parameters
    ----------
    findings : list of Finding
        List to which the finding is added.
    names : sequence of str
        Ids of the collars.
    holes : (h,) intp
        Indices, in `names`, of the holes with stations.
    offsets : (h + 1,) int64
        Hole holes[i] has the stations offsets[i] to offsets[i + 1].
    depths : (m,) float64
        Depth of each station.
    tangents : (m, 3) float64
        Direction of each station, as a unit vector.
    bend : (angle, span)
        Degrees, and a length in the unit of the file.
    places : (m,) intp
        The row of each station in the survey.
    """
    angle, span = bend
    owners = np.repeat(np.arange(len(holes)), np.diff(offsets))
    worst: dict[int, tuple[float, int, int]] = {}
    for lag in _lags(owners, depths, span):
        low = np.arange(len(depths) - lag)
        same = owners[low] == owners[low + lag]
        apart = depths[low + lag] - depths[low]
        low = low[same & ((apart <= span) | (lag == 1))]
        bends = np.degrees(bends_between(tangents[low], tangents[low + lag])[0]).round(9)
        apart = depths[low + lag] - depths[low]
        excess = bends > angle * np.maximum(np.ceil(apart / span), 1.0)
        for row, turn in zip(low[excess].tolist(), bends[excess].tolist(), strict=True):
            hole = int(owners[row])
            if turn > worst.get(hole, (0.0, 0, 0))[0]:
                worst[hole] = (turn, row, row + lag)
    sharp = sorted(worst)
    first, second = (np.array([worst[hole][at] for hole in sharp], np.intp) for at in (1, 2))
    note(findings, "hole-bend", (names[holes[place]] for place in sharp),
         value=[f"{turn:.1f} degrees from {depths[begin]:g} to {depths[end]:g}"
                for turn, begin, end in (worst[place] for place in sharp)],
         table="survey", rows=places[second], others=places[first])  # fmt: skip


def _lags(owners: Ints, depths: Floats, span: float) -> Iterator[int]:
    """Yield 1, 2, ... up to 64; stop when no two stations so many rows apart are within a span."""
    for lag in range(1, min(65, len(depths))):
        near = (owners[lag:] == owners[:-lag]) & (depths[lag:] - depths[:-lag] <= span)
        if lag > 1 and not near.any():
            return
        yield lag


def check_signs(findings: list[Finding], names: Sequence[str], rising: Sequence[str]) -> None:
    """Add a finding for holes that go up if nearly all other holes go down.

    If more than one hole in fifty goes up, the signs are taken as correct, because underground
    holes are often drilled upwards in fans.
    """
    if len(names) > 1 and 0 < len(rising) <= max(1, len(names) // 50):
        note(findings, "dip-sign", rising)
