"""Shares of blocks anywhere on a GPU, through PyCUDA: the launches; no geometry.

Blocks that have to go along lines, where triangles cross or a surface folds, are listed by the
kernels and left to the CPU.
"""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.api import BlockAnswer
from geodomain.backends.cpu.blocks import CpuBlockIndex
from geodomain.backends.cuda import device
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.backends.cuda.hierarchy import Rooms
from geodomain.backends.cuda.pycuda_types import CudaMemory
from geodomain.backends.cuda.shortage import cpu_instead
from geodomain.backends.cuda.staging import upload
from geodomain.backends.data import Floats, Indices, MeshArrays

FILE = "blocks.cu"
TOGETHER = 1 << 21  # blocks on the device at a time: 69 bytes each


class CudaBlockIndex:
    """One mesh's triangles and its rim on the device, ready to be asked about blocks anywhere.

    The trees are made on the host, where they are needed too.
    """

    def __init__(self, mesh: MeshArrays, rim: Floats) -> None:
        self._cpu = CpuBlockIndex(mesh, rim)
        self._kept: list[CudaMemory] = []
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
        self._kept.append(memory)
        return int(memory)

    def _tree(self, tree: np.void, leaf_count: int) -> bytes:
        """Return the kernels' view of a copy of a tree of the host's."""
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
        """Give the memory back, in the context that it came from."""
        weights = getattr(self, "_weights", None)
        device.free(*getattr(self, "_kept", ()), weights and weights[1])

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
        """Write shares where a triangle enters a block; as the CPU's, with the same bits."""
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
        """Answer some blocks; those that have to go along lines are said to, and not written."""
        rows, cuda = len(out), device.driver()
        if rows == 0:
            return
        with Rooms() as room:
            low, high, listed, count = room(24 * rows), room(24 * rows), room(4 * rows), room(4)
            said, shares = room(rows), room(8 * rows)
            cuda.memcpy_htod(low, lows)
            cuda.memcpy_htod(high, highs)
            cuda.memset_d32(count, 0, 1)
            cuda.memset_d32(shares, 0, 2 * rows)  # all of them are copied back
            device.launch(
                FILE, "geodomain_blocks_answer", rows,
                self._view, low, high, rows, said, layout.row_list(listed, count),
            )  # fmt: skip
            if weights is not None:
                device.launch(
                    FILE, "geodomain_blocks_share", device.list_threads(rows),
                    self._view, self._weights_there(weights), low, high, single,
                    listed, count, shares, said,
                )  # fmt: skip
            cuda.memcpy_dtoh(answers, said)
            answered = np.flatnonzero(answers == BlockAnswer.BY_TRIANGLES)
            if len(answered):
                found = np.empty(rows)
                cuda.memcpy_dtoh(found, shares)
                out[answered] = found[answered]

    def _weights_there(self, weights: NDArray[np.int8]) -> int:
        """Return where weights are on the device; the last ones stay there."""
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
        """Write shares of blocks whose plans are covered, which the CPU finds."""
        return self._cpu.covered_shares(
            weights, lows, highs, out, threads, lines=lines, single=single
        )

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return what vertical lines through each block cross, which the CPU finds."""
        return self._cpu.cuts(lows, highs, lines, threads, below=below)

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the CPU's index."""
        return self._cpu.handle


def _bytes_at(address: int, size: int) -> NDArray[np.uint8]:
    """Return memory of the core as an array."""
    if size == 0:
        return np.empty(0, np.uint8)
    return np.frombuffer(memoryview((ctypes.c_char * size).from_address(address)), np.uint8)
