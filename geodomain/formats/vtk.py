"""VTK files as wireframes and block models, read and written through PyVista where needed."""

from __future__ import annotations

import errno
import importlib
import locale
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from geodomain.arrays import COARSE, single_resolution
from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, MeshError, TableError, warn
from geodomain.files.streams import Target, require_seekable
from geodomain.files.unchanged import Digest, Unchanged
from geodomain.formats.block_file import (
    Blocks,
    Destination,
    NewArrays,
    Values,
    as_category,
    as_numbers,
    as_text,
)
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import Cells, Corners, cells_of, corners_of
from geodomain.formats.registry import HEAD
from geodomain.formats.solids import NamedFaces, warn_of_repeats
from geodomain.formats.vti import ESCAPES, image_store
from geodomain.formats.vtk_probe import probe, read_data
from geodomain.mesh import pyvista as datasets
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.options import TableOptions
from geodomain.tables.text import NewCells

# Extensions of files that a collection of wireframes may list.
_SURFACES = (".vtp", ".vtu", ".vtk")


def read(path: Path, extension: str) -> Faces:
    """Return the polygons of a VTK file; `extension` names its format.

    Raises
    ------
    MeshError
        If VTK cannot read the file, or it contains cells that are not polygons.
    """
    data = read_data(path, extension, MeshError)
    faces = _faces_of(data)
    if faces is not None:
        return faces
    return datasets.from_dataset(_dataset_of(data, path.name, MeshError), path.name)


def read_collection(data: bytes, path: Path) -> Iterator[NamedFaces]:
    """Yield a name and the polygons for each file that a .vtm lists.

    Raises
    ------
    MeshError
        If the .vtm is not XML; or if a listed file is outside the folder of the .vtm, missing, or
        not a wireframe.
    """
    try:
        root = ElementTree.fromstring(data)
    except ElementTree.ParseError as wrong:
        message = f"{path.name} is damaged ({wrong}): export the file again"
        raise MeshError(message) from None
    names: list[str] = []
    for element in root.iter("DataSet"):
        inner = element.get("file")
        if not inner:  # a block without data
            continue
        place = path.parent / inner
        if Path(inner).is_absolute() or ".." in Path(inner).parts:
            message = (
                f"{path.name} lists {inner}, which is outside the folder of {path.name}: save the "
                "files again, in one folder"
            )
            raise MeshError(message)
        if not place.is_file():
            message = (
                f"{path.name} is an index of other files, but its file {inner} is missing: copy "
                "that file to its place"
            )
            raise MeshError(message)
        if place.suffix.lower() not in _SURFACES:
            message = (
                f"{path.name} lists {inner}, which is not a surface: save the surfaces as .vtp"
            )
            raise MeshError(message)
        names.append(element.get("name") or place.stem)
        with Unchanged(place):
            yield names[-1], read(place, place.suffix.lower())
    warn_of_repeats(names, path.name)
    if not names:
        message = f"{path.name} is an index of other files, but lists no files: save it again"
        raise MeshError(message)


def read_dataset(path: Path, extension: str, error: type[GeodomainError] = MeshError) -> Any:
    """Return the PyVista data set of a VTK file; `extension` names its format.

    Raises
    ------
    GeodomainError
        Of the type `error`, if VTK cannot read the file, or would crash on it.
    """
    probe().start()  # the child starts while PyVista is imported
    import pyvista  # noqa: F401

    return _dataset_of(read_data(path, extension, error), path.name, error)


