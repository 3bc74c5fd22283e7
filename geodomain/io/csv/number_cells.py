"""Numbers as the cells of a table: the fewest digits that mean them, in the table's own marks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.io.csv.writing import lines_of
from geodomain.io.header.layout import TableLayout

# Of a new column, (n,): codes of cells, or the values of one that has numbers, NaN for none.
NewCells = NDArray[np.uint8] | NDArray[np.int32] | NDArray[np.float64]


def number_cells(
    values: NDArray[np.float64], layout: TableLayout
) -> tuple[list[bytes], NDArray[np.int32]]:
    """Return the different numbers as cells, nothing for NaN, and the place of each row's."""
    numbers, codes = np.unique(values, return_inverse=True)
    mark = layout.decimal
    text = b"".join(map(bytes, lines_of([numbers], decimal=mark)))
    cells = text.replace(mark + b"0\n", b"\n").split(b"\n")[:-1]
    if mark == layout.delimiter:
        cells = [b'"' + cell + b'"' if mark in cell else cell for cell in cells]
    return cells, codes.reshape(-1).astype(np.int32)
