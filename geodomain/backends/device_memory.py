"""Points and outputs of the caller that are on a GPU, as addresses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from geodomain.backends import layout


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
