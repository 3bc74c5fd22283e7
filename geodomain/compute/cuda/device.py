"""CUDA devices: which of them are used, their contexts, kernels and launches."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Generic, ParamSpec, TypeVar

from geodomain.compute import layout
from geodomain.compute.cuda import driver as cuda_errors
from geodomain.compute.cuda import driver as libcuda
from geodomain.compute.cuda import kernels
from geodomain.compute.cuda.driver import CudaKernel, CudaMemory, CudaModule, CudaStream, Driver
from geodomain.compute.cuda.kernels import Argument, PtxModule, arguments
from geodomain.compute.data import Points, Room
from geodomain.errors import DeviceError, warn


def cpu_instead(what: str) -> str:
    """Warn that the CPU computes something for want of device memory; return the reason."""
    want = f"not enough GPU memory for {what}"
    message = f"{want}: computed on the CPU, with the same results"
    warn(message)
    return want


# State of each device.

Given = ParamSpec("Given")
Result = TypeVar("Result")


class OfEachDevice(Generic[Given, Result]):
    """A function that is called once for each device and each value; errors are not kept.

    Parameters
    ----------
    function : callable
        Its arguments can be hashed.
    number : callable
        Returns the device that the calling thread works on.

    Attributes
    ----------
    kept : dict
        What was returned on each device, by the arguments.
    """

    def __init__(self, function: Callable[Given, Result], number: Callable[[], int]) -> None:
        self._function, self._number = function, number
        self.__doc__ = function.__doc__
        self.kept: dict[int, dict[tuple[object, ...], Result]] = {}

    def __call__(self, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        """Return what the function returned on this device; of two threads the first one's."""
        kept, key = self.kept.setdefault(self._number(), {}), (*args, *kwargs.items())
        if key not in kept:
            kept.setdefault(key, self._function(*args, **kwargs))
        return kept[key]

    def cache_clear(self) -> None:
        """Forget all of it."""
        self.kept.clear()


# The driver, the devices in use, and the device of this thread.


@functools.cache
def driver() -> Driver:
    """Return PyCUDA's driver module, initialised; DeviceError says what is missing."""
    try:
        import pycuda.driver

        cuda: Driver = pycuda.driver
    except Exception as error:  # a folder that is gone, another NumPy's binary interface, ...
        message = (
            f"no CUDA backend here: {error}; install PyCUDA (geodomain[cuda]) and an NVIDIA driver "
            "('geodomain devices' says what is missing), or use backend='cpu'"
        )
        raise DeviceError(message) from error
    process()
    try:
        cuda.init()
        count = cuda.Device.count()
    except cuda.Error as error:
        message = f"the CUDA driver does not start: {error}{left_visible()}; use backend='cpu'"
        raise DeviceError(message) from error
    if count == 0:
        message = f"there is no CUDA device{left_visible()}; use backend='cpu'"
        raise DeviceError(message)
    return cuda


def left_visible() -> str:
    """Name what may hide the devices, if it is set."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "" if shown is None else f" (CUDA_VISIBLE_DEVICES is {shown!r})"


@functools.cache
def process() -> int:
    """Return the process that started the driver."""
    return os.getpid()


class _Work(threading.local):
    """The device that a thread works on, where it is not the first one."""

    number: int | None = None


_work = _Work()
chosen: list[tuple[int, ...]] = []  # by `geodomain.use_devices`; one at most


@functools.cache
def numbers() -> tuple[int, ...]:
    """Return which of the visible devices are used from here on.

    Those that were chosen, or those of GEODOMAIN_DEVICE, as "0,1", or all.
    """
    count = driver().Device.count()
    wish = os.environ.get("GEODOMAIN_DEVICE")
    if chosen or not wish:
        return chosen[0] if chosen else tuple(range(count))
    words = [word.strip() for word in wish.split(",")]
    found = [int(word) for word in words if word.isdecimal() and int(word) < count]
    if len(found) < len(words) or len(set(found)) < len(found):
        several = ", or several of them with commas," if count > 1 else ""
        message = (
            f"GEODOMAIN_DEVICE is {wish!r}; it can be {span(count)} here{several or ','} as in "
            "'geodomain devices', or use backend='cpu'"
        )
        raise DeviceError(message)
    return tuple(found)


def number() -> int:
    """Return the device that this thread works on: the first of those used, or `using`'s."""
    here = _work.number
    return numbers()[0] if here is None else here


@contextlib.contextmanager
def using(device: int) -> Iterator[None]:
    """Let this thread work on a device."""
    before, _work.number = _work.number, device
    try:
        yield
    finally:
        _work.number = before


def span(count: int) -> str:
    """Say what a number of so many devices can be."""
    return f"0 to {count - 1}"


# Contexts, and what ends them.

_FORKED = (
    "this process was forked from one that had used the GPU, and CUDA does not work in it: start "
    "processes by 'spawn' or 'forkserver', or use backend='cpu'"
)


