"""Tables in memory, of pandas, polars or Arrow: their columns as arrays, and new columns."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import as_doubles, warn_of_single
from geodomain.compute.data import Floats
from geodomain.errors import TableError, warn
from geodomain.tables.conditions import ArrayColumn
from geodomain.tables.frames import Frame, Where
from geodomain.tables.layout import SAMPLE_ROWS, Choice, choose_columns
from geodomain.tables.numbers import read_positions
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import require_constants
from geodomain.tables.vendors import CENTROIDS, Triplet, find_column, matches

if TYPE_CHECKING:
    import narwhals.stable.v1 as nw
    import pandas
    import polars
    import pyarrow
    from narwhals.stable.v1.typing import IntoDataFrame, IntoSeries
    from typing_extensions import TypeVar

    ColumnT = TypeVar("ColumnT", default=Any)
    ColumnT_co = TypeVar("ColumnT_co", covariant=True)

    # Structural types, so that type checkers also work without these libraries.
    class _PandasTable(Protocol[ColumnT_co]):
        """A table of pandas or dask."""

        def pop(self, item: str, /) -> ColumnT_co:
            """Return a column."""

    class _PolarsTable(Protocol[ColumnT_co]):
        """A table of polars."""

        def to_series(self, index: int = ..., /) -> ColumnT_co:
            """Return a column."""

    class _ArrowTable(Protocol):
        """A pyarrow.Table, declared here because pyarrow has no type annotations."""

        @property
        def column_names(self) -> list[str]:
            """Return the names of the columns."""

    class ArrowStream(Protocol):
        """A table that Arrow reads, of any library, such as a relation of DuckDB."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            """Return the rows as a stream of Arrow, in a capsule of Python's C interface."""

    class _GeoPoints(Protocol):
        """A GeoSeries of points."""

        x: pandas.Series
        y: pandas.Series
        z: pandas.Series
        has_z: pandas.Series
        geom_type: pandas.Series

    # A table, and the type of the columns of its library.
    TableOf: TypeAlias = "_PandasTable[ColumnT] | _PolarsTable[ColumnT] | _ArrowTable"


def names_of(native: IntoDataFrame) -> list[object]:
    """Return the names of the columns. In pandas, they may be any objects, and may repeat."""
    table = cast("pandas.DataFrame", native)
    return list(getattr(table, "column_names", table.columns))


def with_column(native: IntoDataFrame, name: str, values: object) -> IntoDataFrame:
    """Return a table with one column replaced by new values, or added at the end."""
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
    """Return the table with columns renamed to 0, 1, ..., because narwhals needs distinct names."""
    names = [str(place) for place in range(count)]
    if hasattr(native, "rename_columns"):
        return cast("IntoDataFrame", cast("pyarrow.Table", native).rename_columns(names))
    return cast("IntoDataFrame", cast("pandas.DataFrame", native).set_axis(names, axis=1))


def is_numeric(series: nw.Series[IntoSeries]) -> bool:
    """Return whether a column holds numbers, even if narwhals does not know their type."""
    import narwhals.stable.v1 as types

    if series.dtype == types.Unknown:
        return getattr(getattr(series.to_native(), "dtype", None), "kind", "") in tuple("fiu")
    return series.dtype.is_numeric()


def numbers_of(series: nw.Series[IntoSeries], *, exact: str | None = None) -> Floats:
    """Return a column of numbers or bools as float64, NaN where missing.

    If `exact` is given, numbers that float64 would round are refused. `exact` is the name of the
    column in the error.
    """
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


# Tables of blocks, read through narwhals.

NAME = "the frame"

TAKEN = (
    "a pandas.DataFrame, a polars.DataFrame, a pyarrow.Table, a dask DataFrame or any other table "
    "with __arrow_c_stream__ (DuckDB, record batches)"
)

