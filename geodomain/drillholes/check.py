"""Check tables of drillholes in more detail: findings as a table, and counts of unused rows.

`Drillholes` makes the checks in the modules `collars`, `stations`, `intervals` and `ground`.
`check_tables` adds checks of ids that look alike, copied and twinned holes, long legs, flips of the
dip, jumps of the azimuth, repeated intervals and samples, and grades.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats, TableColumn
from geodomain.drillholes.collars import Collars, usual_spacing
from geodomain.drillholes.curves import HolePaths, bends_between
from geodomain.drillholes.findings import Finding, accepted, id_skeleton, note
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.stations import Stations, SurveyRows
from geodomain.drillholes.tables import HoleTable, is_geometry, plain
from geodomain.errors import TableError, counted, in_lines
from geodomain.result_tables import data_frame, html_table, text_table
from geodomain.tables.numbers import MARKS, NO_GRADE, Kind
from geodomain.tables.vendors import find_column

if TYPE_CHECKING:
    import pandas

Rows = NDArray[np.intp]

LEVELS = ("error", "warning", "note")
COLUMNS = (
    "severity", "code", "finding", "table", "hole", "row", "other_row", "depth", "from", "to",
    "value", "mend",
)  # fmt: skip


class MatchedTables(NamedTuple):
    """Tables of holes, and the objects made from their rows.

    Attributes
    ----------
    tables : dict of str to HoleTable
        The tables: "collar", "survey", and "intervals" or "intervals 1", "intervals 2", ...
    collars : Collars
        The collars that can be used.
    survey : SurveyRows
        All stations, before any is left out.
    stations : Stations
        The stations of the usable holes.
    intervals : dict of str to Intervals
        The rows of each interval table.
    left_out : dict of str to str
        The holes that are left out, with the code of the finding about each.
    paths : HolePaths
        The curves of the usable holes.
    down : int
        1 if positive dips of the survey point down, otherwise -1.
    """

    tables: dict[str, HoleTable]
    collars: Collars
    survey: SurveyRows
    stations: Stations
    intervals: dict[str, Intervals]
    left_out: dict[str, str]
    paths: HolePaths
    down: int


@dataclass(frozen=True)
class RowCount:
    """Counts of the rows of a table; a finding says why a row is not used.

    Attributes
    ----------
    name : str
        Name of the table's file.
    rows, used : int
        Number of rows in the table, and of rows that are used.
    not_used : dict of str to int
        Number of unused rows, by the code of the finding about them.
    """

    name: str
    rows: int
    used: int
    not_used: dict[str, int]


@dataclass(frozen=True, eq=False, repr=False)
class HoleCheck:
    """Findings of a check of drillholes, and counts of rows; ``print`` it.

    Attributes
    ----------
    holes : int
        Number of usable holes.
    length : float
        Total length of the usable holes, in the unit of the file.
    tables : dict of str to RowCount
        Rows of each table, used and not used.
    findings : tuple of Finding
        All findings; `to_pandas` has a row for each case.
    twin : float
        Largest distance between twinned holes.
    grades : dict of str to tuple of str
        Columns of grades that were checked, by table.
    matched : MatchedTables
        The tables.
    """

    holes: int
    length: float
    tables: dict[str, RowCount]
    findings: tuple[Finding, ...]
    twin: float
    grades: dict[str, tuple[str, ...]]
    matched: MatchedTables

    @property
    def counts(self) -> dict[str, int]:
        """Number of cases by severity: errors, warnings and notes."""
        return {
            level: sum(each.count for each in self.findings if each.level == level)
            for level in LEVELS
        }

    @property
    def fit(self) -> bool:
        """Whether there is no error and no warning."""
        return not any(each.bad for each in self.findings)

    def __len__(self) -> int:
        """Return the number of cases."""
        return sum(each.count for each in self.findings)

    def __repr__(self) -> str:
        """Return the number of holes, and the number of cases by severity."""
        return f"<HoleCheck of {counted(self.holes, 'hole')}: {self._cases()}>"

    def __str__(self) -> str:
        """Return counts of rows, and the findings with their remedies, as lines of text."""
        lines = [f"{counted(self.holes, 'hole')}, {self.length:,.1f} long in all", ""]
        lines += text_table(self._rows(), names=2)
        for key, table in self.tables.items():
            if table.not_used:
                why = ", ".join(f"{count:,} {code}" for code, count in table.not_used.items())
                lines.append(f"not used of {key}: {why}")
        checked = dict.fromkeys(name for names in self.grades.values() for name in names)
        lines += ["", f"grades checked: {', '.join(checked) or 'none'}", ""]
        for level in LEVELS:
            for each in self.findings:
                if each.level == level:
                    lines.append(f"{level:<7}  {each}{self._in(each)}")
                    lines += [f"         {each.mend}"] if each.bad else []
        return in_lines([*lines, self._cases()])

    def _repr_html_(self) -> str:
        """Return rows read and used, and the findings, as a table for a notebook."""
        headings, *rows = self._rows()
        notes = [f"{each.level}: {each}{self._in(each)}" for each in self.findings]
        title = counted(self.holes, "drillhole")
        return html_table(title, rows, headings=headings, notes=[*notes, self._cases()])

    def _in(self, finding: Finding) -> str:
        """Return the interval table of a finding, if there are several."""
        several = len(self.matched.intervals) > 1 and finding.table in self.matched.intervals
        return f" in {self.tables[finding.table].name}" if several else ""

    def _cases(self) -> str:
        """Return the number of cases by severity."""
        names = [f"{counted(count, level)}" for level, count in self.counts.items()]
        return f"{', '.join(names[:2])} and {names[2]}"

    def _rows(self) -> list[list[str]]:
        """Return the cells of the table of rows, headings first."""
        rows = [["table", "file", "rows", "used", "not used"]]
        for key, count in self.tables.items():
            numbers = count.rows, count.used, count.rows - count.used
            rows.append([key, count.name, *(f"{number:,}" for number in numbers)])
        return rows

    def as_dict(self) -> dict[str, object]:
        """Return rows and findings as plain values, ready for JSON."""
        return {
            "holes": self.holes,
            "length": self.length,
            "tables": {
                key: {
                    "name": count.name,
                    "rows": count.rows,
                    "used": count.used,
                    "not_used": count.not_used,
                }
                for key, count in self.tables.items()
            },
            "twin": self.twin,
            "grades": {key: list(names) for key, names in self.grades.items()},
            "counts": self.counts,
            "findings": [
                each.as_dict() | {"severity": each.level, "table": each.table}
                for each in self.findings
            ],
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return a row for each case of a finding, hole by hole."""
        return data_frame(self.columns, {"row": "Int64", "other_row": "Int64"})

    # Types of the columns that are not text.
    kinds: ClassVar = {
        **dict.fromkeys(("row", "other_row"), "int64"),
        **dict.fromkeys(("depth", "from", "to"), "float64"),
    }

    @cached_property
    def columns(self) -> dict[str, TableColumn]:
        """The columns of the table of findings, sorted by hole in the order of the collars.

        Missing rows are None, and missing depths NaN. A row of a text table is the number of the
        line in the file; other rows are counted from 0. A case without a row of its own has the
        row of its collar.
        """
        codes, ids = self.matched.tables["collar"].ids
        distinct, first = np.unique(codes, return_index=True)
        home = {ids[code]: row for code, row in zip(distinct.tolist(), first.tolist(), strict=True)}
        home.pop("", None)
        parts: dict[str, list[object]] = {name: [] for name in COLUMNS}
        numbers = {name: [np.empty(0)] for name in ("depth", "from", "to")}
        ranks = [np.empty(0, np.intp)]
        last = len(codes)
        unknown: dict[str, int] = {}
        for each in self.findings:
            collars = np.array([home.get(hole, -1) for hole in each.holes], np.intp)
            rank = collars.copy()
            for place in np.flatnonzero(collars < 0).tolist():
                rank[place] = last + unknown.setdefault(each.holes[place], len(unknown))
            ranks.append(rank)
            none = np.full(each.count, -1)
            rows, others = (none if which is None else which for which in (each.rows, each.others))
            own = rows >= 0
            inner = np.where(own, rows, 0)
            depths = self._depths(each.table, inner)
            for name, values in zip(numbers, depths, strict=True):
                numbers[name].append(np.where(own, values, np.nan))
            lines, twins = (self._lines(each.table, which) for which in (rows, others))
            starts = self._lines("collar", np.where(own, -1, collars))
            detail = each.detail or each.value
            parts["severity"] += [each.level] * each.count
            parts["code"] += [each.code] * each.count
            parts["finding"] += [each.what] * each.count
            parts["table"] += [each.table if which else "collar" for which in own.tolist()]
            parts["hole"] += each.holes
            parts["row"] += [a if b is None else b for a, b in zip(lines, starts, strict=True)]
            parts["other_row"] += twins
            parts["value"] += map(detail, range(each.count))
            parts["mend"] += [each.mend] * each.count
        order = np.argsort(np.concatenate(ranks), kind="stable")
        places = order.tolist()
        return {
            name: np.concatenate(numbers[name])[order]
            if name in numbers
            else [parts[name][place] for place in places]
            for name in COLUMNS
        }

    def _lines(self, key: str, rows: Rows) -> list[int | None]:
        """Return the number of the line, or the index, of each row; None for -1."""
        present = rows >= 0
        lines = np.full(len(rows), -1, np.int64)
        lines[present] = self.matched.tables[key].lines(rows[present]) if present.any() else -1
        return [None if line < 0 else line for line in lines.tolist()]

    def _depths(self, key: str, rows: Rows) -> tuple[Floats, Floats, Floats]:
        """Return depths of stations, FROM and TO of rows of a table; NaN if the table has none.

        `rows` need not exist if the table is empty, or has no such numbers.
        """
        none = np.full(len(rows), np.nan)
        if key in self.matched.intervals:
            log = self.matched.intervals[key]
            return (none, log.starts[rows], log.ends[rows]) if len(log.starts) else (none,) * 3
        survey = self.matched.tables.get("survey")
        if key != "survey" or survey is None or not len(survey):
            return none, none, none
        return survey.numbers("at")[rows], none, none


