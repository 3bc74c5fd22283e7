"""Write what drillholes pass through as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from geodomain.domains.domain import Domain
from geodomain.domains.order import Domains
from geodomain.domains.sources import DomainsGiven, DomainSource, domains_to_label, drawn_source
from geodomain.drillholes.crossings import PIERCES, STAYS, HoleCrossings
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.keywords import HoleKeywords
from geodomain.drillholes.places import require_outputs
from geodomain.drillholes.tables import TableLike
from geodomain.drillholes.walking import find_crossings
from geodomain.drillholes.writing import csv_bytes
from geodomain.errors import warn
from geodomain.inputs.kinds import MeshesLike
from geodomain.inputs.paths import PathGiven
from geodomain.io.files.places import refuse_inputs
from geodomain.io.files.streams import open_target
from geodomain.query.locator import Rule


def crossings_file(
    collar: TableLike,
    survey: TableLike | None = None,
    intervals: TableLike | Sequence[TableLike] | None = None,
    *,
    solids: Mapping[str, MeshesLike] | None = None,
    surfaces: Mapping[str, MeshesLike] | None = None,
    domains: DomainsGiven | None = None,
    output: PathGiven | None = None,
    pierce: PathGiven | None = None,
    overwrite: bool = False,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: str = "auto",
    threads: int | None = None,
    **holes: Unpack[HoleKeywords],
) -> HoleCrossings:
    r"""Find what drillholes pass through, and write it as CSV.

    Parameters
    ----------
    collar, survey, intervals, **holes
        As for `Drillholes`.
    solids : mapping of str to meshes or paths, optional
        Closed wireframes by name.
    surfaces : mapping of str to meshes or paths, optional
        Open surfaces by name.
    domains : optional
        Solids and surfaces as for `label_file`, besides or instead.
    output, pierce : path, optional
        Get a row for each stay in a solid, and for each point at which a hole goes through a
        surface; "-" is stdout for one of them. Depths and coordinates have all their digits.
    overwrite : bool
        Whether files that are there may be replaced.
    rule, allow_open, weld, backend, threads
        As for `label_file`.

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
    given, files = _gathered(solids or {}, surfaces or {}, domains, weld)
    refuse_inputs(places, files)
    made = Drillholes(collar, survey, intervals, threads=threads, **holes)
    findings = made.tell(given)
    found = find_crossings(
        made.paths, given, rule=rule, backend=backend, threads=threads, allow_open=allow_open
    )
    found = replace(found, findings=findings, dips=made.report.dips)
    if pierce is None and len(found.pierces):
        warn(f"{len(found.pierces):,} pierce points of surfaces are not written: name a file")
    for path, headings, rows in (
        (output, STAYS, found.stay_rows()),
        (pierce, PIERCES, found.pierce_rows()),
    ):
        if path is not None:
            with open_target(path, overwrite=overwrite) as target:
                target.write(memoryview(csv_bytes(headings, rows)))
    return found


def _gathered(
    solids: Mapping[str, MeshesLike],
    surfaces: Mapping[str, MeshesLike],
    domains: DomainsGiven | None,
    weld: float | None,
) -> tuple[Domains, tuple[Path, ...]]:
    """Return all that is to be crossed, and the files that were read for it."""
    none = DomainSource(Domains(), (), ())
    listed = none if domains is None else domains_to_label(domains, weld=weld)
    closed = domains_to_label(solids, weld=weld) if solids else none
    sheets, files = drawn_source(surfaces or None)
    open_ones = tuple(Domain(one.name, one.meshes, kind="above") for one in sheets)
    every = (*listed.domains.domains, *closed.domains.domains, *open_ones)
    return Domains(every, listed.domains.stacks), (*listed.files, *closed.files, *files)
