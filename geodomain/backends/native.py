"""The compiled core: the best one for this processor, and how it is called through ctypes."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.kernel_files import load

LIBRARIES = {1: "core", 3: "core_v3", 4: "core_v4"}

Addresses: TypeAlias = "ctypes.Array[ctypes.c_void_p]"
Counts: TypeAlias = "ctypes.Array[ctypes.c_int64]"


def level() -> int:
    """Return the instruction set to use; GEODOMAIN_CPU_LEVEL (1, 3 or 4) lowers it."""
    baseline = load(LIBRARIES[1])
    best: int = baseline.geodomain_cpu_level()
    wish = os.environ.get("GEODOMAIN_CPU_LEVEL", "")
    if wish and wish not in {"1", "3", "4"}:
        message = f"GEODOMAIN_CPU_LEVEL is {wish!r}; it can be 1, 3 or 4"
        raise ValueError(message)
    return min(best, int(wish)) if wish else best


@functools.cache
def library() -> ctypes.CDLL:
    """Return the core built for the best instruction set of this processor."""
    best = level()
    name = next(LIBRARIES[known] for known in sorted(LIBRARIES, reverse=True) if known <= best)
    return load(name)


def must(status: int) -> None:
    """Raise if a kernel's status is not 0; it can only have run out of memory."""
    if status != 0:
        message = "the compiled core ran out of memory"
        raise MemoryError(message)


def pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    """Return the address of an array's first element; the caller keeps it alive."""
    return ctypes.c_void_p(array.ctypes.data)


def column_pointers(
    points: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], row: int = 0
) -> tuple[Addresses, Counts]:
    """Return the addresses of a row's x, y and z, and the bytes to the next row's."""
    steps = [column.strides[0] for column in points]
    places = [column.ctypes.data + row * step for column, step in zip(points, steps, strict=True)]
    return (ctypes.c_void_p * 3)(*places), (ctypes.c_int64 * 3)(*steps)
