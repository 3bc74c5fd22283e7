"""The class `Drillholes`: holes made from collar, survey and interval tables, with a report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.compute.data import Floats
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.check import HoleCheck, check_tables
from geodomain.drillholes.crossings import HoleCrossings, find_crossings
from geodomain.drillholes.curves import Curves, HolePaths
from geodomain.drillholes.findings import Finding, accepted, refuse_bad, require_codes, sentences
from geodomain.drillholes.ground import (
    Ground,
    check_dips,
    check_topography,
    ground_of,
    in_radians,
    topography_among,
)
from geodomain.drillholes.holes_from_tables import HoleReport, make_holes
from geodomain.drillholes.intervals import Intervals, match_intervals
from geodomain.drillholes.settings import HoleKeywords, HoleSettings, SampleKeywords
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
from geodomain.errors import TableError, counted, warn
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
        and dip. A path may be a text table (.csv, ...), Parquet or Datamine (.dm), ``FILE:SHEET``
        of an Excel workbook, or ``FILE:GROUP`` of a geoh5 workspace.
    survey : path or table, optional
        One station per row: hole, depth, azimuth and dip. Without a survey, the azimuth and dip of
        the collar table are used, or the surveys of the group of a geoh5 workspace.
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
    _warned: set[str]  # findings for which a warning was already given
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
        object.__setattr__(self, "_warned", set())
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
        notes += [str(finding) for finding in self.report.findings]
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
        ids = np.atleast_1d(np.asarray(holes))
        index = self._index
        if ids.dtype.kind in "iu":
            ids, codes = np.unique(ids, return_inverse=True)
            return np.array([index.get(str(name), -1) for name in ids.tolist()], np.intp)[codes]
        if ids.dtype.kind not in "UTO":
            message = f"ids of holes must be texts or whole numbers, not {ids.dtype}"
            raise TypeError(message)
        flat = ids.ravel()
        if not flat.size:
            return np.empty(0, np.intp)
        first = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]])[: flat.size])
        rows = [index.get(str(name), -1) for name in flat[first].tolist()]
        return np.repeat(np.array(rows, np.intp), np.diff(np.append(first, flat.size)))

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
        points = self.points_at(rows, depths)
        with np.errstate(invalid="ignore"):
            points[~((depths >= 0) & (depths <= self.ends[rows]))] = np.nan
        return points

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
        """Return points at wireframes and logged contacts, for LoopStructural and GemPy.

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
            If the code changes across an unlogged gap of at most this length, the point is in the
            middle of the gap. Changes across longer gaps are counted, but have no point.
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
        for source in tables:
            table = read_table(source, "intervals", self._reading, also=None)
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
        findings = self.report.findings
        return settle(self, (*findings, *compare_with(domains, self.paths, self._ground, findings)))

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
        if any(
            isinstance(source, str) and source == STANDARD
            for source in (collar, survey, *intervals)
        ):
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
    findings: list[Finding] = []
    earlier = list(before)
    if domains is None:
        return findings
    if ground is None:
        surfaces = [
            Ground(each.name, each.placed)
            for each in domains
            if each.is_surface or not all(mesh.is_closed for mesh in each.placed)
        ]
        ground = topography_among(surfaces, paths)
        if ground is not None:
            check_topography(findings, ground, paths, radians=in_radians(earlier))
    explained = ("dip-from-vertical", "angles-radians")
    if all(each.code not in explained for each in (*earlier, *findings)):
        solids = [each for each in domains if not each.is_surface]
        check_dips(findings, [mesh for each in solids for mesh in each.placed], paths)
    return findings


def settle(holes: Drillholes, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Accept findings, refuse them or warn about them, as the settings of the holes say.

    Return the findings; equal findings are returned once.
    """
    settings = holes._settings
    distinct = {str(each): each for each in accepted(findings, require_codes(settings.accept))}
    if settings.strict:
        refuse_bad(distinct.values(), "the tables of holes")
    for sentence in sentences(each for text, each in distinct.items() if text not in holes._warned):
        warn(sentence)
    holes._warned.update(distinct)
    return tuple(distinct.values())


def for_samples(holes: Drillholes, keywords: SampleKeywords) -> Drillholes:
    """Return a copy of the holes, with keywords about their samples added to their settings."""
    own = read_keywords(HoleSettings, keywords, SampleKeywords)
    before, more = (
        [each] if isinstance(each, str) else [*each]
        for each in (holes._settings.accept, own.accept)
    )
    settings = replace(
        holes._settings, strict=holes._settings.strict or own.strict, accept=[*before, *more]
    )
    text = {**holes._reading.text, **among(NumberKeywords, keywords)}
    made = copy(holes)
    vars(made).update(_settings=settings, _reading=replace(holes._reading, text=text))
    accepted((), require_codes(more), (*holes.names, *holes.report.left_out))
    return made


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
    findings = [*report.findings, *compare_with(domains, tables.paths, topography, report.findings)]
    accept = require_codes(settings.accept)
    return check_tables(tables, findings, grades=names, twin=twin, accept=accept)
