"""Arrays that are on a GPU: the caller's, by their protocols, and the answers given back."""

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
    """Answers in a GPU's memory, which this object owns.

    It has ``__cuda_array_interface__``, so that CuPy (``cupy.asarray``), PyTorch
    (``torch.as_tensor(array, device="cuda")``) and Numba use it without a copy. The answers are
    there when a function returns one: there is no stream to wait for.

    Parameters
    ----------
    shape : int or tuple of int
        Of a new array, which is filled with nothing; it is contiguous, the last axis fastest.
    dtype : data type

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    """

    def __init__(self, shape: int | tuple[int, ...], dtype: DTypeLike) -> None:
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.dtype: np.dtype[np.generic] = np.dtype(dtype)
        with device.current():
            self._memory = allocate(self.nbytes)
        self._told: CudaInterface = {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (int(self._memory), False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __del__(self) -> None:
        """Free the memory in the context that it came from."""
        device.free(getattr(self, "_memory", None))

    @property
    def nbytes(self) -> int:
        """Return the size of the answers in bytes."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> CudaInterface:
        """Return where the answers are, as version 3 of the interface has it."""
        return self._told

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Say what is here, without a copy."""
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name})"

    def get(self) -> NDArray[np.generic]:
        """Return a copy in memory."""
        copied = np.empty(self.shape, self.dtype)
        if copied.nbytes:
            with device.using(device.home_of(int(self._memory))), device.current() as cuda:
                cuda.memcpy_dtoh(copied, self._memory)
        return copied


def beside(points: DevicePoints, dtype: DTypeLike) -> DeviceArray:
    """Return an array for an answer to each point, on the device that has them."""
    with device.using(home(points)):
        return DeviceArray(points.rows, dtype)


def home(array: DevicePoints | DeviceRoom) -> int:
    """Return the device that has an array; the first one for an empty array."""
    return device.home_of(array.address) if len(array) else device.number()


def read_points(values: object) -> DevicePoints:
    """Return the caller's points on the device, or say why they cannot be used."""
    told = _interface(values)
    shape = told.shape
    if len(shape) != 2 or shape[1] != 3:
        message = f"points must have shape (n, 3), not {shape}"
        raise ValueError(message)
    if told.typestr != "<f8":
        message = (
            f"points on a GPU must be float64, not {np.dtype(told.typestr)}: convert them "
            "there, which is exact for float32"
        )
        raise TypeError(message)
    step, across = (24, 8) if told.strides is None else told.strides
    points = DevicePoints(told.address, shape[0], (step, across), told.stream, told.owner)
    if points.rows and (points.address | step | across) % 8:
        message = (
            "points on a GPU must lie at multiples of 8 bytes, as a double's do: copy them there, "
            "as with cupy.ascontiguousarray"
        )
        raise ValueError(message)
    _require_our_device(points.address if points.rows else 0)
    return points


def read_room(values: object, wanted_shape: tuple[int, ...], dtype: DTypeLike) -> DeviceRoom:
    """Return the caller's array for answers on the device, or say why it does not fit."""
    told = _interface(values)
    shape, wanted = told.shape, _as_dtype(dtype)
    fits = shape == wanted_shape and told.typestr == wanted.str and not told.read_only
    if not fits or not _is_contiguous(shape, told.strides, wanted.itemsize):
        message = (
            f"out must be a contiguous, writable array of {wanted}, shape {wanted_shape}, not of "
            f"{np.dtype(told.typestr)}, shape {shape}"
        )
        raise ValueError(message)
    _require_our_device(told.address if math.prod(shape) else 0)
    return DeviceRoom(told.address, shape, wanted, told.stream, told.owner)


def _as_dtype(dtype: DTypeLike) -> np.dtype[np.generic]:
    return np.dtype(dtype)


def row_of(points: DevicePoints, number: int) -> tuple[float, ...]:
    """Return one point."""
    step, across = points.strides
    place = np.empty(3)
    with device.using(home(points)), device.current() as cuda:
        for axis in range(3):
            address = points.address + number * step + axis * across
            cuda.memcpy_dtoh(place[axis : axis + 1], address)
    return tuple(place.tolist())


