"""Blocks as the bytes of a VTK data set: an image where they fill a lattice, else hexahedra."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.errors import TableError
from geodomain.io.blocks.cells import Floats
from geodomain.io.blocks.hexahedra import corners_of
from geodomain.io.blocks.vtk_arrays import encoded, put, string_array

_HEXAHEDRON = 12
_EVEN = 1e-6


def encoded_blocks(
    centroids: Floats,
    sizes: Floats,
    axes: Floats,
    columns: Mapping[str, NDArray[np.generic]],
    path: str,
) -> bytes:
    """Give the file of blocks whose edges point along the rows of `axes`.

    Raises
    ------
    TableError
        Where sizes or centroids are missing, or an image cannot hold the blocks.
    """
    if not (np.isfinite(centroids).all() and (sizes > 0).all()):
        message = f"{path}: some blocks have no centroid or no size: VTK cannot hold them"
        raise TableError(message)
    if Path(path).suffix.lower() == ".vti":
        dataset, order = _image(centroids, sizes, axes, path)
    else:
        dataset, order = _hexahedra(centroids, sizes, axes), None
    for name, values in columns.items():
        each = values if order is None else values[order]
        if each.dtype.kind == "U":
            put(dataset.GetCellData(), string_array(name, each.tolist()))
        else:
            dataset.cell_data[name] = each
    return encoded(dataset, path)


def _hexahedra(centroids: Floats, sizes: Floats, axes: Floats) -> Any:
    """Give a hexahedron of its own for each block."""
    import pyvista

    points = corners_of(centroids, sizes, axes)
    cells = np.arange(8 * len(centroids)).reshape(-1, 8)
    return pyvista.UnstructuredGrid({_HEXAHEDRON: cells}, points.reshape(-1, 3))


def _image(
    centroids: Floats, sizes: Floats, axes: Floats, path: str
) -> tuple[Any, NDArray[np.intp]]:
    """Give an image, and the block of each of its cells."""
    import pyvista

    size = sizes[0] if len(sizes) else np.ones(3)
    local = centroids @ axes.T
    first = local.min(axis=0) if len(local) else np.zeros(3)
    steps = (local - first) / size
    places = np.round(steps).astype(np.int64)
    counts = places.max(axis=0) + 1 if len(local) else np.zeros(3, np.int64)
    rows = places[:, 0] + counts[0] * (places[:, 1] + counts[1] * places[:, 2])
    even = np.allclose(sizes, size, rtol=1e-9) and (np.abs(steps - places) < _EVEN).all()
    full = float(np.prod(counts.astype(np.float64))) == len(rows) == len(np.unique(rows))
    if not even or not full:
        message = f"{path}: the blocks do not fill a lattice of one size: end the output in .vtu"
        raise TableError(message)
    origin = (first - size / 2) @ axes
    image = pyvista.ImageData(
        dimensions=tuple((counts + 1).tolist()), spacing=size.tolist(), origin=origin.tolist()
    )
    if (axes != np.eye(3)).any():
        image.direction_matrix = axes.T
    return image, np.argsort(rows)
