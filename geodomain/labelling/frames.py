"""Label tables in memory (pandas, polars, Arrow or dask), and compute their proportions."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Unpack, cast, overload

import numpy as np
from numpy.typing import NDArray

from geodomain.domains.defaults import LabelBy, Proportions
from geodomain.domains.order import Domains, DomainsLike
from geodomain.domains.sources import as_domains
from geodomain.errors import TableError
from geodomain.labelling.arrays import codes_by_domains
from geodomain.labelling.evaluate import rest_labels
from geodomain.labelling.labeller import KEPT, Labeller
from geodomain.labelling.settings import ArrayKeywords, LabelSettings
from geodomain.labelling.sharer import measure_blocks
from geodomain.labelling.warnings import warn_of_blocks
from geodomain.settings import BackendName, Rule, read_keywords, with_keywords
from geodomain.tables.conditions import ArrayColumn
from geodomain.tables.in_memory import NAME, BlockFrame, is_lazy, is_wrapped, refusal
from geodomain.tables.options import TableOptions, options_among
from geodomain.tables.settings import NumberKeywords

if TYPE_CHECKING:
    import dask.dataframe
    import pandas
    import polars
    import pyarrow
    from narwhals.stable.v1.typing import IntoDataFrame
    from narwhals.typing import IntoDataFrameT

    from geodomain.tables.in_memory import ArrowStream, ColumnT, TableOf


class SharedDomains:
    """Domains that are sent to dask workers without the search index.

    Each worker builds the index when it is first needed.

    Parameters
    ----------
    domains : Domains
    settings : LabelSettings
    """

    def __init__(self, domains: Domains, settings: LabelSettings) -> None:
        self.domains, self.settings = domains, settings
        self._lock = threading.Lock()
        self._labeller: Labeller | None = None

    @property
    def labeller(self) -> Labeller:
        """Return the index of the domains.

        The first thread of a worker builds the index, and the other threads wait for it.
        """
        with self._lock:
            if self._labeller is None:
                self._labeller = Labeller(self.domains, self.settings)
            return self._labeller

    def __reduce__(self) -> tuple[type[SharedDomains], tuple[Domains, LabelSettings]]:
        """Pickle without the index, because it is in the memory of this process."""
        return SharedDomains, (self.domains, self.settings)


# --- Labels for the blocks of a table in memory: pandas, polars, Arrow or dask.

# A column of labels of the table's library.
LabelColumn: TypeAlias = (
    "pandas.Series | polars.Series | pyarrow.DictionaryArray | dask.dataframe.Series"
)
ArrowColumn: TypeAlias = Any  # a pyarrow.DictionaryArray, which has no types


class _Lazy(Protocol):
    """The part of a dask DataFrame that is used here; dask's own methods have no types."""

    @property
    def _meta(self) -> IntoDataFrame:
        """An empty table with the same columns as the DataFrame."""

    def map_partitions(
        self,
        function: Callable[[IntoDataFrame, SharedDomains], LabelColumn],
        shared: object,
        *,
        meta: LabelColumn,
    ) -> LabelColumn:
        """Return a column whose computation applies a function to each partition."""


