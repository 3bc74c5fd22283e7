"""Calls of the CUDA driver that PyCUDA has no name for, through ctypes; nothing is owned here."""

from __future__ import annotations

import ctypes
import functools
import sys

# From cuda.h: attributes of a pointer, a kind of memory, an error, an input of the linker.
_MEMORY_TYPE, _DEVICE_ORDINAL = 2, 9
_HOST_MEMORY = 1
_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_PTX = 1  # CU_JIT_INPUT_PTX
_LEAST = {_MEMORY_TYPE: 1, _DEVICE_ORDINAL: 0}  # what is less stands for unknown memory


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return the driver's library, which PyCUDA loads too, or None."""
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def driver_version() -> int | None:
    """Return the CUDA version that the driver is for, as 1000 times the major plus 10 the minor."""
    known, version = library(), ctypes.c_int(0)
    if known is None or known.cuDriverGetVersion(ctypes.byref(version)):
        return None
    return version.value


def device_count() -> int | str:
    """Return the number of devices that the driver shows, or the name of the error that it gives.

    It makes no context.
    """
    known, count = library(), ctypes.c_int(0)
    if known is None:
        return "there is none"
    status: int = known.cuInit(0) or known.cuDeviceGetCount(ctypes.byref(count))
    if status == _NO_DEVICE:
        return 0
    if status == 0:
        return count.value
    name = ctypes.c_char_p()
    known.cuGetErrorName(status, ctypes.byref(name))
    return (name.value or b"CUDA error %d" % status).decode()


def is_pinned(address: int, size: int) -> bool:
    """Return whether memory of ``size`` bytes is page-locked, by whomever; a context is current."""
    if size == 0:
        return False
    ends = (address, address + size - 1)
    return all(_attribute(_MEMORY_TYPE, place) == _HOST_MEMORY for place in ends)


def ordinal(address: int) -> int | None:
    """Return the number of the device that has an address, or None where that is unknown."""
    return _attribute(_DEVICE_ORDINAL, address)


def wait_for_stream(handle: int) -> bool:
    """Wait for a stream of another library by its handle; False where that cannot be done."""
    known = library()
    return known is not None and bool(known.cuStreamSynchronize(ctypes.c_void_p(handle)) == 0)


def current_context() -> int | None:
    """Return the handle of the context that is current in this thread, or None."""
    known, handle = library(), ctypes.c_void_p()
    if known is None or known.cuCtxGetCurrent(ctypes.byref(handle)):
        return None
    return handle.value


def linked(ptx: bytes, context: int) -> bytes | None:
    """Return machine code of PTX for a context's device, or None where the driver makes none.

    Other threads run meanwhile, and can make some too; this one has no context before and after.
    """
    known, was = library(), ctypes.c_void_p()
    if known is None or known.cuCtxPushCurrent_v2(ctypes.c_void_p(context)):
        return None
    try:
        return _linked(known, ptx)
    finally:
        known.cuCtxPopCurrent_v2(ctypes.byref(was))


def _linked(known: ctypes.CDLL, ptx: bytes) -> bytes | None:
    state, cubin, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    if known.cuLinkCreate_v2(ctypes.c_uint(0), None, None, ctypes.byref(state)):
        return None
    try:
        length = ctypes.c_size_t(len(ptx) + 1)  # with the zero byte that ends it
        options = ctypes.c_uint(0), None, None
        failed = known.cuLinkAddData_v2(state, _PTX, ptx, length, b"kernel.ptx", *options)
        if failed or known.cuLinkComplete(state, ctypes.byref(cubin), ctypes.byref(size)):
            return None
        return ctypes.string_at(cubin, size.value)  # the linker's own until it is destroyed
    finally:
        known.cuLinkDestroy(state)


def _attribute(number: int, address: int) -> int | None:
    """Return an attribute of an address, or None for memory that the driver does not know.

    The call for several attributes answers for such memory too, with a type of 0 and a device
    below 0; the call for one fails, which tools that watch for errors report.
    """
    known = library()
    if known is None:
        return None
    value = ctypes.c_int(0)
    status = known.cuPointerGetAttributes(
        ctypes.c_uint(1),
        (ctypes.c_int * 1)(number),
        (ctypes.c_void_p * 1)(ctypes.addressof(value)),
        ctypes.c_uint64(address),
    )
    return value.value if status == 0 and value.value >= _LEAST[number] else None