def check_tables(
    matched: MatchedTables,
    earlier: Iterable[Finding],
    *,
    grades: Sequence[str] = (),
    twin: float | None = None,
    accept: Iterable[tuple[str, str | None]] = (),
) -> HoleCheck:
    """Add the checks of this module to the findings of `Drillholes`, and count rows.

    Parameters
    ----------
    matched : MatchedTables
        The tables.
    earlier : iterable of Finding
        The findings about them so far.
    grades : sequence of str
        Columns of grades; by default all columns that look like grades.
    twin : float, optional
        Largest distance between twinned holes.
    accept : iterable of (str, str or None)
        Code and hole of each accepted finding; None accepts the code for all holes.

    Raises
    ------
    TableError
        If no interval table has a column of `grades`.
    """
    findings = list(earlier)
    paths = matched.paths
    distance = min(5.0, usual_spacing(paths.collars) / 4) if twin is None else float(twin)
    check_ids(findings, [*matched.collars.names, *matched.collars.left_out])
    check_twins(findings, paths, matched.stations, distance)
    check_ends(findings, matched)
    check_stations(findings, matched)
    tables = _account(findings, matched)
    for key, rows in matched.intervals.items():
        check_repeats(findings, rows, key)
        check_samples(findings, rows, key)
    checked = check_grades(findings, matched.intervals, grades)
    return HoleCheck(
        holes=len(paths),
        length=float(paths.ends.sum()),
        tables=tables,
        findings=tuple(accepted(findings, accept)),
        twin=distance,
        grades=checked,
        matched=matched,
    )


