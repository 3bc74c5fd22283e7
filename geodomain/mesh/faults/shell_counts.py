"""Counts and places of shells that lie inside, beside and across others."""

from __future__ import annotations

import numpy as np

from geodomain.mesh.faults.relations import Floats, Relations
from geodomain.mesh.faults.shells import components


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
    around, inner = found.nested.T
    alike = inner[found.outward[inner] == found.outward[around]]
    pairs = {
        "overlapping_shells": found.overlapping,
        "touching_shells": found.touching,
        "equal_shells": found.equal,
        "undetermined_shells": found.undetermined,
    }
    places = {name: _common(found.boxes[of]) for name, of in pairs.items()}
    places |= {"nested_shells": found.boxes[inner], "nested_alike": found.boxes[alike]}
    counts = {name: len(where) for name, where in places.items()}
    return counts | {"components": found.components}, {
        name: _ascending(at) for name, at in places.items()
    }


def cancelling(found: Relations) -> int:
    """Count the spaces that an even number of shells encloses: nothing is inside them."""
    if not len(found.equal):
        return 0
    copies = np.bincount(components(found.equal[:, 0], found.equal[:, 1], found.components))
    return int(((copies > 0) & (copies % 2 == 0)).sum())


def _common(boxes: Floats) -> Floats:
    """Return what two boxes have in common, pair by pair of (n, 2, 2, 3)."""
    return np.stack([boxes[:, :, 0].max(axis=1), boxes[:, :, 1].min(axis=1)], axis=1)


def _ascending(boxes: Floats) -> Floats:
    """Return boxes in the order of their coordinates, whatever the order of triangles."""
    return boxes[np.lexsort(boxes.reshape(-1, 6).T[::-1])]
