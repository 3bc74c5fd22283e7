"""What goes wrong on a device, in a sentence each, and what is possible after it."""

from __future__ import annotations

import re
from typing import Any

from geodomain.errors import DeviceError

_COMPLAINT = re.compile(r"^nvcc fatal|\berror\b.*:")  # in what nvcc writes
_crash: list[str] = []  # what ended the context, once something has


class OutOfDeviceMemory(DeviceError):
    """The device has no room: a smaller chunk, or the CPU, may do."""


def refuse_after_a_crash() -> None:
    """Raise DeviceError where an earlier error has left nothing on the device to trust."""
    if _crash:
        raise DeviceError(_crash[0])


def end(message: str) -> None:
    """Let nothing more be asked of the device; the first message stays."""
    _crash.append(message)


def crashed() -> bool:
    """Tell whether the context is beyond use."""
    return bool(_crash)


def told(cuda: Any, error: Exception) -> DeviceError:
    """Return what PyCUDA's error means for the call, having asked whether the context lives.

    After an illegal address or a failed launch every later call of the context fails, and no
    result that was on its way can be trusted; other errors leave the context as it was.
    """
    if isinstance(error, cuda.MemoryError):
        message = "the GPU has not the memory for it; use --backend cpu, or free some there"
        return OutOfDeviceMemory(message)
    if is_dead(cuda):
        message = (
            f"the GPU stopped with an error that only a new process mends: {error}; nothing of "
            "what it was asked is given out: start again, or use --backend cpu"
        )
        end(message)
        return DeviceError(message)
    return DeviceError(f"the GPU refuses: {error}; use --backend cpu")


def is_dead(cuda: Any) -> bool:
    """Ask whether the current context is beyond use, by whatever call."""
    try:
        cuda.Context.synchronize()
    except cuda.Error:
        return True
    return False


def no_kernels(cuda: Any, file: str, architecture: str, refused: Exception | None) -> DeviceError:
    """Return why a kernel file cannot be loaded: refused by the driver, or nowhere to be found."""
    if refused is None:
        message = (
            f"there are no compiled kernels of {file} for {architecture} here, and no nvcc on the "
            "PATH to make them: install a CUDA toolkit that knows it, or use --backend cpu"
        )
        return DeviceError(message)
    lines = [line.strip() for line in str(refused).splitlines()]
    reason = next((line for line in lines if _COMPLAINT.search(line)), lines[0])
    if isinstance(refused, cuda.CompileError | OSError):
        message = f"nvcc does not compile {file}: {reason}; mend it, or use --backend cpu"
        return DeviceError(message)
    version = version_text(cuda.get_driver_version())
    message = (
        f"the NVIDIA driver, which is for CUDA {version}, refuses the kernels ({reason}): update "
        "the driver to the CUDA toolkit's version or newer, or use --backend cpu"
    )
    return DeviceError(message)


def version_text(version: int) -> str:
    """Say a version that the driver gives as 1000 times the major plus 10 times the minor."""
    return f"{version // 1000}.{version % 1000 // 10}"
