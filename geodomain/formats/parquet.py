"""Parquet block models: labels are added row group by row group; other columns are copied."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from geodomain.compute.data import Floats, Ints
from geodomain.errors import TableError, warn
from geodomain.files.streams import Target, require_seekable
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import Blocks, LabelChunk, Relabelling, TableModel, as_text
from geodomain.formats.block_file import Rows as ChunkOfRows
from geodomain.formats.geoparquet import PointColumn, point_column
from geodomain.formats.parquet_footer import Original, original
from geodomain.formats.parquet_table import (
    RowGroups,
    as_doubles,
    encoded_texts,
    keys_beside,
    new_array,
    new_schema,
    readable,
    with_column,
    without_range,
    writing_options,
)
from geodomain.formats.rewriting import (
    SIZE_COLUMNS,
    BlockRows,
    NewRows,
    Rewriting,
    TableSpace,
    combined,
    lacking,
    last_group,
    open_rewritten,
)
from geodomain.tables.conditions import ArrayColumn, Column
from geodomain.tables.frames import Frame
from geodomain.tables.layout import SAMPLE_ROWS, Choice
from geodomain.tables.new_columns import NewColumn, place_columns
from geodomain.tables.numbers import Doubles
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells
from geodomain.tables.vendors import CENTROIDS, matches

# Rows taken at a time.
_ROWS = 1 << 18


class ParquetRewriting:
    """One pass that replaces the rows of a Parquet file.

    Parameters
    ----------
    schema : pyarrow.Schema
        Schema of the file.
    geometry : sequence of int
        Indices of the coordinate and size columns.
    frame : Frame
        Conversion from file to world coordinates.
    doubles : callable
        Returns a column of some rows as float64, with NaN where a value is missing.
    column : callable
        Returns a column of some rows as a `Column`, on which conditions can be tested.
    task : Rewriting
    name : str
        Name of the file in messages.
    """

    def __init__(
        self,
        schema: Any,
        geometry: Sequence[int],
        frame: Frame,
        doubles: Callable[[Any, int], Floats],
        column: Callable[[Any, int], Column],
        task: Rewriting,
        name: str,
    ) -> None:
        self._frame = frame
        self._geometry, self._doubles, self._column = geometry, doubles, column
        self._numeric, self._task, self._name = [*geometry, *task.amounts], task, name
        self._fixed = None if len(geometry) > 3 else frame.fixed
        self.schema = self._new_schema(schema)
        self._rows = 0

    def run(
        self,
        groups: Iterator[Any],
        total: int,
        writer: AbstractContextManager[Any],
    ) -> None:
        """Replace the rows of all row groups, and write the result."""
        import pyarrow

        try:
            self._run(groups, total, writer)
        except pyarrow.ArrowNotImplementedError as error:
            reason = " ".join(str(error).split())[:120]
            message = (
                f"{self._name} has a column of a type that cannot be copied or compared "
                f"({reason}): leave the column out, or store it as text or numbers"
            )
            raise TableError(message) from error

    def _run(
        self,
        groups: Iterator[Any],
        total: int,
        writer: AbstractContextManager[Any],
    ) -> None:
        import pyarrow

        with writer as out:
            held = None
            for table in groups:
                whole = table if held is None else pyarrow.concat_tables([held, table])
                count = self._complete_rows(whole)
                self._write(whole.slice(0, count), out)
                held = whole.slice(count)
                self._task.report(self._rows, total)
            if held is not None:
                self._write(held, out)
            self._task.before_commit()

    def _complete_rows(self, table: Any) -> int:
        """Return how many rows can be replaced now without splitting a run of equal rows.

        Consecutive rows form a run if their numbers in the task's column `together` are equal.
        """
        together = self._task.together
        if together is None or not len(table):
            return len(table)
        return last_group(self._doubles(table, together))

    def _write(self, table: Any, out: Any) -> None:
        """Replace some rows, and write the new rows in batches."""
        begin = 0
        while begin < len(table):
            part = table.slice(begin, _ROWS)
            if begin + len(part) < len(table):
                run = self._complete_rows(part)
                part = part.slice(0, run) if run else table.slice(begin)
            for made in self._task.rewrite(self._block_rows(part)):
                out.write_table(self._new_table(part, made), max(len(made.row), 1))
            begin += len(part)
            self._rows += len(part)

    def _block_rows(self, table: Any) -> BlockRows:
        """Return some rows as blocks for the rewriting function."""
        numbers = {field: self._doubles(table, field) for field in self._numeric}
        geometry = np.column_stack([numbers[field] for field in self._geometry])
        if self._fixed is not None:
            geometry = np.hstack([geometry, np.broadcast_to(self._fixed, (len(geometry), 3))])
        missing = lacking(geometry)
        x, y, z, dx, dy, dz = (
            Doubles(np.where(missing, 0.0, geometry[:, place])) for place in range(6)
        )
        amounts = [numbers[field] for field in self._task.amounts]
        return BlockRows(
            first=self._rows,
            points=self._frame.centroids(geometry[:, :3], geometry[:, 3:]),
            coordinates=(x, y, z),
            sizes=(dx, dy, dz),
            missing=missing,
            amounts=[Doubles(each) for each in amounts],
            absent=[np.isnan(each) for each in amounts],
            column=lambda field: self._column(table, field),
            alike=lambda: self._alike(table),
        )

    def _alike(self, table: Any) -> Ints:
        """Return a code for each row.

        Two rows have equal codes if they are equal in all columns that the pass does not change.
        """
        import pyarrow

        codes = []
        for field in range(len(table.schema)):
            if field not in self._numeric:
                column = table.column(field).combine_chunks()
                index = column.dictionary_encode() if not _is_dictionary(column) else column
                signed = index.indices.cast(pyarrow.int64())  # polars' indices contain no -1
                codes.append(signed.fill_null(-1).to_numpy(zero_copy_only=False))
        return combined(codes, len(table))

    def _new_table(self, table: Any, made: NewRows) -> Any:
        """Return the new rows with all columns, copied from the old rows or changed."""
        import pyarrow
        from pyarrow import compute

        old = table.take(pyarrow.array(made.row))
        arrays = list(old.columns)
        sizes = list(made.sizes)
        changed = [*made.coordinates, *([] if self._fixed else sizes), *made.amounts]
        for field, numbers in zip(self._numeric, changed, strict=True):
            values, kind = numbers.doubles(), self.schema.field(field).type
            before = old.column(field).combine_chunks()
            new = pyarrow.array(values, from_pandas=True).cast(kind)
            keeps = pyarrow.array(made.unchanged)
            arrays[field] = compute.if_else(keeps, before.cast(kind), new)
        arrays += [pyarrow.array(size.doubles()) for size in (sizes if self._fixed else [])]
        for added, codes in zip(self._task.added, made.added, strict=True):
            if added.cells is None:
                arrays.append(pyarrow.array(codes))
            else:
                arrays.append(pyarrow.array(added.cells, pyarrow.string()).take(codes))
        return pyarrow.Table.from_arrays(arrays, schema=self.schema)

    def _new_schema(self, schema: Any) -> Any:
        """Return the schema of the output, in which changed numbers are float64."""
        import pyarrow

        schema = schema.with_metadata(without_range(schema.metadata, self._name))
        widened = []
        for field in self._numeric:
            old = schema.field(field)
            if old.type != pyarrow.float64():
                widened.append(f"{old.name} ({old.type})")
                schema = with_column(schema, old.with_type(pyarrow.float64()), field)
        if widened:
            warn(
                f"{self._name}: columns of numbers are written as float64, so that the positions "
                f"and sizes of sub-blocks are exact: {', '.join(widened)}"
            )
        for name in SIZE_COLUMNS if self._fixed else ():
            schema = with_column(schema, pyarrow.field(name, pyarrow.float64()))
        for added in self._task.added:
            kind = pyarrow.int64() if added.cells is None else pyarrow.string()
            schema = with_column(schema, pyarrow.field(added.name, kind))
        return schema


def _is_dictionary(column: Any) -> bool:
    from pyarrow import types

    return bool(types.is_dictionary(column.type))


# --- Parquet block models that are read and labelled.

# Rows labelled at a time.
_CHUNK_ROWS = 1 << 20
# Bytes of a column read at a time if only the first rows are needed.
_PAGES = 1 << 16


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[ParquetModel]:
    """Open a Parquet block model, and read its schema and first rows."""
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
    """Open a random-access Parquet stream, to read its schema and first rows.

    Columns are read a few pages at a time, because the file may be remote.
    """
    _require_pyarrow(name)
    from pyarrow import parquet

    with readable(name):
        opened = parquet.ParquetFile(file, buffer_size=_PAGES, pre_buffer=False)
    yield ParquetModel(opened, name, None, options)


def _require_pyarrow(name: str) -> None:
    """Raise TableError if pyarrow, which reads Parquet, is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        message = f"{name} can only be read with pyarrow: pip install 'geodomain[parquet]'"
        raise TableError(message) from None


