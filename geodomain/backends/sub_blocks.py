"""The compiled parts of sub-blocking, through ctypes: boundaries, and the joining of boxes."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.data import Floats, Indices
from geodomain.backends.native import core

Rows = NDArray[np.int64]


class BoundaryIndex:
    """One mesh's triangles, ready to be asked which blocks they enter and where they cut them.

    Vertices are (v, 3) float64 and triangles (t, 3) int32, both contiguous.
    """

    def __init__(self, vertices: Floats, triangles: Indices) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        core().boundary_create(
            vertices,
            triangles,
            len(triangles),
            self.handle,
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            core().boundary_free(self.handle)

    def mark_entered(
        self, lows: Floats, highs: Floats, entered: NDArray[np.bool_], threads: int
    ) -> None:
        """Mark the blocks, (n, 3) corners, inside of which a triangle has a point."""
        core().boundary_enters(
            self.handle,
            lows,
            highs,
            len(lows),
            threads,
            entered,
        )

    def seams(self, lows: Floats, highs: Floats, threads: int) -> tuple[Rows, Floats]:
        """Return how many cuts each block has, (n,), and all their heights, block by block."""
        counts = np.zeros(len(lows), np.int64)
        found = ctypes.POINTER(ctypes.c_double)()
        core().boundary_seams(self.handle, lows, highs, len(lows), threads, counts, found)
        try:
            total = int(counts.sum())
            heights = np.ctypeslib.as_array(found, (total,)).copy() if total else np.empty(0)
        finally:
            core().heights_free(ctypes.cast(found, ctypes.c_void_p))
        return counts, heights


def join_boxes(
    starts: Rows, lows: Rows, highs: Rows, keys: Indices, threads: int
) -> tuple[Indices, Indices, Rows]:
    """Join the boxes of each parent that share a face and a key.

    Parameters
    ----------
    starts : (p + 1,) int64
        Where the boxes of each parent begin and end.
    lows, highs : (n, 3) int64
        Faces, as places in a list of fewer than 2^31.
    keys : (n,) int32
        Boxes of different keys are kept apart.

    Returns
    -------
    lows, highs : (n, 3) int32
        Those of joined boxes in their first rows; those of other rows mean nothing.
    owner : (n,) int64
        The first row of the box that each has become part of.
    """
    boxes = np.concatenate([lows, highs], axis=1, dtype=np.int32)
    owner = np.empty(len(boxes), np.int64)
    core().join_boxes(
        np.ascontiguousarray(starts, np.int64),
        len(starts) - 1,
        boxes,
        np.ascontiguousarray(keys, np.int32),
        threads,
        owner,
    )
    return boxes[:, :3], boxes[:, 3:], owner
