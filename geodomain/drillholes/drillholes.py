"""The class `Drillholes`: holes made from collar, survey and interval tables, with a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.compute.data import Floats
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.check import HoleCheck, MatchedTables, check_tables
from geodomain.drillholes.collars import Collars, check_collars, read_collars
from geodomain.drillholes.crossings import HoleCrossings, find_crossings
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
    sentences,
)
from geodomain.drillholes.ground import (
    Ground,
    check_dips,
    check_topography,
    ground_of,
    topography_among,
)
from geodomain.drillholes.intervals import Intervals, match_intervals
from geodomain.drillholes.settings import DipDown, HoleKeywords, HoleSettings, SampleKeywords
from geodomain.drillholes.stations import (
    Stations,
    SurveyRows,
    check_exchanged,
    check_signs,
    make_stations,
)
from geodomain.drillholes.surface_points import (
    Naming,
    SurfaceHits,
    SurfacePoints,
    check_contacts,
    join_points,
    logged_contacts,
    points_at_wireframes,
)
from geodomain.drillholes.tables import (
    HoleTable,
    Reading,
    TableLike,
    files_of,
    read_table,
    reading_of,
    several_tables,
)
from geodomain.errors import TableError, counted, in_lines, warn
from geodomain.files.streams import STANDARD
from geodomain.query.locator import Rule
from geodomain.result_tables import data_frame, html_table
from geodomain.settings import BackendName, among, read_keywords, with_keywords
from geodomain.tables.settings import NumberKeywords, TableSettings
from geodomain.tables.vendors import closest, listed, plain_name

if TYPE_CHECKING:
    import pandas


SHOWN = 10


@with_keywords((HoleSettings, TableSettings), HoleKeywords)
@dataclass(frozen=True, eq=False, repr=False)
class Drillholes:
    """Drillholes as curves in space, from their collars, surveys and intervals.

    Parameters
    ----------
    collar : path, or pandas or polars DataFrame, or pyarrow.Table
        One hole per row: its id, the coordinates of its collar, and optionally its depth, azimuth
        and dip. A path may be a text table (.csv, ...), Parquet or Datamine (.dm), or
        ``FILE:SHEET`` of an Excel workbook.
    survey : path or table, optional
        One station per row: hole, depth, azimuth and dip. Without a survey, the azimuth and dip of
        the collar table are used.
    intervals : path or table, or a list of them, optional
        Samples or logs: hole, FROM and TO. If the collar table has no depth for a hole, the hole
        ends at its largest TO.
    threads : int, optional
        Number of threads that read text. [default: all cores]
    **settings

    Attributes
    ----------
    names : tuple of str
        Ids of the usable holes, in the order of the collar table. Whole numbers are converted to
        decimal texts.
    collars : (h, 3) float64
        Coordinates of the collars, in the unit of the file.
    ends : (h,) float64
        Depth of the end of each hole: from the collar table, or else the largest TO, or else the
        last station.
    curves : Curves
        Arcs and straight pieces of the holes.
    report : HoleReport
        Findings and totals of the tables; ``print`` it.
    files : tuple of Path
        The files of the tables, and of the topography.

    Raises
    ------
    TableError
        If a column is missing, a file cannot be read, or no hole can be used. With ``strict``, also
        if there is any warning.
    ValueError
        For a setting with an invalid value.

    Warns
    -----
    GeodomainWarning
        For each warning among the findings, with the text that the commands print.

    Notes
    -----
    Coordinates are computed in float64, by the formulas in `geodomain.drillholes.curves`. Points at
    stations agree with the results of other programs to about 1e-9 of the unit. Directions of
    azimuths and dips that are multiples of 90 degrees are exact.

    Examples
    --------
    >>> import geodomain, pandas
    >>> collar = pandas.DataFrame({"BHID": [1], "X": [500.0], "Y": [900.0], "Z": [100.0]})
    >>> survey = pandas.DataFrame({"BHID": [1, 1], "AT": [0, 90], "AZ": [90, 90], "DIP": [90, 0]})
    >>> holes = geodomain.Drillholes(collar, survey, bend=(90, 90))
    >>> holes.positions("1", [0, 45, 90]).round(3).tolist()
    [[500.0, 900.0, 100.0], [516.782, 900.0, 59.486], [557.296, 900.0, 42.704]]
    """

    names: tuple[str, ...]
    collars: Floats
    ends: Floats
    curves: Curves
    report: HoleReport
    files: tuple[Path, ...]
    _index: dict[str, int]  # rows by name
    _settings: HoleSettings
    _reading: Reading
    _ground: Ground | None
    _told: set[str]  # findings for which a warning was already given
    _sources: tuple[TableLike, TableLike | None, list[TableLike]]  # the tables as given

    def __init__(
        self,
        collar: TableLike,
        survey: TableLike | None = None,
        intervals: TableLike | Sequence[TableLike] | None = None,
        *,
        threads: int | None = None,
        **keywords: Unpack[HoleKeywords],
    ) -> None:
        """Read the tables, make the curves, and warn about findings."""
        settings, reading = reading_of(keywords, threads)
        ground, tables = ground_of(settings.topography), several_tables(intervals)
        values, _ = make_holes(collar, survey, tables, settings, reading, ground)
        for key, value in values.items():
            object.__setattr__(self, key, value)
        files = files_of([collar, survey, *tables, settings.topography])
        object.__setattr__(self, "files", files)
        object.__setattr__(self, "_index", {name: row for row, name in enumerate(self.names)})
        object.__setattr__(self, "_settings", settings)
        object.__setattr__(self, "_reading", reading)
        object.__setattr__(self, "_ground", ground)
        object.__setattr__(self, "_told", set())
        object.__setattr__(self, "_sources", (collar, survey, tables))
        settle(self, self.report.findings)

    def __len__(self) -> int:
        """Return the number of holes."""
        return len(self.names)

    def __repr__(self) -> str:
        """Return the number of holes, their total length, and the number of holes left out."""
        out = f", {len(self.report.left_out):,} left out" if self.report.left_out else ""
        return f"<Drillholes: {counted(len(self), 'hole')}, {self.report.length:,.1f} long{out}>"

    def _repr_html_(self) -> str:
        """Return the first holes as a table for a notebook."""
        rows = [
            (name, *(f"{value:.10g}" for value in (*self.collars[row], self.ends[row])))
            for row, name in enumerate(self.names[:SHOWN])
        ]
        notes = [f"the first {SHOWN} holes"] if len(self) > SHOWN else []
        notes += [str(one) for one in self.report.findings]
        headings = ("hole", "x", "y", "z", "end")
        return html_table(repr(self)[1:-1], rows, headings=headings, notes=notes)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the holes as rows: coordinates of the collar, and depth of the end."""
        return data_frame(
            {
                "hole": self.names,
                **dict(zip("xyz", self.collars.T, strict=True)),
                "end": self.ends,
            }
        )

    def rows_of(self, holes: ArrayLike) -> NDArray[np.intp]:
        """Return the index of each hole in `names`, or -1 if there is no such hole.

        Parameters
        ----------
        holes : str, or array_like of str or int
            Ids of holes; whole numbers are converted to decimal texts.

        Returns
        -------
        numpy.ndarray of intp, shape (n,)
        """
        given = np.atleast_1d(np.asarray(holes))
        index = self._index
        if given.dtype.kind in "iu":
            given, codes = np.unique(given, return_inverse=True)
            return np.array([index.get(str(one), -1) for one in given.tolist()], np.intp)[codes]
        if given.dtype.kind not in "UTO":
            message = f"ids of holes must be texts or whole numbers, not {given.dtype}"
            raise TypeError(message)
        flat = given.ravel()
        if not flat.size:
            return np.empty(0, np.intp)
        first = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]])[: flat.size])
        found = [index.get(str(one), -1) for one in flat[first].tolist()]
        return np.repeat(np.array(found, np.intp), np.diff(np.append(first, flat.size)))

    def positions(self, hole: ArrayLike, depth: ArrayLike) -> Floats:
        """Return the points at depths along holes.

        Parameters
        ----------
        hole : str, or array_like of str or int, shape (n,)
            One hole for all depths, or a hole for each depth.
        depth : float or array_like of float, shape (n,)
            Depth along the hole from its collar, in the unit of the file.

        Returns
        -------
        numpy.ndarray of float64, shape (n, 3)
            East, north and elevation; NaN if the depth is NaN, above the collar, or below the end
            of the hole.

        Raises
        ------
        TableError
            If a hole does not exist or is left out.
        ValueError
            If the numbers of holes and depths differ, and there are several holes.
        """
        depths = np.atleast_1d(np.asarray(depth, np.float64))
        rows = self.rows_of(hole)
        if len(rows) not in (1, len(depths)) or depths.ndim != 1:
            message = (
                f"{counted(len(rows), 'hole')} for depths of shape {depths.shape}: give one depth "
                "for each hole, or one hole for all depths"
            )
            raise ValueError(message)
        if (rows < 0).any():
            name = np.ravel(np.asarray(hole))[int(np.argmax(rows < 0))]
            why = self.report.left_out.get(str(name), "it has no collar")
            usable = counted(len(self), "usable hole")
            message = f"hole {str(name)!r} is not among the {usable}: {why}"
            raise TableError(message)
        rows = np.broadcast_to(rows, depths.shape)
        found = self.points_at(rows, depths)
        with np.errstate(invalid="ignore"):
            found[~((depths >= 0) & (depths <= self.ends[rows]))] = np.nan
        return found

    def points_at(self, rows: NDArray[np.intp], depths: Floats) -> Floats:
        """Return points (n, 3) at depths of holes; below the last station a hole is straight."""
        return self.paths.points_at(rows, depths)

    @property
    def paths(self) -> HolePaths:
        """The holes as curves, without the report on their tables."""
        return HolePaths(self.names, self.collars, self.ends, self.curves)

    def crossings(
        self,
        domains: DomainsLike,
        *,
        rule: Rule = "parity",
        backend: BackendName = "auto",
        threads: int | None = None,
        allow_open: bool = False,
    ) -> HoleCrossings:
        """Find where holes are inside solids, and where they go through surfaces.

        Parameters
        ----------
        domains : mapping, sequence of Domain and Stack, Domains, or path
            As for `label_file`. Each solid is handled separately, whatever the order of the
            domains. A solid with conditions on columns is left out, with a warning. The result has
            pierce points of surfaces, and of the surfaces in stacks.
        rule, allow_open
            As for `label_file`.
        backend, threads
            Device and number of threads; they do not change the result.

        Returns
        -------
        HoleCrossings
            A row for each stay (a stretch of a hole inside a solid) and for each pierce point
            (where a hole goes through a surface); ``print`` it. Crossings are computed on arcs, not
            on chords: a hole that enters a solid by more than 1e-7 of the unit is always detected.
            Depths are on the arc, within 1e-6 of the unit unless a hole is almost parallel to the
            wall. If a hole ends on a wall, its end is treated as moved up by an infinitely small
            step. If the moved point is still on the wall, it is also moved east, and then north.

        Raises
        ------
        MeshError
            For a solid that is not closed, without ``allow_open``.
        DomainError, OSError
            If the domains are invalid, or a file cannot be read.

        Examples
        --------
        >>> import geodomain, pandas
        >>> collar = pandas.DataFrame({"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "DEPTH": [12],
        ...                            "AZIMUTH": [0], "DIP": [90]})
        >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
        >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
        >>> found = geodomain.Drillholes(collar).crossings({"ORE": ore})
        >>> [row[:5] for row in found.stay_rows()]
        [('A', 'ORE', 7.0, 9.0, 2.0)]
        """
        return find_crossings(
            self.paths,
            domains_to_label(domains).domains,
            rule=rule,
            backend=backend,
            threads=threads,
            allow_open=allow_open,
        )

    def surface_points(
        self,
        domains: DomainsLike | None = None,
        *,
        log: TableLike | None = None,
        logged: str | None = None,
        between: Sequence[tuple[str, str]] = (),
        name_by: Naming = "base",
        max_gap: float = 0.0,
        rule: Rule = "parity",
        backend: BackendName = "auto",
        threads: int | None = None,
        allow_open: bool = False,
    ) -> SurfacePoints:
        """Return points of surfaces for LoopStructural and GemPy: at wireframes, or as logged.

        Parameters
        ----------
        domains : mapping, sequence of Domain and Stack, Domains, or path, optional
            Solids and surfaces, as for `crossings`. Each crossing is a point, with the normal of
            the triangle: outwards for a solid, upwards for a surface.
        log : path or table, optional
            Intervals with a column of codes. [default: the interval tables of the holes]
        logged : str, optional
            Column of codes, such as rock types. Each change of the code along a hole is a point,
            without a normal. An interval without a code is not logged.
        between : sequence of (str, str)
            Pairs of codes whose contacts are wanted, in either order. [default: all]
        name_by : {"base", "top", "pair"}
            Name of the surface of a logged contact: the code above it, whose base it is; the code
            below it, whose top it is; or both, as ABOVE/BELOW.
        max_gap : float
            If the code changes across a gap of at most this length that is not logged, the point is
            in the middle of the gap. Changes across longer gaps are counted, and have no point.
        rule, allow_open
            As for `label_file`.
        backend, threads
            Device and number of threads; they do not change the result.

        Returns
        -------
        SurfacePoints
            ``for_loopstructural()`` and ``for_gempy()`` return the tables of these libraries.

        Raises
        ------
        ValueError
            If neither `domains` nor `logged` is given, or a value is invalid.
        TableError
            If no log has the column, or it lacks a code in `between`.
        MeshError, DomainError, OSError
            As `crossings`.

        Examples
        --------
        >>> import geodomain, pandas
        >>> collar = pandas.DataFrame({"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "DEPTH": [12],
        ...                            "AZIMUTH": [0], "DIP": [90]})
        >>> log = pandas.DataFrame({"HOLE": ["A", "A"], "FROM": [0, 4], "TO": [4, 12],
        ...                         "ROCK": ["OXIDE", "FRESH"]})
        >>> points = geodomain.Drillholes(collar).surface_points(log=log, logged="ROCK")
        >>> print(points.for_gempy()[0].iloc[:, :4].to_string(index=False))
          X   Y   Z formation
        1.0 1.0 5.0     OXIDE
        """
        check_contacts(logged, between, name_by, max_gap, wireframes=domains is not None)
        hits: list[SurfaceHits] = []
        if domains is not None:
            hits = points_at_wireframes(
                self.paths, domains_to_label(domains).domains,
                rule=rule, backend=backend, threads=threads, allow_open=allow_open,
            )  # fmt: skip
        left_out: dict[str, int] = {}
        if logged is not None:
            tables = self._sources[2] if log is None else [log]
            rows = self.match(self._log_of(tables, logged), also=[logged])
            contacts, left_out = logged_contacts(
                self.paths, rows, logged, between=between, naming=name_by, max_gap=max_gap
            )
            hits += contacts
        return join_points(self.paths, hits, left_out)

    def _log_of(self, tables: Sequence[TableLike], column: str) -> HoleTable:
        """Return the first interval table that has a column."""
        names: list[str] = []
        for given in tables:
            table = read_table(given, "intervals", self._reading, also=None)
            if plain_name(column) in map(plain_name, table.names):
                return table
            names += table.names
        if not tables:
            message = f"logged={column!r} names a column of intervals, but there are none"
        else:
            message = f"no interval table has a column {column!r}{closest(names, column)}; "
            message += listed(names)
        raise TableError(message)

    def match(self, intervals: TableLike, *, also: Sequence[str] | None = ()) -> Intervals:
        """Match the rows of an interval table with the holes; see `Intervals`."""
        table = read_table(intervals, "intervals", self._reading, also=also)
        return match_intervals(table, self._index, self.ends, self.report.left_out)

    def tell(self, domains: Domains | None = None) -> tuple[Finding, ...]:
        """Compare the holes with domains, and warn about findings.

        Parameters
        ----------
        domains : Domains, optional
            Holes are compared with the boxes of the solids. If no topography was given, they are
            also compared with the surface on which most collars lie.

        Returns
        -------
        tuple of Finding
            The findings of `report` and of the comparison.

        Raises
        ------
        TableError
            With ``strict``, if there is any warning.

        Warns
        -----
        GeodomainWarning
            For each warning among the findings that has not been issued for these holes before.
        """
        found = self.report.findings
        return settle(self, (*found, *compare_with(domains, self.paths, self._ground, found)))

    def check(
        self,
        domains: DomainsLike | None = None,
        *,
        grade: str | Sequence[str] = (),
        twin: float | None = None,
    ) -> HoleCheck:
        """Check the tables of the holes in more detail, and return the findings.

        Parameters
        ----------
        domains : mapping, sequence of Domain and Stack, Domains, or path, optional
            Solids and surfaces to compare the holes with, as for `label_file`.
        grade : str or sequence of str
            Columns of grades in the intervals. [default: every column with numbers in at least half
            of its cells, few of them below 0, except depths, coordinates, sizes and angles]
        twin : float, optional
            Largest distance between twinned holes, in the unit of the file. [default: a quarter of
            the usual distance between neighbouring collars, but at most 5]

        Returns
        -------
        HoleCheck
            The findings, and counts of the rows of each table: rows read, rows used, and rows not
            used by the reason; ``print`` it. The setting ``accept`` of the holes applies.

        Raises
        ------
        TableError
            If a table cannot be read again, as from stdin, or if no interval table has a column
            `grade`.
        DomainError, OSError
            If the domains are invalid, or a file cannot be read.
        ValueError
            If `twin` is negative or not finite.

        Examples
        --------
        >>> import geodomain, pandas
        >>> collar = {"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "AZIMUTH": [0], "DIP": [90]}
        >>> samples = pandas.DataFrame({"HOLE": ["A", "A"], "FROM": [0, 2], "TO": [2, 3],
        ...                             "AU": [1.5, -0.01]})
        >>> holes = geodomain.Drillholes(pandas.DataFrame(collar), intervals=samples)
        >>> table = holes.check().to_pandas()
        >>> print(*table.loc[1, ["severity", "code", "hole", "from", "value"]])
        warning grade-negative A 2.0 AU -0.01
        """
        collar, survey, intervals = self._sources
        if any(isinstance(one, str) and one == STANDARD for one in (collar, survey, *intervals)):
            message = "a table from stdin cannot be read again to check it: give a file"
            raise TableError(message)
        ordered = None if domains is None else domains_to_label(domains).domains
        return checked_holes(
            collar, survey, intervals, self._settings, self._reading, self._ground,
            domains=ordered, grade=grade, twin=twin,
        )  # fmt: skip


