"""Choose between CPU and GPU for each call: the GPU computes a call if that saves time."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.api import (
    Backend,
    BlockIndex,
    MachineUsed,
    NearestIndex,
    PointIndex,
    SegmentIndex,
)
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
from geodomain.errors import DeviceError, log, warn


class Tally:
    """Counts the rows that the CPU and the GPU have computed, and stores the latest reasons."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_machine: dict[str, tuple[int, str]] = {}

    def add(self, machine: str, count: int, why: str) -> None:
        """Add to the number of rows that a machine, "cpu" or "cuda", has computed."""
        with self._lock:
            before, _ = self._by_machine.get(machine, (0, ""))
            self._by_machine[machine] = before + count, why

    def mostly(self) -> MachineUsed:
        """Return the machine that computed most rows ("cpu" or "cuda"), and the reason."""
        if not self._by_machine:
            return "cpu", "no query yet"
        machine = max(self._by_machine, key=lambda name: self._by_machine[name][0])
        return machine, self._by_machine[machine][1]


_COLD, _WARM = 0.3, 0.5e-3  # seconds for a GPU to start, and for a call


class Cost(NamedTuple):
    """Seconds per item, such as a point: on one CPU thread, and on a GPU."""

    cpu: float
    cuda: float


COSTS = {
    "point": Cost(15e-9, 1e-9),
    "block": Cost(3e-10, 3e-12),  # of a lattice, labelled as bits
    "segment": Cost(3e-7, 6e-9),
    "distance": Cost(4e-6, 3e-8),
    "share": Cost(5e-6, 1e-8),  # of a block that is not on a lattice
    "lattice share": Cost(3e-8, 1e-9),
    "clipped triangle": Cost(2e-6, 1e-8),  # for the shares of a lattice
    "triangle": Cost(3e-7, 1e-8),  # for building a hierarchy
}

Answer = TypeVar("Answer")


class GpuBackend(Backend, Protocol):
    """A backend that must be started before use; starting it may fail."""

    def start(self) -> None:
        """Start the device, or raise a DeviceError with the reason."""
        ...


class Record:
    """The latest choice between CPU and GPU in a process, and the state of the GPU.

    The state is how much time the GPU would have saved so far, whether it has been started, and
    whether it has failed. A process has one record, in the `AutoBackend` of `compute.choose`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.saved = 0.0  # seconds that the GPU would have saved on the CPU's work
        self.started = False
        self.failed = ""
        self.machine_used: MachineUsed = ("cpu", "no query yet")

    def choose(self, saving: float, count: int) -> bool:
        """Return whether to use the GPU for ``count`` rows, where it saves ``saving`` seconds."""
        with self._lock:
            if self.failed:
                self.machine_used = "cpu", self.failed
                return False
            self.saved += max(saving, 0.0)
            pays = saving > _WARM if self.started else self.saved > _COLD
            reason = "enough work for the GPU" if pays else "too little work for the GPU"
            self.machine_used = "cuda" if pays else "cpu", f"{reason}: {count:,} at once"
            log("%s: %s", *self.machine_used, detail=True)
            return pays

    def give_up(self, error: DeviceError, *, quiet: bool) -> None:
        """Record that the GPU failed, and use the CPU from now on; warn unless ``quiet``.

        If the cause was a lack of GPU memory, later calls may still use the GPU.
        """
        with self._lock:
            first = not self.failed
            if not isinstance(error, OutOfDeviceMemory):
                self.failed = str(error)
            self.machine_used = "cpu", str(error)
        log("the CPU takes over: %s", error)
        if first and not quiet:
            message = f"{error}; the CPU takes over, with the same results"
            warn(message)


class MachineChoice:
    """Send each call to the CPU or the GPU; if the GPU fails, the CPU computes the call."""

    def __init__(self, cpu: Backend, cuda: GpuBackend) -> None:
        self.cpu, self.cuda = cpu, cuda
        self.record = Record()

    def either(self, saving: float, count: int, call: Callable[[Backend], Answer]) -> Answer:
        """Make the call on the GPU if that saves time and does not fail, otherwise on the CPU."""
        if self.record.choose(saving, count) and self._starts():
            try:
                return call(self.cuda)
            except DeviceError as error:
                self.record.give_up(error, quiet=False)
        return call(self.cpu)

    def _starts(self) -> bool:
        """Start the GPU; return whether it started. If it did not, record the reason."""
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
        """Make the call on the GPU if it holds points or output, or if that saves time.

        Otherwise, make the call on the CPU.
        """
        if isinstance(points, DevicePoints) or isinstance(out, DeviceRoom):
            self.record.machine_used = "cuda", "the points are on the GPU"
            return call(self.cuda)
        cost = COSTS["point"]
        return self.either(len(out) * (cost.cpu / threads - cost.cuda), len(out), call)


Index = TypeVar("Index")


class MachineIndexes(Generic[Index]):
    """One mesh's index on the CPU and on the GPU; each is built when it is first needed."""

    def __init__(self, choice: MachineChoice, build: Callable[[Backend], Index]) -> None:
        self._choice, self._build = choice, build
        self._indexes: dict[str, Index] = {}  # by machine
        self._lock = threading.Lock()

    def on(self, backend: Backend) -> Index:
        """Return the mesh's index on a backend; build the index if necessary."""
        with self._lock:
            if backend.name not in self._indexes:
                self._indexes[backend.name] = self._build(backend)
            return self._indexes[backend.name]


