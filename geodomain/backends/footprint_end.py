"""Where the footprint of a surface ends in plan: the kernels' loops through ctypes; no geometry."""

from __future__ import annotations

import ctypes
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.data import Floats, MeshArrays
from geodomain.backends.native import core


class EdgeReach(IntEnum):
    """Where a footprint ends along an edge; as in kernels/volume/footprint_end.h."""

    NOWHERE = 0
    ALL_ALONG = 1
    IN_PARTS = 2


class FootprintEnd:
    """Those parts of a surface's rim and folds, (m, 2, 3), that have nothing on one side in plan.

    Attributes
    ----------
    reach : (m,) uint8
        The `EdgeReach` of each edge.
    """

    def __init__(self, mesh: MeshArrays, edges: Floats, threads: int) -> None:
        self._edges = np.ascontiguousarray(edges)  # the core reads them where they are
        self.reach: NDArray[np.uint8] = np.empty(len(edges), np.uint8)
        self._handle = ctypes.c_void_p()
        core().footprint_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            self._edges,
            len(edges),
            threads,
            self.reach,
            self._handle,
        )

    def __del__(self) -> None:
        """Free the memory."""
        if getattr(self, "_handle", None):
            core().footprint_free(self._handle)

    def is_in(self, lows: Floats, highs: Floats, threads: int) -> NDArray[np.bool_]:
        """Return whether the footprint ends inside the plan of each block, (n,)."""
        lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        found = np.empty(len(lows), np.bool_)
        core().footprint_ends(
            self._handle,
            lows,
            highs,
            len(lows),
            threads,
            found,
        )
        return found
