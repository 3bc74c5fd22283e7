"""Label the blocks of a lattice on a GPU, a few layers (blocks of equal x) at a time."""

from __future__ import annotations

import ctypes
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import cpu as cpu_lattices
from geodomain.compute import layout
from geodomain.compute.api import PointIndex
from geodomain.compute.cuda import device, driver
from geodomain.compute.cuda.buffers import Pool, Stager, allocate, allocate_pooled, upload
from geodomain.compute.cuda.device import cpu_instead, wait_for
from geodomain.compute.cuda.driver import CudaMemory, CudaStream, OutOfDeviceMemory
from geodomain.compute.cuda.points import CudaPointIndex, GridOnDevice
from geodomain.compute.data import Columns, DeviceRoom, Floats, MeshArrays
from geodomain.compute.native import addresses, core, counts

UNSURE_ROOM = 1 << 20  # pairs of a triangle and a column that quick arithmetic cannot decide
_BLOCKS = 528  # as many as run at once on a large GPU
_AHEAD = 256  # bytes before the bits: as the device aligns memory
_MANY = 4224  # triangles that keep a GPU busy with a thread each
_FEW = 1 << 19  # lanes: with more columns in each, a GPU would idle


class Workplace:
    """A stream, and device memory for labels of some lattice layers of equal x, as bits."""

    def __init__(self, room: int) -> None:
        cuda = device.driver()
        self.room = room
        self.stream = cuda.Stream()
        self.memory = cuda.mem_alloc(_AHEAD + room)
        self.bits = int(self.memory) + _AHEAD
        self.counts = self.bits - 8  # counts of unsure and undecided pairs, cleared with the bits
        self.unsure_room = UNSURE_ROOM
        self.unsure = cuda.mem_alloc(layout.structure("Pairing").size * self.unsure_room)
        self.host_counts = cuda.pagelocked_empty(2, np.uint32)

    def make_room(self, unsure: int) -> None:
        """Replace the list of unsure pairs by a list with room for `unsure` pairs.

        An unsure pair is a triangle and a column of blocks that need exact arithmetic.
        """
        del self.unsure  # first, because both may not fit
        self.unsure = allocate(layout.structure("Pairing").size * unsure)
        self.unsure_room = unsure

    def bring_counts(self) -> None:
        """Start to copy the counts of unsure and undecided pairs to the host."""
        device.driver().memcpy_dtoh_async(self.host_counts, self.counts, self.stream)


@dataclass(frozen=True)
class DeviceMesh:
    """A mesh, and the grid over its triangles on the device; `grid` is None if it is not built."""

    arrays: MeshArrays
    grid: GridOnDevice | None


@dataclass(frozen=True)
class LatticePart:
    """The lattice's layers ``begin`` to ``end`` - 1 along x, and the kernels' Ruler of their x."""

    begin: int
    end: int
    ruler: bytes


@dataclass(frozen=True)
class Rows:
    """The memory to which labels of some layers are written: ``width`` bytes per column of blocks.

    A label is a bit or, if ``as_bytes``, a byte. There is no gap between columns.
    """

    address: int
    width: int
    as_bytes: bool = False


