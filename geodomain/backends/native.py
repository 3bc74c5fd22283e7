"""The compiled CPU core: found, loaded and typed here; no arithmetic."""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

SUFFIX = ".dll" if sys.platform == "win32" else ".so"
# More help no machine, and each takes memory when an index is built.
_MOST_THREADS = 1024
LIBRARIES = {1: "core", 3: "core_v3", 4: "core_v4"}


def kernel_folders() -> list[Path]:
    """Return the folders that may hold the compiled cores and the kernels' sources."""
    import geodomain

    return [Path(folder) / "kernels" for folder in geodomain.__path__]


def _find(name: str) -> Path:
    for folder in kernel_folders():
        path = folder / (name + SUFFIX)
        if path.is_file():
            return path
    places = ", ".join(str(folder) for folder in kernel_folders())
    message = f"the compiled core {name}{SUFFIX} is not in {places}; reinstall geodomain"
    raise ImportError(message)


def level() -> int:
    """Return the instruction set to use; GEODOMAIN_CPU_LEVEL (1, 3 or 4) lowers it."""
    baseline = ctypes.CDLL(str(_find(LIBRARIES[1])))
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
    return ctypes.CDLL(str(_find(name)))


def pointer(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    """Return the address of an array's first element; the caller keeps it alive."""
    return ctypes.c_void_p(array.ctypes.data)


def must(status: int) -> None:
    """Raise if a kernel's status is not 0; it can only have run out of memory."""
    if status != 0:
        message = "the compiled core ran out of memory"
        raise MemoryError(message)


def thread_count(threads: int | None) -> int:
    """Return how many threads to use: as many as asked for, or the cores allowed."""
    if threads is None:
        try:
            return len(os.sched_getaffinity(0))
        except AttributeError:
            return os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        message = f"threads must be a positive integer or None, not {threads!r}"
        raise ValueError(message)
    return min(int(threads), _MOST_THREADS)
