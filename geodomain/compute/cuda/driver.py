"""Types for PyCUDA, driver functions that PyCUDA lacks, errors, and array interfaces."""

from __future__ import annotations

import ctypes
import functools
import math
import re
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import DeviceError

Number = TypeVar("Number", bound=np.generic)


class CudaMemory(Protocol):
    """Device memory, allocated directly or from a pool."""

    def __int__(self) -> int:
        """Return the address of the memory."""
        ...

    def free(self) -> None:
        """Free the memory."""
        ...


Place = int | CudaMemory  # an address on the device
Image = NDArray[np.generic] | memoryview | bytes  # a source of a copy


class CudaStream(Protocol):
    """A queue of work on the device, which is done in order."""

    def synchronize(self) -> None:
        """Wait until all work in the stream is done."""
        ...


class CudaEvent(Protocol):
    """A mark in a stream; it is reached when all work before the mark is done."""

    def record(self, stream: CudaStream | None = None) -> CudaEvent:
        """Set the mark after the work that has been sent to the stream so far."""
        ...

    def synchronize(self) -> None:
        """Wait until the mark is reached."""
        ...

    def query(self) -> bool:
        """Return whether the mark has been reached."""
        ...

    def time_till(self, event: CudaEvent) -> float:
        """Return the milliseconds from this mark to a later one."""
        ...


class CudaContext(Protocol):
    """A context of the device."""

    def push(self) -> None:
        """Make the context current."""
        ...


class ContextStack(Protocol):
    """The contexts of a thread; the last one is current."""

    def pop(self) -> None:
        """Make the previous context current."""
        ...

    def synchronize(self) -> None:
        """Wait until all work in the current context is done."""
        ...


class CudaDevice(Protocol):
    """One GPU."""

    def name(self) -> str:
        """Return the product name of the GPU."""
        ...

    def compute_capability(self) -> tuple[int, int]:
        """Return the major and the minor number of the compute capability."""
        ...

    def total_memory(self) -> int:
        """Return the size of the GPU's memory in bytes."""
        ...

    def get_attribute(self, attribute: object) -> int:
        """Return an attribute of the GPU; the driver's enumeration names the attributes."""
        ...

    def retain_primary_context(self) -> CudaContext:
        """Return the context that all libraries of a process share."""
        ...


class CudaDevices(Protocol):
    """The GPUs that the driver reports."""

    def __call__(self, number: int) -> CudaDevice:
        """Return the GPU with a number."""
        ...

    def count(self) -> int:
        """Return the number of GPUs."""
        ...


class CudaKernel(Protocol):
    """A kernel, ready to be launched."""

    def prepare(self, arg_types: Sequence[str]) -> object:
        """Set the types of the kernel's arguments, as `struct` formats."""
        ...

    def prepared_async_call(
        self,
        grid: tuple[int, int],
        block: tuple[int, int, int],
        stream: CudaStream | None,
        *arguments: bytes,
    ) -> None:
        """Launch the kernel with arguments of the types that `prepare` set."""
        ...


class CudaModule(Protocol):
    """The kernels of one file."""

    def get_function(self, name: str) -> CudaKernel:
        """Return the kernel with a name."""
        ...


class EventFlags(Protocol):
    """Options of an event."""

    DISABLE_TIMING: int


class DeviceAttributes(Protocol):
    """The attributes of a device."""

    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: object


class MemoryPool(Protocol):
    """`pycuda.tools.DeviceMemoryPool`, which keeps freed device memory for later use."""

    @property
    def held_blocks(self) -> int:
        """Return how many blocks of memory are idle."""
        ...

    def allocate(self, size: int) -> CudaMemory:
        """Allocate `size` bytes."""
        ...

    def free_held(self) -> None:
        """Free the idle blocks of memory."""
        ...

    def stop_holding(self) -> None:
        """Keep no freed blocks of memory from now on: return them to the device at once."""
        ...


