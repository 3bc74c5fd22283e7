"""PyVista's grids, and the centres of their cells."""

from __future__ import annotations

import numpy as np
from late import pyvista


def image() -> pyvista.ImageData:
    """Return cells with centres on walls of the cube, and inside and outside it."""
    return pyvista.ImageData(dimensions=(9, 7, 8), spacing=(2, 3, 2.5), origin=(-3, -1.5, -1.25))


def rectilinear() -> pyvista.RectilinearGrid:
    x, y, z = np.array([-3.0, -1, 1, 4, 6, 20]), np.array([-1.0, 1, 2, 12]), np.arange(-2.0, 14)
    return pyvista.RectilinearGrid(x, y, z)


def turned() -> pyvista.ImageData:
    grid = image()
    grid.origin = (13, -3, -1.25)
    grid.direction_matrix = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    return grid


GRIDS = {
    "ImageData": image,
    "turned": turned,
    "RectilinearGrid": rectilinear,
    "StructuredGrid": lambda: image().cast_to_structured_grid(),
    "UnstructuredGrid": lambda: rectilinear().cast_to_unstructured_grid(),
}


def centres_of(grid) -> np.ndarray:
    """Return the centres of cells, each the middle of its box, as VTK numbers the cells."""
    boxes = np.array([grid.get_cell(number).bounds for number in range(grid.n_cells)])
    return (boxes[:, ::2] + boxes[:, 1::2]) / 2
