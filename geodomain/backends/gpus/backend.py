"""All the GPUs of a process as a backend; with one alone it is that GPU's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import device_arrays
from geodomain.backends.api import BlockIndex, NearestIndex, PointIndex, SegmentIndex, Taken
from geodomain.backends.cpu import lattices as cpu_lattices
from geodomain.backends.cpu import points as cpu_points
from geodomain.backends.cuda import device, points
from geodomain.backends.cuda.backend import CudaBackend
from geodomain.backends.data import Columns, Floats, MeshArrays, Points, Room
from geodomain.backends.device_memory import DeviceRoom
from geodomain.backends.gpus.crew import Crew, cut
from geodomain.backends.gpus.distance import SharedNearestIndex
from geodomain.backends.gpus.points import SharedPointIndex, ask_all
from geodomain.backends.gpus.segments import SharedSegmentIndex
from geodomain.errors import DeviceError

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
