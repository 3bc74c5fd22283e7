"""CUDA error translation and recovery."""

from __future__ import annotations

import re

from geodomain.backends.cuda.pycuda_types import Driver
from geodomain.errors import DeviceError

_COMPLAINT = re.compile(r"^nvcc fatal|\berror\b.*:")  # in what nvcc writes


class OutOfDeviceMemory(DeviceError):
    """The device has no room: a smaller chunk, or the CPU, may do."""


class DeadContext(DeviceError):
    """Nothing on the device can be used any more."""


class RefusedCall(DeviceError):
    """What was asked cannot be done, on this device or on another; the device still works."""


def meaning_of(cuda: Driver, error: Exception) -> DeviceError:
    """Return what PyCUDA's error means for the call, having asked whether the context lives.

    After an illegal address or a failed launch every later call of the context fails, and no
    result that was on its way can be trusted; other errors leave the context as it was.
    """
    if isinstance(error, cuda.MemoryError):
        message = "not enough GPU memory; free some of it, or use backend='cpu'"
        return OutOfDeviceMemory(message)
    if is_dead(cuda):
        message = (
            f"the GPU failed, and only a new process can use it again: {error}; no results were "
            "returned: run again, or use backend='cpu'"
        )
        return DeadContext(message)
    return RefusedCall(f"the GPU reported an error: {error}; use backend='cpu'")


def is_dead(cuda: Driver) -> bool:
    """Ask whether the current context is beyond use, by whatever call."""
    try:
        cuda.Context.synchronize()
    except cuda.Error:
        return True
    return False


def no_kernels(
    cuda: Driver, file: str, architecture: str, refused: Exception | None
) -> DeviceError:
    """Return why a kernel file cannot be loaded: refused by the driver, or nowhere to be found."""
    if refused is None:
        message = (
            f"no compiled kernels of {file} for {architecture} were found, and no nvcc on the PATH "
            "to compile them: install a CUDA toolkit that supports it, or use backend='cpu'"
        )
        return DeviceError(message)
    lines = [line.strip() for line in str(refused).splitlines()]
    reason = next((line for line in lines if _COMPLAINT.search(line)), lines[0])
    if isinstance(refused, (cuda.CompileError, OSError)):
        message = f"nvcc cannot compile {file}: {reason}; repair it, or use backend='cpu'"
        return DeviceError(message)
    version = version_text(cuda.get_driver_version())
    message = (
        f"the NVIDIA driver, which is for CUDA {version}, refuses the kernels ({reason}): update "
        "the driver to the CUDA toolkit's version or newer, or use backend='cpu'"
    )
    return DeviceError(message)


def version_text(version: int) -> str:
    """Say a version that the driver gives as 1000 times the major plus 10 times the minor."""
    return f"{version // 1000}.{version % 1000 // 10}"
