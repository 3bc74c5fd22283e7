"""Tables of holes, of files and of frames alike: ids, numbers, and where a row stands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.keywords import Reading
from geodomain.drillholes.naming import Roles, Table, find_roles, has_roles
from geodomain.errors import TableError
from geodomain.inputs.frames import BlockFrame
from geodomain.io.blocks.parquet_table import ParquetTable, read_parquet
from geodomain.io.conditions import Column
from geodomain.io.csv.rows import TextRows
from geodomain.io.datamine.table import is_table
from geodomain.io.datamine.table import read_table as read_columns
from geodomain.io.files.sources import open_source
from geodomain.io.files.standard import STANDARD
from geodomain.io.files.unchanged import Unchanged
from geodomain.io.header.dialect import DELIMITERS, Row, cell_text, decimal_mark, split_rows
from geodomain.io.header.encoding import UTF8_MARK, count_line_ends, require_text
from geodomain.io.header.families import find_column
from geodomain.io.header.layout import TableLayout
from geodomain.io.header.options import TableOptions
from geodomain.io.header.vendor import HeadRow, vendor_rows

if TYPE_CHECKING:
    import pandas
    from narwhals.typing import IntoDataFrame

TableLike: TypeAlias = "str | os.PathLike[str] | IntoDataFrame | HoleTable"
PARQUET = (".parquet", ".pq")
_HEAD_ROWS, _SAMPLE = 100, 200
_BLOCK = 1 << 24
_PAGE = 4096  # bytes of the first page of a .dm


@dataclass(frozen=True, eq=False)
class HoleTable:
    """A table whose columns are known by their roles.

    Attributes
    ----------
    name : str
        What messages call it.
    names : tuple of str
        Of the columns.
    roles : dict of str to int
        Places of columns, such as "hole" and "from".
    count : int
        Rows.
    rows : TextRows or None
        The text, of a file.
    parquet : ParquetTable or None
        What a file of Parquet holds.
    """

    name: str
    names: tuple[str, ...]
    roles: Roles
    count: int
    rows: TextRows | None
    _texts: Callable[[int], tuple[NDArray[np.intp], list[str]]]
    _numbers: Callable[[int], NDArray[np.float64]]
    _column: Callable[[int], Column]
    parquet: ParquetTable | None = None

    def __len__(self) -> int:
        """Count the rows."""
        return self.count

    @cached_property
    def ids(self) -> tuple[NDArray[np.intp], list[str]]:
        """The hole of each row: its place among the different ids, and those."""
        return self._texts(self.roles["hole"])

    def numbers(self, role: str) -> NDArray[np.float64]:
        """Return the numbers of a role, NaN where missing."""
        return self._numbers(self.roles[role])

    def numbers_of(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a column by its name, NaN where missing."""
        return self.column(name).numbers()

    def column(self, name: str) -> Column:
        """Return a column by its name, as conditions take it."""
        return self._column(find_column(self.names, name, self.name))

    def where(self, row: int) -> str:
        """Say where a row stands."""
        if self.rows is None:
            return f"row {row}"
        return f"line {self.rows.line(row)}"


def read_table(
    given: TableLike, table: Table, reading: Reading, *, also: Sequence[str] | None = ()
) -> HoleTable:
    """Read a table of a file, or of a frame in memory.

    Parameters
    ----------
    given : path, pandas or polars DataFrame, pyarrow.Table, or HoleTable
        What was read already stays as it is. A path that ends in .parquet or .pq is of Parquet; a
        .dm of Datamine is known by its content, and any other is of text; "-" is stdin.
    table : {"collar", "survey", "intervals"}
        Which it is.
    reading : Reading
        How to read it.
    also : sequence of str, optional
        Other columns of text that are asked for by name; None for all of them.

    Returns
    -------
    HoleTable

    Raises
    ------
    TableError
        Where the columns are not there, or the text cannot be read.
    TypeError
        For what is no table.
    """
    if isinstance(given, HoleTable):
        return given
    if not isinstance(given, str | os.PathLike):
        return _of_frame(given, table, reading, f"the {table} table")
    if os.fspath(given) == STANDARD:
        return _of_text(STANDARD, table, reading, also)
    with Unchanged(given):
        return _of_file(Path(given), table, reading, also)


def _of_file(given: Path, table: Table, reading: Reading, also: Sequence[str] | None) -> HoleTable:
    """Read a file, by its extension or its content."""
    if given.suffix.lower() in PARQUET:
        file = read_parquet(given)
        return replace(_of_frame(file.arrow, table, reading, file.name), parquet=file)
    if (frame := _datamine(given)) is not None:
        return _of_frame(frame, table, reading, given.name)
    return _of_text(os.fspath(given), table, reading, also)


