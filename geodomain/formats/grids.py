"""Use PyVista grids in memory as block models, and read block models as PyVista grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.compute.data import Floats
from geodomain.errors import TableError
from geodomain.formats.block_file import Blocks
from geodomain.formats.blocks import gathered, open_model
from geodomain.formats.cell_file import CellModel, refuse_columns, rewritten_blocks
from geodomain.formats.cells import LatticeCells, lattice, tensor_of
from geodomain.formats.rewriting import Rewriting
from geodomain.formats.vtk import VtkStore, hexahedra, put_column
from geodomain.tables.options import TableOptions, table_options

# Sizes of cells count as equal if they differ by at most this share, which covers rounding.
_EVEN = 1e-9


class GridStore(VtkStore):
    """A PyVista grid in memory; see `CellStore`."""

    def __init__(self, grid: Any, name: str) -> None:
        super().__init__(grid, name, None)

    def _warn_of_resolution(self, points: Any) -> None:
        """Do nothing: the caller has already warned of coordinates in single precision."""


class GridModel(CellModel):
    """A PyVista grid as an open block model.

    Parameters
    ----------
    grid : pyvista.ImageData, RectilinearGrid, StructuredGrid or UnstructuredGrid
        Its cells are the blocks, and its cell data are the columns.
    options : TableOptions, optional
        Options for reading numbers; the grid itself has the coordinates and sizes.

    Attributes
    ----------
    made : Blocks, optional
        The new blocks after `rewrite`, which keeps them in memory.
    """

    def __init__(self, grid: Any, options: TableOptions | None = None) -> None:
        name = "the grid"
        options = table_options() if options is None else options
        refuse_columns(name, options)
        super().__init__(GridStore(grid, name), options)
        self.made: Blocks | None = None

    def rewrite(self, task: Rewriting) -> None:
        """Replace the cells by new blocks, in memory: see `made`."""
        self.made = rewritten_blocks(self.gathered(), self.name, task)


# --- The blocks of a file as a grid.


def read_grid(source: str, options: TableOptions) -> Any:
    """Return the block model of a file as a PyVista grid with all its columns.

    Parameters
    ----------
    source : str
        The file, or FILE:NAME for one of several models.
    options : TableOptions
        Options for reading the file.

    Returns
    -------
    pyvista.ImageData, RectilinearGrid or UnstructuredGrid
        An ImageData if the blocks have one size and fill a lattice, which may be rotated; a
        RectilinearGrid if they fill a lattice whose spacing varies; otherwise an UnstructuredGrid
        with a hexahedron for each block.

    Raises
    ------
    TableError
        If the file cannot be read, or if blocks have no centroid or no size.
    """
    with open_model(source, options) as opened:
        if isinstance(opened, CellModel):
            cells = opened.cells
            if isinstance(cells, LatticeCells) and (made := _lattice_grid(cells)) is not None:
                grid, order = made
                for number, name in enumerate(opened.columns):
                    put_column(grid, name, opened.values(number)[order])
                return grid
            return grid_of(opened.gathered(), opened.name)
    return grid_of(gathered(source, options), opened.name)


def grid_of(blocks: Blocks, name: str) -> Any:
    """Return blocks in memory as a PyVista grid; see `read_grid`. `name` is for messages."""
    centroids, axes = blocks.centroids, blocks.axes
    if not len(centroids):
        message = f"{name} has no blocks: export the model again"
        raise TableError(message)
    local = centroids if (axes == np.eye(3)).all() else centroids @ axes.T
    sizes = _spacing(local, name) if blocks.sizes is None else blocks.box_sizes(name)
    if not (np.isfinite(centroids).all() and (sizes > 0).all()):
        message = (
            f"{name}: some blocks lack a centroid or a size, and a grid cannot store them: remove "
            "these blocks"
        )
        raise TableError(message)
    grid, order = None, None
    tensor = tensor_of(local, sizes)
    if tensor is not None:
        nx, ny, nz = map(len, tensor.steps)
        places = local[tensor.order].reshape(nz, ny, nx, 3)
        centres = (places[0, 0, :, 0], places[0, :, 0, 1], places[:, 0, 0, 2])
        cells = lattice("blocks", tensor.steps, tensor.origin @ axes, axes)
        if (made := _lattice_grid(cells, centres)) is not None:
            grid, order = made[0], tensor.order[made[1]]
    if grid is None:
        grid = hexahedra(centroids, sizes, axes)
    for column, values in blocks.others().items():
        put_column(grid, column, values if order is None else values[order])
    return grid


def _spacing(local: Floats, name: str) -> Floats:
    """Return the spacing of an even lattice, as the sizes of blocks without sizes that fill it.

    Raises
    ------
    TableError
        If the blocks do not fill such a lattice.
    """
    size, count = np.zeros(3), 1
    for axis in range(3):
        places = np.unique(local[:, axis][np.isfinite(local[:, axis])])
        steps = np.diff(places)
        if not len(steps) or np.ptp(steps) > 1e-6 * steps.min():
            break
        size[axis], count = steps[0], count * len(places)
    if not size.all() or count != len(local):
        message = (
            f"{name} has no block sizes, and its blocks do not fill a lattice that would give "
            "them: name the size columns, or give the size of all blocks, with dx=, dy= and dz="
        )
        raise TableError(message)
    return np.broadcast_to(size, local.shape)


def _lattice_grid(
    cells: LatticeCells, centres: Sequence[Floats] | None = None
) -> tuple[Any, NDArray[np.intp]] | None:
    """Return a lattice as a grid, and for each cell of the grid its index in the file's order.

    A lattice of equal cells becomes an ImageData. But it becomes a RectilinearGrid if rounding in
    an ImageData would move the centres of the cells, and a RectilinearGrid keeps them. Return None
    for a rotated lattice whose spacing varies.

    Parameters
    ----------
    cells : LatticeCells
        The lattice.
    centres : three arrays, optional
        The centres of the blocks along each axis, if the file states them. [default: the middles
        of the faces]
    """
    import pyvista

    nz, ny, nx = cells.shape
    numbers = np.arange(cells.count)
    slowest = cells.order[::-1]
    shape = dict(zip("xyz", (nx, ny, nz), strict=True))
    by_axis = numbers.reshape([shape[axis] for axis in slowest])
    order = by_axis.transpose([slowest.index(axis) for axis in "zyx"])
    faces: list[Floats] = []
    for axis, planes in enumerate(cells.faces):
        falls = planes[0] > planes[-1]
        faces.append(planes[::-1] if falls else planes)
        order = np.flip(order, 2 - axis) if falls else order
    size = [float(lengths[0]) for lengths in cells.sizes]
    even = all(np.ptp(lengths) <= _EVEN * lengths[0] for lengths in cells.sizes)
    low = np.array([planes[0] for planes in faces])
    if cells.matrix is not None and cells.origin is not None:
        if not even:
            return None
        low = np.array(cells.origin) + cells.matrix @ low
    counts = (nx + 1, ny + 1, nz + 1)
    image = pyvista.ImageData(dimensions=counts, spacing=size, origin=low.tolist())
    if cells.matrix is not None:
        image.direction_matrix = cells.matrix
        return image, order.ravel()
    steps = [
        start + length * np.arange(n) for start, length, n in zip(low, size, counts, strict=True)
    ]
    wanted = list(map(_middles, faces)) if centres is None else centres
    if even and (_have(steps, wanted) or not _have(faces, wanted)):
        return image, order.ravel()
    return pyvista.RectilinearGrid(*faces), order.ravel()


def _middles(faces: Floats) -> Floats:
    middles: Floats = (faces[:-1] + faces[1:]) / 2
    return middles


def _have(faces: Sequence[Floats], centres: Sequence[Floats]) -> bool:
    """Return whether cells between these faces have exactly these centres, along each axis."""
    return all(
        np.array_equal(_middles(planes), places)
        for planes, places in zip(faces, centres, strict=True)
    )