class DeviceLattice:
    """A mesh and the axes of a lattice on the device.

    The lattice is cut along x into parts of ``layers`` layers. Each part is tested against all
    triangles. The first part has only ``first`` layers, so that copying results starts early.
    Drop this object while a context is current.
    """

    def __init__(self, mesh: DeviceMesh, axes: Columns, layers: int, first: int) -> None:
        self.words = (len(axes[2]) + 63) // 64
        self.width = len(axes[1])
        self.triangle_count = len(mesh.arrays.triangles)
        self._grid = mesh.grid  # keeps the grid's memory alive
        self.mesh = mesh.grid.mesh if mesh.grid else self._mesh(mesh.arrays)
        count = len(axes[0])
        bounds = [0, *range(first, count, layers), count]
        cuts = list(itertools.pairwise(bounds))
        along = [axes[0][begin:end] for begin, end in cuts]
        self._memory, rulers = upload_rulers([axes[1], axes[2], *along])
        self._across = rulers[:2]
        self._parts = [
            LatticePart(*cut, ruler) for cut, ruler in zip(cuts, rulers[2:], strict=True)
        ]

    def parts(self) -> Iterator[LatticePart]:
        """Yield the parts of the lattice in order."""
        yield from self._parts

    def launch(self, part: LatticePart, work: Workplace, bits: int, rows: Rows) -> None:
        """Launch the kernels that label a part and write the labels to ``rows``.

        ``bits`` is the address of the words in which each crossing toggles a bit. It may be the
        address of ``rows``.
        """
        cuda, stream = device.driver(), work.stream
        columns = (part.end - part.begin) * self.width
        across, along = self._across
        view = layout.structure("LatticeView").pack(
            x=part.ruler, y=across, z=along, words=self.words, bits=bits
        )
        counts = work.counts
        unsure = layout.structure("Pairings").pack(
            pairs=int(work.unsure), count=counts, room=work.unsure_room
        )
        size = 2 * columns * self.words
        if bits == work.bits:
            cuda.memset_d32_async(counts, 0, 2 + size, stream)
        else:
            cuda.memset_d32_async(bits, 0, size, stream)
            cuda.memset_d32_async(counts, 0, 2, stream)
        times = min(max(1, _MANY // max(1, self.triangle_count)), self.width, 65535)
        device.launch(
            "lattice.cu", "geodomain_lattice_toggle", self.triangle_count,
            view, self.mesh, unsure, stream=stream, times=times,
        )  # fmt: skip
        device.launch(
            "lattice.cu", "geodomain_lattice_full", _BLOCKS * device.block_threads(),
            view, self.mesh, unsure, counts + 4, stream=stream,
        )  # fmt: skip
        self._settle(view, columns, rows, stream)

    def _settle(self, view: bytes, columns: int, rows: Rows, stream: CudaStream) -> None:
        """Launch the kernel that turns toggled bits into labels and writes these to ``rows``."""
        lanes = min(32, 1 << (self.words - 1).bit_length())  # a word to each if there are enough
        name, width = "geodomain_lattice_settle", [ctypes.c_int32(rows.width)]
        in_flight = layout.constant("kBitsInFlight")
        if rows.width % 8 and 2 <= self.words <= lanes:
            name = "geodomain_lattice_settle_tile"
        if not rows.as_bytes and columns * lanes <= _FEW:
            name, in_flight = "geodomain_lattice_settle_few", 1
        if rows.as_bytes:
            name, width = "geodomain_lattice_settle_bytes", []
            in_flight = layout.constant("kBytesInFlight")
        threads = 32 * -(-columns * lanes // (32 * in_flight))
        device.launch(
            "lattice.cu", name, threads,
            view, ctypes.c_int32(lanes), rows.address, *width, stream=stream,
        )  # fmt: skip

    def _mesh(self, arrays: MeshArrays) -> bytes:
        self._copies = upload(arrays.vertices, arrays.triangles)
        copied_vertices, copied_triangles = map(int, self._copies)
        return layout.mesh_view(copied_vertices, copied_triangles, len(arrays.triangles))


def upload_rulers(axes: list[Floats]) -> tuple[CudaMemory, list[bytes]]:
    """Copy ascending axes and their search tables to the device.

    Return a tuple: the device memory, and a list of the kernels' Ruler of each axis.
    """
    lengths = counts([len(axis) for axis in axes])
    image = np.empty(core().rulers_room(lengths, len(axes)), dtype=np.uint8)
    memory = allocate_pooled(image.nbytes)
    rulers = layout.structure("Ruler").empty(len(axes))
    used = ctypes.c_int64()
    core().rulers(addresses(axes), lengths, len(axes), int(memory), rulers, image, used)
    device.driver().memcpy_htod(int(memory), image[: used.value])
    return memory, [ruler.tobytes() for ruler in rulers]


# Labels in host memory, slab by slab along x: computing, packing and copying overlap.

SLAB_BYTES = 16 << 20  # size of the bits in a slab, unless a layer of x is larger
_SLABS = 3  # one is computed, one copied out, one waiting
_LEAST_BYTES = 1 << 20


class Slab(Workplace):
    """Memory for the labels of some lattice layers of equal x, on the device and on the host."""

    def __init__(self, room: int) -> None:
        super().__init__(room)
        cuda = device.driver()
        self.rows = cuda.mem_alloc(room)
        self.host_rows = cuda.pagelocked_empty(room, np.uint8)


class Slabs:
    """The device memory of one call: several slabs, each for some layers of a lattice."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.slabs = [Slab(room) for _ in range(_SLABS)]


pool = Pool(Slabs, _LEAST_BYTES)

# Starts to copy a slab's labels from an address; returns a function for the step after that.
Fetch = Callable[[Slab, NDArray[np.uint8], int], Callable[[], None]]


class TooManyUnsure(Exception):
    """The list is too short for all the pairs (triangle, column) that need exact arithmetic."""


def label(
    mesh: DeviceMesh,
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
) -> bool:
    """Write to the contiguous ``out`` which blocks are inside, as bits along z, (nx, ny, bytes).

    ``bytes`` is either the smallest number that holds a column of bits, or that number rounded up
    to a multiple of 8, for 64-bit words. Returns False if a block cannot be decided.
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
    """Label with borrowed slabs; a context must be current, so that slabs can be freed."""
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
    """Compute the parts of a lattice in the slabs in turn; return whether all blocks are decided.

    The labels of a slab are copied out before the slab is used again.
    """
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
    """Return a function that starts to copy a slab's labels to the host.

    When called, that function returns a second function, which completes the copy. Call the second
    function when the slab's stream is done.
    """
    cuda = device.driver()
    if driver.is_pinned(out.ctypes.data, out.nbytes):

        def straight(slab: Slab, part: NDArray[np.uint8], address: int) -> Callable[[], None]:
            cuda.memcpy_dtoh_async(part, address, slab.stream)
            return lambda: None

        return straight

    def staged(slab: Slab, part: NDArray[np.uint8], address: int) -> Callable[[], None]:
        staging = slab.host_rows[: part.nbytes]
        cuda.memcpy_dtoh_async(staging, address, slab.stream)
        return lambda: stager.copy(staging, part)

    return staged


# Labels in the caller's array on the device.

IN_PLACE_BYTES = (
    128 << 20
)  # size of the bits at a time; smaller parts gain nothing, because nothing is copied

in_place_pool = Pool(Workplace, _LEAST_BYTES)


def label_in_place(mesh: DeviceMesh, axes: Columns, room: DeviceRoom) -> bool:
    """Write labels, as bools or as bits along z, to an array (nx, ny, any) on the device.

    Returns False if a block cannot be decided.
    """
    with device.current():
        return _label_in_place(mesh, axes, room)


def _label_in_place(mesh: DeviceMesh, axes: Columns, room: DeviceRoom) -> bool:
    """Label with borrowed memory; a context must be current, so that memory can be freed."""
    wait_for(room)
    layer = 8 * ((len(axes[2]) + 63) // 64) * len(axes[1])
    in_rows = _bits_are_the_rows(room, layer)
    wanted = 8 if in_rows else max(layer, min(IN_PLACE_BYTES, layer * len(axes[0])))
    with in_place_pool.borrowed(wanted) as work:
        layers = len(axes[0]) if in_rows else work.room // layer
        if layers == 0:
            message = "not enough GPU memory for one layer of the lattice"
            raise OutOfDeviceMemory(message)
        lattice = DeviceLattice(mesh, axes, layers, layers)
        return all([_make(lattice, part, work, room, in_rows) for part in lattice.parts()])


def _bits_are_the_rows(room: DeviceRoom, layer: int) -> bool:
    """Return whether kernels can toggle bits in the caller's array itself.

    They can if the array consists of aligned 64-bit words.
    """
    row_bytes = room.shape[1] * room.shape[2]
    return room.dtype == np.uint8 and row_bytes == layer and room.address % 8 == 0


def _make(
    lattice: DeviceLattice, part: LatticePart, work: Workplace, room: DeviceRoom, in_rows: bool
) -> bool:
    """Label a part. If the list of unsure pairs was too short, label again with a longer list.

    Returns False if a block cannot be decided.
    """
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


# Labels from the device, or from the CPU if memory is short.


def lattice_packed(
    mesh: MeshArrays,
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
    index: PointIndex | None = None,
) -> bool:
    """Write which blocks of a lattice are inside, as bits; see `Backend.lattice_packed`."""
    try:
        return label(DeviceMesh(mesh, _grid_on_device(index)), axes, out, threads)
    except OutOfDeviceMemory:
        cpu_instead(f"a lattice of {' x '.join(str(len(axis)) for axis in axes)} blocks")
    except TooManyUnsure:
        pass  # the CPU labels the whole lattice
    return cpu_lattices.lattice_packed(mesh, axes, out, threads)


def lattice_there(
    mesh: MeshArrays,
    axes: Columns,
    room: DeviceRoom,
    index: PointIndex | None = None,
) -> bool:
    """Write to ``room`` on the device which blocks are inside; see `Backend.lattice_there`."""
    return label_in_place(DeviceMesh(mesh, _grid_on_device(index)), axes, room)


def _grid_on_device(index: PointIndex | None) -> GridOnDevice | None:
    """Return the grid of an index on the device; None if the index has none there."""
    return index.grid if isinstance(index, CudaPointIndex) else None
