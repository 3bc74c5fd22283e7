"""The CPU as a backend."""

from __future__ import annotations

from collections.abc import Sequence

from geodomain.backends.api import PointIndex, SegmentIndex, Taken
from geodomain.backends.cpu import lattices, points
from geodomain.backends.cpu.blocks import CpuBlockIndex
from geodomain.backends.cpu.nearest import CpuNearestIndex
from geodomain.backends.cpu.segments import CpuSegmentIndex
from geodomain.backends.data import Columns, Floats, MeshArrays
from geodomain.backends.device_memory import DeviceRoom


class CpuBackend:
    """The kernels on the host, by as many threads as are asked for."""

    name = "cpu"
    codes = staticmethod(points.codes)
    lattice_bits = staticmethod(lattices.lattice_bits)
    lattice_packed = staticmethod(lattices.lattice_packed)
    lattice_shares = staticmethod(lattices.lattice_shares)

    def point_index(self, mesh: MeshArrays, *, threads: int) -> points.CpuPointIndex:
        """Index a mesh for points."""
        return points.CpuPointIndex(mesh, threads=threads)

    def segment_index(
        self, mesh: MeshArrays, *, strategy: str, grid: int | None, threads: int
    ) -> CpuSegmentIndex:
        """Index a mesh for segments; ``grid`` is for GPUs."""
        return CpuSegmentIndex(mesh, strategy=strategy, threads=threads)

    def nearest_index(self, mesh: MeshArrays, *, threads: int) -> CpuNearestIndex:
        """Index a mesh for distances."""
        return CpuNearestIndex(mesh, threads=threads)

    def block_index(self, mesh: MeshArrays, rim: Floats) -> CpuBlockIndex:
        """Index a mesh for the shares of blocks."""
        return CpuBlockIndex(mesh, rim)

    def lattice_there(
        self, mesh: MeshArrays, axes: Columns, room: DeviceRoom, index: PointIndex | None = None
    ) -> bool:
        """Refuse: what is on a GPU never comes here (`arrays.require_gpu`)."""
        raise TypeError(points.NOT_HERE)

    def taken(self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str) -> Taken:
        """Return "cpu" and why."""
        return "cpu", why
