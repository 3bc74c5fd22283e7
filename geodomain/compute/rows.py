"""Call the compiled core for many rows: lattices, segments, files, sub-blocks."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeVar

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
    """Write bits along z as bools to ``out``, of shape (x, y, z) and any strides.

    ``ranks`` has one array for each axis of ``out``. It holds the index of each coordinate in the
    sorted list of different coordinates; it is None if the axis itself is such a list. ``depth`` is
    the number of different z.
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
    """Return the lattice whose points the rows list in order, or None if there is no such lattice.

    The lattice is a tuple of two: the axes (0, 1 and 2 for x, y and z), and the lengths of these
    axes. The first axis is the one that changes fastest from row to row.
    """
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
    """Return a code for each point, from the lattice cell that has exactly the point's coordinates.

    The code is 2 * c + p. Here c is the number of crossings of the vertical line through the point;
    3 stands for any odd number of 3 or more, 4 for any even number of 4 or more. p is 1 if the
    number of crossings above the point is odd, otherwise 0. If no cell has the coordinates, the
    code is ``kNotOnLattice``. ``bits`` (nx, ny, words) are the labels of the cells of ``axes``, as
    bits along z. ``crossings`` (nx, ny) holds the values of c. Points outside ``box`` (2, 3) need
    no cell.
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
    """Set the bits of the cells that contain blocks.

    Returns a tuple: the number of rows marked, and how many of them have a cell that was already
    marked. Along each axis the cell of a coordinate is ``rint((x - start) * cells_per_unit) -
    first``. ``values`` holds the coordinate of each cell, or NaN if it is not known yet; new
    coordinates are stored there. ``bits`` are (z, y, x / 8), lowest bit first. Marking stops at the
    first row that has no cell, or whose cell has another coordinate.
    """
    repeated = ctypes.c_int64(0)
    marked = core().mark_blocks(
        *column_pointers(points),
        len(points[0]),
        starts,
        cells_per_unit,
        firsts,
        counts([len(each) for each in values]),
        addresses(values),
        bits,
        repeated,
    )
    return marked, repeated.value


# Segments as rows of six numbers.

Number = TypeVar("Number", bound=np.generic)


class CheckedSegments(NamedTuple):
    """Segments as rows of six numbers, and the bad rows among them.

    ``infinite`` is the first row with an infinite coordinate. ``missing`` is the number of rows
    with a NaN. ``extreme`` are the rows with coordinates out of range.
    """

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
    """Copy starts and ends (n, 3) into ``out`` (n, 6), and check them.

    Starts and ends must be contiguous and of the same type. ``order`` gives the order of the copied
    rows. Single precision is converted to double precision exactly.

    Returns
    -------
    CheckedSegments
        In ``out``, all six numbers are NaN in rows that have a NaN, and in the `extreme` rows,
        whose coordinates are out of range.
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
    """Return the row numbers of segments, sorted by the Morton codes of their midpoints.

    The sort is stable.
    """
    starts, ends = np.asarray(starts, np.float64), np.asarray(ends, np.float64)
    rows = np.empty(len(starts), dtype=np.int32)
    core().segments_order(starts, ends, len(starts), threads, rows)
    return rows.astype(np.int64)


def scatter(values: NDArray[Number], places: NDArray[np.int64], threads: int) -> NDArray[Number]:
    """Return a 1-D array ``out`` with ``out[places] == values``; ``places`` is a permutation."""
    out = np.empty(len(places), dtype=values.dtype)
    values = np.ascontiguousarray(values)
    core().scatter(
            values, values.itemsize, places,
            len(places), threads, out,
        )  # fmt: skip
    return out


# Files.

_AT_ONCE = 1 << 26  # bytes between checks for signals


def read_bytes(file: int, size: int) -> bytes | None:
    """Read an open file of `size` bytes with several threads.

    Parameters
    ----------
    file : int
        The file's descriptor.
    size : int
        Size of the file, as the system reports it.

    Returns
    -------
    bytes or None
        None if the file turns out to have another size, or if the system is not Linux.
    """
    data = bytes(size)  # zeros that take no memory yet; the core fills this unshared object
    address, are_there = np.frombuffer(data, dtype=np.uint8).ctypes.data, ctypes.c_int32()
    for start in range(0, size, _AT_ONCE):
        count = min(_AT_ONCE, size - start)
        into = (ctypes.c_char * count).from_address(address + start)
        core().read_bytes(file, start, count, into, thread_count(None), are_there)
        if not are_there:
            return None
    return data if os.fstat(file).st_size == size else None


