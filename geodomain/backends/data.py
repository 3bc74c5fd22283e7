"""What a backend is given: arrays, a mesh's and segments', in memory or on a GPU.

Arrays are checked before they come here: points are columns of float64, or are on a GPU; room for
answers is contiguous and writable, and of the right shape and type.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.device_memory import DevicePoints, DeviceRoom

Floats = NDArray[np.float64]
Coordinates = NDArray[np.float32 | np.float64]
Indices = NDArray[np.int32]
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
