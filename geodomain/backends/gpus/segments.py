"""Segment queries that several GPUs share; each keeps the segments that it was asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import SegmentIndex
from geodomain.backends.cpu.segments import CpuSegmentIndex
from geodomain.backends.cuda.segments import CudaSegmentIndex, Resident
from geodomain.backends.data import Floats, Held, Indices, MeshArrays, SegmentRows
from geodomain.backends.gpus.copies import Copies
from geodomain.backends.gpus.crew import Crew, cut

Number = TypeVar("Number", bound=np.generic)

LEAST_ROWS = 1 << 20  # of a part
_KEPT = "several GPUs"  # the name under which segments hold their parts


class SegmentPart:
    """Some of the rows of segments, and the copy that a GPU keeps of them."""

    def __init__(self, whole: SegmentRows, rows: slice) -> None:
        self.rows = rows
        self.packed = whole.packed[rows]
        self.order = None if whole.order is None else whole.order[rows]
        self.device: dict[str, Held] = {}

    @property
    def home(self) -> int | None:
        """Return the GPU that has a copy, or None."""
        kept = self.device.get("cuda")
        return kept.home if isinstance(kept, Resident) else None


class PartedSegments:
    """The parts of segments, which stay the same from question to question."""

    def __init__(self, whole: SegmentRows, workers: int) -> None:
        self.parts = [
            SegmentPart(whole, rows) for rows in cut(len(whole.packed), workers, LEAST_ROWS)
        ]

    @property
    def nbytes(self) -> int:
        """Return the bytes of all copies."""
        return sum(held.nbytes for part in self.parts for held in part.device.values())


class SharedSegmentIndex:
    """One surface's hierarchies on several GPUs, each made where it is first asked for."""

    def __init__(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int, crew: Crew
    ) -> None:
        self._crew, self._threads = crew, threads
        self._copies = Copies(
            partial(CudaSegmentIndex, mesh, strategy=strategy, grid=grid),
            partial(CpuSegmentIndex, mesh, strategy=strategy, threads=threads),
        )
        self._here()  # where one GPU builds it at once, so do several

    def _here(self) -> SegmentIndex:
        """Return what was made first; of a GPU, if any is left."""
        made: list[SegmentIndex] = [*self._copies.made(), *self._copies.made_on_cpu()]
        if made:
            return made[0]
        return self._crew.share(
            [None], lambda _: self._on_gpu(), lambda _: self._on_cpu()
        )[0]  # fmt: skip

    def _on_gpu(self) -> SegmentIndex:
        return self._copies.here()

    def _on_cpu(self) -> SegmentIndex:
        return self._copies.on_cpu()

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of building took where it was first asked."""
        return self._here().build_times

    @property
    def nbytes(self) -> int:
        """Return the bytes that all of them hold, beside the mesh's own arrays."""
        made: list[SegmentIndex] = [*self._copies.made(), *self._copies.made_on_cpu()]
        return sum(index.nbytes for index in made)

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        return self._here().levels()

    def close(self) -> None:
        """Free what all of them hold, once no thread asks."""
        made: list[SegmentIndex] = [*self._copies.made(), *self._copies.made_on_cpu()]
        for index in made:
            index.close()

    def boolean(self, segments: SegmentRows, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        out = np.empty(len(segments.packed), np.bool_)
        return self._fill("boolean", segments, out, 0, threads, CpuSegmentIndex.boolean)

    def count(self, segments: SegmentRows, threads: int) -> Indices:
        """Return how many triangles each segment crosses."""
        out = np.empty(len(segments.packed), np.int32)
        return self._fill("count", segments, out, 0, threads, CpuSegmentIndex.count)

    def nearest(self, segments: SegmentRows, threads: int) -> Indices:
        """Return the first triangle that each segment crosses, or -1."""
        out = np.empty(len(segments.packed), np.int32)
        return self._fill("nearest", segments, out, 0xFF, threads, CpuSegmentIndex.nearest)

    def _fill(
        self,
        question: str,
        segments: SegmentRows,
        out: NDArray[Number],
        nothing: int,
        threads: int,
        on_cpu: Callable[[CpuSegmentIndex, SegmentRows, int], NDArray[Number]],
    ) -> NDArray[Number]:
        """Write the answers of each part to its rows."""

        def ask_cpu(part: SegmentPart) -> None:
            out[part.rows] = on_cpu(self._copies.on_cpu(), part, threads)

        def ask(part: SegmentPart) -> None:
            self._copies.here().answer(question, part, out[part.rows], nothing)

        self._crew.share(self._parts(segments), ask, ask_cpu, _home_of)
        return out

    def all(self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int) -> Indices:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        out = np.empty(offsets[-1], np.int32)

        def ask(on: SegmentIndex, part: SegmentPart, each: int) -> None:
            firsts = offsets[part.rows.start : part.rows.stop + 1]
            out[firsts[0] : firsts[-1]] = on.all(part, firsts - firsts[0], each)

        self._share(segments, threads, ask)
        return out

    def describe(
        self, segments: SegmentRows, rows: NDArray[np.int64], triangle: Indices, threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        out = np.empty((len(rows), 7))
        hits = _hits_of(self._parts(segments), rows)

        def ask(on: SegmentIndex, part: SegmentPart, each: int) -> None:
            mine = hits[part.rows.start]
            if len(rows[mine]):
                found = on.describe(part, rows[mine] - part.rows.start, triangle[mine], each)
                out[mine] = found

        self._share(segments, threads, ask)
        return out

    def _parts(self, segments: SegmentRows) -> list[SegmentPart]:
        """Return the parts of segments, which keep what GPUs have of them."""
        kept = segments.device.get(_KEPT)
        if not isinstance(kept, PartedSegments):
            kept = segments.device.setdefault(
                _KEPT, PartedSegments(segments, max(1, len(self._crew.able)))
            )
        return kept.parts if isinstance(kept, PartedSegments) else []

    def _share(
        self,
        segments: SegmentRows,
        threads: int,
        question: Callable[[SegmentIndex, SegmentPart, int], None],
    ) -> None:
        """Put a question to the GPUs, part by part."""
        parts = self._parts(segments)
        each = max(1, threads // max(1, min(len(self._crew.able), len(parts))))
        self._crew.share(
            parts,
            lambda part: question(self._on_gpu(), part, each),
            lambda part: question(self._on_cpu(), part, threads),
            _home_of,
        )


def _home_of(part: SegmentPart) -> int | None:
    return part.home


def _hits_of(
    parts: list[SegmentPart], rows: NDArray[np.int64]
) -> dict[int, slice | NDArray[np.int64]]:
    """Return which hits are of each part's rows, by its first row."""
    starts = [part.rows.start for part in parts]
    if len(rows) == 0 or np.all(rows[1:] >= rows[:-1]):
        bounds = [*np.searchsorted(rows, starts).tolist(), len(rows)]
        return {start: slice(*ends) for start, ends in zip(starts, pairwise(bounds), strict=True)}
    owner = np.searchsorted(starts, rows, side="right") - 1
    return {start: np.flatnonzero(owner == place) for place, start in enumerate(starts)}
