"""Parquet with other rows in the place of its own, row group by row group, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from geodomain.errors import TableError, warn
from geodomain.io.blocks.parquet_schema import with_column, without_range
from geodomain.io.blocks.rewriting.codes import combined
from geodomain.io.blocks.rewriting.held_back import last_group
from geodomain.io.blocks.rewriting.task import SIZE_COLUMNS, BlockRows, NewRows, Rewriting, lacking
from geodomain.io.conditions import Column
from geodomain.io.header.frames import Frame
from geodomain.io.numbers import Doubles, Floats, Rows

# So many rows are taken at a time.
_ROWS = 1 << 18


class ParquetRewriting:
    """One pass over a Parquet file.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of the file.
    geometry : sequence of int
        The columns of coordinates and sizes.
    frame : Frame
        What they stand for.
    doubles, column : callable
        Give a column of some rows, as float64 with NaN and as conditions take it.
    task : Rewriting
    name : str
        What messages call the file.
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
        """Write what takes the place of the rows of all groups."""
        import pyarrow

        try:
            self._run(groups, total, writer)
        except pyarrow.ArrowNotImplementedError as error:
            reason = " ".join(str(error).split())[:120]
            message = (
                f"{self._name} has a column of a kind whose rows cannot be copied or compared "
                f"({reason}): leave it out, or write it as text or numbers"
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
                kept = self._kept(whole)
                self._write(whole.slice(0, kept), out)
                held = whole.slice(kept)
                self._task.told(self._rows, total)
            if held is not None:
                self._write(held, out)
            self._task.before_commit()

    def _kept(self, table: Any) -> int:
        """Count the rows that are taken now."""
        together = self._task.together
        if together is None or not len(table):
            return len(table)
        return last_group(self._doubles(table, together))

    def _write(self, table: Any, out: Any) -> None:
        """Write what takes the place of some rows, not too many at a time."""
        begin = 0
        while begin < len(table):
            part = table.slice(begin, _ROWS)
            if begin + len(part) < len(table):
                run = self._kept(part)
                part = part.slice(0, run) if run else table.slice(begin)
            for made in self._task.rewrite(self._block_rows(part)):
                out.write_table(self._new_table(part, made), max(len(made.row), 1))
            begin += len(part)
            self._rows += len(part)

    def _block_rows(self, table: Any) -> BlockRows:
        """Understand some rows."""
        numbers = {field: self._doubles(table, field) for field in self._numeric}
        known = np.column_stack([numbers[field] for field in self._geometry])
        if self._fixed is not None:
            known = np.hstack([known, np.broadcast_to(self._fixed, (len(known), 3))])
        missing = lacking(known)
        x, y, z, dx, dy, dz = (
            Doubles(np.where(missing, 0.0, known[:, place])) for place in range(6)
        )
        amounts = [numbers[field] for field in self._task.amounts]
        return BlockRows(
            first=self._rows,
            points=self._frame.centroids(known[:, :3], known[:, 3:]),
            coordinates=(x, y, z),
            sizes=(dx, dy, dz),
            missing=missing,
            amounts=[Doubles(each) for each in amounts],
            absent=[np.isnan(each) for each in amounts],
            column=lambda field: self._column(table, field),
            alike=lambda: self._alike(table),
        )

    def _alike(self, table: Any) -> Rows:
        """Code the rows by all columns but those of numbers that change."""
        import pyarrow

        codes = []
        for field in range(len(table.schema)):
            if field not in self._numeric:
                column = table.column(field).combine_chunks()
                index = column.dictionary_encode() if not _is_dictionary(column) else column
                signed = index.indices.cast(pyarrow.int64())  # those of polars have no -1
                codes.append(signed.fill_null(-1).to_numpy(zero_copy_only=False))
        return combined(codes, len(table))

    def _new_table(self, table: Any, made: NewRows) -> Any:
        """Give the new rows with all columns."""
        import pyarrow
        from pyarrow import compute

        old = table.take(pyarrow.array(made.row))
        arrays = list(old.columns)
        sizes = list(made.sizes)
        given = [*made.coordinates, *([] if self._fixed else sizes), *made.amounts]
        for field, numbers in zip(self._numeric, given, strict=True):
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
        """Give the schema of what is written: numbers that change are float64."""
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
                f"{self._name}: {', '.join(widened)} written as float64, so that parts of a block "
                "have their places and sizes"
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
