"""Write crossings, surface points, composites and checks of drillholes as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from geodomain.compute.data import TableColumn
from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import DomainSource, domains_to_label, drawn_source
from geodomain.drillholes.check import HoleCheck
from geodomain.drillholes.composites import Composites, Short, composite
from geodomain.drillholes.crossings import PIERCES, STAYS, HoleCrossings, find_crossings
from geodomain.drillholes.drillholes import Drillholes, checked_holes
from geodomain.drillholes.ground import ground_of
from geodomain.drillholes.settings import HoleKeywords, HoleSettings
from geodomain.drillholes.surface_points import (
    GEMPY,
    GEMPY_ORIENTATIONS,
    LOOPSTRUCTURAL,
    Naming,
    SurfacePoints,
    Target,
    check_target,
    column_rows,
)
from geodomain.drillholes.tables import (
    TableLike,
    read_table,
    reading_of,
    refuse_unmarked,
    require_outputs,
    several_tables,
)
from geodomain.errors import counted, warn
from geodomain.files.outputs import refuse_inputs
from geodomain.formats.blocks import open_table, write_columns
from geodomain.inputs import MeshesLike, PathGiven
from geodomain.query.locator import Rule
from geodomain.settings import BackendName, with_keywords
from geodomain.tables.settings import TableSettings


def csv_bytes(headings: Sequence[str], rows: Iterable[tuple[object, ...]]) -> bytes:
    """Return rows as CSV in UTF-8; each number has the fewest digits that identify it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows(rows)
    return text.getvalue().encode()


# --- Crossings of drillholes with solids and surfaces.


@with_keywords((HoleSettings, TableSettings), HoleKeywords)
def crossings_file(
    collar: TableLike,
    survey: TableLike | None = None,
    intervals: TableLike | Sequence[TableLike] | None = None,
    *,
    solids: Mapping[str, MeshesLike] | None = None,
    surfaces: Mapping[str, MeshesLike] | None = None,
    domains: DomainsLike | None = None,
    output: PathGiven | None = None,
    pierce: PathGiven | None = None,
    overwrite: bool = False,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    threads: int | None = None,
    **holes: Unpack[HoleKeywords],
) -> HoleCrossings:
    r"""Find where drillholes cross solids and surfaces, and write the crossings as CSV.

    Parameters
    ----------
    collar, survey, intervals
        As for `Drillholes`.
    solids : mapping of str to meshes or paths, optional
        Closed wireframes by name.
    surfaces : mapping of str to meshes or paths, optional
        Open surfaces by name.
    domains : optional
        More solids and surfaces, as for `label_file`. `solids` and `surfaces` may then be left out.
    output, pierce : path, optional
        Files for the stretches of holes in solids, and for the points where holes go through
        surfaces. One of these files may be "-" for stdout. Depths and coordinates have all their
        digits.
    overwrite : bool
        Whether to replace existing files.
    rule, allow_open, weld, backend, threads
        As for `label_file`.
    **settings

    Returns
    -------
    HoleCrossings
        As from `Drillholes.crossings`.

    Raises
    ------
    TableError, MeshError, DomainError, OSError
        As `Drillholes` and `Drillholes.crossings`.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "collar.csv").write_text("HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\nA,1,1,9,12,0,90\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> _ = geodomain.crossings_file(
    ...     folder / "collar.csv", solids={"ORE": ore}, output=folder / "stays.csv")
    >>> (folder / "stays.csv").read_text().splitlines()[1]
    'A,ORE,7.0,9.0,2.0,1.0,1.0,2.0,1.0,1.0,0.0,0,0'
    """
    tables = [
        collar,
        survey,
        holes.get("topography"),
        *(intervals if isinstance(intervals, list | tuple) else [intervals]),
    ]
    places = require_outputs([output, pierce], tables, overwrite=overwrite)
    targets, files = _crossing_targets(solids or {}, surfaces or {}, domains, weld)
    refuse_inputs(places, files)
    drillholes = Drillholes(collar, survey, intervals, threads=threads, **holes)
    findings = drillholes.tell(targets)
    crossings = find_crossings(
        drillholes.paths,
        targets,
        rule=rule,
        backend=backend,
        threads=threads,
        allow_open=allow_open,
    )
    crossings = replace(crossings, findings=findings, dips=drillholes.report.dips)
    if pierce is None and len(crossings.pierces):
        lost = counted(len(crossings.pierces), "pierce point is", "pierce points are")
        warn(f"{lost} not written: name a file with pierce=")
    for path, headings, rows in (
        (output, STAYS, crossings.stay_rows()),
        (pierce, PIERCES, crossings.pierce_rows()),
    ):
        if path is not None:
            with open_table(path, overwrite=overwrite) as target:
                target.write(memoryview(csv_bytes(headings, rows)))
    return crossings