@contextmanager
def vtk_errors() -> Iterator[None]:
    """Raise a RuntimeError for errors that VTK would print, and print nothing.

    The locale of the process is restored at the end.
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
    """Restore the locale at the end.

    After legacy files, VTK 9.4 leaves the process with the ASCII-only locale "C".
    """
    before = locale.setlocale(locale.LC_ALL)
    try:
        yield
    finally:
        if locale.setlocale(locale.LC_ALL) != before:
            locale.setlocale(locale.LC_ALL, before)


@contextmanager
def _quiet() -> Iterator[None]:
    """Prevent VTK and PyVista from printing errors, because they are raised as exceptions."""
    import pyvista

    silence: Any = getattr(pyvista, "vtk_verbosity", nullcontext)  # missing in older releases
    root = logging.getLogger()
    root.addFilter(_is_not_of_vtk)
    try:
        with silence("off"):
            yield
    finally:
        root.removeFilter(_is_not_of_vtk)


def _is_not_of_vtk(record: logging.LogRecord) -> bool:
    """Return whether a log record does not come from PyVista's observer of VTK's messages."""
    return record.module != "observers"


def write(mesh: Mesh, file: BinaryIO) -> None:
    """Write a mesh as VTP in double precision."""
    with vtk_errors():
        file.write(encode(mesh.to_pyvista(), ".vtp"))


# --- Data read by the child process, as arrays and as PyVista data sets.

_STRING, _POLYHEDRON = 13, 42
# NumPy types by VTK's type numbers.
_TYPES = {
    2: "i1", 3: "u1", 4: "i2", 5: "u2", 6: "i4", 7: "u4", 8: "l", 9: "L", 10: "f4", 11: "f8",
    12: "i8", 15: "i1", 16: "i8", 17: "u8",
}  # fmt: skip
_LISTS = {"vtkPolyData": ("Verts", "Lines", "Strips"), "vtkUnstructuredGrid": ()}


def _faces_of(data: dict[str, Any]) -> Faces | None:
    """Return the polygons of a data set that has no other cells; None if PyVista must read it."""
    kind = data["class"]
    if kind not in _LISTS or any(data[name] for name in _LISTS[kind]):
        return None
    cells = data["Polys" if kind == "vtkPolyData" else "cells"]
    if cells is None or any(array["name"] == datasets.GHOSTS for array in data["Cell"]):
        return None
    types = () if kind == "vtkPolyData" else np.unique(_numbers(data["types"])).tolist()
    points = _numbers(data["points"]).reshape(-1, 3)
    if not set(types) <= set(datasets.POLYGONS) or points.dtype.kind != "f":
        return None
    offsets, corners = (_numbers(array).astype(np.int64) for array in cells)
    vertices = points.astype(np.float64)
    return Faces(vertices, corners, np.diff(offsets), single=points.dtype == np.float32)


def _numbers(array: dict[str, Any]) -> NDArray[Any]:
    return np.frombuffer(array["values"], np.dtype(_TYPES[array["type"]]))


def _dataset_of(data: dict[str, Any], name: str, error: type[GeodomainError]) -> Any:
    """Return a PyVista data set made of the arrays that the child process has read."""
    import pyvista
    from vtkmodules import vtkCommonCore, vtkCommonDataModel

    kind = data["class"]
    if "Cell" not in data:
        message = (
            f"{name} holds {kind.removeprefix('vtk')}: save the data set that you need as a file "
            "of its own"
        )
        raise error(message)
    made = getattr(vtkCommonDataModel, kind)()
    if "extent" in data:
        made.SetExtent(data["extent"])
    if "origin" in data:
        made.SetOrigin(data["origin"])
        made.SetSpacing(data["spacing"])
        made.SetDirectionMatrix(data["direction"])
    for axis, array in zip("XYZ", data.get("axes", ()), strict=False):
        getattr(made, f"Set{axis}Coordinates")(_array_of(array))
    if "points" in data:
        points = vtkCommonCore.vtkPoints()
        points.SetData(_array_of(data["points"]))
        made.SetPoints(points)
    for part in ("Verts", "Lines", "Polys", "Strips"):
        if data.get(part):
            getattr(made, f"Set{part}")(_cells_of(data[part]))
    if data.get("cells"):
        if _POLYHEDRON in _numbers(data["types"]):
            message = f"{name} contains polyhedra, which are neither faces nor blocks: remove them"
            raise error(message)
        made.SetCells(_array_of(data["types"]), _cells_of(data["cells"]))
    for part in ("Point", "Cell", "Field"):
        held = getattr(made, f"Get{part}Data")()
        for array in data[part]:
            place = held.AddArray(_array_of(array))
            if array.get("attribute", -1) >= 0:
                held.SetActiveAttribute(place, array["attribute"])
    if data["time"] is not None:
        made.GetInformation().Set(made.DATA_TIME_STEP(), data["time"])
    dataset: Any = pyvista.wrap(made)
    for last in ("_post_file_load_processing", "_restore_metadata"):  # as PyVista's readers do
        getattr(dataset, last, lambda: None)()
    return dataset


def _cells_of(arrays: list[dict[str, Any]]) -> Any:
    from vtkmodules.vtkCommonDataModel import vtkCellArray

    cells = vtkCellArray()
    cells.SetData(*map(_array_of, arrays))
    return cells


def _array_of(array: dict[str, Any]) -> Any:
    """Return a VTK array with the values, name and metadata that the child has read.

    The bytes of numbers are removed from `array`, to save memory.
    """
    from vtkmodules.vtkCommonCore import vtkAbstractArray, vtkLookupTable

    made: Any = vtkAbstractArray.CreateArray(array["type"])
    made.SetNumberOfComponents(array["parts"])
    if array["type"] == _STRING:
        lengths = np.frombuffer(array["values"], "<u8", array["rows"] * array["parts"])
        at = lengths.nbytes
        for length in lengths.tolist():
            made.InsertNextValue(_text_of(bytes(array["values"][at : at + length])))
            at += length
    else:
        made.SetNumberOfTuples(array["rows"])
        if array["bytes"]:
            memoryview(made).cast("B")[: array["bytes"]] = array.pop("values")
    if array["name"] is not None:
        made.SetName(array["name"])
    for number, component in enumerate(array.get("components", ())):
        if component is not None:
            made.SetComponentName(number, component)
    for key in array["keys"]:
        _put_key(made.GetInformation(), *key)
    if "table" in array:
        table = vtkLookupTable()
        table.SetTable(_array_of(array["table"]))
        made.SetLookupTable(table)
    return made


def _text_of(raw: bytes) -> str | bytes:
    """Return text as VTK stores it: a str, or bytes if the text is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _put_key(information: Any, kind: str, place: str, name: str, value: Any) -> None:
    """Add an entry to the metadata of an array, such as the array's unit."""
    from vtkmodules import vtkCommonCore

    key = vtkCommonCore.vtkInformationKeyLookup.Find(name, place)
    if key is None:
        key = getattr(vtkCommonCore, kind).MakeKey(name, place)
    if isinstance(value, list):
        for item in value:
            information.Append(key, item)
    else:
        information.Set(key, value)