def encoded_blocks(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Yield the bytes of a new file with the given blocks."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        message = f"{path} can only be written with pyarrow: pip install 'geodomain[parquet]'"
        raise TableError(message) from None
    arrays = {
        name: pyarrow.array(
            values if values.dtype.kind != "O" else [as_text(value) or None for value in values],
            from_pandas=True,
        )
        for name, values in blocks.table(path).items()
    }
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays), out)
    yield out.getvalue()


class Sink:
    """A binary file as pyarrow expects it, which passes all bytes to an output."""

    closed = False

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, data: Any) -> int:
        """Write all bytes, and return their number."""
        view = memoryview(data)
        self._target.write(view)
        return view.nbytes

    def flush(self) -> None:
        """Do nothing: the output is flushed at the end."""

    def close(self) -> None:
        """Do nothing: whoever opened the output closes it."""


class PointGroups(RowGroups):
    """The row groups of a GeoParquet file, with columns of the points' coordinates at the end."""

    def __init__(self, file: Any, name: str, points: PointColumn) -> None:
        super().__init__(file, name)
        self._points = points

    def read(self, group: int, columns: Sequence[str] | None) -> Any:
        """Return a row group, or some of its columns; the coordinates are columns, too."""
        if columns is None:
            return self._points.appended(super().read(group, None))
        own = [name for name in columns if name not in self._points.columns]
        if len(own) == len(columns):
            return super().read(group, columns)
        own = list(dict.fromkeys([*own, self._points.name]))
        return self._points.appended(super().read(group, own))


