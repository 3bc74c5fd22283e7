"""Average samples of drillholes over equal lengths, each within one domain."""

from __future__ import annotations

import math
from collections.abc import Sequence

from geodomain.domains.sources import DomainsGiven, domains_to_label
from geodomain.drillholes.averaging import (
    SHORT,
    Short,
    averages,
    cut_runs,
    runs_of,
)
from geodomain.drillholes.composites import Composites
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.flagging import flag_parts, label_gaps
from geodomain.drillholes.intervals import Intervals
from geodomain.drillholes.tables import TableLike
from geodomain.errors import TableError, counted, warn
from geodomain.io.conditions import with_policy
from geodomain.io.number_columns import Floats, NegativeGrades
from geodomain.labelling.cells import rest_labels
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.verdict import LOST
from geodomain.query.locator import Rule


def composite(
    intervals: TableLike,
    holes: Drillholes,
    domains: DomainsGiven,
    *,
    length: float,
    grade: str | Sequence[str] = (),
    short: Short = "keep",
    min_length: float | None = None,
    background: str | None = None,
    rule: Rule = "parity",
    allow_open: bool = False,
    weld: float | None = None,
    backend: str = "auto",
    threads: int | None = None,
) -> Composites:
    """Average samples of drillholes over equal lengths, each within one domain.

    Parameters
    ----------
    intervals : path, or pandas or polars DataFrame, or pyarrow.Table
        Samples: hole, FROM, TO and grades.
    holes : Drillholes
        The holes.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_file`.
    length : float
        Of a composite, in the unit of the file.
    grade : str or sequence of str
        Columns that are averaged, weighted by length. Missing values are left out, and their
        length is reported beside the mean. Negative ones count as they are, with a warning, or as
        the keyword ``below_detection`` of `holes` says.
    short : {"keep", "merge", "drop"}
        What becomes of a last piece shorter than `min_length`, where a hole leaves a domain:
        a composite of its own, part of the one before, or nothing.
    min_length : float, optional
        Half of `length`, if not given.
    background : str, optional
        The label of what is in no domain; that of `domains` otherwise.
    rule, allow_open, weld, backend, threads
        As for `label_file`.

    Returns
    -------
    Composites
        From where a hole enters a domain down to where it leaves it; none lies in two domains. A
        composite of which nothing is sampled is left out. ``print`` it for a summary.

    Raises
    ------
    TableError
        For samples that overlap, and columns that are not there.
    ValueError
        For a length that is none.
    DomainError, MeshError, OSError
        As `label_file`.

    Warns
    -----
    GeodomainWarning
        For negative grades.

    Examples
    --------
    >>> import geodomain, pandas
    >>> collar = {"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "AZIMUTH": [0], "DIP": [90]}
    >>> samples = {"HOLE": ["A"] * 3, "FROM": [6, 7.5, 8], "TO": [7.5, 8, 9], "AU": [1.0, 3, None]}
    >>> samples = pandas.DataFrame(samples)
    >>> holes = geodomain.Drillholes(pandas.DataFrame(collar), intervals=samples)
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> found = geodomain.composite(samples, holes, {"ORE": ore}, length=2, grade="AU")
    >>> [row[:4] + row[7:] for row in found.rows()][-1]
    ('A', '7', '9', '2', 'ORE', '2', '1')
    """
    grades = (grade,) if isinstance(grade, str) else tuple(dict.fromkeys(grade))
    least = 0.5 * length if min_length is None else min_length
    _require_lengths(length, least, short)
    given = domains_to_label(domains, weld=weld).domains
    names = [target.name for target in given.targets]
    rest, _ = rest_labels(given, names, background)
    labeller = Labeller(given, rule=rule, backend=backend, threads=threads, allow_open=allow_open)
    conditions = [one.column for _, some in given.conditions for one in some]
    rows = holes.match(intervals, also=[*grades, *conditions])
    refuse_overlaps(rows)
    parts = flag_parts(holes.paths, rows, labeller, backend=backend, threads=threads)
    gaps = label_gaps(holes.paths, rows, labeller, backend=backend, threads=threads)
    runs = runs_of(rows, parts, gaps)
    lost = len(labeller.targets) + LOST
    runs = runs.only(runs.codes < lost)
    made, dropped = cut_runs(runs, length, short, least)
    values: dict[str, Floats] = {}
    negative: dict[str, int] = {}
    for name in grades:
        column = with_policy(rows.table.column(name), given.below_detection)
        below = NegativeGrades(name, column.rule.below)
        values[name], negative[name] = below.take(column.numbers()), below.count
        if said := below.warning("sample"):
            warn(said)
    sampled, means, missing = averages(made, rows, parts, values)
    some = sampled > 0
    made = made.only(some)
    middles = 0.5 * (made.begins + made.ends)
    return Composites(
        made.holes,
        holes.names,
        made.codes,
        (*names, rest),
        made.begins,
        made.ends,
        holes.points_at(made.holes, middles),
        {name: column[some] for name, column in means.items()},
        {name: column[some] for name, column in missing.items()},
        length,
        dropped,
        negative,
        tuple(rows.findings),
        holes.report.dips,
    )


def refuse_overlaps(rows: Intervals) -> None:
    """Raise TableError where samples overlap: the correct sample is ambiguous."""
    if rows.overlapping.size:
        row = int(rows.overlapping[0])
        message = (
            f"{rows.table.name}: {counted(rows.overlapping.size, 'overlap')} with the "
            f"interval before, the first in {rows.table.where(row)} (FROM {rows.starts[row]:g}); "
            "remove what is there twice before compositing"
        )
        raise TableError(message)


def _require_lengths(length: float, least: float, short: str) -> None:
    """Refuse lengths that are none."""
    if not 0 < length < math.inf:
        message = f"length is {length}; it must be above 0"
        raise ValueError(message)
    if not 0 <= least <= length:
        message = f"min_length is {least}; it must be 0 to {length:g}, the length of a composite"
        raise ValueError(message)
    if short not in SHORT:
        message = f"short is {short!r}; it can be {', '.join(map(repr, SHORT))}"
        raise ValueError(message)
