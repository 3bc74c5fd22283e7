"""The backend that chooses where segments are asked, by the rule and the record of `auto`.

- The CPU takes 0.17 to 0.9 microseconds of one thread for a segment, by the mode and by the surface
  (29,260 and a million triangles, AVX2), and 0.2 to 0.5 to build the hierarchy for a triangle.
- The GPU's time goes to copying 48 bytes a segment from ordinary memory, at 9.4 GB/s; an H200
  builds the hierarchy over a million triangles in 2.8 ms, copies apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import auto, cpu, segments_of
from geodomain.backends.cpu_segments import Floats, Packed

Answer = TypeVar("Answer")

# Seconds for a segment, and for a triangle when the hierarchy is built; the CPU's of one thread.
_COST = {"cpu": (3e-7, 3e-7), "cuda": (6e-9, 1e-8)}


class Surface:
    """A surface that is made ready on the CPU, on the GPU, or both, when there are segments."""

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        bounds: Floats,
        *,
        strategy: str,
        grid: int | None,
        threads: int,
    ) -> None:
        self._make: Callable[[ModuleType], Any] = lambda module: segments_of(module).Surface(
            vertices, triangles, bounds, strategy=strategy, grid=grid, threads=threads
        )
        self._triangles = len(triangles)
        self._made: dict[str, Any] = {}  # by machine
        self._lock = threading.Lock()
        self._answered = auto.Answered()

    def on(self, module: ModuleType) -> Any:
        """Return the surface of a backend, made when it is first asked for."""
        with self._lock:
            machine = auto.machine_of(module)
            if machine not in self._made:
                self._made[machine] = self._make(module)
            return self._made[machine]

    def taken(self) -> tuple[str, str]:
        """Return where most segments were asked so far, "cpu" or "cuda", and why there."""
        return self._answered.mostly()

    @property
    def _first(self) -> Any:
        """Return the surface that was made first; the CPU's if none was."""
        return next(iter(self._made.values()), None) or self.on(cpu)

    @property
    def build_times(self) -> Mapping[str, float]:
        """Return the seconds that each step of building took where it was first asked."""
        times: Mapping[str, float] = self._first.build_times
        return times

    def levels(self) -> list[Floats]:
        """Return the boxes of each level of the hierarchy, (k, 2, 3), the largest first."""
        boxes: list[Floats] = self._first.levels()
        return boxes

    def close(self) -> None:
        """Free what both hold, once no thread asks."""
        with self._lock:
            for surface in self._made.values():
                surface.close()
            self._made.clear()

    def boolean(self, segments: Packed, threads: int) -> NDArray[np.bool_]:
        """Return whether each segment crosses the surface."""
        return self._ask(segments, threads, lambda on: on.boolean(segments, threads))

    def count(self, segments: Packed, threads: int) -> NDArray[np.int32]:
        """Return how many triangles each segment crosses."""
        return self._ask(segments, threads, lambda on: on.count(segments, threads))

    def nearest(self, segments: Packed, threads: int) -> NDArray[np.int32]:
        """Return the first triangle that each segment crosses, or -1."""
        return self._ask(segments, threads, lambda on: on.nearest(segments, threads))

    def all(self, segments: Packed, offsets: NDArray[np.int64], threads: int) -> NDArray[np.int32]:
        """Return every crossed triangle, segment i's at offsets[i] to offsets[i + 1]."""
        return self._ask(segments, threads, lambda on: on.all(segments, offsets, threads))

    def describe(
        self, segments: Packed, rows: NDArray[np.int64], triangle: NDArray[np.int32], threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y, z of each hit, (k, 7)."""
        describe = lambda on: on.describe(segments, rows, triangle, threads)  # noqa: E731
        return self._ask(segments, threads, describe)  # where they were asked, as a rule

    def _ask(self, segments: Packed, threads: int, question: Callable[[Any], Answer]) -> Answer:
        """Put a question where it pays."""
        rows = len(segments.packed)

        def call(module: ModuleType) -> Answer:
            answer = question(self.on(module))
            self._answered.add(module, rows)
            return answer

        return auto.either(self._saving(rows, threads), rows, call)

    def _saving(self, rows: int, threads: int) -> float:
        """Return the seconds that the GPU saves."""
        return self._cost("cpu", rows) / threads - self._cost("cuda", rows)

    def _cost(self, machine: str, rows: int) -> float:
        """Return the seconds that so many segments take, and the hierarchy if there is none yet."""
        segment, triangle = _COST[machine]
        return rows * segment + (machine not in self._made) * self._triangles * triangle
