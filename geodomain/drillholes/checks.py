"""Checks of collar, survey and interval tables, and the findings that every verb prints.

A check compares a table with itself, with the other tables, or with a topography, and adds a
`Finding`: a stable code, the holes concerned, where in the table, and the value. Nothing here
changes a position; `collars`, `stations` and `intervals` decide what is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Bools, Floats, Ints
from geodomain.drillholes.curves import Curves, HolePaths, bends_between, make_curves
from geodomain.errors import TableError, warn
from geodomain.mesh.mesh import Mesh
from geodomain.query.segments import SegmentIntersector

Severity = Literal["warning", "note"]
SHOWN = 5
# The largest bend that is not a finding, in degrees, and the span that it is within.
BEND = (15.0, 30.0)


class Kind(NamedTuple):
    """A kind of finding: what it says of several, and how to mend it."""

    severity: Severity
    what: str
    mend: str


# Every finding by its code. A warning may put samples in the wrong place, or leaves them out; a
# note is a fact that honest tables may have. `--strict` refuses warnings, `--accept` passes them.
KINDS: dict[str, Kind] = {
    "collar-no-hole": Kind(
        "warning", "collars without a hole", "Fill in the id of the hole."
    ),
    "collar-no-coordinates": Kind(
        "warning", "collars without coordinates", "Fill in x, y and z."
    ),
    "collar-differs": Kind(
        "warning", "holes with two different collars", "Remove the wrong row."
    ),
    "collar-twice": Kind("note", "collars that are there twice", "Remove one of the rows."),
    "collar-far": Kind(
        "warning",
        "collars far from their neighbours",
        "Look for a lost or added digit, exchanged coordinates, or another grid.",
    ),
    "collar-zero": Kind(
        "warning",
        "collars whose coordinate is 0, which stands for a missing value in many tables",
        "Fill in the coordinate.",
    ),
    "collar-mark": Kind(
        "warning",
        "collars whose coordinate is a mark of a missing value",
        "Fill in the coordinate, or declare the mark with missing=.",
    ),
    "collar-off-topography": Kind(
        "warning",
        "collars that are not at the topography",
        "Correct the elevation; collars of underground holes can be accepted.",
    ),
    "end-above-topography": Kind(
        "warning",
        "holes whose end is above the topography",
        "Look at the sign of the dips, at exchanged columns, and at the collar.",
    ),
    "survey-no-collar": Kind(
        "warning", "holes of the survey without a collar", "Add the collar, or correct the id."
    ),
    "station-none": Kind(
        "warning", "holes without a station", "Add a survey, or take them as vertical."
    ),
    "station-vertical": Kind(
        "note", "holes without a station, taken as vertical", "Nothing, for vertical holes."
    ),
    "station-incomplete": Kind(
        "warning",
        "stations without depth, azimuth or dip, not used",
        "Fill in the number, or remove the row.",
    ),
    "station-above": Kind(
        "warning", "stations above the collar, not used", "Depths are 0 or more: correct them."
    ),
    "station-differs": Kind(
        "warning", "holes with two directions at one depth", "Remove the wrong row."
    ),
    "station-turns-back": Kind(
        "warning", "holes that turn back on themselves", "Correct the sign of a dip."
    ),
    "dip-beyond": Kind(
        "warning", "stations whose dip is beyond 90 degrees", "Correct the dip."
    ),
    "angles-exchanged": Kind(
        "warning",
        "stations whose azimuth and dip look exchanged",
        "Exchange the two numbers.",
    ),
    "angles-radians": Kind(
        "warning",
        "stations with angles that seem to be radians",
        "Convert azimuths and dips to degrees.",
    ),
    "azimuth-beyond": Kind(
        "warning", "stations whose azimuth is beyond 360 degrees", "Correct the azimuth."
    ),
    "azimuth-mark": Kind(
        "warning",
        "stations whose azimuth is a mark of a missing value",
        "Fill in the azimuth, or declare the mark with missing=.",
    ),
    "azimuth-wrapped": Kind(
        "note",
        "stations whose azimuth is outside 0 to 360, wrapped",
        "Nothing, where azimuths are from -180 to 180.",
    ),
    "dip-sign": Kind(
        "warning",
        "holes that go up, unlike the others",
        "Change the sign of the dip, or accept the hole.",
    ),
    "dip-from-vertical": Kind(
        "warning",
        "holes whose dips seem to be measured from the vertical",
        "Subtract the dips from 90.",
    ),
    "hole-bend": Kind(
        "warning",
        "holes that bend more than a drill string can",
        "Correct the station, or allow more with bend=.",
    ),
    "station-order": Kind(
        "note", "holes whose stations were not in order", "Nothing: they were sorted."
    ),
    "station-twice": Kind("note", "stations that are there twice", "Remove one of the rows."),
    "station-single": Kind(
        "note", "holes with one station, which are straight", "Nothing, for straight holes."
    ),
    "station-late": Kind(
        "note",
        "holes whose first station is below the collar",
        "Nothing, where its direction is that of the collar.",
    ),
    "station-deep": Kind(
        "note",
        "holes with a station below their end, which bends the last leg only",
        "Nothing, for dummy stations.",
    ),
    "survey-short": Kind(
        "note",
        "holes that go on straight below their last station",
        "Nothing, where the hole is straight there.",
    ),
    "interval-no-collar": Kind(
        "warning", "intervals of a hole without a collar", "Add the collar, or correct the id."
    ),
    "interval-left-out": Kind(
        "warning", "intervals of a hole that is left out", "Mend the collar or survey."
    ),
    "interval-no-depth": Kind(
        "warning", "intervals without FROM or TO", "Fill in the depth."
    ),
    "interval-reversed": Kind(
        "warning", "intervals whose TO is not below FROM", "Correct the depths."
    ),
    "interval-above": Kind(
        "warning", "intervals that begin above the collar", "Correct FROM."
    ),
    "interval-below": Kind(
        "warning", "intervals below the end of their hole", "Correct the depth of the hole."
    ),
    "interval-past": Kind(
        "note", "intervals that run past the end of their hole", "Correct the depth of the hole."
    ),
    "interval-overlap": Kind(
        "note", "intervals that overlap the one before", "Correct FROM or TO."
    ),
    "interval-gap": Kind("note", "gaps before an interval", "Nothing, where none was sampled."),
    "hole-no-interval": Kind("note", "holes without an interval", "Nothing, if not sampled."),
}  # fmt: skip

# Words that follow the number of what they are about.
_OF_ONE = {
    "are": "is", "begin": "begins", "bend": "bends", "go": "goes", "overlap": "overlaps",
    "run": "runs", "seem": "seems", "their": "its", "themselves": "itself", "turn": "turns",
}  # fmt: skip


class Case(NamedTuple):
    """One hole or row of a finding."""

    hole: str
    where: str
    value: str

    def __str__(self) -> str:
        """Say it in a few words: a line by its number alone, a depth with its hole."""
        lone = self.where.startswith(("line ", "row "))
        place = self.where if lone else f"{self.hole} {self.where}".strip()
        return f"{place}: {self.value}" if self.value else place


@dataclass(frozen=True, eq=False)
class Finding:
    """Something in a table of holes that is odd, with the holes and rows where it is.

    Attributes
    ----------
    code : str
        Its short and stable name, one of `KINDS`.
    holes : tuple of str
        The hole of each case, "" for a row without one.
    where : callable
        Where a case stands in its table, by its number.
    value : callable
        The value of a case, by its number.
    accepted : bool
        Whether the caller has passed it.
    """

    code: str
    holes: Sequence[str]
    where: Callable[[int], str]
    value: Callable[[int], str]
    accepted: bool = False

    @property
    def count(self) -> int:
        """The number of cases."""
        return len(self.holes)

    @property
    def what(self) -> str:
        """What it says of several; the first word is what is counted."""
        return KINDS[self.code].what

    @property
    def mend(self) -> str:
        """How to mend it."""
        return KINDS[self.code].mend

    @property
    def severity(self) -> Severity:
        """A warning, or a note: what was accepted is a note."""
        return "note" if self.accepted else KINDS[self.code].severity

    @property
    def bad(self) -> bool:
        """Whether it is a warning, which ``strict`` refuses."""
        return self.severity == "warning"

    @property
    def first(self) -> tuple[str, ...]:
        """The first five cases, in words; each hole once where nothing else tells them apart."""
        return tuple(islice(dict.fromkeys(str(case) for case in self._some()), SHOWN))

    def _some(self) -> Iterator[Case]:
        return islice(self.cases(), 1 << 12)

    def cases(self) -> Iterator[Case]:
        """Yield every case."""
        for number, hole in enumerate(self.holes):
            yield Case(hole, self.where(number), self.value(number))

    def only(self, which: Sequence[int], *, accepted: bool) -> Finding:
        """Return a finding of some of the cases."""
        return Finding(
            self.code,
            [self.holes[number] for number in which],
            lambda number: self.where(which[number]),
            lambda number: self.value(which[number]),
            accepted,
        )

    def __str__(self) -> str:
        """Say it in a line, with its code."""
        first = self.first
        more = ", .." if self.count > len(first) else ""
        noun, _, rest = self.what.partition(" ")
        if self.count == 1:
            noun = noun.removesuffix("s")
            rest = " ".join(_OF_ONE.get(word, word) for word in rest.split(" "))
        passed = ", accepted" if self.accepted else ""
        return f"{self.count:,} {noun} {rest} ({', '.join(first)}{more}) [{self.code}{passed}]"

    def as_dict(self) -> dict[str, object]:
        """Give plain values, ready for JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "accepted": self.accepted,
            "what": self.what,
            "count": self.count,
            "first": list(self.first),
            "holes": list(dict.fromkeys(filter(None, self.holes))),
            "mend": self.mend,
        }


