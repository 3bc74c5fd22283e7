"""An independent oracle for segments and triangles, in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from shapes import joined, random_body, staircase

from geodomain import Mesh, SegmentIntersector
from geodomain.compute.meshes import crossed_triangles, vertex_fans

MODES = ("boolean", "nearest", "count", "all")

# Smaller than any volume of doubles above 2^-100 that is not 0, and so are its powers.
STEP = Fraction(1, 2**400)
DISPLACEMENT = (STEP**2, STEP**3, STEP)


def exact(point) -> tuple[Fraction, ...]:
    return tuple(Fraction(float(value)) for value in point)


def minus(p, q):
    return tuple(a - b for a, b in zip(p, q, strict=True))


def dot(p, q):
    return sum(a * b for a, b in zip(p, q, strict=True))


def cross(p, q):
    return (p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0])


def crossing(start, end, triangle) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return t, u, v of the undisplaced lines where the displaced segment crosses, or None.

    The plane is solved for, Moller and Trumbore's way; nothing here is a sign of a volume.
    """
    a, b, c = map(exact, triangle)
    moved = [
        tuple(x + d for x, d in zip(exact(p), DISPLACEMENT, strict=True)) for p in (start, end)
    ]
    found = solve(*moved, a, b, c)
    if found is None:
        return None
    t, u, v = found
    if not (0 < t < 1 and u > 0 and v > 0 and u + v < 1):
        return None
    return solve(exact(start), exact(end), a, b, c)


def solve(start, end, a, b, c):
    first, second, along = minus(b, a), minus(c, a), minus(end, start)
    normal = cross(first, second)
    slope = dot(along, normal)
    if slope == 0:
        return None
    t = dot(minus(a, start), normal) / slope
    at = minus(tuple(s + t * d for s, d in zip(start, along, strict=True)), a)
    size = dot(normal, normal)
    return t, dot(cross(at, second), normal) / size, dot(cross(first, at), normal) / size


def crossings(mesh: Mesh, start, end) -> list[tuple[int, Fraction, Fraction, Fraction]]:
    """Return (triangle, t, u, v) of all triangles that the segment crosses."""
    found = []
    for index, corners in enumerate(mesh.vertices[mesh.triangles]):
        hit = crossing(start, end, corners)
        if hit is not None:
            found.append((index, *hit))
    return found


def same(found, expected) -> bool:
    """Tell whether two answers, arrays or hits, are equal to the last bit."""
    if isinstance(expected, np.ndarray):
        return np.array_equal(found, expected)
    columns = ("segment", "triangle", "t", "u", "v", "distance", "point")
    return all(np.array_equal(getattr(found, c), getattr(expected, c)) for c in columns)


def adversarial(mesh: Mesh, count: int, rng: np.random.Generator):
    """Draw segments of which most have something to do with vertices, edges and planes."""
    corners = mesh.vertices[mesh.triangles]
    low, high = mesh.bounds
    span = np.where(high > low, high - low, (high - low).max())

    def free():
        return low + (rng.random(3) * 1.4 - 0.2 - (high == low) / 2) * span

    def special():
        a, b, c = corners[rng.integers(len(corners))][rng.permutation(3)]
        kind = rng.integers(5)
        return (
            a,
            a / 2 + b / 2,
            a / 2 + b / 4 + c / 4,
            b + (b - a),  # on an edge's line, or its triangle's plane
            a + (b - c) / 2,
        )[kind]

    pairs = []
    for _ in range(count):
        kind = rng.integers(6)
        if kind == 0:
            pairs.append((free(), free()))
        elif kind == 1:
            pairs.append((special(), free()))
        elif kind == 2:
            pairs.append((special(), special()))
        elif kind == 3:  # vertical or level through something special
            step = np.zeros(3)
            step[rng.integers(3)] = rng.choice([-1, 1]) * span.max()
            middle = special()
            pairs.append((middle - step, middle + step))
        elif kind == 4:  # through two of them and on
            p, q = special(), special()
            pairs.append((p - (q - p), q + (q - p)))
        else:
            p = special()
            pairs.append((p, p))
    starts, ends = np.array(pairs, dtype=float).reshape(count, 2, 3).transpose(1, 0, 2)
    return starts, ends


# A lattice of 0 to 8 is so small that the displacement can be a number: with STEP = 2^-8 it is
# (2^8, 1, 2^16) in units of 2^-24, and no volume that is not 0 is less than what it adds.
UNIT = 2**24
LATTICE_STEP = np.array([2**8, 1, 2**16])
LARGEST = 8


