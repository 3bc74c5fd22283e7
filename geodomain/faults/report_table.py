"""A mesh report laid out to be read; nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping

from geodomain.faults.report import MeshReport

# What is said of every mesh, and what only where it is not 0.
_ALWAYS = ("shells", "boundary_edges", "nonmanifold_edges", "unbalanced_edges")
_FAULTS = (
    *("t_junctions", "degenerate", "zero_area", "dup_faces", "duplicate_shells", "inside_out"),
    *("nested_shells", "overlapping_shells", "touching_shells", "untold_shells"),
)
_LABELS = {
    "shells": "shells",
    "boundary_edges": "open edges",
    "nonmanifold_edges": "non-manifold edges",
    "unbalanced_edges": "mis-oriented edges",
    "t_junctions": "T-junction edges",
    "degenerate": "degenerate triangles",
    "zero_area": "triangles without area",
    "dup_faces": "duplicate triangles",
    "duplicate_shells": "duplicate shells",
    "inside_out": "shells inside out",
    "nested_shells": "shells inside others",
    "overlapping_shells": "pairs that overlap",
    "touching_shells": "pairs that touch",
    "untold_shells": "pairs not told",
    "pieces": "pieces",
}


def as_table(report: MeshReport, weld_closes: Mapping[float, bool] | None = None) -> str:
    """Lay a report out as lines to read.

    Parameters
    ----------
    report : MeshReport
        What `check` found.
    weld_closes : mapping of float to bool, optional
        Whether welding at a tolerance closes the mesh, for one that is open.

    Returns
    -------
    str
        Without a newline at the end.
    """
    rows = [*_size(report), *_counts(report), *_welds(weld_closes or {})]
    width = max(len(label) for label, _ in rows)
    verdict = "fit to label with" if report.fit else "NOT FIT to label with"
    lines = [f"{report.name}: {verdict}", *(f"  {label:{width}}  {said}" for label, said in rows)]
    lines += [f"  {text}" for text in (*report.faults(), *report.warnings())]
    return "\n".join(lines)


def _size(report: MeshReport) -> list[tuple[str, str]]:
    """Say how large the mesh is."""
    low, high = report.bounds.tolist()
    box = [f"{a:.10g} to {b:.10g}" for a, b in zip(low, high, strict=True)]
    return [
        ("triangles", f"{report.triangles:,} on {report.vertices:,} vertices"),
        ("bounds", "; ".join(f"{axis} {span}" for axis, span in zip("xyz", box, strict=True))),
        ("resolution", f"{report.resolution:.2g}"),
        ("area", f"{report.area:.7g}"),
        ("signed volume", f"{report.signed_volume:.7g}"),
    ]


def _counts(report: MeshReport) -> list[tuple[str, str]]:
    """Say what was counted."""
    shown = [*_ALWAYS, *(name for name in _FAULTS if getattr(report, name))]
    if report.pieces != report.shells:  # parts by vertices and by edges
        shown.insert(1, "pieces")
    rows = [(_LABELS[name], f"{getattr(report, name):,}") for name in shown]
    if report.smallest_gap is not None:
        rows.append(("smallest gap", f"{report.smallest_gap:.3g}"))
    return rows


def _welds(closes: Mapping[float, bool]) -> list[tuple[str, str]]:
    """Say which welds would close the mesh."""
    return [
        (f"weld at {tolerance:g}", "closes it" if does else "does not close it")
        for tolerance, does in closes.items()
    ]
