"""A lattice's labels in the caller's array on the device, made there; only counts are copied."""

from __future__ import annotations

import numpy as np

from geodomain.backends.cuda import device
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.cuda.lattice_parts import (
    DeviceLattice,
    DeviceMesh,
    LatticePart,
    Rows,
    Workplace,
)
from geodomain.backends.cuda.pools import Pool
from geodomain.backends.cuda.streams import wait_for
from geodomain.backends.data import Columns
from geodomain.backends.device_memory import DeviceRoom

SLAB_BYTES = 128 << 20  # of bits at a time: nothing is gained by less where nothing is copied
_LEAST_BYTES = 1 << 20

pool = Pool(Workplace, _LEAST_BYTES)


def label_in_place(mesh: DeviceMesh, axes: Columns, room: DeviceRoom) -> bool:
    """Write bools, or bits along z, to an array of shape (nx, ny, any); False if undecided."""
    with device.current():
        return _label(mesh, axes, room)


def _label(mesh: DeviceMesh, axes: Columns, room: DeviceRoom) -> bool:
    """Borrow and label; what nobody keeps goes with this frame, in the context."""
    wait_for(room)
    layer = 8 * ((len(axes[2]) + 63) // 64) * len(axes[1])
    in_rows = _bits_are_the_rows(room, layer)
    wanted = 8 if in_rows else max(layer, min(SLAB_BYTES, layer * len(axes[0])))
    with pool.borrowed(wanted) as work:
        layers = len(axes[0]) if in_rows else work.room // layer
        if layers == 0:
            message = "not enough GPU memory for one layer of the lattice"
            raise OutOfDeviceMemory(message)
        lattice = DeviceLattice(mesh, axes, layers, layers)
        return all([_make(lattice, part, work, room, in_rows) for part in lattice.parts()])


def _bits_are_the_rows(room: DeviceRoom, layer: int) -> bool:
    """Return whether the array can hold the kernels' words themselves."""
    row_bytes = room.shape[1] * room.shape[2]
    return room.dtype == np.uint8 and row_bytes == layer and room.address % 8 == 0


def _make(
    lattice: DeviceLattice, part: LatticePart, work: Workplace, room: DeviceRoom, in_rows: bool
) -> bool:
    """Label a part, again where its list of unsure pairs was too short; False if undecided."""
    depth = room.shape[2]
    address = room.address + part.begin * room.shape[1] * depth
    rows = Rows(address, depth, as_bytes=room.dtype == np.bool_)
    while True:
        lattice.launch(part, work, address if in_rows else work.bits, rows)
        work.bring_counts()
        work.stream.synchronize()
        unsure, undecided = map(int, work.host_counts)
        if unsure <= work.unsure_room:
            return undecided == 0
        work.make_room(unsure)
