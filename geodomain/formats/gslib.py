"""Block models of GSLIB (GeoEAS): text tables of gridded values, stored with x varying fastest.

Rows are copied unchanged, with the label of the block at their end. A label is written as a number,
because the format stores only numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from geodomain.compute.data import Floats
from geodomain.errors import TableError, counted, warn
from geodomain.files.streams import Target
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import Destination, NewArrays, Values
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import Chunk, LatticeCells
from geodomain.tables.frames import Grid, grid_of, shortest
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

_HEAD = 1 << 16
_LINES = 1 << 16  # minimum bytes of lines that are read at a time
_NONE, _LOST = "0", "-999"
# Code of rows without a label if 0 is the code of the background.
_UNASSIGNED = "-99"


# --- The header lines: title, number of columns, an optional grid, and names.

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|nan|[-+]?inf", re.IGNORECASE)
_MOST = 1000  # columns
_OFF = re.compile(rb"(ST)?C?N?4?n?OFF$", re.IGNORECASE)


class GslibHead(NamedTuple):
    """Content of the header lines.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    grid : Grid, optional
        The grid, if the second line defines one.
    realisations : int
        Number of realisations; 0 if it must be computed from the number of rows.
    lines : tuple of bytes
        The header lines, with their line ends.
    """

    names: tuple[str, ...]
    grid: Grid | None
    realisations: int
    lines: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """The number of bytes before the first row."""
        return sum(map(len, self.lines))


def read_head(data: bytes) -> GslibHead | None:
    """Return the header in the first bytes of a file, or None if the file is not a GSLIB table.

    The bytes must include the first row, which has a number for each column name.
    """
    lines = data.split(b"\n", _MOST + 3)
    if len(lines) < 4:
        return None
    words = lines[1].split()
    if not words or not words[0].isdigit() or not all(map(_NUMBER.fullmatch, words)):
        return None
    count = int(words[0]) if len(words[0]) < 5 else 0
    if not 0 < count <= _MOST or len(lines) < 3 + count:
        return None
    names = [line.strip() for line in lines[2 : 2 + count]]
    row = lines[2 + count].split()
    numeric = len(row) == count and all(map(_NUMBER.fullmatch, row))
    if not numeric or not all(names) or any(map(_NUMBER.fullmatch, names)):
        return None
    grid, realisations = _grid([number_of(word) for word in words[1:11]])
    return GslibHead(
        tuple(name.decode("latin-1") for name in names),
        grid,
        realisations,
        tuple(line + b"\n" for line in lines[: 2 + count]),
    )


def is_table(data: bytes) -> bool:
    """Return whether the first bytes of a file look like a GSLIB table and not like an OFF mesh."""
    title = data.split(b"\n", 1)[0].strip()
    return read_head(data) is not None and not _OFF.match(title)


def number_of(word: bytes) -> float:
    """Parse a number, Fortran exponents such as 1.0D0 included; raise ValueError if invalid."""
    try:
        return float(word)
    except ValueError:
        if not _NUMBER.fullmatch(word):
            raise
        return float(word.lower().replace(b"d", b"e"))


def _grid(numbers: list[float]) -> tuple[Grid | None, int]:
    """Return the grid and the number of realisations that the second line gives.

    `numbers` are the numbers of that line after the number of columns. The grid is None if they do
    not define a grid.
    """
    if len(numbers) < 9:
        return None, 1
    try:
        grid = grid_of(numbers[:9])
    except ValueError:
        return None, 1
    repeats = numbers[9] if len(numbers) > 9 else 1.0
    return grid, int(repeats) if repeats >= 1 and repeats.is_integer() else 1


# --- The rows.


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open a table whose grid is given by its second line, or by the option `gslib_grid`."""
    place = Path(path)
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(place)
    with place.open("rb") as file:
        head = read_head(file.read(_HEAD))
        status = os.fstat(file.fileno())
        if head is None:
            message = (
                f"{place.name} is not a GSLIB table: expected a title line, the number of "
                "columns, one column name per line, then rows of numbers"
            )
            raise TableError(message)
        grid = options.gslib_grid or head.grid
        if grid is None:
            message = (
                f"{place.name} is a GSLIB table without a grid: give the grid as "
                "gslib_grid='NX,NY,NZ,XMN,YMN,ZMN,DX,DY,DZ', or export points as CSV with a header"
            )
            raise TableError(message)
        if grid is not head.grid:  # the number of realisations follows from the number of rows
            head = head._replace(realisations=0)
        store = GslibStore(file, head, grid, place.name, status)
        yield CellModel(store, options)


