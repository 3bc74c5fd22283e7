"""Labels and volumes of a lattice's blocks on the CPU, through ctypes; no geometry."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from geodomain.backends import layout
from geodomain.backends.api import PointIndex
from geodomain.backends.data import Columns, Floats, MeshArrays
from geodomain.backends.native import addresses, core, counts


def lattice_bits(
    mesh: MeshArrays,
    axes: Columns,
    threads: int,
    index: PointIndex | None = None,
) -> NDArray[np.uint64] | None:
    """Return labels of a lattice as bits along z, shape (nx, ny, words); axes ascend strictly.

    None where a block cannot be decided, for coordinates below the arithmetic's range.
    """
    lengths = [len(axis) for axis in axes]
    bits = np.zeros((lengths[0], lengths[1], (lengths[2] + 63) // 64), dtype=np.uint64)
    status = core().lattice_contains(
        mesh.vertices,
        len(mesh.vertices),
        mesh.triangles,
        len(mesh.triangles),
        addresses(axes),
        counts(lengths),
        bits,
        threads,
    )
    return None if status == layout.constant("kUndecided") else bits


def lattice_packed(
    mesh: MeshArrays,
    axes: Columns,
    out: NDArray[np.uint8],
    threads: int,
    index: PointIndex | None = None,
) -> bool:
    """Write labels of a lattice as bits along z to ``out``, (nx, ny, bytes); False if undecided.

    ``bytes`` is that of whole words of 64 bits, or of as few bytes as hold the column.
    """
    bits = lattice_bits(mesh, axes, threads)
    if bits is not None:
        out[...] = bits.view(np.uint8)[:, :, : out.shape[2]]
    return bits is not None


def lattice_shares(
    mesh: MeshArrays,
    weights: NDArray[np.int8],
    edges: Columns,
    labels: NDArray[np.uint64],
    out: Floats,
    threads: int,
) -> int:
    """Write the shares of blocks between edges, (nx, ny, nz); return how many are mixed.

    ``labels`` are bits along z, (nx, ny, words), of the blocks that no triangle enters.
    """
    mixed = ctypes.c_int64()
    core().shares_lattice(
        mesh.vertices,
        mesh.triangles,
        len(mesh.triangles),
        weights,
        addresses(edges),
        counts([len(axis) for axis in edges]),
        labels,
        out.view(np.uint64),  # bits of doubles, in fixed point until the end
        threads,
        mixed,
    )
    return mixed.value