# --- Rows that are used, and rows that are not.


def _account(findings: list[Finding], matched: MatchedTables) -> dict[str, RowCount]:
    """Count the rows of each table: used, and not used by the code of a finding.

    Adds a finding about the stations of holes that are left out.
    """
    counts: dict[str, RowCount] = {}
    for key, table in matched.tables.items():
        if key == "collar":
            reasons = _unused_collars(matched)
        elif key == "survey":
            reasons = _unused_stations(findings, matched)
        else:
            unused = matched.intervals[key].unused
            reasons = {code: len(rows) for code, rows in unused.items() if len(rows)}
        used = len(table) - sum(reasons.values())
        counts[key] = RowCount(table.name, len(table), used, reasons)
    return counts


def _unused_collars(matched: MatchedTables) -> dict[str, int]:
    """Return the number of unused rows of the collar table, by the code of a finding."""
    codes, ids = matched.tables["collar"].ids
    names = sorted({"collar-no-hole", "collar-twice", *matched.left_out.values()})
    number = {name: place for place, name in enumerate(names)}
    own = [number[matched.left_out[text]] if text in matched.left_out else -1 for text in ids]
    reason = np.array(own, np.intp)[codes]
    repeated = np.ones(len(codes), np.bool_)
    repeated[matched.collars.rows] = False
    reason[repeated & (reason < 0)] = number["collar-twice"]
    reason[~np.array([bool(text) for text in ids], np.bool_)[codes]] = number["collar-no-hole"]
    counts = np.bincount(reason[reason >= 0], minlength=len(names))
    return {name: int(counts[place]) for name, place in number.items() if counts[place]}


