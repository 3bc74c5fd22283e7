"""Distances on the CPU: the kernels' launch loops through ctypes; no geometry."""

from __future__ import annotations

import ctypes

import numpy as np

from geodomain.backends.data import Columns, Floats, Indices, MeshArrays
from geodomain.backends.native import column_pointers, library, must, pointer


class CpuNearestIndex:
    """The hierarchy over one mesh's triangles, asked for the nearest from any thread."""

    def __init__(self, mesh: MeshArrays, *, threads: int) -> None:
        self._arrays = (mesh.vertices, mesh.triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        limits = np.ascontiguousarray(mesh.bounds, dtype=np.float64)
        must(
            library().geodomain_distance_create(
                pointer(mesh.vertices),
                pointer(mesh.triangles),
                ctypes.c_int64(len(mesh.triangles)),
                pointer(limits),
                threads,
                ctypes.byref(self.handle),
            )
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            library().geodomain_distance_free(self.handle)

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
        must(
            library().geodomain_distance_nearest(
                self.handle,
                addresses,
                strides,
                ctypes.c_int64(len(distance)),
                threads,
                pointer(distance),
                None if triangle is None else pointer(triangle),
                None if place is None else pointer(place),
                ctypes.byref(refused),
            )
        )
        return refused.value
