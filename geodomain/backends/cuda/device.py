"""One CUDA device through PyCUDA: context, kernels, launches."""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

import numpy as np

from geodomain.backends import layout
from geodomain.backends.cuda import cubins
from geodomain.backends.cuda import errors as cuda_errors
from geodomain.backends.cuda.arguments import Argument, arguments
from geodomain.backends.cuda.context import PrimaryContext
from geodomain.backends.cuda.pycuda_types import (
    CudaKernel,
    CudaMemory,
    CudaModule,
    CudaStream,
    Driver,
)
from geodomain.errors import DeviceError

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
    "is_in_use",
    "kernel",
    "launch",
    "left_visible",
    "list_threads",
    "module",
    "number",
    "one_at_a_time",
]

Given = ParamSpec("Given")
Result = TypeVar("Result")

LIST_BLOCKS = 132 * 16  # blocks that share a list whose length is on the device


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
    _process()
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
def number() -> int:
    """Return which of the visible devices is used from here on: GEODOMAIN_DEVICE, or the first."""
    wish = os.environ.get("GEODOMAIN_DEVICE") or "0"
    count = driver().Device.count()
    if not wish.isdecimal() or int(wish) >= count:
        message = (
            f"GEODOMAIN_DEVICE is {wish!r}; it can be 0 to {count - 1} here, as in "
            "'geodomain devices', or use backend='cpu'"
        )
        raise DeviceError(message)
    return int(wish)


@functools.cache
def _process() -> int:
    """Return the process that started the driver."""
    return os.getpid()


@functools.cache
def context() -> PrimaryContext:
    """Return the context of the device."""
    return PrimaryContext(driver(), number(), _process())


def one_at_a_time(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Keep threads from mixing what a function sends to the device; what is sent stays in order."""
    turn = threading.Lock()

    @functools.wraps(function)
    def in_turn(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with turn:
            return function(*args, **kwargs)

    return in_turn


def current() -> AbstractContextManager[Driver]:
    """Make the context current for a call; see `PrimaryContext.current`."""
    return context().current()


def is_in_use() -> bool:
    """Return whether there is a context, and it can be used."""
    return bool(context.cache_info().currsize) and not context().ended


@functools.cache
def architecture() -> str:
    """Return the device's architecture, such as sm_90."""
    major, minor = driver().Device(number()).compute_capability()
    return f"sm_{major}{minor}"


@functools.cache
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
            options=list(cubins.FLAGS),
            no_extern_c=True,
            arch=architecture(),
            cache_dir=False,
        )
    return binary


@functools.cache
@one_at_a_time  # who comes second finds in the cache what nvcc took seconds for
def module(name: str) -> CudaModule:
    """Return a kernel file's module in the current context."""
    cuda = driver()
    refused: Exception | None = None
    for image in cubins.images(name, architecture(), _build):
        try:
            return cuda.module_from_buffer(image.read())
        except cuda.MemoryError:
            raise
        except (cuda.Error, OSError) as error:  # refused, or nvcc fails: the next one may do
            if cuda_errors.is_dead(cuda):
                raise
            image.discard()
            refused = error
    raise cuda_errors.no_kernels(cuda, name, architecture(), refused)


@functools.cache
def kernel(file: str, name: str) -> CudaKernel:
    """Return one kernel of a kernel file."""
    return module(file).get_function(name)


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
    packed = np.frombuffer(arguments(*fields), dtype=np.uint8)
    kernel(file, name)(packed, grid=(blocks, times), block=(block, 1, 1), stream=stream)


def free(*memory: CudaMemory | None) -> None:
    """Free device memory in the context that it came from; None is passed over."""

    def release() -> None:
        for one in memory:
            if one is not None:
                one.free()

    drop(release)


def drop(release: Callable[[], object]) -> None:
    """Let something be freed while the context is current; nothing where that is gone."""
    if sys.is_finalizing() or not is_in_use():
        return  # the driver frees what a context had when it goes
    with current():
        release()
