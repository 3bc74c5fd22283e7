"""Where points are and where their answers go, in memory or on a GPU; nothing is computed here."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from geodomain.points import as_columns, is_on_device


@dataclass(frozen=True)
class Question:
    """Points as a backend takes them, and room for their answers.

    Attributes
    ----------
    points : tuple of columns, or DevicePoints
        As they were given, wherever they are.
    room : numpy.ndarray or DeviceRoom
        What the backend writes to.
    out : array
        What the caller gets: the array that was given, or a new one where the points are.
    """

    points: Any
    room: Any
    out: Any


def ask(points: Any, dtype: DTypeLike, out: Any, backend: ModuleType) -> Question:
    """Make points ready for a backend, with answers beside them or in ``out``.

    Raises
    ------
    ValueError
        If something is on a GPU and the backend is the CPU's, or ``out`` does not fit.
    """
    if not (is_on_device(points) or is_on_device(out)):
        columns = as_columns(points)
        room = host_room((len(columns[0]),), dtype, out)
        _require_apart(any(np.shares_memory(room, column) for column in columns))
        return Question(columns, room, room)
    name = "points are" if is_on_device(points) else "out is"
    require_gpu(backend, name)
    from geodomain.backends import device_arrays

    held: Any
    if is_on_device(points):
        held = device_arrays.read_points(points)
        rows = held.rows
    else:
        held = as_columns(points)
        rows = len(held[0])
    if out is None:
        out = device_arrays.DeviceArray(rows, dtype)
    if is_on_device(out):
        there = device_arrays.read_room(out, (rows,), dtype)
        _require_apart(is_on_device(points) and device_arrays.overlap(held, there))
        return Question(held, there, out)
    return Question(held, host_room((rows,), dtype, out), out)


def _require_apart(overlap: bool) -> None:
    """Refuse answers that would be written over points not asked about yet."""
    if overlap:
        message = "out shares memory with the points: give an array of its own"
        raise ValueError(message)


def room_for(shape: tuple[int, ...], dtype: DTypeLike, out: Any, backend: ModuleType) -> Any:
    """Return what a backend writes to for ``out``, in memory or on a GPU; as `host_room`."""
    if not is_on_device(out):
        return host_room(shape, dtype, out)
    require_gpu(backend, "out is")
    from geodomain.backends import device_arrays

    return device_arrays.read_room(out, shape, dtype)


def host_room(shape: tuple[int, ...], dtype: DTypeLike, out: Any) -> NDArray[Any]:
    """Return ``out`` if answers fit into it as it is, or a new array for None."""
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
    return out


def require_gpu(backend: ModuleType, what: str) -> None:
    """Refuse arrays on a GPU where nothing on it is asked."""
    if backend.__name__.endswith(".cpu"):
        message = (
            f"{what} on a GPU, which the CPU does not read: copy to memory first, as with .get() "
            "of CuPy or .cpu() of PyTorch, or use backend='cuda'"
        )
        raise ValueError(message)
