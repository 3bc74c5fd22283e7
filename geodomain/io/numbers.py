"""Coordinates, sizes and amounts as files hold them: `Numbers`, and those of float64."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

_MOST_PLACES = 6
# A face is a coordinate and half a size, each rounded: so many units of the last place.
_ROUNDING = 8


class Resolution(NamedTuple):
    """What coordinates are rounded to a multiple of: ``units * 10**-places``."""

    units: int
    places: int

    @property
    def size(self) -> float:
        """Return it as a float."""
        return float(self.units / 10**self.places)


def read_resolution(value: float | str) -> Resolution:
    """Return what a number above zero, of six decimals at most, says.

    Raises
    ------
    ValueError
        For anything else.
    """
    try:
        found = Decimal(str(value)).normalize()
        places = max(-int(found.as_tuple().exponent), 0)
        if found > 0 and places <= _MOST_PLACES and found < 10**_MOST_PLACES:
            return Resolution(int(found.scaleb(places)), places)
    except (InvalidOperation, ValueError, TypeError):
        pass
    message = f"resolution= is {value!r}; it must be above zero, with at most six decimals"
    raise ValueError(message)


class Numbers(Protocol):
    """Numbers, (n,), that are added, halved and shared as exactly as their file can hold them."""

    def __len__(self) -> int:
        """Count them."""

    def __add__(self, other: Self, /) -> Self:
        """Add others."""

    def __sub__(self, other: Self, /) -> Self:
        """Take others away."""

    def half(self) -> Self:
        """Halve them."""

    def take(self, rows: NDArray[np.intp] | Rows) -> Self:
        """Give some of them, or some of them several times."""

    def share(self, part: Rows, parts: Rows, start: Self, resolution: Resolution) -> Self:
        """Give ``self * part / parts``.

        Where the file cannot hold that, `start` and it are a multiple of the resolution.
        """

    def rounded(self, values: Floats, resolution: Resolution) -> Self:
        """Give others of the same kind: the multiples of a resolution next to some values."""

    def portion(self, share: Floats) -> Self:
        """Give a share of each, 0 to 1, rounded to a few more decimals; of share 1 all of it."""

    def summed(self, group: Rows, count: int) -> Self:
        """Add those of each group up, in their order."""

    def followed(self, other: Self) -> Self:
        """Put others behind."""

    def ranked(self, group: Rows) -> Rows:
        """Give a number to each different value of a group, ascending; groups share none."""

    def doubles(self) -> Floats:
        """Give the nearest float64 of each."""


def steps(of: Rows, resolution: Resolution) -> tuple[Rows, int]:
    """Give whole multiples of a resolution in units of its last decimal, and those to one."""
    return of * resolution.units, 10**resolution.places


def numbered(order: NDArray[np.intp], differs: NDArray[np.bool_]) -> Rows:
    """Give numbers to rows in an order; one that does not differ from the last has its number."""
    found = np.empty(len(order), np.int64)
    found[order] = np.cumsum(np.concatenate([[False], differs]))[: len(order)]
    return found


@dataclass(frozen=True)
class Doubles:
    """Numbers of a binary file: float64, each operation rounded once."""

    values: Floats

    def __len__(self) -> int:
        """Count them."""
        return len(self.values)

    def __add__(self, other: Doubles) -> Doubles:
        """Add others."""
        return Doubles(self.values + other.values)

    def __sub__(self, other: Doubles) -> Doubles:
        """Take others away."""
        return Doubles(self.values - other.values)

    def half(self) -> Doubles:
        """Halve them."""
        return Doubles(self.values / 2)

    def take(self, rows: NDArray[np.intp] | Rows) -> Doubles:
        """Give some of them."""
        return Doubles(self.values[rows])

    def share(self, part: Rows, parts: Rows, start: Doubles, resolution: Resolution) -> Doubles:
        """Give ``self * part / parts``; the whole where part is parts."""
        return Doubles(np.where(part == parts, self.values, self.values * part / parts))

    def rounded(self, values: Floats, resolution: Resolution) -> Doubles:
        """Give the multiples of a resolution next to some values."""
        units, one = steps(np.rint(values / resolution.size).astype(np.int64), resolution)
        return Doubles(units / one)

    def portion(self, share: Floats) -> Doubles:
        """Give a share of each."""
        return Doubles(self.values * share)

    def summed(self, group: Rows, count: int) -> Doubles:
        """Add those of each group up, in their order."""
        return Doubles(np.bincount(group, self.values, count).astype(np.float64))

    def followed(self, other: Doubles) -> Doubles:
        """Put others behind."""
        return Doubles(np.concatenate([self.values, other.values]))

    def ranked(self, group: Rows) -> Rows:
        """Give a number to each different value of a group; equal are those within rounding."""
        near = _ROUNDING * np.spacing(np.abs(self.values).max(initial=1.0))
        order = np.lexsort([self.values, group])
        values, groups = self.values[order], group[order]
        return numbered(order, (np.diff(values) > near) | (np.diff(groups) != 0))

    def doubles(self) -> Floats:
        """Give them."""
        return self.values
