"""A whole Parquet file in memory, and written again with other rows, numbers and columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.errors import TableError
from geodomain.io.blocks.parquet_arrays import as_doubles, new_array
from geodomain.io.blocks.parquet_groups import readable
from geodomain.io.blocks.parquet_schema import keys_beside, new_schema, writing_options
from geodomain.io.csv.new_columns import NewColumn, place_columns

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """What a Parquet file holds, and how it is written.

    Attributes
    ----------
    name : str
        What messages call it.
    arrow : pyarrow.Table
    file : pyarrow.parquet.ParquetFile
        Closed; its metadata stay.
    """

    name: str
    arrow: pyarrow.Table
    file: parquet.ParquetFile

    def written(
        self,
        rows: NDArray[np.intp] | None,
        numbers: Mapping[int, Mapping[int, float]],
        labels: Sequence[tuple[NewColumn, NDArray[np.int32]]],
        measures: Mapping[str, Floats],
    ) -> memoryview:
        """Return the file with its rows again, and columns more.

        Parameters
        ----------
        rows : (m,) intp, optional
            Which rows, in their order; a row may come again. All of them, if not given.
        numbers : mapping of int to mapping of int to float
            By place of a column, new numbers by new row. Such a column is of float64 then.
        labels : sequence of (NewColumn, (m,) int32)
            New columns, and the code of each row.
        measures : mapping of str to (m,) float64
            New columns of numbers, null where NaN.
        """
        import pyarrow
        from pyarrow import parquet

        columns = [column for column, _ in labels]
        news = [*columns, *(NewColumn(name, (), numeric=True) for name in measures)]
        names = tuple(self.arrow.column_names)
        place_columns(names, (), news, replace=False, name=self.name)
        table = self.arrow if rows is None else self.arrow.take(pyarrow.array(rows))
        for place, changed in numbers.items():
            if changed:
                values = _changed(table.column(place), names[place], self.name, changed)
                field = pyarrow.field(names[place], values.type)
                table = table.set_column(place, field, values)
        schema = new_schema(table.schema, columns, None)
        arrays = [*table.columns, *(new_array(column, codes) for column, codes in labels)]
        for name, found in measures.items():
            schema = schema.append(pyarrow.field(name, pyarrow.float64()))
            arrays.append(pyarrow.array(found, mask=np.isnan(found)))
        sink = pyarrow.BufferOutputStream()
        options = writing_options(self.file, [column.name for column in news])
        options["sorting_columns"] = None if numbers else options.get("sorting_columns")
        with parquet.ParquetWriter(sink, schema, **options) as writer:
            whole = pyarrow.Table.from_arrays(arrays, schema=schema)
            writer.write_table(whole, max(self._group_rows(), 1))
            writer.add_key_value_metadata(keys_beside(self.file, schema))
        return memoryview(sink.getvalue())

    def _group_rows(self) -> int:
        """Return how many rows the first row group has."""
        metadata = self.file.metadata
        return metadata.row_group(0).num_rows if metadata.num_row_groups else 1


def read_parquet(path: Path) -> ParquetTable:
    """Read a Parquet file.

    Raises
    ------
    TableError
        If it is none, or pyarrow is not installed.
    OSError
        If it cannot be opened.
    """
    try:
        from pyarrow import parquet
    except ImportError:
        message = f"{path} needs pyarrow to be read: pip install 'geodomain[parquet]'"
        raise TableError(message) from None
    path.stat()
    with readable(path.name), parquet.ParquetFile(path) as file:
        return ParquetTable(path.name, file.read(), file)


def _changed(
    column: pyarrow.ChunkedArray, name: str, table: str, changed: Mapping[int, float]
) -> pyarrow.Array:
    """Return a column as float64 with some other values."""
    import pyarrow

    values = as_doubles(column, name, table).copy()
    values[list(changed)] = list(changed.values())
    return pyarrow.array(values, mask=np.asarray(column.is_null()))
