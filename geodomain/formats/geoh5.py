"""geoh5 files, the workspaces of Geoscience ANALYST: surfaces, grids and block models.

A workspace is an HDF5 file. It holds objects, their data and their types by id, and a tree of
groups that link to the objects. A labelled model is a copy of the workspace with more data on one
object. h5py reads and writes the file.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import GeodomainError, MeshError, TableError, counted, log
from geodomain.files.streams import Target, require_seekable
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import (
    Blocks,
    Destination,
    NewArrays,
    Values,
    as_category,
    as_numbers,
    said,
)
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import Cells, Chunk, LatticeCells
from geodomain.formats.omf import damaged, only_blocks, refusing, require_room
from geodomain.formats.omf2 import tensor_of
from geodomain.formats.raster import lattice_faces
from geodomain.formats.registry import split_name
from geodomain.formats.solids import NamedFaces, listed
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces
from geodomain.tables.frames import turned
from geodomain.tables.new_columns import NewColumn
from geodomain.tables.numbers import as_float64
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import frame_of_azimuth
from geodomain.tables.text import NewCells

# Kinds of objects by the id of their type.
KINDS = {
    "f26feba3-aded-494b-b9e9-b2bbcbe298e1": "Surface",
    "b020a277-90e2-4cd7-84d6-612ee3f25051": "BlockModel",
    "4ea87376-3ece-438b-bf12-3479733ded46": "Octree",
    "48f5054a-1c5c-4ca4-9048-80f36dc60a06": "Grid2D",
    "7caebf0e-d16e-11e3-bc69-e4632694aa37": "Drillhole",
    "202c5db1-a56d-4004-9cad-baafd8899406": "Points",
    "6a057fdc-b355-11e3-95be-fd84a7ffcb88": "Curve",
}
MODELS = ("BlockModel", "Octree")
# Kinds of groups: holes whose data are in the arrays of their group, and holes that are objects.
CONCATENATED, SINGLE = "concatenated holes", "holes"
_WORDS = {
    "Surface": "surface",
    "BlockModel": "block model",
    "Grid2D": "grid",
    CONCATENATED: "group of drillholes",
}
_SEVERAL = {"group of drillholes": "groups of drillholes"}
# Marks of missing values; "Unknown" is the text of the code 0 of referenced data.
_NO_FLOAT = (1.17549434e-38, 1.17549436e-38)  # around 1.175494351e-38, in 32 or 64 bits
_MISSING = 1.17549435e-38  # as geoh5py has it, whose readers of 64 bits find no other
_NO_INTEGER = -2147483648
UNKNOWN = "Unknown"
_STEP = 1 << 24  # bytes
_ROWS = 1 << 16  # texts at a time


# --- A workspace: its objects, with their names, groups and ids.


class Element(NamedTuple):
    """An object of a workspace.

    Attributes
    ----------
    name : str
    groups : tuple of str
        Names of the groups that contain the object, the outermost first.
    id : str
        Identifier, in lower case and with braces.
    kind : str
        Kind of object, such as "Surface".
    """

    name: str
    groups: tuple[str, ...]
    id: str
    kind: str

    @property
    def path(self) -> str:
        """The names of the groups and of the object, with "/" between them."""
        return "/".join((*self.groups, self.name))

    def is_called(self, wanted: str) -> bool:
        """Return whether a text is the object's name, a path that ends with it, or its id."""
        path = f"/{self.path}"
        return path.endswith(f"/{wanted.strip('/')}") or bare_id(wanted) == bare_id(self.id)


def bare_id(text: str) -> str:
    """Return an identifier in lower case and without braces."""
    return text.strip().strip("{}").lower()


def require_library(path: str, error: type[GeodomainError]) -> None:
    """Raise an error if h5py, which reads and writes workspaces, is not installed."""
    try:
        import h5py  # noqa: F401
    except ImportError:
        message = (
            f"{path} is a geoh5 workspace, which is read and written through h5py: install it with"
            " pip install 'geodomain[geoh5]'"
        )
        raise error(message) from None


@contextmanager
def opened(place: Path, error: type[GeodomainError]) -> Iterator[Workspace]:
    """Open a workspace for reading; it is closed at the end, and with it the lock on the file.

    Raises
    ------
    GeodomainError
        Of type `error`, if another program writes to the file, or the file is damaged, is not a
        workspace, or cannot be read without h5py.
    """
    require_seekable(place)
    require_library(place.name, error)
    import h5py

    with ExitStack() as stack:
        with refusing(place.name, error):
            try:
                file = stack.enter_context(h5py.File(place, "r"))
            except OSError as wrong:
                if isinstance(wrong, BlockingIOError) or "to lock file" in str(wrong):
                    raise _is_held(place.name, error) from None
                raise
            workspace = Workspace(file, place, error)
        yield workspace


def _is_held(file: str, error: type[GeodomainError]) -> GeodomainError:
    return error(
        f"{file} is open for writing in another program, such as Geoscience ANALYST: close it "
        "there, and repeat the command"
    )


