"""Contact analysis: grades of samples by distance from the walls between two labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.checks.blocks import MISSING_OPTION, BlockChecks
from geodomain.compute.data import Bools, Floats
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import domains_to_label
from geodomain.drillholes.curves import HolePaths
from geodomain.drillholes.drillholes import Drillholes, for_samples, settle
from geodomain.drillholes.findings import Finding
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.settings import HoleKeywords, HoleSettings, SampleKeywords
from geodomain.drillholes.tables import (
    Reading,
    TableLike,
    read_table,
    reading_of,
    refuse_unmarked,
    require_outputs,
    roles_among,
)
from geodomain.errors import DomainError, shown, warn
from geodomain.files.outputs import refuse_inputs
from geodomain.files.streams import open_target
from geodomain.formats.blocks import Relabelling, open_model, write_columns
from geodomain.inputs import PathGiven
from geodomain.labelling.evaluate import rest_labels
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.settings import LabelSettings
from geodomain.query.locator import Rule
from geodomain.settings import BackendName, among, read_keywords, with_keywords
from geodomain.statistics.charts import picture_of, require_picture
from geodomain.statistics.contact_means import (
    Contacts,
    Measured,
    Tally,
)
from geodomain.statistics.contact_walls import WallPieces, labels_at, measure_along, with_walls
from geodomain.statistics.settings import ContactFileKeywords, ContactKeywords, ContactSettings
from geodomain.tables.conditions import Column, with_policy
from geodomain.tables.in_memory import NAME, BlockFrame
from geodomain.tables.numbers import BelowDetection, NegativeGrades
from geodomain.tables.options import TableOptions, table_options
from geodomain.tables.settings import TableKeywords, TableSettings
from geodomain.tables.vendors import closest, find_column

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

# --- Samples with grades, from intervals along holes or from a table of points.


class PlacedSamples(NamedTuple):
    """Samples with places and grades; all arrays have a value for each row.

    Attributes
    ----------
    points : (n, 3) float64
        Middle points; NaN for a sample without a place, hole or length.
    grades, weights : (n,) float64
        Grades, NaN if missing; and lengths, or 1 without FROM and TO.
    holes : (n,) intp
        Index of each hole in the sorted ids; -1 if the table has no ids.
    weighted : bool
        Whether weights are lengths.
    negative : NegativeGrades
        Counts of negative grades.
    """

    points: Floats
    grades: Floats
    weights: Floats
    holes: NDArray[np.intp]
    weighted: bool
    negative: NegativeGrades


def _in_order(codes: NDArray[np.intp], names: Sequence[str]) -> NDArray[np.intp]:
    """Return the index of each row's hole in the sorted ids, from its index in `names`."""
    places = np.empty(len(names) + 1, np.intp)
    places[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    places[-1] = -1
    return places[codes]


def place_along(
    holes: Drillholes, rows: Intervals, grade: str, below: BelowDetection | None
) -> PlacedSamples:
    """Place the intervals of a table at their middles on the holes."""
    column = with_policy(rows.table.column(grade), below)
    negative = NegativeGrades(grade, column.rule.below)
    usable = rows.usable
    points = np.full((len(rows.holes), 3), np.nan)
    points[usable] = holes.points_at(
        rows.holes[usable], 0.5 * (rows.starts[usable] + rows.ends[usable])
    )
    return PlacedSamples(
        points,
        negative.take(column.numbers(), cells=column.below_detection()),
        np.where(usable, rows.ends - rows.starts, 0.0),
        _in_order(rows.holes, holes.names),
        True,
        negative,
    )


def place_points(
    samples: TableLike,
    grade: str,
    below: BelowDetection | None,
    options: TableOptions,
    columns: dict[str, str],
    threads: int | None,
) -> PlacedSamples:
    """Read a table of points: coordinates, grades, and hole, FROM and TO if it has them."""
    reader = _PointReader(grade, below, columns)
    if isinstance(samples, str | os.PathLike):
        with open_model(os.fspath(samples), options) as opened:
            places = reader.find(opened.columns, opened.name)

            def add(points: Floats, _: Floats | None, column: Callable[[int], Column]) -> tuple[()]:
                reader.add(points, column)
                return ()

            opened.relabel(Relabelling(add, also=places, threads=threads))
    else:
        frame = BlockFrame(cast("IntoDataFrame", samples), options=options)
        reader.find(frame.names, NAME)
        reader.add(frame.blocks(options)[0], frame.column)
    return reader.samples()


class _PointReader:
    """Collects samples from the chunks of a table of points."""

    def __init__(self, grade: str, below: BelowDetection | None, columns: dict[str, str]) -> None:
        self._grade, self._below = grade, below
        self._columns = Reading(columns).columns
        self._negative = NegativeGrades(grade, below)
        self._names: list[str] = []
        self._chunks: list[tuple[Floats, Floats, Floats, NDArray[np.intp]]] = []
        self._rows = 0

    def find(self, names: Sequence[str], title: str) -> list[int]:
        """Find the columns, and return their places."""
        self._place = find_column(names, self._grade, title)
        self._roles = roles_among(names, "intervals", self._columns, title)
        self._weighted = {"from", "to"} <= self._roles.keys()
        return [self._place, *self._roles.values()]

    def add(self, points: Floats, column: Callable[[int], Column]) -> None:
        """Add the rows of a chunk."""
        values = with_policy(column(self._place), self._below)
        self._negative.below = values.rule.below
        below = values.below_detection()
        grades = self._negative.take(values.numbers(), self._rows, below)
        weights, holes = np.ones(len(points)), np.full(len(points), -1)
        if self._weighted:
            starts, ends = (column(self._roles[role]).numbers() for role in ("from", "to"))
            weights = np.where(ends > starts, ends - starts, 0.0)
        if "hole" in self._roles:
            self._names, holes = column(self._roles["hole"]).distinct(self._names)
            blank = self._names.index("") if "" in self._names else -1
            weights = np.where(holes == blank, 0.0, weights)
        self._chunks.append((np.array(points), grades, weights, holes))
        self._rows += len(points)

    def samples(self) -> PlacedSamples:
        """Return the samples of all chunks."""
        empty = np.empty((0, 3)), np.empty(0), np.empty(0), np.empty(0, np.intp)
        points, grades, weights, holes = (
            np.concatenate(parts) for parts in zip(empty, *self._chunks, strict=True)
        )
        points[~(weights > 0)] = np.nan
        return PlacedSamples(
            points,
            grades,
            weights,
            _in_order(holes, self._names),
            self._weighted,
            self._negative,
        )


# --- Contacts of samples in memory or in a file.


@with_keywords((ContactSettings, HoleSettings, TableSettings), ContactKeywords)
def contacts(
    samples: TableLike,
    domains: DomainsLike,
    between: Sequence[str],
    grade: str,
    *,
    holes: Drillholes | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    threads: int | None = None,
    **keywords: Unpack[ContactKeywords],
) -> Contacts:
    """Average a grade by distance from the walls between two labels, on both sides.

    Parameters
    ----------
    samples : path, or pandas or polars DataFrame, or pyarrow.Table
        With `holes`, intervals: hole, FROM, TO and the grade; a sample is placed at its middle.
        Otherwise points: X, Y, Z and the grade, and the hole, FROM and TO if the table has them.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`. Domains with conditions on columns, or with a limit of distance, are
        left out with a warning, because their labels do not depend on walls alone.
    between : sequence of str
        Two labels: names of domains or layers, or the background label.
    grade : str
        Column of the grade. Means are weighted by length if there are FROM and TO. Negative values
        are treated as ``below_detection`` says; without it, they are used unchanged, with a
        warning.
    holes : Drillholes, optional
        The holes of the samples.
    background : str, optional
        Label of samples outside every domain. [default: as set in `domains`]
    rule, allow_open, weld, backend, threads
        As for `label_file`.
    **settings

    Returns
    -------
    Contacts
        ``print`` it for a table; `Contacts.draw` makes a chart.

    Raises
    ------
    DomainError
        If a label of `between` is not a label of `domains`, or belongs to a domain that is left
        out.
    TableError
        If a column is missing, or a hole cannot be used.
    ValueError
        If `between` is not two different labels, or a setting has an invalid value.
    MeshError, OSError
        As `label_file`.

    Warns
    -----
    GeodomainWarning
        For negative grades; for findings about holes and samples, as `composite`; for domains that
        are left out; for a surface that is extended beyond its rim; and if no wall between the two
        labels is within the distance `max` of their samples.

    Notes
    -----
    The contact is made of all parts of walls with one of the two labels on each side. The rule and
    the order of the domains decide labels, at points 1/64 of a class off the wall. Distances have
    the error bound of `nearest`. The only exception is an edge at which a third domain cuts off the
    contact: it is located to 1/16 of a class. A sample is not measured if a wall between its own
    label and a third label is nearer.

    A hole counts as crossing if it has measured samples on both sides. Intervals are described in
    `geodomain.statistics.contact_means`.

    Examples
    --------
    >>> import geodomain, pandas
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [90, 0, 0], [0, 90, 0], [0, 0, 90]], faces)
    >>> points = pandas.DataFrame({"X": 9, "Y": 9, "Z": [-3, -1, 1, 3], "AU": [0.1, 0.3, 2, 2.2]})
    >>> result = geodomain.contacts(points, {"ORE": ore}, ("ORE", "W"), "AU", background="W", max=4)
    >>> [(row.label, row.begin, row.end, row.mean) for row in result.rows]
    [('ORE', 2.0, 4.0, 2.2), ('ORE', 0.0, 2.0, 2.0), ('W', 0.0, 2.0, 0.3), ('W', 2.0, 4.0, 0.1)]
    """
    contact = read_keywords(ContactSettings, keywords, ContactKeywords)
    if contact.along == "hole" and holes is None:
        message = "along='hole' measures along drillholes: give holes="
        raise ValueError(message)
    _require_two(between)
    listed = with_walls(domains_to_label(domains, weld=weld).domains, between)
    settings = LabelSettings(
        background=background, rule=rule, allow_open=allow_open, backend=backend, threads=threads
    )
    labels, codes = _labels_of(listed, between, settings)
    labeller = Labeller(listed, settings)
    findings: tuple[Finding, ...] = ()
    rows: Intervals | None = None
    if holes is None:
        options = table_options(**among(TableKeywords, keywords))
        columns = dict(keywords.get("columns") or {})
        read = place_points(samples, grade, listed.below_detection, options, columns, threads)
        places = BlockChecks(compare=False)
        places.add(read.points)
        for sentence in places.warnings(mend=MISSING_OPTION):
            warn(sentence)
    else:
        _refuse_places(keywords)
        holes = for_samples(holes, among(SampleKeywords, keywords))
        rows = holes.match(samples, also=[grade])
        findings = settle(holes, [*holes.tell(listed), *rows.findings])
        read = place_along(holes, rows, grade, listed.below_detection)
    for sentence in read.negative.warnings("sample"):
        warn(sentence)
    along = None if holes is None or rows is None else (holes.paths, rows)
    result = LabelledSamples(read, labeller, contact, along).contact(grade, labels, codes)
    if not result.counts["measured"] and result.edge is None:
        pair = " and ".join(map(shown, labels))
        warn(
            f"no wall between {pair} is within {contact.max:g} of their samples: check labels and "
            "coordinates, or give a larger max="
        )
    dips = holes.report.dips if holes is not None else ""
    return replace(result, edge=result.edge or 0.0, findings=findings, dips=dips)


def _require_two(between: Sequence[str]) -> None:
    """Require two different labels."""
    if isinstance(between, str) or len(between) != 2 or between[0] == between[1]:
        message = f"between is {shown(between)}; it must be two different labels"
        raise ValueError(message)


def _labels_of(
    domains: Domains, between: Sequence[str], settings: LabelSettings
) -> tuple[tuple[str, str], tuple[int, int]]:
    """Return the two labels, and their codes."""
    names = [target.name for target in domains.targets]
    choices = [*names, rest_labels(domains, names, settings)[0]]
    for label in between:
        if label not in choices:
            message = (
                f"{shown(label)} is not a label of these domains{closest(choices, label)}: the "
                f"labels are {', '.join(map(shown, choices))}; the last one is for samples outside "
                "every domain, and background= sets it"
            )
            raise DomainError(message)
    first, second = between
    return (first, second), (choices.index(first), choices.index(second))


def _refuse_places(keywords: ContactKeywords) -> None:
    """Raise ValueError for keywords about coordinates or columns if holes place the samples."""
    for name in ("x", "y", "z", "points_are_middles", "columns"):
        if keywords.get(name):
            message = (
                f"{name}= is for samples with coordinates, but holes= places these samples: leave "
                f"out {name}=, or give it to Drillholes"
            )
            raise ValueError(message)


class LabelledSamples:
    """Samples with the labels of the wireframes around them, to be measured from any contact.

    Parameters
    ----------
    read : PlacedSamples
        Places and grades.
    labeller : Labeller
        The domains; see `geodomain.statistics.contact_walls.with_walls`.
    settings : ContactSettings
        Classes of distance, and how distances are measured.
    along : (HolePaths, Intervals), optional
        The holes and the intervals of the samples; distances along holes need them.
    """

    def __init__(
        self,
        read: PlacedSamples,
        labeller: Labeller,
        settings: ContactSettings,
        along: tuple[HolePaths, Intervals] | None = None,
    ) -> None:
        self._read, self._labeller, self._settings, self._along = read, labeller, settings, along
        self._placed: Bools = np.asarray(np.isfinite(read.points).all(axis=1))
        self._usable = np.flatnonzero(self._placed)
        self._labels = labels_at(labeller, read.points[self._usable])
        self._pieces: WallPieces | None = None

    def find_all_walls(self) -> bool:
        """Find the walls of all labels at once, which saves time if several contacts are wanted.

        Return whether they fit into memory; otherwise each contact finds its own walls.
        """
        settings, points = self._settings, self._read.points[self._usable]
        pieces = WallPieces(self._labeller, points, settings.max, settings.bin)
        self._pieces = None if pieces.too_many else pieces
        return not pieces.too_many

    def contact(self, grade: str, labels: tuple[str, str], codes: tuple[int, int]) -> Contacts:
        """Return the grade by distance from the contact of two labels, which have these codes.

        The `edge` of the result is None if no wall separates the labels.
        """
        measured, counts, edge = self._measured(codes)
        tally = Tally(measured, self._settings)
        classes, sides = tally.rows(labels)
        return Contacts(
            between=labels,
            grade=grade,
            settings=self._settings,
            rows=classes,
            sides=sides,
            step=tally.step(),
            counts=counts,
            weighted=self._read.weighted,
            edge=edge,
            negative=self._read.negative.count,
            notes=tuple(self._read.negative.notes()),
            findings=(),
            dips="",
            colours=self._labeller.domains.colours,
        )

    def _measured(self, codes: tuple[int, int]) -> tuple[Measured, dict[str, int], float | None]:
        """Return the measured samples, the number of rows by case, and the error of the edges.

        The error is None if no wall separates the labels.
        """
        read, settings = self._read, self._settings
        own = (self._labels == codes[0]) | (self._labels == codes[1])
        valued = ~np.isnan(read.grades[self._usable])
        mine = own & valued
        chosen, labels = self._usable[mine], self._labels[mine]
        sides = np.where(labels == codes[0], 0, 1)
        edge: float | None
        if settings.along == "hole" and self._along is not None:
            paths, rows = self._along
            thin = settings.bin / 64
            away = measure_along(paths, rows, chosen, labels, codes, self._labeller, thin)
            edge = 0.0 if np.isfinite(away.contact).any() else None
        else:
            points = read.points[chosen]
            pieces = self._pieces or WallPieces(
                self._labeller, points, settings.max, settings.bin, codes
            )
            walls = pieces.between(codes, points)
            away = walls.measure(points, sides, settings.max, self._labeller)
            edge = None if walls.contact is None else walls.edge
        near = away.contact <= settings.max
        measured = near & (away.contact <= away.other)
        taken = chosen[measured]
        counts = {
            "rows": len(self._placed),
            "measured": len(taken),
            "farther": int((~near).sum()),
            "other_wall": int((near & ~measured).sum()),
            "other_domain": int((~own).sum()),
            "without_grade": int((own & ~valued).sum()),
            "unplaced": int((~self._placed).sum()),
        }
        part = Measured(
            sides[measured],
            away.contact[measured],
            read.grades[taken],
            read.weights[taken],
            read.holes[taken],
        )
        return part, counts, edge


@with_keywords((ContactSettings, HoleSettings, TableSettings), ContactFileKeywords)
def contacts_file(
    samples: PathGiven,
    domains: DomainsLike,
    output: PathGiven | None = None,
    *,
    between: Sequence[str],
    grade: str,
    collar: TableLike | None = None,
    survey: TableLike | None = None,
    chart: PathGiven | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    **keywords: Unpack[ContactFileKeywords],
) -> Contacts:
    r"""Average a grade of the samples in a file by distance from the walls between two labels.

    Parameters
    ----------
    samples : path
        With `collar`, a table of intervals: hole, FROM, TO and the grade. Otherwise a table of
        points: X, Y, Z and the grade, and the hole, FROM and TO if it has them.
    domains, between, grade, background, rule, allow_open, weld, backend, threads
        As for `contacts`.
    output : path, optional
        CSV, Parquet or Excel file of the classes of distance; "-" is CSV on stdout.
    collar, survey
        As for `Drillholes`.
    chart : path, optional
        SVG, PNG or PDF file of the chart; needs matplotlib.
    overwrite : bool
        Whether to replace existing files.
    **settings

    Returns
    -------
    Contacts
        As from `contacts`.

    Raises
    ------
    TableError, ValueError, DomainError, MeshError, OSError
        As `contacts` and `Drillholes`.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "au.csv").write_text("X,Y,Z,AU\n9,9,-1,0.3\n9,9,1,2\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [90, 0, 0], [0, 90, 0], [0, 0, 90]], faces)
    >>> _ = geodomain.contacts_file(folder / "au.csv", {"ORE": ore}, folder / "contacts.csv",
    ...     between=("ORE", "W"), grade="AU", background="W", max=2)
    >>> print((folder / "contacts.csv").read_text().strip())
    domain,from,to,samples,holes,length,AU,low,high
    ORE,0.0,2.0,1,0,1.0,2.0,,
    W,0.0,2.0,1,0,1.0,0.3,,
    """
    tables = [samples, collar, survey, keywords.get("topography")]
    places = require_outputs([output], tables, overwrite=overwrite, formats="columns", chart=chart)
    kind = None if chart is None else require_picture(Path(chart))
    sources = domains_to_label(domains, weld=weld)
    refuse_inputs(places, sources.files)
    holes: Drillholes | None = None
    table: TableLike = samples
    if collar is not None:
        _, reading = reading_of(among(HoleKeywords, keywords), threads)
        table = read_table(samples, "intervals", reading, also=[grade])
        holes = Drillholes(collar, survey, table, threads=threads, **among(HoleKeywords, keywords))
        refuse_unmarked(reading, [*table.names, *holes.report.columns])
    elif survey is not None:
        message = "survey= needs collar=, which says where the holes begin"
        raise ValueError(message)
    own = among(ContactKeywords, keywords)
    if holes is not None:  # the holes have these settings already
        own = among(
            ContactKeywords, {name: each for name, each in own.items() if name in _OF_SAMPLES}
        )
    result = contacts(
        table,
        sources.domains,
        between,
        grade,
        holes=holes,
        background=background,
        rule=rule,
        allow_open=allow_open,
        backend=backend,
        threads=threads,
        **own,
    )
    # Drawn before any file is written: matplotlib may be missing.
    picture = None if kind is None else picture_of([result.draw()], kind)
    if output is not None:
        write_columns(result.columns, output, overwrite=overwrite)
    if chart is not None and picture is not None:
        with open_target(chart, overwrite=overwrite) as target:
            target.write(memoryview(picture))
    return result


_OF_SAMPLES = {"bin", "max", "along", "x", "y", "z", "points_are_middles"}
