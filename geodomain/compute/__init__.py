"""Where the kernels run: a backend for each machine, and one that chooses between them."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from geodomain.compute.api import Backend, PointIndex, SegmentIndex, Taken
from geodomain.compute.auto import AutoBackend
from geodomain.compute.cpu import CpuBackend

if TYPE_CHECKING:
    from geodomain.compute.gpus import GpusBackend

__all__ = ["BACKENDS", "Backend", "choose", "release", "taken"]

_cpu = functools.cache(CpuBackend)


@functools.cache
def _cuda() -> GpusBackend:
    """Return the GPUs' backend, whose modules a process without one need not load."""
    from geodomain.compute.gpus import GpusBackend

    return GpusBackend()


@functools.cache
def _choosing() -> AutoBackend:
    """Return the one that a process has: what it learns about the GPU holds for all calls."""
    return AutoBackend(_cpu(), _cuda())


def _started() -> Backend:
    """Return the GPU's: DeviceError here, where it is asked for, and not in the middle."""
    backend = _cuda()
    backend.start()
    return backend


def _auto() -> Backend:
    """Return what chooses call by call; where no GPU can be, there is nothing to choose."""
    return _cpu() if importlib.util.find_spec("pycuda") is None else _choosing()


BACKENDS: dict[str, Callable[[], Backend]] = {"auto": _auto, "cpu": _cpu, "cuda": _started}


def choose(backend: str) -> Backend:
    """Return the backend that is asked for.

    Raises
    ------
    DeviceError
        If "cuda" is asked for and cannot be used; the message says why.
    """
    if backend not in BACKENDS:
        message = f"backend is {backend!r}; it can be 'auto', 'cpu' or 'cuda'"
        raise ValueError(message)
    return BACKENDS[backend]()


def release() -> None:
    """Free the memory that is kept for the next call, on GPUs and page-locked."""
    from geodomain.compute.cuda import buffers

    buffers.release()


def taken(backend: str, indexes: Sequence[PointIndex] | Sequence[SegmentIndex]) -> Taken:
    """Return where what indexes were asked was computed, "cpu" or "cuda", and why there."""
    chosen = _cuda() if backend == "cuda" else choose(backend)  # which may have failed since
    why = "asked for" if chosen.name == backend else "PyCUDA is not installed"
    return chosen.taken(indexes, why)
