"""Numbers as the cells of a table: the fewest digits that mean them, in the table's own marks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.io.header.dialect import quote_cell
from geodomain.io.header.frames import shortest
from geodomain.io.header.layout import TableLayout

# Of a new column, (n,): codes of cells, or the values of one that has numbers, NaN for none.
NewCells = NDArray[np.int32] | NDArray[np.float64]


def number_cells(
    values: NDArray[np.float64], layout: TableLayout
) -> tuple[list[bytes], NDArray[np.int32]]:
    """Return the different numbers as cells, nothing for NaN, and the place of each row's."""
    numbers, codes = np.unique(values, return_inverse=True)
    decimal = layout.decimal.decode()
    texts = [
        "" if number != number else shortest(number).replace(".", decimal)
        for number in numbers.tolist()
    ]
    cells = [quote_cell(text, layout.delimiter, layout.encoding) for text in texts]
    return cells, codes.reshape(-1).astype(np.int32)
