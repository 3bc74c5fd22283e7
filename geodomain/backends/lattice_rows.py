"""Rows that are a lattice: recognised, and written from bits; by the compiled core alone."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.data import Columns
from geodomain.backends.native import column_pointers, library, must, pointer


def expand_lattice(
    bits: NDArray[np.uint64],
    depth: int,
    ranks: tuple[NDArray[np.int32] | None, ...],
    out: NDArray[np.bool_],
    threads: int,
) -> None:
    """Write bits as bools into ``out`` of shape (x, y, z), whatever its strides.

    ``ranks`` gives, for each axis of ``out``, the place of its coordinates among
    the distinct ones; None where they are those in their order. ``depth`` is the
    number of distinct z.
    """
    rulers = (ctypes.c_int64 * 3)(bits.shape[0], bits.shape[1], depth)
    places = (ctypes.c_void_p * 3)(*[None if r is None else r.ctypes.data for r in ranks])
    must(
        library().geodomain_lattice_expand(
            pointer(bits),
            rulers,
            places,
            (ctypes.c_int64 * 3)(*out.shape),
            (ctypes.c_int64 * 3)(*out.strides),
            pointer(out),
            threads,
        )
    )


def recognise(points: Columns, threads: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the axes, fastest first, and their lengths if the rows are a lattice."""
    addresses, strides = column_pointers(points)
    axes, counts = (ctypes.c_int64 * 3)(), (ctypes.c_int64 * 3)()
    found = library().geodomain_recognise(
        addresses, strides, ctypes.c_int64(len(points[0])), threads, axes, counts
    )
    must(0 if found >= 0 else 1)
    return (tuple(axes), tuple(counts)) if found else None
