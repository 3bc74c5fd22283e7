"""Copies between the caller's arrays and page-locked memory, by several native threads."""

from __future__ import annotations

import ctypes
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.cpu import Columns, column_pointers
from geodomain.backends.native import library, must, pointer

# One thread copies 9 to 12 GB/s, the bus moves 55: six keep it busy, and more share the memory.
_MOST_THREADS = 8


class Stager:
    """Hold threads that copy, from the first copy to the end of one call; used as a context."""

    def __init__(self, threads: int) -> None:
        self._threads = min(threads, _MOST_THREADS)
        self._handle = ctypes.c_void_p()

    def __enter__(self) -> Stager:
        """Return the threads."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the threads."""
        library().geodomain_stager_free(self._handle)
        self._handle = ctypes.c_void_p()

    def copy(self, source: NDArray[Any], target: NDArray[Any]) -> None:
        """Copy contiguous memory to contiguous memory of that size."""
        must(
            library().geodomain_stager_copy(
                self._started(), pointer(source), pointer(target), ctypes.c_int64(source.nbytes)
            )
        )

    def gather(self, points: Columns, begin: int, end: int, target: NDArray[np.float64]) -> None:
        """Write rows [begin, end) of points with any strides as x y z, x y z, ..."""
        addresses, strides = column_pointers(points, begin)
        must(
            library().geodomain_stager_gather(
                self._started(), addresses, strides, ctypes.c_int64(end - begin), pointer(target)
            )
        )

    def _started(self) -> ctypes.c_void_p:
        if not self._handle:
            must(library().geodomain_stager_create(self._threads, ctypes.byref(self._handle)))
        return self._handle
