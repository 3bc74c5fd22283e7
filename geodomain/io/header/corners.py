"""Coordinates that are called centroids, and lie where the corners of blocks are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from geodomain.errors import warn
from geodomain.io.header.dialect import number
from geodomain.io.header.families import Triplet, plain_name

_ORIGIN = ("xmorig", "ymorig", "zmorig")
# Exports round; a centroid is half a size away.
_SLACK = 1e-3


def warn_of_corners(
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    xyz: Triplet,
    sizes: Triplet,
    table: str,
) -> None:
    """Warn where blocks' centroids are whole numbers of their sizes from XMORIG, YMORIG, ZMORIG.

    There the corners of blocks are: centroids, of sub-blocks too, are half a size further.

    Warns
    -----
    GeodomainWarning
        If all of the first rows say so, along all three axes.
    """
    plain = [plain_name(name) for name in names]
    if not set(_ORIGIN) <= set(plain):
        return
    wanted = [*xyz, *sizes, *(plain.index(name) for name in _ORIGIN)]
    found = [[number(row[c]) for c in wanted] for row in rows if max(wanted) < len(row)]
    numbers = np.array([row for row in found if None not in row], np.float64).reshape(-1, 3, 3)
    points, extents, origins = numbers.transpose(1, 0, 2)
    if not len(points) or not (extents > 0).all():
        return
    steps = (points - origins) / extents
    if (np.abs(steps - np.round(steps)) < _SLACK).all():
        shown = ", ".join(names[column] for column in xyz)
        warn(
            f"{table}: {shown} are whole numbers of block sizes from XMORIG, YMORIG, ZMORIG, where "
            "the corners of blocks are: if they are the lowest corners, say so with "
            "position='corner'; if not, with position='centroid'"
        )