class PrimaryContext:
    """The primary context of a device, which torch and cupy share; a context manager.

    In its `with` it is current, on whatever thread; after that the old one is. What PyCUDA raises
    inside leaves as a DeviceError that says what has happened. It remembers what ended it: from
    then on nothing is asked of the device any more.

    Parameters
    ----------
    cuda : Driver
    number : int
        Of the device.
    process : int
        In which the driver was started; CUDA works in no other, forked from it.

    Raises
    ------
    DeviceError
        If the device gives none.
    """

    def __init__(self, cuda: Driver, number: int, process: int) -> None:
        self._cuda, self._process, self._ended = cuda, process, ""
        self._require_alive()
        try:
            self._context = cuda.Device(number).retain_primary_context()
        except cuda.Error as error:
            message = f"the GPU gives no context: {error}; use backend='cpu'"
            raise DeviceError(message) from error

    @property
    def ended(self) -> str:
        """Return why nothing on the device can be used any more; "" while it can."""
        return self._ended if os.getpid() == self._process else _FORKED

    def __enter__(self) -> Driver:
        """Make the context current, and return PyCUDA's driver."""
        self._require_alive()
        try:
            self._context.push()
        except self._cuda.Error as error:
            raise self._meaning_of(error) from error
        return self._cuda

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the old context back."""
        try:
            if error is not None:
                self._pass_on(error)
        finally:
            # PyCUDA ends the process where its stack of contexts is not empty at the end.
            with contextlib.suppress(self._cuda.Error):
                self._cuda.Context.pop()

    def _pass_on(self, error: BaseException) -> None:
        """Raise what PyCUDA's error means, and drop what the calls that failed had allocated.

        That goes now: PyCUDA leaks what another thread drops while the context is not current.
        """
        if isinstance(error, (self._cuda.Error, DeviceError)):
            traceback.clear_frames(error.__traceback__)
        if isinstance(error, self._cuda.Error):
            raise self._meaning_of(error) from error

    def _require_alive(self) -> None:
        """Raise DeviceError where an earlier error has left nothing on the device to trust."""
        ended = self.ended
        if ended == _FORKED:
            raise cuda_errors.RefusedCall(ended)
        if ended:
            raise DeviceError(ended)

    def _meaning_of(self, error: Exception) -> DeviceError:
        """Return what PyCUDA's error means; the first one that ends the context stays."""
        meaning = cuda_errors.meaning_of(self._cuda, error)
        if isinstance(meaning, cuda_errors.DeadContext):
            self._ended = self._ended or str(meaning)
        return meaning


# Kernels and launches.

__all__ = [
    "architecture",
    "arguments",
    "block_threads",
    "context",
    "current",
    "driver",
    "drop",
    "free",
    "has_slow_doubles",
    "home_of",
    "in_use",
    "is_in_use",
    "kernel",
    "launch",
    "list_threads",
    "module",
    "number",
    "numbers",
    "of_each_device",
    "one_at_a_time",
    "process",
    "start",
    "unload",
    "using",
]

_loading = threading.Lock()
LIST_BLOCKS = 132 * 16  # blocks that share a list whose length is on the device


def of_each_device(function: Callable[Given, Result]) -> OfEachDevice[Given, Result]:
    """Call a function once for each device and each value."""
    return OfEachDevice(function, number)


@of_each_device
def context() -> PrimaryContext:
    """Return the context of this thread's device."""
    return PrimaryContext(driver(), number(), process())


