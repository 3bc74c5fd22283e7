"""Types of the data that backends take: arrays in memory or on a GPU, meshes, segments, points."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain.compute import layout


@dataclass(slots=True, eq=False)  # making a frozen one takes as long as a launch
class DevicePoints:
    """The caller's points in GPU memory, which are used in place.

    Attributes
    ----------
    address : int
        Address of the first x.
    rows : int
        Number of points.
    strides : tuple of int
        Two numbers of bytes: from one point to the next, and from x to y (as from y to z).
    stream : int, optional
        Stream to wait for: None for no wait, -1 for all work on the device.
    owner : object
        The object that owns the memory.
    """

    address: int
    rows: int
    strides: tuple[int, int]
    stream: int | None
    owner: object = field(repr=False)

    def __len__(self) -> int:
        """Return the number of points."""
        return self.rows

    def view(self, begin: int) -> bytes:
        """Return the kernels' PointsView of the points from row ``begin`` to the last."""
        step, across = self.strides
        x = self.address + begin * step
        return layout.points_view((x, x + across, x + 2 * across), (step, step, step))

    def overlaps(self, room: DeviceRoom) -> bool:
        """Whether ``room`` overlaps the memory between the first and the last x, y or z."""
        if self.rows == 0:
            return False
        step, across = self.strides
        last = step * (self.rows - 1)
        low, high = min(last, 0), max(last, 0) + 8  # bytes of x, y or z, from its first
        begin = room.address - self.address
        end = begin + room.size * room.dtype.itemsize
        firsts = (0, across, 2 * across)
        return any([first + low < end and begin < first + high for first in firsts])


@dataclass(slots=True, eq=False)
class DeviceRoom:
    """The caller's contiguous output array in GPU memory."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    stream: int | None
    owner: object = field(repr=False)

    def __len__(self) -> int:
        """Return the length of the first axis: the number of points, or of a lattice's layers."""
        return self.shape[0]

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


Floats = NDArray[np.float64]
Coordinates = NDArray[np.float32 | np.float64]
Indices = NDArray[np.int32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
TableColumn = Sequence[object] | NDArray[np.generic]
Bytes = NDArray[np.uint8]
Columns = tuple[Floats, Floats, Floats]  # x, y and z, with any strides
Points = Columns | DevicePoints
Room = NDArray[np.generic] | DeviceRoom
Rim = tuple[Floats, Indices]  # ends (m, 2, 3) and weights (m,) of edges, in summation order


class MeshArrays(Protocol):
    """The attributes of a mesh that a backend uses."""

    @property
    def vertices(self) -> Floats:
        """Return the coordinates, (v, 3)."""
        ...

    @property
    def triangles(self) -> Indices:
        """Return the vertex indices of each triangle, (t, 3)."""
        ...

    @property
    def bounds(self) -> Floats:
        """Return the lowest and the highest coordinates, (2, 3)."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether every edge has an even number of triangles."""
        ...


class Held(Protocol):
    """A backend's copy of data on a device."""

    @property
    def nbytes(self) -> int:
        """Size of the copy in bytes."""
        ...


class SegmentRows(Protocol):
    """The attributes of segments that a backend uses."""

    @property
    def packed(self) -> Floats:
        """The start and end of each segment, (n, 6); a segment with a NaN crosses nothing."""
        ...

    @property
    def order(self) -> NDArray[np.int64] | None:
        """If the segments were sorted, the caller's row of each segment; otherwise None."""
        ...

    @property
    def device(self) -> dict[str, Held]:
        """Copies that backends keep for later queries, by the name of the backend."""
        ...


class PointsCopy(Protocol):
    """A backend's copy of points."""

    def free(self) -> None:
        """Free the memory of the copy."""
        ...


class CachedColumns(tuple[Floats, Floats, Floats]):
    """The columns of `CachedPoints`, with the backends' copies.

    Attributes
    ----------
    copies : dict
        Copies of the points, keyed by the name of the device.
    """

    copies: dict[str, PointsCopy]


class CachedPoints:
    """Points (n, 3) for several queries, and the copies of these points that backends keep.

    Functions that take points accept this object like an array. The points must not change.

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
        """Return the points as a NumPy array."""
        return np.array(self._points, dtype=dtype) if copy else np.asarray(self._points, dtype)


@contextlib.contextmanager
def keeping(points: Floats) -> Iterator[CachedPoints]:
    """Yield points that are copied to a device only once; at the end, free the copies."""
    cached = CachedPoints(points)
    try:
        yield cached
    finally:
        copies, cached.columns.copies = cached.columns.copies, {}
        for copy in copies.values():
            copy.free()
