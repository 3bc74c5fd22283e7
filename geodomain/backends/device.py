"""One CUDA device through PyCUDA: its context, its kernels, launches; no geometry."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from geodomain.backends import cubins
from geodomain.errors import DeviceError

BLOCK = 256
GRIDS_OF_LISTS = 132 * 16  # blocks that share a list whose length is on the device


@functools.cache
def driver() -> Any:
    """Return PyCUDA's driver module, initialised; DeviceError says what is missing."""
    try:
        import pycuda.driver as cuda
    except ImportError as error:
        message = (
            f"no CUDA backend here: {error}; install geodomain[cuda] beside a CUDA toolkit and an "
            "NVIDIA driver, or use --backend cpu"
        )
        raise DeviceError(message) from error
    try:
        cuda.init()
        count = cuda.Device.count()
    except cuda.Error as error:
        message = f"the CUDA driver does not start: {error}; use --backend cpu"
        raise DeviceError(message) from error
    if count == 0:
        message = "there is no CUDA device; use --backend cpu"
        raise DeviceError(message)
    return cuda


@functools.cache
def context() -> Any:
    """Return the primary context of the first device, which torch and cupy share."""
    return driver().Device(0).retain_primary_context()


@contextlib.contextmanager
def current() -> Iterator[Any]:
    """Make the context current for a call, on whatever thread, and put the old one back."""
    held = context()
    held.push()
    try:
        yield driver()
    finally:
        driver().Context.pop()


@functools.cache
def architecture() -> str:
    """Return the first device's architecture, such as sm_90."""
    major, minor = driver().Device(0).compute_capability()
    return f"sm_{major}{minor}"


def _build(text: str) -> bytes:
    from pycuda import compiler

    if cubins.compiler() is None:
        message = "there is no nvcc on the PATH to compile the kernels with; use --backend cpu"
        raise DeviceError(message)
    binary: bytes = compiler.compile(
        text,
        options=list(cubins.FLAGS),
        no_extern_c=True,
        arch=architecture(),
        cache_dir=False,
    )
    return binary


@functools.cache
def module(name: str) -> Any:
    """Return a kernel file's module in the current context."""
    return driver().module_from_buffer(cubins.cubin(name, architecture(), _build))


@functools.cache
def kernel(file: str, name: str) -> Any:
    """Return one kernel of a kernel file."""
    return module(file).get_function(name)


def structure(*fields: Any) -> bytes:
    """Return C values one after the other, aligned as C aligns them.

    A field is an int (a 64-bit pointer or count), a float, a ctypes value, or the
    bytes of another structure.
    """
    values = [_c_value(field) for field in fields]
    kind = type(
        "Fields",
        (ctypes.Structure,),
        {"_fields_": [(f"field{i}", type(value)) for i, value in enumerate(values)]},
    )
    return bytes(kind(*values))


def _c_value(field: Any) -> Any:
    if isinstance(field, bytes):
        # Every structure of ours holds something of eight bytes.
        return (ctypes.c_uint64 * (len(field) // 8)).from_buffer_copy(field)
    if isinstance(field, float):
        return ctypes.c_double(field)
    return ctypes.c_uint64(int(field)) if isinstance(field, int) else field


def launch(file: str, name: str, threads: int, *arguments: Any, stream: Any = None) -> None:
    """Run a kernel with one thread to a row, or, for 0 rows, nothing."""
    if threads == 0:
        return
    blocks = (threads + BLOCK - 1) // BLOCK
    packed = np.frombuffer(structure(*arguments), dtype=np.uint8)
    kernel(file, name)(packed, grid=(blocks, 1), block=(BLOCK, 1, 1), stream=stream)


def upload(array: Any) -> Any:
    """Return a device copy of a contiguous array; at least one byte is allocated."""
    cuda = driver()
    memory = cuda.mem_alloc(max(array.nbytes, 1))
    if array.nbytes:
        cuda.memcpy_htod(memory, array)
    return memory
