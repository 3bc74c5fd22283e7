"""A mesh's index for distances on whichever machine is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable

from geodomain.backends.api import Backend, NearestIndex
from geodomain.backends.auto.choice import COSTS, MachineChoice
from geodomain.backends.data import Columns, Floats, Indices


class AutoNearestIndex:
    """A mesh that is indexed on the CPU, on the GPU, or both, when there are points for it."""

    def __init__(self, choice: MachineChoice, make: Callable[[Backend], NearestIndex]) -> None:
        self._choice, self._make = choice, make
        self._indexes: dict[str, NearestIndex] = {}  # by machine
        self._lock = threading.Lock()

    def _on(self, backend: Backend) -> NearestIndex:
        with self._lock:
            if backend.name not in self._indexes:
                self._indexes[backend.name] = self._make(backend)
            return self._indexes[backend.name]

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
        cost = COSTS["distance"]
        return self._choice.either(
            len(distance) * (cost.cpu / threads - cost.cuda), len(distance),
            lambda on: self._on(on).nearest(
                points, distance, threads, triangle=triangle, place=place
            ),
        )  # fmt: skip