@overload
def label_blocks(
    frame: TableOf[ColumnT],
    domains: DomainsLike,
    *,
    x: str | None = ...,
    y: str | None = ...,
    z: str | None = ...,
    points_are_middles: bool = ...,
    by: LabelBy | None = ...,
    lines: int | None = ...,
    replace: str | None = ...,
    **keywords: Unpack[ArrayKeywords],
) -> ColumnT: ...
@overload
def label_blocks(
    frame: ArrowStream,
    domains: DomainsLike,
    *,
    x: str | None = ...,
    y: str | None = ...,
    z: str | None = ...,
    points_are_middles: bool = ...,
    by: LabelBy | None = ...,
    lines: int | None = ...,
    replace: str | None = ...,
    **keywords: Unpack[ArrayKeywords],
) -> ArrowColumn: ...
@with_keywords(LabelSettings, ArrayKeywords, numbers=NumberKeywords)
def label_blocks(
    frame: TableOf[ColumnT] | ArrowStream,
    domains: DomainsLike,
    *,
    x: str | None = None,
    y: str | None = None,
    z: str | None = None,
    points_are_middles: bool = False,
    by: LabelBy | None = None,
    lines: int | None = None,
    replace: str | None = None,
    **keywords: Unpack[ArrayKeywords],
) -> ColumnT | ArrowColumn:
    """Return the domain of each block of a table as a categorical of the table's library.

    Parameters
    ----------
    frame : pandas, polars or dask DataFrame, pyarrow.Table, or other table that Arrow reads
        One row for each block, with its centroid and the columns that conditions name. If
        Datamine's columns show that centroids are local to a rotated model, the centroids are
        converted to world coordinates, with a warning. If the rotation is uncertain, they are
        refused.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_points`.
    x, y, z : str, optional
        Columns of the centroid; by default recognised by common names.
    points_are_middles : bool
        In a table with FROM and TO, use x, y, z as sample midpoints, even if they are the same for
        a whole hole. By default such a table is refused, because they may be collar coordinates.
    by, lines : optional
        As for `label_file`. "majority" needs size columns with common names, and closed solids.
    replace : str, optional
        Existing column of labels that the result replaces. Domains with ``keep`` leave existing
        labels unchanged.
    **settings
    **numbers
        ``missing``, ``below_detection`` and ``detection_limit``, as for `label_file`, for columns
        that conditions compare with numbers.

    Returns
    -------
    pandas.Series of category
        For pandas, with the index of the frame. The categories are all domains in order, then the
        background and unassigned labels, then kept labels. The name of the Series is ``domain``, or
        the name of the column that it replaces.
    polars.Series of Enum
        For polars, with the same categories.
    pyarrow.DictionaryArray
        For Arrow, and for any table with ``__arrow_c_stream__``. Indices are int32, labels strings.
    dask.dataframe.Series of category
        For dask, computed later by partition; the categories are known at once. The columns of a
        rotated model are read in each partition. With `distributed`, each worker receives the
        domains once and builds their index once.

    Raises
    ------
    TypeError
        If the table has another type; collect a polars.LazyFrame first.
    TableError
        If columns are ambiguous, missing or not numeric, or if the centroids may be local to a
        rotated model.
    ValueError
        If float64 cannot represent a coordinate exactly. If a dask table has labels to keep,
        because their categories are not known in advance.
    DomainError, MeshError, PointError
        As in `label_points`.

    Warns
    -----
    GeodomainWarning
        As for `label_file`, for example if domains do not meet the blocks.

    Examples
    --------
    >>> import geodomain, pandas
    >>> corners = [[0, 0, 5], [9, 0, 5], [0, 9, 5]]
    >>> air = geodomain.Domain("AIR", geodomain.Mesh(corners, [[0, 1, 2]]), kind="above")
    >>> blocks = pandas.DataFrame({"XC": [1, 1, 8], "YC": [1, 1, 8], "ZC": [6, 4, 6]})
    >>> geodomain.label_blocks(blocks, [air], background="ROCK").tolist()
    ['AIR', 'ROCK', nan]
    """
    ordered = as_domains(domains)
    place = {"x": x, "y": y, "z": z, "points_are_middles": points_are_middles}
    centroid = options_among({**place, **keywords})
    settings = read_keywords(LabelSettings, keywords, ArrayKeywords)
    settings = dataclasses.replace(settings, by=by, lines=lines).over(ordered)
    if settings.by == "majority":
        settings = dataclasses.replace(settings, allow_open=False)
    names = [target.name for target in ordered.targets]
    rest, lost = rest_labels(ordered, names, settings)
    shared = SharedDomains(ordered, settings)
    label = partial(_label, centroid=centroid, replace=replace, rest=rest, lost=lost)
    if not is_lazy(frame, "dask.dataframe"):
        return cast("ColumnT", label(cast("IntoDataFrame", frame), shared))
    if replace is not None and any(domain.keep for domain in ordered):
        message = (
            "the existing labels of a dask table are unknown until the table is computed: compute "
            "the table first, or leave out replace="
        )
        raise ValueError(message)
    lazy = cast(_Lazy, frame)
    part = partial(label, whole=False)
    labels = lazy.map_partitions(part, _sent_once(shared), meta=part(lazy._meta, shared))
    return cast("ColumnT", labels)


