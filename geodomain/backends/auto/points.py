"""A mesh's index for points on whichever machine is asked."""

from __future__ import annotations

import threading
from collections.abc import Callable

from geodomain.backends.api import Backend, PointIndex, Taken
from geodomain.backends.auto.answered import Answered
from geodomain.backends.auto.choice import MachineChoice
from geodomain.backends.data import Points, Rim, Room


class AutoPointIndex:
    """A mesh that is indexed on the CPU, on the GPU, or both, when there are points for it."""

    def __init__(self, choice: MachineChoice, make: Callable[[Backend], PointIndex]) -> None:
        self._choice, self._make = choice, make
        self._indexes: dict[str, PointIndex] = {}  # by machine
        self._lock = threading.Lock()
        self._answered = Answered()

    def on(self, backend: Backend) -> PointIndex:
        """Return the mesh's index of a backend, made when it is first asked for."""
        with self._lock:
            if backend.name not in self._indexes:
                self._indexes[backend.name] = self._make(backend)
            return self._indexes[backend.name]

    def made(self, backend: Backend) -> PointIndex | None:
        """Return the mesh's index of a backend, if there is one."""
        return self._indexes.get(backend.name)

    def note(self, backend: Backend, count: int) -> None:
        """Remember that a backend has answered so many points."""
        self._answered.add(backend.name, count, self._choice.record.taken[1])

    def taken(self) -> Taken:
        """Return where most points were answered so far, "cpu" or "cuda", and why there."""
        machine, why = self._answered.mostly()
        if machine == "cpu":
            return machine, why
        cuda = self._choice.cuda
        return cuda.taken([self.on(cuda)], why)

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of the CPU's cells, entries, grids and bundled triangles."""
        return self.on(self._choice.cpu).size()

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside."""
        return self._ask(points, out, threads, lambda on: on.contains(points, out, threads))

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write the crossings above each point."""
        return self._ask(
            points, out, threads, lambda on: on.crossings(points, out, threads, signed=signed)
        )

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether a winding number is not 0."""
        return self._ask(points, out, threads, lambda on: on.winds(points, out, threads))

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is on a triangle."""
        return self._ask(points, out, threads, lambda on: on.on_surface(points, out, threads))

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write the crossings above and below each point."""
        return self._ask(points, out, threads, lambda on: on.sides(points, out, threads))

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and bounds."""
        return self._ask(points, out, threads, lambda on: on.winding(points, out, threads, rim=rim))

    def _ask(
        self, points: Points, out: Room, threads: int, question: Callable[[PointIndex], int]
    ) -> int:
        def call(on: Backend) -> int:
            refused = question(self.on(on))
            self.note(on, len(out))
            return refused

        return self._choice.ask(points, out, threads, call)
