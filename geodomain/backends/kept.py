"""Points that several questions in turn are about: sent to a device once, if at all."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST = 4_194_304  # points: as many as are on the device at a time anyway


class Kept:
    """Columns that are asked about again, and what of them is on the device by now.

    Attributes
    ----------
    views : dict
        The kernels' PointsView of rows that are there, by the first and the one past the last.
    """

    def __init__(self, columns: list[NDArray[np.float64]]) -> None:
        self._places = _places(columns)
        self.memory: Any = None
        self.views: dict[tuple[int, int], bytes] = {}

    def are(self, columns: Any) -> bool:
        """Tell whether these are the columns: the same memory."""
        return isinstance(columns, tuple) and _places(columns) == self._places


_here = threading.local()


@contextlib.contextmanager
def keeping(points: NDArray[np.float64]) -> Iterator[None]:
    """Let this thread's questions about these very points send them once; they stay as they are."""
    before = getattr(_here, "kept", None)
    kept = _here.kept = Kept([points[:, axis] for axis in range(3)])
    try:
        yield
    finally:
        _here.kept = before
        if kept.memory is not None:
            from geodomain.backends import device

            device.free(kept.memory)


def kept_of(points: Any) -> Kept | None:
    """Return what is kept of the points that are asked about, with room for them; or None.

    A context is current.
    """
    kept: Kept | None = getattr(_here, "kept", None)
    if kept is None or not kept.are(points) or len(points[0]) > _MOST:
        return None
    if kept.memory is None:
        from geodomain.backends import device
        from geodomain.backends.pools import memory_pool

        try:
            kept.memory = memory_pool().allocate(24 * len(points[0]))
        except device.driver().MemoryError:
            return None
    return kept


def _places(columns: Any) -> list[tuple[int, int, int]]:
    return [(one.ctypes.data, one.strides[0], len(one)) for one in columns]