# --- Arrays that PyVista cannot create or replace, and the bytes of a data set.


def put(data: Any, array: Any) -> None:
    """Add an array to a data set's points or cells, or replace one with the same name.

    If the replaced array was active (such as the active scalars), no array is active afterwards,
    because VTK's writers crash on active arrays of strings.
    """
    for attribute in range(data.NUM_ATTRIBUTES):
        active = data.GetAbstractAttribute(attribute)
        if active is not None and active.GetName() == array.GetName():
            data.SetActiveAttribute(-1, attribute)
    data.AddArray(array)


def encoded(dataset: Any, path: str) -> bytes:
    """Return a data set as the bytes of a file; raise OSError, with VTK's reason, if that fails."""
    try:
        with vtk_errors():
            return encode(dataset, Path(path).suffix.lower())
    except RuntimeError as error:
        raise OSError(errno.EIO, f"it cannot be written ({error})", path) from error


def string_array(name: str, texts: Iterable[str]) -> Any:
    """Return a VTK array of strings; unlike PyVista's arrays, it may hold non-ASCII characters."""
    from vtkmodules.vtkCommonCore import vtkStringArray

    strings = vtkStringArray()
    strings.SetName(name)
    add = strings.InsertNextValue
    for text in texts:
        add(text)
    return strings


def put_column(dataset: Any, name: str, values: Values, *, points: bool = False) -> None:
    """Add numbers or texts to a data set as an array of its cells or points.

    An array of the same name is replaced. A missing text is None, NaN or "".
    """
    if values.dtype.kind not in "OU":
        numbers = values.astype(values.dtype.newbyteorder("="), copy=False)
        (dataset.point_data if points else dataset.cell_data)[name] = numbers
        return
    texts = (
        values if values.dtype.kind == "U" else np.array([*map(as_text, values.tolist())], np.str_)
    )
    # Only the first text of each run of equal texts is looked up.
    first = np.flatnonzero(np.concatenate([[True], texts[1:] != texts[:-1]])[: len(texts)])
    words, index = np.unique(texts[first], return_inverse=True)
    places = np.repeat(index.astype(np.int32), np.diff(np.append(first, len(texts))))
    if len(words) and not words[0]:
        places[places == 0] = -1
    held = dataset.point_data if points else dataset.cell_data
    if len(texts) and name in held:
        held[name] = np.zeros(len(texts), np.uint8)  # PyVista forgets that the array was of bool
    put(held.VTKObject, category_array(name, words.tolist(), places))


