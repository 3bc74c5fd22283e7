"""The device's copy of points that several queries share."""

from __future__ import annotations

from geodomain.backends.cuda import buffers, device
from geodomain.backends.cuda.pools import memory_pool
from geodomain.backends.data import Points
from geodomain.backends.point_cache import CachedColumns


class DeviceCopy:
    """What of some points is on the device by now; a context is current where one is made.

    Attributes
    ----------
    views : dict
        The kernels' PointsView of rows that are there, by the first and the one past the last.
    """

    def __init__(self, rows: int) -> None:
        self._memory = memory_pool().allocate(24 * rows)
        self.address = int(self._memory)
        self.views: dict[tuple[int, int], bytes] = {}

    def free(self) -> None:
        """Free the memory in the context that it came from."""
        device.free(self._memory)


def copy_of(points: Points) -> DeviceCopy | None:
    """Return the copy of points that are kept, with room for them; or None.

    A context is current.
    """
    if not isinstance(points, CachedColumns) or len(points[0]) > buffers.IN_FLIGHT:
        return None
    where = f"cuda {device.number()}"
    copy = points.copies.get(where)
    if not isinstance(copy, DeviceCopy):
        try:
            copy = points.copies[where] = DeviceCopy(len(points[0]))
        except device.driver().MemoryError:
            return None
    return copy
