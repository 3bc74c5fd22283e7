"""CUDA devices through PyCUDA: contexts, kernels, launches.

A thread works on one device at a time: the first of those that are used, or, in `using`, another.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import ParamSpec, TypeVar

from geodomain.backends import layout
from geodomain.backends.cuda import cubins, libcuda
from geodomain.backends.cuda import errors as cuda_errors
from geodomain.backends.cuda.arguments import Argument, arguments
from geodomain.backends.cuda.context import PrimaryContext
from geodomain.backends.cuda.devices import driver, number, numbers, process, using
from geodomain.backends.cuda.each_device import OfEachDevice
from geodomain.backends.cuda.linking import PtxModule
from geodomain.backends.cuda.pycuda_types import (
    CudaKernel,
    CudaMemory,
    CudaModule,
    CudaStream,
    Driver,
)

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

Given = ParamSpec("Given")
Result = TypeVar("Result")

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
            options=list(cubins.FLAGS),
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
    for image in cubins.images(name, architecture(), _build):
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
