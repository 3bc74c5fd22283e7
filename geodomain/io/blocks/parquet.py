"""Block models as Parquet: row group after row group, with every other column as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from geodomain.errors import TableError
from geodomain.io.blocks.block_file import Floats, LabelChunk, Relabelling, Rows
from geodomain.io.blocks.parquet_appending import Original, original
from geodomain.io.blocks.parquet_arrays import as_doubles, new_array
from geodomain.io.blocks.parquet_groups import RowGroups, readable
from geodomain.io.blocks.parquet_schema import keys_beside, new_schema, writing_options
from geodomain.io.blocks.rewriting.parquet import ParquetRewriting
from geodomain.io.blocks.rewriting.space import TableSpace
from geodomain.io.blocks.rewriting.task import Rewriting, open_rewritten
from geodomain.io.blocks.table_model import TableModel
from geodomain.io.csv.new_columns import NewColumn, place_columns
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.files.digest import Digest
from geodomain.io.files.streams import Target
from geodomain.io.files.whole import require_seekable
from geodomain.io.header.choice import SAMPLE_ROWS
from geodomain.io.header.options import TableOptions

# So many rows are labelled at a time.
_CHUNK_ROWS = 1 << 20
# So many bytes of a column are read at a time where only the first rows are wanted.
_PAGES = 1 << 16


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[ParquetModel]:
    """Open a Parquet file and read its schema and first rows."""
    _require_pyarrow(path)
    import pyarrow
    from pyarrow import parquet

    place = Path(path)
    status = require_seekable(place)
    name = place.name
    if digest is not None:
        digest.add_file(place)
    with pyarrow.OSFile(str(place)) as raw:
        with readable(name):
            file = parquet.ParquetFile(raw)
        yield ParquetModel(file, name, status, options, raw)


@contextmanager
def open_stream(file: BinaryIO, name: str, options: TableOptions) -> Iterator[ParquetModel]:
    """Open Parquet that can be read here and there, to look at its schema and first rows.

    Columns are read a few pages at a time, for a file that is far away.
    """
    _require_pyarrow(name)
    from pyarrow import parquet

    with readable(name):
        found = parquet.ParquetFile(file, buffer_size=_PAGES, pre_buffer=False)
    yield ParquetModel(found, name, None, options)


def _require_pyarrow(name: str) -> None:
    """Refuse Parquet without the library that reads it."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        message = f"{name} needs pyarrow to be read: pip install 'geodomain[parquet]'"
        raise TableError(message) from None


class Sink:
    """A target as pyarrow wants it: a binary file that only grows."""

    closed = False

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, data: Any) -> int:
        """Write all of it."""
        view = memoryview(data)
        self._target.write(view)
        return view.nbytes

    def flush(self) -> None:
        """Leave it to the target, which is flushed at the end."""

    def close(self) -> None:
        """Leave the target open, which has its own end."""


