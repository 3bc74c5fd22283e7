"""The weights of triangles of meshes that cross themselves, and beside which they hold.

A patch is a part of the surface that nothing crosses: all along it the same is inside above, and
below. Shells get a weight that is right for their largest patch. Summed over the triangles above
a place, these weights give a number; where it is 1 inside and 0 outside, on either side of a
patch, blocks that only such patches enter have their shares from the weights.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.faults.edge_table import edge_table
from geodomain.mesh.faults.shells import components
from geodomain.mesh.mesh import Mesh
from geodomain.query.locator import Rule

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST = 2000  # patches that are looked at, the largest first; a few milliseconds each at worst
_TRIES = 4  # triangles of a patch


class _Sample(NamedTuple):
    """What is above a place in the inside of a triangle of a patch."""

    shell: int  # of the triangle
    sign: int  # of its projection
    above: tuple[tuple[int, int], ...]  # shells and signs of the triangles crossed above it


def weigh_patches(
    mesh: Mesh, component: NDArray[np.int32], crossed: Bools, rule: Rule
) -> tuple[NDArray[np.int8], Bools]:
    """Return weights, (t,) int8, and the triangles beside which they do not hold, (t,) bool.

    Parameters
    ----------
    mesh : Mesh
        Balanced.
    component : (t,) int32
        The shell of each triangle, each balanced by itself; -1 is none.
    crossed : (t,) bool
        Triangles that cross others, or may.
    rule : {"parity", "winding"}
    """
    patch, order = _patches(mesh, crossed | (component < 0))
    places = _Places(mesh, component)
    samples = {number: places.sample(rows) for number, rows in order}
    weights: dict[int, int] = {}
    for one in samples.values():
        if one is not None and one.shell not in weights:
            weights[one.shell] = _weight(one, rule)
    good = [number for number, one in samples.items() if one and _holds(one, weights, rule)]
    values = np.zeros(int(component.max(initial=-1)) + 2, np.int8)
    values[list(weights)] = list(weights.values())
    doubtful = ~np.isin(patch, good) & (component >= 0)
    return np.ascontiguousarray(values[component]), doubtful


def _patches(mesh: Mesh, apart: Bools) -> tuple[Ints, list[tuple[int, Ints]]]:
    """Return the patch of each triangle, -1 of those apart, and the largest, with their triangles.

    Triangles hang together by edges that two triangles have, and no others.
    """
    corners = edge_table(mesh).triangles
    count = len(corners)
    whole = np.flatnonzero((corners != np.roll(corners, 1, axis=1)).all(axis=1))
    ends = np.sort(np.stack([corners, np.roll(corners, -1, axis=1)], axis=-1)[whole], axis=-1)
    keys = ends[..., 0].ravel() * (int(corners.max(initial=0)) + 1) + ends[..., 1].ravel()
    by_edge = np.argsort(keys, kind="stable")
    owner, key = np.repeat(whole, 3)[by_edge], keys[by_edge]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    pairs = starts[np.diff(starts, append=len(key)) == 2]
    first, second = owner[pairs], owner[pairs + 1]
    linked = ~apart[first] & ~apart[second]
    patch = np.where(apart, -1, components(first[linked], second[linked], count))
    by_patch = np.argsort(patch, kind="stable")
    numbers, begin, sizes = np.unique(patch[by_patch], return_index=True, return_counts=True)
    largest = np.argsort(-sizes, kind="stable")[: _MOST + 1]
    return patch, [
        (int(numbers[i]), by_patch[begin[i] : begin[i] + sizes[i]])
        for i in largest.tolist()
        if numbers[i] >= 0
    ]


class _Places:
    """Places in triangles, and what is above them, exactly."""

    def __init__(self, mesh: Mesh, component: NDArray[np.int32]) -> None:
        self._corners, self._component = mesh.vertices[mesh.triangles], component
        plan = self._corners[..., :2]
        self._lows, self._highs = plan.min(axis=1), plan.max(axis=1)

    def sample(self, rows: Ints) -> _Sample | None:
        """Return what is above one of the broadest triangles; None if that is not clear."""
        a, b, c = (self._corners[rows, k, :2] for k in range(3))
        with np.errstate(over="ignore", invalid="ignore"):
            area = np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0])
        for row in rows[np.argsort(-area, kind="stable")[:_TRIES]].tolist():
            found = self._above(row)
            if found is not None:
                return found
        return None

    def _above(self, row: int) -> _Sample | None:
        x, y = (float(v) for v in self._corners[row, :, :2].sum(axis=0) / 3)
        over = (self._lows <= (x, y)).all(axis=1) & (self._highs >= (x, y)).all(axis=1)
        over &= self._component >= 0
        heights: dict[int, tuple[Fraction, int]] = {}
        for other in np.flatnonzero(over).tolist():
            met = _crossing(self._corners[other].tolist(), Fraction(x), Fraction(y))
            if met is None:
                return None
            if met[1] != 0:
                heights[other] = met
        if row not in heights:
            return None
        height, sign = heights.pop(row)
        if any(level == height for level, _ in heights.values()):
            return None
        above = [
            (int(self._component[other]), turn)
            for other, (level, turn) in heights.items()
            if level > height
        ]
        return _Sample(int(self._component[row]), sign, tuple(above))


def _crossing(corners: list[list[float]], x: Fraction, y: Fraction) -> tuple[Fraction, int] | None:
    """Return the height of a vertical line through a triangle, and the sign of its projection.

    The sign is 0 where the line passes it by; None where it passes through its outline.
    """
    points = [[Fraction(value) for value in corner] for corner in corners]
    sides = []
    for p, q in zip(points, points[1:] + points[:1], strict=True):
        sides.append((p[0] - x) * (q[1] - y) - (p[1] - y) * (q[0] - x))
    if min(sides) < 0 < max(sides):
        return Fraction(0), 0
    if 0 in sides:  # in line with an edge: on it, or all three for a triangle that is a line
        return None
    a, b, c = points
    height = (a[2] * sides[1] + b[2] * sides[2] + c[2] * sides[0]) / sum(sides)
    return height, 1 if sides[0] > 0 else -1


def _inside(signs: list[int], rule: Rule) -> int:
    return len(signs) % 2 if rule == "parity" else int(sum(signs) != 0)


def _weight(one: _Sample, rule: Rule) -> int:
    """Return the weight with which a triangle counts what is below it, less what is above."""
    signs = [sign for _, sign in one.above]
    return one.sign * (_inside([*signs, one.sign], rule) - _inside(signs, rule))


def _holds(one: _Sample, weights: dict[int, int], rule: Rule) -> bool:
    """Tell whether the weights above a place give what is inside, on either side of it."""
    signs = [sign for _, sign in one.above]
    above = sum(weights.get(shell, 0) * sign for shell, sign in one.above)
    below = above + weights[one.shell] * one.sign
    return above == _inside(signs, rule) and below == _inside([*signs, one.sign], rule)
