"""Holes as named curves with an end: what is asked where they go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import Floats
from geodomain.drillholes.curves import Curves


@dataclass(frozen=True, eq=False)
class HolePaths:
    """Holes as curves.

    Attributes
    ----------
    names : tuple of str
    collars : (h, 3) float64
        Where they begin.
    ends : (h,) float64
        How deep they are, along the hole.
    curves : Curves
    """

    names: tuple[str, ...]
    collars: Floats
    ends: Floats
    curves: Curves

    def __len__(self) -> int:
        """Count the holes."""
        return len(self.names)

    def points_at(self, rows: NDArray[np.intp], depths: Floats) -> Floats:
        """Return points (n, 3) by places of holes; below its end a hole goes on straight."""
        return self.curves.at(self.curves.find(rows, depths), depths)
