"""Compute the share of each block of a lattice inside a solid, or above or below a surface."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodomain.arrays import as_doubles, host_room
from geodomain.compute import choose
from geodomain.compute.data import Floats
from geodomain.compute.native import thread_count
from geodomain.inputs import MeshLike, as_mesh
from geodomain.mesh.mesh import Mesh
from geodomain.query import contains as query
from geodomain.query.lattice import Axes, label_bits
from geodomain.query.locator import Rule, check_rule
from geodomain.settings import BackendName
from geodomain.volumes.block_shares import (
    SIZES,
    Kind,
    Shares,
    check_kind,
    sizes_fit,
    triangle_weights,
)


def proportions_lattice(
    mesh: MeshLike,
    x_edges: ArrayLike,
    y_edges: ArrayLike,
    z_edges: ArrayLike,
    *,
    kind: Kind = "solid",
    rule: Rule = "parity",
    backend: BackendName = "auto",
    threads: int | None = None,
    out: object = None,
) -> NDArray[np.float64]:
    """Return the share of each block of a lattice inside a solid, or above or below a surface.

    The share is computed from the triangles, without sampling. Each triangle is clipped to the
    columns of blocks that it enters, and the volume below it is integrated.

    Parameters
    ----------
    mesh : mesh-like
        A closed mesh for "solid"; for "above" and "below" usually an open one. Any type that
        `as_mesh` accepts.
    x_edges, y_edges, z_edges : array_like of shape (nx + 1,), (ny + 1,), (nz + 1,)
        Faces of the blocks along each axis, strictly increasing, in the mesh's unit. Blocks
        may differ in size.
    kind : {"solid", "above", "below"}
        Which part of the block is measured.
    rule : {"parity", "winding"}
        The rule for inside, as in `contains`.
    backend : {"auto", "cuda", "cpu"}
        Where to compute; the bits are the same. Cuts along lines are always computed on the CPU.
    threads : int, optional
        Number of threads. [default: all cores] Results have the same bits for any number.
    out : numpy.ndarray of float64, shape (nx, ny, nz), optional
        Array for the shares. It is returned.

    Returns
    -------
    numpy.ndarray of float64, shape (nx, ny, nz)
        From 0.0 to 1.0, and exactly 0.0 or 1.0 if no triangle enters a block. NaN if a block's plan
        is not entirely within the footprint of a surface. With n triangles in a block's column, of
        sizes at most r times the block's size, the error is less than ``n * (1 + r) * 2**-47`` of
        the block's volume: below 1e-9 if n * r is at most 1e5.

    Warns
    -----
    GeodomainWarning
        As `proportions`, if blocks were cut along lines.

    Raises
    ------
    MeshError
        As `proportions`.
    ValueError
        If edges are not strictly increasing, or so close that float64 has no number between them.

    Examples
    --------
    >>> import geodomain
    >>> corners = [[0, 0, 0], [8, 0, 0], [0, 8, 0], [0, 0, 8]]
    >>> mesh = geodomain.Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> geodomain.proportions_lattice(mesh, [0, 2, 4, 6], [0, 2], [0, 4, 8]).tolist()
    [[[1.0, 0.5]], [[0.9166666666666667, 0.08333333333333334]], [[0.5, 0.0]]]
    """
    mesh = as_mesh(mesh)
    check_rule(rule)
    check_kind(kind)
    chosen = choose(backend)
    edges = tuple(
        _edges(values, f"{name}_edges")
        for name, values in zip("xyz", (x_edges, y_edges, z_edges), strict=True)
    )
    shape = tuple(len(axis) - 1 for axis in edges)
    room = host_room(shape, np.float64, out)
    weights = triangle_weights(mesh, rule) if kind == "solid" else None
    if weights is None or weights.doubtful.all():
        _write_one_by_one(Shares(mesh, kind, rule, backend, threads), edges, room)
        return room
    count = thread_count(threads)
    labels = _labels(mesh, edges, rule, backend, count)
    axes = edges[0], edges[1], edges[2]
    chosen.lattice_shares(mesh, weights.values, axes, labels, room, count)
    if weights.doubtful.any():
        corners = mesh.vertices[mesh.triangles[weights.doubtful]].reshape(-1, 3)
        cells = _cells(edges, corners.min(axis=0), corners.max(axis=0))
        _write_doubtful(Shares(mesh, kind, rule, backend, threads), edges, cells, room)
    return room


def _write_one_by_one(shares: Shares, edges: tuple[Floats, ...], room: Floats) -> None:
    """Write the shares of a lattice as those of arbitrary blocks, a layer of x at a time."""
    cells = tuple(slice(0, len(axis) - 1) for axis in edges)
    layers = _layers(edges, cells)
    shares.write_many((*blocks, room[i].reshape(-1)) for i, blocks in enumerate(layers))


def _write_doubtful(
    shares: Shares, edges: tuple[Floats, ...], cells: tuple[slice, ...], room: Floats
) -> None:
    """Rewrite the shares of the blocks within `cells` that must be cut along lines."""

    def doubtful() -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
        for i, (lows, highs, middles) in enumerate(_layers(edges, cells), cells[0].start):
            rows = np.flatnonzero(shares.doubts(lows, highs))
            part = np.empty(len(rows))
            yield lows[rows], highs[rows], middles[rows], part
            layer = room[i, cells[1], cells[2]]
            layer[np.unravel_index(rows, layer.shape)] = part

    shares.write_many(doubtful())


def _cells(edges: tuple[Floats, ...], low: Floats, high: Floats) -> tuple[slice, ...]:
    """Return the cells along each axis that overlap a box."""
    spans = []
    for axis, least, most in zip(edges, low, high, strict=True):
        begin = max(int(np.searchsorted(axis, least, "right")) - 1, 0)
        end = min(int(np.searchsorted(axis, most, "left")), len(axis) - 1)
        spans.append(slice(begin, max(begin, end)))
    return tuple(spans)


def _layers(
    edges: tuple[Floats, ...], cells: tuple[slice, ...]
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield the lowest and highest corners and the middles of cells, (n, 3), layer by layer."""
    cuts = [
        (axis[:-1][span], axis[1:][span], _middles(axis)[span])
        for axis, span in zip(edges, cells, strict=True)
    ]
    for i in range(len(cuts[0][0])):
        lows, highs, middles = (
            np.stack(
                [part.ravel() for part in np.meshgrid(x[i : i + 1], y, z, indexing="ij")], axis=1
            )
            for x, y, z in zip(*cuts, strict=True)
        )
        yield lows, highs, middles


