"""Points and answers: arrays in memory or on a GPU, checked and widened to float64 exactly."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.api import Backend
from geodomain.compute.data import Columns, Coordinates, DeviceRoom, Floats, Points, Room
from geodomain.compute.point_cache import CachedPoints
from geodomain.errors import PointError, warn

Number = TypeVar("Number", bound=np.generic)

# Single precision is worth a word from a centimetre on, if the unit is a metre:
# below it, rounding is lost in what a wireframe means.
COARSE = 0.01
_CUDA_DEVICES = (2, 13)  # of DLPack: CUDA's memory, and its managed memory
_IN_MEMORY = (np.ndarray, list, tuple)


def as_doubles(values: object, name: str) -> Floats:
    """Return numbers as native float64, or refuse what float64 cannot hold exactly.

    Raises
    ------
    TypeError
        If ``values`` are not real numbers.
    ValueError
        If an integer or an extended float is not a float64.
    """
    array = np.asarray(_unmasked(values))
    if array.dtype == np.float64 and array.dtype.isnative and array.flags.aligned:
        return array
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


def _unmasked(values: object) -> object:
    """Return a masked array's values with NaN where they are masked; anything else as it is."""
    if "numpy.ma" not in sys.modules:  # which takes as long to import as a tenth of NumPy
        return values
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return values
    wide = values.astype(np.result_type(values.dtype, np.float64))
    filled: object = np.ma.filled(wide, np.nan)
    return filled


def distinct(values: Floats) -> Floats:
    """Return the different ones of some finite numbers, ascending.

    They are those of `np.unique`, which imports numpy.ma.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def is_on_device(values: object) -> bool:
    """Return whether an array is in a GPU's memory, by what it says of itself."""
    if values is None or isinstance(values, _IN_MEMORY):
        return False
    if hasattr(values, "__cuda_array_interface__"):  # PyTorch's tensors in memory have none
        return True
    where = getattr(values, "__dlpack_device__", None)
    return where is not None and where()[0] in _CUDA_DEVICES


def as_rows(values: object, name: str) -> Floats:
    """Return places as float64 of shape (n, 3), uncopied where they are that already."""
    array = _in_rows(as_doubles(values, name), name)
    if getattr(values, "dtype", None) == np.float32 and name == "points":
        warn_of_single(array, name)
    return array


def as_rows_of_either(values: object, name: str) -> Coordinates:
    """Return places of shape (n, 3) as native float32, if they are that, and else as `as_rows`."""
    array = np.asarray(_unmasked(values))
    if array.dtype == np.float32 and array.dtype.isnative and array.flags.aligned:
        return _in_rows(array, name)
    return _in_rows(as_doubles(array, name), name)


def _in_rows(array: NDArray[Number], name: str) -> NDArray[Number]:
    """Refuse what has not the shape (n, 3), but for an empty list."""
    if array.shape == (0,):
        return array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        message = f"{name} must have shape (n, 3), not {array.shape}"
        raise ValueError(message)
    return array


def warn_of_single(values: Floats, name: str) -> None:
    """Warn of coordinates that were float32, where those are too large to be known to `COARSE`."""
    resolution = single_resolution(values)
    if resolution >= COARSE:
        warn(
            f"{name} are single precision (float32), which at these coordinates is only good to "
            f"{resolution:g}: read them as float64"
        )


def single_resolution(values: Floats) -> float:
    """Return the spacing of float32 at the largest finite magnitude, 0 where there is none."""
    largest = np.abs(values).max(initial=0.0, where=np.isfinite(values))
    with np.errstate(over="ignore"):
        return float(np.spacing(np.float32(largest))) if largest else 0.0


def as_columns(points: object) -> Columns:
    """Return the x, y and z of points as views where float64 is given, whatever the strides."""
    if isinstance(points, CachedPoints):
        return points.columns
    array = as_rows(points, "points")
    return array[:, 0], array[:, 1], array[:, 2]


