"""Cache the device copies of points that several queries share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain.compute.data import Floats


class PointsCopy(Protocol):
    """A backend's copy of points."""

    def free(self) -> None:
        """Free its memory."""
        ...


class CachedColumns(tuple[Floats, Floats, Floats]):
    """The columns of `CachedPoints`, with the backends' copies.

    Attributes
    ----------
    copies : dict
        Copies by the backend's name.
    """

    copies: dict[str, PointsCopy]


class CachedPoints:
    """Points, (n, 3), that do not change during several queries, and backends' copies of them.

    Functions that take points accept these like an array.

    Attributes
    ----------
    columns : CachedColumns
        x, y and z, with the copies.
    """

    def __init__(self, points: Floats) -> None:
        self._points = points
        self.columns = CachedColumns((points[:, 0], points[:, 1], points[:, 2]))
        self.columns.copies = {}

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[np.generic]:
        """Return the points themselves."""
        return np.array(self._points, dtype=dtype) if copy else np.asarray(self._points, dtype)


@contextlib.contextmanager
def keeping(points: Floats) -> Iterator[CachedPoints]:
    """Yield points that queries copy to a device once; free the copies at the end."""
    cached = CachedPoints(points)
    try:
        yield cached
    finally:
        copies, cached.columns.copies = cached.columns.copies, {}
        for copy in copies.values():
            copy.free()
