"""A lattice on the device, and the launches that label a part of it; nothing is copied out."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from geodomain.backends import layout
from geodomain.backends.cuda import device
from geodomain.backends.cuda.grid import GridOnDevice
from geodomain.backends.cuda.pools import allocate, allocate_pooled
from geodomain.backends.cuda.pycuda_types import CudaMemory, CudaStream
from geodomain.backends.cuda.staging import upload
from geodomain.backends.data import Columns, Floats, MeshArrays
from geodomain.backends.native import addresses, core, counts

UNSURE_ROOM = 1 << 20  # pairs of a triangle and a column that quick arithmetic leaves open
_BLOCKS = 528  # as many as run at a time on a large card
_AHEAD = 256  # bytes before the bits: as the device aligns memory
_MANY = 4224  # triangles that keep a card busy with a thread each
_FEW = 1 << 19  # lanes that are needed anyway: more columns to each would leave a card idle


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
        self.unsure = cuda.mem_alloc(layout.structure("Pairing").size * self.unsure_room)
        self.host_counts = cuda.pagelocked_empty(2, np.uint32)

    def make_room(self, unsure: int) -> None:
        """Make the list long enough for that many unsure pairs."""
        del self.unsure  # first, for both may not fit
        self.unsure = allocate(layout.structure("Pairing").size * unsure)
        self.unsure_room = unsure

    def bring_counts(self) -> None:
        """Start a copy of what was counted."""
        device.driver().memcpy_dtoh_async(self.host_counts, self.counts, self.stream)


@dataclass(frozen=True)
class DeviceMesh:
    """A mesh, and the grid of an index that has it on the device already, if any."""

    arrays: MeshArrays
    grid: GridOnDevice | None


@dataclass(frozen=True)
class LatticePart:
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


class DeviceLattice:
    """The mesh and the rulers on the device; freed with this object, in a current context.

    It is cut along x into parts of ``layers``, for each of which all triangles are looked at;
    the first part has ``first`` of them, so that one who waits for it need not wait long.
    """

    def __init__(self, mesh: DeviceMesh, axes: Columns, layers: int, first: int) -> None:
        self.words = (len(axes[2]) + 63) // 64
        self.width = len(axes[1])
        self.triangle_count = len(mesh.arrays.triangles)
        self._grid = mesh.grid  # which keeps its memory
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
        """Return the parts in their order."""
        yield from self._parts

    def launch(self, part: LatticePart, work: Workplace, bits: int, rows: Rows) -> None:
        """Label a part by way of its bits, whose place may be the rows' where those are words."""
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
        """Make labels of toggles, and rows of labels."""
        lanes = min(32, 1 << (self.words - 1).bit_length())  # a word to each, where enough
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
    """Copy ascending axes and their tables at once; return the memory and the kernels' Rulers."""
    lengths = counts([len(axis) for axis in axes])
    image = np.empty(core().rulers_room(lengths, len(axes)), dtype=np.uint8)
    memory = allocate_pooled(image.nbytes)
    rulers = layout.structure("Ruler").empty(len(axes))
    used = ctypes.c_int64()
    core().rulers(addresses(axes), lengths, len(axes), int(memory), rulers, image, used)
    device.driver().memcpy_htod(int(memory), image[: used.value])
    return memory, [ruler.tobytes() for ruler in rulers]
