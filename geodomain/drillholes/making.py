"""From collar, survey and interval tables to holes: curves, ends, and the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from geodomain.arrays import Floats
from geodomain.drillholes.checks import (
    Finding,
    Ground,
    accepted,
    check_exchanged,
    check_signs,
    check_topography,
    id_proposals,
    note,
)
from geodomain.drillholes.collars import Collars, check_collars, read_collars
from geodomain.drillholes.curves import Curves, Method, make_curves
from geodomain.drillholes.directions import DipDown, sign_of_down
from geodomain.drillholes.intervals import match_intervals
from geodomain.drillholes.keywords import Reading
from geodomain.drillholes.paths import HolePaths
from geodomain.drillholes.report import HoleReport, TableFacts
from geodomain.drillholes.stations import Stations, SurveyRows, make_stations
from geodomain.drillholes.tables import HoleTable, TableLike, read_table
from geodomain.errors import TableError


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
            findings=tuple(accepted(found, self.accept)),
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
        sign = sign_of_down(dips, self.down)
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
        return f"{int((dips > 0).sum()):,} of {table} are positive, {int((dips < 0).sum()):,} not"


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
