"""A mesh's index for shares of blocks on whichever machine is asked."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.api import Backend, BlockIndex
from geodomain.backends.auto.choice import COSTS, MachineChoice
from geodomain.backends.data import Floats, Indices


class AutoBlockIndex:
    """A mesh that is indexed on the CPU, on the GPU, or both, when there are blocks for it."""

    def __init__(self, choice: MachineChoice, make: Callable[[Backend], BlockIndex]) -> None:
        self._choice, self._make = choice, make
        self._indexes: dict[str, BlockIndex] = {}  # by machine
        self._lock = threading.Lock()

    def _on(self, backend: Backend) -> BlockIndex:
        with self._lock:
            if backend.name not in self._indexes:
                self._indexes[backend.name] = self._make(backend)
            return self._indexes[backend.name]

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
        """Write shares where a triangle enters a block; see `BlockIndex.shares`.

        Without weights nearly all the work is along lines, and that is the CPU's.
        """

        def call(on: Backend) -> NDArray[np.uint8]:
            return self._on(on).shares(
                weights, lows, highs, out, threads, wound=wound, lines=lines, single=single
            )

        if weights is None:
            return call(self._choice.cpu)
        cost = COSTS["share"]
        return self._choice.either(len(out) * (cost.cpu / threads - cost.cuda), len(out), call)

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
        return self._on(self._choice.cpu).covered_shares(
            weights, lows, highs, out, threads, lines=lines, single=single
        )

    def cuts(
        self, lows: Floats, highs: Floats, lines: int, threads: int, *, below: bool
    ) -> tuple[Indices, Floats, NDArray[np.int8]]:
        """Return what vertical lines through each block cross, which the CPU finds."""
        return self._on(self._choice.cpu).cuts(lows, highs, lines, threads, below=below)

    def host_handle(self) -> ctypes.c_void_p:
        """Return the handle of the CPU's index."""
        return self._on(self._choice.cpu).host_handle()
