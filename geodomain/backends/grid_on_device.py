"""The grid over one mesh's triangles in a device's memory: how it gets there, and its view."""

from __future__ import annotations

import ctypes
import weakref

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import cpu, device
from geodomain.backends.cpu import Floats

_GRID_BYTES = 88  # of one Grid: three axes, its first cell and its bundles
# Shorter lists than the CPU's: here the index is cheap and the answers are many.
_DENSITY = 1.0


class GridOnDevice:
    """A grid that is built on the host and kept on the device; no context need be current.

    Attributes
    ----------
    view : bytes
        The kernels' GridView.
    mesh : bytes
        Their MeshView.
    """

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        bounds: Floats,
        *,
        closed: bool,
        threads: int,
    ) -> None:
        host = cpu.Index(
            vertices, triangles, bounds, closed=closed, threads=threads, density=_DENSITY
        )
        parts = host.arrays()
        with device.current():
            self._memory = [device.upload(array) for array in (vertices, triangles, *parts)]
        vertices_at, triangles_at, *index_at = map(int, self._memory)
        index_at[4] *= len(parts[4]) > 0  # null: there are no bundles
        self.mesh = device.structure(vertices_at, triangles_at, len(triangles))
        box = device.structure(*[float(value) for value in np.ravel(bounds)])
        whole = parts[0][:_GRID_BYTES].tobytes()
        self.view = device.structure(self.mesh, box, whole, *index_at, ctypes.c_int32(closed))
        self._size = host.size()
        self._arrays = (vertices, triangles)
        _resident[id(vertices), id(triangles)] = self

    def __del__(self) -> None:
        """Give the device's memory back."""
        device.free(*getattr(self, "_memory", ()))

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        return self._size


# Grids by the arrays of their meshes, which they keep: their identities mean something while
# the grid is here.
_resident: weakref.WeakValueDictionary[tuple[int, int], GridOnDevice] = (
    weakref.WeakValueDictionary()
)


def resident(vertices: Floats, triangles: NDArray[np.int32]) -> GridOnDevice | None:
    """Return a grid whose mesh these very arrays are, so that it need not be copied again."""
    return _resident.get((id(vertices), id(triangles)))
