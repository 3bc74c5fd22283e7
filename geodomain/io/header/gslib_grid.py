"""The grid of a GSLIB table: nine numbers, as its programs take them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Grid:
    """A grid of cells, x fastest, then y, then z upwards.

    Attributes
    ----------
    counts : tuple of int
        Of the cells along x, y and z.
    first : tuple of float
        The centre of the first cell.
    sizes : tuple of float
        Of a cell.
    """

    counts: tuple[int, int, int]
    first: tuple[float, float, float]
    sizes: tuple[float, float, float]

    @property
    def count(self) -> int:
        """Count the cells."""
        return math.prod(self.counts)


def grid_of(numbers: Sequence[float]) -> Grid:
    """Return the grid that nine numbers say.

    Raises
    ------
    ValueError
        For counts that are not whole and above zero, and sizes that are not above zero.
    """
    counts, first, sizes = numbers[:3], numbers[3:6], numbers[6:9]
    whole = all(1 <= count < 2**40 and count == int(count) for count in counts)
    if len(numbers) != 9 or not whole or not all(math.isfinite(one) for one in (*first, *sizes)):
        message = "NX,NY,NZ must be whole numbers, XMN,YMN,ZMN and DX,DY,DZ numbers"
        raise ValueError(message)
    if min(sizes) <= 0:
        message = "DX,DY,DZ must be above zero"
        raise ValueError(message)
    nx, ny, nz = map(int, counts)
    return Grid((nx, ny, nz), (first[0], first[1], first[2]), (sizes[0], sizes[1], sizes[2]))
