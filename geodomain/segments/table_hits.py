"""A table of segments in, a table of where they cross a surface out; no files are named here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geodomain.io.csv.writing import Column, lines_of
from geodomain.io.files.pipeline import ByteSource
from geodomain.io.files.streams import Target
from geodomain.io.header.layout import TableLayout
from geodomain.segments.hits import Hits
from geodomain.segments.intersector import SegmentIntersector
from geodomain.segments.modes import Answer
from geodomain.segments.table import read_segments
from geodomain.segments.tally import HitTally

Floats = NDArray[np.float64]

_HITS = ("row", "t", "distance", "x", "y", "z", "triangle", "u", "v")

# The columns of each mode.
COLUMNS = {
    "barycentric": _HITS,
    "all": _HITS,
    "boolean": ("row", "crosses"),
    "intercept_count": ("row", "crossings"),
}


def intersect_table(
    intersector: SegmentIntersector,
    source: ByteSource,
    target: Target,
    layout: TableLayout,
    *,
    mode: str = "barycentric",
    name: str = "table",
    threads: int | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> HitTally:
    """Ask about the segments of a table, and write a table of the answers.

    Parameters
    ----------
    intersector : SegmentIntersector
        The surface.
    source, target : binary file
        The table from its first byte, and where the answers go, in the delimiter and
        the decimal mark of the table. Numbers have as many digits as they need to come
        back the same.
    layout : TableLayout
        Of `read_segment_layout`.
    mode : {"barycentric", "all", "boolean", "intercept_count"}
        "barycentric" writes a row for the first crossing of each segment that has one,
        "all" for every crossing; the others a row for each segment. Rows and triangles
        are counted from 0.
    name : str
        What error messages call the table.
    threads : int, optional
        For reading and writing.
    progress : callable, optional
        Called with bytes done and bytes in all, or None where that is not known.

    Returns
    -------
    HitTally

    Raises
    ------
    TableError
        For the first row that cannot be read.
    PointError
        For a segment that ends at infinity or out of range.
    """
    tally = HitTally()

    def visit(starts: Floats, ends: Floats) -> None:
        first = tally.segments
        answer = tally.ask(intersector, starts, ends, mode, name)
        for lines in lines_of(_columns(answer, first), layout.delimiter, layout.decimal, threads):
            target.write(lines)

    target.write(memoryview(layout.delimiter.join(map(str.encode, COLUMNS[mode])) + b"\n"))
    read_segments(source, layout, visit, threads=threads, progress=progress)
    return tally


def _columns(answer: Answer, first: int) -> tuple[Column, ...]:
    """Return the columns of `COLUMNS`."""
    if not isinstance(answer, Hits):
        return np.arange(first, first + len(answer)), answer.astype(np.int64)
    return (
        answer.segment + first,
        answer.t,
        answer.distance,
        *answer.point.T,
        answer.triangle,
        answer.u,
        answer.v,
    )
