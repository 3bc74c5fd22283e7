"""The components of a mesh and what is seen where they meet, through ctypes; no messages."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.native import core
from geodomain.backends.threads import thread_count

Floats = NDArray[np.float64]
Indices = NDArray[np.int32]


class Seen(IntFlag):
    """What is seen where two components meet; `Evidence` in kernels/topology/relate.h."""

    TOUCH = layout.constant("kTouch")
    CROSS = layout.constant("kCross")
    FIRST_IN = layout.constant("kFirstIn")
    FIRST_OUT = layout.constant("kFirstOut")
    SECOND_IN = layout.constant("kSecondIn")
    SECOND_OUT = layout.constant("kSecondOut")
    SAME = layout.constant("kSame")
    BACK = layout.constant("kBack")
    UNDETERMINED = layout.constant("kUndetermined")
    TOO_MANY = layout.constant("kTooMany")


class Components:
    """The components of a mesh: triangles that hang together by edges.

    Attributes
    ----------
    count : int
        How many there are.
    closed, balanced, plain : bool
        Whether every edge has an even number of triangles; as many each way; no more than two.
    component : (t,) int32
        That of each triangle, -1 where two corners are equal.
    boxes : (count, 2, 3) float64
    """

    def __init__(self, vertices: Floats, triangles: Indices) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        count, flags = ctypes.c_int64(), (ctypes.c_int32 * 3)()
        core().components_create(
            vertices,
            len(vertices),
            triangles,
            len(triangles),
            count,
            flags,
            self.handle,
        )
        self.count = count.value
        self.closed, self.balanced, self.plain = map(bool, flags)
        self.component = np.empty(len(triangles), np.int32)
        self.boxes = np.empty((self.count, 2, 3))
        core().components_read(self.handle, self.component, self.boxes)

    def __del__(self) -> None:
        """Free the memory."""
        if getattr(self, "handle", None):
            core().components_free(self.handle)

    def near(self, most: int | None = None, cluster: Indices | None = None) -> Indices:
        """Return the pairs of components whose closed boxes meet, (p, 2), ascending.

        Of more than ``most`` it returns so many, and one, as they are found. ``cluster`` numbers
        clusters: then pairs of one cluster alone, and none of components with -1.
        """
        if cluster is None:
            cluster = np.zeros(self.count, np.int32)
        count = int(cluster.max(initial=-1)) + 1
        return _pairs(
            lambda *into: core().components_near(self.handle, cluster, count, most or 2**62, *into)
        )

    def contacts(self, most: int | None = None) -> Indices:
        """Return the pairs of components with triangles whose closed boxes meet, as `near`."""
        return _pairs(lambda *into: core().components_contacts(self.handle, most or 2**62, *into))

    def above(self, cluster: Indices, count: int) -> tuple[Indices, Indices]:
        """Return the component next above the highest vertex of each cluster, and whose it is.

        ``cluster`` numbers the clusters of components, -1 for components to pass over; the boxes
        of triangles of two clusters must not meet. The first answer is -1 where nothing is above.
        """
        above, highest = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        core().components_above(self.handle, cluster, count, thread_count(None), above, highest)
        return above, highest

    def inside(self, pairs: Indices) -> NDArray[np.bool_]:
        """Return of which pairs, sorted by their first component, the second is in the first.

        The second must have no point on the surface of the first.
        """
        inside = np.empty(len(pairs), np.uint8)
        core().components_inside(self.handle, pairs, len(pairs), thread_count(None), inside)
        return inside.astype(np.bool_)

    def relate(self, pairs: Indices, outward: NDArray[np.int8], limit: int) -> Indices:
        """Return what is seen of each pair, as bits of `Seen`.

        ``outward`` is 1 for components that face outwards, -1 inwards, 0 neither; of one pair no
        more than ``limit`` pairs of triangles are compared.
        """
        seen = np.empty(len(pairs), np.int32)
        core().components_relate(
            self.handle,
            pairs,
            len(pairs),
            outward,
            limit,
            thread_count(None),
            seen,
        )
        return seen


def _pairs(find: Callable[..., object]) -> Indices:
    """Return the pairs of a function that counts them first."""
    count = ctypes.c_int64()
    find(None, count)
    pairs = np.empty((count.value, 2), np.int32)
    find(pairs, count)
    return pairs