class Driver(Protocol):
    """The module `pycuda.driver`."""

    Error: type[Exception]
    MemoryError: type[Exception]
    CompileError: type[Exception]
    Device: CudaDevices
    Context: ContextStack
    Stream: Callable[[], CudaStream]
    Event: Callable[..., CudaEvent]
    event_flags: EventFlags
    device_attribute: DeviceAttributes

    def init(self) -> None:
        """Start the driver."""
        ...

    def get_driver_version(self) -> int:
        """Return the CUDA version of the driver as 1000 * major + 10 * minor."""
        ...

    def module_from_buffer(self, image: bytes) -> CudaModule:
        """Load a cubin or PTX into the current context."""
        ...

    def mem_alloc(self, size: int) -> CudaMemory:
        """Allocate `size` bytes of device memory."""
        ...

    def pagelocked_empty(
        self, shape: int | tuple[int, ...], dtype: type[Number]
    ) -> NDArray[Number]:
        """Return a new, uninitialised array in page-locked memory."""
        ...

    def memcpy_htod(self, dest: Place, src: Image) -> None:
        """Copy from the host to the device."""
        ...

    def memcpy_htod_async(self, dest: Place, src: Image, stream: CudaStream) -> None:
        """Copy from the host to the device, in the stream's order."""
        ...

    def memcpy_dtoh(self, dest: NDArray[np.generic], src: Place) -> None:
        """Copy from the device to the host."""
        ...

    def memcpy_dtoh_async(self, dest: NDArray[np.generic], src: Place, stream: CudaStream) -> None:
        """Copy from the device to the host, in the stream's order."""
        ...

    def memcpy_dtod_async(
        self, dest: Place, src: Place, size: int, stream: CudaStream | None = None
    ) -> None:
        """Copy from one place on the device to another, in the stream's order."""
        ...

    def memset_d8(self, dest: Place, data: int, count: int) -> None:
        """Fill device memory with `count` copies of a byte."""
        ...

    def memset_d32(self, dest: Place, data: int, count: int) -> None:
        """Fill device memory with `count` copies of a 32-bit word."""
        ...

    def memset_d32_async(
        self, dest: Place, data: int, count: int, stream: CudaStream | None = None
    ) -> None:
        """Fill device memory with `count` copies of a 32-bit word, in the stream's order."""
        ...


# Driver calls that PyCUDA lacks, through ctypes.

# From cuda.h: attributes of a pointer, a kind of memory, an error, an input of the linker.
_MEMORY_TYPE, _DEVICE_ORDINAL = 2, 9
_HOST_MEMORY = 1
_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_PTX = 1  # CU_JIT_INPUT_PTX
_LEAST = {_MEMORY_TYPE: 1, _DEVICE_ORDINAL: 0}  # smaller values mean unknown memory


@functools.cache
def library() -> ctypes.CDLL | None:
    """Return the driver's shared library; None if it is not installed.

    PyCUDA loads the same library.
    """
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def driver_version() -> int | None:
    """Return the CUDA version of the driver as 1000 * major + 10 * minor, or None."""
    cuda, version = library(), ctypes.c_int(0)
    if cuda is None or cuda.cuDriverGetVersion(ctypes.byref(version)):
        return None
    return version.value


def device_count() -> int | str:
    """Return the number of devices that the driver shows; if it fails, the name of the error.

    No context is created.
    """
    cuda, count = library(), ctypes.c_int(0)
    if cuda is None:
        return "there is none"
    status: int = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if status == _NO_DEVICE:
        return 0
    if status == 0:
        return count.value
    name = ctypes.c_char_p()
    cuda.cuGetErrorName(status, ctypes.byref(name))
    return (name.value or b"CUDA error %d" % status).decode()


def is_pinned(address: int, size: int) -> bool:
    """Return whether ``size`` bytes at an address are page-locked; a context must be current.

    It does not matter which library locked them.
    """
    if size == 0:
        return False
    ends = (address, address + size - 1)
    return all(_attribute(_MEMORY_TYPE, place) == _HOST_MEMORY for place in ends)


def ordinal(address: int) -> int | None:
    """Return the number of the device whose memory holds an address, or None if unknown."""
    return _attribute(_DEVICE_ORDINAL, address)


def wait_for_stream(handle: int) -> bool:
    """Wait for another library's stream, given by its handle; return False if that fails."""
    cuda = library()
    return cuda is not None and bool(cuda.cuStreamSynchronize(ctypes.c_void_p(handle)) == 0)


