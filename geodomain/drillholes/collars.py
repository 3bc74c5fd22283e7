"""Read the collars of holes, and check their coordinates against neighbouring collars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats
from geodomain.drillholes.findings import Finding, note
from geodomain.drillholes.tables import HoleTable
from geodomain.tables.numbers import MARKS


@dataclass(frozen=True, eq=False)
class Collars:
    """One collar for each hole.

    Attributes
    ----------
    names : list of str
        Ids of the holes, in the order of the table.
    points : (h, 3) float64
        Coordinates of the collars.
    ends : (h,) float64
        Depth of the end of each hole; NaN if the table does not state it.
    azimuths, dips : (h,) float64
        Direction at the collar; NaN if the table does not state it. Dips have the table's sign.
    findings : list of Finding
        Findings about the collar table.
    left_out : dict of str to str
        Holes that are not used, and the code of the finding about them.
    rows : (h,) intp
        The row of each collar in the table.
    """

    names: list[str]
    points: Floats
    ends: Floats
    azimuths: Floats
    dips: Floats
    findings: list[Finding]
    left_out: dict[str, str]
    rows: NDArray[np.intp]


def read_collars(table: HoleTable) -> Collars:
    """Return the collars of a table.

    A hole is left out if its collar has no coordinates, or if it has two different collars.
    """
    codes, ids = table.ids
    points = np.stack([table.numbers(axis) for axis in "xyz"], axis=1)
    named = np.array([bool(text) for text in ids], np.bool_)[codes]
    here = np.isfinite(points).all(axis=1)
    findings: list[Finding] = []
    bare = np.flatnonzero(~named)
    note(
        findings,
        "collar-no-hole",
        [""] * len(bare),
        lambda number: table.where(int(bare[number])),
        rows=bare,
    )
    lost = np.flatnonzero(named & ~here)
    note(findings, "collar-no-coordinates", [ids[code] for code in codes[lost]], rows=lost)
    left_out = dict.fromkeys((ids[code] for code in codes[lost]), "collar-no-coordinates")
    rows = np.flatnonzero(named & here)
    _, first = np.unique(codes[rows], return_index=True)
    chosen = rows[np.sort(first)]
    again = np.setdiff1d(rows, chosen)
    if again.size:
        of_code = np.full(len(ids), -1)
        of_code[codes[chosen]] = chosen
        before = of_code[codes[again]]
        other = _differ(table, again, before)
        note(findings, "collar-twice", [ids[code] for code in codes[again[~other]]],
             rows=again[~other], others=before[~other])  # fmt: skip
        apart = again[other][np.sort(np.unique(codes[again[other]], return_index=True)[1])]
        both = [ids[code] for code in codes[apart]]
        note(findings, "collar-differs", both, rows=of_code[codes[apart]], others=apart)
        left_out |= dict.fromkeys(both, "collar-differs")
    names = [ids[code] for code in codes[chosen]]
    use = np.array([name not in left_out for name in names], np.bool_)
    chosen = chosen[use]
    names = [name for name, used in zip(names, use, strict=True) if used]
    return Collars(
        names,
        points[chosen],
        _numbers(table, "end")[chosen],
        _numbers(table, "azimuth")[chosen],
        _numbers(table, "dip")[chosen],
        findings,
        left_out,
        chosen,
    )


def _numbers(table: HoleTable, role: str) -> Floats:
    """Return the numbers in the column of a role, all NaN if the table has no such column."""
    return table.numbers(role) if role in table.roles else np.full(len(table), np.nan)


def _differ(
    table: HoleTable, rows: NDArray[np.intp], others: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return the mask of `rows` that differ in position, end or direction from the rows `others`.

    Each row in `rows` is compared with the row at the same place in `others`.
    """
    values = {role: _numbers(table, role) for role in ("x", "y", "z", "end", "azimuth", "dip")}
    vertical = np.abs(values["dip"]) == 90.0
    values["azimuth"] = np.where(vertical, 0.0, values["azimuth"] % 360.0)
    differ = np.zeros(len(rows), np.bool_)
    for numbers in values.values():
        differ |= (numbers[rows] != numbers[others]) & ~(
            np.isnan(numbers[rows]) & np.isnan(numbers[others])
        )
    return differ


# Neighbours