# Lazy tables, whose rows are computed on request: module, class, and the method that computes.
_LAZY = {"dask.dataframe": ("DataFrame", "compute"), "polars": ("LazyFrame", "collect")}

# Attributes of Arrow arrays, PyVista data sets and xarray arrays, which Arrow reads too.
_NO_TABLE = ("null_count", "n_points", "dims")


def is_lazy(thing: object, module: str) -> bool:
    """Return whether an object is a lazy table of a module, without importing the module."""
    return _is_of(thing, module, _LAZY[module][0])


def refuse_lazy(thing: object) -> None:
    """Raise TypeError for a lazy table, whose rows are not computed yet."""
    for module, (kind, compute) in _LAZY.items():
        if is_lazy(thing, module):
            message = (
                f"a {module.partition('.')[0]} {kind} holds no rows until it is computed: "
                f"compute it first, with .{compute}()"
            )
            raise TypeError(message)


def is_frame(thing: object) -> bool:
    """Return whether an object is a table in memory that narwhals or Arrow can read."""
    if "narwhals" not in sys.modules and importlib.util.find_spec("narwhals") is None:
        return False
    from narwhals.stable.v1.dependencies import is_into_dataframe, is_into_series

    if is_into_dataframe(thing):
        return True
    if _is_of(thing, "geopandas", "GeoSeries"):
        return True
    streamed = hasattr(thing, "__arrow_c_stream__") or hasattr(thing, "__arrow_c_array__")
    other = any(hasattr(thing, name) for name in _NO_TABLE) or is_into_series(thing)
    return streamed and not other


def as_frame(thing: object) -> IntoDataFrame:
    """Return an object as a table that narwhals can read; an Arrow stream becomes an Arrow table.

    Raises
    ------
    TypeError
        For a lazy table, and for an object that is not a table.
    ModuleNotFoundError
        For an Arrow stream without pyarrow.

    Warns
    -----
    GeodomainWarning
        If a RecordBatchReader has no rows, as after it was read.
    """
    refuse_lazy(thing)
    if not is_frame(thing):
        raise TypeError(refusal(thing))
    if _is_of(thing, "geopandas", "GeoSeries"):
        return cast("IntoDataFrame", cast("pandas.Series", thing).to_frame("geometry"))
    from narwhals.stable.v1.dependencies import is_into_dataframe

    if is_into_dataframe(thing):
        return cast("IntoDataFrame", thing)
    try:
        import pyarrow as arrow
    except ModuleNotFoundError as error:
        message = (
            f"reading a {type(thing).__name__} needs pyarrow, which is not installed: "
            "pip install 'geodomain[parquet]'"
        )
        raise ModuleNotFoundError(message, name="pyarrow") from error
    table = arrow.table(thing)
    if isinstance(thing, arrow.RecordBatchReader) and not table.num_rows:
        warn(
            "the RecordBatchReader has no rows; a reader can be read only once, so pass a new one "
            "if its rows were read before"
        )
    return cast("IntoDataFrame", table)


