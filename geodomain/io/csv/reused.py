"""Memory of arrays that is taken again when the last array in it is gone."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray


class ReusedColumns:
    """Give arrays of three columns, chunk after chunk, without new memory for each.

    The system clears new memory page by page, which takes longer than to fill it. An array that
    somebody still has, or a view of it, keeps its memory: then the next one gets its own.

    Examples
    --------
    >>> columns = ReusedColumns()
    >>> first = columns.take(4)
    >>> first.shape, first.flags.f_contiguous
    ((4, 3), True)
    >>> second = columns.take(4)
    >>> np.shares_memory(first, second)
    False
    """

    def __init__(self) -> None:
        self._room = np.empty(0)
        self._alone = self._holders()

    def take(self, rows: int) -> NDArray[np.float64]:
        """Return an array (rows, 3) whose columns are contiguous, with anything in it."""
        size = 3 * rows
        if self._room.size < size or self._holders() != self._alone:
            self._room = np.empty(size + size // 8)
        return self._room[:size].reshape(3, rows).T

    def _holders(self) -> int:
        """Count who refers to the memory: each array in it does, however it was cut."""
        return sys.getrefcount(self._room)