def _is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...] | None, size: int) -> bool:
    """Return whether elements follow each other, the last axis fastest."""
    if strides is None or math.prod(shape) == 0:
        return True
    return all(
        count == 1 or stride == size * math.prod(shape[axis + 1 :])
        for axis, (count, stride) in enumerate(zip(shape, strides, strict=True))
    )


def _interface(values: object) -> ArrayInterface:
    """Return what the CUDA array interface tells, from it or from DLPack.

    Version 3 names the stream. Older ones, PyTorch's among them, leave that to the user: all work
    is awaited. So it is after DLPack, which makes the legacy stream wait for the array's own.
    """
    told: CudaInterface | None = getattr(values, "__cuda_array_interface__", None)
    if told is None:
        return driver.interface(cast("DlpackArray", values), _CUDA_LEGACY_STREAM)
    if told.get("mask") is not None:
        message = "a masked array on a GPU is not taken: fill it first"
        raise ValueError(message)
    address, read_only = told["data"]
    strides = told.get("strides")
    return ArrayInterface(
        address=address,
        read_only=read_only,
        shape=tuple(told["shape"]),
        strides=None if strides is None else tuple(strides),
        typestr=told["typestr"],
        stream=told.get("stream") if told.get("version", 0) >= 3 else -1,
        owner=values,
    )


def _require_our_device(address: int) -> None:
    """Refuse memory of another device than those that are used."""
    if address == 0 or device.driver().Device.count() == 1:
        return
    with device.current():
        found = driver.ordinal(address)
    if found is not None and found not in device.numbers():
        used = " and ".join(f"GPU {number}" for number in device.numbers())
        message = (
            f"the array is on GPU {found}, and {used} {'is' if used.count('GPU') == 1 else 'are'} "
            f"used: set GEODOMAIN_DEVICE={found} before the first call, or copy it there"
        )
        raise DeviceError(message)


# --- Page-locked arrays, for fast copies to a GPU.

Number = TypeVar("Number", bound=np.generic)


@overload
def pinned_empty(shape: int | tuple[int, ...], dtype: type[Number]) -> NDArray[Number]: ...
@overload
def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[np.generic]: ...
def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[np.generic]:
    """Return a new NumPy array in page-locked memory, which a GPU reads and writes directly.

    Points and ``out`` arrays in such memory, made here, by PyTorch, CuPy or PyCUDA, go over the
    bus without a copy on the way. It is taken from the system for as long as the array lives, and
    to get it is slow: make such arrays once, and use them again.

    Parameters
    ----------
    shape : int or tuple of int
    dtype : data type
        As for `numpy.empty`.

    Returns
    -------
    numpy.ndarray
        In C order, not initialised.

    Raises
    ------
    DeviceError
        If there is no GPU that can be used, or no such memory to be had.

    Examples
    --------
    >>> import geodomain
    >>> try:
    ...     points = geodomain.pinned_empty((1_000_000, 3), "float64")
    ... except geodomain.DeviceError as error:  # what a machine without a GPU says
    ...     points = None
    >>> points is None or points.shape == (1_000_000, 3)
    True
    """
    sides = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
    size = math.prod(sides) * np.dtype(dtype).itemsize
    flat = np.asarray(_Pinned(max(size, 1)))
    return flat[:size].view(dtype).reshape(sides)


class _Pinned:
    """Own page-locked memory, and give it back from whatever thread the last array goes in."""

    def __init__(self, size: int) -> None:
        self._home = device.number()
        try:
            with device.current() as cuda:
                self._memory = cuda.pagelocked_empty(size, np.uint8)
        except OutOfDeviceMemory as error:
            message = (
                f"{size:,} bytes of page-locked memory are not to be had: make a smaller array, or "
                "an ordinary one"
            )
            raise DeviceError(message) from error
        self.__array_interface__ = self._memory.__array_interface__

    def __del__(self) -> None:
        """Let PyCUDA free it while its context is current; elsewhere it would leak."""
        if "_memory" in self.__dict__:
            with device.using(self._home):
                device.drop(lambda: self.__dict__.pop("_memory", None))