def note(
    found: list[Finding],
    code: str,
    holes: Iterable[str],
    where: Callable[[int], str] | Sequence[str] = (),
    value: Callable[[int], str] | Sequence[str] = (),
) -> None:
    """Add a finding to a list where there is any case of it."""
    each = list(holes)
    if each:
        found.append(Finding(code, each, _getter(where), _getter(value)))


def _getter(texts: Callable[[int], str] | Sequence[str]) -> Callable[[int], str]:
    """Return a function from the number of a case to its text."""
    if callable(texts):
        return texts
    return (lambda number: texts[number]) if texts else (lambda _: "")


# Acceptance and refusal


def require_codes(accept: Sequence[str]) -> tuple[tuple[str, str | None], ...]:
    """Return codes and holes of FINDING or FINDING:HOLE.

    Raises
    ------
    ValueError
        For a code that there is not.
    """
    pairs = []
    for text in [accept] if isinstance(accept, str) else accept:
        code, colon, hole = text.partition(":")
        if code not in KINDS:
            message = f"there is no finding {code!r} to accept; there are {', '.join(KINDS)}"
            raise ValueError(message)
        pairs.append((code, hole if colon else None))
    return tuple(pairs)


def require_bend(bend: Sequence[float]) -> tuple[float, float]:
    """Return an angle in degrees and a span; raise ValueError for what is none."""
    numbers = tuple(map(float, bend))
    if len(numbers) != 2 or not (0 < numbers[0] <= 180 and 0 < numbers[1] < math.inf):
        message = f"bend is {bend}; it is an angle above 0 to 180 degrees and a length above 0"
        raise ValueError(message)
    return numbers[0], numbers[1]


