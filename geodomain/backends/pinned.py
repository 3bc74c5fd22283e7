"""Page-locked arrays, for fast copies to a GPU."""

from __future__ import annotations

import math
from typing import TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain.backends.cuda import device
from geodomain.backends.cuda.errors import OutOfDeviceMemory
from geodomain.errors import DeviceError

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