def category_array(name: str, texts: Sequence[str], index: NDArray[np.int32]) -> Any:
    """Return a VTK array of strings, given the index of each cell's text (-1 for no text).

    Each run of equal texts is copied from the longest earlier run of that text, because setting
    strings one by one from Python takes forty times as long.
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


# --- A data set as the bytes of a file: VTK writes to memory, so a full disk is not VTK's error.

_WRITERS = {
    ".vti": "vtkXMLImageDataWriter",
    ".vtr": "vtkXMLRectilinearGridWriter",
    ".vts": "vtkXMLStructuredGridWriter",
    ".vtu": "vtkXMLUnstructuredGridWriter",
    ".vtp": "vtkXMLPolyDataWriter",
}
# zlib level: with grades of two decimals it takes a quarter of the time of VTK's default 5, and a
# sixth more space.
_LEVEL = 2
_TAGS = re.compile(rb"<[^<>]*>")


def encode(dataset: Any, extension: str) -> bytes:
    """Return a data set as the bytes of a file with the given extension.

    Parameters
    ----------
    dataset : pyvista.DataSet
        Data set to write; its arrays are unchanged afterwards.
    extension : str
        Extension of the file, such as ".vti"; ".vtk" means the legacy format.

    Raises
    ------
    RuntimeError
        If VTK cannot write the data set, or if the written file is not XML or lacks an array name.
    """
    # PyVista notes in the data set which arrays are bool or complex; VTK lacks these types.
    getattr(dataset, "_store_metadata", lambda: None)()
    if extension == ".vtk":
        return _legacy(dataset)
    names = _names(dataset)
    with _escaped_names(dataset):
        data = _xml(dataset, _WRITERS[extension])
    _require_names(data, names)
    return data


def _legacy(dataset: Any) -> bytes:
    """Return a data set as the bytes of a binary legacy file.

    Array names need no escapes here, because VTK encodes them in this format. VTK writes an image's
    origin and spacing with only six digits, so they are replaced. A rotated image is refused,
    because VTK does not write its direction matrix.
    """
    writer = importlib.import_module("vtkmodules.vtkIOLegacy").vtkDataSetWriter()
    writer.SetInputData(dataset)
    writer.SetFileTypeToBinary()
    writer.WriteToOutputStringOn()
    data = _written(writer, writer.GetOutputStdString)
    if not dataset.IsA("vtkImageData"):
        return data
    if not dataset.GetDirectionMatrix().IsIdentity():
        message = "the legacy format cannot store a rotated image: save it as .vti"
        raise RuntimeError(message)
    placed = {b"SPACING": dataset.GetSpacing(), b"ORIGIN": dataset.GetOrigin()}
    for word, numbers in placed.items():
        line = b" ".join([word, *(repr(float(number)).encode() for number in numbers)])
        data, count = re.subn(rb"(?<=\n)%s [^\n]*(?=\n)" % word, line, data, count=1)
        if not count:
            message = f"VTK would not write the {word.decode().lower()} of the image"
            raise RuntimeError(message)
    return data


def _xml(dataset: Any, name: str) -> bytes:
    writer = getattr(importlib.import_module("vtkmodules.vtkIOXML"), name)()
    writer.SetInputData(dataset)
    writer.SetDataModeToBinary()
    writer.SetCompressionLevel(_LEVEL)
    writer.WriteToOutputStringOn()
    return _written(writer, writer.GetOutputString)


def _written(writer: Any, result: Any) -> bytes:
    if not writer.Write():
        message = "VTK's writer failed"
        raise RuntimeError(message)
    text = result()
    return text.encode() if isinstance(text, str) else bytes(text)


def _arrays(dataset: Any) -> Iterator[Any]:
    """Yield each VTK array of the points, of the cells and of the data set."""
    for data in (dataset.GetPointData(), dataset.GetCellData(), dataset.GetFieldData()):
        for i in range(data.GetNumberOfArrays()):
            yield data.GetAbstractArray(i)


def _names(dataset: Any) -> set[str]:
    return {name for array in _arrays(dataset) if (name := array.GetName())}


@contextmanager
def _escaped_names(dataset: Any) -> Iterator[None]:
    """Escape the names of arrays for XML, which VTK does not do; restore the names at the end."""
    with ExitStack() as stack:
        for array in _arrays(dataset):
            if name := array.GetName():
                stack.callback(array.SetName, name)
                array.SetName(name.translate(ESCAPES))
            if not array.HasAComponentName():
                continue
            for i in range(array.GetNumberOfComponents()):
                if name := array.GetComponentName(i):
                    stack.callback(array.SetComponentName, i, name)
                    array.SetComponentName(i, name.translate(ESCAPES))
        yield


def _require_names(data: bytes, names: set[str]) -> None:
    """Raise RuntimeError unless the tags of a written file are XML and name all arrays."""
    try:
        root = ElementTree.fromstring(b"".join(_TAGS.findall(data)))
    except ElementTree.ParseError as error:
        message = f"VTK would write XML that nothing can read ({error})"
        raise RuntimeError(message) from None
    lost = names - {element.get("Name") for element in root.iter()}
    if lost:
        message = f"VTK would not write the array {min(lost)!r} under its name; rename it"
        raise RuntimeError(message)


# --- Blocks as a VTK data set: an image if they fill a lattice, otherwise hexahedra.

_HEXAHEDRON = 12
_EVEN = 1e-6


def encoded_blocks(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Yield the bytes of a new file with the given blocks.

    Raises
    ------
    TableError
        If sizes or centroids are missing, or an image cannot store the blocks.
    """
    centroids, sizes, axes = blocks.centroids, blocks.box_sizes(path), blocks.axes
    if not (np.isfinite(centroids).all() and (sizes > 0).all()):
        message = (
            f"{path}: some blocks lack a centroid or a size, and VTK cannot store them: remove "
            "these blocks"
        )
        raise TableError(message)
    if Path(path).suffix.lower() == ".vti":
        dataset, order = _image(centroids, sizes, axes, path)
    else:
        dataset, order = hexahedra(centroids, sizes, axes), None
    for name, values in blocks.others().items():
        put_column(dataset, name, values if order is None else values[order])
    yield encoded(dataset, path)