def _crossing_targets(
    solids: Mapping[str, MeshesLike],
    surfaces: Mapping[str, MeshesLike],
    domains: DomainsLike | None,
    weld: float | None,
) -> tuple[Domains, tuple[Path, ...]]:
    """Return all solids and surfaces to cross, and the files read for them."""
    none = DomainSource(Domains(), (), ())
    listed = none if domains is None else domains_to_label(domains, weld=weld)
    closed = domains_to_label(solids, weld=weld) if solids else none
    sheets, files = drawn_source(surfaces or None)
    above = tuple(Domain(sheet.name, sheet.placed, kind="above") for sheet in sheets)
    every = (*listed.domains.domains, *closed.domains.domains, *above)
    return Domains(every, listed.domains.stacks), (*listed.files, *closed.files, *files)


# --- Surface points for LoopStructural and GemPy.


@with_keywords((HoleSettings, TableSettings), HoleKeywords)
def surface_points_file(
    collar: TableLike,
    survey: TableLike | None = None,
    intervals: TableLike | Sequence[TableLike] | None = None,
    *,
    target: Target,
    solids: Mapping[str, MeshesLike] | None = None,
    surfaces: Mapping[str, MeshesLike] | None = None,
    domains: DomainsLike | None = None,
    logged: str | None = None,
    between: Sequence[tuple[str, str]] = (),
    name_by: Naming = "base",
    max_gap: float = 0.0,
    feature: str | None = None,
    values: Mapping[str, float] | None = None,
    output: PathGiven | None = None,
    orientations: PathGiven | None = None,
    overwrite: bool = False,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    threads: int | None = None,
    **holes: Unpack[HoleKeywords],
) -> SurfacePoints:
    r"""Write the points where drillholes meet surfaces, for LoopStructural or GemPy.

    Parameters
    ----------
    collar, survey, intervals
        As for `Drillholes`.
    target : {"loopstructural", "gempy"}
        The library that reads the files.
    solids, surfaces, domains : optional
        Wireframes, as for `crossings_file`.
    logged, between, name_by, max_gap
        Contacts of the log in `intervals`, as for `Drillholes.surface_points`.
    feature, values : optional
        For LoopStructural: as for `SurfacePoints.for_loopstructural`.
    output : path, optional
        File for the points; "-" is stdout. For LoopStructural, it also has the normals.
    orientations : path, optional
        For GemPy: file for the points that have a normal.
    overwrite : bool
        Whether to replace existing files.
    rule, allow_open, weld, backend, threads
        As for `label_file`.
    **settings

    Returns
    -------
    SurfacePoints
        As from `Drillholes.surface_points`.

    Raises
    ------
    ValueError, TableError, MeshError, DomainError, OSError
        As `Drillholes` and `Drillholes.surface_points`. Also ValueError if `target` is unknown, or
        an argument is for the other library.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "collar.csv").write_text("HOLE,X,Y,Z,DEPTH,AZIMUTH,DIP\nA,1,1,9,12,0,90\n")
    >>> floor = geodomain.Mesh([[0, 0, 2], [8, 0, 2], [0, 8, 2]], [[0, 1, 2]])
    >>> _ = geodomain.surface_points_file(
    ...     folder / "collar.csv", target="loopstructural", surfaces={"FLOOR": floor},
    ...     output=folder / "points.csv")
    >>> print((folder / "points.csv").read_text().strip())
    X,Y,Z,feature_name,val,nx,ny,nz,hole,depth
    1.0,1.0,2.0,FLOOR,0.0,0.0,0.0,1.0,A,7.0
    """
    check_target(target, feature, values, orientations)
    logs = several_tables(intervals)
    tables = [collar, survey, holes.get("topography"), *logs]
    places = require_outputs([output, orientations], tables, overwrite=overwrite)
    drawn = None
    if solids or surfaces or domains is not None:
        drawn, files = _crossing_targets(solids or {}, surfaces or {}, domains, weld)
        refuse_inputs(places, files)
    _, reading = reading_of(holes, threads)
    also = () if logged is None else None
    read = [read_table(log, "intervals", reading, also=also) for log in logs]
    drillholes = Drillholes(collar, survey, read, threads=threads, **holes)
    findings = drillholes.tell(drawn)
    points = drillholes.surface_points(
        drawn,
        logged=logged,
        between=between,
        name_by=name_by,
        max_gap=max_gap,
        rule=rule,
        backend=backend,
        threads=threads,
        allow_open=allow_open,
    )
    points = replace(points, findings=findings, dips=drillholes.report.dips)
    written: list[tuple[PathGiven | None, Sequence[str], Sequence[TableColumn]]]
    if target == "loopstructural":
        written = [(output, LOOPSTRUCTURAL, points.loopstructural_columns(feature, values))]
    else:
        first, second = points.gempy_columns()
        written = [(output, GEMPY, first), (orientations, GEMPY_ORIENTATIONS, second)]
        if orientations is None and (count := int(points.oriented.sum())):
            lost = counted(count, "orientation is", "orientations are")
            warn(f"{lost} not written: name a file with orientations=")
    for path, headings, columns in written:
        if path is not None:
            with open_table(path, overwrite=overwrite) as file:
                file.write(memoryview(csv_bytes(headings, column_rows(columns))))
    return points


