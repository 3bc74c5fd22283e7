"""Arrays that are on a GPU: the caller's, by their protocols, and the answers given back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import device, dlpack, libcuda
from geodomain.backends.pools import allocate
from geodomain.errors import DeviceError

_CUDA_LEGACY_STREAM = 1


@dataclass(frozen=True)
class DevicePoints:
    """The caller's points on the device, used where they are.

    Attributes
    ----------
    address : int
        Of the first x.
    rows : int
        How many points.
    strides : tuple of int
        Bytes from a row to the next, and from x to y to z.
    stream : int, optional
        Whose work comes first; None where there is nothing to wait for, -1 for all of it.
    owner : object
        What keeps the memory.
    """

    address: int
    rows: int
    strides: tuple[int, int]
    stream: int | None
    owner: Any = field(repr=False)

    def view(self, begin: int) -> bytes:
        """Return the kernels' view of the points from a row on."""
        step, across = self.strides
        x = self.address + begin * step
        return device.structure(x, x + across, x + 2 * across, *_signed(step, step, step))

    def spans(self) -> list[range]:
        """Return the addresses of x, y and z, with what lies between their rows."""
        step, across = self.strides
        firsts = [self.address + axis * across for axis in range(3)]
        last = step * (self.rows - 1)
        return [range(first + min(last, 0), first + max(last, 0) + 8) for first in firsts]

    def row(self, number: int) -> tuple[float, ...]:
        """Return one point."""
        step, across = self.strides
        place = np.empty(3)
        with device.current() as cuda:
            for axis in range(3):
                address = self.address + number * step + axis * across
                cuda.memcpy_dtoh(place[axis : axis + 1], address)
        return tuple(place.tolist())


@dataclass(frozen=True)
class DeviceRoom:
    """The caller's contiguous array on the device that answers are written to."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stream: int | None
    owner: Any = field(repr=False)

    def __len__(self) -> int:
        """Return the number of answers, or of layers of them."""
        return self.shape[0]

    @property
    def size(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


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

    def __init__(self, shape: int | tuple[int, ...], dtype: Any) -> None:
        self.shape = shape if isinstance(shape, tuple) else (shape,)
        self.dtype = np.dtype(dtype)
        with device.current():
            self._memory = allocate(self.nbytes)

    def __del__(self) -> None:
        """Give the memory back, in the context that it came from."""
        device.free(getattr(self, "_memory", None))

    @property
    def nbytes(self) -> int:
        """Return the size of the answers in bytes."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Return where the answers are, as version 3 of the interface has it."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (int(self._memory), False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __len__(self) -> int:
        """Return the length of the first axis."""
        return self.shape[0]

    def __repr__(self) -> str:
        """Say what is here, without a copy."""
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name})"

    def get(self) -> NDArray[Any]:
        """Return a copy in memory."""
        copied = np.empty(self.shape, self.dtype)
        if copied.nbytes:
            with device.current() as cuda:
                cuda.memcpy_dtoh(copied, self._memory)
        return copied


def read_points(values: Any) -> DevicePoints:
    """Return the caller's points on the device, or say why they cannot be used."""
    told = _interface(values)
    shape, strides = told["shape"], told["strides"]
    if len(shape) != 2 or shape[1] != 3:
        message = f"points must have shape (n, 3), not {tuple(shape)}"
        raise ValueError(message)
    if told["typestr"] != "<f8":
        message = (
            f"points on a GPU must be float64, not {np.dtype(told['typestr'])}: convert them "
            "there, which is exact for float32"
        )
        raise TypeError(message)
    if strides is None:
        strides = (24, 8)
    points = DevicePoints(told["data"][0], shape[0], tuple(strides), told["stream"], told["owner"])
    if points.rows and any(place % 8 for place in (points.address, *points.strides)):
        message = (
            "points on a GPU must lie at multiples of 8 bytes, as a double's do: copy them there, "
            "as with cupy.ascontiguousarray"
        )
        raise ValueError(message)
    _require_our_device(points.address if points.rows else 0)
    return points


def read_room(values: Any, wanted_shape: tuple[int, ...], dtype: Any) -> DeviceRoom:
    """Return the caller's array for answers on the device, or say why it does not fit."""
    told, wanted = _interface(values), np.dtype(dtype)
    shape = tuple(told["shape"])
    fits = shape == wanted_shape and told["typestr"] == wanted.str and not told["data"][1]
    if not fits or not _is_contiguous(shape, told["strides"], wanted.itemsize):
        message = (
            f"out must be a contiguous, writable array of {wanted}, shape {wanted_shape}, not of "
            f"{np.dtype(told['typestr'])}, shape {shape}"
        )
        raise ValueError(message)
    _require_our_device(told["data"][0] if math.prod(shape) else 0)
    return DeviceRoom(told["data"][0], shape, wanted, told["stream"], told["owner"])


def overlap(points: DevicePoints, room: DeviceRoom) -> bool:
    """Tell whether answers are among the points' coordinates."""
    begin, end = room.address, room.address + room.size * room.dtype.itemsize
    return points.rows > 0 and any(s.start < end and begin < s.stop for s in points.spans())


def _is_contiguous(shape: tuple[int, ...], strides: Any, size: int) -> bool:
    """Tell whether elements follow each other, the last axis fastest."""
    if strides is None or math.prod(shape) == 0:
        return True
    return all(
        count == 1 or stride == size * math.prod(shape[axis + 1 :])
        for axis, (count, stride) in enumerate(zip(shape, strides, strict=True))
    )


def wait_for(*arrays: Any) -> None:
    """Wait until the work that the arrays come from is done; a context is current."""
    named = [getattr(array, "stream", None) for array in arrays]
    streams = {stream for stream in named if stream is not None}
    if not all(stream > 0 and libcuda.wait_for_stream(stream) for stream in streams):
        device.driver().Context.synchronize()


def _interface(values: Any) -> dict[str, Any]:
    """Return what the CUDA array interface tells, from it or from DLPack.

    Version 3 names the stream. Older ones, PyTorch's among them, leave that to the user: all work
    is awaited. So it is after DLPack, which makes the legacy stream wait for the array's own.
    """
    told = getattr(values, "__cuda_array_interface__", None)
    if told is not None and told.get("mask") is not None:
        message = "a masked array on a GPU is not taken: fill it first"
        raise ValueError(message)
    if told is None:
        return {**dlpack.interface(values, _CUDA_LEGACY_STREAM), "stream": -1}
    stream = told.get("stream") if told.get("version", 0) >= 3 else -1
    return {**told, "strides": told.get("strides"), "stream": stream, "owner": values}


def _require_our_device(address: int) -> None:
    """Refuse memory of another device than the one that is used."""
    if address == 0:
        return
    with device.current():
        found = libcuda.ordinal(address)
    if found is not None and found != device.number():
        message = (
            f"the array is on GPU {found}, and GPU {device.number()} is used: set "
            f"GEODOMAIN_DEVICE={found} before the first call, or copy it there"
        )
        raise DeviceError(message)


def _signed(*strides: int) -> tuple[int, ...]:
    """Return strides as the unsigned words that a structure holds."""
    return tuple(stride % 2**64 for stride in strides)