@dataclass(frozen=True)
class Repeated:
    """A lattice of cells that is repeated for each realisation."""

    lattice: LatticeCells
    times: int

    @property
    def count(self) -> int:
        """The number of cells in all realisations."""
        return self.lattice.count * self.times

    @property
    def axes(self) -> Floats:
        """The directions of the cell edges, one row per axis."""
        return self.lattice.axes

    def say(self) -> str:
        """Return a description of the lattice, with its number of cells along each axis."""
        repeats = f", {self.times} realisations" if self.times > 1 else ""
        return self.lattice.say() + repeats

    def chunks(self) -> Iterator[Chunk]:
        """Yield the cells of each realisation in batches: indices, centres and sizes."""
        for number in range(self.times):
            start = number * self.lattice.count
            for where, centres, sizes in self.lattice.chunks():
                yield where + start, centres, sizes


class GslibStore:
    """An open table of gridded values; see `CellStore`."""

    def __init__(
        self, file: BinaryIO, head: GslibHead, grid: Grid, name: str, status: os.stat_result
    ) -> None:
        self.name, self.status, self.columns = name, status, head.names
        self._file, self._head = file, head
        rows = grid.count * max(head.realisations, 1)
        if rows > status.st_size // 2:  # a row has at least a digit and a line end
            self._refuse_count(rows, "too few")
        x, y, z = (
            first + (np.arange(count + 1, dtype=np.float64) - 0.5) * np.float64(size)
            for first, count, size in zip(grid.first, grid.counts, grid.sizes, strict=True)
        )
        dx, dy, dz = (
            np.full(count, size) for count, size in zip(grid.counts, grid.sizes, strict=True)
        )
        lattice = LatticeCells("a grid", (x, y, z), lengths=(dx, dy, dz))
        row_count = sum(1 for _ in self._rows())
        times = head.realisations or max(row_count // grid.count, 1)
        self.cells, rows = Repeated(lattice, times), grid.count * times
        if row_count != rows:
            self._refuse_count(rows, f"{row_count:,}")
        self._held = lru_cache(maxsize=4)(self._read)

    def _refuse_count(self, rows: int, count: str) -> None:
        message = (
            f"{self.name} has {count} rows for the {rows:,} cells of its grid: correct the grid, "
            "or export the file again"
        )
        raise TableError(message)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def memory(self) -> int:
        """Memory in bytes for the numbers of a few columns."""
        return 32 * self.cells.count

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return {"format": f"GSLIB, {self.cells.say()}"}

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines after the header, with their line ends."""
        self._file.seek(self._head.size)
        while lines := self._file.readlines(_LINES):
            yield from lines

    def _rows(self) -> Iterator[bytes]:
        """Yield the lines after the header that are not blank."""
        return (line for line in self._lines() if not line.isspace())

    def values(self, column: int) -> Values:
        """Return a column of numbers."""
        return self._held(column)

    def _read(self, column: int) -> Values:
        cells = (self._words(number, line)[column] for number, line in enumerate(self._rows()))
        try:
            return np.fromiter(map(number_of, cells), np.float64, self.cells.count)
        except TableError:
            raise
        except ValueError as error:
            reason = str(error).split(": ")[-1]
            message = (
                f"{self.name}: the column {self.columns[column]!r} contains {reason}, which "
                "is not a number"
            )
            raise TableError(message) from None

    def _words(self, number: int, line: bytes) -> list[bytes]:
        """Return the values of a row; raise TableError unless every column has a value."""
        words = line.split()
        if len(words) != len(self.columns):
            message = (
                f"{self.name}, row {number + 1:,} has {len(words)} numbers for "
                f"{len(self.columns)} columns: write each cell of the grid on its own line"
            )
            raise TableError(message)
        return words

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Copy the table, with new numbers at the end of each row or in place of a column."""
        texts = [
            self._numbers_of(column, codes) if column.measured else self._codes_of(column)
            for column, codes in zip(new.columns, new.codes, strict=True)
        ]
        if new.at is None:
            target.write(memoryview(b"".join(self._head_with(new.columns))))
        else:
            target.write(memoryview(b"".join(self._head.lines)))
        every = [
            range(self.cells.count) if column.measured else codes.tolist()
            for column, codes in zip(new.columns, new.codes, strict=True)
        ]
        rows = zip(*every, strict=True)
        block: list[bytes] = []
        for number, line in enumerate(self._rows()):
            self._words(number, line)
            cells = [text[code] for text, code in zip(texts, next(rows), strict=True)]
            block.append(_added(line, cells) if new.at is None else _put(line, new.at, cells[0]))
            if len(block) == _LINES:
                target.write(memoryview(b"".join(block)))
                block = []
        target.write(memoryview(b"".join(block)))

    def _numbers_of(self, column: NewColumn, values: NewCells) -> list[bytes | None]:
        """Return the numbers of a new column as texts, one per row; -999 if a number is missing."""
        lost = int(np.isnan(values).sum())
        if lost:
            warn(
                f"{self.name} can store only numbers: {counted(lost, 'row')} without a value of "
                f"{column.name} {'gets' if lost == 1 else 'get'} {_LOST}"
            )
        return [
            (_LOST if value != value else shortest(value)).encode() for value in values.tolist()
        ]

    def _codes_of(self, column: NewColumn) -> list[bytes | None]:
        """Return the number to write for each code, as text.

        The last element is None, for blocks that keep their value.

        Warns
        -----
        GeodomainWarning
            If labels are texts; the message gives the number that is written for each text.
        """
        cells = column.cells
        if not column.numeric:
            names = list(dict.fromkeys(cell for cell in cells if cell))
            numbers = {name: str(place) for place, name in enumerate(names, 1)}
            pairs = ", ".join(f"{name} is {number}" for name, number in numbers.items())
            warn(
                f"{self.name} can store only numbers: {pairs}, and rows without a label get {_NONE}"
            )
            cells = tuple(numbers.get(cell, "") for cell in cells)
        none = _NONE
        if "" in cells and column.default == _NONE and _UNASSIGNED not in cells:
            none = _UNASSIGNED  # code 0 means background
        elif "" in cells and column.numeric and _NONE in cells:
            message = (
                f"{self.name} can store only numbers, and the code for rows without a domain, "
                f"{_NONE}, is already the code of a domain: give background_code and "
                "unassigned_code"
            )
            raise TableError(message)
        return [*((cell or none).encode() for cell in cells), None]

    def _head_with(self, columns: Sequence[NewColumn]) -> list[bytes]:
        """Return the header lines with the new column names."""
        title, second, *names = self._head.lines
        end = second[len(second.rstrip()) :]
        count = b"%d" % (len(names) + len(columns))
        try:
            added = [column.name.encode("latin-1") + end for column in columns]
        except UnicodeEncodeError as error:
            message = (
                f"{self.name}: GSLIB's Latin-1 text cannot hold {error.object!r}: choose a name in "
                "Latin letters"
            )
            raise TableError(message) from None
        return [title, re.sub(rb"\d+", count, second, count=1), *names, *added]


def _added(line: bytes, cells: Sequence[bytes | None]) -> bytes:
    """Return a row with further values at its end; None values are left out."""
    body = line.rstrip()
    return body + b"".join(b" " + cell for cell in cells if cell is not None) + line[len(body) :]


def _put(line: bytes, at: int, cell: bytes | None) -> bytes:
    """Return a row with the value of column `at` replaced; None keeps the old value."""
    if cell is None:
        return line
    parts = re.split(rb"(\s+)", line)
    first = 0 if parts[0] else 2
    parts[first + 2 * at] = cell
    return b"".join(parts)
