"""geoh5 files, the workspaces of Geoscience ANALYST, as wireframes and block models.

A labelled model is a copy of its workspace with more data on the model. Names of objects and the
layout of the file are in `geoh5_workspace`; drillholes are in `geoh5_holes`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from geodomain import memory
from geodomain.compute.data import Floats
from geodomain.errors import MeshError, TableError, counted, log
from geodomain.files.streams import Target
from geodomain.files.unchanged import Digest
from geodomain.formats.block_file import Blocks, Destination, NewArrays, Values, as_text
from geodomain.formats.cell_file import CellModel, refuse_columns
from geodomain.formats.cells import Cells, Chunk, LatticeCells, tensor_of
from geodomain.formats.geoh5_workspace import (
    KINDS,
    MODELS,
    STEP,
    Element,
    Encoded,
    Workspace,
    changed_copy,
    data_of,
    entity_attributes,
    new_id,
    opened,
    put_array,
    put_attributes,
    put_column,
    put_data,
    put_type,
    require_library,
    values_of,
    with_marks,
)
from geodomain.formats.omf import only_blocks, refusing, require_room, surfaces_and_models
from geodomain.formats.raster import lattice_faces
from geodomain.formats.registry import split_name
from geodomain.formats.solids import NamedFaces, listed
from geodomain.mesh.mesh import Mesh
from geodomain.mesh.polygons import Faces
from geodomain.tables.frames import turned
from geodomain.tables.numbers import as_float64
from geodomain.tables.options import TableOptions
from geodomain.tables.rotation import frame_of_azimuth

# --- Surfaces and grids as wireframes.


def read(path: Path, name: str | None) -> Iterator[NamedFaces] | Faces:
    """Return each surface with its name, or the surface or grid that FILE:NAME selects.

    A grid becomes a surface through the heights at the centres of its cells. Its name may end with
    the name of the data that hold the heights: ``GRID/DATA``.
    """
    with opened(path, MeshError) as workspace, refusing(path.name, MeshError):
        if name is not None:
            return iter([(name, _named(workspace, name))])
        surfaces = workspace.labels(["Surface"])
        grids = list(workspace.labels(["Grid2D"]))
        if not surfaces and len(grids) != 1:
            workspace.find(None, ["Surface"])
        if not surfaces:
            return iter([(grids[0], _named(workspace, grids[0]))])
        parts = [(label, _surface(workspace, element)) for label, element in surfaces.items()]
    if grids:
        log("%s also holds %s, which are read only by name", path.name, listed(grids, 4))
    return iter(parts)


def _named(workspace: Workspace, wanted: str) -> Faces:
    """Return the surface or grid with a name, path or id; a grid may have the name GRID/DATA."""
    if workspace.names(wanted, ["Surface"]):
        return _surface(workspace, workspace.find(wanted, ["Surface"]))
    grid, _, data = wanted.rpartition("/")
    if not workspace.names(wanted, ["Grid2D"]) and grid and workspace.names(grid, ["Grid2D"]):
        return _grid(workspace, workspace.find(grid, ["Grid2D"]), data)
    return _grid(workspace, workspace.find(wanted, ["Surface", "Grid2D"]), None)


def _surface(workspace: Workspace, element: Element) -> Faces:
    entity = workspace.entity(element)
    vertices = workspace.read(workspace.dataset(entity, "Vertices"))
    corners = workspace.read(workspace.dataset(entity, "Cells"))
    if vertices.dtype.names is None or len(vertices.dtype.names) != 3 or corners.shape[1] != 3:
        workspace.refuse(f"the surface {element.name!r} does not consist of triangles")
    if corners.dtype.kind not in "iu":
        workspace.refuse(f"the cells of the surface {element.name!r} are not whole numbers")
    places = [vertices[axis] for axis in vertices.dtype.names]
    single = all(column.dtype == np.float32 for column in places)
    points = np.column_stack([column.astype(np.float64) for column in places])
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

    These are the data with the name `wanted`. Without a name, they are the only data of numbers, or
    the only ones with a usual name of heights.
    """
    numbers = [
        data for data in data_of(workspace, entity) if data.primitive in ("Float", "Integer")
    ]
    if wanted is not None:
        chosen = [data for data in numbers if data.name == wanted]
    else:
        usual = [data for data in numbers if data.name.strip().lower() in _HEIGHTS]
        chosen = usual if len(usual) == 1 else numbers
    if len(chosen) != 1:
        held = listed([data.name for data in numbers])
        grid = f"{workspace.file}: the grid {element.name!r}"
        message = (
            f"{grid} has the data {held}: name the data that hold heights, as "
            f"{workspace.file}:{element.name}/DATA"
            if numbers
            else f"{grid} has no data of numbers that could be heights: name another grid"
        )
        raise MeshError(message)
    dataset = workspace.dataset(chosen[0].entity, "Data")
    memory.require(200.0 * len(dataset), f"{workspace.file}, with a grid,", MeshError)
    return values_of(workspace, chosen[0], len(dataset)).astype(np.float64)


