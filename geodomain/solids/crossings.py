"""Tell whether a shell crosses itself or only touches itself, in exact arithmetic.

Two triangles are in contact if they are not in one plane and share a piece of a line. At a
point of this piece, the triangles that meet there are sorted around the line, and the winding
number of each sector between them follows. If there are only two different winding numbers, the
shell touches itself there, or folds over itself within a plane, like a badly triangulated
flat polygon. If there are more, the shell crosses itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from geodomain.compute.data import Floats, Indices, Ints
from geodomain.compute.meshes import crossed_triangles, vertex_fans
from geodomain.compute.native import thread_count
from geodomain.mesh.components import ComponentTriangles, connected_components
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import triangulate

Vector = tuple[Fraction, Fraction, Fraction]
Triangle = tuple[Vector, Vector, Vector]
# Position along the line in which two planes meet, and the point there.
_Place = tuple[Fraction, Vector]
_AT_ONCE = 512  # triangles whose boxes are compared with all others at a time
_MOST_PAIRS = 200_000
# Where on a contact the winding numbers are determined; the first point without ambiguity decides.
_TRIED = (Fraction(1, 2), Fraction(1, 3), Fraction(3, 5), Fraction(2, 7))


def self_crossing(mesh: Mesh, parts: ComponentTriangles) -> tuple[float, ...] | None:
    """Return a point (x, y, z) at which a component crosses itself, or None.

    The point is rounded to float64. After 200,000 pairs of triangles without a crossing, the
    search ends, and the middle of a triangle that may cross another is returned.

    Parameters
    ----------
    mesh : Mesh
        A closed mesh.
    parts : ComponentTriangles
        Its components.
    """
    rows = _crossed(mesh, parts)
    corners = mesh.vertices[mesh.triangles]
    exact = [_exact(each) for each in corners[rows].tolist()]
    pairs = _near_pairs(corners[rows], parts.component[rows].astype(np.int64))
    for number, (i, j) in enumerate(pairs):
        if number == _MOST_PAIRS:
            return tuple(map(float, corners[rows[i]].mean(axis=0)))
        contact = _contact(exact[i], exact[j])
        if contact is None:
            continue
        own = np.flatnonzero(parts.component == parts.component[rows[i]])
        if not _has_two_sides(contact, corners[own]):
            return tuple(map(float, contact.at(_TRIED[0])))
    return None


def _crossed(mesh: Mesh, parts: ComponentTriangles) -> Ints:
    """Return the triangles that cross, or may cross, another triangle of their component."""
    mask = crossed_triangles(
        mesh.vertices,
        mesh.triangles,
        mesh.bounds,
        parts.component,
        vertex_fans(mesh.vertices, mesh.triangles).parted,
        thread_count(None),
    )
    return np.flatnonzero(mask)


def unfolded(mesh: Mesh, parts: ComponentTriangles) -> tuple[Mesh, Floats]:
    """Triangulate flat faces again if their triangles fold over each other in their plane.

    A face is a set of triangles that are connected and exactly in one plane. It is triangulated
    again if its outline is a single loop that visits each corner once. Apart from the folds, the
    surface remains the same set of points.

    Returns
    -------
    Mesh
        The mesh; its vertices keep their numbers.
    (n, 3) float64
        A corner of each face that was triangulated again.
    """
    rows = _crossed(mesh, parts)
    neighbours = _neighbours(mesh) if len(rows) else {}
    dropped = np.zeros(len(mesh.triangles), np.bool_)
    new, places = [], []
    for row in rows.tolist():
        if dropped[row]:
            continue
        face = _face(row, mesh, neighbours)
        ring = _outline(mesh.triangles[face])
        if ring is None or not _folds(mesh, face):
            continue
        cut = triangulate(mesh.vertices, ring, np.array([len(ring)]), flat=False)
        dropped[face] = True
        new.append(cut)
        places.append(mesh.vertices[ring].min(axis=0))
    if not new:
        return mesh, np.empty((0, 3))
    triangles = np.concatenate([mesh.triangles[~dropped], *new])
    return Mesh(mesh.vertices, triangles, name=mesh.name), np.array(places)


def _neighbours(mesh: Mesh) -> dict[tuple[int, int], list[int]]:
    """Return the triangles at each edge, keyed by the numbers of its ends in ascending order."""
    edges: dict[tuple[int, int], list[int]] = {}
    for row, (a, b, c) in enumerate(mesh.triangles.tolist()):
        for p, q in ((a, b), (b, c), (c, a)):
            edges.setdefault((min(p, q), max(p, q)), []).append(row)
    return edges


def _face(row: int, mesh: Mesh, neighbours: dict[tuple[int, int], list[int]]) -> list[int]:
    """Return the triangles that are connected to a triangle and exactly in its plane."""
    first = _exact(mesh.vertices[mesh.triangles[row]].tolist())
    normal = _normal(first)
    face, waiting = {row}, [row]
    while waiting and any(normal):
        a, b, c = mesh.triangles[waiting.pop()].tolist()
        for p, q in ((a, b), (b, c), (c, a)):
            for other in neighbours[min(p, q), max(p, q)]:
                if other in face:
                    continue
                corners = _exact(mesh.vertices[mesh.triangles[other]].tolist())
                if all(_dot(normal, _minus(corner, first[0])) == 0 for corner in corners):
                    face.add(other)
                    waiting.append(other)
    return sorted(face)


def _folds(mesh: Mesh, face: list[int]) -> bool:
    """Return whether some triangles of a flat face are turned over relative to the others."""
    first, *others = (_normal(_exact(mesh.vertices[mesh.triangles[row]].tolist())) for row in face)
    ways = {_dot(first, other) > 0 for other in others if any(other)}
    return False in ways


def _outline(triangles: Indices) -> Ints | None:
    """Return the corners of the only loop around some triangles; None if there are more loops."""
    uses: dict[tuple[int, int], int] = {}
    for a, b, c in triangles.tolist():
        for p, q in ((a, b), (b, c), (c, a)):
            uses[p, q] = uses.get((p, q), 0) + 1
            uses[q, p] = uses.get((q, p), 0) - 1
    after: dict[int, int] = {}
    for (p, q), count in uses.items():
        if count > 1 or (count == 1 and p in after):
            return None
        if count == 1:
            after[p] = q
    if len(after) < 3:
        return None
    ring = [min(after)]
    while (corner := after[ring[-1]]) != ring[0]:
        ring.append(corner)
    return np.array(ring) if len(ring) == len(after) else None


def _exact(corners: list[list[float]]) -> Triangle:
    """Return a triangle in rational numbers."""
    a, b, c = ((Fraction(x), Fraction(y), Fraction(z)) for x, y, z in corners)
    return a, b, c


def _near_pairs(corners: Floats, component: Ints) -> Iterator[tuple[int, int]]:
    """Yield pairs of triangles of one component whose boxes meet, each pair once."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    for begin in range(0, len(corners), _AT_ONCE):
        some = slice(begin, begin + _AT_ONCE)
        meet = (low[some, None] <= high[None]).all(axis=2)
        meet &= (high[some, None] >= low[None]).all(axis=2)
        meet &= component[some, None] == component[None]
        for i, j in np.argwhere(meet).tolist():
            if begin + i < j:
                yield begin + i, j