class AutoPointIndex(MachineIndexes[PointIndex]):
    """A point index of one mesh on the CPU and on the GPU, each built at its first query."""

    def __init__(self, choice: MachineChoice, build: Callable[[Backend], PointIndex]) -> None:
        super().__init__(choice, build)
        self._tally = Tally()

    def built(self, backend: Backend) -> PointIndex | None:
        """Return the mesh's index on a backend, or None if it has not been built."""
        return self._indexes.get(backend.name)

    def note(self, backend: Backend, count: int) -> None:
        """Add to the number of points that a backend has computed."""
        self._tally.add(backend.name, count, self._choice.record.machine_used[1])

    def machine_used(self) -> MachineUsed:
        """Return the machine that computed most points ("cpu" or "cuda"), and the reason."""
        machine, why = self._tally.mostly()
        cuda = self._choice.cuda
        return (machine, why) if machine == "cpu" else cuda.machine_used([self.on(cuda)], why)

    def size(self) -> tuple[int, int, int, int]:
        """Return a tuple: how many cells, entries, grids and long triangles the CPU's index has."""
        return self.on(self._choice.cpu).size()

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside."""
        return self._ask(points, out, threads, lambda on: on.contains(points, out, threads))

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write how many crossings are above each point."""
        return self._ask(
            points, out, threads, lambda on: on.crossings(points, out, threads, signed=signed)
        )

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point's winding number is not 0."""
        return self._ask(points, out, threads, lambda on: on.winds(points, out, threads))

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is on a triangle."""
        return self._ask(points, out, threads, lambda on: on.on_surface(points, out, threads))

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write how many crossings are above and how many are below each point."""
        return self._ask(points, out, threads, lambda on: on.sides(points, out, threads))

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write each point's generalised winding number and a bound on its error."""
        return self._ask(points, out, threads, lambda on: on.winding(points, out, threads, rim=rim))

    def _ask(
        self, points: Points, out: Room, threads: int, question: Callable[[PointIndex], int]
    ) -> int:
        def call(on: Backend) -> int:
            row = question(self.on(on))
            self.note(on, len(out))
            return row

        return self._choice.ask(points, out, threads, call)


