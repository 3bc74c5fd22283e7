"""Conversion of anything point-like to rows x, y, z, or to a lattice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from geodomain.arrays import Floats, is_on_device
from geodomain.backends.point_cache import CachedPoints
from geodomain.inputs.frames import BlockFrame, is_frame, refuse_lazy
from geodomain.inputs.kinds import PointsLike
from geodomain.io.blocks.cells import Cells, LatticeCells, cells_of, product
from geodomain.mesh.datasets import is_dataset

if TYPE_CHECKING:
    import pyvista
    from narwhals.stable.v1.typing import IntoDataFrame

_TAKEN = (
    "an array of shape (n, 3), a pyvista.PolyData or PointSet (its points), a pyvista.ImageData, "
    "RectilinearGrid, StructuredGrid or UnstructuredGrid (the centres of its cells), or a "
    "pandas.DataFrame, polars.DataFrame or pyarrow.Table with columns of centroids"
)
_GRIDS = ("ImageData", "RectilinearGrid", "StructuredGrid", "UnstructuredGrid")
_ARRAYS = ("__array__", "__array_interface__", "__dlpack__")


@dataclass(frozen=True, eq=False)
class LatticePoints:
    """The points of a lattice along x, y and z, x fastest; rows are made on demand.

    Attributes
    ----------
    axes : tuple of (nx,), (ny,), (nz,) float64
        The coordinates along each axis, in any order.
    """

    axes: tuple[Floats, Floats, Floats]

    def __len__(self) -> int:
        """Count the points."""
        x, y, z = self.axes
        return len(x) * len(y) * len(z)

    @cached_property
    def rows(self) -> Floats:
        """Return the points one by one, (n, 3)."""
        return product(*self.axes)


def point_rows(points: PointsLike | LatticePoints) -> ArrayLike:
    """Return points as something of shape (n, 3): arrays as they are, on a GPU too.

    Raises
    ------
    TypeError
        For what holds no points; the message says what is taken.
    TableError
        For a table without known columns of centroids, and a grid whose cells are no blocks.
    """
    if isinstance(points, np.ndarray | list | tuple | CachedPoints) or is_on_device(points):
        return cast("ArrayLike", points)
    if isinstance(points, LatticePoints):
        return points.rows
    if is_dataset(points, "PolyData", "PointSet"):
        return np.asarray(cast("pyvista.PolyData", points).points)
    if is_grid(points):
        return _centres(cells_of(points, "the grid"))
    refuse_lazy(points, "compute it first, or give it to label_blocks")
    if is_frame(points):
        return BlockFrame(cast("IntoDataFrame", points)).centroids()
    if isinstance(points, str | bytes) or not _is_array(points):
        message = f"points must be {_TAKEN}, not {type(points).__name__}"
        raise TypeError(message)
    return cast("ArrayLike", points)


def lattice_of(points: object) -> LatticePoints | None:
    """Return the lattice of points that are one by construction; None for other points."""
    if isinstance(points, LatticePoints):
        return points
    if not is_dataset(points, "ImageData", "RectilinearGrid"):
        return None
    cells = cells_of(points, "the grid")
    if not isinstance(cells, LatticeCells) or cells.matrix is not None:
        return None
    return LatticePoints(cells.centres)


def is_grid(thing: object) -> bool:
    """Return whether something is a grid of PyVista, whose cells are blocks."""
    return is_dataset(thing, *_GRIDS)


def _centres(cells: Cells) -> Floats:
    """Return the centre of each cell, (n, 3), in the order of the cells."""
    out = np.empty((cells.count, 3), order="F")
    for index, centres, _ in cells.chunks():
        out[index] = centres
    return out


def _is_array(thing: object) -> bool:
    return isinstance(thing, Sequence) or any(hasattr(thing, name) for name in _ARRAYS)
