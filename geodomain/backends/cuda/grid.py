"""The grid over one mesh's triangles in a device's memory: how it gets there, and its view."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.cpu import points as cpu
from geodomain.backends.cpu.points import PARTS
from geodomain.backends.cuda import device
from geodomain.backends.cuda import grid_build as grid_building
from geodomain.backends.cuda.pools import allocate_pooled
from geodomain.backends.cuda.pycuda_types import CudaMemory
from geodomain.backends.cuda.staging import upload
from geodomain.backends.data import Floats, MeshArrays

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

    def __init__(self, mesh: MeshArrays, *, threads: int) -> None:
        with device.current():
            self._memory: list[CudaMemory] = upload(mesh.vertices, mesh.triangles)
            vertices_at, triangles_at = map(int, self._memory)
            self.mesh = layout.mesh_view(vertices_at, triangles_at, len(mesh.triangles))
            box = layout.bounds_of(mesh.bounds)
            built = grid_building.build(self.mesh, box, len(mesh.triangles), _DENSITY)
            if built is None:
                host = cpu.CpuPointIndex(mesh, threads=threads, density=_DENSITY)
                whole, index = self._upload(host.arrays())
                self._size = host.size()
            else:
                self._memory += built.parts.values()
                whole, index = built.whole, {name: int(one) for name, one in built.parts.items()}
                self._size = built.size
            self.single = (
                self._halves(mesh.vertices, mesh.bounds) if device.has_slow_doubles() else None
            )
        nothing = dict.fromkeys(PARTS, 0)
        self.view = layout.structure("GridView").pack(
            mesh=self.mesh, bounds=box, whole=whole, closed=mesh.is_closed, **{**nothing, **index}
        )

    def __del__(self) -> None:
        """Free the device's memory."""
        device.free(*getattr(self, "_memory", ()))

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        return self._size

    def _halves(self, vertices: Floats, bounds: Floats) -> bytes:
        """Return the view of the vertices as pairs of floats."""
        self._memory.append(allocate_pooled(layout.structure("HalvedVertex").size * len(vertices)))
        places = int(self._memory[0]), len(vertices), int(self._memory[-1])
        device.launch("grid.cu", "geodomain_halve_vertices", len(vertices), *places)
        reach = np.nextafter(np.float32(np.abs(bounds).max()), np.float32(np.inf))
        return layout.structure("SingleView").pack(vertices=places[-1], reach=float(reach))

    def _upload(self, parts: Mapping[str, NDArray[np.uint8]]) -> tuple[bytes, dict[str, int]]:
        """Copy a host's index; return its whole grid and where the parts are, 0 for none."""
        memory = {name: upload(part)[0] for name, part in parts.items()}
        self._memory += memory.values()
        places = {name: int(one) if parts[name].size else 0 for name, one in memory.items()}
        return parts["grids"][: layout.structure("Grid").size].tobytes(), places
