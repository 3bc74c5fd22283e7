"""Flag an interval table in a file by the domains that its samples are in."""

from __future__ import annotations

import os
import time
from typing import Unpack

import numpy as np

from geodomain.checks.blocks import say_box
from geodomain.domains.sources import DomainsGiven, domains_to_label
from geodomain.drillholes.cutting import check_length, make_cuts
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.flag_summary import FlagSummary, parts_of
from geodomain.drillholes.flagging import BY, By, Flags, flag_middles, flag_parts, majority
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.keywords import HoleKeywords, reading_of
from geodomain.drillholes.places import require_outputs
from geodomain.drillholes.sample_files import (
    AXES,
    SampleFile,
    flagged_rows,
    sample_file,
)
from geodomain.drillholes.tables import TableLike, read_table
from geodomain.errors import TableError, collect_warnings
from geodomain.inputs.paths import PathGiven
from geodomain.io.blocks.model import require_same_kind
from geodomain.io.files.places import refuse_inputs
from geodomain.io.files.streams import open_target
from geodomain.labelling.cells import Labels, labels_of
from geodomain.labelling.columns import ColumnPlan
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.overlap import apart, explain_apart
from geodomain.labelling.verdict import LOST
from geodomain.query.locator import Rule


def flag_file(
    intervals: PathGiven,
    domains: DomainsGiven,
    output: PathGiven | None,
    *,
    collar: TableLike,
    survey: TableLike | None = None,
    by: By = "middle",
    min_length: float = 0.001,
    coordinates: bool = False,
    column: str = "domain",
    codes: bool = False,
    background: str | None = None,
    unassigned: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    allow_disjoint: bool = False,
    overwrite: bool = False,
    strict: bool = False,
    backend: str = "auto",
    threads: int | None = None,
    **holes: Unpack[HoleKeywords],
) -> FlagSummary:
    r"""Flag the samples of drillholes in a file by the domains that they are in.

    The output is the file byte for byte, with a column more. Of Parquet the other columns, types,
    compression and metadata stay, but FROM and TO become float64 where intervals are split.
    Intervals without a place on a hole are counted, listed and unassigned.

    Parameters
    ----------
    intervals : path
        A table of samples or logs, of text or Parquet: hole, FROM and TO; "-" is text on stdin.
        Where the collars have no depth, holes end at its largest TO.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`; conditions are about columns of `intervals`.
    output : path or None
        Where to write, in the format of `intervals`; "-" is stdout, None only flags and reports.
    collar, survey, **holes
        As for `Drillholes`.
    by : {"middle", "majority", "split"}
        The domain of the middle of each interval, along the hole; that of its greatest length, of
        equal lengths the first; or a row for each part between walls.
    min_length : float
        With "split": parts that are shorter are not split off, but counted; they are left with
        their longer neighbour.
    coordinates : bool
        Add columns x, y, z of the middle of each row, to 6 decimals; in Parquet all digits.
    column, codes, background, unassigned, rule, allow_open, weld, allow_disjoint, overwrite
        As for `label_file`.
    strict : bool
        Raise TableError for every warning about the tables of holes.
    backend, threads
        As for `label_file`.

    Returns
    -------
    FlagSummary
        Samples and lengths by domain; ``print`` it.

    Raises
    ------
    TableError, DomainError, MeshError, PointError, OSError
        As `label_file` and `Drillholes`.

    Warns
    -----
    GeodomainWarning
        For what is in doubt about the tables of holes, and about wireframes.

    Notes
    -----
    A row that is split keeps the text of its other columns. Cuts are rounded to 3 decimals, or to
    those of ``min_length`` if they are more; the first piece has the FROM of the interval, the
    last one its TO, and neighbours share a number, so that lengths add up to the old one exactly.
    Whether a hole changes its domain is looked for at every wall that it crosses, and at the rims
    of surfaces.

    Examples
    --------
    >>> import geodomain, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> collar, assay = folder / "collar.csv", folder / "assay.csv"
    >>> _ = collar.write_text("HOLE,X,Y,Z,AZIMUTH,DIP\nA,1,1,9,0,90\n")
    >>> _ = assay.write_text("HOLE,FROM,TO,AU\nA,0,6,0.10\nA,6,8,2.50\n")
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.flag_file(assay, {"ORE": ore}, folder / "out.csv", collar=collar, by="split")
    <FlagSummary of 2 intervals: ORE 1, background 2>
    >>> (folder / "out.csv").read_text().split()[1:]
    ['A,0,6,0.10,', 'A,6,7,2.50,', 'A,7,8,2.50,ORE']
    """
    began = time.perf_counter()
    if by not in BY:
        message = f"by is {by!r}; it can be {', '.join(map(repr, BY))}"
        raise ValueError(message)
    least = check_length(min_length)
    tables = [intervals, collar, survey, holes.get("topography")]
    places = require_outputs([output], tables, overwrite=overwrite, text=False)
    if output is not None:
        require_same_kind(os.fspath(intervals), os.fspath(output))
    with collect_warnings() as warned:
        given = domains_to_label(domains, weld=weld)
        refuse_inputs(places, given.files)
        labeller = Labeller(
            given.domains, rule=rule, backend=backend, threads=threads, allow_open=allow_open
        )
        labels = labels_of(given.domains, codes=codes, background=background, unassigned=unassigned)
        source, made, rows = read_samples(
            intervals, collar, survey, strict=strict, threads=threads, **holes
        )
        findings = made.tell(given.domains)
        if not allow_disjoint:
            refuse_apart(labeller, made, rows)
        flags = flag_middles(made.paths, rows, labeller)
        cuts = None
        if by != "middle":
            parts = flag_parts(made.paths, rows, labeller, backend=backend, threads=threads)
            if by == "majority":
                flags = Flags(majority(rows, parts, labeller), flags.middles)
            else:
                lost = np.full(len(rows.starts), len(labeller.targets) + LOST, np.intp)
                several = np.flatnonzero(np.bincount(parts.rows, minlength=len(lost)) > 1)
                cuts = make_cuts(len(lost), parts, lost, source.spelled(rows, several), least)
        found = flagged_rows(made, rows, flags, cuts)
        plan = ColumnPlan(column, labels, codes=codes)
        (new,) = plan.columns(labeller.targets)
        written = source.written(rows, found, new, coordinates=coordinates)
        if output is not None:
            with open_target(output, overwrite=overwrite) as target:
                target.write(memoryview(written))
    machine, reason = labeller.machine
    return FlagSummary(
        rows=len(rows.starts),
        by=by,
        parts=parts_of(
            [one.name for one in labeller.targets], _rest(labels), found.codes, found.lengths
        ),
        cut=cuts.cut if cuts else 0,
        slivers=cuts.slivers if cuts else 0,
        unusable=int((~rows.usable).sum()),
        findings=findings,
        dips=made.report.dips,
        columns=(column, *(AXES if coordinates else ())),
        output=None if output is None else os.fspath(output),
        seconds=time.perf_counter() - began,
        backend=machine,
        backend_reason=reason,
        warnings=tuple(warned),
    )


