"""Shares of blocks of a table in memory: pandas, polars or Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from geodomain.domains.order import DomainsLike, Proportions, as_domains
from geodomain.errors import TableError
from geodomain.inputs.frames import NAME, BlockFrame, is_wrapped, refusal
from geodomain.io.header.keywords import NumberKeywords, table_options
from geodomain.labelling.frame_warnings import warn_of_blocks
from geodomain.labelling.shares.arrays import measure_blocks
from geodomain.labelling.shares.settings import share_settings
from geodomain.query.locator import Rule

if TYPE_CHECKING:
    from narwhals.stable.v1.typing import IntoDataFrame


def proportions_blocks(
    frame: IntoDataFrame,
    domains: DomainsLike,
    *,
    proportions: Proportions | None = None,
    percent: bool | None = None,
    lines: int | None = None,
    x: str | None = None,
    y: str | None = None,
    z: str | None = None,
    dx: str | float | None = None,
    dy: str | float | None = None,
    dz: str | float | None = None,
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    **numbers: Unpack[NumberKeywords],
) -> IntoDataFrame:
    """Return a table with the share of each of its blocks in each domain, a column for each.

    Parameters
    ----------
    frame : pandas or polars DataFrame, or pyarrow.Table
        One row for each block, with its centroid, its sizes, and the columns that conditions name.
    domains : Domains, sequence of Domain and Stack, or mapping of str to meshes
        As for `label_blocks`.
    proportions : {"itself", "priority"}, optional
        Shares of each domain by itself, or by the order and the rules, as for `label_file`; by
        default what `domains` say, or by itself.
    percent, lines : optional
        As for `label_file`.
    x, y, z, dx, dy, dz : str, optional
        Columns of the centroid and the sizes, which may be numbers, those of all blocks; by
        default recognised by the names that packages use.
    rule, backend, threads
        As in `geodomain.proportions`.
    **numbers
        ``missing``, ``below_detection`` and ``detection_limit``, as for `label_blocks`.

    Returns
    -------
    pandas or polars DataFrame, or pyarrow.Table
        A new table of the same library: the columns as they were, and ``prop_<name>`` for each
        domain, float64 from 0 to 1, or ``pct_<name>`` from 0 to 100; NaN where it is not known.

    Raises
    ------
    TypeError
        For a table of another kind.
    TableError
        For blocks without sizes, and columns that are there already or as in `label_blocks`.
    DomainError, MeshError
        As in `label_file`.

    Warns
    -----
    GeodomainWarning
        For blocks that are cut along lines because triangles of one mesh cross, for blocks
        without a share beyond the footprint of a surface, and for centroids that look like those
        of a rotated model in the world.

    Examples
    --------
    >>> import geodomain, pandas
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]], faces)
    >>> blocks = pandas.DataFrame({"XC": [1, 5], "YC": [1, 1], "ZC": [2, 2]})
    >>> geodomain.proportions_blocks(blocks, {"ORE": ore}, dx=2, dy=2, dz=4)["prop_ore"].tolist()
    [1.0, 0.5]
    """
    given = as_domains(domains)
    settings = share_settings(
        given,
        proportions=proportions or given.proportions or "itself",
        percent=percent,
        by="centroid",
        lines=lines,
    )
    options = table_options(x=x, y=y, z=z, dx=dx, dy=dy, dz=dz, **numbers)
    table = BlockFrame(frame, options=options)
    if is_wrapped(frame):
        raise TypeError(refusal(frame))
    names = [settings.column(target.name) for target in given.targets]
    for number, name in enumerate(names):
        if name in (*table.names, *names[:number]):
            message = f"the frame has a column {name!r} already: rename it, or the domain"
            raise TableError(message)
    points, lengths, place = table.blocks(options)
    shares, _ = measure_blocks(
        points,
        lengths,
        place.axes,
        given,
        settings,
        lambda named: table.column(table.find(named)),
        None,
        rule=rule,
        backend=backend,
        threads=threads,
        name=NAME,
    )
    warn_of_blocks(
        points,
        lengths,
        given,
        whole=True,
        rule=rule,
        backend=backend,
        threads=threads,
        allow_open=False,
        reach=True,
        axes=place.axes,
    )
    return table.with_numbers(dict(zip(names, shares, strict=True)))
