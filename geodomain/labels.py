"""The function `label`, which labels blocks or points of any type."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

import geodomain
from geodomain.domains.order import DomainsLike
from geodomain.formats.blocks import holds_many_files
from geodomain.inputs import PathGiven, is_grid, is_of_xarray
from geodomain.labelling.summary import Summary
from geodomain.tables.in_memory import is_frame, is_lazy

if TYPE_CHECKING:
    import pyvista
    import xarray

    from geodomain.labelling.frames import ArrowColumn
    from geodomain.tables.in_memory import ArrowStream, ColumnT, TableOf


# In NumPy's types a text is an array too, and most tables and data sets stream to Arrow.
@overload
def label(  # type: ignore[overload-overlap]
    what: PathGiven, domains: DomainsLike, output: PathGiven | None, **keywords: object
) -> Summary: ...
@overload
def label(what: TableOf[ColumnT], domains: DomainsLike, **keywords: object) -> ColumnT: ...
@overload
def label(
    what: pyvista.DataSet | ArrayLike, domains: DomainsLike, **keywords: object
) -> NDArray[np.str_]: ...
@overload
def label(what: ArrowStream, domains: DomainsLike, **keywords: object) -> ArrowColumn: ...
def label(
    what: object,
    domains: DomainsLike,
    output: object = ...,
    **keywords: object,
) -> object:
    """Label blocks or points of any type, by calling the function for this type.

    ========================================================  =================
    type of `what`                                            function called
    ========================================================  =================
    a table in memory: pandas, polars, Arrow, dask, DuckDB    `label_blocks`
    an array of shape (n, 3), a PyVista PolyData or PointSet  `label_points`
    a PyVista grid, a DataArray or Dataset of xarray          `label_grid`
    the path of a file                                        `label_file`
    a folder, a pattern such as ``blocks/*.csv``, or a URL    `label_dataset`
    ========================================================  =================

    Three arrays x, y and z are refused, because they could be coordinates of points or the axes of
    a lattice. For points call `label_points` with ``numpy.stack((x, y, z), axis=1)``, and for axes
    call `label_lattice`.

    Parameters
    ----------
    what : table, points, grid or path
        The blocks or points.
    domains : mapping, sequence of Domain and Stack, Domains, model, or path
        As for the function that is called. It may also be a model of LoopStructural or GemPy: see
        `model_domains`.
    output : path or None
        The file or folder to write. Required if `what` is a path, and not allowed otherwise. If
        None, the blocks are labelled and counted, but nothing is written.
    **keywords
        Keywords of the function that is called.

    Returns
    -------
    labels or Summary
        Labels for blocks and points in memory, a `Summary` for files.

    Raises
    ------
    TypeError
        If `what` is three arrays or has an unsupported type. If the called function does not take
        one of the keywords; the message names this function.
    GeodomainError, OSError, ValueError
        As the function that is called.

    Examples
    --------
    >>> import geodomain, numpy, pandas
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> ore = geodomain.Mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]], faces)
    >>> geodomain.label(numpy.array([[1, 1, 1], [3, 3, 3]]), {"ORE": ore}).tolist()
    ['ORE', '']
    >>> blocks = pandas.DataFrame({"XC": [1, 3], "YC": [1, 3], "ZC": [1, 3]})
    >>> geodomain.label(blocks, {"ORE": ore}, background="WASTE").tolist()
    ['ORE', 'WASTE']
    """
    function, kind = _function_for(what)
    written = kind in ("file", "dataset")
    if not written and output is not ...:
        message = f"for a {kind}, {function.__name__} returns the labels and accepts no output="
        raise TypeError(message)
    if written and output is ...:
        message = f"{function.__name__} needs an output: a path, or None to write nothing"
        raise TypeError(message)
    _refuse_unknown(function, kind, keywords)
    places = (domains, output) if written else (domains,)
    return function(what, *places, **keywords)


def _function_for(what: object) -> tuple[Callable[..., object], str]:
    """Return the function that labels an argument, and a noun for the argument, such as "grid"."""
    if isinstance(what, str | os.PathLike):
        if holds_many_files(cast("PathGiven", what)):
            return geodomain.label_dataset, "dataset"
        return geodomain.label_file, "file"
    if is_grid(what) or (is_of_xarray(what) and len(cast("xarray.DataArray", what).dims) > 2):
        return geodomain.label_grid, "grid"
    if is_lazy(what, "dask.dataframe") or is_lazy(what, "polars") or is_frame(what):
        return geodomain.label_blocks, "table"
    if isinstance(what, list | tuple) and len(what) == 3 and all(map(_is_line, what)):
        message = (
            "three arrays could be points or a lattice: call label_points with an array of shape "
            "(n, 3), or label_lattice with x, y and z"
        )
        raise TypeError(message)
    return geodomain.label_points, "set of points"


def _is_line(values: object) -> bool:
    """Return whether an argument is an array with one dimension."""
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        return not values or np.ndim(values[0]) == 0
    return getattr(values, "ndim", None) == 1


def _refuse_unknown(
    function: Callable[..., object], kind: str, keywords: Mapping[str, object]
) -> None:
    """Raise TypeError for an unknown keyword of a function."""
    accepted: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[2:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            # The annotation is Unpack[SomeKeywords].
            typed = str(parameter.annotation).partition("[")[2].rstrip("]")
            accepted += inspect.get_annotations(inspect.unwrap(function).__globals__[typed])
        else:
            accepted.append(parameter.name)
    for name in keywords:
        if name not in accepted:
            close = get_close_matches(name, accepted, 1)
            hint = f"; did you mean {close[0]}=?" if close else ""
            message = f"{function.__name__}, which labels a {kind}, has no keyword {name}={hint}"
            raise TypeError(message)