class AutoSegmentIndex(MachineIndexes[SegmentIndex]):
    """A segment index of one mesh on the CPU and on the GPU, each built at its first query."""

    def __init__(
        self, choice: MachineChoice, build: Callable[[Backend], SegmentIndex], triangles: int
    ) -> None:
        super().__init__(choice, build)
        self._triangles = triangles
        self._tally = Tally()

    def machine_used(self) -> MachineUsed:
        """Return the machine that computed most segments ("cpu" or "cuda"), and the reason."""
        machine, why = self._tally.mostly()
        cuda = self._choice.cuda
        return (machine, why) if machine == "cpu" else cuda.machine_used([self.on(cuda)], why)

    @property
    def _first(self) -> SegmentIndex:
        """The index that was built first or, if none has been built, the CPU's."""
        return next(iter(self._indexes.values()), None) or self.on(self._choice.cpu)

    @property
    def build_times(self) -> Mapping[str, float]:
        """Seconds that each step took when the first index was built."""
        return self._first.build_times

    @property
    def nbytes(self) -> int:
        """Size of all indexes in bytes, without the mesh's own arrays."""
        return sum(index.nbytes for index in self._indexes.values())

    def levels(self) -> list[Floats]:
        """Return an array of boxes, (k, 2, 3), for each level of the hierarchy, the root first."""
        return self._first.levels()

    def close(self) -> None:
        """Free both indexes once no thread uses them."""
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
        """Return the triangle that each segment crosses first; -1 if it crosses none."""
        return self._ask(segments, threads, lambda on: on.nearest(segments, threads))

    def all(self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int) -> Indices:
        """Return all crossed triangles; segment i has the slice offsets[i]:offsets[i + 1]."""
        return self._ask(segments, threads, lambda on: on.all(segments, offsets, threads))

    def describe(
        self, segments: SegmentRows, rows: NDArray[np.int64], triangle: Indices, threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y and z of each hit, (k, 7); see `query.segments.Hits`."""
        return self._ask(
            segments, threads, lambda on: on.describe(segments, rows, triangle, threads)
        )

    def _ask(
        self, segments: SegmentRows, threads: int, question: Callable[[SegmentIndex], Answer]
    ) -> Answer:
        rows = len(segments.packed)

        def call(on: Backend) -> Answer:
            answer = question(self.on(on))
            self._tally.add(on.name, rows, self._choice.record.machine_used[1])
            return answer

        return self._choice.either(self._saving(rows, threads), rows, call)

    def _saving(self, rows: int, threads: int) -> float:
        """Return how many seconds the GPU saves on ``rows`` segments.

        If an index does not exist yet, the time to build it is taken into account.
        """
        segment, triangle = COSTS["segment"], COSTS["triangle"]
        cpu = rows * segment.cpu + ("cpu" not in self._indexes) * self._triangles * triangle.cpu
        cuda = rows * segment.cuda + ("cuda" not in self._indexes) * self._triangles * triangle.cuda
        return cpu / threads - cuda


class AutoNearestIndex(MachineIndexes[NearestIndex]):
    """A distance index of one mesh on the CPU and on the GPU, each built at its first query."""

    def nearest(
        self,
        points: Columns,
        distance: Floats,
        threads: int,
        *,
        triangle: Indices | None = None,
        place: Floats | None = None,
    ) -> int:
        """Write distances and nearest triangles; see `NearestIndex.nearest`."""
        cost = COSTS["distance"]
        return self._choice.either(
            len(distance) * (cost.cpu / threads - cost.cuda), len(distance),
            lambda on: self.on(on).nearest(
                points, distance, threads, triangle=triangle, place=place
            ),
        )  # fmt: skip


class AutoBlockIndex(MachineIndexes[BlockIndex]):
    """A block index of one mesh on the CPU and on the GPU, each built at its first query."""

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
        """Write the shares of blocks that a triangle enters; see `BlockIndex.shares`.

        If `weights` is None, all shares are sampled along vertical lines, on the CPU.
        """

        def call(on: Backend) -> NDArray[np.uint8]:
            return self.on(on).shares(
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
        """Write the shares of blocks whose plan the surface covers, on the CPU."""
        return self.on(self._choice.cpu).covered_shares(
            weights, lows, highs, out, threads, lines=lines, single=single
        )

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return the crossings of vertical lines through each block, on the CPU."""
        return self.on(self._choice.cpu).cuts(lows, highs, lines, threads, below=below)

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the CPU's index."""
        return self.on(self._choice.cpu).host_handle()


class AutoBackend:
    """The CPU and the GPU as one backend, which chooses between them."""

    name = "auto"

    def __init__(self, cpu: Backend, cuda: GpuBackend) -> None:
        self.choice = MachineChoice(cpu, cuda)

    def point_index(self, mesh: MeshArrays, *, threads: int) -> AutoPointIndex:
        """Return an index of a mesh for points; the first query of points builds it."""
        return AutoPointIndex(self.choice, lambda on: on.point_index(mesh, threads=threads))

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> AutoSegmentIndex:
        """Return an index of a mesh for segments; the first query of segments builds it."""
        return AutoSegmentIndex(
            self.choice,
            lambda on: on.segment_index(mesh, strategy=strategy, grid=grid, threads=threads),
            len(mesh.triangles),
        )

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> AutoNearestIndex:
        """Return an index of a mesh for distances; the first query of distances builds it."""
        return AutoNearestIndex(self.choice, lambda on: on.nearest_index(mesh, threads=threads))

    def block_index(self, mesh: MeshArrays, rim: Floats) -> AutoBlockIndex:
        """Return an index to compute which share of a block is inside a mesh.

        The first query builds the index.
        """
        return AutoBlockIndex(self.choice, lambda on: on.block_index(mesh, rim))

    def codes(self, indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
        """Write the number of the first mesh that contains each point, as in `Backend.codes`."""
        own = [index for index in indexes if isinstance(index, AutoPointIndex)]

        def call(on: Backend) -> int:
            row = on.codes([index.on(on) for index in own], points, out, threads)
            for index in own:
                index.note(on, len(out))
            return row

        return self.choice.ask(points, out, threads, call)

    def lattice_bits(
        self, mesh: MeshArrays, axes: Columns, threads: int, index: PointIndex | None = None
    ) -> NDArray[np.uint64] | None:
        """Return which blocks of a lattice are inside, as bits; see `Backend.lattice_bits`."""
        return self._lattice(
            axes, threads, lambda on: on.lattice_bits(mesh, axes, threads, _built(index, on))
        )

    def lattice_packed(
        self,
        mesh: MeshArrays,
        axes: Columns,
        out: NDArray[np.uint8],
        threads: int,
        index: PointIndex | None = None,
    ) -> bool:
        """Write which blocks of a lattice are inside, as bits; see `Backend.lattice_packed`."""
        return self._lattice(
            axes, threads, lambda on: on.lattice_packed(mesh, axes, out, threads, _built(index, on))
        )

    def lattice_there(
        self, mesh: MeshArrays, axes: Columns, room: DeviceRoom, index: PointIndex | None = None
    ) -> bool:
        """Write to ``room`` which blocks of a lattice are inside, on the GPU that holds it."""
        cuda = self.choice.cuda
        self.choice.record.machine_used = "cuda", "the output is on the GPU"
        return cuda.lattice_there(mesh, axes, room, _built(index, cuda))

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

    def machine_used(
        self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str
    ) -> MachineUsed:
        """Return a tuple: "cuda" if a GPU computed any query, otherwise "cpu"; and the reason."""
        own = (index for index in indexes if isinstance(index, AutoPointIndex | AutoSegmentIndex))
        return max([index.machine_used() for index in own], default=("cpu", "no query yet"))


def _built(index: PointIndex | None, on: Backend) -> PointIndex | None:
    """Return the index that an AutoPointIndex has built on a backend, or None."""
    return index.built(on) if isinstance(index, AutoPointIndex) else None
