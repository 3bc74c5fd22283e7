"""The summary of an intersection of files."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from geodomain.errors import counted
from geodomain.html.table import html_table


@dataclass(frozen=True)
class IntersectionSummary:
    """Report where segments cross a surface; `str` says it in a few lines.

    Attributes
    ----------
    mode : str
        What was asked.
    triangles : int
        Of the surface.
    outputs : tuple of str
        The files that were written; none for stdout.
    segments, crossing, crossings, missing : int
        Segments in all; those that cross; how many crossings were told, one to a segment but in
        modes that count them all; segments without one of their coordinates, which cross nothing.
    backend, backend_reason : str
        Where it was computed, and why there.
    seconds : float
        How long it took, reading and writing included.
    """

    mode: str
    triangles: int
    outputs: tuple[str, ...]
    segments: int
    crossing: int
    crossings: int
    missing: int
    backend: str
    backend_reason: str
    seconds: float

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self) | {"outputs": list(self.outputs)}

    def __str__(self) -> str:
        """Say what was found, how fast, and where."""
        lines = [
            f"{self.crossing:,} of {counted(self.segments, 'segment')} cross a surface of "
            f"{counted(self.triangles, 'triangle')}"
        ]
        if self.mode in ("intercept_count", "all"):
            lines.append(f"crossings: {self.crossings:,}")
        if self.missing:
            lines.append(f"{self.missing:,} without one of their coordinates cross nothing")
        lines.append(f"{self.seconds:.2f} s, {self.backend} ({self.backend_reason})")
        return "\n".join([*lines, *(f"  {output}" for output in self.outputs)])

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        rows = [
            ("segments", f"{self.segments:,}"),
            ("that cross", f"{self.crossing:,}"),
            ("crossings", f"{self.crossings:,}"),
            ("without coordinates", f"{self.missing:,}"),
            ("triangles", f"{self.triangles:,}"),
            ("seconds", f"{self.seconds:.2f}"),
            ("backend", f"{self.backend} ({self.backend_reason})"),
        ]
        return html_table(f"Intersection, {self.mode}", rows, notes=self.outputs)