_NEAR, _CELLS, _LEAF = 6, 18, 1024
# Limits for elevations: steepness, absolute and in multiples of the field's steepness; and the
# rise, in hole lengths.
_STEEP = ((0.4, 6.0), (0.1, 12.0))
_STEEP_SLIP = (0.1, 3.0)
_STEEP_MARK = (0.05, 2.0)
_RISE, _LEVEL = 0.3, 0.02
# Fewest collars for fitting a hillside: a plane has three numbers, and one collar may be wrong.
_PLANE = 6
# Limits for distances to the nearest collar: in multiples of the field's largest usual distance,
# and, for a certain error, of that distance and of the usual hole length.
_APART, _APART_SURELY = 3.0, (50.0, 1000.0)
# Largest fraction of correct positions at the same distance that may look like a typing error.
_CHANCE = 0.02
# Check against the order of the table: fewest collars, smallest leap in multiples of the usual
# step, and largest probability that a real step-out looks like one changed digit.
_ORDERED, _LEAP, _LUCK = 20, 4.0, 0.1


def check_collars(
    findings: list[Finding], names: list[str], points: Floats, lengths: Floats
) -> None:
    """Find wrong coordinates of collars: missing-value marks, zeros and typing errors.

    An elevation is compared with the elevations of the nearest collars. An x or y is checked by the
    distance to the nearest collars. The limits of these checks follow from all collars of the
    field.

    Some real fields have holes 20 km away from all others, and fans 600 units below them. Therefore
    a distance alone is a finding only if it is extreme. Any other distance is a finding if two
    conditions are met. First, a typing error explains the distance: a lost, added or moved digit, a
    sign, a power of ten, or exchanged coordinates. Second, few positions at that distance would
    look like a typing error by chance.

    Parameters
    ----------
    findings : list of Finding
        List to which findings are added.
    names : list of str
        Ids of the holes.
    points : (h, 3) float64
        Coordinates of the collars.
    lengths : (h,) float64
        Lengths of the holes, NaN where unknown.
    """
    marks = np.isin(points, list(MARKS))
    zeros = points == 0.0
    positive = lengths[lengths > 0]
    usual = float(np.median(positive)) if positive.size else 0.0
    wrong, far = np.zeros((2, *points.shape), np.bool_)
    if len(points) > 1:
        wrong[:, :2], far[:, :2] = _odd_places(points, marks | zeros, usual)
        if not (wrong | far)[:, :2].any():
            far[:, :2] = _out_of_sequence(points)
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
        note(findings, code, (names[row] for row in rows.tolist()), value=value)


def _coordinates(
    points: Floats, odd: Bools, near: NDArray[np.intp], rows: NDArray[np.intp], which: Bools
) -> Callable[[int], str]:
    """Return a function that describes a collar in a message, given its index in `rows`.

    The text gives the wrong coordinates of the collar, each with the usual range.
    """

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
    """Return two masks (h, 2) of x and y: missing-value marks or zeros, and typing errors.

    If many collars are far from all others, large distances are normal in the field. Then no
    coordinate of these collars is taken as a typing error.
    """
    plan, suspect = points[:, :2], suspect[:, :2]
    wrong, far = np.zeros((2, *plan.shape), np.bool_)
    if suspect.all():
        return ~wrong, far
    sound = np.logical_not(suspect.any(axis=1))
    if int(sound.sum()) < 2:
        return wrong, far
    # Use the second neighbour, so that two holes on one pad do not hide each other.
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
            slips = (*_SLIPS, _changed) if len(points) >= _ORDERED else _SLIPS
            chance = _chance(plan[row, axis], *span, slips) * min(1.0, beside)
            far[row] = out & (chance < _CHANCE)
        if usual > 0 and len(points) >= 5 and apart[row] > surely:
            far[row] = out
    return wrong, far


