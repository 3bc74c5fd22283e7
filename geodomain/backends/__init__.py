"""Where the kernels run: a dictionary from name to module with the same functions."""

from __future__ import annotations

import importlib
from types import ModuleType


def _cpu() -> ModuleType:
    from geodomain.backends import cpu

    return cpu


def _cuda() -> ModuleType:
    from geodomain.backends import cuda, device

    device.context()  # DeviceError here, where it is asked for, and not in the middle
    return cuda


BACKENDS = {"cpu": _cpu, "cuda": _cuda}


def choose(backend: str) -> ModuleType:
    """Return the module of the backend that is asked for; "auto" is the CPU for now.

    Raises
    ------
    DeviceError
        If "cuda" is asked for and cannot be used; the message says why.
    """
    if backend == "auto":
        return _cpu()
    if backend not in BACKENDS:
        message = f"backend is {backend!r}; it can be 'auto', 'cpu' or 'cuda'"
        raise ValueError(message)
    return BACKENDS[backend]()


def choose_segments(backend: str) -> ModuleType:
    """Return the module that asks about segments on the backend that is asked for, as `choose`."""
    return importlib.import_module(f"{choose(backend).__name__}_segments")
