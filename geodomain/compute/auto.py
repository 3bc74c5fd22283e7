"""How much each machine has answered, and why there."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.api import Backend, BlockIndex, NearestIndex, PointIndex, SegmentIndex, Taken
from geodomain.compute.cuda.driver import OutOfDeviceMemory
from geodomain.compute.data import (
    Columns,
    DevicePoints,
    DeviceRoom,
    Floats,
    Indices,
    MeshArrays,
    Points,
    Rim,
    Room,
    SegmentRows,
)
from geodomain.errors import DeviceError, warn


class Answered:
    """How much each machine has answered, and why there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_machine: dict[str, tuple[int, str]] = {}

    def add(self, machine: str, count: int, why: str) -> None:
        """Remember that a machine has answered so many."""
        with self._lock:
            before, _ = self._by_machine.get(machine, (0, ""))
            self._by_machine[machine] = before + count, why

    def mostly(self) -> Taken:
        """Return where most was answered, "cpu" or "cuda", and why there."""
        if not self._by_machine:
            return "cpu", "nothing was asked"
        machine = max(self._by_machine, key=lambda name: self._by_machine[name][0])
        return machine, self._by_machine[machine][1]


# --- The choice of a machine: the CPU for little work, the GPU where there is one and it pays.

_COLD, _WARM = 0.3, 0.5e-3  # seconds that a GPU takes to start, and for a call


class Cost(NamedTuple):
    """Seconds for one of something: the CPU's of one thread."""

    cpu: float
    cuda: float


COSTS = {
    "point": Cost(15e-9, 1e-9),
    "block": Cost(3e-10, 3e-12),  # of a lattice, as bits
    "segment": Cost(3e-7, 6e-9),
    "distance": Cost(4e-6, 3e-8),
    "share": Cost(5e-6, 1e-8),  # of a block anywhere
    "lattice share": Cost(3e-8, 1e-9),
    "clipped triangle": Cost(2e-6, 1e-8),  # for a lattice's shares
    "triangle": Cost(3e-7, 1e-8),  # of a hierarchy that is built
}

Answer = TypeVar("Answer")


class GpuBackend(Backend, Protocol):
    """A backend that has to be started, which may fail."""

    def start(self) -> None:
        """Make the device ready; DeviceError says why there is none."""
        ...


