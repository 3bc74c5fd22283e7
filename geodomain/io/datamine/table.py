"""Reads a whole table of Datamine's .dm, single or extended precision, in either byte order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import GeodomainError, MeshError
from geodomain.io.datamine.definition import WORDS, numbers_of, read_definition, texts_of


class Table(NamedTuple):
    """Columns by name: float64 with NaN where a value is missing, or text."""

    file: str
    columns: dict[str, NDArray[np.float64] | NDArray[np.str_]]
    single: bool

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers that must all be there."""
        values = self.columns[name]
        if values.dtype.kind != "f" or np.isnan(values.astype(np.float64)).any():
            message = f"{self.file}: the field {name} has missing values or text: export it again"
            raise MeshError(message)
        return values.astype(np.float64)


def is_table(data: bytes) -> bool:
    """Tell whether data begins like a .dm."""
    return read_definition(data) is not None


def read_table(data: bytes, file: str, error: type[GeodomainError] = MeshError) -> Table:
    """Return all columns of a table.

    Raises
    ------
    MeshError, or another `error`
        If it is cut short, or no table.
    """
    found = read_definition(data)
    if found is None:
        message = (
            f"{file} is damaged: its first page is no definition of a Datamine table; copy or "
            "export the file again"
        )
        raise error(message)
    found.require_whole(len(data), file, error)
    pages = found.last_page - 1
    raw = np.frombuffer(data, dtype=np.uint8, count=pages * found.page, offset=found.page)
    used = raw.reshape(pages, WORDS, found.width)[:, : found.each * found.length]
    words = used.reshape(pages * found.each, found.length, found.width)[: found.count]
    columns = {
        name: (texts_of if found.parts(name)[0].kind == "A" else numbers_of)(found, name, words)
        for name in found.names()
    }
    return Table(file, columns, single=found.width == 4)
