"""Modes of a segment query, and answers in the caller's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import SegmentIndex
from geodomain.backends.segment_rows import scatter
from geodomain.segments.hits import Hits, joined
from geodomain.segments.segments import Segments

Number = TypeVar("Number", bound=np.generic)
Mode = Literal["boolean", "nearest", "count", "all"]
HitMode = Literal["nearest", "all"]
# What R. Leung's program calls three of them.
WORDS: dict[str, Mode] = {
    "boolean": "boolean",
    "barycentric": "nearest",
    "intercept_count": "count",
}
Answer = NDArray[np.bool_] | NDArray[np.int32] | Hits


def ask(surface: SegmentIndex, segments: Segments, mode: Mode, threads: int) -> Answer:
    """Ask a backend's surface one of the questions in `MODES`."""
    return MODES[mode](surface, segments, threads)


def join(parts: list[Answer]) -> Answer:
    """Return one answer of those to consecutive pieces of the segments."""
    if len(parts) == 1:
        return parts[0]
    hits = [part for part in parts if isinstance(part, Hits)]
    return joined(hits) if hits else np.concatenate([np.asarray(part) for part in parts])


def _in_callers_order(values: NDArray[Number], segments: Segments, threads: int) -> NDArray[Number]:
    if segments.order is None:
        return values
    return scatter(values, segments.order, threads)


def _boolean(surface: SegmentIndex, segments: Segments, threads: int) -> NDArray[np.bool_]:
    return _in_callers_order(surface.boolean(segments, threads), segments, threads)


def _count(surface: SegmentIndex, segments: Segments, threads: int) -> NDArray[np.int32]:
    return _in_callers_order(surface.count(segments, threads), segments, threads)


def _nearest(surface: SegmentIndex, segments: Segments, threads: int) -> Hits:
    triangle = surface.nearest(segments, threads)
    rows = np.flatnonzero(triangle >= 0)
    return _hits(surface, segments, rows, triangle[rows], threads)


def _all(surface: SegmentIndex, segments: Segments, threads: int) -> Hits:
    counts = surface.count(segments, threads)
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    triangle = surface.all(segments, offsets, threads)
    return _hits(surface, segments, np.repeat(np.arange(len(counts)), counts), triangle, threads)


def _hits(
    surface: SegmentIndex,
    segments: Segments,
    rows: NDArray[np.int64],
    triangle: NDArray[np.int32],
    threads: int,
) -> Hits:
    """Describe the hits of kept rows, which ascend, in the caller's order."""
    if segments.order is not None:
        places = _places(rows, segments.order, threads)
        rows, triangle = scatter(rows, places, threads), scatter(triangle, places, threads)
    values = surface.describe(segments, rows, triangle, threads)
    return Hits(
        segment=rows if segments.order is None else segments.order[rows],
        triangle=triangle,
        t=values[:, 0],
        u=values[:, 1],
        v=values[:, 2],
        distance=values[:, 3],
        point=values[:, 4:],
        segment_count=len(segments),
    )


def _places(rows: NDArray[np.int64], order: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
    """Return where each hit of the kept rows is among the caller's."""
    counts = np.bincount(rows, minlength=len(order))
    callers = scatter(counts, order, threads)
    firsts, mine = (np.cumsum(callers) - callers)[order], np.cumsum(counts) - counts
    places: NDArray[np.int64] = (firsts - mine)[rows] + np.arange(len(rows))
    return places


MODES: dict[str, Callable[..., Answer]] = {
    "boolean": _boolean,
    "nearest": _nearest,
    "count": _count,
    "all": _all,
}
