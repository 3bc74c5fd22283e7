"""Raw files of segments in, raw files of answers out, as the original program names them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geodomain.segments.hits import Hits
from geodomain.segments.intersector import SegmentIntersector
from geodomain.segments.modes import Answer
from geodomain.segments.raw.reading import CHUNK, RawSegments
from geodomain.segments.raw.writing import ArrayWriter, written_together
from geodomain.segments.tally import HitTally

# What the original writes for t where a segment crosses nothing; u and v are 0 there.
MISS_T = 2.5e8

_RESULTS = {"results_i32": "<i4"}
_HITS = {
    "intersectTriangle_i32": "<i4",
    "barycentricT_f32": "<f4",
    "barycentricU_f32": "<f4",
    "barycentricV_f32": "<f4",
}

# The files of each mode and the types of their numbers.
OUTPUTS = {"boolean": _RESULTS, "intercept_count": _RESULTS, "barycentric": _HITS}


def intersect_files(
    intersector: SegmentIntersector,
    segments: RawSegments,
    folder: Path,
    *,
    mode: str = "boolean",
    overwrite: bool = False,
    chunk: int = CHUNK,
    progress: Callable[[int, int | None], None] | None = None,
) -> HitTally:
    """Ask about segments in raw files, and write an answer for each to raw files.

    Parameters
    ----------
    intersector : SegmentIntersector
        The surface.
    segments : RawSegments
        Of any number: a chunk is held at a time.
    folder : Path
        Where the files of `OUTPUTS` go, whole or not at all.
    mode : {"boolean", "barycentric", "intercept_count"}
        "boolean" writes 1 for each segment that crosses the surface and 0 for the others;
        "intercept_count" how many times it does; "barycentric" the triangle of the
        first crossing, -1 for none, and t, u, v as float32: `MISS_T`, 0 and 0 for none.
    overwrite : bool
        Whether files that are there may be replaced.
    chunk : int
        Segments at a time; the files are the same for any number.
    progress : callable, optional
        Called with the segments done and all of them.

    Returns
    -------
    HitTally

    Raises
    ------
    FileExistsError
        If an output is there and may not be replaced.
    PointError
        For a segment that ends at infinity or out of range.
    """
    tally, name = HitTally(), f"{segments.starts} and {segments.ends}"
    room = np.empty((min(chunk, len(segments)), 6))  # new memory for each chunk takes time
    with (
        written_together(folder, OUTPUTS[mode], overwrite=overwrite) as files,
        closing(segments.chunks(chunk)) as chunks,
    ):
        for starts, ends in chunks:
            out = room[: len(starts)]
            _write(files, tally.ask(intersector, starts, ends, mode, name, out=out))
            if progress is not None:
                progress(tally.segments, len(segments))
    return tally


def _write(files: dict[str, ArrayWriter], answer: Answer) -> None:
    """Append what is known of each segment."""
    if not isinstance(answer, Hits):
        files["results_i32"].append(answer)
        return
    values: dict[str, tuple[NDArray[np.float64] | NDArray[np.int32], float]] = {
        "intersectTriangle_i32": (answer.triangle, -1),
        "barycentricT_f32": (answer.t, MISS_T),
        "barycentricU_f32": (answer.u, 0.0),
        "barycentricV_f32": (answer.v, 0.0),
    }
    for name, (found, missed) in values.items():
        whole = np.full(answer.segment_count, missed, dtype=_HITS[name])
        whole[answer.segment] = found
        files[name].append(whole)