def accepted(
    found: Iterable[Finding],
    passed: Iterable[tuple[str, str | None]],
    names: Sequence[str] | None = None,
) -> list[Finding]:
    """Return findings with the passed cases of warnings as notes of their own.

    With the `names` of all holes, warn of a hole to pass that is none of them.
    """
    found = list(found)
    by_code: dict[str, set[str | None]] = {}
    for code, hole in passed:
        by_code.setdefault(code, set()).add(hole)
    if names is not None:
        known = {None, *names, *(hole for each in found for hole in each.holes)}
        strange = [(code, hole) for code, holes in by_code.items() for hole in holes - known]
        for code, hole in strange:
            meant = id_proposals([hole or ""], names)[0]
            warn(f"there is no hole {hole!r} to accept {code} of{': ' if meant else ''}{meant}")
    out = []
    for each in found:
        holes = by_code.get(each.code, set())
        if not holes or not each.bad:
            out.append(each)
            continue
        mine = [None in holes or hole in holes for hole in each.holes]
        for state in (False, True):
            which = [number for number, is_mine in enumerate(mine) if is_mine == state]
            if which:
                out.append(each.only(which, accepted=state))
    return out


def refuse_bad(found: Iterable[Finding], tables: str) -> None:
    """Raise TableError for the warnings among findings."""
    bad = [each for each in found if each.bad]
    if bad:
        more = f"; and {len(bad) - 3} more" if len(bad) > 3 else ""
        message = (
            f"{tables}: {'; '.join(map(str, bad[:3]))}{more}; mend them, do without strict=True, "
            f"or pass what is right with accept={bad[0].code!r}"
        )
        raise TableError(message)


