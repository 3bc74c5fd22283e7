"""Drillholes: a frozen noun made from collar, survey and interval tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.compute.data import Floats
from geodomain.domains.order import Domains
from geodomain.domains.sources import DomainsGiven, domains_to_label
from geodomain.drillholes.checks import (
    BEND,
    Finding,
    Ground,
    accepted,
    check_dips,
    check_topography,
    refuse_bad,
    require_bend,
    require_codes,
    tell,
    topography_among,
)
from geodomain.drillholes.crossings import HoleCrossings, find_crossings
from geodomain.drillholes.curves import DIP_DOWN, METHODS, Curves, DipDown, HolePaths, Method
from geodomain.drillholes.intervals import Intervals, match_intervals
from geodomain.drillholes.making import HoleMaking, HoleReport
from geodomain.drillholes.tables import (
    HoleTable,
    Reading,
    TableLike,
    files_of,
    read_table,
    reading_of,
    require_choice,
    several_tables,
)
from geodomain.errors import TableError, counted
from geodomain.html import html_table
from geodomain.inputs import MeshesLike, as_meshes
from geodomain.query.locator import Rule
from geodomain.settings import BackendName
from geodomain.tables.settings import TextKeywords

SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Drillholes:
    """Drillholes as curves in space, from their collars, surveys and intervals.

    Parameters
    ----------
    collar : path, or pandas or polars DataFrame, or pyarrow.Table
        A hole to a row: its id and the coordinates of its collar; perhaps its depth, azimuth and
        dip. A path is of text (.csv, ..) or Parquet.
    survey : the same, optional
        A station to a row: hole, depth, azimuth and dip. Without one the collar's azimuth and
        dip are taken.
    intervals : the same, or several of them, optional
        Samples or logs: hole, FROM and TO. They tell where holes end whose collar does not.
    method : {"minimum curvature", "balanced", "tangent"}
        The curve between two stations: an arc that has both directions; one half along each; all
        along the upper one. Above the first station and below the last a hole is straight.
    down : {"auto", "positive", "negative"}
        Which dips point down. "auto" decides once for a file, by the sign of the sum of its dips;
        the stations of a hole count together as the square root of their number.
    vertical : bool
        Whether a hole without a station is vertical; it is left out otherwise.
    strict : bool
        Raise TableError for every warning among the findings: what would be left out or
        unassigned, and what is in doubt.
    topography : path, mesh or several of them, optional
        The ground: collars away from it, and holes that end above it, are findings.
    bend : (float, float)
        The largest bend that is no finding: an angle in degrees, and the span that it is within.
    accept : str or sequence of str
        Findings to pass, as FINDING or FINDING:HOLE: they become notes.
    columns : mapping of str to str, optional
        Names of columns by what they hold, where they are unusual: "hole", "x", "y", "z", "end",
        "at" (the depth of a station), "azimuth", "dip", "from", "to"; "survey.hole" is for one
        table alone.
    threads : int, optional
        For reading text. [default: all cores]
    **text
        ``missing``, ``delimiter``, ``decimal``, ``encoding``, as for `label_file`.

    Attributes
    ----------
    names : tuple of str
        The holes that can be used, in the order of the collar table. Ids are texts: a column of
        whole numbers becomes their decimal texts.
    collars : (h, 3) float64
        Where they begin, in the unit of the file.
    ends : (h,) float64
        How deep they are: as the collar table says, else the largest TO, else the last station.
    curves : Curves
        Their arcs and straight pieces.
    report : HoleReport
        What was found in the tables; ``print`` it.
    files : tuple of Path
        The files of the tables, and of the topography.

    Raises
    ------
    TableError
        Where columns are not there, a file cannot be read, no hole can be used, or, with
        ``strict``, anything is wrong.
    ValueError
        For a bend or a finding to accept that there is not.

    Notes
    -----
    Coordinates are float64 of the formulas in `geodomain.drillholes.curves`; points at stations
    agree with those of other programs to about 1e-9 of the unit. A direction is rounded from the
    azimuth and dip as the file has them, multiples of 90 degrees exactly.

    Examples
    --------
    >>> import geodomain, pandas
    >>> collar = pandas.DataFrame({"BHID": [1], "X": [500.0], "Y": [900.0], "Z": [100.0]})
    >>> survey = pandas.DataFrame({"BHID": [1, 1], "AT": [0, 90], "AZ": [90, 90], "DIP": [90, 0]})
    >>> holes = geodomain.Drillholes(collar, survey)
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
    _reading: Reading
    _strict: bool
    _ground: Ground | None
    _passed: tuple[tuple[str, str | None], ...]

    def __init__(
        self,
        collar: TableLike,
        survey: TableLike | None = None,
        intervals: TableLike | Sequence[TableLike] | None = None,
        *,
        method: Method = "minimum curvature",
        down: DipDown = "auto",
        vertical: bool = False,
        strict: bool = False,
        topography: MeshesLike | None = None,
        bend: tuple[float, float] = BEND,
        accept: str | Sequence[str] = (),
        columns: Mapping[str, str] | None = None,
        threads: int | None = None,
        **text: Unpack[TextKeywords],
    ) -> None:
        """Read the tables, and make the curves."""
        require_choice("method", method, METHODS)
        require_choice("down", down, DIP_DOWN)
        reading = reading_of(columns, threads, text)
        passed = require_codes(accept)
        tiles = () if topography is None else as_meshes(topography)
        ground = Ground(tiles[0].name, tiles) if tiles else None
        made = HoleMaking(reading, method, down, vertical, require_bend(bend), ground, passed)
        tables = several_tables(intervals)
        values = made.make(collar, survey, tables)
        if strict:
            refuse_bad(values["report"].findings, "the tables of holes")
        for key, value in values.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "files", files_of([collar, survey, *tables, topography]))
        object.__setattr__(self, "_index", {name: row for row, name in enumerate(self.names)})
        object.__setattr__(self, "_reading", reading)
        object.__setattr__(self, "_strict", strict)
        object.__setattr__(self, "_ground", ground)
        object.__setattr__(self, "_passed", passed)

    def __len__(self) -> int:
        """Count the holes."""
        return len(self.names)

    def __repr__(self) -> str:
        """Say how many holes there are, how long they are, and what was not used."""
        out = f", {len(self.report.left_out):,} left out" if self.report.left_out else ""
        return f"<Drillholes: {counted(len(self), 'hole')}, {self.report.length:,.1f} long{out}>"

    def _repr_html_(self) -> str:
        """Give the first holes as a table for a notebook."""
        rows = [
            (name, *(f"{value:.10g}" for value in (*self.collars[row], self.ends[row])))
            for row, name in enumerate(self.names[:SHOWN])
        ]
        notes = [f"the first {SHOWN} of them"] if len(self) > SHOWN else []
        notes += [str(one) for one in self.report.findings]
        headings = ("hole", "x", "y", "z", "end")
        return html_table(repr(self)[1:-1], rows, headings=headings, notes=notes)

    def rows_of(self, holes: ArrayLike) -> NDArray[np.intp]:
        """Return the place of each hole among `names`, -1 for one that is not there.

        Parameters
        ----------
        holes : str, or array_like of str or int
            Ids; whole numbers are compared by their decimal texts.

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
            message = f"holes are texts or whole numbers, not {given.dtype}"
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
            One hole for all depths, or one for each.
        depth : float or array_like of float, shape (n,)
            Along the hole from its collar, in the unit of the file.

        Returns
        -------
        numpy.ndarray of float64, shape (n, 3)
            East, north, up. NaN for a depth that is NaN, above the collar or below the end of
            the hole.

        Raises
        ------
        TableError
            For a hole that is not there.
        ValueError
            If there are not as many holes as depths.
        """
        depths = np.atleast_1d(np.asarray(depth, np.float64))
        rows = self.rows_of(hole)
        if len(rows) not in (1, len(depths)) or depths.ndim != 1:
            message = f"there are {len(rows)} holes and {depths.shape} depths; give one of either"
            raise ValueError(message)
        if (rows < 0).any():
            name = np.ravel(np.asarray(hole))[int(np.argmax(rows < 0))]
            why = self.report.left_out.get(str(name), "it has no collar")
            message = f"there is no hole {str(name)!r} among the {len(self):,}: {why}"
            raise TableError(message)
        rows = np.broadcast_to(rows, depths.shape)
        found = self.points_at(rows, depths)
        with np.errstate(invalid="ignore"):
            found[~((depths >= 0) & (depths <= self.ends[rows]))] = np.nan
        return found

    def points_at(self, rows: NDArray[np.intp], depths: Floats) -> Floats:
        """Return points (n, 3) by places of holes; below its end a hole goes on straight."""
        return self.paths.points_at(rows, depths)

    @property
    def paths(self) -> HolePaths:
        """The holes as curves, without what was found in their tables."""
        return HolePaths(self.names, self.collars, self.ends, self.curves)

    def crossings(
        self,
        domains: DomainsGiven,
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
            As for `label_file`. Each solid is taken by itself, whatever the order of the domains;
            one with conditions on columns is left out, with a warning. Surfaces, those of stacks
            too, give pierce points.
        rule, allow_open
            What is inside, as for `label_file`.
        backend, threads
            Where to compute; the answer is the same everywhere.

        Returns
        -------
        HoleCrossings
            A row for each stay in a solid and for each pierce point; ``print`` it. Arcs are
            crossed, not their chords: every passage that goes deeper than 1e-7 of the unit is
            found, and depths are on the arc to 1e-6 of the unit where a hole is not all but
            parallel to the wall. A hole on a wall counts as displaced by an infinitely small step
            up, then east, then north, as points are.

        Raises
        ------
        MeshError
            For a solid that is not closed; see ``allow_open``.
        DomainError, OSError
            For the domains and their files.

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

    def match(self, intervals: TableLike, *, also: Sequence[str] | None = ()) -> Intervals:
        """Match the rows of a table of intervals with the holes; see `Intervals`."""
        table = read_table(intervals, "intervals", self._reading, also=also)
        return self.match_table(table)

    def match_table(self, table: HoleTable) -> Intervals:
        """Match the rows of a table that was read."""
        return match_intervals(table, self._index, self.ends, self.report.left_out)

    def tell(self, domains: Domains | None = None) -> tuple[Finding, ...]:
        """Warn of what is in doubt about the holes.

        Parameters
        ----------
        domains : Domains, optional
            Without a topography of their own, holes are compared with the surface among these at
            which most of the collars are; and with the boxes of the solids.

        Returns
        -------
        tuple of Finding
            Those of `report`, and what the surface adds.

        Raises
        ------
        TableError
            With ``strict``, for every warning.

        Warns
        -----
        GeodomainWarning
            For each warning among them.
        """
        found = list(self.report.findings)
        more: list[Finding] = []
        if self._ground is None and domains is not None:
            surfaces = [
                Ground(each.name, each.meshes)
                for each in domains
                if each.is_surface or not all(mesh.is_closed for mesh in each.meshes)
            ]
            ground = topography_among(surfaces, self.paths)
            if ground is not None:
                check_topography(more, ground, self.paths)
        if domains is not None and all(each.code != "dip-from-vertical" for each in found):
            solids = [each for each in domains if not each.is_surface]
            check_dips(more, [mesh for each in solids for mesh in each.meshes], self.paths)
        found += accepted(more, self._passed)
        if self._strict:
            refuse_bad(found, "the tables of holes")
        tell(found)
        return tuple(found)