# --- Composites of an interval table.


@with_keywords((HoleSettings, TableSettings), HoleKeywords)
def composite_file(
    intervals: PathGiven,
    domains: DomainsLike,
    output: PathGiven | None,
    *,
    collar: TableLike,
    survey: TableLike | None = None,
    length: float,
    grade: str | tuple[str, ...] | list[str] = (),
    short: Short = "keep",
    min_length: float | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: BackendName = "auto",
    **holes: Unpack[HoleKeywords],
) -> Composites:
    r"""Average the samples in a file into composites of equal length, each within one domain.

    Parameters
    ----------
    intervals : path
        A text table or Parquet: hole, FROM, TO and grades.
    domains, length, grade, short, min_length, background, rule, allow_open, weld, backend, threads
        As for `composite`.
    output : path or None
        CSV file of the composites, "-" for stdout, or None to write nothing. Columns: hole, from,
        to, length, x, y and z of the middle, domain, and for each grade its mean and the length
        without a value.
    collar, survey
        As for `Drillholes`.
    overwrite : bool
        Whether to replace an existing output.
    **settings

    Returns
    -------
    Composites
        As from `composite`.

    Raises
    ------
    TableError, ValueError, DomainError, MeshError, OSError
        As `composite` and `Drillholes`.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> collar, assay = folder / "collar.csv", folder / "assay.csv"
    >>> _ = collar.write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,1,1,9,0,90\n")
    >>> _ = assay.write_text("HOLE,FROM,TO,AU\nA,7,8,0.5\nA,8,9,1.5\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> out = folder / "out.csv"
    >>> _ = geodomain.composite_file(
    ...     assay, {"ORE": ore}, out, collar=collar, length=2, grade="AU")
    >>> print(out.read_text().strip())
    hole,from,to,length,x,y,z,domain,AU,AU_missing
    A,7,9,2,1,1,1,ORE,1,0
    """
    tables = [intervals, collar, survey, holes.get("topography")]
    places = require_outputs([output], tables, overwrite=overwrite)
    sources = domains_to_label(domains, weld=weld)
    refuse_inputs(places, sources.files)
    _, reading = reading_of(holes, threads)
    table = read_table(intervals, "intervals", reading, also=None)
    drillholes = Drillholes(collar, survey, table, threads=threads, **holes)
    refuse_unmarked(reading, [*table.names, *drillholes.report.columns])
    composites = composite(
        table,
        drillholes,
        sources.domains,
        length=length,
        grade=grade,
        short=short,
        min_length=min_length,
        background=background,
        rule=rule,
        allow_open=allow_open,
        backend=backend,
        threads=threads,
    )
    if output is not None:
        with open_table(output, overwrite=overwrite) as target:
            target.write(memoryview(csv_bytes(composites.headings, composites.rows())))
    return composites