def _datamine(path: Path) -> pandas.DataFrame | None:
    """Read a table of Datamine's .dm, None where the file is none."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(_PAGE)
    if not is_table(head):
        return None
    import pandas

    found = read_columns(path.read_bytes(), path.name, TableError)
    return pandas.DataFrame(found.columns)


def several_tables(intervals: TableLike | Sequence[TableLike] | None) -> list[TableLike]:
    """Return tables in a list."""
    if intervals is None:
        return []
    if isinstance(intervals, list | tuple):
        return list(intervals)
    return [cast("TableLike", intervals)]


def _of_frame(native: IntoDataFrame, table: Table, reading: Reading, name: str) -> HoleTable:
    """Take a table in memory."""
    frame = BlockFrame(native, name, reading.options, every=False)
    return HoleTable(
        name=name,
        names=frame.names,
        roles=find_roles(frame.names, table, reading.columns, name),
        count=len(frame),
        rows=None,
        _texts=frame.ids,
        _numbers=frame.numbers,
        _column=frame.column,
    )


def _of_text(path: str, table: Table, reading: Reading, also: Sequence[str] | None) -> HoleTable:
    """Read a file of text, all of it."""
    with open_source(path) as source:
        name, text = source.name, _whole(source.readinto)
    options = reading.options
    require_text(text, name)
    layout, roles = _layout(text, table, reading, name)
    wanted = [find_column(layout.names, one, name) for one in also or ()]
    fields = range(len(layout.names)) if also is None else [0, *roles.values(), *wanted]
    rows = TextRows(text, layout, name, list(fields), threads=reading.threads)
    missing = {word.casefold() for word in options.missing_words}

    def texts(place: int) -> tuple[NDArray[np.intp], list[str]]:
        codes, known = rows.texts(place)
        return codes, ["" if text.casefold() in missing else text for text in known]

    def numbers(place: int) -> NDArray[np.float64]:
        column = rows.column(place)
        # A depth or an angle is not below detection.
        column.rule = column.rule._replace(below=None)
        return column.numbers()

    return HoleTable(name, layout.names, roles, len(rows), rows, texts, numbers, rows.column)


def _whole(readinto: Callable[[memoryview], int]) -> bytes:
    """Return all that there is to be read."""
    parts, block = [], bytearray(_BLOCK)
    while count := readinto(memoryview(block)):
        parts.append(bytes(block[:count]))
    return b"".join(parts)


def _layout(text: bytes, table: Table, reading: Reading, name: str) -> tuple[TableLayout, Roles]:
    """Find the header, the delimiter that makes it one, and the decimal mark."""
    options = reading.options
    start = len(UTF8_MARK) if text.startswith(UTF8_MARK) else 0
    head = text[: start + (1 << 20)]
    whole = len(head) == len(text)
    best: tuple[bytes, Row, tuple[str, ...]] | None = None
    likely: tuple[str, ...] = ()
    for delimiter in (options.delimiter,) if options.delimiter else DELIMITERS:
        for row in islice(split_rows(head, delimiter, start, whole=whole, name=name), _HEAD_ROWS):
            if row.cells[0].startswith(b"#") or len(row.cells) < 3:
                continue
            names = tuple(cell_text(cell, options.encoding) for cell in row.cells)
            likely = likely if len(likely) >= len(names) else names
            if has_roles(names, table, reading.columns):
                if best is None or len(names) > len(best[2]):
                    best = delimiter, row, names
                break
    if best is None:
        find_roles(likely, table, reading.columns, name)
        message = f"{name} has no header line that names the columns of a table of {table}"
        raise TableError(message)
    delimiter, row, names = best
    below = split_rows(head, delimiter, row.following, whole=whole)
    head_rows = (HeadRow("names", row), *vendor_rows(below, len(names), options.encoding))
    roles = find_roles(names, table, reading.columns, name)
    end = head_rows[-1].row.following
    layout = TableLayout(
        delimiter=delimiter,
        decimal=options.decimal or _decimal(head, delimiter, end, whole, roles, options, name),
        names=names,
        xyz=(),  # type: ignore[arg-type]  # no centroid: columns are read by their roles
        sizes=None,
        data_start=end,
        data_line=count_line_ends(text, 0, end) + 1,
        missing=options.missing,
        head_rows=head_rows,
        missing_words=tuple(word.encode(options.encoding) for word in options.missing_words),
        encoding=options.encoding,
    )
    rule = options.number_rule(names, name, layout.decimal, every=False)
    return replace(layout, numbers=rule), roles


def _decimal(
    head: bytes,
    delimiter: bytes,
    start: int,
    whole: bool,
    roles: Roles,
    options: TableOptions,
    name: str,
) -> bytes:
    """Tell the decimal mark by the numbers of the first rows."""
    rows = [
        [cell_text(cell, options.encoding) for cell in row.cells]
        for row in islice(split_rows(head, delimiter, start, whole=whole), _SAMPLE)
    ]
    numeric = {place for role, place in roles.items() if role != "hole"}
    cells = _cells(rows, numeric)
    columns = [_cells(rows, {place}) for place in range(max(map(len, rows), default=0))]
    return decimal_mark(cells, columns, name, delimiter) or b"."


def _cells(rows: Iterable[Sequence[str]], places: set[int]) -> list[str]:
    """Gather some columns of rows."""
    return [row[place] for row in rows for place in sorted(places) if place < len(row)]
