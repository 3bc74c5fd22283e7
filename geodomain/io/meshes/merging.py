"""Merges vertices whose coordinates are equal as numbers; never vertices that are merely near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import mesh_checks


def merge_equal(vertices: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Merge the rows that are equal number by number.

    Parameters
    ----------
    vertices : ndarray of shape (n, 3)
        Finite coordinates; -0.0 equals 0.0.

    Returns
    -------
    unique : ndarray of shape (m, 3), float64
        The distinct rows in the order in which they first appear; no -0.0.
    index : ndarray of shape (n,), int64
        Where each row went: ``unique[index]`` equals ``vertices``.
    """
    first, group = mesh_checks.group_equal(vertices)
    return vertices[first] + 0.0, group
