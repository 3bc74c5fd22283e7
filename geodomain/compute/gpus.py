"""Run queries on all GPUs of a process: each GPU computes some of the rows, in its own thread."""

from __future__ import annotations

import threading
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import cpu, device_arrays
from geodomain.compute.api import BlockIndex, MachineUsed, NearestIndex, PointIndex, SegmentIndex
from geodomain.compute.cpu import CpuNearestIndex, CpuPointIndex, CpuSegmentIndex
from geodomain.compute.cuda import device, lattices, shares
from geodomain.compute.cuda import points as cuda_points
from geodomain.compute.cuda.distance import CudaNearestIndex
from geodomain.compute.cuda.driver import OutOfDeviceMemory, RefusedCall
from geodomain.compute.cuda.points import CudaPointIndex
from geodomain.compute.cuda.segments import CudaSegmentIndex, Resident
from geodomain.compute.cuda.shares import CudaBlockIndex
from geodomain.compute.data import (
    Columns,
    DevicePoints,
    DeviceRoom,
    Floats,
    Held,
    Indices,
    MeshArrays,
    Points,
    Rim,
    Room,
    SegmentRows,
)
from geodomain.errors import DeviceError, warn

Part = TypeVar("Part")
Answer = TypeVar("Answer")


def cut(rows: int, workers: int, least: int) -> list[slice]:
    """Cut rows into equal parts: at most ``workers`` parts, each of at least ``least`` rows.

    There is always at least one part. Starting and ending a part takes as long as copying millions
    of rows, so smaller parts would cost more than they save.
    """
    count = max(1, min(workers, rows // max(1, least)))
    bounds = [rows * place // count for place in range(count + 1)]
    return [slice(*ends) for ends in pairwise(bounds)]


class WorkQueue(Generic[Part, Answer]):
    """The waiting parts of one query, the results so far, and the errors.

    If the data of a part are on a GPU (the home of the part) and this GPU works, it computes the
    part. Free GPUs take the other parts in order; the n-th GPU starts at the n-th part.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        ask: Callable[[Part], Answer],
        home_of: Callable[[Part], int | None],
    ) -> None:
        self._ask, self._home_of = ask, home_of
        self._lock = threading.Lock()
        self.left = dict(enumerate(parts))
        self.at_work: Sequence[int] = ()
        self.answers: dict[int, Answer] = {}
        self.errors: dict[int, DeviceError] = {}  # by device
        self.fatal: BaseException | None = None

    def work(self, number: int) -> None:
        """Compute parts on a device, until the device fails or no part is left for the device."""
        with device.using(number):
            while self.fatal is None and (item := self._take(number)) is not None:
                place, part = item
                try:
                    self.answers[place] = self._ask(part)
                except RefusedCall as error:  # another GPU would refuse it too
                    _drop_frames(error)
                    self.fatal = error
                except DeviceError as error:
                    _drop_frames(error)
                    with self._lock:
                        self.left[place] = part
                        self.errors[number] = error
                    return
                except BaseException as error:
                    _drop_frames(error)
                    self.fatal = error

    def _take(self, number: int) -> tuple[int, Part] | None:
        with self._lock:
            rank = list(self.at_work).index(number)
            for place in sorted(self.left, key=lambda place: (place < rank, place)):
                home = self._home_of(self.left[place])
                if home == number or home not in self.at_work:
                    return place, self.left.pop(place)
        return None


def _drop_frames(error: BaseException | None) -> None:
    """Drop the local variables of failed calls, so that this thread frees its PyCUDA streams.

    The error, which holds these variables, lives longer than the thread. PyCUDA can free streams
    only in the thread that made them.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class DevicePool:
    """The GPUs of a process: which of them are busy, and which have failed.

    Attributes
    ----------
    failed : dict of int to str
        For the number of each GPU that is no longer used, the reason.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: Counter[int] = Counter()
        self._worked = False
        self.failed: dict[int, str] = {}

    @property
    def able(self) -> list[int]:
        """The GPUs that have not failed, the least busy first."""
        with self._lock:
            working = [number for number in device.numbers() if number not in self.failed]
            return sorted(working, key=lambda number: self._busy[number])

    def share(
        self,
        parts: Sequence[Part],
        ask: Callable[[Part], Answer],
        on_cpu: Callable[[Part], Answer],
        home_of: Callable[[Part], int | None] = lambda part: None,
    ) -> list[Answer]:
        """Return the results of all parts, each from its home GPU or from any free GPU.

        ``ask`` is called in a thread that works on one GPU. If a GPU fails, another GPU computes
        its part. If all GPUs have failed, the CPU computes the part with ``on_cpu``.

        Raises
        ------
        DeviceError
            If all GPUs fail and none has ever worked, or if a working GPU refuses the call, because
            every other GPU would refuse it too.
        """
        queue = WorkQueue(parts, ask, home_of)
        while queue.left:
            able = [number for number in self.able if number not in queue.errors]
            if not able:
                break
            self._run(queue, able[: len(queue.left)])
            if queue.fatal is not None:
                raise queue.fatal
        self._worked = self._worked or bool(queue.answers)
        self._note(queue)
        for place, part in queue.left.items():
            queue.answers[place] = on_cpu(part)
        return [queue.answers[place] for place in range(len(parts))]

    def _run(self, queue: WorkQueue[Part, Answer], numbers: Sequence[int]) -> None:
        """Run the queue on GPUs until it is done; the first GPU uses the caller's thread."""
        queue.at_work = numbers
        with self._lock:
            self._busy.update(numbers)
        threads = [
            threading.Thread(target=queue.work, args=(number,), name=f"geodomain GPU {number}")
            for number in numbers[1:]
        ]
        try:
            for thread in threads:
                thread.start()
            queue.work(numbers[0])
        finally:
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            with self._lock:
                self._busy.subtract(numbers)

    def _note(self, queue: WorkQueue[Part, Answer]) -> None:
        """Warn about every GPU that failed; record the failure unless only memory was short."""
        if queue.left and not self._worked:
            raise next(iter(queue.errors.values()), None) or DeviceError(
                self.with_failures("no GPU is left")
            )
        for number, error in queue.errors.items():
            cause = error.__cause__ or error
            if not isinstance(error, OutOfDeviceMemory):
                with self._lock:
                    self.failed[number] = str(cause)
            others = "the CPU takes" if queue.left else "the other GPUs take"
            warn(f"GPU {number} failed ({cause}): {others} over, with the same results")

    def with_failures(self, why: str) -> str:
        """Return the reason `why`, followed by each GPU that failed and the cause."""
        return "; ".join([why, *(f"GPU {n} failed: {text}" for n, text in self.failed.items())])


OnGpu = TypeVar("OnGpu")
OnCpu = TypeVar("OnCpu")


class Copies(Generic[OnGpu, OnCpu]):
    """The search index of one mesh on each GPU, and on the CPU once all GPUs have failed.

    Each index is built when it is first needed.
    """

    def __init__(self, make: Callable[[], OnGpu], make_on_cpu: Callable[[], OnCpu]) -> None:
        self._make, self._make_on_cpu = make, make_on_cpu
        self._made: dict[int, OnGpu] = {}
        self._on_cpu: OnCpu | None = None
        self._locks: dict[int | None, threading.Lock] = {}

    def on_this_gpu(self) -> OnGpu:
        """Return the index on this thread's GPU; build the index if necessary."""
        number = device.number()
        with self._locks.setdefault(number, threading.Lock()):
            if number not in self._made:
                self._made[number] = self._make()
            return self._made[number]

    def made(self) -> list[OnGpu]:
        """Return the indexes that have been built on GPUs."""
        return [*self._made.values()]

    def on_cpu(self) -> OnCpu:
        """Return the index on the CPU; build the index if necessary."""
        with self._locks.setdefault(None, threading.Lock()):
            if self._on_cpu is None:
                self._on_cpu = self._make_on_cpu()
            return self._on_cpu

    def made_on_cpu(self) -> list[OnCpu]:
        """Return a list with the index on the CPU; the list is empty if that index is not built."""
        return [] if self._on_cpu is None else [self._on_cpu]


LEAST_POINTS = 1 << 22  # points in a part; one GPU computes fewer before another starts

# A query of points that writes to an array with threads; it returns the first undecided row.
PointQuery = Callable[[Points, Room, int], int]


class SharedPointIndex:
    """A grid over one mesh's triangles, with a copy on each GPU and, if necessary, on the CPU."""

    def __init__(self, mesh: MeshArrays, *, threads: int, pool: DevicePool) -> None:
        self._pool = pool
        self.copies = Copies(
            partial(CudaPointIndex, mesh, threads=threads),
            partial(CpuPointIndex, mesh, threads=threads),
        )
        self.cpu_answers = 0  # points that the CPU computed because no GPU could

    def on_this_gpu(self) -> CudaPointIndex:
        """Return the index on this thread's GPU; raise OutOfDeviceMemory if it does not fit."""
        index = self.copies.on_this_gpu()
        if index.grid is None:
            raise OutOfDeviceMemory(index.want)
        return index

    def on_cpu(self, answers: int) -> CpuPointIndex:
        """Return the mesh's index for the CPU.

        ``answers`` is added to the number of points that were computed with this index.
        """
        self.cpu_answers += answers
        return self.copies.on_cpu()

    def size(self) -> tuple[int, int, int, int]:
        """Return a tuple: how many cells, cell entries, grids and long triangles the index has."""
        return self.on_this_gpu().size()

    def contains(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is inside, by parity."""
        return self._ask(points, out, threads, lambda on, *call: on.contains(*call))

    def crossings(self, points: Points, out: Room, threads: int, *, signed: bool) -> int:
        """Write how many crossings are above each point."""
        return self._ask(points, out, threads, lambda on, *call: on.crossings(*call, signed=signed))

    def winds(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point's winding number is not 0."""
        return self._ask(points, out, threads, lambda on, *call: on.winds(*call))

    def on_surface(self, points: Points, out: Room, threads: int) -> int:
        """Write whether each point is exactly on a triangle."""
        return self._ask(points, out, threads, lambda on, *call: on.on_surface(*call))

    def sides(self, points: Points, out: Room, threads: int) -> int:
        """Write how many crossings are above and how many are below each point."""
        return self._ask(points, out, threads, lambda on, *call: on.sides(*call))

    def winding(self, points: Points, out: Room, threads: int, *, rim: Rim) -> int:
        """Write each point's generalised winding number and a bound on its error."""
        return self._ask(points, out, threads, lambda on, *call: on.winding(*call, rim=rim))

    def _ask(
        self,
        points: Points,
        out: Room,
        threads: int,
        question: Callable[[PointIndex, Points, Room, int], int],
    ) -> int:
        return ask_all(
            self._pool, points, out, threads,
            lambda *call: question(self.on_this_gpu(), *call),
            lambda *call: question(self.on_cpu(len(call[1])), *call),
        )  # fmt: skip


def ask_all(
    pool: DevicePool,
    points: Points,
    out: Room,
    threads: int,
    on_gpu: PointQuery,
    on_cpu: PointQuery,
) -> int:
    """Distribute a query of points over the GPUs; return the first undecided row, or -1.

    Points that are on a GPU are computed on that GPU.
    """
    if isinstance(points, DevicePoints) or isinstance(out, DeviceRoom):
        with device.using(_home_gpu(points, out)):
            return on_gpu(points, out, threads)
    workers = max(1, len(pool.able))
    parts = cut(len(out), workers, LEAST_POINTS)
    if len(parts) == 1:  # the same tuple, so that cached points stay cached
        answers = pool.share(
            parts,
            lambda _: on_gpu(points, out, threads),
            lambda _: on_cpu(points, out, threads),
        )
        return answers[0]
    x, y, z = points
    each = max(1, threads // workers)
    refused = pool.share(
        parts,
        lambda some: on_gpu((x[some], y[some], z[some]), out[some], each),
        lambda some: on_cpu((x[some], y[some], z[some]), out[some], threads),
    )
    rows = [part.start + row for part, row in zip(parts, refused, strict=True) if row >= 0]
    return min(rows, default=-1)


def _home_gpu(points: Points, out: Room) -> int:
    """Return the number of the GPU that holds the points or the output.

    Raises an error if they are on different GPUs.
    """
    arrays: Sequence[Points | Room] = (points, out)
    on_device = [array for array in arrays if isinstance(array, DevicePoints | DeviceRoom)]
    homes = [device_arrays.home(array) for array in on_device if len(array)] or [device.number()]
    if homes[0] != homes[-1]:
        message = (
            f"the points are on GPU {homes[0]}, but out= is on GPU {homes[-1]}: give an array on "
            f"GPU {homes[0]} as out="
        )
        raise ValueError(message)
    return homes[0]


Number = TypeVar("Number", bound=np.generic)

LEAST_SEGMENTS = 1 << 20  # segments in a part
_PARTS = "several GPUs"  # key of the parts in `SegmentRows.device`


class SegmentPart:
    """A range of segments, and the copy of this range on a GPU."""

    def __init__(self, whole: SegmentRows, rows: slice) -> None:
        self.rows = rows
        self.packed = whole.packed[rows]
        self.order = None if whole.order is None else whole.order[rows]
        self.device: dict[str, Held] = {}

    @property
    def home(self) -> int | None:
        """The number of the GPU that has a copy of the range; None if there is no copy."""
        copy = self.device.get("cuda")
        return copy.home if isinstance(copy, Resident) else None


class PartedSegments:
    """The ranges into which segments are cut; all queries use the same ranges."""

    def __init__(self, whole: SegmentRows, workers: int) -> None:
        self.parts = [
            SegmentPart(whole, rows) for rows in cut(len(whole.packed), workers, LEAST_SEGMENTS)
        ]

    @property
    def nbytes(self) -> int:
        """Size of all copies in bytes."""
        return sum(held.nbytes for part in self.parts for held in part.device.values())


class SharedSegmentIndex:
    """A bounding-volume hierarchy of one surface, built on each GPU and, if needed, on the CPU."""

    def __init__(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int, pool: DevicePool
    ) -> None:
        self._pool, self._threads = pool, threads
        self._copies = Copies(
            partial(CudaSegmentIndex, mesh, strategy=strategy, grid=grid),
            partial(CpuSegmentIndex, mesh, strategy=strategy, threads=threads),
        )
        self._first()  # built at once, as on a single GPU

    def _built(self) -> list[SegmentIndex]:
        return [*self._copies.made(), *self._copies.made_on_cpu()]

    def _first(self) -> SegmentIndex:
        """Return an index that has been built; build one if there is none."""
        if built := self._built():
            return built[0]
        return self._pool.share(
            [None], lambda _: self._on_gpu(), lambda _: self._on_cpu()
        )[0]  # fmt: skip

    def _on_gpu(self) -> SegmentIndex:
        return self._copies.on_this_gpu()

    def _on_cpu(self) -> SegmentIndex:
        return self._copies.on_cpu()

    @property
    def build_times(self) -> Mapping[str, float]:
        """Seconds that each step took when the first index was built."""
        return self._first().build_times

    @property
    def nbytes(self) -> int:
        """Size of all indexes in bytes, without the mesh's own arrays."""
        return sum(index.nbytes for index in self._built())

    def levels(self) -> list[Floats]:
        """Return an array of boxes, (k, 2, 3), for each level of the hierarchy, the root first."""
        return self._first().levels()

    def close(self) -> None:
        """Free all indexes once no thread uses them."""
        for index in self._built():
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
        """Return the triangle that each segment crosses first; -1 if it crosses none."""
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
        """Run a query on the parts of the segments, and write the results to the rows of `out`."""

        def ask_cpu(part: SegmentPart) -> None:
            out[part.rows] = on_cpu(self._copies.on_cpu(), part, threads)

        def ask(part: SegmentPart) -> None:
            self._copies.on_this_gpu().answer(question, part, out[part.rows], nothing)

        self._pool.share(self._parts(segments), ask, ask_cpu, _home_of)
        return out

    def all(self, segments: SegmentRows, offsets: NDArray[np.int64], threads: int) -> Indices:
        """Return all crossed triangles; segment i has the slice offsets[i]:offsets[i + 1]."""
        out = np.empty(offsets[-1], np.int32)

        def ask(on: SegmentIndex, part: SegmentPart, each: int) -> None:
            firsts = offsets[part.rows.start : part.rows.stop + 1]
            out[firsts[0] : firsts[-1]] = on.all(part, firsts - firsts[0], each)

        self._share(segments, threads, ask)
        return out

    def describe(
        self, segments: SegmentRows, rows: NDArray[np.int64], triangle: Indices, threads: int
    ) -> Floats:
        """Return t, u, v, distance, x, y and z of each hit, (k, 7); see `query.segments.Hits`."""
        out = np.empty((len(rows), 7))
        hits = _hits_of(self._parts(segments), rows)

        def ask(on: SegmentIndex, part: SegmentPart, each: int) -> None:
            mine = hits[part.rows.start]
            if len(rows[mine]):
                out[mine] = on.describe(part, rows[mine] - part.rows.start, triangle[mine], each)

        self._share(segments, threads, ask)
        return out

    def _parts(self, segments: SegmentRows) -> list[SegmentPart]:
        """Return the parts into which segments are cut; the first query cuts them."""
        parted = segments.device.get(_PARTS)
        if not isinstance(parted, PartedSegments):
            parted = segments.device.setdefault(
                _PARTS, PartedSegments(segments, max(1, len(self._pool.able)))
            )
        return parted.parts if isinstance(parted, PartedSegments) else []

    def _share(
        self,
        segments: SegmentRows,
        threads: int,
        question: Callable[[SegmentIndex, SegmentPart, int], None],
    ) -> None:
        """Distribute a query over the GPUs, part by part."""
        parts = self._parts(segments)
        each = max(1, threads // max(1, min(len(self._pool.able), len(parts))))
        self._pool.share(
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
    """Return the indices of the hits in each part, in a dict keyed by the part's first row."""
    starts = [part.rows.start for part in parts]
    if len(rows) == 0 or np.all(rows[1:] >= rows[:-1]):
        bounds = [*np.searchsorted(rows, starts).tolist(), len(rows)]
        return {start: slice(*ends) for start, ends in zip(starts, pairwise(bounds), strict=True)}
    owner = np.searchsorted(starts, rows, side="right") - 1
    return {start: np.flatnonzero(owner == place) for place, start in enumerate(starts)}


LEAST_DISTANCES = 1 << 20  # points in a part


class SharedNearestIndex:
    """A bounding-volume hierarchy of one mesh for distances, with a copy on each GPU."""

    def __init__(self, mesh: MeshArrays, *, threads: int, pool: DevicePool) -> None:
        self._pool = pool
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
        """Write distances and nearest triangles; see `NearestIndex.nearest`."""
        workers = max(1, len(self._pool.able))
        parts = cut(len(distance), workers, LEAST_DISTANCES)
        x, y, z = points

        def ask(index: CudaNearestIndex | CpuNearestIndex, some: slice, threads: int) -> int:
            part = points if len(parts) == 1 else (x[some], y[some], z[some])
            return index.nearest(
                part, distance[some], threads,
                triangle=None if triangle is None else triangle[some],
                place=None if place is None else place[some],
            )  # fmt: skip

        each = max(1, threads // min(workers, len(parts)))
        refused = self._pool.share(
            parts,
            lambda some: ask(self._copies.on_this_gpu(), some, each),
            lambda some: ask(self._copies.on_cpu(), some, threads),
        )
        rows = [part.start + row for part, row in zip(parts, refused, strict=True) if row >= 0]
        return min(rows, default=-1)


LEAST_BITS = 64 << 20  # bytes of a lattice's labels in a part


class GpusBackend:
    """The backend that runs the kernels on all GPUs in use; `start` fails if no GPU works."""

    name = "cuda"

    def __init__(self) -> None:
        self._pool = DevicePool()

    def start(self) -> None:
        """Start the first GPU that works; raise the first error if no GPU works."""
        errors = []
        for number in device.numbers():
            try:
                with device.using(number), device.current():
                    return
            except DeviceError as error:
                errors.append(error)
        raise errors[0]

    @property
    def _alone(self) -> bool:
        return len(device.numbers()) == 1

    def point_index(self, mesh: MeshArrays, *, threads: int) -> PointIndex:
        """Index a mesh for points."""
        if self._alone:
            return CudaPointIndex(mesh, threads=threads)
        return SharedPointIndex(mesh, threads=threads, pool=self._pool)

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> SegmentIndex:
        """Index a mesh for segments."""
        if self._alone:
            return CudaSegmentIndex(mesh, strategy=strategy, grid=grid)
        return SharedSegmentIndex(
            mesh, strategy=strategy, grid=grid, threads=threads, pool=self._pool
        )

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> NearestIndex:
        """Index a mesh for distances."""
        if self._alone:
            return CudaNearestIndex(mesh)
        return SharedNearestIndex(mesh, threads=threads, pool=self._pool)

    def block_index(self, mesh: MeshArrays, rim: Floats) -> BlockIndex:
        """Index a mesh on one GPU, to compute which share of a block is inside the mesh."""
        return CudaBlockIndex(mesh, rim)

    def codes(self, indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
        """Write the number of the first mesh that contains each point, as in `Backend.codes`."""
        own = [index for index in indexes if isinstance(index, SharedPointIndex)]
        if len(own) != len(indexes) or not own:
            return cuda_points.codes(indexes, points, out, threads)
        return ask_all(
            self._pool, points, out, threads,
            lambda *call: cuda_points.codes([index.on_this_gpu() for index in own], *call),
            lambda *call: cpu.codes([index.on_cpu(len(call[1])) for index in own], *call),
        )  # fmt: skip

    def lattice_bits(
        self, mesh: MeshArrays, axes: Columns, threads: int, index: PointIndex | None = None
    ) -> NDArray[np.uint64] | None:
        """Return which blocks of a lattice are inside, as bits; see `Backend.lattice_bits`."""
        words = (len(axes[2]) + 63) // 64
        out = np.empty((len(axes[0]), len(axes[1]), words), dtype=np.uint64)
        decided = self.lattice_packed(mesh, axes, out.view(np.uint8), threads, index)
        return out if decided else None

    def lattice_packed(
        self,
        mesh: MeshArrays,
        axes: Columns,
        out: NDArray[np.uint8],
        threads: int,
        index: PointIndex | None = None,
    ) -> bool:
        """Write which blocks of a lattice are inside, as bits; see `Backend.lattice_packed`.

        Each GPU labels a range of the lattice along x.
        """
        if self._alone:
            return lattices.lattice_packed(mesh, axes, out, threads, index)
        workers = max(1, len(self._pool.able))
        layer = max(1, out.nbytes // max(1, len(out)))
        parts = cut(len(out), workers, max(1, LEAST_BITS // layer))
        each = max(1, threads // min(workers, len(parts)))

        def slab(some: slice) -> tuple[Columns, NDArray[np.uint8]]:
            return (axes[0][some], axes[1], axes[2]), out[some]

        decided = self._pool.share(
            parts,
            lambda some: lattices.lattice_packed(mesh, *slab(some), each, _on_this_gpu(index)),
            lambda some: cpu.lattice_packed(mesh, *slab(some), threads),
        )
        return all(decided)

    def lattice_there(
        self, mesh: MeshArrays, axes: Columns, room: DeviceRoom, index: PointIndex | None = None
    ) -> bool:
        """Write to ``room`` which blocks of a lattice are inside, on the GPU that holds it."""
        with device.using(device_arrays.home(room)):
            return lattices.lattice_there(mesh, axes, room, _on_this_gpu(index))

    def lattice_shares(
        self,
        mesh: MeshArrays,
        weights: NDArray[np.int8],
        edges: Columns,
        labels: NDArray[np.uint64],
        out: Floats,
        threads: int,
    ) -> int:
        """Write the shares of a lattice's blocks, on one GPU; see `Backend.lattice_shares`."""
        return shares.lattice_shares(mesh, weights, edges, labels, out, threads)

    def machine_used(
        self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str
    ) -> MachineUsed:
        """Return a tuple: "cuda" if a GPU computed anything, otherwise "cpu"; and the reason."""
        shared = [index for index in indexes if isinstance(index, SharedPointIndex)]
        if not shared:
            own = [index for index in indexes if isinstance(index, CudaPointIndex)]
            machine, reason = cuda_points.machine_used(own, why)
            return machine, self._pool.with_failures(reason)
        copies = [copy for index in shared for copy in index.copies.made()]
        machine, reason = cuda_points.machine_used(copies, why)
        cpu_answers = sum(index.cpu_answers for index in shared)
        if cpu_answers and not any(copy.answers for copy in copies):
            machine = "cpu"
        if cpu_answers:
            reason = f"{reason}; the CPU computed {cpu_answers:,} points"
        return machine, self._pool.with_failures(reason)


def _on_this_gpu(index: PointIndex | None) -> PointIndex | None:
    """Return the copy of an index on this thread's GPU; None if no GPU has built a copy."""
    if not isinstance(index, SharedPointIndex):
        return index
    return index.copies.on_this_gpu() if index.copies.made() else None
