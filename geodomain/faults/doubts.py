"""The words for what is doubtful in a mesh that can be labelled with all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geodomain.faults.edges import place

if TYPE_CHECKING:
    from geodomain.faults.report import MeshReport

# Count, what to say of one, and of more. The worst comes first.
_WORDS = (
    (
        "duplicate_shells",
        "a closed shell that is there twice",
        "{} closed shells that are there twice",
        "they cancel, so that NOTHING IS INSIDE by parity; remove one copy",
    ),
    (
        "unbalanced_edges",
        "a mis-oriented edge",
        "{} mis-oriented edges",
        "their triangles face opposite ways: parity does not mind, rule 'winding' does",
    ),
    (
        "inside_out",
        "a shell that faces inwards and is no void",
        "{} shells that face inwards and are no voids",
        "labels do not mind, signed volumes do",
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


def doubts(report: MeshReport) -> list[str]:
    """Say what is doubtful about a mesh, a sentence to a doubt, the worst first.

    Parameters
    ----------
    report : MeshReport
        What was counted.

    Returns
    -------
    list of str
        Empty for a clean mesh.
    """
    counts = {name: getattr(report, name) for name, *_ in _WORDS}
    # Every open edge is mis-oriented too, and said to be open.
    if counts["unbalanced_edges"] == report.boundary_edges:
        counts["unbalanced_edges"] = 0
    return [
        f"{report.name} has {(one if count == 1 else more).format(count)}"
        f"{_first(report, name)}; {meaning}."
        for name, one, more, meaning in _WORDS
        if (count := counts[name])
    ]


def _first(report: MeshReport, name: str) -> str:
    """Say where the first one is, if it is an edge."""
    where = report.places.get(name)
    return f", the first {place(where[0])}" if where is not None and where.ndim == 3 else ""