def current_context() -> int | None:
    """Return the handle of the context that is current in this thread, or None."""
    cuda, handle = library(), ctypes.c_void_p()
    if cuda is None or cuda.cuCtxGetCurrent(ctypes.byref(handle)):
        return None
    return handle.value


def linked(ptx: bytes, context: int) -> bytes | None:
    """Compile PTX for a context's device; return machine code, or None if the driver cannot.

    Other threads can compile at the same time. This thread needs no current context.
    """
    cuda, was = library(), ctypes.c_void_p()
    if cuda is None or cuda.cuCtxPushCurrent_v2(ctypes.c_void_p(context)):
        return None
    try:
        return _linked(cuda, ptx)
    finally:
        cuda.cuCtxPopCurrent_v2(ctypes.byref(was))


def _linked(cuda: ctypes.CDLL, ptx: bytes) -> bytes | None:
    state, cubin, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
    if cuda.cuLinkCreate_v2(ctypes.c_uint(0), None, None, ctypes.byref(state)):
        return None
    try:
        length = ctypes.c_size_t(len(ptx) + 1)  # with the zero byte that ends it
        options = ctypes.c_uint(0), None, None
        failed = cuda.cuLinkAddData_v2(state, _PTX, ptx, length, b"kernel.ptx", *options)
        if failed or cuda.cuLinkComplete(state, ctypes.byref(cubin), ctypes.byref(size)):
            return None
        return ctypes.string_at(cubin, size.value)  # the linker's own until it is destroyed
    finally:
        cuda.cuLinkDestroy(state)


def _attribute(number: int, address: int) -> int | None:
    """Return an attribute of an address, or None for memory unknown to the driver.

    For memory unknown to the driver, cuPointerGetAttributes succeeds, with type 0 and a negative
    device. cuPointerGetAttribute would fail, and debugging tools report failed calls.
    """
    cuda = library()
    if cuda is None:
        return None
    value = ctypes.c_int(0)
    status = cuda.cuPointerGetAttributes(
        ctypes.c_uint(1),
        (ctypes.c_int * 1)(number),
        (ctypes.c_void_p * 1)(ctypes.addressof(value)),
        ctypes.c_uint64(address),
    )
    return value.value if status == 0 and value.value >= _LEAST[number] else None


# Translation of CUDA errors, and recovery.

_COMPLAINT = re.compile(r"^nvcc fatal|\berror\b.*:")  # an error in nvcc's output


class OutOfDeviceMemory(DeviceError):
    """GPU memory is short. A smaller batch may fit; otherwise the CPU can compute the call."""


class DeadContext(DeviceError):
    """The context has failed for good, so the process cannot use the device any more."""


class RefusedCall(DeviceError):
    """The call is invalid on any device; the device refuses it, and still works for other calls."""


def meaning_of(cuda: Driver, error: Exception) -> DeviceError:
    """Return an error that explains PyCUDA's error, after testing whether the context works.

    After an illegal address or a failed launch, every later call of the context fails, and results
    that were not copied yet may be wrong. Other errors leave the context usable.
    """
    if isinstance(error, cuda.MemoryError):
        message = "not enough GPU memory; free some of it, or use backend='cpu'"
        return OutOfDeviceMemory(message)
    if is_dead(cuda):
        message = (
            f"the GPU failed, and only a new process can use it again: {error}; no results were "
            "returned: run again, or use backend='cpu'"
        )
        return DeadContext(message)
    return RefusedCall(f"the GPU reported an error: {error}; use backend='cpu'")


def is_dead(cuda: Driver) -> bool:
    """Return whether the current context is unusable."""
    try:
        cuda.Context.synchronize()
    except cuda.Error:
        return True
    return False


