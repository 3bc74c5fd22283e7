"""Tables of GSLIB (GeoEAS): their head, and the grid that their rows stand for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


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


# The head: title, number of columns, perhaps a grid, and names.

_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][-+]?\d+)?|nan|[-+]?inf", re.IGNORECASE)
_MOST = 1000  # columns


class GslibHead(NamedTuple):
    """What the head says.

    Attributes
    ----------
    names : tuple of str
    grid : Grid, optional
    realisations : int
        How often the grid comes; 0 where the rows are to tell.
    lines : tuple of bytes
        The lines of the head, with their ends.
    """

    names: tuple[str, ...]
    grid: Grid | None
    realisations: int
    lines: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Count the bytes before the first row."""
        return sum(map(len, self.lines))


def read_head(data: bytes) -> GslibHead | None:
    """Return the head of a table that begins with such bytes, None where it is none.

    The first row must be there, with a number for each name.
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


def number_of(word: bytes) -> float:
    """Return a number, whose exponent may be Fortran's, as in 1.0D0; ValueError for others."""
    try:
        return float(word)
    except ValueError:
        if not _NUMBER.fullmatch(word):
            raise
        return float(word.lower().replace(b"d", b"e"))


def _grid(numbers: list[float]) -> tuple[Grid | None, int]:
    """Return the grid that stands after the count of columns, and its realisations."""
    if len(numbers) < 9:
        return None, 1
    try:
        grid = grid_of(numbers[:9])
    except ValueError:
        return None, 1
    repeats = numbers[9] if len(numbers) > 9 else 1.0
    return grid, int(repeats) if repeats >= 1 and repeats.is_integer() else 1
