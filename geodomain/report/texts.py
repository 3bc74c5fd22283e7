"""The texts of a table's cells, as codes into each column's different texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A column with more different texts is left out: a report is to stay small.
MOST_TEXTS = 400_000


@dataclass(frozen=True)
class TextColumns:
    """Columns of a table as text.

    Attributes
    ----------
    names : tuple of str
        Of the columns that are kept, in the order of the file.
    texts : tuple of list of str
        The different texts of each.
    codes : tuple of (n,) int32
        The place of each row's text among them.
    left_out : tuple of str
        Columns that have too many different texts.
    """

    names: tuple[str, ...]
    texts: tuple[list[str], ...]
    codes: tuple[NDArray[np.int32], ...]
    left_out: tuple[str, ...] = ()

    def cell(self, column: int, row: int) -> str:
        """Return one cell."""
        return self.texts[column][int(self.codes[column][row])]


class TextCollector:
    """Gathers one column chunk by chunk; it gives up on one with too many different texts."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes: list[NDArray[np.int32]] = []
        self.is_full = False

    def add(self, texts: list[str], codes: NDArray[np.intp]) -> None:
        """Take the different texts of a chunk, and the place of each row's among them."""
        places = self._places
        here = [places.setdefault(text, len(places)) for text in texts]
        self._codes.append(np.array(here, np.int32)[codes])
        if len(places) > MOST_TEXTS:
            self._places, self._codes, self.is_full = {}, [], True

    def result(self) -> tuple[list[str], NDArray[np.int32]]:
        """Return the different texts, and the place of each row's among them."""
        return list(self._places), np.concatenate([np.empty(0, np.int32), *self._codes])
