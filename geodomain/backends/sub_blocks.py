"""The compiled parts of sub-blocking, through ctypes: boundaries, and the joining of boxes."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.data import Floats, Indices
from geodomain.backends.native import library, must, pointer

Rows = NDArray[np.int64]


class BoundaryIndex:
    """One mesh's triangles, ready to be asked which blocks they enter and where they cut them.

    Vertices are (v, 3) float64 and triangles (t, 3) int32, both contiguous.
    """

    def __init__(self, vertices: Floats, triangles: Indices) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        must(
            library().geodomain_boundary_create(
                pointer(vertices),
                pointer(triangles),
                ctypes.c_int64(len(triangles)),
                ctypes.byref(self.handle),
            )
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            library().geodomain_boundary_free(self.handle)

    def mark_entered(
        self, lows: Floats, highs: Floats, entered: NDArray[np.bool_], threads: int
    ) -> None:
        """Mark the blocks, (n, 3) corners, inside of which a triangle has a point."""
        must(
            library().geodomain_boundary_enters(
                self.handle,
                pointer(lows),
                pointer(highs),
                ctypes.c_int64(len(lows)),
                threads,
                pointer(entered),
            )
        )

    def seams(self, lows: Floats, highs: Floats, threads: int) -> tuple[Rows, Floats]:
        """Return how many cuts each block has, (n,), and all their heights, block by block."""
        counts = np.zeros(len(lows), np.int64)
        found = ctypes.POINTER(ctypes.c_double)()
        core = library()
        must(
            core.geodomain_boundary_seams(
                self.handle,
                pointer(lows),
                pointer(highs),
                ctypes.c_int64(len(lows)),
                threads,
                pointer(counts),
                ctypes.byref(found),
            )
        )
        try:
            total = int(counts.sum())
            heights = np.ctypeslib.as_array(found, (total,)).copy() if total else np.empty(0)
        finally:
            core.geodomain_heights_free(found)
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
    must(
        library().geodomain_join_boxes(
            pointer(np.ascontiguousarray(starts, np.int64)),
            ctypes.c_int64(len(starts) - 1),
            pointer(boxes),
            pointer(np.ascontiguousarray(keys, np.int32)),
            threads,
            pointer(owner),
        )
    )
    return boxes[:, :3], boxes[:, 3:], owner
