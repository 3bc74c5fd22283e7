"""Blocks on a lattice: the three axes, in any order, and labels as bits or bools."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.answers import host_room, room_for
from geodomain.errors import PointError
from geodomain.mesh import Mesh
from geodomain.points import as_columns, as_doubles, is_on_device

Floats = NDArray[np.float64]
Ranks = NDArray[np.int32] | None


def _distinct(axis: Floats) -> tuple[Floats, Ranks]:
    """Return the ascending finite coordinates, and where each one given is among them."""
    if np.isfinite(axis).all() and (np.diff(axis) > 0).all():
        return np.ascontiguousarray(axis), None
    values, ranks = np.unique(axis[np.isfinite(axis)], return_inverse=True)
    placed = np.zeros(len(axis), dtype=np.int32)
    placed[np.isfinite(axis)] = ranks
    return values, placed


class Axes:
    """Hold three 1-D axes as the caller gave them and as the kernels want them."""

    def __init__(self, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> None:
        self.given = tuple(
            as_doubles(axis, name) for name, axis in zip("xyz", (x, y, z), strict=True)
        )
        for name, axis in zip("xyz", self.given, strict=True):
            if axis.ndim != 1:
                message = f"{name} must be one-dimensional, not of shape {axis.shape}"
                raise ValueError(message)
        pairs = [_distinct(axis) for axis in self.given]
        self.distinct = tuple(pair[0] for pair in pairs)
        self.ranks = tuple(pair[1] for pair in pairs)
        self.shape = tuple(len(axis) for axis in self.given)

    def form(self, *, packed: bool) -> tuple[tuple[int, int, int], type[Any]]:
        """Return the shape and the type of the labels, z fastest; packed, eight to a byte."""
        nx, ny, nz = self.shape
        return ((nx, ny, (nz + 7) // 8), np.uint8) if packed else ((nx, ny, nz), np.bool_)

    def answer(
        self, mesh: Mesh, out: Any, backend: ModuleType, threads: int, *, packed: bool
    ) -> Any:
        """Write labels to ``out``, in memory or on a GPU, or to a new array for None."""
        room = room_for(*self.form(packed=packed), out, backend)
        if is_on_device(out):
            self._label_there(mesh, room, backend)
            return out
        return self.label(mesh, room, backend, threads)

    def _label_there(self, mesh: Mesh, room: Any, backend: ModuleType) -> None:
        """Write labels on the device, where there is no order but the axes' own."""
        if any(rank is not None for rank in self.ranks):
            message = (
                "out is on a GPU, which is for axes that ascend strictly and are finite: sort x, "
                "y and z, without duplicates, or give an out in memory"
            )
            raise ValueError(message)
        if room.size:
            refuse_undecided(
                backend.lattice_there(mesh.vertices, mesh.triangles, self.distinct, room)
            )

    def label(
        self, mesh: Mesh, out: NDArray[Any], backend: ModuleType, threads: int
    ) -> NDArray[Any]:
        """Write labels to an array of the `form` that its type says, and return it."""
        if out.dtype == np.bool_:
            bits = label_bits(mesh, self, backend, threads)
            if out.size:
                self.expand_into(out, bits, backend, threads)
        elif any(rank is not None for rank in self.ranks):
            labels = self.label(mesh, np.empty(self.shape, np.bool_), backend, threads)
            out[...] = np.packbits(labels, axis=2, bitorder="little")
        elif out.size == 0 or len(mesh.triangles) == 0:
            out[...] = 0
        else:
            refuse_undecided(
                backend.lattice_packed(mesh.vertices, mesh.triangles, self.distinct, out, threads)
            )
        return out

    def expand_into(
        self, out: NDArray[np.bool_], bits: Any, backend: ModuleType, threads: int
    ) -> None:
        """Write labels into ``out`` of shape (nx, ny, nz), whatever its strides."""
        if min(len(axis) for axis in self.distinct) == 0:
            out[...] = False
            return
        backend.expand_lattice(bits, len(self.distinct[2]), self.ranks, out, threads)
        for number, axis in enumerate(self.given):
            lost = ~np.isfinite(axis)
            if lost.any():
                out[(slice(None),) * number + (lost,)] = False


def label_bits(mesh: Mesh, axes: Axes, backend: ModuleType, threads: int) -> NDArray[np.uint64]:
    """Return the labels of the distinct coordinates as bits along z, (nx, ny, words)."""
    counts = [len(axis) for axis in axes.distinct]
    if min(counts) == 0 or len(mesh.triangles) == 0:
        return np.zeros((counts[0], counts[1], (counts[2] + 63) // 64), dtype=np.uint64)
    bits: NDArray[np.uint64] | None = backend.lattice_bits(
        mesh.vertices, mesh.triangles, axes.distinct, threads
    )
    refuse_undecided(bits is not None)
    return bits  # type: ignore[return-value]


def refuse_undecided(decided: bool) -> None:
    """Raise where a backend could not decide a block of a lattice."""
    if not decided:
        message = (
            "a coordinate of the lattice is not zero and so small (below 2^-306) that a block's "
            "label cannot be decided; write it as 0"
        )
        raise PointError(message)


def by_layers(
    axes: Axes, answer: Callable[[Floats], NDArray[Any]], layer_bytes: int = 2**26
) -> NDArray[np.bool_]:
    """Return where ``answer`` of the points is not zero, some layers of x at a time."""
    out = np.empty(axes.shape, dtype=np.bool_)
    x, y, z = axes.given
    step = max(1, layer_bytes // max(1, 24 * len(y) * len(z)))
    for begin in range(0, len(x), step):
        grid = np.meshgrid(x[begin : begin + step], y, z, indexing="ij")
        points = np.stack([part.ravel() for part in grid], axis=1)
        out[begin : begin + step] = answer(points).reshape(grid[0].shape) != 0
    return out


def label_ordered(
    mesh: Mesh, points: ArrayLike, backend: ModuleType, threads: int, out: Any = None
) -> NDArray[np.bool_] | None:
    """Return labels of points that are a lattice row by row, or None where they are not.

    They are written to ``out``, unless it is None.

    Every value is compared, so nothing is assumed; a lattice of few blocks to a
    column is left to the index, which is faster there.
    """
    columns = as_columns(points)
    rows = len(columns[0])
    if rows < 4096 or len(mesh.triangles) == 0:
        return None
    found = backend.recognise(columns, threads)
    if found is None:
        return None
    order, counts = found
    stride, axes = 1, {}
    for axis, count in zip(order, counts, strict=True):
        axes[axis] = columns[axis][: stride * count : stride][:count]
        stride *= count
    if 4 * len(axes[0]) * len(axes[1]) > rows:
        return None
    lattice = Axes(axes[0], axes[1], axes[2])
    try:
        bits = label_bits(mesh, lattice, backend, threads)
    except PointError:  # the index names the row
        return None
    labels = host_room((rows,), np.bool_, out)
    # Rows run with order[0] fastest: a C array of the reversed axes, seen as (x, y, z).
    shaped = labels.reshape(counts[::-1]).transpose([2 - order.index(axis) for axis in range(3)])
    lattice.expand_into(shaped, bits, backend, threads)
    return labels
