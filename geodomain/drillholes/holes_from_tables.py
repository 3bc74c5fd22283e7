"""Make holes from collar, survey and interval tables, and report on the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from geodomain.compute.data import Floats
from geodomain.drillholes.check import MatchedTables
from geodomain.drillholes.collars import Collars, check_collars, read_collars
from geodomain.drillholes.curves import Curves, HolePaths, make_curves, sign_of_down
from geodomain.drillholes.findings import (
    REASONS,
    Case,
    Finding,
    accepted,
    id_proposals,
    note,
    refuse_bad,
    require_codes,
)
from geodomain.drillholes.ground import Ground, check_topography, ground_of, in_radians
from geodomain.drillholes.intervals import match_intervals
from geodomain.drillholes.settings import DipDown, HoleKeywords, HoleSettings
from geodomain.drillholes.stations import (
    Stations,
    SurveyRows,
    check_exchanged,
    check_signs,
    make_stations,
)
from geodomain.drillholes.tables import (
    HoleTable,
    Reading,
    TableLike,
    read_table,
    reading_of,
    several_tables,
)
from geodomain.errors import TableError, counted, in_lines
from geodomain.result_tables import data_frame, html_table
from geodomain.settings import with_keywords
from geodomain.tables.settings import TableSettings

if TYPE_CHECKING:
    import pandas


class TableFacts(TypedDict):
    """Facts about a table: name, number of rows, and column names by role."""

    name: str
    rows: int
    columns: dict[str, str]


@dataclass(frozen=True, repr=False)
class HoleReport:
    """Report on collar, survey and interval tables; ``print`` it.

    Attributes
    ----------
    tables : dict of str to dict
        For each table: name, number of rows, and column names by role.
    holes : int
        Number of usable holes.
    left_out : dict of str to str
        Ids of the holes that are not usable, and the reason.
    stations : int
        Number of stations, including stations that were added at collars.
    method : str
        Shape of the curve between stations.
    down : str
        "positive" or "negative": the sign of dips that point down.
    down_reason : str
        How the sign was decided.
    length : float
        Total length of the holes, in the unit of the file.
    bounds : list or None
        Bounding box of collars and ends of holes: its lowest and its highest corner.
    ends : dict of str to int
        Number of holes by the source of their end: collar table, largest TO, or last station.
    largest_bend : float
        Largest angle between two consecutive stations of a hole, in degrees.
    upward : tuple of str
        Holes with a station that points up.
    level : tuple of str
        Holes with a level station, and no station that points up.
    findings : tuple of Finding
        Findings, table by table.
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

    @property
    def columns(self) -> list[str]:
        """The names of the columns that are used, in all tables."""
        return [name for table in self.tables.values() for name in table["columns"].values()]

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain values, ready for JSON."""
        values = asdict(replace(self, findings=()))
        return values | {"findings": [each.as_dict() for each in self.findings]}

    def to_pandas(self) -> pandas.DataFrame:
        """Return the findings as rows, one for each hole or table row that has the finding."""
        rows = [
            (each.code, each.severity, *case) for each in self.findings for case in each.cases()
        ]
        names = ("code", "severity", *Case._fields)
        return data_frame({name: [row[i] for row in rows] for i, name in enumerate(names)})

    @property
    def dips(self) -> str:
        """Which dips point down, and how that was decided."""
        return f"{self.down} dips point down ({self.down_reason})"

    def __str__(self) -> str:
        """Return the report as lines of text."""
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        return in_lines(f"{name:<{width}}  {value}" for name, value in rows)

    def __repr__(self) -> str:
        """Return the numbers of holes and findings."""
        return (
            f"<HoleReport of {counted(self.holes, 'hole')}: "
            f"{counted(len(self.findings), 'finding')}>"
        )

    def _repr_html_(self) -> str:
        """Return the report as a table for a notebook."""
        return html_table(counted(self.holes, "drillhole"), self._rows()[1:])

    def _rows(self) -> list[tuple[str, str]]:
        """Return the report as pairs of heading and value."""
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
        ends = ", ".join(f"{count:,} from the {what}" for what, count in self.ends.items() if count)
        rows.append(("ends of holes", ends or "none"))
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


@with_keywords((HoleSettings, TableSettings), HoleKeywords)
def report_on_holes(
    collar: TableLike,
    survey: TableLike | None = None,
    intervals: TableLike | Sequence[TableLike] | None = None,
    **keywords: Unpack[HoleKeywords],
) -> HoleReport:
    """Check tables of holes, and return a report that lists findings; no warnings are issued.

    Parameters
    ----------
    collar, survey, intervals
        As for `Drillholes`.
    **settings

    Returns
    -------
    HoleReport

    Raises
    ------
    TableError, ValueError
        As `Drillholes`.
    """
    settings, reading = reading_of(keywords)
    ground, tables = ground_of(settings.topography), several_tables(intervals)
    report = make_holes(collar, survey, tables, settings, reading, ground)[0]["report"]
    if settings.strict:
        refuse_bad(report.findings, "the tables of holes")
    return report


# --- Holes from tables.


class HoleParts(TypedDict):
    """The attributes of `Drillholes` that are computed from tables."""

    names: tuple[str, ...]
    collars: Floats
    ends: Floats
    curves: Curves
    report: HoleReport


def make_holes(
    collar: TableLike,
    survey: TableLike | None,
    intervals: Sequence[TableLike],
    settings: HoleSettings,
    reading: Reading,
    topography: Ground | None,
    *,
    also: Sequence[str] | None = (),
) -> tuple[HoleParts, MatchedTables]:
    """Return the attributes of `Drillholes`, and the tables that they were made from.

    `also` are other columns of the intervals that will be used by name; None means all columns.

    Raises
    ------
    TableError
        If a table cannot be read, or no hole can be used.
    """
    tables: dict[str, HoleTable] = {"collar": read_table(collar, "collar", reading)}
    survey = tables["collar"].survey if survey is None else survey
    if survey is not None:
        tables["survey"] = read_table(survey, "survey", reading)
    for number, each in enumerate(intervals):
        key = f"intervals {number + 1}" if len(intervals) > 1 else "intervals"
        tables[key] = read_table(each, "intervals", reading, also=also)
    collars = read_collars(tables["collar"])
    rows, down, reason, findings = _survey_rows(tables, collars, settings.down)
    stations = make_stations(
        rows, collars.names, vertical=settings.vertical, bend=settings.largest_bend
    )
    findings = [*collars.findings, *findings, *stations.findings]
    codes = collars.left_out | {
        collars.names[hole]: code for hole, code in stations.left_out.items()
    }
    left_out = {hole: REASONS[code] for hole, code in codes.items()}
    if not len(stations.holes):
        why = f" ({': '.join(next(iter(left_out.items())))})" if left_out else ""
        details = "".join(f"; {each}" for each in findings if each.bad)
        message = f"{tables['collar'].name} and its survey contain no usable hole{why}"
        raise TableError(message + details)
    names = tuple(collars.names[hole] for hole in stations.holes)
    points = collars.points[stations.holes]
    curves = make_curves(
        stations.offsets, stations.depths, stations.tangents, points, settings.method
    )
    index = {name: row for row, name in enumerate(names)}
    logs = {key: each for key, each in tables.items() if key.startswith("intervals")}
    ends, sources = _ends(collars.ends[stations.holes], logs.values(), index, stations)
    findings += _beyond(stations, ends, names)
    upward, level = _rising(stations, names)
    check_collars(findings, collars.names, collars.points, ends)
    check_signs(findings, names, upward)
    paths = HolePaths(names, points, ends, curves)
    if topography is not None:
        check_topography(findings, topography, paths, radians=in_radians(findings))
    matched = {
        key: match_intervals(table, index, ends, left_out, key) for key, table in logs.items()
    }
    findings += [each for rows in matched.values() for each in rows.findings]
    report = HoleReport(
        tables={key: _described(each) for key, each in tables.items()},
        holes=len(names),
        left_out=left_out,
        stations=len(stations.depths),
        method=settings.method,
        down="positive" if down > 0 else "negative",
        down_reason=reason,
        length=float(ends.sum()),
        bounds=_bounds(points, curves, ends),
        ends=sources,
        largest_bend=_largest_bend(stations),
        upward=upward,
        level=level,
        findings=tuple(accepted(findings, require_codes(settings.accept), names)),
    )
    parts: HoleParts = {
        "names": names, "collars": points, "ends": ends, "curves": curves, "report": report
    }  # fmt: skip
    return parts, MatchedTables(tables, collars, rows, stations, matched, codes, paths, down)


def _survey_rows(
    tables: Mapping[str, HoleTable], collars: Collars, wanted: DipDown
) -> tuple[SurveyRows, int, str, list[Finding]]:
    """Join the stations of the survey with stations made from the collar table.

    Return a tuple: the stations with dips positive down, the sign of dips that point down, how this
    sign was decided, and findings.
    """
    findings: list[Finding] = []
    aimed = np.isfinite(collars.azimuths) & np.isfinite(collars.dips)
    own = sign_of_down(collars.dips[aimed], wanted)
    survey = tables.get("survey")
    if survey is None:
        rows = np.flatnonzero(aimed)
        stations = SurveyRows(
            rows,
            np.zeros(len(rows)),
            collars.azimuths[rows],
            own * collars.dips[rows],
            np.full(len(rows), -1),
            own,
        )
        return stations, own, _reason("the collar table", collars.dips[aimed], wanted), findings
    codes, ids = survey.ids
    index = {name: row for row, name in enumerate(collars.names)}
    holes = np.array([index.get(text, -1) for text in ids], np.intp)[codes]
    lost = [at for at, text in enumerate(ids) if text not in index and text not in collars.left_out]
    strange = [ids[at] for at in lost]
    first = np.unique(codes, return_index=True)[1]
    note(findings, "survey-no-collar", strange, value=id_proposals(strange, index), table="survey",
         rows=first[lost])  # fmt: skip
    depths, azimuths, dips = (survey.numbers(role) for role in ("at", "azimuth", "dip"))
    if check_exchanged(azimuths, dips):
        _refuse_exchanged(survey, dips)
    sign = sign_of_down(dips, survey.down if wanted == "auto" else wanted, codes)
    at_top = np.zeros(len(collars.names), np.bool_)
    stations = SurveyRows(holes, depths, azimuths, sign * dips, np.arange(len(holes)))
    at_top[holes[(holes >= 0) & (depths == 0) & stations.complete]] = True
    rows = np.flatnonzero(aimed & ~at_top)
    joined = SurveyRows(
        np.concatenate([rows, holes]),
        np.concatenate([np.zeros(len(rows)), depths]),
        np.concatenate([collars.azimuths[rows], azimuths]),
        np.concatenate([own * collars.dips[rows], stations.dips]),
        np.concatenate([np.full(len(rows), -1), stations.places]),
        np.repeat([own, sign], [len(rows), len(holes)]),
    )
    if wanted == "auto" and survey.down != "auto":
        return joined, sign, f"as the format of {survey.name} has them", findings
    return joined, sign, _reason(survey.name, dips, wanted), findings


def _reason(table: str, dips: Floats, wanted: DipDown) -> str:
    """Describe how the sign of dips that point down was decided."""
    if wanted != "auto":
        return "set by the user"
    up, down = int((dips > 0).sum()), int((dips < 0).sum())
    if not up and not down:
        return f"all dips of {table} are 0"
    return f"in {table} {up:,} dips are positive, {down:,} negative"


def _ends(
    stated: Floats, logs: Iterable[HoleTable], index: dict[str, int], stations: Stations
) -> tuple[Floats, dict[str, int]]:
    """Return a tuple: the depth of the end of each hole, and the number of holes by its source."""
    deepest = np.full(len(stated), -np.inf)
    for table in logs:
        codes, ids = table.ids
        holes = np.array([index.get(text, -1) for text in ids], np.intp)[codes]
        stops = table.numbers("to")
        rows = np.flatnonzero((holes >= 0) & np.isfinite(stops))
        np.maximum.at(deepest, holes[rows], stops[rows])
    in_collar, logged = stated > 0, deepest > 0
    ends = np.where(in_collar, stated, np.where(logged, deepest, stations.last))
    return ends, {
        "collar table": int(in_collar.sum()),
        "largest TO": int((~in_collar & logged).sum()),
        "last station": int((~in_collar & ~logged).sum()),
    }


def _beyond(stations: Stations, ends: Floats, names: Sequence[str]) -> list[Finding]:
    """Return findings about holes whose end is not at their last station.

    A station below the end is a finding. The part of the hole below its last station is a finding
    if it is longer than the longest distance between two consecutive stations.
    """
    findings: list[Finding] = []
    beyond = np.flatnonzero(stations.last > ends).tolist()
    longest = np.zeros(len(ends))
    owners = np.repeat(np.arange(len(ends)), np.diff(stations.offsets))
    legs = np.where(owners[1:] == owners[:-1], np.diff(stations.depths), 0.0)
    np.maximum.at(longest, owners[1:], legs)
    rest = ends - stations.last
    short = np.flatnonzero((rest > longest) & (longest > 0)).tolist()
    places = stations.places[stations.offsets[1:] - 1]
    note(findings, "station-deep", [names[hole] for hole in beyond], table="survey",
         rows=places[beyond],
         detail=lambda number: f"the hole ends at {ends[beyond[number]]:.10g}")  # fmt: skip
    note(findings, "survey-short", [names[hole] for hole in short],
         value=[f"the last {rest[hole]:g} of {ends[hole]:g}" for hole in short],
         table="survey", rows=places[short])  # fmt: skip
    return findings


def _refuse_exchanged(survey: HoleTable, dips: Floats) -> None:
    """Raise TableError for a survey whose columns of azimuths and dips are exchanged."""
    azimuth, dip = (survey.names[survey.roles[role]] for role in ("azimuth", "dip"))
    largest = dips[np.nanargmax(np.abs(dips))]
    message = (
        f"{survey.name}: azimuth and dip seem to be exchanged: {dip} reaches {largest:g}, but "
        f"{azimuth} stays within -90 to 90; name the columns with "
        f"columns={{'survey.azimuth': {dip!r}, 'survey.dip': {azimuth!r}}}"
    )
    raise TableError(message)


def _described(table: HoleTable) -> TableFacts:
    """Return the facts about a table for the report."""
    columns = {role: table.names[place] for role, place in table.roles.items()}
    return {"name": table.name, "rows": len(table), "columns": columns}


def _bounds(collars: Floats, curves: Curves, ends: Floats) -> list[list[float]]:
    """Return the bounding box of collars and ends of holes."""
    holes = np.arange(len(ends))
    points = np.concatenate([collars, curves.at(curves.find(holes, ends), ends)])
    return [points.min(axis=0).tolist(), points.max(axis=0).tolist()]


def _largest_bend(stations: Stations) -> float:
    """Return the largest angle between two consecutive stations of a hole, in degrees."""
    tangents = stations.tangents
    inner = np.ones(len(tangents), np.bool_)
    inner[stations.offsets[:-1]] = False
    dots = np.einsum("ij,ij->i", tangents[1:], tangents[:-1])[inner[1:]]
    return float(np.degrees(np.arccos(np.clip(dots.min(initial=1.0), -1.0, 1.0))))


def _rising(stations: Stations, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two tuples of names: holes with a station that points up, and level holes.

    A level hole has a level station, and no station that points up.
    """
    slopes = stations.tangents[:, 2]
    owners = [
        np.unique(np.searchsorted(stations.offsets, np.flatnonzero(rows), side="right") - 1)
        for rows in (slopes > 0, slopes == 0)
    ]
    upward, level = owners[0], np.setdiff1d(owners[1], owners[0])
    return tuple(names[i] for i in upward.tolist()), tuple(names[i] for i in level.tolist())
