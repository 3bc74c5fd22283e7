"""What several bodies have in common in a block, and what convex bodies have, in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from shares import clip

Place = tuple[Fraction, ...]  # x, y, and a height for each body


def keep(polygon: Sequence[Place], values: Sequence[Fraction]) -> list[Place]:
    """Return the part of a convex polygon where a linear value is at least 0."""
    kept: list[Place] = []
    count = len(polygon)
    for i in range(count):
        p, q, here, there = polygon[i], polygon[(i + 1) % count], values[i], values[(i + 1) % count]
        if here >= 0:
            kept.append(p)
        if here * there < 0:
            t = here / (here - there)
            kept.append(tuple(a + t * (b - a) for a, b in zip(p, q, strict=True)))
    return kept if len(kept) > 2 else []


def exact_common(meshes, low, high, signs=None) -> Fraction:
    """Return the share of a block in all of some meshes, of which each winds once, or is a sheet.

    The sum over tuples of triangles, one of each mesh, of the volume under the lowest of them.
    """
    low, high = ([Fraction(float(v)) for v in corner] for corner in (low, high))
    facets = [list(_facets(mesh, low, high)) for mesh in meshes]
    total = Fraction(0)
    for polygon, sign, _, plane in facets[0]:
        heights = [plane(p) for p in polygon]
        total += sign * _under([(*p, h) for p, h in zip(polygon, heights, strict=True)],
                               facets[1:], low[2], high[2])  # fmt: skip
    return total / ((high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]))


def _facets(mesh, low, high):
    corners = mesh.vertices[mesh.triangles]
    near = (corners[..., :2].min(axis=1) < [float(v) for v in high[:2]]).all(axis=1)
    near &= (corners[..., :2].max(axis=1) > [float(v) for v in low[:2]]).all(axis=1)
    for rows in corners[near & (corners[..., 2].max(axis=1) > float(low[2]))].tolist():
        a, b, c = ([Fraction(v) for v in row] for row in rows)
        whole = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if whole == 0:
            continue
        polygon = [tuple(p) for p in ((a, b, c) if whole > 0 else (a, c, b))]
        corners = [(p[0], p[1]) for p in polygon]
        for axis in (0, 1):
            polygon = clip(clip(polygon, axis, low[axis], 1), axis, high[axis], -1)
        if len(polygon) < 3:
            continue

        def plane(p, a=a, b=b, c=c, whole=whole):
            of_b = ((p[0] - a[0]) * (c[1] - a[1]) - (p[1] - a[1]) * (c[0] - a[0])) / whole
            of_c = ((b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])) / whole
            return a[2] + of_b * (b[2] - a[2]) + of_c * (c[2] - a[2])

        sign = 1 if mesh.is_closed is False or whole > 0 else -1
        yield [(p[0], p[1]) for p in polygon], sign, corners, plane


def _under(polygon, facets, floor, roof) -> Fraction:
    """Return the volume under the least height of a polygon and of the other bodies."""
    if not polygon:
        return Fraction(0)
    if not facets:
        return _volume(polygon, floor, roof)
    total = Fraction(0)
    for _, sign, corners, plane in facets[0]:
        part = polygon
        for p, q in zip(corners, [*corners[1:], corners[0]], strict=True):
            values = [(q[0] - p[0]) * (v[1] - p[1]) - (q[1] - p[1]) * (v[0] - p[0]) for v in part]
            part = keep(part, values)
            if not part:
                break
        if not part:
            continue
        other = [plane(p) for p in part]
        gaps = [h - p[2] for p, h in zip(part, other, strict=True)]
        own = keep(part, gaps)
        under = keep(part, [-gap for gap in gaps])
        if all(gap == 0 for gap in gaps):
            under = []
        total += sign * _under(own, facets[1:], floor, roof)
        total += sign * _under([(*p[:2], plane(p)) for p in under], facets[1:], floor, roof)
    return total


def _volume(polygon, floor, roof) -> Fraction:
    above = keep(polygon, [p[2] - floor for p in polygon])
    if not above:
        return Fraction(0)
    within = keep(above, [roof - p[2] for p in above])
    over = keep(above, [p[2] - roof for p in above])
    if all(p[2] == roof for p in within):
        within = []
    return _integral(within, floor) + _integral([(*p[:2], roof) for p in over], floor)


def _integral(polygon, floor) -> Fraction:
    total = Fraction(0)
    for b, c in pairwise(polygon[1:]):
        a = polygon[0]
        area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2
        total += area * ((a[2] + b[2] + c[2]) / 3 - floor)
    return total


def convex_common(one, other) -> Fraction:
    """Return the volume that two convex meshes with outward flat faces have in common.

    By half-spaces: the faces of one are clipped by the planes of the other, and the cut is capped.
    It shares nothing with `exact_common`.
    """
    faces = [[tuple(map(Fraction, p)) for p in rows] for rows in _corners(one)]
    for rows in _corners(other):
        a, b, c = ([Fraction(v) for v in row] for row in rows)
        normal = _cross([y - x for x, y in zip(a, b, strict=True)],
                        [y - x for x, y in zip(a, c, strict=True)])  # fmt: skip
        faces = _halved(faces, a, normal)
        if not faces:
            return Fraction(0)
    middle = [sum(p[k] for face in faces for p in face) / sum(map(len, faces)) for k in range(3)]
    total = Fraction(0)
    for face in faces:
        for b, c in pairwise(face[1:]):
            u, v, w = ([x - m for x, m in zip(p, middle, strict=True)] for p in (face[0], b, c))
            total += sum(x * y for x, y in zip(u, _cross(v, w), strict=True))
    return total / 6


def _corners(mesh):
    return mesh.vertices[mesh.triangles].tolist()


def _cross(u, v):
    return [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]


def _halved(faces, place, normal):
    """Return the faces of a convex body's part behind a plane, with the cut, outwards."""
    found, ends = [], {}
    for face in faces:
        depth = [sum((m - x) * n for x, m, n in zip(p, place, normal, strict=True)) for p in face]
        if all(d == 0 for d in depth):
            return faces if _behind(faces, place, normal) else []
        kept = keep(face, depth)
        if not kept:
            continue
        found.append(kept)
        for p, q in zip(kept, [*kept[1:], kept[0]], strict=True):
            level = all(sum((m - x) * n for x, m, n in zip(v, place, normal, strict=True)) == 0
                        for v in (p, q))  # fmt: skip
            if level and p != q:
                ends[q] = p
    if len(ends) > 2:
        start = next(iter(ends))
        cap = [start]
        while ends[cap[-1]] != start:
            cap.append(ends[cap[-1]])
        found.append(cap)
    return found


def _behind(faces, place, normal) -> bool:
    return all(
        sum((m - x) * n for x, m, n in zip(p, place, normal, strict=True)) >= 0
        for face in faces
        for p in face
    )


def slab(at, along, up, across) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners and triangles of a box with these edges, which face outwards."""
    at, along, up, across = (np.asarray(v, float) for v in (at, along, up, across))
    corners = np.array(
        [at + i * along + j * up + k * across for k in (0, 1) for j in (0, 1) for i in (0, 1)]
    )
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    rows = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    if np.linalg.det([along, up, across]) < 0:
        rows = rows[:, ::-1]
    return corners, rows
