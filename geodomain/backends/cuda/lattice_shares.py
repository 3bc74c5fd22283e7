"""Shares of a lattice's blocks on a GPU, some layers of x at a time: the launches; no geometry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.cpu import lattices as cpu_lattices
from geodomain.backends.cuda import device, outlet
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.cuda.hierarchy import Rooms
from geodomain.backends.cuda.lattice_parts import upload_rulers
from geodomain.backends.cuda.pycuda_types import CudaStream
from geodomain.backends.cuda.shortage import cpu_instead
from geodomain.backends.cuda.staging import Stager, upload
from geodomain.backends.data import Columns, Floats, MeshArrays

FILE = "shares.cu"
PART_BYTES = 512 << 20  # of the device at a time, where a layer of x is not larger


def lattice_shares(
    mesh: MeshArrays,
    weights: NDArray[np.int8],
    edges: Columns,
    labels: NDArray[np.uint64],
    out: Floats,
    threads: int,
) -> int:
    """Write the shares of blocks between edges; as the CPU's, with the same bits."""
    try:
        with device.current():
            return _write(mesh, weights, edges, labels, out, threads)
    except OutOfDeviceMemory:
        cpu_instead(f"the shares of {' x '.join(str(len(axis) - 1) for axis in edges)} blocks")
    return cpu_lattices.lattice_shares(mesh, weights, edges, labels, out, threads)


def _write(
    mesh: MeshArrays,
    weights: NDArray[np.int8],
    edges: Columns,
    labels: NDArray[np.uint64],
    out: Floats,
    threads: int,
) -> int:
    """Write part by part; what is borrowed goes with this frame, in the context."""
    layer = out[0].nbytes + 2 * labels[0].nbytes
    layers = max(1, min(len(out), PART_BYTES // layer))
    with (
        Stager(threads) as stager,
        Rooms() as room,
        outlet.pool.borrowed(outlet.room_for(out[:layers].nbytes)) as pieces,
    ):
        lattice = ShareLattice(mesh, weights, edges, room, layers)
        mixed = 0
        for begin in range(0, len(out), layers):
            part = slice(begin, min(begin + layers, len(out)))
            mixed += lattice.answer(part.start, part.stop, labels[part])
            pieces.bring(lattice.shares, out[part], lattice.stream, stager)
        return mixed


class ShareLattice:
    """A mesh and a lattice on the device, with room for ``layers`` of x at a time."""

    def __init__(
        self, mesh: MeshArrays, weights: NDArray[np.int8], edges: Columns, room: Rooms, layers: int
    ) -> None:
        self.stream: CudaStream = device.driver().Stream()
        self.triangles = len(mesh.triangles)
        self._copies = upload(mesh.vertices, mesh.triangles, weights, pooled=True)
        vertices, triangles, self.weights = map(int, self._copies)
        self.mesh = layout.mesh_view(vertices, triangles, self.triangles)
        self._memory, rulers = upload_rulers(list(edges))
        self.rulers = dict(zip("xyz", rulers, strict=True))
        self.rows, self.layers = len(edges[1]) - 1, len(edges[2]) - 1
        self.words = (self.layers + 63) // 64
        blocks, bits = (layers * self.rows * count for count in (self.layers, self.words))
        self.shares = room(8 * (blocks + bits))  # what triangles enter comes after them
        self.labels, self.counts, self.mixed = room(8 * bits), room(8 * self.triangles), room(8)

    def answer(self, begin: int, end: int, labels: NDArray[np.uint64]) -> int:
        """Make the shares of the layers from begin to end; return how many blocks are mixed."""
        part = SharePart(self, begin, end)
        part.clear()
        pairs = part.count()
        device.driver().memcpy_htod(self.labels, labels)
        part.shed(pairs)
        part.settle()
        mixed = np.empty(1, np.uint64)
        self.stream.synchronize()
        device.driver().memcpy_dtoh(mixed, self.mixed)
        return int(mixed[0])


class SharePart:
    """The launches for some layers of x."""

    def __init__(self, lattice: ShareLattice, begin: int, end: int) -> None:
        self._lattice = lattice
        self._columns = (end - begin) * lattice.rows
        blocks, bits = self._columns * lattice.layers, self._columns * lattice.words
        self._words = blocks + bits
        self._view = layout.structure("ShareLattice").pack(
            **lattice.rulers, steps=lattice.shares, entered=lattice.shares + 8 * blocks,
            words=lattice.words, x_begin=begin, x_end=end,
        )  # fmt: skip

    def clear(self) -> None:
        """Let nothing be added up."""
        cuda, lattice = device.driver(), self._lattice
        cuda.memset_d32_async(lattice.shares, 0, 2 * self._words, lattice.stream)
        cuda.memset_d32_async(lattice.mixed, 0, 2, lattice.stream)

    def count(self) -> int:
        """Return how many pairs of a triangle and a column there are; note where each begins."""
        lattice = self._lattice
        if lattice.triangles == 0:
            return 0
        self.launch_count()
        counts = np.empty(lattice.triangles, np.uint64)
        lattice.stream.synchronize()
        device.driver().memcpy_dtoh(counts, lattice.counts)
        ends = np.cumsum(counts, dtype=np.uint64)
        device.driver().memcpy_htod(lattice.counts, ends - counts)
        return int(ends[-1])

    def launch_count(self) -> None:
        """Count the columns that each triangle may meet."""
        lattice = self._lattice
        device.launch(
            FILE, "geodomain_shares_count", lattice.triangles,
            self._view, lattice.mesh, lattice.weights, lattice.counts, stream=lattice.stream,
        )  # fmt: skip

    def shed(self, pairs: int) -> None:
        """Add what every triangle has in every column, a thread to each pair of them."""
        lattice = self._lattice
        device.launch(
            FILE, "geodomain_shares_shed", pairs,
            self._view, lattice.mesh, lattice.weights, lattice.counts, pairs,
            stream=lattice.stream,
        )  # fmt: skip

    def settle(self) -> None:
        """Make shares of what was added up."""
        lattice = self._lattice
        device.launch(
            FILE, "geodomain_shares_settle",
            32 * -(-self._columns // layout.constant("kColumnsOfWarp")),
            self._view, lattice.labels, lattice.mixed, stream=lattice.stream,
        )  # fmt: skip
