"""The report on tables of holes, as values, JSON and a text table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.drillholes.checks import (
    BEND,
    MARKS,
    Finding,
    Ground,
    accepted,
    check_angles,
    check_bends,
    check_exchanged,
    check_signs,
    check_topography,
    id_proposals,
    note,
)
from geodomain.drillholes.curves import (
    Curves,
    DipDown,
    HolePaths,
    Method,
    bends_between,
    directions,
    make_curves,
    sign_of_down,
)
from geodomain.drillholes.intervals import match_intervals
from geodomain.drillholes.tables import HoleTable, Reading, TableLike, read_table
from geodomain.errors import TableError, counted, in_lines
from geodomain.html import html_table


class TableFacts(TypedDict):
    """What is known of a table: its name, its rows, and its columns by role."""

    name: str
    rows: int
    columns: dict[str, str]


@dataclass(frozen=True, repr=False)
class HoleReport:
    """What was understood of collar, survey and interval tables; `str` lays it out to be read.

    Attributes
    ----------
    tables : dict of str to dict
        Of each table its name, its number of rows, and its columns by role.
    holes : int
        How many can be used.
    left_out : dict of str to str
        The others, and why.
    stations : int
        How many are used, those that were added at collars included.
    method : str
        What is between stations.
    down : str
        "positive" or "negative": the dips that point down.
    down_reason : str
        Who says so.
    length : float
        Of all the holes, in the unit of the file.
    bounds : list or None
        The box of the collars and the ends of holes, lowest corner first.
    ends : dict of str to int
        How many holes have their end from the collar table, from the intervals, from the survey.
    largest_bend : float
        Between two stations, in degrees.
    upward : tuple of str
        Holes with a station that points up.
    level : tuple of str
        Other holes with a station that is level.
    findings : tuple of Finding
        All else, by table.
    """

    tables: dict[str, TableFacts]
    holes: int
    left_out: dict[str, str]
    stations: int
    method: str
    down: str
    down_reason: str
    length: float
    bounds: list[list[float]] | None
    ends: dict[str, int]
    largest_bend: float
    upward: tuple[str, ...]
    level: tuple[str, ...]
    findings: tuple[Finding, ...]

    def as_dict(self) -> dict[str, object]:
        """Give plain values, ready for JSON."""
        values = asdict(replace(self, findings=()))
        return values | {"findings": [each.as_dict() for each in self.findings]}

    @property
    def dips(self) -> str:
        """Which dips point down, and how that was decided."""
        return f"{self.down} ones point down ({self.down_reason})"

    def __str__(self) -> str:
        """Lay everything out as lines to read."""
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return in_lines(f"{name:<{width}}  {value}" for name, value in rows)

    def __repr__(self) -> str:
        """Say how many holes there are, and how much was found."""
        return (
            f"<HoleReport of {counted(self.holes, 'hole')}: "
            f"{counted(len(self.findings), 'finding')}>"
        )

    def _repr_html_(self) -> str:
        """Give a table for a notebook."""
        return html_table(counted(self.holes, "drillhole"), self._rows()[1:])

    def _rows(self) -> list[tuple[str, str]]:
        """Say each thing: what it is, and its value."""
        rows = [("holes", f"{self.holes:,}, {self.length:,.1f} long in all")]
        for role, table in self.tables.items():
            columns = ", ".join(f"{name} {role}" for role, name in table["columns"].items())
            rows.append((role, f"{table['name']}, {counted(table['rows'], 'row')}: {columns}"))
        rows.append(("between stations", f"{self.method}; {counted(self.stations, 'station')}"))
        rows.append(("largest bend", f"{self.largest_bend:.2f} degrees between two stations"))
        rows.append(("dips", self.dips))
        for what, names in (("upwards", self.upward), ("level", self.level)):
            if names:
                more = ", .." if len(names) > 5 else ""
                rows.append((what, f"{counted(len(names), 'hole')} ({', '.join(names[:5])}{more})"))
        said = ", ".join(f"{count:,} from the {what}" for what, count in self.ends.items() if count)
        rows.append(("ends of holes", said or "none"))
        if self.bounds is not None:
            low, high = self.bounds
            sides = (f"{a:,.10g} to {b:,.10g}" for a, b in zip(low, high, strict=True))
            rows.append(("extent", "; ".join(sides)))
        for name, why in list(self.left_out.items())[:5]:
            rows.append(("left out", f"{name}: {why}"))
        if len(self.left_out) > 5:
            rows.append(("", f"and {len(self.left_out) - 5:,} more holes"))
        rows += [(each.severity, str(each)) for each in self.findings]
        return rows


# --- From rows of a collar table to one collar for each hole, compared with its neighbours.


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


# Neighbours

_NEAR, _CELLS, _LEAF = 6, 18, 1024
# Elevations: steepness, as it is and in multiples of the field's, and rise in lengths of a hole.
_STEEP = ((0.4, 6.0), (0.1, 12.0))
_STEEP_SLIP = (0.1, 3.0)
_STEEP_MARK = (0.05, 2.0)
_RISE, _LEVEL = 0.3, 0.02
# Collars that show a hillside: a plane has three numbers, and one collar may be wrong.
_PLANE = 6
# Places: distance to the nearest collar, in multiples of the field's and of the usual length.
_APART, _APART_SURELY = 3.0, (50.0, 1000.0)
# How many honest places at the same distance may look like a slip of the pen.
_CHANCE = 0.02


def check_collars(found: list[Finding], names: list[str], points: Floats, lengths: Floats) -> None:
    """Look for coordinates that are no place of a collar: marks, zeros, and lost digits.

    An elevation is compared with those of the nearest collars, a place by its distance to the
    nearest collar, and both with the same measure of the other collars of the field. Honest
    fields have holes 20 km away and fans 600 below the others. So a place that is merely far is
    a finding only if a slip of the pen explains it: a lost, added or moved digit, a sign, a power
    of ten, exchanged coordinates; and if few places at that distance would look so by chance.

    Parameters
    ----------
    found : list of Finding
        Gets the findings.
    names : list of str
    points : (h, 3) float64
    lengths : (h,) float64
        Of the holes, NaN where not known.
    """
    marks = np.isin(points, list(MARKS))
    zeros = points == 0.0
    known = lengths[lengths > 0]
    usual = float(np.median(known)) if known.size else 0.0
    wrong, far = np.zeros((2, *points.shape), np.bool_)
    if len(points) > 1:
        wrong[:, :2], far[:, :2] = _odd_places(points, marks | zeros, usual)
        lost = (wrong | far)[:, :2].any(axis=1)
        wrong[:, 2], far[:, 2] = _odd_heights(points, (marks | zeros)[:, 2], lost, usual)
    near = _neighbours(points[:, :2], ~(wrong | far).any(axis=1))[1][:, :_NEAR]
    for code, which in (
        ("collar-mark", wrong & marks),
        ("collar-zero", wrong & zeros),
        ("collar-far", far),
    ):
        rows = np.flatnonzero(which.any(axis=1))
        value = _coordinates(points, wrong | far, near, rows, which)
        note(found, code, (names[row] for row in rows.tolist()), value=value)


def _coordinates(
    points: Floats, odd: Bools, near: NDArray[np.intp], rows: NDArray[np.intp], which: Bools
) -> Callable[[int], str]:
    """Return a function that shows the odd coordinates of a collar beside those of others."""

    def say(number: int) -> str:
        row = int(rows[number])
        return ", ".join(map(say_one, np.flatnonzero(which[row]).tolist(), [row] * 3))

    def say_one(axis: int, row: int) -> str:
        text = f"{'xyz'[axis]} {points[row, axis]:.10g}"
        whose, others = "others", points[~odd[:, axis], axis]
        if axis == 2:
            whose, others = "neighbours", points[near[row][near[row] >= 0], 2]
        return (
            f"{text}, {whose} {others.min():,.10g} to {others.max():,.10g}" if others.size else text
        )

    return say


def _odd_places(points: Floats, suspect: Bools, usual: float) -> tuple[Bools, Bools]:
    """Tell the x and y that are missing, and those that are a slip.

    Only a few collars can be odd: many that are far from each other are what the field is like.
    """
    plan, suspect = points[:, :2], suspect[:, :2]
    wrong, far = np.zeros((2, *plan.shape), np.bool_)
    if suspect.all():
        return ~wrong, far
    sound = np.logical_not(suspect.any(axis=1))
    if int(sound.sum()) < 2:
        return wrong, far
    # The second of the neighbours, so that two holes of one pad do not hide each other.
    apart = _neighbours(plan, sound)[0][:, 1 if int(sound.sum()) >= _NEAR else 0]
    reach = _largest_usual(apart[sound])
    lonely = apart > _APART * max(reach, usual)
    if not _few(lonely & sound):
        lonely = lonely & ~sound
    home = sound & ~lonely
    if not home.any():
        return wrong, far
    low, high = plan[home].min(axis=0), plan[home].max(axis=0)
    wide = high - low
    margin = np.maximum(max(reach, usual), wide / 4)
    off = np.maximum(low - plan, plan - high)
    apart_enough = apart > max(2.0 * reach, usual)
    wrong |= suspect & apart_enough[:, None] & (off > np.maximum(wide, usual / 2))
    surely = max(_APART_SURELY[0] * max(reach, *wide), _APART_SURELY[1] * usual)
    for row in np.flatnonzero(lonely & ~wrong.any(axis=1)).tolist():
        away = off[row]
        out = (away > margin) & (away > 0.1 * away.max())
        turned = plan[row, ::-1]
        if out.all() and (turned > low - reach).all() and (turned < high + reach).all():
            far[row] = True
        elif out.sum() == 1:
            axis = int(np.argmax(out))
            other = 1 - axis
            slack = min(reach, wide[axis] / 4) or reach
            beside = (wide[other] + 2 * max(margin[other], away[other])) / (2 * away[axis])
            span = low[axis] - slack, high[axis] + slack
            far[row] = out & (_chance(plan[row, axis], *span) * min(1.0, beside) < _CHANCE)
        if usual > 0 and len(points) >= 5 and apart[row] > surely:
            far[row] = out
    return wrong, far


def _odd_heights(points: Floats, suspect: Bools, lost: Bools, usual: float) -> tuple[Bools, Bools]:
    """Tell the elevations that are missing, and those that no neighbour has.

    A collar is as steep as the gentlest line to any of its neighbours: the nearest ones, and
    those of the nearest cells, so that a drive with a hundred holes does not hide the ground
    above it.
    """
    wrong, far = np.zeros((2, len(points)), np.bool_)
    sound = ~suspect & ~lost
    if suspect.all():
        return ~wrong, far
    if not sound.any():
        return wrong, far
    plan, heights = points[:, :2], points[:, 2]
    apart, near = _neighbours(plan, sound)
    firsts = apart[sound, 0][np.isfinite(apart[sound, 0])]
    step = max(float(np.median(firsts)) if firsts.size else 0.0, _LEVEL * usual, 1e-9)
    apart, near = apart[:, :_NEAR], near[:, :_NEAR]
    levels = np.where(near >= 0, heights[near], np.nan)
    low, high = np.fmin.reduce(levels, axis=1), np.fmax.reduce(levels, axis=1)
    others = _neighbours(plan, _of_cells(points, sound, usual))
    apart, near = np.hstack([apart, others[0]]), np.hstack([near, others[1]])
    level = _LEVEL * usual
    steep, rise = np.full((2, len(points)), np.inf)
    for each in (heights, _without_tilt(points, sound)):
        rises = np.where(near >= 0, np.abs(each[:, None] - each[near]), np.inf)
        slopes = np.maximum(rises - level, 0.0) / np.where(near >= 0, np.maximum(apart, step), 1)
        steep, rise = np.minimum(steep, slopes.min(axis=1)), np.minimum(rise, rises.min(axis=1))
    ground = _largest_usual(steep[sound])

    def steeper(limits: tuple[float, float]) -> Bools:
        above: Bools = steep > max(limits[0], limits[1] * ground)
        return above

    within = float(np.ptp(heights[sound]))
    beyond = np.maximum(heights[sound].min() - heights, heights - heights[sound].max())
    outside = np.fmax(low - heights, heights - high)
    wrong = suspect & (rise > level) & steeper(_STEEP_MARK) & (outside > high - low)
    wrong |= suspect & steeper(_STEEP[0]) & (outside > _RISE * usual)
    if int(sound.sum()) >= 3:
        wrong |= suspect & (rise > level) & (beyond > within)
    if int(sound.sum()) < 4:
        return wrong, far
    odd = sound & (rise > _RISE * usual) & (outside > 0)
    far = odd & (steeper(_STEEP[0]) | steeper(_STEEP[1]))
    doubtful = np.flatnonzero(odd & ~far & steeper(_STEEP_SLIP))
    for row in doubtful.tolist() if len(doubtful) <= 50 else ():
        slack = max(level, (high[row] - low[row]) / 4)
        far[row] = _chance(heights[row], low[row] - slack, high[row] + slack) < _CHANCE
    return wrong, far if _few(far) else np.zeros_like(far)


def _without_tilt(points: Floats, sound: Bools) -> Floats:
    """Return heights above the plane of a hillside, fitted without the worst tenth of the collars.

    They are as they were where the ground is no plane.
    """
    rows = np.flatnonzero(sound)
    if len(rows) < _PLANE:
        return points[:, 2]
    plane = np.column_stack([points[:, :2] - points[rows, :2].mean(axis=0), np.ones(len(points))])
    away, most = points[:, 2], math.inf
    for _ in range(3):
        solved = np.linalg.lstsq(plane[rows], points[rows, 2], rcond=None)[0]
        away = points[:, 2] - plane @ solved
        most = float(np.quantile(np.abs(away[sound]), 0.9))
        rows = np.flatnonzero(sound & (np.abs(away) <= most))
    return away if most <= 0.15 * np.ptp(points[sound, 2]) else points[:, 2]


def _few(which: Bools) -> bool:
    """Tell whether so few collars can be slips."""
    return int(which.sum()) <= max(2, len(which) // 20)


def _largest_usual(values: Floats) -> float:
    """Return the largest of values without the last two of them, or two in a hundred."""
    values = np.sort(values[np.isfinite(values)])
    place = len(values) - 1 - max(2, len(values) // 50)
    return float(values[max(place, 0)]) if values.size else 0.0


def _of_cells(points: Floats, sound: Bools, size: float) -> Bools:
    """Tell the first and the last of the sound collars in each cell, a fifth as high as wide."""
    if size == 0:
        return sound
    rows = np.flatnonzero(sound)
    cells = np.floor((points[rows] - points[rows].min(axis=0)) / (size, size, size / 5))
    kept = np.zeros(len(points), np.bool_)
    for each in (slice(None), slice(None, None, -1)):
        kept[rows[each][np.unique(cells[each], axis=0, return_index=True)[1]]] = True
    return kept


def _neighbours(plan: Floats, among: Bools) -> tuple[Floats, NDArray[np.intp]]:
    """Return distances and rows of the nearest in plan, inf and -1 where there are no more.

    Beyond 1,024 collars, only those in the same part of a k-d split are compared.
    """
    apart = np.full((len(plan), _CELLS), np.inf)
    near = np.full((len(plan), _CELLS), -1, np.intp)
    for rows in _parts(plan):
        offsets = plan[rows, None] - plan[None, rows]
        distances = np.hypot(offsets[..., 0], offsets[..., 1])
        distances[:, ~among[rows]] = np.inf
        np.fill_diagonal(distances, np.inf)
        count = min(_CELLS, len(rows))
        order = np.argsort(distances, axis=1, kind="stable")[:, :count]
        apart[rows, :count] = np.take_along_axis(distances, order, axis=1)
        near[rows, :count] = rows[order]
    near[np.isinf(apart)] = -1
    return apart, near


def _parts(plan: Floats) -> Iterator[NDArray[np.intp]]:
    """Split points at the middle of their longer side until few are in each part."""
    todo = [np.arange(len(plan))]
    while todo:
        rows = todo.pop()
        if len(rows) <= _LEAF:
            yield rows
            continue
        axis = int(np.argmax(np.ptp(plan[rows], axis=0)))
        rows = rows[np.argsort(plan[rows, axis], kind="stable")]
        todo += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]


# Slips of the pen: what may have been meant by a number.


def _digit_lost(digits: str) -> list[str]:
    """Put any digit anywhere; 7 may have been 5007."""
    places = range(len(digits) + 1)
    within = [digits[:at] + new + digits[at:] for at in places for new in "0123456789"]
    filled = [digits.zfill(count) for count in range(len(digits) + 1, 8)]
    return within + [new + each for each in filled for new in "123456789"]


def _digit_added(digits: str) -> list[str]:
    return [digits[:at] + digits[at + 1 :] for at in range(len(digits)) if len(digits) > 1]


def _digits_moved(digits: str) -> list[str]:
    places = range(len(digits) - 1)
    return [digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :] for at in places]


_Meant = Callable[[float], list[float]]


def _by_digits(change: Callable[[str], list[str]]) -> _Meant:
    """Return a function that changes the digits before the point of a number."""

    def meant(value: float) -> list[float]:
        sign = "-" if value < 0 else ""
        whole, point, rest = f"{abs(value):.10g}".partition(".")
        if not whole.isdigit() or "e" in rest:
            return []
        return [float(sign + digits + point + rest) for digits in change(whole)]

    return meant


_SLIPS: tuple[_Meant, ...] = (
    _by_digits(_digit_lost),
    _by_digits(_digit_added),
    _by_digits(_digits_moved),
    lambda value: [-value],
    lambda value: [value * 10.0**power for power in (-3, -2, -1, 1, 2, 3)],
)


def _chance(value: float, low: float, high: float) -> float:
    """Return how many places as far from a range look like a slip by chance; 1 if this does not.

    A slip is a number from `low` to `high` with another digit, sign or power of ten. From 0 to
    1,000 nearly every number of four digits has lost one; from 5,030 to 5,180 few of three have.
    """
    least = 1.0
    middle, tries = (low + high) / 2, 96
    decimals = len(f"{value:.10g}".partition(".")[2])
    steps = [2.0 * (number + 0.37) / tries - 1.0 for number in range(tries)]
    places = [round(middle + abs(value - middle) * step, decimals) for step in steps]
    places = [place for place in places if not low <= place <= high]
    for slip in _SLIPS:

        def explains(number: float, slip: _Meant = slip) -> bool:
            return any(low <= meant <= high for meant in slip(number))

        if explains(value):
            least = min(least, sum(map(explains, places)) / max(1, len(places)))
    return least


# --- From rows of a survey to the stations of each hole: sorted, complete, with findings.

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


# --- From collar, survey and interval tables to holes: curves, ends, and the report.


class HoleParts(TypedDict):
    """The attributes of `Drillholes` that are made of tables."""

    names: tuple[str, ...]
    collars: Floats
    ends: Floats
    curves: Curves
    report: HoleReport


@dataclass(frozen=True)
class HoleMaking:
    """How the attributes of `Drillholes` are made of tables."""

    reading: Reading
    method: Method
    down: DipDown
    vertical: bool
    bend: tuple[float, float]
    topography: Ground | None
    accept: tuple[tuple[str, str | None], ...]

    def make(
        self, collar: TableLike, survey: TableLike | None, intervals: Sequence[TableLike]
    ) -> HoleParts:
        """Return the attributes of `Drillholes`."""
        tables: dict[str, HoleTable] = {"collar": read_table(collar, "collar", self.reading)}
        if survey is not None:
            tables["survey"] = read_table(survey, "survey", self.reading)
        for number, one in enumerate(intervals):
            key = f"intervals {number + 1}" if len(intervals) > 1 else "intervals"
            tables[key] = read_table(one, "intervals", self.reading)
        collars = read_collars(tables["collar"])
        rows, down, reason, found = self._survey_rows(tables, collars)
        stations = make_stations(rows, collars.names, vertical=self.vertical, bend=self.bend)
        found = [*collars.findings, *found, *stations.findings]
        left_out = collars.left_out | {
            collars.names[hole]: why for hole, why in stations.left_out.items()
        }
        if not len(stations.holes):
            why = f" ({next(iter(left_out.values()))})" if left_out else ""
            said = "".join(f"; {each}" for each in found if each.bad)
            message = f"{tables['collar'].name} and its survey give no hole that can be used{why}"
            raise TableError(message + said)
        names = tuple(collars.names[hole] for hole in stations.holes)
        points = collars.points[stations.holes]
        curves = make_curves(
            stations.offsets, stations.depths, stations.tangents, points, self.method
        )
        index = {name: row for row, name in enumerate(names)}
        logs = [one for key, one in tables.items() if key.startswith("intervals")]
        ends, sources = _ends(collars.ends[stations.holes], logs, index, stations)
        found += _beyond(stations, ends, names)
        upward, level = _rising(stations, names)
        check_collars(found, collars.names, collars.points, ends)
        check_signs(found, names, upward)
        if self.topography is not None:
            check_topography(found, self.topography, HolePaths(names, points, ends, curves))
        for table in logs:
            found += match_intervals(table, index, ends, left_out).findings
        report = HoleReport(
            tables={key: _described(one) for key, one in tables.items()},
            holes=len(names),
            left_out=left_out,
            stations=len(stations.depths),
            method=self.method,
            down="positive" if down > 0 else "negative",
            down_reason=reason,
            length=float(ends.sum()),
            bounds=_bounds(points, curves, ends),
            ends=sources,
            largest_bend=_largest_bend(stations),
            upward=upward,
            level=level,
            findings=tuple(accepted(found, self.accept, names)),
        )
        return {
            "names": names, "collars": points, "ends": ends, "curves": curves, "report": report,
        }  # fmt: skip

    def _survey_rows(
        self, tables: Mapping[str, HoleTable], collars: Collars
    ) -> tuple[SurveyRows, int, str, list[Finding]]:
        """Join the stations of the survey with those of collars, all dips positive down."""
        found: list[Finding] = []
        known = np.isfinite(collars.azimuths) & np.isfinite(collars.dips)
        own = sign_of_down(collars.dips[known], self.down)
        survey = tables.get("survey")
        if survey is None:
            rows = np.flatnonzero(known)
            given = SurveyRows(
                rows, np.zeros(len(rows)), collars.azimuths[rows], own * collars.dips[rows]
            )
            return given, own, self._reason("the collar table", collars.dips[known]), found
        codes, ids = survey.ids
        index = {name: row for row, name in enumerate(collars.names)}
        holes = np.array([index.get(text, -1) for text in ids], np.intp)[codes]
        strange = [text for text in ids if text not in index and text not in collars.left_out]
        note(found, "survey-no-collar", strange, value=id_proposals(strange, index))
        depths, azimuths, dips = (survey.numbers(role) for role in ("at", "azimuth", "dip"))
        if check_exchanged(azimuths, dips):
            _refuse_exchanged(survey, dips)
        sign = sign_of_down(dips, self.down, codes)
        at_top = np.zeros(len(collars.names), np.bool_)
        given = SurveyRows(holes, depths, azimuths, sign * dips)
        at_top[holes[(holes >= 0) & (depths == 0) & given.complete]] = True
        rows = np.flatnonzero(known & ~at_top)
        joined = SurveyRows(
            np.concatenate([rows, holes]),
            np.concatenate([np.zeros(len(rows)), depths]),
            np.concatenate([collars.azimuths[rows], azimuths]),
            np.concatenate([own * collars.dips[rows], given.dips]),
        )
        return joined, sign, self._reason(survey.name, dips), found

    def _reason(self, table: str, dips: Floats) -> str:
        """Describe how the dip sign was chosen."""
        if self.down != "auto":
            return "as it was given"
        up, down = int((dips > 0).sum()), int((dips < 0).sum())
        if not up and not down:
            return f"all of {table} are 0"
        return f"{up:,} of {table} are positive, {down:,} not"


def _ends(
    given: Floats, logs: Iterable[HoleTable], index: dict[str, int], stations: Stations
) -> tuple[Floats, dict[str, int]]:
    """Return where holes end, and how many have it from where."""
    deepest = np.full(len(given), -np.inf)
    for table in logs:
        codes, ids = table.ids
        holes = np.array([index.get(text, -1) for text in ids], np.intp)[codes]
        stops = table.numbers("to")
        rows = np.flatnonzero((holes >= 0) & np.isfinite(stops))
        np.maximum.at(deepest, holes[rows], stops[rows])
    said, logged = given > 0, deepest > 0
    ends = np.where(said, given, np.where(logged, deepest, stations.last))
    return ends, {
        "collar table": int(said.sum()),
        "largest TO": int((~said & logged).sum()),
        "last station": int((~said & ~logged).sum()),
    }


def _beyond(stations: Stations, ends: Floats, names: Sequence[str]) -> list[Finding]:
    """Tell the holes whose last station is not at their end."""
    found: list[Finding] = []
    beyond = np.flatnonzero(stations.last > ends).tolist()
    short = np.flatnonzero(stations.last < ends).tolist()
    note(found, "station-deep", [names[hole] for hole in beyond])
    note(found, "survey-short", [names[hole] for hole in short])
    return found


def _refuse_exchanged(survey: HoleTable, dips: Floats) -> None:
    """Raise TableError for a survey whose azimuths are in the column of dips."""
    azimuth, dip = (survey.names[survey.roles[role]] for role in ("azimuth", "dip"))
    largest = dips[np.nanargmax(np.abs(dips))]
    message = (
        f"{survey.name}: azimuth and dip seem to be exchanged: {dip} reaches {largest:g}, and "
        f"{azimuth} stays within -90 to 90; name them with "
        f"columns={{'survey.azimuth': {dip!r}, 'survey.dip': {azimuth!r}}}"
    )
    raise TableError(message)


def _described(table: HoleTable) -> TableFacts:
    """Give what a report says of a table."""
    columns = {role: table.names[place] for role, place in table.roles.items()}
    return {"name": table.name, "rows": len(table), "columns": columns}


def _bounds(collars: Floats, curves: Curves, ends: Floats) -> list[list[float]]:
    """Return the box of collars and ends of holes."""
    holes = np.arange(len(ends))
    points = np.concatenate([collars, curves.at(curves.find(holes, ends), ends)])
    return [points.min(axis=0).tolist(), points.max(axis=0).tolist()]


def _largest_bend(stations: Stations) -> float:
    """Return the largest angle between two stations of a hole, in degrees."""
    tangents = stations.tangents
    inner = np.ones(len(tangents), np.bool_)
    inner[stations.offsets[:-1]] = False
    dots = np.einsum("ij,ij->i", tangents[1:], tangents[:-1])[inner[1:]]
    return float(np.degrees(np.arccos(np.clip(dots.min(initial=1.0), -1.0, 1.0))))


def _rising(stations: Stations, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the holes with a station that points up, and the others with one that is level."""
    slopes = stations.tangents[:, 2]
    owners = [
        np.unique(np.searchsorted(stations.offsets, np.flatnonzero(rows), side="right") - 1)
        for rows in (slopes > 0, slopes == 0)
    ]
    upward, level = owners[0], np.setdiff1d(owners[1], owners[0])
    return tuple(names[i] for i in upward.tolist()), tuple(names[i] for i in level.tolist())
