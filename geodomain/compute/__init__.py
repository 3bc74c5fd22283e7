"""Choose where the kernels run: on the CPU, on the GPUs, or on either, decided for each call."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from geodomain.compute.api import Backend, MachineUsed, PointIndex, SegmentIndex
from geodomain.compute.auto import AutoBackend
from geodomain.compute.cpu import CpuBackend

if TYPE_CHECKING:
    from geodomain.compute.gpus import GpusBackend

__all__ = ["BACKENDS", "Backend", "choose", "machine_used", "release"]

_cpu = functools.cache(CpuBackend)


@functools.cache
def _cuda() -> GpusBackend:
    """Return the backend of the GPUs; its modules are imported only when a GPU is used."""
    from geodomain.compute.gpus import GpusBackend

    return GpusBackend()


@functools.cache
def _choosing() -> AutoBackend:
    """Return the process's only AutoBackend, in which all calls record whether the GPU works."""
    return AutoBackend(_cpu(), _cuda())


def _started() -> Backend:
    """Start the backend of the GPUs and return it; raise DeviceError if no GPU can be used."""
    backend = _cuda()
    backend.start()
    return backend


def _auto() -> Backend:
    """Return the AutoBackend; if PyCUDA is not installed, return the CPU's backend."""
    return _cpu() if importlib.util.find_spec("pycuda") is None else _choosing()


BACKENDS: dict[str, Callable[[], Backend]] = {"auto": _auto, "cpu": _cpu, "cuda": _started}


def choose(backend: str) -> Backend:
    """Return a backend by its name.

    Raises
    ------
    DeviceError
        If the backend is "cuda" and no GPU can be used; the message says why.
    """
    if backend not in BACKENDS:
        message = f"backend is {backend!r}; it can be 'auto', 'cpu' or 'cuda'"
        raise ValueError(message)
    return BACKENDS[backend]()


def release() -> None:
    """Free the GPU memory and the page-locked memory that is kept for later calls."""
    from geodomain.compute.cuda import buffers

    buffers.release()


def machine_used(
    backend: str, indexes: Sequence[PointIndex] | Sequence[SegmentIndex]
) -> MachineUsed:
    """Return a tuple: the machine that computed most queries of these indexes, and the reason.

    The machine is "cpu" or "cuda".
    """
    chosen = _cuda() if backend == "cuda" else choose(backend)  # which may have failed since
    why = "asked for" if chosen.name == backend else "PyCUDA is not installed"
    return chosen.machine_used(indexes, why)
