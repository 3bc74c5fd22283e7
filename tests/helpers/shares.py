"""The exact share of a block inside a mesh, by clipping triangles with fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

Corner = tuple[Fraction, Fraction, Fraction]


def clip(polygon: Sequence[Corner], axis: int, value: Fraction, sign: int) -> list[Corner]:
    """Return the part of a convex polygon with sign * (coordinate - value) >= 0."""
    kept = []
    for p, q in zip(polygon, [*polygon[1:], polygon[0]] if polygon else [], strict=True):
        here, there = sign * (p[axis] - value), sign * (q[axis] - value)
        if here >= 0:
            kept.append(p)
        if here * there < 0:
            t = here / (here - there)
            x, y, z = (a + t * (b - a) for a, b in zip(p, q, strict=True))
            kept.append((x, y, z))
    return kept


def integrate(polygon: Sequence[Corner], level: Fraction) -> tuple[Fraction, Fraction]:
    """Return the projected area, signed, and the integral of the height above a level."""
    area = volume = Fraction(0)
    for b, c in pairwise(polygon[1:]):
        a = polygon[0]
        part = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2
        area += part
        volume += part * ((a[2] + b[2] + c[2]) / 3 - level)
    return area, volume


def exact_share(mesh, low, high, weights=None) -> Fraction:
    """Return the integral of the winding number over a block, by its volume."""
    low, high = ([Fraction(float(v)) for v in corner] for corner in (low, high))
    corners = mesh.vertices[mesh.triangles]
    near = (corners[..., :2].min(axis=1) < [float(v) for v in high[:2]]).all(axis=1)
    near &= (corners[..., :2].max(axis=1) > [float(v) for v in low[:2]]).all(axis=1)
    near &= corners[..., 2].max(axis=1) > float(low[2])
    total = Fraction(0)
    for index in np.flatnonzero(near):
        polygon: list[Corner] = [tuple(map(Fraction, row)) for row in corners[index].tolist()]
        for axis in (0, 1):
            polygon = clip(clip(polygon, axis, low[axis], 1), axis, high[axis], -1)
        polygon = clip(polygon, 2, low[2], 1)
        within, above = clip(polygon, 2, high[2], -1), clip(polygon, 2, high[2], 1)
        if all(p[2] == high[2] for p in within):  # level with the roof: above it, and only once
            within = []
        weight = 1 if weights is None else int(weights[index])
        total += weight * integrate(within, low[2])[1]
        total += weight * integrate(above, low[2])[0] * (high[2] - low[2])
    return total / ((high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]))


def enters(triangle, low, high) -> bool:
    """Tell whether a triangle has a point strictly inside of a block."""
    low, high = ([Fraction(float(v)) for v in corner] for corner in (low, high))
    polygon: list[Corner] = [tuple(map(Fraction, row)) for row in np.asarray(triangle).tolist()]
    for axis in range(3):
        polygon = clip(clip(polygon, axis, low[axis], 1), axis, high[axis], -1)
    # Their middle is inside where anything is: what is clipped is convex.
    if not polygon:
        return False
    middle = [sum(p[axis] for p in polygon) / len(polygon) for axis in range(3)]
    return all(low[axis] < middle[axis] < high[axis] for axis in range(3))
