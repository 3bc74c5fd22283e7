"""The GPUs that share the parts of a question: a thread to each, and what becomes of failures."""

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

from geodomain.compute import cpu as cpu_lattices
from geodomain.compute import cpu as cpu_points
from geodomain.compute import device_arrays
from geodomain.compute.api import BlockIndex, NearestIndex, PointIndex, SegmentIndex, Taken
from geodomain.compute.cpu import CpuNearestIndex, CpuPointIndex, CpuSegmentIndex
from geodomain.compute.cuda import device, points
from geodomain.compute.cuda.backend import CudaBackend
from geodomain.compute.cuda.distance import CudaNearestIndex
from geodomain.compute.cuda.driver import OutOfDeviceMemory, RefusedCall
from geodomain.compute.cuda.points import CudaPointIndex
from geodomain.compute.cuda.segments import CudaSegmentIndex, Resident
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
    """Cut rows into equal parts, one for each of so many workers.

    Each part fills and empties a pipeline once, which takes as long as some copies of millions of
    rows: more and smaller parts cost more than they save. No part is smaller than ``least``, but
    for one alone.
    """
    count = max(1, min(workers, rows // max(1, least)))
    bounds = [rows * place // count for place in range(count + 1)]
    return [slice(*ends) for ends in pairwise(bounds)]


class Shift(Generic[Part, Answer]):
    """One question's parts: those that wait, the answers so far, and what went wrong.

    A part goes to the GPU that is its home, if it has one that works; of the others the first
    GPU takes the first part, the second GPU the second, and so on.
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
        """Answer part after part on a device, until none is left for it or it fails."""
        with device.using(number):
            while self.fatal is None and (taken := self._take(number)) is not None:
                place, part = taken
                try:
                    self._answer(place, part)
                except RefusedCall as error:  # as on any other GPU
                    _let_go(error)
                    self.fatal = error
                except DeviceError as error:
                    _let_go(error)
                    with self._lock:
                        self.left[place] = part
                        self.errors[number] = error
                    return
                except BaseException as error:
                    _let_go(error)
                    self.fatal = error

    def _answer(self, place: int, part: Part) -> None:
        self.answers[place] = self._ask(part)

    def _take(self, number: int) -> tuple[int, Part] | None:
        with self._lock:
            rank = list(self.at_work).index(number)
            for place in sorted(self.left, key=lambda place: (place < rank, place)):
                home = self._home_of(self.left[place])
                if home == number or home not in self.at_work:
                    return place, self.left.pop(place)
        return None


def _let_go(error: BaseException | None) -> None:
    """Drop what the calls that failed held: PyCUDA frees streams only in the thread that made them.

    The error outlives the thread.
    """
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class Crew:
    """The GPUs that a process uses, which of them are busy, and which have failed.

    Attributes
    ----------
    failed : dict of int to str
        Why a GPU is asked no more.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._busy: Counter[int] = Counter()
        self._worked = False
        self.failed: dict[int, str] = {}

    @property
    def able(self) -> list[int]:
        """Return the GPUs that can be asked, those with the least to do first."""
        with self._lock:
            some = [number for number in device.numbers() if number not in self.failed]
            return sorted(some, key=lambda number: self._busy[number])

    def share(
        self,
        parts: Sequence[Part],
        ask: Callable[[Part], Answer],
        on_cpu: Callable[[Part], Answer],
        home_of: Callable[[Part], int | None] = lambda part: None,
    ) -> list[Answer]:
        """Return the answers to all parts, each from whichever GPU is free, or from its home.

        ``ask`` runs in a thread that works on one GPU. A GPU that fails is out: its part goes to
        another one, and to the CPU where none is left.

        Raises
        ------
        DeviceError
            If all of them fail, and none has ever answered anything; or one whose GPU still works,
            since the others would refuse the call as well.
        """
        shift = Shift(parts, ask, home_of)
        while shift.left:
            able = [number for number in self.able if number not in shift.errors]
            if not able:
                break
            self._run(shift, able[: len(shift.left)])
            if shift.fatal is not None:
                raise shift.fatal
        self._worked = self._worked or bool(shift.answers)
        self._note(shift)
        for place, part in shift.left.items():
            shift.answers[place] = on_cpu(part)
        return [shift.answers[place] for place in range(len(parts))]

    def _run(self, shift: Shift[Part, Answer], numbers: Sequence[int]) -> None:
        """Let GPUs work until they are done; the caller's thread is the one of the first."""
        shift.at_work = numbers
        with self._lock:
            self._busy.update(numbers)
        threads = [
            threading.Thread(target=shift.work, args=(number,), name=f"geodomain GPU {number}")
            for number in numbers[1:]
        ]
        try:
            for thread in threads:
                thread.start()
            shift.work(numbers[0])
        finally:
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            with self._lock:
                self._busy.subtract(numbers)

    def _note(self, shift: Shift[Part, Answer]) -> None:
        """Remember which GPUs have failed, and say so; those short of memory may do next time."""
        if shift.left and not self._worked:
            raise next(iter(shift.errors.values()), None) or DeviceError(
                self.told("no GPU is left")
            )
        for number, error in shift.errors.items():
            cause = error.__cause__ or error
            if not isinstance(error, OutOfDeviceMemory):
                with self._lock:
                    self.failed[number] = str(cause)
            others = "the CPU takes" if shift.left else "the others take"
            warn(f"GPU {number} failed ({cause}): {others} over, and the answers are the same")

    def told(self, why: str) -> str:
        """Return why something was computed on GPUs, and which of them failed."""
        return "; ".join([why, *(f"GPU {n} failed: {text}" for n, text in self.failed.items())])


# --- One index on each GPU, and on the CPU, each made where it is first asked.

OnGpu = TypeVar("OnGpu")
OnCpu = TypeVar("OnCpu")


class Copies(Generic[OnGpu, OnCpu]):
    """What is made of one mesh on each GPU, and, where none is left, on the CPU."""

    def __init__(self, make: Callable[[], OnGpu], make_on_cpu: Callable[[], OnCpu]) -> None:
        self._make, self._make_on_cpu = make, make_on_cpu
        self._made: dict[int, OnGpu] = {}
        self._on_cpu: OnCpu | None = None
        self._locks: dict[int | None, threading.Lock] = {}

    def here(self) -> OnGpu:
        """Return that of the GPU that this thread works on."""
        number = device.number()
        with self._locks.setdefault(number, threading.Lock()):
            if number not in self._made:
                self._made[number] = self._make()
            return self._made[number]

    def made(self) -> list[OnGpu]:
        """Return those of all GPUs that have been asked."""
        return [*self._made.values()]

    def on_cpu(self) -> OnCpu:
        """Return the CPU's."""
        with self._locks.setdefault(None, threading.Lock()):
            if self._on_cpu is None:
                self._on_cpu = self._make_on_cpu()
            return self._on_cpu

    def made_on_cpu(self) -> list[OnCpu]:
        """Return the CPU's, if there is one."""
        return [] if self._on_cpu is None else [self._on_cpu]


# --- Point queries that several GPUs share.

LEAST_POINTS = 1 << 22  # of a part: fewer points are through one GPU before another has begun

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
    parts = cut(len(out), workers, LEAST_POINTS)
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


# --- Segment queries that several GPUs share; each keeps the segments that it was asked about.

Number = TypeVar("Number", bound=np.generic)

LEAST_SEGMENTS = 1 << 20  # of a part
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
            SegmentPart(whole, rows) for rows in cut(len(whole.packed), workers, LEAST_SEGMENTS)
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


# --- Distances that several GPUs share.

LEAST_DISTANCES = 1 << 20  # of a part


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
        parts = cut(len(distance), workers, LEAST_DISTANCES)
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


# --- All the GPUs of a process as a backend; with one alone it is that GPU's.

LEAST_BITS = 64 << 20  # bytes of a lattice's labels that are worth a part


class GpusBackend:
    """The kernels on all devices that are used; DeviceError where there is none."""

    name = "cuda"

    def __init__(self) -> None:
        self._one = CudaBackend()
        self._crew = Crew()

    def start(self) -> None:
        """Make the context of a device, or say why none has any."""
        errors = []
        for number in device.numbers():
            try:
                with device.using(number):
                    return self._one.start()
            except DeviceError as error:
                errors.append(error)
        raise errors[0]

    @property
    def _alone(self) -> bool:
        return len(device.numbers()) == 1

    def point_index(self, mesh: MeshArrays, *, threads: int) -> PointIndex:
        """Index a mesh for points."""
        if self._alone:
            return self._one.point_index(mesh, threads=threads)
        return SharedPointIndex(mesh, threads=threads, crew=self._crew)

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> SegmentIndex:
        """Index a mesh for segments."""
        if self._alone:
            return self._one.segment_index(mesh, strategy=strategy, grid=grid, threads=threads)
        return SharedSegmentIndex(
            mesh, strategy=strategy, grid=grid, threads=threads, crew=self._crew
        )

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> NearestIndex:
        """Index a mesh for distances."""
        if self._alone:
            return self._one.nearest_index(mesh, threads=threads)
        return SharedNearestIndex(mesh, threads=threads, crew=self._crew)

    def block_index(self, mesh: MeshArrays, rim: Floats) -> BlockIndex:
        """Index a mesh for the shares of blocks, on one device."""
        return self._one.block_index(mesh, rim)

    def codes(self, indexes: Sequence[PointIndex], points: Points, out: Room, threads: int) -> int:
        """Write which index first holds each point; see `Backend.codes`."""
        own = [index for index in indexes if isinstance(index, SharedPointIndex)]
        if len(own) != len(indexes) or not own:
            return self._one.codes(indexes, points, out, threads)
        return ask_all(
            self._crew, points, out, threads,
            lambda *given: self._one.codes([index.here() for index in own], *given),
            lambda *given: cpu_points.codes(
                [index.on_cpu(len(given[1])) for index in own], *given
            ),
        )  # fmt: skip

    def lattice_bits(
        self, mesh: MeshArrays, axes: Columns, threads: int, index: PointIndex | None = None
    ) -> NDArray[np.uint64] | None:
        """Return labels of a lattice as bits along z; see `Backend.lattice_bits`."""
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
        """Write labels of a lattice as bits along z, in slabs along x, to ``out``."""
        if self._alone:
            return self._one.lattice_packed(mesh, axes, out, threads, index)
        workers = max(1, len(self._crew.able))
        layer = max(1, out.nbytes // max(1, len(out)))
        parts = cut(len(out), workers, max(1, LEAST_BITS // layer))
        each = max(1, threads // min(workers, len(parts)))

        def slab(some: slice) -> tuple[Columns, NDArray[np.uint8]]:
            return (axes[0][some], axes[1], axes[2]), out[some]

        decided = self._crew.share(
            parts,
            lambda some: self._one.lattice_packed(mesh, *slab(some), each, _here_too(index)),
            lambda some: cpu_lattices.lattice_packed(mesh, *slab(some), threads),
        )
        return all(decided)

    def lattice_there(
        self, mesh: MeshArrays, axes: Columns, room: DeviceRoom, index: PointIndex | None = None
    ) -> bool:
        """Write labels of a lattice to an array on a GPU, which is where they are made."""
        with device.using(device_arrays.home(room)):
            return self._one.lattice_there(mesh, axes, room, _here_too(index))

    def lattice_shares(
        self,
        mesh: MeshArrays,
        weights: NDArray[np.int8],
        edges: Columns,
        labels: NDArray[np.uint64],
        out: Floats,
        threads: int,
    ) -> int:
        """Write the shares of blocks between edges, on one device."""
        return self._one.lattice_shares(mesh, weights, edges, labels, out, threads)

    def taken(self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str) -> Taken:
        """Return "cuda", or "cpu" where no GPU answered what was asked, and why."""
        shared = [index for index in indexes if isinstance(index, SharedPointIndex)]
        if not shared:
            machine, reason = self._one.taken(indexes, why)
            return machine, self._crew.told(reason)
        made = [copy for index in shared for copy in index.copies.made()]
        machine, reason = points.taken(made, why)
        on_the_cpu = sum(index.on_the_cpu for index in shared)
        if on_the_cpu and not any(copy.answers for copy in made):
            machine = "cpu"
        if on_the_cpu:
            reason = f"{reason}; {on_the_cpu:,} answers are the CPU's"
        return machine, self._crew.told(reason)


def _here_too(index: PointIndex | None) -> PointIndex | None:
    """Return an index on this thread's device, if any device has it."""
    if not isinstance(index, SharedPointIndex):
        return index
    return index.copies.here() if index.copies.made() else None