# Shells that touch themselves or each other along an edge.


def parted_corners(vertices: Floats, triangles: Ints) -> tuple[Ints, Ints]:
    """Separate parts of a mesh that meet only in an edge or a vertex, by copying common corners.

    Where more than two triangles meet at an edge, pairs with the solid between them belong
    together. Corners are joined along the edges of two triangles, and along these pairs.

    Parameters
    ----------
    vertices : (v, 3) float64
        Distinct vertices.
    triangles : (t, 3) int64
        Triangles of three different corners, which use every edge equally often in both directions.

    Returns
    -------
    (c,) int64
        The vertex of each corner; all vertices in order, if no edge has more than two triangles.
    (t, 3) int64
        The triangles as indices of corners.
    """
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    keys = np.minimum(start, end) * len(vertices) + np.maximum(start, end)
    order = np.argsort(keys, kind="stable")
    begin = np.flatnonzero(np.diff(keys[order], prepend=-1))
    uses = np.diff(begin, append=len(keys))
    if (uses == 2).all():
        return np.arange(len(vertices)), triangles
    simple = begin[uses == 2]
    pairs = [np.stack([order[simple], order[simple + 1]], axis=1)]
    for first, count in zip(begin[uses > 2].tolist(), uses[uses > 2].tolist(), strict=True):
        pairs.append(_pairs_around(order[first : first + count], vertices, triangles))
    one, other = np.concatenate(pairs).T
    # The end of one use of an edge is the start of the other use.
    after = np.arange(len(keys)).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    label = connected_components(np.r_[one, after[one]], np.r_[after[other], other], len(keys))
    corner, number = np.unique(label, return_inverse=True)
    return start[corner], number.reshape(-1, 3)


