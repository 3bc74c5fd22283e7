"""Block models as VTK data sets, through PyVista: labels as an array of their cells."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodomain.blockfiles import Destination, LabelChunk, Progress, Rows
from geodomain.blockfiles.cells import Corners, cells_of
from geodomain.conditions import ArrayColumn, Column
from geodomain.errors import GeodomainWarning, TableError
from geodomain.frames import Frame
from geodomain.meshfiles.faces import COARSE, single_resolution
from geodomain.meshfiles.vtk import read_dataset, vtk_errors
from geodomain.tables.atomic import AtomicFile
from geodomain.tables.columns import NewColumn, place_columns, refuse_kept
from geodomain.tables.digest import Digest
from geodomain.tables.files import open_target
from geodomain.tables.options import TableOptions

# What is said of a table's columns has no meaning where cells have a geometry.
_NOT_OF_CELLS = ("x", "y", "z", "dx", "dy", "dz", "position", "rotation")


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[VtkModel]:
    """Read a VTK file."""
    place = Path(path)
    status = place.stat()
    said = [field.name for field in fields(options) if getattr(options, field.name) is not None]
    wrong = [name for name in _NOT_OF_CELLS if name in said]
    if wrong:
        message = f"{path} has cells with a geometry of their own; leave out --{wrong[0]}"
        raise TableError(message)
    if digest is not None:
        digest.add_file(place)
    dataset = read_dataset(place, place.suffix.lower(), TableError)
    yield VtkModel(dataset, place.name, status, options.missing)


class VtkModel:
    """A VTK data set of blocks; see `geodomain.blockfiles.BlockFile`."""

    compressed, writing = False, 6e-7
    centroid: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    frame = Frame()
    constants: dict[int, float] = {}  # noqa: RUF012

    def __init__(
        self,
        dataset: Any,
        name: str,
        status: os.stat_result,
        missing: Sequence[float] = (),
    ) -> None:
        self.name, self.status, self._missing = name, status, missing
        self._dataset, self._cells = dataset, cells_of(dataset, name)
        self.columns: tuple[str, ...] = tuple(dataset.cell_data.keys())
        if isinstance(self._cells, Corners) and self._cells.points.dtype == np.float32:
            self._warn_of_resolution(self._cells.points)

    def close(self) -> None:
        """Have nothing to close: the file has been read."""

    @property
    def memory(self) -> int:
        """The data set, its labels and a chunk, beside the libraries."""
        return 200_000_000 + 2048 * int(self._dataset.actual_memory_size) + 40 * self._cells.count

    def facts(self) -> dict[str, str]:
        """Say what kind of cells there are."""
        return {"format": f"VTK, {self._cells.say()}"}

    def rows(self, column: str) -> Iterator[Rows]:
        """Give cells and the texts of an array."""
        texts = np.asarray(self._dataset.cell_data[column]).astype(np.str_)
        for where, centres, sizes in self._cells.chunks():
            yield centres, sizes, texts[where]

    def relabel(
        self,
        destination: Destination | None,
        columns: Sequence[NewColumn],
        label: LabelChunk,
        *,
        also: Sequence[int] = (),
        replace: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
        before_commit: Callable[[], None] | None = None,
    ) -> None:
        """Label the cells, and write the data set with the new arrays."""
        at = place_columns(self.columns, (), columns, replace=replace, name=self.name)
        codes = [np.empty(self._cells.count, np.int32) for _ in columns]
        done = 0
        for where, centres, sizes in self._cells.chunks():
            labels = label(centres, sizes, partial(self._column, where))
            for out, each in zip(codes, labels, strict=True):
                out[where] = each
            done += len(centres)
            if progress:
                progress(done, self._cells.count)
        if destination is None:
            if before_commit:
                before_commit()
            return
        self._write(destination, columns, codes, at, before_commit)

    def _write(
        self,
        destination: Destination,
        columns: Sequence[NewColumn],
        codes: Sequence[NDArray[np.int32]],
        at: int | None,
        before_commit: Callable[[], None] | None,
    ) -> None:
        """Write a copy of the data set with new arrays beside the target, and have it moved."""
        with open_target(
            destination.path,
            source=self,
            overwrite=destination.overwrite,
            in_place=destination.in_place,
            named=True,
        ) as target:
            if not isinstance(target, AtomicFile):
                message = f"{destination.path} is no file, and a VTK model needs one"
                raise TableError(message)
            if before_commit:
                before_commit()
            copy = self._dataset.copy(deep=False)
            for column, each in zip(columns, codes, strict=True):
                name = column.name if at is None else self.columns[at]
                old = None if at is None else np.asarray(copy.cell_data[name])
                _put(copy.GetCellData(), _array(name, column, each, old))
            _save(copy, target.part, destination.path)
            if destination.digest is not None:
                destination.digest.add_file(target.part)

    def _column(self, where: Any, column: int) -> Column:
        """Give another array of some cells as conditions take it."""
        name = self.columns[column]
        values = np.asarray(self._dataset.cell_data[name])[where]
        if values.dtype.kind in "fiub":
            values = np.where(np.isin(values, self._missing), np.nan, values.astype(np.float64))
        return ArrayColumn(values, name)

    def _warn_of_resolution(self, points: Any) -> None:
        """Say how coarse single precision is where the blocks are, if it is coarse."""
        resolution = single_resolution(points)
        if resolution >= COARSE:
            message = (
                f"{self.name} stores single precision, which at these coordinates is only good to "
                f"{resolution:g} (in the unit of the file): export it in double precision"
            )
            warnings.warn(message, GeodomainWarning, stacklevel=2)


def _put(data: Any, array: Any) -> None:
    """Add an array, or have it take the place of another.

    One that was, say, the active scalars may not be so as strings: VTK's writers crash on it.
    """
    for attribute in range(data.NUM_ATTRIBUTES):
        active = data.GetAbstractAttribute(attribute)
        if active is not None and active.GetName() == array.GetName():
            data.SetActiveAttribute(-1, attribute)
    data.AddArray(array)


def _save(dataset: Any, part: Path, name: str) -> None:
    """Write a data set, or say why VTK could not."""
    try:
        with vtk_errors():
            dataset.save(str(part))
    except RuntimeError as error:
        raise OSError(errno.EIO, "VTK could not write it; is the disk full?", name) from error


def _array(name: str, column: NewColumn, codes: NDArray[np.int32], old: Any = None) -> Any:
    """Give the array of a new column: numbers where its cells are, NaN for none, else strings.

    Strings are what PyVista draws as categories with their names in the legend, and ParaView
    colours by when it interprets values as categories; neither knows of a table of names. The
    code after the last is the value of the `old` array, which is replaced.
    """
    kept = codes == len(column.cells)
    if column.numeric:
        return _numbers(name, column, np.where(kept, 0, codes), np.flatnonzero(kept), old)
    # By VTK itself: PyVista refuses text that is not ASCII.
    from vtkmodules.vtkCommonCore import vtkStringArray

    strings = vtkStringArray()
    strings.SetName(name)
    strings.SetNumberOfValues(len(codes))
    put, cells = strings.SetValue, (*column.cells, "")
    for row, code in enumerate(codes.tolist()):
        put(row, cells[code])
    for row in np.flatnonzero(kept).tolist():
        put(row, str(old[row]))
    return strings


def _numbers(
    name: str, column: NewColumn, codes: NDArray[np.int32], kept: NDArray[np.intp], old: Any
) -> Any:
    """Give an array of integers, or of floats where some are missing or were no integers before."""
    from pyvista import convert_array

    numbers = np.array([float(cell) if cell else np.nan for cell in column.cells])[codes]
    if kept.size:
        try:
            numbers[kept] = old[kept].astype(np.float64)
        except ValueError as error:
            refuse_kept(name, error)
    whole = bool((numbers == np.round(numbers)).all())
    return convert_array(numbers.astype(np.int32) if whole else numbers, name=name)
