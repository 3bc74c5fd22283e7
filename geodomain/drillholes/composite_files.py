"""Composite an interval table in a file, and write the composites as CSV."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from geodomain.domains.sources import DomainsGiven, domains_to_label
from geodomain.drillholes.averaging import Short
from geodomain.drillholes.composites import Composites
from geodomain.drillholes.compositing import composite
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.keywords import HoleKeywords, reading_of
from geodomain.drillholes.places import require_outputs
from geodomain.drillholes.tables import TableLike, read_table
from geodomain.drillholes.writing import csv_bytes
from geodomain.inputs.paths import PathGiven
from geodomain.io.files.places import refuse_inputs
from geodomain.io.files.streams import open_target
from geodomain.query.locator import Rule


def composite_file(
    intervals: PathGiven,
    domains: DomainsGiven,
    output: PathGiven | None,
    *,
    collar: TableLike,
    survey: TableLike | None = None,
    length: float,
    grade: str | tuple[str, ...] | list[str] = (),
    short: Short = "keep",
    min_length: float | None = None,
    overwrite: bool = False,
    strict: bool = False,
    threads: int | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: str = "auto",
    **holes: Unpack[HoleKeywords],
) -> Composites:
    r"""Average the samples of drillholes in a file over equal lengths, each within one domain.

    Parameters
    ----------
    intervals : path
        A text table or Parquet: hole, FROM, TO and grades.
    domains, length, grade, short, min_length, background, rule, allow_open, weld, backend, threads
        As for `composite`.
    output : path or None
        Gets the composites as CSV: hole, from, to, length, x, y and z of the middle, domain, and
        of each grade its mean and the length without a value; "-" is stdout.
    collar, survey, **holes
        As for `Drillholes`.
    overwrite : bool
        Whether an output that is there may be replaced.
    strict : bool
        Raise TableError for every warning about the tables of holes.

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
    given = domains_to_label(domains, weld=weld)
    refuse_inputs(places, given.files)
    table = read_table(
        intervals, "intervals", reading_of(holes.get("columns"), threads, holes), also=None
    )
    made = Drillholes(collar, survey, table, strict=strict, threads=threads, **holes)
    findings = made.tell(given.domains)
    found = composite(
        table,
        made,
        given.domains,
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
    found = replace(found, findings=findings)
    if output is not None:
        with open_target(output, overwrite=overwrite) as target:
            target.write(memoryview(csv_bytes(found.headings, found.rows())))
    return found
