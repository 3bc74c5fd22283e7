"""Compute common volumes of bodies in blocks, and footprint ends, in the compiled core."""

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
    """Return the share of each block that lies in every body of each set of bodies.

    Runs on the CPU; the bits do not depend on the number of threads.

    Parameters
    ----------
    bodies : sequence of (BlockIndex, (t,) int8)
        The k bodies: the index and the triangle weights of each.
    lows, highs : (n, 3) float64
        Corners of the blocks.
    threads : int

    Returns
    -------
    (n, 2**k) float64
        Shares by set, numbered by its bits. Sets of fewer than two bodies get 0.
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
    """Return the positions of ``lines`` times ``lines`` vertical lines in a block's plan.

    They are evenly spaced along both sides; no two share an x or a y.

    Returns
    -------
    (lines * lines, 2) float64
        Fractions of the sides, in the order of `BlockIndex.cuts`.
    """
    places = np.empty((lines * lines, 2))
    core().line_places(lines, places)
    return places


class EdgeReach(IntEnum):
    """How much of an edge ends a footprint; as in kernels/volume/footprint_end.h."""

    NOWHERE = 0
    ALL_ALONG = 1
    IN_PARTS = 2


class FootprintEnd:
    """The end of a surface's footprint in plan, along its rim and folds, (m, 2, 3).

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
        """Free the core's memory."""
        if getattr(self, "_handle", None):
            core().footprint_free(self._handle)

    def is_in(self, lows: Floats, highs: Floats, threads: int) -> NDArray[np.bool_]:
        """Return whether the footprint ends within the plan of each block, (n,)."""
        lows, highs = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        ends_inside = np.empty(len(lows), np.bool_)
        core().footprint_ends(
            self._handle,
            lows,
            highs,
            len(lows),
            threads,
            ends_inside,
        )
        return ends_inside