def hexahedra(centroids: Floats, sizes: Floats, axes: Floats) -> Any:
    """Return an unstructured grid with a separate hexahedron for each block."""
    import pyvista

    points = corners_of(centroids, sizes, axes)
    cells = np.arange(8 * len(centroids)).reshape(-1, 8)
    return pyvista.UnstructuredGrid({_HEXAHEDRON: cells}, points.reshape(-1, 3))


def _image(
    centroids: Floats, sizes: Floats, axes: Floats, path: str
) -> tuple[Any, NDArray[np.intp]]:
    """Return a tuple: blocks as an image, and for each cell of the image the index of its block."""
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
        message = f"{path}: the blocks do not fill a lattice of equal cells: use the extension .vtu"
        raise TableError(message)
    origin = (first - size / 2) @ axes
    image = pyvista.ImageData(
        dimensions=tuple((counts + 1).tolist()), spacing=size.tolist(), origin=origin.tolist()
    )
    if (axes != np.eye(3)).any():
        image.direction_matrix = axes.T
    return image, np.argsort(rows)


# --- Block models as VTK data sets: labels become a cell array.


_LATTICE = re.compile(
    rb"^DATASET\s+(STRUCTURED_(POINTS|GRID)|RECTILINEAR_GRID)", re.MULTILINE | re.IGNORECASE
)


def holds_blocks(path: str) -> bool:
    """Return whether a legacy file is a lattice and thus a block model, not a wireframe."""
    with Path(path).open("rb") as file:
        return _LATTICE.search(file.read(HEAD)) is not None


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open a VTK file as a block model."""
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
    """A block model read as a VTK data set; see `CellStore`."""

    def __init__(self, dataset: Any, name: str, status: os.stat_result | None) -> None:
        self.name, self.status = name, status
        self._dataset = dataset
        self.cells: Cells = cells_of(dataset, name)
        self.columns: tuple[str, ...] = tuple(dataset.cell_data.keys())
        if isinstance(self.cells, Corners) and self.cells.points.dtype == np.float32:
            self._warn_of_resolution(self.cells.points)

    def close(self) -> None:
        """Do nothing: the file has been read already."""

    @property
    def memory(self) -> int:
        """Memory in bytes for the data set and a written copy."""
        return 4096 * int(self._dataset.actual_memory_size)

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return {"format": f"VTK, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Return the values of a cell array."""
        return np.asarray(self._dataset.cell_data[self.columns[column]])

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write a copy of the data set with the new arrays."""
        copy = self._dataset.copy(deep=False)
        for column, codes, old in new.items(self.values):
            name = column.name if new.at is None else self.columns[new.at]
            put(copy.GetCellData(), _array(name, column, codes, old))
        target.write(memoryview(encoded(copy, destination.path)))

    def _warn_of_resolution(self, points: Any) -> None:
        """Warn if float32 resolves the coordinates of the blocks only coarsely."""
        resolution = single_resolution(points)
        if resolution >= COARSE:
            message = (
                f"{self.name} stores single precision, which is only accurate to {resolution:g} "
                "at these coordinates (in the unit of the file): export it in double precision"
            )
            warn(message)


def _array(name: str, column: NewColumn, codes: NewCells, old: Values | None) -> Any:
    """Return the VTK array of a new column: numbers with NaN where missing, or strings.

    Strings are used because PyVista shows them in its legend and ParaView colours by them as
    categories; neither program supports a table of names for codes.
    """
    if column.numeric:
        from pyvista import convert_array

        return convert_array(as_numbers(column, codes, old), name=name)
    return category_array(name, *as_category(column, codes, old))
