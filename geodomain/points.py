"""Points and axes as the caller gives them, to float64 without a rounding; no geometry."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.errors import PointError

Floats = NDArray[np.float64]

_CUDA_DEVICES = (2, 13)  # of DLPack: CUDA's memory, and its managed memory


def as_doubles(values: ArrayLike, name: str) -> Floats:
    """Return numbers as native float64, or refuse what float64 cannot hold exactly.

    Raises
    ------
    TypeError
        If ``values`` are not real numbers.
    ValueError
        If an integer or an extended float is not a float64.
    """
    array: Any = np.asarray(_unmasked(values))
    if array.dtype == np.float64 and array.dtype.isnative and array.flags.aligned:
        return array  # type: ignore[no-any-return]
    if array.dtype.kind not in "fiu":
        message = f"{name} must be real numbers, not {array.dtype}"
        raise TypeError(message)
    with np.errstate(invalid="ignore", over="ignore"):  # what does not fit is refused below
        doubles: Floats = array.astype(np.float64)
        back = doubles.astype(array.dtype)
    wrong = (back != array) & ~np.isnan(doubles)
    if array.dtype.kind in "iu":  # 2^63 - 1 comes back from 2^63 by overflow
        wrong |= doubles > np.iinfo(array.dtype).max
    if wrong.any():
        message = f"{name} hold {array[wrong].flat[0]}, which a float64 cannot hold exactly"
        raise ValueError(message)
    return doubles


def _unmasked(values: ArrayLike) -> ArrayLike:
    """Return a masked array's values with NaN where they are masked; anything else as it is."""
    if not np.ma.isMaskedArray(values) or not np.ma.is_masked(values):
        return values
    masked: Any = values
    filled: ArrayLike = masked.astype(np.result_type(masked.dtype, np.float64)).filled(np.nan)
    return filled


def is_on_device(values: Any) -> bool:
    """Tell whether an array is in a GPU's memory, by what it says of itself."""
    if values is None or isinstance(values, np.ndarray | list | tuple):
        return False
    if hasattr(values, "__cuda_array_interface__"):  # PyTorch's tensors in memory have none
        return True
    where = getattr(values, "__dlpack_device__", None)
    return where is not None and where()[0] in _CUDA_DEVICES


def as_rows(values: ArrayLike, name: str) -> Floats:
    """Return places as float64 of shape (n, 3), uncopied where they are that already."""
    array = as_doubles(values, name)
    if array.shape == (0,):  # of an empty list
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        message = f"{name} must have shape (n, 3), not {array.shape}"
        raise ValueError(message)
    return array


def as_columns(points: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Return the x, y and z of points as views where float64 is given, whatever the strides."""
    array = as_rows(points, "points")
    return array[:, 0], array[:, 1], array[:, 2]


def refuse_row(points: Any, row: int) -> None:
    """Raise for the row that a kernel refused, if it did (row >= 0)."""
    if row < 0:
        return
    on_host = isinstance(points, tuple)
    place = tuple(float(column[row]) for column in points) if on_host else points.row(row)
    message = (
        f"point {row} is {place}: a coordinate is not zero and so small (below 2^-306) that its "
        "label cannot be decided; write it as 0"
    )
    raise PointError(message)
