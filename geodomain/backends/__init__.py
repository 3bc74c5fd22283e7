"""Where the kernels run: a dictionary from name to module with the same functions."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from types import ModuleType
from typing import Any


def _cpu() -> ModuleType:
    from geodomain.backends import cpu

    return cpu


def _cuda() -> ModuleType:
    from geodomain.backends import cuda, device

    device.context()  # DeviceError here, where it is asked for, and not in the middle
    return cuda


def _auto() -> ModuleType:
    """Return what chooses call by call; where no GPU can be, there is nothing to choose."""
    if importlib.util.find_spec("pycuda") is None:
        return _cpu()
    from geodomain.backends import auto

    return auto


BACKENDS = {"auto": _auto, "cpu": _cpu, "cuda": _cuda}


def choose(backend: str) -> ModuleType:
    """Return the module of the backend that is asked for.

    Raises
    ------
    DeviceError
        If "cuda" is asked for and cannot be used; the message says why.
    """
    if backend not in BACKENDS:
        message = f"backend is {backend!r}; it can be 'auto', 'cpu' or 'cuda'"
        raise ValueError(message)
    return BACKENDS[backend]()


def choose_segments(backend: str) -> ModuleType:
    """Return the module that asks about segments.

    Raises
    ------
    DeviceError
        As `choose`.
    """
    return segments_of(choose(backend))


def segments_of(module: ModuleType) -> ModuleType:
    """Return the module that asks about segments where another asks about points."""
    return importlib.import_module(f"{module.__name__}_segments")


def taken(backend: str, indexes: Sequence[Any]) -> tuple[str, str]:
    """Return where what indexes were asked was computed, "cpu" or "cuda", and why there."""
    module = choose(backend)
    name = module.__name__.rpartition(".")[2]
    if name == "cpu":
        return name, "asked for" if backend == name else "PyCUDA is not installed"
    if name == "cuda":
        where: tuple[str, str] = module.taken(indexes, "asked for")
        return where
    found = [index.taken() for index in indexes]
    return max(found, default=("cpu", "nothing was asked"))  # the GPU, if any took it