def _pairs_around(uses: Ints, vertices: Floats, triangles: Ints) -> Ints:
    """Return the pairs, (n, 2), of uses of an edge that have the solid between them.

    Parameters
    ----------
    uses : (2 n,) int64
        Uses of the edge: three times the triangle, plus the place of the corner where it starts.
    """
    rows, places = np.divmod(uses, 3)
    exact = [_exact(each) for each in vertices[triangles[rows]].tolist()]
    low = int(min(triangles[rows[0], places[0]], triangles[rows[0], (places[0] + 1) % 3]))
    forward = triangles[rows, places] == low
    ends = [(each[k], each[(k + 1) % 3]) for each, k in zip(exact, places.tolist(), strict=True)]
    along = _minus(ends[0][1], ends[0][0]) if forward[0] else _minus(ends[0][0], ends[0][1])
    inward = [
        _cross(_normal(each), along if ahead else _minus((Fraction(0),) * 3, along))
        for each, ahead in zip(exact, forward.tolist(), strict=True)
    ]
    turned = _cross(along, inward[0])
    # The solid is after a triangle that uses the edge backward, and before one that uses it
    # forward. In one half-plane, forward uses come first, to separate bodies with a common wall.
    around = sorted(
        zip(inward, ~forward, uses.tolist(), strict=True),
        key=lambda each: (_angle(_dot(inward[0], each[0]), _dot(turned, each[0])), each[1]),
    )
    depths = np.cumsum([1 if backward else -1 for _, backward, _ in around])
    first = (int(depths.argmin()) + 1) % len(around)  # no solid contains this place
    pairs, opened = [], list[int]()
    for _, backward, use in around[first:] + around[:first]:
        if backward:
            opened.append(use)
        else:
            pairs.append((opened.pop(), use))
    return np.array(pairs)


# Contacts of triangles.


class _Contact(NamedTuple):
    """A piece of a line that two triangles have in common: its ends, and its direction."""

    start: Vector
    end: Vector
    along: Vector

    def at(self, part: Fraction) -> Vector:
        """Return the point at a part of the way from start to end."""
        x, y, z = (a + (b - a) * part for a, b in zip(self.start, self.end, strict=True))
        return x, y, z


def _contact(first: Triangle, second: Triangle) -> _Contact | None:
    """Return the piece of a line that two triangles share; None if it is only their common edge."""
    if len({*first} & {*second}) >= 2:
        return None
    normal, other_normal = _normal(first), _normal(second)
    heights = [_dot(other_normal, _minus(corner, second[0])) for corner in first]
    other_heights = [_dot(normal, _minus(corner, first[0])) for corner in second]
    if not (any(heights) and any(other_heights)):  # in one plane, or without area
        return None
    along = _cross(normal, other_normal)
    span, other_span = _span(first, heights, along), _span(second, other_heights, along)
    if not (span and other_span):
        return None
    begin, end = max(span[0], other_span[0]), min(span[-1], other_span[-1])
    return _Contact(begin[1], end[1], along) if begin[0] < end[0] else None