def _is_of(thing: object, module: str, name: str) -> bool:
    """Return whether an object is an instance of a module's class, without importing the module."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(thing, kind)


def refusal(thing: object) -> str:
    """Return the error message for an object that is not a table: accepted types, and a remedy."""
    kind = type(thing)
    name = f"{kind.__module__.split('.')[0]}.{kind.__name__}".removeprefix("builtins.")
    message = f"blocks must be {TAKEN}, not {name}"
    if isinstance(thing, str | os.PathLike):
        return f"{message}: use label_file for a file"
    return f"{message}: pass the result of its .to_native()" if is_wrapped(thing) else message


def _with_point_columns(native: IntoDataFrame) -> tuple[IntoDataFrame, Triplet | None]:
    """Append x, y and z of a GeoDataFrame's points; return the table and the new columns' indices.

    A table that is not a GeoDataFrame of points with z is returned unchanged, with None.
    """
    if not _is_of(native, "geopandas", "GeoDataFrame"):
        return native, None
    import pandas

    frame = cast("pandas.DataFrame", native)
    name = getattr(frame, "active_geometry_name", None)
    if name is None:
        return native, None
    points = cast("_GeoPoints", frame[name])
    if not points.has_z.any() or not set(points.geom_type.dropna()) <= {"Point"}:
        return native, None
    first = len(frame.columns)
    wider = pandas.DataFrame(frame)
    for axis, values in (("x", points.x), ("y", points.y), ("z", points.z)):
        wider[f"{name}.{axis}"] = values
    return cast("IntoDataFrame", wider), (first, first + 1, first + 2)


def is_wrapped(thing: object) -> bool:
    """Return whether an object is a narwhals table, which wraps another table."""
    return type(thing).__module__.startswith("narwhals.")


class BlockFrame:
    """A table of blocks in memory, with columns addressed by index.

    Parameters
    ----------
    native : pandas.DataFrame, polars.DataFrame, pyarrow.Table
        Table with one block per row.
    name : str
        Name of the table in messages.
    options : TableOptions, optional
        The user's options for reading the table.
    every : bool
        Whether it is an error if the options set a missing-value mark or a detection limit for a
        column that the table lacks.

    Attributes
    ----------
    names : tuple of str
        Column names, which may repeat.

    Raises
    ------
    TypeError
        If the object has another type.
    """

    def __init__(
        self,
        native: IntoDataFrame,
        name: str = NAME,
        options: TableOptions | None = None,
        *,
        every: bool = True,
    ) -> None:
        import narwhals.stable.v1 as nw

        self._name = name
        try:
            self.native = as_frame(native)
        except TypeError as error:
            raise error if name == NAME else TypeError(f"{name} is not a table: {error}") from None
        native, self._points = _with_point_columns(self.native)
        columns = names_of(native)
        self.names = tuple(str(name) for name in columns)
        self._options = options or TableOptions()
        mark = self._options.decimal or b"."
        self._rule = self._options.number_rule(self.names, name, mark, every=every)
        self._frame: nw.DataFrame[IntoDataFrame] = nw.from_native(
            native
            if columns == list(dict.fromkeys(self.names))
            else numbered(native, len(columns)),
            eager_only=True,
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._frame)

    @property
    def library(self) -> str:
        """The name of the table's library."""
        return str(self._frame.implementation.value)

    def write_csv(self, path: Path) -> None:
        """Write the columns that are numbers or texts; an empty cell stands for a missing value."""
        import narwhals.stable.v1 as nw
        import narwhals.stable.v1.selectors as ns

        texts = (nw.String, nw.Categorical, nw.Enum)
        plain = self._frame.select(ns.numeric() | ns.boolean() | ns.by_dtype(*texts))
        if not plain.implementation.is_pandas_like():  # pandas writes categories itself
            plain = plain.with_columns(ns.by_dtype(*texts).cast(nw.String))
        names = dict(zip(self._frame.columns, self.names, strict=True))
        plain.rename({name: names[name] for name in plain.columns}).write_csv(path)

    def find(self, name: str) -> int:
        """Return the index of a column; raise TableError unless exactly one column has the name."""
        return find_column(self.names, name, self._name)

    def column(self, place: int) -> ArrayColumn:
        """Return a column for conditions: numbers (NaN if missing) or texts (None if missing)."""
        series, name = self._series(place), self.names[place]
        whose = f"{self._name}'s column {name!r}"
        rule = self._rule.of(name)
        if not is_numeric(series):
            return ArrayColumn(objects_of(series), name, rule)
        numbers = numbers_of(series, exact=whose)
        single = self._is_single(place)
        return ArrayColumn(numbers.astype(np.float32) if single else numbers, name, rule)

    def numbers(self, place: int) -> Floats:
        """Return a column as float64, NaN where missing; raise TableError for texts or infinity."""
        if self._series(place).is_null().all():
            return np.full(len(self), np.nan)
        return self._coordinates(place)

    def ids(self, place: int) -> tuple[NDArray[np.intp], list[str]]:
        """Return a tuple: the index of each row's id, and the distinct ids of a column as texts.

        Whole numbers keep all their digits. Rows with equal ids mostly follow each other, so an id
        is looked up only in the first row of each run of equal ids.
        """
        series = self._series(place)
        values = objects_of(series)
        first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]])[: len(values)])
        some = values[first]
        if series.dtype.is_integer():
            some[:] = ["" if value is None else str(value) for value in some]
        elif series.dtype.is_numeric():
            some = some.astype(np.float64)
        texts, codes = ArrayColumn(some, self.names[place]).distinct()
        return np.repeat(codes, np.diff(np.append(first, len(values)))), texts

    def cells(self, place: int, rows: NDArray[np.intp]) -> list[str]:
        """Return the values of a column in some rows as texts; a missing value becomes ""."""
        values = objects_of(self._series(place)[rows.tolist()])
        return ["" if value is None or value != value else str(value) for value in values]

    def with_rows(
        self, rows: NDArray[np.intp], numbers: Mapping[int, Floats], added: Mapping[str, object]
    ) -> IntoDataFrame:
        """Return a table of the same library with some rows, replaced columns and new columns.

        Parameters
        ----------
        rows : (m,) intp
            Rows of the new table, in order; a row may be repeated.
        numbers : mapping of int to (m,) float64
            Replaced columns, by index.
        added : mapping of str to column
            New columns of m rows, in the table's library.
        """
        import narwhals.stable.v1 as nw

        selected = nw.from_native(self.native, eager_only=True)[rows.tolist()]
        names = selected.columns
        changed = [
            nw.new_series(names[place], values, backend=selected.implementation)
            for place, values in numbers.items()
        ]
        native: IntoDataFrame = selected.to_native()
        for series in changed:
            native = with_column(native, series.name, series.to_native())
        for name, values in added.items():
            native = with_column(native, name, values)
        return native

    def with_numbers(self, added: Mapping[str, Floats]) -> IntoDataFrame:
        """Return a table of the same library with float64 columns added at the end."""
        import narwhals.stable.v1 as nw

        native: IntoDataFrame = self.native
        for name, values in added.items():
            column = nw.new_series(name, values, backend=self._frame.implementation)
            native = with_column(native, name, column.to_native())
        return native

    def texts(self, place: int, rows: NDArray[np.bool_]) -> list[str]:
        """Return the values of a column as texts, for the rows at which the mask `rows` is true."""
        return [str(value) for value in objects_of(self._series(place))[rows]]

    def centroids(self, options: TableOptions | None = None) -> Floats:
        """Return the world centroids, (n, 3), in column-major order, to avoid a copy.

        Raises
        ------
        TableError
            If columns are ambiguous, missing or not numeric, or coordinates may be local.
        """
        choice = self._choose(options)
        return choice.frame.centroids(self._triple(choice.xyz), None, self._where(choice))

    def blocks(self, options: TableOptions | None = None) -> tuple[Floats, Floats | None, Frame]:
        """Return world centroids and sizes, (n, 3) each, and the frame of the coordinates.

        Sizes are None if there are no size columns and no fixed size. Raises TableError as
        `centroids` does.
        """
        choice = self._choose(options)
        points = self._triple(choice.xyz)
        columns = self._triple(choice.sizes) if choice.sizes else None
        sizes = choice.frame.sized(points, columns)
        return choice.frame.centroids(points, sizes, self._where(choice)), sizes, choice.frame

    def placed(self, options: TableOptions | None = None) -> tuple[Floats, Floats | None, Frame]:
        """Return the same as `blocks`, but sizes are None unless all size columns are numeric."""
        choice = self._choose(options)
        points = choice.frame.centroids(self._triple(choice.xyz), None, self._where(choice))
        for place in choice.sizes or ():
            if not is_numeric(self._series(place)):
                return points, None, choice.frame
        return points, self._triple(choice.sizes) if choice.sizes else None, choice.frame

    def geometry(
        self, options: TableOptions | None = None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the names of the centroid columns and of the size columns."""
        choice = self._choose(options)
        places = choice.xyz, choice.sizes or ()
        centroid, sizes = (tuple(self.names[place] for place in each) for each in places)
        return centroid, sizes

    def _choose(self, options: TableOptions | None) -> Choice:
        """Find the columns of the centroid and the sizes.

        The points of a GeoDataFrame are used if it has no centroid columns. If it has points and
        centroid columns, they must agree.
        """
        options, points = options or TableOptions(), self._points
        if options.centroid != (None, None, None):
            points = None
        crs = getattr(self.native, "crs", None) if points else None
        if getattr(crs, "is_geographic", False):
            message = (
                f"{self._name} has points in degrees ({getattr(crs, 'name', crs)}), but wireframes "
                "have coordinates in units of length: project the points first, with to_crs()"
            )
            raise TableError(message)
        if points and not matches(self.names, CENTROIDS, (None, None, None)):
            x, y, z = (self.names[place] for place in points)
            options = options._replace(x=x, y=y, z=z)
        choice = choose_columns(self.names, self._sample(), options, table=NAME)
        require_constants(choice.constants, self.column, self.names, NAME)
        if points and not np.array_equal(
            self._triple(points), self._triple(choice.xyz), equal_nan=True
        ):
            columns, others = (
                ", ".join(self.names[place] for place in each) for each in (choice.xyz, points)
            )
            message = (
                f"{self._name}'s columns {columns} are not the coordinates of its points "
                f"({others}): name the right columns with x=, y= and z="
            )
            raise TableError(message)
        return choice

    def _triple(self, places: Triplet) -> Floats:
        """Return three columns of numbers as one array, (n, 3), column-major."""
        numbers = np.empty((len(self), 3), order="F")
        for axis, place in enumerate(places):
            numbers[:, axis] = self._coordinates(place)
        if any(self._is_single(place) for place in places):
            warn_of_single(numbers, ", ".join(self.names[place] for place in places))
        return numbers

    def _where(self, choice: Choice) -> Where:
        """Return a function that names a row and a column in error messages."""
        places = (*choice.xyz, *(choice.sizes or ()))
        return lambda row, place: f"{self._name}, row {row + 1:,}: {self.names[places[place]]}"

    def _is_single(self, place: int) -> bool:
        """Return whether a column has single precision."""
        import narwhals.stable.v1 as types

        return self._series(place).dtype == types.Float32

    def _coordinates(self, place: int) -> Floats:
        """Return a column as numbers, NaN where missing; raise TableError for infinite values."""
        series, name = self._series(place), self.names[place]
        if not is_numeric(series):
            message = (
                f"{self._name}'s column {name!r} holds {series.dtype}, not numbers: convert the "
                "column, or name another column"
            )
            raise TableError(message)
        values = numbers_of(series, exact=f"{self._name}'s column {name!r}")
        return read_positions(values, self._rule.of(name))

    def _sample(self) -> list[list[str]]:
        """Return the cells of the first rows as texts, to infer the meaning of the columns."""
        cells = []
        for place in range(len(self.names)):
            series = self._series(place).head(SAMPLE_ROWS)
            if is_numeric(series):
                numbers = numbers_of(series).tolist()
                cells.append(["" if value != value else repr(value) for value in numbers])
            else:
                cells.append(["" if value is None else str(value) for value in series.to_list()])
        return [list(row) for row in zip(*cells, strict=True)]

    def _series(self, place: int) -> nw.Series[IntoSeries]:
        return self._frame.get_column(self._frame.columns[place])