class ParquetModel(TableModel[Any]):
    """A Parquet file whose schema has been read; see `geodomain.io.blocks.BlockFile`."""

    writing = 3e-7

    def __init__(
        self,
        file: Any,
        name: str,
        status: os.stat_result | None,
        options: TableOptions,
        raw: Any = None,
    ) -> None:
        with readable(name):
            self._file, self._schema, self._raw = file, file.schema_arrow, raw
            self._groups = RowGroups(file, name)
            names = tuple(self._schema.names)
        super().__init__(name, status, names, options)

    def close(self) -> None:
        """Close the file."""
        self._file.close(force=True)

    @property
    def memory(self) -> int:
        """The largest row group, as it is and on its way out, beside the libraries and a chunk."""
        metadata = self._file.metadata
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        rows = max((int(group.num_rows) for group in groups), default=0)
        return 200_000_000 + 16 * rows * int(metadata.num_columns) + 64 * min(rows, _CHUNK_ROWS)

    @property
    def typed_columns(self) -> tuple[str, ...]:
        """The columns with their types."""
        return tuple(f"{field.name}: {field.type}" for field in self._schema)

    def facts(self) -> dict[str, str]:
        """Say how the file is written."""
        metadata = self._file.metadata
        with readable(self.name):
            writer = metadata.created_by
        return {
            "format": f"Parquet {metadata.format_version}, by {writer}",
            "row groups": f"{metadata.num_row_groups:,}",
        }

    def rows(self, column: str) -> Iterator[Rows]:
        """Give blocks and their texts; what is no text is written as one."""
        import pyarrow

        for group in range(self._file.num_row_groups):
            table = self._groups.read(group, [*self.centroid, *self.sizes, column])
            centroids, sizes = self._measured(table)
            texts = table.column(column).cast(pyarrow.string()).fill_null("")
            with readable(self.name):
                found = texts.to_pylist()
            yield centroids, sizes, np.asarray(found, np.str_)

    def relabel(self, task: Relabelling) -> None:
        """Copy the file with new columns, byte for byte where that can be, else group by group."""
        columns = task.columns
        at = place_columns(self.columns, self._taken, columns, replace=task.replace, name=self.name)
        schema = new_schema(self._schema, columns, at)
        kept = (
            original(self._raw, self.name, len(self._schema)) if self._raw and at is None else None
        )
        asked = [self.columns[column] for column in task.also]
        looked = list(dict.fromkeys([*self.centroid, *self.sizes, *asked]))
        with self._writer(task, schema, kept) as writer:
            done = 0
            for group in range(self._file.num_row_groups):
                table = self._groups.read(group, None if writer and kept is None else looked)
                codes = self._codes(table, task.label, columns, done)
                if writer:
                    others = table.columns if kept is None else []
                    made = _with(others, writer.schema, columns, codes, at)
                    writer.write_table(made, max(len(table), 1))
                done += len(table)
                task.told(done, self._file.metadata.num_rows)
            task.before_commit()

    @property
    def space(self) -> TableSpace:
        """The frame of its blocks."""
        return TableSpace(self.frame)

    def rewrite(self, task: Rewriting) -> None:
        """Write the file with other rows in the place of its own."""
        geometry = [*self._choice.xyz, *(self._choice.sizes or ())]
        made = ParquetRewriting(
            self._schema,
            geometry,
            self.frame,
            self._doubles_or_missing,
            self._column,
            task,
            self.name,
        )
        groups = (self._groups.read(group, None) for group in range(self._file.num_row_groups))
        names = made.schema.names[len(self._schema.names) :]
        writer = self._open_writer(open_rewritten(task, self), made.schema, names)
        made.run(groups, self._file.metadata.num_rows, writer)

    def _doubles_or_missing(self, chunk: Any, column: int) -> Floats:
        """Give a column as float64, NaN where a value is missing or stands for that."""
        return self._numbers(chunk, [column])[:, 0]

    @contextmanager
    def _writer(self, task: Relabelling, schema: Any, kept: Original | None) -> Iterator[Any]:
        """Open what is written; nothing without a destination."""
        names = [column.name for column in task.columns]
        with task.open_target(self) as target:
            if kept is None or target is None:
                opened = self._open_writer(nullcontext(target), schema, names)
            else:
                opened = kept.appended(schema, target, writing_options(self._file, names))
            with opened as writer:
                yield writer

    @contextmanager
    def _open_writer(
        self, opened: AbstractContextManager[Target | None], schema: Any, added: Sequence[str]
    ) -> Iterator[Any]:
        """Write as the file that is read was written."""
        with opened as target:
            if target is None:
                yield None
                return
            from pyarrow import PythonFile, parquet

            options = writing_options(self._file, added)
            sink = PythonFile(Sink(target), mode="w")
            with parquet.ParquetWriter(sink, schema, **options) as writer:
                yield writer
                writer.add_key_value_metadata(keys_beside(self._file, schema))

    def _codes(
        self, table: Any, label: LabelChunk, columns: Sequence[NewColumn], first: int
    ) -> list[NewCells]:
        """Label a row group, some rows at a time, and put the codes together."""
        parts = [
            self._label(table.slice(start, _CHUNK_ROWS), label, first + start)
            for start in range(0, len(table), _CHUNK_ROWS)
        ]
        empty = [column.room(0) for column in columns]
        return [np.concatenate([*each]) for each in zip(empty, *parts, strict=True)]

    def _values(self, chunk: Any, column: int) -> ArrayLike:
        """Give a column as it is: numbers with NaN, or texts with None where missing."""
        from pyarrow import types

        name = self.columns[column]
        values = chunk.column(name)
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        if types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind):
            with readable(self.name):
                return np.array(values.to_pylist(), object)
        return self._doubles(chunk, column)

    def _doubles(self, chunk: Any, column: int) -> Floats:
        """Give a column as float64, NaN where a value is null."""
        name = self.columns[column]
        return as_doubles(chunk.column(name), name, self.name)

    def _sample(self) -> list[list[str]]:
        """Give the first rows as text, which is what heads of tables are understood by."""
        from pyarrow import types

        with readable(self.name):
            batch = next(self._file.iter_batches(SAMPLE_ROWS, use_threads=False), None)
        if batch is None:
            return []
        cells = []
        for column in batch.columns:
            known = types.is_integer(column.type) or types.is_floating(column.type)
            values = column.to_pylist() if known else [None] * len(batch)
            cells.append(["" if value is None else repr(value) for value in values])
        return [list(row) for row in zip(*cells, strict=True)]


def _with(
    others: Sequence[Any],
    schema: Any,
    columns: Sequence[NewColumn],
    codes: Sequence[NewCells],
    at: int | None,
) -> Any:
    """Give a row group, or none of its columns, the new ones."""
    import pyarrow

    arrays = list(others)
    for column, each in zip(columns, codes, strict=True):
        if at is None:
            arrays.append(new_array(column, each))
        else:
            arrays[at] = new_array(column, each, arrays[at].combine_chunks())
    return pyarrow.Table.from_arrays(arrays, schema=schema)
