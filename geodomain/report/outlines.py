"""Rectangles merged into fewer, and paths of SVG: all in whole numbers."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def merge_rectangles(rectangles: Ints) -> Ints:
    """Merge rectangles that do not overlap, along rows and then along columns.

    Parameters
    ----------
    rectangles : (n, 4) int64
        Left, right, low, high; those without an area are left out.

    Returns
    -------
    (k, 4) int64
        They cover the same.

    Examples
    --------
    >>> merge_rectangles(np.array([[0, 1, 0, 1], [1, 2, 0, 1], [0, 2, 1, 3]])).tolist()
    [[0, 2, 0, 3]]
    """
    kept = rectangles[(rectangles[:, 0] < rectangles[:, 1]) & (rectangles[:, 2] < rectangles[:, 3])]
    rows = _merge(kept, along=0, across=2)
    return _merge(rows, along=2, across=0)


def _merge(rectangles: Ints, *, along: int, across: int) -> Ints:
    """Join those that have the same extent across and touch along."""
    low, high = rectangles[:, along], rectangles[:, along + 1]
    one, two = rectangles[:, across], rectangles[:, across + 1]
    order = np.lexsort((low, two, one))
    low, high, one, two = low[order], high[order], one[order], two[order]
    starts = np.ones(len(low), np.bool_)
    starts[1:] = (low[1:] != high[:-1]) | (one[1:] != one[:-1]) | (two[1:] != two[:-1])
    first = np.flatnonzero(starts)
    last = np.append(first[1:], len(low)) - 1
    out = np.empty((len(first), 4), np.int64)
    out[:, along], out[:, along + 1] = low[first], high[last[: len(first)]]
    out[:, across], out[:, across + 1] = one[first], two[first]
    return out


def rectangles_path(rectangles: Ints) -> str:
    """Return one path of rectangles, each begun from the corner of the one before."""
    steps = np.diff(rectangles[:, [0, 2]], axis=0, prepend=0).tolist()
    return "M0 0" + "".join(
        f"m{right} {down}h{wide}v{high}h{-wide}z"
        for (right, down), wide, high in zip(
            steps,
            (rectangles[:, 1] - rectangles[:, 0]).tolist(),
            (rectangles[:, 3] - rectangles[:, 2]).tolist(),
            strict=True,
        )
    )


def polygons_path(polygons: Iterable[Ints]) -> str:
    """Return one path of closed polygons, (k, 2) each."""
    return "".join(
        "M" + "L".join(f"{x} {y}" for x, y in polygon.tolist()) + "z" for polygon in polygons
    )


def lines_path(lines: Ints) -> str:
    """Return one path of lines, (k, 2, 2), each begun from the end of the one before."""
    seen = lines[(lines[:, 0] != lines[:, 1]).any(axis=1)].reshape(-1, 4)
    places = np.unique(seen, axis=0).reshape(-1, 2)
    steps = np.diff(places, axis=0, prepend=0).reshape(-1, 4)
    return "M0 0" + "".join(f"m{a} {b}l{c} {d}" for a, b, c, d in steps.tolist())
