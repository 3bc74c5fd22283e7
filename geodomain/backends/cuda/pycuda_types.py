"""What is used of PyCUDA, which has no types of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", bound=np.generic)


class CudaMemory(Protocol):
    """Memory of the device, or a copy of it in a pool."""

    def __int__(self) -> int:
        """Return its address."""
        ...

    def free(self) -> None:
        """Free it."""
        ...


Place = int | CudaMemory  # an address on the device
Image = NDArray[np.generic] | memoryview | bytes  # what is copied from


class CudaStream(Protocol):
    """Work of the device in its order."""

    def synchronize(self) -> None:
        """Wait for it."""
        ...


class CudaEvent(Protocol):
    """A mark in a stream."""

    def record(self, stream: CudaStream | None = None) -> CudaEvent:
        """Put it after what was sent."""
        ...

    def synchronize(self) -> None:
        """Wait for it."""
        ...

    def query(self) -> bool:
        """Whether it has been reached."""
        ...

    def time_till(self, event: CudaEvent) -> float:
        """Return the milliseconds to a later one."""
        ...


class CudaContext(Protocol):
    """A context of the device."""

    def push(self) -> None:
        """Make it current."""
        ...


class ContextStack(Protocol):
    """The contexts of a thread, the current one last."""

    def pop(self) -> None:
        """Make the one before current."""
        ...

    def synchronize(self) -> None:
        """Wait for all the work of the current one."""
        ...


class CudaDevice(Protocol):
    """One GPU."""

    def name(self) -> str:
        """Return what its maker calls it."""
        ...

    def compute_capability(self) -> tuple[int, int]:
        """Return its major and minor version."""
        ...

    def total_memory(self) -> int:
        """Return its bytes."""
        ...

    def get_attribute(self, attribute: object) -> int:
        """Return one of the driver's attributes of it."""
        ...

    def retain_primary_context(self) -> CudaContext:
        """Return the context that libraries of a process share."""
        ...


class CudaDevices(Protocol):
    """The GPUs that the driver shows."""

    def __call__(self, number: int) -> CudaDevice:
        """Return one of them."""
        ...

    def count(self) -> int:
        """Return how many there are."""
        ...


class CudaKernel(Protocol):
    """A kernel, ready to be launched."""

    def prepare(self, arg_types: Sequence[str]) -> object:
        """Tell the types of its arguments, as `struct` writes them."""
        ...

    def prepared_async_call(
        self,
        grid: tuple[int, int],
        block: tuple[int, int, int],
        stream: CudaStream | None,
        *arguments: bytes,
    ) -> None:
        """Launch it with arguments of those types."""
        ...


class CudaModule(Protocol):
    """The kernels of one file."""

    def get_function(self, name: str) -> CudaKernel:
        """Return one of them."""
        ...


class EventFlags(Protocol):
    """Options of an event."""

    DISABLE_TIMING: int


class DeviceAttributes(Protocol):
    """What can be asked of a device."""

    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: object


class MemoryPool(Protocol):
    """`pycuda.tools.DeviceMemoryPool`: memory that is lent again."""

    @property
    def held_blocks(self) -> int:
        """Return how many blocks wait to be lent."""
        ...

    def allocate(self, size: int) -> CudaMemory:
        """Lend so many bytes."""
        ...

    def free_held(self) -> None:
        """Free what waits."""
        ...

    def stop_holding(self) -> None:
        """Free at once what is returned from here on."""
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
        """Return 1000 times the major version of CUDA, and 10 times the minor."""
        ...

    def module_from_buffer(self, image: bytes) -> CudaModule:
        """Load a cubin or PTX."""
        ...

    def mem_alloc(self, size: int) -> CudaMemory:
        """Return so many bytes of the device."""
        ...

    def pagelocked_empty(
        self, shape: int | tuple[int, ...], dtype: type[Number]
    ) -> NDArray[Number]:
        """Return an array in page-locked memory."""
        ...

    def memcpy_htod(self, dest: Place, src: Image) -> None:
        """Copy to the device."""
        ...

    def memcpy_htod_async(self, dest: Place, src: Image, stream: CudaStream) -> None:
        """Copy to the device in a stream's order."""
        ...

    def memcpy_dtoh(self, dest: NDArray[np.generic], src: Place) -> None:
        """Copy from the device."""
        ...

    def memcpy_dtoh_async(self, dest: NDArray[np.generic], src: Place, stream: CudaStream) -> None:
        """Copy from the device in a stream's order."""
        ...

    def memcpy_dtod_async(
        self, dest: Place, src: Place, size: int, stream: CudaStream | None = None
    ) -> None:
        """Copy on the device."""
        ...

    def memset_d8(self, dest: Place, data: int, count: int) -> None:
        """Fill with a byte."""
        ...

    def memset_d32(self, dest: Place, data: int, count: int) -> None:
        """Fill with a word."""
        ...

    def memset_d32_async(
        self, dest: Place, data: int, count: int, stream: CudaStream | None = None
    ) -> None:
        """Fill with a word in a stream's order."""
        ...
