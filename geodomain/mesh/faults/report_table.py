"""A mesh report as a text table."""

from __future__ import annotations

from collections.abc import Mapping

from geodomain.errors import counted, in_lines
from geodomain.mesh.faults.report import MeshReport, verdict_of

# What is said of every mesh, and what only where it is not 0.
_ALWAYS = ("shells", "boundary_edges", "nonmanifold_edges", "unbalanced_edges")
_FAULTS = (
    *("t_junctions", "degenerate", "zero_area", "dup_faces", "duplicate_shells", "inside_out"),
    *("nested_shells", "overlapping_shells", "touching_shells", "undetermined_shells"),
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
    "undetermined_shells": "pairs undetermined",
    "components": "components",
}


def as_table(
    report: MeshReport, welds: Mapping[float, str] | None = None, *, kind: str = "solid"
) -> str:
    """Lay a report out as lines to read.

    Parameters
    ----------
    report : MeshReport
        What `check` found.
    welds : mapping of float to str, optional
        What welding at a tolerance does, for a mesh that is open.
    kind : {"solid", "surface"}
        What the mesh is to be used as.

    Returns
    -------
    str
        Without a newline at the end.
    """
    rows = [*_size(report), *_counts(report), *_welds(welds or {})]
    width = max(len(label) for label, _ in rows)
    faults = report.faults(kind)
    verdict = verdict_of(fit=not faults)
    verdict += " as a surface" if kind == "surface" else ""
    lines = [f"{report.name}: {verdict}", *(f"  {label:{width}}  {said}" for label, said in rows)]
    lines += [f"  {text}" for text in dict.fromkeys([*faults, *report.warnings()])]
    return in_lines(lines)


def _size(report: MeshReport) -> list[tuple[str, str]]:
    """Say how large the mesh is."""
    low, high = report.bounds.tolist()
    box = [f"{a:.10g} to {b:.10g}" for a, b in zip(low, high, strict=True)]
    return [
        ("triangles", f"{report.triangles:,} on {counted(report.vertices, 'vertex', 'vertices')}"),
        ("bounds", "; ".join(f"{axis} {span}" for axis, span in zip("xyz", box, strict=True))),
        ("resolution", f"{report.resolution:.2g}"),
        ("area", f"{report.area:.7g}"),
        ("signed volume", f"{report.signed_volume:.7g}"),
    ]


def _counts(report: MeshReport) -> list[tuple[str, str]]:
    """Say what was counted."""
    shown = [*_ALWAYS, *(name for name in _FAULTS if getattr(report, name))]
    if report.components != report.shells:  # parts by vertices and by edges
        shown.insert(1, "components")
    rows = [(_LABELS[name], f"{getattr(report, name):,}") for name in shown]
    if report.smallest_gap is not None:
        rows.append(("smallest gap", f"{report.smallest_gap:.3g}"))
    return rows


def _welds(welds: Mapping[float, str]) -> list[tuple[str, str]]:
    """Say which welds would close the mesh."""
    return [(f"weld at {tolerance:g}", does) for tolerance, does in welds.items()]