def _span(triangle: Triangle, heights: list[Fraction], along: Vector) -> list[_Place]:
    """Return where a triangle's outline meets the plane of height 0, in order along a line."""
    points = [corner for corner, height in zip(triangle, heights, strict=True) if height == 0]
    for k in range(3):
        p, q, at_p, at_q = triangle[k - 1], triangle[k], heights[k - 1], heights[k]
        if at_p * at_q < 0:
            points.append(_Contact(p, q, along).at(at_p / (at_p - at_q)))
    return sorted((_dot(along, point), point) for point in points)


def _has_two_sides(contact: _Contact, corners: Floats) -> bool:
    """Return whether only two winding numbers occur around a contact.

    Also False if this cannot be decided, because other triangles meet all the points that are
    tried.
    """
    for part in _TRIED:
        point = contact.at(part)
        place = np.array([float(value) for value in point])
        slack = 4 * np.spacing(np.abs(place))
        near = (corners.min(axis=1) <= place + slack) & (corners.max(axis=1) >= place - slack)
        jumps = _jumps(point, contact.along, corners[near.all(axis=1)])
        if jumps is not None:
            levels = np.cumsum(jumps)
            return bool(np.ptp(levels) <= 1)
    return False


def _jumps(point: Vector, along: Vector, corners: Floats) -> list[int] | None:
    """Return the changes of the winding number on the way around a line, at one of its points.

    Triangles in the same half-plane count together. Return None if a triangle at the point does
    not end at the line or contain it.
    """
    halves: list[tuple[Vector, int]] = []
    for triangle in map(_exact, corners.tolist()):
        normal = _normal(triangle)
        if not any(normal) or _dot(normal, _minus(point, triangle[0])) != 0:
            continue
        edges = [_minus(triangle[k], triangle[k - 1]) for k in range(3)]
        sides = [
            _dot(normal, _cross(edge, _minus(point, triangle[k - 1])))
            for k, edge in enumerate(edges)
        ]
        if min(sides) < 0:
            continue
        on = [edge for edge, side in zip(edges, sides, strict=True) if side == 0]
        if _dot(normal, along) != 0 or len(on) > 1 or (on and any(_cross(on[0], along))):
            return None
        inward = _cross(normal, on[0] if on else along)
        ways = [inward] if on else [inward, _minus((Fraction(0),) * 3, inward)]
        for way in ways:
            halves.append((way, -1 if _dot(normal, _cross(along, way)) > 0 else 1))
    if not halves:
        return None
    zero = halves[0][0]
    turned = _cross(along, zero)
    by_angle: dict[tuple[int, Fraction], int] = {}
    for way, jump in halves:
        angle = _angle(_dot(zero, way), _dot(turned, way))
        by_angle[angle] = by_angle.get(angle, 0) + jump
    return [by_angle[angle] for angle in sorted(by_angle)]


def _angle(x: Fraction, y: Fraction) -> tuple[int, Fraction]:
    """Return a key that grows with the angle of (x, y), from 0 to a whole turn."""
    if y == 0:
        return (0 if x > 0 else 2), Fraction(0)
    return (1 if y > 0 else 3), -x / y


def _minus(p: Vector, q: Vector) -> Vector:
    return p[0] - q[0], p[1] - q[1], p[2] - q[2]


def _dot(p: Vector, q: Vector) -> Fraction:
    return p[0] * q[0] + p[1] * q[1] + p[2] * q[2]


def _cross(p: Vector, q: Vector) -> Vector:
    return p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]


def _normal(triangle: Triangle) -> Vector:
    a, b, c = triangle
    return _cross(_minus(b, a), _minus(c, a))
