"""Volumes that several bodies have in common in blocks: the kernels' loops through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.api import BlockIndex
from geodomain.compute.data import Floats, MeshArrays
from geodomain.compute.native import addresses, core


def common_shares(
    bodies: Sequence[tuple[BlockIndex, NDArray[np.int8]]],
    lows: Floats,
    highs: Floats,
    threads: int,
) -> Floats:
    """Return the share of each block that lies in all bodies of each set of bodies.

    Always on the CPU, with the same bits for any number of threads.

    Parameters
    ----------
    bodies : sequence of (BlockIndex, (t,) int8)
        Indexed triangles, k of them, with the weights of their triangles.
    lows, highs : (n, 3) float64
        Corners of the blocks.
    threads : int

    Returns
    -------
    (n, 2**k) float64
        At the place of a set's bits; only sets of two bodies or more are written, the others are 0.
    """
    lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
    common = np.zeros((len(lows), 1 << len(bodies)))
    handles = [index.host_handle().value for index, _ in bodies]
    core().blocks_common(
        (ctypes.c_void_p * len(bodies))(*handles),
        addresses([weights for _, weights in bodies]),
        len(bodies),
        lows,
        highs,
        len(lows),
        threads,
        common,
    )
    return common


def line_places(lines: int) -> Floats:
    """Return where lines times lines vertical lines are in a block's plan, as parts of its sides.

    Even along either side; no two of them have the same x or the same y.

    Returns
    -------
    (lines * lines, 2) float64
        Between 0 and 1, in the order in which `BlockIndex.cuts` has them.
    """
    places = np.empty((lines * lines, 2))
    core().line_places(lines, places)
    return places


# --- Where the footprint of a surface ends in plan: the kernels' loops through ctypes; no geometry.


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
