"""Hits: the places where segments cross a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import counted
from geodomain.html.table import html_table

Floats = NDArray[np.float64]
SHOWN = 10  # rows in a notebook


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """Crossings of segments and a surface, a row of each array to a crossing.

    Ordered by segment, then by ``t``, then by triangle.

    Attributes
    ----------
    segment : numpy.ndarray of int64, shape (k,)
        Which segment: a row of the caller's starts and ends.
    triangle : numpy.ndarray of int32, shape (k,)
        Which triangle of the mesh it crosses.
    t : numpy.ndarray of float64, shape (k,)
        Where along the segment, 0 at its start and 1 at its end.
    u, v : numpy.ndarray of float64, shape (k,)
        Where on the triangle: at (1 - u - v) a + u b + v c of its corners a, b, c.
    distance : numpy.ndarray of float64, shape (k,)
        From the segment's start, in the unit of the coordinates.
    point : numpy.ndarray of float64, shape (k, 3)
        Where in space.
    segment_count : int
        How many segments were asked about.

    Notes
    -----
    Which triangles are crossed is exact. ``t``, ``u`` and ``v`` are within 2^-46 of
    themselves of their exact values, and so is ``distance``; a point is within that part of
    the segment's extent along each axis, and a last bit. All are the same on every machine.
    """

    segment: NDArray[np.int64]
    triangle: NDArray[np.int32]
    t: Floats
    u: Floats
    v: Floats
    distance: Floats
    point: Floats
    segment_count: int

    def __len__(self) -> int:
        """Return the number of crossings."""
        return len(self.segment)

    def __repr__(self) -> str:
        """Return the counts; the arrays are too long to show."""
        return f"Hits(crossings={len(self)}, segment_count={self.segment_count})"

    def _repr_html_(self) -> str:
        """Return the first crossings as a table for a notebook."""
        rows = [
            (str(segment), str(triangle), f"{t:.7g}", f"{distance:.7g}", *(f"{c:.10g}" for c in at))
            for segment, triangle, t, distance, at in zip(
                self.segment[:SHOWN], self.triangle, self.t, self.distance, self.point, strict=False
            )
        ]
        title = f"{counted(len(self), 'crossing')} of {counted(self.segment_count, 'segment')}"
        headings = ("segment", "triangle", "t", "distance", "x", "y", "z")
        notes = [f"the first {SHOWN} of them"] if len(self) > SHOWN else []
        return html_table(title, rows, headings=headings, notes=notes)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Return (n + 1,) int64: segment i has the rows offsets[i] to offsets[i + 1]."""
        counts = np.bincount(self.segment, minlength=self.segment_count)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def joined(parts: list[Hits]) -> Hits:
    """Return one Hits of consecutive pieces of the segments."""
    firsts = np.cumsum([0, *(part.segment_count for part in parts)])
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("triangle", "t", "u", "v", "distance", "point")
    }
    segment = [part.segment + first for part, first in zip(parts, firsts[:-1], strict=True)]
    return Hits(segment=np.concatenate(segment), segment_count=int(firsts[-1]), **columns)
