"""Takes meshes from VTK's data sets through PyVista, imported when it is needed; parses no file."""

from __future__ import annotations

import errno
import locale
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import COARSE, single_resolution
from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, MeshError, TableError, counted, warn
from geodomain.files.streams import Target, require_seekable
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import (
    Destination,
    NewArrays,
    Values,
    as_category,
    as_numbers,
    said,
)
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import Cells, Corners, WithGhosts, cells_of, corners_of
from geodomain.formats.solids import NamedFaces
from geodomain.formats.vti import image_store
from geodomain.formats.vtk_encoding import encode
from geodomain.formats.vtk_probe import probe, require_sound
from geodomain.mesh import pyvista as datasets
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces
from geodomain.mesh.pyvista import ghosts
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

# What a collection of wireframes may name.
_SURFACES = (".vtp", ".vtu", ".vtk")


def read(path: Path, extension: str) -> Faces:
    """Return the polygons of a file that PyVista reads, as if it had the extension.

    Raises
    ------
    MeshError
        If PyVista cannot read it, or it holds something other than polygons.
    """
    return datasets.from_dataset(read_dataset(path, extension), path.name)


def read_collection(data: bytes, path: Path) -> Iterator[NamedFaces]:
    """Yield the data sets of a .vtm, an index of files beside it, each under its name.

    Raises
    ------
    MeshError
        If the index is no XML, names a file outside its folder, or one is missing or no wireframe.
    """
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as wrong:
        message = f"{path.name} is damaged ({wrong}): export the file again"
        raise MeshError(message) from None
    found = 0
    for element in root.iter("DataSet"):
        inner = element.get("file")
        if not inner:  # a block without data
            continue
        place = path.parent / inner
        if Path(inner).is_absolute() or ".." in Path(inner).parts:
            message = f"{path.name} names {inner}, which is outside of its folder: save it anew"
            raise MeshError(message)
        if not place.is_file():
            message = f"{path.name} is an index of other files, and {inner} is not there: copy it"
            raise MeshError(message)
        if place.suffix.lower() not in _SURFACES:
            message = (
                f"{path.name} names {inner}, which is no surface: save the surfaces that are meant "
                "as .vtp"
            )
            raise MeshError(message)
        found += 1
        with Unchanged(place):
            yield element.get("name") or place.stem, read(place, place.suffix.lower())
    if not found:
        message = f"{path.name} is an index of other files, and names none"
        raise MeshError(message)


def read_dataset(path: Path, extension: str, error: type[GeodomainError] = MeshError) -> Any:
    """Return the data set of a file that PyVista reads, as if it had the extension.

    Raises
    ------
    GeodomainError
        Of the type that is asked for, if PyVista cannot read it, or VTK would crash on it.
    """
    probe().start()  # both at a time
    import pyvista

    require_sound(path, extension, error)
    try:
        with vtk_errors():
            reader: Any = pyvista.get_reader  # its parameters have no types in some releases
            return reader(str(path), force_ext=extension).read()
    except (RuntimeError, ValueError, TypeError, AttributeError, OSError) as wrong:
        message = f"{path.name} cannot be read by PyVista ({_reason(wrong)}): export the file again"
        raise error(message) from wrong


@contextmanager
def vtk_errors() -> Iterator[None]:
    """Raise what VTK would only print, as a RuntimeError, and have nothing printed.

    The process keeps its locale.
    """
    import pyvista

    with (
        _same_locale(),
        _quiet(),
        pyvista.VtkErrorCatcher(raise_errors=True, send_to_logging=False),
    ):
        yield


@contextmanager
def _same_locale() -> Iterator[None]:
    """Undo what VTK 9.4 does with legacy files: "C" stays, and then `open` knows ASCII alone."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        yield
    finally:
        if locale.setlocale(locale.LC_ALL) != before:
            locale.setlocale(locale.LC_ALL, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep VTK, and PyVista's log of it, from printing what is said in the error anyway."""
    import pyvista

    silence: Any = getattr(pyvista, "vtk_verbosity", nullcontext)  # not in older releases
    root = logging.getLogger()
    root.addFilter(_is_not_of_vtk)
    try:
        with silence("off"):
            yield
    finally:
        root.removeFilter(_is_not_of_vtk)


def _is_not_of_vtk(record: logging.LogRecord) -> bool:
    """Tell whether something else than PyVista's observer of VTK has written a log record."""
    return record.module != "observers"


def _reason(error: Exception) -> str:
    """Return the first thing VTK complains of, without where in VTK that was."""
    text = " ".join(str(error).split())
    return text.partition("): ")[2].partition(" ERROR:")[0][:120] or text[:120]


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write VTP in double precision."""
    with vtk_errors():
        file.write(encode(mesh.to_pyvista(), ".vtp"))


# --- Arrays of VTK data sets that PyVista cannot make or put by itself, and a data set's bytes.


def put(data: Any, array: Any) -> None:
    """Add an array, or have it take the place of another.

    One that was, say, the active scalars may not be so as strings: VTK's writers crash on it.
    """
    for attribute in range(data.NUM_ATTRIBUTES):
        active = data.GetAbstractAttribute(attribute)
        if active is not None and active.GetName() == array.GetName():
            data.SetActiveAttribute(-1, attribute)
    data.AddArray(array)


def encoded(dataset: Any, path: str) -> bytes:
    """Give the bytes of a file, or say why VTK could not."""
    try:
        with vtk_errors():
            return encode(dataset, Path(path).suffix.lower())
    except RuntimeError as error:
        raise OSError(errno.EIO, f"it cannot be written ({error})", path) from error


def string_array(name: str, texts: Iterable[str]) -> Any:
    """Give an array of strings, by VTK itself: PyVista refuses text that is not ASCII."""
    from vtkmodules.vtkCommonCore import vtkStringArray

    strings = vtkStringArray()
    strings.SetName(name)
    add = strings.InsertNextValue
    for text in texts:
        add(text)
    return strings


def category_array(name: str, texts: Sequence[str], index: NDArray[np.int32]) -> Any:
    """Give an array of strings by the place of each one's text, -1 for none.

    A run of one text is copied, by VTK, from the longest run of it so far: setting strings one by
    one from Python takes forty times as long.
    """
    strings = string_array(name, ())
    strings.SetNumberOfValues(len(index))
    longest: dict[int, tuple[int, int]] = {}
    begins = np.flatnonzero(np.concatenate([[True], index[1:] != index[:-1]])[: len(index)])
    ends = np.append(begins[1:], len(index))
    texted = np.flatnonzero(index[begins] >= 0)
    runs = zip(begins[texted].tolist(), ends[texted].tolist(), strict=True)
    for (begin, end), place in zip(runs, index[begins[texted]].tolist(), strict=True):
        done = begin
        if place not in longest:
            strings.SetValue(begin, texts[place])
            longest[place], done = (begin, 1), begin + 1
        while done < end:
            source, length = longest[place]
            count = min(length, end - done)
            strings.InsertTuples(done, count, source, strings)
            done += count
            if done - begin > length:
                longest[place] = (begin, done - begin)
    return strings


# --- Blocks as the bytes of a VTK data set: an image where they fill a lattice, else hexahedra.

_HEXAHEDRON = 12
_EVEN = 1e-6


def encoded_blocks(
    centroids: Floats,
    sizes: Floats,
    axes: Floats,
    columns: Mapping[str, Values],
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
        if each.dtype.kind in "OU":
            put(dataset.GetCellData(), string_array(name, [said(text) for text in each.tolist()]))
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


# --- Block models as VTK data sets: labels as an array of their cells.


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