def one_at_a_time(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Keep threads from mixing what a function sends to a device; what is sent stays in order."""
    turns: dict[int | None, threading.Lock] = {}

    @functools.wraps(function)
    def in_turn(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with turns.setdefault(number() if any(context.kept.values()) else None, threading.Lock()):
            return function(*args, **kwargs)

    return in_turn


def current() -> AbstractContextManager[Driver]:
    """Return the context of this thread's device, which is current in a `with`."""
    return context()


def in_use() -> list[int]:
    """Return the devices that have a context which can be used."""
    return [
        device
        for device, made in list(context.kept.items())
        if not all(one.ended for one in made.values())
    ]


def is_in_use() -> bool:
    """Return whether there is a context, and it can be used."""
    return bool(in_use())


def home_of(address: int) -> int:
    """Return the device that has an address; this thread's where there is one, or it is unknown."""
    return _homes([address])[0]


def _homes(addresses: Sequence[int]) -> list[int]:
    some = in_use()
    if len({*some, *numbers()}) == 1:
        return [number()] * len(addresses)
    with using((some or numbers())[0]), current():
        found = [libcuda.ordinal(address) for address in addresses]
    return [number() if one is None else one for one in found]


@of_each_device
def architecture() -> str:
    """Return the device's architecture, such as sm_90."""
    major, minor = driver().Device(number()).compute_capability()
    return f"sm_{major}{minor}"


@of_each_device
def has_slow_doubles() -> bool:
    """Return whether floats are so much faster that it pays to try them first."""
    cuda = driver()
    ratio = cuda.device_attribute.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    return bool(cuda.Device(number()).get_attribute(ratio) >= 8)


def _build(text: str) -> bytes:
    """Compile with nvcc."""
    from pycuda import compiler

    with warnings.catch_warnings():
        # PyCUDA leaves files for the collector and passes on nvcc's remarks.
        warnings.simplefilter("ignore")
        binary: bytes = compiler.compile(
            text,
            options=list(kernels.FLAGS),
            no_extern_c=True,
            arch=architecture(),
            cache_dir=False,
        )
    return binary


@of_each_device
def module(name: str) -> CudaModule:
    """Return a kernel file's module in the current context."""
    cuda = driver()
    refused: Exception | None = None
    for image in kernels.images(name, architecture(), _build):
        try:
            if image.origin == "PTX":
                return PtxModule(cuda, image.read().decode(), architecture())
            return cuda.module_from_buffer(image.read())
        except cuda.MemoryError:
            raise
        except (cuda.Error, OSError) as error:  # refused, or nvcc fails: the next one may do
            if cuda_errors.is_dead(cuda):
                raise
            image.discard()
            refused = error
    raise cuda_errors.no_kernels(cuda, name, architecture(), refused)


@of_each_device
def kernel(file: str, name: str) -> CudaKernel:
    """Return one kernel of a kernel file."""
    with _loading:  # who comes second finds what a compiler took seconds for
        loaded = module(file)
        if not isinstance(loaded, PtxModule):
            return loaded.get_function(name)
        cuda = driver()
        try:
            return loaded.get_function(name)
        except cuda.MemoryError:
            raise
        except cuda.Error as error:
            if cuda_errors.is_dead(cuda):
                raise
            raise cuda_errors.no_kernels(cuda, file, architecture(), error) from error


@of_each_device
def _prepared(file: str, name: str, size: int) -> CudaKernel:
    """Return one kernel of a kernel file, ready for arguments of so many bytes in all."""
    found = kernel(file, name)
    found.prepare([f"{size}s"])
    return found


@functools.cache
def block_threads() -> int:
    """Return the threads of a block."""
    return layout.constant("kBlockThreads")


def list_threads(rows: int) -> int:
    """Return the threads that share a list of at most so many rows, whose length is there."""
    return min(rows, block_threads() * LIST_BLOCKS)


def launch(
    file: str,
    name: str,
    threads: int,
    *fields: Argument,
    stream: CudaStream | None = None,
    times: int = 1,
) -> None:
    """Run a kernel with one thread, or so many times one, to a row, or, for 0 rows, nothing."""
    if threads == 0:
        return
    block = block_threads()
    blocks = (threads + block - 1) // block
    start(file, name, (blocks, times), block, *fields, stream=stream)


def start(
    file: str,
    name: str,
    grid: tuple[int, int],
    block: int,
    *fields: Argument,
    stream: CudaStream | None = None,
) -> None:
    """Run a kernel with so many blocks across and down, of so many threads."""
    packed = arguments(*fields)
    ready = _prepared(file, name, len(packed))
    ready.prepared_async_call(grid, (block, 1, 1), stream, packed)


def unload() -> None:
    """Let go of the kernels of this thread's device, whose context is current."""
    _prepared.kept.pop(number(), None)
    kernel.kept.pop(number(), None)
    module.kept.pop(number(), None)


def free(*memory: CudaMemory | None) -> None:
    """Free device memory in the context that it came from; None is passed over."""
    if sys.is_finalizing() or not is_in_use():
        return  # the driver frees what a context had when it goes
    held = [one for one in memory if one is not None]
    homes: dict[int, list[CudaMemory]] = {}
    for one, home in zip(held, _homes([*map(int, held)]), strict=True):
        homes.setdefault(home, []).append(one)
    for home, some in homes.items():
        with using(home):
            drop(functools.partial(_free_all, some))


def _free_all(memory: list[CudaMemory]) -> None:
    for one in memory:
        one.free()


def drop(release: Callable[[], object]) -> None:
    """Let something be freed while this thread's context is current; nothing where that is gone."""
    if sys.is_finalizing() or number() not in in_use():
        return
    with current():
        release()


# Streams of other libraries, whose work on the caller's arrays comes first.


def wait_for(*arrays: Points | Room) -> None:
    """Wait until the work that the arrays come from is done; a context is current."""
    named = [getattr(array, "stream", None) for array in arrays]
    streams = {stream for stream in named if stream is not None}
    if streams and not all(stream > 0 and libcuda.wait_for_stream(stream) for stream in streams):
        driver().Context.synchronize()


# The first thing that a machine lacks to use its GPU.

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
        return f"the NVIDIA driver shows no GPU{left_visible()}"
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
    here, needed = libcuda.driver_version(), kernels.shipped_version()
    if "PTX" in origins and here is not None and needed is not None and here < needed:
        return (
            f"the NVIDIA driver is for CUDA {cuda_errors.version_text(here)}, and the kernels of "
            f"this installation need one for CUDA {cuda_errors.version_text(needed)}: update the "
            "driver, or install a CUDA toolkit of the driver's version"
        )
    return None