# Sub-blocks.


class BoundaryIndex:
    """Index of one mesh: finds blocks that its triangles enter, and heights at which to cut them.

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
        """Set `entered` to True for the blocks whose interior a triangle enters.

        ``lows`` and ``highs`` (n, 3) are the corners of the blocks.
        """
        core().boundary_enters(
            self.handle,
            lows,
            highs,
            len(lows),
            threads,
            entered,
        )

    def seams(self, lows: Floats, highs: Floats, threads: int) -> tuple[Ints, Floats]:
        """Return a tuple: the number of cuts of each block (n,), and the heights of all cuts.

        The heights are in the order of the blocks.
        """
        counts = np.zeros(len(lows), np.int64)
        memory = ctypes.POINTER(ctypes.c_double)()
        core().boundary_seams(self.handle, lows, highs, len(lows), threads, counts, memory)
        try:
            total = int(counts.sum())
            heights = np.ctypeslib.as_array(memory, (total,)).copy() if total else np.empty(0)
        finally:
            core().heights_free(ctypes.cast(memory, ctypes.c_void_p))
        return counts, heights


def join_boxes(
    starts: Ints, lows: Ints, highs: Ints, keys: Indices, threads: int
) -> tuple[Indices, Indices, Ints]:
    """Within each parent block, join boxes that share a face and have the same key.

    Parameters
    ----------
    starts : (p + 1,) int64
        The first box of each parent. The last element is the number of all boxes.
    lows, highs : (n, 3) int64
        Faces of each box, as indices into a list of fewer than 2^31 coordinates.
    keys : (n,) int32
        Only boxes with the same key are joined.

    Returns
    -------
    lows, highs : (n, 3) int32
        Faces of the joined boxes. A joined box is in the row of the first box that it contains;
        other rows have no meaning.
    owner : (n,) int64
        For each box, the row of the joined box that contains it.
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


def fill_cells(
    blocks: Floats, planes: Sequence[Floats], slack: Floats
) -> tuple[Literal["once", "twice", "off planes"], int]:
    """Fill the cells between planes with blocks, to find out whether blocks may overlap.

    Parameters
    ----------
    blocks : (n, 6) float64
        Centroids and sizes, finite.
    planes : three arrays of float64
        Coordinates of the planes along x, y and z: two or more for each axis, in increasing order.
    slack : (3,) float64
        For each axis, the largest distance of a block's face from a plane.

    Returns
    -------
    str
        "once" if no cell is filled twice, "twice" if a cell is filled twice, "off planes" if a
        block has a face on no plane.
    int
        The first block for which "twice" or "off planes" is true; n for "once".
    """
    sizes = np.array([len(values) for values in planes])
    filled = np.zeros(math.prod((sizes - 1).tolist()) // 64 + 1, np.uint64)
    outcome = np.zeros(2, np.int64)
    core().fill_cells(
        np.ascontiguousarray(blocks),
        len(blocks),
        np.concatenate(planes),
        sizes,
        np.ascontiguousarray(slack),
        filled,
        outcome,
    )
    state, row = outcome.tolist()
    return ("once", "twice", "off planes")[state], row


def add_products(lanes: Ints, groups: Ints, wholes: Ints, factors: Floats, unit: int) -> int:
    """Add products to exact sums by group: a whole number times some factors, without rounding.

    Parameters
    ----------
    lanes : (k, m) int64
        The sums of k groups, which are changed. A lane has a digit of 32 bits and its carries, the
        lowest digit first; a sum is in units of 2^unit. Carries must be taken out of the lanes
        after 2^31 products.
    groups : (n,) int64
        The group of each product, from 0 to k - 1.
    wholes : (n,) int64
        Whole numbers, 0 or more.
    factors : (n, f) float64
        The factors of each product, finite; f is 0, 1 or 2.
    unit : int
        Exponent of the unit.

    Returns
    -------
    int
        n, or the first row whose product is no multiple of the unit or is too large for the lanes.
    """
    done = np.zeros(1, np.int64)
    core().add_products(
        np.ascontiguousarray(groups, np.int64),
        np.ascontiguousarray(wholes, np.int64),
        np.ascontiguousarray(factors, np.float64),
        factors.shape[1],
        len(groups),
        lanes.shape[1],
        unit,
        lanes,
        done,
    )
    return int(done[0])
