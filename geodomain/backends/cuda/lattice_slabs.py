"""A lattice's labels from the device, slab by slab along x: made, packed and copied out at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.cuda import device, libcuda
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.cuda.lattice_parts import DeviceLattice, DeviceMesh, Rows, Workplace
from geodomain.backends.cuda.pools import Pool
from geodomain.backends.cuda.staging import Stager
from geodomain.backends.data import Columns

SLAB_BYTES = 16 << 20  # of bits that one slab has, where a layer of x is not larger
_SLABS = 3  # made, copied out, and waited for
_LEAST_BYTES = 1 << 20


class Slab(Workplace):
    """Room for the labels of some layers of x, on their way out."""

    def __init__(self, room: int) -> None:
        super().__init__(room)
        cuda = device.driver()
        self.rows = cuda.mem_alloc(room)
        self.host_rows = cuda.pagelocked_empty(room, np.uint8)


class Slabs:
    """What one lattice at a time works with."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.slabs = [Slab(room) for _ in range(_SLABS)]


pool = Pool(Slabs, _LEAST_BYTES)

# Starts a copy of a slab's rows, which are at an address; returns what is left to do after it.
Fetch = Callable[[Slab, NDArray[np.uint8], int], Callable[[], None]]


class TooManyUnsure(Exception):
    """More pairs were left to the full arithmetic than there is room for."""


def label(
    mesh: DeviceMesh,
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
) -> bool:
    """Write bits along z to ``out`` of shape (nx, ny, bytes), contiguous; False if undecided.

    ``bytes`` is that of whole words, or of as few bytes as hold the column.
    """
    words = (len(axes[2]) + 63) // 64
    layer = 8 * words * len(axes[1])
    room = max(layer, min(SLAB_BYTES, layer * len(axes[0])))
    with device.current():
        return _label(mesh, axes, out, threads, layer, room)


def _label(
    mesh: DeviceMesh,
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
    layer: int,
    room: int,
) -> bool:
    """Borrow and label; slabs that nobody keeps go with this frame, in the context."""
    with Stager(threads) as stager, pool.borrowed(room) as slabs:
        if slabs.room < layer:
            message = "not enough GPU memory for one layer of the lattice"
            raise OutOfDeviceMemory(message)
        layers = max(1, slabs.room // layer)
        first = max(1, layers // 4) if layers < len(axes[0]) else layers
        lattice = DeviceLattice(mesh, axes, layers, first)
        fetch = _fetcher(out, stager)
        return _run(lattice, out, slabs.slabs, fetch)


def _run(lattice: DeviceLattice, out: NDArray[np.uint8], slabs: list[Slab], fetch: Fetch) -> bool:
    """Send slabs round in turn; each is taken out before its memory comes round again."""
    under_way: deque[tuple[Slab, Callable[[], None]]] = deque()
    undecided = 0

    def take_out() -> int:
        slab, deliver = under_way.popleft()
        slab.stream.synchronize()
        deliver()
        if slab.host_counts[0] > slab.unsure_room:
            raise TooManyUnsure
        return int(slab.host_counts[1])

    for number, part in enumerate(lattice.parts()):
        if len(under_way) == len(slabs):
            undecided += take_out()
        slab = slabs[number % len(slabs)]
        bits, rows = slab.bits, int(slab.rows)
        address = bits if out.shape[2] == 8 * lattice.words else rows
        lattice.launch(part, slab, bits, Rows(address, out.shape[2]))
        deliver = fetch(slab, out[part.begin : part.end], address)
        slab.bring_counts()
        under_way.append((slab, deliver))
    while under_way:
        undecided += take_out()
    return undecided == 0


def _fetcher(out: NDArray[np.uint8], stager: Stager) -> Fetch:
    """Return what starts a copy of a slab's rows, and returns what is left to do after it."""
    cuda = device.driver()
    if libcuda.is_pinned(out.ctypes.data, out.nbytes):

        def straight(slab: Slab, part: NDArray[np.uint8], address: int) -> Callable[[], None]:
            cuda.memcpy_dtoh_async(part, address, slab.stream)
            return lambda: None

        return straight

    def staged(slab: Slab, part: NDArray[np.uint8], address: int) -> Callable[[], None]:
        kept = slab.host_rows[: part.nbytes]
        cuda.memcpy_dtoh_async(kept, address, slab.stream)
        return lambda: stager.copy(kept, part)

    return staged
