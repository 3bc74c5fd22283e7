"""List the processors of this machine, and choose the GPUs to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from geodomain.compute import native
from geodomain.compute.cuda import device, driver
from geodomain.compute.cuda import kernels as cubins
from geodomain.compute.cuda.driver import Driver
from geodomain.compute.native import thread_count
from geodomain.errors import DeviceError


def use_devices(devices: Sequence[int]) -> None:
    """Choose the GPUs that this process uses, instead of all in CUDA_VISIBLE_DEVICES.

    Call this before anything else uses a GPU. The first GPU of the list does work that is too small
    to share. Without this call, the environment variable GEODOMAIN_DEVICE (such as ``0,1``)
    decides.

    Parameters
    ----------
    devices : sequence of int
        Numbers of GPUs, as `geodomain devices` lists them.

    Raises
    ------
    ValueError
        For a number without a GPU, for a repeated number, or if the process already uses
        other GPUs.
    DeviceError
        If no GPU can be used.

    Examples
    --------
    >>> import geodomain
    >>> try:
    ...     geodomain.use_devices([0])
    ... except geodomain.DeviceError:  # on a machine without a GPU
    ...     pass
    """
    count, numbers = device.driver().Device.count(), list(devices)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in numbers)
    repeated = len(set(numbers)) < len(numbers)
    if not numbers or not whole or repeated or not set(numbers) <= {*range(count)}:
        message = (
            f"devices is {devices!r}; it may list the numbers {device.span(count)}, each once: "
            "'geodomain devices' shows them"
        )
        raise ValueError(message)
    wanted = tuple(map(int, numbers))
    if any(device.context.results.values()) and wanted != device.numbers():
        message = (
            f"devices is {devices!r}, but this process already uses other GPUs "
            f"({_listed(device.numbers())}): set devices before the first call that uses a GPU"
        )
        raise ValueError(message)
    device.chosen[:] = [wanted]
    device.numbers.cache_clear()


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


@dataclass(frozen=True)
class Gpu:
    """One NVIDIA GPU that the driver reports.

    Attributes
    ----------
    number : int
        The GPU's number for GEODOMAIN_DEVICE, among those in CUDA_VISIBLE_DEVICES.
    name : str
        The product name.
    compute_capability : str
        Such as "9.0".
    architecture : str
        Such as "sm_90".
    memory_bytes : int
        Size of the GPU's memory.
    used : bool
        Whether this process uses the GPU.
    kernels : dict of str to str
        Source of each kernel file: "cache", "nvcc" (compiled at first use), "PTX" (from the
        wheel, compiled by the driver) or "nowhere".
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
    """The processors that geodomain can use, and the software for them.

    Attributes
    ----------
    backend : str
        The backend that "auto" chooses for a large job: "cuda" or "cpu".
    reason : str
        The reason; if a GPU cannot be used yet, what is missing and how to install it.
    gpus : tuple of Gpu
        The GPUs.
    driver : str, optional
        The CUDA version of the NVIDIA driver.
    pycuda : str, optional
        PyCUDA's version.
    nvcc : str, optional
        The compiler on the PATH.
    cache : str
        The folder of compiled kernels.
    cache_is_private : bool
        Whether only this user can write to the folder; a folder that others can write to is
        not used.
    cpu_threads, cpu_level : int
        Number of CPU cores that the process may use, and the x86-64 level of the loaded
        library.
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
    """Return the inventory. No context is created on a device, and no compiler is run."""
    gpus: tuple[Gpu, ...] = ()
    try:
        cuda = device.driver()
        gpus = _gpus(cuda)
        used = device.numbers()
        gpus = tuple(replace(gpu, used=gpu.number in used) for gpu in gpus)
        backend, reason = _verdict([gpus[number] for number in used])
    except DeviceError as error:
        backend, reason = "cpu", device.missing(None, ()) or str(error)
    version = driver.driver_version()
    compiler = cubins.compiler()
    return Inventory(
        backend=backend,
        reason=reason,
        gpus=gpus,
        driver=None if version is None else driver.version_text(version),
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
    except cuda.Error as error:  # such as a GPU that has fallen off the bus
        message = f"a GPU does not answer: {error}; use backend='cpu'"
        raise DeviceError(message) from error


def _gpu(cuda: Driver, number: int) -> Gpu:
    gpu = cuda.Device(number)
    major, minor = gpu.compute_capability()
    architecture = f"sm_{major}{minor}"
    return Gpu(
        number=number,
        name=gpu.name(),
        compute_capability=f"{major}.{minor}",
        architecture=architecture,
        memory_bytes=gpu.total_memory(),
        used=False,
        kernels={file: _origin(file, architecture) for file in _kernel_files()},
    )


def _kernel_files() -> list[str]:
    """Return the names of the kernel files."""
    folders = native.kernel_folders()
    return sorted({path.name for folder in folders for path in (folder / "launch").glob("*.cu")})


def _origin(file: str, architecture: str) -> str:
    """Return where a kernel file would be loaded from, without compiling it."""
    images = cubins.images(file, architecture, lambda text: b"")
    return next((image.origin for image in images), "nowhere")


def _verdict(gpus: Sequence[Gpu]) -> tuple[str, str]:
    """Return a tuple: the backend that "auto" chooses, and the reason.

    The backend is "cuda" if at least one GPU can be used.
    """
    missing = [device.missing(gpu.architecture, gpu.kernels.values()) for gpu in gpus]
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
