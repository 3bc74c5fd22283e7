"""Volumes that several bodies have in common in blocks: the kernels' loops through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import BlockIndex
from geodomain.backends.data import Floats
from geodomain.backends.native import addresses, core


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
