"""Amounts of a block, such as its volume or tonnes, shared among its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from geodomain.io.blocks.rewriting.task import BlockRows, NewRows
from geodomain.io.header.families import plain_name
from geodomain.io.number_columns import NegativeGrades
from geodomain.io.numbers import Floats, Numbers, Rows

# Columns of amounts: what is true of a whole block and not of a part of it.
_LIKELY = {
    *("volume", "vol", "blockvolume", "tonnes", "tonnage", "tons", "ton", "mass", "weight"),
    *("metal", "ounces", "oz", "kg", "m3", "toneladas", "volumen", "masa"),
}


def shared(amount: Numbers, parent: Rows, volumes: Floats) -> Numbers:
    """Give each part of parents its share, by volume; shares of a parent add up to all of it.

    Each is the difference of what parts up to it have, and up to the one before.
    """
    starts = np.diff(parent, prepend=-1) != 0
    ends = np.diff(parent, append=-1) != 0
    part = volumes / np.bincount(parent, volumes)[parent]
    sums = np.cumsum(part)
    share = sums - (sums - part)[starts][np.cumsum(starts) - 1]
    share = np.where(ends, 1.0, np.clip(share, 0.0, 1.0))
    before = np.where(starts, 0.0, np.roll(share, 1))
    own = amount.take(parent)
    return own.portion(share) - own.portion(before)


class NegativeAmounts:
    """Negative amounts, which may be codes of missing values and not amounts at all.

    Parameters
    ----------
    names : sequence of str
        The columns of amounts.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._found = [NegativeGrades(name) for name in names]

    def counted(
        self, rewrite: Callable[[BlockRows], Iterator[NewRows]]
    ) -> Callable[[BlockRows], Iterator[NewRows]]:
        """Return what rewrites rows, and counts their negative amounts."""

        def counting(rows: BlockRows) -> Iterator[NewRows]:
            for found, amount in zip(self._found, rows.amounts, strict=True):
                found.take(amount.doubles(), rows.first)
            return rewrite(rows)

        return counting

    def warnings(self) -> Iterator[str]:
        """Yield a warning for each column that has some."""
        yield from filter(None, (one.warning("block", detection=False) for one in self._found))


def unshared_warnings(
    names: Sequence[str], shares: Sequence[int], *, joined: bool = False
) -> Iterator[str]:
    """Yield a warning for each column that looks like an amount and is not named as one."""
    for field, name in enumerate(names):
        if plain_name(name) not in _LIKELY or field in shares:
            continue
        if joined:
            said = "a joined block has that of one of its parts: add it up"
        else:
            said = "each sub-block keeps all of it: share it by volume"
        yield f"{name} looks like an amount of a whole block, and {said} with extensive={name!r}"