def no_kernels(
    cuda: Driver, file: str, architecture: str, refused: Exception | None
) -> DeviceError:
    """Return the error for a kernel file that does not load.

    The error says whether the driver refused the file, nvcc could not compile it, or it is missing.
    """
    if refused is None:
        message = (
            f"no compiled kernels of {file} for {architecture} were found, and no nvcc on the PATH "
            "to compile them: install a CUDA toolkit for this architecture, or use backend='cpu'"
        )
        return DeviceError(message)
    lines = [line.strip() for line in str(refused).splitlines()]
    reason = next((line for line in lines if _COMPLAINT.search(line)), lines[0])
    if isinstance(refused, (cuda.CompileError, OSError)):
        message = (
            f"nvcc cannot compile {file}: {reason}; repair the CUDA installation, or use "
            "backend='cpu'"
        )
        return DeviceError(message)
    version = version_text(cuda.get_driver_version())
    message = (
        f"the NVIDIA driver, which is for CUDA {version}, refuses the kernels ({reason}): update "
        "the driver to the CUDA toolkit's version or newer, or use backend='cpu'"
    )
    return DeviceError(message)


def version_text(version: int) -> str:
    """Return a CUDA version as text, such as "12.4", from 1000 * major + 10 * minor."""
    return f"{version // 1000}.{version % 1000 // 10}"


# Arrays on a GPU, as the CUDA array interface and DLPack describe them.


class ArrayInterface(NamedTuple):
    """The memory of an array on a GPU, and the object that owns it.

    Attributes
    ----------
    address : int
        Address of the first element.
    read_only : bool
        Whether the array must not be written to.
    shape : tuple of int
        Shape of the array.
    strides : tuple of int, optional
        In bytes; None if C-contiguous.
    typestr : str
        The type, in NumPy's notation.
    stream : int, optional
        The stream to wait for; None for no stream, -1 for all streams.
    owner : object
        The object that owns the memory.
    """

    address: int
    read_only: bool
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    typestr: str
    stream: int | None
    owner: object


class CudaInterface(TypedDict, total=False):
    """The dictionary of ``__cuda_array_interface__``."""

    shape: tuple[int, ...]
    typestr: str
    data: tuple[int, bool]
    strides: tuple[int, ...] | None
    stream: int | None
    mask: object
    version: int


class DlpackArray(Protocol):
    """An array that exports its memory by DLPack."""

    def __dlpack__(self, *, stream: int) -> object:
        """Return a DLPack capsule for use on a stream."""
        ...


# DLPack, read through ctypes.

_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}  # DLPack type codes in NumPy's notation
_NAME, _USED = b"dltensor", b"used_dltensor"


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("kind", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),  # in elements; null if contiguous
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (
    ("tensor", _Tensor),
    ("context", ctypes.c_void_p),
    ("deleter", _Deleter),
)

_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype, _get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_set_name = ctypes.pythonapi.PyCapsule_SetName
_set_name.restype, _set_name.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)


class _Owner:
    """An object that keeps the memory of a DLPack tensor alive."""

    def __init__(self, managed: ctypes._Pointer[_Managed]) -> None:
        self._managed = managed

    def __del__(self) -> None:
        """Tell the producer that the tensor is no longer used."""
        if self._managed.contents.deleter:
            self._managed.contents.deleter(self._managed)


def interface(values: DlpackArray, stream: int) -> ArrayInterface:
    """Return the memory of a DLPack array, and the object that owns this memory.

    The library that made the array makes ``stream`` wait for its pending work on the array.
    """
    capsule = values.__dlpack__(stream=stream)
    managed = ctypes.cast(_get_pointer(capsule, _NAME), ctypes.POINTER(_Managed))
    _set_name(capsule, _USED)  # from now on we must call the deleter
    owner, tensor = _Owner(managed), managed.contents.tensor
    if tensor.lanes != 1 or tensor.kind not in _KINDS:
        message = "points must be real numbers"
        raise TypeError(message)
    size = tensor.bits // 8
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    return ArrayInterface(
        address=(tensor.data or 0) + tensor.byte_offset,
        read_only=False,
        shape=shape,
        strides=_strides(tensor, shape, size),
        typestr=f"{'|' if size == 1 else '<'}{_KINDS[tensor.kind]}{size}",
        stream=-1,
        owner=owner,
    )


def _strides(tensor: _Tensor, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    if tensor.strides:
        return tuple(tensor.strides[axis] * size for axis in range(tensor.ndim))
    return tuple(size * math.prod(shape[axis + 1 :]) for axis in range(tensor.ndim))
