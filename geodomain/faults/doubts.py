"""The words for what is doubtful in a mesh that can be labelled with all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.faults.edges import place

# Count, what to say of one, and of more. The worst comes first.
_WORDS = (
    (
        "duplicate_shells",
        "a closed shell that is there twice",
        "{} closed shells that are there twice",
        "they cancel, so that NOTHING IS INSIDE by parity; remove one copy",
    ),
    (
        "overlapping_shells",
        "a pair of shells that overlap",
        "{} pairs of shells that overlap",
        "by parity what both enclose is NOT INSIDE, by rule 'winding' it is",
    ),
    (
        "unbalanced_edges",
        "a mis-oriented edge",
        "{} mis-oriented edges",
        "their triangles face opposite ways: parity does not mind, rule 'winding' does",
    ),
    (
        "nested_alike",
        "a shell inside another that faces the same way",
        "{} shells inside others that face the same way",
        "by parity they are voids, by rule 'winding' solid",
    ),
    (
        "inside_out",
        "a shell that faces inwards and is no void",
        "{} shells that face inwards and are no voids",
        "labels do not mind, signed volumes do",
    ),
    (
        "untold_shells",
        "a pair of shells of which it is not told how they lie",
        "{} pairs of shells of which it is not told how they lie",
        "they meet in triangles without area or that do not face alike, or in too many",
    ),
    (
        "voids",
        "a shell inside another",
        "{} shells inside others",
        "what is in such a void is not inside, and in a shell within it is again",
    ),
    (
        "equal_shells",
        "a pair of shells that enclose the same space",
        "{} pairs of shells that enclose the same space",
        "two cancel by parity",
    ),
    (
        "touching_shells",
        "a pair of shells that touch",
        "{} pairs of shells that touch",
        "labels are defined all the same: they share no block",
    ),
    (
        "nonmanifold_edges",
        "an edge of more than two triangles",
        "{} edges of more than two triangles",
        "labels by parity are defined all the same",
    ),
    (
        "dup_faces",
        "a triangle on the corners of another",
        "{} triangles on the corners of others",
        "two on the same corners cancel by parity",
    ),
)
_EDGES = {"unbalanced_edges", "nonmanifold_edges"}


def doubts(name: str, counts: Mapping[str, Any], places: Mapping[str, NDArray[Any]]) -> list[str]:
    """Say what is doubtful about a mesh, a sentence to a doubt, the worst first.

    Parameters
    ----------
    name : str
        What the mesh is called.
    counts, places
        What was counted, and where it is, under the names of MeshReport; what is missing was
        not looked for.

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


def _first(kind: str, where: NDArray[Any] | None) -> str:
    """Say where the first one is, if that is a place."""
    if where is None or not len(where) or where.ndim != 3:
        return ""
    return f", the first {'' if kind in _EDGES else 'in the box '}{place(where[0])}"
