"""Use the CUDA devices: their numbers, their contexts, and their loaded kernels."""

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
    """Warn that the CPU computes `what`, because GPU memory is short; return the reason."""
    want = f"not enough GPU memory for {what}"
    message = f"{want}: computed on the CPU, with the same results"
    warn(message)
    return want


# State of each device.

Params = ParamSpec("Params")
Result = TypeVar("Result")


class OfEachDevice(Generic[Params, Result]):
    """Cache of a function's results, kept separately for each device; errors are not cached.

    Parameters
    ----------
    function : callable
        A function with hashable arguments.
    number : callable
        Returns the number of the device that the calling thread works on.

    Attributes
    ----------
    results : dict
        For each device, a dict from the function's arguments to its result.
    """

    def __init__(self, function: Callable[Params, Result], number: Callable[[], int]) -> None:
        self._function, self._number = function, number
        self.__doc__ = function.__doc__
        self.results: dict[int, dict[tuple[object, ...], Result]] = {}

    def __call__(self, *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Return the cached result for this device, or call the function and cache its result.

        If two threads call the function at once, both return the result that was stored first.
        """
        cache, key = self.results.setdefault(self._number(), {}), (*args, *kwargs.items())
        if key not in cache:
            cache.setdefault(key, self._function(*args, **kwargs))
        return cache[key]

    def cache_clear(self) -> None:
        """Drop all cached results."""
        self.results.clear()


# The driver, the devices in use, and the device of this thread.


@functools.cache
def driver() -> Driver:
    """Return PyCUDA's driver module, after starting the driver.

    Raises DeviceError if PyCUDA, the driver or a device is missing.
    """
    try:
        import pycuda.driver

        cuda: Driver = pycuda.driver
    except Exception as error:  # a missing folder, the binary interface of another NumPy, ...
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
    """Return a note in brackets for messages: the value of CUDA_VISIBLE_DEVICES; "" if not set."""
    shown = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "" if shown is None else f" (CUDA_VISIBLE_DEVICES is {shown!r})"


@functools.cache
def process() -> int:
    """Return the number of the process that started the driver."""
    return os.getpid()


class _Work(threading.local):
    """The number of the device that a thread works on; None means the process's first device."""

    number: int | None = None


_work = _Work()
chosen: list[tuple[int, ...]] = []  # by `geodomain.use_devices`; one item at most


@functools.cache
def numbers() -> tuple[int, ...]:
    """Return the numbers of the visible devices that this process uses.

    They are the numbers given to `geodomain.use_devices`. Without that call, they are the numbers
    in GEODOMAIN_DEVICE, such as "0,1". Without this variable, all visible devices are used.
    """
    count = driver().Device.count()
    wish = os.environ.get("GEODOMAIN_DEVICE")
    if chosen or not wish:
        return chosen[0] if chosen else tuple(range(count))
    words = [word.strip() for word in wish.split(",")]
    listed = [int(word) for word in words if word.isdecimal() and int(word) < count]
    if len(listed) < len(words) or len(set(listed)) < len(listed):
        several = ", or several of these numbers with commas" if count > 1 else ""
        message = (
            f"GEODOMAIN_DEVICE is {wish!r}; it must be a number from {span(count)}{several}: "
            "choose one that 'geodomain devices' shows, or use backend='cpu'"
        )
        raise DeviceError(message)
    return tuple(listed)


def number() -> int:
    """Return the number of this thread's device.

    It is the number that `using` has set. Outside `using`, it is the process's first device.
    """
    here = _work.number
    return numbers()[0] if here is None else here


@contextlib.contextmanager
def using(device: int) -> Iterator[None]:
    """Make this thread work on a device within a `with`."""
    before, _work.number = _work.number, device
    try:
        yield
    finally:
        _work.number = before


def span(count: int) -> str:
    """Return the range of the numbers of `count` devices as text: "0 to 3" for four."""
    return f"0 to {count - 1}"


# Contexts, and the errors that end them.

_FORKED = (
    "this process was forked from one that had used the GPU, and CUDA does not work in it: start "
    "processes by 'spawn' or 'forkserver', or use backend='cpu'"
)


class PrimaryContext:
    """A context manager for the primary context of a device, which PyTorch and CuPy use, too.

    Within a `with`, on any thread, the context is current. At the end of the `with`, the previous
    context is current. An error of PyCUDA within the `with` becomes a DeviceError with an
    explanation. After an error that ends the context, the device is not used any more.

    Parameters
    ----------
    cuda : Driver
        PyCUDA's driver module.
    number : int
        Number of the device.
    process : int
        Number of the process that started the driver. CUDA does not work in a fork of that process.

    Raises
    ------
    DeviceError
        If the device cannot provide a context.
    """

    def __init__(self, cuda: Driver, number: int, process: int) -> None:
        self._cuda, self._process, self._ended = cuda, process, ""
        self._require_alive()
        try:
            self._context = cuda.Device(number).retain_primary_context()
        except cuda.Error as error:
            message = f"the GPU cannot create a context: {error}; use backend='cpu'"
            raise DeviceError(message) from error

    @property
    def ended(self) -> str:
        """Return why the device cannot be used any more; "" as long as it can."""
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
        """Restore the previous context."""
        try:
            if error is not None:
                self._pass_on(error)
        finally:
            # PyCUDA aborts the process if its stack of contexts is not empty at exit.
            with contextlib.suppress(self._cuda.Error):
                self._cuda.Context.pop()

    def _pass_on(self, error: BaseException) -> None:
        """Free the memory of failed calls, and raise an error that explains PyCUDA's error.

        The memory must be freed while the context is current; PyCUDA leaks it otherwise.
        """
        if isinstance(error, (self._cuda.Error, DeviceError)):
            traceback.clear_frames(error.__traceback__)
        if isinstance(error, self._cuda.Error):
            raise self._meaning_of(error) from error

    def _require_alive(self) -> None:
        """Raise DeviceError if an earlier error ended the context."""
        ended = self.ended
        if ended == _FORKED:
            raise cuda_errors.RefusedCall(ended)
        if ended:
            raise DeviceError(ended)

    def _meaning_of(self, error: Exception) -> DeviceError:
        """Return an error that explains PyCUDA's error.

        The first error that ends the context is recorded.
        """
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
LIST_BLOCKS = 132 * 16  # most blocks for a list whose length is only known on the device


def of_each_device(function: Callable[Params, Result]) -> OfEachDevice[Params, Result]:
    """Cache a function's results, for each device and for each set of arguments."""
    return OfEachDevice(function, number)


@of_each_device
def context() -> PrimaryContext:
    """Return the primary context of this thread's device."""
    return PrimaryContext(driver(), number(), process())


def one_at_a_time(function: Callable[Params, Result]) -> Callable[Params, Result]:
    """Return a function whose calls on one device run one after the other.

    Thus kernel launches of different threads do not mix.
    """
    turns: dict[int | None, threading.Lock] = {}

    @functools.wraps(function)
    def in_turn(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        with turns.setdefault(
            number() if any(context.results.values()) else None, threading.Lock()
        ):
            return function(*args, **kwargs)

    return in_turn


def current() -> AbstractContextManager[Driver]:
    """Return a context manager within which the context of this thread's device is current."""
    return context()


def in_use() -> list[int]:
    """Return the devices with a usable context."""
    return [
        device
        for device, contexts in list(context.results.items())
        if not all(made.ended for made in contexts.values())
    ]


def is_in_use() -> bool:
    """Return whether any device has a usable context."""
    return bool(in_use())


def home_of(address: int) -> int:
    """Return the number of the device whose memory contains an address.

    If there is only one device, or the address is unknown, return the number of this thread's
    device.
    """
    return _homes([address])[0]


def _homes(addresses: Sequence[int]) -> list[int]:
    some = in_use()
    if len({*some, *numbers()}) == 1:
        return [number()] * len(addresses)
    with using((some or numbers())[0]), current():
        ordinals = [libcuda.ordinal(address) for address in addresses]
    return [number() if ordinal is None else ordinal for ordinal in ordinals]


@of_each_device
def architecture() -> str:
    """Return the architecture of this thread's device, such as sm_90."""
    major, minor = driver().Device(number()).compute_capability()
    return f"sm_{major}{minor}"


@of_each_device
def has_slow_doubles() -> bool:
    """Return whether single precision is at least 8 times as fast as double precision here.

    Kernels then try single precision first.
    """
    cuda = driver()
    ratio = cuda.device_attribute.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    return bool(cuda.Device(number()).get_attribute(ratio) >= 8)


def _build(text: str) -> bytes:
    """Compile CUDA source text with nvcc for this thread's device, and return the cubin."""
    from pycuda import compiler

    with warnings.catch_warnings():
        # PyCUDA leaves open files to the garbage collector, and repeats nvcc's remarks.
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
        except (cuda.Error, OSError) as error:  # refused, or nvcc failed: the next image may work
            if cuda_errors.is_dead(cuda):
                raise
            image.discard()
            refused = error
    raise cuda_errors.no_kernels(cuda, name, architecture(), refused)


@of_each_device
def kernel(file: str, name: str) -> CudaKernel:
    """Return one kernel of a kernel file, by its name."""
    with _loading:  # a second thread waits for the compiler instead of running it again
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
    """Return one kernel of a kernel file, prepared for `size` bytes of arguments."""
    prepared = kernel(file, name)
    prepared.prepare([f"{size}s"])
    return prepared


@functools.cache
def block_threads() -> int:
    """Return the number of threads in a thread block."""
    return layout.constant("kBlockThreads")


def list_threads(rows: int) -> int:
    """Return how many threads to launch for a list of at most `rows` rows.

    The length of the list is known only on the device.
    """
    return min(rows, block_threads() * LIST_BLOCKS)


def launch(
    file: str,
    name: str,
    threads: int,
    *fields: Argument,
    stream: CudaStream | None = None,
    times: int = 1,
) -> None:
    """Run a kernel with `threads` threads along x, and `times` thread blocks along y.

    If `threads` is 0, nothing is run.
    """
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
    """Run a kernel on a grid of thread blocks (along x, along y), each of `block` threads."""
    packed = arguments(*fields)
    ready = _prepared(file, name, len(packed))
    ready.prepared_async_call(grid, (block, 1, 1), stream, packed)


def unload() -> None:
    """Unload the kernels of this thread's device, whose context must be current."""
    _prepared.results.pop(number(), None)
    kernel.results.pop(number(), None)
    module.results.pop(number(), None)


def free(*memory: CudaMemory | None) -> None:
    """Free device memory in the context in which it was allocated; None is skipped."""
    if sys.is_finalizing() or not is_in_use():
        return  # the driver frees a context's memory with it
    blocks = [block for block in memory if block is not None]
    homes: dict[int, list[CudaMemory]] = {}
    for block, home in zip(blocks, _homes([*map(int, blocks)]), strict=True):
        homes.setdefault(home, []).append(block)
    for home, some in homes.items():
        with using(home):
            drop(functools.partial(_free_all, some))


def _free_all(memory: list[CudaMemory]) -> None:
    for block in memory:
        block.free()


def drop(release: Callable[[], object]) -> None:
    """Call `release` with this thread's context current; do nothing if that context is unusable."""
    if sys.is_finalizing() or number() not in in_use():
        return
    with current():
        release()


# Streams of other libraries, whose work on the caller's arrays must finish first.


def wait_for(*arrays: Points | Room) -> None:
    """Wait for the streams that write to these arrays; a context must be current."""
    named = [getattr(array, "stream", None) for array in arrays]
    streams = {stream for stream in named if stream is not None}
    if streams and not all(stream > 0 and libcuda.wait_for_stream(stream) for stream in streams):
        driver().Context.synchronize()


# The first missing requirement for using a GPU.

_NO_DRIVER = (
    "the NVIDIA driver is not installed, or this machine has no NVIDIA GPU: install the "
    "driver, 525 or newer"
)
_NO_PYCUDA = "PyCUDA {}: install it as the page 'Install' of the documentation says"
_NO_KERNELS = (
    "this installation has no kernels for {}, and there is no nvcc on the PATH: install a wheel of "
    "geodomain, or build one with GEODOMAIN_NVRTC=1, or install a CUDA toolkit"
)


def missing(architecture: str | None, origins: Iterable[str]) -> str | None:
    """Return the first missing requirement for a GPU, and how to install it, as one text.

    Returns None if nothing is missing.

    Parameters
    ----------
    architecture : str, optional
        Architecture of the device, such as "sm_90"; None if PyCUDA shows no device.
    origins : iterable of str
        Sources of that device's kernels, as in `inventory.Gpu.kernels`.
    """
    return _driver() or _pycuda() or _kernels(architecture, set(origins))


def _driver() -> str | None:
    if libcuda.library() is None:
        return _NO_DRIVER
    count = libcuda.device_count()
    if isinstance(count, str):
        return f"the NVIDIA driver does not start: {count}; 'nvidia-smi' may show the reason"
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
    except Exception as error:  # a missing library of the toolkit, another NumPy, ...
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
            f"the NVIDIA driver is for CUDA {cuda_errors.version_text(here)}, but the kernels of "
            f"this installation need a driver for CUDA {cuda_errors.version_text(needed)}: update "
            "the driver, or install a CUDA toolkit of the driver's version"
        )
    return None
