"""Where the kernels run: a dictionary from name to module with the same functions."""

from __future__ import annotations

from types import ModuleType

from geodomain.errors import DeviceError


def _cpu() -> ModuleType:
    from geodomain.backends import cpu

    return cpu


BACKENDS = {"cpu": _cpu}


def choose(backend: str) -> ModuleType:
    """Return the module of the backend that is asked for; "auto" takes the best there is."""
    if backend == "auto":
        return _cpu()
    if backend == "cuda" and backend not in BACKENDS:
        message = "this version of geodomain has no CUDA backend yet; use backend='cpu' or 'auto'"
        raise DeviceError(message)
    if backend not in BACKENDS:
        message = f"backend is {backend!r}; it can be 'auto', 'cpu' or 'cuda'"
        raise ValueError(message)
    return BACKENDS[backend]()
