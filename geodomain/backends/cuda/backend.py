"""A GPU as a backend, through PyCUDA."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import BlockIndex, PointIndex, SegmentIndex, Taken
from geodomain.backends.cuda import device, lattices, points
from geodomain.backends.cuda.distance import CudaNearestIndex
from geodomain.backends.cuda.segments import CudaSegmentIndex
from geodomain.backends.data import Columns, Floats, MeshArrays
from geodomain.errors import DeviceError


class CudaBackend:
    """The kernels on one device; DeviceError where there is none that can be used."""

    name = "cuda"
    codes = staticmethod(points.codes)
    lattice_bits = staticmethod(lattices.lattice_bits)
    lattice_packed = staticmethod(lattices.lattice_packed)
    lattice_there = staticmethod(lattices.lattice_there)

    def start(self) -> None:
        """Make the device's context, or say why there is none."""
        with device.current():
            pass

    def point_index(self, mesh: MeshArrays, *, threads: int) -> points.CudaPointIndex:
        """Index a mesh for points."""
        return points.CudaPointIndex(mesh, threads=threads)

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> CudaSegmentIndex:
        """Index a mesh for segments."""
        return CudaSegmentIndex(mesh, strategy=strategy, grid=grid)

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> CudaNearestIndex:
        """Index a mesh for distances."""
        return CudaNearestIndex(mesh)

    def block_index(self, mesh: MeshArrays, rim: Floats) -> BlockIndex:
        """Refuse: shares of blocks are computed on the CPU."""
        raise DeviceError(_only_on_the_cpu("shares of blocks"))

    def lattice_shares(
        self,
        mesh: MeshArrays,
        weights: NDArray[np.int8],
        edges: Columns,
        labels: NDArray[np.uint64],
        out: Floats,
        threads: int,
    ) -> int:
        """Refuse: shares of blocks are computed on the CPU."""
        raise DeviceError(_only_on_the_cpu("shares of blocks"))

    def taken(self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str) -> Taken:
        """Return "cuda", or "cpu" where it had no memory for what it was asked, and why."""
        own = [index for index in indexes if isinstance(index, points.CudaPointIndex)]
        return points.taken(own, why)


def _only_on_the_cpu(what: str) -> str:
    return f"{what} are computed on the CPU only: use backend='auto' or 'cpu'"
