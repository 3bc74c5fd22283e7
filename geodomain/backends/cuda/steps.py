"""What a machine lacks before its GPU can be used: the first step that is missing; starts nothing.

The driver is asked without PyCUDA, since it is there before that.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from geodomain.backends.cuda import cubins, devices, libcuda
from geodomain.backends.cuda import errors as cuda_errors

_NO_DRIVER = (
    "the NVIDIA driver is not installed, or this is no machine with an NVIDIA GPU: install the "
    "driver, 525 or newer"
)
_NO_PYCUDA = "PyCUDA {}: install it as the page 'Install' of the documentation says"
_NO_KERNELS = (
    "kernels: this installation has none for {}, and there is no nvcc on the PATH: install a wheel "
    "of geodomain, or build one with GEODOMAIN_NVRTC=1, or install a CUDA toolkit"
)


def missing(architecture: str | None, origins: Iterable[str]) -> str | None:
    """Return the first step that is missing, and how to take it, or None.

    Parameters
    ----------
    architecture : str, optional
        Of the device that would be used, such as "sm_90"; None where PyCUDA shows none.
    origins : iterable of str
        Where that device's kernels would come from, as `inventory.Gpu.kernels` has it.
    """
    return _driver() or _pycuda() or _kernels(architecture, set(origins))


def _driver() -> str | None:
    if libcuda.library() is None:
        return _NO_DRIVER
    count = libcuda.device_count()
    if isinstance(count, str):
        return f"the NVIDIA driver does not start: {count}; 'nvidia-smi' may say why"
    if count == 0:
        return f"the NVIDIA driver shows no GPU{devices.left_visible()}"
    return None


def _pycuda() -> str | None:
    try:
        importlib.import_module("pycuda.driver")
    except ModuleNotFoundError as error:
        if error.name in ("pycuda", "pycuda.driver"):
            return _NO_PYCUDA.format("is not installed")
        return _NO_PYCUDA.format(f"does not load ({error})")
    except Exception as error:  # a library of the toolkit that is gone, another NumPy's, ...
        return _NO_PYCUDA.format(f"does not load ({error})")
    return None


def _kernels(architecture: str | None, origins: set[str]) -> str | None:
    if architecture is None:
        return None
    if "nowhere" in origins:
        return _NO_KERNELS.format(architecture)
    here, needed = libcuda.driver_version(), cubins.shipped_version()
    if "PTX" in origins and here is not None and needed is not None and here < needed:
        return (
            f"the NVIDIA driver is for CUDA {cuda_errors.version_text(here)}, and the kernels of "
            f"this installation need one for CUDA {cuda_errors.version_text(needed)}: update the "
            "driver, or install a CUDA toolkit of the driver's version"
        )
    return None