def compare_with(
    domains: Domains | None, paths: HolePaths, ground: Ground | None, before: Iterable[Finding]
) -> list[Finding]:
    """Return findings from comparing holes with surfaces and solids of domains.

    `ground` is a topography with which the holes have been compared, and `before` are the findings
    about the holes so far.
    """
    found: list[Finding] = []
    if domains is None:
        return found
    if ground is None:
        surfaces = [
            Ground(each.name, each.meshes)
            for each in domains
            if each.is_surface or not all(mesh.is_closed for mesh in each.meshes)
        ]
        ground = topography_among(surfaces, paths)
        if ground is not None:
            check_topography(found, ground, paths)
    if all(each.code != "dip-from-vertical" for each in (*before, *found)):
        solids = [each for each in domains if not each.is_surface]
        check_dips(found, [mesh for each in solids for mesh in each.meshes], paths)
    return found


def settle(holes: Drillholes, found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Accept findings, refuse them or warn about them, as the settings of the holes say.

    Return the findings; equal findings are returned once.
    """
    settings = holes._settings
    distinct = {str(each): each for each in accepted(found, require_codes(settings.accept))}
    if settings.strict:
        refuse_bad(distinct.values(), "the tables of holes")
    for sentence in sentences(each for said, each in distinct.items() if said not in holes._told):
        warn(sentence)
    holes._told.update(distinct)
    return tuple(distinct.values())


def for_samples(holes: Drillholes, keywords: SampleKeywords) -> Drillholes:
    """Return a copy of the holes, with keywords about their samples added to their settings."""
    own = read_keywords(HoleSettings, keywords, SampleKeywords)
    said, more = (
        [each] if isinstance(each, str) else [*each]
        for each in (holes._settings.accept, own.accept)
    )
    settings = replace(
        holes._settings, strict=holes._settings.strict or own.strict, accept=[*said, *more]
    )
    text = {**holes._reading.text, **among(NumberKeywords, keywords)}
    made = copy(holes)
    vars(made).update(_settings=settings, _reading=replace(holes._reading, text=text))
    accepted((), require_codes(more), (*holes.names, *holes.report.left_out))
    return made


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


def checked_holes(
    collar: TableLike,
    survey: TableLike | None,
    intervals: Sequence[TableLike],
    settings: HoleSettings,
    reading: Reading,
    topography: Ground | None,
    *,
    domains: Domains | None = None,
    grade: str | Sequence[str] = (),
    twin: float | None = None,
) -> HoleCheck:
    """Check tables of holes, and return the findings; `Drillholes.check` describes the arguments.

    Raises
    ------
    TableError, ValueError
        As `Drillholes.check`.
    """
    if twin is not None and not 0 <= twin < math.inf:
        message = f"twin= is {twin!r}; it must be a distance of 0 or more"
        raise ValueError(message)
    names = [grade] if isinstance(grade, str) else list(grade)
    parts, tables = make_holes(collar, survey, intervals, settings, reading, topography, also=None)
    report = parts["report"]
    found = [*report.findings, *compare_with(domains, tables.paths, topography, report.findings)]
    accept = require_codes(settings.accept)
    return check_tables(tables, found, grades=names, twin=twin, accept=accept)


# --- The report on the tables.


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


# --- Make holes from collar, survey and interval tables.


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
    if survey is not None:
        tables["survey"] = read_table(survey, "survey", reading)
    for number, one in enumerate(intervals):
        key = f"intervals {number + 1}" if len(intervals) > 1 else "intervals"
        tables[key] = read_table(one, "intervals", reading, also=also)
    collars = read_collars(tables["collar"])
    rows, down, reason, found = _survey_rows(tables, collars, settings.down)
    stations = make_stations(
        rows, collars.names, vertical=settings.vertical, bend=settings.largest_bend
    )
    found = [*collars.findings, *found, *stations.findings]
    codes = collars.left_out | {
        collars.names[hole]: code for hole, code in stations.left_out.items()
    }
    left_out = {hole: REASONS[code] for hole, code in codes.items()}
    if not len(stations.holes):
        why = f" ({': '.join(next(iter(left_out.items())))})" if left_out else ""
        said = "".join(f"; {each}" for each in found if each.bad)
        message = f"{tables['collar'].name} and its survey contain no usable hole{why}"
        raise TableError(message + said)
    names = tuple(collars.names[hole] for hole in stations.holes)
    points = collars.points[stations.holes]
    curves = make_curves(
        stations.offsets, stations.depths, stations.tangents, points, settings.method
    )
    index = {name: row for row, name in enumerate(names)}
    logs = {key: one for key, one in tables.items() if key.startswith("intervals")}
    ends, sources = _ends(collars.ends[stations.holes], logs.values(), index, stations)
    found += _beyond(stations, ends, names)
    upward, level = _rising(stations, names)
    check_collars(found, collars.names, collars.points, ends)
    check_signs(found, names, upward)
    paths = HolePaths(names, points, ends, curves)
    if topography is not None:
        check_topography(found, topography, paths)
    matched = {
        key: match_intervals(table, index, ends, left_out, key) for key, table in logs.items()
    }
    found += [each for rows in matched.values() for each in rows.findings]
    report = HoleReport(
        tables={key: _described(one) for key, one in tables.items()},
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
        findings=tuple(accepted(found, require_codes(settings.accept), names)),
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
    found: list[Finding] = []
    known = np.isfinite(collars.azimuths) & np.isfinite(collars.dips)
    own = sign_of_down(collars.dips[known], wanted)
    survey = tables.get("survey")
    if survey is None:
        rows = np.flatnonzero(known)
        given = SurveyRows(
            rows,
            np.zeros(len(rows)),
            collars.azimuths[rows],
            own * collars.dips[rows],
            np.full(len(rows), -1),
        )
        return given, own, _reason("the collar table", collars.dips[known], wanted), found
    codes, ids = survey.ids
    index = {name: row for row, name in enumerate(collars.names)}
    holes = np.array([index.get(text, -1) for text in ids], np.intp)[codes]
    lost = [at for at, text in enumerate(ids) if text not in index and text not in collars.left_out]
    strange = [ids[at] for at in lost]
    first = np.unique(codes, return_index=True)[1]
    note(found, "survey-no-collar", strange, value=id_proposals(strange, index), table="survey",
         rows=first[lost])  # fmt: skip
    depths, azimuths, dips = (survey.numbers(role) for role in ("at", "azimuth", "dip"))
    if check_exchanged(azimuths, dips):
        _refuse_exchanged(survey, dips)
    sign = sign_of_down(dips, wanted, codes)
    at_top = np.zeros(len(collars.names), np.bool_)
    given = SurveyRows(holes, depths, azimuths, sign * dips, np.arange(len(holes)))
    at_top[holes[(holes >= 0) & (depths == 0) & given.complete]] = True
    rows = np.flatnonzero(known & ~at_top)
    joined = SurveyRows(
        np.concatenate([rows, holes]),
        np.concatenate([np.zeros(len(rows)), depths]),
        np.concatenate([collars.azimuths[rows], azimuths]),
        np.concatenate([own * collars.dips[rows], given.dips]),
        np.concatenate([np.full(len(rows), -1), given.places]),
    )
    return joined, sign, _reason(survey.name, dips, wanted), found


def _reason(table: str, dips: Floats, wanted: DipDown) -> str:
    """Describe how the sign of dips that point down was decided."""
    if wanted != "auto":
        return "set by the user"
    up, down = int((dips > 0).sum()), int((dips < 0).sum())
    if not up and not down:
        return f"all dips of {table} are 0"
    return f"in {table} {up:,} dips are positive, {down:,} negative"


def _ends(
    given: Floats, logs: Iterable[HoleTable], index: dict[str, int], stations: Stations
) -> tuple[Floats, dict[str, int]]:
    """Return a tuple: the depth of the end of each hole, and the number of holes by its source."""
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
    """Return findings about holes whose end is not at their last station.

    A station below the end is a finding. The part of the hole below its last station is a finding
    if it is longer than the longest distance between two consecutive stations.
    """
    found: list[Finding] = []
    beyond = np.flatnonzero(stations.last > ends).tolist()
    longest = np.zeros(len(ends))
    owners = np.repeat(np.arange(len(ends)), np.diff(stations.offsets))
    legs = np.where(owners[1:] == owners[:-1], np.diff(stations.depths), 0.0)
    np.maximum.at(longest, owners[1:], legs)
    rest = ends - stations.last
    short = np.flatnonzero((rest > longest) & (longest > 0)).tolist()
    places = stations.places[stations.offsets[1:] - 1]
    note(found, "station-deep", [names[hole] for hole in beyond], table="survey",
         rows=places[beyond],
         detail=lambda number: f"the hole ends at {ends[beyond[number]]:.10g}")  # fmt: skip
    note(found, "survey-short", [names[hole] for hole in short],
         value=[f"the last {rest[hole]:g} of {ends[hole]:g}" for hole in short],
         table="survey", rows=places[short])  # fmt: skip
    return found


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