# --- Checks of the tables of drillholes.


@with_keywords((HoleSettings, TableSettings), HoleKeywords)
def check_holes_file(
    collar: TableLike,
    survey: TableLike | None = None,
    intervals: TableLike | Sequence[TableLike] | None = None,
    *,
    domains: DomainsLike | None = None,
    output: PathGiven | None = None,
    grade: str | Sequence[str] = (),
    twin: float | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    say: Callable[[str], str] = str,
    **holes: Unpack[HoleKeywords],
) -> HoleCheck:
    r"""Check the tables of drillholes, and write a table of findings.

    Parameters
    ----------
    collar, survey, intervals
        As for `Drillholes`.
    domains, grade, twin
        As for `Drillholes.check`.
    output : path, optional
        CSV, Parquet or Excel file with a row for each case of a finding; "-" is CSV on stdout.
    overwrite : bool
        Whether to replace an existing output.
    threads : int, optional
        Number of threads that read text.
    say : callable
        Converts what to do, which names keywords such as ``missing=``, to the text in the file.
    **settings

    Returns
    -------
    HoleCheck
        As from `Drillholes.check`. With ``strict``, errors and warnings raise nothing: see
        `HoleCheck.fit`.

    Raises
    ------
    TableError, DomainError, MeshError, OSError, ValueError
        As `Drillholes` and `Drillholes.check`.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> from geodomain.drillholes.files import check_holes_file
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "collar.csv").write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,1,1,9,0,90\n")
    >>> _ = (folder / "assay.csv").write_text("HOLE,FROM,TO,AU\nA,0,2,1.5\nA,2,2,0.5\n")
    >>> check_holes_file(folder / "collar.csv", None, folder / "assay.csv",
    ...                  output=folder / "findings.csv")
    <HoleCheck of 1 hole: 1 error, 0 warnings and 1 note>
    >>> row = (folder / "findings.csv").read_text().splitlines()[2].split(",")
    >>> row[1], row[4:6], row[-2:]
    ('interval-reversed', ['A', '3'], ['no length', 'Correct the depths.'])
    """
    logs = several_tables(intervals)
    places = require_outputs(
        [output],
        [collar, survey, holes.get("topography"), *logs],
        overwrite=overwrite,
        formats="columns",
    )
    sources = None if domains is None else domains_to_label(domains)
    refuse_inputs(places, () if sources is None else sources.files)
    settings, reading = reading_of(holes, threads)
    check = checked_holes(
        collar, survey, logs, settings, reading, ground_of(settings.topography),
        domains=None if sources is None else sources.domains, grade=grade, twin=twin,
    )  # fmt: skip
    read = check.matched.tables.values()
    refuse_unmarked(reading, [name for table in read for name in table.names])
    if output is not None:
        spelled = {text: say(text) for text in map(str, check.columns["mend"])}
        mends = [spelled[str(text)] for text in check.columns["mend"]]
        write_columns(
            {
                name: (HoleCheck.kinds.get(name, "str"), values)
                for name, values in {**check.columns, "mend": mends}.items()
            },
            output,
            overwrite=overwrite,
        )
    return check
