"""Columns of tables in memory as arrays, and new columns: what narwhals leaves to its caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats, as_doubles

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import pandas
    import polars
    import pyarrow
    from narwhals.stable.v1.typing import IntoDataFrame, IntoSeries


def names_of(native: IntoDataFrame) -> list[object]:
    """Return the names of the columns: any objects in pandas, and not always distinct."""
    table = cast("pandas.DataFrame", native)
    return list(getattr(table, "column_names", table.columns))


def with_column(native: IntoDataFrame, name: str, values: object) -> IntoDataFrame:
    """Return a table with a column that is replaced, or comes last."""
    if hasattr(native, "append_column"):
        arrow = cast("pyarrow.Table", native)
        if name in arrow.column_names:
            made = arrow.set_column(arrow.column_names.index(name), name, [values])
        else:
            made = arrow.append_column(name, values)
    elif hasattr(native, "iloc"):
        table = cast("pandas.DataFrame", native)
        made = table.assign(**{name: getattr(values, "array", values)})
    else:
        column = cast("polars.Series", values)
        made = cast("polars.DataFrame", native).with_columns(column.rename(name))
    return cast("IntoDataFrame", made)


def numbered(native: IntoDataFrame, count: int) -> IntoDataFrame:
    """Return a table with numbers as column names, because narwhals needs distinct names."""
    names = [str(place) for place in range(count)]
    if hasattr(native, "rename_columns"):
        return cast("IntoDataFrame", cast("pyarrow.Table", native).rename_columns(names))
    return cast("IntoDataFrame", cast("pandas.DataFrame", native).set_axis(names, axis=1))


def is_numeric(series: nw.Series[IntoSeries]) -> bool:
    """Return whether a column holds numbers, including widths that narwhals does not know."""
    import narwhals.stable.v1 as types

    if series.dtype == types.Unknown:
        return getattr(getattr(series.to_native(), "dtype", None), "kind", "") in tuple("fiu")
    return series.dtype.is_numeric()


def numbers_of(series: nw.Series[IntoSeries], *, exact: str | None = None) -> Floats:
    """Return numbers or bools as float64, NaN where missing; `exact` names what is not rounded."""
    import narwhals.stable.v1 as types

    if series.dtype == types.Decimal:
        series = series.cast(types.Float64)
    lost = series.is_null().to_numpy()
    if not lost.any():
        values = np.asarray(series.to_numpy())
    else:
        blank = False if series.dtype == types.Boolean else 0
        values = np.asarray(series.fill_null(blank).to_numpy())
    if exact is None or values.dtype.kind == "O":
        values = values.astype(np.float64, copy=False)
    numbers = as_doubles(values, exact or "numbers")
    if lost.any():
        numbers = np.where(lost, np.nan, numbers)
    return numbers


def objects_of(series: nw.Series[IntoSeries]) -> NDArray[np.object_]:
    """Return the values as objects, None where they are missing."""
    values = np.empty(len(series), object)
    values[:] = series.to_list()
    values[series.is_null().to_numpy()] = None
    return values
