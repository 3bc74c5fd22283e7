"""Segments as rows of six numbers: checked, put in order; by the compiled core alone."""

from __future__ import annotations

import ctypes
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.data import Floats
from geodomain.backends.native import library, must, pointer

Number = TypeVar("Number", bound=np.generic)


class CheckedSegments(NamedTuple):
    """Segments as rows of six, and the faults found in them."""

    ends: Floats
    infinite: int
    missing: int
    extreme: NDArray[np.int64]


def pack(
    starts: Floats, ends: Floats, order: NDArray[np.int64] | None, threads: int
) -> CheckedSegments:
    """Copy contiguous starts and ends, (n, 3), into rows of six in an order, and check them.

    Returns
    -------
    CheckedSegments
        Rows out of a mesh's range, `extreme`, have become NaN, as have those with a NaN.
    """
    out = np.empty((len(starts), 6))
    flags = np.empty(len(starts), dtype=np.uint8)
    faults = (ctypes.c_int64 * 3)()
    must(
        library().geodomain_segments_pack(
            pointer(starts),
            pointer(ends),
            None if order is None else pointer(order),
            ctypes.c_int64(len(starts)),
            threads,
            pointer(out),
            pointer(flags),
            faults,
        )
    )
    extreme = np.flatnonzero(flags) if faults[2] else np.empty(0, dtype=np.int64)
    return CheckedSegments(out, faults[0], faults[1], extreme)


def order(starts: Floats, ends: Floats, threads: int) -> NDArray[np.int64]:
    """Return the rows of (n, 3) by the Morton codes of their middles; equal codes by row."""
    rows = np.empty(len(starts), dtype=np.int32)
    must(
        library().geodomain_segments_order(
            pointer(starts), pointer(ends), ctypes.c_int64(len(starts)), threads, pointer(rows)
        )
    )
    return rows.astype(np.int64)


def scatter(values: NDArray[Number], places: NDArray[np.int64], threads: int) -> NDArray[Number]:
    """Return ``out[places] = values`` of 1-D arrays; the places are all there are, each once."""
    out = np.empty(len(places), dtype=values.dtype)
    values = np.ascontiguousarray(values)
    must(
        library().geodomain_scatter(
            pointer(values), ctypes.c_int64(values.itemsize), pointer(places),
            ctypes.c_int64(len(places)), threads, pointer(out),
        )
    )  # fmt: skip
    return out