def refuse_row(points: Points, row: int) -> None:
    """Raise for the row that a kernel refused, if it did (row >= 0)."""
    if row < 0:
        return
    if isinstance(points, tuple):
        place = tuple(float(column[row]) for column in points)
    else:
        from geodomain.compute.device_arrays import row_of

        place = row_of(points, row)
    message = (
        f"point {row} is {place}: a coordinate is not zero and so small (below 2^-306) that its "
        "label cannot be decided; write it as 0"
    )
    raise PointError(message)


class Question(NamedTuple, Generic[Number]):
    """Points as a backend takes them, and room for their answers.

    Attributes
    ----------
    points : tuple of columns, or DevicePoints
        As they were given, wherever they are.
    room : numpy.ndarray or DeviceRoom
        What the backend writes to.
    out : array
        What the caller gets: the array that was given, or a new one where the points are. One on
        a GPU is no NDArray, and is returned as it is.
    """

    points: Points
    room: Room
    out: NDArray[Number]


def ask(points: object, dtype: type[Number], out: object, backend: Backend) -> Question[Number]:
    """Make points ready for a backend, with answers beside them or in ``out``.

    Raises
    ------
    ValueError
        If something is on a GPU and the backend is the CPU's, or ``out`` does not fit.
    """
    return ask_read(read_points(points, backend), dtype, out, backend)


def read_points(points: object, backend: Backend) -> Points:
    """Return points, wherever they are, as a backend takes them, checked."""
    if not is_on_device(points):
        return as_columns(points)
    from geodomain.compute.device_arrays import read_points

    require_gpu(backend, "points are")
    return read_points(points)


def ask_read(
    points: Points, dtype: type[Number], out: object, backend: Backend
) -> Question[Number]:
    """Return points that were read already answers beside them or in ``out``, as `ask`."""
    rows = len(points[0]) if isinstance(points, tuple) else points.rows
    if out is None and not isinstance(points, tuple):
        from geodomain.compute.device_arrays import beside

        out = beside(points, dtype)
    if is_on_device(out):
        there = device_room((rows,), dtype, out, backend)
        _require_apart(not isinstance(points, tuple) and points.overlaps(there))
        return Question(points, there, cast("NDArray[Number]", out))
    room = host_room((rows,), dtype, out, points if isinstance(points, tuple) else ())
    return Question(points, room, room)


def _require_apart(overlap: bool) -> None:
    """Refuse answers that would be written over points not asked about yet."""
    if overlap:
        message = "out shares memory with what is asked about: give an array of its own"
        raise ValueError(message)


def device_room(
    shape: tuple[int, ...], dtype: type[np.generic], out: object, backend: Backend
) -> DeviceRoom:
    """Return what a backend writes to for an ``out`` that is on a GPU; as `host_room`."""
    from geodomain.compute.device_arrays import read_room

    require_gpu(backend, "out is")
    return read_room(out, shape, dtype)


def host_room(
    shape: tuple[int, ...],
    dtype: type[Number],
    out: object,
    asked: Sequence[NDArray[np.generic]] = (),
) -> NDArray[Number]:
    """Return ``out`` if answers fit into it as it is, or a new array for None.

    Answers are not written over what is ``asked``, which may be read after the first of them.
    """
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        message = f"out must be an array, not {type(out).__name__}"
        raise TypeError(message)
    fits = out.shape == shape and out.dtype == np.dtype(dtype)
    if not fits or not out.flags.c_contiguous or not out.flags.writeable:
        message = (
            f"out must be a contiguous, writable array of {np.dtype(dtype)}, shape {shape}, not of "
            f"{out.dtype}, shape {out.shape}"
        )
        raise ValueError(message)
    _require_apart(any(np.shares_memory(out, array) for array in asked))
    return out


def require_gpu(backend: Backend, what: str) -> None:
    """Refuse arrays on a GPU where nothing on it is asked."""
    if backend.name == "cpu":
        message = (
            f"{what} on a GPU, which the CPU does not read: copy to memory first, as with .get() "
            "of CuPy or .cpu() of PyTorch, or use backend='cuda'"
        )
        raise ValueError(message)
