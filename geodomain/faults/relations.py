"""How the closed pieces of one mesh lie to each other: apart, nested, touching, overlapping, equal.

Exact: every answer is that of the coordinates as they stand. What could not be told in
reasonable time is listed as untold, never guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import meshcheck
from geodomain.backends.pieces import Pieces, Seen
from geodomain.locator import PointLocator
from geodomain.mesh import Mesh
from geodomain.topology import mark_warned

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

# Of one pair of pieces so many pairs of triangles are compared: ten seconds.
_LIMIT = 64_000_000
_FEWEST = 1_000
# What settle() says of a pair besides 1, -1 (the second, or the first, is inside) and 0.
_UNTOLD = 2
_WIDE = ~int(Seen.TOUCH | Seen.TOO_MANY)
_SHARED = Seen.FIRST_IN | Seen.SECOND_IN | Seen.SAME
_FIRST_ALONE = Seen.FIRST_OUT | Seen.SECOND_IN | Seen.BACK
_SECOND_ALONE = Seen.SECOND_OUT | Seen.FIRST_IN | Seen.BACK


@dataclass(frozen=True, eq=False)
class Relations:
    """Hold how the pieces of a mesh lie to each other; pieces are numbered from 0.

    Pieces hang together by edges. Where more than two triangles meet at an edge, those two hang
    together that bound the same wedge of solid: bodies that share an edge, a wall, or every
    triangle, are still several pieces.

    Attributes
    ----------
    pieces : int
        How many there are.
    closed, balanced, plain : bool
        Whether every edge has an even number of triangles; as many each way; at most two.
    boxes : (pieces, 2, 3) float64
        Of each piece.
    outward : (pieces,) int8
        1 where it faces outwards, -1 inwards, 0 where it encloses no volume of a sign; all 0
        where no two pieces are compared.
    nested : (n, 2) int64
        Pairs in which the second lies inside the first, whose walls it may touch.
    touching : (n, 2) int64
        Pairs that share points of their surfaces and nothing of their insides.
    overlapping : (n, 2) int64
        Pairs that share some of their insides, each having some to itself.
    equal : (n, 2) int64
        Pairs that enclose the same space.
    untold : (n, 2) int64
        Pairs whose boxes meet and whose relation was not found out.

    Pieces that lie back upon themselves, face on face, enclose nothing and are in no pair.
    """

    pieces: int
    closed: bool
    balanced: bool
    plain: bool
    boxes: Floats
    outward: NDArray[np.int8]
    nested: Ints
    touching: Ints
    overlapping: Ints
    equal: Ints
    untold: Ints


def relate(mesh: Mesh, *, limit: int = _LIMIT, total: int | None = None) -> Relations:
    """Find the pieces of a mesh and how they lie to each other.

    Parameters
    ----------
    mesh : Mesh
        Of one that is not closed the pieces are counted and nothing else.
    limit : int
        How many pairs of triangles of one pair of pieces may be compared.
    total : int, optional
        How many of all pairs together. Where that leaves less than a thousand to each, none is
        compared: all that are found until then are untold.

    Returns
    -------
    Relations
        Which piece is which depends on the order of the triangles; nothing else does.

    Examples
    --------
    >>> from geodomain import Mesh
    >>> faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    >>> corners = [[0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]]
    >>> inner = [[1, 1, 1], [3, 1, 1], [1, 3, 1], [1, 1, 3]]
    >>> two = Mesh(corners + inner, faces + [[i + 4 for i in face] for face in faces])
    >>> relate(two).nested.tolist()
    [[0, 1]]
    """
    merged = meshcheck.merge_equal(mesh.vertices)
    found = Pieces(mesh.vertices, np.ascontiguousarray(merged[mesh.triangles]))
    piece, boxes = found.read()
    outward = np.zeros(found.count, np.int8)
    pairs = dict.fromkeys(_KINDS, np.zeros((0, 2), np.int64))
    most = total // _FEWEST if total else None
    near = found.near(most) if found.closed else np.zeros((0, 2), np.int32)
    if most and len(near) > most:
        pairs["untold"] = near.astype(np.int64)
    elif len(near):
        shells = _Shells(mesh, merged, piece, found.count)
        outward = shells.outward()
        near = near[~shells.folded(np.flatnonzero(outward == 0))[near].any(axis=1)]
        each = min(limit, total // max(len(near), 1)) if total else limit
        pairs = _sort_out(shells, boxes, near, found.relate(near, outward, each))
    return Relations(
        found.count,
        found.closed,
        found.balanced,
        found.plain,
        boxes,
        outward,
        **pairs,
    )


_KINDS = ("nested", "touching", "overlapping", "equal", "untold")


def _sort_out(
    shells: _Shells, boxes: Floats, near: NDArray[np.int32], seen: NDArray[np.int32]
) -> dict[str, Ints]:
    """Put each pair where it belongs, given what was seen where its pieces meet."""
    shared, first_alone, second_alone, wide = (
        (seen & int(bits)) != 0 for bits in (_SHARED, _FIRST_ALONE, _SECOND_ALONE, _WIDE)
    )
    overlapping = (seen & int(Seen.CROSS)) != 0
    untold = ~overlapping & ((seen & int(Seen.UNTOLD | Seen.TOO_MANY)) != 0)
    told = ~overlapping & ~untold & wide
    loose = ~overlapping & ~untold & ~wide
    nested, untold_loose, touching_loose = shells.settle(
        boxes, near[loose], (seen[loose] & int(Seen.TOUCH)) != 0
    )
    found = {
        "nested": (
            near[told & shared & first_alone],
            near[told & shared & second_alone][:, ::-1],
            nested,
        ),
        "touching": (near[told & ~shared], touching_loose),
        "overlapping": (near[overlapping],),
        "equal": (near[told & shared & ~first_alone & ~second_alone],),
        "untold": (near[untold], untold_loose),
    }
    return {kind: _sorted_rows(np.concatenate(parts)) for kind, parts in found.items()}


def _sorted_rows(pairs: NDArray[np.int32]) -> Ints:
    """Give pairs in ascending order."""
    return pairs[np.lexsort(pairs.T[::-1])].astype(np.int64)


class _Shells:
    """The triangles of a mesh piece by piece; `places` tells which vertices are equal."""

    def __init__(
        self, mesh: Mesh, places: NDArray[np.int32], piece: NDArray[np.int32], count: int
    ) -> None:
        self.mesh = mesh
        self._places = places
        self.piece = piece
        self.order = np.argsort(piece, kind="stable")
        self.starts = np.searchsorted(piece[self.order], np.arange(count + 1))

    def triangles(self, piece: int) -> NDArray[np.int32]:
        """Give the triangles of one piece."""
        return self.mesh.triangles[self.order[self.starts[piece] : self.starts[piece + 1]]]

    def outward(self) -> NDArray[np.int8]:
        """Give the signs of the signed volumes, exactly; see Relations."""
        count = len(self.starts) - 1
        whole = self.piece >= 0
        owner = self.piece[whole]
        corners = self.mesh.triangles[whole]
        origin = self.mesh.vertices[self.mesh.triangles[self.order[self.starts[:-1]], 0]]
        a, b, c = (self.mesh.vertices[corners[:, k]] - origin[owner] for k in range(3))
        terms, sizes = _determinants(a, b, c)
        volume = np.bincount(owner, terms, minlength=count)
        # Each term is off by less than 16 units of its size, the sum by one for each addend.
        doubt = np.bincount(owner, sizes, minlength=count) * 2.0**-52
        doubt *= 16 + np.bincount(owner, minlength=count)
        signs = np.sign(volume).astype(np.int8)
        for piece in np.flatnonzero(~(np.abs(volume) > doubt)).tolist():
            signs[piece] = self._exact_sign(piece)
        signs[self._unbalanced()] = 0
        return signs

    def _exact_sign(self, piece: int) -> int:
        """Give the sign of the volume of one piece by fractions."""
        total = Fraction(0)
        for corners in self.mesh.vertices[self.triangles(piece)].tolist():
            (a, b, c), (d, e, f), (g, h, i) = (map(Fraction, corner) for corner in corners)
            total += a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
        return (total > 0) - (total < 0)

    def folded(self, pieces: Ints) -> Bools:
        """Tell which of some pieces lie back upon themselves, face on face."""
        found = np.zeros(len(self.starts) - 1, np.bool_)
        for piece in pieces.tolist():
            corners = np.sort(self._places[self.triangles(piece)], axis=1)
            _, copies = np.unique(corners, axis=0, return_counts=True)
            found[piece] = (copies % 2 == 0).all()
        return found

    def _unbalanced(self) -> Ints:
        """Give the pieces in which an edge has not as many uses each way."""
        if self.mesh.is_balanced:
            return np.zeros(0, np.int64)
        from geodomain.faults.edge_table import edge_table

        table = edge_table(self.mesh)
        apart = np.zeros(len(table.vertices), np.bool_)
        apart[table.ends[table.unbalanced].ravel()] = True
        return np.unique(self.piece[(self.piece >= 0) & apart[table.triangles].any(axis=1)])

    def settle(
        self, boxes: Floats, pairs: NDArray[np.int32], touch: Bools
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Tell how pairs lie that meet in points at most: all of one is in the other, or out.

        Returns pairs that are nested, the outer piece first; that are untold; that touch.
        """
        state = np.zeros(len(pairs), np.int8)
        for way in (1, -1):
            outer, inner = pairs[:, ::way].T
            held = _holds(boxes[outer], boxes[inner]).all(axis=1) & (state == 0)
            asked = np.flatnonzero(held)
            asked = asked[np.argsort(outer[asked], kind="stable")]
            for rows in np.split(asked, np.flatnonzero(np.diff(outer[asked])) + 1):
                if len(rows):
                    inside = self._inside(outer[rows[0]], inner[rows], touch[rows])
                    state[rows] = np.where(inside == 1, way, inside)
        nested = np.concatenate([pairs[state == 1], pairs[state == -1][:, ::-1]])
        return nested, pairs[state == _UNTOLD], pairs[(state == 0) & touch]

    def _inside(self, outer: int, inner: NDArray[np.int32], touch: Bools) -> NDArray[np.int8]:
        """Tell which pieces are inside another that they meet in points at most; or _UNTOLD."""
        solid = self._compact(outer)
        mark_warned(solid)
        locator = PointLocator(solid)
        points = self.mesh.vertices[self.mesh.triangles[self.order[self.starts[inner]], 0]]
        for row in np.flatnonzero(touch):
            points[row] = self._free_point(locator, inner[row])
        untold = np.isnan(points[:, 0])
        return np.where(untold, _UNTOLD, locator.contains(points)).astype(np.int8)

    def _free_point(self, locator: PointLocator, piece: int) -> Floats:
        """Give a point of a piece's surface that is not on another's; or NaN."""
        corners = self.mesh.vertices[self.triangles(piece)]
        one, two = corners / 2, corners[:, [1, 2, 0]] / 2
        middles = one + two
        # A middle that rounding has moved off its edge is no point of the surface.
        exact = ((middles - one == two) & (middles - two == one)).all(axis=2)
        points = np.concatenate([corners.reshape(-1, 3), middles[exact]])
        free = np.flatnonzero(~locator.on_surface(points))
        return points[free[0]] if len(free) else np.full(3, np.nan)

    def _compact(self, piece: int) -> Mesh:
        """Give one piece as a mesh of its own."""
        used, triangles = np.unique(self.triangles(piece), return_inverse=True)
        return Mesh(self.mesh.vertices[used], triangles.reshape(-1, 3))


def _holds(outer: Floats, inner: Floats) -> Bools:
    """Tell whether closed boxes hold others, (n, 3), axis by axis."""
    held: Bools = (outer[:, 0] <= inner[:, 0]) & (inner[:, 1] <= outer[:, 1])
    return held


def _determinants(a: Floats, b: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Give the determinants of rows of three vectors, and sums of their terms' sizes."""
    total, size = np.zeros(len(a)), np.zeros(len(a))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        left, right = b[:, j] * c[:, k], b[:, k] * c[:, j]
        total += a[:, i] * (left - right)
        size += np.abs(a[:, i]) * (np.abs(left) + np.abs(right))
    return total, size