def tell(found: Iterable[Finding]) -> None:
    """Warn of each warning among findings, with how to mend it."""
    for each in found:
        if each.bad:
            warn(f"{each}. {each.mend}")


def notes_of(found: Iterable[Finding], dips: str) -> list[str]:
    """Return the lines below a summary: the sign of dips, and the notes among findings.

    Warnings have been told by `tell`.
    """
    lines = [f"dips: {dips}"] if dips else []
    return lines + [f"note: {each}" for each in found if not each.bad]


# Ids


def id_proposals(strange: Sequence[str], known: Iterable[str]) -> list[str]:
    """Propose, for ids without a collar, the id that differs by case, zeros or blanks alone."""
    if not strange:
        return []
    alike: dict[str, list[str]] = {}
    for name in known:
        alike.setdefault(_skeleton(name), []).append(name)
    found = []
    for text in strange:
        same = [name for name in alike.get(_skeleton(text), ()) if name != text]
        found.append(f"is it {same[0]!r}?" if len(same) == 1 else "")
    return found


def _skeleton(name: str) -> str:
    """Return an id without case, blanks, marks between words, leading zeros, and a final .0."""
    plain = re.sub(r"[\s_\-.'\"]", "", re.sub(r"\.0+$", "", name.strip())).casefold()
    return re.sub(r"(?<!\d)0+(?=\d)", "", plain)


# Numbers that stand for a missing one in many tables.
MARKS = frozenset(
    float(sign + text)
    for sign, texts in (
        ("-", ("99", "999", "9999", "99999", "999999", "99.9", "99.99", "999.9", "999.99",
               "999.25", "9999.99", "9999.25", "1e30", "1e32", "1e38")),
        ("", ("99999", "999999", "9999999", "1e30", "1e32", "1e38")),
    )
    for text in texts
)  # fmt: skip


# Surveys


def check_angles(
    found: list[Finding],
    names: Sequence[str],
    holes: NDArray[np.intp],
    depths: Floats,
    azimuths: Floats,
    dips: Floats,
) -> Bools:
    """Look for azimuths and dips that are marks, radians, exchanged, or beyond what there is.

    Parameters
    ----------
    found : list of Finding
        Gets the findings.
    names : sequence of str
        Of the holes.
    holes : (m,) intp
        The hole of each station, -1 for one without a collar.
    depths, azimuths, dips : (m,) float64
        Degrees; dips positive down.

    Returns
    -------
    (m,) bool
        The stations whose azimuth and dip seem to be exchanged.
    """

    def add(code: str, which: Bools, values: Floats) -> None:
        rows = np.flatnonzero(which)
        note(found, code, (names[holes[row]] for row in rows),
             _depth_of(depths, rows), lambda number: f"{values[rows[number]]:.10g}")  # fmt: skip

    known = holes >= 0
    with np.errstate(invalid="ignore"):
        aimed = known & (np.abs(dips) != 90.0) & np.isfinite(azimuths)
        exchanged = known & (np.abs(dips) > 90) & (np.abs(dips) <= 360) & (np.abs(azimuths) <= 90)
        exchanged &= azimuths != 0
        marks = aimed & np.isin(azimuths, list(MARKS))
        negative = aimed & (azimuths < 0) & ~marks
        if negative.any():  # from -180 to 180: -99 is an azimuth
            marks &= azimuths < -360
        beyond = aimed & ~marks & ~exchanged & (np.abs(azimuths) > 360)
        wrapped = aimed & ~marks & ~exchanged & (azimuths < 0) & (azimuths >= -360)
        steep = known & (np.abs(dips) > 90) & ~exchanged
    rows = np.flatnonzero(exchanged)
    note(
        found,
        "angles-exchanged",
        (names[holes[row]] for row in rows),
        _depth_of(depths, rows),
        lambda number: f"azimuth {azimuths[rows[number]]:g}, dip {dips[rows[number]]:g}",
    )
    add("dip-beyond", steep, dips)
    add("azimuth-mark", marks, azimuths)
    add("azimuth-beyond", beyond, azimuths)
    add("azimuth-wrapped", wrapped, azimuths)
    usable = aimed & ~marks & ~exchanged & ~steep & np.isfinite(dips)
    if _are_radians(azimuths[usable], dips[usable]):
        add("angles-radians", usable, azimuths)
    return exchanged


