"""Read arrays of the caller on a GPU (CUDA array interface, DLPack), and create result arrays."""

from __future__ import annotations

import math
from typing import TypeVar, cast, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain.compute.cuda import device, driver
from geodomain.compute.cuda.buffers import allocate
from geodomain.compute.cuda.driver import (
    ArrayInterface,
    CudaInterface,
    DlpackArray,
    OutOfDeviceMemory,
)
from geodomain.compute.data import DevicePoints, DeviceRoom
from geodomain.errors import DeviceError

_CUDA_LEGACY_STREAM = 1


class DeviceArray:
    """An array in a GPU's memory, which this object owns.

    Its ``__cuda_array_interface__`` lets CuPy (``cupy.asarray``), PyTorch
    (``torch.as_tensor(array, device="cuda")``) and Numba use it without a copy. Results are
    complete when a function returns them: there is no stream to wait for.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the new array, which is contiguous, in C order, and not initialised.
    dtype : data type
        Type of the elements.

    Attributes
    ----------
    shape : tuple of int
        Shape of the array.
    dtype : numpy.dtype
        Type of the elements.
    """

    def __init__(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> None:
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.dtype: np.dtype[np.generic] = np.dtype(dtype)
        with device.current():
            self._memory = allocate(self.nbytes)
        self._interface: CudaInterface = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (int(self._memory), False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __del__(self) -> None:
        """Free the memory in the context in which it was allocated."""
        device.free(getattr(self, "_memory", None))

    @property
    def nbytes(self) -> int:
        """Size of the array in bytes."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> CudaInterface:
        """The CUDA array interface, version 3."""
        return self._interface

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Return shape and type, without the elements."""
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name})"

    def get(self) -> NDArray[np.generic]:
        """Return a copy of the array in ordinary memory."""
        copied = np.empty(self.shape, self.dtype)
        if copied.nbytes:
            with device.using(device.home_of(int(self._memory))), device.current() as cuda:
                cuda.memcpy_dtoh(copied, self._memory)
        return copied


def results_for(points: DevicePoints, dtype: DTypeLike) -> DeviceArray:
    """Return a new array for one result per point, on the device of the points."""
    with device.using(home(points)):
        return DeviceArray(points.rows, dtype)


def home(array: DevicePoints | DeviceRoom) -> int:
    """Return the number of the device that holds an array.

    For an empty array, return the number of this thread's device.
    """
    return device.home_of(array.address) if len(array) else device.number()


def read_points(values: object) -> DevicePoints:
    """Return the caller's points on the device, after checking their shape and type."""
    interface = _interface(values)
    shape = interface.shape
    if len(shape) != 2 or shape[1] != 3:
        message = f"points must have shape (n, 3), not {shape}"
        raise ValueError(message)
    if interface.typestr != "<f8":
        message = (
            f"points on a GPU must be float64, not {np.dtype(interface.typestr)}: convert them "
            "on the GPU, which is exact for float32"
        )
        raise TypeError(message)
    step, across = (24, 8) if interface.strides is None else interface.strides
    points = DevicePoints(
        interface.address, shape[0], (step, across), interface.stream, interface.owner
    )
    if points.rows and (points.address | step | across) % 8:
        message = (
            "points on a GPU must be aligned to 8 bytes, like float64: copy them on the GPU, "
            "as with cupy.ascontiguousarray"
        )
        raise ValueError(message)
    _require_our_device(points.address if points.rows else 0)
    return points


def read_room(values: object, wanted_shape: tuple[int, ...], dtype: DTypeLike) -> DeviceRoom:
    """Return the caller's output array on the device, after checking that it fits."""
    interface = _interface(values)
    shape = interface.shape
    wanted: np.dtype[np.generic] = np.dtype(dtype)
    fits = shape == wanted_shape and interface.typestr == wanted.str and not interface.read_only
    if not fits or not _is_contiguous(shape, interface.strides, wanted.itemsize):
        message = (
            f"out must be a contiguous, writable array of {wanted}, shape {wanted_shape}, not of "
            f"{np.dtype(interface.typestr)}, shape {shape}"
        )
        raise ValueError(message)
    _require_our_device(interface.address if math.prod(shape) else 0)
    return DeviceRoom(interface.address, shape, wanted, interface.stream, interface.owner)


