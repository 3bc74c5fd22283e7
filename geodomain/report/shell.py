"""Which faces of blocks lie on the boundary of their domain; what is within need not be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from geodomain.report.geometry import Geometry

Ints = NDArray[np.int64]
Cells = NDArray[np.int16] | NDArray[np.int32]

# Cells of the finest lattice: three bytes each, or five.
_MOST_CELLS = 1 << 27
# A block of more cells than this is not taken apart.
_MOST_PARTS = 4096
_SLACK = 0.02


def boundary_faces(geometry: Geometry) -> NDArray[np.uint8] | None:
    """Tell the faces of blocks that lie, or part of which lies, on another label or on no block.

    Parameters
    ----------
    geometry : Geometry

    Returns
    -------
    (n,) uint8, or None
        The bits 1, 2, 4, 8, 16, 32 stand for the faces towards low x, high x, low y, high y, low z
        and high z along the blocks' axes. None where the blocks lie on no lattice, or on one of
        too many cells.
    """
    unit = geometry.sizes.min(axis=0)
    counts = geometry.sizes / unit
    parts = np.round(counts).astype(np.int64)
    lows = [_lowest_cells(geometry, axis, float(unit[axis])) for axis in range(3)]
    if any(low is None for low in lows) or (np.abs(counts - parts) > _SLACK).any():
        return None
    # A layer of empty cells all around, so that every cell has six neighbours.
    shape = [
        int((low + parts[geometry.kinds, axis]).max()) + 2
        for axis, low in enumerate(lows)
        if low is not None
    ]
    if np.prod(shape, dtype=np.float64) > _MOST_CELLS or parts.prod(axis=1).max() > _MOST_PARTS:
        return None
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    flat = sum((low + 1) * step for low, step in zip(lows, strides, strict=True) if low is not None)
    assert isinstance(flat, np.ndarray)
    many = int(geometry.codes.max(initial=0)) >= np.iinfo(np.int16).max
    cells: Cells = np.zeros(shape, np.int32) if many else np.zeros(shape, np.int16)
    for rows, steps in _cells_of(geometry, parts, strides):
        cells.reshape(-1)[flat[rows] + steps] = geometry.codes[rows] + 1
    outer = _other_neighbours(cells).reshape(-1)
    found = np.zeros(len(flat), np.uint8)
    for rows, steps in _cells_of(geometry, parts, strides):
        found[rows] |= outer[flat[rows] + steps]
    return found


def _lowest_cells(geometry: Geometry, axis: int, unit: float) -> Ints | None:
    """Return the lowest cell of each block along an axis, or None where they lie on no lattice."""
    centres, places, kinds = geometry.centres[axis], geometry.places[axis], geometry.kinds
    lows = centres[:, None] - geometry.sizes[:, axis] / 2
    there = np.zeros(lows.shape, np.bool_)
    there[places, kinds] = True
    steps = (lows - lows[there].min()) / unit
    cells = np.round(steps)
    if (np.abs(steps - cells)[there] > _SLACK).any():
        return None
    found: Ints = cells.astype(np.int64)[places, kinds]
    return found


def _cells_of(geometry: Geometry, parts: Ints, strides: Ints) -> Iterator[tuple[Ints | slice, int]]:
    """Return the blocks of each size, cell by cell of theirs: rows, steps from the lowest cell."""
    for kind, counts in enumerate(parts.tolist()):
        rows = slice(None) if len(parts) == 1 else np.flatnonzero(geometry.kinds == kind)
        for offset in product(*map(range, counts)):
            yield rows, int(np.dot(offset, strides))


def _other_neighbours(cells: Cells) -> NDArray[np.uint8]:
    """Tell on which of its six sides each cell has a neighbour that holds something else."""
    other = np.zeros(cells.shape, np.uint8)
    for axis in range(3):
        one = tuple(slice(None, -1) if each == axis else slice(None) for each in range(3))
        two = tuple(slice(1, None) if each == axis else slice(None) for each in range(3))
        differs = (cells[one] != cells[two]).astype(np.uint8)
        other[two] |= differs << np.uint8(2 * axis)
        other[one] |= differs << np.uint8(2 * axis + 1)
    return other