class Workspace:
    """An open workspace.

    Attributes
    ----------
    base : h5py.Group
        The group that holds everything.
    elements : tuple of Element
        The objects that are not parts of another object, in the order of their ids.
    holes : tuple of Element
        The groups of drillholes.
    """

    def __init__(self, file: Any, place: Path, error: type[GeodomainError]) -> None:
        self.place, self.file, self._error = place, place.name, error
        names = list(file)
        self.base: Any = file.get("GEOSCIENCE", file[names[0]] if len(names) == 1 else None)
        if not all(
            name in (self.base if hasattr(self.base, "keys") else ())
            for name in ("Objects", "Types", "Groups")
        ):
            message = (
                f"{self.file} is an HDF5 file, but not a geoh5 workspace, because it has no "
                "objects, groups and types: save a workspace from Geoscience ANALYST as .geoh5"
            )
            raise error(message)
        self._kinds = {key: self._kind(one) for key, one in self.children(self.base["Objects"])}
        groups, self.holes = self._groups()
        self.elements = tuple(
            Element(text_of(one.attrs.get("Name", "")), groups.get(key, ()), key, self._kinds[key])
            for key, one in self.children(self.base["Objects"])
        )

    def refuse(self, found: str) -> NoReturn:
        """Raise the error for a file that violates its format."""
        raise damaged(self.file, found, self._error)

    def children(self, group: Any) -> Iterator[tuple[str, Any]]:
        """Yield the id and the HDF5 group of each entity in a list of entities.

        Links to other files are refused, because they could lead anywhere.
        """
        import h5py

        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                self.refuse(f"the link {name!r} leads out of its list of entities")
            yield name.lower(), group[name]

    def _kind(self, entity: Any) -> str:
        told = entity["Type"].attrs
        return KINDS.get(bare_id(text_of(told.get("ID", ""))), text_of(told.get("Name", "?")))

    def _groups(self) -> tuple[dict[str, tuple[str, ...]], tuple[Element, ...]]:
        """Return the names of the groups of each object by its id, and the groups of drillholes."""
        found: dict[str, tuple[str, ...]] = {}
        holes: list[Element] = []
        waiting: list[tuple[str, Any, tuple[str, ...]]] = []
        seen: set[str] = set()  # a damaged tree may lead to a group again and again
        if "Root" in self.base:
            root = self.base["Root"]
            waiting.append((text_of(root.attrs.get("ID", "")), root, ()))
        while waiting:
            key, group, names = waiting.pop(0)
            objects = [one for one, _ in self.children(group.get("Objects", ()))]
            found |= dict.fromkeys(objects, names)
            at_root = not names
            name = text_of(group.attrs.get("Name", "")) if at_root else names[-1]
            kind = CONCATENATED if "Concatenated Data" in group else SINGLE
            if kind == CONCATENATED or any(self._kinds.get(one) == "Drillhole" for one in objects):
                holes.append(Element(name, names[:-1], key.lower(), kind))
            for inner, one in self.children(group.get("Groups", ())):
                if inner not in seen:
                    seen.add(inner)
                    waiting.append((inner, one, (*names, text_of(one.attrs.get("Name", "")))))
        return found, tuple(holes)

    def kind_of(self, key: str) -> str:
        """Return the kind of the object with an id."""
        return self._kinds.get(key.lower(), "")

    def entity(self, element: Element) -> Any:
        """Return the HDF5 group of an object or group."""
        return member(self.base[_LISTS.get(element.kind, "Objects")], element.id)

    def labels(self, kinds: Sequence[str]) -> dict[str, Element]:
        """Return the objects of some kinds by names that differ.

        A name that several objects have is replaced by their paths, and a path that several objects
        have by their ids.
        """
        those = [one for one in (*self.elements, *self.holes) if one.kind in kinds]
        names, paths = Counter(one.name for one in those), Counter(one.path for one in those)
        return {
            one.name
            if names[one.name] == 1
            else one.path
            if paths[one.path] == 1 and one.groups
            else f"{one.name} {one.id}": one
            for one in those
        }

    def find(self, wanted: str | None, kinds: Sequence[str]) -> Element:
        """Return the object of some kinds that has a name, path or id, or the only such object.

        Raises
        ------
        GeodomainError
            If there is none, or if several objects have the name; the message lists the names.
        """
        known, what = self.labels(kinds), _WORDS[kinds[0]]
        if wanted in known:
            return known[wanted]
        found = {k: one for k, one in known.items() if wanted is None or one.is_called(wanted)}
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            called = "" if wanted is None else f" called {wanted!r}"
            several = _SEVERAL.get(what, f"{what}s")
            message = (
                f"{self.file} holds {len(found)} {several}{called}: choose one of "
                f"{listed(list(found))}, as {self.file}:NAME"
            )
        elif wanted is None or not known:
            held = listed(list(dict.fromkeys(one.kind for one in self.elements))) or "nothing"
            message = f"{self.file} has no {what}: it holds {held}"
        else:
            folded = {name.casefold(): name for name in known}
            close = get_close_matches(wanted.casefold(), folded, 1)
            hint = f"; did you mean {folded[close[0]]!r}?" if close else ""
            message = f"{self.file} has no {what} {wanted!r}: it holds {listed(list(known))}{hint}"
        raise self._error(message)

    # Arrays. A file may declare any number of values, so that numbers are counted before memory
    # is allocated.

    def dataset(self, group: Any, name: str) -> Any:
        """Return an array of an entity, before it is read; refuse values in another file."""
        import h5py

        found = group.get(name)
        if not isinstance(found, h5py.Dataset) or found.ndim != 1 + (name == "Cells"):
            self.refuse(f"{text_of(group.attrs.get('Name', ''))!r} has no array {name!r}")
        other = h5py.h5o.get_info(found.id).fileno != h5py.h5o.get_info(self.base.id).fileno
        if other or found.external or found.is_virtual:
            self.refuse(f"the array {name!r} is in another file")
        return found

    def read(self, dataset: Any) -> NDArray[Any]:
        """Return all values of an array, if they fit into memory and the file."""
        what = f"{self.file}, with an array of {len(dataset):,} values,"
        needed, stored = 2.0 * dataset.dtype.itemsize * dataset.size, dataset.id.get_storage_size()
        memory.require(needed, what, self._error)
        memory.require_unpacked(needed, stored, what, self._error)
        values: NDArray[Any] = dataset[...]
        return values

    def place_of(self, entity: Any, name: str) -> Floats:
        """Return three coordinates that are an attribute of an entity."""
        values = np.asarray(entity.attrs[name])
        if values.dtype.names:
            values = np.array([values[axis] for axis in values.dtype.names])
        place = values.astype(np.float64).reshape(-1)
        if place.shape != (3,) or not np.isfinite(place).all():
            self.refuse(f"{name!r} is not three coordinates")
        return place

    def number(self, entity: Any, name: str, default: float | None = None) -> float:
        """Return a number that is an attribute of an entity."""
        if default is not None and name not in entity.attrs:
            return default
        values = np.asarray(entity.attrs[name], dtype=np.float64).reshape(-1)
        if values.shape != (1,) or not np.isfinite(values[0]):
            self.refuse(f"{name!r} is not a number")
        return float(values[0])

    def count(self, entity: Any, name: str) -> int:
        """Return a number of cells that is an attribute of an entity."""
        value = self.number(entity, name)
        if value != int(value) or not 0 < value < 2**31:
            self.refuse(f"{name!r} is {value:g}, which is not a number of cells")
        return int(value)


