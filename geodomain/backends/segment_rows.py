"""Segments as rows of six numbers: checked, put in order; by the compiled core alone."""

from __future__ import annotations

import ctypes
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.data import Coordinates, Floats
from geodomain.backends.native import core

Number = TypeVar("Number", bound=np.generic)


class CheckedSegments(NamedTuple):
    """Segments as rows of six, and the faults found in them."""

    ends: Floats
    infinite: int
    missing: int
    extreme: NDArray[np.int64]


def pack(
    starts: Coordinates,
    ends: Coordinates,
    order: NDArray[np.int64] | None,
    threads: int,
    out: Floats,
) -> CheckedSegments:
    """Copy contiguous starts and ends, (n, 3), into rows of six in an order, and check them.

    Starts and ends are of one type, and ``out`` is (n, 6). Single precision is widened exactly.

    Returns
    -------
    CheckedSegments
        Rows out of a mesh's range, `extreme`, have become NaN, as have those with a NaN.
    """
    flags = np.empty(len(starts), dtype=np.uint8)
    faults = (ctypes.c_int64 * 3)()
    core().segments_pack(
        starts,
        ends,
        starts.itemsize,
        order,
        len(starts),
        threads,
        out,
        flags,
        faults,
    )
    extreme = np.flatnonzero(flags) if faults[2] else np.empty(0, dtype=np.int64)
    return CheckedSegments(out, faults[0], faults[1], extreme)


def order(starts: Coordinates, ends: Coordinates, threads: int) -> NDArray[np.int64]:
    """Return the rows of (n, 3) by the Morton codes of their middles; equal codes by row."""
    starts, ends = np.asarray(starts, np.float64), np.asarray(ends, np.float64)
    rows = np.empty(len(starts), dtype=np.int32)
    core().segments_order(starts, ends, len(starts), threads, rows)
    return rows.astype(np.int64)


def scatter(values: NDArray[Number], places: NDArray[np.int64], threads: int) -> NDArray[Number]:
    """Return ``out[places] = values`` of 1-D arrays; the places are all there are, each once."""
    out = np.empty(len(places), dtype=values.dtype)
    values = np.ascontiguousarray(values)
    core().scatter(
            values, values.itemsize, places,
            len(places), threads, out,
        )  # fmt: skip
    return out