def _unused_stations(findings: list[Finding], matched: MatchedTables) -> dict[str, int]:
    """Return the number of unused rows of the survey, by the code of a finding.

    Adds a finding about stations that no other finding explains: their hole is left out.
    """
    table = matched.tables["survey"]
    codes, ids = table.ids
    todo = np.ones(len(table), np.bool_)
    todo[matched.stations.places[matched.stations.places >= 0]] = False
    lost = {*matched.collars.names, *matched.collars.left_out}
    strange = todo & ~np.array([text in lost for text in ids], np.bool_)[codes]
    reasons = {"survey-no-collar": int(strange.sum())}
    todo &= ~strange
    for code in ("station-above", "station-incomplete", "station-twice"):
        for each in findings:
            if each.code == code and each.rows is not None:
                rows = each.rows[each.rows >= 0]
                reasons[code] = reasons.get(code, 0) + int(todo[rows].sum())
                todo[rows] = False
    rest = np.flatnonzero(todo)
    reasons["station-left-out"] = len(rest)
    note(findings, "station-left-out", [ids[code] for code in codes[rest].tolist()],
         lambda number: table.where(int(rest[number])), table="survey", rows=rest)  # fmt: skip
    return {code: count for code, count in reasons.items() if count}


# --- Holes: ids, copies, twins, depths.