def read_samples(
    intervals: PathGiven,
    collar: TableLike,
    survey: TableLike | None,
    *,
    strict: bool,
    threads: int | None,
    **holes: Unpack[HoleKeywords],
) -> tuple[SampleFile, Drillholes, Intervals]:
    """Read the holes and the intervals, once each.

    Returns
    -------
    source : SampleFile
        The file of the intervals, every column of which can be asked for.
    made : Drillholes
    rows : Intervals
    """
    table = read_table(
        intervals, "intervals", reading_of(holes.get("columns"), threads, holes), also=None
    )
    made = Drillholes(collar, survey, table, strict=strict, threads=threads, **holes)
    rows = made.match_table(table)
    return sample_file(table), made, rows


def refuse_apart(labeller: Labeller, holes: Drillholes, rows: Intervals) -> None:
    """Raise TableError where no domain's box meets the holes', with a guess why."""
    if holes.report.bounds is None or not rows.usable.any():
        return
    box = np.array(holes.report.bounds)
    targets = labeller.targets
    if len(apart(targets, box)) < max(len(targets), 1):
        return
    reason = next(filter(None, (explain_apart(one.bounds, box) for one in targets)), "")
    message = (
        f"no domain meets the drillholes, which are in {say_box(box)}; {targets[0].name} is in "
        f"{say_box(targets[0].bounds)}: {reason or 'is it another datum or grid?'}; "
        "allow_disjoint=True flags them anyway"
    )
    raise TableError(message)


def _rest(labels: Labels) -> tuple[str, str, str, str]:
    """Return the labels of rows that no domain surely has."""
    return labels.background, labels.unassigned, labels.leaky, labels.unassigned
