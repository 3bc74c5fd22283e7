"""A mesh's index for segments on whichever machine is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import Backend, SegmentIndex, Taken
from geodomain.backends.auto.answered import Answered
from geodomain.backends.auto.choice import COSTS, Answer, MachineChoice
from geodomain.backends.data import Floats, Indices, SegmentRows


class AutoSegmentIndex:
    """A surface that is made ready on the CPU, on the GPU, or both, when there are segments."""

    def __init__(
        self, choice: MachineChoice, make: Callable[[Backend], SegmentIndex], triangles: int
    ) -> None:
        self._choice, self._make, self._triangles = choice, make, triangles
        self._indexes: dict[str, SegmentIndex] = {}  # by machine
        self._lock = threading.Lock()
        self._answered = Answered()

    def on(self, backend: Backend) -> SegmentIndex:
        """Return the surface of a backend, made when it is first asked for."""
        with self._lock:
            if backend.name not in self._indexes:
                self._indexes[backend.name] = self._make(backend)
            return self._indexes[backend.name]

    def taken(self) -> Taken:
        """Return where most segments were asked so far, "cpu" or "cuda", and why there."""
        machine, why = self._answered.mostly()
        cuda = self._choice.cuda
        return (machine, why) if machine == "cpu" else cuda.taken([self.on(cuda)], why)

    @property
    def _first(self) -> SegmentIndex:
        """Return the surface that was made first; the CPU's if none was."""
        return next(iter(self._indexes.values()), None) or self.on(self._choice.cpu)

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of building took where it was first asked."""
        return self._first.build_times

    @property
    def nbytes(self) -> int:
        """Return the bytes that all of them hold, beside the mesh's own arrays."""
        return sum(index.nbytes for index in self._indexes.values())

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        return self._first.levels()

    def close(self) -> None:
        """Free what both hold, once no thread asks."""
        with self._lock:
            for index in self._indexes.values():
                index.close()
            self._indexes.clear()

    def boolean(self, segments: SegmentRows, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        return self._ask(segments, threads, lambda on: on.boolean(segments, threads))

    def count(self, segments: SegmentRows, threads: int) -> Indices:
        """Return how many triangles each segment crosses."""
        return self._ask(segments, threads, lambda on: on.count(segments, threads))

    def nearest(self, segments: SegmentRows, threads: int) -> Indices:
        """Return the first triangle that each segment crosses, or -1."""
        return self._ask(segments, threads, lambda on: on.nearest(segments, threads))

    def all(self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int) -> Indices:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        return self._ask(segments, threads, lambda on: on.all(segments, offsets, threads))

    def describe(
        self, segments: SegmentRows, rows: NDArray[np.int64], triangle: Indices, threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7): where they were asked, mostly."""
        return self._ask(
            segments, threads, lambda on: on.describe(segments, rows, triangle, threads)
        )

    def _ask(
        self, segments: SegmentRows, threads: int, question: Callable[[SegmentIndex], Answer]
    ) -> Answer:
        """Put a question where it pays."""
        rows = len(segments.packed)

        def call(on: Backend) -> Answer:
            answer = question(self.on(on))
            self._answered.add(on.name, rows, self._choice.record.taken[1])
            return answer

        return self._choice.either(self._saving(rows, threads), rows, call)

    def _saving(self, rows: int, threads: int) -> float:
        """Return the seconds that the GPU saves, building what there is not yet included."""
        segment, triangle = COSTS["segment"], COSTS["triangle"]
        cpu = rows * segment.cpu + ("cpu" not in self._indexes) * self._triangles * triangle.cpu
        cuda = rows * segment.cuda + ("cuda" not in self._indexes) * self._triangles * triangle.cuda
        return cpu / threads - cuda
