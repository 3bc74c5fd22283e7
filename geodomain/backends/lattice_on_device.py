"""A lattice's labels from the device, slab by slab along x: made, packed and copied out at once."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import device, libcuda
from geodomain.backends.cpu import Columns, Floats
from geodomain.backends.grid_on_device import resident
from geodomain.backends.mishaps import OutOfDeviceMemory
from geodomain.backends.native import library, must, pointer
from geodomain.backends.pools import Pool
from geodomain.backends.staging import Stager

SLAB_BYTES = 16 << 20  # of bits that one slab has, where a layer of x is not larger
_SLABS = 3  # made, copied out, and waited for
_LEAST_BYTES = 1 << 20
_UNSURE_ROOM = 1 << 20  # pairs of a triangle and a column that quick arithmetic leaves open
_THREADS = device.BLOCK * device.LIST_BLOCKS


class Slab:
    """Room for the bits of some layers of x, and a stream for them."""

    def __init__(self, size: int) -> None:
        cuda = device.driver()
        self.stream = cuda.Stream()
        self.done = cuda.Event(cuda.event_flags.DISABLE_TIMING)
        self.bits = cuda.mem_alloc(size)
        self.rows = cuda.mem_alloc(size)
        self.unsure = cuda.mem_alloc(12 * _UNSURE_ROOM)
        self.counts = cuda.mem_alloc(8)  # unsure pairs, undecided ones
        self.host_rows = cuda.pagelocked_empty(size, np.uint8)
        self.host_counts = cuda.pagelocked_empty(2, np.uint32)


class Slabs:
    """What one lattice at a time works with."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.slabs = [Slab(room) for _ in range(_SLABS)]


pool = Pool(Slabs, _LEAST_BYTES)


class TooManyUnsure(Exception):
    """More pairs were left to the full arithmetic than there is room for."""


