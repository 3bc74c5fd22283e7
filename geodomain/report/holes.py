"""Drillholes for the view: each a line through points along it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.drillholes.drillholes import Drillholes
from geodomain.report.packing import Pack

# Points along a hole, at most, and so many to the length of the longest.
_MOST = 64


def packed_holes(holes: Drillholes, origin: NDArray[np.float64], pack: Pack) -> dict[str, object]:
    """Return drillholes as plain values and arrays in a pack.

    Parameters
    ----------
    holes : Drillholes
    origin : (3,) float64
        What coordinates are taken from.
    pack : Pack
        Takes the arrays.

    Returns
    -------
    dict
        ``names``, ``points`` (x, y, z in turn), and ``lengths``, of how many points each is.
    """
    longest = float(holes.ends.max(initial=1.0)) or 1.0
    lines = [
        holes.positions(name, np.linspace(0.0, end, max(2, int(np.ceil(_MOST * end / longest)))))
        for name, end in zip(holes.names, holes.ends.tolist(), strict=True)
    ]
    points = np.concatenate([np.empty((0, 3)), *lines]) - origin
    return {
        "names": list(holes.names),
        "points": pack.add(points.astype(np.float32)),
        "lengths": pack.add(np.array([len(line) for line in lines], np.uint32)),
    }
