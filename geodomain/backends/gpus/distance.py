"""Distances that several GPUs share."""

from __future__ import annotations

from functools import partial

from geodomain.backends.cpu.nearest import CpuNearestIndex
from geodomain.backends.cuda.distance import CudaNearestIndex
from geodomain.backends.data import Columns, Floats, Indices, MeshArrays
from geodomain.backends.gpus.copies import Copies
from geodomain.backends.gpus.crew import Crew, cut

LEAST_ROWS = 1 << 20  # of a part


class SharedNearestIndex:
    """One mesh's hierarchies on several GPUs, each made where it is first asked for."""

    def __init__(self, mesh: MeshArrays, *, threads: int, crew: Crew) -> None:
        self._crew = crew
        self._copies = Copies(
            partial(CudaNearestIndex, mesh), partial(CpuNearestIndex, mesh, threads=threads)
        )

    def nearest(
        self,
        points: Columns,
        distance: Floats,
        threads: int,
        *,
        triangle: Indices | None = None,
        place: Floats | None = None,
    ) -> int:
        """Write what is nearest to each point; see `NearestIndex.nearest`."""
        workers = max(1, len(self._crew.able))
        parts = cut(len(distance), workers, LEAST_ROWS)
        x, y, z = points

        def ask(index: CudaNearestIndex | CpuNearestIndex, some: slice, threads: int) -> int:
            asked = points if len(parts) == 1 else (x[some], y[some], z[some])
            return index.nearest(
                asked, distance[some], threads,
                triangle=None if triangle is None else triangle[some],
                place=None if place is None else place[some],
            )  # fmt: skip

        each = max(1, threads // min(workers, len(parts)))
        refused = self._crew.share(
            parts,
            lambda some: ask(self._copies.here(), some, each),
            lambda some: ask(self._copies.on_cpu(), some, threads),
        )
        rows = [part.start + row for part, row in zip(parts, refused, strict=True) if row >= 0]
        return min(rows, default=-1)
