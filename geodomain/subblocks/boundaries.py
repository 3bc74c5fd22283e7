"""The wireframes of domains, as far as they bound something inside of blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.sub_blocks import BoundaryIndex
from geodomain.backends.threads import thread_count
from geodomain.io.blocks.rewriting.space import Space
from geodomain.io.numbers import Floats, Rows
from geodomain.mesh.mesh import Mesh


class Boundaries:
    """Meshes in the frame of a model's blocks.

    Parameters
    ----------
    meshes : sequence of Mesh
        In the world.
    space : Space
        The frame of the blocks.
    threads : int, optional
    """

    def __init__(self, meshes: Sequence[Mesh], space: Space, threads: int | None) -> None:
        self._threads = thread_count(threads)
        self._indexes = [
            BoundaryIndex(np.ascontiguousarray(space.turned(mesh.vertices)), mesh.triangles)
            for mesh in meshes
        ]

    def entered(self, lows: Floats, highs: Floats) -> NDArray[np.bool_]:
        """Tell the blocks, (n, 3) corners, strictly inside of which any triangle has a point."""
        found = np.zeros(len(lows), np.bool_)
        low, high = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        for index in self._indexes:
            index.mark_entered(low, high, found, self._threads)
        return found

    def seams(self, lows: Floats, highs: Floats) -> tuple[Rows, Floats]:
        """Give where sheets cut blocks: the block of each cut, (k,), and its height, (k,).

        In the order of blocks, and ascending in each.
        """
        low, high = np.ascontiguousarray(lows), np.ascontiguousarray(highs)
        blocks, heights = [np.empty(0, np.int64)], [np.empty(0)]
        for index in self._indexes:
            counts, some = index.seams(low, high, self._threads)
            blocks.append(np.repeat(np.arange(len(low)), counts))
            heights.append(some)
        block, height = np.concatenate(blocks), np.concatenate(heights)
        order = np.lexsort([height, block])
        return block[order], height[order]
