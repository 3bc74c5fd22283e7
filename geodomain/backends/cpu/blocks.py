"""Volumes of blocks on the CPU: the kernels' launch loops through ctypes; no geometry."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.data import Floats, MeshArrays
from geodomain.backends.native import core


class CpuBlockIndex:
    """One mesh's triangles, and its rim (m, 2, 3), ready to be asked about blocks anywhere."""

    def __init__(self, mesh: MeshArrays, rim: Floats) -> None:
        self._arrays = (mesh.vertices, mesh.triangles, rim)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        core().blocks_create(
            mesh.vertices,
            mesh.triangles,
            len(mesh.triangles),
            rim,
            len(rim),
            self.handle,
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            core().blocks_free(self.handle)

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of this index."""
        return self.handle

    def trees(self) -> tuple[NDArray[np.void], list[int]]:
        """Return the `BoxTreeView` of triangles and that of the rim, and their leaves' numbers."""
        views, counts = layout.structure("BoxTreeView").empty(2), np.zeros(2, np.int64)
        core().blocks_trees(self.handle, views, counts)
        return views, counts.tolist()

    def shares(
        self,
        weights: NDArray[np.int8] | None,
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        wound: bool,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Write shares where a triangle enters a block; return how each was answered.

        Without weights, all such blocks go along ``lines`` times ``lines`` lines; with ``single``
        those that the triangles do not cover once, within it.
        """
        answers = np.empty(len(out), np.uint8)
        core().blocks_shares(
            self.handle,
            weights,
            lows,
            highs,
            len(out),
            wound,
            lines,
            single,
            threads,
            out,
            answers,
        )
        return answers

    def covered_shares(
        self,
        weights: NDArray[np.int8],
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Write shares of blocks whose plans are covered; see `BlockIndex`."""
        answers = np.empty(len(out), np.uint8)
        core().blocks_covered(
            self.handle,
            weights,
            lows,
            highs,
            len(out),
            lines,
            single,
            threads,
            out,
            answers,
        )
        return answers

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[NDArray[np.int32], Floats, NDArray[np.int8]]:
        """Return what vertical lines through each block cross; see `BlockIndex`."""
        counts = np.empty((len(lows) * lines * lines, 4), np.int32)
        total, found = ctypes.c_int64(), ctypes.c_void_p()
        core().blocks_lines(
            self.handle,
            lows,
            highs,
            len(lows),
            lines,
            below,
            threads,
            counts,
            total,
            found,
        )
        heights, signs = np.empty(total.value), np.empty(total.value, np.int8)
        core().lines_take(found, heights, signs)
        return counts, heights, signs
