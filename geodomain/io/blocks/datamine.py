"""Block models of Datamine (.dm): page after page, labels as a field more in every record.

A model without XC, YC and ZC has them from IJK, which counts cells: k + NZ (j + NY i).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from geodomain.arrays import COARSE, single_resolution
from geodomain.errors import TableError, warn
from geodomain.io.blocks.block_file import Floats, Relabelling, Rows
from geodomain.io.blocks.datamine_fields import NewFields
from geodomain.io.blocks.new_values import said
from geodomain.io.blocks.table_model import TableModel
from geodomain.io.csv.new_columns import place_columns
from geodomain.io.datamine.definition import (
    WORDS,
    Definition,
    Words,
    numbers_of,
    read_definition,
    texts_of,
)
from geodomain.io.files.digest import Digest
from geodomain.io.header.choice import SAMPLE_ROWS
from geodomain.io.header.options import TableOptions

_CHUNK_BYTES = 1 << 25
_HEAD = 8 * WORDS
_CENTROID = ("XC", "YC", "ZC")
_ORIGIN, _COUNT, _SIZE = (
    tuple(name.format(axis) for axis in "XYZ") for name in ("{}MORIG", "N{}", "{}INC")
)


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[DatamineModel]:
    """Open a table and read its definition."""
    place = Path(path)
    if digest is not None:
        digest.add_file(place)
    with place.open("rb") as file:
        found = read_definition(file.read(_HEAD))
        status = os.fstat(file.fileno())
        if found is None:
            message = f"{place.name} is no longer a Datamine table: it has changed; try again"
            raise TableError(message)
        found.require_whole(status.st_size, place.name, TableError)
        yield DatamineModel(file, found, place.name, status, options)


class DatamineModel(TableModel[Words]):
    """A Datamine table of blocks; see `geodomain.io.blocks.BlockFile`."""

    memory, writing = 75_000_000 + 8 * _CHUNK_BYTES, 5e-8

    def __init__(
        self,
        file: BinaryIO,
        found: Definition,
        name: str,
        status: os.stat_result,
        options: TableOptions,
    ) -> None:
        self._file, self._found = file, found
        self._fields = found.names()
        _refuse_wireframe(self._fields, name)
        implied = not set(_CENTROID) & set(self._fields)
        implied &= {"IJK", *_ORIGIN, *_COUNT, *_SIZE} <= set(self._fields)
        super().__init__(name, status, self._fields + (_CENTROID if implied else ()), options)
        if found.width == 4:
            self._warn_of_resolution()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def facts(self) -> dict[str, str]:
        """Say how the file is written."""
        precision = "extended" if self._found.width == 8 else "single"
        order = "big-endian" if self._found.order == ">" else "little-endian"
        return {"format": f"Datamine, {precision} precision, {order}"}

    def rows(self, column: str) -> Iterator[Rows]:
        """Give blocks and their texts."""
        number = self.columns.index(column)
        for words in self._chunks(self._found.each):
            texts = self._texts(words, number)
            yield *self._measured(words), texts

    def relabel(self, task: Relabelling) -> None:
        """Copy the table, some pages at a time, with new fields."""
        named = [replace(column, name=column.name.upper()[:8].strip()) for column in task.columns]
        at = place_columns(self.columns, self._taken, named, replace=task.replace, name=self.name)
        with task.open_target(self) as target:
            new = NewFields(self._found, named, None if at is None else self.columns[at], self.name)
            if target is not None:
                target.write(memoryview(new.head(self._pages(0, 1))))
            done = 0
            for words in self._chunks(new.each):
                codes = self._label(words, task.label, done)
                if target is not None:
                    target.write(memoryview(new.pages(words, codes)))
                done += len(words)
                task.told(done, self._found.count)
            task.before_commit()

    def _pages(self, begin: int, end: int) -> bytes:
        """Read pages, the first of which is number 0 and the definition."""
        self._file.seek(begin * self._found.page)
        return self._file.read((end - begin) * self._found.page)

    def _chunks(self, each: int) -> Iterator[Words]:
        """Give the records (n, length, width), as many as fill pages of `each` records."""
        found = self._found
        step = max(1, _CHUNK_BYTES // (found.width * found.length * each)) * each
        for begin in range(0, found.count, step):
            yield self._records(begin, min(begin + step, found.count))

    def _records(self, begin: int, end: int) -> Words:
        found = self._found
        first, last = begin // found.each, -(-end // found.each)
        raw = np.frombuffer(self._pages(1 + first, 1 + last), np.uint8)
        if len(raw) < (last - first) * found.page:
            message = f"{self.name} has become shorter while it was read: try again"
            raise TableError(message)
        used = raw.reshape(-1, WORDS, found.width)[:, : found.each * found.length]
        records = used.reshape(-1, found.length, found.width)
        return records[begin - first * found.each : end - first * found.each]

    def _doubles(self, chunk: Words, column: int) -> Floats:
        """Give a field of numbers, or a centroid's coordinate that the cell's number implies."""
        name = self.columns[column]
        if column >= len(self._fields):
            return self._implied(chunk, _CENTROID.index(name))
        if self._is_text(name):
            message = f"{self.name}: the field {name!r} holds texts, not numbers"
            raise TableError(message)
        return numbers_of(self._found, name, chunk)

    def _implied(self, chunk: Words, axis: int) -> Floats:
        """Give the centre of the cell of each record along an axis."""
        ijk, origin, size = (
            numbers_of(self._found, name, chunk) for name in ("IJK", _ORIGIN[axis], _SIZE[axis])
        )
        _, ny, nz = (numbers_of(self._found, name, chunk) for name in _COUNT)
        with np.errstate(invalid="ignore", divide="ignore"):
            places = (ijk // (nz * ny), ijk // nz % ny, ijk % nz)
            centres: Floats = origin + (places[axis] + 0.5) * size
        return centres

    def _is_text(self, name: str) -> bool:
        return self._found.parts(name)[0].kind == "A"

    def _values(self, chunk: Words, column: int) -> ArrayLike:
        """Give a field as it is: numbers with NaN, or texts."""
        name = self.columns[column]
        if column < len(self._fields) and self._is_text(name):
            return texts_of(self._found, name, chunk)
        return self._doubles(chunk, column)

    def _texts(self, chunk: Words, column: int) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        if column < len(self._fields) and self._is_text(self.columns[column]):
            return texts_of(self._found, self.columns[column], chunk)
        values = self._doubles(chunk, column).tolist()
        return np.array([said(value) for value in values], np.str_)

    def _sample(self) -> list[list[str]]:
        """Give the first records as text, which is what heads of tables are understood by."""
        words = self._records(0, min(SAMPLE_ROWS, self._found.count))
        cells = [
            [""] * len(words)
            if column < len(self._fields) and self._is_text(name)
            else [repr(value) for value in self._doubles(words, column).tolist()]
            for column, name in enumerate(self.columns)
        ]
        return [["" if cell == "nan" else cell for cell in row] for row in zip(*cells, strict=True)]

    def _warn_of_resolution(self) -> None:
        """Say how coarse single precision is where the first blocks are, if it is coarse."""
        words = self._records(0, min(SAMPLE_ROWS, self._found.count))
        points = self._numbers(words, self._choice.xyz)
        resolution = single_resolution(points[np.isfinite(points).all(axis=1)])
        if resolution >= COARSE:
            message = (
                f"{self.name} stores single precision, which at these coordinates is only good to "
                f"{resolution:g} (in the unit of the file): export it in extended precision"
            )
            warn(message)


def _refuse_wireframe(fields: tuple[str, ...], name: str) -> None:
    """Refuse half of a wireframe, which is no block model."""
    if {"PID1", "PID2", "PID3"} <= set(fields) or {"PID", "XP", "YP", "ZP"} <= set(fields):
        message = f"{name} is half of a Datamine wireframe, not a block model: give it as a solid"
        raise TableError(message)