def _out_of_sequence(points: Floats) -> Bools:
    """Return the mask of x and y that fit the order of the table only if one digit is changed.

    Holes are numbered as they are drilled: along lines, from pad to pad. A collar is suspect if it
    is far from the collars before and after it, and these two are close to each other. A suspect
    collar may be a step-out. It counts as a typing error if changing one digit of one coordinate
    moves it between these two collars, to a position that no other collar has, and if few numbers
    would fit so well by chance.
    """
    odd = np.zeros((len(points), 2), np.bool_)
    plan = points[:, :2]
    if len(plan) < _ORDERED:
        return odd
    steps = np.hypot(*np.diff(plan, axis=0).T)
    over = np.hypot(*(plan[2:] - plan[:-2]).T)  # distance between the previous and next collar
    step = float(np.quantile(steps, 0.75))
    away = np.minimum(steps[:-1], steps[1:])
    leaps = away > _LEAP * step
    # If two pads are drilled alternately, every second step is a leap.
    if not step or int(leaps.sum()) > max(1, len(points) // 40):
        return odd
    rows = np.flatnonzero(leaps & (over < 3.0 * step)) + 1
    for row in rows.tolist():
        ends = plan[[row - 1, row + 1]]
        low, high = ends.min(axis=0) - 3.0 * step, ends.max(axis=0) + 3.0 * step
        near = (plan[row] >= low) & (plan[row] <= high)
        if near.sum() != 1:
            continue
        axis = int(np.argmin(near))
        meant = [each for each in _changed(plan[row, axis]) if low[axis] <= each <= high[axis]]
        others = np.delete(plan, row, axis=0)
        own = [np.hypot(*(others - np.where(np.arange(2) == axis, each, plan[row])).T).min()
               for each in meant]  # fmt: skip
        share = (high - low) / (2.0 * np.abs(plan[row] - ends.mean(axis=0))[axis])
        if own and max(own) > 0.1 * step and float(np.minimum(share, 1.0).prod()) < _LUCK:
            odd[row, axis] = True
    return odd


def _odd_heights(points: Floats, suspect: Bools, lost: Bools, usual: float) -> tuple[Bools, Bools]:
    """Return two masks (h,) of elevations: missing-value marks or zeros, and odd elevations.

    An odd elevation does not fit the neighbours. The steepness of a collar is the slope of the
    gentlest line to any of its neighbours. A collar has two groups of neighbours: the nearest of
    all collars, and the nearest of a selection of collars. The selection has two collars from each
    cell of a coarse grid. Without it, a hundred holes in one drive would hide the ground above the
    drive.
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
    """Return elevations relative to a plane that is fitted to the collars.

    The 10 % of the collars that are farthest from the plane are left out of the fit.
    If the collars do not fit a plane, the elevations are returned unchanged.
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
    """Return whether few collars are marked: at most two, or at most 5 percent."""
    return int(which.sum()) <= max(2, len(which) // 20)


def _largest_usual(values: Floats) -> float:
    """Return the largest value that remains after the largest 2 percent are dropped.

    At least two values are dropped.
    """
    values = np.sort(values[np.isfinite(values)])
    place = len(values) - 1 - max(2, len(values) // 50)
    return float(values[max(place, 0)]) if values.size else 0.0


def _of_cells(points: Floats, sound: Bools, size: float) -> Bools:
    """Return the mask of two collars in each grid cell: the first and the last in the table.

    Only collars in the mask `sound` count. Cells are `size` wide and `size` / 5 high. If `size` is
    0, `sound` is returned.
    """
    if size == 0:
        return sound
    rows = np.flatnonzero(sound)
    cells = np.floor((points[rows] - points[rows].min(axis=0)) / (size, size, size / 5))
    mask = np.zeros(len(points), np.bool_)
    for each in (slice(None), slice(None, None, -1)):
        mask[rows[each][np.unique(cells[each], axis=0, return_index=True)[1]]] = True
    return mask


def _neighbours(plan: Floats, among: Bools) -> tuple[Floats, NDArray[np.intp]]:
    """Return the distances and rows of the 18 nearest collars in plan, for each collar.

    Only collars in the mask `among` are neighbours. If there are fewer than 18, the remaining
    distances are inf and the remaining rows -1. With more than 1,024 collars, only collars in the
    same cell of a k-d split are compared.
    """
    apart = np.full((len(plan), _CELLS), np.inf)
    near = np.full((len(plan), _CELLS), -1, np.intp)
    for rows in _parts(plan):
        offsets = plan[rows, None] - plan[None, rows]
        distances = np.hypot(offsets[..., 0], offsets[..., 1])
        distances[:, ~among[rows]] = np.inf
        np.fill_diagonal(distances, np.inf)
        count = min(_CELLS, len(rows))
        order = _smallest(distances, count)
        apart[rows, :count] = np.take_along_axis(distances, order, axis=1)
        near[rows, :count] = rows[order]
    near[np.isinf(apart)] = -1
    return apart, near


def _smallest(values: Floats, count: int) -> NDArray[np.intp]:
    """Return the columns of the smallest values of each row, in increasing order.

    Equal values keep their order. Only part of each row is sorted. A row is sorted as a whole if so
    many of its values are equal that the part may give other columns.
    """
    some = 4 * count
    if some >= values.shape[1]:
        return np.argsort(values, axis=1, kind="stable")[:, :count]
    chosen = np.sort(np.argpartition(values, some - 1, axis=1)[:, :some], axis=1)
    near = np.take_along_axis(values, chosen, axis=1)
    order = np.argsort(near, axis=1, kind="stable")
    sorted_near = np.take_along_axis(near, order, axis=1)
    columns = np.take_along_axis(chosen, order, axis=1)[:, :count]
    unsure = np.flatnonzero(sorted_near[:, count - 1] == sorted_near[:, -1])
    columns[unsure] = np.argsort(values[unsure], axis=1, kind="stable")[:, :count]
    return columns


def usual_spacing(points: Floats) -> float:
    """Return the median distance in plan to the nearest other collar; 0 for a single collar."""
    apart = _neighbours(points[:, :2], np.ones(len(points), np.bool_))[0][:, 0]
    apart = apart[np.isfinite(apart)]
    return float(np.median(apart)) if apart.size else 0.0


def _parts(plan: Floats) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of points in groups of at most 1,024 points that lie in the same region.

    A larger group is split at the median of the longer side of its box.
    """
    todo = [np.arange(len(plan))]
    while todo:
        rows = todo.pop()
        if len(rows) <= _LEAF:
            yield rows
            continue
        axis = int(np.argmax(np.ptp(plan[rows], axis=0)))
        rows = rows[np.argsort(plan[rows, axis], kind="stable")]
        todo += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]


# Typing errors: the numbers that may have been meant.


def _digit_lost(digits: str) -> list[str]:
    """Return the numbers that become `digits` if one digit, or a leading digit and zeros, are lost.

    For example, 7 may have been 5007.
    """
    places = range(len(digits) + 1)
    within = [digits[:at] + new + digits[at:] for at in places for new in "0123456789"]
    filled = [digits.zfill(count) for count in range(len(digits) + 1, 8)]
    return within + [new + each for each in filled for new in "123456789"]


def _digit_added(digits: str) -> list[str]:
    return [digits[:at] + digits[at + 1 :] for at in range(len(digits)) if len(digits) > 1]


def _digit_changed(digits: str) -> list[str]:
    return [
        digits[:at] + new + digits[at + 1 :]
        for at in range(len(digits))
        for new in "0123456789"
        if new != digits[at]
    ]


def _digits_moved(digits: str) -> list[str]:
    places = range(len(digits) - 1)
    return [digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :] for at in places]


_Meant = Callable[[float], list[float]]


def _by_digits(change: Callable[[str], list[str]]) -> _Meant:
    """Return a function that applies `change` to the digits before the point of a number."""

    def meant(value: float) -> list[float]:
        sign = "-" if value < 0 else ""
        whole, point, rest = f"{abs(value):.10g}".partition(".")
        if not whole.isdigit() or "e" in rest:
            return []
        return [float(sign + digits + point + rest) for digits in change(whole)]

    return meant


_changed = _by_digits(_digit_changed)
_SLIPS: tuple[_Meant, ...] = (
    _by_digits(_digit_lost),
    _by_digits(_digit_added),
    _by_digits(_digits_moved),
    lambda value: [-value],
    lambda value: [value * 10.0**power for power in (-3, -2, -1, 1, 2, 3)],
)


def _chance(value: float, low: float, high: float, slips: tuple[_Meant, ...] = _SLIPS) -> float:
    """Return the probability that a value looks like a typing error by chance.

    The result is 1 if `value` does not look like a typing error.

    A number looks like a typing error if changing a digit, the sign or the power of ten moves it
    into the range from `low` to `high`. The result is the fraction of numbers that look like a
    typing error, among numbers that are at most as far from the middle of the range as `value`. For
    a range from 0 to 1,000 nearly every four-digit number looks like a typing error; for a range
    from 5,030 to 5,180 few three-digit numbers do.
    """
    least = 1.0
    middle, tries = (low + high) / 2, 96
    decimals = len(f"{value:.10g}".partition(".")[2])
    steps = [2.0 * (number + 0.37) / tries - 1.0 for number in range(tries)]
    places = [round(middle + abs(value - middle) * step, decimals) for step in steps]
    places = [place for place in places if not low <= place <= high]
    for slip in slips:

        def explains(number: float, slip: _Meant = slip) -> bool:
            return any(low <= meant <= high for meant in slip(number))

        if explains(value):
            least = min(least, sum(map(explains, places)) / max(1, len(places)))
    return least
