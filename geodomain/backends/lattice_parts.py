"""A lattice on the device, and the launches that label a part of it; nothing is copied out."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import device
from geodomain.backends.cpu import Columns, Floats
from geodomain.backends.grid_on_device import resident
from geodomain.backends.native import library, must, pointer
from geodomain.backends.pools import allocate, allocate_pooled
from geodomain.backends.staging import upload

UNSURE_ROOM = 1 << 20  # pairs of a triangle and a column that quick arithmetic leaves open
_RULER_BYTES = 48  # as in kernels/lattice.h
_THREADS = device.BLOCK * 528  # as many as run at a time on a large card
_AHEAD = 256  # bytes before the bits: as the device aligns memory
_MANY = _THREADS // 16  # triangles that keep a card busy with a thread each
_FEW = 1 << 19  # lanes that are needed anyway: more columns to each would leave a card idle
_BITS_IN_FLIGHT, _BYTES_IN_FLIGHT = 8, 4  # columns to a lane, as in lattice_settle.h


class Workplace:
    """A stream, and room for the bits of some layers of x."""

    def __init__(self, room: int) -> None:
        cuda = device.driver()
        self.room = room
        self.stream = cuda.Stream()
        self.memory = cuda.mem_alloc(_AHEAD + room)
        self.bits = int(self.memory) + _AHEAD
        self.counts = self.bits - 8  # unsure pairs, undecided ones: cleared with the bits
        self.unsure_room = UNSURE_ROOM
        self.unsure = cuda.mem_alloc(12 * self.unsure_room)
        self.host_counts = cuda.pagelocked_empty(2, np.uint32)

    def make_room(self, unsure: int) -> None:
        """Make the list long enough for that many unsure pairs."""
        self.unsure = None  # first, for both may not fit
        self.unsure = allocate(12 * unsure)
        self.unsure_room = unsure

    def bring_counts(self) -> None:
        """Start a copy of what was counted."""
        device.driver().memcpy_dtoh_async(self.host_counts, self.counts, self.stream)


@dataclass(frozen=True)
class Part:
    """Layers of x from ``begin`` to ``end``, with their ruler."""

    begin: int
    end: int
    ruler: bytes


@dataclass(frozen=True)
class Rows:
    """Where a part's labels go: columns one after the other, of ``width`` bytes each.

    They are of bits, or, where ``as_bytes``, a byte to a block.
    """

    address: int
    width: int
    as_bytes: bool = False


class Lattice:
    """The mesh and the rulers on the device; freed with this object, in a current context.

    It is cut along x into parts of ``layers``, for each of which all triangles are looked at;
    the first part has ``first`` of them, so that one who waits for it need not wait long.
    """

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        axes: Columns,
        layers: int,
        first: int,
    ) -> None:
        self.words = (len(axes[2]) + 63) // 64
        self.width = len(axes[1])
        self.triangle_count = len(triangles)
        self.grid = resident(vertices, triangles)
        self.mesh = self.grid.mesh if self.grid else self._mesh(vertices, triangles)
        count = len(axes[0])
        bounds = [0, *range(first, count, layers), count]
        cuts = list(itertools.pairwise(bounds))
        along = [axes[0][begin:end] for begin, end in cuts]
        self._memory, rulers = _upload_rulers([axes[1], axes[2], *along])
        self._across = rulers[:2]
        self._parts = [Part(*cut, ruler) for cut, ruler in zip(cuts, rulers[2:], strict=True)]

    def parts(self) -> Iterator[Part]:
        """Give the parts in their order."""
        yield from self._parts

    def launch(self, part: Part, work: Workplace, bits: int, rows: Rows) -> None:
        """Label a part by way of its bits, whose place may be the rows' where those are words."""
        cuda, stream = device.driver(), work.stream
        columns = (part.end - part.begin) * self.width
        view = device.structure(part.ruler, *self._across, ctypes.c_int32(self.words), bits)
        counts, room = work.counts, ctypes.c_uint32(work.unsure_room)
        size = 2 * columns * self.words
        if bits == work.bits:
            cuda.memset_d32_async(counts, 0, 2 + size, stream)
        else:
            cuda.memset_d32_async(bits, 0, size, stream)
            cuda.memset_d32_async(counts, 0, 2, stream)
        times = min(max(1, _MANY // max(1, self.triangle_count)), self.width, 65535)
        device.launch(
            "lattice.cu", "geodomain_lattice_toggle", self.triangle_count,
            view, self.mesh, int(work.unsure), counts, room, stream=stream, times=times,
        )  # fmt: skip
        device.launch(
            "lattice.cu", "geodomain_lattice_full", _THREADS,
            view, self.mesh, int(work.unsure), counts, room, counts + 4, stream=stream,
        )  # fmt: skip
        self._settle(view, columns, rows, stream)

    def _settle(self, view: bytes, columns: int, rows: Rows, stream: Any) -> None:
        """Make labels of toggles, and rows of labels."""
        lanes = min(32, 1 << (self.words - 1).bit_length())  # a word to each, where enough
        name, width = "geodomain_lattice_settle", [ctypes.c_int32(rows.width)]
        in_flight = _BITS_IN_FLIGHT
        if rows.width % 8 and 2 <= self.words <= lanes:
            name = "geodomain_lattice_settle_tile"
        if not rows.as_bytes and columns * lanes <= _FEW:
            name, in_flight = "geodomain_lattice_settle_few", 1
        if rows.as_bytes:
            name, width, in_flight = "geodomain_lattice_settle_bytes", [], _BYTES_IN_FLIGHT
        threads = 32 * -(-columns * lanes // (32 * in_flight))
        device.launch(
            "lattice.cu", name, threads,
            view, ctypes.c_int32(lanes), rows.address, *width, stream=stream,
        )  # fmt: skip

    def _mesh(self, vertices: Floats, triangles: NDArray[np.int32]) -> bytes:
        self._copies = upload(vertices), upload(triangles)
        return device.structure(*map(int, self._copies), len(triangles))


def _upload_rulers(axes: list[Floats]) -> tuple[Any, list[bytes]]:
    """Copy ascending axes and their tables at once; return the memory and the kernels' Rulers."""
    counts = [len(axis) for axis in axes]
    image = np.empty(16 * sum(counts) + 8 * len(axes), dtype=np.uint8)
    memory = allocate_pooled(image.nbytes)
    rulers = np.empty((len(axes), _RULER_BYTES), dtype=np.uint8)
    used = ctypes.c_int64()
    must(
        library().geodomain_rulers(
            (ctypes.c_void_p * len(axes))(*[axis.ctypes.data for axis in axes]),
            (ctypes.c_int64 * len(axes))(*counts), ctypes.c_int64(len(axes)),
            ctypes.c_uint64(int(memory)), pointer(rulers), pointer(image), ctypes.byref(used),
        )
    )  # fmt: skip
    device.driver().memcpy_htod(int(memory), image[: used.value])
    return memory, [ruler.tobytes() for ruler in rulers]
