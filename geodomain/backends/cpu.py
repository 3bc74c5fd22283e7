"""The CPU backend: the kernels' launch loops through ctypes; no geometry."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.backends.native import library, must, pointer

Floats = NDArray[np.float64]
Columns = tuple[Floats, Floats, Floats]
UNDECIDED = 2


def column_pointers(points: Columns, row: int = 0) -> tuple[Any, Any]:
    """Return the addresses of a row's x, y and z, and the bytes to the next row's."""
    steps = [column.strides[0] for column in points]
    places = [column.ctypes.data + row * step for column, step in zip(points, steps, strict=True)]
    return (ctypes.c_void_p * 3)(*places), (ctypes.c_int64 * 3)(*steps)


class Index:
    """The grid over one mesh's triangles; made once, asked from any thread.

    ``density`` is the number of triangles to a cell: 8 balances making the index
    and asking it about as many points as there are triangles.
    """

    def __init__(
        self,
        vertices: Floats,
        triangles: NDArray[np.int32],
        bounds: Floats,
        *,
        closed: bool,
        threads: int,
        density: float = 8.0,
    ) -> None:
        self._arrays = (vertices, triangles)  # the core reads them where they are
        self.handle = ctypes.c_void_p()
        limits = np.ascontiguousarray(bounds, dtype=np.float64)
        must(
            library().geodomain_grid_create(
                pointer(vertices),
                pointer(triangles),
                ctypes.c_int64(len(triangles)),
                pointer(limits),
                int(closed),
                ctypes.c_double(density),
                threads,
                ctypes.byref(self.handle),
            )
        )

    def __del__(self) -> None:
        """Give the index's memory back."""
        if getattr(self, "handle", None):
            library().geodomain_grid_free(self.handle)

    def size(self) -> tuple[int, int, int, int]:
        """Return the numbers of cells, entries, grids and bundled triangles, for inspection."""
        size = (ctypes.c_int64 * 4)()
        library().geodomain_grid_size(self.handle, size)
        return size[0], size[1], size[2], size[3]

    def arrays(self) -> list[NDArray[np.uint8]]:
        """Return the bytes of the index's six arrays; views that need this object.

        They are its grids, slabs, lists, entries, bundles and bundled triangles.
        """
        addresses, sizes = (ctypes.c_void_p * 6)(), (ctypes.c_int64 * 6)()
        library().geodomain_grid_arrays(self.handle, addresses, sizes)
        return [
            np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint8)), (size,))
            if size
            else np.empty(0, dtype=np.uint8)
            for address, size in zip(addresses, sizes, strict=True)
        ]

    def _ask(self, function: str, points: Columns, out: Any, *options: int) -> int:
        """Run a kernel over points; return the first row it refused, or -1."""
        addresses, strides = column_pointers(points)
        refused = ctypes.c_int64(-1)
        must(
            getattr(library(), function)(
                self.handle,
                addresses,
                strides,
                ctypes.c_int64(len(out)),
                *options,
                pointer(out),
                ctypes.byref(refused),
            )
        )
        return refused.value

    def contains(self, points: Columns, out: NDArray[np.bool_], threads: int) -> int:
        """Write whether each point is inside; return the first refused row or -1."""
        return self._ask("geodomain_grid_contains", points, out, threads)

    def crossings(
        self, points: Columns, out: NDArray[np.int32], threads: int, *, signed: bool
    ) -> int:
        """Write the crossings above each point; return the first refused row or -1."""
        return self._ask("geodomain_grid_crossings", points, out, int(signed), threads)

    def winds(self, points: Columns, out: NDArray[np.bool_], threads: int) -> int:
        """Write whether a winding number is not 0; return the first refused row or -1."""
        numbers = np.empty(len(out), np.int32)
        refused = self.crossings(points, numbers, threads, signed=True)
        np.not_equal(numbers, 0, out=out)
        return refused

    def on_surface(self, points: Columns, out: NDArray[np.bool_], threads: int) -> int:
        """Write whether each point is on a triangle; return the first refused row or -1."""
        return self._ask("geodomain_grid_on_surface", points, out, threads)


def codes(indexes: Sequence[Index], points: Columns, out: NDArray[np.int32], threads: int) -> int:
    """Write which index first holds each point, -1 none, -2 not finite; as ``contains``."""
    addresses, strides = column_pointers(points)
    refused = ctypes.c_int64(-1)
    must(
        library().geodomain_grid_codes(
            (ctypes.c_void_p * len(indexes))(*[index.handle for index in indexes]),
            ctypes.c_int32(len(indexes)),
            addresses,
            strides,
            ctypes.c_int64(len(out)),
            threads,
            pointer(out),
            ctypes.byref(refused),
        )
    )
    return refused.value


def lattice_bits(
    vertices: Floats,
    triangles: NDArray[np.int32],
    axes: Columns,
    threads: int,
) -> NDArray[np.uint64] | None:
    """Return labels of a lattice as bits along z, shape (nx, ny, words); axes ascend strictly.

    None where a block cannot be decided, for coordinates below the arithmetic's range.
    """
    counts = [len(axis) for axis in axes]
    bits = np.zeros((counts[0], counts[1], (counts[2] + 63) // 64), dtype=np.uint64)
    status = library().geodomain_lattice_contains(
        pointer(vertices),
        ctypes.c_int64(len(vertices)),
        pointer(triangles),
        ctypes.c_int64(len(triangles)),
        (ctypes.c_void_p * 3)(*[axis.ctypes.data for axis in axes]),
        (ctypes.c_int64 * 3)(*counts),
        pointer(bits),
        threads,
    )
    if status == UNDECIDED:
        return None
    must(status)
    return bits


def lattice_packed(
    vertices: Floats,
    triangles: NDArray[np.int32],
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
) -> bool:
    """Write labels of a lattice as bits along z to ``out``, (nx, ny, bytes); False if undecided.

    ``bytes`` is that of whole words of 64 bits, or of as few bytes as hold the column.
    """
    bits = lattice_bits(vertices, triangles, axes, threads)
    if bits is not None:
        out[...] = bits.view(np.uint8)[:, :, : out.shape[2]]
    return bits is not None


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
