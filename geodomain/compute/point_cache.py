"""Points that several queries share: a backend may keep a copy of them between queries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain.compute.data import Floats


class PointsCopy(Protocol):
    """A backend's copy of some points."""

    def free(self) -> None:
        """Free its memory."""
        ...


class CachedColumns(tuple[Floats, Floats, Floats]):
    """The columns of `CachedPoints`, with the copies that their owner holds.

    Attributes
    ----------
    copies : dict
        By the name of the backend that made each.
    """

    copies: dict[str, PointsCopy]


class CachedPoints:
    """Points, (n, 3), that stay as they are while they are asked about, and backends' copies.

    What takes points takes it as it takes an array.

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
    """Return points that queries copy to a device once; the copies are freed in the end."""
    cached = CachedPoints(points)
    try:
        yield cached
    finally:
        copies, cached.columns.copies = cached.columns.copies, {}
        for copy in copies.values():
            copy.free()