def row_of(points: DevicePoints, number: int) -> tuple[float, ...]:
    """Return the coordinates of the point in a row."""
    step, across = points.strides
    place = np.empty(3)
    with device.using(home(points)), device.current() as cuda:
        for axis in range(3):
            address = points.address + number * step + axis * across
            cuda.memcpy_dtoh(place[axis : axis + 1], address)
    return tuple(place.tolist())


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, size: int) -> bool:
    """Return whether an array with these strides is contiguous in C order."""
    if strides is None or math.prod(shape) == 0:
        return True
    return all(
        count == 1 or stride == size * math.prod(shape[axis + 1 :])
        for axis, (count, stride) in enumerate(zip(shape, strides, strict=True))
    )


def _interface(values: object) -> ArrayInterface:
    """Return an array's address, shape and stream, from the CUDA array interface or DLPack.

    Version 3 of the interface names the stream to wait for. Older versions, as in PyTorch, name no
    stream, so the stream is -1: wait for all work on the device. It is -1 for DLPack, too; there
    the producer makes the legacy stream wait for the array's stream.
    """
    fields: CudaInterface | None = getattr(values, "__cuda_array_interface__", None)
    if fields is None:
        return driver.interface(cast("DlpackArray", values), _CUDA_LEGACY_STREAM)
    if fields.get("mask") is not None:
        message = "masked arrays on a GPU are not supported: fill the masked values first"
        raise ValueError(message)
    address, read_only = fields["data"]
    strides = fields.get("strides")
    return ArrayInterface(
        address=address,
        read_only=read_only,
        shape=tuple(fields["shape"]),
        strides=None if strides is None else tuple(strides),
        typestr=fields["typestr"],
        stream=fields.get("stream") if fields.get("version", 0) >= 3 else -1,
        owner=values,
    )


def _require_our_device(address: int) -> None:
    """Raise an error if memory is on a device that this process does not use."""
    if address == 0 or device.driver().Device.count() == 1:
        return
    with device.current():
        number = driver.ordinal(address)
    if number is not None and number not in device.numbers():
        used = " and ".join(f"GPU {each}" for each in device.numbers())
        message = (
            f"the array is on GPU {number}, but this process uses {used}: set "
            f"GEODOMAIN_DEVICE={number} before the first call, or copy the array to a GPU that "
            "the process uses"
        )
        raise DeviceError(message)


# Page-locked arrays, for fast copies to a GPU.

Number = TypeVar("Number", bound=np.generic)


@overload
def pinned_empty(shape: int | tuple[int, ...], dtype: type[Number]) -> NDArray[Number]: ...
@overload
def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[np.generic]: ...
def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[np.generic]:
    """Return a new NumPy array in page-locked memory, which a GPU reads and writes directly.

    Points and ``out`` arrays in such memory, whether made here or by PyTorch, CuPy or PyCUDA,
    are copied to and from the GPU without an intermediate copy. The memory stays reserved while
    the array exists. Allocating it is slow: create such arrays once, and reuse them.

    Parameters
    ----------
    shape : int or tuple of int
        Shape of the array.
    dtype : data type
        As for `numpy.empty`.

    Returns
    -------
    numpy.ndarray
        In C order, not initialised.

    Raises
    ------
    DeviceError
        If no GPU can be used, or no page-locked memory is available.

    Examples
    --------
    >>> import geodomain
    >>> try:
    ...     points = geodomain.pinned_empty((1_000_000, 3), "float64")
    ... except geodomain.DeviceError as error:  # on a machine without a GPU
    ...     points = None
    >>> points is None or points.shape == (1_000_000, 3)
    True
    """
    sides = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    size = math.prod(sides) * np.dtype(dtype).itemsize
    flat = np.asarray(_Pinned(max(size, 1)))
    return flat[:size].view(dtype).reshape(sides)


class _Pinned:
    """Page-locked memory that any thread can free."""

    def __init__(self, size: int) -> None:
        self._home = device.number()
        try:
            with device.current() as cuda:
                self._memory = cuda.pagelocked_empty(size, np.uint8)
        except OutOfDeviceMemory as error:
            message = (
                f"{size:,} bytes of page-locked memory are not available: create a smaller array, "
                "or an ordinary one"
            )
            raise DeviceError(message) from error
        self.__array_interface__ = self._memory.__array_interface__

    def __del__(self) -> None:
        """Free the memory while its context is current; PyCUDA leaks it otherwise."""
        if "_memory" in self.__dict__:
            with device.using(self._home):
                device.drop(lambda: self.__dict__.pop("_memory", None))