def _edges(values: ArrayLike, name: str) -> Floats:
    """Return edges as float64, checked: increasing, with a float64 between neighbours."""
    edges = np.ascontiguousarray(as_doubles(values, name)) + 0.0
    if edges.ndim != 1 or len(edges) < 2:
        message = (
            f"{name} must be one-dimensional, with two or more values, not of shape {edges.shape}"
        )
        raise ValueError(message)
    if not np.isfinite(edges).all():
        message = f"{name} must be finite"
        raise ValueError(message)
    middle = _middles(edges)
    wrong = np.flatnonzero(~((edges[:-1] < middle) & (middle < edges[1:])))
    if len(wrong):
        first = int(wrong[0])
        message = (
            f"{name}[{first}] and {name}[{first + 1}] are {edges[first]} and {edges[first + 1]}: "
            "values must be strictly increasing, and float64 must have a number between them"
        )
        raise ValueError(message)
    if not sizes_fit(np.diff(edges)).all():
        message = f"{name} have a spacing out of range: block sizes must be {SIZES}"
        raise ValueError(message)
    return edges


def _middles(edges: Floats) -> Floats:
    middles: Floats = edges[:-1] / 2 + edges[1:] / 2
    return middles


def _labels(
    mesh: Mesh, edges: tuple[Floats, ...], rule: Rule, backend: BackendName, threads: int
) -> NDArray[np.uint64]:
    """Return the labels of the blocks' middles as bits along z, (nx, ny, words)."""
    x, y, z = (_middles(axis) for axis in edges)
    if rule == "parity":
        return label_bits(mesh, Axes(x, y, z), choose(backend), threads)
    inside = query.contains_lattice(mesh, x, y, z, rule=rule, backend=backend, threads=threads)
    words = (len(z) + 63) // 64
    padded = np.zeros((len(x), len(y), 8 * words), np.uint8)
    packed = np.packbits(inside, axis=2, bitorder="little")
    padded[:, :, : packed.shape[2]] = packed
    return padded.view(np.uint64)
