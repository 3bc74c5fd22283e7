"""Run queries on one GPU through PyCUDA."""

from __future__ import annotations

from collections.abc import Sequence

from geodomain.compute.api import MachineUsed, PointIndex, SegmentIndex
from geodomain.compute.cuda import device, lattices, points
from geodomain.compute.cuda.distance import CudaNearestIndex
from geodomain.compute.cuda.segments import CudaSegmentIndex
from geodomain.compute.cuda.shares import CudaBlockIndex, lattice_shares
from geodomain.compute.data import Floats, MeshArrays


class CudaBackend:
    """The kernels on one device; DeviceError if no device can be used."""

    name = "cuda"
    codes = staticmethod(points.codes)
    lattice_bits = staticmethod(lattices.lattice_bits)
    lattice_packed = staticmethod(lattices.lattice_packed)
    lattice_there = staticmethod(lattices.lattice_there)
    lattice_shares = staticmethod(lattice_shares)

    def start(self) -> None:
        """Create the device's context; DeviceError if that fails."""
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

    def block_index(self, mesh: MeshArrays, rim: Floats) -> CudaBlockIndex:
        """Index a mesh for the shares of blocks; the rim's edges are (m, 2, 3)."""
        return CudaBlockIndex(mesh, rim)

    def machine_used(
        self, indexes: Sequence[PointIndex] | Sequence[SegmentIndex], why: str
    ) -> MachineUsed:
        """Return "cuda", or "cpu" if GPU memory was short for all queries, and the reason."""
        own = [index for index in indexes if isinstance(index, points.CudaPointIndex)]
        return points.machine_used(own, why)
