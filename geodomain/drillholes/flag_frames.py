"""Flag the samples of a table in memory by the domains that they are in."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal, overload

import numpy as np

from geodomain.domains.order import DomainsLike, as_domains
from geodomain.drillholes.cutting import check_length, make_cuts
from geodomain.drillholes.drillholes import Drillholes
from geodomain.drillholes.flagging import BY, By, flag_middles, flag_parts, majority
from geodomain.inputs.frames import BlockFrame
from geodomain.labelling.cells import rest_labels
from geodomain.labelling.dataframe import LabelColumn, as_categorical, categories_of
from geodomain.labelling.labeller import Labeller
from geodomain.labelling.verdict import LOST
from geodomain.query.locator import Rule

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@overload
def flag(
    frame: IntoDataFrame,
    holes: Drillholes,
    domains: DomainsLike,
    *,
    by: Literal["middle", "majority"] = ...,
    min_length: float = ...,
    column: str = ...,
    background: str | None = ...,
    unassigned: str | None = ...,
    rule: Rule = ...,
    backend: str = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
) -> LabelColumn: ...


@overload
def flag(
    frame: IntoDataFrame,
    holes: Drillholes,
    domains: DomainsLike,
    *,
    by: Literal["split"],
    min_length: float = ...,
    column: str = ...,
    background: str | None = ...,
    unassigned: str | None = ...,
    rule: Rule = ...,
    backend: str = ...,
    threads: int | None = ...,
    allow_open: bool = ...,
) -> IntoDataFrame: ...


def flag(
    frame: IntoDataFrame,
    holes: Drillholes,
    domains: DomainsLike,
    *,
    by: By = "middle",
    min_length: float = 0.001,
    column: str = "domain",
    background: str | None = None,
    unassigned: str | None = None,
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
) -> LabelColumn | IntoDataFrame:
    """Return the domain of each sample of a table, or the table with its samples split at walls.

    Parameters
    ----------
    frame : pandas or polars DataFrame, or pyarrow.Table
        A sample to a row: its hole, FROM and TO, by the names that packages use, and the columns
        that conditions name.
    holes : Drillholes
        The holes.
    domains : Domains, sequence of Domain and Stack, or mapping of str to meshes
        As for `label_blocks`.
    by : {"middle", "majority", "split"}
        As for `flag_file`.
    min_length : float
        As for `flag_file`, with "split".
    column : str
        Name of the new column, with "split".
    background, unassigned, rule, backend, threads, allow_open
        As for `label_blocks`; intervals without a place on a hole are unassigned.

    Returns
    -------
    categorical of the table's library
        As from `label_blocks`; with "split" a table of the library: a row for each piece, the
        other columns as they were, and the categorical last.

    Raises
    ------
    TypeError, TableError, DomainError, MeshError, PointError
        As `label_blocks` and `Drillholes`.

    Examples
    --------
    >>> import geodomain, pandas
    >>> collar = {"HOLE": ["A"], "X": [1], "Y": [1], "Z": [9], "AZIMUTH": [0], "DIP": [90]}
    >>> samples = pandas.DataFrame({"HOLE": ["A", "A"], "FROM": [0.0, 6], "TO": [6.0, 8]})
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> holes = geodomain.Drillholes(pandas.DataFrame(collar), intervals=samples)
    >>> split = geodomain.flag(samples, holes, {"ORE": ore}, by="split", background="WASTE")
    >>> split[["FROM", "TO", "domain"]].values.tolist()
    [[0.0, 6.0, 'WASTE'], [6.0, 7.0, 'WASTE'], [7.0, 8.0, 'ORE']]
    """
    if by not in BY:
        message = f"by is {by!r}; it can be {', '.join(map(repr, BY))}"
        raise ValueError(message)
    least = check_length(min_length)
    ordered = as_domains(domains)
    labeller = Labeller(ordered, rule=rule, backend=backend, threads=threads, allow_open=allow_open)
    rows = holes.match(frame)
    native = BlockFrame(frame, rows.table.name)
    names = [target.name for target in ordered.targets]
    rest, lost = rest_labels(ordered, names, background, unassigned)
    categories, table = categories_of(ordered, rest, lost)
    if by == "middle":
        codes = flag_middles(holes.paths, rows, labeller).codes
        return as_categorical(native, table[codes], categories, column)
    parts = flag_parts(holes.paths, rows, labeller, backend=backend, threads=threads)
    if by == "majority":
        return as_categorical(native, table[majority(rows, parts, labeller)], categories, column)
    unusable = np.full(len(native), len(labeller.targets) + LOST, np.intp)
    several = np.flatnonzero(np.bincount(parts.rows, minlength=len(native)) > 1)
    spelled = []
    for values in (rows.starts, rows.ends):
        each = np.empty(len(native), object)
        each[several] = [Decimal(repr(value)) for value in values[several].tolist()]
        spelled.append(each)
    cuts = make_cuts(len(native), parts, unusable, spelled, least)
    begins, ends = cuts.depths(rows.starts, rows.ends)
    roles = rows.table.roles
    cut = native.with_rows(cuts.rows, {roles["from"]: begins, roles["to"]: ends}, {})
    labels = as_categorical(BlockFrame(cut), table[cuts.codes], categories, column)
    return BlockFrame(cut).with_rows(np.arange(len(cuts.rows)), {}, {column: labels})
