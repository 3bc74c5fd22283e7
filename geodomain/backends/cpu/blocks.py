"""Volumes of blocks on the CPU: the kernels' launch loops through ctypes; no geometry."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.data import Floats, MeshArrays
from geodomain.backends.native import library, must, pointer


class CpuBlockIndex:
    """One mesh's triangles, and its rim (m, 2, 3), ready to be asked about blocks anywhere."""

    def __init__(self, mesh: MeshArrays, rim: Floats) -> None:
        self._arrays = (mesh.vertices, mesh.triangles, rim)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        must(
            library().geodomain_blocks_create(
                pointer(mesh.vertices),
                pointer(mesh.triangles),
                ctypes.c_int64(len(mesh.triangles)),
                pointer(rim),
                ctypes.c_int64(len(rim)),
                ctypes.byref(self.handle),
            )
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            library().geodomain_blocks_free(self.handle)

    def trees(self) -> tuple[NDArray[np.void], list[int]]:
        """Return the `BoxTreeView` of triangles and that of the rim, and their leaves' numbers."""
        views, counts = layout.structure("BoxTreeView").empty(2), np.zeros(2, np.int64)
        library().geodomain_blocks_trees(self.handle, pointer(views), pointer(counts))
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
        must(
            library().geodomain_blocks_shares(
                self.handle,
                None if weights is None else pointer(weights),
                pointer(lows),
                pointer(highs),
                ctypes.c_int64(len(out)),
                ctypes.c_int32(wound),
                ctypes.c_int32(lines),
                ctypes.c_double(single),
                threads,
                pointer(out),
                pointer(answers),
            )
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
        must(
            library().geodomain_blocks_covered(
                self.handle,
                pointer(weights),
                pointer(lows),
                pointer(highs),
                ctypes.c_int64(len(out)),
                ctypes.c_int32(lines),
                ctypes.c_double(single),
                threads,
                pointer(out),
                pointer(answers),
            )
        )
        return answers

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[NDArray[np.int32], Floats, NDArray[np.int8]]:
        """Return what vertical lines through each block cross; see `BlockIndex`."""
        counts = np.empty((len(lows) * lines * lines, 4), np.int32)
        total, found = ctypes.c_int64(), ctypes.c_void_p()
        must(
            library().geodomain_blocks_lines(
                self.handle,
                pointer(lows),
                pointer(highs),
                ctypes.c_int64(len(lows)),
                ctypes.c_int32(lines),
                ctypes.c_int32(below),
                threads,
                pointer(counts),
                ctypes.byref(total),
                ctypes.byref(found),
            )
        )
        heights, signs = np.empty(total.value), np.empty(total.value, np.int8)
        library().geodomain_lines_take(found, pointer(heights), pointer(signs))
        return counts, heights, signs
