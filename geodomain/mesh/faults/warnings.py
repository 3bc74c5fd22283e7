"""Warnings about a mesh that can be used for labelling."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from geodomain.mesh.faults.edges import place

# The count's name, the text for one, the text for several, the meaning. The worst comes first.
_WORDS = (
    (
        "duplicate_shells",
        "a duplicate closed shell",
        "{} duplicate closed shells",
        "the copies cancel: by parity NOTHING IS INSIDE them; remove one copy",
    ),
    (
        "overlapping_shells",
        "a pair of overlapping shells",
        "{} pairs of overlapping shells",
        "the shared space is NOT INSIDE by parity, and inside by rule 'winding'",
    ),
    (
        "unbalanced_edges",
        "a mis-oriented edge",
        "{} mis-oriented edges",
        "their triangles face opposite ways: rule 'parity' works, rule 'winding' does not",
    ),
    (
        "nested_alike",
        "a shell that faces the same way as the shell around it",
        "{} shells that face the same way as the shells around them",
        "they are voids by parity, and solid by rule 'winding'",
    ),
    (
        "inside_out",
        "an inward-facing shell that is not a void",
        "{} inward-facing shells that are not voids",
        "labels are not affected, signed volumes are",
    ),
    (
        "undetermined_shells",
        "a pair of shells whose relationship could not be determined",
        "{} pairs of shells whose relationship could not be determined",
        "they meet in triangles without area, in triangles that face opposite ways, or in too many",
    ),
    (
        "voids",
        "a shell inside another",
        "{} shells inside others",
        "the space in such a void is outside, and a shell within the void is inside again",
    ),
    (
        "equal_shells",
        "a pair of shells that enclose the same space",
        "{} pairs of shells that enclose the same space",
        "by parity the two cancel",
    ),
    (
        "touching_shells",
        "a pair of shells that touch",
        "{} pairs of shells that touch",
        "labels are still well defined: the shells share no block",
    ),
    (
        "nonmanifold_edges",
        "an edge shared by more than two triangles",
        "{} edges shared by more than two triangles",
        "labels by parity are still well defined",
    ),
    (
        "dup_faces",
        "a duplicate triangle",
        "{} duplicate triangles",
        "by parity two triangles with the same corners cancel",
    ),
)
_EDGES = {"unbalanced_edges", "nonmanifold_edges"}


def mesh_warnings(
    name: str, counts: Mapping[str, int], places: Mapping[str, NDArray[np.generic]]
) -> list[str]:
    """List warnings about a mesh, one sentence each, the worst first.

    Parameters
    ----------
    name : str
        Name of the mesh.
    counts, places
        Counts and their places, keyed by the attributes of MeshReport; a missing key means
        that nobody looked for that fault.

    Returns
    -------
    list of str
        Empty for a clean mesh.
    """
    counts = {**counts, "voids": counts.get("nested_shells", 0) - counts.get("nested_alike", 0)}
    # Every open edge is mis-oriented too, and said to be open.
    if counts.get("unbalanced_edges") == counts.get("boundary_edges"):
        counts["unbalanced_edges"] = 0
    if counts.get("duplicate_shells"):
        counts["equal_shells"] = 0
    if "nested_shells" in places:
        alike = places.get("nested_alike", np.empty((0, 2, 3))).tolist()
        voids = [box for box in places["nested_shells"].tolist() if box not in alike]
        places = {**places, "voids": np.array(voids)}
    return [
        f"{name} has {(one if count == 1 else more).format(count)}"
        f"{_first(kind, places.get(kind))}; {meaning}."
        for kind, one, more, meaning in _WORDS
        if (count := counts.get(kind, 0))
    ]


def _first(kind: str, where: NDArray[np.generic] | None) -> str:
    """Say where the first one is, if that is a place."""
    if where is None or not len(where) or where.ndim != 3:
        return ""
    return f", the first {'' if kind in _EDGES else 'in the box '}{place(where[0])}"
