"""Rows on a lattice: recognised, written from bits, marked by bits; by the compiled core alone."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Columns, Coordinates, Floats, Indices, Ints
from geodomain.compute.native import addresses, column_pointers, core, counts, thread_count


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


# --- Segments as rows of six numbers: checked, put in order; by the compiled core alone.

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


# --- Large files read by the compiled core; opens none.

_AT_ONCE = 1 << 26  # bytes between looks for signals


def read_bytes(file: int, size: int) -> bytes | None:
    """Return the bytes of an open file that has `size` of them.

    Parameters
    ----------
    file : int
        The file's descriptor.
    size : int
        What the system says of its size.

    Returns
    -------
    bytes or None
        None where the file has fewer bytes or more, or on a system other than Linux.
    """
    data = bytes(size)  # zeros that take no memory yet, known to nobody else: the core fills them
    address, are_there = np.frombuffer(data, dtype=np.uint8).ctypes.data, ctypes.c_int32()
    for start in range(0, size, _AT_ONCE):
        count = min(_AT_ONCE, size - start)
        into = (ctypes.c_char * count).from_address(address + start)
        core().read_bytes(file, start, count, into, thread_count(None), are_there)
        if not are_there:
            return None
    return data if os.fstat(file).st_size == size else None


# --- The compiled parts of sub-blocking, through ctypes: boundaries, and the joining of boxes.


class BoundaryIndex:
    """One mesh's triangles, ready to be asked which blocks they enter and where they cut them.

    Vertices are (v, 3) float64 and triangles (t, 3) int32, both contiguous.
    """

    def __init__(self, vertices: Floats, triangles: Indices) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        core().boundary_create(
            vertices,
            triangles,
            len(triangles),
            self.handle,
        )

    def __del__(self) -> None:
        """Free the index's memory."""
        if getattr(self, "handle", None):
            core().boundary_free(self.handle)

    def mark_entered(
        self, lows: Floats, highs: Floats, entered: NDArray[np.bool_], threads: int
    ) -> None:
        """Mark the blocks, (n, 3) corners, inside of which a triangle has a point."""
        core().boundary_enters(
            self.handle,
            lows,
            highs,
            len(lows),
            threads,
            entered,
        )

    def seams(self, lows: Floats, highs: Floats, threads: int) -> tuple[Ints, Floats]:
        """Return how many cuts each block has, (n,), and all their heights, block by block."""
        counts = np.zeros(len(lows), np.int64)
        found = ctypes.POINTER(ctypes.c_double)()
        core().boundary_seams(self.handle, lows, highs, len(lows), threads, counts, found)
        try:
            total = int(counts.sum())
            heights = np.ctypeslib.as_array(found, (total,)).copy() if total else np.empty(0)
        finally:
            core().heights_free(ctypes.cast(found, ctypes.c_void_p))
        return counts, heights


def join_boxes(
    starts: Ints, lows: Ints, highs: Ints, keys: Indices, threads: int
) -> tuple[Indices, Indices, Ints]:
    """Join the boxes of each parent that share a face and a key.

    Parameters
    ----------
    starts : (p + 1,) int64
        Where the boxes of each parent begin and end.
    lows, highs : (n, 3) int64
        Faces, as places in a list of fewer than 2^31.
    keys : (n,) int32
        Boxes of different keys are kept apart.

    Returns
    -------
    lows, highs : (n, 3) int32
        Those of joined boxes in their first rows; those of other rows mean nothing.
    owner : (n,) int64
        The first row of the box that each has become part of.
    """
    boxes = np.concatenate([lows, highs], axis=1, dtype=np.int32)
    owner = np.empty(len(boxes), np.int64)
    core().join_boxes(
        np.ascontiguousarray(starts, np.int64),
        len(starts) - 1,
        boxes,
        np.ascontiguousarray(keys, np.int32),
        threads,
        owner,
    )
    return boxes[:, :3], boxes[:, 3:], owner
