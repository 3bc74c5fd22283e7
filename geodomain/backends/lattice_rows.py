"""Rows on a lattice: recognised, written from bits, marked by bits; by the compiled core alone."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.data import Columns
from geodomain.backends.native import addresses, column_pointers, core, counts


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
    core().lattice_expand(
        bits,
        counts([bits.shape[0], bits.shape[1], depth]),
        addresses(ranks),
        counts(out.shape),
        counts(out.strides),
        ctypes.c_void_p(out.ctypes.data),  # with any strides
        threads,
    )


def recognise(points: Columns, threads: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the axes, fastest first, and their lengths if the rows are a lattice."""
    axes, lengths, is_lattice = counts([0] * 3), counts([0] * 3), ctypes.c_int32()
    core().recognise(*column_pointers(points), len(points[0]), threads, axes, lengths, is_lattice)
    return (tuple(axes), tuple(lengths)) if is_lattice else None


def look_up(
    points: Columns,
    axes: Columns,
    bits: NDArray[np.uint64],
    crossings: NDArray[np.uint8] | None,
    box: NDArray[np.float64],
    threads: int,
) -> NDArray[np.uint8]:
    """Return for each row what is known of the cell that has its coordinates, as numbers.

    That is 1 where the crossings above are odd, and twice those of the whole line, of which 3
    and 4 stand for more, odd and even; ``kNotOnLattice`` where no cell has them. ``bits`` are
    labels along z of the cells that ``axes`` make, (nx, ny, words), and ``crossings`` are those of
    the lines, (nx, ny). Beyond the mesh's box, (2, 3), no cell is needed.
    """
    out = np.empty(len(points[0]), np.uint8)
    core().lattice_look_up(
        *column_pointers(points),
        len(out),
        addresses(axes),
        counts([len(axis) for axis in axes]),
        bits,
        crossings,
        box,
        out,
        threads,
    )
    return out


def mark_blocks(
    points: Columns,
    starts: NDArray[np.float64],
    cells_per_unit: NDArray[np.float64],
    firsts: NDArray[np.int64],
    values: Sequence[NDArray[np.float64]],
    bits: NDArray[np.uint8],
) -> tuple[int, int]:
    """Set the bits of blocks' cells; return how many rows were taken, and how many set again.

    Along each axis the cell of a coordinate is ``rint((x - start) * cells_per_unit)``, from
    ``first`` on. ``values`` has the one coordinate of each cell, or NaN, and takes new ones.
    ``bits`` are (z, y, x / 8), bytes that begin with the lowest bit. The row after those that
    were taken has no cell, or one with another coordinate.
    """
    again = ctypes.c_int64(0)
    taken = core().mark_blocks(
        *column_pointers(points),
        len(points[0]),
        starts,
        cells_per_unit,
        firsts,
        counts([len(each) for each in values]),
        addresses(values),
        bits,
        again,
    )
    return taken, again.value
