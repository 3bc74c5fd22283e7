"""One CUDA device through PyCUDA: its context, its kernels, launches; no geometry."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import numpy as np

from geodomain.backends import cubins, mishaps
from geodomain.backends.arguments import arguments, structure
from geodomain.errors import DeviceError

__all__ = [
    "architecture",
    "arguments",
    "context",
    "current",
    "driver",
    "drop",
    "free",
    "has_slow_doubles",
    "kernel",
    "launch",
    "module",
    "number",
    "one_at_a_time",
    "structure",
]

Given = ParamSpec("Given")
Result = TypeVar("Result")

BLOCK = 128  # the full arithmetic takes 255 registers a thread
LIST_BLOCKS = 132 * 16  # blocks that share a list whose length is on the device


@functools.cache
def driver() -> Any:
    """Return PyCUDA's driver module, initialised; DeviceError says what is missing."""
    try:
        import pycuda.driver as cuda
    except Exception as error:  # a folder that is gone, another NumPy's binary interface, ...
        message = (
            f"no CUDA backend here: {error}; install geodomain[cuda] beside a CUDA toolkit and an "
            "NVIDIA driver, or use --backend cpu"
        )
        raise DeviceError(message) from error
    try:
        cuda.init()
        count = cuda.Device.count()
    except cuda.Error as error:
        message = f"the CUDA driver does not start: {error}{_left_visible()}; use --backend cpu"
        raise DeviceError(message) from error
    if count == 0:
        message = f"there is no CUDA device{_left_visible()}; use --backend cpu"
        raise DeviceError(message)
    return cuda


def _left_visible() -> str:
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
            "'geodomain devices', or use --backend cpu"
        )
        raise DeviceError(message)
    return int(wish)


@functools.cache
def context() -> Any:
    """Return the primary context of the device, which torch and cupy share."""
    cuda = driver()
    try:
        return cuda.Device(number()).retain_primary_context()
    except cuda.Error as error:
        message = f"the GPU gives no context: {error}; use --backend cpu"
        raise DeviceError(message) from error


def _forked() -> None:
    """Leave the device alone in a child of a process that has used it: CUDA outlives no fork."""
    if driver.cache_info().currsize:
        mishaps.end(
            "this process was forked from one that had used the GPU, and CUDA does not work in "
            "it: start processes by 'spawn' or 'forkserver', or use --backend cpu"
        )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def one_at_a_time(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Keep threads from mixing what a function sends to the device; what is sent stays in order."""
    turn = threading.Lock()

    @functools.wraps(function)
    def in_turn(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        with turn:
            return function(*args, **kwargs)

    return in_turn


@contextlib.contextmanager
def current() -> Iterator[Any]:
    """Make the context current for a call, on whatever thread, and put the old one back.

    What PyCUDA raises inside leaves as a DeviceError that says what has happened.
    """
    mishaps.refuse_after_a_crash()
    held, cuda = context(), driver()
    try:
        held.push()
    except cuda.Error as error:  # after a fork, say
        raise mishaps.told(cuda, error) from error
    try:
        yield cuda
    except cuda.Error as error:
        # What the calls that failed had allocated goes now: PyCUDA leaks what another thread
        # drops while the context is not current.
        traceback.clear_frames(error.__traceback__)
        raise mishaps.told(cuda, error) from error
    finally:
        # PyCUDA ends the process where its stack of contexts is not empty at the end.
        with contextlib.suppress(cuda.Error):
            cuda.Context.pop()


@functools.cache
def architecture() -> str:
    """Return the device's architecture, such as sm_90."""
    major, minor = driver().Device(number()).compute_capability()
    return f"sm_{major}{minor}"


@functools.cache
def has_slow_doubles() -> bool:
    """Tell whether floats are so much faster that it pays to try them first."""
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
def module(name: str) -> Any:
    """Return a kernel file's module in the current context."""
    cuda = driver()
    refused = None
    for image in cubins.images(name, architecture(), _build):
        try:
            return cuda.module_from_buffer(image.read())
        except cuda.MemoryError:
            raise
        except (cuda.Error, OSError) as error:  # refused, or nvcc fails: the next one may do
            if mishaps.is_dead(cuda):
                raise
            image.discard()
            refused = error
    raise mishaps.no_kernels(cuda, name, architecture(), refused)


@functools.cache
def kernel(file: str, name: str) -> Any:
    """Return one kernel of a kernel file."""
    return module(file).get_function(name)


def launch(
    file: str, name: str, threads: int, *fields: Any, stream: Any = None, times: int = 1
) -> None:
    """Run a kernel with one thread, or so many times one, to a row, or, for 0 rows, nothing."""
    if threads == 0:
        return
    blocks = (threads + BLOCK - 1) // BLOCK
    packed = np.frombuffer(arguments(*fields), dtype=np.uint8)
    kernel(file, name)(packed, grid=(blocks, times), block=(BLOCK, 1, 1), stream=stream)


def free(*memory: Any) -> None:
    """Give device memory back, in the context that it came from; None is passed over."""
    drop(lambda: [one.free() for one in memory if one is not None])


def drop(release: Callable[[], object]) -> None:
    """Let something be freed while the context is current; nothing where that is gone."""
    if mishaps.crashed() or sys.is_finalizing() or not context.cache_info().currsize:
        return  # the driver frees what a context had when it goes
    with current():
        release()