def label(
    vertices: Floats,
    triangles: NDArray[np.int32],
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
        return _label(vertices, triangles, axes, out, threads, layer, room)


def _label(
    vertices: Floats,
    triangles: NDArray[np.int32],
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
    layer: int,
    room: int,
) -> bool:
    """Borrow and label; slabs that nobody keeps go with this frame, in the context."""
    with Stager(threads) as stager, pool.borrowed(room) as slabs:
        if slabs.room < layer:
            message = "the GPU has not the memory for one layer of the lattice"
            raise OutOfDeviceMemory(message)
        lattice = _Lattice(vertices, triangles, axes, max(1, slabs.room // layer))
        fetch = _fetcher(out, stager)
        return _run(lattice, out, slabs.slabs, fetch)


class _Lattice:
    """The mesh and the rulers on the device; freed with this object, in a current context."""

    def __init__(
        self, vertices: Floats, triangles: NDArray[np.int32], axes: Columns, layers: int
    ) -> None:
        self.words = (len(axes[2]) + 63) // 64
        self.columns = len(axes[1])
        self.triangle_count = len(triangles)
        self.grid = resident(vertices, triangles)
        self.mesh = self.grid.mesh if self.grid else self._mesh(vertices, triangles)
        self._slabs = [
            (begin, min(begin + layers, len(axes[0]))) for begin in range(0, len(axes[0]), layers)
        ]
        along = [axes[0][begin:end] for begin, end in self._slabs]
        self._memory, rulers = _upload_rulers([axes[1], axes[2], *along])
        self._across, self._along = rulers[:2], rulers[2:]

    def parts(self) -> Iterator[tuple[int, int, bytes]]:
        """Give the layers of each slab and its x ruler."""
        for (begin, end), ruler in zip(self._slabs, self._along, strict=True):
            yield begin, end, ruler

    def view(self, ruler: bytes, bits: int) -> bytes:
        """Return the kernels' view of a slab."""
        return device.structure(ruler, *self._across, ctypes.c_int32(self.words), bits)

    def _mesh(self, vertices: Floats, triangles: NDArray[np.int32]) -> bytes:
        self._copies = device.upload(vertices), device.upload(triangles)
        return device.structure(*map(int, self._copies), len(triangles))


def _upload_rulers(axes: list[Floats]) -> tuple[Any, list[bytes]]:
    """Copy ascending axes and their tables at once; return the memory and the kernels' Rulers."""
    parts: list[NDArray[np.uint8]] = []
    places, size = [], 0
    for axis in axes:
        values = np.ascontiguousarray(axis)
        first = np.empty(2 * len(values) + 2, dtype=np.int32)  # one more, for a whole word
        record = ctypes.create_string_buffer(24)
        must(
            library().geodomain_ruler(
                pointer(values), ctypes.c_int64(len(values)), record, pointer(first)
            )
        )
        parts += [values.view(np.uint8), first.view(np.uint8)]
        places.append((size, len(values), record.raw, size + values.nbytes))
        size += values.nbytes + first.nbytes
    memory = device.upload(np.concatenate(parts))
    start = int(memory)
    return memory, [
        device.structure(start + values_at, ctypes.c_int32(count), record, start + first_at)
        for values_at, count, record, first_at in places
    ]


def _run(lattice: _Lattice, out: NDArray[np.uint8], slabs: list[Slab], fetch: Any) -> bool:
    """Send slabs round in turn; each is taken out before its memory comes round again."""
    under_way: deque[tuple[Slab, Callable[[], None]]] = deque()
    undecided = 0

    def take_out() -> int:
        slab, deliver = under_way.popleft()
        slab.done.synchronize()
        deliver()
        if slab.host_counts[0] > _UNSURE_ROOM:
            raise TooManyUnsure
        return int(slab.host_counts[1])

    for number, (begin, end, ruler) in enumerate(lattice.parts()):
        if len(under_way) == len(slabs):
            undecided += take_out()
        slab = slabs[number % len(slabs)]
        part = out[begin:end]
        address = _make(lattice, lattice.view(ruler, int(slab.bits)), slab, part)
        deliver = fetch(slab, part, address)
        device.driver().memcpy_dtoh_async(slab.host_counts, slab.counts, slab.stream)
        slab.done.record(slab.stream)
        under_way.append((slab, deliver))
    while under_way:
        undecided += take_out()
    return undecided == 0


def _make(lattice: _Lattice, view: bytes, slab: Slab, part: NDArray[np.uint8]) -> int:
    """Launch what labels a slab; return where its rows are."""
    cuda, stream = device.driver(), slab.stream
    columns, pitch = part.shape[0] * part.shape[1], 8 * lattice.words
    counts, room = int(slab.counts), ctypes.c_uint32(_UNSURE_ROOM)
    cuda.memset_d32_async(int(slab.bits), 0, columns * pitch // 4, stream)
    cuda.memset_d32_async(counts, 0, 2, stream)
    device.launch(
        "lattice.cu", "geodomain_lattice_toggle", lattice.triangle_count,
        view, lattice.mesh, int(slab.unsure), counts, room, stream=stream,
    )  # fmt: skip
    device.launch(
        "lattice.cu", "geodomain_lattice_full", _THREADS,
        view, lattice.mesh, int(slab.unsure), counts, room, counts + 4, stream=stream,
    )  # fmt: skip
    lanes = min(32, 1 << (lattice.words - 1).bit_length())  # a word to each, where enough
    device.launch(
        "lattice.cu", "geodomain_lattice_settle", lanes * columns,
        view, ctypes.c_int32(lanes), stream=stream,
    )  # fmt: skip
    if part.shape[2] == pitch:
        return int(slab.bits)
    sizes = [ctypes.c_uint32(size) for size in (pitch, part.shape[2], part.nbytes)]
    device.launch(
        "answers.cu", "geodomain_pack_rows", -(-part.nbytes // 4),
        int(slab.bits), *sizes, int(slab.rows), stream=stream,
    )  # fmt: skip
    return int(slab.rows)


def _fetcher(out: NDArray[np.uint8], stager: Stager) -> Any:
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
