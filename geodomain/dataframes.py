"""Labels for the blocks of a pandas DataFrame; no files, and no geometry of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodomain.conditions import ArrayColumn
from geodomain.errors import TableError
from geodomain.labeller import KEPT
from geodomain.labelling import codes_by_domains
from geodomain.locator import Rule
from geodomain.ordering import as_domains
from geodomain.tables.choice import SAMPLE_ROWS, choose_columns
from geodomain.tables.families import find_column
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import require_constants

if TYPE_CHECKING:
    import pandas

_NAME = "the frame"


def label_blocks(
    frame: pandas.DataFrame,
    domains: Any,
    *,
    x: str | None = None,
    y: str | None = None,
    z: str | None = None,
    replace: str | None = None,
    background: str | None = None,
    unassigned: str | None = None,
    rule: Rule = "parity",
    backend: str = "auto",
    threads: int | None = None,
    allow_open: bool = False,
) -> pandas.Series[Any]:
    """Return the domain of each block of a DataFrame as a categorical.

    Parameters
    ----------
    frame : pandas.DataFrame
        A block to a row, with its centroid, and the columns that conditions name. Centroids that
        are local to a rotated model, by Datamine's columns, are turned into the world, with a
        warning, or refused.
    domains : Domains, sequence of Domain and Stack, or mapping of str to meshes
        As for `label_points`; such as `read_domains` gives.
    x, y, z : str, optional
        Columns of the centroid; found by the names that packages use otherwise.
    replace : str, optional
        A column of labels given already, whose place the result is to take: blocks that have
        one are left to it by domains that keep labels.
    background, unassigned : str, optional
        Labels of blocks in no domain, and of blocks without coordinates or beyond a
        surface; those of `domains` otherwise. An empty one is a missing value.
    rule, backend, threads, allow_open
        As in `geodomain.contains`.

    Returns
    -------
    pandas.Series of category
        With the index of the frame, called ``domain`` or as what it replaces. The categories are
        all the domains in their order, then the background and unassigned labels, then labels
        that were kept.

    Raises
    ------
    TableError
        Where the columns are ambiguous or not there, hold no numbers, or may be local.
    DomainError, MeshError, PointError
        As in `label_points`.

    Examples
    --------
    >>> import geodomain, pandas
    >>> corners = [[0, 0, 5], [9, 0, 5], [0, 9, 5]]
    >>> air = geodomain.Domain("AIR", geodomain.Mesh(corners, [[0, 1, 2]]), kind="above")
    >>> blocks = pandas.DataFrame({"XC": [1, 1, 8], "YC": [1, 1, 8], "ZC": [6, 4, 6]})
    >>> geodomain.label_blocks(blocks, [air], background="ROCK").tolist()
    ['AIR', 'ROCK', nan]
    """
    import pandas as pd

    ordered = as_domains(domains)
    names = tuple(str(name) for name in frame.columns)

    def column(place: int) -> ArrayColumn:
        return ArrayColumn(_values(frame.iloc[:, place]), names[place])

    keeps = any(domain.keep for domain in ordered)
    place = None if replace is None else find_column(names, replace, _NAME)
    codes = codes_by_domains(
        _points(frame, names, TableOptions(x=x, y=y, z=z), column),
        ordered,
        lambda named: column(find_column(names, named, _NAME)),
        column(place).present() if place is not None and keeps else None,
        rule=rule,
        backend=backend,
        threads=threads,
        allow_open=allow_open,
    )
    lost = ordered.unassigned if unassigned is None else unassigned
    rest = [ordered.background if background is None else background, *[lost] * 3]
    labels = [*(target.name for target in ordered.targets), *rest]
    categories = list(dict.fromkeys(label for label in labels if label))
    table = np.array([categories.index(label) if label else -1 for label in labels])
    kept = codes == len(ordered.targets) + KEPT
    places = table[np.where(kept, 0, codes)]
    if place is not None:
        given = frame.iloc[:, place][kept].astype(str)
        categories += [label for label in dict.fromkeys(given) if label not in categories]
        places[kept] = [categories.index(label) for label in given]
    found = pd.Categorical.from_codes(places, categories=categories)
    return pd.Series(found, index=frame.index, name="domain" if place is None else names[place])


def _points(
    frame: pandas.DataFrame,
    names: tuple[str, ...],
    options: TableOptions,
    column: Callable[[int], ArrayColumn],
) -> NDArray[np.float64]:
    """Give the world centroids, column-major, so that no column is copied twice."""
    choice = choose_columns(names, _sample(frame), options, table=_NAME)
    require_constants(choice.constants, column, names, _NAME)
    points = np.empty((len(frame), 3), order="F")
    for axis, place in enumerate(choice.xyz):
        points[:, axis] = _coordinates(frame.iloc[:, place], names[place])
    return choice.frame.centroids(points, None)


def _sample(frame: pandas.DataFrame) -> list[list[str]]:
    """Give the first rows as text, which is what heads of tables are understood by."""
    columns = [
        frame.iloc[:SAMPLE_ROWS, place] if dtype.kind in "fiu" else None
        for place, dtype in enumerate(frame.dtypes)
    ]
    cells = [
        [""] * min(len(frame), SAMPLE_ROWS)
        if series is None
        else ["" if value != value else repr(value) for value in _coordinates(series, "").tolist()]
        for series in columns
    ]
    return [list(row) for row in zip(*cells, strict=True)]


def _coordinates(series: pandas.Series[Any], name: str) -> NDArray[np.float64]:
    """Give a column as numbers, NaN where missing."""
    if series.dtype.kind not in "fiu":
        message = f"the frame's column {name!r} holds {series.dtype}, not numbers"
        raise TableError(message)
    numbers: NDArray[np.float64] = series.to_numpy(np.float64, na_value=np.nan)
    return numbers


def _values(series: pandas.Series[Any]) -> NDArray[Any]:
    """Give a column as conditions take it: numbers with NaN, or texts with None."""
    values: NDArray[Any] = (
        series.to_numpy(np.float64, na_value=np.nan)
        if series.dtype.kind in "fiub"
        else series.astype(object).where(series.notna(), None).to_numpy(object)
    )
    return values
