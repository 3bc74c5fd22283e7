"""The GPUs that a process uses, chosen in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from geodomain.compute import native
from geodomain.compute import native as kernel_files
from geodomain.compute.cuda import device
from geodomain.compute.cuda import device as steps
from geodomain.compute.cuda import device as visible
from geodomain.compute.cuda import driver as cuda_errors
from geodomain.compute.cuda import driver as libcuda
from geodomain.compute.cuda import kernels as cubins
from geodomain.compute.cuda.driver import Driver
from geodomain.compute.native import thread_count
from geodomain.errors import DeviceError


def use_devices(devices: Sequence[int]) -> None:
    """Let this process use some GPUs, in place of all that CUDA_VISIBLE_DEVICES leaves.

    To be called before anything else uses a GPU. The first one gets what is too small to be
    shared. Without a call, the environment variable GEODOMAIN_DEVICE decides, such as ``0,1``.

    Parameters
    ----------
    devices : sequence of int
        Their numbers, as `geodomain devices` lists them.

    Raises
    ------
    ValueError
        For a number that no GPU has, for one twice, or where other GPUs are in use already.
    DeviceError
        If there is no GPU that can be used.

    Examples
    --------
    >>> import geodomain
    >>> try:
    ...     geodomain.use_devices([0])
    ... except geodomain.DeviceError:  # on a machine without a GPU
    ...     pass
    """
    count, asked = device.driver().Device.count(), list(devices)
    whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in asked)
    if not asked or not whole or len(set(asked)) < len(asked) or not set(asked) <= {*range(count)}:
        message = (
            f"devices is {devices!r}; it can hold {visible.span(count)} here, each once, as in "
            "'geodomain devices'"
        )
        raise ValueError(message)
    wanted = tuple(map(int, asked))
    if any(device.context.kept.values()) and wanted != device.numbers():
        message = (
            f"devices is {devices!r}, and other GPUs ({_listed(device.numbers())}) are in use: "
            "choose before the first call that uses a GPU"
        )
        raise ValueError(message)
    visible.chosen[:] = [wanted]
    device.numbers.cache_clear()


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


# --- Inventory of the CPU and the GPUs, and which of them would be used.


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU that the driver shows.

    Attributes
    ----------
    number : int
        As GEODOMAIN_DEVICE takes it; CUDA_VISIBLE_DEVICES has been heeded.
    name : str
    compute_capability : str
        Such as "9.0".
    architecture : str
        Such as "sm_90".
    memory_bytes : int
    used : bool
        Whether it is among those that are used.
    kernels : dict of str to str
        Where each kernel file would come from: "cache", "nvcc" (compiled at first use), "PTX"
        (of the wheel, compiled by the driver) or "nowhere".
    """

    number: int
    name: str
    compute_capability: str
    architecture: str
    memory_bytes: int
    used: bool
    kernels: dict[str, str]


@dataclass(frozen=True)
class Inventory:
    """The machine, as geodomain sees it.

    Attributes
    ----------
    backend : str
        What "auto" takes for a large job: "cuda" or "cpu".
    reason : str
        Why that one; where a step is missing before a GPU can be used, which one, and how to
        take it.
    gpus : tuple of Gpu
    driver : str, optional
        The CUDA version of the NVIDIA driver.
    pycuda : str, optional
        PyCUDA's version.
    nvcc : str, optional
        The compiler on the PATH.
    cache : str
        The folder of compiled kernels.
    cache_is_private : bool
        Whether it is used: others may write to a folder that is not.
    cpu_threads, cpu_level : int
        Cores allowed to the process, and the x86-64 level of the core that is loaded.
    """

    backend: str
    reason: str
    gpus: tuple[Gpu, ...]
    driver: str | None
    pycuda: str | None
    nvcc: str | None
    cache: str
    cache_is_private: bool
    cpu_threads: int
    cpu_level: int

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        return asdict(self)


def take() -> Inventory:
    """Look at the machine; no context is made on any device, and no compiler started."""
    gpus: tuple[Gpu, ...] = ()
    try:
        cuda = device.driver()
        gpus = _gpus(cuda)
        used = device.numbers()
        gpus = tuple(replace(gpu, used=gpu.number in used) for gpu in gpus)
        backend, reason = _verdict([gpus[number] for number in used])
    except DeviceError as error:
        backend, reason = "cpu", steps.missing(None, ()) or str(error)
    version = libcuda.driver_version()
    compiler = cubins.compiler()
    return Inventory(
        backend=backend,
        reason=reason,
        gpus=gpus,
        driver=None if version is None else cuda_errors.version_text(version),
        pycuda=_pycuda(),
        nvcc=compiler and compiler.rsplit(" ", 2)[0],
        cache=str(cubins.folder()),
        cache_is_private=cubins.is_private(cubins.folder()),
        cpu_threads=thread_count(None),
        cpu_level=native.level(),
    )


def _gpus(cuda: Driver) -> tuple[Gpu, ...]:
    try:
        return tuple(_gpu(cuda, number) for number in range(cuda.Device.count()))
    except cuda.Error as error:  # one that has fallen off the bus, say
        message = f"a GPU does not answer: {error}; use backend='cpu'"
        raise DeviceError(message) from error


def _gpu(cuda: Driver, number: int) -> Gpu:
    one = cuda.Device(number)
    major, minor = one.compute_capability()
    architecture = f"sm_{major}{minor}"
    return Gpu(
        number=number,
        name=one.name(),
        compute_capability=f"{major}.{minor}",
        architecture=architecture,
        memory_bytes=one.total_memory(),
        used=False,
        kernels={file: _origin(file, architecture) for file in _kernel_files()},
    )


def _kernel_files() -> list[str]:
    """Return the names of the files with kernels."""
    folders = kernel_files.kernel_folders()
    return sorted({path.name for one in folders for path in (one / "launch").glob("*.cu")})


def _origin(file: str, architecture: str) -> str:
    """Return where a kernel file would come from; to look at an image makes none."""
    images = cubins.images(file, architecture, lambda text: b"")
    return next((image.origin for image in images), "nowhere")


def _verdict(gpus: Sequence[Gpu]) -> tuple[str, str]:
    """Return what "auto" takes, and why; of several GPUs one that can be used is enough."""
    missing = [steps.missing(gpu.architecture, gpu.kernels.values()) for gpu in gpus]
    able = [gpu for gpu, step in zip(gpus, missing, strict=True) if step is None]
    if not able:
        return "cpu", missing[0] or ""
    return "cuda", "; ".join(f"GPU {gpu.number}, {gpu.name}" for gpu in able)


def _pycuda() -> str | None:
    try:
        import pycuda
    except ImportError:
        return None
    version: str = getattr(pycuda, "VERSION_TEXT", "of unknown version")
    return version