def _sent_once(shared: SharedDomains) -> object:
    """Wrap the domains in a separate task, on which the tasks of all partitions depend.

    Dask sends the result of a task to each worker once. If each partition's task contained the
    domains, dask would send them with every partition.
    """
    from dask.delayed import delayed

    return delayed(_itself, pure=False)(delayed(shared, traverse=False))


def _itself(shared: SharedDomains) -> SharedDomains:
    return shared


def _label(
    native: IntoDataFrame,
    shared: SharedDomains,
    *,
    centroid: TableOptions,
    replace: str | None,
    rest: str,
    lost: str,
    whole: bool = True,
) -> LabelColumn:
    """Label a table in memory.

    If `whole` is false, the table is a partition of a larger table, and may lie outside all
    domains.
    """
    domains, settings = shared.domains, shared.settings
    frame = BlockFrame(native, options=centroid)
    if frame.library not in _CATEGORICALS or is_wrapped(frame.native):
        raise TypeError(refusal(native))
    keeps = any(domain.keep for domain in domains)
    place = None if replace is None else frame.find(replace)
    labelled = frame.column(place).present() if place is not None and keeps else None

    def named(name: str) -> ArrayColumn:
        return frame.column(frame.find(name))

    index = None if whole else shared.labeller
    if settings.by == "majority":
        points, sizes, turned = frame.blocks(centroid)
        _, codes = measure_blocks(
            points,
            sizes,
            turned.axes,
            domains,
            settings,
            named,
            labelled,
            name=NAME,
            index=index,
        )
    else:
        points, sizes, turned = frame.placed(centroid)
        codes = codes_by_domains(points, domains, named, labelled, settings, index)
    warn_of_blocks(
        points,
        sizes,
        domains,
        settings,
        whole=whole,
        reach=settings.by == "majority",
        axes=turned.axes,
    )
    categories, table = categories_of(domains, rest, lost)
    unchanged = codes == len(domains.targets) + KEPT
    places = table[np.where(unchanged, 0, codes)]
    if place is not None and unchanged.any():
        texts = frame.texts(place, unchanged)
        categories += [label for label in dict.fromkeys(texts) if label not in categories]
        number_of = {category: number for number, category in enumerate(categories)}
        places[unchanged] = [number_of[label] for label in texts]
    name = "domain" if place is None else frame.names[place]
    return as_categorical(frame, places, categories, name)


def categories_of(
    domains: Domains, background: str, unassigned: str
) -> tuple[list[str], NDArray[np.intp]]:
    """Return a tuple: all possible labels, and an array with an index into them for each code.

    The index is -1 if blocks with the code have no label.
    """
    labels = [*(target.name for target in domains.targets), background, *[unassigned] * 3]
    categories = list(dict.fromkeys(label for label in labels if label))
    return categories, np.array([categories.index(label) if label else -1 for label in labels])


def as_categorical(
    frame: BlockFrame, places: NDArray[np.intp], categories: list[str], name: str
) -> LabelColumn:
    """Return labels as a categorical column of the table's library.

    `places` are indices into `categories`; -1 stands for a missing label.
    """
    return _CATEGORICALS[frame.library](frame.native, places, categories, name)


def _pandas(
    frame: IntoDataFrame, places: NDArray[np.intp], categories: list[str], name: str
) -> LabelColumn:
    """Return labels as a categorical Series with the index of the frame."""
    import pandas

    labels = pandas.Categorical.from_codes(places, categories=categories)
    return pandas.Series(labels, index=cast("pandas.DataFrame", frame).index, name=name)


def _polars(
    _: IntoDataFrame, places: NDArray[np.intp], categories: list[str], name: str
) -> LabelColumn:
    """Return labels as a Series of type Enum.

    The labels are gathered from a short Series, which holds each category once and a null.
    """
    import polars

    each = polars.Series(name, [*categories, None], dtype=polars.Enum(categories))
    return each.gather(np.where(places < 0, len(categories), places))