def check_ids(findings: list[Finding], names: Sequence[str]) -> None:
    """Find ids of holes that differ only in case, blanks, punctuation, zeros or the letter O."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(id_skeleton(name), []).append(name)
    pairs = [(later, same[0]) for same in alike.values() for later in same[1:]]
    note(
        findings,
        "id-alike",
        [later for later, _ in pairs],
        value=[f"like {earlier!r}" for _, earlier in pairs],
    )


# Fractions of the shorter hole at which two holes are compared; and the largest change of their
# distance, in lengths of the shorter hole.
_FRACTIONS, _PARTING = (1.0, 0.5, 0.25, 0.75), 0.1
# Most collars with which one collar is compared in a cell, and pairs that are compared at a time.
_MOST_NEAR, _PAIRS = 1000, 1 << 20


def check_twins(
    findings: list[Finding], paths: HolePaths, stations: Stations, distance: float
) -> None:
    """Find copied holes, and holes that run beside an earlier hole of the table.

    Two holes are twins if their collars, and the points at a quarter, half, three quarters and the
    end of the shorter hole, are at most `distance` apart, and their distance changes by at most a
    tenth of that hole's length. If both also have the same stations and end, one is a copy of the
    other. The finding names the nearest twin, and the number of the others.
    """
    firsts = _copies(paths, stations)
    names, own = paths.names, np.arange(len(paths))
    copies = np.flatnonzero(firsts != own).tolist()
    note(findings, "hole-copy", [names[hole] for hole in copies],
         value=[f"like {names[firsts[hole]]}" for hole in copies])  # fmt: skip
    nearest, apart = np.full(len(paths), -1), np.full(len(paths), np.inf)
    counts = np.zeros(len(paths), np.intp)
    for left, right in _near_pairs(paths.collars, distance):
        others = firsts[left] != firsts[right]
        first, second, most = _twins(paths, left[others], right[others], distance)
        order = np.lexsort((first, most, second))
        first, second, most = first[order], second[order], most[order]
        holes, begins, many = np.unique(second, return_index=True, return_counts=True)
        counts[holes] += many
        better = most[begins] < apart[holes]
        better |= (most[begins] == apart[holes]) & (first[begins] < nearest[holes])
        holes, begins = holes[better], begins[better]
        nearest[holes], apart[holes] = first[begins], most[begins]
    twins = np.flatnonzero(nearest >= 0).tolist()
    more = {1: "", 2: ", and 1 other"}
    texts = [
        f"{names[nearest[hole]]}, at most {apart[hole]:.3g} apart"
        + more.get(int(counts[hole]), f", and {counts[hole] - 1:,} others")
        for hole in twins
    ]
    note(findings, "hole-twin", [names[hole] for hole in twins], value=texts)


def _twins(
    paths: HolePaths, first: Rows, second: Rows, distance: float
) -> tuple[Rows, Rows, Floats]:
    """Return the pairs of holes that are twins, and the largest distance of each pair."""
    lengths = np.minimum(paths.ends[first], paths.ends[second])
    start = paths.collars[second] - paths.collars[first]
    most = np.sqrt((start * start).sum(axis=1))
    near = (most <= distance) & (lengths > 0)
    for fraction in _FRACTIONS:
        first, second, lengths = first[near], second[near], lengths[near]
        start, most = start[near], most[near]
        depths = fraction * lengths
        apart = paths.points_at(second, depths) - paths.points_at(first, depths)
        most = np.maximum(most, np.sqrt((apart * apart).sum(axis=1)))
        near = most <= distance
        near &= np.sqrt(((apart - start) ** 2).sum(axis=1)) <= _PARTING * lengths
    return first[near], second[near], most[near]


def _copies(paths: HolePaths, stations: Stations) -> Rows:
    """Return, for each hole, the first hole with the same collar, stations and end: or itself."""
    _, places, many = np.unique(paths.collars, axis=0, return_inverse=True, return_counts=True)
    firsts = np.arange(len(paths))
    first_of: dict[tuple[bytes, ...], int] = {}
    for hole in np.flatnonzero(many[places.ravel()] > 1).tolist():
        part = slice(*stations.offsets[[hole, hole + 1]].tolist())
        parts = (
            paths.collars[hole],
            paths.ends[hole],
            stations.depths[part],
            stations.tangents[part],
        )
        firsts[hole] = first_of.setdefault(tuple(each.tobytes() for each in parts), hole)
    return firsts


def _near_pairs(points: Floats, distance: float) -> Iterator[tuple[Rows, Rows]]:
    """Yield pairs of neighbouring points, each pair once; many are at most `distance` apart.

    Points are put into the cells of a grid, and compared with those of the neighbouring cells. Each
    point is compared with at most 1,000 others of a cell: the next ones in the order of rows.
    """
    if len(points) < 2:
        return
    low = points.min(axis=0)
    # Three numbers of a cell must fit into 62 bits.
    size = max(distance, float(np.ptp(points, axis=0).max()) / (1 << 19), 1e-9)
    cells = np.floor((points - low) / size).astype(np.int64) + 1
    steps = np.array([1 << 40, 1 << 20, 1])
    keys = cells @ steps
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    offsets = [
        (x, y, z)
        for x in (-1, 0, 1)
        for y in (-1, 0, 1)
        for z in (-1, 0, 1)
        if (x, y, z) >= (0, 0, 0)
    ]
    for offset in offsets:
        wanted = keys + int(np.dot(offset, steps))
        begins = np.searchsorted(keys, wanted, side="left")
        ends = np.searchsorted(keys, wanted, side="right")
        if offset == (0, 0, 0):
            begins = np.arange(len(keys)) + 1
        counts = np.clip(ends - begins, 0, _MOST_NEAR)
        sums = np.concatenate([[0], np.cumsum(counts)])
        at = 0
        while at < len(keys):
            to = max(int(np.searchsorted(sums, sums[at] + _PAIRS, side="right")) - 1, at + 1)
            some = counts[at:to]
            ones = np.repeat(np.arange(at, to), some)
            if ones.size:
                inner = np.arange(ones.size) - np.repeat(sums[at:to] - sums[at], some)
                right = order[np.repeat(begins[at:to], some) + inner]
                left = order[ones]
                yield np.minimum(left, right), np.maximum(left, right)
            at = to


def check_ends(findings: list[Finding], matched: MatchedTables) -> None:
    """Find holes without a depth in the collar table, and holes that go on below their intervals.

    Both checks need a column of depths. The part below the last interval must be longer than every
    interval of the hole.
    """
    collars, paths = matched.collars, matched.paths
    if "end" not in matched.tables["collar"].roles:
        return
    with np.errstate(invalid="ignore"):
        bare = np.flatnonzero(~(collars.ends > 0))
    note(findings, "collar-no-end", [collars.names[row] for row in bare.tolist()],
         rows=collars.rows[bare],
         detail=lambda number: f"{collars.ends[bare[number]]:.10g}".replace("nan", ""))  # fmt: skip
    stated = np.nan_to_num(collars.ends[matched.stations.holes]) > 0
    for key, log in matched.intervals.items():
        rows = np.flatnonzero(log.usable)
        holes = log.holes[rows]
        deepest, longest = np.full((2, len(paths)), -np.inf)
        np.maximum.at(deepest, holes, log.ends[rows])
        np.maximum.at(longest, holes, log.ends[rows] - log.starts[rows])
        with np.errstate(invalid="ignore"):
            short = np.flatnonzero(stated & (paths.ends - deepest > longest) & (longest > 0))
        lasts = np.full(len(paths), -1)
        lasts[holes[log.ends[rows] == deepest[holes]]] = rows[log.ends[rows] == deepest[holes]]
        texts = [
            f"the last {paths.ends[hole] - deepest[hole]:.10g} of {paths.ends[hole]:.10g}"
            for hole in short.tolist()
        ]
        note(findings, "interval-short", [paths.names[hole] for hole in short.tolist()],
             value=texts, table=key, rows=lasts[short])  # fmt: skip


# --- Stations: long legs, flips of the dip, jumps of the azimuth.

# Legs are checked in holes with at least `_LEGS` legs. In multiples of the median leg: a long leg,
# and the tolerance of alike legs. Legs are regular if at least this fraction is alike.
_LEGS, _LONG, _ALIKE, _MOSTLY = 4, 1.8, 0.25, 0.6
# Dips of level holes, in degrees, may have any sign.
_LEVEL = 5.0
# Least jump of an azimuth, in degrees of direction, and in multiples of the usual scatter of the
# survey; and the largest difference of the neighbours, and of the dips, as a fraction of the jump.
_JUMP, _SCATTER, _BACK = 5.0, 6.0, 1 / 3


def check_stations(findings: list[Finding], matched: MatchedTables) -> None:
    """Find long legs between stations, flips of the dip, and jumps of the azimuth.

    The azimuth of a station jumps if three conditions are met. The station differs from the
    direction between its neighbours. The neighbours agree with each other. The dip of the station
    agrees with them as well. Differences are angles between directions, because azimuths of steep
    holes scatter.
    """
    stations = matched.stations
    names, places = matched.paths.names, stations.places
    owners = np.repeat(np.arange(len(names)), np.diff(stations.offsets))
    depths, tangents = stations.depths, stations.tangents
    level = np.hypot(tangents[:, 0], tangents[:, 1])
    dips = np.degrees(np.arctan2(-tangents[:, 2], level))
    azimuths = np.degrees(np.arctan2(tangents[:, 0], tangents[:, 1])) % 360.0
    same = owners[1:] == owners[:-1]
    surveyed = same & (places[:-1] >= 0)
    _check_legs(findings, matched, np.flatnonzero(surveyed), owners)

    flips = np.flatnonzero(
        same & (dips[1:] * dips[:-1] < 0) & (np.minimum(*np.abs([dips[1:], dips[:-1]])) > _LEVEL)
    )
    note(findings, "dip-flip", [names[owners[row]] for row in flips.tolist()],
         lambda number: f"at {depths[flips[number] + 1]:g}",
         lambda number: f"dip {matched.down * dips[flips[number] + 1]:.6g} after "
         f"{matched.down * dips[flips[number]]:.6g}",
         table="survey", rows=places[flips + 1], others=places[flips])  # fmt: skip

    inner = np.flatnonzero(same[1:] & same[:-1]) + 1
    above, below = tangents[inner - 1], tangents[inner + 1]
    share = (depths[inner] - depths[inner - 1]) / (depths[inner + 1] - depths[inner - 1])
    meant = above + share[:, None] * (below - above)
    meant /= np.maximum(np.sqrt((meant * meant).sum(axis=1)), 1e-9)[:, None]
    away = np.degrees(bends_between(meant, tangents[inner])[0])
    turn = np.degrees(bends_between(above, below)[0])
    rise = np.abs(np.degrees(np.arcsin(np.clip(-meant[:, 2], -1.0, 1.0))) - dips[inner])
    usual = float(np.median(away)) if away.size else 0.0
    jumps = (away > max(_JUMP, _SCATTER * usual)) & (np.maximum(turn, rise) < _BACK * away)
    rows = inner[jumps]
    aims = np.degrees(np.arctan2(meant[jumps, 0], meant[jumps, 1])) % 360.0
    note(findings, "azimuth-jump", [names[owners[row]] for row in rows.tolist()],
         lambda number: f"at {depths[rows[number]]:g}",
         lambda number: f"azimuth {azimuths[rows[number]]:.6g}, by its neighbours "
         f"{aims[number]:.4g}",
         table="survey", rows=places[rows])  # fmt: skip


def _check_legs(findings: list[Finding], matched: MatchedTables, legs: Rows, owners: Rows) -> None:
    """Find long legs in holes with regular legs: stations may be missing there.

    Legs are regular if most of them are about as long as the median leg of the hole. A long leg is
    nearly twice as long or longer, and the legs above and below it are not. Legs that end below the
    hole are left out: their last station is a dummy.
    """
    stations, paths = matched.stations, matched.paths
    depths = stations.depths
    legs = legs[depths[legs + 1] <= paths.ends[owners[legs]]]
    lengths, holes = depths[legs + 1] - depths[legs], owners[legs]
    counts = np.bincount(holes, minlength=len(paths))
    begins = np.cumsum(counts) - counts
    many = np.flatnonzero(counts >= _LEGS)
    usual = np.full(len(paths), np.inf)
    usual[many] = lengths[np.lexsort((lengths, holes))][begins[many] + counts[many] // 2]
    ratios = lengths / usual[holes]
    alike = np.bincount(holes[np.abs(ratios - 1.0) <= _ALIKE], minlength=len(paths))
    regular = alike >= _MOSTLY * counts
    same = holes[1:] == holes[:-1]
    above = np.concatenate([[0.0], np.where(same, ratios[:-1], 0.0)])[: len(ratios)]
    below = np.concatenate([np.where(same, ratios[1:], 0.0), [0.0]])[: len(ratios)]
    beside = np.maximum(above, below) <= 1.0 + _ALIKE
    rows = np.flatnonzero((ratios >= _LONG) & regular[holes] & beside)
    long = legs[rows]
    note(findings, "station-gap", [paths.names[owners[row]] for row in long.tolist()],
         lambda number: f"at {depths[long[number]]:g}",
         lambda number: f"{lengths[rows[number]]:.10g} long, usually "
         f"{usual[owners[long[number]]]:.10g}",
         table="survey", rows=stations.places[long], others=stations.places[long + 1])  # fmt: skip


# --- Intervals: repeated rows, repeated samples, grades.

# Names of columns of sample ids, without case, blanks and punctuation.
_SAMPLES = {
    "sample", "sampleid", "sampid", "samplename", "sampleno", "sampno", "samplenum", "sampnum",
    "samplenumber", "sampleref", "sampletag",
}  # fmt: skip


def check_repeats(findings: list[Finding], log: Intervals, key: str) -> None:
    """Find usable intervals with the hole, FROM and TO of an earlier row."""
    rows = log.order
    holes, starts = log.holes[rows], log.starts[rows]
    again = (holes[1:] == holes[:-1]) & (starts[1:] == starts[:-1])
    some = np.zeros(len(rows), np.bool_)
    some[1:] |= again
    some[:-1] |= again
    rows = rows[some]
    rows = rows[np.lexsort((rows, log.ends[rows], log.starts[rows], log.holes[rows]))]
    same = np.ones(max(len(rows) - 1, 0), np.bool_)
    for values in (log.holes[rows], log.starts[rows], log.ends[rows]):
        same &= values[1:] == values[:-1]
    later = np.flatnonzero(same) + 1
    fresh = np.concatenate([[True], ~same]) if len(rows) else np.empty(0, np.bool_)
    firsts = rows[np.maximum.accumulate(np.where(fresh, np.arange(len(rows)), 0))]
    rows, firsts = rows[later], firsts[later]
    codes, ids = log.table.ids
    note(findings, "interval-twice", [ids[code] for code in codes[rows].tolist()],
         lambda number: f"at {log.starts[rows[number]]:g}", table=key, rows=rows,
         others=firsts)  # fmt: skip


def check_samples(findings: list[Finding], log: Intervals, key: str) -> None:
    """Find ids of samples that appear at two intervals, in a column with a usual name."""
    table = log.table
    place = next((at for at, name in enumerate(table.names) if plain(name) in _SAMPLES), None)
    if place is None or place in table.roles.values():
        return
    samples, texts = table.texts(place)
    order = np.argsort(samples, kind="stable")
    same = samples[order][1:] == samples[order][:-1]
    fresh = np.concatenate([[True], ~same])[: len(order)]
    firsts = order[np.maximum.accumulate(np.where(fresh, np.arange(len(order)), 0))]
    filled = np.array([bool(text) for text in texts], np.bool_)
    here = np.flatnonzero(~fresh & filled[samples[order]])
    rows, firsts = order[here], firsts[here]
    codes, ids = table.ids
    moved = codes[rows] != codes[firsts]
    for values in (log.starts, log.ends):
        moved |= values[rows] != values[firsts]
    rows, firsts = rows[moved], firsts[moved]
    sorting = np.argsort(rows, kind="stable")
    rows, firsts = rows[sorting], firsts[sorting]
    note(findings, "sample-twice", [ids[code] for code in codes[rows].tolist()],
         lambda number: f"at {log.starts[rows[number]]:g}",
         lambda number: f"{table.names[place]} {texts[samples[rows[number]]]}",
         table=key, rows=rows, others=firsts)  # fmt: skip


# A column may hold grades if at least this fraction of its cells are numbers; the largest fraction
# of numbers below 0, unless these are few different values, as detection limits are; and the number
# of cells that are read first.
_NUMBERS, _FEW_NEGATIVE, _LIMITS, _SAMPLE = 0.5, 0.1, 20, 500


def check_grades(
    findings: list[Finding], logs: Mapping[str, Intervals], grades: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Check columns of grades: negative numbers, marks, values below detection, and other texts.

    Return the names of the columns checked, by table. Without `grades`, a column counts as grades
    on three conditions. At least half of its cells are numbers. At most a tenth of the numbers are
    below 0, or these have at most 20 different values, as detection limits do. The column has no
    usual name of a depth, coordinate, size, angle or sample.

    Raises
    ------
    TableError
        If there is no table, or no table has a column of `grades`.
    """
    if grades and not logs:
        message = f"grade={grades[0]!r} needs a table of intervals: give it with intervals="
        raise TableError(message)
    checked: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for key, log in logs.items():
        names = [name for name in log.table.names if _is_named(name, grades)]
        if not grades:
            names = [name for name in log.table.names if _may_be_grade(log.table, name)]
        seen |= {plain(name) for name in names}
        done = [
            name for name in names if _check_grade(findings, log, key, name, named=bool(grades))
        ]
        checked[key] = tuple(done)
    for name in grades:
        if plain(name) not in seen:
            for log in logs.values():
                find_column(log.table.names, name, log.table.name)
    return checked


