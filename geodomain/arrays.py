"""Check arrays of points and results, in memory or on a GPU, and convert points to float64."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.api import Backend
from geodomain.compute.data import (
    CachedPoints,
    Columns,
    Coordinates,
    DeviceRoom,
    Floats,
    Points,
    Room,
)
from geodomain.errors import PointError, warn

Number = TypeVar("Number", bound=np.generic)

# Warn if the spacing of float32 numbers is this or more: a centimetre, if the unit is a metre.
# Smaller rounding does not matter for a wireframe.
COARSE = 0.01
_CUDA_DEVICES = (2, 13)  # DLPack codes of CUDA memory and managed memory
_IN_MEMORY = (np.ndarray, list, tuple)
_SAMPLE = 1 << 14  # values in which the distinct ones are looked for first
_KNOWN_TO_NUMPY = ("__array__", "__array_interface__", "__array_struct__")


def as_doubles(values: object, name: str) -> Floats:
    """Return numbers as native float64; raise an error for numbers that float64 would round.

    Raises
    ------
    TypeError
        If ``values`` are not real numbers.
    ValueError
        If float64 cannot hold an integer or an extended float exactly.
    """
    array = as_array(values)
    if array.dtype == np.float64 and array.dtype.isnative and array.flags.aligned:
        return array
    if array.dtype.kind not in "fiu":
        message = f"{name} must be real numbers, not {array.dtype}"
        raise TypeError(message)
    with np.errstate(invalid="ignore", over="ignore"):  # numbers that overflow are refused below
        doubles: Floats = array.astype(np.float64)
        back = doubles.astype(array.dtype)
    wrong = (back != array) & ~np.isnan(doubles)
    if array.dtype.kind in "iu":  # 2^63 - 1 rounds to 2^63, which overflows back to 2^63 - 1
        wrong |= doubles > np.iinfo(array.dtype).max
    if wrong.any():
        message = f"{name} hold {array[wrong].flat[0]}, which a float64 cannot hold exactly"
        raise ValueError(message)
    return doubles


def as_array(values: object) -> NDArray[Any]:
    """Convert data in memory to an array. Masked values become NaN; DLPack data are not copied."""
    if hasattr(values, "__dlpack__") and not any(hasattr(values, name) for name in _KNOWN_TO_NUMPY):
        return np.from_dlpack(cast(Any, values))
    return np.asarray(_unmasked(values))


def _unmasked(values: object) -> object:
    """Replace the masked values of a masked array by NaN; return anything else as it is."""
    if "numpy.ma" not in sys.modules:  # not imported: it takes a tenth of NumPy's import time
        return values
    if not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return values
    wide = values.astype(np.result_type(values.dtype, np.float64))
    filled: object = np.ma.filled(wide, np.nan)
    return filled


def distinct(values: Floats) -> Floats:
    """Return the distinct finite numbers in ascending order, without importing numpy.ma."""
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def ranked(values: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the distinct finite numbers, ascending, and for each value its index among them.

    The distinct numbers are first looked for in a sample. If few numbers occur many times each,
    the sample contains most of these numbers, and a full sort is avoided.
    """
    numbers = distinct(values[:: len(values) // _SAMPLE + 1])
    ranks = np.searchsorted(numbers, values)
    missing = numbers.take(ranks, mode="clip") != values
    if missing.any():
        numbers = distinct(np.concatenate([numbers, values[missing]]))
        ranks = np.searchsorted(numbers, values)
    return numbers, ranks


def is_on_device(values: object) -> bool:
    """Return whether an array declares that it is in GPU memory."""
    if values is None or isinstance(values, _IN_MEMORY):
        return False
    if hasattr(values, "__cuda_array_interface__"):  # PyTorch tensors in host memory lack it
        return True
    where = getattr(values, "__dlpack_device__", None)
    return where is not None and where()[0] in _CUDA_DEVICES


def as_rows(values: object, name: str) -> Floats:
    """Return points as float64 of shape (n, 3), without a copy if they already have this form."""
    array = _in_rows(as_doubles(values, name), name)
    if getattr(values, "dtype", None) == np.float32 and name == "points":
        warn_of_single(array, name)
    return array


def as_rows_of_either(values: object, name: str) -> Coordinates:
    """Return points of shape (n, 3) as native float32 if they are float32, else as float64."""
    array = as_array(values)
    if array.dtype == np.float32 and array.dtype.isnative and array.flags.aligned:
        return _in_rows(array, name)
    return _in_rows(as_doubles(array, name), name)


def _in_rows(array: NDArray[Number], name: str) -> NDArray[Number]:
    """Return points in shape (n, 3). An empty list and one point x, y, z are accepted, too."""
    if array.shape in ((0,), (3,)):
        return array.reshape(-1, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        message = f"{name} must have shape (n, 3), not {array.shape}"
        raise ValueError(message)
    return array


def warn_of_single(values: Floats, name: str) -> None:
    """Warn if coordinates from float32 are so large that positions are imprecise.

    They are too large if neighbouring float32 numbers of their size differ by `COARSE` or more.
    """
    resolution = single_resolution(values)
    if resolution >= COARSE:
        warn(
            f"{name} are single precision (float32), which is only accurate to "
            f"{resolution:g} at these coordinates: read them as float64"
        )


def single_resolution(values: Floats) -> float:
    """Return the spacing of float32 at the largest finite magnitude, or 0 without finite values."""
    largest = np.abs(values).max(initial=0.0, where=np.isfinite(values))
    with np.errstate(over="ignore"):
        return float(np.spacing(np.float32(largest))) if largest else 0.0


def as_columns(points: object) -> Columns:
    """Return the columns x, y and z of points; float64 points are not copied."""
    if isinstance(points, CachedPoints):
        return points.columns
    array = as_rows(points, "points")
    return array[:, 0], array[:, 1], array[:, 2]


def refuse_row(points: Points, row: int) -> None:
    """Raise PointError for a point that a kernel cannot label; do nothing if `row` is negative."""
    if row < 0:
        return
    if isinstance(points, tuple):
        place = tuple(float(column[row]) for column in points)
    else:
        from geodomain.compute.device_arrays import row_of

        place = row_of(points, row)
    message = (
        f"point {row} is {place}: a coordinate is not 0 but so small (below 2^-306) that the "
        "point's label cannot be decided; write the coordinate as 0"
    )
    raise PointError(message)


class Question(NamedTuple, Generic[Number]):
    """Points and output buffers in the form that a backend takes.

    Attributes
    ----------
    points : tuple of columns, or DevicePoints
        The caller's points, in host or GPU memory.
    room : numpy.ndarray or DeviceRoom
        The buffer to which the backend writes.
    out : array
        The array to return to the caller: the caller's ``out``, or a new array in the same memory
        as the points. An array on a GPU is not an NDArray, and is returned as it is.
    """

    points: Points
    room: Room
    out: NDArray[Number]


def ask(points: object, dtype: type[Number], out: object, backend: Backend) -> Question[Number]:
    """Prepare points for a backend. Results go to ``out``, or to a new array beside the points.

    Raises
    ------
    ValueError
        If an array is on a GPU but the backend is the CPU, or ``out`` does not fit.
    """
    return ask_read(read_points(points, backend), dtype, out, backend)


def read_points(points: object, backend: Backend) -> Points:
    """Check points and return them in the form that a backend takes."""
    if not is_on_device(points):
        return as_columns(points)
    from geodomain.compute.device_arrays import read_points

    require_gpu(backend, "points are")
    return read_points(points)


def ask_read(
    points: Points, dtype: type[Number], out: object, backend: Backend
) -> Question[Number]:
    """Prepare points that `read_points` returned; see `ask`."""
    rows = len(points[0]) if isinstance(points, tuple) else points.rows
    if out is None and not isinstance(points, tuple):
        from geodomain.compute.device_arrays import results_for

        out = results_for(points, dtype)
    if is_on_device(out):
        there = device_room((rows,), dtype, out, backend)
        _require_apart(not isinstance(points, tuple) and points.overlaps(there))
        return Question(points, there, cast("NDArray[Number]", out))
    room = host_room((rows,), dtype, out, points if isinstance(points, tuple) else ())
    return Question(points, room, room)


def _require_apart(overlap: bool) -> None:
    """Raise ValueError if ``out`` overlaps the input, because results would overwrite points."""
    if overlap:
        message = "out shares memory with the input: pass a separate array"
        raise ValueError(message)


def device_room(
    shape: tuple[int, ...], dtype: type[np.generic], out: object, backend: Backend
) -> DeviceRoom:
    """Return the buffer to which a backend writes if ``out`` is on a GPU; see `host_room`."""
    from geodomain.compute.device_arrays import read_room

    require_gpu(backend, "out is")
    return read_room(out, shape, dtype)


def host_room(
    shape: tuple[int, ...],
    dtype: type[Number],
    out: object,
    inputs: Sequence[NDArray[np.generic]] = (),
) -> NDArray[Number]:
    """Return ``out`` after checking its type, shape and layout, or a new array if ``out`` is None.

    ``out`` must not overlap the ``inputs``, which may be read after the first result is written.
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
    _require_apart(any(np.shares_memory(out, array) for array in inputs))
    return out


def require_gpu(backend: Backend, what: str) -> None:
    """Raise ValueError if the backend is the CPU, because it cannot read arrays on a GPU."""
    if backend.name == "cpu":
        message = (
            f"{what} on a GPU, which the CPU cannot read: copy the array to memory first, as with "
            ".get() of CuPy or .cpu() of PyTorch, or use backend='cuda'"
        )
        raise ValueError(message)
