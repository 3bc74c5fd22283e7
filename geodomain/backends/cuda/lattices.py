"""Labels of a lattice's blocks from the device, or, for want of memory, from the CPU."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import PointIndex
from geodomain.backends.cpu import lattices as cpu_lattices
from geodomain.backends.cuda import lattice_slabs
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.cuda.grid import GridOnDevice
from geodomain.backends.cuda.lattice_in_place import label_in_place
from geodomain.backends.cuda.lattice_parts import DeviceMesh
from geodomain.backends.cuda.points import CudaPointIndex
from geodomain.backends.cuda.shortage import cpu_instead
from geodomain.backends.data import Columns, MeshArrays
from geodomain.backends.device_memory import DeviceRoom


def lattice_bits(
    mesh: MeshArrays,
    axes: Columns,
    threads: int,
    index: PointIndex | None = None,
) -> NDArray[np.uint64] | None:
    """Return labels of a lattice as bits along z; as the CPU's, None included."""
    words = (len(axes[2]) + 63) // 64
    out = np.empty((len(axes[0]), len(axes[1]), words), dtype=np.uint64)
    decided = lattice_packed(mesh, axes, out.view(np.uint8), threads, index)
    return out if decided else None


def lattice_packed(
    mesh: MeshArrays,
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
    index: PointIndex | None = None,
) -> bool:
    """Write labels of a lattice as bits along z; as the CPU's."""
    try:
        return lattice_slabs.label(DeviceMesh(mesh, _there(index)), axes, out, threads)
    except OutOfDeviceMemory:
        cpu_instead(f"a lattice of {' x '.join(str(len(axis)) for axis in axes)} blocks")
    except lattice_slabs.TooManyUnsure:
        pass  # more than the list holds: the CPU takes it all
    return cpu_lattices.lattice_packed(mesh, axes, out, threads)


def lattice_there(
    mesh: MeshArrays,
    axes: Columns,
    room: DeviceRoom,
    index: PointIndex | None = None,
) -> bool:
    """Write labels of a lattice to an array on the device; False if undecided."""
    return label_in_place(DeviceMesh(mesh, _there(index)), axes, room)


def _there(index: PointIndex | None) -> GridOnDevice | None:
    """Return the grid of an index, whose mesh is on the device."""
    return index.grid if isinstance(index, CudaPointIndex) else None