def lattice_crossings(mesh: Mesh, starts, ends) -> np.ndarray:
    """Return (n, t) bool for integers from 0 to LARGEST: which segment crosses which triangle.

    Moved for real, in 64-bit integers: there is no rule for ties here.
    """
    corners = [np.array(corner, dtype=np.int64) for corner in mesh.vertices[mesh.triangles.T]]
    start = np.asarray(starts, dtype=np.int64)[:, None]
    along = np.asarray(ends, dtype=np.int64)[:, None] - start
    a, b, c = (corner[None] * UNIT - start * UNIT - LATTICE_STEP for corner in corners)
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])[None]
    before = (normal * a).sum(axis=-1)
    after = before - (normal * along).sum(axis=-1) * UNIT
    sides = [np.sign((np.cross(p, q) * along).sum(axis=-1)) for p, q in ((a, b), (b, c), (c, a))]
    same = (sides[0] == sides[1]) & (sides[1] == sides[2]) & (sides[0] != 0)
    return same & (np.sign(before) * np.sign(after) < 0)


def lattice_scene(seed: int, count: int):
    """Return a mesh with corners on the lattice, and segments with their ends on it."""
    rng = np.random.default_rng(seed)
    soup = rng.integers(0, LARGEST + 1, (60, 3, 3)).astype(float)
    body = staircase(random_body((4, 4, 4), seed), spacing=(2.0, 2.0, 2.0))
    mesh = joined(body, Mesh(soup.reshape(-1, 3), np.arange(180).reshape(-1, 3)))
    return mesh, *rng.integers(0, LARGEST + 1, (2, count, 3)).astype(float)


def assert_consistent(intersector: SegmentIntersector, starts, ends) -> None:
    """Check that the modes agree, and that the hits are in order."""
    boolean, nearest, count, every = (
        intersector.intersect((starts, ends), mode=mode) for mode in MODES
    )
    assert np.array_equal(boolean, count > 0)
    assert np.array_equal(nearest.segment, np.flatnonzero(boolean))
    assert np.array_equal(np.diff(every.offsets), count)
    first = every.offsets[:-1][boolean]
    for column in ("segment", "triangle", "t", "u", "v", "distance", "point"):
        assert np.array_equal(getattr(nearest, column), getattr(every, column)[first])
    keys = list(zip(every.segment, every.t, every.triangle, strict=True))
    assert keys == sorted(keys)


def crossed(corners, faces, group, threads=1):
    """Return which triangles cross, which is the same whatever is known about vertices."""
    bounds = np.stack([corners.min(axis=0), corners.max(axis=0)])
    nothing = np.zeros(len(corners), np.uint8)
    parted = vertex_fans(corners, faces).parted
    found, again = (
        crossed_triangles(corners, faces, bounds, group, known, threads)
        for known in (parted, nothing)
    )
    np.testing.assert_array_equal(found, again)
    return found


def kept(points, height):
    """Return the corners of the part of a convex polygon where a linear height is not negative."""
    part = []
    for p, q in zip(points, points[1:] + points[:1], strict=True):
        here, there = height(p), height(q)
        if here >= 0:
            part.append(p)
        if here * there < 0:
            part.append(
                tuple(a + (b - a) * here / (here - there) for a, b in zip(p, q, strict=True))
            )
    return part


def inner_sides(triangle, normal):
    """Return heights above the edges, positive inside, seen along the normal."""
    ends = zip(triangle, triangle[1:] + triangle[:1], strict=True)
    ways = [(p, cross(normal, minus(q, p))) for p, q in ends]
    return [lambda at, p=p, way=way: dot(way, minus(at, p)) for p, way in ways]


def cross_beyond_edges(s, t) -> bool:
    """Tell whether the common part is an area, or a segment that is not on an edge of each."""
    normals = [cross(minus(b, a), minus(c, a)) for a, b, c in (s, t)]
    if not any(normals[0]) or not any(normals[1]):
        return False
    common = kept(
        kept(s, lambda at: dot(normals[1], minus(at, t[0]))),
        lambda at: -dot(normals[1], minus(at, t[0])),
    )
    for side in inner_sides(t, normals[1]):
        common = kept(common, side)
    corners = set(common)
    if len(corners) < 2:
        return False
    middle = tuple(sum(values) / len(corners) for values in zip(*corners, strict=True))
    insides = [
        all(side(middle) > 0 for side in inner_sides(own, normal))
        for own, normal in zip((s, t), normals, strict=True)
    ]
    in_one_plane = not any(cross(*normals))
    return all(insides) if in_one_plane else any(insides)
