"""The head of a GSLIB (GeoEAS) table: title, count of columns, perhaps a grid, and names."""

from __future__ import annotations

import re
from typing import NamedTuple

from geodomain.io.header.gslib_grid import Grid, grid_of

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
