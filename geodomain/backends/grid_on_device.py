"""The grid over one mesh's triangles in a device's memory: how it gets there, and its view."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import cpu, device, grid_building
from geodomain.backends.cpu import Floats
from geodomain.backends.pools import allocate_pooled
from geodomain.backends.staging import upload

_GRID_BYTES = 88  # of one Grid: three axes, its first cell and its bundles
# Shorter lists than the CPU's: here the index is cheap and the answers are many.
_DENSITY = 1.0


class GridOnDevice:
    """A grid on the device, built there or, where cells are crowded, on the host.

    No context need be current.

    Attributes
    ----------
    view : bytes
        The kernels' GridView.
    mesh : bytes
        Their MeshView.
    single : bytes or None
        Their SingleView, where the device's doubles are slow.
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
        with device.current():
            self._memory: list[Any] = [upload(vertices), upload(triangles)]
            self.mesh = device.structure(*map(int, self._memory), len(triangles))
            box = device.structure(*[float(value) for value in np.ravel(bounds)])
            built = grid_building.build(self.mesh, box, len(triangles), _DENSITY)
            if built is None:
                host = cpu.Index(
                    vertices, triangles, bounds, closed=closed, threads=threads, density=_DENSITY
                )
                whole, index_at = self._upload(host.arrays())
                self._size = host.size()
            else:
                self._memory += [built.slabs, built.lists, built.entries]
                whole, index_at = built.whole, [0, *map(int, self._memory[-3:]), 0, 0]
                self._size = built.size
            self.single = self._halves(vertices, bounds) if device.has_slow_doubles() else None
        self.view = device.structure(self.mesh, box, whole, *index_at, ctypes.c_int32(closed))
        self._arrays = (vertices, triangles)
        _resident[id(vertices), id(triangles)] = self

    def __del__(self) -> None:
        """Give the device's memory back."""
        device.free(*getattr(self, "_memory", ()))

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        return self._size

    def _halves(self, vertices: Floats, bounds: Floats) -> bytes:
        """Return the view of the vertices as pairs of floats."""
        self._memory.append(allocate_pooled(24 * len(vertices)))
        places = int(self._memory[0]), len(vertices), int(self._memory[-1])
        device.launch("grid.cu", "geodomain_halve_vertices", len(vertices), *places)
        reach = np.nextafter(np.float32(np.abs(bounds).max()), np.float32(np.inf))
        return device.structure(places[-1], ctypes.c_float(reach))

    def _upload(self, parts: list[NDArray[np.uint8]]) -> tuple[bytes, list[int]]:
        """Copy a host's index; return its whole grid and where the parts are, 0 for none."""
        memory = [upload(part) for part in parts]
        self._memory += memory
        places = [int(one) if part.size else 0 for one, part in zip(memory, parts, strict=True)]
        return parts[0][:_GRID_BYTES].tobytes(), places


# Grids by the arrays of their meshes, which they keep: their identities mean something while
# the grid is here.
_resident: weakref.WeakValueDictionary[tuple[int, int], GridOnDevice] = (
    weakref.WeakValueDictionary()
)


def resident(vertices: Floats, triangles: NDArray[np.int32]) -> GridOnDevice | None:
    """Return a grid whose mesh these very arrays are, so that it need not be copied again."""
    return _resident.get((id(vertices), id(triangles)))
