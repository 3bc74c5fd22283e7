"""Label the blocks of a lattice, as bits or bools; coordinates may be in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_doubles, device_room, host_room, is_on_device
from geodomain.compute.api import Backend, PointIndex
from geodomain.compute.data import Columns, DeviceRoom, Floats
from geodomain.compute.rows import expand_lattice, recognise
from geodomain.errors import PointError
from geodomain.mesh.mesh import Mesh

Ranks = NDArray[np.int32] | None
_TOO_SMALL = (
    "a coordinate of the lattice is not 0, but so small (below 2^-306) that a block's label "
    "cannot be decided; write the coordinate as 0"
)


def _distinct(axis: Floats) -> tuple[Floats, Ranks]:
    """Return a tuple: the distinct finite coordinates, sorted, and each coordinate's index in them.

    If the coordinates are finite and strictly increasing already, the second item is None.
    """
    if np.isfinite(axis).all() and (np.diff(axis) > 0).all():
        return np.ascontiguousarray(axis), None
    values, ranks = np.unique(axis[np.isfinite(axis)], return_inverse=True)
    all_ranks = np.zeros(len(axis), dtype=np.int32)
    all_ranks[np.isfinite(axis)] = ranks
    return values, all_ranks


class Axes:
    """The three axes of a lattice: as the caller gave them, and sorted for the kernels."""

    def __init__(self, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> None:
        self.callers = tuple(
            as_doubles(axis, name) for name, axis in zip("xyz", (x, y, z), strict=True)
        )
        for name, axis in zip("xyz", self.callers, strict=True):
            if axis.ndim != 1:
                message = f"{name} must be one-dimensional, not of shape {axis.shape}"
                raise ValueError(message)
        pairs = [_distinct(axis) for axis in self.callers]
        self.distinct: Columns = (pairs[0][0], pairs[1][0], pairs[2][0])
        self.ranks = tuple(pair[1] for pair in pairs)
        self.shape = (len(self.callers[0]), len(self.callers[1]), len(self.callers[2]))

    @property
    def packed_shape(self) -> tuple[int, int, int]:
        """Return the shape of labels that are packed along z, eight labels to a byte."""
        nx, ny, nz = self.shape
        return nx, ny, (nz + 7) // 8

    def answer(
        self,
        mesh: Mesh,
        out: object,
        backend: Backend,
        threads: int,
        *,
        packed: bool,
        index: PointIndex | None = None,
    ) -> NDArray[np.bool_] | NDArray[np.uint8]:
        """Write labels to ``out``, in memory or on a GPU; if ``out`` is None, return a new array.

        If an ``index`` of the mesh is given, no other index is built. It may be on a GPU.
        """
        if is_on_device(out):
            form = (self.packed_shape, np.uint8) if packed else (self.shape, np.bool_)
            self._label_on_device(mesh, device_room(*form, out, backend), backend, index)
            return cast("NDArray[np.bool_]", out)  # the caller's own
        if packed:
            bytes_out = host_room(self.packed_shape, np.uint8, out)
            return self._label_packed(mesh, bytes_out, backend, threads, index)
        bools_out = host_room(self.shape, np.bool_, out)
        return self._label_bools(mesh, bools_out, backend, threads, index)

    def _label_on_device(
        self, mesh: Mesh, room: DeviceRoom, backend: Backend, index: PointIndex | None
    ) -> None:
        """Write labels to GPU memory; the axes must be sorted."""
        if any(rank is not None for rank in self.ranks):
            message = (
                "out= on a GPU needs finite, strictly increasing axes: sort x, y and z and remove "
                "duplicates, or give an array in memory as out="
            )
            raise ValueError(message)
        if room.size:
            refuse_undecided(backend.lattice_there(mesh, self.distinct, room, index))

    def _label_bools(
        self,
        mesh: Mesh,
        out: NDArray[np.bool_],
        backend: Backend,
        threads: int,
        index: PointIndex | None,
    ) -> NDArray[np.bool_]:
        """Write a bool for each block to ``out``, and return ``out``."""
        bits = label_bits(mesh, self, backend, threads, index)
        if out.size:
            self.expand_into(out, bits, threads)
        return out

    def _label_packed(
        self,
        mesh: Mesh,
        out: NDArray[np.uint8],
        backend: Backend,
        threads: int,
        index: PointIndex | None,
    ) -> NDArray[np.uint8]:
        """Write the labels to ``out`` as bits along z, and return ``out``."""
        if any(rank is not None for rank in self.ranks):
            bools = np.empty(self.shape, np.bool_)
            labels = self._label_bools(mesh, bools, backend, threads, index)
            out[...] = np.packbits(labels, axis=2, bitorder="little")
        elif out.size == 0 or len(mesh.triangles) == 0:
            out[...] = 0
        else:
            refuse_undecided(backend.lattice_packed(mesh, self.distinct, out, threads, index))
        return out

    def expand_into(self, out: NDArray[np.bool_], bits: NDArray[np.uint64], threads: int) -> None:
        """Write labels that are given as bits along z to ``out``, (nx, ny, nz), of any strides."""
        if min(len(axis) for axis in self.distinct) == 0:
            out[...] = False
            return
        expand_lattice(bits, len(self.distinct[2]), self.ranks, out, threads)
        for number, axis in enumerate(self.callers):
            missing = ~np.isfinite(axis)
            if missing.any():
                out[(slice(None),) * number + (missing,)] = False


def label_bits(
    mesh: Mesh, axes: Axes, backend: Backend, threads: int, index: PointIndex | None = None
) -> NDArray[np.uint64]:
    """Return the labels for the distinct coordinates as bits along z, (nx, ny, words)."""
    counts = [len(axis) for axis in axes.distinct]
    if min(counts) == 0 or len(mesh.triangles) == 0:
        return np.zeros((counts[0], counts[1], (counts[2] + 63) // 64), dtype=np.uint64)
    bits = backend.lattice_bits(mesh, axes.distinct, threads, index)
    if bits is None:
        raise PointError(_TOO_SMALL)
    return bits


def refuse_undecided(decided: bool) -> None:
    """Raise PointError if a backend reports that it could not decide a block."""
    if not decided:
        raise PointError(_TOO_SMALL)


def by_layers(
    axes: Axes, answer: Callable[[Floats], NDArray[np.generic]], layer_bytes: int = 2**26
) -> NDArray[np.bool_]:
    """Return a mask of the blocks: True where the result of ``answer(centroids)`` is not zero.

    ``answer`` gets the centroids of a few layers along x at a time.
    """
    out = np.empty(axes.shape, dtype=np.bool_)
    x, y, z = axes.callers
    step = max(1, layer_bytes // max(1, 24 * len(y) * len(z)))
    for begin in range(0, len(x), step):
        grid = np.meshgrid(x[begin : begin + step], y, z, indexing="ij")
        points = np.stack([part.ravel() for part in grid], axis=1)
        out[begin : begin + step] = answer(points).reshape(grid[0].shape) != 0
    return out


def label_cells(
    mesh: Mesh, axes: Axes, backend: Backend, threads: int, out: object = None
) -> NDArray[np.bool_] | None:
    """Return the labels of all lattice points as an array (n,) in which x changes fastest.

    Returns None if a point cannot be decided.
    """
    try:
        bits = label_bits(mesh, axes, backend, threads)
    except PointError:  # the caller falls back to the index, which decides or names the row
        return None
    nx, ny, nz = axes.shape
    labels = host_room((nx * ny * nz,), np.bool_, out)
    axes.expand_into(labels.reshape(nz, ny, nx).transpose(2, 1, 0), bits, threads)
    return labels


def first_of(
    meshes: Sequence[Mesh], axes: Axes, backend: Backend, threads: int
) -> NDArray[np.int32] | None:
    """Return the index of the first mesh that contains each lattice point, (n,).

    In the result, x changes fastest. The index is -1 if no mesh contains the point, -2 if the point
    is not finite. Returns None if a point cannot be decided. For each mesh, only the part of the
    lattice within the mesh's box is computed.
    """
    nx, ny, nz = axes.shape
    codes = np.full((nz, ny, nx), -1, np.int32)
    shaped = codes.transpose(2, 1, 0)
    for code in reversed(range(len(meshes))):
        mesh = meshes[code]
        near = [
            np.flatnonzero((low <= axis) & (axis <= high))
            for axis, low, high in zip(axes.callers, *mesh.bounds, strict=True)
        ]
        part = Axes(*(axis[rows] for axis, rows in zip(axes.callers, near, strict=True)))
        inside = label_cells(mesh, part, backend, threads)
        if inside is None:
            return None
        where = np.ix_(*near)
        part_labels = inside.reshape(part.shape[::-1]).transpose(2, 1, 0)
        shaped[where] = np.where(part_labels, code, shaped[where])
    for number, axis in enumerate(axes.callers):
        shaped[(slice(None),) * number + (~np.isfinite(axis),)] = -2
    return codes.reshape(-1)


def label_ordered(
    mesh: Mesh, columns: Columns, backend: Backend, threads: int, out: object = None
) -> NDArray[np.bool_] | None:
    """Return the labels of points whose rows run through a lattice; None for other points.

    Every coordinate is compared. Returns None if there are fewer than 4096 points, or fewer than
    four blocks in a vertical column of the lattice, because the index is faster in these cases.
    Returns None if a point cannot be decided.
    """
    rows = len(columns[0])
    if rows < 4096 or len(mesh.triangles) == 0:
        return None
    recognised = recognise(columns, threads)
    if recognised is None:
        return None
    order, counts = recognised
    stride, axes = 1, {}
    for axis, count in zip(order, counts, strict=True):
        axes[axis] = columns[axis][: stride * count : stride][:count]
        stride *= count
    if 4 * len(axes[0]) * len(axes[1]) > rows:
        return None
    lattice = Axes(axes[0], axes[1], axes[2])
    try:
        bits = label_bits(mesh, lattice, backend, threads)
    except PointError:  # the caller falls back to the index, which names the row
        return None
    labels = host_room((rows,), np.bool_, out)
    # Rows run with order[0] fastest: a C array of the reversed axes, seen as (x, y, z).
    shaped = labels.reshape(counts[::-1]).transpose([2 - order.index(axis) for axis in range(3)])
    lattice.expand_into(shaped, bits, threads)
    return labels