# --- Block models: labels become referenced data; the rest of the workspace stays unchanged.


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
    if wanted is not None:
        wireframes = ["Surface", "Grid2D"]
        with opened(place, TableError) as workspace, refusing(place.name, TableError):
            return workspace.names(wanted, MODELS) and not workspace.names(wanted, wireframes)
    return only_blocks(_kinds(place), place, None)


def contents(place: Path) -> list[tuple[str, bool]]:
    """Return the name of each surface and block model, and whether it is a block model."""
    return surfaces_and_models(_kinds(place), place)


def _kinds(place: Path) -> list[tuple[object, str]]:
    """Return the name and the type of each surface, block model and octree.

    A surface and a model may have the same name, because FILE:NAME is looked up among the surfaces
    or among the models.
    """
    with opened(place, TableError) as workspace, refusing(place.name, TableError):
        surfaces: list[tuple[object, str]] = [(n, "Surface") for n in workspace.labels(["Surface"])]
        return surfaces + [(name, "BlockModel") for name in workspace.labels(MODELS)]


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
        self.columns = tuple(data.name for data in self._data)
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
            for column, codes, old in new.items(self.values)
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
            workspace.refuse(f"{name!r} neither increase nor decrease throughout")
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


def frame_of(rotation: float) -> NDArray[np.float64] | None:
    """Return the matrix of a rotation about the vertical, in degrees counterclockwise."""
    turn = rotation % 360.0
    return None if turn == 0 else np.array(frame_of_azimuth(-rotation).matrix)


# --- New workspaces, of wireframes or blocks.

_ROOT, _POINT = "dd99b610-be92-48c0-873c-5b5946ea2840", [("x", "<f8"), ("y", "<f8"), ("z", "<f8")]
_MOST_CODES = 1 << 16  # distinct texts of referenced data; a column with more is stored as texts
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
            f"{path}: there are no blocks, or some lack a centroid or a size, which geoh5 needs: "
            "remove blocks that lack one"
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
    counts = [len(lengths) for lengths in tensor.steps]
    # In the tensor, u varies fastest; in a block model of geoh5, z does, then u, then v.
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
            stored = _stored(values[order])
            put_data(base, model, name, put_type(base, name, stored), stored.values)
    yield bytes(made)


def _rotation(axes: Floats) -> np.float64:
    """Return the counterclockwise rotation of axes in degrees, with as few decimals as possible."""
    angle = float(np.degrees(np.arctan2(axes[0, 1], axes[0, 0])))
    near = 1e-12 * max(1.0, abs(angle))
    digits = next((n for n in range(_DIGITS) if abs(round(angle, n) - angle) <= near), _DIGITS)
    return np.float64(round(angle, digits))


def _stored(values: Values) -> Encoded:
    """Return a column of blocks in the form that is stored: numbers, codes of texts, or texts."""
    if values.dtype.kind in "biu" and np.abs(values.astype(np.float64)).max() < 2.0**31:
        return Encoded("Integer", values.astype(np.int32))
    if values.dtype.kind in "biuf":
        return Encoded("Float", with_marks(as_float64(values)))
    spelled = np.array([as_text(value) for value in values.tolist()], object)
    names, index = np.unique(spelled.astype(np.str_), return_inverse=True)
    if len(names) > _MOST_CODES:
        return Encoded("Text", spelled)
    texts_ = [name for name in names.tolist() if name]
    return Encoded("Referenced", (index + (len(texts_) == len(names))).astype(np.uint32), texts_)


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
            put_attributes(
                root, {**entity_attributes(key, "Workspace"), "Allow delete": np.int8(0)}
            )
            for name in ("Data", "Groups", "Objects"):
                root.create_group(name)
            root["Type"] = _kind_of(base, "Group types", _ROOT, "Workspace")
            base["Root"] = root
            yield base
        made.seek(0)
        while part := made.read(STEP):
            write_part(part)


def _new_object(
    base: Any, kind: str, name: str, attributes: Mapping[str, object] | None = None
) -> Any:
    """Add an object to the root of a new workspace, and return its HDF5 group."""
    key = new_id(base, f"{kind} {name}")
    made = base["Objects"].create_group(key)
    put_attributes(made, {**entity_attributes(key, name), **(attributes or {})})
    made.create_group("Data")
    number = next(code for code, title in KINDS.items() if title == kind)
    made["Type"] = _kind_of(base, "Object types", number, kind)
    base["Root"]["Objects"][key] = made
    return made


def _kind_of(base: Any, where: str, number: str, name: str) -> Any:
    """Return the type of a group or an object; make it if it is missing."""
    types, key = base["Types"][where], f"{{{number}}}"
    if key not in types:
        put_attributes(types.create_group(key), {"ID": key, "Name": name, "Description": name})
    return types[key]
