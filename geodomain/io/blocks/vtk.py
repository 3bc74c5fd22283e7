"""Block models as VTK data sets: labels as an array of their cells.

An image whose bytes can be kept is written without VTK; what else there is, through PyVista.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from geodomain.arrays import COARSE, single_resolution
from geodomain.errors import TableError, counted, warn
from geodomain.io.blocks.block_file import Destination
from geodomain.io.blocks.cell_file import CellModel, refuse_columns
from geodomain.io.blocks.cells import Cells, Corners, WithGhosts, cells_of
from geodomain.io.blocks.new_values import NewArrays, Values, as_category, as_numbers
from geodomain.io.blocks.vti.store import image_store
from geodomain.io.blocks.vtk_arrays import category_array, encoded, put
from geodomain.io.csv.new_columns import NewColumn
from geodomain.io.csv.number_cells import NewCells
from geodomain.io.files.digest import Digest
from geodomain.io.files.streams import Target
from geodomain.io.files.whole import require_seekable
from geodomain.io.header.options import TableOptions
from geodomain.io.meshes.vtk import read_dataset
from geodomain.mesh.datasets import ghosts


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Read a VTK file."""
    place = Path(path)
    status = require_seekable(place)
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(place)

    def whole() -> VtkStore:
        dataset = read_dataset(place, place.suffix.lower(), TableError)
        return VtkStore(dataset, place.name, status)

    image = image_store(place, whole) if place.suffix.lower() == ".vti" else None
    with closing(CellModel(image or whole(), options)) as model:
        yield model


class VtkStore:
    """A VTK data set of blocks, which has been read; see `CellStore`."""

    def __init__(self, dataset: Any, name: str, status: os.stat_result) -> None:
        self.name, self.status = name, status
        self._dataset = dataset
        self.cells: Cells = cells_of(dataset, name)
        ghost = ghosts(dataset)
        if ghost.any():
            self.cells = WithGhosts(self.cells, ghost)
            warn(
                f"{name}: {counted(int(ghost.sum()), 'cell')} marked as ghosts (vtkGhostType), and "
                "taken for no blocks"
            )
        self.columns: tuple[str, ...] = tuple(dataset.cell_data.keys())
        if isinstance(self.cells, Corners) and self.cells.points.dtype == np.float32:
            self._warn_of_resolution(self.cells.points)

    def close(self) -> None:
        """Have nothing to close: the file has been read."""

    @property
    def memory(self) -> int:
        """The data set, and the bytes of its copy."""
        return 4096 * int(self._dataset.actual_memory_size)

    def facts(self) -> dict[str, str]:
        """Say what kind of cells there are."""
        return {"format": f"VTK, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Give an array of the cells."""
        return np.asarray(self._dataset.cell_data[self.columns[column]])

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write a copy of the data set with the new arrays."""
        copy = self._dataset.copy(deep=False)
        for column, codes, old in new.each(self.values):
            name = column.name if new.at is None else self.columns[new.at]
            put(copy.GetCellData(), _array(name, column, codes, old))
        target.write(memoryview(encoded(copy, destination.path)))

    def _warn_of_resolution(self, points: Any) -> None:
        """Say how coarse single precision is where the blocks are, if it is coarse."""
        resolution = single_resolution(points)
        if resolution >= COARSE:
            message = (
                f"{self.name} stores single precision, which at these coordinates is only good to "
                f"{resolution:g} (in the unit of the file): export it in double precision"
            )
            warn(message)


def _array(name: str, column: NewColumn, codes: NewCells, old: Values | None) -> Any:
    """Give the array of a new column: numbers where its cells are, NaN for none, else strings.

    Strings are what PyVista draws as categories with their names in the legend, and ParaView
    colours by when it interprets values as categories; neither knows of a table of names.
    """
    if column.numeric:
        from pyvista import convert_array

        return convert_array(as_numbers(column, codes, old), name=name)
    return category_array(name, *as_category(column, codes, old))
