"""Page-locked arrays for callers who copy much to a GPU."""

from __future__ import annotations

from typing import Any

from numpy.typing import DTypeLike, NDArray

from geodomain.backends import device


def pinned_empty(shape: int | tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
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
    with device.current() as cuda:
        array: NDArray[Any] = cuda.pagelocked_empty(shape, dtype)
    return array