def _depth_of(depths: Floats, rows: NDArray[np.intp]) -> Callable[[int], str]:
    """Return a function that says at what depth a station is."""
    return lambda number: "" if np.isnan(depths[rows[number]]) else f"at {depths[rows[number]]:g}"


def _are_radians(azimuths: Floats, dips: Floats) -> bool:
    """Tell whether angles can be radians, and degrees would be odd.

    Azimuths within 0 to 2 pi are honest where holes go north. So they must spread by more than
    pi without being whole, or the dips must be within a quarter turn as well.
    """
    if len(azimuths) < 2 or (azimuths < 0).any() or (azimuths > 6.2832).any():
        return False
    low = bool((np.abs(dips) <= 1.5708).all()) and bool((dips % 1 != 0).any())
    whole = bool((azimuths % 1 == 0).all())
    if not whole and _whole_degrees(np.unique(azimuths)):
        return True
    return (low and bool((azimuths > 0).any())) or (
        not whole and len(np.unique(azimuths)) >= 3 and float(np.ptp(azimuths)) > math.pi
    )


def _whole_degrees(azimuths: Floats) -> bool:
    """Tell whether several different angles, taken for radians, are plain ones in degrees.

    Plain are whole degrees, to a 200th, and to a 2,000th for one angle alone. Of angles with two
    decimals, which are as coarse as a third of a degree, only multiples of 5 degrees are.
    """
    angles = np.degrees(azimuths)
    slack = 0.005 if len(angles) > 1 else 0.0005
    if (np.abs(angles - np.round(angles)) <= slack).all():
        return True
    coarse = (np.round(azimuths, 2) == azimuths).all() and not (azimuths * 10 % 1 == 0).all()
    return bool(coarse and (np.abs(angles - 5 * np.round(angles / 5)) <= np.degrees(0.005)).all())


def check_exchanged(azimuths: Floats, dips: Floats) -> bool:
    """Tell whether two whole columns are exchanged: dips turn about, azimuths never pass 90."""
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
    found: list[Finding],
    names: Sequence[str],
    holes: NDArray[np.intp],
    offsets: Ints,
    depths: Floats,
    tangents: Floats,
    bend: tuple[float, float],
) -> None:
    """Look for holes that turn by more than an angle within a span.

    Compared are the directions of any two stations that are no more than the span apart, the
    angle between them as it is: extrapolated to the span, honest surveys turn by 40 degrees in 6
    units. A leg longer than the span may turn by the angle in each span that it begins.

    Parameters
    ----------
    found : list of Finding
        Gets the finding.
    names : sequence of str
    holes : (h,) intp
        Places of the holes with stations among the names.
    offsets : (h + 1,) int64
        Hole holes[i] has the stations offsets[i] to offsets[i + 1].
    depths : (m,) float64
    tangents : (m, 3) float64
    bend : (angle, span)
        In degrees, and in the unit of the file.
    """
    angle, span = bend
    owners = np.repeat(np.arange(len(holes)), np.diff(offsets))
    worst: dict[int, tuple[float, float, float]] = {}
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
            if turn > worst.get(hole, (0.0, 0.0, 0.0))[0]:
                worst[hole] = (turn, float(depths[row]), float(depths[row + lag]))
    sharp = sorted(worst)
    note(found, "hole-bend", (names[holes[place]] for place in sharp),
         value=[f"{turn:.1f} degrees from {begin:g} to {end:g}"
                for turn, begin, end in (worst[place] for place in sharp)])  # fmt: skip


