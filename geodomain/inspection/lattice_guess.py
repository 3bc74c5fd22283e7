"""The lattice that the blocks of a survey lie on, if any; used for description only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.inspection.survey import MOST_SIZES, Survey

# Blocks whose corners are so near to a whole number of steps are on the lattice.
_SLACK = 0.02


@dataclass(frozen=True)
class LatticeGuess:
    """Cells of one size, in which every block lies.

    Attributes
    ----------
    cells : tuple of int
        How many along x, y and z, empty ones included.
    spacing, origin : tuple of float
        Size of a cell, and the lowest corner of the first: in the model's own frame.
    filled : float
        Which part of all cells has blocks, by volume where sizes are known, otherwise by number.
    """

    cells: tuple[int, ...]
    spacing: tuple[float, ...]
    origin: tuple[float, ...]
    filled: float


def find_lattice(survey: Survey) -> LatticeGuess | None:
    """Describe the lattice of all the blocks, or None where they lie on none.

    Parents of sub-blocks are the largest blocks; without sizes the cells are as large as the
    centroids are apart.
    """
    if survey.rows == survey.missing or len(survey.sizes) > MOST_SIZES:
        return None
    sizes = np.array(list(survey.sizes)) if survey.sized else None
    low, high = survey.local
    spacing, starts = np.empty(3), np.empty(3)
    for axis in range(3):
        values = survey.lows(axis)
        if values is None:
            return None
        least = _step(values) if sizes is None else float(sizes[:, axis].min())
        if not _on_steps(values, least):
            return None
        spacing[axis] = least if sizes is None else float(sizes[:, axis].max())
        starts[axis] = low[axis] - (least / 2 if sizes is None else 0.0)
        if survey.is_turned:  # what turning has rounded is not worth saying
            starts[axis] = round(starts[axis], 6 - math.floor(math.log10(spacing[axis]))) + 0.0
    length = high - low + (spacing if sizes is None else 0.0)
    cells = np.maximum(1, np.ceil(length / spacing - _SLACK)).astype(int)
    whole = float(np.prod(cells, dtype=np.float64))
    there = survey.rows - survey.missing
    filled = there / whole if sizes is None else survey.volume / (whole * float(np.prod(spacing)))
    return LatticeGuess(
        tuple(cells.tolist()), tuple(spacing.tolist()), tuple(starts.tolist()), filled
    )


def _step(values: NDArray[np.float64]) -> float:
    """Return the smallest distance between coordinates, 1 where there is only one."""
    gaps = np.diff(values)
    return float(gaps.min()) if len(gaps) else 1.0


def _on_steps(values: NDArray[np.float64], step: float) -> bool:
    """Return whether coordinates are whole numbers of steps apart."""
    steps = (values - values[0]) / step
    return bool((np.abs(steps - np.round(steps)) < _SLACK).all())


def sub_blocking(survey: Survey) -> str:
    """Return how blocks are divided: regular, octree, sub-blocked, sizes unknown, many sizes."""
    if not survey.sized or not survey.sizes:
        return "sizes unknown"
    if len(survey.sizes) == 1:
        return "regular"
    if len(survey.sizes) > MOST_SIZES:
        return "many sizes"
    sizes = np.array(list(survey.sizes))
    halvings = np.log2(sizes.max(axis=0) / sizes)
    # An octree halves all three sizes at once.
    whole = (np.abs(halvings - np.round(halvings)) < 1e-9).all()
    alike = (np.abs(halvings - halvings[:, :1]) < 1e-9).all()
    return "octree" if whole and alike else "sub-blocked"