class ParquetModel(TableModel[Any]):
    """A Parquet file whose schema has been read; see `BlockFile`."""

    writing = 3e-7
    _points: PointColumn | None = None

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
        chosen = options.centroid != (None, None, None)
        ordinary = chosen or matches(names, CENTROIDS, (None, None, None))
        points = None if ordinary else self._points_of(name)
        if points is not None and points.name in names:
            self._points, self._groups = points, PointGroups(file, name, points)
            names += points.columns
            x, y, z = points.columns
            options = options._replace(x=x, y=y, z=z)
        super().__init__(name, status, names, options)

    def _points_of(self, name: str) -> PointColumn | None:
        """Return the column of points of a GeoParquet file; None for other files."""
        return point_column(self._schema.metadata, name)

    def close(self) -> None:
        """Close the file."""
        self._file.close(force=True)

    @property
    def memory(self) -> int:
        """Memory in bytes for the largest row group (read and written), a batch, and libraries."""
        metadata = self._file.metadata
        groups = map(metadata.row_group, range(metadata.num_row_groups))
        rows = max((int(group.num_rows) for group in groups), default=0)
        return 200_000_000 + 16 * rows * int(metadata.num_columns) + 64 * min(rows, _CHUNK_ROWS)

    @property
    def typed_columns(self) -> tuple[str, ...]:
        """The columns as text, each as "name: type"."""
        return tuple(f"{field.name}: {field.type}" for field in self._schema)

    def facts(self) -> dict[str, str]:
        """Return the Parquet version, the writing program and the row groups as texts."""
        metadata = self._file.metadata
        with readable(self.name):
            writer = metadata.created_by
        return {
            "format": f"Parquet {metadata.format_version}, by {writer}",
            "row groups": f"{metadata.num_row_groups:,}",
            **({} if self._points is None else {"CRS": self._points.crs}),
        }

    def rows(self, column: str) -> Iterator[ChunkOfRows]:
        """Yield the blocks batch by batch: centroids, sizes, and the text of the given column.

        Bytes, such as those of a geometry, are written in hexadecimal.
        """
        import pyarrow
        from pyarrow import types

        for group in range(self._file.num_row_groups):
            table = self._groups.read(group, [*self.centroid, *self.sizes, column])
            centroids, sizes = self._measured(table)
            values = table.column(column)
            if types.is_nested(values.type):
                message = (
                    f"{self.name}: the column {column!r} holds {values.type}, which is neither "
                    "numbers nor text: leave this column out"
                )
                raise TableError(message)
            with readable(self.name):
                if types.is_binary(values.type) or types.is_large_binary(values.type):
                    binary = [b"" if each is None else each for each in values.to_pylist()]
                    texts = [each.hex() for each in binary]
                else:
                    texts = values.cast(pyarrow.string()).fill_null("").to_pylist()
            yield centroids, sizes, np.asarray(texts, np.str_)

    def relabel(self, task: Relabelling) -> None:
        """Copy the file with new columns: byte for byte if possible, otherwise by row groups."""
        columns = task.columns
        at = place_columns(
            self.columns, self._geometry, columns, replace=task.replace, name=self.name
        )
        schema = new_schema(self._schema, columns, at)
        copied = (
            original(self._raw, self.name, len(self._schema)) if self._raw and at is None else None
        )
        also = [self.columns[column] for column in task.also]
        looked = list(dict.fromkeys([*self.centroid, *self.sizes, *also]))
        with self._writer(task, schema, copied) as writer:
            done = 0
            for group in range(self._file.num_row_groups):
                table = self._groups.read(group, None if writer and copied is None else looked)
                codes = self._codes(table, task.label, columns, done)
                if writer:
                    others = table.columns[: len(self._schema)] if copied is None else []
                    made = _with(others, writer.schema, columns, codes, at)
                    writer.write_table(made, max(len(table), 1))
                done += len(table)
                task.report(done, self._file.metadata.num_rows)
            task.before_commit()

    @property
    def space(self) -> TableSpace:
        """The local frame of the blocks, in which they are axis-aligned boxes."""
        return TableSpace(self.frame)

    def rewrite(self, task: Rewriting) -> None:
        """Write the file with new blocks, for example sub-blocks, in place of its rows."""
        if self._points is not None:
            message = (
                f"{self.name} has its coordinates in the geometry column {self._points.name!r}, "
                "whose points cannot be split or joined: store them as columns x, y and z"
            )
            raise TableError(message)
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
        """Return a column of a batch as float64, with NaN for null and for missing-value marks."""
        return self._numbers(chunk, [column])[:, 0]

    @contextmanager
    def _writer(self, task: Relabelling, schema: Any, copied: Original | None) -> Iterator[Any]:
        """Open the output and yield its pyarrow writer, or None if nothing is written."""
        names = [column.name for column in task.columns]
        with task.open_target(self) as target:
            if copied is None or target is None:
                opened = self._open_writer(nullcontext(target), schema, names)
            else:
                opened = copied.appended(schema, target, writing_options(self._file, names))
            with opened as writer:
                yield writer

    @contextmanager
    def _open_writer(
        self, opened: AbstractContextManager[Target | None], schema: Any, added: Sequence[str]
    ) -> Iterator[Any]:
        """Yield a pyarrow writer with the input file's settings; None if there is no output."""
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
        """Label a row group in batches, and return the codes of all batches joined.

        `first` is the number of the row group's first row in the file, counted from 0.
        """
        parts = [
            self._label(table.slice(start, _CHUNK_ROWS), label, first + start)
            for start in range(0, len(table), _CHUNK_ROWS)
        ]
        empty = [column.room(0) for column in columns]
        return [np.concatenate([*each]) for each in zip(empty, *parts, strict=True)]

    def _values(self, chunk: Any, column: int) -> ArrayLike:
        """Return a column of a batch as it is, numbers or texts; a missing value is NaN or None."""
        from pyarrow import types

        name = self.columns[column]
        values = chunk.column(name)
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        if types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind):
            with readable(self.name):
                return np.array(values.to_pylist(), object)
        doubles = self._doubles(chunk, column)
        single = types.is_float32(kind) and column not in self._geometry
        return doubles.astype(np.float32) if single else doubles

    def _column(self, chunk: Any, column: int, first: int = 0) -> Column:
        """Return a column of a batch as a `Column`; texts are compared once, not row by row."""
        from pyarrow import types

        name = self.columns[column]
        values = chunk.column(name)
        kind = values.type.value_type if types.is_dictionary(values.type) else values.type
        if not (types.is_string(kind) or types.is_large_string(kind)):
            return super()._column(chunk, column, first)
        with readable(self.name):
            words, codes = encoded_texts(values)
        return ArrayColumn.of_codes(words, codes, name, self._rule.of(name), first)

    def _doubles(self, chunk: Any, column: int) -> Floats:
        """Return a column of a batch as float64, with NaN for null."""
        name = self.columns[column]
        return as_doubles(chunk.column(name), name, self.name)

    def _sample(self) -> list[list[str]]:
        """Return the first rows as text; the coordinate columns are recognised from them."""
        with readable(self.name):
            batch = next(self._file.iter_batches(SAMPLE_ROWS, use_threads=False), None)
        cells: list[list[object]] = []
        for column in () if batch is None else batch.columns:
            try:
                cells.append(column.to_pylist())
            except UnicodeDecodeError:  # an error only if the column is used
                cells.append([None] * len(column))
        if self._points is not None:
            cells += [[None] * len(each) for each in cells[:1] for _ in self._points.columns]
        rows = zip(*cells, strict=True)
        return [["" if cell is None else str(cell) for cell in row] for row in rows]


