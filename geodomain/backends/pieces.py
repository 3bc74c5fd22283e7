"""The compiled pieces of a mesh and what is seen where they meet, through ctypes; no messages."""

from __future__ import annotations

import ctypes
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import library, must, pointer, thread_count

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]


class Seen(IntFlag):
    """What is seen where two pieces meet; `Evidence` in kernels/relate.h."""

    TOUCH = 1
    CROSS = 2
    FIRST_IN = 4
    FIRST_OUT = 8
    SECOND_IN = 16
    SECOND_OUT = 32
    SAME = 64
    BACK = 128
    UNTOLD = 256
    TOO_MANY = 512


class Pieces:
    """Hold the pieces of a mesh: triangles that hang together by edges.

    Attributes
    ----------
    count : int
        How many there are.
    closed, balanced, plain : bool
        Whether every edge has an even number of triangles; as many each way; no more than two.
    """

    def __init__(self, vertices: Floats, triangles: Indices) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        count, flags = ctypes.c_int64(), (ctypes.c_int32 * 3)()
        must(
            library().geodomain_pieces_create(
                pointer(vertices),
                ctypes.c_int64(len(vertices)),
                pointer(triangles),
                ctypes.c_int64(len(triangles)),
                ctypes.byref(count),
                flags,
                ctypes.byref(self.handle),
            )
        )
        self.count = count.value
        self.closed, self.balanced, self.plain = map(bool, flags)

    def __del__(self) -> None:
        """Give the memory back."""
        if getattr(self, "handle", None):
            library().geodomain_pieces_free(self.handle)

    def read(self) -> tuple[Indices, Floats]:
        """Return the piece of each triangle, -1 where two corners are equal, and the boxes."""
        piece = np.empty(len(self._arrays[1]), np.int32)
        boxes = np.empty((self.count, 2, 3))
        library().geodomain_pieces_read(self.handle, pointer(piece), pointer(boxes))
        return piece, boxes

    def near(self, most: int | None = None) -> Indices:
        """Return the pairs of pieces whose closed boxes meet, (p, 2), ascending.

        Of more than ``most`` it returns so many, and one, as they are found.
        """
        near, limit = library().geodomain_pieces_near, ctypes.c_int64(most or 2**62)
        near.restype = ctypes.c_int64
        count = near(self.handle, limit, None)
        must(0 if count >= 0 else 1)
        pairs = np.empty((count, 2), np.int32)
        must(0 if near(self.handle, limit, pointer(pairs)) >= 0 else 1)
        return pairs

    def relate(self, pairs: Indices, outward: NDArray[np.int8], limit: int) -> Indices:
        """Return what is seen of each pair, as bits of `Seen`.

        ``outward`` is 1 for pieces that face outwards, -1 inwards, 0 neither; of one pair no more
        than ``limit`` pairs of triangles are compared.
        """
        seen = np.empty(len(pairs), np.int32)
        must(
            library().geodomain_pieces_relate(
                self.handle,
                pointer(pairs),
                ctypes.c_int64(len(pairs)),
                pointer(outward),
                ctypes.c_int64(limit),
                thread_count(None),
                pointer(seen),
            )
        )
        return seen