def _is_named(name: str, grades: Sequence[str]) -> bool:
    return plain(name) in map(plain, grades)


def _may_be_grade(table: HoleTable, name: str) -> bool:
    """Return whether a column may be grades: by its name, and by some of its cells."""
    place = table.names.index(name)
    if place in table.roles.values() or is_geometry(name) or plain(name) in _SAMPLES:
        return False
    if table.names.count(name) > 1 or not len(table):
        return False
    rows = np.unique(np.linspace(0, len(table) - 1, _SAMPLE).astype(np.intp))
    rule = table.column(name).rule
    kinds = [rule.read(text)[0] for text in table.cells(place, rows)]
    filled = [kind for kind in kinds if kind != Kind.MISSING]
    numbers = [kind for kind in filled if kind != Kind.WORD]
    return not filled or len(numbers) >= _NUMBERS * len(filled)


def _check_grade(
    findings: list[Finding], log: Intervals, key: str, name: str, *, named: bool
) -> bool:
    """Check one column; return False, without a finding, if it is not a column of grades."""
    column = log.table.column(name)
    values, kinds = column.cells()
    numbers = kinds == Kind.NUMBER
    total = int((numbers | (kinds == Kind.BELOW)).sum())
    with np.errstate(invalid="ignore"):
        negative = numbers & (values < 0)
        marks = negative & np.isin(values, [mark for mark in MARKS if mark < 0])
        marks |= numbers & (values >= NO_GRADE)
    negative &= ~marks
    words = np.isin(kinds, (Kind.WORD, Kind.GARBLED, Kind.INFINITE))
    if not named:
        several = len(np.unique(values[negative])) > _LIMITS
        signed = several and negative.sum() > _FEW_NEGATIVE * total
        if not total or signed or words.sum() > _NUMBERS * total:
            return False
    below = np.isin(kinds, (Kind.BELOW, Kind.UNSTATED, Kind.UNLIMITED))
    if column.rule.below is not None:
        below, negative = below | negative, np.zeros_like(negative)
    codes, ids = log.table.ids
    for code, mask in (
        ("grade-negative", negative),
        ("grade-mark", marks),
        ("grade-below", below),
        ("grade-text", words),
    ):
        rows = np.flatnonzero(mask)

        def where(number: int, rows: Rows = rows) -> str:
            return f"at {log.starts[rows[number]]:g}"

        def value(number: int, rows: Rows = rows) -> str:
            return f"{name} {column.text_of(int(rows[number]))}"

        note(findings, code, [ids[each] for each in codes[rows].tolist()], where, value, table=key,
             rows=rows)  # fmt: skip
    return True
