"""Compute which share of a block is inside a mesh, on a GPU: for lattices, and for any blocks."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.compute import cpu as cpu_lattices
from geodomain.compute import layout
from geodomain.compute.api import BlockAnswer
from geodomain.compute.cpu import CpuBlockIndex
from geodomain.compute.cuda import device, pipeline
from geodomain.compute.cuda.buffers import Stager, upload
from geodomain.compute.cuda.device import cpu_instead
from geodomain.compute.cuda.driver import CudaMemory, CudaStream, OutOfDeviceMemory
from geodomain.compute.cuda.lattices import upload_rulers
from geodomain.compute.cuda.segments import Rooms
from geodomain.compute.data import Columns, Floats, Indices, MeshArrays

LATTICE_FILE = "shares.cu"
PART_BYTES = 512 << 20  # of device memory for a part, unless a layer of x is larger


def lattice_shares(
    mesh: MeshArrays,
    weights: NDArray[np.int8],
    edges: Columns,
    labels: NDArray[np.uint64],
    out: Floats,
    threads: int,
) -> int:
    """Write the shares of a lattice's blocks, bit for bit as the CPU does.

    See `Backend.lattice_shares`.
    """
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
    """Write the shares, some layers along x at a time; a context must be current."""
    layer = out[0].nbytes + 2 * labels[0].nbytes
    layers = max(1, min(len(out), PART_BYTES // layer))
    with (
        Stager(threads) as stager,
        Rooms() as room,
        pipeline.pool.borrowed(pipeline.piece_bytes(out[:layers].nbytes)) as pieces,
    ):
        lattice = ShareLattice(mesh, weights, edges, room, layers)
        mixed = 0
        for begin in range(0, len(out), layers):
            part = slice(begin, min(begin + layers, len(out)))
            mixed += lattice.answer(part.start, part.stop, labels[part])
            pieces.bring(lattice.shares, out[part], lattice.stream, stager)
        return mixed


class ShareLattice:
    """A mesh and a lattice on the device, with memory for ``layers`` layers along x at a time."""

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
        self.shares = room(8 * (blocks + bits))  # followed by bits of entered blocks
        self.labels, self.counts, self.mixed = room(8 * bits), room(8 * self.triangles), room(8)

    def answer(self, begin: int, end: int, labels: NDArray[np.uint64]) -> int:
        """Compute the shares of layers ``begin`` to ``end`` - 1.

        Return how many blocks are partly inside.
        """
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
    """The kernel launches for a range of layers along x."""

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
        """Set all sums, and the count of blocks that are partly inside, to 0."""
        cuda, lattice = device.driver(), self._lattice
        cuda.memset_d32_async(lattice.shares, 0, 2 * self._words, lattice.stream)
        cuda.memset_d32_async(lattice.mixed, 0, 2, lattice.stream)

    def count(self) -> int:
        """Count the pairs of a triangle and a column of blocks that the triangle may meet.

        The number of the first pair of each triangle is stored on the device.
        """
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
        """Launch the kernel that counts the columns of blocks that each triangle may meet."""
        lattice = self._lattice
        device.launch(
            LATTICE_FILE, "geodomain_shares_count", lattice.triangles,
            self._view, lattice.mesh, lattice.weights, lattice.counts, stream=lattice.stream,
        )  # fmt: skip

    def shed(self, pairs: int) -> None:
        """Launch the kernel that adds up, in each column of blocks, the volumes below triangles.

        The kernel has one thread for each pair of a triangle and a column.
        """
        lattice = self._lattice
        device.launch(
            LATTICE_FILE, "geodomain_shares_shed", pairs,
            self._view, lattice.mesh, lattice.weights, lattice.counts, pairs,
            stream=lattice.stream,
        )  # fmt: skip

    def settle(self) -> None:
        """Launch the kernel that turns the sums into shares."""
        lattice = self._lattice
        device.launch(
            LATTICE_FILE, "geodomain_shares_settle",
            32 * -(-self._columns // layout.constant("kColumnsOfWarp")),
            self._view, lattice.labels, lattice.mixed, stream=lattice.stream,
        )  # fmt: skip


# Shares of blocks anywhere.

FILE = "blocks.cu"
TOGETHER = 1 << 21  # blocks on the device at a time: 69 bytes each


class CudaBlockIndex:
    """An index of one mesh and its open edges on the device; see `BlockIndex`.

    The trees of boxes are built on the host, and copied to the device.
    """

    def __init__(self, mesh: MeshArrays, rim: Floats) -> None:
        self._cpu = CpuBlockIndex(mesh, rim)
        self._memories: list[CudaMemory] = []
        self._weights: tuple[NDArray[np.int8], CudaMemory] | None = None
        trees, leaves = self._cpu.trees()
        with device.current():
            copies = upload(mesh.vertices, mesh.triangles, rim, pooled=True)
            vertices, triangles, edges = map(self._keep, copies)
            self._view = layout.structure("BlocksView").pack(
                mesh=layout.mesh_view(vertices, triangles, len(mesh.triangles)),
                tree=self._tree(trees[0], leaves[0]),
                rim=self._tree(trees[1], leaves[1]),
                edges=edges,
            )

    def _keep(self, memory: CudaMemory) -> int:
        self._memories.append(memory)
        return int(memory)

    def _tree(self, tree: np.void, leaf_count: int) -> bytes:
        """Copy a tree of boxes from the host to the device, and return the kernels' view of it."""
        node_count = int(tree["node_count"])
        held = (
            _bytes_at(int(tree[part]), layout.structure(name).size * n)
            for part, name, n in (
                ("nodes", "BoxNode", node_count),
                ("leaves", "BoxLeaf", leaf_count),
            )
        )
        nodes, leaves = map(self._keep, upload(*held, pooled=True))
        return layout.structure("BoxTreeView").pack(
            nodes=nodes, leaves=leaves, node_count=node_count
        )

    def __del__(self) -> None:
        """Free the memory in the context in which it was allocated."""
        weights = getattr(self, "_weights", None)
        device.free(*getattr(self, "_memories", ()), weights and weights[1])

    def shares(
        self,
        weights: NDArray[np.int8] | None,
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        wound: bool,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Write the shares of blocks that a triangle enters, bit for bit as the CPU does.

        See `BlockIndex.shares`.
        """
        answers = np.empty(len(out), np.uint8)
        try:
            with device.current():
                for begin in range(0, len(out), TOGETHER):
                    part = slice(begin, begin + TOGETHER)
                    self._write(weights, lows[part], highs[part], single, out[part], answers[part])
        except OutOfDeviceMemory:
            cpu_instead(f"the shares of {len(out):,} blocks")
            rows = np.arange(len(out))
        else:
            rows = np.flatnonzero(answers == BlockAnswer.BY_LINES)
        if len(rows):
            along = out[rows]
            answers[rows] = self._cpu.shares(
                weights, lows[rows], highs[rows], along, threads,
                wound=wound, lines=lines, single=single,
            )  # fmt: skip
            out[rows] = along
        return answers

    def _write(
        self,
        weights: NDArray[np.int8] | None,
        lows: Floats,
        highs: Floats,
        single: float,
        out: Floats,
        answers: NDArray[np.uint8],
    ) -> None:
        """Write the shares of blocks, except blocks that must be sampled along vertical lines.

        Such blocks are marked BY_LINES in `answers`.
        """
        rows, cuda = len(out), device.driver()
        if rows == 0:
            return
        with Rooms() as room:
            low, high, listed, count = room(24 * rows), room(24 * rows), room(4 * rows), room(4)
            kinds, shares = room(rows), room(8 * rows)
            cuda.memcpy_htod(low, lows)
            cuda.memcpy_htod(high, highs)
            cuda.memset_d32(count, 0, 1)
            cuda.memset_d32(shares, 0, 2 * rows)  # all shares are copied back
            device.launch(
                FILE, "geodomain_blocks_answer", rows,
                self._view, low, high, rows, kinds, layout.row_list(listed, count),
            )  # fmt: skip
            if weights is not None:
                device.launch(
                    FILE, "geodomain_blocks_share", device.list_threads(rows),
                    self._view, self._weights_there(weights), low, high, single,
                    listed, count, shares, kinds,
                )  # fmt: skip
            cuda.memcpy_dtoh(answers, kinds)
            answered = np.flatnonzero(answers == BlockAnswer.BY_TRIANGLES)
            if len(answered):
                computed = np.empty(rows)
                cuda.memcpy_dtoh(computed, shares)
                out[answered] = computed[answered]

    def _weights_there(self, weights: NDArray[np.int8]) -> int:
        """Return the address of the weights on the device; the copy is kept for the next call."""
        if self._weights is None or self._weights[0] is not weights:
            if self._weights is not None:
                self._weights[1].free()
                self._weights = None
            [copied] = upload(weights, pooled=True)
            self._weights = weights, copied
        return int(self._weights[1])

    def covered_shares(
        self,
        weights: NDArray[np.int8],
        lows: Floats,
        highs: Floats,
        out: Floats,
        threads: int,
        *,
        lines: int,
        single: float,
    ) -> NDArray[np.uint8]:
        """Write the shares of blocks whose plan the surface covers, on the CPU."""
        return self._cpu.covered_shares(
            weights, lows, highs, out, threads, lines=lines, single=single
        )

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return the crossings of vertical lines through each block, on the CPU."""
        return self._cpu.cuts(lows, highs, lines, threads, below=below)

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the mesh's index on the CPU."""
        return self._cpu.handle


def _bytes_at(address: int, size: int) -> NDArray[np.uint8]:
    """Return `size` bytes of the core's memory at an address, as an array."""
    if size == 0:
        return np.empty(0, np.uint8)
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(address)), np.uint8)
