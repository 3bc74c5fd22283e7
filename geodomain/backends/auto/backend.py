"""The backend that chooses between the CPU and the GPU, call by call: see `choice`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import (
    Backend,
    PointIndex,
    SegmentIndex,
    Taken,
)
from geodomain.backends.auto.blocks import AutoBlockIndex
from geodomain.backends.auto.choice import COSTS, Answer, GpuBackend, MachineChoice
from geodomain.backends.auto.distance import AutoNearestIndex
from geodomain.backends.auto.points import AutoPointIndex
from geodomain.backends.auto.segments import AutoSegmentIndex
from geodomain.backends.data import Columns, Floats, MeshArrays, Points, Room
from geodomain.backends.device_memory import DeviceRoom


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