class ParquetSamples(ParquetModel):
    """A Parquet table of samples along drillholes, whose rows have no coordinates."""

    def _points_of(self, name: str) -> None:
        """Return None: the coordinates of a geometry are not read."""

    def _choose(self, options: TableOptions) -> Choice:
        """Choose no columns."""
        return Choice((), None, Frame(), {})  # type: ignore[arg-type]  # no coordinates

    def _measured(self, chunk: Any, first: int = 0) -> tuple[Floats, None]:
        """Return coordinates that are all missing."""
        return np.full((len(chunk), 3), np.nan), None


@contextmanager
def open_samples(path: str, options: TableOptions) -> Iterator[ParquetSamples]:
    """Open a Parquet table of samples without coordinates."""
    _require_pyarrow(path)
    import pyarrow
    from pyarrow import parquet

    name = Path(path).name
    with Unchanged(path), pyarrow.OSFile(path) as raw:
        with readable(name):
            file = parquet.ParquetFile(raw)
        yield ParquetSamples(file, name, None, options, raw)


def _with(
    others: Sequence[Any],
    schema: Any,
    columns: Sequence[NewColumn],
    codes: Sequence[NewCells],
    at: int | None,
) -> Any:
    """Return the table of a row group with new columns at the end, or in place of column `at`."""
    import pyarrow

    arrays = list(others)
    for column, each in zip(columns, codes, strict=True):
        if at is None:
            arrays.append(new_array(column, each))
        else:
            arrays[at] = new_array(column, each, arrays[at].combine_chunks())
    return pyarrow.Table.from_arrays(arrays, schema=schema)
