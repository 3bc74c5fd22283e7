"""Point queries that several GPUs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from geodomain.backends import device_arrays
from geodomain.backends.api import PointIndex
from geodomain.backends.cpu.points import CpuPointIndex
from geodomain.backends.cuda import device
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.cuda.points import CudaPointIndex
from geodomain.backends.data import MeshArrays, Points, Rim, Room
from geodomain.backends.device_memory import DevicePoints, DeviceRoom
from geodomain.backends.gpus.copies import Copies
from geodomain.backends.gpus.crew import Crew, cut

LEAST_ROWS = 1 << 22  # of a part: fewer points are through one GPU before another has begun

# A question about points, with room for the answers and threads; returns the first refused row.
Asking = Callable[[Points, Room, int], int]


class SharedPointIndex:
    """One mesh's grids on several GPUs, each made where it is first asked for."""

    def __init__(self, mesh: MeshArrays, *, threads: int, crew: Crew) -> None:
        self._crew = crew
        self.copies = Copies(
            partial(CudaPointIndex, mesh, threads=threads),
            partial(CpuPointIndex, mesh, threads=threads),
        )
        self.on_the_cpu = 0  # answers, since no GPU was left

    def here(self) -> CudaPointIndex:
        """Return the index of the GPU that this thread works on; OutOfDeviceMemory without one."""
        made = self.copies.here()
        if made.grid is None:
            raise OutOfDeviceMemory(made.want)
        return made

    def on_cpu(self, answers: int) -> CpuPointIndex:
        """Return the CPU's index, for so many answers."""
        self.on_the_cpu += answers
        return self.copies.on_cpu()

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        return self.here().size()

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside, by parity."""
        return self._ask(points, out, threads, lambda on, *given: on.contains(*given))

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write the crossings above each point."""
        return self._ask(
            points, out, threads, lambda on, *given: on.crossings(*given, signed=signed)
        )

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether a winding number is not 0."""
        return self._ask(points, out, threads, lambda on, *given: on.winds(*given))

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is exactly on a triangle."""
        return self._ask(points, out, threads, lambda on, *given: on.on_surface(*given))

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write the crossings above and below each point."""
        return self._ask(points, out, threads, lambda on, *given: on.sides(*given))

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write generalised winding numbers and bounds on their errors."""
        return self._ask(points, out, threads, lambda on, *given: on.winding(*given, rim=rim))

    def _ask(
        self,
        points: Points,
        out: Room,
        threads: int,
        question: Callable[[PointIndex, Points, Room, int], int],
    ) -> int:
        return ask_all(
            self._crew, points, out, threads,
            lambda *given: question(self.here(), *given),
            lambda *given: question(self.on_cpu(len(given[1])), *given),
        )  # fmt: skip


def ask_all(
    crew: Crew, points: Points, out: Room, threads: int, on_gpu: Asking, on_cpu: Asking
) -> int:
    """Put a question about all points to the GPUs; return the first row that one refused, or -1.

    What is on a GPU already is answered there.
    """
    if isinstance(points, DevicePoints) or isinstance(out, DeviceRoom):
        with device.using(_place_of(points, out)):
            return on_gpu(points, out, threads)
    workers = max(1, len(crew.able))
    parts = cut(len(out), workers, LEAST_ROWS)
    if len(parts) == 1:  # points that are kept stay those that are kept
        answers = crew.share(
            parts,
            lambda _: on_gpu(points, out, threads),
            lambda _: on_cpu(points, out, threads),
        )
        return answers[0]
    x, y, z = points
    each = max(1, threads // workers)
    refused = crew.share(
        parts,
        lambda some: on_gpu((x[some], y[some], z[some]), out[some], each),
        lambda some: on_cpu((x[some], y[some], z[some]), out[some], threads),
    )
    rows = [part.start + row for part, row in zip(parts, refused, strict=True) if row >= 0]
    return min(rows, default=-1)


def _place_of(points: Points, out: Room) -> int:
    """Return the GPU that has the points, or the room for the answers; both, where both are."""
    arrays: Sequence[Points | Room] = (points, out)
    there = [one for one in arrays if isinstance(one, DevicePoints | DeviceRoom)]
    homes = [device_arrays.home(one) for one in there if len(one)] or [device.number()]
    if homes[0] != homes[-1]:
        message = (
            f"the points are on GPU {homes[0]} and out is on GPU {homes[-1]}: give an out on GPU "
            f"{homes[0]}"
        )
        raise ValueError(message)
    return homes[0]