class Record:
    """What has been chosen so far, and why.

    A process learns from call to call: whether work so far would have repaid the GPU's start,
    whether it has started, and that it has failed. All of it is here, in the one `AutoBackend`
    that `backends.choose` returns; another one would begin anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.saved = 0.0  # seconds that the GPU would have saved, of what the CPU was asked
        self.started = False
        self.failed = ""
        self.taken: Taken = ("cpu", "nothing asked yet")

    def choose(self, saving: float, count: int) -> bool:
        """Return whether work that the GPU does faster by ``saving`` seconds goes there."""
        with self._lock:
            if self.failed:
                self.taken = "cpu", self.failed
                return False
            self.saved += max(saving, 0.0)
            pays = saving > _WARM if self.started else self.saved > _COLD
            reason = "enough work for the GPU" if pays else "too little work for the GPU to pay"
            self.taken = "cuda" if pays else "cpu", f"{reason}: {count:,} at once"
            return pays

    def give_up(self, error: DeviceError, *, quiet: bool) -> None:
        """Keep to the CPU from here on, or, for want of memory, this once; say so unless quiet."""
        with self._lock:
            first = not self.failed
            if not isinstance(error, OutOfDeviceMemory):
                self.failed = str(error)
            self.taken = "cpu", str(error)
        if first and not quiet:
            message = f"{error}; the CPU takes over, and the answers are the same"
            warn(message)


class MachineChoice:
    """Send each call to the CPU or to the GPU; the CPU takes over where the GPU fails."""

    def __init__(self, cpu: Backend, cuda: GpuBackend) -> None:
        self.cpu, self.cuda = cpu, cuda
        self.record = Record()

    def either(self, saving: float, count: int, call: Callable[[Backend], Answer]) -> Answer:
        """Call with the GPU if it pays and works, and otherwise with the CPU."""
        if self.record.choose(saving, count) and self._starts():
            try:
                return call(self.cuda)
            except DeviceError as error:
                self.record.give_up(error, quiet=False)
        return call(self.cpu)

    def _starts(self) -> bool:
        """Start the GPU, if it will, and remember why not."""
        try:
            self.cuda.start()
        except DeviceError as error:
            self.record.give_up(error, quiet=True)
            return False
        self.record.started = True
        return True

    def ask(
        self, points: Points, out: Room, threads: int, call: Callable[[Backend], Answer]
    ) -> Answer:
        """Call with the GPU where the points or the answers are there, or where it pays."""
        if isinstance(points, DevicePoints) or isinstance(out, DeviceRoom):
            self.record.taken = "cuda", "the points are on the GPU"
            return call(self.cuda)
        cost = COSTS["point"]
        return self.either(len(out) * (cost.cpu / threads - cost.cuda), len(out), call)


# --- A mesh's index for points on whichever machine is asked.


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


# --- A mesh's index for segments on whichever machine is asked.


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


# --- A mesh's index for distances on whichever machine is asked.


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


# --- A mesh's index for shares of blocks on whichever machine is asked.


class AutoBlockIndex:
    """A mesh that is indexed on the CPU, on the GPU, or both, when there are blocks for it."""

    def __init__(self, choice: MachineChoice, make: Callable[[Backend], BlockIndex]) -> None:
        self._choice, self._make = choice, make
        self._indexes: dict[str, BlockIndex] = {}  # by machine
        self._lock = threading.Lock()

    def _on(self, backend: Backend) -> BlockIndex:
        with self._lock:
            if backend.name not in self._indexes:
                self._indexes[backend.name] = self._make(backend)
            return self._indexes[backend.name]

    def shares(
        self,
        weights: NDArray[np.int8] | None,
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        wound: bool,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Write shares where a triangle enters a block; see `BlockIndex.shares`.

        Without weights nearly all the work is along lines, and that is the CPU's.
        """

        def call(on: Backend) -> NDArray[np.uint8]:
            return self._on(on).shares(
                weights, lows, highs, out, threads, wound=wound, lines=lines, single=single
            )

        if weights is None:
            return call(self._choice.cpu)
        cost = COSTS["share"]
        return self._choice.either(len(out) * (cost.cpu / threads - cost.cuda), len(out), call)

    def covered_shares(
        self,
        weights: NDArray[np.int8],
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Write shares of blocks whose plans are covered, which the CPU finds."""
        return self._on(self._choice.cpu).covered_shares(
            weights, lows, highs, out, threads, lines=lines, single=single
        )

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return what vertical lines through each block cross, which the CPU finds."""
        return self._on(self._choice.cpu).cuts(lows, highs, lines, threads, below=below)

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the CPU's index."""
        return self._on(self._choice.cpu).host_handle()


# --- The backend that chooses between the CPU and the GPU, call by call: see `choice`.


class AutoBackend:
    """The CPU and the GPU as one backend."""

    name = "auto"

    def __init__(self, cpu: Backend, cuda: GpuBackend) -> None:
        self.choice = MachineChoice(cpu, cuda)

    def point_index(self, mesh: MeshArrays, *, threads: int) -> AutoPointIndex:
        """Index a mesh for points, where and when there are points for it."""
        return AutoPointIndex(self.choice, lambda on: on.point_index(mesh, threads=threads))

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> AutoSegmentIndex:
        """Index a mesh for segments, where and when there are segments for it."""
        return AutoSegmentIndex(
            self.choice,
            lambda on: on.segment_index(mesh, strategy=strategy, grid=grid, threads=threads),
            len(mesh.triangles),
        )

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> AutoNearestIndex:
        """Index a mesh for distances, where and when there are points for it."""
        return AutoNearestIndex(self.choice, lambda on: on.nearest_index(mesh, threads=threads))

    def block_index(self, mesh: MeshArrays, rim: Floats) -> AutoBlockIndex:
        """Index a mesh for the shares of blocks, where and when there are blocks for it."""
        return AutoBlockIndex(self.choice, lambda on: on.block_index(mesh, rim))

    def codes(self, indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
        """Write which index first holds each point; see `Backend.codes`."""
        own = [index for index in indexes if isinstance(index, AutoPointIndex)]

        def call(on: Backend) -> int:
            refused = on.codes([index.on(on) for index in own], points, out, threads)
            for index in own:
                index.note(on, len(out))
            return refused

        return self.choice.ask(points, out, threads, call)

    def lattice_bits(
        self, mesh: MeshArrays, axes: Columns, threads: int, index: PointIndex | None = None
    ) -> NDArray[np.uint64] | None:
        """Return labels of a lattice as bits along z; see `Backend.lattice_bits`."""
        return self._lattice(
            axes, threads, lambda on: on.lattice_bits(mesh, axes, threads, _made(index, on))
        )

    def lattice_packed(
        self,
        mesh: MeshArrays,
        axes: Columns,
        out: NDArray[np.uint8],
        threads: int,
        index: PointIndex | None = None,
    ) -> bool:
        """Write labels of a lattice as bits along z; see `Backend.lattice_packed`."""
        return self._lattice(
            axes, threads, lambda on: on.lattice_packed(mesh, axes, out, threads, _made(index, on))
        )

    def lattice_there(
        self, mesh: MeshArrays, axes: Columns, room: DeviceRoom, index: PointIndex | None = None
    ) -> bool:
        """Write labels of a lattice to an array on the GPU, which is where they are made."""
        cuda = self.choice.cuda
        self.choice.record.taken = "cuda", "the labels are to be on the GPU"
        return cuda.lattice_there(mesh, axes, room, _made(index, cuda))

    def lattice_shares(
        self,
        mesh: MeshArrays,
        weights: NDArray[np.int8],
        edges: Columns,
        labels: NDArray[np.uint64],
        out: Floats,
        threads: int,
    ) -> int:
        """Write the shares of a lattice's blocks; see `Backend.lattice_shares`."""
        block, triangle = COSTS["lattice share"], COSTS["clipped triangle"]
        cpu = out.size * block.cpu + len(weights) * triangle.cpu
        cuda = out.size * block.cuda + len(weights) * triangle.cuda
        return self.choice.either(
            cpu / threads - cuda, out.size,
            lambda on: on.lattice_shares(mesh, weights, edges, labels, out, threads),
        )  # fmt: skip

    def _lattice(self, axes: Columns, threads: int, call: Callable[[Backend], Answer]) -> Answer:
        blocks, cost = len(axes[0]) * len(axes[1]) * len(axes[2]), COSTS["block"]
        return self.choice.either(blocks * (cost.cpu / threads - cost.cuda), blocks, call)

    def taken(self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str) -> Taken:
        """Return the GPU if it took anything that these indexes were asked, and why there."""
        own = (index for index in indexes if isinstance(index, AutoPointIndex | AutoSegmentIndex))
        return max([index.taken() for index in own], default=("cpu", "nothing was asked"))


def _made(index: PointIndex | None, on: Backend) -> PointIndex | None:
    """Return what a backend has of an index that this one made."""
    return index.made(on) if isinstance(index, AutoPointIndex) else None
