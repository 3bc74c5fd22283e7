"""The columns of a labelled model that hold shares of blocks, by the names of their domains."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.io.conditions import Column
from geodomain.io.header.families import plain_name

Floats = NDArray[np.float64]
_WHOLES = {"prop_": 1.0, "pct_": 100.0}
_SLACK = 1e-6


class ShareColumns:
    """Columns prop_<name> and pct_<name>, gathered chunk by chunk.

    Parameters
    ----------
    columns : sequence of str
        All the columns of the model.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._found: dict[int, tuple[str, float]] = {}
        for place, column in enumerate(columns):
            name = plain_name(column).lower()
            for start, whole in _WHOLES.items():
                if name.startswith(start):
                    self._found[place] = name.removeprefix(start), whole
        self._parts: dict[int, list[Floats]] = {place: [] for place in self._found}

    def add(self, column: Callable[[int], Column]) -> None:
        """Take a chunk."""
        for place, parts in self._parts.items():
            asked = column(place)
            numbers = asked.loose_numbers()
            # A column of texts is no share; one of numbers is read by the rule for numbers.
            parts.append(numbers if np.isnan(numbers).all() else asked.numbers(words=True))

    def result(self) -> dict[str, Floats]:
        """Return shares, 0 to 1, by the rest of the name; a column with other numbers is none."""
        shares = {}
        for place, (name, whole) in self._found.items():
            numbers = np.concatenate([np.empty(0), *self._parts[place]]) / whole
            known = numbers[~np.isnan(numbers)]
            if known.size and known.min() >= -_SLACK and known.max() <= 1 + _SLACK:
                shares[name] = numbers
        return shares
