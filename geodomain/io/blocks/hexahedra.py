"""The corners of blocks in VTK's order, from centroids and sizes, and the way back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# In halves of a block's size.
_CORNERS = np.array(
    [[x, y, z] for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))], np.float64
)


def corners_of(centroids: Floats, sizes: Floats, axes: Floats) -> Floats:
    """Give the corners of blocks, (n, 8, 3)."""
    offsets = (_CORNERS * 0.5) * sizes[:, None, :]
    return centroids[:, None, :] + (offsets if (axes == np.eye(3)).all() else offsets @ axes)


def measured(corners: Floats) -> tuple[Floats, Floats]:
    """Give the centres and sizes of (n, 8, 3) corners; the size of what is no box is NaN."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    at_low, at_high = corners == low[:, None], corners == high[:, None]
    # A box has half of its corners at either end of each axis.
    box = ((at_low | at_high).all(axis=1) & (at_low.sum(axis=1) == 4)).all(axis=1)[:, None]
    mean = corners[:, 0].copy()
    for corner in range(1, 8):  # one after another: what a reduction rounds is its own affair
        mean += corners[:, corner]
    return np.where(box, (low + high) / 2, mean / 8), np.where(box, high - low, np.nan)