_LISTS = {CONCATENATED: "Groups", SINGLE: "Groups"}


def member(group: Any, key: str) -> Any:
    """Return the entity with an id from a list of entities; the case of ids may differ."""
    for spelled in (key, key.upper()):
        if spelled in group:
            return group[spelled]
    return next(group[name] for name in group if name.lower() == key.lower())


def text_of(value: object) -> str:
    """Return a text that h5py has read as bytes or str; anything else becomes text, too."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def frame_of(rotation: float) -> NDArray[np.float64] | None:
    """Return the matrix of a rotation about the vertical, in degrees counterclockwise."""
    turn = rotation % 360.0
    return None if turn == 0 else np.array(frame_of_azimuth(-rotation).matrix)


# --- Data of an object: numbers and texts, one for each cell or interval.

_PRIMITIVES = ("Float", "Integer", "Referenced", "Boolean", "Text")


class Data(NamedTuple):
    """Data of an object.

    Attributes
    ----------
    name : str
    id : str
    entity : h5py.Group
    primitive : str
        Kind of values, such as "Float".
    """

    name: str
    id: str
    entity: Any
    primitive: str


def data_of(workspace: Workspace, entity: Any, association: str = "Cell") -> list[Data]:
    """Return the data of an object that are numbers or texts, one for each cell.

    Other data, such as pictures, dates and comments, are left out.
    """
    found = []
    for key, one in workspace.children(entity.get("Data", ())):
        primitive = text_of(one["Type"].attrs.get("Primitive type", ""))
        where = text_of(one.attrs.get("Association", ""))
        if primitive in _PRIMITIVES and where == association:
            found.append(Data(text_of(one.attrs.get("Name", "")), key, one, primitive))
    return sorted(found, key=lambda one: one.name)


def values_of(workspace: Workspace, data: Data, count: int) -> Values:
    """Return `count` values of data; values that the file leaves out at the end are missing."""
    if "Data" not in data.entity:
        return missing(data.primitive, count)
    dataset = workspace.dataset(data.entity, "Data")
    if len(dataset) > count:
        workspace.refuse(f"{data.name!r} has {len(dataset):,} values for {count:,} cells")
    raw = texts(workspace, dataset) if data.primitive == "Text" else dataset[...]
    values = decoded(raw, data.primitive, lambda: value_map(workspace, data.entity["Type"]))
    if len(values) == count:
        return values
    rest = missing(data.primitive, count - len(values))
    return np.concatenate([values, rest])


def missing(primitive: str, count: int) -> Values:
    """Return an array of missing values."""
    return (
        np.full(count, "", object)
        if primitive in ("Text", "Referenced")
        else np.full(count, np.nan)
    )


def decoded(raw: NDArray[Any], primitive: str, names: Callable[[], dict[int, str]]) -> Values:
    """Return values as they are meant: missing values as NaN or "", codes as their texts."""
    if primitive == "Float":
        values = raw if raw.dtype.kind == "f" else raw.astype(np.float64)
        doubles = values.astype(np.float64)  # 32 bits would round the bounds to the mark itself
        none = (doubles > _NO_FLOAT[0]) & (doubles < _NO_FLOAT[1])
        return np.where(none, values.dtype.type(np.nan), values) if none.any() else values
    if primitive == "Integer":
        none = raw == _NO_INTEGER
        return np.where(none, np.nan, raw) if none.any() else raw
    if primitive == "Referenced":
        codes, index = np.unique(raw.astype(np.int64), return_inverse=True)
        known = names()
        told = [known.get(code, str(code)) if code > 0 else "" for code in codes.tolist()]
        return np.array([*told, ""], object)[index]
    return raw


def texts(workspace: Workspace, dataset: Any) -> NDArray[np.object_]:
    """Return an array of texts, read part by part, because one stored text may repeat often."""
    most = memory.most_unpacked(workspace.place.stat().st_size)
    found, total = np.empty(len(dataset), object), 0
    for begin in range(0, len(dataset), _ROWS):
        part = [text_of(one) for one in dataset[begin : begin + _ROWS].tolist()]
        total += sum(map(len, part))
        if total > most:
            workspace.refuse("its texts are longer than the file")
        found[begin : begin + _ROWS] = part
    return found


def value_map(workspace: Workspace, kind: Any) -> dict[int, str]:
    """Return the texts of the codes of referenced data."""
    if "Value map" not in kind:
        return {}
    rows = workspace.read(workspace.dataset(kind, "Value map"))
    return {int(key): text_of(text) for key, text in rows.tolist()}


# --- Surfaces and grids as wireframes.


def read(path: Path, name: str | None) -> Iterator[NamedFaces] | Faces:
    """Return each surface with its name, or the surface or grid that FILE:NAME selects.

    A grid is a surface through the heights that its data hold at the centres of its cells. Its name
    may end with the name of the data: ``GRID/DATA``.
    """
    with opened(path, MeshError) as workspace, refusing(path.name, MeshError):
        if name is not None:
            return iter([(name, _named(workspace, name))])
        known = workspace.labels(["Surface"])
        grids = list(workspace.labels(["Grid2D"]))
        if not known and len(grids) != 1:
            workspace.find(None, ["Surface"])
        if not known:
            return iter([(grids[0], _named(workspace, grids[0]))])
        found = [(label, _surface(workspace, one)) for label, one in known.items()]
    if grids:
        log("%s also holds %s, which are read only by name", path.name, listed(grids, 4))
    return iter(found)


def _named(workspace: Workspace, wanted: str) -> Faces:
    """Return the surface or grid with a name, path or id; a grid may have the name GRID/DATA."""
    known = workspace.labels(["Surface", "Grid2D"])
    if wanted not in known and not any(one.is_called(wanted) for one in known.values()):
        grid, _, data = wanted.rpartition("/")
        if grid and any(one.is_called(grid) for one in workspace.labels(["Grid2D"]).values()):
            return _grid(workspace, workspace.find(grid, ["Grid2D"]), data)
    found = workspace.find(wanted, ["Surface", "Grid2D"])
    if found.kind == "Surface":
        return _surface(workspace, found)
    return _grid(workspace, found, None)


def _surface(workspace: Workspace, element: Element) -> Faces:
    entity = workspace.entity(element)
    vertices = workspace.read(workspace.dataset(entity, "Vertices"))
    corners = workspace.read(workspace.dataset(entity, "Cells"))
    if vertices.dtype.names is None or len(vertices.dtype.names) != 3 or corners.shape[1] != 3:
        workspace.refuse(f"the surface {element.name!r} does not consist of triangles")
    places = [vertices[axis] for axis in vertices.dtype.names]
    single = all(one.dtype == np.float32 for one in places)
    points = np.column_stack([one.astype(np.float64) for one in places])
    index = corners.astype(np.int64).reshape(-1)
    return Faces(points, index, np.full(len(corners), 3, dtype=np.int64), single)


_HEIGHTS = {
    "elevation", "elev", "z", "height", "heights", "topography", "topo", "dem", "dtm", "rl",
    "altitude",
}  # fmt: skip


def _grid(workspace: Workspace, element: Element, wanted: str | None) -> Faces:
    """Return a surface through the heights at the centres of the cells of a grid."""
    entity, what = workspace.entity(element), f"{workspace.file}: the grid {element.name!r}"
    dip = workspace.number(entity, "Dip", 0.0)
    if dip % 180 != 0 or workspace.number(entity, "Vertical", 0.0):
        message = f"{what} is not horizontal, so its data are not heights: name another grid"
        raise MeshError(message)
    heights = _heights(workspace, entity, element, wanted)
    nu, nv = (workspace.count(entity, f"{axis} Count") for axis in "UV")
    size = [workspace.number(entity, f"{axis} Size") for axis in "UV"]
    if nu * nv != len(heights):
        workspace.refuse(f"{element.name!r} has {len(heights):,} heights for {nu:,} x {nv:,} cells")
    place = np.empty((nv, nu, 3))
    place[..., 0] = (np.arange(nu) + 0.5) * size[0]
    place[..., 1] = ((np.arange(nv) + 0.5) * size[1])[:, None]
    place[..., 2] = 0.0
    origin = workspace.place_of(entity, "Origin")
    matrix = frame_of(workspace.number(entity, "Rotation", 0.0))
    flat = place.reshape(-1, 3)
    flat = flat + origin if matrix is None else turned(flat, matrix, origin.tolist())
    flat[:, 2] = heights
    absent = np.isnan(heights)
    flat[absent, 2] = 0.0
    faces = lattice_faces(flat.reshape(nv, nu, 3), absent.reshape(nv, nu))
    if not len(faces.sizes):
        message = f"{what} has no four neighbouring cells with heights, so it contains no surface"
        raise MeshError(message)
    used = np.zeros(len(faces.vertices), dtype=bool)
    used[faces.corners] = True
    row = np.cumsum(used) - 1
    return Faces(faces.vertices[used], row[faces.corners], faces.sizes)


def _heights(workspace: Workspace, entity: Any, element: Element, wanted: str | None) -> Floats:
    """Return the data of a grid that are heights.

    These are the data with the name `wanted`, the only numbers, or the only numbers with a usual
    name of heights.
    """
    numbers = [one for one in data_of(workspace, entity) if one.primitive in ("Float", "Integer")]
    if wanted is not None:
        found = [one for one in numbers if one.name == wanted]
    else:
        usual = [one for one in numbers if one.name.strip().lower() in _HEIGHTS]
        found = usual if len(usual) == 1 else numbers
    if len(found) != 1:
        held = listed([one.name for one in numbers])
        told = "no data of numbers" if not numbers else f"the data {held}"
        message = (
            f"{workspace.file}: the grid {element.name!r} has {told}: name the data that hold "
            f"heights, as {workspace.file}:{element.name}/DATA"
        )
        raise MeshError(message)
    dataset = workspace.dataset(found[0].entity, "Data")
    memory.require(200.0 * len(dataset), f"{workspace.file}, with a grid,", MeshError)
    return values_of(workspace, found[0], len(dataset)).astype(np.float64)


# --- Block models: labels become referenced data; the rest of the workspace stays as it is.


@dataclass(frozen=True, eq=False)
class OctreeCells:
    """Cells of an octree.

    Attributes
    ----------
    low : (n, 3) int64
        Position of each cell, in base cells.
    width : (n,) int64
        Width of each cell, in base cells.
    size : (3,) float64
        Size of a base cell along each axis; negative if the axis points down.
    origin : tuple of float
    matrix : (3, 3) float64, optional
        Rotation about the origin.
    """

    low: NDArray[np.int64]
    width: NDArray[np.int64]
    size: Floats
    origin: tuple[float, float, float]
    matrix: NDArray[np.float64] | None

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self.low)

    @property
    def axes(self) -> Floats:
        """The directions of the cell edges, one row per axis."""
        return np.eye(3) if self.matrix is None else self.matrix.T

    def say(self) -> str:
        """Return a description of the cells, with their number."""
        turn = "" if self.matrix is None else " rotated,"
        return f"octree,{turn} of {counted(self.count, 'cell')}"

    def chunks(self) -> Iterator[Chunk]:
        """Yield the cells in batches, in file order: indices, centres and sizes."""
        matrix = np.eye(3) if self.matrix is None else self.matrix
        for begin in range(0, self.count, 1 << 20):
            where = slice(begin, min(begin + (1 << 20), self.count))
            width = self.width[where, None].astype(np.float64)
            local = (self.low[where] + width / 2) * self.size
            centres = (
                local + self.origin if self.matrix is None else turned(local, matrix, self.origin)
            )
            sizes: Floats = width * np.abs(self.size)
            yield where, centres, sizes


def holds_blocks(path: str) -> bool:
    """Return whether a file, or the object of FILE:NAME, holds blocks and no surface."""
    place, wanted = split_name(path)
    with opened(place, TableError) as workspace, refusing(place.name, TableError):
        if wanted is not None:
            every = workspace.labels(["Surface", "Grid2D", *MODELS])
            found = every.get(wanted) or next(
                (one for one in every.values() if one.is_called(wanted)), None
            )
            return found is not None and found.kind in MODELS
        kinds = {**dict.fromkeys(MODELS, "BlockModel"), "Surface": "Surface"}
        told = [(name, kinds[one.kind]) for name, one in workspace.labels(list(kinds)).items()]
    return only_blocks(told, place, None)


@contextmanager
def open_model(path: str, options: TableOptions, digest: Digest | None) -> Iterator[CellModel]:
    """Open the block model of a workspace; FILE:NAME selects one of several models."""
    place, wanted = split_name(path)
    refuse_columns(path, options)
    if digest is not None:
        digest.add_file(place)
    with opened(place, TableError) as workspace:
        with refusing(place.name, TableError):
            store = Geoh5Store(workspace, wanted)
        yield CellModel(store, options)


class Geoh5Store:
    """An open block model or octree of a workspace; see `CellStore`."""

    def __init__(self, workspace: Workspace, wanted: str | None) -> None:
        self.name, self._workspace = workspace.file, workspace
        self.status = workspace.place.stat()
        self._element = workspace.find(wanted, MODELS)
        entity = workspace.entity(self._element)
        self.cells: Cells = (
            _lattice(workspace, entity)
            if self._element.kind == "BlockModel"
            else _octree(workspace, entity)
        )
        self._data = data_of(workspace, entity)
        self.columns = tuple(one.name for one in self._data)
        self._held = lru_cache(maxsize=4)(self._read)

    def close(self) -> None:
        """Close the file."""
        self._workspace.base.file.close()

    @property
    def memory(self) -> int:
        """Memory in bytes for the cells and one array."""
        return 60 * self.cells.count

    def facts(self) -> dict[str, str]:
        """Return facts about the file as texts, each under a title such as "format"."""
        return {"format": f"geoh5, {self._element.path!r}, {self.cells.say()}"}

    def values(self, column: int) -> Values:
        """Return data of the model as numbers or texts."""
        with refusing(self.name, TableError):
            return self._held(column)

    def _read(self, column: int) -> Values:
        return values_of(self._workspace, self._data[column], self.cells.count)

    def write(self, target: Target, destination: Destination, new: NewArrays) -> None:
        """Write a copy of the workspace with new data on the model."""
        made = [
            (column, codes, old, None if new.at is None else self._data[new.at].id)
            for column, codes, old in new.each(self.values)
        ]
        key = self._element.id
        with changed_copy(self._workspace.place, target) as base:
            for column, codes, old, place in made:
                put_column(base, key, column, codes, old, place)


def _lattice(workspace: Workspace, entity: Any) -> LatticeCells:
    """Return the cells of a block model; z varies fastest, then u, then v."""
    faces = []
    for axis in "UVZ":
        name = f"{axis} cell delimiters"
        edges = workspace.read(workspace.dataset(entity, name)).astype(np.float64)
        steps = np.diff(edges)
        if not len(steps) or not np.isfinite(edges).all():
            workspace.refuse(f"{name!r} are not the edges of cells")
        if not ((steps > 0).all() or (steps < 0).all()):
            workspace.refuse(f"{name!r} do not increase, nor do they decrease")
        faces.append(edges)
    u, v, w = faces
    lengths = (np.abs(np.diff(u)), np.abs(np.diff(v)), np.abs(np.diff(w)))
    require_room(lengths, workspace.file)
    origin = workspace.place_of(entity, "Origin")
    matrix = frame_of(workspace.number(entity, "Rotation", 0.0))
    if matrix is None:
        x, y, z = origin
        return LatticeCells("blocks", (x + u, y + v, z + w), order="zxy", lengths=lengths)
    place = (float(origin[0]), float(origin[1]), float(origin[2]))
    return LatticeCells("blocks, rotated,", (u, v, w), place, matrix, "zxy", lengths)


def _octree(workspace: Workspace, entity: Any) -> OctreeCells:
    rows = workspace.read(workspace.dataset(entity, "Octree Cells"))
    names = rows.dtype.names
    if names is None or len(names) != 4:
        workspace.refuse("the cells of an octree do not have four numbers each")
    low = np.column_stack([rows[name].astype(np.int64) for name in names[:3]])
    width = rows[names[3]].astype(np.int64)
    counts = np.array([workspace.count(entity, f"N{axis}") for axis in "UVW"])
    outside = (low < 0).any(axis=1) | (width < 1) | (low + width[:, None] > counts).any(axis=1)
    if outside.any():
        workspace.refuse(f"cell {int(outside.argmax()) + 1:,} lies outside the octree")
    size = np.array([workspace.number(entity, f"{axis} Cell Size") for axis in "UVW"])
    if not len(low) or (size == 0).any():
        workspace.refuse("an octree has no cells, or cells of size 0")
    x, y, z = workspace.place_of(entity, "Origin").tolist()
    return OctreeCells(
        low, width, size, (x, y, z), frame_of(workspace.number(entity, "Rotation", 0.0))
    )


# --- Write: a copy of the workspace, to which entities are added.


@contextmanager
def changed_copy(place: Path, target: Target) -> Iterator[Any]:
    """Yield the base group of a copy of a workspace, for changes; then write the copy."""
    import h5py

    with tempfile.TemporaryFile() as made:
        with place.open("rb") as source:
            shutil.copyfileobj(source, made, _STEP)
        made.seek(0)
        with h5py.File(made, "r+") as file, refusing(place.name, TableError):
            yield file["GEOSCIENCE"] if "GEOSCIENCE" in file else file[next(iter(file))]
        _copy(made, target)


def _copy(source: BinaryIO, target: Target) -> None:
    source.seek(0)
    while part := source.read(_STEP):
        target.write(memoryview(part))


class Encoded(NamedTuple):
    """Values as they are stored: their primitive type, the values, and the texts of codes."""

    primitive: str
    values: NDArray[Any]
    names: Sequence[str] = ()


def encoded(column: NewColumn, codes: NewCells, old: Values | None) -> Encoded:
    """Return a new column as it is stored: numbers, or codes of texts, which begin at 1."""
    if not column.numeric:
        names, index = as_category(column, codes, old)
        return Encoded("Referenced", (index + 1).astype(np.uint32), names)
    numbers = as_numbers(column, codes, old)
    if numbers.dtype == np.int32:
        return Encoded("Integer", numbers)
    return Encoded("Float", _marked(numbers.astype(np.float64)))


def put_column(
    base: Any,
    owner: str,
    column: NewColumn,
    codes: NewCells,
    old: Values | None,
    replaced: str | None,
) -> None:
    """Add data to an object, or give new values to its data with the id `replaced`."""
    made = encoded(column, codes, old)
    if replaced is None:
        kind = put_type(base, column.name, made)
        put_data(base, member(base["Objects"], owner), column.name, kind, made.values)
        return
    data = member(base["Data"], replaced)
    del data["Type"]
    if "Data" in data:
        del data["Data"]
    data["Type"] = put_type(base, text_of(data.attrs["Name"]), made)
    put_array(data, "Data", made.values)


def put_data(base: Any, entity: Any, name: str, kind: Any, values: NDArray[Any]) -> None:
    """Add data on the cells of an object."""
    key = new_id(base, f"{text_of(entity.attrs['ID'])} {name}")
    data = base["Data"].create_group(key)
    put_attributes(data, {
        **_entity(key, name), "Association": "Cell", "Modifiable": np.int8(1),
        "Visible": np.int8(0),
    })  # fmt: skip
    data["Type"] = kind
    put_array(data, "Data", values)
    entity.require_group("Data")[key] = data


# --- New workspaces, of wireframes or blocks.

_ROOT, _POINT = "dd99b610-be92-48c0-873c-5b5946ea2840", [("x", "<f8"), ("y", "<f8"), ("z", "<f8")]
_MOST_CODES = 1 << 16  # different texts of referenced data; more become texts
_DIGITS = 13  # decimals of a rotation in degrees


def write(solids: dict[str, Mesh], file: BinaryIO) -> None:
    """Write one surface for each solid, in double precision."""
    require_library("the output", MeshError)
    with _new_workspace(file.write) as base:
        for name, mesh in solids.items():
            vertices = np.empty(len(mesh.vertices), _POINT)
            for axis, column in zip("xyz", mesh.vertices.T, strict=True):
                vertices[axis] = column
            surface = _new_object(base, "Surface", name)
            put_array(surface, "Vertices", vertices)
            put_array(surface, "Cells", mesh.triangles.astype(np.int32))


def encoded_blocks(blocks: Blocks, path: str) -> Iterator[bytes]:
    """Yield the bytes of a new workspace with a block model.

    Raises
    ------
    TableError
        If centroids or sizes are missing, or if the blocks are not the cells of a grid that is
        rotated about the vertical only.
    """
    require_library(path, TableError)
    sizes = blocks.box_sizes(path)
    if not len(sizes) or not np.isfinite(blocks.centroids).all() or not (sizes > 0).all():
        message = (
            f"{path}: there are no blocks, or some of them lack a centroid or a size, and geoh5 "
            "cannot store them: remove blocks that lack one"
        )
        raise TableError(message)
    axes = blocks.axes
    upright = (axes[2] == (0, 0, 1)).all() and (axes[:2, 2] == 0).all()
    tensor = tensor_of(blocks.centroids @ axes.T, sizes) if upright else None
    if tensor is None:
        message = (
            f"{path}: geoh5 cannot store these blocks, because they are not the cells of a grid "
            "that is rotated about the vertical only: use the extension .omf or .vtu"
        )
        raise TableError(message)
    counts = [len(one) for one in tensor.steps]
    # In the order of the tensor u varies fastest; in a block model z, then u, then v.
    order = tensor.order.reshape(counts[::-1]).transpose(1, 2, 0).reshape(-1)
    made = bytearray()
    with _new_workspace(made.extend) as base:
        model = _new_object(base, "BlockModel", Path(path).stem, {
            "Origin": np.array(tuple(tensor.origin @ axes), _POINT), "Rotation": _rotation(axes),
        })  # fmt: skip
        for axis, steps in zip("UVZ", tensor.steps, strict=True):
            edges = np.concatenate([[0.0], np.cumsum(steps)])
            put_array(model, f"{axis} cell delimiters", edges)
        for name, values in blocks.others().items():
            told = _stored(values[order])
            put_data(base, model, name, put_type(base, name, told), told.values)
    yield bytes(made)


def _rotation(axes: Floats) -> np.float64:
    """Return the counterclockwise rotation of axes in degrees, with the fewest decimals."""
    angle = float(np.degrees(np.arctan2(axes[0, 1], axes[0, 0])))
    near = 1e-12 * max(1.0, abs(angle))
    digits = next((n for n in range(_DIGITS) if abs(round(angle, n) - angle) <= near), _DIGITS)
    return np.float64(round(angle, digits))


def _stored(values: Values) -> Encoded:
    """Return a column of blocks as it is stored: numbers, codes of texts, or texts."""
    if values.dtype.kind in "biu" and np.abs(values.astype(np.float64)).max() < 2.0**31:
        return Encoded("Integer", values.astype(np.int32))
    if values.dtype.kind in "biuf":
        return Encoded("Float", _marked(as_float64(values)))
    spelled = np.array([said(one) for one in values.tolist()], object)
    names, index = np.unique(spelled.astype(np.str_), return_inverse=True)
    if len(names) > _MOST_CODES:
        return Encoded("Text", spelled)
    texts_ = [name for name in names.tolist() if name]
    return Encoded("Referenced", (index + (len(texts_) == len(names))).astype(np.uint32), texts_)


def _marked(numbers: Floats) -> Floats:
    """Return numbers with the mark of missing values in place of NaN."""
    return np.where(np.isnan(numbers), _MISSING, numbers)


@contextmanager
def _new_workspace(write_part: Callable[[bytes], object]) -> Iterator[Any]:
    """Yield the base group of a new workspace, for objects; then write its bytes."""
    import h5py

    with tempfile.TemporaryFile() as made:
        with h5py.File(made, "w") as file:
            base = file.create_group("GEOSCIENCE")
            put_attributes(base, {
                "Version": np.float64(2.1), "Distance unit": "meter", "GA Version": "1",
            })  # fmt: skip
            base.attrs.create("Contributors", ["geodomain"], dtype=h5py.string_dtype())
            for name in ("Data", "Groups", "Objects", "Types"):
                base.create_group(name)
            for name in ("Data types", "Group types", "Object types"):
                base["Types"].create_group(name)
            key = new_id(base, "root")
            root = base["Groups"].create_group(key)
            put_attributes(root, {**_entity(key, "Workspace"), "Allow delete": np.int8(0)})
            for name in ("Data", "Groups", "Objects"):
                root.create_group(name)
            root["Type"] = _kind_of(base, "Group types", _ROOT, "Workspace")
            base["Root"] = root
            yield base
        made.seek(0)
        while part := made.read(_STEP):
            write_part(part)


def _new_object(
    base: Any, kind: str, name: str, attributes: Mapping[str, object] | None = None
) -> Any:
    """Add an object to the root of a new workspace, and return its HDF5 group."""
    key = new_id(base, f"{kind} {name}")
    made = base["Objects"].create_group(key)
    put_attributes(made, {**_entity(key, name), **(attributes or {})})
    made.create_group("Data")
    number = next(one for one, told in KINDS.items() if told == kind)
    made["Type"] = _kind_of(base, "Object types", number, kind)
    base["Root"]["Objects"][key] = made
    return made


def _entity(key: str, name: str) -> dict[str, object]:
    """Return the attributes that all groups, objects and data have."""
    yes, no = np.int8(1), np.int8(0)
    return {
        "Allow delete": yes, "Allow move": yes, "Allow rename": yes, "ID": key, "Name": name,
        "Partially hidden": no, "Public": yes, "Visible": yes,
    }  # fmt: skip


def _kind_of(base: Any, where: str, number: str, name: str) -> Any:
    """Return the type of a group or an object; it is made if it is not there."""
    types, key = base["Types"][where], f"{{{number}}}"
    if key not in types:
        put_attributes(types.create_group(key), {"ID": key, "Name": name, "Description": name})
    return types[key]


def put_type(base: Any, name: str, made: Encoded) -> Any:
    """Add a type of data, with the texts of its codes, and return its HDF5 group."""
    import h5py

    key = new_id(base, f"type of {name}")
    kind = base["Types"].require_group("Data types").create_group(key)
    put_attributes(kind, {
        "Description": name, "Hidden": np.int8(0), "ID": key, "Mapping": "equal_area",
        "Name": name, "Precision": np.int64(2), "Primitive type": made.primitive,
        "Scientific notation": np.int8(0), "Transparent no data": np.int8(1),
    })  # fmt: skip
    if made.primitive == "Referenced":
        rows = [(0, UNKNOWN), *((code, text) for code, text in enumerate(made.names, 1))]
        layout = np.dtype([("Key", "<u4"), ("Value", h5py.string_dtype())])
        put_array(kind, "Value map", np.array(rows, layout))
    return kind


def put_attributes(group: Any, attributes: Mapping[str, object]) -> None:
    """Add attributes to an HDF5 group; texts have variable length, as in other workspaces."""
    import h5py

    for name, value in attributes.items():
        kind = h5py.string_dtype() if isinstance(value, str) else None
        group.attrs.create(name, value, dtype=kind)


def put_array(group: Any, name: str, values: NDArray[Any]) -> None:
    """Add a compressed array to an HDF5 group."""
    import h5py

    packing = {"compression": "gzip", "compression_opts": 4} if len(values) else {}
    kind = h5py.string_dtype() if values.dtype.kind == "O" else None
    group.create_dataset(name, data=values, dtype=kind, **packing)


def new_id(base: Any, what: str) -> str:
    """Return an id that is not in the file; the same file always gives the same id."""
    number = 0
    while True:
        found = f"{{{uuid.uuid5(uuid.NAMESPACE_OID, f'geodomain {what} {number}')}}}"
        taken = (base["Data"], base["Objects"], base["Groups"], base["Types/Data types"])
        if not any(found in each for each in taken):
            return found
        number += 1
