"""Row groups of Parquet that hold as many rows as they say; what is read is for other files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from geodomain.errors import TableError

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import parquet


@contextmanager
def readable(name: str) -> Iterator[None]:
    """Say in one sentence what pyarrow cannot read; for damaged data it has an OSError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())[:200]
        message = f"{name} cannot be read as Parquet ({reason}): export it again"
        raise TableError(message) from error


class RowGroups:
    """The row groups of a file that is open.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
    name : str
        What messages call it.
    """

    def __init__(self, file: parquet.ParquetFile, name: str) -> None:
        self._file, self._name = file, name
        columns = enumerate(map(file.schema.column, range(len(file.schema))))
        # Those with one value to a row, missing ones counted.
        self._leaves = {each.path: at for at, each in columns if not each.max_repetition_level}

    def read(self, group: int, columns: Sequence[str] | None) -> pyarrow.Table:
        """Read one of them, or some of its columns.

        Raises
        ------
        TableError
            For what pyarrow cannot read, and for columns that have other rows than it says: of
            such it leaves rows out, or takes memory for as many as are said.
        """
        with readable(self._name):
            said = self._file.metadata.row_group(group)
            asked = self._leaves if columns is None else self._leaves.keys() & columns
            counts = {said.column(self._leaves[each]).num_values for each in asked}
            table = None
            if counts <= {said.num_rows}:
                table = self._file.read_row_group(group, columns=columns)
        if table is None or len(table) != said.num_rows:
            message = (
                f"{self._name} says that there are {said.num_rows:,} rows in row group {group + 1},"
                " and its columns have others: it is damaged, export it again"
            )
            raise TableError(message)
        return table
