"""Points and outputs of the caller that are on a GPU, as addresses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import layout


@dataclass(slots=True, eq=False)  # one that is frozen takes as long to make as a launch
class DevicePoints:
    """The caller's points on the device, used where they are.

    Attributes
    ----------
    address : int
        Of the first x.
    rows : int
        How many points.
    strides : tuple of int
        Bytes from a row to the next, and from x to y to z.
    stream : int, optional
        Whose work comes first; None where there is nothing to wait for, -1 for all of it.
    owner : object
        What keeps the memory.
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
        """Return the kernels' view of the points from a row on."""
        step, across = self.strides
        x = self.address + begin * step
        return layout.points_view((x, x + across, x + 2 * across), (step, step, step))

    def overlaps(self, room: DeviceRoom) -> bool:
        """Return whether answers are among the coordinates, or what lies between their rows."""
        if self.rows == 0:
            return False
        step, across = self.strides
        last = step * (self.rows - 1)
        low, high = min(last, 0), max(last, 0) + 8  # of x, y or z, from its first
        begin = room.address - self.address
        end = begin + room.size * room.dtype.itemsize
        firsts = (0, across, 2 * across)
        return any([first + low < end and begin < first + high for first in firsts])


@dataclass(slots=True, eq=False)
class DeviceRoom:
    """The caller's contiguous array on the device that answers are written to."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]
    stream: int | None
    owner: object = field(repr=False)

    def __len__(self) -> int:
        """Return the number of answers, or of layers of them."""
        return self.shape[0]

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


# --- What a backend is given: arrays, a mesh's and segments', in memory or on a GPU.

Floats = NDArray[np.float64]
Coordinates = NDArray[np.float32 | np.float64]
Indices = NDArray[np.int32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Columns = tuple[Floats, Floats, Floats]  # x, y and z, with any strides
Points = Columns | DevicePoints
Room = NDArray[np.generic] | DeviceRoom
Rim = tuple[Floats, Indices]  # ends (m, 2, 3) and weights (m,), in the order of the sum


class MeshArrays(Protocol):
    """What a backend needs of a mesh, which its owner holds."""

    @property
    def vertices(self) -> Floats:
        """Return the coordinates, (v, 3)."""
        ...

    @property
    def triangles(self) -> Indices:
        """Return the vertices of each triangle, (t, 3)."""
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
    """Memory that a backend keeps for the owner of what it is a copy of."""

    @property
    def nbytes(self) -> int:
        """Return its bytes."""
        ...


class SegmentRows(Protocol):
    """What a backend needs of segments, which their owner holds."""

    @property
    def packed(self) -> Floats:
        """Return the rows, start and end, (n, 6); a row with a NaN crosses nothing."""
        ...

    @property
    def order(self) -> NDArray[np.int64] | None:
        """Return the caller's row of each, where they were sorted."""
        ...

    @property
    def device(self) -> dict[str, Held]:
        """Return what backends keep of them from question to question, by the backend's name."""
        ...
