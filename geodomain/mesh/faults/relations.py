"""How the components of a mesh lie to each other: apart, nested, touching, overlapping, equal.

Exact: every answer is that of the coordinates as they stand. What could not be decided in
reasonable time is listed as undetermined, never guessed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.components import Components, Seen
from geodomain.mesh.faults import shells
from geodomain.mesh.faults.components import Bools, ComponentTriangles, Ints, find_components
from geodomain.mesh.faults.facing import outward_signs
from geodomain.mesh.faults.nesting import Nesting, nest, nesting_tree
from geodomain.mesh.mesh import Mesh

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]

# Boxes of so many pairs to a component may meet before triangles are compared.
_FEW = 16
# Of one pair of components so many pairs of triangles are compared: ten seconds.
_LIMIT = 64_000_000
_FEWEST = 1_000
_WIDE = ~int(Seen.TOUCH | Seen.TOO_MANY)
_SHARED = Seen.FIRST_IN | Seen.SECOND_IN | Seen.SAME
_FIRST_ALONE = Seen.FIRST_OUT | Seen.SECOND_IN | Seen.BACK
_SECOND_ALONE = Seen.SECOND_OUT | Seen.FIRST_IN | Seen.BACK


class Relations(NamedTuple):
    """How the components of a mesh lie to each other; they are numbered from 0.

    A component hangs together by edges. Where more than two triangles meet at an edge, those two
    hang together that bound the same wedge of solid: bodies that share an edge, a wall, or every
    triangle, are still several components.

    Attributes
    ----------
    components : int
        How many there are.
    closed, balanced, plain : bool
        Whether every edge has an even number of triangles; as many each way; at most two.
    boxes : (components, 2, 3) float64
        Of each component.
    outward : (components,) int8
        1 where it faces outwards, -1 inwards, 0 where it encloses no volume of a sign; all 0
        where no two components are compared.
    nested : (n, 2) int64
        Each component that lies inside others, whose walls it may touch: the innermost one around
        it, and itself.
    depth, winding : (components,) int64
        How many components are around each one, and the sum of how they face.
    near : (n, 2) int64
        Pairs whose surfaces may meet.
    touching : (n, 2) int64
        Pairs that share points of their surfaces and nothing of their insides.
    overlapping : (n, 2) int64
        Pairs that share some of their insides, each having some to itself.
    equal : (n, 2) int64
        Pairs that enclose the same space.
    undetermined : (n, 2) int64
        Pairs whose boxes meet and whose relation was not found out.

    Components that lie back upon themselves, face on face, enclose nothing and are in no pair.
    """

    components: int
    closed: bool
    balanced: bool
    plain: bool
    boxes: Floats
    outward: NDArray[np.int8]
    nested: Ints
    depth: Ints
    winding: Ints
    near: Ints
    touching: Ints
    overlapping: Ints
    equal: Ints
    undetermined: Ints


def relate(mesh: Mesh, *, limit: int = _LIMIT, total: int | None = None) -> Relations:
    """Find the components of a mesh and how they lie to each other.

    Parameters
    ----------
    mesh : Mesh
        For an open mesh, only the components are counted.
    limit : int
        How many pairs of triangles of one pair of components may be compared.
    total : int, optional
        How many of all pairs together. Where that leaves less than a thousand to each, none is
        compared: all that are found until then are undetermined.

    Returns
    -------
    Relations
        Which component is which depends on the order of the triangles; nothing else does.

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
    found, parts = find_components(mesh)
    outward = np.zeros(found.count, np.int8)
    pairs = dict.fromkeys(_KINDS, np.zeros((0, 2), np.int64))
    none = np.zeros(found.count, np.int64)
    tree = Nesting(none - 1, none, none)
    near, all_near = _near(found) if found.closed else (np.zeros((0, 2), np.int32), True)
    most = total // _FEWEST if total else None
    if most and len(near) > most:
        pairs["undetermined"] = near[: most + 1].astype(np.int64)
    elif len(near) or not all_near:
        outward = outward_signs(parts)
        folded = parts.folded(np.flatnonzero(outward == 0))
        near = near[~folded[near].any(axis=1)]
        each = min(limit, total // max(len(near), 1)) if total else limit
        cluster, count = _clusters(near, folded)
        within = near if all_near else found.near(cluster=cluster)
        seen = np.zeros(len(within), np.int32)
        first, second = within.T.astype(np.int64) * [[found.count], [1]]
        low, high = near.T.astype(np.int64) * [[found.count], [1]]
        seen[np.searchsorted(first + second, low + high)] = found.relate(near, outward, each)
        pairs = _sort_out(found, parts, within, seen)
        tree = nesting_tree(found, outward, pairs["nested"], cluster, 0 if all_near else count)
        inner = np.flatnonzero(tree.around >= 0)
        pairs["nested"] = _sorted_rows(np.stack([tree.around[inner], inner], axis=1))
    return Relations(
        found.count,
        found.closed,
        found.balanced,
        found.plain,
        found.boxes,
        outward,
        depth=tree.depth,
        winding=tree.winding,
        near=near.astype(np.int64),
        **pairs,
    )


def _near(found: Components) -> tuple[Pairs, bool]:
    """Return the pairs whose surfaces may meet, and whether they are all whose boxes do.

    Of shells within shells the boxes of each pair meet: triangles are compared then, which finds
    pairs by the thousand instead of by the million.
    """
    few = _FEW * found.count
    near = found.near(few)
    return (near, True) if len(near) <= few else (found.contacts(), False)


def _clusters(near: Pairs, folded: Bools) -> tuple[Pairs, int]:
    """Return the cluster of each component, -1 for folded ones, and how many clusters there are."""
    root = shells.components(near[:, 0].astype(np.int64), near[:, 1].astype(np.int64), len(folded))
    cluster = np.full(len(folded), -1, np.int32)
    kept = np.flatnonzero(~folded)
    names, cluster[kept] = np.unique(root[kept], return_inverse=True)
    return cluster, len(names)


_KINDS = ("nested", "touching", "overlapping", "equal", "undetermined")


def _sort_out(
    components: Components, parts: ComponentTriangles, near: Pairs, seen: Pairs
) -> dict[str, Ints]:
    """Put each pair where it belongs, given what was seen where its components meet."""
    shared, first_alone, second_alone, wide = (
        (seen & int(bits)) != 0 for bits in (_SHARED, _FIRST_ALONE, _SECOND_ALONE, _WIDE)
    )
    overlapping = (seen & int(Seen.CROSS)) != 0
    undetermined = ~overlapping & ((seen & int(Seen.UNDETERMINED | Seen.TOO_MANY)) != 0)
    told = ~overlapping & ~undetermined & wide
    loose = ~overlapping & ~undetermined & ~wide
    nested, undetermined_loose, touching_loose = nest(
        components, parts, near[loose], (seen[loose] & int(Seen.TOUCH)) != 0
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
        "undetermined": (near[undetermined], undetermined_loose),
    }
    return {kind: _sorted_rows(np.concatenate(parts)) for kind, parts in found.items()}


def _sorted_rows(pairs: NDArray[np.integer]) -> Ints:
    """Return pairs in ascending order."""
    return pairs[np.lexsort(pairs.T[::-1])].astype(np.int64)