def _lags(owners: Ints, depths: Floats, span: float) -> Iterator[int]:
    """Yield how many stations apart two within the span can be, 64 at most."""
    for lag in range(1, min(65, len(depths))):
        near = (owners[lag:] == owners[:-lag]) & (depths[lag:] - depths[:-lag] <= span)
        if lag > 1 and not near.any():
            return
        yield lag


def check_signs(found: list[Finding], names: Sequence[str], rising: Sequence[str]) -> None:
    """Name the holes that go up where all but very few go down.

    Underground holes go up in fans: more than one in fifty is no slip of a sign.
    """
    if len(names) > 1 and 0 < len(rising) <= max(1, len(names) // 50):
        note(found, "dip-sign", rising)


# Topography


class Ground(NamedTuple):
    """A topography: its name, and its tiles."""

    name: str
    tiles: Sequence[Mesh]

    def heights(self, points: Floats) -> Floats:
        """Return the elevation at points, nearest to each; NaN outside its footprint."""
        found = np.full(len(points), np.nan)
        if not len(points):
            return found
        for tile in self.tiles:
            low = min(float(tile.bounds[0, 2]), float(points[:, 2].min())) - 1.0
            high = max(float(tile.bounds[1, 2]), float(points[:, 2].max())) + 1.0
            ends = points.copy(), points.copy()
            ends[0][:, 2], ends[1][:, 2] = high, low
            with SegmentIntersector(tile, backend="cpu") as intersector:
                hits = intersector.intersect(ends, mode="all")
            heights = high + hits.t * (low - high)
            for row, height in zip(hits.segment.tolist(), heights.tolist(), strict=True):
                if not abs(height - points[row, 2]) >= abs(found[row] - points[row, 2]):
                    found[row] = height
        return found


def topography_among(surfaces: Iterable[Ground], holes: HolePaths) -> Ground | None:
    """Return the surface that is the topography: the first at which most of the collars are."""
    reach = 0.05 * float(np.median(holes.ends)) if len(holes) > 2 else 0.0
    for ground in surfaces:
        away = np.abs(holes.collars[:, 2] - ground.heights(holes.collars))
        if 2 * int((np.nan_to_num(away, nan=np.inf) <= reach).sum()) > len(holes) > 2:
            return ground
    return None


def check_topography(found: list[Finding], ground: Ground, holes: HolePaths) -> None:
    """Compare collars, and the ends of holes, with a topography.

    What counts as away is 10 times the median deviation of the collars from it, and a twentieth
    of the usual length of a hole at least. Dips are suspected to be measured from the vertical if
    at least half of the holes end above the topography or beside it, and at most a fifth of these
    would if they were.
    """
    collars, names = holes.collars, holes.names
    heights = ground.heights(collars)
    away = collars[:, 2] - heights
    known = np.isfinite(away)
    if not known.any():
        return
    spread = float(np.median(np.abs(away[known] - np.median(away[known]))))
    slack = max(10.0 * spread, 0.05 * float(np.median(holes.ends)))
    with np.errstate(invalid="ignore"):
        off = np.flatnonzero(np.abs(away) > slack)
    note(found, "collar-off-topography", [names[row] for row in off],
         value=lambda number: f"z {collars[off[number], 2]:.10g}, "
         f"{ground.name} {heights[off[number]]:.10g}")  # fmt: skip
    sound = np.abs(np.nan_to_num(away, nan=np.inf)) <= slack
    ends = holes.points_at(np.arange(len(holes)), holes.ends)
    levels = ground.heights(ends)
    with np.errstate(invalid="ignore"):
        above = sound & (ends[:, 2] - levels > slack)
    rows = np.flatnonzero(above)
    note(found, "end-above-topography", [names[row] for row in rows],
         value=lambda number: f"z {ends[rows[number], 2]:.10g}, "
         f"{ground.name} {levels[rows[number]]:.10g}")  # fmt: skip
    lost = int((above | (sound & _beyond(ground, ends))).sum())
    if lost < 2 or 2 * lost < int(sound.sum()):
        return
    other = _from_vertical(holes)
    others = other.at(other.find(np.arange(len(holes)), holes.ends), holes.ends)
    with np.errstate(invalid="ignore"):
        high = others[:, 2] - ground.heights(others) > slack
    if 5 * int((sound & (high | _beyond(ground, others))).sum()) <= lost:
        note(found, "dip-from-vertical", [names[row] for row in np.flatnonzero(sound)])


def check_dips(found: list[Finding], solids: Sequence[Mesh], holes: HolePaths) -> None:
    """Suspect dips that were measured from the vertical, by the boxes that holes never enter.

    Holes are drilled into what was modelled; a solid in which most of them begin says nothing. If
    half of them or more stay out of the box of every other solid, and four in five of these would
    enter one with the other angle, it is suspected.
    """
    if not solids or any(each.code == "dip-from-vertical" for each in found):
        return
    boxes = np.array([mesh.bounds for mesh in solids])
    starts = [((holes.collars >= low) & (holes.collars <= high)).all(axis=1) for low, high in boxes]
    boxes = boxes[[2 * int(each.sum()) <= len(holes) for each in starts]]
    if not len(boxes):
        return
    if len(boxes) > 64:
        boxes = np.array([[boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)]])
    lost = np.logical_not(_enters(boxes, holes.curves, holes.ends))
    if int(lost.sum()) < 2 or 2 * int(lost.sum()) < len(holes):
        return
    mended = np.logical_and(lost, _enters(boxes, _from_vertical(holes), holes.ends))
    if 5 * int(mended.sum()) >= 4 * int(lost.sum()):
        note(found, "dip-from-vertical", [holes.names[row] for row in np.flatnonzero(mended)],
             value=lambda _: "stays out of the box of every solid")  # fmt: skip


