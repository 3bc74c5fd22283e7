"""Distances on the CPU: the kernels' launch loops through ctypes; no geometry."""

from __future__ import annotations

import ctypes

import numpy as np

from geodomain.backends.data import Columns, Floats, Indices, MeshArrays
from geodomain.backends.native import column_pointers, core


class CpuNearestIndex:
    """The hierarchy over one mesh's triangles, asked for the nearest from any thread."""

    def __init__(self, mesh: MeshArrays, *, threads: int) -> None:
        self._arrays = (mesh.vertices, mesh.triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        limits = np.ascontiguousarray(mesh.bounds, dtype=np.float64)
        core().distance_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            limits,
            threads,
            self.handle,
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            core().distance_free(self.handle)

    def nearest(
        self,
        points: Columns,
        distance: Floats,
        threads: int,
        *,
        triangle: Indices | None = None,
        place: Floats | None = None,
    ) -> int:
        """Write the distance of each point, its nearest triangle, and the place on it, (n, 3).

        Returns the first row beyond a mesh's range, or -1.
        """
        addresses, strides = column_pointers(points)
        refused = ctypes.c_int64(-1)
        core().distance_nearest(
            self.handle,
            addresses,
            strides,
            len(distance),
            threads,
            distance,
            triangle,
            place,
            refused,
        )
        return refused.value
