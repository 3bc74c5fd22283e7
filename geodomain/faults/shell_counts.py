"""How many shells lie inside, beside and across others, and where; from their relations."""

from __future__ import annotations

import numpy as np

from geodomain.faults.relations import Floats, Ints, Relations
from geodomain.faults.shells import components


def count_shells(found: Relations) -> tuple[dict[str, int], dict[str, Floats]]:
    """Count what a report says of shells.

    Parameters
    ----------
    found : Relations
        Of the mesh.

    Returns
    -------
    counts : dict of str to int
        By the names of the fields of MeshReport.
    places : dict of str to (n, 2, 3) float64
        The lowest and the highest corner of where it is, in ascending order: of a shell
        inside another its own box, of a pair what their boxes have in common.
    """
    inner = np.unique(found.nested[:, 1])
    alike = inner[found.outward[inner] == found.outward[_around(found, inner)]]
    pairs = {
        "overlapping_shells": found.overlapping,
        "touching_shells": found.touching,
        "equal_shells": found.equal,
        "untold_shells": found.untold,
    }
    places = {name: _common(found.boxes[of]) for name, of in pairs.items()}
    places |= {"nested_shells": found.boxes[inner], "nested_alike": found.boxes[alike]}
    counts = {name: len(where) for name, where in places.items()}
    return counts | {"pieces": found.pieces}, {name: _ascending(at) for name, at in places.items()}


def cancelling(found: Relations) -> int:
    """Count the spaces that an even number of shells encloses: nothing is inside them."""
    if not len(found.equal):
        return 0
    copies = np.bincount(components(found.equal[:, 0], found.equal[:, 1], found.pieces))
    return int(((copies > 0) & (copies % 2 == 0)).sum())


def _around(found: Relations, inner: Ints) -> Ints:
    """Give the shell next around each one: of those that hold it, the one that most others hold."""
    depth = np.bincount(found.nested[:, 1], minlength=found.pieces)
    order = np.lexsort([depth[found.nested[:, 0]], found.nested[:, 1]])
    last = np.searchsorted(found.nested[order, 1], inner, side="right") - 1
    around: Ints = found.nested[order[last], 0] if len(inner) else inner
    return around


def _common(boxes: Floats) -> Floats:
    """Give what two boxes have in common, pair by pair of (n, 2, 2, 3)."""
    return np.stack([boxes[:, :, 0].max(axis=1), boxes[:, :, 1].min(axis=1)], axis=1)


def _ascending(boxes: Floats) -> Floats:
    """Give boxes in the order of their coordinates, so that the order of triangles is not in it."""
    return boxes[np.lexsort(boxes.reshape(-1, 6).T[::-1])]