def _enters(boxes: Floats, curves: Curves, ends: Floats) -> Bools:
    """Tell the holes that enter a box (n, 2, 3), looked at from one 64th of a hole to the next."""
    steps = np.linspace(0.0, 1.0, 65)
    rows = np.repeat(np.arange(len(ends)), len(steps))
    depths = np.outer(ends, steps).ravel()
    points = curves.at(curves.find(rows, depths), depths)
    inside = np.zeros(len(points), np.bool_)
    for low, high in boxes:
        within = ((points >= low) & (points <= high)).all(axis=1)
        np.logical_or(inside, within, out=inside)
    return np.asarray(inside.reshape(len(ends), len(steps)).any(axis=1))


def _from_vertical(holes: HolePaths) -> Curves:
    """Return holes as they would be if their dips were measured from the vertical."""
    curves = holes.curves
    level = np.hypot(curves.tangents[:, 0], curves.tangents[:, 1])
    aim = curves.tangents[:, :2] / np.where(level > 0, level, 1.0)[:, None]
    aim[level == 0] = 0.0, 1.0
    tangents = np.column_stack([aim * np.abs(curves.tangents[:, 2:]), -level])
    return make_curves(curves.offsets, curves.depths, tangents, holes.collars, "tangent")


def _beyond(ground: Ground, points: Floats) -> Bools:
    """Tell the points outside the footprint's box by more than a tenth of it."""
    low = np.min([tile.bounds[0, :2] for tile in ground.tiles], axis=0)
    high = np.max([tile.bounds[1, :2] for tile in ground.tiles], axis=0)
    slack = 0.1 * (high - low)
    out: Bools = ((points[:, :2] < low - slack) | (points[:, :2] > high + slack)).any(axis=1)
    return out