def _arrow(
    _: IntoDataFrame, places: NDArray[np.intp], categories: list[str], name: str
) -> LabelColumn:
    """Return labels as a DictionaryArray, which has no name."""
    import pyarrow as arrow

    indices = arrow.array(places.astype(np.int32), mask=places < 0)
    return arrow.DictionaryArray.from_arrays(indices, arrow.array(categories, arrow.string()))


_CATEGORICALS: dict[
    str, Callable[[IntoDataFrame, NDArray[np.intp], list[str], str], LabelColumn]
] = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}


# --- Proportions for tables in memory: pandas, polars or Arrow.


def proportions_blocks(
    frame: IntoDataFrameT,
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
    backend: BackendName = "auto",
    threads: int | None = None,
    **numbers: Unpack[NumberKeywords],
) -> IntoDataFrameT:
    """Return a table with the proportion of each block in each domain, one column per domain.

    Parameters
    ----------
    frame : pandas or polars DataFrame, or pyarrow.Table
        One row for each block, with its centroid, its sizes, and the columns that conditions name.
    domains : mapping, sequence of Domain and Stack, Domains, or path
        As for `label_blocks`.
    proportions : {"itself", "priority"}, optional
        "itself" for the proportions of each domain on its own, "priority" for proportions by the
        order and rules of the domains, as for `label_file`. By default as `domains` set it, or
        "itself"; "priority" for a model of LoopStructural or GemPy with several groups.
    percent, lines : optional
        As for `label_file`.
    x, y, z, dx, dy, dz : str, optional
        Columns of the centroid and sizes; a size may also be one number for all blocks. By default
        columns are recognised by common names.
    rule, backend, threads
        As in `geodomain.proportions`.
    **numbers
        ``missing``, ``below_detection`` and ``detection_limit``, as for `label_blocks`.

    Returns
    -------
    pandas or polars DataFrame, or pyarrow.Table
        A new table of the same library: the existing columns, and for each domain ``prop_<name>``,
        float64 from 0 to 1, or ``pct_<name>`` from 0 to 100; NaN if unknown.

    Raises
    ------
    TypeError
        If the table has another type.
    TableError
        If blocks have no sizes, if they look rotated but their rotation is unknown, if a new column
        exists already, or as in `label_blocks`.
    DomainError, MeshError
        As in `label_file`.

    Warns
    -----
    GeodomainWarning
        If blocks are sampled along lines because triangles of a mesh cross, if blocks outside the
        footprint of a surface have no proportion, or if centroids look like world coordinates of a
        rotated model.

    Examples
    --------
    >>> import geodomain, pandas
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]], faces)
    >>> blocks = pandas.DataFrame({"XC": [1, 5], "YC": [1, 1], "ZC": [2, 2]})
    >>> geodomain.proportions_blocks(blocks, {"ORE": ore}, dx=2, dy=2, dz=4)["prop_ore"].tolist()
    [1.0, 0.5]
    """
    listed = as_domains(domains)
    settings = LabelSettings(
        proportions=proportions or listed.proportions or listed.usual_proportions,
        percent=percent, by="centroid", lines=lines, rule=rule, backend=backend, threads=threads,
    ).over(listed)  # fmt: skip
    options = options_among({"x": x, "y": y, "z": z, "dx": dx, "dy": dy, "dz": dz, **numbers})
    table = BlockFrame(frame, options=options)
    if is_wrapped(table.native):
        raise TypeError(refusal(frame))
    names = [settings.share_column(target.name) for target in listed.targets]
    for number, name in enumerate(names):
        if name in (*table.names, *names[:number]):
            message = f"the frame has a column {name!r} already: rename the column or the domain"
            raise TableError(message)
    points, lengths, place = table.blocks(options)
    shares, _ = measure_blocks(
        points,
        lengths,
        place.axes,
        listed,
        settings,
        lambda named: table.column(table.find(named)),
        None,
        name=NAME,
    )
    warn_of_blocks(
        points,
        lengths,
        listed,
        settings,
        whole=True,
        reach=True,
        axes=place.axes,
    )
    return cast("IntoDataFrameT", table.with_numbers(dict(zip(names, shares, strict=True))))
